package flagstaff

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/flagstaff-go/flagstaff/flags"
)

// A Handle is a flag that a program has declared by [NewBool], [NewVariant], [NewValue] or
// [NewPayload].
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
func declare(h Handle) {
	declared.mu.Lock()
	defer declared.mu.Unlock()
	declared.handles = append(declared.handles, h)
}

// Handles returns all flags that the program has declared, in the order in which that
// happened.
func Handles() []Handle {
	declared.mu.Lock()
	defer declared.mu.Unlock()
	return slices.Clone(declared.handles)
}

// A BoolFlag is a flag that is on or off. While the definitions have a flag with variants, or
// with values of another type, under its key, it has its fallback.
type BoolFlag struct {
	flag     flags.Ref
	fallback bool
}

// NewBool declares a flag with the value of [Person.Bool] where it has none. Declare
// flags as variables of packages: they are listed by [Handles] for ever.
func NewBool(key string, fallback bool) *BoolFlag {
	f := &BoolFlag{flags.Declare(key), fallback}
	declare(f)
	return f
}

// Key returns the key of the flag.
func (f *BoolFlag) Key() string { return f.flag.Key() }

// On reports whether the flag is on for the Person of a context.
func (f *BoolFlag) On(ctx context.Context) bool { return f.Of(From(ctx)) }

// Of reports whether the flag is on for a Person.
func (f *BoolFlag) Of(p *Person) bool {
	if p == nil {
		return f.fallback
	}
	d, ok := p.decide(f.flag, true)
	switch {
	case !ok:
		r := p.filtered()
		return f.flag.Bool(p.snapshot, &r, f.fallback)
	case d.Failed(), d.Multivariate():
		return f.fallback
	case d.Ruled():
		return d.Bool(f.fallback)
	}
	return d.Enabled()
}

// In reports whether the flag is on for a request, by one snapshot. It takes as much time
// as evaluation itself, does not allocate, and reports no exposure.
func (f *BoolFlag) In(s *flags.Snapshot, r *flags.Request) bool {
	return f.flag.Bool(s, r, f.fallback)
}

func (f *BoolFlag) check(k kind) error {
	if k.set != nil {
		return k.wrongType(f.Key(), "NewBool", "boolean")
	}
	if len(k.variants) > 0 {
		return fmt.Errorf("flag %q has variants (%s), and is declared by NewBool", f.Key(), strings.Join(k.variants, ", "))
	}
	return nil
}

// A VariantFlag is a flag with variants, whose keys are of type V. [NewVariant] makes it,
// with functions that must not be changed. They are not methods because a compiler makes
// all methods anew for each V, and a program with a thousand flags compiled for twice as
// long. In exchange, a Person or a request for which Of or In is asked cannot be on the
// stack.
type VariantFlag[V ~string] struct {
	// Key returns the key of the flag.
	Key func() string

	// For returns the value of the flag for the Person of a context.
	For func(ctx context.Context) V

	// Of returns the value of the flag for a Person. It is one of the declared variants:
	// anything else, and "true" and "false" unless they are declared, is the fallback.
	Of func(p *Person) V

	// In returns the value of the flag for a request, by one snapshot. It takes as much
	// time as evaluation itself, does not allocate, and reports no exposure.
	In func(s *flags.Snapshot, r *flags.Request) V
}

// NewVariant declares a flag with its variants. The first one is the fallback.
func NewVariant[V ~string](key string, fallback V, others ...V) *VariantFlag[V] {
	f := &variantHandle{flag: flags.Declare(key), fallback: string(fallback)}
	for _, variant := range others {
		f.others = append(f.others, string(variant))
	}
	declare(f)
	return &VariantFlag[V]{
		Key: f.Key,
		For: func(ctx context.Context) V { return V(f.of(From(ctx))) },
		Of:  func(p *Person) V { return V(f.of(p)) },
		In:  func(s *flags.Snapshot, r *flags.Request) V { return V(f.in(s, r)) },
	}
}

