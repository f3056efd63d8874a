package wire_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/flags/wire"
	"github.com/flagstaff-go/flagstaff/runtime"
)

const evaluationDocument = `{"flags":[
	{"id":1,"key":"on","active":true,"version":2,"filters":{"groups":[{}],"payloads":{"true":"{\"a\":\"<\"}"}}},
	{"id":2,"key":"drawn \"x\"","active":true,"filters":{"groups":[{}],"multivariate":{"variants":[{"key":"é","rollout_percentage":99.9},{"key":"z","rollout_percentage":0.1}]}}},
	{"id":3,"key":"inactive","active":false,"filters":{"groups":[{}],"multivariate":{"variants":[{"key":"a","rollout_percentage":100}]}}},
	{"id":4,"key":"broken","active":true,"filters":{"version":3,"groups":[{}]}}]}`

// TestAppendEvaluations is the form of wire.md §7.1. The list does not depend on the
// envelope, since it is what an entity tag is made of.
func TestAppendEvaluations(t *testing.T) {
	d, err := flags.Decode(strings.NewReader(evaluationDocument))
	if err != nil {
		t.Fatal(err)
	}
	s, err := flags.Compile(d, flags.CompileOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var in flags.Input
	in.Reset(s, "user-1", runtime.Filter{}, time.Time{})
	const list = `[` +
		`{"key":"on","value":true,"reason":"STATIC","metadata":{"flagId":1,"version":2,"reason":"condition_match","conditionIndex":0,"payload":"{\"a\":\"<\"}","hasExperiment":true}},` +
		`{"key":"drawn \"x\"","value":"é","variant":"é","reason":"SPLIT","metadata":{"flagId":2,"version":0,"reason":"condition_match","conditionIndex":0,"hasExperiment":true}},` +
		`{"key":"inactive","reason":"DISABLED","metadata":{"flagId":3,"version":0,"reason":"flag_disabled","hasExperiment":true}},` +
		`{"key":"broken","errorCode":"GENERAL","errorDetails":"flag_data_parsing_error: Failed to parse flag data"}]`
	for _, tt := range []struct {
		e    wire.Envelope
		want string
	}{
		{wire.Envelope{RequestID: "r-1", EvaluatedAt: time.UnixMilli(1795176000000)}, `{"evaluatedAt":1795176000000,"requestId":"r-1"}`},
		{wire.Envelope{RequestID: "r-2", EvaluatedAt: time.UnixMilli(1), Partial: true}, `{"evaluatedAt":1,"requestId":"r-2","errorsWhileComputingFlags":true}`},
	} {
		got, part, n := wire.AppendEvaluations([]byte("before"), &in, tt.e)
		if diff := cmp.Diff(`before{"flags":`+list+`,"metadata":`+tt.want+`}`, string(got)); diff != "" || n != 4 {
			t.Errorf("%d flags (-want +got)\n%s", n, diff)
		}
		if diff := cmp.Diff(list, string(part)); diff != "" {
			t.Errorf("list (-want +got)\n%s", diff)
		}
	}

	one := func(key string, e wire.Envelope) (body string, status int) {
		r, err := in.Flag(key)
		if err != nil {
			t.Fatal(err)
		}
		got, status := wire.AppendEvaluation(nil, &r, e)
		if !json.Valid(got) {
			t.Errorf("%s is not JSON", got)
		}
		return string(got), status
	}
	got, status := one("inactive", wire.Envelope{RequestID: "r-1", Partial: true})
	want := `{"key":"inactive","reason":"DISABLED","metadata":{"flagId":3,"version":0,"reason":"flag_disabled","hasExperiment":true,"requestId":"r-1","errorsWhileComputingFlags":true}}`
	if diff := cmp.Diff(want, got); diff != "" || status != 200 {
		t.Errorf("status %d (-want +got)\n%s", status, diff)
	}
	if got, status := one("broken", wire.Envelope{}); status != 500 || !strings.Contains(got, `"errorCode":"GENERAL"`) {
		t.Errorf("broken: %d %s", status, got)
	}
	if !raceEnabled {
		var dst []byte
		e := wire.Envelope{RequestID: "r-1"}
		if n := testing.AllocsPerRun(100, func() { dst, _, _ = wire.AppendEvaluations(dst[:0], &in, e) }); n != 0 {
			t.Errorf("AppendEvaluations allocates %v times, want 0", n)
		}
	}

	empty, err := flags.Compile(new(flags.Definitions), flags.CompileOptions{})
	if err != nil {
		t.Fatal(err)
	}
	in.Reset(empty, "user-1", runtime.Filter{}, time.Time{})
	if _, part, n := wire.AppendEvaluations(nil, &in, wire.Envelope{}); string(part) != "[]" || n != 0 {
		t.Errorf("no flags: %s, %d", part, n)
	}
}

func TestAppendFailure(t *testing.T) {
	for want, got := range map[string][]byte{
		`{"key":"a\"","errorCode":"GENERAL","errorDetails":"x"}`: wire.AppendFailure(nil, `a"`, wire.CodeGeneral, "x"),
		`{"errorCode":"PARSE_ERROR","errorDetails":"x"}`:         wire.AppendFailure(nil, "", wire.CodeParseError, "x"),
		`{"errorDetails":"x"}`:                                   wire.AppendFailure(nil, "", "", "x"),
	} {
		if string(got) != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
