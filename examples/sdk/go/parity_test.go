package sdk

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/posthog/posthog-go"

	"github.com/flagstaff-go/flagstaff/flags"
)

// inconclusive is the SDK's value of a flag that it cannot evaluate itself. A
// program would then ask the server.
const inconclusive = "inconclusive"

// TestParity evaluates the same definitions with package flags and with the
// SDK, which loads them from the server: the cases of evaluation.md §16 in
// which the two differ or might differ, and random flags for random persons.
// Values may differ only where the table of differences allows it, and each row
// of the table must be needed.
func TestParity(t *testing.T) {
	t.Parallel()
	const randomFlags, people = 400, 50
	d := &document{Groups: map[string]string{"0": "company"}, Cohorts: map[string]node{}}
	g := &generator{rand.New(rand.NewPCG(1, 2)), d}
	for id := 1; id <= 12; id++ {
		d.Cohorts[fmt.Sprint(id)] = g.cohort(id)
	}
	for id := 1; id <= randomFlags; id++ {
		d.Flags = append(d.Flags, g.flag(id))
	}
	var subjects []*subject
	for n := range people {
		subjects = append(subjects, g.subject(n))
	}
	for i, c := range cases {
		maps.Copy(d.Cohorts, c.cohorts)
		for j, f := range c.flags {
			f.ID, f.Active, f.Version = 10_000+100*i+j, true, 1
			d.Flags = append(d.Flags, f)
		}
		subjects = append(subjects, &c.subject)
	}
	ours, theirs := evaluators(t, d)

	needed := make(map[string]int)
	same := make(map[string]map[string]int) // by operator and value
	clean, differ := 0, 0
	for i, s := range subjects {
		mine, its := ours(s), theirs(s)
		// No other person has the properties that the flags of the cases read.
		compared := d.Flags[:randomFlags]
		if i >= people {
			compared = d.Flags[randomFlags:]
		}
		for _, f := range compared {
			want, got := mine[f.Key], its[f.Key]
			reasons := d.differences(f, s)
			if len(reasons) == 0 {
				clean++
			}
			if want == got {
				if len(reasons) == 0 {
					d.visit(f, s, func(p property, _ object) {
						if same[p.Operator] == nil {
							same[p.Operator] = make(map[string]int)
						}
						same[p.Operator][want]++
					})
				}
				continue
			}
			differ++
			if len(reasons) == 0 {
				t.Errorf("%s for %s: flags says %s, the SDK %s, and no row of the table says why\n%s\n%s", f.Key, s.id, want, got, asJSON(f), asJSON(s.person))
			}
			if len(reasons) == 1 {
				needed[reasons[0]]++
			}
		}
		if i >= people {
			check(t, cases[i-people], mine, its)
		}
		if t.Failed() {
			break // one subject is enough for a report
		}
	}
	t.Logf("%d comparisons without any reason to differ agree; %d others differ", clean, differ)
	if t.Failed() {
		return
	}
	for _, row := range differences {
		if needed[row.String()] == 0 {
			t.Errorf("nothing differs because of %s alone", row)
		}
	}
	for _, name := range names {
		for _, operator := range kinds[name].operators {
			if same[operator]["true"] == 0 || same[operator]["false"] == 0 {
				t.Errorf("operator %s: %v agree; want some that are on and some that are off", operator, same[operator])
			}
		}
	}
	if clean < 2*differ {
		t.Errorf("%d comparisons without a reason to differ, %d that differ; want far fewer of those", clean, differ)
	}
}

func asJSON(v any) string {
	b, _ := json.Marshal(v)
	return string(b)
}

