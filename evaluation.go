package flagstaff

import (
	"context"
	"strings"

	"github.com/flagstaff-go/flagstaff/flags"
)

// An Evaluation is what [Config.OnEvaluation] is told.
type Evaluation struct {
	// Key is the key of the flag that was asked for.
	Key string

	// Value is what the flag was found to be. It is zero if Err is not nil.
	Value flags.Detail

	// Err is [flags.ErrNotReady], or says that the flag is unknown or hidden. A flag that
	// exists and could not be computed has a Value that has failed.
	Err error

	// DistinctID is the person for whom the flag was evaluated.
	DistinctID string

	// New says that the value is a new exposure, which [Client.Events] has not reported for
	// this person before, as far as it remembers. Without Events each Value is new, unless
	// it has failed or the flag is inactive.
	New bool
}

// report calls Config.OnEvaluation. It passes copies, so that neither the Person nor what the
// caller has escapes.
//
//go:noinline
func (p *Person) report(key string, d flags.Detail, ok, fresh bool) {
	e := Evaluation{Key: strings.Clone(key), Value: d, DistinctID: strings.Clone(p.request.DistinctID), New: fresh}
	switch {
	case ok:
	case p.snapshot == nil:
		e.Err = flags.ErrNotReady
	default:
		r := p.filtered()
		_, e.Err = p.snapshot.Flag(e.Key, &r)
	}
	ctx := context.Background()
	if p.in != nil {
		ctx = *p.in
	}
	p.client.config.OnEvaluation(ctx, e)
}
