package source

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"time"

	"github.com/flagstaff-go/flagstaff/flags"
)

// Cached is a Source that keeps the last definitions of another source on disk,
// so that a process can start while that source cannot be reached.
//
// A call with a version is passed on to the inner source. A call without one
// waits for the inner source for a limited time. If that fails, the caller gets
// the kept definitions. A Loader then has definitions, and the error of the
// inner source in its Status. It goes on polling until the first answer of the
// inner source replaces them. If the inner source confirms kept definitions
// ([ErrNotModified]), they need not be sent again.
//
// A document is kept if [flags.Decode] reads it. It need not compile: a Loader with
// Strict may refuse kept definitions just as it may refuse definitions of the inner
// source. The file has a checksum and the Identity of the inner source. A file that
// was damaged, cut short or written for another source is ignored, and replaced by
// the next definitions. Only its owner can read the file, because definitions can
// be confidential; it contains no keys. Processes with the same inner source may
// share it.
type Cached struct {
	// Source is the inner source, usually a Remote.
	Source DocumentSource

	// Path is the path of the file. Its directory must exist.
	Path string

	// Wait is how long a call without a version waits for Source if there are
	// kept definitions. Zero means two seconds.
	Wait time.Duration

	// Log receives warnings of Load about a file that cannot be used or written,
	// which does not stop Cached from serving definitions. Nil means
	// slog.Default(). A Loader logs them itself and has them in its Status.
	Log *slog.Logger
}

const defaultWait = 2 * time.Second

// Pace returns the Pace of Source.
func (c Cached) Pace() (interval, maxBackoff time.Duration) {
	return paceOf(c.Source)
}

// Load asks Source. If that fails and the caller has no version, Load returns
// the kept definitions.
func (c Cached) Load(ctx context.Context, have string) (*flags.Definitions, string, error) {
	a, err := c.answer(ctx, have, decode)
	if err == nil {
		a.store(nil, nil)
	}
	a.warn(ctx, cmp.Or(c.Log, slog.Default()))
	return a.definitions, a.version, err
}

// answer is Load with everything that a Loader records.
func (c Cached) answer(ctx context.Context, have string, decode decoding) (answer, error) {
	switch {
	case c.Source == nil:
		return answer{}, errors.New("source: Cached has no Source")
	case c.Path == "":
		return answer{}, errors.New("source: Cached has no Path")
	case have != "":
		return c.fresh(ctx, have, decode)
	}
	kept, err := c.kept(decode)
	if err != nil {
		a, freshErr := c.fresh(ctx, "", decode)
		if !errors.Is(err, fs.ErrNotExist) {
			a.unread = err
		}
		return a, freshErr
	}
	wait := cmp.Or(max(c.Wait, 0), defaultWait)
	waiting, stop := context.WithTimeout(ctx, wait)
	defer stop()
	a, err := c.fresh(waiting, kept.version, decode)
	switch {
	case err == nil:
		a.onDisk = kept.onDisk
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

// fresh asks Source and keeps its answer.
func (c Cached) fresh(ctx context.Context, have string, decode decoding) (answer, error) {
	document, version, err := c.Source.Document(ctx, have)
	a := answer{version: version, origin: originOf(c.Source), fetched: time.Now()}
	if err != nil {
		return a, err
	}
	if a.definitions, err = decode(document); err != nil {
		return answer{}, fmt.Errorf("source: %w", err)
	}
	a.write = func(kept []KeptPart, d *flags.Definitions) error {
		return writeCache(c.Path, cacheHeader{c.Source.Identity(), version, a.fetched, keepOnDisk(kept, d)}, document)
	}
	return a, nil
}

// kept returns the definitions on disk.
func (c Cached) kept(decode decoding) (answer, error) {
	h, document, err := readCache(c.Path)
	if err != nil {
		return answer{}, err
	}
	if h.Identity != c.Source.Identity() {
		return answer{}, fmt.Errorf("source: %s: %w", c.Path, errForeign)
	}
	d, err := decode(document)
	if err != nil {
		return answer{}, fmt.Errorf("source: %s: %w", c.Path, err)
	}
	a := answer{definitions: d, version: h.Version, origin: "cache", fetched: h.Fetched, onDisk: &diskState{definitions: d}}
	if h.Kept != nil {
		older, err := decode(h.Kept.Definitions)
		if err != nil {
			return answer{}, fmt.Errorf("source: %s: %w", c.Path, err)
		}
		a.onDisk.kept = older
		for _, k := range h.Kept.List {
			a.onDisk.list = append(a.onDisk.list, KeptPart{Since: k.Since, Problem: k.Problem})
		}
	}
	return a, nil
}

// keepOnDisk returns what a file has of what is kept, nil for nothing.
func keepOnDisk(list []KeptPart, d *flags.Definitions) *cachedKept {
	if d == nil {
		return nil
	}
	document, err := json.Marshal(d)
	if err != nil {
		return nil // what Decode has returned can be written
	}
	out := &cachedKept{Definitions: document}
	for _, k := range list {
		out.List = append(out.List, keptRecord{k.Since, k.Problem})
	}
	return out
}
