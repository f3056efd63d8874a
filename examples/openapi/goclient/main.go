//go:build generated

// Goclient lists the flags of a project with a client that oapi-codegen has made of the
// document of the same server. ../run makes the client.
//
//	goclient URL KEY
package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"time"

	_ "github.com/oapi-codegen/runtime" // of the generated file
	_ "go.yaml.in/yaml/v3"              // of the generated file
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: goclient URL KEY")
		os.Exit(2)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := list(ctx, os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "goclient:", err)
		cancel()
		os.Exit(1)
	}
}

// list prints the key of each flag.
func list(ctx context.Context, server, key string) error {
	client, err := NewClientWithResponses(server, WithRequestEditorFn(func(_ context.Context, r *http.Request) error {
		r.Header.Set("Authorization", "Bearer "+key)
		return nil
	}))
	if err != nil {
		return err
	}
	page, err := client.ListFlagsWithResponse(ctx, "@current", &ListFlagsParams{})
	switch {
	case err != nil:
		return err
	case page.JSON200 == nil:
		return fmt.Errorf("the server says %s: %s", page.Status(), page.Body)
	}
	for _, flag := range page.JSON200.Results {
		fmt.Println(flag.Key)
	}
	return nil
}