// A variantHandle is a VariantFlag of any type.
type variantHandle struct {
	flag     flags.Ref
	fallback string
	others   []string
}

func (f *variantHandle) Key() string { return f.flag.Key() }

func (f *variantHandle) of(p *Person) string {
	value, ok := p.text(f.flag, true)
	return f.declared(value, ok)
}

func (f *variantHandle) in(s *flags.Snapshot, r *flags.Request) string {
	value, ok := f.flag.Lookup(s, r)
	return f.declared(value, ok)
}

// declared returns a value, or the fallback for what is not declared.
func (f *variantHandle) declared(value string, ok bool) string {
	if ok && slices.Contains(f.others, value) {
		return value
	}
	return f.fallback
}

func (f *variantHandle) check(k kind) error {
	if k.set != nil {
		if err := k.wrongType(f.Key(), "NewVariant", "string"); err != nil {
			return err
		}
		for _, value := range k.set.Values() {
			var variant string
			if err := json.Unmarshal(value, &variant); err != nil {
				return err
			}
			k.variants = append(k.variants, variant)
		}
	}
	want := append([]string{f.fallback}, f.others...)
	var errs []error
	for _, variant := range k.variants {
		if !slices.Contains(want, variant) {
			errs = append(errs, fmt.Errorf("flag %q has the variant %q, which is not declared", f.Key(), variant))
		}
	}
	for _, variant := range f.others {
		if !slices.Contains(k.variants, variant) && variant != "true" && variant != "false" {
			errs = append(errs, fmt.Errorf("flag %q has no variant %q, which is declared", f.Key(), variant))
		}
	}
	return errors.Join(errs...)
}

// A PayloadFlag is a flag whose payload is a T. [NewPayload] makes it, with functions that
// must not be changed, see [VariantFlag].
type PayloadFlag[T any] struct {
	// Key returns the key of the flag.
	Key func() string

	// For returns the payload for the Person of a context, see Of.
	For func(ctx context.Context) T

	// Of returns the payload for a Person, as [Payload] does. Equal payloads are decoded
	// once: what T refers to is shared by all callers, and must not be changed.
	Of func(p *Person) T

	// In returns the payload for a request, by one snapshot, see Of. It reports no
	// exposure.
	In func(s *flags.Snapshot, r *flags.Request) T
}

// NewPayload declares a flag with its payload where it has none. If T is a pointer, the
// payload null is none.
func NewPayload[T any](key string, fallback T) *PayloadFlag[T] {
	f := &payloadHandle{flag: flags.Declare(key), fallback: &fallback}
	declare(f)
	return &PayloadFlag[T]{
		Key: f.Key,
		For: func(ctx context.Context) T { return *f.of(From(ctx)).(*T) },
		Of:  func(p *Person) T { return *f.of(p).(*T) },
		In:  func(s *flags.Snapshot, r *flags.Request) T { return *f.in(s, r).(*T) },
	}
}

// A payloadHandle is a PayloadFlag of any type.
type payloadHandle struct {
	flag     flags.Ref
	fallback any                            // a pointer to a payload, as what of and in return
	known    atomic.Pointer[decodedPayload] // the latest first
}

// A decodedPayload is a payload that was decoded, in a list of them.
type decodedPayload struct {
	text  string
	value any // a pointer; nil: there is an error, or no payload
	err   error
	n     int // how many there are from here on
	next  *decodedPayload
}

var noPayload decodedPayload

func (f *payloadHandle) Key() string { return f.flag.Key() }

// typ returns the type of the payloads.
func (f *payloadHandle) typ() reflect.Type { return reflect.TypeOf(f.fallback).Elem() }

func (f *payloadHandle) of(p *Person) any {
	if p == nil {
		return f.fallback
	}
	detail, _ := p.decide(f.flag, true)
	d := f.decode(detail.Payload())
	if d.err != nil {
		p.client.warn(f.Key(), asPayload(f.Key(), d.err))
	}
	return cmp.Or(d.value, f.fallback)
}

