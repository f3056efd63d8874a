package launchdarkly

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// A payload is what SDKs get. A file may have values in place of flags.
type payload struct {
	Flags      map[string]flag            `json:"flags"`
	Segments   map[string]segment         `json:"segments"`
	FlagValues map[string]json.RawMessage `json:"flagValues,omitempty"`

	Data *payload `json:"data,omitempty"` // of an event of a stream
}

type flag struct {
	Key            string            `json:"key"`
	On             bool              `json:"on"`
	Deleted        bool              `json:"deleted,omitempty"`
	Prerequisites  []prerequisite    `json:"prerequisites,omitempty"`
	Targets        []target          `json:"targets,omitempty"`
	ContextTargets []target          `json:"contextTargets,omitempty"`
	Rules          []rule            `json:"rules"`
	Fallthrough    serve             `json:"fallthrough"`
	OffVariation   *int              `json:"offVariation"`
	Variations     []json.RawMessage `json:"variations"`
	Salt           string            `json:"salt"`
	Migration      json.RawMessage   `json:"migration,omitempty"`
}

type prerequisite struct {
	Key       string `json:"key"`
	Variation int    `json:"variation"`
}

type target struct {
	ContextKind string   `json:"contextKind,omitempty"`
	Values      []string `json:"values"`
	Variation   int      `json:"variation"`
}

// A serve says what those get who match.
type serve struct {
	Variation *int     `json:"variation,omitempty"`
	Rollout   *rollout `json:"rollout,omitempty"`
}

type rollout struct {
	Kind        string     `json:"kind,omitempty"`
	ContextKind string     `json:"contextKind,omitempty"`
	Variations  []weighted `json:"variations"`
	BucketBy    string     `json:"bucketBy,omitempty"`
	Seed        *int       `json:"seed,omitempty"`
}

type weighted struct {
	Variation int `json:"variation"`
	Weight    int `json:"weight"`
}

type rule struct {
	serve
	ID      string   `json:"id,omitempty"`
	Clauses []clause `json:"clauses"`
}

type clause struct {
	ContextKind string            `json:"contextKind,omitempty"`
	Attribute   string            `json:"attribute"`
	Op          string            `json:"op"`
	Values      []json.RawMessage `json:"values"`
	Negate      bool              `json:"negate,omitempty"`
}

type segment struct {
	Key              string        `json:"key"`
	Included         []string      `json:"included,omitempty"`
	Excluded         []string      `json:"excluded,omitempty"`
	IncludedContexts []target      `json:"includedContexts,omitempty"`
	ExcludedContexts []target      `json:"excludedContexts,omitempty"`
	Salt             string        `json:"salt"`
	Rules            []segmentRule `json:"rules"`
	Unbounded        bool          `json:"unbounded,omitempty"`
	Deleted          bool          `json:"deleted,omitempty"`
}

type segmentRule struct {
	ID                 string   `json:"id,omitempty"`
	Clauses            []clause `json:"clauses"`
	Weight             *int     `json:"weight,omitempty"`
	BucketBy           string   `json:"bucketBy,omitempty"`
	RolloutContextKind string   `json:"rolloutContextKind,omitempty"`
}

// read reads a document.
func read(document []byte) (*payload, error) {
	var p payload
	if err := json.Unmarshal(document, &p); err != nil {
		if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			return nil, fmt.Errorf("%s is a %s, and not what LaunchDarkly writes", wrong.Field, wrong.Value)
		}
		return nil, fmt.Errorf("not JSON: %w", err)
	}
	if p.Data != nil {
		p = *p.Data
	}
	if p.Flags == nil && p.FlagValues == nil {
		var other map[string]json.RawMessage
		_ = json.Unmarshal(document, &other)
		if other["items"] != nil {
			return nil, errors.New(`this is the answer of LaunchDarkly's REST API, whose flags lack their salts; want what SDKs get: curl -H "Authorization: SDK_KEY" https://sdk.launchdarkly.com/sdk/latest-all`)
		}
		return nil, errors.New(`want the members flags and segments, as in the answer of https://sdk.launchdarkly.com/sdk/latest-all`)
	}
	for key, value := range p.FlagValues {
		if _, ok := p.Flags[key]; ok {
			return nil, fmt.Errorf("flag %s is among flags and flagValues", key)
		}
		if p.Flags == nil {
			p.Flags = make(map[string]flag)
		}
		first := 0
		p.Flags[key] = flag{Key: key, On: true, Variations: []json.RawMessage{bytes.Clone(value)}, Fallthrough: serve{Variation: &first}}
	}
	return &p, nil
}
