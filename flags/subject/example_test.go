package subject_test

import (
	"context"
	"fmt"
	"log"
	"strings"
	"time"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/flags/subject"
	"github.com/flagstaff-go/flagstaff/flags/wire"
	"github.com/flagstaff-go/flagstaff/runtime"
)

// customers is a Store of persons that nothing else is known about.
type customers map[string]string

func (c customers) AppendPerson(_ context.Context, dst []byte, _ int64, distinctID string) ([]byte, error) {
	return append(dst, c[distinctID]...), nil
}

func (customers) PersonCreated(context.Context, int64, string) (time.Time, error) {
	return time.Time{}, nil
}

func (customers) AppendGroup(_ context.Context, dst []byte, _ int64, _, _ string) ([]byte, error) {
	return dst, nil
}

func (customers) AppendCohorts(_ context.Context, dst []int64, _ int64, _ string) ([]int64, error) {
	return dst, nil
}

func (customers) Overrides(context.Context, int64, string, string, []string, func(flagKey, hashKey string)) error {
	return nil
}

func compile(document string) *flags.Snapshot {
	definitions, err := flags.Decode(strings.NewReader(document))
	if err != nil {
		log.Fatal(err)
	}
	snapshot, err := flags.Compile(definitions, flags.CompileOptions{})
	if err != nil {
		log.Fatal(err)
	}
	return snapshot
}

func Example() {
	snapshot := compile(`{"flags": [{"id": 1, "key": "checkout", "active": true, "filters": {
		"groups": [{"properties": [{"key": "plan", "type": "person", "value": "pro"}]}]}}]}`)
	filler := subject.Filler{Store: customers{"user-1": `{"plan": "pro"}`}}

	var request wire.Request
	if err := request.Parse([]byte(`{"distinct_id": "user-1"}`)); err != nil {
		log.Fatal(err)
	}
	var in flags.Input
	if err := request.Fill(&in, snapshot, runtime.All, time.Now()); err != nil {
		log.Fatal(err)
	}
	for _, failure := range filler.Fill(context.Background(), subject.Request{Request: &request, Project: 1}, &in) {
		log.Print(failure.What, failure.Err)
	}
	result, err := in.Flag("checkout")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Enabled)
	// Output: true
}
