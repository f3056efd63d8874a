package management_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/optional"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// Filters of cohorts: persons on a plan, and persons who did something.
const (
	pro      = `{"properties":{"type":"AND","values":[{"key":"plan","value":"pro","type":"person"}]}}`
	behavior = `{"properties":{"type":"AND","values":[{"type":"behavioral","value":"performed_event","key":"$pageview"}]}}`
)

// inCohort returns filters of a flag for the members of a cohort.
func inCohort(id string) string {
	return `{"groups":[{"properties":[{"key":"id","value":` + id + `,"type":"cohort"}]}]}`
}

// cohort makes a cohort in a project and returns its ID.
func (w *world) cohort(p *storage.Project, body string) string {
	w.t.Helper()
	v := must(w.CreateCohort(w.t.Context(), w.owner(p), ref(p), decode[management.CohortPatch](w.t, body)))(w.t)
	return strconv.FormatInt(v.ID, 10)
}

// changeCohort changes a cohort of Web, as a request of Ada does.
func (w *world) changeCohort(id, body string) (*management.CohortView, error) {
	w.t.Helper()
	return w.UpdateCohort(w.t.Context(), w.as(w.ada), ref(w.web), id, decode[management.CohortPatch](w.t, body))
}

// feature makes an early access feature in a project and returns its ID.
func (w *world) feature(p *storage.Project, body string) string {
	w.t.Helper()
	return must(w.CreateEarlyAccessFeature(w.t.Context(), w.owner(p), ref(p), decode[management.EarlyAccessPatch](w.t, body)))(w.t).ID.String()
}

// management.md §13.10: the form of a cohort.
func TestCohortForm(t *testing.T) {
	w := newWorld(t, withData)
	ada := `{"id":1,"uuid":"` + w.ada.UUID.String() + `","distinct_id":"d-ada","first_name":"Ada","last_name":"","email":"ada@example.com",` +
		`"is_email_verified":null,"hedgehog_config":null,"role_at_organization":null}`
	for _, tt := range []struct{ body, want string }{
		{`{"name":"Pro","description":"pay","filters":` + pro + `}`, `{"id":1,"name":"Pro","description":"pay","groups":[],"deleted":false,"filters":` + pro + `,"query":null,` +
			`"is_calculating":true,"created_by":` + ada + `,"created_at":"2026-03-04T05:06:07Z","last_calculation":null,"errors_calculating":0,"count":null,` +
			`"is_static":false,"cohort_type":"person_property","experiment_set":[]}`},
		{`{"name":"List","is_static":true}`, `{"id":2,"name":"List","description":"","groups":[],"deleted":false,"filters":{},"query":null,` +
			`"is_calculating":false,"created_by":` + ada + `,"created_at":"2026-03-04T05:06:07Z","last_calculation":"2026-03-04T05:06:07Z","errors_calculating":0,"count":0,` +
			`"is_static":true,"cohort_type":"static","experiment_set":[]}`},
	} {
		v := must(w.CreateCohort(t.Context(), w.as(w.ada), ref(w.web), decode[management.CohortPatch](t, tt.body)))(t)
		if diff := cmp.Diff(tt.want, encode(t, v)); diff != "" {
			t.Errorf("CreateCohort(%s) (-want +got)\n%s", tt.body, diff)
		}
		id := strconv.FormatInt(v.ID, 10)
		if diff := cmp.Diff(v, must(w.Cohort(t.Context(), w.as(w.ada), ref(w.web), id))(t)); diff != "" {
			t.Errorf("answer (-) and what is stored (+)\n%s", diff)
		}
		before := w.state()
		must(w.changeCohort(id, encode(t, v)))(t)
		w.checkUnchanged("what was shown, sent back,", before)
	}
	if v := must(newWorld(t).CreateCohort(t.Context(), w.as(w.ada), ref(w.web), decode[management.CohortPatch](t, `{"name":"Pro","filters":`+pro+`}`)))(t); v.IsCalculating {
		t.Error("a cohort is being calculated where nothing is known of persons")
	}
}

