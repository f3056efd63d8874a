package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/flagstaff-go/flagstaff/cmd/internal/api"
	"github.com/flagstaff-go/flagstaff/cmd/internal/tool"
	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/position"
	"github.com/flagstaff-go/flagstaff/management"
)

// exitWouldChange is the exit code of a dry run that would change something.
const exitWouldChange = tool.Exit(3)

// An applyCall is one call of the command.
type applyCall struct {
	remote
	prune, dryRun bool
	ifMatch       string
}

// applyCommand makes a project what a document says.
func (p *program) applyCommand() *cli.Command {
	var c applyCall
	return &cli.Command{
		Name:      "apply",
		Category:  tool.OfFlags,
		Usage:     "make the project what a document says",
		UsageText: tool.ProgramName + " apply [-dry-run] [-prune] [FLAGS] FILE",
		Description: `Apply makes the flags and cohorts of the project what FILE says: a definitions document,
such as export writes it. "-" is standard input. It is the way from Git into a project, and
from one project into another. Flags are found by their keys and cohorts by their names;
what is missing is made, what differs is changed, with a version and an entry in the
activity log, and what is equal or not in the file is left alone.

With -prune, flags that the file does not have are archived, from where they come back with
their history, and cohorts that it does not have are deleted.

Everything happens at once or not at all. If anything cannot be done, nothing is changed,
and each reason is printed with its line and column. Each flag that is new or changed is
tried for random persons first: here it has the value that the file gives.

With -dry-run nothing is changed; it prints exactly what would be. The exit code is 0 then
if nothing would change, 3 if something would, and 1 if the file would be refused. -json
prints an etag beside it: with -if-match, a later apply is refused if anybody has changed
flags or cohorts in between.

Examples:

	flagstaff apply -dry-run flags.json
	flagstaff apply -prune flags.json
	FLAGSTAFF_PROJECT=1 flagstaff export | FLAGSTAFF_PROJECT=2 flagstaff apply -`,
		Flags: c.flags(
			&cli.BoolFlag{Name: "dry-run", Usage: "change nothing; print what would be changed", Destination: &c.dryRun},
			&cli.BoolFlag{Name: "prune", Usage: "archive the flags and delete the cohorts that the file does not have", Destination: &c.prune},
			&cli.StringFlag{
				Name: "if-match", Destination: &c.ifMatch,
				Usage: "change nothing unless the flags and cohorts are those with the `ETAG` that -json has printed",
			},
		),
		Action: func(ctx context.Context, cmd *cli.Command) error {
			args, err := tool.WantArgs(cmd, "FILE")
			if err != nil {
				return err
			}
			if c.client, err = p.ClientWithin(&c.Connection, importTime); err != nil {
				return err
			}
			return p.apply(ctx, &c, args[0])
		},
	}
}

func (p *program) apply(ctx context.Context, c *applyCall, file string) error {
	document, err := p.importFile(file)
	if err != nil {
		return err
	}
	path := c.client.InProject("apply") + fmt.Sprintf("?dry_run=%t&prune=%t", c.dryRun, c.prune)
	var report struct {
		management.ApplyReport
		DryRun bool `json:"dry_run"`
	}
	err = c.client.IfMatch(c.ifMatch).Upload(ctx, path, document, &report)
	if refused, ok := errors.AsType[*api.Error](err); ok && len(refused.Problems) > 0 {
		return p.printProblems(c, file, document, refused.Problems)
	}
	if err != nil {
		return err
	}
	report.DryRun = c.dryRun
	if c.asJSON {
		err = p.JSON(report)
	} else {
		err = p.printApplied(&report.ApplyReport, c.dryRun)
	}
	if err == nil && c.dryRun && len(report.Changes) > 0 {
		return exitWouldChange
	}
	return err
}

// A placedProblem is a problem of a document as -json prints it.
type placedProblem struct {
	api.Problem
	Line   int `json:"line"` // 0 for what the document does not have
	Column int `json:"column"`
}

// printProblems prints why a document is refused, in the order of the file.
func (p *program) printProblems(c *applyCall, file string, document []byte, problems []api.Problem) error {
	if file == "-" {
		file = "standard input"
	}
	find := position.New(document)
	var list []placedProblem
	for _, problem := range problems {
		placed := placedProblem{Problem: problem}
		if problem.Place != "" {
			at := find.Problem(flags.Problem{DefinitionError: &flags.DefinitionError{Path: problem.Place}})
			placed.Line, placed.Column = at.Line, at.Column
		}
		list = append(list, placed)
	}
	slices.SortStableFunc(list, func(a, b placedProblem) int {
		return position.Position{Line: a.Line, Column: a.Column}.Compare(position.Position{Line: b.Line, Column: b.Column})
	})
	if c.asJSON {
		if err := p.JSON(map[string]any{"problems": list}); err != nil {
			return err
		}
		return tool.ErrFound
	}
	var lines []string
	for _, problem := range list {
		at := file
		if problem.Line > 0 {
			at = fmt.Sprintf("%s:%d:%d", file, problem.Line, problem.Column)
		}
		lines = append(lines, at+": "+problem.What+": "+problem.Reason)
	}
	if err := p.PrintLines(append(lines, "nothing was changed: "+tool.Count(len(list), "problem"))...); err != nil {
		return err
	}
	return tool.ErrFound
}

// actions are what is done to flags and cohorts, in the order of the summary, and how a
// dry run calls it.
var actions = []struct{ done, would string }{
	{"created", "would create"},
	{"changed", "would change"},
	{"archived", "would archive"},
	{"deleted", "would delete"},
}

// printApplied prints a report for people.
func (p *program) printApplied(r *management.ApplyReport, dryRun bool) error {
	var lines []string
	counts := make(map[string]int)
	for _, c := range r.Changes {
		counts[c.Action+" "+c.Kind]++
		action, name := c.Action, c.Name
		for _, a := range actions {
			if dryRun && a.done == c.Action {
				action = a.would
			}
		}
		if c.Kind == "cohort" {
			name = fmt.Sprintf("%q", name)
		}
		line := fmt.Sprintf("%s %s %s", action, c.Kind, name)
		if c.Version > 1 {
			line += fmt.Sprintf(" (version %d)", c.Version)
		}
		lines = append(lines, line)
		for _, d := range c.Changes {
			lines = append(lines, "    "+d.String())
		}
	}
	for _, c := range r.StaticCohorts {
		if c.Made {
			lines = append(lines, fmt.Sprintf("note: the static cohort %q has no members: the file does not have them", c.Name))
		}
	}
	for _, note := range r.Notes {
		lines = append(lines, "note: "+note)
	}
	var parts []string
	for _, kind := range []string{"flag", "cohort"} {
		for _, a := range actions {
			if n := counts[a.done+" "+kind]; n > 0 {
				parts = append(parts, tool.Count(n, kind)+" "+a.done)
			}
		}
	}
	summary := "nothing changed"
	switch {
	case len(parts) > 0 && dryRun:
		summary = "with this file: " + strings.Join(parts, ", ")
	case len(parts) > 0:
		summary = strings.Join(parts, ", ")
	case dryRun:
		summary = "nothing would change"
	}
	summary += fmt.Sprintf("; %d as in the file", r.Unchanged)
	if r.Parity > 0 {
		summary += fmt.Sprintf("; each new or changed flag has the value that the file gives for %d random persons", r.Parity)
	}
	return p.PrintLines(append(lines, summary)...)
}
