package gofeatureflag_test

import (
	"testing"
	"time"

	"github.com/flagstaff-go/flagstaff/internal/convert"
	"github.com/flagstaff-go/flagstaff/internal/convert/converttest"
	"github.com/flagstaff-go/flagstaff/internal/convert/gofeatureflag"
)

var now = time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)

func FuzzConvert(f *testing.F) {
	for _, seed := range []string{
		`{"f": {"variations": {"on": true, "off": false}, "defaultRule": {"percentage": {"on": 33.3, "off": 66.7}},
			"targeting": [{"name": "r", "query": "key eq \"a\" and (user.age ge 18 or not (plan in [\"x\"]))", "variation": "on"}]}}`,
		`{"f": {"variations": {"a": "x", "b": "y"}, "bucketingKey": "team.id", "defaultRule": {"variation": "a"},
			"targeting": [{"query": "{\"and\": [{\"in\": [{\"var\": \"plan\"}, [\"a\", 1]]}, {\"!\": {\"var\": [\"x.y\", 1]}}]}", "percentage": {"a": 1, "b": 0.001}}]}}`,
		`{"f": {"variations": {"a": {}, "b": {"n": 1}}, "defaultRule": {"progressiveRollout":
			{"initial": {"variation": "a", "date": "2026-10-01T00:00:00Z"}, "end": {"variation": "b", "date": "2026-12-01T00:00:00Z"}}},
			"scheduledRollout": [{"date": "2026-10-30T00:00:00Z", "targeting": [{"name": "q", "query": "a.b.c ne 1.2.3 or d pr", "variation": "b"}]}],
			"experimentation": {"start": "2026-10-01T00:00:00Z", "end": "2027-01-01T00:00:00Z"}, "metadata": {"description": "d"}}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, document []byte) {
		p, err := gofeatureflag.Convert(document, &convert.Options{Now: now})
		if err != nil {
			return
		}
		converttest.Compile(t, p)
	})
}
