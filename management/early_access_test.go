package management_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// changeFeature changes an early access feature of Web, as a request of Ada does.
func (w *world) changeFeature(id, body string) (*management.EarlyAccessView, error) {
	w.t.Helper()
	return w.UpdateEarlyAccessFeature(w.t.Context(), w.as(w.ada), ref(w.web), id, decode[management.EarlyAccessPatch](w.t, body))
}

// management.md §13.9: the form of a feature, and the flag that is made for it.
func TestEarlyAccessForm(t *testing.T) {
	w := newWorld(t)
	v := must(w.CreateEarlyAccessFeature(t.Context(), w.as(w.ada), ref(w.web), decode[management.EarlyAccessPatch](t,
		`{"name":"Dark Mode!","description":"Black","stage":"beta","documentation_url":"https://docs.example.com/dark","payload":{"a": 1}}`)))(t)
	want := `{"id":"` + v.ID.String() + `","feature_flag":{"id":1,"team_id":1,"name":"Feature flag for early access feature Dark Mode!","key":"dark-mode",` +
		`"filters":{"groups":[{"properties":[],"rollout_percentage":0}],"feature_enrollment":true},"deleted":false,"active":true,` +
		`"ensure_experience_continuity":false,"version":1,"evaluation_runtime":"all","bucketing_identifier":"distinct_id","evaluation_contexts":[]},` +
		`"name":"Dark Mode!","description":"Black","stage":"beta","documentation_url":"https://docs.example.com/dark","payload":{"a":1},"created_at":"2026-03-04T05:06:07Z"}`
	if diff := cmp.Diff(want, encode(t, v), same); diff != "" {
		t.Errorf("a new feature (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff(v, must(w.EarlyAccessFeature(t.Context(), w.as(w.ada), ref(w.web), v.ID.String()))(t), same); diff != "" {
		t.Errorf("answer (-) and what is stored (+)\n%s", diff)
	}
	if diff := cmp.Diff([]management.FlagUser{{ID: v.ID, Name: "Dark Mode!"}}, w.seeFlag("1").Features, same); diff != "" {
		t.Errorf("features of the flag (-want +got)\n%s", diff)
	}
	public := string(must(must(w.store.EarlyAccess().List(t.Context(), storage.FeatureProject.Is(w.web.ID)))(t)[0].Public("dark-mode"))(t))
	want = `{"id":"` + v.ID.String() + `","name":"Dark Mode!","description":"Black","stage":"beta","documentationUrl":"https://docs.example.com/dark","payload":{"a":1},"flagKey":"dark-mode"}`
	if public != want {
		t.Errorf("clients get %s, want %s", public, want)
	}
	none := string(must(new(storage.EarlyAccessFeature).Public(""))(t))
	if !strings.Contains(none, `"payload":{},`) {
		t.Errorf("without a payload clients get %s", none)
	}
}

// management.md §13.9: while persons can enrol the flag has the mark.
func TestEarlyAccessStages(t *testing.T) {
	w := newWorld(t)
	marked := func() bool {
		return strings.Contains(shown(w.seeFlag("1").Filters), `"feature_enrollment":true`)
	}
	for _, stage := range []string{"draft", "concept", "alpha", "beta", "general-availability", "archived"} {
		w := newWorld(t)
		w.feature(w.web, `{"name":"New","stage":"`+stage+`"}`)
		want := stage == "alpha" || stage == "beta" || stage == "general-availability"
		if got := strings.Contains(shown(w.seeFlag("1").Filters), `"feature_enrollment":true`); got != want {
			t.Errorf("a new feature at stage %s: the flag is marked: %t", stage, got)
		}
	}
	w.flag(w.web, `{"key":"k","filters":{"groups":[{"rollout_percentage":10}],"payloads":{"true":"1"}}}`)
	id := w.feature(w.web, `{"name":"New","stage":"draft","feature_flag_id":1}`)
	version := 1
	for _, tt := range []struct {
		body   string
		marked bool
		grows  bool // the flag's version
	}{
		{`{"name":"Newer"}`, false, false},
		{`{"stage":"alpha"}`, true, true},
		{`{"stage":"beta"}`, true, false},
		{`{"description":"x"}`, true, false},
		{`{"stage":"concept"}`, false, true},
		{`{"stage":"general-availability"}`, true, true},
		{`{"stage":"archived"}`, false, true},
		{`{"stage":"beta"}`, true, true},
	} {
		must(w.changeFeature(id, tt.body))(t)
		if tt.grows {
			version++
		}
		if v := w.seeFlag("1"); marked() != tt.marked || v.Version != version {
			t.Errorf("after UpdateEarlyAccessFeature(%s) the flag is marked: %t, version %d; want %t, %d", tt.body, marked(), v.Version, tt.marked, version)
		}
	}
	if got, want := shown(w.seeFlag("1").Filters), `{"groups":[{"rollout_percentage":10}],"payloads":{"true":"1"},"feature_enrollment":true}`; got != want {
		t.Errorf("filters %s, want %s", got, want)
	}
	w.ok(w.DeleteEarlyAccessFeature(t.Context(), w.as(w.ada), ref(w.web), id))
	if marked() {
		t.Error("the flag is marked after the feature is deleted")
	}

	// Who has set the mark themselves keeps it.
	must(w.changeFlag("1", `{"filters":{"feature_enrollment":true}}`))(t)
	id = w.feature(w.web, `{"name":"New","stage":"draft","feature_flag_id":1}`)
	must(w.changeFeature(id, `{"stage":"concept"}`))(t)
	w.ok(w.DeleteEarlyAccessFeature(t.Context(), w.as(w.ada), ref(w.web), id))
	if !marked() {
		t.Error("a mark that was set by hand is gone")
	}
}

// management.md §13.9: what is refused.
func TestEarlyAccessRefuses(t *testing.T) {
	for _, tt := range []struct {
		name, body     string
		create, change string
	}{
		{"nothing", `{}`, "invalid required name", ""},
		{"no stage", `{"name":"x"}`, "invalid required stage", ""},
		{"name, null", `{"name":null,"stage":"beta"}`, "invalid null name", "invalid null name"},
		{"name, blank", `{"name":" ","stage":"beta"}`, "invalid blank name", "invalid blank name"},
		{"name, too long", `{"name":"` + chars(201) + `","stage":"beta"}`, "invalid max_length name", "invalid max_length name"},
		{"description, null", `{"name":"x","stage":"beta","description":null}`, "invalid null description", "invalid null description"},
		{"stage", `{"name":"x","stage":"released"}`, "invalid invalid_choice stage", "invalid invalid_choice stage"},
		{"stage, null", `{"name":"x","stage":null}`, "invalid null stage", "invalid null stage"},
		{"address", `{"name":"x","stage":"beta","documentation_url":"javascript:alert(1)"}`, "invalid invalid_input documentation_url", "invalid invalid_input documentation_url"},
		{"address without a host", `{"name":"x","stage":"beta","documentation_url":"https://"}`, "invalid invalid_input documentation_url", "invalid invalid_input documentation_url"},
		{"address, too long", `{"name":"x","stage":"beta","documentation_url":"https://x/` + strings.Repeat("y", 800) + `"}`, "invalid max_length documentation_url", "invalid max_length documentation_url"},
		{"no address", `{"name":"x","stage":"beta","documentation_url":""}`, "", ""},
		{"payload, a list", `{"name":"x","stage":"beta","payload":[]}`, "invalid not_a_dict payload", "invalid not_a_dict payload"},
		{"payload, too large", `{"name":"x","stage":"beta","payload":{"a":` + document(64<<10) + `}}`, "invalid invalid_input payload", "invalid invalid_input payload"},
		{"no payload", `{"name":"x","stage":"beta","payload":null}`, "", ""},
		{"flag, text", `{"name":"x","stage":"beta","feature_flag_id":"x"}`, "invalid invalid_input feature_flag_id", "invalid invalid_input feature_flag_id"},
		{"flag that does not exist", `{"name":"x","stage":"beta","feature_flag_id":99}`, "invalid invalid_input", ""},
		{"flag of another project", `{"name":"x","stage":"beta","feature_flag_id":6}`, "invalid invalid_input", ""},
		{"flag that is deleted", `{"name":"x","stage":"beta","feature_flag_id":5}`, "invalid invalid_input", ""},
		{"flag with variants", `{"name":"x","stage":"beta","feature_flag_id":2}`, "invalid invalid_input", ""},
		{"flag about groups", `{"name":"x","stage":"beta","feature_flag_id":3}`, "invalid invalid_input", ""},
		{"flag of another feature", `{"name":"x","stage":"beta","feature_flag_id":4}`, "invalid invalid_input", ""},
		{"flag, null", `{"name":"x","stage":"beta","feature_flag_id":null}`, "", ""},
		{"key that is taken", `{"name":"Plain","stage":"beta"}`, "invalid unique name", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			w.flag(w.web, `{"key":"plain","filters":`+everybody+`}`)                                                                         // 1
			w.flag(w.web, `{"key":"variants","filters":{"groups":[{}],"multivariate":{"variants":[{"key":"a","rollout_percentage":100}]}}}`) // 2
			w.flag(w.web, `{"key":"groups","filters":{"groups":[{}],"aggregation_group_type_index":0}}`)                                     // 3
			id := w.feature(w.web, `{"name":"Other","stage":"beta"}`)                                                                        // 4
			must(w.changeFlag(w.flag(w.web, `{"key":"gone","filters":`+everybody+`}`), `{"deleted":true}`))(t)                               // 5
			w.flag(w.shop, `{"key":"foreign","filters":`+everybody+`}`)                                                                      // 6
			before := w.state()
			_, err := w.CreateEarlyAccessFeature(t.Context(), w.as(w.ada), ref(w.web), decode[management.EarlyAccessPatch](t, tt.body))
			if checkFault(t, "CreateEarlyAccessFeature("+tt.body+")", err, tt.create); err != nil {
				w.checkUnchanged(tt.name, before)
			}
			before = w.state()
			_, err = w.changeFeature(id, tt.body)
			if checkFault(t, "UpdateEarlyAccessFeature("+tt.body+")", err, tt.change); err != nil {
				w.checkUnchanged(tt.name, before)
			}
		})
	}
}

