package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	asked "github.com/flagstaff-go/flagstaff/cmd/internal/foreign"
	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/management/foreign"
)

// A mimic answers as another product, with the values of flags in a document.
type mimic struct {
	t        *testing.T
	product  string
	snapshot *flags.Snapshot
	types    map[string]string // of flags' values

	// changed is a boolean flag that has the opposite value for the person "person-7".
	changed atomic.Pointer[string]
}

// ServeHTTP speaks the protocol of the product.
func (m *mimic) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	request := m.subject(r)
	request.Now = time.Now()
	values := make(map[string]json.RawMessage)
	for key := range m.snapshot.Keys() {
		result, err := m.snapshot.Flag(key, request)
		if err != nil {
			m.t.Error(err)
		}
		values[key] = result.JSON()
		if changed := m.changed.Load(); changed != nil && key == *changed && request.DistinctID == "person-7" {
			values[key] = json.RawMessage(fmt.Sprint(string(values[key]) != "true"))
		}
	}
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(m.answer(values)); err != nil {
		m.t.Error(err)
	}
}

type object = map[string]any

// subject reads the person, and what else there is, of a request.
func (m *mimic) subject(r *http.Request) *flags.Request {
	request := &flags.Request{PersonProperties: make(map[string]any), Groups: make(map[string]string), GroupProperties: make(map[string]map[string]any)}
	attributes := request.PersonProperties
	id := "targetingKey"
	switch m.product {
	case "unleash":
		id = "userId"
		for name, list := range r.URL.Query() {
			attributes[strings.TrimSuffix(strings.TrimPrefix(name, "properties["), "]")] = list[0]
		}
	case "launchdarkly":
		id = "key"
		raw, err := base64.RawURLEncoding.DecodeString(r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:])
		if err != nil {
			m.t.Error(err)
		}
		var contexts object
		m.read(raw, &contexts)
		if kind := contexts["kind"].(string); kind != "multi" {
			contexts = object{kind: contexts}
		}
		for kind, one := range contexts {
			switch one, ok := one.(object); {
			case !ok:
			case kind == "user":
				attributes = one
				request.PersonProperties = one
			default:
				request.Groups[kind], request.GroupProperties[kind] = one["key"].(string), one
			}
		}
	default:
		var body struct{ Context, Attributes object }
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			m.t.Error(err)
		}
		if attributes = body.Context; m.product == "growthbook" {
			id, attributes = "id", body.Attributes
		}
		request.PersonProperties = attributes
	}
	request.DistinctID, _ = attributes[id].(string)
	return request
}

func (m *mimic) read(raw []byte, into any) {
	if err := json.Unmarshal(raw, into); err != nil {
		m.t.Errorf("%v in %s", err, raw)
	}
}

// answer returns values in the form of the product.
func (m *mimic) answer(values map[string]json.RawMessage) any {
	list, byKey := []any{}, make(object)
	for key, v := range values {
		entry := object{"key": key, "value": v, "reason": "STATIC"}
		switch m.product {
		case "launchdarkly":
			byKey[key] = object{"value": v, "variation": 0, "version": 3}
		case "growthbook":
			byKey[key] = object{"defaultValue": v, "rules": []any{object{"force": v, "tracks": []any{}}}}
		case "unleash":
			variant := object{"name": "disabled", "enabled": false, "feature_enabled": true}
			switch string(v) {
			case "null", "false":
				continue // it is off
			case "true":
			default:
				if m.types[key] == "string" {
					variant["name"] = v
				} else {
					m.read(v, &variant)
				}
			}
			list = append(list, object{"name": key, "enabled": true, "impressionData": false, "variant": variant})
		case "flipt":
			switch {
			case string(v) == "null":
				entry["value"] = ""
			case m.types[key] == "object":
				var variant struct {
					Key        string
					Attachment json.RawMessage
				}
				m.read(v, &variant)
				entry["value"] = variant.Key
				if variant.Attachment != nil {
					entry["metadata"] = object{"attachment": string(variant.Attachment)}
				}
			}
			list = append(list, entry)
		default:
			if string(v) == "null" {
				delete(entry, "value")
			}
			list = append(list, entry)
		}
	}
	switch m.product {
	case "launchdarkly":
		return byKey
	case "growthbook":
		return object{"features": byKey}
	case "unleash":
		return object{"toggles": list}
	}
	return object{"flags": list}
}

