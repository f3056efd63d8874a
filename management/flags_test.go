package management_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/optional"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// owner returns who owns a project.
func (w *world) owner(p *storage.Project) *management.Principal {
	w.t.Helper()
	if p.ID == w.shop.ID {
		return w.as(w.dov)
	}
	return w.as(w.ada)
}

// flag makes a flag in a project and returns its ID.
func (w *world) flag(p *storage.Project, body string) string {
	w.t.Helper()
	v := must(w.CreateFlag(w.t.Context(), w.owner(p), ref(p), decode[management.FlagPatch](w.t, body)))(w.t)
	return strconv.FormatInt(v.ID, 10)
}

// changeFlag changes a flag of Web, as a request of Ada does.
func (w *world) changeFlag(id, body string) (*management.FlagView, error) {
	w.t.Helper()
	patch, err := read[management.FlagPatch](w.t, body)
	if err != nil {
		return nil, err
	}
	return w.UpdateFlag(w.t.Context(), w.as(w.ada), ref(w.web), id, patch)
}

// seeFlag returns a flag of Web as it is shown to Ada without a key.
func (w *world) seeFlag(id string) *management.FlagView {
	w.t.Helper()
	return must(w.Flag(w.t.Context(), w.as(w.ada), ref(w.web), id))(w.t)
}

// capture stores an event of a project.
func (w *world) capture(p *storage.Project, name, distinctID, properties string) {
	w.t.Helper()
	w.clock.advance(time.Millisecond)
	w.ok(w.store.Write(w.t.Context(), []capture.Event{{
		Project: p.ID, UUID: uuid.Must(uuid.NewV7()), Name: name, DistinctID: distinctID,
		Time: w.clock.Now(), Received: w.clock.Now(), Properties: json.RawMessage(properties),
	}}))
}

// when returns filters for persons who have a property.
func when(key, value string) string {
	return fmt.Sprintf(`{"groups":[{"properties":[{"key":%q,"value":%q,"type":"person"}]}]}`, key, value)
}

// dependsOn returns filters for persons who have another flag.
func dependsOn(id string) string {
	return `{"groups":[{"properties":[{"key":"` + id + `","type":"flag","operator":"flag_evaluates_to","value":true}]}]}`
}

