package sqldb_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/management/sqlstore/internal/sqldb"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// TestUpgrade opens a store of the first release, by undoing the changes of its
// schema and making them again.
func TestUpgrade(t *testing.T) {
	onEach(t, func(t *testing.T, d *database) {
		const organization, project = "11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"
		at, id := "1772600767000890", "x'33333333333343338333333333333333'"
		if d.postgres {
			at, id = "'2026-03-04T05:06:07.00089Z'", "'33333333-3333-4333-8333-333333333333'"
		}
		d.migrate(t, 1)
		d.exec(t,
			fmt.Sprintf("INSERT INTO organization (id, name, slug, created_at, updated_at) VALUES ('%s', 'Acme', 'acme', %s, %[2]s)", organization, at),
			fmt.Sprintf(`INSERT INTO project (uuid, organization_id, name, api_token, secret_token_hash, timezone, anonymize_ips, created_at, updated_at)
				VALUES ('%s', '%s', 'Shop', 'phc_shop', 'sha256$1', 'Europe/Zurich', true, %s, %[3]s)`, project, organization, at),
			fmt.Sprintf(`INSERT INTO event (project_id, uuid, hash, name, distinct_id, ts, received_at, properties)
				VALUES (1, %s, 7, 'page', 'u', %s, %[2]s, '{}')`, id, at),
			fmt.Sprintf("INSERT INTO person (id, project_id, properties, is_identified, created_at) VALUES (%s, 1, '{\"a\":1}', false, %s)", id, at),
			fmt.Sprintf("INSERT INTO person_distinct_id (project_id, distinct_id, person_id) VALUES (1, 'u', %s)", id),
		)
		want := *storage.NewOrganization("Acme")
		want.ID, want.Created, want.Updated = uuid.MustParse(organization), now, now
		wantProject := storage.Project{
			ID: 1, UUID: uuid.MustParse(project), Organization: want.ID, Name: "Shop", APIKey: "phc_shop", SecretHash: "sha256$1",
			Timezone: "Europe/Zurich", AnonymizeIPs: true, Created: now, Updated: now,
		}
		check := func(db *sqldb.DB) {
			t.Helper()
			organizations, err := db.Organizations().List(t.Context())
			if diff := cmp.Diff([]storage.Organization{want}, organizations); err != nil || diff != "" {
				t.Errorf("Organizations: %v (-want +got)\n%s", err, diff)
			}
			projects, err := db.Projects().List(t.Context())
			if diff := cmp.Diff([]storage.Project{wantProject}, projects); err != nil || diff != "" {
				t.Errorf("Projects: %v (-want +got)\n%s", err, diff)
			}
			events := 0
			for e, err := range db.AllEvents(t.Context(), 1, storage.EventFilter{}) {
				events++
				if err != nil || e.DistinctID != "u" || !e.Time.Equal(now) {
					t.Errorf("event %+v, %v", e, err)
				}
			}
			wantDefinitions := []storage.Definition{{Name: "page", First: now, Last: now}}
			var definitions []storage.Definition // of events from before there were any
			for deadline := time.Now().Add(time.Minute); len(definitions) == 0 && time.Now().Before(deadline); {
				if _, err := db.DefineEvents(t.Context()); err != nil { // which waits for transactions of others
					t.Fatal(err)
				}
				if definitions, _, err = db.Definitions(t.Context(), 1, storage.DefinesEvent, "", 10, 0); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(wantDefinitions, definitions); diff != "" {
				t.Errorf("Definitions (-want +got)\n%s", diff)
			}
			properties, err := db.AppendPerson(t.Context(), nil, 1, "u")
			if events != 1 || string(properties) != `{"a":1}` || err != nil {
				t.Errorf("%d events, person %s, %v", events, properties, err)
			}
		}

		db := d.open(t)
		check(db)
		ann := storage.User{UUID: uuid.New(), DistinctID: "ann", Email: "ann@example.com", Active: true, Joined: now, CurrentOrganization: &want.ID}
		if err := db.Users().Create(t.Context(), &ann); err != nil {
			t.Fatal(err)
		}
		d.migrate(t, 1)
		d.migrate(t, 2)
		again := d.open(t)
		check(again)
		if _, total, err := again.Users().Page(t.Context(), 1, 0, storage.UserFilter{}.Where()...); total != 0 || err != nil {
			t.Errorf("%d users, %v; want none: their table is new", total, err)
		}
		if err := again.Users().Create(t.Context(), &ann); err != nil {
			t.Errorf("Users.Create: %v", err)
		}
	})
}

// TestUpgradeCounts opens a store whose schema has no counts yet, and changes what is
// counted.
func TestUpgradeCounts(t *testing.T) {
	onEach(t, func(t *testing.T, d *database) {
		ctx := t.Context()
		acme, other := uuid.New(), uuid.New()
		time := "1772600767000890"
		if d.postgres {
			time = "'2026-03-04T05:06:07.00089Z'"
		}
		d.migrate(t, 2)
		for _, id := range []uuid.UUID{acme, other} {
			d.exec(t, fmt.Sprintf("INSERT INTO organization (id, name, slug, created_at, updated_at) VALUES ('%s', 'Acme', '%[1]s', %[2]s, %[2]s)", id, time))
		}
		d.exec(t, fmt.Sprintf(`INSERT INTO project (uuid, organization_id, name, api_token, secret_token_prev_hash, survey_config, created_at, updated_at)
			VALUES ('%s', '%s', 'Shop', 'phc_shop', 'sha256$1', '{"appearance":{}}', %s, %[3]s)`, uuid.New(), acme, time))
		for i, u := range []struct {
			active, staff bool
			in            []uuid.UUID
		}{{true, true, []uuid.UUID{acme, other}}, {true, false, []uuid.UUID{acme}}, {true, false, nil}, {false, true, []uuid.UUID{acme, other}}, {false, false, nil}} {
			d.exec(t, fmt.Sprintf(`INSERT INTO user_account (uuid, distinct_id, email, first_name, last_name, is_active, is_staff, date_joined)
				VALUES ('%s', 'd%d', '%[2]d@example.com', '', '', %[3]v, %[4]v, %[5]s)`, uuid.New(), i+1, u.active, u.staff, time))
			for _, id := range u.in {
				d.exec(t, fmt.Sprintf(`INSERT INTO organization_membership (id, organization_id, user_id, level, joined_at, updated_at)
					VALUES ('%s', '%s', %d, 1, %s, %[4]s)`, uuid.New(), id, i+1, time))
			}
		}

		db := d.open(t)
		check := func(all, staff, ofAcme, ofOther int) {
			t.Helper()
			_, gotAll, err1 := db.Users().Page(ctx, 1, 0, storage.UserFilter{}.Where()...)
			_, gotStaff, err2 := db.Users().Page(ctx, 1, 0, storage.UserFilter{Staff: new(true)}.Where()...)
			members, err3 := db.CountMembers(ctx, []uuid.UUID{acme, other})
			if err := errors.Join(err1, err2, err3); err != nil || gotAll != all || gotStaff != staff || members[acme] != ofAcme || members[other] != ofOther {
				t.Errorf("%d users, %d of the staff, %d and %d members, %v; want %d, %d, %d, %d", gotAll, gotStaff, members[acme], members[other], err, all, staff, ofAcme, ofOther)
			}
		}
		check(3, 1, 2, 1)
		u, err := db.Users().Get(ctx, storage.UserID.Is(4))
		if err != nil {
			t.Fatal(err)
		}
		u.Active = true
		if err := db.Users().Update(ctx, u); err != nil {
			t.Fatal(err)
		}
		check(4, 2, 3, 2)

		p, err := storage.ProjectBySecret(ctx, db, "sha256$1")
		if err != nil || p.BucketingHash != "" || string(p.SurveyConfig) != `{"appearance":{}}` {
			t.Fatalf("ProjectBySecret = %+v, %v", p, err)
		}
		f := storage.Flag{Project: p.ID, Key: "beta", CreatedBy: &u.ID, Created: now, Updated: now}
		if err := db.Flags().Create(ctx, &f); err != nil {
			t.Fatal(err)
		}
		if _, total, err := db.Flags().Page(ctx, 1, 0, storage.FlagFilter{}.Where(p.ID)...); total != 1 || err != nil {
			t.Errorf("Flags.Page: total %d, %v; want 1", total, err)
		}
	})
}

// TestUpgradeSent opens a store that has what clients have sent in a column of its own: it is
// kept in the filters, where it says what they say.
func TestUpgradeSent(t *testing.T) {
	onEach(t, func(t *testing.T, d *database) {
		ctx := t.Context()
		d.migrate(t, 1000)
		db := d.open(t)
		o := storage.NewOrganization("Acme")
		p := storage.NewProject(o, "Shop")
		if err := errors.Join(db.Organizations().Create(ctx, o), db.Projects().Create(ctx, p)); err != nil {
			t.Fatal(err)
		}
		tests := []struct{ stored, sent, want string }{
			{`{"groups":[]}`, ``, `{"groups":[]}`},
			{
				`{"groups":[{"properties":[{"key":"7","value":true,"operator":"flag_evaluates_to","type":"flag"}],"rollout_percentage":50},{"properties":[]}],"payloads":{"true":"{\"a\":1}"}}`,
				`{"groups":[{"label":"x","properties":[{"key":"base","type":"flag","operator":"flag_evaluates_to","value":true,"dependency_chain":[],"label":1}],"rollout_percentage":5e1},{"variant":null}],"payloads":{"true":{"a":1}},"holdout":null,"y":2}`,
				`{"groups":[{"properties":[{"key":"7","value":true,"operator":"flag_evaluates_to","type":"flag","label":1}],"rollout_percentage":50,"label":"x"},{"variant":null}],"payloads":{"true":{"a":1}},"holdout":null,"y":2}`,
			},
			{
				`{"groups":[{"properties":[]}],"multivariate":{"variants":[{"key":"a","rollout_percentage":100}]},"payloads":{"a":"sealed:x"}}`,
				`{"groups":[{}],"multivariate":{"variants":[{"key":"a","rollout_percentage":100,"name":null}]}}`,
				`{"groups":[{}],"multivariate":{"variants":[{"key":"a","rollout_percentage":100,"name":null}]},"payloads":{"a":"sealed:x"}}`,
			},
			{`{"groups":[{"properties":[],"rollout_percentage":100}]}`, `{"groups":[],"x":1}`, `{"groups":[{"properties":[],"rollout_percentage":100}],"x":1}`},
			{`{"groups":7}`, `{"groups":7}`, `{"groups":7}`},
		}
		for i := range tests {
			f := storage.NewFlag(p.ID, now)
			f.Key = fmt.Sprint("flag-", i)
			if err := db.Flags().Create(ctx, f); err != nil {
				t.Fatal(err)
			}
		}
		c := storage.Cohort{Project: p.ID, Name: "c", Created: now}
		if err := db.Cohorts().Create(ctx, &c); err != nil {
			t.Fatal(err)
		}
		d.migrate(t, 18)
		quoted := func(s string) string {
			if s == "" {
				return "NULL"
			}
			return "'" + s + "'"
		}
		for i, tt := range tests {
			d.exec(t,
				fmt.Sprintf("UPDATE feature_flag SET filters = %s, filters_sent = %s WHERE key = 'flag-%d'", quoted(tt.stored), quoted(tt.sent), i),
				fmt.Sprintf("UPDATE feature_flag_version SET filters = %s, filters_sent = %s WHERE key = 'flag-%d'", quoted(tt.stored), quoted(tt.sent), i))
		}
		d.exec(t, `UPDATE cohort SET filters = '{"properties":{"type":"OR","values":[{"key":"a","value":1,"type":"person"}]}}',
			filters_sent = '{"properties":{"values":[{"key":"a","value":1,"type":"person","label":"x"}],"type":"or","id":"g"}}'`)
		db = d.open(t)
		for i, tt := range tests {
			f, err := db.Flags().Get(ctx, storage.FlagProject.Is(p.ID), storage.FlagKey.Is(fmt.Sprint("flag-", i)), storage.FlagDeleted.Is(false))
			if err != nil {
				t.Fatal(err)
			}
			v, err := db.FlagVersions().Get(ctx, storage.FlagProject.Is(p.ID), storage.VersionOf.Is(f.ID), storage.FlagVersion.Is(f.Version))
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range []*storage.Flag{f, v} {
				if got, err := f.Filters.MarshalJSON(); string(got) != tt.want || err != nil {
					t.Errorf("%s, sent as %s, is %s, %v; want %s", tt.stored, tt.sent, got, err, tt.want)
				}
			}
		}
		const want = `{"properties":{"type":"OR","values":[{"key":"a","value":1,"type":"person","label":"x"}],"id":"g"}}`
		cohort, err := db.Cohorts().Get(ctx, storage.CohortProject.Is(p.ID), storage.CohortID.Is(c.ID))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := cohort.Criteria.Encode(); string(got) != want || err != nil {
			t.Errorf("cohort %s, %v; want %s", got, err, want)
		}
	})
}

// TestUpgradeVersions opens a store that has kept no versions of its flags: the version
// that a flag has is the first one that is known.
func TestUpgradeVersions(t *testing.T) {
	onEach(t, func(t *testing.T, d *database) {
		ctx := t.Context()
		d.migrate(t, 1000)
		db := d.open(t)
		o := storage.NewOrganization("Acme")
		p := storage.NewProject(o, "Shop")
		if err := errors.Join(db.Organizations().Create(ctx, o), db.Projects().Create(ctx, p)); err != nil {
			t.Fatal(err)
		}
		f := storage.NewFlag(p.ID, now)
		f.Key, f.Name, f.Version, f.Tags, f.Deleted, f.Updated = "beta", "B", 7, []string{"t"}, true, now.AddDate(0, 0, 1)
		if err := db.Flags().Create(ctx, f); err != nil {
			t.Fatal(err)
		}
		f.Name, f.Version = "later", 8
		if err := db.Flags().Update(ctx, f); err != nil {
			t.Fatal(err)
		}
		d.migrate(t, 9)
		db = d.open(t)
		list, total, err := db.FlagVersions().Page(ctx, 10, 0, storage.FlagProject.Is(p.ID), storage.VersionOf.Is(f.ID))
		if err != nil || total != 1 || len(list) != 1 {
			t.Fatalf("FlagVersions.Page = %+v of %d, %v; want one version", list, total, err)
		}
		want := *f
		want.Created = list[0].Created // which no version has
		if diff := cmp.Diff(want, list[0], cmp.Comparer(sameFilters)); diff != "" {
			t.Errorf("version (-want +got)\n%s", diff)
		}
		f.Version = 9
		if err := db.Flags().Update(ctx, f); err != nil {
			t.Fatal(err)
		}
		if _, total, err := db.FlagVersions().Page(ctx, 1, 0, storage.FlagProject.Is(p.ID), storage.VersionOf.Is(f.ID)); total != 2 || err != nil {
			t.Errorf("FlagVersions.Page after a change: total %d, %v; want 2", total, err)
		}
	})
}

func sameFilters(a, b flags.Filters) bool {
	x, err1 := a.Normal()
	y, err2 := b.Normal()
	return err1 == nil && err2 == nil && bytes.Equal(x, y)
}

// TestForeignKeysHaveIndexes checks that deleting a row does not scan whole
// tables for references to it.
func TestForeignKeysHaveIndexes(t *testing.T) {
	onEach(t, func(t *testing.T, d *database) {
		d.open(t)
		query := `SELECT m.name, f."from" FROM sqlite_master m, pragma_foreign_key_list(m.name) f WHERE m.type = 'table'
			AND NOT EXISTS (SELECT 1 FROM pragma_table_info(m.name) c WHERE c.pk = 1 AND c.name = f."from")
			AND NOT EXISTS (SELECT 1 FROM pragma_index_list(m.name) l, pragma_index_info(l.name) i WHERE l.partial = 0 AND i.seqno = 0 AND i.name = f."from")`
		if d.postgres {
			query = `SELECT c.conrelid::regclass::text, a.attname FROM pg_constraint c JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = c.conkey[1]
				WHERE c.contype = 'f'
				AND NOT EXISTS (SELECT 1 FROM pg_index i WHERE i.indrelid = c.conrelid AND i.indkey[0] = c.conkey[1] AND i.indpred IS NULL)`
		}
		rows, err := d.raw.QueryContext(t.Context(), query)
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		for rows.Next() {
			var table, column string
			if err := rows.Scan(&table, &column); err != nil {
				t.Fatal(err)
			}
			t.Errorf("no index begins with %s.%s", table, column)
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
	})
}

// TestRuling101UpgradeNames opens a store whose persons have no names yet.
func TestRuling101UpgradeNames(t *testing.T) {
	onEach(t, func(t *testing.T, d *database) {
		ctx := t.Context()
		d.migrate(t, 16)
		time := "1772600767000890"
		if d.postgres {
			time = "'2026-03-04T05:06:07.00089Z'"
		}
		for i := range 700 {
			id := fmt.Sprintf("33333333-3333-4333-8333-%012d", i)
			if !d.postgres {
				id = strings.ReplaceAll(id, "-", "")
				id = "x" + "'" + id + "'"
			} else {
				id = "'" + id + "'"
			}
			d.exec(t, fmt.Sprintf(`INSERT INTO person (id, project_id, properties, is_identified, created_at) VALUES (%s, %d, '{"name":"Édith %d"}', false, %s)`, id, 1+i%2, i, time))
		}
		db := d.open(t)
		find := func(name string) int {
			t.Helper()
			n := 0
			for project := range int64(2) {
				list, err := db.PersonsBefore(ctx, project+1, storage.PersonFilter{Named: name}, uuid.Max, 1000)
				if err != nil {
					t.Fatal(err)
				}
				n += len(list)
			}
			return n
		}
		if n := find("édith"); n != 0 {
			t.Errorf("%d persons have names before they are indexed", n)
		}
		more, calls := true, 0
		for ; more && calls < 10; calls++ {
			var err error
			if more, err = db.Index(ctx); err != nil {
				t.Fatal(err)
			}
		}
		if n := find("édith"); n != 700 || more {
			t.Errorf("%d persons are found after %d calls, more to do: %t; want 700", n, calls, more)
		}
		if n := find("\nédith 7\n"); n != 1 {
			t.Errorf("%d persons have one name", n)
		}
	})
}
