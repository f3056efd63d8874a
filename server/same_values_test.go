package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/flags/source"
	"github.com/flagstaff-go/flagstaff/internal/fulltest"
	"github.com/flagstaff-go/flagstaff/runtime"
	"github.com/flagstaff-go/flagstaff/server"
)

// TestSameValuesInTheProcess: a program that follows the definitions of a server and
// asks it, has the server's answer for every flag and person, byte for byte. Without
// asking, it has another one only for flags of which NeedsOf says so and for which
// Lacking says that the request lacks something (evaluation.md §14.1).
func TestSameValuesInTheProcess(t *testing.T) {
	const persons = 500
	projects := fulltest.Count(1, 5)
	pairs, differ, asked := 0, 0, uint64(0)
	for n := range projects {
		seed := uint64(time.Now().UnixNano())
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			w := &world{rng: rand.New(rand.NewPCG(seed, 0)), overrides: make(map[string]map[string]string)}
			w.fill(fulltest.Count(60, persons))
			p := newSameValues(t, w, w.definitions(50), n)
			for range fulltest.Count(60, persons) {
				r, body := w.request()
				want := p.server(t, body)
				w.tell(r)
				local, asking := p.evaluator.Snapshot().Evaluate(r), *r
				asking.RemoteResults = p.loader.RemoteResults(t.Context(), &asking)
				remote := p.evaluator.Snapshot().Evaluate(&asking)
				lacking := p.evaluator.Snapshot().MissingContext(r)
				for key := range p.evaluator.Snapshot().Keys() {
					pairs++
					if diff := cmp.Diff(want[key], resultText(remote, key)); diff != "" {
						t.Fatalf("%s for %s (-server +process that asks)\n%s\nlacks it: %v, answer %+v, again %s", key, body, diff, slices.Contains(lacking, key), asking.RemoteResults.Results[key], p.server(t, body)[key])
					}
					if want[key] == resultText(local, key) {
						continue
					}
					differ++
					if needs := p.evaluator.Snapshot().NeedsOf(key); needs.IsZero() || !slices.Contains(lacking, key) {
						trace, _ := p.evaluator.Snapshot().Explain(key, r)
						t.Fatalf("%s for %s needs %s, lacking %v\nserver:  %s\nprocess: %s\n%s", key, body, needs, lacking, want[key], resultText(local, key), trace)
					}
				}
			}
			asked += p.loader.Status().EvaluateRequests.Sent
			if asks := p.loader.Status().EvaluateRequests; asks.Failed > 0 || asks.Err != nil {
				t.Errorf("Asks = %+v", asks)
			}
		})
	}
	t.Logf("%d pairs, %d differ without asking, %d requests to the server", pairs, differ, asked)
	if differ < pairs/100 {
		t.Errorf("%d of %d pairs differ without asking: the test is too easy", differ, pairs)
	}
}

// resultText returns a result as the server writes it, or "" if there is none.
func resultText(r *flags.Results, key string) string {
	result, ok := r.Get(key)
	if !ok {
		return ""
	}
	return string(result.AppendJSON(nil))
}

// A sameValues is a server with the flags of a world, and a process that follows it.
type sameValues struct {
	url       string
	evaluator *flags.Evaluator
	loader    *source.Loader
}

