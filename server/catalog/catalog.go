package catalog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/flags/source"
	"github.com/flagstaff-go/flagstaff/management/storage"
	"github.com/flagstaff-go/flagstaff/server"
)

// A Store has the projects and everything that is served for them. Package
// sqlstore implements it.
type Store interface {
	storage.Changes

	Projects() storage.Table[storage.Project]
	FlagDefinitions(ctx context.Context, project int64) ([]storage.Flag, error)
	Cohorts() storage.Table[storage.Cohort]
	GroupTypes(ctx context.Context, project int64) (map[int]string, error)
	EarlyAccess() storage.Table[storage.EarlyAccessFeature]
}

// A Publisher adds to what clients can fetch of a project. It is called when something of
// the project has changed, with the keys of its flags by their IDs.
type Publisher func(ctx context.Context, project *storage.Project, keys map[int64]string, out *server.Publication) error

// Config configures a [Catalog]. Store and Registry are required.
type Config struct {
	Store    Store
	Registry *server.Registry

	// Publishers are what other packages publish, such as package surveys. Early access
	// features are always published.
	Publishers []Publisher

	// Compile configures the compilation. Its time zone is replaced by the time
	// zone of the project, and its Previous by the Snapshot that is served.
	Compile flags.CompileOptions

	// Interval is how soon a change is seen that Watch has missed. Zero means 1
	// s.
	Interval time.Duration

	// Log receives problems of definitions, and failures of the store when they
	// begin. Nil discards them.
	Log *slog.Logger
}

// A Catalog keeps a Registry up to date.
type Catalog struct {
	c Config

	mu       sync.Mutex // guards versions, projects and what these contain
	versions map[int64]int64
	projects map[int64]*project

	// For callers in a transaction, from the IDs of projects to Evaluators.
	evaluators sync.Map
}

// A project has what is known about one project. Its Evaluator stays the same
// for as long as the project exists, even if its keys change.
type project struct {
	record    storage.Project
	version   int64
	loaded    bool // record and version have not changed since the last load
	flags     *flags.Evaluator
	next      *flags.Snapshot // compiled, not served yet; nil if there is none
	published *server.Published
	checked   time.Time
	compiled  time.Time        // when flags got their definitions
	requested atomic.Int64     // for server.Project
	file      *source.Loader   // nil if its flags come from no file that this process follows
	read      *flags.Evaluator // of file
}

// New returns a Catalog that has no projects before Refresh.
func New(c Config) (*Catalog, error) {
	switch {
	case c.Store == nil:
		return nil, errors.New("catalog: Config.Store is missing")
	case c.Registry == nil:
		return nil, errors.New("catalog: Config.Registry is missing")
	case c.Interval < 0:
		return nil, fmt.Errorf("catalog: Config.Interval is %v, want more than 0", c.Interval)
	}
	c.Interval = cmp.Or(c.Interval, time.Second)
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	return &Catalog{c: c, projects: make(map[int64]*project)}, nil
}

// Refresh reads what has changed since the last call, and returns when the
// changes are served. An error may concern only some of the projects; those are
// served as before.
func (c *Catalog) Refresh(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	versions, err := c.c.Store.Versions(ctx)
	if err != nil {
		return fmt.Errorf("catalog: %w", err)
	}
	changed := false
	if c.versions == nil || versions[0] != c.versions[0] {
		if err := c.readProjects(ctx); err != nil {
			return fmt.Errorf("catalog: %w", err)
		}
		changed = true
	}
	c.versions = maps.Clone(versions)
	if c.versions == nil {
		c.versions = make(map[int64]int64)
	}
	var errs []error
	for id, p := range c.projects {
		if p.loaded && p.version == versions[id] {
			p.checked = now
			continue
		}
		// The version was read before the definitions: if they change in
		// between, they are read again.
		if err := c.load(ctx, p); err != nil {
			errs = append(errs, fmt.Errorf("catalog: project %d: %w", id, err))
			continue
		}
		p.version, p.loaded, p.checked, changed = versions[id], true, now, true
	}
	if changed {
		c.register()
	}
	// Clients that learn of new flags from an Evaluator fetch definitions, so that
	// these come first.
	for _, p := range c.projects {
		p.serve()
	}
	return errors.Join(errs...)
}

// serve swaps in the flags that were compiled last.
func (p *project) serve() {
	if p.next != nil {
		p.flags.Swap(p.next)
		p.next, p.compiled = nil, time.Now()
	}
}