// management.md §13.10: what is refused, and what is not.
func TestCohortPatch(t *testing.T) {
	for _, tt := range []struct{ name, body, want string }{
		{"nothing", `{}`, ""},
		{"name", `{"name":" Paying "}`, ""},
		{"name, null", `{"name":null}`, "invalid null name"},
		{"name, blank", `{"name":""}`, "invalid blank name"},
		{"name, too long", `{"name":"` + chars(401) + `"}`, "invalid max_length name"},
		{"description", `{"description":""}`, ""},
		{"description, a list", `{"description":[]}`, "invalid invalid_input description"},
		{"static later", `{"is_static":true}`, "invalid invalid_input is_static"},
		{"static as it is", `{"is_static":false}`, ""},
		{"static, null", `{"is_static":null}`, "invalid null is_static"},
		{"deleted, null", `{"deleted":null}`, "invalid null deleted"},
		{"filters", `{"filters":` + behavior + `}`, ""},
		{"filters, null", `{"filters":null}`, "invalid required filters"},
		{"filters, text", `{"filters":"x"}`, "invalid invalid_input filters"},
		{"filters without properties", `{"filters":{}}`, "invalid invalid_input filters"},
		{"filters with a property of another type", `{"filters":{"properties":{"type":"OR","values":[{"key":"a","type":"group","value":1}]}}}`, "invalid invalid_input filters"},
		{"itself", `{"filters":` + cohortOf("1") + `}`, "invalid invalid_input filters"},
		{"what uses it", `{"filters":` + cohortOf("2") + `}`, "invalid invalid_input filters"},
		{"a cohort of another project", `{"filters":` + cohortOf("3") + `}`, "invalid cohort_does_not_exist filters"},
		{"a cohort that does not exist", `{"filters":` + cohortOf("99") + `}`, "invalid cohort_does_not_exist filters"},
		{"query", `{"query":{"kind":"x"}}`, "invalid invalid_input query"},
		{"query, null", `{"query":null}`, ""},
		{"groups", `{"groups":[{"properties":{"plan":"free"}}]}`, ""},
		{"groups, none", `{"groups":[]}`, ""},
		{"groups, null", `{"groups":null}`, ""},
		{"groups, text", `{"groups":"x"}`, "invalid invalid_input groups"},
		{"groups beside filters", `{"groups":"x","filters":` + pro + `}`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, withData)
			id := w.cohort(w.web, `{"name":"Pro","filters":`+pro+`}`)
			w.cohort(w.web, `{"name":"User","filters":`+cohortOf(id)+`}`)
			w.cohort(w.shop, `{"name":"Foreign","filters":`+pro+`}`)
			before := w.state()
			_, err := w.changeCohort(id, tt.body)
			checkFault(t, "UpdateCohort("+tt.body+")", err, tt.want)
			if err != nil {
				w.checkUnchanged(tt.name, before)
			}
		})
	}
}

// cohortOf returns filters of a cohort for the members of another one.
func cohortOf(id string) string {
	return `{"properties":{"type":"AND","values":[{"key":"id","value":` + id + `,"type":"cohort"}]}}`
}

// What only a new cohort is refused for, and what the older form of filters becomes.
func TestNewCohort(t *testing.T) {
	w := newWorld(t)
	for _, tt := range []struct{ body, want string }{
		{`{"filters":` + pro + `}`, "invalid required name"},
		{`{"name":"x"}`, "invalid required filters"},
		{`{"name":"x","groups":[]}`, "invalid required filters"},
		{`{"name":"x","deleted":true,"filters":` + pro + `}`, "invalid invalid_input deleted"},
		{`{"name":"x","is_static":true,"filters":` + pro + `}`, "invalid invalid_input filters"},
		{`{"name":"x","is_static":true,"filters":7}`, "invalid invalid_input filters"},
		{`{"name":"x","is_static":true,"groups":[{"properties":{"plan":"pro"}}]}`, "invalid invalid_input filters"},
		{`{"name":"x","is_static":true,"filters":{"properties":{"type":"OR","values":[]}}}`, `{}`},
		{`{"name":"x","is_static":true,"filters":null,"groups":[]}`, `{}`},
		{`{"name":"x","groups":[{"properties":{"plan":"pro"}}]}`, `{"properties":{"type":"OR","values":[{"type":"AND","values":[{"key":"plan","value":"pro","type":"person"}]}]}}`},
	} {
		v, err := w.CreateCohort(t.Context(), w.as(w.ada), ref(w.web), decode[management.CohortPatch](t, tt.body))
		got := fault(err)
		if err == nil {
			got = string(v.Filters)
		}
		if got != tt.want {
			t.Errorf("CreateCohort(%s): %s, want %s", tt.body, got, tt.want)
		}
	}
}