func newSameValues(t *testing.T, w *world, document string, n int) *sameValues {
	t.Helper()
	d := decodeDefinitions(t, document)
	d.TimeZone = []string{"America/New_York", "UTC", ""}[n%3]
	snapshot, err := flags.Compile(d, flags.CompileOptions{})
	if err != nil {
		t.Fatal(err)
	}
	published, err := server.Publish(server.Publication{Project: 1, APIKey: "phc_acme", Definitions: d, Hide: func(f *flags.Flag) bool {
		return strings.HasPrefix(f.Key, "survey-targeting-")
	}})
	if err != nil {
		t.Fatal(err)
	}
	e, projects := new(flags.Evaluator), new(server.Registry)
	e.Swap(snapshot)
	projects.Set("phc_acme", &server.Project{ID: 1, Organization: "acme", Flags: e, Published: published})
	api := newAPI(t, apiSetup{server: func(c *server.Config) { c.Projects, c.Store = projects, w }})
	web := httptest.NewServer(api)
	t.Cleanup(web.Close)
	p := &sameValues{url: web.URL, evaluator: new(flags.Evaluator)}
	p.loader = source.NewLoader(p.evaluator, source.Remote{
		URL: web.URL, ProjectKey: "phc_acme", SecretKey: "phs_phc_acme", Evaluate: true, EvaluateTimeout: time.Minute, ResultTTL: -1, Client: web.Client(),
	}, source.LoaderConfig{Log: slog.New(slog.DiscardHandler)})
	if err := p.loader.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	for key, result := range p.evaluator.Snapshot().Evaluate(&flags.Request{DistinctID: "u"}).All() {
		if result.Reason.Code == flags.ErrorFlagData {
			t.Fatalf("the generator's document: flag %s: %v", key, result.Reason)
		}
	}
	return p
}

// server returns what the server answers, by flag.
func (p *sameValues) server(t *testing.T, body string) map[string]string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.url+"/flags?v=2", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var answer struct{ Flags map[string]json.RawMessage }
	content, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK || json.Unmarshal(content, &answer) != nil {
		t.Fatalf("POST /flags = %d %s, %v", response.StatusCode, content, err)
	}
	texts := make(map[string]string)
	for key, result := range answer.Flags {
		texts[key] = string(result)
	}
	return texts
}

// A world has persons, groups and flags with random content. It is the server's
// Store.
type world struct {
	rng     *rand.Rand
	persons []string
	stored  map[string]map[string]any
	groups  map[string]map[string]any
	members map[string][]int64
	created map[string]time.Time

	mu        sync.Mutex
	overrides map[string]map[string]string
}

func (w *world) chance(percent int) bool { return w.rng.IntN(100) < percent }

func (w *world) pick(list ...string) string { return list[w.rng.IntN(len(list))] }

// properties returns random properties.
func (w *world) properties() map[string]any {
	p := make(map[string]any)
	for name, values := range map[string][]any{
		"plan": {"pro", "free", nil}, "seats": {1, 5, 10.5, "7"}, "since": {"2025-01-01", "2025-06-01 02:30:00", "2025-06-01T12:00:00Z"},
		"$os": {"Linux", "Windows"}, "$browser": {"Firefox"}, "$initial_browser": {"Chrome"}, "$feature_enrollment/f3": {true, false}, "beta": {true, false},
	} {
		if w.chance(40) {
			p[name] = values[w.rng.IntN(len(values))]
		}
	}
	return p
}

func (w *world) fill(persons int) {
	w.stored, w.groups = make(map[string]map[string]any), make(map[string]map[string]any)
	w.members, w.created = make(map[string][]int64), make(map[string]time.Time)
	for i := range persons {
		id := fmt.Sprint("user-", i)
		w.persons = append(w.persons, id)
		if w.chance(20) {
			continue // unknown to the store
		}
		w.stored[id] = w.properties()
		w.created[id] = time.Date(2025, 1, 1, w.rng.IntN(8000), 0, 0, 0, time.UTC)
		for _, cohort := range []int64{3, 9} {
			if w.chance(40) {
				w.members[id] = append(w.members[id], cohort)
			}
		}
	}
	for i := range 20 {
		w.groups[fmt.Sprint("company/c-", i)] = map[string]any{"tier": w.pick("gold", "iron"), "plan": w.pick("pro", "free")}
	}
}

