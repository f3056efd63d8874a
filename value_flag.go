package flagstaff

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/flagstaff-go/flagstaff/flags"
)

// A ValueFlag is a flag whose value is a text or a number, as OpenFeature understands
// flags (wire.md §7.2): the key of the variant, and for remote configuration the payload.
type ValueFlag[T string | int64 | float64] struct {
	flag     flags.Ref
	fallback T
}

// NewValue declares a flag with its value while it is off, or has a value that is not a T.
func NewValue[T string | int64 | float64](key string, fallback T) *ValueFlag[T] {
	f := &ValueFlag[T]{flags.Declare(key), fallback}
	declare(f)
	return f
}

// Key returns the key of the flag.
func (f *ValueFlag[T]) Key() string { return f.flag.Key() }

// For returns the value for the Person of a context.
func (f *ValueFlag[T]) For(ctx context.Context) T { return f.Of(From(ctx)) }

// Of returns the value for a Person.
func (f *ValueFlag[T]) Of(p *Person) T {
	if p == nil {
		return f.fallback
	}
	return f.value(p.decide(f.flag, true))
}

// In returns the value for a request, by one snapshot. It reports no exposure.
func (f *ValueFlag[T]) In(s *flags.Snapshot, r *flags.Request) T {
	return f.value(f.flag.Detail(s, r))
}

func (f *ValueFlag[T]) value(d flags.Detail, ok bool) T {
	var v T
	var err error
	r := d.Result()
	switch {
	case !ok, !r.Enabled:
		return f.fallback
	case r.RemoteConfiguration() && r.Reason.Code != flags.ReasonHoldout:
		v, err = valueOfPayload[T](r.Metadata.Payload)
	default:
		v, err = valueOfVariant[T](r.Variant)
	}
	if err != nil {
		return f.fallback
	}
	return v
}

func (f *ValueFlag[T]) check(k kind) error {
	var errs []error
	fail := func(what, value string) {
		errs = append(errs, fmt.Errorf("flag %q: the %s %q is not of type %T", f.Key(), what, value, f.fallback))
	}
	switch {
	case k.remote:
		for _, variant := range slices.Sorted(maps.Keys(k.payloads)) {
			if _, err := valueOfPayload[T](k.payloads[variant]); err != nil {
				fail("payload", k.payloads[variant])
			}
		}
	case len(k.variants) == 0:
		errs = append(errs, fmt.Errorf("flag %q has neither variants nor remote configuration, and is declared by NewValue", f.Key()))
	}
	for _, variant := range k.variants {
		if _, err := valueOfVariant[T](variant); err != nil && !k.remote {
			fail("variant", variant)
		}
	}
	return errors.Join(errs...)
}

var errNoValue = errors.New("no value")

// valueOfVariant reads the key of a variant.
func valueOfVariant[T string | int64 | float64](key string) (v T, err error) {
	if key == "" {
		return v, errNoValue
	}
	switch p := any(&v).(type) {
	case *string:
		*p = key
	case *int64:
		*p, err = strconv.ParseInt(key, 10, 64)
	case *float64:
		*p, err = strconv.ParseFloat(key, 64)
	}
	return v, err
}

// valueOfPayload reads a payload. A payload that is not JSON is a text.
func valueOfPayload[T string | int64 | float64](payload string) (v T, err error) {
	if payload == "" {
		return v, errNoValue
	}
	if p, ok := any(&v).(*string); ok && !json.Valid([]byte(payload)) {
		*p = payload
		return v, nil
	}
	return v, decodePayload(payload, &v)
}
