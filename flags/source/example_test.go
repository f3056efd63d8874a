package source_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/flags/source"
)

func Example() {
	dir, err := os.MkdirTemp("", "flags")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "flags.json")
	document := `{"flags": [{"id": 1, "key": "new-checkout", "active": true, "filters": {"groups": [{}]}}]}`
	if err := os.WriteFile(path, []byte(document), 0o600); err != nil {
		log.Fatal(err)
	}

	var evaluator flags.Evaluator
	loader := source.NewLoader(&evaluator, source.File{Path: path}, source.LoaderConfig{})
	ctx, stop := context.WithCancel(context.Background())
	if err := loader.Refresh(ctx); err != nil {
		log.Fatal(err)
	}
	done := make(chan error)
	go func() { done <- loader.Run(ctx) }() // follows the file from now on

	fmt.Println(evaluator.Bool("new-checkout", &flags.Request{DistinctID: "user-1"}, false))
	stop()
	<-done
	// Output: true
}
