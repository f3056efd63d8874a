// Package catalog keeps the projects of a [server.Server] as a management store
// has them: their API keys, their compiled flags, and the documents that
// clients fetch.
//
//	c, err := catalog.New(catalog.Config{Store: store, Registry: &registry})
//	...
//	err = c.Refresh(ctx) // before the first request
//	go c.Run(ctx)        // follows what other processes change
//
// A Catalog is the one of a management.Config: a change is compiled and served before the
// caller who made it gets an answer. [Catalog.Follow] tells it of a file from which the
// flags of a project come. Run learns from the store's
// Watch what other processes have changed. It also asks the store once a second, so that
// a lost connection delays a change but does not lose it.
//
// A project whose definitions cannot be read or compiled keeps its previous
// ones. All methods are safe for concurrent use. Requests never wait for any of
// them.
package catalog
