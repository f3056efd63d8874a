package management_test

import (
	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/memstore"
)

// withData is for newWorld: what is captured into its store is known.
func withData(c *management.Config) { c.Data = c.Store.(*memstore.Store) }

// managedMethods are the methods about what projects have.
func managedMethods() []method { return surveyMethods() }
