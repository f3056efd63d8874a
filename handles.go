package flagstaff

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/flagstaff-go/flagstaff/flags"
)

// A Handle is a flag that a program has declared: a [BoolFlag], a [VariantFlag] or a
// [PayloadFlag].
type Handle interface {
	// Key returns the key of the flag.
	Key() string

	// check says in which way the flag is another one than the program expects.
	check(kind) error
}

var declared struct {
	mu      sync.Mutex
	handles []Handle
}

// declare makes a Handle one of [Handles].
func declare[H Handle](h H) H {
	declared.mu.Lock()
	defer declared.mu.Unlock()
	declared.handles = append(declared.handles, h)
	return h
}

// Handles returns all flags that the program has declared, in the order in which that
// happened.
func Handles() []Handle {
	declared.mu.Lock()
	defer declared.mu.Unlock()
	return slices.Clone(declared.handles)
}

// A BoolFlag is a flag that is on or off.
type BoolFlag struct {
	key      string
	fallback bool
}

// NewBool declares a flag with the value of [Person.Bool] where it has none. Declare
// flags as variables of packages: they are listed by [Handles] for ever.
func NewBool(key string, fallback bool) *BoolFlag { return declare(&BoolFlag{key, fallback}) }

// Key returns the key of the flag.
func (f *BoolFlag) Key() string { return f.key }

// For reports whether the flag is on for the Person of a context.
func (f *BoolFlag) For(ctx context.Context) bool { return f.Of(From(ctx)) }

// Of reports whether the flag is on for a Person.
func (f *BoolFlag) Of(p *Person) bool { return p.Bool(f.key, f.fallback) }

func (f *BoolFlag) check(k kind) error {
	if len(k.variants) > 0 {
		return fmt.Errorf("flag %q has variants (%s), and is declared by NewBool", f.key, strings.Join(k.variants, ", "))
	}
	return nil
}

// A VariantFlag is a flag with variants.
type VariantFlag struct {
	key, fallback string
	others        []string
}

// NewVariant declares a flag with its variants. The first one is the fallback.
func NewVariant(key, fallback string, others ...string) *VariantFlag {
	return declare(&VariantFlag{key, fallback, slices.Clone(others)})
}

// Key returns the key of the flag.
func (f *VariantFlag) Key() string { return f.key }

// For returns the value of the flag for the Person of a context.
func (f *VariantFlag) For(ctx context.Context) string { return f.Of(From(ctx)) }

// Of returns the value of the flag for a Person. It is one of the declared variants:
// anything else, and "true" and "false" unless they are declared, is the fallback.
func (f *VariantFlag) Of(p *Person) string {
	if v := p.Variant(f.key, f.fallback); slices.Contains(f.others, v) {
		return v
	}
	return f.fallback
}

func (f *VariantFlag) check(k kind) error {
	want := append([]string{f.fallback}, f.others...)
	var errs []error
	for _, variant := range k.variants {
		if !slices.Contains(want, variant) {
			errs = append(errs, fmt.Errorf("flag %q has the variant %q, which is not declared", f.key, variant))
		}
	}
	for _, variant := range f.others {
		if !slices.Contains(k.variants, variant) && variant != "true" && variant != "false" {
			errs = append(errs, fmt.Errorf("flag %q has no variant %q, which is declared", f.key, variant))
		}
	}
	return errors.Join(errs...)
}

// A PayloadFlag is a flag whose payload is a T.
type PayloadFlag[T any] struct {
	key      string
	fallback T
}

// NewPayload declares a flag with its payload where it has none.
func NewPayload[T any](key string, fallback T) *PayloadFlag[T] {
	return declare(&PayloadFlag[T]{key, fallback})
}

// Key returns the key of the flag.
func (f *PayloadFlag[T]) Key() string { return f.key }

// For returns the payload for the Person of a context.
func (f *PayloadFlag[T]) For(ctx context.Context) T { return f.Of(From(ctx)) }

// Of returns the payload for a Person.
func (f *PayloadFlag[T]) Of(p *Person) T { return Payload(p, f.key, f.fallback) }

func (f *PayloadFlag[T]) check(k kind) error {
	var errs []error
	for variant, payload := range k.payloads {
		var v T
		if err := decodePayload(payload, &v); err != nil {
			errs = append(errs, fmt.Errorf("flag %q: the payload of %q is no %T: %w", f.key, variant, v, err))
		}
	}
	if len(k.payloads) == 0 {
		errs = append(errs, fmt.Errorf("flag %q has no payload", f.key))
	}
	return errors.Join(errs...)
}

// A kind is what the definitions say about the values of a flag.
type kind struct {
	variants []string
	payloads map[string]string // by variant, or "true"
}

// learn remembers the kinds of the flags in new definitions.
func (c *Client) learn(d *flags.Definitions) {
	kinds := make(map[string]kind, len(d.Flags))
	for i := range d.Flags {
		f := &d.Flags[i]
		if _, again := kinds[f.Key]; again || f.Deleted {
			continue // the first flag with a key counts
		}
		var k kind
		if m := f.Filters.Multivariate; m != nil {
			for _, v := range m.Variants {
				k.variants = append(k.variants, v.Key)
			}
		}
		for variant := range f.Filters.Payloads {
			if text, ok := f.Filters.Payload(variant); ok {
				if k.payloads == nil {
					k.payloads = make(map[string]string)
				}
				k.payloads[variant] = text
			}
		}
		kinds[f.Key] = k
	}
	c.kinds.Store(&kinds)
}

// Check says which of the declared flags ([Handles]) do not exist, have other variants,
// or payloads of another type. It is [flags.ErrNotReady] if nothing is loaded. Call it at
// the start, or in a test against the definitions of production.
func (c *Client) Check() error {
	if c == nil || c.kinds.Load() == nil || c.Snapshot() == nil {
		return flags.ErrNotReady
	}
	kinds := *c.kinds.Load()
	var errs []error
	for _, h := range Handles() {
		k, ok := kinds[h.Key()]
		if !ok {
			errs = append(errs, fmt.Errorf("flagstaff: flag %q does not exist", h.Key()))
			continue
		}
		if err := h.check(k); err != nil {
			errs = append(errs, fmt.Errorf("flagstaff: %w", err))
		}
	}
	return errors.Join(errs...)
}
