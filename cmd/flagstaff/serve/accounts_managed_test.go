package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/optional"
	"github.com/flagstaff-go/flagstaff/management/storage"
	"github.com/flagstaff-go/flagstaff/surveys"
)

// managedOperations are the operations on what a project has, at all of its
// addresses. Collections make the things that they are about.
func managedOperations() []operation {
	var list []operation
	for i, address := range projectAddresses {
		for _, o := range []operation{
			{call: "GET /activity_log", scope: "activity_log:read", want: 200},

			{call: "GET /early_access_feature", scope: "early_access_feature:read", want: 200},
			{call: "POST /early_access_feature", scope: "early_access_feature:write", body: `{"name":"{new}","stage":"draft"}`, want: 201},
			{call: "GET /early_access_feature/{id}", scope: "early_access_feature:read", want: 200},
			{call: "PATCH /early_access_feature/{id}", scope: "early_access_feature:write", body: `{"stage":"beta"}`, want: 200},
			{call: "DELETE /early_access_feature/{id}", scope: "early_access_feature:write", want: 204},
			{call: "GET /early_access_feature/{id}/enrollments", scope: "early_access_feature:read", also: "person:read", want: 200},

			{call: "GET /feature_flags", scope: "feature_flag:read", want: 200},
			{call: "POST /feature_flags", scope: "feature_flag:write", body: `{"key":"{new}","filters":{"groups":[{}]}}`, want: 201},
			{call: "GET /export", scope: "feature_flag:read", also: "cohort:read", want: 200},
			{call: "POST /apply", scope: "feature_flag:write", also: "cohort:write", body: `{"flags":[{"id":1,"key":"{new}","active":true,"filters":{"groups":[{}]}}]}`, want: 200},
			{call: "POST /apply/{import}/undo", scope: "feature_flag:write", also: "cohort:write", want: 400}, // there is no such import
			{call: "POST /import", scope: "feature_flag:write", also: "cohort:write", body: `{"flags":[{"key":"{new}","filters":{"groups":[{}]}}]}`, want: 200},
			{call: "GET /feature_flags/activity", scope: "activity_log:read", want: 200},
			{call: "GET /feature_flags/matching_ids", scope: "feature_flag:read", want: 200},
			{call: "POST /feature_flags/bulk_keys", scope: "feature_flag:read", body: `{"ids":[{id}]}`, want: 200},
			{call: "POST /feature_flags/bulk_delete", scope: "feature_flag:write", body: `{"ids":[{id}]}`, want: 200},
			{call: "POST /feature_flags/preview", scope: "feature_flag:read", also: "person:read", body: `{"key":"{new}","filters":{"groups":[{}]}}`, want: 200},
			{call: "POST /feature_flags/user_blast_radius", scope: "feature_flag:read", also: "person:read", body: `{"condition":{"properties":[]}}`, want: 200},
			{call: "GET /feature_flags/evaluation_reasons", scope: "feature_flag:read", query: "?distinct_id=u", want: 200},
			{call: "POST /feature_flags/evaluation_reasons", scope: "feature_flag:read", also: "person:read", body: `{"distinct_id":"{new}"}`, want: 200},
			{call: "GET /feature_flags/facets", scope: "feature_flag:read", want: 200},
			{call: "GET /feature_flags/my_flags", scope: "feature_flag:read", want: 200},
			{call: "POST /feature_flags/{id}/explain", scope: "feature_flag:read", also: "person:read", body: `{"distinct_id":"{new}"}`, want: 200},
			{call: "GET /feature_flags/{id}", scope: "feature_flag:read", want: 200},
			{call: "PATCH /feature_flags/{id}", scope: "feature_flag:write", body: `{"name":"another"}`, want: 200},
			{call: "GET /feature_flags/{id}/activity", scope: "activity_log:read", want: 200},
			{call: "GET /feature_flags/{id}/status", scope: "feature_flag:read", want: 200},
			{call: "GET /feature_flags/{id}/usage", scope: "feature_flag:read", query: "?days=2", want: 200},
			{call: "GET /feature_flags/{id}/versions", scope: "feature_flag:read", want: 200},
			{call: "GET /feature_flags/{id}/versions/{version}", scope: "feature_flag:read", want: 200},
			{call: "POST /feature_flags/{id}/revert", scope: "feature_flag:write", body: `{"version":1}`, want: 200},
			{call: "POST /feature_flags/{id}/rollout", scope: "feature_flag:write", body: `{"rollout_percentage":50}`, want: 200},
			{call: "POST /feature_flags/{id}/enable", scope: "feature_flag:write", want: 200},
			{call: "POST /feature_flags/{id}/disable", scope: "feature_flag:write", want: 200},
			{call: "POST /feature_flags/{id}/archive", scope: "feature_flag:write", want: 200},
			{call: "POST /feature_flags/{id}/unarchive", scope: "feature_flag:write", want: 200},

			{call: "GET /cohorts", scope: "cohort:read", want: 200},
			{call: "POST /cohorts", scope: "cohort:write", body: `{"name":"{new}","is_static":true}`, want: 201},
			{call: "GET /cohorts/uses", scope: "cohort:read", also: "feature_flag:read", want: 200},
			{call: "POST /cohorts/preview", scope: "cohort:read", also: "person:read", body: `{"name":"{new}","filters":{"properties":{"type":"AND","values":[{"key":"plan","type":"person","value":"pro"}]}}}`, want: 200},
			{call: "GET /cohorts/{id}", scope: "cohort:read", want: 200},
			{call: "PATCH /cohorts/{id}", scope: "cohort:write", body: `{"description":"another"}`, want: 200},
			{call: "POST /cohorts/{id}/members", scope: "cohort:write", body: `["{new}"]`, want: 200},
			{call: "PATCH /cohorts/{id}/add_persons_to_static_cohort", scope: "cohort:write", body: `{"person_ids":["00000000-0000-7000-8000-000000000000"]}`, want: 200},
			{call: "PATCH /cohorts/{id}/remove_person_from_static_cohort", scope: "cohort:write", body: `{"person_id":"00000000-0000-7000-8000-000000000000"}`, want: 200},

			{call: "GET /cohorts/{id}/members", scope: "cohort:read", want: 404}, // no list was uploaded
			{call: "GET /cohorts/{id}/persons", scope: "cohort:read", also: "person:read", want: 200},

			{call: "GET /persons", scope: "person:read", want: 200},
			{call: "GET /persons/{id}", scope: "person:read", want: 200},
			{call: "GET /person_search", scope: "person:read", want: 200},
			{call: "GET /persons/{id}/events", scope: "person:read", want: 200},
			{call: "GET /events", scope: "query:read", want: 200},
			{call: "GET /events/export", scope: "query:read", want: 200},
			{call: "GET /events/{id}", scope: "query:read", want: 200},
			{call: "GET /persons/{id}/cohorts", scope: "cohort:read", also: "person:read", want: 200},
			{call: "DELETE /persons/{id}", scope: "person:write", want: 204},
			{call: "POST /persons/{id}/update_property", scope: "person:write", body: `{"key":"plan","value":"{new}"}`, want: 200},
			{call: "POST /persons/{id}/delete_property", scope: "person:write", body: `{"$unset":"name"}`, want: 200},
			{call: "GET /event_definitions", scope: "event_definition:read", want: 200},
			{call: "GET /property_definitions", scope: "property_definition:read", query: "?type=person", want: 200},
			{call: "GET /groups_types", scope: "group:read", want: 200},
			{call: "GET /groups", scope: "group:read", query: "?group_type_index=0", want: 200},
			{call: "GET /groups/find", scope: "group:read", query: aGroup, want: 404}, // there is no group
			{call: "DELETE /groups/find", scope: "group:write", query: aGroup, want: 404},
			{call: "POST /groups/update_property", scope: "group:write", query: aGroup, body: `{"key":"plan","value":"{new}"}`, want: 404},
			{call: "POST /groups/delete_property", scope: "group:write", query: aGroup, body: `{"$unset":"name"}`, want: 404},

			{call: "GET /surveys", scope: "survey:read", want: 200},
			{call: "POST /surveys", scope: "survey:write", body: `{"name":"{new}","type":"popover"}`, want: 201},
			{call: "GET /surveys/activity", scope: "activity_log:read", want: 200},
			{call: "GET /surveys/question_labels", scope: "survey:read", want: 200},
			{call: "GET /surveys/responses_count", scope: "survey:read", want: 200},
			{call: "GET /surveys/stats", scope: "survey:read", want: 200},
			{call: "GET /surveys/{id}", scope: "survey:read", want: 200},
			{call: "PATCH /surveys/{id}", scope: "survey:write", body: `{"description":"another"}`, want: 200},
			{call: "PUT /surveys/{id}", scope: "survey:write", body: `{"name":"{new}","type":"popover"}`, want: 200},
			{call: "DELETE /surveys/{id}", scope: "survey:write", want: 204},
			{call: "GET /surveys/{id}/activity", scope: "activity_log:read", want: 200},
			{call: "GET /surveys/{id}/archived-response-uuids", scope: "survey:read", want: 200},
			{call: "POST /surveys/{id}/duplicate_to_projects", scope: "survey:write", want: 400}, // it needs target_team_ids
			{call: "POST /surveys/{id}/launch", scope: "survey:write", want: 200},
			{call: "POST /surveys/{id}/stop", scope: "survey:write", want: 200},
			{call: "GET /surveys/{id}/stats", scope: "survey:read", want: 200},
			{call: "GET /surveys/{id}/responses", scope: "survey:read", also: "query:read", want: 200},
			{call: "POST /surveys/{id}/responses/{response}/archive", scope: "survey:write", want: 200},
			{call: "POST /surveys/{id}/responses/{response}/unarchive", scope: "survey:write", want: 200},
			{call: "POST /surveys/{id}/summarize_responses", scope: "survey:read", want: 200},
			{call: "POST /surveys/{id}/summary_headline", scope: "survey:read", want: 200},
		} {
			method, path, _ := strings.Cut(o.call, " ")
			o.call, o.managed, o.alias = method+" "+address+path, true, i > 0
			list = append(list, o)
		}
	}
	return list
}

