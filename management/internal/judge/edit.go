package judge

import (
	"encoding/json"
	"math"

	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
)

// Merge returns stored filters with the top-level members of a change in place of
// their own (management.md §13.3); a change without members changes nothing. The
// result is for [Filters] to judge. An *[Error] is about the change.
func Merge(stored, change json.RawMessage) (json.RawMessage, error) {
	changed, err := parse(change, math.MaxInt)
	if err != nil {
		return nil, about("filters", err)
	}
	if len(changed.names) == 0 {
		return stored, nil
	}
	o, err := parse(stored, math.MaxInt)
	if err != nil {
		o = object{values: make(map[string]jsonscan.Value)}
	}
	for _, name := range changed.names {
		o.set(name, changed.values[name])
	}
	return o.append(nil), nil
}

// readStored reads filters that Filters returned.
func readStored(stored json.RawMessage) (*filters, error) {
	o, err := parse(stored, math.MaxInt)
	if err != nil {
		return nil, err
	}
	return readFilters(o, anyKey)
}

// edited returns stored filters after a change, or as they are if they are not
// what Filters returns.
func edited(stored json.RawMessage, change func(*filters)) json.RawMessage {
	f, err := readStored(stored)
	if err != nil {
		return stored
	}
	change(f)
	out, err := encode(f)
	if err != nil {
		return stored
	}
	return out
}

// Payload returns the payload for a variant, or for the key true of a flag without
// variants: JSON, or what [WithPayload] put in its place.
func Payload(stored json.RawMessage, key string) (payload string, ok bool) {
	f, err := readStored(stored)
	if err != nil {
		return "", false
	}
	payload, ok = f.Payloads[key]
	return payload, ok
}

// WithPayload returns stored filters with another payload for a key that has one.
// It may be any text, such as an encrypted payload.
func WithPayload(stored json.RawMessage, key, payload string) json.RawMessage {
	return edited(stored, func(f *filters) {
		if _, ok := f.Payloads[key]; ok {
			f.Payloads[key] = payload
		}
	})
}

// WithEnrollment returns stored filters with the mark for enrolment in an early
// access feature, or without it (management.md §13.9).
func WithEnrollment(stored json.RawMessage, on bool) json.RawMessage {
	return edited(stored, func(f *filters) {
		f.FeatureEnrollment = nil
		if on {
			f.FeatureEnrollment = new(true)
		}
	})
}

// WithCohortNames returns stored filters as they are shown: with the name of each
// cohort that they refer to (management.md §13.4). The name is "" for a cohort that
// does not exist, which is shown without one.
func WithCohortNames(stored json.RawMessage, name func(id int64) string) json.RawMessage {
	if !mentions(stored, `"cohort"`) {
		return stored
	}
	return edited(stored, func(f *filters) {
		for i := range f.Groups {
			for j := range f.Groups[i].Properties {
				if p := &f.Groups[i].Properties[j]; p.Type == "cohort" {
					p.CohortName = name(p.id)
				}
			}
		}
	})
}

// RemoteConfig returns stored filters with the rollout that a flag for remote
// configuration has: one condition set if there is none, and 100 % where there is
// no percentage or 0 (management.md §13.3).
func RemoteConfig(stored json.RawMessage) json.RawMessage {
	return edited(stored, (*filters).forceRollout)
}
