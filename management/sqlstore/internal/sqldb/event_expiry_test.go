package sqldb_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/management/sqlstore/internal/sqldb"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// TestExpireEvents deletes old events. They stay deleted
// when a client sends them again.
func TestExpireEvents(t *testing.T) {
	const day = 24 * time.Hour
	onEach(t, func(t *testing.T, d *database) {
		ctx, db := t.Context(), d.open(t)
		old := make([]capture.Event, sqldb.MostExpired+50)
		for i := range old {
			old[i] = event("page", fmt.Sprint("u", i%3), `{"$process_person_profile":false}`)
			old[i].Time = now.Add(-10 * day)
		}
		named := event("named", "u0", `{"$set":{"plan":"old"}}`)
		named.Time = now.Add(-5*day - 6*time.Hour) // the evening before
		other := named
		other.Project = 2
		young := event("named", "u0", `{"$set":{"plan":"new"}}`)
		young.Time = now.Truncate(day).Add(-5 * day) // its day is kept
		shown, sent, again := event("shown", "u0", "{}"), event("sent", "u1", "{}"), event("sent", "u2", "{}")
		shown.Time, sent.Time = now.Add(-9*day), now.Add(-9*day)
		write(t, db, old...)
		write(t, db, named, other, young, shown, sent, again)
		for more, tries := true, 0; more || tries < 2; tries++ {
			var err error
			if more, err = db.Index(ctx); err != nil {
				t.Fatal(err)
			}
		}
		expire := func(rule storage.EventExpiry, want ...int) {
			t.Helper()
			var got []int
			for more := true; more; {
				var n int
				var err error
				if n, more, err = db.ExpireEvents(ctx, rule); err != nil {
					t.Fatal(err)
				}
				if n > 0 {
					got = append(got, n)
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("ExpireEvents deletes (-want +got)\n%s", diff)
			}
		}
		left := func(want string) {
			t.Helper()
			blocks := d.count(t, "SELECT count(*) FROM event_block WHERE NOT EXISTS (SELECT 1 FROM event WHERE id BETWEEN first_id AND last_id)")
			p, err := db.PersonByDistinctID(ctx, 1, "u0")
			if err != nil {
				t.Fatal(err)
			}
			got := fmt.Sprintf("%d events, person %s", d.count(t, "SELECT count(*) FROM event"), p.Properties)
			if got != want || blocks > 0 {
				t.Errorf("left are %s and %d empty blocks, want %s", got, blocks, want)
			}
		}
		all := fmt.Sprint(len(old) + 6)
		left(all + ` events, person {"plan":"new"}`)
		forAll := func(before time.Time) storage.EventExpiry { return storage.EventExpiry{Before: before} }
		expire(forAll(now.Add(-20 * day)))
		for _, rule := range []storage.EventExpiry{forAll(time.Now().Add(-time.Hour)), {Projects: map[int64]time.Time{1: time.Now().Add(-time.Hour)}}} {
			if _, _, err := db.ExpireEvents(ctx, rule); err == nil {
				t.Errorf("ExpireEvents of today succeeds: %+v", rule)
			}
		}
		expire(forAll(now.Add(-5*day)), sqldb.MostExpired, 53, 1)
		const rest = `2 events, person {"plan":"new"}`
		left(rest)

		write(t, db, named, young, shown, sent, old[0])
		write(t, db, sent)
		left(rest)
		skipped := func(repeated, tooOld uint64) {
			t.Helper()
			if r, o := db.SkippedEvents(); r != repeated || o != tooOld {
				t.Errorf("%d repeated events and %d that are too old are skipped, want %d and %d", r, o, repeated, tooOld)
			}
		}
		skipped(1, 5)                     // young; named, shown, old and twice sent
		late := event("late", "u0", `{}`) // comes with old ones, and is new itself
		late.Time = young.Time.Add(time.Hour)
		write(t, db, named, late)
		left("3" + rest[1:])
		skipped(1, 6)
		list, _, err := db.FindEvents(ctx, 1, storage.EventFilter{DistinctID: "u0"}, storage.EventPlace{}, 10)
		if len(list) != 2 || err != nil || list[0].Name != "late" {
			t.Errorf("FindEvents = %+v, %v", list, err)
		}

		// Events are kept for longer, and then for ever.
		expire(forAll(now.Add(-7 * day)))
		write(t, db, shown, named)
		left(`4 events, person {"plan":"old"}`)
		expire(storage.EventExpiry{})
		write(t, db, shown)
		left(`5 events, person {"plan":"old"}`)
	})
}

// TestExpireEventsOfProjects: a project may keep its events for less time than the others,
// and for no longer. What the rule of one project deletes can come again in the others.
func TestExpireEventsOfProjects(t *testing.T) {
	const day = 24 * time.Hour
	onEach(t, func(t *testing.T, d *database) {
		ctx, db := t.Context(), d.open(t)
		var list []capture.Event
		for project := range int64(3) {
			for _, age := range []time.Duration{5, 15, 25} {
				e := event(fmt.Sprint(int(age)), "u", `{}`)
				e.Project, e.Time = project+1, now.Add(-age*day)
				list = append(list, e)
			}
		}
		write(t, db, list...)
		for _, step := range []struct {
			rule storage.EventExpiry
			want string // how many events each project has afterwards, when all were sent again
		}{
			{storage.EventExpiry{Projects: map[int64]time.Time{2: now.Add(-10 * day), 9: now.Add(-10 * day)}}, "3 1 3"},
			{storage.EventExpiry{Before: now.Add(-20 * day), Projects: map[int64]time.Time{2: now.Add(-10 * day), 3: now.Add(-30 * day)}}, "2 1 2"},
			{storage.EventExpiry{Projects: map[int64]time.Time{1: now.Add(-10 * day), 2: now.Add(-20 * day)}}, "1 2 3"},
			{storage.EventExpiry{}, "3 3 3"},
		} {
			for more := true; more; {
				var err error
				if _, more, err = db.ExpireEvents(ctx, step.rule); err != nil {
					t.Fatal(err)
				}
			}
			write(t, db, list...)
			var counts []int
			for project := range 3 {
				counts = append(counts, d.count(t, fmt.Sprintf("SELECT count(*) FROM event WHERE project_id = %d", project+1)))
			}
			if got := strings.Trim(fmt.Sprint(counts), "[]"); got != step.want {
				t.Errorf("%+v: %s events are left, want %s", step.rule, got, step.want)
			}
		}
	})
}
