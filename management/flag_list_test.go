package management_test

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/internal/members"
	"github.com/flagstaff-go/flagstaff/management"
)

// keysOf returns the keys of flags, as "a b c".
func keysOf(list []*management.FlagView) string {
	var keys []string
	for _, v := range list {
		keys = append(keys, v.Key)
	}
	return strings.Join(keys, " ")
}

// listWorld has flags of each kind, made one minute after the other:
//
//	plain      by Ada, active, tags a and b
//	off        by Cyd, disabled, tag b, context docs
//	old        by Ada, archived
//	check-out  by Ada, with variants, for servers
//	conf       by Ada, remote configuration
//	trial_run  by Ada, for an experiment, with rollout to half
//	gone       by Ada, deleted
func listWorld(t *testing.T) *world {
	w := newWorld(t)
	add := func(p *management.Principal, body string) {
		t.Helper()
		w.clock.advance(time.Minute)
		must(w.CreateFlag(t.Context(), p, ref(w.web), decode[management.FlagPatch](t, body)))(t)
	}
	ada, cyd := w.as(w.ada), w.as(w.cyd)
	add(ada, `{"key":"plain","name":"Zulu","tags":["a","b"],"filters":`+everybody+`}`)
	add(cyd, `{"key":"off","name":"New check-out","active":false,"tags":["b"],"evaluation_contexts":["docs"],"filters":`+everybody+`}`)
	add(ada, `{"key":"old","active":false,"archived":true,"filters":`+everybody+`}`)
	add(ada, `{"key":"check-out","name":"50% (beta)","evaluation_runtime":"server","filters":{"groups":[{}],"multivariate":{"variants":[{"key":"x","rollout_percentage":50},{"key":"y","rollout_percentage":50}]}}}`)
	add(ada, `{"key":"conf","is_remote_configuration":true,"filters":{}}`)
	add(ada, `{"key":"trial_run","creation_context":"experiments","filters":{"groups":[{"rollout_percentage":50}]}}`)
	add(ada, `{"key":"gone","filters":`+everybody+`}`)
	must(w.changeFlag("7", `{"deleted":true}`))(t)
	w.flag(w.app, `{"key":"elsewhere","filters":`+everybody+`}`)
	return w
}

