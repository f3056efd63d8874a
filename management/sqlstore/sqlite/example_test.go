package sqlite_test

import (
	"context"
	"fmt"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/sqlstore"
	"github.com/flagstaff-go/flagstaff/management/sqlstore/sqlite"
)

func ExampleOpen() {
	ctx := context.Background()
	db, err := sqlite.Open(ctx, sqlite.Memory, sqlstore.Options{})
	if err != nil {
		panic(err)
	}
	defer db.Close()
	created, err := management.Bootstrap(ctx, db, management.First{Project: "Shop"})
	if err != nil {
		panic(err)
	}
	fmt.Println(created.Project.ID, created.Project.Name)
	// Output: 1 Shop
}
