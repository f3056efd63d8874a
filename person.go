package flagstaff

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
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

	// What was asked before. The goroutine that has set busy may use it; another one
	// does without, and comes to the same answer. A mutex would cost an allocation.
	busy  atomic.Bool
	n     int       // how many of first are used
	first [3]answer // the first questions cost no allocation
	more  *[]answer // a pointer, so that the compiler can tell the Person from the list
}

// An answer is what a flag was found to be.
type answer struct {
	key     string
	err     error // why there is no value
	hidden  bool  // the error is flags.ErrFiltered
	ok      bool  // there is a value: the flag is neither unknown nor failed; a hidden one is off
	result  flags.Result
	exposed bool
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

// Ask is For, after the server was asked for the flags that need what only the server
// knows, if [Config.Ask] says so. It returns when ctx ends, or after half a second; flags
// for which there is no answer then are evaluated here (see package flags/source).
func (c *Client) Ask(ctx context.Context, r *flags.Request) *Person {
	p := c.For(r)
	if c != nil {
		p.request.Answers = c.loader.Ask(ctx, p.Request())
	}
	return p
}

// begin returns what a flag was found to be, for a caller that calls end soon. If the value
// is shown to the person, it is reported. It returns nil if another goroutine asks, too.
func (p *Person) begin(key string, shown bool) *answer {
	if !p.busy.CompareAndSwap(false, true) {
		return nil
	}
	a := p.find(key)
	if shown && !a.exposed {
		a.exposed = true
		p.expose(a)
	}
	return a
}

func (p *Person) end() { p.busy.Store(false) }

// evaluate returns what begin does, for a Person that may be nil, and by value.
func (p *Person) evaluate(key string, shown bool) answer {
	if p == nil {
		return answer{err: flags.ErrNotReady}
	}
	if a := p.begin(key, shown); a != nil {
		out := *a
		p.end()
		return out
	}
	var a answer
	p.settle(&a, key)
	if shown {
		p.expose(&a)
	}
	return a
}

// expose reports that a value was shown.
func (p *Person) expose(a *answer) {
	if a.err != nil || a.result.Failed || a.result.Reason.Code == flags.ReasonFlagDisabled {
		return
	}
	if events := p.client.Events(); events != nil {
		events.Shown(&a.result, &p.request)
	}
}

// find returns the answer for a flag, which is evaluated the first time.
func (p *Person) find(key string) *answer {
	for i := range p.n {
		if p.first[i].key == key {
			return &p.first[i]
		}
	}
	var a *answer
	if p.more != nil {
		for i := range *p.more {
			if a = &(*p.more)[i]; a.key == key {
				return a
			}
		}
	}
	if p.n < len(p.first) {
		a = &p.first[p.n]
		p.n++
	} else {
		if p.more == nil {
			p.more = new([]answer)
		}
		*p.more = append(*p.more, answer{})
		a = &(*p.more)[len(*p.more)-1]
	}
	p.settle(a, key)
	return a
}

// settle evaluates a flag.
func (p *Person) settle(a *answer, key string) {
	var err error
	if !p.takesFilter() {
		err = p.flag(key, &p.request, &a.result)
	} else {
		r := p.request
		r.Filter = p.client.config.Filter
		err = p.flag(key, &r, &a.result)
	}
	a.key, a.err, a.hidden = key, err, err != nil && errors.Is(err, flags.ErrFiltered)
	a.ok = err == nil && !a.result.Failed || a.hidden
}

func (p *Person) flag(key string, r *flags.Request, result *flags.Result) (err error) {
	if p.override != nil {
		if err = p.override.FlagInto(result, key, r); err == nil {
			return nil
		}
	}
	if p.snapshot == nil {
		return flags.ErrNotReady
	}
	return p.snapshot.FlagInto(result, key, r)
}

// takesFilter reports whether the request has no Filter and the Client has one.
func (p *Person) takesFilter() bool {
	hides := func(f *runtime.Filter) bool { return f.Kind != runtime.All || f.Tags != nil }
	return p.client != nil && hides(&p.client.config.Filter) && !hides(&p.request.Filter)
}

// Bool reports whether a flag is on, and reports the exposure. It returns the fallback
// if the flag is unknown or failed, or if nothing is loaded.
func (p *Person) Bool(key string, fallback bool) bool {
	if p == nil {
		return fallback
	}
	if a := p.begin(key, true); a != nil {
		on, ok := a.result.Enabled, a.ok
		if p.end(); ok {
			return on
		}
		return fallback
	}
	if a := p.evaluate(key, true); a.ok {
		return a.result.Enabled
	}
	return fallback
}

// Variant returns the key of the variant of a flag, "true" for a flag that is on without
// a variant and "false" for one that is off, and reports the exposure. It returns the
// fallback if the flag is unknown or failed, or if nothing is loaded.
func (p *Person) Variant(key, fallback string) string {
	if a := p.evaluate(key, true); a.ok {
		return a.result.Text()
	}
	return fallback
}

// Lookup is Variant for callers that tell a flag that is off from one that has no value.
// It reports no exposure.
func (p *Person) Lookup(key string) (value string, ok bool) {
	if a := p.evaluate(key, false); a.ok {
		return a.result.Text(), true
	}
	return "", false
}

// Payload decodes the payload of a flag into v, as [json.Unmarshal] does, and reports the
// exposure. The error is [flags.ErrNotReady], [flags.ErrUnknownFlag], [flags.ErrNoPayload], or
// what decoding returned.
func (p *Person) Payload(key string, v any) error {
	a := p.evaluate(key, true)
	switch {
	case a.err != nil && !a.hidden:
		return a.err
	case a.result.Metadata.Payload == "":
		return fmt.Errorf("%w: flag %s", flags.ErrNoPayload, strconv.Quote(key))
	}
	if err := decodePayload(a.result.Metadata.Payload, v); err != nil {
		return fmt.Errorf("flagstaff: payload of flag %s: %w", strconv.Quote(key), err)
	}
	return nil
}

func decodePayload(payload string, v any) error { return json.Unmarshal([]byte(payload), v) }

// Payload returns the payload of a flag, and the fallback if there is none or if it is
// no T. It reports the exposure. The first payload of a flag that is no T is logged.
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
	a := p.evaluate(key, false)
	return a.result, a.err
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
	r := p.request
	if p.takesFilter() {
		r.Filter = p.client.config.Filter
	}
	return &r
}
