package flagstaff

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"

	"github.com/flagstaff-go/flagstaff/flags"
)

// A ValueFlag is a flag whose value is a text or a number: that of a rule set, or what it is for
// OpenFeature (wire.md §7.2), the key of the variant, and for remote configuration the payload.
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

func (f *ValueFlag[T]) value(d flags.Detail, ok bool) T { return valueOf(d, ok, f.fallback) }

// valueOf returns the value of a flag, and the fallback if that is not a T.
func valueOf[T string | int64 | float64](d flags.Detail, ok bool, fallback T) T {
	var v T
	var err error
	if ok && d.Ruled() {
		return typed(d, fallback)
	}
	r := d.Result()
	switch {
	case !ok, !r.Enabled:
		return fallback
	case r.RemoteConfiguration() && r.Reason.Code != flags.ReasonHoldout:
		v, err = valueOfPayload[T](r.Metadata.Payload)
	default:
		v, err = valueOfVariant[T](r.Variant)
	}
	if err != nil {
		return fallback
	}
	return v
}

// typed returns the value of a flag with a rule set, and the fallback if that is not a T.
func typed[T string | int64 | float64](d flags.Detail, fallback T) T {
	value, ok := d.Typed()
	switch to := any(&fallback).(type) {
	case *string:
		if ok && value.Type == "string" {
			*to = value.Text
		}
	case *int64:
		if n := int64(value.Number); ok && value.Type == "number" && float64(n) == value.Number {
			*to = n
		}
	case *float64:
		if ok && value.Type == "number" {
			*to = value.Number
		}
	}
	return fallback
}

// String returns the value of a flag whose value is a text: of a rule set, or else the key of the
// variant, and for remote configuration the payload. It reports the exposure. It returns the
// fallback if the flag is unknown, failed or off, or if its value is of another type.
func (p *Person) String(key, fallback string) string { return personal(p, key, fallback) }

// Int is String for a flag whose value is a whole number.
func (p *Person) Int(key string, fallback int64) int64 { return personal(p, key, fallback) }

// Float is String for a flag whose value is a number.
func (p *Person) Float(key string, fallback float64) float64 { return personal(p, key, fallback) }

// JSON is String for a flag whose value is an object, or has a payload.
func (p *Person) JSON(key string, fallback json.RawMessage) json.RawMessage {
	if p == nil {
		return fallback
	}
	d, ok := p.decide(flags.ByKey(key), true)
	if !ok {
		return fallback
	}
	if v, ok := d.Typed(); ok {
		return json.RawMessage(v.JSON)
	}
	if payload := d.Payload(); payload != "" && !d.Ruled() {
		return json.RawMessage(payload)
	}
	return fallback
}

func personal[T string | int64 | float64](p *Person, key string, fallback T) T {
	if p == nil {
		return fallback
	}
	d, ok := p.decide(flags.ByKey(key), true)
	return valueOf(d, ok, fallback)
}

func (f *ValueFlag[T]) check(k kind) error {
	if k.set != nil {
		name, want := fmt.Sprintf("NewValue[%T]", f.fallback), "number"
		if _, isText := any(f.fallback).(string); isText {
			want = "string"
		}
		if err := k.wrongType(f.Key(), name, want); err != nil {
			return err
		}
		return k.wrongValues(f.Key(), reflect.TypeFor[T](), func(value string) error {
			if _, isWhole := any(f.fallback).(int64); !isWhole {
				return nil
			}
			n, err := strconv.ParseFloat(value, 64)
			if err == nil && n != math.Trunc(n) {
				err = errNoValue
			}
			return err
		})
	}
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
