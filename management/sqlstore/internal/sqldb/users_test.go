package sqldb_test

import (
	"errors"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/management/sqlstore"
	"github.com/flagstaff-go/flagstaff/management/sqlstore/internal/sqldb"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// TestQueryPlans checks that queries about accounts and managed data use
// indexes, and that pages need no sorting.
func TestQueryPlans(t *testing.T) {
	ctx, path := t.Context(), filepath.Join(t.TempDir(), "x.db")
	db := open(t, path, sqlstore.Options{})
	ann := storage.User{UUID: uuid.New(), DistinctID: "d", Email: "ann@example.com", Active: true, Joined: now}
	if err := db.Users().Create(ctx, &ann); err != nil {
		t.Fatal(err)
	}
	if err := db.AddActivity(ctx, &storage.Activity{ID: uuid.New(), Project: new(int64(1)), Organization: new(uuid.UUID), Scope: "s", ItemID: "i", Created: now}); err != nil {
		t.Fatal(err)
	}
	users, organizations := []int64{ann.ID}, []uuid.UUID{uuid.New()}
	ignore := func(any, ...any) {}
	ignore(db.Users().Get(ctx, storage.UserUUID.Is(ann.UUID)))
	ignore(db.Users().Get(ctx, storage.UserEmail.Is(ann.Email)))
	ignore(db.Users().List(ctx, storage.UserID.In(users)))
	for _, f := range []storage.UserFilter{{}, {Staff: new(false)}, {ID: &ann.ID}, {Email: &ann.Email, Staff: new(false)}} {
		if _, total, err := db.Users().Page(ctx, 100, 0, f.Where()...); total != 1 || err != nil {
			t.Fatalf("Users: %d, %v; want 1, nil", total, err)
		}
	}
	ignore(db.Scenes().List(ctx, storage.SceneUser.In(users)))
	ignore(db.Keys().Get(ctx, storage.KeyHash.Is("")))
	ignore(db.Keys().List(ctx, storage.KeyUser.Is(ann.ID)))
	ignore(db.TOTPs().List(ctx, storage.TOTPUser.In(users)))
	ignore(db.BackupCodes().List(ctx, storage.BackupCodeUser.Is(ann.ID)))
	ignore(db.Organizations().List(ctx, storage.OrganizationID.In(organizations)))
	ignore(db.Memberships().List(ctx, storage.MembershipUser.In(users)))
	ignore(db.Memberships().List(ctx, storage.MembershipOrganization.Is(organizations[0])))
	ignore(db.CountMembers(ctx, organizations))
	ignore(db.Projects().List(ctx, storage.ProjectOrganization.In(organizations)))
	ignore(db.Projects().Get(ctx, storage.ProjectKey.Is("")))
	ignore(storage.ProjectBySecret(ctx, db, ""))
	askManaged(t, db)
	for _, f := range []storage.ActivityFilter{
		{}, {Project: new(int64(1)), Scope: "s"}, {Project: new(int64(1)), Scope: "s", ItemID: "i"}, {Organization: new(uuid.UUID), Scope: "s"},
	} {
		if _, total, err := db.Activities(ctx, f, 100, 0); total != 1 || err != nil {
			t.Fatalf("Activities: %d, %v; want 1, nil", total, err)
		}
	}

	raw := openRaw(t, "sqlite", path)
	indexed := regexp.MustCompile(`^(SEARCH .*|SCAN \S+ USING (COVERING )?INDEX \w+|SCAN project_version|MULTI-INDEX OR|INDEX \d|CREATE BLOOM FILTER|SCAN json_each VIRTUAL TABLE .*|SCAN CONSTANT ROW|(CORRELATED )?(LIST|SCALAR) SUBQUERY \d+)$`)
	for _, query := range db.Queries() {
		rows, err := raw.QueryContext(ctx, "EXPLAIN QUERY PLAN "+query, make([]any, strings.Count(query, "?"))...)
		if err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		for rows.Next() {
			var a, b, c int
			var step string
			if err := rows.Scan(&a, &b, &c, &step); err != nil {
				t.Fatal(err)
			}
			// Queries by lists, and for the members of an organization, select
			// few rows, which are sorted.
			sorted := strings.HasPrefix(step, "USE TEMP B-TREE") && !strings.Contains(query, "LIMIT")
			if !indexed.MatchString(step) && !sorted {
				t.Errorf("%s\n\t%s", query, step)
			}
		}
		if err := rows.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(db.Queries()); n < 45 {
		t.Errorf("%d queries, want all", n)
	}
}

// askManaged makes the queries about the managed data of a project.
func askManaged(t *testing.T, db *sqldb.DB) {
	t.Helper()
	ctx := t.Context()
	o := storage.NewOrganization("Acme")
	p := storage.NewProject(o, "Shop")
	if err := errors.Join(db.Organizations().Create(ctx, o), db.Projects().Create(ctx, p)); err != nil {
		t.Fatal(err)
	}
	project := p.ID
	if err := db.Flags().Create(ctx, &storage.Flag{Project: project, Key: "beta", Created: now, Updated: now}); err != nil {
		t.Fatal(err)
	}
	no := new(false)
	for _, f := range []storage.FlagFilter{{}, {Active: no}, {Archived: no}, {Active: no, Archived: no}, {Key: "Beta", Active: no, Archived: no}} {
		if _, total, err := db.Flags().Page(ctx, 100, 0, f.Where(project)...); total != 1 || err != nil {
			t.Fatalf("Flags.Page: %d, %v; want 1, nil", total, err)
		}
	}
	ignore := func(any, error) {}
	ignore(db.Flags().Get(ctx, storage.FlagProject.Is(project), storage.FlagID.Is(1)))
	ignore(db.Flags().Get(ctx, storage.FlagProject.Is(project), storage.FlagKey.Is("beta"), storage.FlagDeleted.Is(false)))
	ignore(db.CalledFlags(ctx, project))
	ignore(db.FlagDefinitions(ctx, project))
	ignore(db.Cohorts().Get(ctx, storage.CohortProject.Is(project), storage.CohortID.Is(1)))
	ignore(db.Cohorts().List(ctx, storage.CohortProject.Is(project), storage.CohortDeleted.Is(false)))
	ignore(db.EarlyAccess().Get(ctx, storage.FeatureProject.Is(project), storage.FeatureID.Is(uuid.New())))
	ignore(db.EarlyAccess().List(ctx, storage.FeatureProject.Is(project)))
	ignore(db.Versions(ctx))
}
