// Benchratio reads the output of go test -bench and prints, as a Markdown
// table, how each benchmark compares with the floor that ran beside it.
//
//	go test -run '^$' -bench . -count 5 ./flags | benchratio
//
// A sub-benchmark named floor is the floor of its siblings. A benchmark that
// runs all cases in turn reports CASE-req/s and CASE-p99-ms instead, where
// floor is one of the cases. Times are the least of all runs, since a machine can only be
// slower than it is; what a benchmark reports of cases in turns is a median.
package main

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
)

// targets are the ratios to reach, by the first part of a benchmark's name and,
// where cases differ, the part after it.
var targets = []struct{ name, work, target string }{
	{"E1", "one boolean flag, 100 %", "≤ 2.5"},
	{"E2", "3 condition sets × 2 filters, the third matches, 50 %", "≤ 2"},
	{"E2x", "the same with xxHash64", "≤ 3"},
	{"E3", "4 variants with payload", "≤ 1.5"},
	{"E4", "a regexp, a version and a relative date", "≤ 1.3"},
	{"E5", "all flags, from JSON to JSON", ""},
	{"E5/flags=100/hash=sha1", "all flags, from JSON to JSON", "≤ 1.6"},
	{"E5/flags=1000/hash=sha1", "all flags, from JSON to JSON", "≤ 1.6"},
	{"E6", "decode and compile", "≤ 0.7"},
	{"E7", "E2 on all cores", "≤ 0.53"},
	{"E8", "Explain of E2", ""},
	{"E10", "E2 with the properties built per call", "≤ 1.3"},
	{"E11", "3 condition sets × 2 filters, 1,024 persons, mixed case", "≤ 1.6"},
	{"E11x", "the same with xxHash64", "≤ 2.5"},
	{"E12/list", "E11 with properties built per call", "≤ 1.3"},
	{"E12/map", "E11 with properties built per call", ""},
	{"E15", "E12 by a `Person`, exposure reported before", "≤ 1.6"},
	{"E13", "a value of another kind over lower-case text", "≤ 1.3"},
	{"E14", "a regexp without metacharacters over a text operator", "≤ 1.3"},
	{"E16", "all flags for a Go caller", ""},
	{"E16/flags=100/hash=sha1", "all flags for a Go caller", "≤ 1.4"},
	{"E16/flags=1000/hash=sha1", "all flags for a Go caller", "≤ 1.25"},
	{"E17", "filters on one version", ""},
	{"E18", "compile 10,000 flags of which one has changed, over all", "≤ 0.5"},
	{"E19", "a declared flag over one by key", "≤ 1.1"},
	{"E20", "E11 with variants, by a rule set over condition sets", "≤ 1.1"},
	{"E9/repeated", "E2, exposure reported before", "≤ 1.3"},
	{"E9/new", "E2, new exposure", "≤ 2"},
	{"G1/cached", "address to location", "≤ 2"},
	{"G1/uncached", "address to location", ""},
	{"C1", "single durable events, 64 connections, SQLite", "≤ 0.2"},
	{"C2", "durable events in batches of 100, SQLite", "≤ 2"},
	{"C3", "events in batches of 100, PostgreSQL", "≤ 2"},
	{"C4", "an event to `capture.Client`, in-process", "≤ 3"},
	{"C6", "single durable events over a static POST and an event of a batch", "≥ 0.67"},
	{"C5", "backlog of the stream into PostgreSQL", "≤ 1.43"},
	{"M1", "statistics of 1,000,000 survey events over `SELECT count(*)`", "≤ 4"},
	{"M2/users", "100 of 100,000 users, with their total", "≤ 3"},
	{"M2/flags", "100 of 10,000 flags, with their total", "≤ 3"},
	{"M2/shown", "a page of users as the API's JSON", ""},
	{"S1/sha1", "`POST /flags`, 32 connections", "≥ 0.5"},
	{"S1/xxhash64", "`POST /flags`, 32 connections", "≥ 0.7"},
	{"S1/hashing", "static answer after 100 hashes", ""},
	{"S5", "all flags by OFREP, 32 connections", "≥ 0.5"},
	{"S5/hashing", "static answer after 100 hashes", ""},
	{"S6", "20 flags by `flag_keys`, 32 connections", ""},
	{"S6/hashing", "static answer after 20 hashes", ""},
	{"S7", "`POST /flags`, stored properties of 1,000,000 persons, PostgreSQL", "≥ 0.8"},
	{"S2/cached", "`POST /flags`, stored properties", "≤ 1.25"},
	{"S2/uncached", "`POST /flags`, stored properties", "≤ 2.5"},
}

func main() {
	if err := run(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "benchratio:", err)
		os.Exit(1)
	}
}

// A series is the runs of one benchmark: by unit, one value each.
type series struct {
	name string // without Benchmark and the number of processors
	unit map[string][]float64
}

