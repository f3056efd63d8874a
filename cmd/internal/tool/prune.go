package tool

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/flagstaff-go/flagstaff/cmd/internal/gen"
	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/vet"
	"github.com/flagstaff-go/flagstaff/vet/prune"
)

// A pruneCall is one call of prune.
type pruneCall struct {
	Connection
	file, tags string
	values     []string
	dry        bool
}

// pruneCommand removes settled flags from Go code.
func (p *Program) pruneCommand() *cli.Command {
	var c pruneCall
	return &cli.Command{
		Name:     "prune",
		Category: ofCode,
		Usage:    "remove flags from Go code that are the same for everybody",
		UsageText: ProgramName + " prune -flags FILE [-n] [-tags LIST] KEY… [-- PACKAGE…]\n" +
			ProgramName + " prune [FLAGS] -url URL KEY… [-- PACKAGE…]\n" +
			ProgramName + " prune [-n] -value KEY=VALUE [-- PACKAGE…]",
		Description: `Prune rewrites the Go code of packages, by default ./..., and their tests: where it asks
for a flag KEY, it has the flag's value instead, and only what that value chooses stays of
if statements, switches and conditions. Variables and imports that nothing uses any more
go, too, and tests do not set the flag to that value any more. The new code does what the
old code does while the flag has its value. Comments stay where they are, but for those
in code that goes.

The value is the one that the definitions in FILE, or on a server, have for everybody.
-value gives one to a flag for which they do not, such as one that is on for nobody: true,
false or the key of a variant.

What is not certainly the same is left, and listed as FILE:LINE: REASON, and so is what
nothing uses afterwards. Places that may ask for any flag, such as a key that is not a
constant, are listed as well. The exit code is 1 if the code still asks for a flag, or may.
Generated files are not changed; make them again when the flag is gone. Lines that do not
change stay as they are, whether gofmt has formatted them or not.

-n writes nothing and prints the difference, for patch -p0; the list goes to standard
error then.

A file .flagstaff-vet.yaml can say where the definitions are, as for ` + ProgramName + ` vet.

Examples:

	flagstaff prune -flags flags.json -n new-checkout
	flagstaff prune -url https://flags.example.com new-checkout new-search -- ./shop/...
	flagstaff prune -value old-banner=false`,
		Flags: append([]cli.Flag{
			&cli.StringFlag{Name: "flags", Usage: "the `FILE` of the definitions; \"-\" is standard input", Destination: &c.file},
			&cli.BoolFlag{Name: "n", Usage: "write nothing, and print how files would differ", Destination: &c.dry},
			&cli.StringSliceFlag{Name: "value", Usage: "`KEY=VALUE`: prune the flag KEY as if everybody had VALUE: true, false or the key of a variant. May be given again", Destination: &c.values},
			&cli.StringFlag{Name: "tags", Usage: "build tags of the Go code, as `LIST` for the go command", Destination: &c.tags},
		}, c.Connection.Flags()...),
		ShellComplete: Complete(func(*cli.Command) []Candidate { return keysOf([]string{c.file}) }),
		Action: func(ctx context.Context, cmd *cli.Command) error {
			keys, packages := p.splitArgs(cmd)
			if c.file != "" && c.URL != "" {
				return WrongUsage("flags -flags and -url exclude each other")
			}
			if len(keys) == 0 && len(c.values) == 0 {
				return WrongUsage("want at least one KEY, or -value KEY=VALUE; see %s -help", cmd.FullName())
			}
			for _, key := range keys {
				if key == "." || strings.HasPrefix(key, "./") || strings.HasSuffix(key, "...") {
					return WrongUsage("%q is not a key of a flag: packages come after --, as in KEY -- %s", key, key)
				}
			}
			return p.prune(ctx, &c, keys, packages)
		},
	}
}

// splitArgs returns the arguments before and after "--", which the parser takes away.
func (p *Program) splitArgs(cmd *cli.Command) (before, after []string) {
	args := cmd.Args().Slice()
	if i := slices.Index(p.Args, "--"); i >= 0 {
		n := max(len(args)-(len(p.Args)-i-1), 0)
		return args[:n], args[n:]
	}
	return args, nil
}

