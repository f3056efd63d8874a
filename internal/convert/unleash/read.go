package unleash

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// A document is what the server answers. Members that are raw here do nothing.
type document struct {
	Version  json.RawMessage   `json:"version"`
	Features []json.RawMessage `json:"features"`
	Segments []json.RawMessage `json:"segments"`
	Query    json.RawMessage   `json:"query"`
	Meta     json.RawMessage   `json:"meta"`
	Events   []json.RawMessage `json:"events"`
}

// An event of the delta API.
type event struct {
	Type        string            `json:"type"`
	Feature     json.RawMessage   `json:"feature"`
	FeatureName string            `json:"featureName"`
	Segment     json.RawMessage   `json:"segment"`
	SegmentID   int64             `json:"segmentId"`
	Features    []json.RawMessage `json:"features"`
	Segments    []json.RawMessage `json:"segments"`
	EventID     json.RawMessage   `json:"eventId"`
	Project     json.RawMessage   `json:"project"`
}

type feature struct {
	Name         string       `json:"name"`
	Type         string       `json:"type"`
	Description  string       `json:"description"`
	Enabled      bool         `json:"enabled"`
	Stale        bool         `json:"stale"`
	Strategies   []strategy   `json:"strategies"`
	Variants     []variant    `json:"variants"`
	Dependencies []dependency `json:"dependencies"`

	Project        json.RawMessage `json:"project"`
	ImpressionData json.RawMessage `json:"impressionData"`
	CreatedAt      json.RawMessage `json:"createdAt"`
	LastSeenAt     json.RawMessage `json:"lastSeenAt"`
	Strategy       json.RawMessage `json:"strategy"`
	Parameters     json.RawMessage `json:"parameters"`
	Segments       json.RawMessage `json:"segments"` // those of strategies count

	unknown string // what is wrong with members that are not known
}

type strategy struct {
	ID          json.RawMessage `json:"id"`
	Name        string          `json:"name"`
	Title       string          `json:"title"`
	Disabled    bool            `json:"disabled"`
	Constraints []constraint    `json:"constraints"`
	Parameters  map[string]any  `json:"parameters"`
	Segments    []int64         `json:"segments"`
	Variants    []variant       `json:"variants"`

	FeatureName json.RawMessage `json:"featureName"`
	SortOrder   json.RawMessage `json:"sortOrder"`
}

type constraint struct {
	ContextName     string   `json:"contextName"`
	Operator        string   `json:"operator"`
	Value           string   `json:"value"`
	Values          []string `json:"values"`
	CaseInsensitive bool     `json:"caseInsensitive"`
	Inverted        bool     `json:"inverted"`
}

type variant struct {
	Name       string     `json:"name"`
	Weight     int64      `json:"weight"`
	Stickiness string     `json:"stickiness"`
	Payload    payload    `json:"payload"`
	Overrides  []override `json:"overrides"`

	WeightType      json.RawMessage `json:"weightType"`
	Enabled         json.RawMessage `json:"enabled"`
	FeatureEnabled  json.RawMessage `json:"featureEnabled"`
	FeatureEnabled2 json.RawMessage `json:"feature_enabled"`
}

type payload struct {
	Type  string `json:"type"`
	Value string `json:"value"`
}

type override struct {
	ContextName string   `json:"contextName"`
	Values      []string `json:"values"`
}

type dependency struct {
	Feature  string   `json:"feature"`
	Variants []string `json:"variants"`
	Enabled  *bool    `json:"enabled"`
}

type segment struct {
	ID          int64        `json:"id"`
	Name        string       `json:"name"`
	Description string       `json:"description"`
	Constraints []constraint `json:"constraints"`

	Project   json.RawMessage `json:"project"`
	CreatedBy json.RawMessage `json:"createdBy"`
	CreatedAt json.RawMessage `json:"createdAt"`

	unknown string
}

// state is what a document comes to. Of two with the same name or ID the later one counts.
type state struct {
	features map[string]*feature
	segments map[int64]*segment
}

const wanted = `want what Unleash answers to GET /api/client/features, {"version": 2, "features": […], "segments": […]}, or events of its delta API, {"events": […]}`

func read(raw []byte) (*state, error) {
	d, unknown, err := decode[document](raw)
	if err != nil || unknown != "" {
		return nil, fmt.Errorf("%s: %w", wanted, errors.Join(err, textError(unknown)))
	}
	s := &state{features: make(map[string]*feature), segments: make(map[int64]*segment)}
	if d.Events != nil {
		for i, raw := range d.Events {
			if err := s.apply(raw); err != nil {
				return nil, fmt.Errorf("events[%d]: %w", i, err)
			}
		}
		return s, nil
	}
	if d.Features == nil {
		return nil, errors.New(wanted)
	}
	if v := string(d.Version); v != "" && v != "1" && v != "2" {
		return nil, errors.New("version: want 1 or 2")
	}
	return s, s.add(d.Features, d.Segments)
}

// decode reads JSON, and says which member is not known.
func decode[T any](raw []byte) (to *T, unknown string, err error) {
	strict := json.NewDecoder(bytes.NewReader(raw))
	strict.DisallowUnknownFields()
	to = new(T)
	if name, ok := strings.CutPrefix(fmt.Sprint(strict.Decode(to)), "json: unknown field "); ok {
		unknown = "the member " + name + " is not known"
	}
	to = new(T)
	err = json.Unmarshal(raw, to)
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		err = fmt.Errorf("the member %q: it is a %s", wrong.Field, wrong.Value)
	}
	return to, unknown, err
}

func textError(s string) error {
	if s == "" {
		return nil
	}
	return errors.New(s)
}

func (s *state) add(features, segments []json.RawMessage) error {
	for i, raw := range features {
		f, unknown, err := decode[feature](raw)
		if err == nil && f.Name == "" {
			err = errors.New("want a name")
		}
		if err != nil {
			return fmt.Errorf("features[%d]: %w", i, err)
		}
		f.unknown = unknown
		s.features[f.Name] = f
	}
	for i, raw := range segments {
		g, unknown, err := decode[segment](raw)
		if err != nil {
			return fmt.Errorf("segments[%d]: %w", i, err)
		}
		g.unknown = unknown
		s.segments[g.ID] = g
	}
	return nil
}

func (s *state) apply(raw json.RawMessage) error {
	e, _, err := decode[event](raw)
	if err != nil {
		return err
	}
	switch e.Type {
	case "hydration":
		clear(s.features)
		clear(s.segments)
		return s.add(e.Features, e.Segments)
	case "feature-updated":
		return s.add([]json.RawMessage{e.Feature}, nil)
	case "feature-removed":
		delete(s.features, e.FeatureName)
	case "segment-updated":
		return s.add(nil, []json.RawMessage{e.Segment})
	case "segment-removed":
		delete(s.segments, e.SegmentID)
	default:
		return fmt.Errorf("type: want hydration, feature-updated, feature-removed, segment-updated or segment-removed, not %q", e.Type)
	}
	return nil
}