// management.md §13.10: a cohort that an active flag or another cohort uses cannot
// be deleted, and one that flags use cannot become behavioral.
func TestCohortInUse(t *testing.T) {
	w := newWorld(t)
	id := w.cohort(w.web, `{"name":"Pro","filters":`+pro+`}`)
	user := w.cohort(w.web, `{"name":"User","filters":`+cohortOf(id)+`}`)
	flag := w.flag(w.web, `{"key":"k","filters":`+inCohort(user)+`}`)
	check := func(id, body, want, names string) {
		t.Helper()
		_, err := w.changeCohort(id, body)
		if checkFault(t, "UpdateCohort("+body+")", err, want); err != nil && !strings.Contains(err.Error(), names) {
			t.Errorf("UpdateCohort(%s): %v, want it to name %s", body, err, names)
		}
	}
	check(user, `{"deleted":true}`, "invalid invalid_input", "use it: k")
	check(id, `{"deleted":true}`, "invalid invalid_input", "use it: k")
	check(id, `{"filters":`+behavior+`}`, "invalid behavioral_cohort_found filters", "k")
	must(w.changeFlag(flag, `{"active":false}`))(t)
	check(id, `{"deleted":true}`, "invalid invalid_input", `"User"`)
	check(user, `{"deleted":true}`, "", "")
	check(id, `{"deleted":true}`, "", "")
	if v := must(w.Cohort(t.Context(), w.as(w.ada), ref(w.web), id))(t); !v.Deleted {
		t.Error("a deleted cohort is not shown as such")
	}
	if page := must(w.ListCohorts(t.Context(), w.as(w.ada), ref(w.web), management.CohortQuery{}, 10, 0))(t); page.Total != 0 {
		t.Errorf("%d cohorts are listed", page.Total)
	}
	check(user, `{"deleted":false}`, "invalid cohort_does_not_exist filters", id) // what it refers to is gone
	check(id, `{"deleted":false}`, "", "")
	check(user, `{"deleted":false}`, "", "")
}

// management.md §13.10: the filters of the list.
func TestCohortFilters(t *testing.T) {
	w := newWorld(t)
	w.cohort(w.web, `{"name":"Pro","filters":`+pro+`}`)
	w.cohort(w.web, `{"name":"List of PROs","is_static":true}`)
	must(w.CreateCohort(t.Context(), w.as(w.cyd), ref(w.web), decode[management.CohortPatch](t, `{"name":"Other","is_static":true}`)))(t)
	must(w.changeCohort(w.cohort(w.web, `{"name":"Gone","is_static":true}`), `{"deleted":true}`))(t)
	w.cohort(w.shop, `{"name":"Foreign","is_static":true}`)
	for _, tt := range []struct {
		q             management.CohortQuery
		limit, offset int
		want          string
	}{
		{management.CohortQuery{}, 10, 0, "3: Other, List of PROs, Pro"},
		{management.CohortQuery{}, 1, 1, "3: List of PROs"},
		{management.CohortQuery{}, 10, 3, "3: "},
		{management.CohortQuery{Type: "static"}, 10, 0, "2: Other, List of PROs"},
		{management.CohortQuery{Type: "dynamic"}, 10, 0, "1: Pro"},
		{management.CohortQuery{CreatedBy: "3"}, 10, 0, "1: Other"},
		{management.CohortQuery{CreatedBy: "[]"}, 10, 0, "3: Other, List of PROs, Pro"},
		{management.CohortQuery{Search: "pro"}, 10, 0, "2: List of PROs, Pro"},
		{management.CohortQuery{Search: "pro", Type: "dynamic", CreatedBy: "1"}, 10, 0, "1: Pro"},
		{management.CohortQuery{Type: "x"}, 10, 0, "invalid invalid_choice type"},
		{management.CohortQuery{Search: chars(201)}, 10, 0, "invalid max_length search"},
		{management.CohortQuery{CreatedBy: "x"}, 10, 0, "invalid invalid_input created_by_id"},
	} {
		page, err := w.ListCohorts(t.Context(), w.as(w.cyd), ref(w.web), tt.q, tt.limit, tt.offset)
		got := fault(err)
		if err == nil {
			var names []string
			for _, v := range page.Items {
				names = append(names, v.Name)
			}
			got = fmt.Sprintf("%d: %s", page.Total, strings.Join(names, ", "))
		}
		if got != tt.want {
			t.Errorf("ListCohorts(%+v, %d, %d) = %s, want %s", tt.q, tt.limit, tt.offset, got, tt.want)
		}
	}
}

