package flagd

import (
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/open-feature/flagd/core/pkg/evaluator"
	"github.com/open-feature/flagd/core/pkg/logger"
	"github.com/open-feature/flagd/core/pkg/store"
	"github.com/open-feature/flagd/core/pkg/sync"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/flagstaff-go/flagstaff/examples/import/internal/flagdtest"
	"github.com/flagstaff-go/flagstaff/examples/import/internal/oracle"
)

// TestFile evaluates the flags of a team, and what they are exported as.
func TestFile(t *testing.T) {
	document, err := os.ReadFile("../../../internal/convert/flagd/testdata/flags.json")
	if err != nil {
		t.Fatal(err)
	}
	noWarnings(t, document)
	p := flagdtest.Product("new", open)
	p.RunDocument(t, document, viewer, "continue-watching", "legacy-login", "old-player", "maintenance", "watch-party")
	p.Of(document, viewer).RunExport(t)
	exported, _ := p.Exported(t, document)
	noWarnings(t, exported)
}

// noWarnings wants a file to be as the schema of flagd says.
func noWarnings(t *testing.T, document []byte) {
	t.Helper()
	core, logs := observer.New(zapcore.WarnLevel)
	l := logger.NewLogger(zap.New(core), false)
	s, err := store.NewStore(l, []string{"file"})
	if err != nil {
		t.Fatal(err)
	}
	if err := evaluator.NewJSON(l, s).SetState(sync.DataSync{FlagData: string(document), Source: "file"}); err != nil {
		t.Fatal(err)
	}
	for _, line := range logs.All() { // what does not follow the schema is a warning
		t.Error(line.Message)
	}
}

// viewer is somebody whom the targeting of the file is about.
func viewer(r *rand.Rand) oracle.Subject {
	s := oracle.Subject{ID: fmt.Sprintf("u-%d", r.IntN(1000))}
	type object = map[string]any
	values := map[string][]any{
		"email":      {"ada@studio.example", "bob@uni.edu", "eve@ox.ac.uk", "frank@example.com", "G@STUDIO.EXAMPLE", "", 5.0},
		"settings":   {object{"autoplay": false, "theme": "dark"}, object{"autoplay": 0.0, "theme": "blue"}, object{"largeText": 1.0}, object{"theme": "light", "largeText": true}, "none"},
		"device":     {object{"chip": "a18", "os": "ios"}, object{"os": "tvos", "shared": true}, object{"os": "webos", "shared": "1", "trusted": "no"}, object{"trusted": []any{}}},
		"connection": {object{"mbit": 4.9}, object{"mbit": 5.0, "kind": "satellite"}, object{"mbit": "50"}, object{"mbit": 50.0}, object{}},
		"plan":       {"family", "family-plus", "premium", "standard", "free", nil, "Premium"},
		"profile":    {object{"age": 12.0, "kid": true}, object{"age": 13.0}, object{"age": 18.0, "kid": false}, object{"age": "71"}, object{"age": nil}, 5.0},
		"profiles":   {1.0, 2.0, "2", true},
		"appVersion": {"6.4.0", "6.4.0-rc.1", "v6.3.9", "6.3", "4.9.9", "5", "7.0", 6.4, "6.x"},
		"locale":     {"de-DE", "en-US", "en-GB", "fr", "DE", 1.0},
		"roles":      {[]any{"tester"}, []any{"editor", "billing"}, []any{}, "tester", "billing department", nil},
		"country":    {"DE", "US", "CA", "BR", "ES", "GB", "de", nil},
		"account":    {object{"months": 12.0, "overdue": 0.0, "idleDays": 61.0}, object{"months": 24.0, "overdue": true, "idleDays": 365.0}, object{"months": 121.0, "overdue": "", "idleDays": 366.0}, object{"months": "120"}},
		"campaign":   {"winter", "summer"}, "student": {true, 1.0, "true"}, "consent": {object{"personalised": false}, object{"personalised": ""}, object{}},
		"pushToken": {"abc", "", nil, []any{""}}, "session": {fmt.Sprint("s-", r.IntN(100)), "", nil, 7.0}, "beta": {true, "true", 1.0},
		"region": {"eu", "us", "ap"}, "risk": {0.5, 0.51, 0.8, 0.81, "0.9"}, "tickets": {3.0, 4.0, "4"},
	}
	s.Properties = oracle.Some(r, values, 5)
	return s
}
