//go:build !race

package sqlite_test

import (
	"testing"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/internal/storetest"
	"github.com/flagstaff-go/flagstaff/management/sqlstore/sqlite"
)

// The race detector slows SQLite down tenfold, and has nothing to find here that it
// does not find with a file.
func TestContractInMemory(t *testing.T) {
	storetest.Run(t, func(t *testing.T) (management.Storage, func(*testing.T) management.Storage) {
		return open(t, sqlite.Memory), nil
	})
}
