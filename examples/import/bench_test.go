package imports_test

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"testing"
	"time"

	growthbooksdk "github.com/growthbook/growthbook-golang"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/convert"
	"github.com/flagstaff-go/flagstaff/internal/convert/configcat"
	"github.com/flagstaff-go/flagstaff/internal/convert/gofeatureflag"
	"github.com/flagstaff-go/flagstaff/internal/convert/growthbook"
	"github.com/flagstaff-go/flagstaff/internal/convert/launchdarkly"
	"github.com/flagstaff-go/flagstaff/internal/convert/unleash"
	"github.com/flagstaff-go/flagstaff/internal/fulltest"
)

// A contender is a product, with the four flags of benchFlags in its own format.
type contender struct {
	name     string
	document string
	convert  func(document []byte, o *convert.Options) (*convert.Project, error)

	// open returns what a program does for a person: it takes the person, and then gives one
	// flag after the other.
	open func(tb testing.TB, document string) func(*person) func(flag string) any
}

// contenders are all products. To add one, write the four flags in its format.
var contenders = []contender{
	{"launchdarkly", launchDarklyFlags, launchdarkly.Convert, openLaunchDarkly},
	{"unleash", unleashFlags, unleash.Convert, openUnleash},
	{"go-feature-flag", goFeatureFlagFlags, gofeatureflag.Convert, openGoFeatureFlag},
	{"flagd", flagdFlags, convertFlagd, openFlagd},
	{"growthbook", growthBookFlags, growthbook.Convert, openGrowthBook},
	{"configcat", configCatFlags, configcat.Convert, openConfigCat},
}

// benchFlags are the keys of the flags:
//
//	targeted   true in AT, CH and DE for whoever is 18 or older, else false
//	rollout    true for 35 % of those with the plan pro, else false
//	split      red, green and blue in thirds
//	ruled      three rules: staff by e-mail address, a plan, 10 % of all
var benchFlags = []string{"targeted", "rollout", "split", "ruled"}

// nativeFlags are rule sets of the same shape that were made here.
const nativeFlags = `{"flags": [
	{"id": 1, "key": "targeted", "active": true, "filters": {"version": 2, "return_type": "boolean", "default_value": false, "rules": [
		{"rule_type": "targeted_release", "value": true, "targeting": {"properties": [
			{"key": "country", "value": ["AT", "CH", "DE"]}, {"key": "age", "operator": "gte", "value": 18}]}}]}},
	{"id": 2, "key": "rollout", "active": true, "filters": {"version": 2, "return_type": "boolean", "default_value": false, "rules": [
		{"rule_type": "percentage_rollout", "value": true, "rollout_percentage": 35, "targeting": {"properties": [{"key": "plan", "value": "pro"}]}}]}},
	{"id": 3, "key": "split", "active": true, "filters": {"version": 2, "return_type": "string", "default_value": "red", "rules": [
		{"rule_type": "experiment", "experiment_id": null, "paused": false, "rollout_percentage": 100, "variants": [
			{"key": "a", "weight": 33.4, "value": "red"}, {"key": "b", "weight": 33.3, "value": "green"}, {"key": "c", "weight": 33.3, "value": "blue"}]}]}},
	{"id": 4, "key": "ruled", "active": true, "filters": {"version": 2, "return_type": "boolean", "default_value": false, "rules": [
		{"rule_type": "targeted_release", "value": true, "targeting": {"properties": [{"key": "email", "operator": "ends_with", "value": "@acme.com"}]}},
		{"rule_type": "targeted_release", "value": true, "targeting": {"properties": [{"key": "plan", "value": ["business", "enterprise"]}]}},
		{"rule_type": "percentage_rollout", "value": true, "rollout_percentage": 10}]}}]}`

// A person is for whom flags are evaluated.
type person struct {
	id         string
	properties map[string]any
}

func people() []person {
	list := make([]person, 64)
	for i := range list {
		list[i] = person{fmt.Sprintf("01a1fb74-fbb6-73ab-a6e2-%012d", i), map[string]any{
			"country": []string{"US", "DE", "FR", "AT"}[i%4], "age": float64(15 + i%20), "plan": []string{"free", "pro", "business"}[i%3],
			"email": fmt.Sprintf("person%d@%s", i, []string{"example.org", "acme.com"}[i/8%2]),
		}}
	}
	return list
}

// BenchmarkImported evaluates the four flags for one person after the other: with the product's
// own SDK, as they are imported, and as they could have been made here.
//
//	go test -bench Imported -benchtime 1s .
func BenchmarkImported(b *testing.B) {
	all := people()
	for i := range contenders {
		for _, w := range contenders[i].ways(b) {
			b.Run(contenders[i].name+"/"+strings.ReplaceAll(w.name, " ", "_"), func(b *testing.B) {
				b.ReportAllocs()
				for n := 0; b.Loop(); n++ {
					w.evaluate(&all[n%len(all)])
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(benchFlags)), "ns/flag")
			})
		}
	}
}

