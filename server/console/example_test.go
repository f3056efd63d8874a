package console_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/sqlstore"
	"github.com/flagstaff-go/flagstaff/management/sqlstore/sqlite"
	"github.com/flagstaff-go/flagstaff/server/console"
)

// A program mounts the console below a path, beside all else that it serves.
func ExampleNew() {
	store, err := sqlite.Open(context.Background(), sqlite.Memory, sqlstore.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()
	service, err := management.New(management.Config{Store: store, Data: store})
	if err != nil {
		fmt.Println(err)
		return
	}
	pages, err := console.New(console.Config{Service: service, Prefix: "/console", URL: "https://flags.example.com"})
	if err != nil {
		fmt.Println(err)
		return
	}
	mux := http.NewServeMux()
	mux.Handle("/console/", pages)

	w := httptest.NewRecorder()
	mux.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "https://flags.example.com/console/", nil))
	fmt.Println(w.Code, w.Header().Get("Location"))
	// Output: 303 /console/signin
}
