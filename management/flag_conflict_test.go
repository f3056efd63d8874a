package management_test

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/optional"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// management.md §13.6: what becomes of a change that was made for version 1 of a
// flag, after somebody else has made another.
func TestRuling87FlagConflicts(t *testing.T) {
	const conflict = "conflict conflict"
	for _, tt := range []struct {
		name   string
		theirs string // the change of somebody else
		ours   string
		want   string
		result string // name, active, tags and rollout of the flag then
	}{
		{"different fields", `{"name":"theirs"}`, `{"tags":["ours"]}`, "", `"theirs" true ["ours"] 10`},
		{"the same field", `{"name":"theirs"}`, `{"name":"ours"}`, conflict, `"theirs" true ["t"] 10`},
		{"the same change", `{"name":"same"}`, `{"name":"same"}`, "", `"same" true ["t"] 10`},
		{"the same change and another one", `{"name":"same"}`, `{"name":"same","tags":["ours"]}`, "", `"same" true ["ours"] 10`},
		{"the same change of filters", `{"filters":{"groups":[{"rollout_percentage":20}]}}`, `{"filters":{"groups":[{"properties":[],"rollout_percentage":20}]}}`, "", `"N" true ["t"] 20`},
		{"the same change without the original", `{"name":"same"}`, `{"name":"same","original_flag":null}`, "", `"same" true ["t"] 10`},
		{
			"nulls", `{"filters":{"groups":[{"rollout_percentage":20}]}}`,
			`{"filters":{"groups":[{"rollout_percentage":10,"variant":null,"aggregation_group_type_index":null}],"aggregation_group_type_index":null,"payloads":{"true":null},"holdout":null},"tags":["ours"]}`,
			"", `"N" true ["ours"] 20`,
		},
		{
			"a null that says something", `{"filters":{"groups":[{"rollout_percentage":20}],"aggregation_group_type_index":0}}`,
			`{"filters":{"groups":[{"rollout_percentage":20,"aggregation_group_type_index":null}],"aggregation_group_type_index":0}}`, conflict, `"N" true ["t"] 20`,
		},
		{"filters of which some members are sent", `{"filters":{"early_exit":true}}`, `{"filters":{"groups":[{"rollout_percentage":10}]},"tags":["ours"]}`, "", `"N" true ["ours"] 10`},
		{"a field that we leave as it was", `{"name":"theirs"}`, `{"name":"N","tags":["ours"]}`, "", `"theirs" true ["ours"] 10`},
		{"all fields, of which we change one", `{"name":"theirs"}`, `all`, "", `"theirs" true ["ours"] 10`},
		{"filters", `{"filters":{"groups":[{"rollout_percentage":20}]}}`, `{"filters":{"groups":[{"rollout_percentage":30}]}}`, conflict, `"N" true ["t"] 20`},
		{"filters as they were", `{"filters":{"groups":[{"rollout_percentage":20}]}}`, `{"filters":{"groups":[{"properties":[],"rollout_percentage":10}]},"active":false}`, "", `"N" false ["t"] 20`},
		{"filters with a value that looks empty", `{"filters":{"groups":[{"rollout_percentage":20}]}}`, `{"filters":{"groups":[{"properties":[{"key":"a","type":"person","value":""}],"rollout_percentage":10}]}}`, conflict, `"N" true ["t"] 20`},
		{"deleted by both", `{"deleted":true}`, `{"deleted":true}`, "", `"N" true ["t"] 10`},
		{"deleted meanwhile", `{"deleted":true,"name":"theirs"}`, `{"name":"ours"}`, conflict, `"theirs" true ["t"] 10`},
		{"what is empty is not there", `{"name":"theirs"}`, `{"ensure_experience_continuity":null,"evaluation_contexts":[],"tags":["ours"]}`, "", `"theirs" true ["ours"] 10`},
		{"a field that the original does not have", `{"name":"theirs"}`, `{"name":"ours","original_flag":{"tags":["t"]}}`, "", `"ours" true ["t"] 10`},
		{"no original", `{"name":"theirs"}`, `{"tags":["ours"],"original_flag":null}`, conflict, `"theirs" true ["t"] 10`},
		{"an original that is none", `{"name":"theirs"}`, `{"tags":["ours"],"original_flag":[1]}`, conflict, `"theirs" true ["t"] 10`},
		{"no version: the last wins", `{"name":"theirs"}`, `{"name":"ours","version":null}`, "", `"ours" true ["t"] 10`},
		{"the version that there is", `{"name":"theirs"}`, `{"name":"ours","version":2}`, "", `"ours" true ["t"] 10`},
		{"a version that there never was", `{"name":"theirs"}`, `{"name":"ours","version":99}`, conflict, `"theirs" true ["t"] 10`},
		{"a change that is wrong anyway", `{"name":"theirs"}`, `{"name":null}`, "invalid null name", `"theirs" true ["t"] 10`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			id := w.flag(w.web, `{"key":"k","name":"N","tags":["t"],"filters":{"groups":[{"rollout_percentage":10}]}}`)
			original := encode(t, w.seeFlag(id))
			must(w.changeFlag(id, tt.theirs))(t)
			ours := tt.ours
			if ours == "all" {
				ours = strings.Replace(original, `"tags":["t"]`, `"tags":["ours"]`, 1)
			}
			body := map[string]json.RawMessage{"version": json.RawMessage("1"), "original_flag": json.RawMessage(original)}
			maps.Copy(body, decode[map[string]json.RawMessage](t, ours))
			before := w.state()
			_, err := w.changeFlag(id, encode(t, body))
			checkFault(t, "UpdateFlag("+ours+")", err, tt.want)
			if err != nil {
				w.checkUnchanged(tt.name, before)
			}
			v := w.seeFlag(id)
			filters := decode[struct {
				Groups []struct {
					Rollout json.RawMessage `json:"rollout_percentage"`
				}
			}](t, shown(v.Filters))
			got := encode(t, v.Name) + " " + encode(t, v.Active) + " " + encode(t, v.Tags) + " " + string(filters.Groups[0].Rollout)
			if got != tt.result {
				t.Errorf("the flag is then %s, want %s", got, tt.result)
			}
		})
	}
}

