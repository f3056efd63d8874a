package memstore_test

import (
	"testing"

	"github.com/flagstaff-go/flagstaff/management/memstore"
	"github.com/flagstaff-go/flagstaff/management/storetest"
)

func TestContract(t *testing.T) {
	storetest.Run(t, func(*testing.T) (storetest.Store, func(*testing.T) storetest.Store) {
		return new(memstore.Store), nil
	})
}
