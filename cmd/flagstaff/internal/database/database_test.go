package database_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/cmd/flagstaff/internal/database"
)

func Example() {
	fmt.Println(database.Check("mysql://flags"))
	fmt.Println(database.Name("postgres://ada:secret@db.example/flags"))
	// Output:
	// invalid value for flag -store: there are no stores of the kind "mysql"; want an SQLite file, ":memory:", or postgres://USER:PASSWORD@HOST/DATABASE
	// PostgreSQL at db.example/flags
}

func TestName(t *testing.T) {
	for store, want := range map[string]string{
		":memory:":                         "memory",
		"flagstaff.db":                     "flagstaff.db",
		"/var/lib/a.db":                    "/var/lib/a.db",
		"postgresql://u:p@h:5432/db?x=p":   "PostgreSQL at h:5432/db",
		"postgres://u:p@/db?host=/run/pg":  "PostgreSQL at a local socket/db",
		"postgres://u:s3cret@h:port/db":    "PostgreSQL",
		"postgres://u:s3cret\x7f@h/secret": "PostgreSQL",
	} {
		if diff := cmp.Diff(want, database.Name(store)); diff != "" {
			t.Errorf("%q (-want +got)\n%s", store, diff)
		}
	}
}
