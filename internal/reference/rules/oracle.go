package rules

import (
	"crypto/sha1"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// A Set is a rule set as its document says it. It is evaluated on decoded JSON and in float64,
// and knows the filters that a [Generator] makes.
type Set struct {
	Type    string          `json:"return_type"`
	Default json.RawMessage `json:"default_value"`
	Rules   []struct {
		ID        string `json:"id"`
		Type      string `json:"rule_type"`
		Targeting struct {
			Properties []struct {
				Key, Operator string
				Value         any
				Negation      bool
			} `json:"properties"`
		} `json:"targeting"`
		Value        json.RawMessage `json:"value"`
		Rollout      float64         `json:"rollout_percentage"`
		Miss         string          `json:"on_rollout_miss"`
		Seed         string          `json:"seed"`
		ExperimentID *int64          `json:"experiment_id"`
		Paused       bool            `json:"paused"`
		Variants     []struct {
			Key    string          `json:"key"`
			Weight float64         `json:"weight"`
			Value  json.RawMessage `json:"value"`
		} `json:"variants"`
		Holdout *struct {
			ID        *int64  `json:"id"`
			Seed      string  `json:"seed"`
			Exclusion float64 `json:"exclusion_percentage"`
		} `json:"holdout"`
	} `json:"rules"`
}

// Read reads a document.
func Read(document string) (*Set, error) {
	s := new(Set)
	if err := json.Unmarshal([]byte(document), s); err != nil {
		return nil, err
	}
	if s.Default == nil {
		s.Default = json.RawMessage("null")
	}
	return s, nil
}

// An Outcome is what a rule set comes to.
type Outcome struct {
	Value json.RawMessage
	Code  string
	Index int // -1 for none

	RuleID, RuleType, VariantKey string
	ExperimentID, HoldoutID      *int64
}

func (o Outcome) String() string { return fmt.Sprintf("%s %s %d", o.Value, o.Code, o.Index) }

// Record returns the record of POST /flags?v=3 (rules.md §4.3), without its description.
func (o Outcome) Record(key string, id, version int, hasExperiment bool) map[string]any {
	metadata := map[string]any{"id": id, "version": version, "config_version": 2, "description": nil, "payload": nil, "has_experiment": hasExperiment}
	set := func(name string, value any, given bool) {
		if given {
			metadata[name] = value
		}
	}
	set("rule_id", o.RuleID, o.RuleID != "")
	set("rule_type", o.RuleType, o.RuleID != "")
	set("variant_key", o.VariantKey, o.VariantKey != "")
	set("experiment_id", o.ExperimentID, o.ExperimentID != nil)
	set("holdout_id", o.HoldoutID, o.HoldoutID != nil)
	record := map[string]any{"key": key, "value": o.Value, "metadata": metadata}
	reason := map[string]any{"code": o.Code, "condition_index": nil}
	if o.Index >= 0 {
		reason["condition_index"] = o.Index
	}
	record["reason"] = reason
	return record
}

// An Older is what clients see that do not know rule sets (rules.md §4.4).
type Older struct {
	Value   any // true, false or a text
	Payload any // decoded; nil: none
	Code    string
}

// Older returns what older clients see.
func (o Outcome) Older() Older {
	out := Older{Code: map[string]string{
		"targeting_match": "condition_match", "experiment_split": "condition_match",
		"rollout_miss": "out_of_rollout_bound", "holdout": "holdout_condition_value",
	}[o.Code]}
	if out.Code == "" {
		out.Code = "no_condition_match"
	}
	var v any
	if err := json.Unmarshal(o.Value, &v); err != nil {
		panic(err)
	}
	switch v := v.(type) {
	case nil:
		out.Value = false
	case bool, string:
		out.Value = v
	default:
		out.Value, out.Payload = true, v
	}
	return out
}

// share is the share of a text (rules.md §3.1).
func share(text string) float64 {
	sum := sha1.Sum([]byte(text))
	n, err := strconv.ParseUint(hex.EncodeToString(sum[:])[:15], 16, 64)
	if err != nil {
		panic(err)
	}
	return float64(n) / float64(1<<60-1)
}

// Decide evaluates the set for a person with complete properties (rules.md §3).
func (s *Set) Decide(id string, person map[string]any) Outcome {
	if runes := []rune(id); len(runes) > 200 {
		id = string(runes[:200])
	}
	for i, r := range s.Rules {
		holds := true
		for _, f := range r.Targeting.Properties {
			if !holds {
				break
			}
			got, present := person[f.Key]
			text := strings.ToLower(fmt.Sprint(got))
			want := strings.ToLower(fmt.Sprint(f.Value))
			switch f.Operator {
			case "", "exact":
				holds = present && text == want
			case "is_not":
				holds = !present || text != want
			case "is_set":
				holds = present
			case "is_not_set":
				holds = !present
			case "icontains":
				holds = present && strings.Contains(text, want)
			case "gt":
				n, err := strconv.ParseFloat(text, 64) // evaluation.md §4.7
				holds = err == nil && n > f.Value.(float64)
			}
			holds = holds != f.Negation
		}
		if !holds {
			continue
		}
		out := func(value json.RawMessage, code string) Outcome {
			return Outcome{Value: value, Code: code, Index: i, RuleID: r.ID, RuleType: r.Type, ExperimentID: r.ExperimentID}
		}
		if r.Type == "targeted_release" {
			return out(r.Value, "targeting_match")
		}
		if r.Paused {
			return out(s.Default, "experiment_paused")
		}
		if h := r.Holdout; h != nil && id != "" && (h.Exclusion == 100 || share(h.Seed+id) <= h.Exclusion/100) {
			held := out(s.Default, "holdout")
			held.HoldoutID = h.ID
			return held
		}
		if id == "" || r.Rollout != 100 && share(r.Seed+"."+id) > r.Rollout/100 {
			if r.Miss == "continue" {
				continue
			}
			return out(s.Default, "rollout_miss")
		}
		if r.Type == "percentage_rollout" {
			return out(r.Value, "targeting_match")
		}
		drawn, sum, at := share(r.Seed+"."+id+"variant"), 0.0, len(r.Variants)-1
		for n, v := range r.Variants {
			if sum += v.Weight / 100; drawn < sum {
				at = n
				break
			}
		}
		split := out(r.Variants[at].Value, "targeting_match")
		if r.ExperimentID != nil {
			split.Code, split.VariantKey = "experiment_split", r.Variants[at].Key
		}
		return split
	}
	return Outcome{Value: s.Default, Code: "no_rule_match", Index: -1}
}
