package postgres_test

import (
	"context"
	"fmt"
	"os"

	"github.com/flagstaff-go/flagstaff/management/sqlstore"
	"github.com/flagstaff-go/flagstaff/management/sqlstore/postgres"
)

func ExampleOpen() {
	ctx := context.Background()
	db, err := postgres.Open(ctx, os.Getenv("DATABASE_URL"), sqlstore.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer db.Close()
	fmt.Println(db.Ready(ctx))
}
