package server_test

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/flags/source"
	"github.com/flagstaff-go/flagstaff/internal/fulltest"
	"github.com/flagstaff-go/flagstaff/internal/reference/rules"
	"github.com/flagstaff-go/flagstaff/server"
)

// A ruleWorld is a server with random rule sets, and what they come to by the oracle.
type ruleWorld struct {
	rules.Generator
	projects *server.Registry
	store    *world
	api      *apiServer
	url      string
	sets     map[string]*rules.Set // by key
	texts    map[string]string     // their documents
}

func newRuleWorld(t *testing.T) *ruleWorld {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	w := &ruleWorld{Generator: rules.NewGenerator(seed), projects: new(server.Registry), store: &world{stored: make(map[string]map[string]any)}}
	w.api = newAPI(t, apiSetup{server: func(c *server.Config) { c.Projects, c.Store = w.projects, w.store }})
	web := httptest.NewServer(w.api)
	t.Cleanup(web.Close)
	w.url = web.URL
	return w
}

// change puts n new flags into force.
func (w *ruleWorld) change(t *testing.T, n int) {
	t.Helper()
	w.sets, w.texts = make(map[string]*rules.Set), make(map[string]string)
	list := make([]string, n)
	for i := range list {
		key, document := fmt.Sprint("f", i), w.Document()
		set, err := rules.Read(document)
		if err != nil {
			t.Fatal(err)
		}
		w.sets[key], w.texts[key] = set, document
		list[i] = fmt.Sprintf(`{"id":%d,"key":%q,"active":true,"filters":%s}`, i+1, key, document)
	}
	setRules(t, w.projects, `{"flags":[`+strings.Join(list, ",")+`],"group_type_mapping":{}}`)
}

// A ruleRecord is an entry of an answer, in the form of v=3 or v=2.
type ruleRecord struct {
	Value   any
	Enabled bool
	Variant *string
	Failed  bool
	Reason  struct {
		Code  string
		Index *int `json:"condition_index"`
	}
	Metadata struct {
		Payload       any
		ConfigVersion int    `json:"config_version"`
		HasExperiment bool   `json:"has_experiment"`
		RuleType      string `json:"rule_type"`
		RuleID        string `json:"rule_id"`
		VariantKey    string `json:"variant_key"`
		ExperimentID  *int64 `json:"experiment_id"`
		HoldoutID     *int64 `json:"holdout_id"`
	}
}

func orNone[T any](p *T) any {
	if p == nil {
		return "none"
	}
	return *p
}

// outcomeText says all of an outcome.
func outcomeText(value any, code string, index any, ruleType, ruleID, variant string, experiment, holdout *int64) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return fmt.Sprint(string(text), " ", code, " ", index, " ", ruleType, " ", ruleID, " ", variant, " ", orNone(experiment), " ", orNone(holdout))
}

func wantedText(t *testing.T, o rules.Outcome) string {
	index := any("none")
	if o.Index >= 0 {
		index = o.Index
	}
	return outcomeText(decoded(t, string(o.Value)), o.Code, index, o.RuleType, o.RuleID, o.VariantKey, o.ExperimentID, o.HoldoutID)
}

func linked(s *rules.Set) bool {
	for _, r := range s.Rules {
		if r.ExperimentID != nil {
			return true
		}
	}
	return false
}