const aGroup = "?group_type_index=0&group_key=none"

// managedRows are about what a project has, besides the rows that do every
// operation.
var managedRows = []accountRow{
	{"managed 1", "flags change through surveys with their own scope only", surveyScopes},
	{"managed 2", "references to things of others", foreignReferences},
	{"managed 3", "lists have nothing of others", foreignItems},
	{"managed 4", "is what /flags answers at once", servedAtOnce},
}

// surveyScopes: a user who may not change flags cannot do so through surveys
// (management.md §1.4).
func surveyScopes(t *testing.T, s *site) {
	a := s.account(t)
	path := fmt.Sprintf("/api/projects/%d/surveys/", a.project.ID)
	flag := s.make(t, a, "feature_flags")
	both := s.with(s.issue(t, a, "survey:write", "feature_flag:write"))
	targeted := func() string {
		t.Helper()
		return both.call(t, "POST "+path, members("name", newName(), "type", "popover", "targeting_flag_filters", proOnly)).ok(t)["id"].(string)
	}
	without := s.with(s.issue(t, a, "survey:write"))
	plain := without.call(t, "POST "+path, members("name", newName(), "type", "popover")).ok(t)["id"].(string)
	old := targeted()
	for call, body := range map[string]string{
		"POST " + path:                members("name", newName(), "type", "popover", "targeting_flag_filters", proOnly),
		"POST " + path + "?":          members("name", newName(), "type", "popover", "targeting_flag_id", json.Number(flag)),
		"PATCH " + path + plain + "/": members("targeting_flag_filters", proOnly),
		"PATCH " + path + old + "/":   members("remove_targeting_flag", true),
		"DELETE " + path + old + "/":  "",
	} {
		detail := without.call(t, call, body).fails(t, 403, "permission_denied", "")
		if want := "API key missing required scope 'feature_flag:write'"; detail != want {
			t.Errorf("%s: detail %q, want %q", call, detail, want)
		}
	}
	// Changes that are not about flags, and a link to a flag, need no other scope.
	without.call(t, "PATCH "+path+old+"/", members("name", newName(), "start_date", "2026-01-01T00:00:00Z")).ok(t)
	without.call(t, "PATCH "+path+plain+"/", members("linked_flag_id", json.Number(flag))).ok(t)
	without.call(t, "DELETE "+path+plain+"/", "").done(t)
	both.call(t, "DELETE "+path+old+"/", "").done(t)
	both.call(t, "PATCH "+path+targeted()+"/", members("remove_targeting_flag", true)).ok(t)
}