func newMimic(t *testing.T, product, document string) (*mimic, *httptest.Server) {
	t.Helper()
	file, err := os.Open(document)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	definitions, err := flags.Decode(file)
	if err != nil {
		t.Fatal(err)
	}
	m := &mimic{t: t, product: product, types: make(map[string]string)}
	for i := range definitions.Flags {
		m.types[definitions.Flags[i].Key] = definitions.Flags[i].Filters.RuleSet.ReturnType
	}
	if m.snapshot, err = flags.Compile(definitions, flags.CompileOptions{}); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(m)
	t.Cleanup(server.Close)
	return m, server
}

// typedFlags is a document with a value of each type, and one that is nobody's.
const typedFlags = `{"flags": [
	{"id": 1, "key": "on", "active": true, "filters": {"version": 2, "return_type": "boolean", "default_value": false, "rules": [
		{"rule_type": "targeted_release", "description": "the team", "targeting": {"properties": [{"key": "plan", "type": "person", "operator": "exact", "value": ["team"]}]}, "value": true}]}},
	{"id": 2, "key": "limit", "active": true, "filters": {"version": 2, "return_type": "number", "default_value": 5, "rules": [
		{"rule_type": "targeted_release", "targeting": {"properties": [{"key": "age", "type": "person", "operator": "gt", "value": 17}]}, "value": 1.5}]}},
	{"id": 3, "key": "theme", "active": true, "filters": {"version": 2, "return_type": "object", "default_value": {"hex": "#fff", "sizes": [1, 2]}, "rules": []}},
	{"id": 4, "key": "label", "active": true, "filters": {"version": 2, "return_type": "string", "default_value": null, "rules": [
		{"rule_type": "targeted_release", "targeting": {"properties": [{"key": "plan", "type": "person", "operator": "exact", "value": ["team"]}]}, "value": "Team"}]}},
	{"id": 5, "key": "inactive", "active": false, "filters": {"version": 2, "return_type": "boolean", "default_value": true, "rules": []}}]}`

// compareReport is what -json prints.
type compareReport struct {
	Complete                                        bool
	Subjects, Comparisons, Differences, NotAnswered int
	Flags                                           []struct {
		Key                      string
		Comparisons, Differences int
		Example                  *struct {
			Subject     object
			There, Here json.RawMessage
			Why         string
		}
	}
}

