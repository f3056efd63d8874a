package sqlite_test

import (
	"path/filepath"
	"testing"

	"github.com/flagstaff-go/flagstaff/management/internal/storetest"
	"github.com/flagstaff-go/flagstaff/management/sqlstore"
	"github.com/flagstaff-go/flagstaff/management/sqlstore/sqlite"
)

func open(t *testing.T, path string) sqlstore.Storage {
	t.Helper()
	db, err := sqlite.Open(t.Context(), path, sqlstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return db
}

func openFile(t *testing.T) (sqlstore.Storage, func(*testing.T) sqlstore.Storage) {
	path := filepath.Join(t.TempDir(), "odd #%3F name?.db")
	return open(t, path), func(t *testing.T) sqlstore.Storage { return open(t, path) }
}

func TestContract(t *testing.T) { storetest.RunShared(t, openFile) }

func TestContractAlone(t *testing.T) { storetest.RunAlone(t, openFile) }