// proOnly are filters of a flag for some.
var proOnly = map[string]any{"groups": []any{map[string]any{"properties": []any{
	map[string]any{"key": "plan", "value": []string{"pro"}, "operator": "exact", "type": "person"},
}}}}

// foreignReferences names things of others in bodies and queries of one's own
// project. There they are unknown, like things that do not exist.
func foreignReferences(t *testing.T, s *site) {
	v, other := s.target(t), s.account(t)
	s.awaitProject(t, v.account)
	s.capture(t, v.project.APIToken, 200)
	person, err := s.store.PersonByDistinctID(t.Context(), v.project.ID, "u")
	if err != nil {
		t.Fatal(err)
	}
	v.told = append(v.told, person.ID.String())
	eventually(t, "that the name of the event is listed", func() bool {
		list, _, err := s.store.Definitions(t.Context(), v.project.ID, storage.DefinesEvent, "", 10, 0)
		if err != nil {
			t.Fatal(err)
		}
		return slices.ContainsFunc(list, func(d storage.Definition) bool { return d.Name == "e" })
	})
	before := s.state(t, v.account)
	ids := v.foreign.ids
	me := s.as(other)
	path := fmt.Sprintf("/api/projects/%d/", other.project.ID)
	cohort := path + "cohorts/" + s.make(t, other, "cohorts") + "/"
	survey := path + "surveys/" + s.make(t, other, "surveys") + "/"
	for _, tt := range []struct {
		call, body       string // ID stands for the foreign thing
		foreign, unknown string
		want             int
	}{
		{"POST " + path + "feature_flags/", `{"key":"k","filters":{"groups":[{"properties":[{"key":"id","type":"cohort","value":ID}]}]}}`, ids["cohorts"], unknownNumber, 400},
		{"POST " + path + "feature_flags/", `{"key":"k","filters":{"groups":[{"properties":[{"key":"ID","type":"flag","value":true,"operator":"flag_evaluates_to"}]}]}}`, ids["feature_flags"], unknownNumber, 400},
		{"POST " + path + "feature_flags/bulk_keys/", `{"ids":[ID]}`, ids["feature_flags"], unknownNumber, 200},
		{"POST " + path + "feature_flags/bulk_delete/", `{"ids":[ID]}`, ids["feature_flags"], unknownNumber, 200},
		{"POST " + path + "cohorts/", `{"name":"c","filters":{"properties":{"type":"OR","values":[{"type":"AND","values":[{"key":"id","type":"cohort","value":ID}]}]}}}`, ids["cohorts"], unknownNumber, 400},
		{"PATCH " + cohort + "add_persons_to_static_cohort/", `{"person_ids":["ID"]}`, person.ID.String(), unknownUUID, 200},
		{"PATCH " + cohort + "remove_person_from_static_cohort/", `{"person_id":"ID"}`, person.ID.String(), unknownUUID, 200},
		{"POST " + path + "early_access_feature/", `{"name":"f","stage":"beta","feature_flag_id":ID}`, ids["feature_flags"], unknownNumber, 400},
		{"POST " + path + "surveys/", `{"name":"s","type":"popover","linked_flag_id":ID}`, ids["feature_flags"], unknownNumber, 400},
		{"POST " + path + "surveys/", `{"name":"s","type":"popover","targeting_flag_id":ID}`, ids["feature_flags"], unknownNumber, 400},
		{"GET " + path + "surveys/?ids=ID", "", ids["surveys"], unknownUUID, 200},
		{"GET " + path + "surveys/responses_count/?survey_ids=ID", "", ids["surveys"], unknownUUID, 200},
		{"GET " + path + "feature_flags/?created_by_id=ID", "", fmt.Sprint(v.ID), unknownNumber, 200},
		{"GET " + path + "cohorts/?created_by_id=ID", "", fmt.Sprint(v.ID), unknownNumber, 200},
		{"POST " + survey + "responses/ID/archive/", "", person.ID.String(), unknownUUID, 200}, // whatever has the UUID
	} {
		var bodies []string
		for _, id := range []string{tt.foreign, tt.unknown} {
			call, body := strings.ReplaceAll(tt.call, "ID", id), strings.ReplaceAll(tt.body, "ID", id)
			r := me.call(t, call, body)
			if r.status != tt.want {
				t.Errorf("%s %s = %d %s, want %d", call, body, r.status, r.body, tt.want)
			}
			v.checkSilent(t, r, call+body)
			bodies = append(bodies, strings.ReplaceAll(r.body, id, "ID"))
		}
		if bodies[0] != bodies[1] {
			t.Errorf("%s %s: %s\nif it does not exist: %s", tt.call, tt.body, bodies[0], bodies[1])
		}
	}
	if got := me.call(t, "GET "+cohort, "").ok(t)["count"]; got != 0.0 {
		t.Errorf("the cohort has %v members, want none: they are persons of others", got)
	}
	if diff := gocmp.Diff(before, s.state(t, v.account)); diff != "" {
		t.Errorf("what the victim has (-before +after):\n%s", diff)
	}
}

