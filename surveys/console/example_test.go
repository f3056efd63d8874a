package console_test

import (
	"context"
	"fmt"
	"net/http/httptest"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/sqlstore"
	"github.com/flagstaff-go/flagstaff/management/sqlstore/sqlite"
	"github.com/flagstaff-go/flagstaff/server/console"
	"github.com/flagstaff-go/flagstaff/server/console/shell"
	"github.com/flagstaff-go/flagstaff/surveys"
	screens "github.com/flagstaff-go/flagstaff/surveys/console"
)

// A console with surveys, beside all else that it has.
func ExampleScreens() {
	store, err := sqlite.Open(context.Background(), sqlite.Memory, sqlstore.Options{Extensions: []sqlstore.Extension{surveys.Extension()}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()
	accounts, err := management.New(management.Config{Store: store, Data: store, FlagUsers: surveys.FlagUsers{}})
	if err != nil {
		fmt.Println(err)
		return
	}
	service, err := surveys.New(surveys.Config{Management: accounts})
	if err != nil {
		fmt.Println(err)
		return
	}
	pages, err := console.New(console.Config{
		Service: accounts, Prefix: "/console", URL: "https://flags.example.com", Screens: []shell.Group{screens.Screens(service)},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	w := httptest.NewRecorder()
	pages.ServeHTTP(w, httptest.NewRequest("GET", "https://flags.example.com/console/projects/1/surveys", nil))
	fmt.Println(w.Code, w.Header().Get("Location"))
	// Output: 303 /console/signin?next=%2Fprojects%2F1%2Fsurveys
}
