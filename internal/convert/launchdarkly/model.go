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
	FlagValues map[string]json.RawMessage `json:"flagValues"`

	Data *payload `json:"data"` // of an event of a stream
}

type flag struct {
	Key            string            `json:"key"`
	On             bool              `json:"on"`
	Deleted        bool              `json:"deleted"`
	Prerequisites  []prerequisite    `json:"prerequisites"`
	Targets        []target          `json:"targets"`
	ContextTargets []target          `json:"contextTargets"`
	Rules          []rule            `json:"rules"`
	Fallthrough    serve             `json:"fallthrough"`
	OffVariation   *int              `json:"offVariation"`
	Variations     []json.RawMessage `json:"variations"`
	Salt           string            `json:"salt"`
	Migration      json.RawMessage   `json:"migration"`
}

type prerequisite struct {
	Key       string `json:"key"`
	Variation int    `json:"variation"`
}

type target struct {
	ContextKind string   `json:"contextKind"`
	Values      []string `json:"values"`
	Variation   int      `json:"variation"`
}

// A serve says what those get who match.
type serve struct {
	Variation *int     `json:"variation"`
	Rollout   *rollout `json:"rollout"`
}

type rollout struct {
	Kind        string `json:"kind"`
	ContextKind string `json:"contextKind"`
	Variations  []struct {
		Variation int `json:"variation"`
		Weight    int `json:"weight"`
	} `json:"variations"`
	BucketBy string `json:"bucketBy"`
	Seed     *int   `json:"seed"`
}

type rule struct {
	serve
	ID      string   `json:"id"`
	Clauses []clause `json:"clauses"`
}

type clause struct {
	ContextKind string            `json:"contextKind"`
	Attribute   string            `json:"attribute"`
	Op          string            `json:"op"`
	Values      []json.RawMessage `json:"values"`
	Negate      bool              `json:"negate"`
}

type segment struct {
	Key              string        `json:"key"`
	Included         []string      `json:"included"`
	Excluded         []string      `json:"excluded"`
	IncludedContexts []target      `json:"includedContexts"`
	ExcludedContexts []target      `json:"excludedContexts"`
	Salt             string        `json:"salt"`
	Rules            []segmentRule `json:"rules"`
	Unbounded        bool          `json:"unbounded"`
	Deleted          bool          `json:"deleted"`
}

type segmentRule struct {
	ID                 string   `json:"id"`
	Clauses            []clause `json:"clauses"`
	Weight             *int     `json:"weight"`
	BucketBy           string   `json:"bucketBy"`
	RolloutContextKind string   `json:"rolloutContextKind"`
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
