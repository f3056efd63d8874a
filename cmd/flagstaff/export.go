package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/flagstaff-go/flagstaff/cmd/internal/tool"
	"github.com/flagstaff-go/flagstaff/internal/export"
	"github.com/flagstaff-go/flagstaff/management/foreign"
)

// exportCommand writes the flags and cohorts of a project as a document.
func (p *program) exportCommand() *cli.Command {
	var r remote
	var to, product string
	var o foreign.Options
	return &cli.Command{
		Name:     "export",
		Category: tool.OfFlags,
		Usage:    "write the flags and cohorts of a project as a definitions document",
		UsageText: tool.ProgramName + " export [-o FILE] [FLAGS]\n" +
			tool.ProgramName + " export -to PRODUCT [-o FILE] [FLAGS] [FILE]\n" +
			tool.ProgramName + " export events [-o FILE] [FLAGS]",
		Description: `Export writes all flags and cohorts of the project as a definitions document, which check,
explain, diff, import and the library take. The same project gives the same bytes, so that
the document can be kept under version control. It has no flags with encrypted payloads,
and no members of static cohorts: import -from takes these from server to server.

With -to it writes what another product reads, of the project or of the definitions in FILE:
those flags that give everybody there the value that they have here. A flag of which this
cannot be said is left out, standard error says why, and the exit code is 1. The products are
` + strings.Join(foreign.Exports(), ", ") + `.

Examples:

	flagstaff export -o flags.json
	flagstaff export | flagstaff check -
	flagstaff export -to launchdarkly -o launchdarkly.json flags.json`,
		Flags: append([]cli.Flag{
			&cli.StringFlag{Name: "o", Usage: "write to `FILE`, which is replaced as a whole, instead of standard output", Destination: &to},
			&cli.StringFlag{Name: "to", Usage: "write what `PRODUCT` reads", Destination: &product},
			&cli.StringFlag{Name: "bucket-version", Usage: "which way of drawing serves the users there, where the product has changed it: `old or new`", Destination: &o.Version},
			&cli.StringSliceFlag{Name: "map", Usage: "`ATTRIBUTE=PROPERTY` calls a property by another name there; can be repeated", Destination: &o.Map},
		}, r.Connection.Flags()...),
		Commands: []*cli.Command{p.exportEventsCommand()},
		Action: func(ctx context.Context, cmd *cli.Command) error {
			switch {
			case product == "" && (o.Version != "" || len(o.Map) > 0):
				return tool.WrongUsage("flags -bucket-version and -map are for -to PRODUCT")
			case product != "" && !slices.Contains(foreign.Exports(), product):
				return tool.BadValue("to", product, "one of "+strings.Join(foreign.Exports(), ", "))
			case product != "" && cmd.Args().Len() > 0:
				args, err := tool.WantArgs(cmd, "FILE")
				if err != nil {
					return err
				}
				document, err := p.importFile(args[0])
				if err != nil {
					return err
				}
				return p.exportForeign(document, product, to, &o)
			}
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
			if product != "" {
				return p.exportForeign(document, product, to, &o)
			}
			return p.writeExport(to, document, tool.Count(exported, "flag")+" and "+tool.Count(len(copied.Cohorts), "cohort"))
		},
	}
}

// exportForeign writes definitions as another product has them.
func (p *program) exportForeign(definitions []byte, product, to string, o *foreign.Options) error {
	document, refused, err := foreign.Export(definitions, product, *o)
	if err != nil {
		return err
	}
	for _, k := range refused {
		fmt.Fprintf(p.Stderr, "left out flag %s: %s\n", tool.Printable(k.Flag), tool.Printable(strings.Join(k.Reasons, " ")))
	}
	if err := p.writeExport(to, append(document, '\n'), "the flags"); err != nil {
		return err
	}
	if len(refused) > 0 {
		return tool.ErrFound
	}
	return nil
}

// writeExport writes a document into a file, or standard output.
func (p *program) writeExport(to string, document []byte, what string) error {
	if to == "" || to == "-" {
		_, err := p.Stdout.Write(document)
		return err
	}
	if err := tool.WriteFile(to, document); err != nil {
		return fmt.Errorf("write the document: %w", err)
	}
	return p.Print("wrote %s to %s", what, tool.Printable(to))
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