// awaitProject returns when the program serves the project of an account, which was
// made without it.
func (s *site) awaitProject(t *testing.T, a *account) {
	t.Helper()
	w := &watcher{account: a, reader: s, bound: patience}
	w.see(t, "a new project", "absent", w.flag("none", nil))
}

// foreignItems asks for all things of the caller's project and of other projects.
func foreignItems(t *testing.T, s *site) {
	v, other := s.target(t), s.account(t)
	queries := []string{
		"", "?limit=1000", "?project=" + v.foreign.project, "?project_id=" + v.foreign.project, "?team_id=" + v.foreign.project,
		"?token=" + v.project.APIToken, "?organization=" + v.foreign.organization, "?search=thing", "?offset=-1", "?archived=true",
	}
	r := s.of(t, other, other.key)
	for _, o := range operations {
		if !o.managed || o.alias || !strings.HasPrefix(o.call, "GET ") || strings.Contains(o.call, "{id}") || o.want != 200 {
			continue
		}
		for _, query := range queries {
			if o.query != "" {
				query = strings.Replace(query, "?", "&", 1)
			}
			call := o.fill(r) + query
			got := s.as(other).call(t, call, "")
			got.ok2xx(t)
			v.checkSilent(t, got, call)
		}
	}
}

// A collection is the kind of thing that {id} identifies: the segment of a path
// below the project's.
type collection struct {
	unknown string // an unused ID
	make    func(t *testing.T, s *site, a *account, name string) (id string)
}