// management.md §13.4: the form of a flag, with what each field is when nothing is
// said about it.
func TestFlagForm(t *testing.T) {
	w := newWorld(t)
	v := must(w.CreateFlag(t.Context(), w.as(w.ada), "@current", decode[management.FlagPatch](t, `{"key":"new-checkout","filters":{"groups":[{}]}}`)))(t)
	ada := `{"id":1,"uuid":"` + w.ada.UUID.String() + `","distinct_id":"d-ada","first_name":"Ada","last_name":"","email":"ada@example.com",` +
		`"is_email_verified":null,"hedgehog_config":null,"role_at_organization":null}`
	want := `{"id":1,"name":"","key":"new-checkout","filters":{"groups":[{}]},"deleted":false,"active":true,"archived":false,` +
		`"created_by":` + ada + `,"created_at":"2026-03-04T05:06:07Z","updated_at":"2026-03-04T05:06:07Z","version":1,"last_modified_by":` + ada + `,` +
		`"ensure_experience_continuity":false,"experiment_set":[],"has_experiment":false,"surveys":[],"features":[],"can_edit":true,"tags":[],"evaluation_contexts":[],"evaluation_contexts_match_mode":"any",` +
		`"usage_dashboard":null,"analytics_dashboards":[],"has_enriched_analytics":false,"user_access_level":"manager","is_remote_configuration":false,` +
		`"has_encrypted_payloads":false,"status":"ACTIVE","stale_reason":null,"stale_since":null,"evaluation_runtime":"all","bucketing_identifier":"distinct_id","bucketing_hash":"",` +
		`"last_called_at":null,"is_used_in_replay_settings":false}`
	if diff := cmp.Diff(want, encode(t, v), same); diff != "" {
		t.Errorf("a new flag (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff(v, w.seeFlag("1"), same); diff != "" {
		t.Errorf("answer (-) and what is stored (+)\n%s", diff)
	}
}

// management.md §13.3: what each field takes, and how it is shown then.
func TestFlagAccepts(t *testing.T) {
	for _, tt := range []struct{ name, body, field, want string }{
		{"key", `{"key":"a-B_9"}`, "key", `"a-B_9"`},
		{"key, a number", `{"key":42}`, "key", `"42"`},
		{"key, trimmed", `{"key":" a "}`, "key", `"a"`},
		{"longest key", `{"key":"` + strings.Repeat("k", 400) + `"}`, "key", `"` + strings.Repeat("k", 400) + `"`},
		{"name", `{"name":"New checkout"}`, "name", `"New checkout"`},
		{"no name", `{"name":""}`, "name", `""`},
		{"disabled", `{"active":false}`, "active", `false`},
		{"disabled, text", `{"active":"off"}`, "active", `false`},
		{"archived", `{"active":false,"archived":true}`, "archived", `true`},
		{"continuity", `{"ensure_experience_continuity":true}`, "ensure_experience_continuity", `true`},
		{"continuity, null", `{"ensure_experience_continuity":null}`, "ensure_experience_continuity", `false`},
		{"runtime", `{"evaluation_runtime":"server"}`, "evaluation_runtime", `"server"`},
		{"runtime, null", `{"evaluation_runtime":null}`, "evaluation_runtime", `"all"`},
		{"bucketing", `{"bucketing_identifier":"device_id"}`, "bucketing_identifier", `"device_id"`},
		{"bucketing, null", `{"bucketing_identifier":null}`, "bucketing_identifier", `"distinct_id"`},
		{"bucketing hash", `{"bucketing_hash":"xxhash64"}`, "bucketing_hash", `"xxhash64"`},
		{"bucketing hash, null", `{"bucketing_hash":null}`, "bucketing_hash", `""`},
		{"contexts, normalised", `{"evaluation_contexts":[" Main-App","docs","MAIN-app"]}`, "evaluation_contexts", `["docs","main-app"]`},
		{"contexts by their older name", `{"evaluation_tags":["a"]}`, "evaluation_contexts", `["a"]`},
		{"contexts by both names", `{"evaluation_contexts":["b"],"evaluation_tags":["a"]}`, "evaluation_contexts", `["b"]`},
		{"contexts, null", `{"evaluation_contexts":null}`, "evaluation_contexts", `[]`},
		{"longest context", `{"evaluation_contexts":["` + strings.Repeat("c", 255) + `"]}`, "evaluation_contexts", `["` + strings.Repeat("c", 255) + `"]`},
		{"match mode of contexts", `{"evaluation_contexts_match_mode":"all"}`, "evaluation_contexts_match_mode", `"all"`},
		{"match mode of contexts, null", `{"evaluation_contexts_match_mode":null}`, "evaluation_contexts_match_mode", `"any"`},
		{"tags", `{"tags":["b"," B","b"," a "]}`, "tags", `["B","a","b"]`},
		{"remote configuration", `{"is_remote_configuration":true,"filters":{"groups":[{"rollout_percentage":0}]}}`, "filters", `{"groups":[{"rollout_percentage":100}]}`},
		{"remote configuration without groups", `{"is_remote_configuration":true,"filters":{}}`, "filters", `{"groups":[{"properties":[],"rollout_percentage":100}]}`},
		{"remote configuration, null", `{"is_remote_configuration":null}`, "is_remote_configuration", `false`},
		{"what is deprecated or somebody else's", `{"rollout_percentage":7,"analytics_dashboards":[1],"_create_in_folder":"x","id":99,"version":7,"status":"STALE"}`, "version", `1`},
		{"creation context", `{"creation_context":"surveys"}`, "key", `"k"`},
		{
			"filters as they were sent", `{"filters":{"groups":[{"variant":null,"properties":[{"value":5,"type":"person","operator":"min","key":"age"}]}]}}`, "filters",
			`{"groups":[{"properties":[{"key":"age","value":5,"operator":"gte","type":"person"}],"variant":null}]}`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			body := decode[map[string]json.RawMessage](t, `{"key":"k","filters":`+everybody+`}`)
			maps.Copy(body, decode[map[string]json.RawMessage](t, tt.body))
			id := w.flag(w.web, encode(t, body))
			v := w.seeFlag(id)
			if got := decode[map[string]json.RawMessage](t, encode(t, v))[tt.field]; string(got) != tt.want {
				t.Errorf("CreateFlag(%.200s) shows %s %s, want %s", tt.body, tt.field, got, tt.want)
			}
		})
	}
}