// evaluators returns two functions from a subject to the value of each flag:
// one uses package flags, the other the SDK.
func evaluators(t *testing.T, d *document) (ours, theirs func(*subject) map[string]string) {
	text, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	definitions, err := flags.Decode(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	snapshot, err := flags.Compile(definitions, flags.CompileOptions{})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "flags.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	server := start(t, "-demo", "-flags", file)
	sdk, err := posthog.NewWithConfig(server.projectKey, posthog.Config{Endpoint: server.url, SecretKey: server.secretKey, Logger: new(record), Interval: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = sdk.Close() })

	ours = func(s *subject) map[string]string {
		results := snapshot.Evaluate(s.ours())
		values := make(map[string]string)
		for _, f := range d.Flags {
			r, ok := results.Get(f.Key)
			switch {
			case !ok: // the flag is not active, or in a cycle
				values[f.Key] = "false"
			case r.Failed:
				values[f.Key] = "failed"
			case r.Variant != "":
				values[f.Key] = r.Variant
			default:
				values[f.Key] = fmt.Sprint(r.Enabled)
			}
		}
		return values
	}
	theirs = func(s *subject) map[string]string {
		results, err := sdk.GetAllFlags(s.theirs())
		if err != nil {
			t.Fatal(err)
		}
		values := make(map[string]string)
		for _, f := range d.Flags {
			values[f.Key] = inconclusive
			if v, ok := results[f.Key]; ok {
				values[f.Key] = fmt.Sprint(v)
			}
		}
		return values
	}
	return ours, theirs
}

func (s *subject) ours() *flags.Request {
	return &flags.Request{DistinctID: s.id, DeviceID: s.device, PersonProperties: s.person, Groups: s.groups, GroupProperties: s.group}
}

func (s *subject) theirs() posthog.FeatureFlagPayloadNoKey {
	p := posthog.FeatureFlagPayloadNoKey{
		DistinctId: s.id, PersonProperties: posthog.Properties(s.person), OnlyEvaluateLocally: true,
		Groups: posthog.NewGroups(), GroupProperties: make(map[string]posthog.Properties),
	}
	if s.device != "" {
		p.DeviceId = new(s.device)
	}
	for name, key := range s.groups {
		p.Groups[name] = key
	}
	for name, properties := range s.group {
		p.GroupProperties[name] = posthog.Properties(properties)
	}
	return p
}

// A difference is a way in which the SDK differs from the server that it is
// made for, and so from this one.
type difference struct {
	section string // of evaluation.md
	what    string
	applies func(d *document, f *definition, s *subject) bool
}

func (r difference) String() string { return "§" + r.section + " " + r.what }

// differences lists the rows that explain why the values of a flag may differ.
func (d *document) differences(f *definition, s *subject) []string {
	var reasons []string
	for _, row := range differences {
		if row.applies(d, f, s) {
			reasons = append(reasons, row.String())
		}
	}
	return reasons
}

// byFilter returns a reason that depends on a filter and the property that it
// reads.
func byFilter(applies func(p property, value any) bool) func(*document, *definition, *subject) bool {
	return func(d *document, f *definition, s *subject) bool {
		found := false
		d.visit(f, s, func(p property, in object) {
			value, ok := in[p.Key]
			found = found || ok && (p.Type == "person" || p.Type == "group") && applies(p, value)
		})
		return found
	}
}

// byFlag returns a reason that depends on a flag, or on a flag that it depends
// on.
func byFlag(applies func(f *definition, s *subject) bool) func(*document, *definition, *subject) bool {
	return func(d *document, f *definition, s *subject) bool {
		return slices.ContainsFunc(d.needs(f, s), func(f *definition) bool { return applies(f, s) })
	}
}

var (
	substring = []string{"icontains", "not_icontains", "starts_with", "not_starts_with", "ends_with", "not_ends_with"}
	ordered   = []string{"gt", "gte", "lt", "lte"}
	dates     = []string{"is_date_before", "is_date_after"}
	matching  = []string{"exact", "is_not"}

	plainVersion = regexp.MustCompile(`^v?(0|[1-9]\d*)(\.(0|[1-9]\d*)){0,2}$`)
	plainPattern = regexp.MustCompile(`^v?(0|[1-9]\d*)(\.(0|[1-9]\d*))?\.\*$`)
	plainDate    = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})?)?$`)
	relativeDate = regexp.MustCompile(`^-?\d{1,4}[hdwy]$`)
)

func textOf(v any) (string, bool) {
	s, ok := v.(string)
	return s, ok
}

func number(v any) bool {
	_, ok := v.(float64)
	return ok
}

func ascii(v any) bool {
	s := fmt.Sprint(v)
	return len(s) == utf8.RuneCountInString(s)
}

func plain(pattern *regexp.Regexp, v any) bool {
	s, ok := textOf(v)
	return ok && pattern.MatchString(s)
}

// alike reports whether an element of a filter and a property match for every
// evaluator, or for none.
func alike(element, value any) bool {
	e, ok := textOf(element)
	v, too := textOf(value)
	switch {
	case ok && too:
		return (e == v) == strings.EqualFold(e, v)
	case number(element) && number(value):
		return true
	}
	return false
}

// boolish follows evaluation.md §4.4.
func boolish(v any) bool {
	switch v := v.(type) {
	case bool:
		return true
	case string:
		return strings.EqualFold(v, "true") || strings.EqualFold(v, "false")
	case []any:
		return !slices.ContainsFunc(v, func(e any) bool { return !boolish(e) })
	}
	return false
}

// differences are the differences that evaluation.md states for the Go SDK.
var differences = []difference{
	{"2.1", "a flag that hashes with xxHash64 is for the server", byFlag(func(f *definition, _ *subject) bool { return f.Hash != "" })},
	{"2.4", "the SDK hashes IDs of more than 200 bytes in full", byFlag(func(_ *definition, s *subject) bool { return len(s.id) > 200 })},
	{"2.6", "without a device ID the SDK hashes the distinct ID", byFlag(func(f *definition, s *subject) bool { return f.Bucketing == "device_id" && s.device == "" })},
	{"3.3", "the SDK does not know enrolment", byFlag(func(f *definition, s *subject) bool {
		_, ok := s.person["$feature_enrollment/"+f.Key]
		return f.Filters.Enrollment && ok
	})},
	{"4.1", "an operator that nobody knows makes a flag fail", func(d *document, f *definition, s *subject) bool {
		found := false
		d.visit(f, s, func(p property, _ object) { found = found || p.Operator == "foo_bar" })
		return found
	}},
	{"4.3", "a property that is missing is inconclusive", func(d *document, f *definition, s *subject) bool {
		found := false
		d.visit(f, s, func(p property, in object) {
			_, ok := in[p.Key]
			found = found || !ok && (p.Type == "person" || p.Type == "group")
		})
		return found
	}},
	{"4.3", "null is not text", byFilter(func(p property, value any) bool { return value == nil && p.Operator != "is_set" })},
	{"4.3", "is_not_set is inconclusive", byFilter(func(p property, _ any) bool { return p.Operator == "is_not_set" })},
	{"4.4", "exact and is_not compare types and case, and know no truth", byFilter(func(p property, value any) bool {
		if !slices.Contains(matching, p.Operator) || value == nil {
			return false
		}
		if _, ok := p.Value.(bool); ok {
			_, too := value.(bool)
			return !too
		}
		if boolish(p.Value) {
			return true
		}
		list, ok := p.Value.([]any)
		if !ok {
			list = []any{p.Value}
		}
		return slices.ContainsFunc(list, func(e any) bool { return !alike(e, value) })
	})},
	{"4.5", "text is folded by all of Unicode, and lists are written otherwise", byFilter(func(p property, value any) bool {
		_, list := p.Value.([]any)
		_, too := value.([]any)
		return slices.Contains(substring, p.Operator) && value != nil && (!ascii(p.Value) || !ascii(value) || list || too || p.Value == nil)
	})},
	{"4.5", "the SDK has no _multi operators", byFilter(func(p property, _ any) bool { return strings.HasSuffix(p.Operator, "_multi") })},
	{"4.6", "the SDK has no look-around", byFilter(func(p property, _ any) bool { return strings.Contains(fmt.Sprint(p.Value), "(?=") })},
	{"4.6", "patterns are for texts", byFilter(func(p property, value any) bool {
		_, ok := textOf(value)
		_, too := textOf(p.Value)
		return strings.HasSuffix(p.Operator, "regex") && value != nil && (!ok || !too)
	})},
	{"4.7", "numbers in texts are an error", byFilter(func(p property, value any) bool {
		return slices.Contains(ordered, p.Operator) && value != nil && (!number(p.Value) || !number(value))
	})},
	{"4.8", "the SDK has no between", byFilter(func(p property, _ any) bool { return strings.HasSuffix(p.Operator, "between") })},
	{"4.9", "the SDK has no is_date_exact", byFilter(func(p property, _ any) bool { return p.Operator == "is_date_exact" })},
	{"4.9", "the SDK knows fewer dates, and no bad ones", byFilter(func(p property, value any) bool {
		return slices.Contains(dates, p.Operator) && value != nil && (!plain(plainDate, value) || !plain(plainDate, p.Value) && !plain(relativeDate, p.Value))
	})},
	{"4.10", "the SDK reads versions otherwise", byFilter(func(p property, value any) bool {
		pattern := plainVersion
		if p.Operator == "semver_wildcard" {
			pattern = plainPattern
		}
		return strings.HasPrefix(p.Operator, "semver_") && value != nil && (!plain(plainVersion, value) || !plain(pattern, p.Value))
	})},
	{"5.2", "the SDK does not look at the operator of a cohort", func(d *document, f *definition, s *subject) bool {
		found := false
		d.visit(f, s, func(p property, _ object) { found = found || p.Type == "cohort" && p.Operator != "in" })
		return found
	}},
	{"5.3", "an empty OR is a member, and sent as something inconclusive", func(d *document, f *definition, s *subject) bool {
		return d.inCohort(f, s, func(n node) bool { return n.Type == "OR" && len(n.Values) == 0 })
	}},
	{"5.5", "a cohort that is missing is for the server", func(d *document, f *definition, s *subject) bool {
		found := false
		d.visit(f, s, func(p property, _ object) {
			_, ok := d.Cohorts[fmt.Sprint(p.Value)]
			found = found || p.Type == "cohort" && !ok
		})
		return found
	}},
	{"6.2", "a group that is missing is an error", byFlag(func(f *definition, s *subject) bool {
		return f.Filters.Aggregation != nil && s.groups["company"] == ""
	})},
	{"6.2", "a group type that does not exist is an error", byFlag(func(f *definition, _ *subject) bool {
		return f.Filters.Aggregation != nil && *f.Filters.Aggregation != 0
	})},
	{"6.3", "the caller's own $group_key counts", byFlag(func(f *definition, s *subject) bool {
		_, ok := s.group["company"]["$group_key"]
		return ok && (f.Filters.Aggregation != nil || f.mixed())
	})},
	{"6.4", "a condition about a group without properties is inconclusive", byFlag(func(f *definition, s *subject) bool {
		return f.mixed() && s.groups["company"] != "" && s.group["company"] == nil
	})},
	{"7.2", "a dependency that is missing or a cycle is inconclusive", func(d *document, f *definition, s *subject) bool {
		found := false
		d.visit(f, s, func(p property, _ object) {
			found = found || p.Type == "flag" && (d.flag(p.Key) == nil || d.dependsOnItself(p.Key, s))
		})
		return found
	}},
	{"12", "continuity is for the server", func(_ *document, f *definition, _ *subject) bool { return f.Continuity }},
	{"13", "the SDK does not know holdouts", byFlag(func(f *definition, _ *subject) bool { return f.Filters.Holdout != nil })},
}

// inCohort reports whether a flag needs a cohort that has a node of some kind.
func (d *document) inCohort(f *definition, s *subject, such func(node) bool) bool {
	var in func(node) bool
	in = func(n node) bool {
		return such(n) || slices.ContainsFunc(n.Values, func(v any) bool {
			inner, ok := v.(node)
			return ok && in(inner)
		})
	}
	found := false
	d.visit(f, s, func(p property, _ object) {
		cohort, ok := d.Cohorts[fmt.Sprint(p.Value)]
		found = found || p.Type == "cohort" && ok && in(cohort)
	})
	return found
}

func (d *document) dependsOnItself(key string, s *subject) bool {
	found := false
	d.visit(d.flag(key), s, func(p property, _ object) { found = found || p.Type == "flag" && p.Key == key })
	return found
}
