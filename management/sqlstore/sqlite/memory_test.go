package sqlite_test

import (
	"testing"

	"github.com/flagstaff-go/flagstaff/internal/fulltest"
	"github.com/flagstaff-go/flagstaff/management/internal/storetest"
	"github.com/flagstaff-go/flagstaff/management/sqlstore"
	"github.com/flagstaff-go/flagstaff/management/sqlstore/sqlite"
)

// TestContractInMemory: what differs from a file is what callers share. All else the
// tests of other packages do in memory.
func TestContractInMemory(t *testing.T) {
	fulltest.Only(t)
	storetest.RunShared(t, func(t *testing.T) (sqlstore.Storage, func(*testing.T) sqlstore.Storage) {
		return open(t, sqlite.Memory), nil
	})
}
