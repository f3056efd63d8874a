package main

import (
	"bytes"
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/flags/source"
	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/server"
)

// A catalog keeps the server's projects as the store has them.
type catalog struct {
	store    management.Store
	registry *server.Registry
	log      *slog.Logger

	mu      sync.Mutex // held by refresh
	current map[int64]*served
}

// A served project has flags for as long as it exists, whatever its keys.
type served struct {
	flags   *flags.Evaluator
	checked func() time.Time
}

func newCatalog(store management.Store, registry *server.Registry, log *slog.Logger) *catalog {
	return &catalog{store: store, registry: registry, log: log}
}

// refresh reads the projects.
func (c *catalog) refresh(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	projects, err := c.store.Projects(ctx)
	if err != nil {
		return err
	}
	byKey := make(map[string]*server.Project, len(projects))
	current := make(map[int64]*served, len(projects))
	for _, p := range projects {
		s := c.current[p.ID]
		if s == nil {
			s = &served{flags: new(flags.Evaluator)}
			none, err := flags.Compile(new(flags.Definitions), flags.CompileOptions{})
			if err != nil {
				return err
			}
			s.flags.Swap(none)
		}
		current[p.ID] = s
		byKey[p.APIKey] = &server.Project{
			ID: p.ID, Name: p.Name, Organization: p.Organization.String(), Flags: s.flags, AnonymizeIPs: p.AnonymizeIPs, Checked: s.checked,
		}
	}
	c.current = current
	c.registry.Replace(byKey)
	return nil
}

// changed is refresh for who has just changed a project here.
func (c *catalog) changed(ctx context.Context, _ int64) {
	if err := c.refresh(context.WithoutCancel(ctx)); err != nil {
		c.log.ErrorContext(ctx, "projects are not up to date yet", "error", err)
	}
}

// projectsInterval is how soon changes by other processes are seen.
const projectsInterval = time.Second

// run follows what other processes change, until ctx ends.
func (c *catalog) run(ctx context.Context) {
	tick := time.NewTicker(projectsInterval)
	defer tick.Stop()
	failing := false
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		err := c.refresh(ctx)
		if err != nil && !failing && ctx.Err() == nil {
			c.log.ErrorContext(ctx, "projects cannot be read; the known ones stay", "error", err)
		}
		failing = err != nil
	}
}

// load gives one project flags: the one that the command line names, or else the
// first, those of the file or the demo. A file is followed until ctx ends.
func (c *catalog) load(ctx context.Context, wg *sync.WaitGroup, s *settings) error {
	projects, err := c.store.Projects(ctx)
	if err != nil || len(projects) == 0 {
		return err
	}
	p := projects[max(0, slices.IndexFunc(projects, func(p management.Project) bool { return p.APIKey == s.projectKey }))]
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
	c.mu.Lock()
	one := c.current[p.ID]
	c.mu.Unlock()
	loader := source.NewLoader(one.flags, from, source.LoaderConfig{Log: c.log})
	// Definitions that cannot be read at the start are a mistake that somebody
	// should see; later ones leave the good set in place.
	if err := loader.Refresh(ctx); err != nil {
		return err
	}
	if s.flagsFile != "" {
		wg.Go(func() { _ = loader.Run(ctx) }) // returns nil when stopped
		one.checked = func() time.Time { return loader.Status().Checked }
	}
	return c.refresh(ctx)
}