const unknownNumber, unknownUUID = "99999999", "00000000-0000-7000-8000-000000000000"

var collections = map[string]collection{
	"early_access_feature": {unknownUUID, func(t *testing.T, s *site, a *account, name string) string {
		patch := management.EarlyAccessPatch{Name: optional.Of(name), Stage: optional.Of("alpha")}
		return makeIn(t, s.service, a, patch, (*management.Service).CreateEarlyAccessFeature).ID.String()
	}},
	"feature_flags": {unknownNumber, func(t *testing.T, s *site, a *account, name string) string {
		patch := management.FlagPatch{Key: optional.Of(name), Filters: optional.Of(flags.Filters{Groups: []flags.Condition{{}}})}
		return fmt.Sprint(makeIn(t, s.service, a, patch, (*management.Service).CreateFlag).ID)
	}},
	"cohorts": {unknownNumber, func(t *testing.T, s *site, a *account, name string) string {
		patch := management.CohortPatch{Name: optional.Of(name), Static: optional.Of(true)}
		return fmt.Sprint(makeIn(t, s.service, a, patch, (*management.Service).CreateCohort).ID)
	}},
	"persons": {unknownUUID, func(t *testing.T, s *site, a *account, name string) string {
		now := time.Now().UTC()
		e := capture.Event{
			Project: a.project.ID, UUID: capture.NewUUID(now), Name: "seen", DistinctID: name, Time: now, Received: now,
			Properties: json.RawMessage(`{"$set":{"name":"` + name + `"}}`),
		}
		if err := s.store.Write(t.Context(), []capture.Event{e}); err != nil {
			t.Fatal(err)
		}
		p, err := s.store.PersonByDistinctID(t.Context(), a.project.ID, name)
		if err != nil {
			t.Fatal(err)
		}
		return p.ID.String()
	}},
	"events": {unknownUUID, func(t *testing.T, s *site, a *account, name string) string {
		now := time.Now().UTC()
		e := capture.Event{Project: a.project.ID, UUID: capture.NewUUID(now), Name: name, DistinctID: name, Time: now, Received: now, Properties: json.RawMessage(`{}`)}
		if err := s.store.Write(t.Context(), []capture.Event{e}); err != nil {
			t.Fatal(err)
		}
		return e.UUID.String()
	}},
	"surveys": {unknownUUID, func(t *testing.T, s *site, a *account, name string) string {
		patch := surveys.Patch{Name: optional.Of(name), Type: optional.Of("popover")}
		return makeIn(t, s.surveyService, a, patch, (*surveys.Service).Create).ID.String()
	}},
}

