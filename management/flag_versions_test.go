package management_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/optional"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// versions returns the history of a flag of Web as it is shown to Ada without a key.
func (w *world) versions(flag string) []*management.FlagVersion {
	w.t.Helper()
	page := must(w.FlagVersions(w.t.Context(), w.as(w.ada), ref(w.web), flag, 1000, 0))(w.t)
	if page.Total != len(page.Items) {
		w.t.Errorf("%d versions of %d", len(page.Items), page.Total)
	}
	return page.Items
}

// version returns a version of a flag of Web as it is shown to Ada without a key.
func (w *world) version(flag string, n int) *management.FlagView {
	w.t.Helper()
	return must(w.FlagVersion(w.t.Context(), w.as(w.ada), ref(w.web), flag, n))(w.t)
}

// revert makes a version of a flag of Web again, as a request of Ada does.
func (w *world) revert(flag, body string) (*management.FlagView, error) {
	w.t.Helper()
	patch, err := read[management.RevertPatch](w.t, body)
	if err != nil {
		return nil, err
	}
	return w.RevertFlag(w.t.Context(), w.as(w.ada), ref(w.web), flag, patch)
}

// management.md §13.17, §13.18: each version of a flag can be read and made again, with
// filters as they were sent.
func TestFlagVersionsAreKept(t *testing.T) {
	w := newWorld(t)
	w.flag(w.web, `{"key":"base","filters":`+everybody+`}`)
	bodies := []string{
		`{"key":"k","filters":{"payloads":{"true":{"b":1.0,"a":[null]}},"groups":[{"variant":null,"properties":[],"rollout_percentage":1.50}],"early_exit":null}}`,
		`{"name":"N","tags":["b","a"]}`,
		`{"filters":{"groups":[{"label":"é","properties":[{"key":"plan","type":"person","value":["pro"],"negation":false}]},{}],"multivariate":null}}`,
		`{"filters":{"payloads":null,"multivariate":{"variants":[{"key":"a","rollout_percentage":100.0}]}},"evaluation_runtime":"server","evaluation_contexts":["X"],"evaluation_contexts_match_mode":"all"}`,
		`{"key":"renamed","active":false,"archived":true}`,
		`{"active":true,"archived":false,"bucketing_hash":"xxhash64","bucketing_identifier":"device_id","is_remote_configuration":true,"filters":` + dependsOn("1") + `}`,
		`{"deleted":true}`,
		`{"deleted":false,"ensure_experience_continuity":null,"filters":{"super_groups":[{"properties":[{"key":"$feature_enrollment/renamed","value":["true"]}]}],"holdout":{"exclusion_percentage":5,"id":1}}}`,
	}
	id := w.flag(w.web, bodies[0])
	seen := []*management.FlagView{w.seeFlag(id)}
	for _, body := range bodies[1:] {
		w.clock.advance(time.Minute)
		seen = append(seen, must(w.changeFlag(id, body))(t))
	}
	asOf := func(v *management.FlagView) *management.FlagView {
		was := *v
		if was.Status == "STALE" {
			was.Status = "ACTIVE"
		}
		return &was
	}
	for i, want := range seen {
		if want.Version != i+1 {
			t.Fatalf("%s has made version %d", bodies[i], want.Version)
		}
		if diff := cmp.Diff(asOf(want), w.version(id, i+1), same); diff != "" {
			t.Errorf("version %d (-want +got)\n%s", i+1, diff)
		}
	}
	for n := len(seen); n > 0; n-- { // one after the other, and from the last one to the first
		w.clock.advance(time.Minute)
		before := w.seeFlag(id)
		v := must(w.revert(id, fmt.Sprintf(`{"version":%d,"current_version":%d}`, n, before.Version)))(t)
		want := *asOf(seen[n-1])
		want.Version, want.UpdatedAt = before.Version+1, w.clock.Now()
		if n == len(seen) {
			want.Version, want.UpdatedAt = before.Version, before.UpdatedAt // it is that version
		}
		if diff := cmp.Diff(&want, v, same); diff != "" {
			t.Errorf("reverted to version %d (-want +got)\n%s", n, diff)
		}
		stored, old := must(w.store.Flags().Get(t.Context(), storage.FlagProject.Is(w.web.ID), storage.FlagID.Is(v.ID)))(t), must(w.store.FlagVersions().Get(t.Context(), storage.FlagProject.Is(w.web.ID), storage.VersionOf.Is(v.ID), storage.FlagVersion.Is(n)))(t)
		if shown(stored.Filters) != shown(old.Filters) {
			t.Errorf("reverted to version %d: %s, want %s", n, shown(stored.Filters), shown(old.Filters))
		}
	}
	if got := len(w.versions(id)); got != 2*len(bodies)-1 {
		t.Errorf("%d versions, want %d", got, 2*len(bodies)-1)
	}
}

