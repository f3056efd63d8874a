package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/flagstaff-go/flagstaff/management"
)

// importFile creates the flags and cohorts of a file in a project of the store,
// and prints a report. Servers that run on the store follow within a second.
func (m *Main) importFile(ctx context.Context, s *settings) (err error) {
	document, err := os.ReadFile(s.importFile)
	if err != nil {
		return fmt.Errorf("read the file of -import: %w", err)
	}
	log := s.logger(m.Stderr)
	store, err := s.openExisting(ctx, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	project, err := s.project(ctx, store)
	if err != nil {
		return err
	}
	service, err := management.New(management.Config{Store: store, Data: store, Log: log})
	if err != nil {
		return err
	}
	report, err := service.Import(ctx, project.ID, document)
	if err != nil {
		return fmt.Errorf("import %s into project %q: %w", s.importFile, project.Name, err)
	}
	printReport(m.Stdout, report, project.Name)
	if len(report.Left) > 0 {
		return fmt.Errorf("%d of the file's flags and cohorts were not imported", len(report.Left))
	}
	return nil
}

func printReport(w io.Writer, r *management.ImportReport, project string) {
	for _, left := range r.Left {
		fmt.Fprintf(w, "not imported: %s: %s\n", left.What, left.Reason)
	}
	for _, note := range r.Notes {
		fmt.Fprintf(w, "note: %s\n", note)
	}
	fmt.Fprintf(w, "imported %d flags and %d cohorts into project %q\n", len(r.Flags), len(r.Cohorts), project)
	fmt.Fprintf(w, "the flags have the same values as in the file for %d random subjects\n", r.Parity)
}

// project returns the project of -project-key, or the first one.
func (s *settings) project(ctx context.Context, store management.Store) (*management.Project, error) {
	list, err := store.Projects(ctx)
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%s has no project yet; start the server on it first", s.storeName())
	}
	if s.projectKey == "" {
		return &list[0], nil
	}
	i := slices.IndexFunc(list, func(p management.Project) bool { return p.APIKey == s.projectKey })
	if i < 0 {
		return nil, fmt.Errorf("%s has no project with the key of -project-key", s.storeName())
	}
	return &list[i], nil
}
