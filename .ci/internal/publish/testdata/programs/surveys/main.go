package main

import (
	"context"
	"fmt"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/sqlstore"
	"github.com/flagstaff-go/flagstaff/management/sqlstore/sqlite"
	"github.com/flagstaff-go/flagstaff/surveys"
)

func main() {
	ctx := context.Background()
	store, err := sqlite.Open(ctx, sqlite.Memory, sqlstore.Options{Extensions: []sqlstore.Extension{surveys.Extension()}})
	fmt.Println(err)
	accounts, err := management.New(management.Config{Store: store, FlagUsers: surveys.FlagUsers{}})
	fmt.Println(err)
	service, err := surveys.New(surveys.Config{Management: accounts})
	fmt.Println(len(service.Routes()) > 0, err)
	fmt.Println(store.Close())
}

// Output:
// <nil>
// <nil>
// true <nil>
// <nil>