// TestRandomRuleSetsOverHTTP compares the answers in each form with the oracle (rules.md §4).
func TestRandomRuleSetsOverHTTP(t *testing.T) {
	const changes, perRequest = 10, 200
	wanted := fulltest.Count(24_000, 1_000_000)
	w := newRuleWorld(t)
	targets := []string{"/flags?v=3", "/flags?v=2", "/flags?v=1", "/decide?v=1&config=false", "/decide?v=2&config=false", "/decide?v=3&config=false"}
	compared := 0
	for compared < wanted {
		w.change(t, perRequest)
		for range max(wanted/perRequest/len(targets)/changes, 1) {
			id, person := w.ID(), w.Person()
			body, err := json.Marshal(map[string]any{"api_key": "phc_acme", "distinct_id": id, "person_properties": person})
			if err != nil {
				t.Fatal(err)
			}
			outcomes := make(map[string]rules.Outcome, len(w.sets))
			for key, set := range w.sets {
				outcomes[key] = set.Decide(id, person)
			}
			for _, target := range targets {
				text := w.post(t, target, body)
				wrong := func(key string, want, got any) {
					t.Fatalf("%s for %s: %s is %v, want %v\n%s", target, body, key, got, want, w.texts[key])
				}
				var answer struct {
					Flags    map[string]ruleRecord
					Values   json.RawMessage   `json:"featureFlags"`
					Payloads map[string]string `json:"featureFlagPayloads"`
					Errors   bool              `json:"errorsWhileComputingFlags"`
				}
				if err := json.Unmarshal(text, &answer); err != nil || answer.Errors || answer.Values == nil && len(answer.Flags) != len(w.sets) {
					t.Fatalf("%s: %v, errors %v, %d flags", target, err, answer.Errors, len(answer.Flags))
				}
				values := make(map[string]any)
				if target == targets[3] {
					var keys []string
					if err := json.Unmarshal(answer.Values, &keys); err != nil {
						t.Fatal(err)
					}
					for _, key := range keys {
						values[key] = true
					}
				} else if answer.Values != nil {
					if err := json.Unmarshal(answer.Values, &values); err != nil {
						t.Fatal(err)
					}
				}
				for key, o := range outcomes {
					compared++
					r, older := answer.Flags[key], o.Older()
					switch target {
					case targets[0]:
						m := r.Metadata
						got := outcomeText(r.Value, r.Reason.Code, orNone(r.Reason.Index), m.RuleType, m.RuleID, m.VariantKey, m.ExperimentID, m.HoldoutID)
						if want := wantedText(t, o); got != want || m.ConfigVersion != 2 || m.HasExperiment != linked(w.sets[key]) || r.Failed {
							wrong(key, want, got)
						}
						continue
					case targets[1]:
						var value, payload any = r.Enabled, nil
						if r.Variant != nil {
							value = *r.Variant
						}
						if text, ok := r.Metadata.Payload.(string); ok {
							payload = decoded(t, text)
						}
						got := fmt.Sprint(rules.Older{Value: value, Payload: payload, Code: r.Reason.Code}, orNone(r.Reason.Index))
						index := any("none")
						if o.Index >= 0 {
							index = o.Index
						}
						if want := fmt.Sprint(older, index); got != want {
							wrong(key, want, got)
						}
						continue
					}
					value, ok := values[key]
					want := older.Value
					switch {
					case target == targets[3]:
						want = older.Value != false
						value = ok
					case target == targets[4] && want == false:
						want, value = false, ok
					}
					if value != want {
						wrong(key, want, value)
					}
					if answer.Payloads == nil {
						continue
					}
					var payload any
					if text, ok := answer.Payloads[key]; ok {
						payload = decoded(t, text)
					}
					if !reflect.DeepEqual(payload, older.Payload) {
						wrong(key, older.Payload, payload)
					}
				}
			}
		}
	}
	t.Logf("%d comparisons", compared)
}

// post returns the body of an answer.
func (w *ruleWorld) post(t *testing.T, target string, body []byte) []byte {
	t.Helper()
	resp, err := http.Post(w.url+target, "application/json", strings.NewReader(string(body)))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("POST %s = %d %s, %v", target, resp.StatusCode, text, err)
	}
	return text
}

// TestRandomRuleSetsInTheProcess compares what a program evaluates that follows a server whose
// flags change, and that asks the server for what only that knows, with the oracle.
func TestRandomRuleSetsInTheProcess(t *testing.T) {
	const changes, atOnce = 25, 200
	wanted := fulltest.Count(50_000, 1_000_000)
	w := newRuleWorld(t)
	w.change(t, atOnce)
	e := new(flags.Evaluator)
	l := source.NewLoader(e, source.Remote{
		URL: w.url, ProjectKey: "phc_acme", SecretKey: "phs_phc_acme", Evaluate: true, EvaluateTimeout: time.Minute, ResultTTL: -1, Poll: true,
	}, source.LoaderConfig{Log: slog.New(slog.DiscardHandler)})
	defer l.Close()
	compared := 0
	for compared < wanted {
		w.change(t, atOnce)
		if err := l.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		for n := range max(wanted/atOnce/changes, 1) {
			id, person := w.ID(), w.Person()
			r := &flags.Request{DistinctID: id, PersonProperties: person}
			if n%20 == 0 && id != "" && len(id) < 200 { // the server knows some of the properties
				w.store.stored[id] = person
				r.PersonProperties = maps.Clone(person)
				delete(r.PersonProperties, w.Pick("plan", "age", "city"))
				r.RemoteResults = l.RemoteResults(t.Context(), r)
			} else {
				delete(w.store.stored, id)
			}
			results := e.Snapshot().Evaluate(r)
			for key, set := range w.sets {
				compared++
				got, ok := results.Get(key)
				rule := got.Rule
				if rule == nil {
					rule = new(flags.RuleResult)
				}
				index := any("none")
				if got.Reason.ConditionIndex >= 0 {
					index = got.Reason.ConditionIndex
				}
				text := outcomeText(decoded(t, string(got.JSON())), got.Reason.Code, index, rule.Type, rule.ID, rule.VariantKey, rule.ExperimentID, rule.HoldoutID)
				if want := wantedText(t, set.Decide(id, person)); !ok || text != want || got.Unconfirmed || got.Failed {
					t.Fatalf("%s for %q with %v of %v: %s, remote %v, want %s\n%s", key, id, r.PersonProperties, person, text, got.Remote, want, w.texts[key])
				}
			}
		}
	}
	if asks := l.Status().EvaluateRequests; asks.Sent == 0 || asks.Failed > 0 || asks.Err != nil {
		t.Errorf("requests to the server: %+v", asks)
	}
	t.Logf("%d comparisons, %d requests to the server", compared, l.Status().EvaluateRequests.Sent)
}
