package management_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/optional"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// rollOut changes a percentage of a flag of Web, as a request of Ada does.
func (w *world) rollOut(flag, body string) (*management.FlagView, error) {
	w.t.Helper()
	patch, err := read[management.RolloutPatch](w.t, body)
	if err != nil {
		return nil, err
	}
	return w.RollOutFlag(w.t.Context(), w.as(w.ada), ref(w.web), flag, patch)
}

// management.md §13.15: the percentage changes, and nothing else of what was sent.
func TestRollOutFlag(t *testing.T) {
	const two = `{"groups":[{"properties":[{"key":"plan","value":"pro","type":"person","label":null}],"rollout_percentage":10},{"rollout_percentage":1.5,"sort_key":"z"}],` +
		`"payloads":{"true":{"b":1,"a":1.0}},"early_exit":false,"holdout":{"id":7,"exclusion_percentage":5}}`
	for _, tt := range []struct {
		name, filters, body, want string
	}{
		{"the only one", `{"groups":[{"rollout_percentage":10}]}`, `{"rollout_percentage":50}`, `{"groups":[{"rollout_percentage":50}]}`},
		{"by index", `{"groups":[{"rollout_percentage":10}]}`, `{"rollout_percentage":50,"condition":0}`, `{"groups":[{"rollout_percentage":50}]}`},
		{"a null index", `{"groups":[{"rollout_percentage":10}]}`, `{"rollout_percentage":50,"condition":null}`, `{"groups":[{"rollout_percentage":50}]}`},
		{"without one before", `{"groups":[{}]}`, `{"rollout_percentage":0}`, `{"groups":[{"rollout_percentage":0}]}`},
		{"null before", `{"groups":[{"rollout_percentage":null,"properties":[]}]}`, `{"rollout_percentage":100}`, `{"groups":[{"properties":[],"rollout_percentage":100}]}`},
		{"a fraction", `{"groups":[{"rollout_percentage":10}]}`, `{"rollout_percentage":0.1}`, `{"groups":[{"rollout_percentage":0.1}]}`},
		{"a negative zero", `{"groups":[{"rollout_percentage":10}]}`, `{"rollout_percentage":-0.0}`, `{"groups":[{"rollout_percentage":0}]}`},
		{"the first of two", two, `{"rollout_percentage":20,"condition":0}`, strings.Replace(two, `":10}`, `":20}`, 1)},
		{"the second of two", two, `{"rollout_percentage":20,"condition":1}`, strings.Replace(two, "1.5", "20", 1)},
		{"what it is, in other words", two, `{"rollout_percentage":1.5,"condition":1}`, two},
		{"with a version", `{"groups":[{}]}`, `{"rollout_percentage":5,"version":1}`, `{"groups":[{"rollout_percentage":5}]}`},
		{
			"older forms", `{"super_groups":[{"properties":[{"key":"$feature_enrollment/k","value":["true"]}]}],"groups":[{}],"holdout_groups":null}`, `{"rollout_percentage":5}`,
			`{"groups":[{"rollout_percentage":5}],"feature_enrollment":true,"super_groups":[{"properties":[{"key":"$feature_enrollment/k","value":["true"]}]}],"holdout_groups":null}`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			w.flag(w.web, `{"key":"k","filters":`+tt.filters+`}`)
			v := must(w.rollOut("k", tt.body))(t)
			if diff := cmp.Diff(tt.want, shown(v.Filters), same); diff != "" {
				t.Errorf("filters (-want +got)\n%s", diff)
			}
			changed := 2
			if tt.want == tt.filters {
				changed = 1
			}
			if v.Version != changed {
				t.Errorf("version %d, want %d", v.Version, changed)
			}
			if f := must(w.store.Flags().Get(t.Context(), storage.FlagProject.Is(w.web.ID), storage.FlagKey.Is("k"), storage.FlagDeleted.Is(false)))(t); strings.Contains(tt.filters, "super_groups") && (f.Filters.FeatureEnrollment == nil || !*f.Filters.FeatureEnrollment) {
				t.Error("the enrolment is gone")
			}
		})
	}
}

