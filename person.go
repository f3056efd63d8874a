package flagstaff

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/runtime"
)

// A Person answers questions about one person, or about the groups in its request, from
// one snapshot of the definitions. A nil Person answers fallbacks.
type Person struct {
	client   *Client
	snapshot *flags.Snapshot // nil: nothing is loaded
	override *flags.Snapshot // whose flags come first; nil: none
	request  flags.Request
	in       *context.Context // of ForRemote, if OnEvaluation is to have it; nil otherwise

	memory flags.Memory

	// What was decided by an override, or by remote results, in place of memory. The
	// goroutine that has set busy may use it; another one does without, and comes to the
	// same. A mutex would cost an allocation, and a slice another: the compiler could not
	// tell it from the Person.
	busy      atomic.Bool
	decisions *[]decision
}

// A decision is what a flag was found to be.
type decision struct {
	key string
	flags.Detail
	shown bool
}

// For returns a Person for a request, which is copied; what it refers to must not change
// any more. It asks no server. For a nil request the distinct ID is empty.
func (c *Client) For(r *flags.Request) *Person {
	var p Person // a pointer would make the request escape
	if r != nil {
		p.request = *r
	}
	p.client, p.snapshot = c, c.Snapshot()
	return &p
}

// ForRemote is For, after the server has evaluated the flags that need what only the server
// knows, if [Config.RemoteEvaluation] says so. It returns when ctx ends, or after half a
// second; flags without a remote result by then are evaluated here (see package flags/source).
func (c *Client) ForRemote(ctx context.Context, r *flags.Request) *Person {
	p := c.For(r)
	if c != nil {
		p.request.RemoteResults = c.loader.RemoteResults(ctx, p.Request())
		if c.config.OnEvaluation != nil {
			p.in = new(ctx) // with the context itself, all would escape that the request refers to
		}
	}
	return p
}

// decide evaluates a flag the first time. If its value is shown to the person, it is
// reported once. It is not ok for a flag that is unknown or hidden.
func (p *Person) decide(f flags.Ref, shown bool) (d flags.Detail, ok bool) {
	var first bool
	switch {
	case p.override != nil || p.request.RemoteResults != nil:
		d, first, ok = p.recall(f, shown)
	case p.takesFilter():
		r := p.filtered()
		d, first, ok = p.memory.Detail(p.snapshot, f, &r, shown)
	default:
		d, first, ok = p.memory.Detail(p.snapshot, f, &p.request, shown)
	}
	if p.client == nil {
		return d, ok
	}
	if !ok {
		p.missed(f.Key())
	}
	if !shown {
		return d, ok
	}
	fresh := false
	if first && p.client.events != nil {
		fresh = p.client.events.Shown(d, &p.request)
	} else if first {
		fresh = !d.Failed() && !d.Inactive()
	}
	if p.client.config.OnEvaluation != nil && (first || !ok) {
		p.report(f.Key(), d, ok, fresh)
	}
	return d, ok
}

// missed counts an evaluation without a value, if the flag does not exist. It calls a
// function value with a copy, so that neither the Person nor what the caller has escapes; the
// copy of a short key is on the stack.
//
//go:noinline
func (p *Person) missed(key string) {
	if p.client.unknown == nil || p.snapshot.Has(key) {
		return
	}
	var short [shortKey]byte
	if copy(short[:], key) == len(key) {
		p.client.unknown(short, len(key), "")
	} else {
		p.client.unknown(short, 0, strings.Clone(key))
	}
}

// shortKey is how many bytes a key has for which no memory is allocated when it is
// unknown: for a text of so many, the compiler finds a place on the stack.
const shortKey = 32

// recall is decide without the report, for a Person with an override or remote results.
// First says that the value is shown for the first time.
func (p *Person) recall(f flags.Ref, shown bool) (d flags.Detail, first, ok bool) {
	mine := p.busy.CompareAndSwap(false, true)
	if mine {
		defer p.busy.Store(false)
		if p.decisions == nil {
			p.decisions = new([]decision)
		}
		for i := range *p.decisions {
			if a := &(*p.decisions)[i]; a.key == f.Key() {
				first = shown && !a.shown
				a.shown = a.shown || shown
				return a.Detail, first, true
			}
		}
	}
	r := p.filtered()
	if d, ok = f.Detail(p.override, &r); !ok {
		d, ok = f.Detail(p.snapshot, &r)
	}
	if mine && ok {
		*p.decisions = append(*p.decisions, decision{d.Key(), d, shown})
	}
	return d, shown && ok, ok
}

// takesFilter reports whether the request has no Filter and the Client has one.
func (p *Person) takesFilter() bool {
	hides := func(f *runtime.Filter) bool { return f.Kind != runtime.All || f.Tags != nil }
	return p.client != nil && hides(&p.client.config.Filter) && !hides(&p.request.Filter)
}

