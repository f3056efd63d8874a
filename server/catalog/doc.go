// Package catalog keeps the projects of a [server.Server] as a management store
// has them: their API keys, their compiled flags, and what clients fetch besides.
//
//	c, err := catalog.New(catalog.Config{Store: store, Registry: &registry})
//	...
//	err = c.Refresh(ctx) // before the first request
//	go c.Run(ctx)        // follows what other processes change
//
// With [Catalog.Changed] as the management.Config's OnChange, a change is compiled
// and swapped in before who made it is answered. Run learns from the store's Watch
// what other processes have changed, and asks it once a second besides, so that a
// lost connection delays a change but loses none.
//
// A project whose definitions cannot be read or compiled keeps those it has. All
// methods are safe for concurrent use; requests never wait for any of them.
package catalog
