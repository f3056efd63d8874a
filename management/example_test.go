package management_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/optional"
	"github.com/flagstaff-go/flagstaff/management/sqlstore"
	"github.com/flagstaff-go/flagstaff/management/sqlstore/sqlite"
)

func ExampleBootstrap() {
	ctx := context.Background()
	store, err := sqlite.Open(ctx, sqlite.Memory, sqlstore.Options{})
	if err != nil {
		panic(err)
	}
	defer store.Close()
	created, err := management.Bootstrap(ctx, store, management.First{Organization: "Acme", APIKey: "phc_acme"})
	if err != nil {
		panic(err)
	}
	fmt.Println(created.Organization.Name, created.Project.APIKey)

	// A store that has something stays as it is.
	created, err = management.Bootstrap(ctx, store, management.First{Organization: "Other"})
	fmt.Println(created, err)
	// Output:
	// Acme phc_acme
	// <nil> <nil>
}

// A program that embeds the management API calls its methods.
func ExampleService() {
	ctx := context.Background()
	store, err := sqlite.Open(ctx, sqlite.Memory, sqlstore.Options{})
	if err != nil {
		panic(err)
	}
	defer store.Close()
	created, err := management.Bootstrap(ctx, store, management.First{Owner: "ada@example.com"})
	if err != nil {
		panic(err)
	}
	service, err := management.New(management.Config{Store: store})
	if err != nil {
		panic(err)
	}

	// Who has a key may do what its user may, and its scopes.
	p, err := service.Authenticate(ctx, created.PersonalKey, "the Authorization header")
	if err != nil {
		panic(err)
	}
	user, err := service.UpdateUser(ctx, p, "@me", management.UserPatch{FirstName: optional.Of("Ada")})
	if err != nil {
		panic(err)
	}
	fmt.Println(user.FirstName, user.Email, user.Organization.Name)

	_, err = service.UpdateUser(ctx, p, "@me", management.UserPatch{ThemeMode: optional.Of("neon")})
	if e, ok := errors.AsType[*management.Error](err); ok {
		fmt.Println(e.Attr, e.Code, e.Detail)
	}
	// Output:
	// Ada ada@example.com Default organization
	// theme_mode invalid_choice "neon" is not a valid choice.
}