// management.md §13.3 and §13.5: what is refused, of new flags and of changes.
func TestFlagRefuses(t *testing.T) {
	for _, tt := range []struct{ name, body, want string }{
		{"key, null", `{"key":null}`, "invalid null key"},
		{"key, a list", `{"key":["a"]}`, "invalid invalid_input key"},
		{"key, blank", `{"key":" "}`, "invalid blank key"},
		{"key, a blank within", `{"key":"a b"}`, "invalid invalid_key key"},
		{"key, a dot", `{"key":"a.b"}`, "invalid invalid_key key"},
		{"key, a letter of another script", `{"key":"ä"}`, "invalid invalid_key key"},
		{"key, a line break", `{"key":"a\nb"}`, "invalid invalid_control_char key"},
		{"key, too long", `{"key":"` + strings.Repeat("k", 401) + `"}`, "invalid max_length key"},
		{"key, taken", `{"key":"taken"}`, "invalid unique key"},
		{"name, null", `{"name":null}`, "invalid null name"},
		{"name, an object", `{"name":{}}`, "invalid invalid_input name"},
		{"name, too long", `{"name":"` + chars(10_001) + `"}`, "invalid max_length name"},
		{"name, NUL", `{"name":"a\u0000"}`, "invalid null_characters_not_allowed name"},
		{"filters, null", `{"filters":null}`, "invalid null filters"},
		{"filters, a list", `{"filters":[]}`, "invalid invalid_input filters"},
		{"active, null", `{"active":null}`, "invalid null active"},
		{"active, no boolean", `{"active":"maybe"}`, "invalid invalid_input active"},
		{"deleted, null", `{"deleted":null}`, "invalid null deleted"},
		{"deleted, no boolean", `{"deleted":2}`, "invalid invalid_input deleted"},
		{"archived, null", `{"archived":null}`, "invalid null archived"},
		{"archived, but active", `{"archived":true,"active":true}`, "invalid invalid_input archived"},
		{"continuity, no boolean", `{"ensure_experience_continuity":"x"}`, "invalid invalid_input ensure_experience_continuity"},
		{"continuity by device", `{"ensure_experience_continuity":true,"bucketing_identifier":"device_id"}`, "invalid invalid_input ensure_experience_continuity"},
		{"runtime", `{"evaluation_runtime":"edge"}`, "invalid invalid_choice evaluation_runtime"},
		{"runtime, a number", `{"evaluation_runtime":1}`, "invalid invalid_choice evaluation_runtime"},
		{"bucketing", `{"bucketing_identifier":"email"}`, "invalid invalid_choice bucketing_identifier"},
		{"bucketing hash", `{"bucketing_hash":"md5"}`, "invalid invalid_choice bucketing_hash"},
		{"contexts, text", `{"evaluation_contexts":"a"}`, "invalid not_a_list evaluation_contexts"},
		{"contexts, numbers", `{"evaluation_contexts":[1]}`, "invalid invalid_input evaluation_contexts"},
		{"contexts, blank", `{"evaluation_contexts":["a"," "]}`, "invalid blank evaluation_contexts"},
		{"contexts, null within", `{"evaluation_contexts":[null]}`, "invalid blank evaluation_contexts"},
		{"contexts, too long", `{"evaluation_contexts":["` + strings.Repeat("c", 256) + `"]}`, "invalid max_length evaluation_contexts"},
		{"contexts, too many", `{"evaluation_contexts":` + numbered(51) + `}`, "invalid max_length evaluation_contexts"},
		{"contexts by their older name", `{"evaluation_tags":{}}`, "invalid not_a_list evaluation_tags"},
		{"tags, an object", `{"tags":{}}`, "invalid not_a_list tags"},
		{"tags, too many", `{"tags":` + numbered(101) + `}`, "invalid max_length tags"},
		{"remote configuration, no boolean", `{"is_remote_configuration":[]}`, "invalid invalid_input is_remote_configuration"},
		{"encrypted, no boolean", `{"has_encrypted_payloads":"x"}`, "invalid invalid_input has_encrypted_payloads"},
		{"encrypted without remote configuration", `{"has_encrypted_payloads":true}`, "invalid invalid_input has_encrypted_payloads"},
		{"creation context", `{"creation_context":"x"}`, "invalid invalid_choice creation_context"},
		{"version, text", `{"version":"x"}`, "invalid invalid_input version"},
		{"the first field at fault", `{"tags":{},"name":null}`, "invalid null name"},
		{"a field before the whole", `{"tags":{},"archived":true}`, "invalid not_a_list tags"},

		// What belongs to definitions is judged there, and has its tests there.
		{"rollout", `{"filters":{"groups":[{"rollout_percentage":101}]}}`, "invalid invalid_input filters"},
		{"variants", `{"filters":{"multivariate":{"variants":[{"key":"a","rollout_percentage":50}]}}}`, "invalid invalid_input filters"},
		{"payload of no variant", `{"filters":{"payloads":{"a":"1"}}}`, "invalid invalid_input filters"},
		{"a cohort that does not exist", `{"filters":{"groups":[{"properties":[{"key":"id","type":"cohort","value":99}]}]}}`, "invalid cohort_does_not_exist filters"},
		{"a cohort of another project", `{"filters":{"groups":[{"properties":[{"key":"id","type":"cohort","value":2}]}]}}`, "invalid cohort_does_not_exist filters"},
		{"a cohort that is deleted", `{"filters":{"groups":[{"properties":[{"key":"id","type":"cohort","value":3}]}]}}`, "invalid cohort_does_not_exist filters"},
		{"a behavioral cohort", `{"filters":{"groups":[{"properties":[{"key":"id","type":"cohort","value":1}]}]}}`, "invalid behavioral_cohort_found filters"},
		{"version of the language", `{"filters":{"version":1}}`, "invalid reserved_config_version filters"},
		{"a flag that does not exist", `{"filters":` + dependsOn("99") + `}`, "invalid invalid_input filters"},
		{"a flag of another project", `{"filters":` + dependsOn("2") + `}`, "invalid invalid_input filters"},
		{"a flag that is deleted", `{"filters":` + dependsOn("3") + `}`, "invalid invalid_input filters"},
		{"a group type that does not exist", `{"filters":{"groups":[{}],"aggregation_group_type_index":0}}`, "invalid invalid_input filters"},
		{"the mark of an encrypted payload", `{"filters":{"payloads":{"true":"\"********* (encrypted)\""}}}`, "invalid invalid_input filters"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, withData)
			w.flag(w.web, `{"key":"taken","filters":`+everybody+`}`)                                           // 1
			w.flag(w.shop, `{"key":"foreign","filters":`+everybody+`}`)                                        // 2
			must(w.changeFlag(w.flag(w.web, `{"key":"gone","filters":`+everybody+`}`), `{"deleted":true}`))(t) // 3
			w.cohort(w.web, `{"name":"Behavior","filters":`+behavior+`}`)                                      // 1
			w.cohort(w.shop, `{"name":"Foreign","filters":`+pro+`}`)                                           // 2
			must(w.changeCohort(w.cohort(w.web, `{"name":"Gone","filters":`+pro+`}`), `{"deleted":true}`))(t)  // 3
			id := w.flag(w.web, `{"key":"k","filters":`+everybody+`}`)                                         // 4
			before := w.state()
			_, err := w.changeFlag(id, tt.body)
			checkFault(t, "UpdateFlag("+tt.body+")", err, tt.want)
			body := decode[map[string]json.RawMessage](t, `{"key":"other","filters":`+everybody+`}`)
			maps.Copy(body, decode[map[string]json.RawMessage](t, tt.body))
			patch, err := read[management.FlagPatch](t, encode(t, body))
			if err == nil {
				_, err = w.CreateFlag(t.Context(), w.as(w.ada), ref(w.web), patch)
			}
			checkFault(t, "CreateFlag("+tt.body+")", err, tt.want)
			w.checkUnchanged(tt.name, before)
		})
	}
}

