package management_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/optional"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// management.md §13.1: what enable, disable, archive and unarchive change.
func TestFlagActions(t *testing.T) {
	w := newWorld(t)
	id := w.flag(w.web, `{"key":"k","filters":`+everybody+`}`)
	for _, tt := range []struct {
		change string
		want   string // an error, or whether it is active and archived
	}{
		{`{"active":true}`, "true false"},
		{`{"active":false}`, "false false"},
		{`{"active":false}`, "false false"},
		{`{"active":true}`, "true false"},
		{`{"active":false,"archived":true}`, "false true"},
		{`{"active":true}`, "invalid invalid_input archived"},
		{`{"archived":false}`, "false false"},
		{`{"archived":false}`, "false false"},
		{`{"active":true}`, "true false"},
	} {
		v, err := w.changeFlag(id, tt.change)
		got := fault(err)
		if err == nil {
			got = fmt.Sprint(v.Active, v.Archived)
		}
		if got != tt.want {
			t.Errorf("%s: %s, want %s", tt.change, got, tt.want)
		}
	}
	if v := w.seeFlag(id); v.Version != 6 {
		t.Errorf("version %d, want 6: what changes nothing does not count", v.Version)
	}
}

// management.md §13.1: bulk_keys.
func TestRuling88FlagKeys(t *testing.T) {
	w := newWorld(t)
	w.flag(w.web, `{"key":"a","filters":`+everybody+`}`)
	w.flag(w.shop, `{"key":"foreign","filters":`+everybody+`}`)
	must(w.changeFlag(w.flag(w.web, `{"key":"gone","filters":`+everybody+`}`), `{"deleted":true}`))(t)
	for _, tt := range []struct{ body, want string }{
		{`{"ids":[1]}`, `{"keys":{"1":"a"}}`},
		{`{"ids":["1",3,2,99,-1]}`, `{"keys":{"1":"a"}}`},
		{`{"ids":[]}`, `{"keys":{}}`},
		{`{"ids":[1,"x",null,1.5]}`, `{"keys":{"1":"a"},"warning":"Ignored what is not an integer: \"x\", null, 1.5"}`},
		{`{"ids":["x",{}]}`, "invalid invalid_input ids"},
		{`{"ids":7}`, "invalid not_a_list ids"},
		{`{}`, `{"keys":{}}`},
		{`{"ids":null}`, `{"keys":{}}`},
		{`{"ids":[` + strings.Repeat("1,", 1000) + `1]}`, "invalid invalid_input ids"},
	} {
		v, err := w.FlagKeys(t.Context(), w.as(w.ada), ref(w.web), decode[management.FlagSelection](t, tt.body))
		got := fault(err)
		if err == nil {
			got = encode(t, v)
		}
		if got != tt.want {
			t.Errorf("FlagKeys(%.50s) = %s, want %s", tt.body, got, tt.want)
		}
	}
}

// management.md §13.1: bulk_delete. What cannot be deleted stays.
func TestDeleteFlags(t *testing.T) {
	w := newWorld(t)
	base := w.flag(w.web, `{"key":"base","filters":`+everybody+`}`)
	w.flag(w.web, `{"key":"user","filters":`+dependsOn(base)+`}`)
	w.flag(w.web, `{"key":"alone","filters":`+everybody+`}`)
	w.flag(w.shop, `{"key":"foreign","filters":`+everybody+`}`)
	for _, tt := range []struct{ body, want string }{
		{`{"ids":[1,3,3,4,99]}`, `{"deleted":[{"id":3,"key":"alone"}],"errors":[` +
			`{"id":1,"key":"base","reason":"The flag cannot be deleted: other active flags depend on it: user."},` +
			`{"id":4,"key":"","reason":"Not found."},{"id":99,"key":"","reason":"Not found."}]}`},
		{`{"ids":[2,1]}`, `{"deleted":[{"id":2,"key":"user"},{"id":1,"key":"base"}],"errors":[]}`},
		{`{"ids":[]}`, `{"deleted":[],"errors":[]}`},
		{`{"ids":[1,"x"]}`, "invalid invalid_input ids"},
		{`{"ids":{}}`, "invalid not_a_list ids"},
		{`{}`, "invalid required ids"},
	} {
		v, err := w.DeleteFlags(t.Context(), w.as(w.ada), "@current", decode[management.FlagSelection](t, tt.body))
		got := fault(err)
		if err == nil {
			got = encode(t, v)
		}
		if got != tt.want {
			t.Errorf("DeleteFlags(%s) = %s, want %s", tt.body, got, tt.want)
		}
	}
	var left []string
	for _, f := range w.state().Flags {
		if !f.Deleted {
			left = append(left, f.Key)
		}
	}
	if diff := cmp.Diff([]string{"foreign"}, left, same); diff != "" {
		t.Errorf("flags that are left (-want +got)\n%s", diff)
	}
}