// The history says what each version has changed.
func TestFlagHistory(t *testing.T) {
	w := newWorld(t)
	id := w.flag(w.web, `{"key":"k","filters":{"groups":[{"properties":[{"key":"plan","type":"person","value":"pro"}],"rollout_percentage":10},{"rollout_percentage":5}]}}`)
	for _, body := range []string{
		`{"filters":{"groups":[{"properties":[{"key":"plan","type":"person","value":"pro"}],"rollout_percentage":50},{"rollout_percentage":5}]}}`,
		`{"active":false,"name":"<N>","tags":["x","y"]}`,
		`{"filters":{"groups":[{"properties":[{"key":"plan","type":"person","value":"pro"}],"rollout_percentage":50},{"properties":[{"key":"new","type":"person","value":["a","b"]}]},{"rollout_percentage":5}]}}`,
		`{"filters":{"groups":[{"properties":[{"key":"plan","type":"person","value":"pro"}],"rollout_percentage":50},{"properties":[{"key":"new","type":"person","value":["a","c"]}]},{"rollout_percentage":5}]}}`,
		`{"tags":[],"filters":{"groups":[{"rollout_percentage":5}],"payloads":{"true":"{\"text\":\"` + strings.Repeat("é", 60) + `\"}"}}}`,
	} {
		w.clock.advance(time.Minute)
		must(w.changeFlag(id, body))(t)
	}
	w.clock.advance(time.Minute)
	must(w.revert("k", `{"version":2}`))(t)
	type change = management.FlagChange
	const group = "condition set 1: 50% of everyone where plan is pro"
	payload := `payloads: {"true":"{\"text\":\"` + strings.Repeat("é", 59) + `…`
	want := []struct {
		summary string
		changes []change
	}{
		{`reverted to version 2: name: <N> removed; ` + group + ` added; ` + payload + ` removed; 1 more`, nil},
		{group + ` removed; condition set 2: everyone where new is a or c removed; ` + payload + ` added; 1 more`, nil},
		{`condition set 2, filter 1, value: a, b → a, c`, []change{{"filters/groups/1/properties/0/value", `["a","b"]`, `["a","c"]`}}},
		{`condition set 2: everyone where new is a or b added`, []change{{"filters/groups/1", "", `{"properties":[{"key":"new","type":"person","value":["a","b"]}]}`}}},
		{`name: <N> added; state: on → off; tags: x, y added`, []change{{"name", "", `"<N>"`}, {"active", "true", "false"}, {"tags", "", `["x","y"]`}}},
		{`condition set 1, rollout percentage: 10% → 50%`, []change{{"filters/groups/0/rollout_percentage", "10", "50"}}},
		{"created", nil},
	}
	list := w.versions("k")
	if len(list) != len(want) {
		t.Fatalf("%d versions, want %d", len(list), len(want))
	}
	for i, v := range list {
		n := len(list) - i
		if v.Summary != want[i].summary || want[i].changes != nil && !cmp.Equal(want[i].changes, v.Changes) {
			t.Errorf("version %d: %s\n%+v\nwant %s\n%+v", n, v.Summary, v.Changes, want[i].summary, want[i].changes)
		}
		if v.Version != n || v.CreatedBy == nil || v.CreatedBy.Email != w.ada.Email || !v.CreatedAt.Equal(begin.Add(time.Duration(n-1)*time.Minute)) || v.MoreChanges != 0 {
			t.Errorf("version %d: %+v", n, v)
		}
		if (v.Changes == nil) != (n == 1) || (v.RevertedTo != nil) != (n == 7) || n == 7 && *v.RevertedTo != 2 {
			t.Errorf("version %d: %+v", n, v)
		}
	}
	a := w.activities()[0]
	if text := string(a.Detail); a.Activity != "reverted" || !strings.Contains(text, `{"type":"FeatureFlag","field":"reverted_to","before":null,"after":2,"action":"created"}`) || !strings.Contains(text, `"field":"name"`) {
		t.Errorf("activity %s %s", a.Activity, text)
	}
	must(w.changeFlag(id, `{"name":"again"}`))(t)
	if v := w.versions("k")[0]; v.RevertedTo != nil {
		t.Errorf("the version after: %+v", v)
	}
	for _, tt := range []struct{ limit, offset, first, n int }{{3, 0, 8, 3}, {3, 6, 2, 2}, {1, 7, 1, 1}, {3, 8, 0, 0}, {0, 0, 0, 0}} {
		page := must(w.FlagVersions(t.Context(), w.as(w.ada), ref(w.web), id, tt.limit, tt.offset))(t)
		if page.Total != 8 || len(page.Items) != tt.n || tt.n > 0 && (page.Items[0].Version != tt.first || page.Items[tt.n-1].Summary == "" || (page.Items[tt.n-1].Changes == nil) != (page.Items[tt.n-1].Version == 1)) {
			t.Errorf("FlagVersions(%d, %d): %d of %d", tt.limit, tt.offset, len(page.Items), page.Total)
		}
	}
}

