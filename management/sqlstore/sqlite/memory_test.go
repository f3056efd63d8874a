package sqlite_test

import (
	"testing"

	"github.com/flagstaff-go/flagstaff/internal/fulltest"
	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/internal/storetest"
	"github.com/flagstaff-go/flagstaff/management/sqlstore/sqlite"
)

func TestContractInMemory(t *testing.T) {
	fulltest.Only(t)
	storetest.Run(t, func(t *testing.T) (management.Storage, func(*testing.T) management.Storage) {
		return open(t, sqlite.Memory), nil
	})
}
