package storebench

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/sqlstore"
	"github.com/flagstaff-go/flagstaff/management/sqlstore/postgres"
	"github.com/flagstaff-go/flagstaff/management/sqlstore/postgres/postgrestest"
	"github.com/flagstaff-go/flagstaff/management/sqlstore/sqlite"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// pageSize is the number of entries on a page.
const pageSize = 100

// BenchmarkM2 measures row M2 of docs/performance.md: the first and the last
// page of 100,000 users, all members of one organization, and of 10,000 flags,
// with their totals. The floor is the bare query of the page with its total. The case "shown"
// is the page of users with everything that the API shows of them, as JSON.
func BenchmarkM2(b *testing.B) {
	path := filepath.Join(b.TempDir(), "pages.db")
	db, err := sqlite.Open(b.Context(), path, sqlstore.Options{})
	benchPages(b, "SQLite", db, err, openRaw(b, "sqlite", "file:"+path), "?")
	url := postgrestest.Open(b)
	db, err = postgres.Open(b.Context(), url, sqlstore.Options{})
	benchPages(b, "PostgreSQL", db, err, openRaw(b, "pgx", url), "$1")
}

func openRaw(b *testing.B, driver, dsn string) *sql.DB {
	b.Helper()
	raw, err := sql.Open(driver, dsn)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { raw.Close() })
	return raw
}

// benchPages measures the pages of one database. The mark precedes its
// parameters.
func benchPages(b *testing.B, name string, db sqlstore.Storage, err error, raw *sql.DB, mark string) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := db.Close(); err != nil {
			b.Error(err)
		}
	})
	users, flags := people(), people()/10
	created := addUsers(b, db, users)
	project := created.Project.ID
	addFlags(b, db, project, flags)
	if _, err := raw.ExecContext(b.Context(), "ANALYZE"); err != nil {
		b.Fatal(err)
	}
	service, err := management.New(management.Config{Store: db})
	if err != nil {
		b.Fatal(err)
	}
	staff, err := service.PrincipalOf(b.Context(), created.Owner.UUID)
	if err != nil {
		b.Fatal(err)
	}
	prepare := func(from, order string) *sql.Stmt {
		s, err := raw.PrepareContext(b.Context(), "SELECT *, (SELECT count(*) "+from+") "+from+order+" LIMIT 100 OFFSET "+mark)
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { s.Close() })
		return s
	}
	activeUsers := prepare("FROM user_account WHERE is_active = true", " ORDER BY id")
	listedFlags := prepare(fmt.Sprintf("FROM feature_flag WHERE project_id = %d AND deleted = false AND internal_kind = 0 AND archived = false", project),
		" ORDER BY created_at DESC, id DESC")
	benchPage(b, "users/"+name, activeUsers, users, func(offset int) (int, error) {
		_, total, err := db.Users().Page(b.Context(), pageSize, offset, storage.UserFilter{}.Where()...)
		return total, err
	})
	benchPage(b, "shown/"+name, activeUsers, users, func(offset int) (int, error) {
		list, err := service.ListUsers(b.Context(), staff, storage.UserFilter{}, pageSize, offset)
		if err != nil {
			return 0, err
		}
		_, err = json.Marshal(list.Items)
		return list.Total, err
	})
	benchPage(b, "flags/"+name, listedFlags, flags, func(offset int) (int, error) {
		_, total, err := db.Flags().Page(b.Context(), pageSize, offset, storage.FlagFilter{Archived: new(false)}.Where(project)...)
		return total, err
	})
}

// benchPage measures the first and the last page of a list of n entries.
func benchPage(b *testing.B, name string, floor *sql.Stmt, n int, page func(offset int) (total int, err error)) {
	for _, at := range []struct {
		name   string
		offset int
	}{{"first", 0}, {"last", n - pageSize}} {
		b.Run(name+"/"+at.name+"/floor", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if got := readAll(b, floor, at.offset); got != pageSize {
					b.Fatalf("%d rows", got)
				}
			}
		})
		b.Run(name+"/"+at.name+"/flagstaff", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if total, err := page(at.offset); err != nil || total != n {
					b.Fatalf("total %d, %v", total, err)
				}
			}
		})
	}
}

// inParts calls add for 0 to n-1 in short transactions. In PostgreSQL, a
// transaction gets slower the more often it changes the same row, such as a
// counter.
func inParts(b *testing.B, db sqlstore.Storage, n int, add func(s storage.Store, i int) error) {
	b.Helper()
	for first := 0; first < n; first += 100 {
		err := db.Atomic(b.Context(), func(s storage.Store) error {
			for i := first; i < min(first+100, n); i++ {
				if err := add(s, i); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}

// addUsers creates n users, all members of one organization. The first one is
// its owner and staff.
func addUsers(b *testing.B, db sqlstore.Storage, n int) *management.Created {
	b.Helper()
	created, err := management.Bootstrap(b.Context(), db, management.First{})
	if err != nil {
		b.Fatal(err)
	}
	inParts(b, db, n-1, func(s storage.Store, i int) error {
		u := &storage.User{
			UUID: uuid.New(), DistinctID: fmt.Sprint("distinct-", i), Active: true, Joined: created.Owner.Joined,
			Email: fmt.Sprintf("user-%d@acme.example", i), FirstName: "Jo", LastName: "Meier",
			CurrentOrganization: created.Owner.CurrentOrganization, CurrentProject: created.Owner.CurrentProject,
		}
		if err := s.Users().Create(b.Context(), u); err != nil {
			return err
		}
		return s.Memberships().Create(b.Context(), &storage.Membership{
			ID: uuid.New(), Organization: created.Organization.ID, User: u.ID, Level: storage.LevelMember,
			Joined: created.Owner.Joined, Updated: created.Owner.Joined,
		})
	})
	return created
}

// addFlags creates n flags of two conditions each.
func addFlags(b *testing.B, db sqlstore.Storage, project int64, n int) {
	b.Helper()
	made := time.Now().UTC().Truncate(time.Microsecond)
	inParts(b, db, n, func(s storage.Store, i int) error {
		created := made.Add(time.Duration(i) * time.Second)
		return s.Flags().Create(b.Context(), &storage.Flag{
			Project: project, Key: fmt.Sprintf("feature-%05d", i), Name: "New checkout", Active: i%3 > 0, Version: 1,
			Filters: flags.Filters{Groups: []flags.Condition{{RolloutPercentage: new(50.0), Properties: []flags.Filter{
				{Key: "plan", Type: "person", Operator: "exact", Value: fmt.Appendf(nil, `["pro","enterprise-%d"]`, i)},
				{Key: "age", Type: "person", Operator: "gt", Value: fmt.Appendf(nil, "%d", i%90)},
			}}}},
			Runtime: "all", Bucketing: "distinct_id", Tags: []string{"checkout"}, Contexts: []string{"main-app"},
			Created: created, Updated: created,
		})
	})
}

// readAll reads all columns of all rows of a page and returns the number of
// rows.
func readAll(b *testing.B, query *sql.Stmt, offset int) int {
	rows, err := query.QueryContext(b.Context(), offset)
	if err != nil {
		b.Fatal(err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		b.Fatal(err)
	}
	values := make([]any, len(columns))
	for i := range values {
		values[i] = new(any)
	}
	n := 0
	for rows.Next() {
		if err := rows.Scan(values...); err != nil {
			b.Fatal(err)
		}
		n++
	}
	if err := rows.Err(); err != nil {
		b.Fatal(err)
	}
	return n
}