// TestCompare asks each product for the flags that were imported from it: there is no difference
// until one value changes.
func TestCompare(t *testing.T) {
	t.Parallel()
	if diff := gocmp.Diff(foreign.Products(), asked.Products()); diff != "" {
		t.Errorf("-products that are imported +products that are compared\n%s", diff)
	}
	const data = "../../internal/convert/"
	for _, tt := range []struct {
		product, file, version string // of the import
		environment            string
		changed                string // a boolean flag
	}{
		{"launchdarkly", data + "launchdarkly/testdata/flags.json", "", "5f0c", "checkout-express-pay"},
		{"unleash", data + "unleash/testdata/flags.json", "6", "", "checkout-express"},
		{"flipt", data + "flipt/testdata/features.yaml", "new", "default", "dark-mode"},
		{"configcat", data + "configcat/testdata/flags.json", "", "sdk1", "applePay"},
		{"flagd", data + "flagd/testdata/flags.json", "new", "", "apple-pay"},
		{"go-feature-flag", data + "gofeatureflag/testdata/flags.yaml", "", "", "apple-pay"},
		{"growthbook", data + "growthbook/testdata/flags.json", "", "", "checkout-express"},
	} {
		t.Run(tt.product, func(t *testing.T) {
			t.Parallel()
			document := filepath.Join(t.TempDir(), "flags.json")
			args := []string{"import", "-from", tt.product, "-bucket-version", tt.version, "-o", document, tt.file}
			if got := (call{args: args}).here(t); got.Stderr != "" {
				t.Fatalf("%+v", got)
			}
			m, server := newMimic(t, tt.product, document)
			compare := func(args ...string) outcome {
				args = append([]string{"compare", "-from", tt.product, "-at", server.URL, "-environment", tt.environment}, args...)
				return call{args: args, env: []string{"FLAGSTAFF_FROM_KEY=s3cret"}}.here(t)
			}
			compare("-persons", "200", document).want(t, outcome{
				0, "50 flags, 200 subjects, 10000 comparisons: no differences, 0 not answered\n", "",
			})

			m.changed.Store(&tt.changed)
			got := compare("-persons", "200", document)
			line, summary, _ := strings.Cut(got.Stdout, "\n")
			if want := tt.changed + `: 1 of 200 differ, such as "person-7": `; !strings.HasPrefix(line, want) || got.Code != 1 || got.Stderr != "" {
				t.Errorf("%+v; want a line that begins with %s", got, want)
			}
			if want := "50 flags, 200 subjects, 10000 comparisons: 1 difference in 1 flag, 0 not answered\n"; summary != want {
				t.Errorf("%q, want %q", summary, want)
			}

			var report compareReport
			got = compare("-persons", "200", "-flags", tt.changed, "-json", document)
			m.read([]byte(got.Stdout), &report)
			if !report.Complete || report.Subjects != 200 || report.Comparisons != 200 || report.Differences != 1 || len(report.Flags) != 1 || report.Flags[0].Example == nil {
				t.Fatalf("%+v", got)
			}
			example := report.Flags[0].Example
			if want := fmt.Sprintf("%s there, %s here; %s", example.There, example.Here, example.Why); !strings.HasSuffix(line, want) {
				t.Errorf("%q does not end with %q", line, want)
			}
			// The example is a line of SUBJECTS.
			subject, err := json.Marshal(example.Subject)
			if err != nil {
				t.Fatal(err)
			}
			subjects := write(t, "subjects.jsonl", "somebody\n"+string(subject)+"\n")
			got = compare("-flags", tt.changed, document, subjects)
			if want := strings.Replace(line, "of 200", "of 2", 1) + "\n1 flag, 2 subjects, 2 comparisons: 1 difference in 1 flag, 0 not answered\n"; got.Stdout != want {
				t.Errorf("%q, want %q", got.Stdout, want)
			}
		})
	}
}

// TestCompareFails has comparisons that are not made, or not to the end.
func TestCompareFails(t *testing.T) {
	t.Parallel()
	document := write(t, "flags.json", typedFlags)
	subjects := write(t, "subjects.jsonl", `{"distinct_id":"ada","person_properties":{"anonymous":"yes"}}`+"\nbob\n")
	_, good := newMimic(t, "launchdarkly", document)
	answering := func(status int, body string) string {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = w.Write([]byte(body))
		}))
		t.Cleanup(server.Close)
		return server.URL
	}
	const ask = "is it the address of launchdarkly?\n"
	for _, tt := range []struct {
		name, at string
		args     []string
		want     outcome // HOST is the server, FILE the last argument
	}{
		{
			"a subject that cannot be asked about", good.URL,
			[]string{document, subjects},
			outcome{0, "note: 1 subject cannot be asked about: the attribute \"anonymous\" is true or false there, and here it is text\n5 flags, 2 subjects, 5 comparisons: no differences, 5 not answered\n", ""},
		},
		{
			"flags that are not there", answering(200, `{"on":{"value":false},"theme":{"value":{"sizes":[1,2.0],"hex":"#fff"}},"other":{"value":1}}`),
			[]string{"-persons", "10", "-flags", "theme", "-flags", "limit", "-flags", "label", document},
			outcome{0, "note: never answered: limit, label\n3 flags, 10 subjects, 10 comparisons: no differences, 20 not answered\n", ""},
		},
		{
			"another value", answering(200, `{"on":{"value":false}}`),
			[]string{"-flags", "on", document, write(t, "team.jsonl", `{"distinct_id":"ada","person_properties":{"plan":"team"}}`)},
			outcome{1, "on: 1 of 1 differ, such as \"ada\": false there, true here; rule 1 is the first that gave a value (the team)\n1 flag, 1 subject, 1 comparison: 1 difference in 1 flag, 0 not answered\n", ""},
		},
		{
			"no flag is there", answering(200, `{}`),
			[]string{"-persons", "10", document},
			outcome{1, "note: never answered: on, limit, theme, label, inactive\n5 flags, 10 subjects, 0 comparisons: no differences, 50 not answered\n", "flagstaff compare: launchdarkly has answered nothing that could be compared\n"},
		},
		{"no key", answering(401, ""), []string{document}, outcome{1, "", "flagstaff compare: HOST answered 401 Unauthorized; the key is taken from FLAGSTAFF_FROM_KEY\n"}},
		{"another address", answering(404, ""), []string{document}, outcome{1, "", "flagstaff compare: HOST answered 404 Not Found; " + ask}},
		{"another product", answering(200, "[]"), []string{document}, outcome{1, "", "flagstaff compare: the answer of HOST is not one of launchdarkly: it is JSON of another form; " + ask}},
		{"no flag of the file", good.URL, []string{"-flags", "labl", document}, outcome{1, "", "flagstaff compare: FILE has no flag \"labl\"; did you mean label?\n"}},
		{"no subjects", good.URL, []string{document, write(t, "empty", "\n")}, outcome{1, "", "flagstaff compare: FILE has no subjects\n"}},
		{"a bad line", good.URL, []string{document, write(t, "odd", "bob\n{")}, outcome{1, "5 flags, 1 subject, 5 comparisons: no differences, 0 not answered\n", "flagstaff compare: FILE:2: wire: body is not JSON: offset 1: unexpected end of input where a member name should begin\n"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := call{args: append([]string{"compare", "-from", "launchdarkly", "-environment", "e", "-at", tt.at}, tt.args...)}.here(t)
			got.Stderr = strings.NewReplacer(strings.TrimPrefix(tt.at, "http://"), "HOST", tt.args[len(tt.args)-1], "FILE").Replace(got.Stderr)
			got.want(t, tt.want)
		})
	}
}

