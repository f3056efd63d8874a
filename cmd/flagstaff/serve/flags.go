package serve

import (
	"cmp"
	"context"
	"log/slog"
	"sync"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/flags/source"
	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/sqlstore"
	"github.com/flagstaff-go/flagstaff/server/catalog"
)

// importFlags brings the file of -flags into the store whenever it changes, until ctx ends.
func (s *settings) importFlags(
	ctx context.Context, wg *sync.WaitGroup, store sqlstore.Storage, accounts *management.Service, projects *catalog.Catalog, log *slog.Logger,
) error {
	if s.flagsFile == "" {
		return nil
	}
	p, err := s.project(ctx, store)
	if err != nil {
		return err
	}
	var read *flags.Definitions // that are not in the store yet
	var failed error
	compiled := new(flags.Evaluator)
	loader := source.NewLoader(compiled, source.File{Path: s.flagsFile}, source.LoaderConfig{
		Log:           log,
		OnDefinitions: func(d *flags.Definitions) { read = d },
		OnLoad: func(error) { // which the loader logs, and the last good definitions stay
			if read == nil {
				return
			}
			if failed = accounts.ImportFile(ctx, p.ID, s.flagsFile, read); failed == nil {
				read = nil
			} else if ctx.Err() == nil {
				log.ErrorContext(ctx, "the flags of the file are not in the store yet", "file", s.flagsFile, "error", failed)
			}
		},
	})
	err = loader.Refresh(ctx)
	if err = cmp.Or(err, failed); err != nil { // a mistake to report
		return err
	}
	projects.Follow(p.ID, loader, compiled)
	wg.Go(func() { _ = loader.Run(ctx) }) // returns nil when stopped
	return nil
}