// What is logged of a flag, field by field (management.md §13.7).
func TestFlagActivity(t *testing.T) {
	w := newWorld(t)
	id := w.flag(w.web, `{"key":"k","filters":`+everybody+`}`)
	change := func(field, before, after, action string) string {
		return `{"type":"FeatureFlag","action":"` + action + `","field":"` + field + `","before":` + before + `,"after":` + after + `}`
	}
	for _, tt := range []struct{ body, activity, want string }{
		{`{"name":"N"}`, "updated", change("name", `""`, `"N"`, "created")},
		{`{"name":"M","tags":["b","a"]}`, "updated", change("name", `"N"`, `"M"`, "changed") + "," + change("tags", `null`, `["a","b"]`, "created")},
		{`{"tags":[]}`, "updated", change("tags", `["a","b"]`, `[]`, "deleted")},
		{`{"evaluation_contexts":["x"]}`, "updated", change("evaluation_contexts", `null`, `["x"]`, "created")},
		{`{"key":"k2"}`, "updated", change("key", `"k"`, `"k2"`, "changed")},
		{`{"active":false}`, "updated", change("active", `true`, `false`, "changed")},
		{`{"archived":true}`, "updated", change("archived", `false`, `true`, "changed")},
		{`{"archived":false,"active":true}`, "updated", change("active", `false`, `true`, "changed") + "," + change("archived", `true`, `false`, "changed")},
		{`{"ensure_experience_continuity":true}`, "updated", change("ensure_experience_continuity", `false`, `true`, "changed")},
		{`{"ensure_experience_continuity":null,"bucketing_identifier":"device_id"}`, "updated", change("ensure_experience_continuity", `true`, `false`, "changed") + "," +
			change("bucketing_identifier", `"distinct_id"`, `"device_id"`, "changed")},
		{`{"evaluation_runtime":"client"}`, "updated", change("evaluation_runtime", `"all"`, `"client"`, "changed")},
		{`{"bucketing_hash":"xxhash64"}`, "updated", change("bucketing_hash", `""`, `"xxhash64"`, "created")},
		{`{"is_remote_configuration":true}`, "updated", change("filters", everybody, `{"groups":[{"properties":[],"rollout_percentage":100}]}`, "changed") + "," +
			change("is_remote_configuration", `false`, `true`, "changed")},
		{`{"filters":{"groups":[{"rollout_percentage":5}]}}`, "updated", change("filters", `{"groups":[{"properties":[],"rollout_percentage":100}]}`, `{"groups":[{"rollout_percentage":5}]}`, "changed")},
		{`{"deleted":true}`, "deleted", change("deleted", `false`, `true`, "changed")},
		{`{"deleted":false}`, "updated", change("deleted", `true`, `false`, "changed")},
	} {
		must(w.changeFlag(id, tt.body))(t)
		page := must(w.ListActivity(t.Context(), w.as(w.ada), ref(w.web), management.ActivityQuery{Scope: "FeatureFlag", ItemID: id, Page: 1, Limit: 1}))(t)
		v := page.Items[0]
		if v.Activity != tt.activity || v.Scope != "FeatureFlag" || v.ItemID != id || v.User.FirstName != "Ada" || v.Detail.Name != w.seeFlag(id).Key {
			t.Errorf("UpdateFlag(%s) is logged as %+v", tt.body, v)
		}
		if diff := cmp.Diff(decode[any](t, "["+tt.want+"]"), decode[any](t, encode(t, v.Detail.Changes)), same); diff != "" {
			t.Errorf("UpdateFlag(%s): changes (-want +got)\n%s", tt.body, diff)
		}
	}
}