func (p *Program) prune(ctx context.Context, c *pruneCall, keys, packages []string) error {
	values, err := pairs("value", "KEY=VALUE, such as new-checkout=true", c.values)
	if err != nil {
		return err
	}
	o := prune.Options{Keys: keys, Values: values, Env: p.environWithoutKey()}
	if c.tags != "" {
		o.BuildFlags = []string{"-tags=" + c.tags}
	}
	if slices.ContainsFunc(keys, func(key string) bool { return o.Values[key] == "" }) {
		config, err := vet.FindConfig(".", "")
		if err != nil {
			return err
		}
		d, err := p.documentOfCode(ctx, c.file, &c.Connection, config)
		if err != nil {
			return err
		}
		if o.Definitions, err = flags.Decode(bytes.NewReader(d.text)); err != nil {
			return d.wrong(err)
		}
		if o.Snapshot, err = flags.Compile(o.Definitions, flags.CompileOptions{}); err != nil {
			return d.wrong(err)
		}
	}
	if len(packages) == 0 {
		packages = []string{"./..."}
	}
	report, err := prune.Run(ctx, o, packages...)
	if err != nil {
		return p.inLines(err)
	}
	if c.dry {
		for _, f := range report.Files {
			name := shortPath(f.Path)
			diff, err := gen.Diff(name, name, f.Old, f.New)
			if err != nil {
				return err
			}
			if _, err := io.WriteString(p.Stdout, diff); err != nil {
				return err
			}
		}
	} else if err := writePruned(report.Files); err != nil {
		return err
	}
	return p.printPruned(report, c, o)
}

// writePruned writes files, if none of them has changed since it was read.
func writePruned(files []prune.File) error {
	for _, f := range files {
		if now, err := os.ReadFile(f.Path); err != nil {
			return err
		} else if !bytes.Equal(now, f.Old) {
			return fmt.Errorf("%s has changed while its package was read: no file was written", shortPath(f.Path))
		}
	}
	for i, f := range files {
		err := func() error {
			path, err := filepath.EvalSymlinks(f.Path)
			if err != nil {
				return err
			}
			info, err := os.Stat(path)
			if err != nil {
				return err
			}
			return ReplaceFile(path, info.Mode().Perm(), func(w io.Writer) error {
				_, err := w.Write(f.New)
				return err
			})
		}()
		if err != nil {
			return fmt.Errorf("%d of %d files were written: %w", i, len(files), err)
		}
	}
	return nil
}

// printPruned prints what was done, and what was left.
func (p *Program) printPruned(report *prune.Report, c *pruneCall, o prune.Options) error {
	out := p.Stdout
	if c.dry {
		out = p.Stderr
	}
	var lines []string
	for _, f := range report.Files {
		if !c.dry {
			lines = append(lines, shortPath(f.Path))
		}
	}
	for _, place := range slices.Concat(report.Left, report.Open, report.Unused) {
		line := place.Line
		if c.dry {
			line = place.Position.Line
		}
		reason := place.Reason
		switch {
		case place.Key != "":
			reason = fmt.Sprintf("flag %q: %s", place.Key, reason)
		case slices.Contains(report.Open, place):
			reason = "any flag: " + reason
		}
		lines = append(lines, fmt.Sprintf("%s:%d: %s", shortPath(place.Position.Filename), line, reason))
	}
	calls := 0
	for _, n := range report.Calls {
		calls += n
	}
	asked := func(key string) bool {
		return report.Calls[key] > 0 || slices.ContainsFunc(report.Left, func(place prune.Place) bool { return place.Key == key })
	}
	keys := slices.AppendSeq(slices.Clone(o.Keys), maps.Keys(o.Values))
	slices.Sort(keys)
	for _, key := range slices.Compact(keys) {
		may := 0
		for _, place := range report.Open {
			if place.Key == "" || place.Key == key {
				may++
			}
		}
		switch {
		case asked(key):
		case may > 0:
			lines = append(lines, fmt.Sprintf("no code is known to ask for flag %q, but %s above may", key, Count(may, "place")))
		default:
			lines = append(lines, fmt.Sprintf("no code asks for flag %q", key))
		}
	}
	left := len(report.Left) + len(report.Open)
	files := Count(len(report.Files), "file")
	lines = append(lines, fmt.Sprintf("%s replaced in %s, %s left", Count(calls, "call"), files, Count(left, "place")))
	var errs []error
	for _, line := range lines {
		_, err := fmt.Fprintln(out, Printable(line))
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if left > 0 {
		return ErrFound
	}
	return nil
}

// shortPath returns a path as it is from the working folder, if that is shorter.
func shortPath(path string) string {
	folder, err := os.Getwd()
	if err != nil {
		return path
	}
	relative, err := filepath.Rel(folder, path)
	if err != nil || len(relative) > len(path) {
		return path
	}
	return cmp.Or(relative, path)
}