// members returns the distinct IDs of the members of a cohort of Web, in order.
func (w *world) members(id string) string {
	w.t.Helper()
	page := must(w.ListCohortPersons(w.t.Context(), w.as(w.ada), ref(w.web), id, 1000, 0))(w.t)
	var ids []string
	for _, p := range page.Items {
		ids = append(ids, p.DistinctIDs...)
	}
	return strings.Join(ids, " ")
}

// Lists of distinct IDs become members while they arrive.
func TestAddCohortIDs(t *testing.T) {
	w := newWorld(t, withData)
	ctx := t.Context()
	w.capture(w.web, "x", "u1", `{"$set":{"plan":"pro"}}`)
	id := w.cohort(w.web, `{"name":"List","is_static":true}`)
	add := func(list func(func(string, error) bool)) (string, error) {
		out, err := w.AddCohortIDs(ctx, w.as(w.ada), ref(w.web), id, list)
		if err != nil {
			return "", err
		}
		return encode(t, out), nil
	}
	w.clock.advance(time.Minute)
	if got := must(add(listed("u1", "new", "u1")))(t); got != `{"received":3,"added":2,"unknown":1,"count":2,"complete":true}` {
		t.Errorf("AddCohortIDs = %s", got)
	}
	if got := must(add(listed("new")))(t); got != `{"received":1,"added":0,"unknown":0,"count":2,"complete":true}` {
		t.Errorf("AddCohortIDs again = %s", got)
	}
	if got := must(add(listed()))(t); got != `{"received":0,"added":0,"unknown":0,"count":2,"complete":true}` {
		t.Errorf("AddCohortIDs of nobody = %s", got)
	}
	v := must(w.Cohort(ctx, w.as(w.ada), ref(w.web), id))(t)
	if *v.Count != 2 || !v.LastCalculation.Equal(w.clock.Now()) {
		t.Errorf("count %d at %v", *v.Count, v.LastCalculation)
	}
	if got := w.members(id); got != "new u1" {
		t.Errorf("members %s", got)
	}

	// Names are the names that capturing knows.
	long := strings.Repeat("ü", 200)
	must(add(listed(long + "more")))(t)
	if cohorts := must(w.store.AppendCohorts(ctx, nil, w.web.ID, long))(t); len(cohorts) != 1 {
		t.Errorf("the cohorts of a long distinct ID are %v", cohorts)
	}

	// In parts; after an error in the list those before it are members.
	wrong := &management.Error{Kind: management.ErrInvalid, Code: "invalid_input", Detail: "Line 6002 is not a CSV."}
	_, err := add(func(yield func(string, error) bool) {
		for i := range 6000 {
			if !yield(fmt.Sprintf("m%d", i), nil) {
				t.Error("stopped early")
			}
		}
		yield("", wrong)
	})
	if checkFault(t, "a list with an error", err, "invalid invalid_input"); !strings.Contains(err.Error(), "Before that 6000 were stored.") {
		t.Errorf("%v, want it to say how many were stored", err)
	}
	if v := must(w.Cohort(ctx, w.as(w.ada), ref(w.web), id))(t); *v.Count != 6003 {
		t.Errorf("count %d, want 6003", *v.Count)
	}
	_, err = add(func(yield func(string, error) bool) { yield("", errBroken) })
	if !errors.Is(err, errBroken) {
		t.Errorf("a list that fails: %v, want %v", err, errBroken)
	}
	_, err = add(func(yield func(string, error) bool) { yield("", wrong) })
	if checkFault(t, "a list that is none", err, "invalid invalid_input"); err.Error() != wrong.Error() {
		t.Errorf("%v, want %v", err, wrong)
	}
}