// management.md §3.2 and §11.7: pages of the activity log.
func TestListActivity(t *testing.T) {
	w := newWorld(t, withData)
	begun := w.clock.Now()
	second := func(n int) string { return begun.Add(time.Duration(n) * time.Second).UTC().Format(time.RFC3339Nano) }
	zurich, err := time.LoadLocation("Europe/Zurich")
	w.ok(err)
	today := begun.In(zurich).Format(time.DateOnly)
	for i := range 3 {
		w.flag(w.web, fmt.Sprintf(`{"key":"k%d","filters":%s}`, i, everybody))
		w.clock.advance(1e9)
	}
	w.cohort(w.web, `{"name":"List","is_static":true}`)
	w.flag(w.app, `{"key":"elsewhere","filters":`+everybody+`}`)
	must(w.UpdateProject(t.Context(), w.as(w.ada), ref(w.web), management.ProjectPatch{Timezone: optional.Of("Europe/Zurich")}))(t)
	for _, tt := range []struct {
		q    management.ActivityQuery
		want string
	}{
		{management.ActivityQuery{Page: 1, Limit: 10}, "5: Project 1, Cohort 1, FeatureFlag 3, FeatureFlag 2, FeatureFlag 1"},
		{management.ActivityQuery{Page: 1, Limit: 1000}, "5: Project 1, Cohort 1, FeatureFlag 3, FeatureFlag 2, FeatureFlag 1"},
		{management.ActivityQuery{Scope: "FeatureFlag", Page: 1, Limit: 2}, "3: FeatureFlag 3, FeatureFlag 2"},
		{management.ActivityQuery{Scope: "FeatureFlag", Page: 2, Limit: 2}, "3: FeatureFlag 1"},
		{management.ActivityQuery{Scope: "FeatureFlag", Page: 3, Limit: 2}, "not found not_found"},
		{management.ActivityQuery{Scope: "FeatureFlag", ItemID: "2", Page: 1, Limit: 2}, "1: FeatureFlag 2"},
		{management.ActivityQuery{Scope: "Survey", Page: 1, Limit: 10}, "0: "},
		{management.ActivityQuery{Scope: "Survey", Page: 2, Limit: 10}, "not found not_found"},
		{management.ActivityQuery{Page: 1 << 60, Limit: 10}, "not found not_found"},
		{management.ActivityQuery{Page: 0, Limit: 10}, "invalid invalid_input page"},
		{management.ActivityQuery{Page: -1, Limit: 10}, "invalid invalid_input page"},
		{management.ActivityQuery{Page: 1, Limit: 0}, "invalid invalid_input limit"},

		// management.md §3.2: by time, name and text.
		{management.ActivityQuery{Name: "K1", Page: 1, Limit: 10}, "1: FeatureFlag 2"},
		{management.ActivityQuery{Name: "k", Page: 1, Limit: 10}, "3: FeatureFlag 3, FeatureFlag 2, FeatureFlag 1"},
		{management.ActivityQuery{Name: "k_", Page: 1, Limit: 10}, "0: "},
		{management.ActivityQuery{Name: "zurich", Page: 1, Limit: 10}, "0: "},
		{management.ActivityQuery{Name: "\x00", Page: 1, Limit: 10}, "0: "},
		{management.ActivityQuery{Search: "zurich", Page: 1, Limit: 10}, "1: Project 1"},
		{management.ActivityQuery{Search: "europe/", Page: 1, Limit: 10}, "1: Project 1"},
		{management.ActivityQuery{Search: `"`, Page: 1, Limit: 10}, "0: "},
		{management.ActivityQuery{Search: "before", Page: 1, Limit: 10}, "0: "}, // the name of a member
		{management.ActivityQuery{Search: "\x00", Page: 1, Limit: 10}, "0: "},
		{management.ActivityQuery{Scope: "FeatureFlag", ItemID: "2", Search: "none", Page: 1, Limit: 10}, "0: "},
		{management.ActivityQuery{Since: second(1), Until: second(2), Page: 1, Limit: 10}, "2: FeatureFlag 3, FeatureFlag 2"},
		{management.ActivityQuery{Until: second(0), Page: 1, Limit: 10}, "1: FeatureFlag 1"},
		{management.ActivityQuery{Since: second(9), Page: 1, Limit: 10}, "0: "},
		{management.ActivityQuery{Since: today, Until: today, Page: 1, Limit: 10}, "5: Project 1, Cohort 1, FeatureFlag 3, FeatureFlag 2, FeatureFlag 1"},
		{management.ActivityQuery{Since: second(2), Until: second(1), Page: 1, Limit: 10}, "invalid invalid_input"},
		{management.ActivityQuery{Since: "yesterday", Page: 1, Limit: 10}, "invalid invalid_input"},
		{management.ActivityQuery{Name: strings.Repeat("x", 201), Page: 1, Limit: 10}, "invalid max_length name"},
		{management.ActivityQuery{Search: strings.Repeat("x", 201), Page: 1, Limit: 10}, "invalid max_length search"},
	} {
		page, err := w.ListActivity(t.Context(), w.as(w.cyd), ref(w.web), tt.q)
		got := fault(err)
		if err == nil {
			var items []string
			for _, v := range page.Items {
				items = append(items, v.Scope+" "+v.ItemID)
			}
			got = fmt.Sprintf("%d: %s", page.Total, strings.Join(items, ", "))
		}
		got = strings.ReplaceAll(got, w.web.UUID.String(), "1")
		if got != tt.want {
			t.Errorf("ListActivity(%+v) = %s, want %s", tt.q, got, tt.want)
		}
	}
}

