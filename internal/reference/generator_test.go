package reference_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/flagstaff-go/flagstaff/internal/reference"
)

var documents = flag.Int("documents", 1500, "number of random documents for TestGenerator, with three requests each; -v prints the distribution")

// TestGenerator evaluates random documents: nothing panics, all results obey
// the general rules, and every kind of result is frequent enough for a
// comparison of evaluators to find differences.
func TestGenerator(t *testing.T) {
	count := map[string]int{}
	results := 0
	generator := reference.NewGenerator(1)
	for n := range *documents {
		document := generator.Document()
		if !json.Valid(document) {
			t.Fatalf("document %d is not valid JSON: %s", n, document)
		}
		d := parse(t, string(document))
		for range 3 {
			request := generator.Request()
			got, partial := d.Evaluate(request)
			if again, _ := d.Evaluate(request); !cmp.Equal(got, again) {
				t.Fatalf("document %d: a second evaluation differs: %s", n, cmp.Diff(got, again))
			}
			count["requests"]++
			if partial {
				count["requests, partial"]++
			}
			if len(got) == 0 {
				count["requests, empty"]++
			}
			failed := false
			for _, r := range got {
				if err := checkResult(r); err != nil {
					t.Errorf("document %d, %s: %v in %+v", n, document, err, r)
				}
				failed = failed || r.Failed
				results++
				count["code "+r.Code]++
				count["description "+r.Description]++
				countIf(count, "enabled", r.Enabled)
				countIf(count, "variant", r.HasVariant)
				countIf(count, "payload", r.Payload != nil)
				countIf(count, "failed", r.Failed)
				countIf(count, "index above 0", r.Index > 0)
			}
			countIf(count, "requests, cycle", partial && !failed)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(count)) {
		t.Logf("%7.2f %% %6d %s", 100*float64(count[name])/float64(results), count[name], name)
	}
	for _, code := range []string{
		"condition_match", "no_condition_match", "out_of_rollout_bound", "no_group_type", "super_condition_value", "holdout_condition_value", "missing_dependency",
		"flag_data_parsing_error", "dependency_not_found_cohort", "cohort_filters_parsing_error", "dependency_cycle_cohort",
	} {
		if share := float64(count["code "+code]) / float64(results); share < 0.001 {
			t.Errorf("code %s has a share of %.2f %%, want at least 0.1 %%", code, 100*share)
		}
	}
}

// TestOrderOfFlags checks that reversing a document changes the order of its
// results and nothing else (§15). It leaves out documents in which the first of
// several flags counts.
func TestOrderOfFlags(t *testing.T) {
	generator := reference.NewGenerator(3)
	compared := 0
	for range 300 {
		document, request := generator.Document(), generator.Request()
		var members map[string]json.RawMessage
		var flags []json.RawMessage
		if err := json.Unmarshal(document, &members); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(members["flags"], &flags); err != nil {
			t.Fatal(err)
		}
		seen, ambiguous := map[string]bool{}, false
		for _, raw := range flags {
			var f struct {
				Key string
				ID  int64
			}
			if err := json.Unmarshal(raw, &f); err != nil {
				t.Fatal(err)
			}
			key, id := "key "+f.Key, fmt.Sprint("id ", f.ID)
			ambiguous = ambiguous || seen[key] || seen[id]
			seen[key], seen[id] = true, true
		}
		if ambiguous {
			continue
		}
		compared++
		slices.Reverse(flags)
		members["flags"], _ = json.Marshal(flags)
		reversed, _ := json.Marshal(members)
		want, wantPartial := parse(t, string(document)).Evaluate(request)
		got, partial := parse(t, string(reversed)).Evaluate(request)
		slices.Reverse(got)
		if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(reference.Result{}, "Payload"), cmpopts.EquateEmpty()); diff != "" || partial != wantPartial {
			t.Errorf("%s: reversed, partial %v instead of %v, -want +got:\n%s", document, partial, wantPartial, diff)
		}
	}
	if compared < 150 {
		t.Errorf("only %d documents could be compared", compared)
	}
}

// FuzzEvaluate checks that no document and no person makes the evaluator panic.
func FuzzEvaluate(f *testing.F) {
	for _, c := range reference.Cases() {
		f.Add([]byte(c.Document), []byte(c.Request.Person))
	}
	f.Fuzz(func(t *testing.T, document, person []byte) {
		d, err := reference.Parse(document)
		if err != nil {
			return
		}
		results, _ := d.Evaluate(&reference.Request{DistinctID: "user-1", Person: person, Now: now})
		for _, r := range results {
			if err := checkResult(r); err != nil {
				t.Errorf("%v in %+v", err, r)
			}
		}
	})
}

func countIf(count map[string]int, name string, condition bool) {
	if condition {
		count[name]++
	}
}

