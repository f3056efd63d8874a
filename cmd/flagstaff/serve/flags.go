package serve

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/flagstaff-go/flagstaff/flags/source"
	"github.com/flagstaff-go/flagstaff/management/sqlstore"
	"github.com/flagstaff-go/flagstaff/management/survey"
	"github.com/flagstaff-go/flagstaff/server/catalog"
)

var (
	//go:embed demo.json
	demoFlags []byte

	//go:embed demo_survey.json
	demoSurvey []byte
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

// addDemo creates flags and a survey in the demo's project, unless it has
// flags.
func (s *settings) addDemo(ctx context.Context, store sqlstore.Storage, services *services) error {
	p, err := s.project(ctx, store)
	if err != nil {
		return err
	}
	known, err := store.Flags(ctx, p.ID)
	if err != nil || len(known) > 0 {
		return err
	}
	if _, err := services.accounts.Import(ctx, p.ID, demoFlags, nil); err != nil {
		return err
	}
	owners, err := store.Members(ctx, p.Organization)
	if err != nil || len(owners) == 0 {
		return err
	}
	owner, err := store.User(ctx, owners[0].User)
	if err != nil {
		return err
	}
	principal, err := services.accounts.PrincipalOf(ctx, owner.UUID)
	if err != nil {
		return err
	}
	var patch survey.Patch
	if err := json.Unmarshal(demoSurvey, &patch); err != nil {
		return err
	}
	_, err = services.surveys.Create(ctx, principal, fmt.Sprint(p.ID), patch)
	return err
}