func (f *payloadHandle) in(s *flags.Snapshot, r *flags.Request) any {
	detail, _ := f.flag.Detail(s, r)
	return cmp.Or(f.decode(detail.Payload()).value, f.fallback)
}

// decode returns what a payload is.
func (f *payloadHandle) decode(payload string) *decodedPayload {
	const most = 64 // payloads that are kept
	if payload == "" {
		return &noPayload
	}
	first := f.known.Load()
	for d := first; d != nil; d = d.next {
		if d.text == payload {
			return d
		}
	}
	d := &decodedPayload{text: strings.Clone(payload), n: 1}
	value := reflect.New(f.typ()).Interface()
	d.err = decodePayload(payload, value)
	if v := reflect.ValueOf(value).Elem(); d.err == nil && (v.Kind() != reflect.Pointer || !v.IsNil()) {
		d.value = value
	}
	if first != nil && first.n < most {
		d.n, d.next = first.n+1, first
	}
	f.known.CompareAndSwap(first, d) // what another goroutine has added at this moment is decoded again
	return d
}

func (f *payloadHandle) check(k kind) error {
	if k.set != nil {
		if err := k.wrongType(f.Key(), "NewPayload", "object", "number"); err != nil {
			return err
		}
		return k.wrongValues(f.Key(), f.typ(), func(value string) error { return decodePayload(value, reflect.New(f.typ()).Interface()) })
	}
	var errs []error
	for _, variant := range slices.Sorted(maps.Keys(k.payloads)) {
		if err := decodePayload(k.payloads[variant], reflect.New(f.typ()).Interface()); err != nil {
			errs = append(errs, fmt.Errorf("flag %q: the payload of %q is not of type %v: %w", f.Key(), variant, f.typ(), err))
		}
	}
	if len(k.payloads) == 0 {
		errs = append(errs, fmt.Errorf("flag %q has no payload", f.Key()))
	}
	return errors.Join(errs...)
}

// A kind is what the definitions say about the values of a flag.
type kind struct {
	variants []string
	payloads map[string]string // by variant, or "true"
	remote   bool              // the payload is the value
	set      *flags.RuleSet    // in place of all that, or nil
	fault    error             // why the flag always fails, or nil
}

// wrongType says that the type of a rule set is none of those that a handle is for.
func (k *kind) wrongType(key, declaredBy string, types ...string) error {
	if slices.Contains(types, k.set.ReturnType) {
		return nil
	}
	return fmt.Errorf("flag %q has the return_type %s, and is declared by %s", key, k.set.ReturnType, declaredBy)
}

// wrongValues says which values of a rule set cannot be read as a type.
func (k *kind) wrongValues(key string, as any, read func(value string) error) error {
	var errs []error
	for _, value := range k.set.Values() {
		if err := read(string(value)); err != nil {
			errs = append(errs, fmt.Errorf("flag %q: the value %s is not of type %v", key, value, as))
		}
	}
	return errors.Join(errs...)
}

// learn remembers the kinds of the flags in new definitions.
func (c *Client) learn(d *flags.Definitions) {
	kinds := make(map[string]kind, len(d.Flags))
	for i := range d.Flags {
		f := &d.Flags[i]
		if _, again := kinds[f.Key]; again || f.Deleted {
			continue // the first flag with a key counts
		}
		k := kind{remote: f.IsRemoteConfiguration, set: f.Filters.RuleSet}
		if fault, ok := errors.AsType[*flags.DefinitionError](f.Unusable()); ok {
			e := *fault
			e.Flag = f.Key
			k.fault = &e
		}
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

// Check says which of the declared flags ([Handles]) do not exist, always fail, have other
// variants, or values or payloads of another type. It is [flags.ErrNotReady] if nothing is loaded. Call it at
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
		if k.fault != nil {
			errs = append(errs, fmt.Errorf("flagstaff: %w", k.fault))
			continue
		}
		if err := h.check(k); err != nil {
			errs = append(errs, fmt.Errorf("flagstaff: %w", err))
		}
	}
	return errors.Join(errs...)
}
