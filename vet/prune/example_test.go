package prune_test

import (
	"context"
	"fmt"
	"log"

	"github.com/flagstaff-go/flagstaff/vet/prune"
)

// The flag old-banner is off for good.
func ExampleRun() {
	report, err := prune.Run(context.Background(), prune.Options{
		Values: map[string]string{"old-banner": "false"},
	}, "./...")
	if err != nil {
		log.Fatal(err)
	}
	for _, f := range report.Files {
		fmt.Printf("%s\n%s", f.Path, f.New)
	}
	for _, place := range report.Left {
		fmt.Printf("%s: %s\n", place.Position, place.Reason)
	}
}
