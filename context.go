package flagstaff

import (
	"context"

	"github.com/flagstaff-go/flagstaff/flags"
)

// Keys of values in contexts.
type (
	personKey   struct{}
	overrideKey struct{}
)

// Context returns a context with the Person, for [From].
func (p *Person) Context(ctx context.Context) context.Context {
	if s, _ := ctx.Value(overrideKey{}).(*flags.Snapshot); s != nil && p != nil && p.override != s {
		p = &Person{client: p.client, snapshot: p.snapshot, override: s, request: *p.Request(), in: p.in}
	}
	return context.WithValue(ctx, personKey{}, p)
}

// From returns the Person of a context. Without one it returns nil, which answers
// fallbacks.
func From(ctx context.Context) *Person {
	p, _ := ctx.Value(personKey{}).(*Person)
	return p
}

// Override returns a context in which the flags of a snapshot come before all others, for
// the Person that the context has and for every Person that is put into it later. It is
// for tests, see package flags/flagstest, and for the machines of developers.
func Override(ctx context.Context, s *flags.Snapshot) context.Context {
	p := From(ctx)
	if p == nil {
		p = new(Person)
	}
	return p.Context(context.WithValue(ctx, overrideKey{}, s))
}
