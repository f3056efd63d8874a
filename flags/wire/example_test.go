package wire_test

import (
	"bytes"
	"fmt"
	"log"
	"strings"
	"time"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/flags/wire"
	"github.com/flagstaff-go/flagstaff/runtime"
)

func Example() {
	definitions, err := flags.Decode(strings.NewReader(`{"flags":[{"id":1,"key":"beta","active":true,"version":3,
		"filters":{"groups":[{"properties":[],"rollout_percentage":100}]}}]}`))
	if err != nil {
		log.Fatal(err)
	}
	snapshot, err := flags.Compile(definitions, flags.CompileOptions{})
	if err != nil {
		log.Fatal(err)
	}

	// Keep these between requests: then nothing is allocated.
	var (
		req wire.Request
		in  flags.Input
		dst []byte
	)
	now := time.UnixMilli(1795176000000)
	if err := req.Parse([]byte(`{"api_key":"phc_demo","distinct_id":"user-1"}`)); err != nil {
		log.Fatal(err)
	}
	if err := req.Fill(&in, snapshot, runtime.Server, now); err != nil {
		log.Fatal(err)
	}
	dst, _ = wire.AppendResponse(dst[:0], snapshot, &in, wire.Envelope{RequestID: "r-1", EvaluatedAt: now})

	head, rest, _ := strings.Cut(string(dst), `,"reason"`)
	_, tail, _ := strings.Cut(rest, `"has_experiment":true`)
	fmt.Println(req.APIKey)
	fmt.Println(head, "…", tail)
	// Output:
	// phc_demo
	// {"flags":{"beta":{"key":"beta","enabled":true … }}},"errorsWhileComputingFlags":false,"requestId":"r-1","evaluatedAt":1795176000000}
}

func ExampleAppendDefinitions() {
	definitions, err := flags.Decode(strings.NewReader(`{"bucketing_hash":"xxhash64","flags":[{"id":1,"key":"beta","active":true,"version":3,
		"filters":{"groups":[{"properties":[],"rollout_percentage":50}]}}]}`))
	if err != nil {
		log.Fatal(err)
	}
	document, err := wire.AppendDefinitions(nil, definitions, wire.DefinitionsOptions{Project: 7})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(wire.DefinitionsETag(document))
	_, tail, _ := strings.Cut(string(document), `"evaluation_contexts":[],`)
	fmt.Println(strings.Contains(string(document), `"ensure_experience_continuity":true`), tail)

	// SDKs, which do not know the hash, ask the server. Decode knows better.
	again, err := flags.Decode(bytes.NewReader(document))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(again.Flags[0].BucketingHash, again.Flags[0].EnsureExperienceContinuity)
	// Output:
	// W/"170f2c28de5ceefc"
	// true "bucketing_hash":"xxhash64","evaluate_remotely":true}],"group_type_mapping":{},"cohorts":{}}
	// xxhash64 false
}