// workers is how many requests are made at a time. Each begins when the answer before it was
// taken in.
const workers = 8

// TestCompareGivesUp: a product that refuses one subject after the other is not asked to the end.
func TestCompareGivesUp(t *testing.T) {
	t.Parallel()
	document := write(t, "flags.json", typedFlags)
	const answered = 3
	var asked atomic.Int64
	all := make(chan struct{})
	m, _ := newMimic(t, "flagd", document)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := asked.Add(1)
		if n <= answered {
			m.ServeHTTP(w, r)
			return
		}
		if n == answered+workers {
			close(all)
		}
		<-all
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write([]byte(`{"errorCode":"INVALID_CONTEXT","errorDetails":"no more"}`))
	}))
	t.Cleanup(server.Close)
	got := call{args: []string{"compare", "-from", "flagd", "-at", server.URL, "-json", document}}.here(t)
	var report compareReport
	m.read([]byte(got.Stdout), &report)
	host := strings.TrimPrefix(server.URL, "http://")
	want := "flagstaff compare: 5 subjects in a row were not answered: " + host + " answered 400 Bad Request: no more\n"
	if got.Code != 1 || got.Stderr != want || report.Complete || report.Comparisons != 15 || asked.Load() > 100 {
		t.Errorf("%+v after %d requests; want %q after 15 comparisons", got, asked.Load(), want)
	}
}

// TestCompareIsStopped: what was found until a signal is printed.
func TestCompareIsStopped(t *testing.T) {
	t.Parallel()
	document := write(t, "flags.json", typedFlags)
	m, _ := newMimic(t, "flagd", document)
	changed := "on"
	m.changed.Store(&changed)
	const answered = 20
	var asked atomic.Int64
	all, done := make(chan struct{}), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := asked.Add(1)
		if n <= answered {
			m.ServeHTTP(w, r)
			return
		}
		if n == answered+workers {
			close(all)
		}
		<-done
	}))
	t.Cleanup(func() { close(done); server.Close() })
	cmd := call{args: []string{"compare", "-from", "flagd", "-at", server.URL, document}}.process(t)
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	<-all
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // the exit code says more
	outcome{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}.want(t, outcome{
		1, "on: 1 of 20 differ, such as \"person-7\": true there, false here; no rule gave a value\n" +
			"5 flags, 20 subjects, 100 comparisons: 1 difference in 1 flag, 0 not answered\n", "flagstaff compare: stopped after 20 subjects\n",
	})
}