// The key of a new flag is made of the feature's name.
func TestEarlyAccessKeys(t *testing.T) {
	for name, want := range map[string]string{
		"Dark Mode": "dark-mode", "  New_UI (v2) ": "new_ui-v2", "Café": "cafe", "A&B": "a-b", "日本": "early-access-feature", "!!!": "early-access-feature", "--x--": "x",
		strings.Repeat("ab ", 66): strings.TrimSuffix(strings.Repeat("ab-", 66), "-"),
	} {
		w := newWorld(t)
		w.feature(w.web, `{"stage":"draft","name":`+encode(t, name)+`}`)
		if got := w.seeFlag("1").Key; got != want {
			t.Errorf("the flag of %q has the key %q, want %q", name, got, want)
		}
	}
}

// Features are listed newest first, and a feature that does not exist is not found.
func TestEarlyAccessList(t *testing.T) {
	w := newWorld(t)
	for _, name := range []string{"A", "B", "C"} {
		w.feature(w.web, `{"stage":"draft","name":"`+name+`"}`)
		w.clock.advance(time.Minute)
	}
	foreign := w.feature(w.shop, `{"stage":"draft","name":"Foreign"}`)
	for _, tt := range []struct {
		limit, offset int
		want          string
	}{{10, 0, "C B A"}, {1, 1, "B"}, {10, 3, ""}, {0, 0, ""}} {
		page := must(w.ListEarlyAccessFeatures(t.Context(), w.as(w.cyd), ref(w.web), tt.limit, tt.offset))(t)
		var names []string
		for _, v := range page.Items {
			names = append(names, v.Name)
		}
		if got := strings.Join(names, " "); got != tt.want || page.Total != 3 || page.Items == nil {
			t.Errorf("limit %d, offset %d: %q of %d, want %q of 3", tt.limit, tt.offset, got, page.Total, tt.want)
		}
	}
	for _, id := range []string{foreign, uuid.NewString(), "1", ""} {
		_, err := w.EarlyAccessFeature(t.Context(), w.as(w.ada), ref(w.web), id)
		checkFault(t, "EarlyAccessFeature("+id+")", err, "not found not_found")
		_, err = w.changeFeature(id, `{"name":"x"}`)
		checkFault(t, "UpdateEarlyAccessFeature("+id+")", err, "not found not_found")
		checkFault(t, "DeleteEarlyAccessFeature("+id+")", w.DeleteEarlyAccessFeature(t.Context(), w.as(w.ada), ref(w.web), id), "not found not_found")
	}
}