// Persons are added and removed by their UUIDs.
func TestCohortPersons(t *testing.T) {
	w := newWorld(t, withData)
	ctx := t.Context()
	for _, id := range []string{"u1", "u2", "u3"} {
		w.capture(w.web, "x", id, `{"$set":{"plan":"pro"}}`)
	}
	w.capture(w.shop, "x", "foreign", `{}`)
	var ids []string
	for p, err := range w.store.AllPersons(ctx, w.web.ID) {
		w.ok(err)
		ids = append(ids, p.ID.String())
	}
	var foreign string
	for p, err := range w.store.AllPersons(ctx, w.shop.ID) {
		w.ok(err)
		foreign = p.ID.String()
	}
	id := w.cohort(w.web, `{"name":"List","is_static":true}`)
	add := func(body string) error {
		return w.AddCohortPersons(ctx, w.as(w.ada), ref(w.web), id, decode[management.CohortPersons](t, body))
	}
	remove := func(body string) error {
		return w.RemoveCohortPerson(ctx, w.as(w.ada), ref(w.web), id, decode[management.CohortPersons](t, body))
	}
	checkFault(t, "add", add(`{"person_ids":["`+ids[0]+`","`+strings.ToUpper(ids[1])+`","`+foreign+`"]}`), "")
	if got := w.members(id); got != "u2 u1" {
		t.Errorf("members %s", got)
	}
	before := len(w.activities())
	checkFault(t, "add again", add(`{"person_ids":["`+ids[0]+`"]}`), "")
	checkFault(t, "remove who is none", remove(`{"person_id":"`+ids[2]+`"}`), "")
	if n := len(w.activities()) - before; n > 0 {
		t.Errorf("%d activities about nothing", n)
	}
	checkFault(t, "remove", remove(`{"person_id":"`+ids[0]+`"}`), "")
	if got := w.members(id); got != "u2" {
		t.Errorf("members %s", got)
	}
	for body, want := range map[string]string{
		`{}`: "invalid required person_ids", `{"person_ids":"x"}`: "invalid not_a_list person_ids", `{"person_ids":["x"]}`: "invalid invalid_input person_ids",
		`{"person_ids":[1]}`: "invalid invalid_input person_ids",
	} {
		checkFault(t, "add "+body, add(body), want)
	}
	for body, want := range map[string]string{
		`{}`: "invalid required person_id", `{"person_id":"x"}`: "invalid invalid_input person_id", `{"person_id":null}`: "invalid invalid_input person_id",
		`{"person_id":["` + ids[0] + `"]}`: "invalid invalid_input person_id",
	} {
		checkFault(t, "remove "+body, remove(body), want)
	}
}

// Members are listed for cohorts that exist where persons do.
func TestCohortsWithoutMembers(t *testing.T) {
	w := newWorld(t, withData)
	ctx := t.Context()
	dynamic := w.cohort(w.web, `{"name":"Pro","filters":`+pro+`}`)
	gone := w.cohort(w.web, `{"name":"Gone","is_static":true}`)
	must(w.changeCohort(gone, `{"deleted":true}`))(t)
	behavioral := w.cohort(w.web, `{"name":"Behavior","filters":`+behavior+`}`)
	static := w.cohort(w.web, `{"name":"List","is_static":true}`)
	other := w.another(func(*management.Config) {}) // no persons
	for _, tt := range []struct {
		w              *world
		id, list, edit string
	}{
		{w, dynamic, "", "invalid invalid_input"},
		{w, gone, "not found not_found", "not found not_found"},
		{w, behavioral, "invalid behavioral_cohort_found", "invalid invalid_input"},
		{w, static, "", ""},
		{w, "99", "not found not_found", "not found not_found"},
		{w, "x", "not found not_found", "not found not_found"},
		{other, static, "not found not_available", "not found not_available"},
		{other, dynamic, "not found not_available", "invalid invalid_input"},
	} {
		_, err := tt.w.ListCohortPersons(ctx, w.as(w.ada), ref(w.web), tt.id, 10, 0)
		checkFault(t, "ListCohortPersons("+tt.id+")", err, tt.list)
		_, err = tt.w.AddCohortIDs(ctx, w.as(w.ada), ref(w.web), tt.id, listed("u"))
		checkFault(t, "AddCohortIDs("+tt.id+")", err, tt.edit)
		err = tt.w.AddCohortPersons(ctx, w.as(w.ada), ref(w.web), tt.id, management.CohortPersons{IDs: anyJSON([]string{})})
		checkFault(t, "AddCohortPersons("+tt.id+")", err, tt.edit)
	}
}

