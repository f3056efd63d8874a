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
	// two. A record takes some 300 bytes, and the record of a network serves all
	// of its addresses. Zero means 16,384; negative means no cache.
	CacheSize int

	// Log receives a line for each new version of the file. Watch also logs
	// errors, but not the same error twice in a row. Nil means no log.
	Log *slog.Logger
}

func (o Options) withDefaults() Options {
	o.CacheSize = cmp.Or(o.CacheSize, 1<<14)
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	return o
}

// A Resolver knows where addresses are. It is safe for concurrent use. The zero value
// is like a closed one.
type Resolver struct {
	path    string
	options Options
	file    atomic.Pointer[file] // nil after Close
	closed  chan struct{}        // closed by Close

	checking sync.Mutex // held while the file is checked and loaded
	seen     seen

	mu     sync.Mutex
	status Status
}

// A Status describes the database that a Resolver serves, and the last check of
// its file.
type Status struct {
	// Path is the path that Open was given.
	Path string

	// Type and Built are the database's own description: its kind, such as
	// GeoLite2-City, and the time when it was built.
	Type  string
	Built time.Time

	// Loaded is the time when the database was loaded. Checked is the time when
	// the file was last found to be the loaded one.
	Loaded  time.Time
	Checked time.Time

	// Err says why the file could not be loaded as it is now. It is nil if the
	// file is the loaded one.
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

// Lookup returns the location of an address, or nil and false if the address is
// unknown.
func (r *Resolver) Lookup(a netip.Addr) (*Location, bool) {
	rec := r.record(a)
	if rec == nil {
		return nil, false
	}
	return &rec.location, true
}

// Properties iterates over the $geoip_* properties of an address, as
// [Location.Properties] does. An unknown address has no properties.
func (r *Resolver) Properties(a netip.Addr) iter.Seq2[string, string] {
	rec := r.record(a)
	if rec == nil {
		return noProperties
	}
	return rec.properties
}

func noProperties(func(name, value string) bool) {}

// record returns the record of an address, nil if the address is unknown.
func (r *Resolver) record(a netip.Addr) *record {
	if r == nil {
		return nil
	}
	f := r.file.Load()
	if f == nil {
		return nil
	}
	a = a.Unmap()
	// What Go calls global unicast excludes unspecified, loopback, multicast,
	// link-local and broadcast addresses, but not private ones.
	if !a.IsGlobalUnicast() || a.IsPrivate() {
		return nil
	}
	return f.lookup(a)
}

// Status describes the database that is served, and the last check of its file.
func (r *Resolver) Status() Status {
	if r == nil {
		return Status{}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.status
}

// Close drops the database and ends Watch. It may be called more than once and
// never fails. All addresses are unknown from then on; locations that were
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

// isClosed reports whether the Resolver has no file any more.
func (r *Resolver) isClosed() bool {
	if r.closed == nil {
		return true // Open has not made it
	}
	select {
	case <-r.closed:
		return true
	default:
		return false
	}
}
