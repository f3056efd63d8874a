package sdk

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/posthog/posthog-go"

	"github.com/flagstaff-go/flagstaff/internal/fulltest"
	"github.com/flagstaff-go/flagstaff/internal/reference/rules"
)

// TestRuleSets: the SDK, which does not know rule sets, is never told a wrong value (rules.md §4.4
// and §5). It evaluates those itself that condition sets can say, and has the server's value, as
// older clients see it, for all others.
func TestRuleSets(t *testing.T) {
	t.Parallel()
	n, people := 45, fulltest.Count(6, 25)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	g := rules.NewGenerator(seed)
	sets, exact, texts := make(map[string]*rules.Set), make(map[string]bool), make(map[string]string)
	var list []string
	for i := range n {
		key := fmt.Sprint("f", i)
		document := g.Document()
		if exact[key] = i%3 == 0; exact[key] {
			document = g.Exact(key)
		}
		set, err := rules.Read(document)
		if err != nil {
			t.Fatal(err)
		}
		sets[key], texts[key] = set, document
		list = append(list, fmt.Sprintf(`{"id":%d,"key":%q,"version":1,"active":true,"filters":%s}`, i+1, key, document))
	}
	file := filepath.Join(t.TempDir(), "flags.json")
	if err := os.WriteFile(file, []byte(`{"flags":[`+strings.Join(list, ",")+`]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	server := start(t, "-demo", "-flags", file)
	clientOf := func(secret string) posthog.Client {
		sdk, err := posthog.NewWithConfig(server.projectKey, posthog.Config{Endpoint: server.url, SecretKey: secret, Logger: new(record), Interval: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = sdk.Close() })
		return sdk
	}
	local, remote := clientOf(server.secretKey), clientOf("")
	evaluatedHere := 0
	for range people {
		id := g.ID()
		if id == "" || len(id) > 200 { // SDKs send no empty ID, and cut none
			id = "ada"
		}
		person := map[string]any{"plan": g.Pick("pro", "free"), "age": float64(g.IntN(20)), "city": g.Pick("Oslo", "Paris")}
		properties := posthog.NewProperties()
		for name, value := range person {
			properties.Set(name, value)
		}
		for key, set := range sets {
			outcome := set.Decide(id, person)
			want := outcome.Older()
			request := posthog.FeatureFlagPayload{Key: key, DistinctId: id, PersonProperties: properties, SendFeatureFlagEvents: new(false)}
			for name, sdk := range map[string]posthog.Client{"locally or remotely": local, "remotely": remote} {
				got, err := sdk.GetFeatureFlag(request)
				if err != nil || got != want.Value {
					t.Errorf("%s for %s, %s: %v, %v; want %v of %s", key, id, name, got, err, want.Value, outcome)
				}
			}
			if !exact[key] {
				continue // asked for its own value alone, the SDK says of a flag that it does not have that it is off
			}
			request.OnlyEvaluateLocally = true
			if got, err := local.GetFeatureFlag(request); err != nil || got != want.Value {
				t.Errorf("%s for %s, locally: %v, %v; want %v of %s\n%s", key, id, got, err, want.Value, outcome, texts[key])
			}
			evaluatedHere++
		}
	}
	t.Logf("%d evaluations in the SDK", evaluatedHere)
}
