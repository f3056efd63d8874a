package management

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/capture/persons"
	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/flags/wire"
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
	if _, ok := jsonObject(json.RawMessage(groups)); !ok {
		return nil, invalid("groups", "invalid_input", "Must be an object.")
	}
	return readRequest(mustJSON(map[string]any{"distinct_id": distinctID, "groups": json.RawMessage(groups)}))
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

// fillInput resets in to a request for flags and adds what is stored about its subject,
// as far as it matters. Nothing is looked up about the client, who asks for
// somebody else.
func (s *Service) fillInput(ctx context.Context, in *flags.Input, snapshot *flags.Snapshot, project int64, r *wire.Request) error {
	if err := r.Fill(in, snapshot, runtime.All, s.now()); err != nil {
		return invalid("", "invalid_input", "The body cannot be used for flags.")
	}
	known, err := s.readStored(ctx, project, r, in.Needs())
	if err != nil {
		return err
	}
	return known.add(in)
}

// stored is what a store knows about the subject of a request.
type stored struct {
	person    []byte
	created   time.Time
	groups    map[string][]byte // by type
	cohorts   []int64
	overrides map[string]string
}

// readStored reads what is needed. Nothing is if there is no Config.Data.
func (s *Service) readStored(ctx context.Context, project int64, r *wire.Request, needs flags.Needs) (*stored, error) {
	known := &stored{groups: make(map[string][]byte)}
	data := s.c.Data
	if data == nil {
		return known, nil
	}
	id := storedName(r.DistinctID, capture.MaxID)
	var err error
	if needs.Person && id != "" {
		if known.person, err = data.AppendPerson(ctx, nil, project, id); err != nil {
			return nil, err
		}
	}
	if needs.PersonCreated && id != "" {
		if known.created, err = data.PersonCreated(ctx, project, id); err != nil {
			return nil, err
		}
	}
	for _, name := range needs.Groups {
		key := storedName(r.GroupKey(name), persons.MaxGroupKey)
		if key == "" {
			continue
		}
		if known.groups[name], err = data.AppendGroup(ctx, nil, project, name, key); err != nil {
			return nil, err
		}
	}
	if needs.Cohorts && id != "" {
		if known.cohorts, err = data.AppendCohorts(ctx, nil, project, id); err != nil {
			return nil, err
		}
	}
	if needs.Overrides && id != "" {
		known.overrides, err = overridesFor(ctx, data, project, id, storedName(cmp.Or(r.AnonymousID, r.PersonText("$anon_distinct_id")), capture.MaxID))
	}
	return known, err
}

// overridesFor returns the hash keys that a request of a person would find. A
// request that identifies a person would store some first, and this does not: if
// the person exists, what it lacks would become the anonymous ID, which flags use
// anyway; otherwise those of the anonymous person count (evaluation.md §12).
func overridesFor(ctx context.Context, data DataStore, project int64, distinctID, anonymousID string) (map[string]string, error) {
	if anonymousID != "" {
		created, err := data.PersonCreated(ctx, project, distinctID)
		if err != nil {
			return nil, err
		}
		if created.IsZero() {
			distinctID = anonymousID
		}
	}
	found := make(map[string]string)
	err := data.Overrides(ctx, project, distinctID, "", nil, func(flagKey, hashKey string) { found[flagKey] = hashKey })
	return found, err
}

// add adds what is stored to an Input.
func (d *stored) add(in *flags.Input) error {
	if len(d.person) > 0 {
		if err := in.SetPerson(d.person); err != nil {
			return fmt.Errorf("management: stored: %w", err)
		}
	}
	if !d.created.IsZero() {
		in.SetPersonCreated(d.created)
	}
	for name, properties := range d.groups {
		if len(properties) == 0 {
			continue
		}
		if err := in.SetGroup(name, properties); err != nil {
			return fmt.Errorf("management: stored: %w", err)
		}
	}
	for _, id := range d.cohorts {
		in.SetCohort(id)
	}
	for flagKey, hashKey := range d.overrides {
		in.SetOverride(flagKey, hashKey)
	}
	return nil
}

// storedName returns the name of a person or group as capturing stores it: without
// NUL, and not longer than it may be in characters.
func storedName(name string, most int) string {
	name = strings.ReplaceAll(name, "\x00", "\uFFFD")
	for i := range name {
		if most == 0 {
			return name[:i]
		}
		most--
	}
	return name
}

// flagValue returns the value of a flag as clients get it: false, true or a variant,
// false too for one that they do not get; nil for one that cannot be computed.
func flagValue(results *flags.Results, key string) any {
	switch r, ok := results.Get(key); {
	case !ok:
		return false
	case r.Failed:
		return nil
	default:
		return r.Value()
	}
}
