package main

import (
	"context"
	"fmt"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/sqlstore"
	"github.com/flagstaff-go/flagstaff/management/sqlstore/sqlite"
)

func main() {
	ctx := context.Background()
	store, err := sqlite.Open(ctx, sqlite.Memory, sqlstore.Options{})
	fmt.Println(err)
	created, err := management.Bootstrap(ctx, store, management.First{Organization: "Acme", APIKey: "phc_acme"})
	fmt.Println(created.Organization.Name, created.Project.APIKey, err)
	fmt.Println(store.Close())
}

// Output:
// <nil>
// Acme phc_acme <nil>
// <nil>