// request returns a request as a Go caller has it, and as the body of POST /flags.
func (w *world) request() (*flags.Request, string) {
	r := &flags.Request{DistinctID: w.pick(w.persons...), PersonProperties: w.properties()}
	body := map[string]any{"api_key": "phc_acme", "distinct_id": r.DistinctID, "geoip_disable": true, "evaluation_runtime": "all"}
	if w.chance(50) {
		r.PersonProperties = nil
	} else {
		body["person_properties"] = r.PersonProperties
	}
	if w.chance(50) {
		r.Groups = map[string]string{"company": fmt.Sprint("c-", w.rng.IntN(25))}
		body["groups"] = r.Groups
	}
	if w.chance(20) {
		r.GroupProperties = map[string]map[string]any{"company": {"tier": w.pick("gold", "iron")}}
		body["group_properties"] = r.GroupProperties
	}
	if w.chance(30) {
		r.AnonymousID = w.pick("anon-1", "anon-2", w.pick(w.persons...))
		body["$anon_distinct_id"] = r.AnonymousID
	}
	if w.chance(30) {
		r.DeviceID = w.pick("d-1", "d-2", "d-3")
		body["$device_id"] = r.DeviceID
	}
	if w.chance(30) {
		r.Filter.Tags = []string{w.pick("docs", "app")}
		body["evaluation_contexts"] = r.Filter.Tags
	}
	switch {
	case w.chance(20):
		r.Filter.Kind, body["evaluation_runtime"] = runtime.Client, "client"
	case w.chance(20):
		r.Filter.Kind, body["evaluation_runtime"] = runtime.Server, "server"
	}
	text, err := json.Marshal(body)
	if err != nil {
		panic(err)
	}
	return r, string(text)
}

// tell gives some requests what the server knows about the person. It comes after the
// server's answer, which may store hash keys.
func (w *world) tell(r *flags.Request) {
	if w.chance(15) {
		r.Cohorts = append([]int64{}, w.members[r.DistinctID]...)
	}
	if w.chance(15) {
		r.Overrides = make(map[string]string)
		maps.Copy(r.Overrides, w.overrides[r.DistinctID])
	}
	if w.chance(15) && r.PersonProperties == nil {
		r.PersonProperties = w.stored[r.DistinctID]
	}
}

// definitions returns a document with flags of all kinds.
func (w *world) definitions(n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = w.flag(i)
	}
	cohorts := fmt.Sprintf(`[{"id":3,"is_static":true},{"id":9,"is_static":true},%s,%s,%s]`,
		w.cohort(4, `{"key":"id","type":"cohort","value":3}`), w.cohort(5, `{"key":"id","type":"cohort","value":4,"negation":true}`), w.cohort(6, `{"key":"beta","type":"person","operator":"is_set","value":"is_set"}`))
	return `{"flags":[` + strings.Join(list, ",") + `],"group_type_mapping":{"0":"company"},"cohorts":` + cohorts + `}`
}

func (w *world) cohort(id int, leaf string) string {
	return fmt.Sprintf(`{"id":%d,"filters":{"properties":{"type":%q,"values":[%s,%s]}}}`, id, w.pick("AND", "OR"), leaf, w.filter(0, false))
}

func (w *world) flag(i int) string {
	key, members := fmt.Sprint("f", i), ""
	switch {
	case i%17 == 16:
		key = fmt.Sprint("survey-targeting-", i) // clients are not told
	case i%19 == 18:
		members += `,"has_encrypted_payloads":true`
	}
	if w.chance(20) {
		members += `,"ensure_experience_continuity":true`
	}
	if w.chance(10) {
		members += `,"bucketing_identifier":"device_id"`
	}
	if w.chance(10) {
		members += `,"bucketing_hash":"xxhash64"`
	}
	if w.chance(15) {
		members += `,"evaluation_runtime":"` + w.pick("client", "server") + `"`
	}
	if w.chance(15) {
		members += `,"evaluation_contexts":["docs"]`
	}
	filters := ""
	if w.chance(15) {
		filters += `,"aggregation_group_type_index":0`
	}
	if w.chance(40) {
		filters += `,"multivariate":{"variants":[{"key":"a","rollout_percentage":50},{"key":"b","rollout_percentage":50}]},"payloads":{"a":"{\"n\":1}","b":[1, "x"]}`
	} else if w.chance(40) {
		filters += `,"payloads":{"true":"text"}`
	}
	if w.chance(10) {
		filters += `,"holdout":{"id":7,"exclusion_percentage":20}`
	}
	if w.chance(15) {
		filters += `,"feature_enrollment":true`
	}
	if w.chance(10) {
		filters += `,"early_exit":true`
	}
	conditions := make([]string, 1+w.rng.IntN(3))
	for c := range conditions {
		list := make([]string, w.rng.IntN(3))
		for j := range list {
			list[j] = w.filter(i, true)
		}
		conditions[c] = fmt.Sprintf(`{"properties":[%s],"rollout_percentage":%s}`, strings.Join(list, ","), w.pick("100", "100", "50", "30.5", "0"))
	}
	return fmt.Sprintf(`{"id":%d,"key":%q,"version":%d,"active":%v%s,"filters":{"groups":[%s]%s}}`,
		i+1, key, i, w.chance(93), members, strings.Join(conditions, ","), filters)
}