// An entry has the form of management.md §11.7, for every user.
func TestActivityForm(t *testing.T) {
	w := newWorld(t)
	id := w.flag(w.web, `{"key":"k","filters":`+everybody+`}`)
	must(w.UpdateFlag(t.Context(), w.as(w.cyd), ref(w.web), id, management.FlagPatch{Name: optional.Of("N")}))(t)
	a := must(w.store.Flags().Get(t.Context(), storage.FlagProject.Is(w.web.ID), storage.FlagID.Is(1)))(t)
	w.ok(w.store.AddActivity(t.Context(), &storage.Activity{
		ID: w.acme.ID, Project: &a.Project, System: true, Activity: "updated", Scope: "FeatureFlag", ItemID: "1", Created: w.clock.Now().Add(1e9),
		Detail: json.RawMessage(`{"name":"k","changes":[]}`),
	}))
	w.ok(w.store.Users().Delete(t.Context(), storage.UserID.Is(w.cyd.ID)))
	list := must(w.ListActivity(t.Context(), w.as(w.ada), ref(w.web), management.ActivityQuery{Page: 1, Limit: 10}))(t).Items
	const rest = `"scope":"FeatureFlag","item_id":"1","detail":{"changes":`
	for i, want := range []string{
		`"user":{"first_name":"System","email":null,"is_system":true},"activity":"updated",` + rest + `[],"trigger":null,"name":"k","short_id":null,"type":null},"created_at":"2026-03-04T05:06:08Z"}`,
		`"user":{"first_name":"","email":null},"activity":"updated",` + rest +
			`[{"type":"FeatureFlag","action":"created","field":"name","before":"","after":"N"}],"trigger":null,"name":"k","short_id":null,"type":null},"created_at":"2026-03-04T05:06:07Z"}`,
		`"user":{"first_name":"Ada","email":"ada@example.com"},"activity":"created",` + rest + `[],"trigger":null,"name":"k","short_id":null,"type":null},"created_at":"2026-03-04T05:06:07Z"}`,
	} {
		if got := strings.TrimPrefix(encode(t, list[i]), `{"id":"`+list[i].ID.String()+`",`); got != want {
			t.Errorf("entry %d\n%s, want\n%s", i, got, want)
		}
	}
}

// TestUpdateFlags: several flags change together, or none does.
func TestUpdateFlags(t *testing.T) {
	w := newWorld(t)
	var ids []int64
	for _, key := range []string{"a", "b", "c"} {
		id, err := strconv.ParseInt(w.flag(w.web, `{"key":"`+key+`","filters":`+everybody+`}`), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	update := func(name string, versions map[int64]int) ([]*management.FlagView, error) {
		patches := make(map[int64]management.FlagPatch)
		for id, version := range versions {
			patches[id] = management.FlagPatch{Name: optional.Of(name), IfVersion: &version}
		}
		now, err := w.UpdateFlags(t.Context(), w.as(w.ada), ref(w.web), patches)
		return []*management.FlagView{now[ids[0]], now[ids[1]], now[ids[2]]}, err
	}
	names := func() (out []string) {
		for _, id := range ids {
			out = append(out, must(w.Flag(t.Context(), w.as(w.ada), ref(w.web), strconv.FormatInt(id, 10)))(t).Name)
		}
		return out
	}
	now := must(update("new", map[int64]int{ids[2]: 1, ids[0]: 1}))(t)
	if now[0].Key != "a" || now[1] != nil || now[2].Key != "c" || now[0].Version != 2 {
		t.Errorf("UpdateFlags = %v", now)
	}
	_, err := update("newer", map[int64]int{ids[1]: 1, ids[2]: 1})
	checkFault(t, "a version that is gone", err, "precondition precondition_failed")
	if !strings.HasPrefix(err.Error(), "management: c: ") {
		t.Errorf("the error is %v, want the key of the flag before it", err)
	}
	if got := names(); !slices.Equal(got, []string{"new", "", "new"}) {
		t.Errorf("names %q after a refusal", got)
	}
	first := management.RevertPatch{Version: optional.Of(1), IfVersion: new(2)}
	must(w.RevertFlags(t.Context(), w.as(w.ada), ref(w.web), map[int64]management.RevertPatch{ids[0]: first, ids[2]: first}))(t)
	if got := names(); !slices.Equal(got, []string{"", "", ""}) {
		t.Errorf("names %q after they came back", got)
	}
	many := make(map[int64]int)
	for id := range int64(1001) {
		many[id] = 1
	}
	for _, versions := range []map[int64]int{nil, many} {
		_, err := update("", versions)
		checkFault(t, fmt.Sprint(len(versions), " updates"), err, "invalid invalid_input ids")
	}
}
