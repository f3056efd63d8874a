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
	if err := db.CreateUser(ctx, &ann); err != nil {
		t.Fatal(err)
	}
	if err := db.AddActivity(ctx, &storage.Activity{ID: uuid.New(), Project: new(int64(1)), Organization: new(uuid.UUID), Scope: "s", ItemID: "i", Created: now}); err != nil {
		t.Fatal(err)
	}
	users, organizations := []int64{ann.ID}, []uuid.UUID{uuid.New()}
	ignore := func(any, ...any) {}
	ignore(db.UserByUUID(ctx, ann.UUID))
	ignore(db.UserByEmail(ctx, ann.Email))
	ignore(db.UsersByID(ctx, users))
	for _, f := range []storage.UserFilter{{}, {Staff: new(false)}, {ID: &ann.ID}, {Email: &ann.Email, Staff: new(false)}} {
		if _, total, err := db.Users(ctx, f, 100, 0); total != 1 || err != nil {
			t.Fatalf("Users: %d, %v; want 1, nil", total, err)
		}
	}
	ignore(db.Scenes(ctx, users))
	ignore(db.KeyByHash(ctx, ""))
	ignore(db.Keys(ctx, ann.ID))
	ignore(db.WithTOTP(ctx, users))
	ignore(db.BackupCodes(ctx, ann.ID))
	ignore(db.OrganizationsByID(ctx, organizations))
	ignore(db.MembershipsOf(ctx, users))
	ignore(db.Members(ctx, organizations[0]))
	ignore(db.CountMembers(ctx, organizations))
	ignore(db.ProjectsOf(ctx, organizations))
	ignore(db.ProjectByKey(ctx, ""))
	ignore(db.ProjectBySecret(ctx, ""))
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
	if err := errors.Join(db.CreateOrganization(ctx, o), db.CreateProject(ctx, p)); err != nil {
		t.Fatal(err)
	}
	project := p.ID
	if err := db.CreateFlag(ctx, &storage.Flag{Project: project, Key: "beta", Created: now, Updated: now}); err != nil {
		t.Fatal(err)
	}
	no := new(false)
	for _, f := range []storage.FlagFilter{{}, {Active: no}, {Archived: no}, {Active: no, Archived: no}, {Key: "Beta", Active: no, Archived: no}} {
		if _, total, err := db.FindFlags(ctx, project, f, 100, 0); total != 1 || err != nil {
			t.Fatalf("FindFlags: %d, %v; want 1, nil", total, err)
		}
	}
	ignore := func(any, error) {}
	ignore(db.Flag(ctx, project, 1))
	ignore(db.FlagByKey(ctx, project, "beta"))
	ignore(db.Flags(ctx, project))
	ignore(db.FlagDefinitions(ctx, project))
	ignore(db.Cohort(ctx, project, 1))
	ignore(db.Cohorts(ctx, project))
	ignore(db.EarlyAccessFeature(ctx, project, uuid.New()))
	ignore(db.EarlyAccessFeatures(ctx, project))
	ignore(db.Versions(ctx))
}
