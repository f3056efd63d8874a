package postgres_test

import (
	"os"
	"testing"

	"github.com/flagstaff-go/flagstaff/internal/fulltest"
	"github.com/flagstaff-go/flagstaff/management/internal/storetest"
	"github.com/flagstaff-go/flagstaff/management/sqlstore"
	"github.com/flagstaff-go/flagstaff/management/sqlstore/postgres"
	"github.com/flagstaff-go/flagstaff/management/sqlstore/postgres/postgrestest"
)

func TestMain(m *testing.M) { os.Exit(postgrestest.Main(m)) }

func open(t *testing.T, url string) sqlstore.Storage {
	t.Helper()
	db, err := postgres.Open(t.Context(), url, sqlstore.Options{})
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

func openNew(t *testing.T) (sqlstore.Storage, func(*testing.T) sqlstore.Storage) {
	url := postgrestest.Open(t)
	return open(t, url), func(t *testing.T) sqlstore.Storage { return open(t, url) }
}

func TestContract(t *testing.T) { storetest.RunShared(t, openNew) }

func TestContractAlone(t *testing.T) {
	fulltest.Only(t)
	storetest.RunAlone(t, openNew)
}