// TestFast evaluates imported flags in at most 1.2 times the time of flags that were made here,
// and in less time than the product's own SDK. Rounds take turns, and the fastest round of each
// way counts.
func TestFast(t *testing.T) {
	if !fulltest.Enabled() {
		t.Skip("a figure needs a machine that does little else")
	}
	const rounds, times = 200, 20
	all := people()
	for i := range contenders {
		ways := contenders[i].ways(t)
		fastest := make([]time.Duration, len(ways))
		for range rounds {
			for j, w := range ways {
				begun := time.Now()
				for range times {
					for k := range all {
						w.evaluate(&all[k])
					}
				}
				if took := time.Since(begun); fastest[j] == 0 || took < fastest[j] {
					fastest[j] = took
				}
			}
		}
		sdk, imported, native := fastest[0], fastest[1], fastest[2]
		toNative, toSDK := float64(imported)/float64(native), float64(imported)/float64(sdk)
		t.Logf("%s: imported flags take %.2f of the time of native flags, and %.2f of the time of the SDK", contenders[i].name, toNative, toSDK)
		if toNative > 1.2 || toSDK >= 1 {
			t.Errorf("%s: want at most 1.2, and less than 1", contenders[i].name)
		}
	}
}

// A way is one to evaluate the four flags.
type way struct {
	name string
	open func(*person) func(string) any
}

func (w *way) evaluate(p *person) {
	flag := w.open(p)
	for _, key := range benchFlags {
		flag(key)
	}
}

// ways returns the product's own SDK, the imported flags, which have the same values, and flags
// that were made here.
func (c *contender) ways(tb testing.TB) []way {
	theirs, ours := c.open(tb, c.document), openFlagstaff(tb, c.definitions(tb))
	all := people()
	for i := range all {
		one, other := theirs(&all[i]), ours(&all[i])
		for _, key := range benchFlags {
			if got, want := other(key), one(key); got != want {
				tb.Fatalf("%s: %s is %v for person %d, want %v", c.name, key, got, i, want)
			}
		}
	}
	return []way{{"its SDK", theirs}, {"imported", ours}, {"native", openFlagstaff(tb, nativeDefinitions(tb))}}
}

func (c *contender) definitions(tb testing.TB) *flags.Definitions {
	project, err := c.convert([]byte(c.document), &convert.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	for i := range project.Flags {
		if f := &project.Flags[i]; len(f.Problems) > 0 {
			tb.Fatalf("%s: %s: %q", c.name, f.Key, f.Problems)
		}
	}
	d, err := project.Definitions(nil)
	if err != nil {
		tb.Fatal(err)
	}
	return d
}

func nativeDefinitions(tb testing.TB) *flags.Definitions {
	d, err := flags.Decode(strings.NewReader(nativeFlags))
	if err != nil {
		tb.Fatal(err)
	}
	return d
}

func openFlagstaff(tb testing.TB, d *flags.Definitions) func(*person) func(string) any {
	s, err := flags.Compile(d, flags.CompileOptions{})
	if err != nil {
		tb.Fatal(err)
	}
	if problems := s.Problems(); len(problems) > 0 {
		tb.Fatal(problems)
	}
	return func(p *person) func(string) any {
		r := &flags.Request{DistinctID: p.id, PersonProperties: p.properties}
		return func(key string) any {
			if key == "split" {
				return s.Variant(key, r, "")
			}
			return s.Bool(key, r, false)
		}
	}
}

const growthBookFlags = `{"features": {
	"targeted": {"defaultValue": false, "rules": [{"force": true, "condition": {"country": {"$in": ["AT", "CH", "DE"]}, "age": {"$gte": 18}}}]},
	"rollout": {"defaultValue": false, "rules": [{"force": true, "coverage": 0.35, "hashAttribute": "id", "condition": {"plan": "pro"}}]},
	"split": {"defaultValue": "red", "rules": [{"key": "colours", "hashAttribute": "id", "hashVersion": 2, "variations": ["red", "green", "blue"], "weights": [0.334, 0.333, 0.333], "coverage": 1}]},
	"ruled": {"defaultValue": false, "rules": [
		{"force": true, "condition": {"email": {"$regex": "@acme\\.com$"}}}, {"force": true, "condition": {"plan": {"$in": ["business", "enterprise"]}}},
		{"force": true, "coverage": 0.1, "hashAttribute": "id"}]}}}`

func openGrowthBook(tb testing.TB, document string) func(*person) func(string) any {
	ctx := context.Background()
	client, err := growthbooksdk.NewClient(ctx, growthbooksdk.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		tb.Fatal(err)
	}
	if err := client.UpdateFromApiResponseJSON(document); err != nil {
		tb.Fatal(err)
	}
	return func(p *person) func(string) any {
		attributes := growthbooksdk.Attributes{"id": p.id}
		maps.Copy(attributes, p.properties)
		of, err := client.WithAttributes(attributes)
		if err != nil {
			tb.Fatal(err)
		}
		return func(key string) any { return of.EvalFeature(ctx, key).Value }
	}
}
