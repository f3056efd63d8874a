package management

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/flags/subject"
	"github.com/flagstaff-go/flagstaff/flags/wire"
	"github.com/flagstaff-go/flagstaff/internal/rawjson"
	"github.com/flagstaff-go/flagstaff/runtime"
)

// readRequest reads the body of a request for flags (evaluation.md §8.1). It must
// name a person.
func readRequest(document []byte) (*wire.Request, error) {
	r := new(wire.Request)
	err := r.Parse(document)
	if e, ok := errors.AsType[*wire.FieldError](err); ok {
		return nil, invalid(e.Field, "invalid_input", "Must be %s.", e.Want)
	}
	switch {
	case err != nil:
		return nil, invalid("", "invalid_input", "The body is not JSON.")
	case !r.HasDistinctID:
		return nil, invalid("distinct_id", "required", "This field is required.")
	}
	return r, nil
}

// requestFor is readRequest for a person and groups, a JSON object or "".
func requestFor(distinctID, groups string) (*wire.Request, error) {
	groups = cmp.Or(groups, "{}")
	if _, ok := rawjson.Object(json.RawMessage(groups)); !ok {
		return nil, invalid("groups", "invalid_input", "Must be an object.")
	}
	return readRequest(rawjson.Must(map[string]any{"distinct_id": distinctID, "groups": json.RawMessage(groups)}))
}

// evaluateRequest fills in with a request and with what is stored about its subject, and
// evaluates all flags that it asks for.
func (s *Service) evaluateRequest(ctx context.Context, snapshot *flags.Snapshot, project int64, r *wire.Request) (*flags.Results, error) {
	in := new(flags.Input)
	if err := s.fillInput(ctx, in, snapshot, project, r); err != nil {
		return nil, err
	}
	return in.Evaluate(), nil
}

// fillInput resets in to a request for flags and adds what is stored about its
// subject, as far as it matters. Nothing is looked up about the client, which asks
// for somebody else.
func (s *Service) fillInput(ctx context.Context, in *flags.Input, snapshot *flags.Snapshot, project int64, r *wire.Request) error {
	if err := r.Fill(in, snapshot, runtime.All, s.now()); err != nil {
		return invalid("", "invalid_input", "The body cannot be used for flags.")
	}
	return s.addStored(ctx, project, r, in)
}

// addStored adds to Inputs, which have been filled with a request, what is stored
// about the subject of the request. Nothing is added if there is no Config.Data.
func (s *Service) addStored(ctx context.Context, project int64, r *wire.Request, inputs ...*flags.Input) error {
	filler := subject.Filler{Store: s.c.Data, ReadOnly: true}
	for _, f := range filler.Fill(ctx, subject.Request{Request: r, Project: project}, inputs...) {
		return fmt.Errorf("management: read the stored %s: %w", f.What, f.Err)
	}
	return nil
}

// flagValue returns the value of a flag as clients get it, see [resultValue]: false too for
// one that they do not get, nil for one that cannot be computed.
func flagValue(results *flags.Results, key string) any {
	switch r, ok := results.Get(key); {
	case !ok:
		return false
	case r.Failed:
		return nil
	default:
		return resultValue(&r)
	}
}

// A jsonValue is the value of a flag whose value is an object: JSON in one form, so that equal
// values are equal.
type jsonValue string

// MarshalJSON returns the JSON.
func (v jsonValue) MarshalJSON() ([]byte, error) { return []byte(v), nil }

// resultValue returns the value of a flag: false, true or a variant; of a flag with a rule set
// false, true, a text, a float64, a jsonValue, or nil for what the caller falls back on.
func resultValue(r *flags.Result) any {
	if r.JSON() == nil {
		return r.Value()
	}
	var v any
	_ = json.Unmarshal(r.JSON(), &v) // it was read from JSON
	if object, ok := v.(map[string]any); ok {
		return jsonValue(rawjson.Must(object))
	}
	return v
}