func run(r io.Reader, w io.Writer) error {
	all, err := read(r)
	if err != nil {
		return err
	}
	floors := make(map[string]*series)
	for _, s := range all {
		if group, leaf := cut(s.name); leaf == "floor" {
			floors[group] = s
		}
	}
	fmt.Fprintln(w, "| work: case | time | floor | ratio (target) | allocs |")
	fmt.Fprintln(w, "|---|--:|--:|---|--:|")
	t := &table{w: w}
	for _, s := range all {
		if _, ok := s.unit["floor-req/s"]; ok {
			load(t, s)
			continue
		}
		group, leaf := cut(s.name)
		floor := floors[group]
		if leaf == "floor" || floor == nil {
			continue
		}
		id, rest, _ := strings.Cut(group, "/")
		work, target := about(group)
		if leaf != "flagstaff" {
			rest = strings.Trim(rest+"/"+leaf, "/")
		}
		mine, base := slices.Min(s.unit["ns/op"]), slices.Min(floor.unit["ns/op"])
		t.row(id, work, readable(rest), show(mine), show(base), aimed(fmt.Sprintf("%.2f", mine/base), target), allocations(s))
		if heap := s.unit["heap-B/flag"]; len(heap) > 0 {
			t.row(id, "heap beyond rendered bytes", readable(rest), aimed(fmt.Sprintf("%.0f B a flag", median(heap)), "≤ 450"))
		}
	}
	return nil
}

// A table prints rows, each of them without what it has in common with the row above.
type table struct {
	w        io.Writer
	id, work string // of the row above
}

// row prints a row. A benchmark with one case has none to name.
func (t *table) row(id, work, of string, cells ...string) {
	name := []string{"**" + id + "** " + work, of}
	switch {
	case id != t.id:
	case work != t.work:
		name[0] = work
	default:
		name[0] = ""
	}
	t.id, t.work = id, work
	name = slices.DeleteFunc(name, func(part string) bool { return part == "" })
	fmt.Fprintf(t.w, "| %s | %s |\n", strings.Join(name, ": "), strings.Join(cells, " | "))
}

// aimed returns a figure with its target.
func aimed(figure, target string) string {
	if target == "" {
		return figure
	}
	return figure + " (" + target + ")"
}

// about returns what a benchmark measures, and its target.
func about(name string) (work, target string) {
	for _, t := range targets {
		if strings.HasPrefix(name+"/", t.name+"/") {
			work, target = t.work, t.target
		}
	}
	return work, target
}

// load prints a benchmark of a server under load: the rate and the 99th percentile of times.
func load(t *table, s *series) {
	id, _, _ := strings.Cut(s.name, "/")
	for _, unit := range slices.Sorted(maps.Keys(s.unit)) {
		name, ok := strings.CutSuffix(unit, "-req/s")
		if !ok || name == "floor" {
			continue
		}
		rate, floor := median(s.unit[unit]), median(s.unit["floor-req/s"])
		work, target := about(s.name + "/" + name)
		mine, base, ratio := fmt.Sprintf("%.0f/s", rate), fmt.Sprintf("%.0f/s", floor), fmt.Sprintf("%.2f", median(s.unit[name+"/floor"]))
		if len(s.unit[name+"-p99-ms"]) > 0 {
			late, floor := median(s.unit[name+"-p99-ms"]), median(s.unit["floor-p99-ms"])
			mine, base, ratio = fmt.Sprintf("%s, %.1f ms", mine, late), fmt.Sprintf("%s, %.1f ms", base, floor), fmt.Sprintf("%s, %.2f", ratio, late/floor)
			target = strings.TrimPrefix(target+", ≤ 1.5", ", ")
		}
		t.row(id, work, name, mine, base, aimed(ratio, target), "")
	}
}

// readable returns the name of a case in words, without names of what varies.
func readable(name string) string {
	parts := strings.Split(name, "/")
	for i, part := range parts {
		if _, value, ok := strings.Cut(part, "="); ok {
			parts[i] = value
		}
	}
	return strings.Join(parts, ", ")
}

// cut splits a name into its group and its last part.
func cut(name string) (group, leaf string) {
	i := strings.LastIndexByte(name, '/')
	if i < 0 {
		return name, ""
	}
	return name[:i], name[i+1:]
}

func read(r io.Reader) ([]*series, error) {
	var all []*series
	byName := make(map[string]*series)
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 4 || !strings.HasPrefix(fields[0], "Benchmark") {
			continue
		}
		name := strings.TrimPrefix(fields[0], "Benchmark")
		if i := strings.LastIndexByte(name, '-'); i > 0 {
			name = name[:i]
		}
		s := byName[name]
		if s == nil {
			s = &series{name: name, unit: make(map[string][]float64)}
			byName[name] = s
			all = append(all, s)
		}
		for i := 2; i+1 < len(fields); i += 2 {
			v, err := strconv.ParseFloat(fields[i], 64)
			if err != nil {
				return nil, fmt.Errorf("%q is not a number in: %s", fields[i], lines.Text())
			}
			s.unit[fields[i+1]] = append(s.unit[fields[i+1]], v)
		}
	}
	return all, lines.Err()
}

func median(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	v = slices.Sorted(slices.Values(v))
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}

func show(v float64) string {
	switch {
	case v < 1e3:
		return fmt.Sprintf("%.0f ns", v)
	case v < 1e6:
		return fmt.Sprintf("%.1f µs", v/1e3)
	default:
		return fmt.Sprintf("%.1f ms", v/1e6)
	}
}

func allocations(s *series) string {
	if v, ok := s.unit["allocs/op"]; ok {
		return fmt.Sprintf("%.0f", median(v))
	}
	return ""
}