// readProjects reads the list of projects.
func (c *Catalog) readProjects(ctx context.Context) error {
	records, err := c.c.Store.Projects().List(ctx)
	if err != nil {
		return err
	}
	known := make(map[int64]*project, len(records))
	for _, record := range records {
		p := c.projects[record.ID]
		if p == nil {
			p = &project{flags: new(flags.Evaluator)}
			p.flags.OnUnknown(func(u flags.UnknownKey) { c.logUnknown(record.ID, u) })
			p.flags.OnPatternTimeout(func(pattern string) {
				c.c.Log.Warn("matches of a pattern take too long, and count as none", "project", record.ID, "pattern", pattern)
			})
		}
		record.IngestedEvent = p.record.IngestedEvent // its changes do not affect what is served
		record.Updated = p.record.Updated
		if !reflect.DeepEqual(p.record, record) {
			p.record, p.loaded = record, false
		}
		known[record.ID] = p
		c.evaluators.Store(record.ID, p.flags)
	}
	for id := range c.projects {
		if known[id] == nil {
			c.evaluators.Delete(id)
		}
	}
	c.projects = known
	return nil
}

// logUnknown logs a key that clients ask for and that no flag of a project has.
func (c *Catalog) logUnknown(project int64, u flags.UnknownKey) {
	if u.Full {
		c.c.Log.Warn("clients ask for more flags that do not exist, which are counted and not named", "project", project)
		return
	}
	message := "clients ask for a flag that does not exist"
	if len(u.Near) > 0 {
		message += "; do they mean " + strings.Join(u.Near, " or ") + "?"
	}
	c.c.Log.Warn(message, "project", project, "key", u.Key)
}

// register puts the known projects into the Registry, including projects that could
// never be loaded: their clients then learn that flags are missing, not that the
// key is wrong.
func (c *Catalog) register() {
	byKey := make(map[string]*server.Project, len(c.projects))
	for id, p := range c.projects {
		served := &server.Project{
			ID: id, Name: p.record.Name, Organization: p.record.Organization.String(), Flags: p.flags,
			AnonymizeIPs: p.record.AnonymizeIPs, Published: p.published, LastRequest: &p.requested,
			Status: func() server.DefinitionsStatus { return c.status(id) },
		}
		if p.published != nil {
			served.ClientConfig = p.published.Client()
		}
		byKey[p.record.APIKey] = served
	}
	c.c.Registry.Replace(byKey)
}

// status returns where the definitions of a project come from, since when they are served,
// and what is wrong with them.
func (c *Catalog) status(id int64) server.DefinitionsStatus {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.projects[id]
	switch {
	case p == nil:
		return server.DefinitionsStatus{Origin: "store"}
	case p.file != nil:
		s := p.file.Status()
		return server.DefinitionsStatus{Origin: s.Origin, Loaded: s.Loaded, Checked: s.Checked, Problems: p.read.Snapshot().Problems()}
	}
	return server.DefinitionsStatus{Origin: "store", Loaded: p.compiled, Checked: p.checked, Problems: p.flags.Snapshot().Problems()}
}

// Follow names the Loader that brings the flags of a project into the Store. From then on,
// [server.DefinitionsStatus] has the Loader's origin and the times when it loaded and looked, and
// the problems that the Evaluator of the Loader has found: a document can have problems that flags
// in the Store do not have.
func (c *Catalog) Follow(project int64, l *source.Loader, read *flags.Evaluator) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p := c.projects[project]; p != nil {
		p.file, p.read = l, read
	}
}

// Snapshot implements management.Catalog.
func (c *Catalog) Snapshot(project int64) *flags.Snapshot {
	e, ok := c.evaluators.Load(project)
	if !ok {
		return nil
	}
	return e.(*flags.Evaluator).Snapshot()
}

// Changed implements management.Catalog: it calls Refresh and logs its error. By then the
// change is stored; if it cannot be read now, Run reads it later.
func (c *Catalog) Changed(ctx context.Context, project int64) {
	if err := c.Refresh(context.WithoutCancel(ctx)); err != nil {
		c.c.Log.ErrorContext(ctx, "a change is not served yet", "project", project, "error", err)
	}
}

// Run follows the store until ctx ends, and then returns nil.
func (c *Catalog) Run(ctx context.Context) error {
	wake := make(chan struct{}, 1)
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() { c.watch(ctx, wake) })
	tick := time.NewTicker(c.c.Interval)
	defer tick.Stop()
	failure := ""
	for {
		select {
		case <-wake:
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
		err := c.Refresh(ctx)
		switch {
		case err == nil:
			failure = ""
		case ctx.Err() == nil && err.Error() != failure:
			failure = err.Error()
			c.c.Log.ErrorContext(ctx, "projects are not up to date; what was served before stays", "error", err)
		}
	}
}

// watch wakes Run when the store reports a change.
func (c *Catalog) watch(ctx context.Context, wake chan<- struct{}) {
	const minPause, maxPause = 50 * time.Millisecond, time.Second
	pause, failing := minPause, false
	for {
		err := c.c.Store.Watch(ctx, func() {
			pause, failing = minPause, false
			select {
			case wake <- struct{}{}:
			default: // Run is about to look anyway
			}
		})
		if ctx.Err() != nil {
			return
		}
		if err != nil && !failing {
			failing = true
			c.c.Log.WarnContext(ctx, "changes by other processes are seen by polling only", "error", err)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return
		}
		pause = min(2*pause, maxPause)
	}
}
