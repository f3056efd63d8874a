package sqldb_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/management/storage"
)

// TestFlagsOfBackup lets a store that knows the flags of a project look at a backup of
// its database, in which the project then comes to the same version with other flags.
func TestFlagsOfBackup(t *testing.T) {
	onEach(t, func(t *testing.T, d *database) {
		ctx := t.Context()
		db, other := d.open(t), d.open(t)
		o := storage.NewOrganization("Acme")
		p := storage.NewProject(o, "Shop")
		if err := errors.Join(db.Organizations().Create(ctx, o), db.Projects().Create(ctx, p)); err != nil {
			t.Fatal(err)
		}
		f := &storage.Flag{Project: p.ID, Key: "beta", Name: "first", Created: now, Updated: now}
		change := func(store storage.Store, name string) {
			t.Helper()
			f.Name = name
			if err := store.Atomic(ctx, func(tx storage.Store) error { return tx.Flags().Update(ctx, f) }); err != nil {
				t.Fatal(err)
			}
		}
		check := func(want string) {
			t.Helper()
			list, err1 := db.FlagDefinitions(ctx, p.ID)
			all, err2 := db.CalledFlags(ctx, p.ID)
			if err := errors.Join(err1, err2); err != nil || len(list) != 1 || len(all) != 1 {
				t.Fatalf("%d and %d flags, %v; want one", len(list), len(all), err)
			}
			if diff := cmp.Diff([]string{want, want}, []string{list[0].Name, all[0].Name}); diff != "" {
				t.Errorf("names (-want +got)\n%s", diff)
			}
		}
		if err := db.Flags().Create(ctx, f); err != nil {
			t.Fatal(err)
		}
		for _, table := range []string{"feature_flag", "project_version"} {
			d.exec(t, fmt.Sprintf("CREATE TABLE backup_%s AS SELECT * FROM %[1]s", table))
		}
		check("first")
		change(db, "second")
		check("second")
		before, err := db.Versions(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for _, table := range []string{"feature_flag", "project_version"} {
			d.exec(t, "DELETE FROM "+table, fmt.Sprintf("INSERT INTO %s SELECT * FROM backup_%[1]s", table))
		}
		check("first")
		change(other, "another second")
		after, err := db.Versions(ctx)
		if diff := cmp.Diff(before, after); err != nil || diff != "" {
			t.Fatalf("versions: %v (-before +after)\n%s", err, diff)
		}
		check("another second")
	})
}