// A history is as long as it is, and each version tells a number of changes at most.
func TestLongFlagHistory(t *testing.T) {
	w := newWorld(t)
	id := w.flag(w.web, `{"key":"k","filters":`+everybody+`}`)
	for i := range 120 {
		must(w.rollOut(id, fmt.Sprintf(`{"rollout_percentage":%d}`, i%100)))(t)
	}
	list := w.versions(id)
	for i, v := range list {
		if v.Version != 121-i || (v.Changes == nil) != (v.Version == 1) {
			t.Fatalf("version %d in place %d: %+v", v.Version, i, v.Changes)
		}
	}
	var groups, others []string
	for i := range 50 + 7 {
		groups, others = append(groups, fmt.Sprintf(`{"rollout_percentage":%d}`, i)), append(others, fmt.Sprintf(`{"rollout_percentage":%d.5}`, i))
	}
	must(w.changeFlag(id, `{"filters":{"groups":[`+strings.Join(groups, ",")+`]}}`))(t)
	must(w.changeFlag(id, `{"filters":{"groups":[`+strings.Join(others, ",")+`]}}`))(t)
	if v := w.versions(id)[0]; len(v.Changes) != 50 || v.MoreChanges != 7 || !strings.HasSuffix(v.Summary, "; 54 more") {
		t.Errorf("%d changes and %d more: %s", len(v.Changes), v.MoreChanges, v.Summary)
	}
}

// Text that says the same in other words is not a new version: the version has the newest
// words.
func TestVersionInOtherWords(t *testing.T) {
	w := newWorld(t)
	w.flag(w.web, `{"key":"k","filters":{"groups":[{"properties":[]}]}}`)
	if v := must(w.changeFlag("k", `{"filters":{"groups":[{"variant":null}]}}`))(t); v.Version != 1 {
		t.Errorf("version %d, want 1", v.Version)
	}
	if got := shown(w.version("k", 1).Filters); got != `{"groups":[{"variant":null}]}` {
		t.Errorf("version 1 has %s", got)
	}
}

