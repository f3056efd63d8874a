package catalog_test

import (
	"context"
	"fmt"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/sqlstore"
	"github.com/flagstaff-go/flagstaff/management/sqlstore/sqlite"
	"github.com/flagstaff-go/flagstaff/management/storage"
	"github.com/flagstaff-go/flagstaff/server"
	"github.com/flagstaff-go/flagstaff/server/catalog"
)

// A stored flag is served after the next Refresh.
func Example() {
	ctx := context.Background()
	store, err := sqlite.Open(ctx, sqlite.Memory, sqlstore.Options{})
	if err != nil {
		panic(err)
	}
	defer store.Close()
	first, err := management.Bootstrap(ctx, store, management.First{})
	if err != nil {
		panic(err)
	}
	var registry server.Registry
	projects, err := catalog.New(catalog.Config{Store: store, Registry: &registry})
	if err != nil {
		panic(err)
	}
	err = store.Flags().Create(ctx, &storage.Flag{
		Project: first.Project.ID, Key: "new-checkout", Active: true,
		Filters: flags.Filters{Groups: []flags.Condition{{RolloutPercentage: new(100.0)}}},
	})
	if err != nil {
		panic(err)
	}
	if err := projects.Refresh(ctx); err != nil {
		panic(err)
	}
	project, err := registry.Project(ctx, first.Project.APIKey)
	if err != nil {
		panic(err)
	}
	fmt.Println(project.Flags.Bool("new-checkout", &flags.Request{DistinctID: "u"}, false))
	// Output: true
}
