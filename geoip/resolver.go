package geoip

import (
	"cmp"
	"iter"
	"log/slog"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"
)

// Options configures a Resolver. The zero value is usable.
type Options struct {
	// CacheSize is how many records are kept decoded, rounded up to a power of
	// two. A record takes some 300 bytes; that of a busy network serves many
	// addresses. Zero: 16,384. Negative: none.
	CacheSize int

	// Log is told of new versions of the file, and by Watch of errors, of each
	// only when it changes. Nil: no log.
	Log *slog.Logger
}

func (o Options) withDefaults() Options {
	o.CacheSize = cmp.Or(o.CacheSize, 1<<14)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

// A Resolver knows where addresses are. It is safe for concurrent use.
type Resolver struct {
	path    string
	options Options
	file    atomic.Pointer[file] // nil: closed
	closed  chan struct{}

	checking sync.Mutex // held while the file is checked and loaded
	seen     seen

	mu     sync.Mutex
	status Status
}

// Status tells what a Resolver has and when it got it.
type Status struct {
	// Path is that of Open.
	Path string

	// Type and Built are what the database says of itself: its kind, such as
	// GeoLite2-City, and when it was built.
	Type  string
	Built time.Time

	// Loaded is when it was loaded; Checked when the file was last found to be
	// the one that is loaded.
	Loaded  time.Time
	Checked time.Time

	// Err says why the file as it is now could not be loaded, nil if it is.
	Err error
}

// Open reads the database at path. An error names the path and what is wrong.
func Open(path string, o Options) (*Resolver, error) {
	r := &Resolver{path: path, options: o.withDefaults(), closed: make(chan struct{}), status: Status{Path: path}}
	if err := r.Refresh(); err != nil {
		return nil, err
	}
	return r, nil
}

// Lookup returns the location of an address, or nil and false if nothing is
// known of it.
func (r *Resolver) Lookup(a netip.Addr) (*Location, bool) {
	rec := r.record(a)
	if rec == nil {
		return nil, false
	}
	return &rec.location, true
}

// Properties iterates over the $geoip_* properties of an address, as
// [Location.Properties] does. There are none if nothing is known of it.
func (r *Resolver) Properties(a netip.Addr) iter.Seq2[string, string] {
	rec := r.record(a)
	if rec == nil {
		return none
	}
	return rec.properties
}

func none(func(name, value string) bool) {}

// record returns what is known of an address, nil if nothing is.
func (r *Resolver) record(a netip.Addr) *record {
	if r == nil {
		return nil
	}
	f := r.file.Load()
	if f == nil {
		return nil
	}
	a = a.Unmap()
	// Global unicast is, in Go's words, what is none of unspecified, loopback,
	// multicast, link-local and broadcast.
	if !a.IsGlobalUnicast() || a.IsPrivate() {
		return nil
	}
	return f.lookup(a)
}

// Status returns what the Resolver has and how the last check of its file went.
func (r *Resolver) Status() Status {
	if r == nil {
		return Status{}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.status
}

// Close forgets the database and ends Watch. It may be called more than once
// and never fails. Addresses are unknown from then on; locations that were
// looked up before stay as they are.
func (r *Resolver) Close() error {
	if r == nil {
		return nil
	}
	r.checking.Lock()
	defer r.checking.Unlock()
	if r.file.Swap(nil) != nil {
		close(r.closed)
	}
	r.seen = seen{}
	return nil
}

// isClosed reports whether Close was called.
func (r *Resolver) isClosed() bool {
	select {
	case <-r.closed:
		return true
	default:
		return false
	}
}