// Everything that changes a flag makes a version: imports, early access features and
// surveys, too.
func TestVersionsOfOtherChanges(t *testing.T) {
	w := newWorld(t, withData)
	must(w.Import(t.Context(), w.web.ID, []byte(`{"flags":[{"id":7,"key":"imported","active":true,"filters":{"groups":[{"rollout_percentage":5}]}}]}`), management.ImportOptions{}))(t)
	if list := w.versions("imported"); len(list) != 1 || list[0].CreatedBy != nil || list[0].Summary != "created" {
		t.Errorf("imported: %+v", list)
	}
	feature := w.feature(w.web, `{"name":"Early","stage":"draft"}`)
	must(w.UpdateEarlyAccessFeature(t.Context(), w.as(w.ada), ref(w.web), feature, management.EarlyAccessPatch{Stage: optional.Of("beta")}))(t)
	if list := w.versions("early"); len(list) != 2 || list[0].Summary != "early access: yes added" {
		t.Errorf("early access: %+v", list)
	}
}

// What a version needs may have gone (management.md §13.18).
func TestRevertIsJudged(t *testing.T) {
	w := newWorld(t)
	base := w.flag(w.web, `{"key":"base","filters":`+everybody+`}`)
	cohort := w.cohort(w.web, `{"name":"Pro","filters":`+pro+`}`)
	id := w.flag(w.web, `{"key":"k","filters":`+dependsOn(base)+`}`)     // 1
	must(w.changeFlag(id, `{"filters":`+inCohort(cohort)+`}`))(t)        // 2
	must(w.changeFlag(id, `{"key":"other","filters":`+everybody+`}`))(t) // 3
	must(w.changeFlag(id, `{"active":false}`))(t)                        // 4
	must(w.changeFlag(id, `{"active":true}`))(t)                         // 5
	must(w.changeFlag(id, `{"deleted":true}`))(t)                        // 6
	must(w.changeFlag(id, `{"deleted":false}`))(t)                       // 7
	must(w.changeFlag(id, `{"name":"now"}`))(t)                          // 8
	must(w.changeFlag(base, `{"active":false}`))(t)
	must(w.changeCohort(cohort, `{"deleted":true}`))(t)
	w.flag(w.web, `{"key":"k","filters":`+everybody+`}`)
	w.flag(w.web, `{"key":"user","filters":`+dependsOn(id)+`}`)
	before := w.state()
	for _, tt := range []struct{ body, want, detail string }{
		{`{"version":1}`, "invalid invalid_input filters", "base"},
		{`{"version":2}`, "invalid cohort_does_not_exist filters", ""},
		{`{"version":4}`, "invalid invalid_input", "other active flags depend on it: user"},
		{`{"version":6}`, "invalid invalid_input", "other active flags depend on it: user"},
		{`{"version":8}`, "", ""},
		{`{"version":9}`, "invalid does_not_exist version", "no version 9 to go back to; it has version 8 now"},
		{`{"version":0}`, "invalid does_not_exist version", ""},
		{`{"version":-1}`, "invalid does_not_exist version", ""},
		{`{}`, "invalid required version", ""},
		{`{"version":null}`, "invalid null version", ""},
		{`{"version":"3"}`, "invalid invalid_input version", ""},
		{`{"version":3.5}`, "invalid invalid_input version", ""},
		{`{"version":1e30}`, "invalid invalid_input version", ""},
		{`{"version":3,"current_version":7}`, "conflict conflict", "its version is 8"},
		{`{"version":3,"current_version":"8"}`, "invalid invalid_input current_version", ""},
		{`{"version":3,"expected_version":8}`, "invalid unknown_member expected_version", "did you mean current_version?"},
		{`{"version":3,"filters":{}}`, "invalid unknown_member filters", ""},
	} {
		_, err := w.revert(id, tt.body)
		checkFault(t, "RevertFlag("+tt.body+")", err, tt.want)
		if err != nil && !strings.Contains(err.Error(), tt.detail) {
			t.Errorf("RevertFlag(%s) = %v, want %s", tt.body, err, tt.detail)
		}
	}
	_, err := w.RevertFlag(t.Context(), w.as(w.ada), ref(w.web), id, management.RevertPatch{Version: optional.Of(3), IfVersion: new(7)})
	checkFault(t, "RevertFlag for another version", err, "precondition precondition_failed")
	for _, n := range []int{0, -1, 9} {
		_, err := w.FlagVersion(t.Context(), w.as(w.ada), ref(w.web), id, n)
		checkFault(t, fmt.Sprintf("FlagVersion(%d)", n), err, "not found not_found")
	}
	w.checkUnchanged("reverts that are refused", before)
	must(w.changeFlag("user", `{"deleted":true}`))(t)
	must(w.changeFlag(base, `{"active":true}`))(t)
	_, err = w.revert(id, `{"version":1}`)
	checkFault(t, "RevertFlag to a key that is taken", err, "invalid unique key")
	if v := must(w.revert(id, `{"version":6}`))(t); !v.Deleted || w.activities()[0].Activity != "deleted" {
		t.Errorf("reverted to a version that was deleted: %+v", v)
	}
	if v := must(w.revert(id, `{"version":3}`))(t); v.Deleted || v.Key != "other" || v.Name != "" || v.Version != 10 {
		t.Errorf("and back: %+v", v)
	}
}

