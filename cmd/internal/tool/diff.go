package tool

import (
	"bufio"
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/flags/diff"
	"github.com/flagstaff-go/flagstaff/internal/subjects"
)

// maxPersons is how many random persons a comparison may take.
const maxPersons = 10_000_000

// diffCommand compares two documents.
func (p *Program) diffCommand() *cli.Command {
	var asJSON bool
	var limit, now string
	persons := 1000
	return &cli.Command{
		Name:      "diff",
		Category:  ofFiles,
		Usage:     "tell what a change of definitions does, and to whom",
		UsageText: ProgramName + " diff [-limit PERCENT] [-now TIME] [-persons N] [-json] OLD NEW [SUBJECTS]",
		Description: `Diff compares two definitions documents, as serve -flags takes them and as the endpoint
/flags/definitions sends them: which flags were added, removed and changed, and in
what; and how many persons get another value, and why. The persons are the subjects of
the file SUBJECTS, one a line: a distinct ID, or a JSON object as POST /flags takes it,
without a key. Without the file they are random persons, the same each time, with
properties and groups that the filters of the documents ask for. One of the files may be
"-", for standard input.

The exit code is 1 if more than PERCENT of the persons get another value of any flag.

Examples:

	git show HEAD:flags.json | flagstaff diff - flags.json
	flagstaff diff -limit 1% old.json new.json subjects.txt`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "limit", Value: "100%", Usage: "how many persons may get another value, `PERCENT` such as 1% or 0.5% (default 100%)", Destination: &limit},
			&cli.StringFlag{Name: "now", Usage: "the `TIME` from which relative dates count, such as 2026-03-01T12:00:00Z. Without it, now", Destination: &now},
			&cli.IntFlag{Name: "persons", Value: persons, Usage: "how many random persons `N` there are without SUBJECTS (default 1000)", Destination: &persons},
			&cli.BoolFlag{Name: "json", Usage: "print the report as JSON", Destination: &asJSON},
		},
		Action: func(ctx context.Context, cmd *cli.Command) error {
			args := cmd.Args().Slice()
			if len(args) != 3 {
				var err error
				if args, err = WantArgs(cmd, "OLD", "NEW"); err != nil {
					return err
				}
			}
			most, ok := Percentage(limit)
			if !ok {
				return BadValue("limit", limit, WantPercentage)
			}
			moment, err := momentOf(now)
			if err != nil {
				return err
			}
			if persons < 1 || persons > maxPersons {
				return BadValue("persons", strconv.Itoa(persons), fmt.Sprintf("a number from 1 to %d", maxPersons))
			}
			c := comparison{program: p, files: Opener{Stdin: p.Stdin}, asJSON: asJSON, limit: most}
			if err := c.read(args[0], args[1]); err != nil {
				return err
			}
			subjects := subjectReader{ctx: ctx, now: moment}
			if len(args) == 2 {
				return c.report(ctx, randomPersons(ctx, persons, moment, c.old, c.new), nil)
			}
			file, err := c.files.Open(args[2])
			if err != nil {
				return err
			}
			defer file.Close()
			subjects.name, subjects.lines = args[2], bufio.NewReaderSize(file, maxSubject)
			return c.report(ctx, subjects.all(), &subjects)
		},
	}
}

// A comparison compares two documents.
type comparison struct {
	program *Program
	files   Opener
	asJSON  bool
	limit   float64 // percent

	old, new      *flags.Definitions
	before, after *flags.Snapshot
}

// read reads the documents, and prints which of their flags are broken.
func (c *comparison) read(before, after string) error {
	for _, side := range []struct {
		path        string
		definitions **flags.Definitions
		snapshot    **flags.Snapshot
	}{{before, &c.old, &c.before}, {after, &c.new, &c.after}} {
		d, err := c.files.document(side.path)
		if err != nil {
			return err
		}
		if *side.definitions, *side.snapshot, err = d.snapshot(); err != nil {
			return err
		}
		c.program.warn(d, *side.snapshot)
	}
	return nil
}

// A flagReport says what a change of definitions does to one flag, as -json prints it.
type flagReport struct {
	Key            string   `json:"key"`
	Change         string   `json:"change"`      // added, removed or changed
	Differences    []string `json:"differences"` // of the definitions, in words
	Changed        int      `json:"changed"`     // persons who get another value
	PayloadChanged int      `json:"payload_changed"`
}

// report evaluates both documents for subjects and prints what differs. reader is where
// they come from, or nil.
func (c *comparison) report(ctx context.Context, subjects iter.Seq[*flags.Request], reader *subjectReader) error {
	report := diff.Compare(c.before, c.after, subjects)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case reader != nil && reader.err != nil:
		return reader.err
	case report.Subjects == 0:
		return fmt.Errorf("%s has no subjects", reader.name)
	}
	changes := flagChanges(c.old, c.new)
	for _, f := range report.Flags {
		i := slices.IndexFunc(changes, func(r flagReport) bool { return r.Key == f.Key })
		if i < 0 { // the definitions are equal, and what they depend on is not
			i = len(changes)
			changes = append(changes, flagReport{Key: f.Key, Change: "changed", Differences: []string{}})
		}
		changes[i].Changed, changes[i].PayloadChanged = f.Changed, f.PayloadChanged
	}
	slices.SortFunc(changes, func(a, b flagReport) int { return strings.Compare(a.Key, b.Key) })
	var err error
	if c.asJSON {
		err = c.program.JSON(struct {
			Subjects int          `json:"subjects"`
			Changed  int          `json:"changed"`
			Flags    []flagReport `json:"flags"`
		}{report.Subjects, report.Changed, changes})
	} else {
		err = c.print(changes, report)
	}
	if err != nil {
		return err
	}
	if share := 100 * float64(report.Changed) / float64(report.Subjects); share > c.limit {
		return fmt.Errorf("%d of %d subjects get another value, more than %s%%", report.Changed, report.Subjects, strconv.FormatFloat(c.limit, 'g', -1, 64))
	}
	return nil
}

func (c *comparison) print(changes []flagReport, report *diff.Report) error {
	var lines []string
	for _, f := range changes {
		if len(f.Differences) == 0 && f.Change == "changed" {
			continue
		}
		lines = append(lines, f.Key+" "+f.Change)
		for _, line := range f.Differences {
			lines = append(lines, "    "+line)
		}
	}
	if len(changes) > 0 {
		lines = append(lines, "")
	}
	if err := c.program.PrintLines(lines...); err != nil {
		return err
	}
	return c.program.Print("%s", strings.TrimSuffix(report.String(), "\n"))
}

const WantPercentage = "a percentage from 0% to 100%, such as 0.5%"

// Percentage reads a percentage, with or without its sign.
func Percentage(text string) (n float64, ok bool) {
	n, err := strconv.ParseFloat(strings.TrimSuffix(text, "%"), 64)
	return n, err == nil && n >= 0 && n <= 100
}

// randomPersons yields persons with random properties and groups, the same ones for the
// same documents.
func randomPersons(ctx context.Context, n int, now time.Time, documents ...*flags.Definitions) iter.Seq[*flags.Request] {
	known := subjects.Of(documents...)
	random := rand.New(rand.NewPCG(1, 2))
	return func(yield func(*flags.Request) bool) {
		for i := range n {
			if ctx.Err() != nil || !yield(known.Draw(random, i+1, now)) {
				return
			}
		}
	}
}