// numbered returns a JSON list of n names.
func numbered(n int) string {
	var names []string
	for i := range n {
		names = append(names, `"n`+strconv.Itoa(i)+`"`)
	}
	return "[" + strings.Join(names, ",") + "]"
}

// What only a new flag is refused for.
func TestNewFlagRefuses(t *testing.T) {
	w := newWorld(t)
	for _, tt := range []struct{ body, want string }{
		{`{}`, "invalid required key"},
		{`{"filters":` + everybody + `}`, "invalid required key"},
		{`{"key":"k","filters":` + everybody + `,"archived":true}`, "invalid invalid_input archived"},
		{`{"key":"k","filters":` + everybody + `,"deleted":true}`, "invalid invalid_input deleted"},
	} {
		_, err := w.CreateFlag(t.Context(), w.as(w.ada), ref(w.web), decode[management.FlagPatch](t, tt.body))
		checkFault(t, "CreateFlag("+tt.body+")", err, tt.want)
	}
	if n := len(w.state().Flags); n > 0 {
		t.Errorf("%d flags are stored", n)
	}
}

// management.md §13.3: what is not sent stays, of filters member by member, and a
// change that changes nothing leaves no trace (§11.7).
func TestFlagPatch(t *testing.T) {
	w := newWorld(t)
	id := w.flag(w.web, `{"key":"k","name":"N","tags":["t"],"evaluation_contexts":["c"],"ensure_experience_continuity":true,"evaluation_runtime":"client",`+
		`"bucketing_hash":"sha1","filters":{"groups":[{"rollout_percentage":10}],"multivariate":{"variants":[{"key":"a","rollout_percentage":100}]},`+
		`"payloads":{"a":"1"},"early_exit":true}}`)
	created := w.seeFlag(id)
	w.clock.advance(time.Minute)
	before := w.state()
	for _, body := range []string{
		`{}`, `{"filters":{}}`, `{"name":" N "}`, `{"tags":["t","t"]}`, `{"evaluation_contexts":["C "]}`, `{"active":true,"deleted":false,"archived":false}`,
		`{"key":"k"}`, encode(t, created),
	} {
		must(w.changeFlag(id, body))(t)
		w.checkUnchanged("UpdateFlag("+body+")", before)
	}

	for i, tt := range []struct{ body, field, want string }{
		{`{"filters":{"groups":[]}}`, "filters", `{"groups":[],"multivariate":{"variants":[{"key":"a","rollout_percentage":100}]},"payloads":{"a":"1"},"early_exit":true}`},
		{`{"filters":{"payloads":null}}`, "filters", `{"groups":[],"multivariate":{"variants":[{"key":"a","rollout_percentage":100}]},"early_exit":true,"payloads":null}`},
		{`{"filters":{"multivariate":null,"early_exit":false}}`, "filters", `{"groups":[],"early_exit":false,"payloads":null,"multivariate":null}`},
		{`{"filters":{"feature_enrollment":true,"groups":[{}]}}`, "filters", `{"groups":[{}],"early_exit":false,"feature_enrollment":true,"payloads":null,"multivariate":null}`},
		{`{"name":""}`, "name", `""`},
		{`{"tags":[]}`, "tags", `[]`},
		{`{"evaluation_contexts":null}`, "evaluation_contexts", `[]`},
		{`{"ensure_experience_continuity":null}`, "ensure_experience_continuity", `false`},
		{`{"bucketing_identifier":"device_id"}`, "bucketing_identifier", `"device_id"`},
		{`{"evaluation_runtime":null}`, "evaluation_runtime", `"all"`},
		{`{"key":"other"}`, "key", `"other"`},
	} {
		w.clock.advance(time.Minute)
		v := must(w.changeFlag(id, tt.body))(t)
		if got := decode[map[string]json.RawMessage](t, encode(t, v))[tt.field]; string(got) != tt.want {
			t.Errorf("UpdateFlag(%s) shows %s %s, want %s", tt.body, tt.field, got, tt.want)
		}
		if v.Version != i+2 || !v.UpdatedAt.Equal(w.clock.Now()) || !v.CreatedAt.Equal(begin) {
			t.Errorf("UpdateFlag(%s): version %d, created %v, updated %v", tt.body, v.Version, v.CreatedAt, v.UpdatedAt)
		}
		if diff := cmp.Diff(v, w.seeFlag(id), same); diff != "" {
			t.Errorf("answer (-) and what is stored (+)\n%s", diff)
		}
	}
}

