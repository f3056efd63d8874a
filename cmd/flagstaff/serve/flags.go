package serve

import (
	"context"
	"sync"

	"github.com/flagstaff-go/flagstaff/flags/source"
	"github.com/flagstaff-go/flagstaff/management/sqlstore"
	"github.com/flagstaff-go/flagstaff/server/catalog"
)

// pinFlags takes the flags of one project from the file of -flags. It follows
// the file until ctx ends.
func (s *settings) pinFlags(ctx context.Context, wg *sync.WaitGroup, store sqlstore.Storage, projects *catalog.Catalog) error {
	if s.flagsFile == "" {
		return nil
	}
	p, err := s.project(ctx, store)
	if err != nil {
		return err
	}
	// Definitions that cannot be read at the start are a mistake to report. If
	// a later change cannot be read, the last good definitions stay in place.
	loader, err := projects.Pin(ctx, p.ID, source.File{Path: s.flagsFile})
	if err != nil {
		return err
	}
	wg.Go(func() { _ = loader.Run(ctx) }) // returns nil when stopped
	return nil
}