// makeIn makes something in the project of an account, without HTTP.
func makeIn[S, P, T any](t *testing.T, service S, a *account, patch P, create func(S, context.Context, *management.Principal, string, P) (T, error)) T {
	t.Helper()
	v, err := create(service, t.Context(), &management.Principal{User: a.User}, fmt.Sprint(a.project.ID), patch)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// newName returns an unused name that is part of no other.
func newName() string { return fmt.Sprintf("thing%dx", names.Add(1)) }

// collection returns the collection that an operation is about, "" if it is about
// none.
func (o *operation) collection() string {
	_, path, _ := strings.Cut(o.call, "{project}/")
	name, _, _ := strings.Cut(path, "/")
	return name
}

// make makes something of a collection.
func (s *site) make(t *testing.T, a *account, name string) (id string) {
	t.Helper()
	return s.makeCalled(t, a, name, newName())
}

func (s *site) makeCalled(t *testing.T, a *account, collection, name string) (id string) {
	t.Helper()
	c, ok := collections[collection]
	if !ok {
		t.Fatalf("nothing makes %s", collection)
	}
	return c.make(t, s, a, name)
}

// unknownIDs returns an unused ID of each collection.
func unknownIDs() map[string]string {
	ids := make(map[string]string)
	for name, c := range collections {
		ids[name] = c.unknown
	}
	return ids
}

// remoteConfig makes a remote configuration flag with a payload.
func (s *site) remoteConfig(t *testing.T, a *account) (id string) {
	t.Helper()
	body := members("key", newName(), "is_remote_configuration", true, "filters", map[string]any{
		"groups": []any{map[string]any{}}, "payloads": map[string]any{"true": `{"k":"v"}`},
	})
	return fmt.Sprint(s.as(a).call(t, fmt.Sprintf("POST /api/projects/%d/feature_flags/", a.project.ID), body).ok(t)["id"])
}