// The user who has changed a flag is shown, and nobody in place of a deleted user.
func TestFlagAuthors(t *testing.T) {
	w := newWorld(t)
	id := w.flag(w.web, `{"key":"k","filters":`+everybody+`}`)
	v := must(w.UpdateFlag(t.Context(), w.as(w.cyd), ref(w.web), id, management.FlagPatch{Name: optional.Of("N")}))(t)
	if v.CreatedBy.Email != w.ada.Email || v.LastModifiedBy.Email != w.cyd.Email {
		t.Errorf("created by %s, modified by %s", v.CreatedBy.Email, v.LastModifiedBy.Email)
	}
	w.ok(w.DeleteUser(t.Context(), w.as(w.cyd), "@me"))
	if v := w.seeFlag(id); v.CreatedBy == nil || v.LastModifiedBy != nil {
		t.Errorf("created by %v, modified by %v", v.CreatedBy, v.LastModifiedBy)
	}
}

// management.md §13.1 and §13.3: a flag that is deleted can be seen and restored,
// and its key is free until then.
func TestDeletedFlag(t *testing.T) {
	w := newWorld(t)
	id := w.flag(w.web, `{"key":"k","filters":`+everybody+`}`)
	v := must(w.changeFlag(id, `{"deleted":true}`))(t)
	if !v.Deleted || v.Status != "DELETED" || v.Version != 2 || !w.seeFlag(id).Deleted {
		t.Errorf("deleted: %+v", v)
	}
	if page := must(w.ListFlags(t.Context(), w.as(w.ada), ref(w.web), management.FlagQuery{}, 10, 0))(t); page.Total != 0 {
		t.Errorf("the list has %d flags, want none", page.Total)
	}
	must(w.changeFlag(id, `{"deleted":true}`))(t)
	other := w.flag(w.web, `{"key":"k","filters":`+everybody+`}`)
	if other == id {
		t.Fatal("a new flag has the ID of a deleted one")
	}
	_, err := w.changeFlag(id, `{"deleted":false}`)
	checkFault(t, "restore with a key that is taken", err, "invalid unique key")
	if v := must(w.changeFlag(id, `{"deleted":false,"key":"k2"}`))(t); v.Deleted || v.Key != "k2" || v.Version != 3 {
		t.Errorf("restored: %+v", v)
	}
	_, err = w.changeFlag(id, `{"deleted":true,"filters":{"groups":[{"rollout_percentage":-1}]}}`)
	checkFault(t, "delete with wrong filters", err, "invalid invalid_input filters")
}

