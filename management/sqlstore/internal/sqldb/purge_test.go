package sqldb_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/sqlstore/internal/sqldb"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// TestPurgeInParts deletes a project with more events and persons than are
// deleted at once, while another project stays.
func TestPurgeInParts(t *testing.T) {
	skipUnderRace(t)
	const events = 2*sqldb.MostPurged + 10
	onEach(t, func(t *testing.T, d *database) {
		ctx, db := t.Context(), d.open(t)
		created, err := management.Bootstrap(ctx, db, management.First{})
		if err != nil {
			t.Fatal(err)
		}
		other := storage.NewProject(&created.Organization, "Other")
		if err := db.Projects().Create(ctx, other); err != nil {
			t.Fatal(err)
		}
		fill := func(project int64, n int) {
			t.Helper()
			list := make([]capture.Event, n)
			for i := range list {
				list[i] = event("page", fmt.Sprint("u", i), `{"$groups":{"company":"acme"}}`)
				list[i].Project = project
			}
			group := event("$groupidentify", "u0", `{"$group_type":"company","$group_key":"acme","$group_set":{"n":1}}`)
			group.Project = project
			write(t, db, append(list, group)...)
			if _, _, err := db.AddCohortMembers(ctx, project, 7, uuid.Nil, []string{"u0", "u1"}); err != nil {
				t.Fatal(err)
			}
			if err := db.Overrides(ctx, project, "u0", "h", []string{"f"}, func(string, string) {}); err != nil {
				t.Fatal(err)
			}
			flag := storage.Flag{Project: project, Key: "beta", Created: now, Updated: now}
			if err := db.Flags().Create(ctx, &flag); err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(
				db.Cohorts().Create(ctx, &storage.Cohort{Project: project, Created: now}),
				db.EarlyAccess().Create(ctx, &storage.EarlyAccessFeature{ID: uuid.New(), Project: project, Flag: flag.ID, Created: now}),
			); err != nil {
				t.Fatal(err)
			}
		}
		fill(created.Project.ID, events)
		fill(other.ID, 5)
		if err := db.Projects().Delete(ctx, storage.ProjectID.Is(created.Project.ID)); err != nil {
			t.Fatal(err)
		}
		if more, err := db.PurgeProjects(ctx, time.Now().Add(-time.Hour)); more || err != nil {
			t.Errorf("PurgeProjects of what was deleted an hour ago = %v, %v; want false, nil", more, err)
		}

		left := d.count(t, "SELECT count(*) FROM event")
		if left != events+1+6 {
			t.Errorf("%d events to begin with, want %d", left, events+1+6)
		}
		calls := 0
		for more := true; more; calls++ {
			if more, err = db.PurgeProjects(ctx, time.Now().Add(time.Hour)); err != nil {
				t.Fatal(err)
			}
			now := d.count(t, "SELECT count(*) FROM event")
			if left-now > sqldb.MostPurged {
				t.Errorf("%d events deleted at once, want at most %d", left-now, sqldb.MostPurged)
			}
			left = now
		}
		if calls != 3 {
			t.Errorf("%d calls, want 3", calls)
		}
		want := map[string]int{
			"event": 6, "person": 5, "person_distinct_id": 5, "group_type": 1, "group_entry": 1,
			"hash_key_override": 1, "cohort_member": 2, "deleted_project": 0,
			"feature_flag": 1, "feature_flag_version": 1, "cohort": 1, "early_access_feature": 1,
			"project_version": 2, // includes the version of the list of projects
		}
		for table, n := range want {
			if got := d.count(t, "SELECT count(*) FROM "+table); got != n {
				t.Errorf("%d rows of %s, want %d", got, table, n)
			}
		}
		if p, err := db.AppendPerson(ctx, nil, other.ID, "u0"); len(p) == 0 || err != nil {
			t.Errorf("person of the project that stays: %s, %v", p, err)
		}
		if more, err := db.PurgeProjects(ctx, time.Now().Add(time.Hour)); more || err != nil {
			t.Errorf("PurgeProjects again = %v, %v; want false, nil", more, err)
		}
	})
}
