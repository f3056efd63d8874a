package source

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"time"

	"github.com/flagstaff-go/flagstaff/flags"
)

// Cached is a Source that keeps the last definitions of another one on disk, so
// that a process can start while that one is out of reach.
//
// A caller that has definitions is passed on. One that has none waits for the
// inner source for a bounded time, and is served what was kept if that fails. A
// Loader then has definitions and the error of the inner source in its Status,
// and goes on polling; the first answer of the inner source replaces them. Kept
// definitions that the inner source confirms (ErrNotModified) need not be sent
// again.
//
// A document is kept if [flags.Decode] reads it, before anybody compiles it: a
// Loader with Strict may refuse the kept definitions as it would refuse those of
// the inner source. What is kept has a checksum and the inner source's Identity.
// A file that was damaged, cut short or written for another source counts as
// none, and is replaced by the next definitions. It is only readable by its
// owner, since definitions can be confidential, and holds no keys. Processes
// with the same inner source may share it.
type Cached struct {
	// Source is where definitions come from: Remote, as a rule.
	Source DocumentSource

	// Path of the file in which they are kept. Its directory must exist.
	Path string

	// Wait is how long a caller without definitions waits for Source while
	// there are kept ones. Zero: two seconds.
	Wait time.Duration

	// Log is told of a file that cannot be used or written, which keeps
	// nobody from definitions. Nil: no log.
	Log *slog.Logger
}

const defaultWait = 2 * time.Second

// Pace returns that of Source.
func (c Cached) Pace() (interval, maxBackoff time.Duration) {
	if p, ok := c.Source.(paced); ok {
		return p.Pace()
	}
	return 0, 0
}

// Load asks Source, and serves what was kept to a caller who has nothing if that
// fails.
func (c Cached) Load(ctx context.Context, have string) (*flags.Definitions, string, error) {
	a, err := c.answer(ctx, have)
	return a.definitions, a.version, err
}

// answer is Load for a Loader.
func (c Cached) answer(ctx context.Context, have string) (answer, error) {
	switch {
	case c.Source == nil:
		return answer{}, errors.New("source: Cached has no Source")
	case c.Path == "":
		return answer{}, errors.New("source: Cached has no Path")
	case have != "":
		return c.fresh(ctx, have)
	}
	kept, err := c.kept()
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			c.warn(ctx, "kept flag definitions cannot be used", err)
		}
		return c.fresh(ctx, "")
	}
	wait := cmp.Or(max(c.Wait, 0), defaultWait)
	waiting, stop := context.WithTimeout(ctx, wait)
	defer stop()
	a, err := c.fresh(waiting, kept.version)
	switch {
	case err == nil:
		return a, nil
	case errors.Is(err, ErrNotModified):
		kept.origin, kept.version = a.origin, cmp.Or(a.version, kept.version)
		return kept, nil
	case errors.Is(ctx.Err(), context.Canceled):
		return answer{}, err
	case waiting.Err() != nil && ctx.Err() == nil:
		err = fmt.Errorf("source: no definitions within %v: %w", wait, err)
	}
	kept.stale = err
	return kept, nil
}

// fresh asks Source and keeps what it answers.
func (c Cached) fresh(ctx context.Context, have string) (answer, error) {
	document, version, err := c.Source.Document(ctx, have)
	a := answer{version: version, origin: originOf(c.Source), fetched: time.Now()}
	if err != nil {
		return a, err
	}
	if a.definitions, err = flags.Decode(bytes.NewReader(document)); err != nil {
		return answer{}, fmt.Errorf("source: %w", err)
	}
	if err := writeCache(c.Path, cacheHeader{c.Source.Identity(), version, a.fetched}, document); err != nil {
		c.warn(ctx, "flag definitions cannot be kept", err)
	}
	return a, nil
}

// kept returns what is on disk.
func (c Cached) kept() (answer, error) {
	h, document, err := readCache(c.Path)
	if err != nil {
		return answer{}, err
	}
	if h.Identity != c.Source.Identity() {
		return answer{}, fmt.Errorf("source: %s: %w", c.Path, errForeign)
	}
	d, err := flags.Decode(bytes.NewReader(document))
	if err != nil {
		return answer{}, fmt.Errorf("source: %s: %w", c.Path, err)
	}
	return answer{definitions: d, version: h.Version, origin: "cache", fetched: h.Fetched}, nil
}

func (c Cached) warn(ctx context.Context, message string, err error) {
	if c.Log != nil {
		c.Log.WarnContext(ctx, message, "error", err)
	}
}