// management.md §13.3: flags that others depend on.
func TestFlagDependencies(t *testing.T) {
	w := newWorld(t)
	base := w.flag(w.web, `{"key":"base","filters":`+everybody+`}`)
	user := w.flag(w.web, `{"key":"user","filters":`+dependsOn("base")+`}`)
	if got, want := shown(w.seeFlag(user).Filters), dependsOn(base); got != want {
		// The order of members is the order of the normal form.
		if diff := cmp.Diff(decode[any](t, want), decode[any](t, got), same); diff != "" {
			t.Errorf("a dependency by key is stored (-want +got)\n%s", diff)
		}
	}
	refused := func(id, body, want, names string) {
		t.Helper()
		before := w.state()
		_, err := w.changeFlag(id, body)
		if checkFault(t, "UpdateFlag("+body+")", err, want); err != nil && !strings.Contains(err.Error(), names) {
			t.Errorf("UpdateFlag(%s): %v, want it to name %q", body, err, names)
		}
		w.checkUnchanged(body, before)
	}
	accepted := func(id, body string) {
		t.Helper()
		if _, err := w.changeFlag(id, body); err != nil {
			t.Errorf("UpdateFlag(%s) = %v", body, err)
		}
	}
	refused(base, `{"active":false}`, "invalid invalid_input", "user")
	refused(base, `{"active":false,"archived":true}`, "invalid invalid_input", "user")
	refused(base, `{"deleted":true}`, "invalid invalid_input", "user")
	refused(base, `{"deleted":true,"key":"renamed"}`, "invalid invalid_input", "user")
	refused(base, `{"filters":`+dependsOn(user)+`}`, "invalid invalid_input filters", "base → user → base")
	refused(base, `{"filters":`+dependsOn(base)+`}`, "invalid invalid_input filters", "another flag")
	accepted(base, `{"key":"renamed"}`)

	// Disabled flags need nothing.
	accepted(user, `{"active":false}`)
	accepted(base, `{"active":false}`)
	refused(user, `{"active":true}`, "invalid invalid_input", "renamed")
	refused(user, `{"active":true,"filters":{}}`, "invalid invalid_input filters", "renamed")
	accepted(user, `{"active":true,"filters":`+everybody+`}`)
	accepted(user, `{"active":false}`)
	accepted(base, `{"active":true}`)
	accepted(user, `{"active":true,"filters":`+dependsOn(base)+`}`)

	// What a flag needs can go while it is disabled or deleted.
	accepted(user, `{"active":false}`)
	accepted(base, `{"deleted":true}`)
	refused(user, `{"active":true}`, "invalid invalid_input filters", "no")
	accepted(user, `{"deleted":true}`)
	accepted(user, `{"deleted":false}`)
	refused(user, `{"active":true,"name":"x"}`, "invalid invalid_input filters", "no")
	accepted(base, `{"deleted":false}`)
	accepted(user, `{"active":true}`)
	accepted(user, `{"deleted":true}`)
	accepted(base, `{"deleted":true}`)
	refused(user, `{"deleted":false}`, "invalid invalid_input filters", "no")
	accepted(user, `{"deleted":false,"active":false}`)
}

