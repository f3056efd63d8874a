package management_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// Whatever somebody sends is refused with an Error, or is stored as a flag that
// compiles without errors and whose view changes nothing when it is sent back.
func FuzzFlagPatch(f *testing.F) {
	for _, body := range []string{
		`{"key":"a","filters":{"groups":[{}]}}`,
		`{"key":"a","name":"N","active":"off","tags":["b","a"],"evaluation_contexts":[" X"],"ensure_experience_continuity":null,"filters":` + when("plan", "pro") + `}`,
		`{"key":"a","is_remote_configuration":true,"has_encrypted_payloads":true,"filters":{"payloads":{"true":{"x":1}}}}`,
		`{"key":"a","filters":{"groups":[{"variant":"b","rollout_percentage":1.5}],"multivariate":{"variants":[{"key":"b","rollout_percentage":100}]},"payloads":{"b":"1"}}}`,
		`{"key":"a","filters":` + dependsOn("1") + `,"evaluation_runtime":"server","bucketing_hash":"xxhash64","version":1}`,
		`{"key":"a","filters":` + inCohort("1") + `,"archived":true,"active":false}`,
		`{"key":"a","filters":{"groups":[{}],"super_groups":[{"properties":[{"key":"$feature_enrollment/a","value":["true"]}]}],"holdout":{"id":1,"exclusion_percentage":5}}}`,
		"{\"key\":2,\"filters\":{\"groups\":[{\"properties\":[{\"key\":\"<\xd8&\",\"type\":\"person\",\"operator\":\"is_set\"}]}]}}",
		`{"key":1,"filters":{"groups":[{"properties":[{"key":"d","type":"person","operator":"is_date_after","value":"-7d"}]}],"aggregation_group_type_index":null}}`,
	} {
		f.Add([]byte(body))
	}
	w := newWorld(f)
	base := w.flag(w.web, `{"key":"base","filters":`+everybody+`}`)
	w.cohort(w.web, `{"name":"Pro","filters":`+pro+`}`)
	p := w.as(w.ada)
	f.Fuzz(func(t *testing.T, body []byte) {
		w := *w
		w.t = t
		var patch management.FlagPatch
		if json.Unmarshal(body, &patch) != nil {
			return
		}
		v, err := w.CreateFlag(t.Context(), p, ref(w.web), patch)
		if err != nil {
			if got := fault(err); strings.HasPrefix(got, "failure") || strings.HasPrefix(got, "incomplete") {
				t.Fatalf("CreateFlag(%s): %s", body, got)
			}
			return
		}
		id := string(must(json.Marshal(v.ID))(t))
		defer func() {
			w.ok(w.store.Flags().Delete(context.Background(), storage.FlagProject.Is(w.web.ID), storage.FlagID.Is(v.ID)))
		}()
		var shown strings.Builder
		encoder := json.NewEncoder(&shown)
		encoder.SetEscapeHTML(false) // as clients get it
		if err := encoder.Encode(v); err != nil {
			t.Fatal(err)
		}
		again, err := w.UpdateFlag(t.Context(), p, ref(w.web), id, decode[management.FlagPatch](t, shown.String()))
		if diff := cmp.Diff(v, again, same); err != nil || diff != "" {
			t.Fatalf("CreateFlag(%s), and what it shows sent back: %v (-want +got)\n%s", body, err, diff)
		}
		d := storage.FlagDefinitions(must(w.store.CalledFlags(t.Context(), w.web.ID))(t), must(w.store.Cohorts().List(t.Context(), storage.CohortProject.Is(w.web.ID), storage.CohortDeleted.Is(false)))(t), nil)
		s := must(flags.Compile(d, flags.CompileOptions{}))(t)
		for _, problem := range s.Problems() {
			if problem.Severity >= flags.SeverityError {
				t.Fatalf("CreateFlag(%s) is stored with a problem: %v", body, problem)
			}
		}
		must(w.ExplainFlag(t.Context(), p, ref(w.web), id, []byte(`{"distinct_id":"u"}`)))(t)
		if !w.seeFlag(base).Active {
			t.Fatalf("CreateFlag(%s) has changed another flag", body)
		}
	})
}