// What is stored without a text of its own is changed as well, and what nobody can
// understand is not.
func TestRollOutStored(t *testing.T) {
	w := newWorld(t)
	for key, filters := range map[string]string{
		"plain": `{"groups":[{"rollout_percentage":10,"variant":"a"},{}],"multivariate":{"variants":[{"key":"a","rollout_percentage":100}]}}`, "broken": `{"groups":[{"rollout_percentage":"all"}]}`, "bare": `{}`,
	} {
		f := storage.NewFlag(w.web.ID, w.clock.Now())
		f.Key, f.Filters = key, filtersOf(filters)
		w.ok(w.store.Flags().Create(t.Context(), f))
	}
	v := must(w.rollOut("plain", `{"rollout_percentage":7,"condition":1}`))(t)
	if got := shown(v.Filters); !strings.Contains(got, `"rollout_percentage":10`) || !strings.Contains(got, `"rollout_percentage":7`) || !strings.Contains(got, `"multivariate"`) {
		t.Errorf("filters %s", got)
	}
	before := w.state()
	_, err := w.rollOut("broken", `{"rollout_percentage":7}`)
	checkFault(t, "RollOutFlag of filters that nobody can understand", err, "invalid invalid_input filters")
	_, err = w.rollOut("bare", `{"rollout_percentage":7}`)
	checkFault(t, "RollOutFlag without a condition set", err, "invalid invalid_input condition")
	w.checkUnchanged("wrong rollouts", before)
}

func TestRollOutWrong(t *testing.T) {
	w := newWorld(t)
	w.flag(w.web, `{"key":"one","filters":{"groups":[{"rollout_percentage":10}]}}`)
	w.flag(w.web, `{"key":"two","filters":{"groups":[{"rollout_percentage":10},{}]}}`)
	w.flag(w.web, `{"key":"config","is_remote_configuration":true,"filters":{"payloads":{"true":"1"}}}`)
	must(w.changeFlag(w.flag(w.web, `{"key":"gone","filters":`+everybody+`}`), `{"deleted":true}`))(t)
	survey := storage.NewFlag(w.web.ID, w.clock.Now())
	survey.Key, survey.Kind, survey.Filters = "survey", storage.FlagSurveyTargeting, filtersOf(everybody)
	w.ok(w.store.Flags().Create(t.Context(), survey))
	before := w.state()
	for _, tt := range []struct{ flag, body, want, detail string }{
		{"one", `{}`, "invalid required rollout_percentage", ""},
		{"one", `{"rollout_percentage":null}`, "invalid null rollout_percentage", ""},
		{"one", `{"rollout_percentage":"50"}`, "invalid invalid_input rollout_percentage", `Must be a number from 0 to 100, not "50".`},
		{"one", `{"rollout_percentage":true}`, "invalid invalid_input rollout_percentage", "Must be a number from 0 to 100, not true."},
		{"one", `{"rollout_percentage":-1}`, "invalid invalid_input rollout_percentage", "Must be a number from 0 to 100, not -1."},
		{"one", `{"rollout_percentage":100.5}`, "invalid invalid_input rollout_percentage", "Must be a number from 0 to 100, not 100.5."},
		{"one", `{"rollout_percentage":1e999}`, "invalid invalid_input rollout_percentage", "Must be a number from 0 to 100, not 1e999."},
		{"one", `{"rollout_percentage":50,"condition":1}`, "invalid invalid_input condition", "The flag has 1 condition sets, from 0 to 0: there is no 1."},
		{"one", `{"rollout_percentage":50,"condition":-1}`, "invalid invalid_input condition", ""},
		{"one", `{"rollout_percentage":50,"condition":"0"}`, "invalid invalid_input condition", "A valid integer is required."},
		{"one", `{"rollout_percentage":50,"condition":0.5}`, "invalid invalid_input condition", ""},
		{"one", `{"rollout_percentage":50,"version":"1"}`, "invalid invalid_input version", ""},
		{"one", `{"rollout_percentage":50,"version":2}`, "conflict conflict", ""},
		{"one", `{"rollout":50}`, "invalid unknown_member rollout", ""},
		{"one", `{"rollout_percentage":50,"group":0}`, "invalid unknown_member group", "did you mean condition?"},
		{"two", `{"rollout_percentage":50}`, "invalid required condition", "The flag has 2 condition sets: say which one, from 0 to 1."},
		{"two", `{"rollout_percentage":50,"condition":2}`, "invalid invalid_input condition", "The flag has 2 condition sets, from 0 to 1: there is no 2."},
		{"config", `{"rollout_percentage":0}`, "invalid min_value rollout_percentage", ""},
		{"gone", `{"rollout_percentage":50}`, "not found not_found", ""},
		{"none", `{"rollout_percentage":50}`, "not found not_found", ""},
		{"survey", `{"rollout_percentage":50}`, "invalid invalid_input", ""},
	} {
		_, err := w.rollOut(tt.flag, tt.body)
		checkFault(t, "RollOutFlag("+tt.flag+", "+tt.body+")", err, tt.want)
		if err != nil && !strings.Contains(err.Error(), tt.detail) {
			t.Errorf("RollOutFlag(%s, %s) = %v, want %s", tt.flag, tt.body, err, tt.detail)
		}
	}
	_, err := w.RollOutFlag(t.Context(), w.as(w.ada), ref(w.web), "one", management.RolloutPatch{RolloutPercentage: optional.Of(50.0), IfVersion: new(2)})
	checkFault(t, "RollOutFlag for another version", err, "precondition precondition_failed")
	w.checkUnchanged("wrong rollouts", before)
}