// A cohort can be deleted while the flags that use it are disabled.
func TestFlagWithDeletedCohort(t *testing.T) {
	w := newWorld(t)
	cohort := w.cohort(w.web, `{"name":"Pro","filters":`+pro+`}`)
	id := w.flag(w.web, `{"key":"k","active":false,"filters":`+inCohort(cohort)+`}`)
	must(w.changeCohort(cohort, `{"deleted":true}`))(t)
	_, err := w.changeFlag(id, `{"active":true}`)
	checkFault(t, "enable", err, "invalid cohort_does_not_exist filters")
	must(w.changeCohort(cohort, `{"deleted":false}`))(t)
	must(w.changeFlag(id, `{"active":true}`))(t)
}

// management.md §13.3: deletion is refused while an early access feature uses the flag.
func TestDeletedFlagOfOthers(t *testing.T) {
	w := newWorld(t)
	id := w.flag(w.web, `{"key":"k","filters":`+everybody+`}`)
	feature := w.feature(w.web, `{"name":"New","stage":"draft","feature_flag_id":`+id+`}`)
	_, err := w.changeFlag(id, `{"deleted":true}`)
	if checkFault(t, "delete", err, "invalid invalid_input"); err != nil && !strings.Contains(err.Error(), `"New"`) {
		t.Errorf("delete: %v, want it to name the feature", err)
	}
	w.ok(w.DeleteEarlyAccessFeature(t.Context(), w.as(w.ada), ref(w.web), feature))
	must(w.changeFlag(id, `{"deleted":true}`))(t)
}

