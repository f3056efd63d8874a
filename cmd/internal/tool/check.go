package tool

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/flagstaff-go/flagstaff/flags"
)

// A finding is a problem with its place, as -json prints it.
type finding struct {
	File     string         `json:"file"`
	Line     int            `json:"line"`
	Column   int            `json:"column"`
	Severity flags.Severity `json:"severity"`
	Flag     string         `json:"flag,omitempty"`
	Path     string         `json:"path,omitempty"`
	Value    string         `json:"value,omitempty"`
	Message  string         `json:"message"`
	Hint     string         `json:"hint,omitempty"`
}

// checkCommand finds faults in documents.
func (p *Program) checkCommand() *cli.Command {
	var c checkCall
	return &cli.Command{
		Name:      "check",
		Category:  ofFiles,
		Usage:     "find faults in definitions documents",
		UsageText: ProgramName + " check [-fix] [-json] [-strict] FILE…",
		Description: `Check reads definitions documents and prints what is wrong with them: errors, by which
a flag fails or cannot do what it says, or is refused by a server; warnings, which are
hardly meant; and notes. It looks at flags that are off as well. Each line begins with
FILE:LINE:COLUMN, the column in bytes. "-" is standard input.

It takes all that import takes: lists of flags as management APIs have them, pages of
lists, and several of these one after the other.

With -fix it writes down the IDs and seeds that rule sets leave out: from then on a rule can be
moved and a flag renamed without another value for anybody. All else in the file stays as it
is. What it wrote, and without -fix what it would write, is a note.

The exit code is 1 if there is an error, or with -strict also a warning.

Examples:

	flagstaff check flags.json
	flagstaff check -fix flags.json
	curl -H "Authorization: Bearer $KEY" "$URL/flags/definitions" | flagstaff check -

As a hook of Git, in .git/hooks/pre-commit:

	#!/bin/sh
	exec flagstaff check -strict config/flags.json`,
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "fix", Usage: "write the IDs and seeds that rules leave out into the files", Destination: &c.fix},
			&cli.BoolFlag{Name: "json", Usage: "print a list of objects with file, line, column, severity, flag, path, value, message and hint", Destination: &c.asJSON},
			&cli.BoolFlag{Name: "strict", Usage: "fail for warnings, too", Destination: &c.strict},
		},
		Action: func(_ context.Context, cmd *cli.Command) error {
			paths, err := WantArgs(cmd, "FILE…")
			if err != nil {
				return err
			}
			if c.fix && slices.Contains(paths, "-") {
				return BadValue("fix", "true", "files, not standard input")
			}
			return p.check(paths, c)
		},
	}
}

// A checkCall is one call of the command.
type checkCall struct{ fix, asJSON, strict bool }

func (p *Program) check(paths []string, c checkCall) error {
	files := Opener{Stdin: p.Stdin}
	findings, counts := []finding{}, make(map[flags.Severity]int)
	flagCount := 0
	for _, path := range paths {
		d, err := files.document(path)
		if refused, ok := errors.AsType[*refusedFile](err); ok {
			counts[flags.SeverityError]++
			findings = append(findings, finding{File: refused.path, Line: 1, Column: 1, Severity: flags.SeverityError, Message: refused.why.Error()})
			continue
		}
		if err != nil {
			return err
		}
		found, n, err := d.checked(&files, c.fix)
		if err != nil {
			return err
		}
		flagCount += n
		for _, f := range found {
			counts[f.Severity]++
		}
		findings = append(findings, found...)
	}
	failed := counts[flags.SeverityError] > 0 || c.strict && counts[flags.SeverityWarning] > 0
	summary := "no problems"
	if len(findings) > 0 {
		summary = fmt.Sprintf("%s, %s, %s", Count(counts[flags.SeverityError], "error"), Count(counts[flags.SeverityWarning], "warning"), Count(counts[flags.SeverityNote], "note"))
	}
	summary += fmt.Sprintf(" in %s of %s", Count(flagCount, "flag"), Count(len(paths), "file"))
	if err := printList(p, findings, c.asJSON, summary); err != nil {
		return err
	}
	if failed {
		return ErrFound
	}
	return nil
}

// printList prints findings, a line each, with a summary, or as JSON without one.
func printList[F fmt.Stringer](p *Program, findings []F, asJSON bool, summary string) error {
	if asJSON {
		return p.JSON(findings)
	}
	var lines []string
	for _, f := range findings {
		lines = append(lines, f.String())
	}
	return p.PrintLines(append(lines, summary)...)
}

// Count returns a number with its noun.
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// checked returns the findings about a file, and how many flags it has, after it was fixed if it
// is to be.
func (d *document) checked(files *Opener, fix bool) (found []finding, flagCount int, err error) {
	if _, err := d.definitions(); err != nil {
		found, flagCount = d.findings()
		return found, flagCount, nil
	}
	left := omissions(d.text)
	say, hint := "left out, so that it follows from the place: %v", ProgramName+" check -fix writes it down"
	if len(left) > 0 && fix {
		if d, err = d.fix(files, left); err != nil {
			return nil, 0, err
		}
		say, hint = "wrote %v", ""
	}
	found, flagCount = d.findings()
	for _, o := range left {
		at := d.find.Problem(flags.Problem{DefinitionError: &flags.DefinitionError{Flag: o.flag, Path: "/filters/rules"}})
		found = append(found, finding{
			File: d.path, Line: at.Line, Column: at.Column, Severity: flags.SeverityNote,
			Flag: o.flag, Path: "/filters/rules", Message: fmt.Sprintf(say, &o), Hint: hint,
		})
	}
	sortFindings(found)
	return found, flagCount, nil
}

// sortFindings sorts findings by their places.
func sortFindings(found []finding) {
	slices.SortStableFunc(found, func(a, b finding) int {
		return slices.Compare([]int{a.Line, a.Column}, []int{b.Line, b.Column})
	})
}

// findings returns what is wrong with a document, and how many flags it has.
func (d *document) findings() (found []finding, flagCount int) {
	definitions, snapshot, err := d.snapshot()
	if definitions != nil {
		flagCount = len(definitions.Flags)
	}
	if err != nil {
		at := d.find.Error(err)
		_, message, _ := strings.Cut(err.Error(), "flags: ")
		return []finding{{File: d.path, Line: at.Line, Column: at.Column, Severity: flags.SeverityError, Message: message}}, flagCount
	}
	for _, p := range snapshot.Problems() {
		at := d.find.Problem(p)
		found = append(found, finding{
			File: d.path, Line: at.Line, Column: at.Column, Severity: p.Severity,
			Flag: p.Flag, Path: p.Path, Value: p.Value, Message: p.Err.Error(), Hint: p.Hint,
		})
	}
	return found, flagCount
}

// String returns the finding as a line.
func (f finding) String() string {
	text := fmt.Sprintf("%s:%d:%d: %v: ", f.File, f.Line, f.Column, f.Severity)
	if f.Flag != "" {
		text += fmt.Sprintf("flag %q", f.Flag)
		if f.Path != "" {
			text += " at " + f.Path
		}
		text += ": "
	} else if f.Path != "" {
		text += f.Path + ": "
	}
	text += f.Message
	if f.Value != "" {
		text += ": " + f.Value
	}
	if f.Hint != "" {
		text += "; " + f.Hint
	}
	return text
}
