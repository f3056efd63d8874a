package catalog

import (
	"context"
	"log/slog"
	"time"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/management/storage"
	"github.com/flagstaff-go/flagstaff/server"
)

// load reads everything that is served for a project. Refresh puts it into the Registry
// and serves its flags.
func (c *Catalog) load(ctx context.Context, p *project) error {
	stored, err := c.read(ctx, p.record.ID)
	if err != nil {
		return err
	}
	definitions := storage.FlagDefinitions(stored.flags, stored.cohorts, stored.groupTypes)
	definitions.TimeZone = p.record.Timezone
	p.record.FlagsFile.Complete(definitions)
	if err := c.compile(ctx, p, definitions); err != nil {
		return err
	}
	publication, err := c.publicationOf(ctx, p, stored)
	if err != nil {
		return err
	}
	publication.Definitions = definitions
	published, err := server.Publish(publication)
	if err != nil {
		return err
	}
	p.published = published
	return nil
}

// stored has everything that the store has for a project.
type stored struct {
	flags      []storage.Flag
	cohorts    []storage.Cohort
	groupTypes map[int]string
}

func (c *Catalog) read(ctx context.Context, project int64) (*stored, error) {
	out := new(stored)
	store := c.c.Store
	var err error
	if out.flags, err = store.FlagDefinitions(ctx, project); err != nil {
		return nil, err
	}
	if out.cohorts, err = store.Cohorts().List(ctx, storage.CohortProject.Is(project), storage.CohortDeleted.Is(false)); err != nil {
		return nil, err
	}
	out.groupTypes, err = store.GroupTypes(ctx, project)
	return out, err
}

// compile compiles the definitions of a project. The first ones are served at once, for
// a project in the Registry should have some.
func (c *Catalog) compile(ctx context.Context, p *project, d *flags.Definitions) error {
	o := c.options(p)
	old := p.flags.Snapshot()
	o.Previous = old
	snapshot, err := flags.Compile(d, o)
	if err != nil {
		return err
	}
	p.next = snapshot
	if old == nil {
		p.serve()
	}
	if old != nil && old.ETag() == snapshot.ETag() {
		return nil // something else of the project has changed
	}
	c.c.Log.InfoContext(ctx, "flags changed", "project", p.record.ID, "flags", snapshot.Len(), "problems", len(snapshot.Problems()))
	for _, problem := range snapshot.Problems() {
		level := slog.LevelDebug // their author has seen the warning
		if problem.Severity == flags.SeverityError {
			level = slog.LevelError
		}
		c.c.Log.Log(ctx, level, "problem in flag definitions", "project", p.record.ID, "problem", problem.DefinitionError.Error())
	}
	return nil
}

// options returns the options to compile the flags of a project.
func (c *Catalog) options(p *project) flags.CompileOptions {
	o := c.c.Compile
	if zone, err := time.LoadLocation(p.record.Timezone); err == nil { // checked when it was set
		o.TimeZone = zone
	}
	return o
}

// publicationOf returns the documents that clients can fetch, without the
// definitions.
func (c *Catalog) publicationOf(ctx context.Context, p *project, s *stored) (server.Publication, error) {
	keys := make(map[int64]string, len(s.flags))
	hidden := make(map[int64]bool)
	for i := range s.flags {
		f := &s.flags[i]
		keys[f.ID] = f.Key
		if f.Kind != storage.FlagOrdinary {
			hidden[f.ID] = true
		}
	}
	out := server.Publication{
		Project: p.record.ID, APIKey: p.record.APIKey,
		Hide: func(f *flags.Flag) bool { return hidden[f.ID] },
	}
	for _, publish := range append([]Publisher{c.publishEarlyAccess}, c.c.Publishers...) {
		if err := publish(ctx, &p.record, keys, &out); err != nil {
			return out, err
		}
	}
	return out, nil
}

// publishEarlyAccess is the Publisher of early access features.
func (c *Catalog) publishEarlyAccess(ctx context.Context, project *storage.Project, keys map[int64]string, out *server.Publication) error {
	list, err := c.c.Store.EarlyAccess().List(ctx, storage.FeatureProject.Is(project.ID))
	for i := range list {
		var feature []byte
		if feature, err = list[i].Public(keys[list[i].Flag]); err != nil {
			break
		}
		out.EarlyAccess = append(out.EarlyAccess, server.EarlyAccessFeature{Stage: list[i].Stage, JSON: feature})
	}
	return err
}