// A flag stays open for enrolment as its early access feature wants it now.
func TestRevertWithFeature(t *testing.T) {
	w := newWorld(t)
	feature := w.feature(w.web, `{"name":"New","stage":"draft"}`) // version 1
	stage := func(s string) {
		must(w.UpdateEarlyAccessFeature(t.Context(), w.as(w.ada), ref(w.web), feature, management.EarlyAccessPatch{Stage: optional.Of(s)}))(t)
	}
	enrolls := func() bool { return strings.Contains(shown(w.seeFlag("new").Filters), `"feature_enrollment":true`) }
	stage("beta")                                    // 2
	must(w.changeFlag("new", `{"name":"named"}`))(t) // 3
	must(w.revert("new", `{"version":1}`))(t)
	if !enrolls() {
		t.Error("nobody can enrol in a feature in beta")
	}
	stage("draft")
	must(w.revert("new", `{"version":3}`))(t)
	if enrolls() || w.seeFlag("new").Name != "named" {
		t.Error("persons can enrol in a draft")
	}
	w.ok(w.DeleteEarlyAccessFeature(t.Context(), w.as(w.ada), ref(w.web), feature))
	must(w.revert("new", `{"version":2}`))(t)
	if !enrolls() {
		t.Error("a flag without a feature is not as it was")
	}
}