// The payloads of a flag that encrypts them stay as they are for whoever may read them.
func TestRollOutEncrypted(t *testing.T) {
	w := newWorld(t)
	w.flag(w.web, `{"key":"k","is_remote_configuration":true,"has_encrypted_payloads":true,"filters":{"groups":[{"rollout_percentage":10}],"payloads":{"true":"{\"secret\":1}"}}}`)
	v := must(w.rollOut("k", `{"rollout_percentage":20}`))(t)
	if got := shown(v.Filters); !strings.Contains(got, "(encrypted)") || !strings.Contains(got, `"rollout_percentage":20`) {
		t.Errorf("filters %s", got)
	}
	if got := shown(must(w.Flag(t.Context(), w.key(w.ada), ref(w.web), "k"))(t).Filters); !strings.Contains(got, `{\"secret\":1}`) {
		t.Errorf("with a key: filters %s", got)
	}
	if text := string(w.activities()[0].Detail); strings.Contains(text, "secret") || !strings.Contains(text, `"rollout_percentage":20`) {
		t.Errorf("activity %s", text)
	}
}

// A flag has a path by its ID and by its key (management.md §13.14).
func TestFlagReferences(t *testing.T) {
	w := newWorld(t)
	first := w.flag(w.web, `{"key":"first","filters":`+everybody+`}`)      // 1
	w.flag(w.web, `{"key":"1","filters":`+everybody+`}`)                   // 2
	w.flag(w.web, `{"key":"99","filters":`+everybody+`}`)                  // 3
	w.flag(w.web, `{"key":"007","filters":`+everybody+`}`)                 // 4
	w.flag(w.web, `{"key":"-1","filters":`+everybody+`}`)                  // 5
	gone := w.flag(w.web, `{"key":"gone","filters":`+everybody+`}`)        // 6
	w.flag(w.web, `{"key":"6","filters":`+everybody+`}`)                   // 7
	foreign := w.flag(w.shop, `{"key":"foreign","filters":`+everybody+`}`) // 8
	w.flag(w.web, `{"key":"`+foreign+`","filters":`+everybody+`}`)         // 9
	w.flag(w.web, `{"key":"matching_ids","filters":`+everybody+`}`)        // 10
	must(w.changeFlag("gone", `{"deleted":true}`))(t)
	again := w.flag(w.web, `{"key":"gone","filters":`+everybody+`}`) // 11
	for ref, want := range map[string]string{
		first: first, "first": first, "2": "2", "99": "3", "007": "4", "-1": "5", gone: gone, "gone": again, "7": "7", foreign: "9", "foreign": "", "matching_ids": "10",
		"First": "", "01": "", "+1": "", "1.0": "", " 1": "", "": "", "beta": "", "0": "", "99999999999999999999": "",
	} {
		v, err := w.Flag(t.Context(), w.as(w.ada), "@current", ref)
		changed, err2 := w.changeFlag(ref, `{}`)
		if want == "" {
			checkFault(t, "Flag("+ref+")", err, "not found not_found")
			checkFault(t, "UpdateFlag("+ref+")", err2, "not found not_found")
			_, err = w.FlagStatus(t.Context(), w.as(w.ada), "@current", ref)
			checkFault(t, "FlagStatus("+ref+")", err, "not found not_found")
			_, err = w.explain(ref, `{}`)
			checkFault(t, "ExplainFlag("+ref+")", err, "not found not_found")
			continue
		}
		if err != nil || err2 != nil || encode(t, v.ID) != want || encode(t, changed.ID) != want {
			t.Errorf("Flag(%s) = %+v, %v; UpdateFlag = %+v, %v; want flag %s", ref, v, err, changed, err2, want)
		}
	}
	page, err := w.ListActivity(t.Context(), w.as(w.ada), "@current", management.ActivityQuery{Scope: "FeatureFlag", ItemID: "first", Page: 1, Limit: 10})
	if err != nil || page.Total != 1 || page.Items[0].ItemID != first {
		t.Errorf("ListActivity by key: %+v, %v", page, err)
	}
	_, err = w.ListActivity(t.Context(), w.as(w.ada), "@current", management.ActivityQuery{Scope: "FeatureFlag", ItemID: "foreign", Page: 1, Limit: 10})
	checkFault(t, "ListActivity of a flag of another project", err, "not found not_found")
}

