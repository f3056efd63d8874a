package management_test

import (
	"context"
	"fmt"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/memstore"
)

func ExampleBootstrap() {
	ctx := context.Background()
	var store memstore.Store
	created, err := management.Bootstrap(ctx, &store, management.First{Organization: "Acme", APIKey: "phc_acme"})
	if err != nil {
		panic(err)
	}
	fmt.Println(created.Organization.Name, created.Project.APIKey)

	// A store that has something stays as it is.
	created, err = management.Bootstrap(ctx, &store, management.First{Organization: "Other"})
	fmt.Println(created, err)
	// Output:
	// Acme phc_acme
	// <nil> <nil>
}