// Members of a dynamic cohort are found by evaluating all persons.
func TestDynamicMembers(t *testing.T) {
	w := newWorld(t, withData)
	for i := range 9 {
		w.capture(w.web, "x", fmt.Sprintf("u%d", i), fmt.Sprintf(`{"$set":{"plan":%q,"n":%d}}`, []string{"pro", "free"}[i%2], i))
	}
	w.capture(w.shop, "x", "foreign", `{"$set":{"plan":"pro"}}`)
	static := w.cohort(w.web, `{"name":"List","is_static":true}`)
	must(w.AddCohortIDs(t.Context(), w.as(w.ada), ref(w.web), static, listed("u1", "u2")))(t)
	for _, tt := range []struct{ filters, want string }{
		{pro, "u0 u2 u4 u6 u8"},
		{`{"properties":{"type":"OR","values":[{"key":"n","type":"person","operator":"gt","value":6},{"key":"id","type":"cohort","value":` + static + `}]}}`, "u1 u2 u7 u8"},
		{`{"properties":{"type":"AND","values":[{"key":"plan","type":"person","value":"pro","negation":true},{"key":"id","type":"cohort","value":` + static + `,"negation":true}]}}`, "u3 u5 u7"},
		{`{"properties":{"type":"AND","values":[{"key":"distinct_id","type":"person","value":"u5"}]}}`, "u5"},
		{`{"properties":{"type":"AND","values":[{"key":"created_at","type":"person_metadata","operator":"is_date_before","value":"2026-03-04T05:06:07.0025Z"}]}}`, "u0 u1"},
		{`{"properties":{"type":"OR","values":[{"type":"AND","values":[]}]}}`, "u0 u1 u2 u3 u4 u5 u6 u7 u8"},
		{`{"properties":{"type":"OR","values":[]}}`, ""},
	} {
		id := w.cohort(w.web, `{"name":"Dynamic","filters":`+tt.filters+`}`)
		if got := w.members(id); got != tt.want {
			t.Errorf("members of %s: %s, want %s", tt.filters, got, tt.want)
		}
		all := strings.Fields(tt.want)
		for _, window := range [][2]int{{2, 0}, {2, 2}, {2, 4}, {3, 99}, {0, 0}} {
			page := must(w.ListCohortPersons(t.Context(), w.as(w.ada), ref(w.web), id, window[0], window[1]))(t)
			from := min(window[1], len(all))
			var got []string
			for _, p := range page.Items {
				got = append(got, p.DistinctIDs...)
			}
			if want := all[from:min(from+window[0], len(all))]; strings.Join(got, " ") != strings.Join(want, " ") || page.Total != len(all) {
				t.Errorf("limit %d, offset %d of %s: %v of %d, want %v of %d", window[0], window[1], tt.filters, got, page.Total, want, len(all))
			}
		}
	}
}

