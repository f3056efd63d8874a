package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v3"

	"github.com/flagstaff-go/flagstaff/internal/export"
)

// exportCommand writes the flags and cohorts of a project as a document.
func (p *program) exportCommand() *cli.Command {
	var r remote
	var to string
	return &cli.Command{
		Name:      "export",
		Category:  ofFlags,
		Usage:     "write the flags and cohorts of a project as a definitions document",
		UsageText: programName + " export [-o FILE] [FLAGS]\n" + programName + " export events [-o FILE] [FLAGS]",
		Description: `Export writes all flags and cohorts of the project as a definitions document, which check,
explain, diff, import and the library take. The same project gives the same bytes, so that
the document can be kept under version control. It has no flags with encrypted payloads,
and no members of static cohorts: import -from takes these from server to server.

Examples:

	flagstaff export -o flags.json
	flagstaff export | flagstaff check -`,
		Flags: append([]cli.Flag{
			&cli.StringFlag{Name: "o", Usage: "write to `FILE`, which is replaced as a whole, instead of standard output", Destination: &to},
		}, r.connection.flags()...),
		Commands: []*cli.Command{p.exportEventsCommand()},
		Action: func(ctx context.Context, cmd *cli.Command) error {
			if _, err := p.connect(&r, cmd); err != nil {
				return err
			}
			done, stop := p.counting("fetched %d flags and cohorts")
			copied, err := fetchProject(ctx, r.client, done)
			stop()
			if err != nil {
				return err
			}
			document, err := copied.export()
			if err != nil {
				return err
			}
			for _, note := range copied.notes {
				fmt.Fprintf(p.stderr, "note: %s\n", printable(note))
			}
			if to == "" || to == "-" {
				_, err := p.stdout.Write(document)
				return err
			}
			if err := writeFile(to, document); err != nil {
				return fmt.Errorf("write the document: %w", err)
			}
			return p.print("wrote %s and %s to %s", count(copied.exported, "flag"), count(len(copied.cohorts), "cohort"), printable(to))
		},
	}
}

// export returns the copy as a document whose bytes depend on its content alone.
func (c *projectCopy) export() ([]byte, error) {
	p := export.Project{Flags: c.flags, Cohorts: c.cohorts, GroupTypes: c.groupTypes, Timezone: c.timezone}
	document, leftOut, err := p.Document()
	if err != nil {
		return nil, fmt.Errorf("the server sends what cannot be read: %w", err)
	}
	for _, key := range leftOut {
		c.notes = append(c.notes, fmt.Sprintf("flag %s is left out: its payloads are encrypted", key))
	}
	c.exported = len(c.flags) - len(leftOut)
	return document, nil
}

// writeFile replaces a file as a whole. The new one can be read by all who may read the
// folder, as other documents.
func writeFile(path string, content []byte) error {
	const readable = 0o644
	return replaceFile(path, readable, func(w io.Writer) error {
		_, err := w.Write(content)
		return err
	})
}

// replaceFile replaces a file by what f writes: there is the old one or the new one,
// whatever happens.
func replaceFile(path string, mode os.FileMode, write func(io.Writer) error) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	err = write(f)
	if err != nil {
		return errors.Join(err, f.Close())
	}
	if err = errors.Join(f.Chmod(mode), f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
