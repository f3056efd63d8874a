package storetest

import (
	"testing"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/management/sqlstore"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

func testCohortPersons(t *testing.T, s *suite) {
	ctx := t.Context()
	s.write(t, s.event("$identify", "u", `{"$anon_distinct_id":"a"}`), s.event("page", "v", `{}`), s.event("page", "w", `{}`),
		elsewhere(s.event("page", "u", `{}`), 2))
	id := func(distinctID string) uuid.UUID { return s.whoIs(t, 1, distinctID).ID }
	u, v, w, foreign := id("u"), id("v"), id("w"), s.whoIs(t, 2, "u").ID
	check := func(uIs, vIs bool, others int) {
		t.Helper()
		n := others
		for distinctID, is := range map[string]bool{"u": uIs, "a": uIs, "v": vIs} {
			var cohorts []int64
			if is {
				cohorts = []int64{7}
			}
			want(t, "AppendCohorts of "+distinctID, cohorts)(s.AppendCohorts(ctx, nil, 1, distinctID))
		}
		for _, is := range []bool{uIs, vIs} {
			if is {
				n++
			}
		}
		for _, store := range []sqlstore.Storage{s.Storage, s.another(t)} {
			want(t, "CountCohort", n)(store.CountCohort(ctx, 1, 7))
			list, total, err := store.Persons(ctx, 1, storage.PersonFilter{Cohort: 7}, 100, 0)
			if len(list) != n || total != n || err != nil {
				t.Errorf("Persons of the cohort: %d, %d, %v; want %d", len(list), total, err, n)
			}
		}
		want(t, "CountCohort of another project", 0)(s.CountCohort(ctx, 2, 7))
		want(t, "CountCohort of another cohort", 0)(s.CountCohort(ctx, 1, 8))
	}
	check(false, false, 0)
	for range 2 { // persons who are members do not count
		n, err := s.AddCohortPersons(ctx, 1, 7, []uuid.UUID{u, uuid.New(), foreign, u, v})
		if n != 2 && n != 0 || err != nil {
			t.Errorf("AddCohortPersons = %d, %v", n, err)
		}
		check(true, true, 0)
	}
	want(t, "AddCohortPersons of nobody", 0)(s.AddCohortPersons(ctx, 1, 7, nil))
	want(t, "AddCohortPersons of another project", 0)(s.AddCohortPersons(ctx, 2, 7, []uuid.UUID{u}))
	want(t, "AddCohortPersons", 1)(s.AddCohortPersons(ctx, 1, 7, []uuid.UUID{u, w}))
	check(true, true, 1)
	want(t, "RemoveCohortPersons of another project", 0)(s.RemoveCohortPersons(ctx, 2, 7, []uuid.UUID{u, v}))
	want(t, "RemoveCohortPersons of another cohort", 0)(s.RemoveCohortPersons(ctx, 1, 8, []uuid.UUID{u, v}))
	want(t, "RemoveCohortPersons of nobody", 0)(s.RemoveCohortPersons(ctx, 1, 7, nil))
	check(true, true, 1)
	want(t, "RemoveCohortPersons", 2)(s.RemoveCohortPersons(ctx, 1, 7, []uuid.UUID{u, uuid.New(), foreign, w, u}))
	check(false, true, 0)
	want(t, "RemoveCohortPersons again", 0)(s.RemoveCohortPersons(ctx, 1, 7, []uuid.UUID{u}))

	// Both ways lead to the same members.
	want(t, "RemoveCohortPersons", 1)(s.RemoveCohortPersons(ctx, 1, 7, []uuid.UUID{v}))
	want(t, "AddCohortMembers", [2]int{1, 0})(both(s.AddCohortMembers(ctx, 1, 7, uuid.Nil, []string{"a"})))
	want(t, "AddCohortPersons", 0)(s.AddCohortPersons(ctx, 1, 7, []uuid.UUID{u}))
	check(true, false, 0)

	// Who became a member by a list leaves with it, and nobody else.
	first, second := uuid.New(), uuid.New()
	want(t, "AddCohortMembers of a list", [2]int{1, 0})(both(s.AddCohortMembers(ctx, 1, 7, first, []string{"a", "v"})))
	want(t, "AddCohortMembers of another list", [2]int{0, 0})(both(s.AddCohortMembers(ctx, 1, 7, second, []string{"v"})))
	check(true, true, 0)
	want(t, "RemoveCohortUpload of another list", 0)(s.RemoveCohortUpload(ctx, 1, 7, second))
	want(t, "RemoveCohortUpload of another cohort", 0)(s.RemoveCohortUpload(ctx, 1, 8, first))
	want(t, "RemoveCohortUpload of another project", 0)(s.RemoveCohortUpload(ctx, 2, 7, first))
	want(t, "RemoveCohortUpload of no list", 0)(s.RemoveCohortUpload(ctx, 1, 7, uuid.Nil))
	check(true, true, 0)
	want(t, "RemoveCohortUpload", 1)(s.RemoveCohortUpload(ctx, 1, 7, first))
	check(true, false, 0)
	want(t, "RemoveCohortUpload again", 0)(s.RemoveCohortUpload(ctx, 1, 7, first))

	// Many at once, more than a statement takes.
	var names []string
	for range 3000 {
		names = append(names, uuid.NewString())
	}
	want(t, "AddCohortMembers", [2]int{len(names), len(names)})(both(s.AddCohortMembers(ctx, 1, 9, uuid.Nil, names)))
	want(t, "AddCohortMembers of known and unknown ones", [2]int{4, 2})(both(s.AddCohortMembers(ctx, 1, 11, uuid.Nil, []string{"w", "x", names[0], "x", "y", names[0]})))
	list, total, err := s.Persons(ctx, 1, storage.PersonFilter{Cohort: 9}, 5000, 0)
	must(t, err)
	var ids []uuid.UUID
	for _, p := range list {
		ids = append(ids, p.ID)
	}
	if len(ids) != len(names) || total != len(names) {
		t.Fatalf("%d, %d persons, want %d", len(ids), total, len(names))
	}
	want(t, "AddCohortPersons", len(ids))(s.AddCohortPersons(ctx, 1, 10, ids))
	want(t, "RemoveCohortPersons", len(ids)-1)(s.RemoveCohortPersons(ctx, 1, 10, ids[1:]))
	want(t, "CountCohort", 1)(s.CountCohort(ctx, 1, 10))
	wantPage(t, "Persons", list[:1], 1)(s.Persons(ctx, 1, storage.PersonFilter{Cohort: 10}, 10, 0))
	wantPage(t, "Persons by ID", list[:2], len(list))(s.Persons(ctx, 1, storage.PersonFilter{IDs: ids}, 2, 0))
}

// both makes one value of two numbers.
func both(a, b int, err error) ([2]int, error) { return [2]int{a, b}, err }
