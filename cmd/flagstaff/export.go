package main

import (
	"context"
	"fmt"

	"github.com/urfave/cli/v3"

	"github.com/flagstaff-go/flagstaff/cmd/internal/tool"
	"github.com/flagstaff-go/flagstaff/internal/export"
)

// exportCommand writes the flags and cohorts of a project as a document.
func (p *program) exportCommand() *cli.Command {
	var r remote
	var to string
	return &cli.Command{
		Name:      "export",
		Category:  tool.OfFlags,
		Usage:     "write the flags and cohorts of a project as a definitions document",
		UsageText: tool.ProgramName + " export [-o FILE] [FLAGS]\n" + tool.ProgramName + " export events [-o FILE] [FLAGS]",
		Description: `Export writes all flags and cohorts of the project as a definitions document, which check,
explain, diff, import and the library take. The same project gives the same bytes, so that
the document can be kept under version control. It has no flags with encrypted payloads,
and no members of static cohorts: import -from takes these from server to server.

Examples:

	flagstaff export -o flags.json
	flagstaff export | flagstaff check -`,
		Flags: append([]cli.Flag{
			&cli.StringFlag{Name: "o", Usage: "write to `FILE`, which is replaced as a whole, instead of standard output", Destination: &to},
		}, r.Connection.Flags()...),
		Commands: []*cli.Command{p.exportEventsCommand()},
		Action: func(ctx context.Context, cmd *cli.Command) error {
			if _, err := p.connect(&r, cmd); err != nil {
				return err
			}
			done, stop := p.Counting("fetched %d flags and cohorts")
			copied, err := tool.FetchProject(ctx, r.client, done)
			stop()
			if err != nil {
				return err
			}
			document, exported, err := exportOf(copied)
			if err != nil {
				return err
			}
			for _, note := range copied.Notes {
				fmt.Fprintf(p.Stderr, "note: %s\n", tool.Printable(note))
			}
			if to == "" || to == "-" {
				_, err := p.Stdout.Write(document)
				return err
			}
			if err := tool.WriteFile(to, document); err != nil {
				return fmt.Errorf("write the document: %w", err)
			}
			return p.Print("wrote %s and %s to %s", tool.Count(exported, "flag"), tool.Count(len(copied.Cohorts), "cohort"), tool.Printable(to))
		},
	}
}

// exportOf returns a copy as a document whose bytes depend on its content alone, and how
// many flags it has.
func exportOf(c *tool.ProjectCopy) (document []byte, exported int, err error) {
	p := export.Project{Flags: c.Flags, Cohorts: c.Cohorts, GroupTypes: c.GroupTypes, Timezone: c.Timezone}
	document, leftOut, err := p.Document()
	if err != nil {
		return nil, 0, fmt.Errorf("the server sends what cannot be read: %w", err)
	}
	for _, key := range leftOut {
		c.Notes = append(c.Notes, fmt.Sprintf("flag %s is left out: its payloads are encrypted", key))
	}
	return document, len(c.Flags) - len(leftOut), nil
}