// filtered returns the request, with the Client's Filter if it has none.
func (p *Person) filtered() flags.Request {
	r := p.request
	if p.takesFilter() {
		r.Filter = p.client.config.Filter
	}
	return r
}

// Bool reports whether a flag is on, and reports the exposure. It returns the fallback
// if the flag is unknown or failed, if its rule set leaves the value to the caller, or if
// nothing is loaded.
func (p *Person) Bool(key string, fallback bool) bool {
	if p == nil {
		return fallback
	}
	d, ok := p.decide(flags.ByKey(key), true)
	switch {
	case !ok:
		r := p.filtered()
		return p.snapshot.Bool(key, &r, fallback)
	case d.Failed():
		return fallback
	case d.Ruled():
		return d.Bool(fallback || d.Enabled())
	}
	return d.Enabled()
}

// Variant returns the key of the variant of a flag, "true" for a flag that is on without
// a variant and "false" for one that is off, and reports the exposure. It returns the
// fallback if the flag is unknown or failed, or if nothing is loaded.
func (p *Person) Variant(key, fallback string) string {
	if v, ok := p.text(flags.ByKey(key), true); ok {
		return v
	}
	return fallback
}

// Lookup is Variant for callers that tell a flag that is off from one that has no value.
// It reports no exposure.
func (p *Person) Lookup(key string) (value string, ok bool) { return p.text(flags.ByKey(key), false) }

func (p *Person) text(f flags.Ref, shown bool) (value string, ok bool) {
	if p == nil {
		return "", false
	}
	d, ok := p.decide(f, shown)
	switch {
	case !ok:
		r := p.filtered()
		return f.Lookup(p.snapshot, &r)
	case d.Failed():
		return "", false
	}
	return d.Text(), true
}

// Payload decodes the payload of a flag into v, as [json.Unmarshal] does, and reports the
// exposure. The error is [flags.ErrNotReady], [flags.ErrUnknownFlag], [flags.ErrNoPayload], or
// what decoding returned.
func (p *Person) Payload(key string, v any) error {
	result, err := p.result(key, true)
	switch {
	case err != nil && !errors.Is(err, flags.ErrFiltered):
		return err
	case result.Metadata.Payload == "":
		return fmt.Errorf("%w: flag %s", flags.ErrNoPayload, strconv.Quote(key))
	}
	return asPayload(key, decodePayload(result.Metadata.Payload, v))
}

// asPayload says of an error that it is about the payload of a flag.
func asPayload(key string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("flagstaff: payload of flag %s: %w", strconv.Quote(key), err)
}

func decodePayload(payload string, v any) error { return json.Unmarshal([]byte(payload), v) }

// Payload returns the payload of a flag, and the fallback if there is none or if it is
// no T. It reports the exposure. The first payload of a flag that is not a T is logged.
func Payload[T any](p *Person, key string, fallback T) T {
	var v T
	err := p.Payload(key, &v)
	switch {
	case err == nil:
		return v
	case errors.Is(err, flags.ErrNotReady), errors.Is(err, flags.ErrUnknownFlag), errors.Is(err, flags.ErrNoPayload):
	default:
		p.client.warn(key, err)
	}
	return fallback
}

// Result returns all that is known about the value of a flag, with its reason. It reports
// no exposure. The error comes from [flags.Snapshot.Flag], or is [flags.ErrNotReady].
func (p *Person) Result(key string) (flags.Result, error) {
	return p.result(key, false)
}

func (p *Person) result(key string, shown bool) (flags.Result, error) {
	if p == nil {
		return flags.Result{}, flags.ErrNotReady
	}
	if d, ok := p.decide(flags.ByKey(key), shown); ok {
		return d.Result(), nil
	}
	r := p.filtered()
	return p.snapshot.Flag(key, &r)
}

// Results evaluates all flags that the request may see, see [flags.Snapshot.Evaluate]. It
// reports no exposure. It is nil if nothing is loaded.
func (p *Person) Results() *flags.Results {
	if p == nil || p.snapshot == nil {
		return nil
	}
	return p.snapshot.Evaluate(p.Request())
}

// Explain says step by step why a flag has its value. The error comes from
// [flags.Snapshot.Explain], or is [flags.ErrNotReady].
func (p *Person) Explain(key string) (*flags.Trace, error) {
	if p == nil || p.snapshot == nil {
		return nil, flags.ErrNotReady
	}
	return p.snapshot.Explain(key, p.Request())
}

// Request returns a copy of the request. It is nil for a nil Person.
func (p *Person) Request() *flags.Request {
	if p == nil {
		return nil
	}
	r := p.filtered()
	return &r
}
