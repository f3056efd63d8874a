package sqlstore

import (
	"errors"
	"log/slog"
	"time"
)

// Options configure a store. The zero value has the documented defaults.
type Options struct {
	// MaxStale is how old data may be that another process has changed since it
	// was read. Zero means 1 s; a negative value turns the cache off.
	MaxStale time.Duration

	// CacheEntries and CacheBytes bound the cache: the number of persons,
	// groups and so on, and the bytes of their properties. Zero means 65,536
	// and 64 MiB.
	CacheEntries int
	CacheBytes   int64

	// MustExist makes Open fail with [ErrNoStore] if there is no store yet. By
	// default Open makes one.
	MustExist bool

	// Log receives warnings. Nil discards them.
	Log *slog.Logger
}

var (
	// ErrNoStore says that there is no store where [Options.MustExist] wants one.
	ErrNoStore = errors.New("sqlstore: there is no store yet")

	// ErrNewer says that a newer release has changed the schema of the store.
	ErrNewer = errors.New("sqlstore: the schema is newer than this program")
)