// filter returns a filter for flag i, or a leaf of a cohort.
func (w *world) filter(i int, ofFlag bool) string {
	if ofFlag && w.chance(35) {
		return fmt.Sprintf(`{"key":"id","type":"cohort","operator":%q,"value":%s}`, w.pick("in", "not_in"), w.pick("3", "9", "4", "5", "6", "6", "404"))
	}
	if ofFlag && i > 0 && w.chance(25) {
		return fmt.Sprintf(`{"key":"%d","type":"flag","operator":"flag_evaluates_to","value":%s}`, 1+w.rng.IntN(i), w.pick("true", "false", `"a"`))
	}
	if ofFlag && w.chance(15) {
		return fmt.Sprintf(`{"key":%q,"type":"group","group_type_index":0,"operator":"exact","value":"%s"}`, w.pick("tier", "plan", "$group_key"), w.pick("gold", "pro", "c-3"))
	}
	return w.pick(
		`{"key":"plan","type":"person","operator":"exact","value":"pro"}`,
		`{"key":"plan","type":"person","operator":"is_not","value":["free"]}`,
		`{"key":"plan","type":"person","operator":"is_not_set","value":"is_not_set"}`,
		`{"key":"seats","type":"person","operator":"gt","value":4}`,
		`{"key":"since","type":"person","operator":"is_date_after","value":"2025-06-01 00:00:00"}`,
		`{"key":"created_at","type":"person_metadata","operator":"is_date_before","value":"2025-06-01"}`,
		`{"key":"$os_name","type":"person","operator":"exact","value":"Linux"}`,
		`{"key":"$initial_browser","type":"person","operator":"exact","value":"Firefox"}`,
		`{"key":"distinct_id","type":"person","operator":"regex","value":"[02468]$"}`,
	)
}

// The methods of a Store.

func appendObject(dst []byte, properties map[string]any) ([]byte, error) {
	if properties == nil {
		return dst, nil
	}
	text, err := json.Marshal(properties)
	return append(dst, text...), err
}

func (w *world) AppendPerson(_ context.Context, dst []byte, _ int64, id string) ([]byte, error) {
	return appendObject(dst, w.stored[id])
}

func (w *world) PersonCreated(_ context.Context, _ int64, id string) (time.Time, error) {
	return w.created[id], nil
}

func (w *world) AppendGroup(_ context.Context, dst []byte, _ int64, groupType, key string) ([]byte, error) {
	return appendObject(dst, w.groups[groupType+"/"+key])
}

func (w *world) AppendCohorts(_ context.Context, dst []int64, _ int64, id string) ([]int64, error) {
	return append(dst, w.members[id]...), nil
}

// Overrides stores a hash key where a person has none. The texts are the request's,
// whose memory serves the next one.
func (w *world) Overrides(_ context.Context, _ int64, id, anonymousID string, keys []string, found func(flagKey, hashKey string)) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.created[id].IsZero() {
		return nil
	}
	rows := w.overrides[id]
	if rows == nil {
		rows = make(map[string]string)
		w.overrides[strings.Clone(id)] = rows
	}
	for _, key := range keys {
		if rows[key] == "" && anonymousID != "" {
			rows[key] = strings.Clone(anonymousID)
		}
		if rows[key] != "" {
			found(key, rows[key])
		}
	}
	return nil
}
