package catalog

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/flags/source"
)

// A pin is a source that replaces the store as the origin of a project's flags.
type pin struct {
	loader *source.Loader
	flags  flags.Evaluator                   // of the loader; the project's own follows
	last   atomic.Pointer[flags.Definitions] // the latest from the source
}

// Pin makes a source the origin of a project's flags, whatever the store has,
// and returns when they are served. The project's surveys and early access
// features still come from the store. Run the returned Loader if the source can
// change. After an error the project is as before.
func (c *Catalog) Pin(ctx context.Context, id int64, from source.Source) (*source.Loader, error) {
	pinned := new(pin)
	if err := c.newLoader(context.WithoutCancel(ctx), id, pinned, from); err != nil {
		return nil, err
	}
	if err := pinned.loader.Refresh(ctx); err != nil {
		return nil, err
	}
	return pinned.loader, nil
}

func (c *Catalog) newLoader(ctx context.Context, id int64, pinned *pin, from source.Source) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.projects[id]
	if p == nil {
		return fmt.Errorf("catalog: there is no project %d", id)
	}
	pinned.loader = source.NewLoader(&pinned.flags, from, source.LoaderConfig{
		Compile: c.options(p), Log: c.c.Log,
		OnDefinitions: pinned.last.Store,
		OnSwap:        func(_, _ *flags.Snapshot) { c.republish(ctx, id, pinned) },
	})
	return nil
}

// republish publishes a project whose source has new definitions, and then serves its
// flags, even if the store fails.
func (c *Catalog) republish(ctx context.Context, id int64, pinned *pin) {
	c.mu.Lock()
	p := c.projects[id]
	if p != nil {
		p.pinned, p.loaded = pinned, false
		c.pins.Store(id, pinned)
	}
	c.mu.Unlock()
	c.Changed(ctx, id)
	if p != nil {
		p.flags.Swap(pinned.flags.Snapshot())
	}
}
