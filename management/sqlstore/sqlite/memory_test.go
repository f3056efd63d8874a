package sqlite_test

import (
	"testing"

	"github.com/flagstaff-go/flagstaff/internal/fulltest"
	"github.com/flagstaff-go/flagstaff/management/internal/storetest"
	"github.com/flagstaff-go/flagstaff/management/sqlstore"
	"github.com/flagstaff-go/flagstaff/management/sqlstore/sqlite"
)

func TestContractInMemory(t *testing.T) {
	fulltest.Only(t)
	storetest.Run(t, func(t *testing.T) (sqlstore.Storage, func(*testing.T) sqlstore.Storage) {
		return open(t, sqlite.Memory), nil
	})
}