// Cohorts are counted when they are new or have changed, and every hour.
func TestCountCohorts(t *testing.T) {
	w := newWorld(t, withData)
	ctx := t.Context()
	for i := range 5 {
		w.capture(w.web, "x", fmt.Sprintf("u%d", i), fmt.Sprintf(`{"$set":{"plan":%q}}`, []string{"pro", "free"}[i%2]))
	}
	w.capture(w.shop, "x", "foreign", `{"$set":{"plan":"pro"}}`)
	dynamic := w.cohort(w.web, `{"name":"Pro","filters":`+pro+`}`)
	user := w.cohort(w.web, `{"name":"User","filters":`+cohortOf(dynamic)+`}`)
	behavioral := w.cohort(w.web, `{"name":"Behavior","filters":`+behavior+`}`)
	static := w.cohort(w.web, `{"name":"List","is_static":true}`)
	must(w.AddCohortIDs(ctx, w.as(w.ada), ref(w.web), static, listed("u1")))(t)
	gone := w.cohort(w.web, `{"name":"Gone","filters":`+pro+`}`)
	must(w.changeCohort(gone, `{"deleted":true}`))(t)
	must(w.CreateCohort(ctx, w.as(w.dov), ref(w.shop), decode[management.CohortPatch](t, `{"name":"Foreign","filters":`+pro+`}`)))(t)
	counts := func() string {
		var all []string
		for _, c := range w.state().Cohorts {
			count := "unknown"
			switch {
			case c.Count != nil:
				count = strconv.Itoa(*c.Count)
			case c.Calculated == nil:
				count = "to be counted"
			}
			all = append(all, c.Name+" "+count)
		}
		return strings.Join(all, ", ")
	}
	check := func(when, want string) {
		t.Helper()
		if got := counts(); got != want {
			t.Errorf("%s: %s, want %s", when, got, want)
		}
	}
	count := func() {
		t.Helper()
		before := must(w.store.Versions(ctx))(t)
		activities := len(w.activities())
		w.ok(w.CountCohorts(ctx))
		if diff := cmp.Diff(before, must(w.store.Versions(ctx))(t)); diff != "" || len(w.activities()) != activities {
			t.Errorf("to count is a change (-before +after)\n%s", diff)
		}
	}
	check("before", "Pro to be counted, User to be counted, Behavior to be counted, List 1, Gone to be counted, Foreign to be counted")
	count()
	check("counted", "Pro 3, User 3, Behavior unknown, List 1, Gone to be counted, Foreign 1")
	if v := must(w.Cohort(ctx, w.as(w.ada), ref(w.web), dynamic))(t); v.IsCalculating || v.ErrorsCalculating != 0 || !v.LastCalculation.Equal(w.clock.Now()) {
		t.Errorf("a cohort that was counted: %+v", v)
	}
	if v := must(w.Cohort(ctx, w.as(w.ada), ref(w.web), behavioral))(t); v.IsCalculating || v.ErrorsCalculating != 1 || v.Count != nil {
		t.Errorf("a cohort that cannot be counted: %+v", v)
	}

	// Counts are good for an hour.
	w.capture(w.web, "x", "u5", `{"$set":{"plan":"pro"}}`)
	if _, _, err := w.store.AddCohortMembers(ctx, w.web.ID, 4, uuid.Nil, []string{"u5"}); err != nil {
		t.Fatal(err)
	}
	w.clock.advance(59 * time.Minute)
	count()
	check("within the hour", "Pro 3, User 3, Behavior unknown, List 1, Gone to be counted, Foreign 1")
	must(w.changeCohort(dynamic, `{"description":"what changes nobody"}`))(t)
	must(w.changeCohort(user, `{"filters":{"properties":{"type":"OR","values":[{"type":"AND","values":[]}]}}}`))(t)
	check("changed", "Pro 3, User to be counted, Behavior unknown, List 1, Gone to be counted, Foreign 1")
	count()
	check("counted because of the change", "Pro 3, User 6, Behavior unknown, List 1, Gone to be counted, Foreign 1")
	w.clock.advance(2 * time.Minute)
	count()
	check("after the hour", "Pro 4, User 6, Behavior unknown, List 2, Gone to be counted, Foreign 1")

	// What is due when the project goes.
	w.clock.advance(2 * time.Hour)
	w.ok(w.DeleteProject(ctx, w.as(w.dov), ref(w.shop)))
	count()
	if err := newWorld(t).CountCohorts(ctx); err != nil {
		t.Errorf("without persons: %v", err)
	}
}

// A count of what has changed meanwhile is not stored.
func TestCountOfWhatChanges(t *testing.T) {
	var w *world
	var id string
	change := func() {
		must(w.changeCohort(id, `{"filters":{"properties":{"type":"OR","values":[{"type":"AND","values":[]}]}}}`))(t)
	}
	w = newWorld(t, withData, func(c *management.Config) {
		c.Data = &countingData{Data: c.Data, before: func() {
			if change != nil {
				f := change
				change = nil
				f()
			}
		}}
	})
	w.capture(w.web, "x", "u", `{}`)
	id = w.cohort(w.web, `{"name":"Pro","filters":`+pro+`}`)
	w.ok(w.CountCohorts(t.Context()))
	if v := must(w.Cohort(t.Context(), w.as(w.ada), ref(w.web), id))(t); v.Count != nil || !v.IsCalculating {
		t.Errorf("count %v, calculating %t; want to count again", v.Count, v.IsCalculating)
	}
	w.ok(w.CountCohorts(t.Context()))
	if v := must(w.Cohort(t.Context(), w.as(w.ada), ref(w.web), id))(t); v.Count == nil || *v.Count != 1 {
		t.Errorf("count %v, want 1", v.Count)
	}
}