// Whatever the body, a percentage changes and nothing else does, or the body is refused
// with an Error.
func FuzzRolloutPatch(f *testing.F) {
	for _, body := range []string{
		`{"rollout_percentage":50}`, `{"rollout_percentage":12.5,"condition":1}`, `{"rollout_percentage":-0.0,"condition":0,"version":1}`, `{"rollout_percentage":1e1,"condition":null}`,
		`{"rollout_percentage":"50"}`, `{"rollout_percentage":1e400,"condition":1e3}`, `{"condition":{}}`, `[]`, `{"version":99999999999999999999}`,
	} {
		f.Add([]byte(body))
	}
	const text = `{"groups":[{"properties":[{"key":"plan","value":"pro","type":"person"}],"rollout_percentage":%A},{"rollout_percentage":%B}],"payloads":{"true":{"b":1,"a":1.0}}}`
	w := newWorld(f)
	w.flag(w.web, `{"key":"k","filters":`+strings.NewReplacer("%A", "10", "%B", "20").Replace(text)+`}`)
	shares := []string{"10", "20"}
	p := w.as(w.ada)
	f.Fuzz(func(t *testing.T, body []byte) {
		var patch management.RolloutPatch
		if json.Unmarshal(body, &patch) != nil {
			return
		}
		err := management.CheckBody(&patch, body, false)
		var v *management.FlagView
		if err == nil {
			v, err = w.RollOutFlag(t.Context(), p, ref(w.web), "k", patch)
		}
		if err != nil {
			if got := fault(err); strings.HasPrefix(got, "failure") || strings.HasPrefix(got, "incomplete") {
				t.Fatalf("RollOutFlag(%s): %s", body, got)
			}
			return
		}
		number := must(json.Marshal(patch.RolloutPercentage.Value))(t)
		if got := decode[struct {
			Groups []struct {
				Rollout float64 `json:"rollout_percentage"`
			}
		}](t, shown(v.Filters)); got.Groups[patch.Condition.Value].Rollout != patch.RolloutPercentage.Value {
			t.Fatalf("RollOutFlag(%s): filters %s, want %s", body, shown(v.Filters), number)
		}
		for i := range shares {
			shares[i] = shareIn(t, shown(v.Filters), i)
		}
		if want := strings.NewReplacer("%A", shares[0], "%B", shares[1]).Replace(text); want != shown(v.Filters) {
			t.Fatalf("RollOutFlag(%s): filters %s, want %s", body, shown(v.Filters), want)
		}
	})
}

// shareIn returns the percentage of a condition set as it is spelled.
func shareIn(t testing.TB, filters string, condition int) string {
	t.Helper()
	return string(decode[struct {
		Groups []struct {
			Rollout json.RawMessage `json:"rollout_percentage"`
		}
	}](t, filters).Groups[condition].Rollout)
}