// The error says what the flag's version is, and which fields clash.
func TestFlagConflictDetail(t *testing.T) {
	w := newWorld(t)
	id := w.flag(w.web, `{"key":"k","filters":`+everybody+`}`)
	must(w.changeFlag(id, `{"name":"a","tags":["a"]}`))(t)
	_, err := w.changeFlag(id, `{"name":"b","tags":["b"],"active":true,"version":1,"original_flag":{"name":"","tags":[],"active":false}}`)
	const want = "management: The feature flag was changed by somebody else in the meantime; its version is 2. Both changes are about: name, tags."
	if err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// What a flag with cohorts shows can be sent back as the original.
func TestFlagConflictWithCohortNames(t *testing.T) {
	w := newWorld(t)
	id := w.flag(w.web, `{"key":"k","filters":`+inCohort(w.cohort(w.web, `{"name":"Pro","filters":`+pro+`}`))+`}`)
	v := w.seeFlag(id)
	if got := shown(v.Filters); !strings.Contains(got, `"cohort_name":"Pro"`) { // management.md §13.4
		t.Errorf("filters %s without the cohort's name", got)
	}
	must(w.changeFlag(id, `{"name":"theirs"}`))(t)
	got := must(w.changeFlag(id, `{"version":1,"original_flag":`+encode(t, v)+`,"filters":`+shown(v.Filters)+`,"tags":["ours"]}`))(t)
	if got.Name != "theirs" || got.Version != 3 || !cmp.Equal(got.Tags, []string{"ours"}) {
		t.Errorf("%+v", got)
	}
	if stored := must(w.store.Flags().Get(t.Context(), storage.FlagProject.Is(w.web.ID), storage.FlagID.Is(v.ID)))(t); strings.Contains(filtersText(t, stored), "cohort_name") {
		t.Errorf("stored filters %s", filtersText(t, stored))
	}
}

// management.md §13.6: If-Match.
func TestFlagPrecondition(t *testing.T) {
	w := newWorld(t)
	id := w.flag(w.web, `{"key":"k","filters":`+everybody+`}`)
	change := func(version int, name string) error {
		return second(w.UpdateFlag(t.Context(), w.as(w.ada), ref(w.web), id, management.FlagPatch{Name: optional.Of(name), IfVersion: &version}))
	}
	checkFault(t, "version 1 of 1", change(1, "a"), "")
	checkFault(t, "version 1 of 2", change(1, "b"), "precondition precondition_failed")
	checkFault(t, "version -1 of 2", change(-1, "b"), "precondition precondition_failed")
	checkFault(t, "version 2 of 2", change(2, "c"), "")
	if v := w.seeFlag(id); v.Name != "c" || v.Version != 3 {
		t.Errorf("name %s, version %d", v.Name, v.Version)
	}
}