// management.md §13.2.
func TestFlagFilters(t *testing.T) {
	w := listWorld(t)
	const all = "trial_run conf check-out off plain"
	for _, tt := range []struct {
		q    management.FlagQuery
		want string
	}{
		{management.FlagQuery{}, all},
		{management.FlagQuery{Active: "true"}, "trial_run conf check-out plain"},
		{management.FlagQuery{Active: "false"}, "off"},
		{management.FlagQuery{Active: "STALE"}, ""},
		{management.FlagQuery{Active: "False"}, "off"}, // what Python writes
		{management.FlagQuery{Active: "0"}, "off"},
		{management.FlagQuery{Active: "TRUE"}, "trial_run conf check-out plain"},
		{management.FlagQuery{Archived: new(false)}, all},
		{management.FlagQuery{Archived: new(true)}, "old"},
		{management.FlagQuery{Archived: new(true), Active: "true"}, ""},
		{management.FlagQuery{Archived: new(true), Order: "key"}, "old"},
		{management.FlagQuery{CreatedBy: "3"}, "off"},
		{management.FlagQuery{CreatedBy: "1, 3"}, all},
		{management.FlagQuery{CreatedBy: "[3]"}, "off"},
		{management.FlagQuery{CreatedBy: `["3","99"]`}, "off"},
		{management.FlagQuery{CreatedBy: "99"}, ""},
		{management.FlagQuery{CreatedBy: "[]"}, all},
		{management.FlagQuery{CreatedBy: " , "}, all},
		{management.FlagQuery{Search: "CHECK"}, "check-out off"},
		{management.FlagQuery{Search: "check out"}, "check-out off"},
		{management.FlagQuery{Search: "check_out"}, ""},
		{management.FlagQuery{Search: "check-out"}, "check-out off"},
		{management.FlagQuery{Search: "l r"}, "trial_run"},
		{management.FlagQuery{Search: "50% (b"}, "check-out"},
		{management.FlagQuery{Search: "."}, ""},
		{management.FlagQuery{Search: "\xff"}, ""},
		{management.FlagQuery{Search: strings.Repeat("ä", 200)}, ""},
		{management.FlagQuery{Key: "PLAIN"}, "plain"},
		{management.FlagQuery{Key: "plai"}, ""},
		{management.FlagQuery{Key: "gone"}, ""},
		{management.FlagQuery{Key: "elsewhere"}, ""},
		{management.FlagQuery{Key: "plain", Order: "key"}, "plain"},
		{management.FlagQuery{Type: "boolean"}, "off plain"},
		{management.FlagQuery{Type: "multivariant"}, "check-out"},
		{management.FlagQuery{Type: "experiment"}, "trial_run"},
		{management.FlagQuery{Type: "remote_config"}, "conf"},
		{management.FlagQuery{Runtime: "server"}, "check-out"},
		{management.FlagQuery{Runtime: "all"}, "trial_run conf off plain"},
		{management.FlagQuery{Tags: `["a"]`}, "plain"},
		{management.FlagQuery{Tags: `["a","b"]`}, "off plain"},
		{management.FlagQuery{Tags: `["A"]`}, ""},
		{management.FlagQuery{Tags: `[]`}, all},
		{management.FlagQuery{ExcludedTags: `["a"]`}, "trial_run conf check-out off"},
		{management.FlagQuery{Tags: `["b"]`, ExcludedTags: `["a"]`}, "off"},
		{management.FlagQuery{ExcludedFields: `["conf","off","none"]`}, "trial_run check-out plain"},
		{management.FlagQuery{Keys: `["conf","off","none"]`}, "conf off"},
		{management.FlagQuery{Keys: `[]`}, ""},
		{management.FlagQuery{Evaluated: new(false)}, all},
		{management.FlagQuery{Evaluated: new(true)}, ""},
		{management.FlagQuery{HasContexts: new(true)}, "off"},
		{management.FlagQuery{HasContexts: new(false)}, "trial_run conf check-out plain"},
		{management.FlagQuery{Active: "true", Search: "l", Runtime: "all"}, "trial_run plain"},

		{management.FlagQuery{Order: "key"}, "check-out conf off plain trial_run"},
		{management.FlagQuery{Order: "-key"}, "trial_run plain off conf check-out"},
		{management.FlagQuery{Order: "name"}, "trial_run conf check-out off plain"},
		{management.FlagQuery{Order: "id"}, "plain off check-out conf trial_run"},
		{management.FlagQuery{Order: "created_at"}, "plain off check-out conf trial_run"},
		{management.FlagQuery{Order: "-created_at"}, all},
		{management.FlagQuery{Order: "-updated_at"}, all},
		{management.FlagQuery{Order: "version"}, all}, // all are equal: newest first
		{management.FlagQuery{Order: "last_called_at"}, all},
		{management.FlagQuery{Order: "active"}, "off trial_run conf check-out plain"},
		{management.FlagQuery{Order: "-active"}, "trial_run conf check-out plain off"},
	} {
		page, err := w.ListFlags(t.Context(), w.as(w.cyd), ref(w.web), tt.q, 100, 0)
		if err != nil {
			t.Errorf("ListFlags(%+v) = %v", tt.q, err)
			continue
		}
		if got := keysOf(page.Items); got != tt.want || page.Total != len(page.Items) {
			t.Errorf("ListFlags(%+v) has %q, %d in all; want %q", tt.q, got, page.Total, tt.want)
		}
		var ids []int64
		for _, v := range page.Items {
			ids = append(ids, v.ID)
		}
		matching := must(w.MatchingFlags(t.Context(), w.as(w.cyd), ref(w.web), tt.q))(t)
		if diff := cmp.Diff(append([]int64{}, ids...), matching, same); diff != "" {
			t.Errorf("MatchingFlags(%+v) (-list +got)\n%s", tt.q, diff)
		}
	}
}

