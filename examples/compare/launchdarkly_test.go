package main_test

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/launchdarkly/go-sdk-common/v3/ldcontext"
	"github.com/launchdarkly/go-sdk-common/v3/ldvalue"
	evaluation "github.com/launchdarkly/go-server-sdk-evaluation/v3"
	"github.com/launchdarkly/go-server-sdk-evaluation/v3/ldmodel"
	ld "github.com/launchdarkly/go-server-sdk/v7"
	"github.com/launchdarkly/go-server-sdk/v7/ldcomponents"
	"github.com/launchdarkly/go-server-sdk/v7/ldfiledata"
)

func launchDarklyData(all []flag) object {
	flags := object{}
	for _, f := range all {
		rollout := func(weights ...float64) object {
			var variations []object
			for i, w := range weights {
				variations = append(variations, object{"variation": i, "weight": int(w * 1000)})
			}
			return object{"contextKind": "user", "variations": variations}
		}
		definition := object{"key": f.key, "version": 1, "on": true, "salt": f.key, "variations": []bool{true, false}, "offVariation": 1, "fallthrough": object{"variation": 1}}
		flags[f.key] = definition
		if f.variants != nil {
			var weights []float64
			for range f.variants {
				weights = append(weights, f.share(100))
			}
			definition["variations"], definition["fallthrough"] = f.variants, object{"rollout": rollout(weights...)}
			continue
		}
		rules := []object{}
		for _, c := range f.conditions {
			clauses := []object{}
			for _, x := range c.filters {
				clause := object{"contextKind": "user", "attribute": x.property, "values": []any{x.value}}
				switch x.operator {
				case equals:
					clause["op"] = "in"
				case above:
					clause["op"] = "greaterThan"
				case matches:
					clause["op"] = "matches"
				case versions:
					clause["op"], clause["negate"] = "semVerLessThan", true
				}
				clauses = append(clauses, clause)
			}
			rule := object{"id": "rule", "clauses": clauses, "variation": 0}
			if c.rollout < 100 {
				delete(rule, "variation")
				rule["rollout"] = rollout(float64(c.rollout), float64(100-c.rollout))
			}
			rules = append(rules, rule)
			if c.filters == nil && c.rollout == 100 {
				definition["fallthrough"], rules = object{"variation": 0}, rules[:0]
			}
		}
		definition["rules"] = rules
	}
	return object{"flags": flags}
}

func launchDarklyContext(p person) ldcontext.Context {
	b := ldcontext.NewBuilder(p.id)
	for name, v := range p.properties {
		b.SetValue(name, ldvalue.CopyArbitraryValue(v))
	}
	return b.Build()
}

// launchDarklyEngineData puts a map of flags around the engine, which needs
// nothing else.
type launchDarklyEngineData struct {
	evaluator evaluation.Evaluator
	flags     map[string]*ldmodel.FeatureFlag
	keys      []string
}

// launchDarklyEngine evaluates one flag at a time.
func launchDarklyEngine(tb testing.TB, all []flag, _ bool) func() engine {
	document := encode(tb, launchDarklyData(all))
	keys := keysOf(all)
	return func() engine {
		var data struct {
			Flags map[string]*ldmodel.FeatureFlag
		}
		if err := json.Unmarshal(document, &data); err != nil {
			tb.Fatal(err)
		}
		e := &launchDarklyEngineData{flags: data.Flags, keys: keys}
		e.evaluator = evaluation.NewEvaluator(e)
		return e
	}
}

func (e *launchDarklyEngineData) GetFeatureFlag(key string) *ldmodel.FeatureFlag { return e.flags[key] }

func (*launchDarklyEngineData) GetSegment(string) *ldmodel.Segment { return nil }

func (*launchDarklyEngineData) close() {}

func (e *launchDarklyEngineData) subject(p person) subject {
	return &launchDarklyEngineSubject{e, launchDarklyContext(p)}
}

type launchDarklyEngineSubject struct {
	*launchDarklyEngineData
	context ldcontext.Context
}

func (s *launchDarklyEngineSubject) enabled(key string) bool {
	return s.evaluator.Evaluate(s.flags[key], s.context, nil).Detail.Value.BoolValue()
}

func (s *launchDarklyEngineSubject) variant(key string) string {
	return s.evaluator.Evaluate(s.flags[key], s.context, nil).Detail.Value.StringValue()
}

func (s *launchDarklyEngineSubject) all() int { return countEnabled(s, s.keys) }

type launchDarklyClient struct {
	tb     testing.TB
	client *ld.LDClient
	keys   []string
}

// launchDarklySDK reads a file in place of the service's answer.
func launchDarklySDK(tb testing.TB, all []flag, events bool) func() engine {
	path := file(tb, encode(tb, launchDarklyData(all)))
	keys := keysOf(all)
	return func() engine {
		config := ld.Config{
			DataSource: ldfiledata.DataSource().FilePaths(path), Logging: ldcomponents.NoLogging(), DiagnosticOptOut: true,
			Events: ldcomponents.NoEvents(),
		}
		if events {
			config.Events = ldcomponents.SendEvents().Capacity(eventQueue)
			config.HTTP = ldcomponents.HTTPConfiguration().HTTPClientFactory(func() *http.Client {
				return &http.Client{Transport: receiver(http.StatusAccepted)}
			})
		}
		client, err := ld.MakeCustomClient("sdk-key", config, time.Minute)
		if err != nil {
			tb.Fatal(err)
		}
		return &launchDarklyClient{tb, client, keys}
	}
}

func (e *launchDarklyClient) close() {
	if err := e.client.Close(); err != nil {
		e.tb.Error(err)
	}
}

func (e *launchDarklyClient) subject(p person) subject {
	return &launchDarklySubject{e, launchDarklyContext(p)}
}

type launchDarklySubject struct {
	*launchDarklyClient
	context ldcontext.Context
}

func (s *launchDarklySubject) enabled(key string) bool {
	v, err := s.client.BoolVariation(key, s.context, false)
	return err == nil && v
}

func (s *launchDarklySubject) variant(key string) string {
	v, err := s.client.StringVariation(key, s.context, "")
	if err != nil {
		return ""
	}
	return v
}

func (s *launchDarklySubject) all() int {
	state, n := s.client.AllFlagsState(s.context), 0
	for _, key := range s.keys {
		if state.GetValue(key).BoolValue() {
			n++
		}
	}
	return n
}
