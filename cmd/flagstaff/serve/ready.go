package serve

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/server"
)

// A readiness says whether the program can do its work (/readyz).
type readiness struct {
	parts    []part
	canWrite func(context.Context) error // writes something as events are written
	draining atomic.Bool

	trying sync.Mutex // held while canWrite runs

	mu    sync.Mutex
	tried time.Time // when the newest write ended, of events or of canWrite
	err   error     // of that write
}

// A part of the program answers, or something is wrong.
type part struct {
	wrong   string // in words, for everybody
	answers func(context.Context) error
}

const (
	// tryEvery is for how long the outcome of a write counts, and tryTimeout how
	// long another one may then take.
	tryEvery   = 5 * time.Second
	tryTimeout = 2 * time.Second
)

func newReadiness(canWrite func(context.Context) error, parts ...part) *readiness {
	return &readiness{parts: parts, canWrite: canWrite}
}

// wrote notes how a write of n events ended. Faults of single events are none of
// what keeps them.
func (r *readiness) wrote(n int, err error) {
	if _, only := capture.Faults(err, n); only {
		err = nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tried, r.err = time.Now(), err
}

// check returns what is wrong, as a [*server.NotReady].
func (r *readiness) check(ctx context.Context) error {
	if r.draining.Load() {
		return &server.NotReady{What: "shutting down"}
	}
	var wrong []string
	var errs []error
	for _, p := range r.parts {
		if err := p.answers(ctx); err != nil {
			wrong, errs = append(wrong, p.wrong), append(errs, err)
		}
	}
	if len(wrong) == 0 { // otherwise it is clear why, and trying could take long
		if err := r.events(ctx); err != nil {
			wrong, errs = append(wrong, "events cannot be written"), append(errs, err)
		}
	}
	if len(wrong) == 0 {
		return nil
	}
	return &server.NotReady{What: strings.Join(wrong, "; "), Err: errors.Join(errs...)}
}

// events returns why events cannot be written. It writes something if nothing was
// written lately.
func (r *readiness) events(ctx context.Context) error {
	lately := func() (err error, ok bool) {
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.err, time.Since(r.tried) < tryEvery
	}
	if err, ok := lately(); ok {
		return err
	}
	r.trying.Lock()
	defer r.trying.Unlock()
	if err, ok := lately(); ok {
		return err
	}
	// A client that leaves does not mean that the write has failed.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tryTimeout)
	defer cancel()
	err := r.canWrite(ctx)
	r.wrote(0, err)
	return err
}