// checkResult checks the rules that hold for every result.
func checkResult(r reference.Result) error {
	switch {
	case r.Failed && (r.Enabled || r.HasVariant || r.Payload != nil || r.Index != -1):
		return fmt.Errorf("a failed result has a value")
	case r.HasVariant && !r.Enabled:
		return fmt.Errorf("a disabled flag has a variant")
	case r.Payload != nil && !r.Enabled && r.Code != "super_condition_value":
		return fmt.Errorf("a disabled flag has a payload")
	case r.Code == "" || r.Description == "":
		return fmt.Errorf("no reason")
	case r.Code == "condition_match" && (!r.Enabled || r.Index < 0):
		return fmt.Errorf("a match that is none")
	}
	return nil
}

// TestGeneratorIsDeterministic checks that the same seed makes the same
// sequence.
func TestGeneratorIsDeterministic(t *testing.T) {
	a, b, c := reference.NewGenerator(7), reference.NewGenerator(7), reference.NewGenerator(8)
	differs := false
	for range 50 {
		one, two, other := a.Document(), b.Document(), c.Document()
		if string(one) != string(two) {
			t.Fatalf("documents of one seed differ: %s", cmp.Diff(string(one), string(two)))
		}
		differs = differs || string(one) != string(other)
		left, right := a.Request(), b.Request()
		c.Request()
		left.Zone, right.Zone = nil, nil
		if diff := cmp.Diff(left, right); diff != "" {
			t.Fatalf("requests of one seed differ: %s", diff)
		}
	}
	if !differs {
		t.Error("another seed gives the same documents")
	}
}

// TestGeneratorDraws: what evaluators have differed on before is drawn often enough.
func TestGeneratorDraws(t *testing.T) {
	const documents = 2000
	count := map[string]int{}
	seen := func(what string, is bool) {
		if is {
			count[what]++
		}
	}
	freeDate := regexp.MustCompile(`(?i)[0-9/.,-](?:jan|may|jun|oct|nov)|(?:jan|may|jun|oct|nov)[a-z.]* [0-9]|[0-9]/[0-9]|年|^[0-9]+\.[0-9]+\.[0-9]{4}$`)
	generator := reference.NewGenerator(8)
	for range documents {
		document := generator.Document()
		seen("an escape in a name", regexp.MustCompile(`\\u00[0-9a-f]{2}[a-z_0-9]*":`).Match(document))
		seen("an unknown member", regexp.MustCompile(`"(?:rollout|percent|grops|op|valeu|keys|dates)":`).Match(document))
		seen("all contexts", regexp.MustCompile(`"evaluation_contexts_match_mode":"all"`).Match(document))
		var d struct {
			Flags []struct {
				Active  bool
				Filters struct {
					Groups []struct {
						Properties []struct {
							Key, Value any
							Type       string
							Operator   string
						}
					}
				}
			}
		}
		if json.Unmarshal(document, &d) != nil {
			continue // a member of a wrong type
		}
		person := map[string]any{}
		_ = json.Unmarshal(generator.Request().Person, &person)
		for _, f := range d.Flags {
			for _, g := range f.Filters.Groups {
				for _, p := range g.Properties {
					value, _ := p.Value.(string)
					key, _ := p.Key.(string)
					property, present := person[key]
					text, _ := property.(string)
					seen("an inactive flag with a dependency", !f.Active && p.Type == "flag")
					switch p.Operator {
					case "regex", "not_regex":
						_, valid := reference.MatchPattern(value, "")
						seen(fmt.Sprintf("a pattern that is valid: %v, on a missing property", valid), !present)
						seen("a boundary and a letter beyond ASCII", present && strings.Contains(strings.ToLower(value), `\b`) && valid && strings.ContainsFunc(text, func(r rune) bool { return r > 0x7f && unicode.IsLetter(r) }))
					case "semver_tilde", "semver_caret", "semver_wildcard":
						seen("a list of comparators", strings.Contains(value, ","))
					case "is_date_exact", "is_date_before", "is_date_after":
						seen("a date as people write it in a filter", freeDate.MatchString(value))
						seen("a date as people write it in a property", freeDate.MatchString(text))
					}
				}
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(count)) {
		t.Logf("%5d %s", count[name], name)
	}
	for _, what := range []string{
		"an escape in a name", "an unknown member", "all contexts", "an inactive flag with a dependency", "a pattern that is valid: false, on a missing property",
		"a pattern that is valid: true, on a missing property", "a boundary and a letter beyond ASCII", "a list of comparators",
		"a date as people write it in a filter", "a date as people write it in a property",
	} {
		if count[what] < documents/200 {
			t.Errorf("%s: %d times in %d documents, want %d", what, count[what], documents, documents/200)
		}
	}
}