// management.md §13.2: what is refused.
func TestFlagFiltersRefuse(t *testing.T) {
	w := listWorld(t)
	for _, tt := range []struct {
		q    management.FlagQuery
		want string
	}{
		{management.FlagQuery{Search: strings.Repeat("ä", 201)}, "invalid max_length search"},
		{management.FlagQuery{CreatedBy: "1,x"}, "invalid invalid_input created_by_id"},
		{management.FlagQuery{Type: "x"}, "invalid invalid_choice type"},
		{management.FlagQuery{Active: "what"}, "invalid invalid_choice active"},
		{management.FlagQuery{Active: "what", Search: "x"}, "invalid invalid_choice active"},
		{management.FlagQuery{Active: "stale"}, "invalid invalid_choice active"},
		{management.FlagQuery{Runtime: "edge"}, "invalid invalid_choice evaluation_runtime"},
		{management.FlagQuery{Tags: "a"}, "invalid invalid_input tags"},
		{management.FlagQuery{Tags: "[1]"}, "invalid invalid_input tags"},
		{management.FlagQuery{ExcludedTags: "{}"}, "invalid invalid_input excluded_tags"},
		{management.FlagQuery{ExcludedFields: `"a"`}, "invalid invalid_input excluded_properties"},
		{management.FlagQuery{Order: "filters"}, "invalid invalid_choice order"},
		{management.FlagQuery{Order: "--key"}, "invalid invalid_choice order"},
		{management.FlagQuery{Order: "-"}, "invalid invalid_choice order"},
	} {
		_, err := w.ListFlags(t.Context(), w.as(w.ada), ref(w.web), tt.q, 10, 0)
		checkFault(t, fmt.Sprintf("ListFlags(%+v)", tt.q), err, tt.want)
		_, err = w.MatchingFlags(t.Context(), w.as(w.ada), ref(w.web), tt.q)
		checkFault(t, fmt.Sprintf("MatchingFlags(%+v)", tt.q), err, tt.want)
	}
}

// management.md §3.1, whether the store selects a page or the service does.
func TestFlagPages(t *testing.T) {
	w := newWorld(t)
	for i := range 7 {
		w.flag(w.web, `{"key":"k`+strconv.Itoa(i)+`","filters":`+everybody+`}`)
	}
	for _, q := range []management.FlagQuery{{}, {Order: "-id"}} {
		for _, tt := range []struct {
			limit, offset int
			want          string
		}{
			{3, 0, "k6 k5 k4"}, {3, 3, "k3 k2 k1"}, {3, 6, "k0"}, {3, 7, ""}, {3, 99, ""}, {0, 0, ""}, {100, 0, "k6 k5 k4 k3 k2 k1 k0"},
		} {
			page := must(w.ListFlags(t.Context(), w.as(w.ada), ref(w.web), q, tt.limit, tt.offset))(t)
			if got := keysOf(page.Items); got != tt.want || page.Total != 7 {
				t.Errorf("ListFlags(%+v, %d, %d) has %q of %d, want %q of 7", q, tt.limit, tt.offset, got, page.Total, tt.want)
			}
		}
	}
}