// A change that changes nothing leaves no trace, and payloads can be taken away.
func TestEarlyAccessPatch(t *testing.T) {
	w := newWorld(t)
	id := w.feature(w.web, `{"stage":"beta","name":"New","payload":{"a":1}}`)
	before := w.state()
	for _, body := range []string{`{}`, `{"name":"New "}`, `{"stage":"beta"}`, `{"payload":{ "a": 1 }}`, `{"feature_flag_id":99}`} {
		must(w.changeFeature(id, body))(t)
		w.checkUnchanged("UpdateEarlyAccessFeature("+body+")", before)
	}
	v := must(w.changeFeature(id, `{"payload":null,"documentation_url":"http://x.example"}`))(t)
	if string(v.Payload) != "{}" || v.DocumentationURL != "http://x.example" {
		t.Errorf("%+v", v)
	}
	want := `[{"type":"EarlyAccessFeature","field":"documentation_url","before":"","after":"http://x.example","action":"created"},` +
		`{"type":"EarlyAccessFeature","field":"payload","before":{"a":1},"after":null,"action":"deleted"}]`
	changes := decode[map[string]json.RawMessage](t, string(w.activities()[0].Detail))["changes"]
	if string(changes) != want {
		t.Errorf("changes %s, want %s", changes, want)
	}
}
