package main

import (
	"bytes"
	"context"
	"slices"
	"sync"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/flags/source"
	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/server/catalog"
)

// pinFlags makes the flags of one project those of the file that the command line
// names: the project is the one of -project-key, or else the first. The file is
// followed until ctx ends.
func (s *settings) pinFlags(ctx context.Context, wg *sync.WaitGroup, store dataStore, projects *catalog.Catalog) error {
	var from source.Source
	switch {
	case s.flagsFile != "":
		from = source.File{Path: s.flagsFile}
	case s.demo:
		d, err := flags.Decode(bytes.NewReader(demo))
		if err != nil {
			return err
		}
		from = source.Static{Definitions: d}
	default:
		return nil
	}
	list, err := store.Projects(ctx)
	if err != nil || len(list) == 0 {
		return err
	}
	p := list[max(0, slices.IndexFunc(list, func(p management.Project) bool { return p.APIKey == s.projectKey }))]
	// Definitions that cannot be read at the start are a mistake that somebody
	// should see; later ones leave the good set in place.
	loader, err := projects.Pin(ctx, p.ID, from)
	if err != nil {
		return err
	}
	if s.flagsFile != "" {
		wg.Go(func() { _ = loader.Run(ctx) }) // returns nil when stopped
	}
	return nil
}