// management.md §13.4 and §13.1: when a flag is stale, in lists and by itself.
func TestRuling89FlagStatus(t *testing.T) {
	const month = 30 * 24 * time.Hour
	for _, tt := range []struct {
		name, body string
		age        time.Duration  // of the last change
		called     *time.Duration // how long ago; nil: never
		status     string
		view       string
	}{
		{"new", `{}`, 0, nil, "active", "ACTIVE"},
		{"old, for everybody", `{}`, month, nil, "stale", "STALE"},
		{"not yet old", `{}`, month - time.Second, nil, "active", "ACTIVE"},
		{"old, for everybody, and still asked for", `{}`, month, new(time.Hour), "stale", "STALE"},
		{"old, for some", `{"filters":{"groups":[{"rollout_percentage":50}]}}`, month, nil, "active", "ACTIVE"},
		{"old, for some, asked for", `{"filters":{"groups":[{"rollout_percentage":50}]}}`, month, new(time.Hour), "active", "ACTIVE"},
		{"not asked for any more", `{"filters":{"groups":[{"rollout_percentage":50}]}}`, month, new(month), "stale", "STALE"},
		{"old, for each group", `{"filters":{"aggregation_group_type_index":0,"groups":[{"rollout_percentage":100,"aggregation_group_type_index":0}]}}`, month, nil, "active", "ACTIVE"},
		{"old remote configuration", `{"is_remote_configuration":true}`, month, nil, "active", "ACTIVE"},
		{"remote configuration that nobody asks for", `{"is_remote_configuration":true}`, month, new(month), "stale", "STALE"},
		{"disabled", `{"active":false}`, month, new(month), "inactive", "INACTIVE"},
		{"archived", `{"active":false,"archived":true}`, month, nil, "archived", "ARCHIVED"},
		{"archived and deleted", `{"active":false,"archived":true,"deleted":true}`, 0, nil, "deleted", "DELETED"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			called := &calledStore{}
			w := newWorld(t, func(c *management.Config) {
				called.Store = c.Store
				c.Store = called
			})
			id := w.flag(w.web, `{"key":"k","filters":`+everybody+`}`)
			must(w.changeFlag(id, tt.body))(t)
			w.clock.advance(tt.age)
			if tt.called != nil {
				called.at = new(w.clock.Now().Add(-*tt.called))
			}
			if v := w.seeFlag(id); v.Status != tt.view || (v.StaleReason != nil) != (tt.view == "STALE") {
				t.Errorf("the flag has status %s, want %s", v.Status, tt.view)
			}
			got := must(w.FlagStatus(t.Context(), w.as(w.ada), ref(w.web), id))(t)
			if got.Status != tt.status || got.Reason == "" {
				t.Errorf("FlagStatus = %+v, want %s", got, tt.status)
			}
			page := must(w.ListFlags(t.Context(), w.as(w.ada), ref(w.web), management.FlagQuery{Active: "STALE"}, 10, 0))(t)
			if stale := page.Total == 1; stale != (tt.view == "STALE") {
				t.Errorf("listed as stale: %t", stale)
			}
			for _, v := range page.Items {
				reason, since := "Every request gets true: condition set 1 is for everybody; unchanged since 4 March 2026", begin
				if tt.called != nil && *tt.called >= month {
					reason, since = "No client has reported a value for 30 days, since 4 March 2026", w.clock.Now().Add(-*tt.called)
				}
				if v.StaleReason == nil || *v.StaleReason != reason || got.Reason != reason || v.StaleSince == nil || !v.StaleSince.Equal(since) {
					t.Errorf("stale because of %v, %q, since %v; want %q, %v", v.StaleReason, got.Reason, v.StaleSince, reason, since)
				}
			}
			must(w.changeFlag(id, `{"deleted":true}`))(t)
			if got := must(w.FlagStatus(t.Context(), w.as(w.ada), ref(w.web), id))(t); got.Status != "deleted" {
				t.Errorf("FlagStatus of a deleted flag = %+v", got)
			}
		})
	}
}

// What the API shows of a flag or a cohort, and what it takes, can be sent back: the table
// of members has it (management.md §13.12).
func TestRuling36KnownMembers(t *testing.T) {
	for shape, types := range map[*members.Shape][]reflect.Type{
		members.Flag.With("comment"): {
			reflect.TypeFor[management.FlagView](), reflect.TypeFor[management.MinimalFlag](), reflect.TypeFor[management.FlagPatch](),
		},
		members.Cohort: {reflect.TypeFor[management.CohortView](), reflect.TypeFor[management.CohortPatch]()},
	} {
		for _, typ := range types {
			for f := range typ.Fields() {
				if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" && !shape.Knows([]byte(name)) {
					t.Errorf("%s: %v has %s, which is unknown", shape.Noun, typ, name)
				}
			}
		}
	}
}

func TestFlagFacets(t *testing.T) {
	w := newWorld(t)
	w.flag(w.web, `{"key":"a","filters":`+everybody+`,"tags":["x","y"],"evaluation_contexts":["web"]}`)
	w.flag(w.web, `{"key":"b","filters":`+everybody+`,"tags":["y"],"active":false}`)
	must(w.changeFlag(w.flag(w.web, `{"key":"c","filters":`+everybody+`,"tags":["z"]}`), `{"active":false,"archived":true}`))(t)
	w.flag(w.app, `{"key":"d","filters":`+everybody+`,"tags":["other"]}`)
	w.clock.now = w.clock.now.AddDate(0, 0, 31)
	got := must(w.FlagFacets(t.Context(), w.as(w.cyd), ref(w.web)))(t)
	if len(got.Owners) != 1 || got.Owners[0].Flags != 2 || got.Owners[0].User.Email != w.ada.Email {
		t.Errorf("owners %+v, want Ada with 2 flags", got.Owners)
	}
	got.Owners = nil
	want := &management.FlagFacets{
		On: 1, Off: 1, Stale: 1, Archived: 1, NeverEvaluated: 1,
		Tags: []management.FlagFacet{{Name: "x", Flags: 1}, {Name: "y", Flags: 2}}, Contexts: []management.FlagFacet{{Name: "web", Flags: 1}},
	}
	if diff := cmp.Diff(want, got, same); diff != "" {
		t.Errorf("FlagFacets() (-want +got)\n%s", diff)
	}
}
