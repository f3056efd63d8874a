package storetest

import (
	"testing"
	"time"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/management/sqlstore"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// criteriaOf reads the filters of a cohort, of which what cannot be understood is
// kept.
func criteriaOf(raw string) *flags.CohortNode {
	tree, _ := flags.DecodeCohort([]byte(raw), 1)
	return tree
}

func testCohortRecords(t *testing.T, s *suite) {
	ctx := t.Context()
	o := s.organization(t, "acme")
	p, q := s.project(t, o), s.project(t, o)
	ann := s.user(t, "ann")
	full := storage.Cohort{
		Project: p.ID, Name: "Zoë 💥", Description: "it's \"quoted\" \\ ; --", Criteria: criteriaOf(`{"properties":{"type":"OR","values":[{"key":"\u0000","type":"person","value":[1.50,12345678901234567890],"label":"x"}],"name":null}}`),
		Static: true, Deleted: true, Count: new(1<<31 - 1), Calculated: new(s.now.Add(time.Hour)), CreatedBy: &ann.ID, Created: s.now.Add(-time.Hour),
	}
	wantAllSet(t, full, "ID")
	bare, other := storage.Cohort{Project: p.ID, Created: s.now}, storage.Cohort{Project: q.ID, Created: s.now}
	unreadable := storage.Cohort{Project: p.ID, Criteria: criteriaOf(`{"properties":{"type":"OR","values":[1.50]}}`), Created: s.now}
	all := []*storage.Cohort{&full, &bare, &other, &unreadable}
	for _, c := range all {
		given := *c
		must(t, s.Cohorts().Create(ctx, &given))
		c.ID = given.ID
		given.Name = "the caller's copy"
	}
	if full.ID < 1 || bare.ID <= full.ID || other.ID <= bare.ID {
		t.Errorf("cohort IDs %d, %d, %d; want ascending ones from 1 on", full.ID, bare.ID, other.ID)
	}
	check := func() {
		t.Helper()
		for _, store := range []sqlstore.Storage{s.Storage, s.another(t)} {
			lists := make(map[int64][]storage.Cohort)
			for _, c := range all {
				want(t, "Cohort", c)(store.Cohorts().Get(ctx, storage.CohortProject.Is(c.Project), storage.CohortID.Is(c.ID)))
				if !c.Deleted {
					lists[c.Project] = append(lists[c.Project], *c)
				}
			}
			for _, project := range []int64{p.ID, q.ID, 99} {
				want(t, "Cohorts", lists[project])(store.Cohorts().List(ctx, storage.CohortProject.Is(project), storage.CohortDeleted.Is(false)))
			}
		}
	}
	check()
	wantErr(t, "Cohort of another project", storage.ErrNotFound)(s.Cohorts().Get(ctx, storage.CohortProject.Is(q.ID), storage.CohortID.Is(full.ID)))
	wantErr(t, "Cohort that is unknown", storage.ErrNotFound)(s.Cohorts().Get(ctx, storage.CohortProject.Is(p.ID), storage.CohortID.Is(99)))
	moved := other
	moved.Project = p.ID
	for call, err := range map[string]error{
		"Cohorts.Create of no project":      s.Cohorts().Create(ctx, &storage.Cohort{Project: 99, Created: s.now}),
		"Cohorts.Create by nobody":          s.Cohorts().Create(ctx, &storage.Cohort{Project: p.ID, CreatedBy: new(int64(99)), Created: s.now}),
		"Cohorts.Update by nobody":          s.Cohorts().Update(ctx, &storage.Cohort{ID: bare.ID, Project: p.ID, CreatedBy: new(int64(99)), Created: s.now}),
		"Cohorts.Update of another project": s.Cohorts().Update(ctx, &moved),
		"Cohorts.Update of none":            s.Cohorts().Update(ctx, &storage.Cohort{ID: 99, Project: p.ID, Created: s.now}),
	} {
		wantError(t, call, storage.ErrNotFound, err)
	}
	check()
	before := full
	full = storage.Cohort{ID: full.ID, Project: p.ID, Created: s.now}
	must(t, s.Cohorts().Update(ctx, &full))
	before.ID = bare.ID
	bare = before
	must(t, s.Cohorts().Update(ctx, &bare))
	check()
	for bit := range 4 {
		alternate(&full, bit)
		must(t, s.Cohorts().Update(ctx, &full))
		want(t, "Cohort", &full)(s.Cohorts().Get(ctx, storage.CohortProject.Is(p.ID), storage.CohortID.Is(full.ID)))
	}
}