// Run counts a cohort as soon as it is made, for which nobody waits, and one
// process at a time.
func TestRunCountsCohorts(t *testing.T) {
	counted := make(chan struct{}, 1)
	w := newWorld(t, withData, func(c *management.Config) {
		c.Leader = c.Store.(storage.Leader)
		c.Store = &countedStore{c.Store, counted}
	})
	w.capture(w.web, "x", "u", `{"$set":{"plan":"pro"}}`)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	for range 3 {
		w.cohort(w.web, `{"name":"Pro","filters":`+pro+`}`)
		select {
		case <-counted:
		case <-time.After(30 * time.Second):
			t.Fatal("a new cohort is not counted")
		}
	}
	cancel()
	w.ok(<-done)
	if log := w.log.String(); log != "" {
		t.Errorf("log %s", log)
	}
}

// A countedStore tells when cohorts are counted.
type countedStore struct {
	storage.Store
	counted chan struct{}
}

func (s *countedStore) Atomic(ctx context.Context, f func(storage.Store) error) error {
	return s.Store.Atomic(ctx, func(store storage.Store) error { return f(&countedStore{store, s.counted}) })
}

func (s *countedStore) Cohorts() storage.Table[storage.Cohort] {
	return tapped[storage.Cohort]{Table: s.Store.Cohorts(), store: s.Store, touch: func(store storage.Store, ctx context.Context, c *storage.Cohort) error {
		err := store.Cohorts().Touch(ctx, c)
		s.counted <- struct{}{}
		return err
	}}
}

// TestRuling70Upload: a list that breaks off, with its client gone, leaves members, a
// count and an entry in the log that agree, and tells how far it came
// (management.md §13.10).
func TestRuling70Upload(t *testing.T) {
	w := newWorld(t, withData)
	id := w.cohort(w.web, `{"name":"List","is_static":true}`)
	told := func(want string) {
		t.Helper()
		out := must(w.CohortUpload(t.Context(), w.as(w.ada), ref(w.web), id))(t)
		if got := encode(t, out); got != want {
			t.Errorf("CohortUpload = %s, want %s", got, want)
		}
		v := must(w.Cohort(t.Context(), w.as(w.ada), ref(w.web), id))(t)
		if n := len(strings.Fields(w.members(id))); *v.Count != out.Count || n != min(out.Count, 1000) { // a page of them
			t.Errorf("count %d, %d members, want %d", *v.Count, n, out.Count)
		}
	}
	_, err := w.CohortUpload(t.Context(), w.as(w.ada), ref(w.web), id)
	checkFault(t, "CohortUpload before the first", err, "not found not_found")

	gone := errors.New("connection reset")
	for _, n := range []int{7, 5003} { // within the first part, and behind it
		ctx, cancel := context.WithCancel(t.Context())
		out, err := w.AddCohortIDs(ctx, w.as(w.ada), ref(w.web), id, func(yield func(string, error) bool) {
			for i := range n {
				if !yield(fmt.Sprint("u", i), nil) {
					t.Error("stopped")
					return
				}
			}
			cancel() // as net/http does when a client has gone
			yield("", gone)
		})
		if !errors.Is(err, gone) || out == nil || out.Received != n || out.Count != n || out.Complete {
			t.Errorf("AddCohortIDs of %d = %+v, %v", n, out, err)
		}
		told(fmt.Sprintf(`{"received":%d,"added":%d,"unknown":%d,"count":%d,"complete":false}`, n, out.Added, out.Added, n))
	}
	must(w.UpdateCohort(t.Context(), w.as(w.ada), ref(w.web), id, management.CohortPatch{Name: optional.Of("Other")}))(t)
	told(`{"received":5003,"added":4996,"unknown":4996,"count":5003,"complete":false}`)
	must(w.AddCohortIDs(t.Context(), w.as(w.ada), ref(w.web), id, listed("u1", "new")))(t)
	told(`{"received":2,"added":1,"unknown":1,"count":5004,"complete":true}`)
}
