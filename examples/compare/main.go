// Compare runs the same flags through Flagstaff and other Go libraries that
// evaluate in-process, and prints a Markdown table.
//
//	cd examples/compare && go run . -count 5
//
// The README explains what is compared, and what is not.
package main

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
)

func main() {
	count := flag.Int("count", 5, "how often everything is measured; the table has the medians")
	benchtime := flag.String("benchtime", "1s", "how long or, as in 100x, how often each benchmark runs, as for go test")
	works := flag.String("works", ".", "`pattern` of what to measure, as in 'conditions|semver'")
	libraries := flag.String("libraries", ".", "`pattern` of whom to measure, as in 'flagstaff|posthog'")
	flag.Parse()
	if flag.NArg() > 0 || *count < 1 {
		flag.Usage()
		os.Exit(2)
	}
	if err := run(*count, *benchtime, "^BenchmarkCompare$/("+*works+")/("+*libraries+")", os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(1)
	}
}

// run measures everything once before it measures anything again, so that a
// temporary disturbance of the machine affects all libraries.
func run(count int, benchtime, pattern string, w, progress io.Writer) error {
	t := newTable()
	for range count {
		var out bytes.Buffer
		if err := goTool(io.MultiWriter(&out, progress), progress, "test", "-run", "^$", "-bench", pattern, "-benchtime", benchtime, "-timeout", "0", "."); err != nil {
			return err
		}
		if err := t.read(&out); err != nil {
			return err
		}
	}
	if len(t.series) == 0 {
		return fmt.Errorf("no benchmark matches %s", pattern)
	}
	t.print(w)
	fmt.Fprintln(w)
	return goTool(w, progress, "list", "-m", "-f", "{{if not (or .Indirect .Main .Replace)}}{{.Path}} {{.Version}}{{end}}", "all")
}

func goTool(stdout, stderr io.Writer, args ...string) error {
	cmd := exec.Command("go", args...)
	cmd.Stdout, cmd.Stderr = stdout, stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("go %s: %w", args[0], err)
	}
	return nil
}

// references are the libraries that ratios refer to.
var references = []string{"flagstaff-sha1", "flagstaff-xxhash64"}

var titles = map[string]string{
	"boolean": "one boolean flag", "conditions": "3 conditions × 2 filters, 50 %", "per-call": "the same, properties per call", "variants": "4 variants",
	"all-100": "all of 100", "all-1000": "all of 1,000",
	"events-repeated": "3 conditions, events on, same persons", "events-new": "3 conditions, events on, new persons",
	"load": "load 10,000 flags",
}

// A table has the figures of each work and library, by unit, with one figure
// per run.
type table struct {
	works, libraries []string // in the order in which they ran
	series           map[[2]string]map[string][]float64
}

func newTable() *table { return &table{series: make(map[[2]string]map[string][]float64)} }

// read reads the output of go test -bench.
func (t *table) read(r io.Reader) error {
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 4 || !strings.HasPrefix(fields[0], "BenchmarkCompare/") {
			continue
		}
		work, library, _ := strings.Cut(strings.TrimPrefix(fields[0], "BenchmarkCompare/"), "/")
		if i := strings.LastIndexByte(library, '-'); i > 0 { // cuts off the number of processors
			if _, err := strconv.Atoi(library[i+1:]); err == nil {
				library = library[:i]
			}
		}
		t.works, t.libraries = addOnce(t.works, work), addOnce(t.libraries, library)
		units := t.series[[2]string{work, library}]
		if units == nil {
			units = make(map[string][]float64)
			t.series[[2]string{work, library}] = units
		}
		for i := 2; i+1 < len(fields); i += 2 {
			v, err := strconv.ParseFloat(fields[i], 64)
			if err != nil {
				return fmt.Errorf("%q is not a number in: %s", fields[i], lines.Text())
			}
			units[fields[i+1]] = append(units[fields[i+1]], v)
		}
	}
	return lines.Err()
}

func addOnce(list []string, name string) []string {
	if slices.Contains(list, name) {
		return list
	}
	return append(list, name)
}

func (t *table) print(w io.Writer) {
	fmt.Fprintln(w, "Each cell: the time, how many times that of Flagstaff with SHA-1 and with xxHash64 it is, and the allocations; for the load, the heap that a flag takes.")
	fmt.Fprintf(w, "\n| |")
	for _, work := range t.works {
		title := titles[work]
		if title == "" {
			title = work
		}
		fmt.Fprintf(w, " %s |", title)
	}
	fmt.Fprintf(w, "\n|---|%s\n", strings.Repeat("--:|", len(t.works)))
	for _, library := range t.libraries {
		fmt.Fprintf(w, "| %s |", library)
		for _, work := range t.works {
			fmt.Fprintf(w, " %s |", t.cell(work, library))
		}
		fmt.Fprintln(w)
	}
}

func (t *table) cell(work, library string) string {
	units := t.series[[2]string{work, library}]
	if units == nil {
		return "–"
	}
	ns := median(units["ns/op"])
	var cell strings.Builder
	cell.WriteString(show(ns))
	for _, reference := range references {
		if base := median(t.series[[2]string{work, reference}]["ns/op"]); base > 0 {
			cell.WriteString(", ×" + ratio(ns/base))
		}
	}
	if heap := units["heap-B/flag"]; len(heap) > 0 {
		fmt.Fprintf(&cell, ", %.1f KB", median(heap)/1000)
	} else {
		fmt.Fprintf(&cell, ", %.0f", median(units["allocs/op"]))
	}
	return cell.String()
}

func ratio(v float64) string {
	if v < 10 {
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'f', 0, 64)
}

func median(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	v = slices.Sorted(slices.Values(v))
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}

func show(ns float64) string {
	for _, unit := range []struct {
		name string
		ns   float64
	}{{"ns", 1}, {"µs", 1e3}, {"ms", 1e6}} {
		switch v := ns / unit.ns; {
		case v < 10 && unit.ns > 1:
			return fmt.Sprintf("%.2f %s", v, unit.name)
		case v < 100 && unit.ns > 1:
			return fmt.Sprintf("%.1f %s", v, unit.name)
		case v < 1000:
			return fmt.Sprintf("%.0f %s", v, unit.name)
		}
	}
	return fmt.Sprintf("%.2f s", ns/1e9)
}