// A version never shows more than the flag, and what is encrypted stays so.
func TestSecretVersions(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	const head = `{"key":"k","is_remote_configuration":true,`
	id := w.flag(w.web, head+`"filters":{"payloads":{"true":"{\"pw\":\"first\"}"}}}`)    // 1
	must(w.changeFlag(id, `{"filters":{"payloads":{"true":"{\"pw\":\"second\"}"}}}`))(t) // 2
	must(w.changeFlag(id, `{"has_encrypted_payloads":true}`))(t)                         // 3
	must(w.changeFlag(id, `{"filters":{"payloads":{"true":"{\"pw\":\"third\"}"}}}`))(t)  // 4
	must(w.changeFlag(id, `{"key":"renamed"}`))(t)                                       // 5
	key := w.key(w.ada)
	read := func(n int, p *management.Principal) string {
		t.Helper()
		return shown(must(w.FlagVersion(ctx, p, ref(w.web), id, n))(t).Filters)
	}
	for n, secret := range map[int]string{1: "first", 2: "second", 3: "second", 4: "third", 5: "third"} {
		if got := read(n, w.as(w.ada)); strings.Contains(got, "pw") || !strings.Contains(got, "(encrypted)") {
			t.Errorf("version %d shows %s", n, got)
		}
		if got := read(n, key); !strings.Contains(got, secret) {
			t.Errorf("version %d shows %s to a key, want %s", n, got, secret)
		}
	}
	for _, p := range []*management.Principal{w.as(w.ada), key} {
		if text := encode(t, must(w.FlagVersions(ctx, p, ref(w.web), id, 100, 0))(t)); strings.Contains(text, "pw") || strings.Contains(text, "sealed") || !strings.Contains(text, `"payloads changed"`) {
			t.Errorf("history %s", text)
		}
	}
	for _, n := range []string{"1", "2"} {
		for _, p := range []*management.Principal{w.as(w.ada), key} {
			_, err := w.RevertFlag(ctx, p, ref(w.web), id, decode[management.RevertPatch](t, `{"version":`+n+`}`))
			checkFault(t, "RevertFlag to what was not encrypted", err, "invalid invalid_input version")
		}
	}
	sealed := func(f *storage.Flag, err error) string {
		t.Helper()
		payload, _ := must(f, err)(t).Filters.Payload("true")
		return payload
	}
	v := must(w.revert(id, `{"version":3}`))(t)
	if got, want := sealed(w.store.Flags().Get(ctx, storage.FlagProject.Is(w.web.ID), storage.FlagID.Is(v.ID))), sealed(w.store.FlagVersions().Get(ctx, storage.FlagProject.Is(w.web.ID), storage.VersionOf.Is(v.ID), storage.FlagVersion.Is(3))); got != want || !strings.HasPrefix(got, "sealed:") {
		t.Errorf("the payload is stored as %s, want %s", got, want)
	}
	if got := read(6, key); !strings.Contains(got, "second") || v.Key != "k" {
		t.Errorf("reverted: %s of %s", got, v.Key)
	}
	if text := string(w.activities()[0].Detail); strings.Contains(text, "pw") || strings.Contains(text, "sealed") {
		t.Errorf("activity %s", text)
	}

	other := w.another(func(c *management.Config) { c.SecretKeys = [][]byte{secretKey('b')} })
	before := w.state()
	_, err := other.revert(id, `{"version":4}`)
	checkFault(t, "RevertFlag to a payload whose secret key is missing", err, "invalid invalid_input version")
	_, err = w.another(func(c *management.Config) { c.SecretKeys = nil }).revert(id, `{"version":4}`)
	checkFault(t, "RevertFlag without secret keys", err, "invalid invalid_input has_encrypted_payloads")
	w.checkUnchanged("reverts that are refused", before)

	// A flag that is open now has no secrets of its own in versions that were open.
	must(w.changeFlag(id, `{"has_encrypted_payloads":false,"filters":{"payloads":{"true":"1"}}}`))(t)
	if got := read(4, w.as(w.ada)); strings.Contains(got, "pw") {
		t.Errorf("version 4 shows %s", got)
	}
	if v := must(w.revert(id, `{"version":4}`))(t); !v.EncryptedPayloads {
		t.Error("the payloads are not encrypted again")
	}
}

// Of several reverts at once for one version, one succeeds.
func TestRevertsAtOnce(t *testing.T) {
	w := newWorld(t)
	id := w.flag(w.web, `{"key":"k","name":"first","filters":`+everybody+`}`)
	must(w.changeFlag(id, `{"name":"second"}`))(t)
	must(w.changeFlag(id, `{"name":"third"}`))(t)
	const n = 8
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			patch := management.RevertPatch{Version: optional.Of(1 + i%2), CurrentVersion: optional.Of(3)}
			_, errs[i] = w.RevertFlag(t.Context(), w.as(w.ada), ref(w.web), id, patch)
		})
	}
	wg.Wait()
	succeeded := 0
	for _, err := range errs {
		if err == nil {
			succeeded++
		} else {
			checkFault(t, "RevertFlag", err, "conflict conflict")
		}
	}
	if v := w.seeFlag(id); succeeded != 1 || v.Version != 4 || len(w.versions(id)) != 4 {
		t.Errorf("%d reverts succeeded, version %d; want 1, 4", succeeded, v.Version)
	}
	for range n {
		wg.Go(func() {
			_, err := w.RevertFlag(t.Context(), w.as(w.ada), ref(w.web), id, management.RevertPatch{Version: optional.Of(3)})
			checkFault(t, "RevertFlag", err, "")
		})
	}
	wg.Wait()
	if v := w.seeFlag(id); v.Name != "third" || v.Version != 5 {
		t.Errorf("%s in version %d, want third in 5: the others had nothing to change", v.Name, v.Version)
	}
}

