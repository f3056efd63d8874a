// Inprocess evaluates a flag inside a Go program, without a server.
//
//	go run ./examples/inprocess
package main

import (
	_ "embed"
	"fmt"
	"log"
	"strings"

	"github.com/flagstaff-go/flagstaff/flags"
)

//go:embed flags.json
var document string

func main() {
	definitions, err := flags.Decode(strings.NewReader(document))
	if err != nil {
		log.Fatal(err)
	}
	snapshot, err := flags.Compile(definitions, flags.CompileOptions{})
	if err != nil {
		log.Fatal(err)
	}
	for _, p := range snapshot.Problems() {
		fmt.Println(p)
	}
	var evaluator flags.Evaluator // one for the life of the process, safe for concurrent use
	evaluator.Swap(snapshot)

	for _, plan := range []string{"free", "pro"} {
		person := &flags.Request{DistinctID: "user-1", PersonProperties: map[string]any{"plan": plan}}
		fmt.Printf("plan %s: new-checkout %v, button %s\n", plan,
			evaluator.Bool("new-checkout", person, false), evaluator.Variant("button", person, "control"))
	}
}
