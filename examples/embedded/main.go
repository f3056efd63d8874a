// Embedded is a program of its own that has flags with their console, and no surveys: it
// compiles nothing of them. The first start prints how to sign in.
package main

import (
	"context"
	"fmt"
	"log"
	"net/http"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/sqlstore"
	"github.com/flagstaff-go/flagstaff/management/sqlstore/sqlite"
	"github.com/flagstaff-go/flagstaff/server/console"
)

// newHandler returns the console over a store, and a link with which its owner signs in.
func newHandler(ctx context.Context, store sqlstore.Storage, url string) (handler http.Handler, link string, err error) {
	if _, err = management.Bootstrap(ctx, store, management.First{Owner: "ada@example.com"}); err != nil {
		return nil, "", err
	}
	service, err := management.New(management.Config{Store: store, Data: store, AppURL: url})
	if err != nil {
		return nil, "", err
	}
	token, err := service.NewSignInLink(ctx, "ada@example.com")
	if err != nil {
		return nil, "", err
	}
	handler, err = console.New(console.Config{Service: service, Prefix: "/console", URL: url})
	return handler, url + "/console/join/" + token, err
}

func main() {
	ctx := context.Background()
	store, err := sqlite.Open(ctx, "embedded.db", sqlstore.Options{})
	if err != nil {
		log.Fatal(err)
	}
	handler, link, err := newHandler(ctx, store, "http://localhost:8080")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("sign in at", link)
	log.Fatal(http.ListenAndServe("localhost:8080", handler))
}