// Whatever the body, a flag has the content of a version then, or the body is refused with
// an Error.
func FuzzRevertPatch(f *testing.F) {
	for _, body := range []string{
		`{"version":1}`, `{"version":2,"current_version":3}`, `{"version":3,"current_version":null}`, `{"version":"1"}`, `{"version":1e3}`, `{"version":-1,"x":{}}`, `[]`, `{"current_version":[]}`,
	} {
		f.Add([]byte(body))
	}
	w := newWorld(f)
	id := w.flag(w.web, `{"key":"k","name":"1","filters":`+everybody+`}`)
	for n := 2; n < 4; n++ {
		must(w.changeFlag(id, fmt.Sprintf(`{"name":"%d"}`, n)))(f)
	}
	p := w.as(w.ada)
	f.Fuzz(func(t *testing.T, body []byte) {
		var patch management.RevertPatch
		if json.Unmarshal(body, &patch) != nil {
			return
		}
		was, _ := w.FlagVersion(t.Context(), p, ref(w.web), id, patch.Version.Value)
		err := management.CheckBody(&patch, body, false)
		var v *management.FlagView
		if err == nil {
			v, err = w.RevertFlag(t.Context(), p, ref(w.web), id, patch)
		}
		if err != nil {
			if got := fault(err); strings.HasPrefix(got, "failure") || strings.HasPrefix(got, "incomplete") {
				t.Fatalf("RevertFlag(%s): %s", body, got)
			}
			return
		}
		if was == nil || v.Name != was.Name {
			t.Fatalf("RevertFlag(%s): %+v, want %+v", body, v, was)
		}
	})
}

// management.md §13.17: a version has the comment of the change that has made it, and the next one
// does not.
func TestVersionComments(t *testing.T) {
	w := newWorld(t)
	id := w.flag(w.web, `{"key":"k","filters":`+everybody+`,"comment":"for the launch"}`)
	for _, body := range []string{
		`{"active":false,"comment":"errors in checkout, see #12"}`, `{"name":"N"}`,
		`{"name":"N","comment":"nothing changes"}`, `{"tags":["a"],"comment":""}`,
	} {
		must(w.changeFlag(id, body))(t)
	}
	must(w.revert(id, `{"version":1}`))(t)
	var comments []string
	for _, v := range w.versions(id) {
		comments = append(comments, v.Comment)
	}
	if diff := cmp.Diff([]string{"", "", "", "errors in checkout, see #12", "for the launch"}, comments); diff != "" {
		t.Errorf("comments, newest first (-want +got)\n%s", diff)
	}
	entries := must(w.ListActivity(t.Context(), w.as(w.ada), ref(w.web), management.ActivityQuery{Scope: "FeatureFlag", Page: 1, Limit: 10}))(t)
	said := 0
	for _, e := range entries.Items {
		for _, c := range e.Detail.Changes {
			if c.Field == "comment" && string(c.After) == `"errors in checkout, see #12"` {
				said++
			}
		}
	}
	if said != 1 {
		t.Errorf("the activity log has the comment %d times, want once", said)
	}
	for body, fault := range map[string]string{
		`{"name":"M","comment":"` + strings.Repeat("é", 1001) + `"}`: "invalid max_length comment",
		`{"name":"M","comment":null}`:                                "invalid null comment",
		`{"name":"M","comment":"\u0000"}`:                            "invalid null_characters_not_allowed comment",
		`{"name":"M","comment":[]}`:                                  "invalid invalid_input comment",
	} {
		_, err := w.changeFlag(id, body)
		checkFault(t, body, err, fault)
	}
}