// Flags of surveys are changed with their surveys only, and are in no list.
func TestSurveyFlags(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	f := &storage.Flag{
		Project: w.web.ID, Kind: storage.FlagSurveyInternal, Key: "survey-targeting-x-custom", Active: true, Version: 1, Filters: filtersOf(everybody),
		Runtime: "all", Bucketing: "distinct_id", Created: begin, Updated: begin,
	}
	w.ok(w.store.Flags().Create(ctx, f))
	_, err := w.changeFlag("1", `{"active":false}`)
	checkFault(t, "UpdateFlag", err, "invalid invalid_input")
	deleted := must(w.DeleteFlags(ctx, w.as(w.ada), ref(w.web), selection("1")))(t)
	if len(deleted.Deleted) > 0 || len(deleted.Errors) != 1 || deleted.Errors[0].Key != f.Key {
		t.Errorf("DeleteFlags = %+v", deleted)
	}
	for _, q := range []management.FlagQuery{{}, {Order: "key"}, {Key: f.Key}, {Search: "survey"}} {
		if page := must(w.ListFlags(ctx, w.as(w.ada), ref(w.web), q, 10, 0))(t); page.Total != 0 {
			t.Errorf("ListFlags(%+v) has %d flags", q, page.Total)
		}
	}
	w.feature(w.web, `{"name":"New","stage":"draft"}`)
	_, err = w.CreateEarlyAccessFeature(ctx, w.as(w.ada), ref(w.web), decode[management.EarlyAccessPatch](t, `{"name":"Other","stage":"draft","feature_flag_id":1}`))
	checkFault(t, "CreateEarlyAccessFeature", err, "invalid invalid_input")
	reasons := must(w.EvaluationReasons(ctx, w.as(w.ada), ref(w.web), "u", ""))(t)
	if _, ok := reasons[f.Key]; ok || len(reasons) != 1 {
		t.Errorf("EvaluationReasons = %v", reasons)
	}
}

// New flags have the bucketing hash of their project (evaluation.md §2.1).
func TestBucketingHashOfProject(t *testing.T) {
	w := newWorld(t)
	w.web.BucketingHash = "xxhash64"
	w.ok(w.store.Projects().Update(t.Context(), w.web))
	if v := w.seeFlag(w.flag(w.web, `{"key":"a","filters":`+everybody+`}`)); v.BucketingHash != "xxhash64" {
		t.Errorf("bucketing_hash %q, want that of the project", v.BucketingHash)
	}
	if v := w.seeFlag(w.flag(w.web, `{"key":"b","bucketing_hash":"sha1","filters":`+everybody+`}`)); v.BucketingHash != "sha1" {
		t.Errorf("bucketing_hash %q, want sha1", v.BucketingHash)
	}
}

// Changes at the same time all count, one after the other, and of several new flags
// with one key there is one (management.md §13.6).
func TestConcurrentFlagChanges(t *testing.T) {
	w := newWorld(t)
	const n = 20
	id := w.flag(w.web, `{"key":"k","filters":`+everybody+`}`)
	before := len(w.activities())
	created := make(chan error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			_, err := w.UpdateFlag(t.Context(), w.as(w.ada), ref(w.web), id, management.FlagPatch{Name: optional.Of(strconv.Itoa(i))})
			if err != nil {
				t.Errorf("UpdateFlag = %v", err)
			}
			_, err = w.CreateFlag(t.Context(), w.as(w.ada), ref(w.web), management.FlagPatch{Key: optional.Of("new"), Filters: optional.Of(filtersOf(everybody))})
			created <- err
		})
	}
	wg.Wait()
	close(created)
	won := 0
	for err := range created {
		if err == nil {
			won++
		} else {
			checkFault(t, "CreateFlag", err, "invalid unique key")
		}
	}
	if v := w.seeFlag(id); v.Version != n+1 || won != 1 || len(w.activities()) != before+n+1 {
		t.Errorf("version %d after %d changes, %d flags made, %d activities", v.Version, n, won, len(w.activities())-before)
	}
}

// TestFlagDependents: what asks for a flag is found, by its ID and by its key, also while it is off.
func TestFlagDependents(t *testing.T) {
	w := newWorld(t)
	base := w.flag(w.web, `{"key":"base","filters":`+everybody+`}`)
	w.flag(w.web, `{"key":"on","filters":`+dependsOn("base")+`}`)
	w.flag(w.web, `{"key":"off","active":false,"filters":`+dependsOn(base)+`}`)
	w.flag(w.web, `{"key":"indirect","filters":`+dependsOn("on")+`}`)
	var keys []string
	for _, f := range must(w.FlagDependents(t.Context(), w.as(w.ada), ref(w.web), base))(t) {
		keys = append(keys, f.Key)
	}
	if got := strings.Join(keys, " "); got != "on off" {
		t.Errorf("dependents %q, want on off", got)
	}
	_, err := w.FlagDependents(t.Context(), w.as(w.ada), ref(w.web), "nothing")
	checkFault(t, "FlagDependents", err, "not found not_found")
}
