package sdk

import (
	"fmt"
	"strings"
	"testing"
)

// A parityCase is a row of evaluation.md §16: the value of a flag for a
// subject, here and in the SDK.
type parityCase struct {
	row     int
	key     string // of the flag, if not flags[0]
	flags   []*definition
	cohorts map[string]node
	subject subject
	ours    string
	theirs  string
}

func check(t *testing.T, c parityCase, ours, theirs map[string]string) {
	t.Helper()
	key := c.key
	if key == "" {
		key = c.flags[0].Key
	}
	if ours[key] != c.ours || theirs[key] != c.theirs {
		t.Errorf("row %d: %s is %s here and %s in the SDK; want %s and %s", c.row, key, ours[key], theirs[key], c.ours, c.theirs)
	}
}

// flagFor makes a flag for the subjects that meet all filters.
func flagFor(key string, rollout float64, properties ...property) *definition {
	return &definition{Key: key, Filters: filters{Groups: []condition{{Properties: properties, Rollout: &rollout}}}}
}

func (f *definition) with(change func(*definition)) *definition {
	change(f)
	return f
}

// operatorCase makes a case of one filter on the property x of a person. The
// person's x is value, or absent if value is missing.
func operatorCase(row int, operator string, filter, value any, ours, theirs string) parityCase {
	s := subject{id: "user-1", person: object{"x": value}}
	if value == missing {
		s.person = object{}
	}
	f := flagFor(fmt.Sprintf("case-%d", row), 100, property{Key: "x", Type: "person", Operator: operator, Value: filter})
	return parityCase{row: row, flags: []*definition{f}, subject: s, ours: ours, theirs: theirs}
}

const missing = "(missing)"

func inCohort(id int, operator string) property {
	return property{Key: "id", Type: "cohort", Operator: operator, Value: id}
}

func leaf(key string, value any, negation bool) property {
	return property{Key: key, Type: "person", Operator: "exact", Value: value, Negation: negation}
}

func dependsOn(key string, value any) property {
	return property{Key: key, Type: "flag", Operator: "flag_evaluates_to", Value: value, Chain: []string{key}}
}

func ofGroup(key, operator string, value any) property {
	return property{Key: key, Type: "group", Operator: operator, Value: value, Index: new(0)}
}

func aggregated(index int) func(*definition) {
	return func(f *definition) { f.Filters.Aggregation = &index }
}

func perCondition(f *definition) {
	for i, c := range f.Filters.Groups {
		if len(c.Properties) > 0 && c.Properties[0].Type == "group" {
			f.Filters.Groups[i].Aggregation = new(0)
		}
	}
}

var (
	acme     = map[string]string{"company": "acme"}
	mixed    = flagFor("mixed", 100, ofGroup("plan", "exact", "enterprise")).with(func(f *definition) { f.Filters.Groups = append(f.Filters.Groups, condition{Rollout: new(50.0)}) }).with(perCondition)
	nations  = map[string]node{"98": {"OR", []any{node{"AND", []any{inCohort(99, "in")}}, node{"AND", []any{leaf("nation", "UK", false)}}}}, "99": {"AND", []any{leaf("other", "thing", true)}}}
	american = flagFor("case-128", 100, leaf("region", "USA", false), inCohort(98, "in"))
)

var cases = []parityCase{
	// §16.1: bucketing and flow.
	{row: 1, flags: []*definition{flagFor("beta-feature", 50)}, subject: subject{id: "user-4"}, ours: "true", theirs: "true"},
	{row: 2, key: "beta-feature", subject: subject{id: "user-1"}, ours: "false", theirs: "false"},
	{row: 5, flags: []*definition{flagFor("case-5", 0)}, subject: subject{id: "user-1"}, ours: "false", theirs: "false"},
	{row: 9, flags: []*definition{flagFor("simple-flag", 45)}, subject: subject{id: "distinct_id_1"}, ours: "true", theirs: "true"},
	{row: 9, key: "simple-flag", subject: subject{id: "distinct_id_3"}, ours: "false", theirs: "false"},
	{row: 10, flags: []*definition{flagFor("multivariate-flag", 55).with(func(f *definition) {
		f.Filters.Multivariate = &multivariate{[]variant{{"first", 50}, {"second", 20}, {"third", 20}, {"fourth", 5}, {"fifth", 5}}}
	})}, subject: subject{id: "distinct_id_0"}, ours: "second", theirs: "second"},
	{row: 11, key: "multivariate-flag", subject: subject{id: "distinct_id_3"}, ours: "false", theirs: "false"},
	{row: 12, flags: []*definition{flagFor("checkout", 100).with(func(f *definition) {
		f.Filters.Multivariate = &multivariate{[]variant{{"x", 10}, {"y", 10}}}
	})}, subject: subject{id: "user-2"}, ours: "true", theirs: "true"},
	{row: 21, key: "beta-feature", subject: subject{id: strings.Repeat("x", 250)}, ours: "true", theirs: "false"},

	// §16.2: enrolment, holdout, device, continuity.
	{row: 37, flags: []*definition{flagFor("case-37", 0).with(func(f *definition) { f.Filters.Enrollment = true })}, subject: subject{id: "user-1", person: object{"$feature_enrollment/case-37": true}}, ours: "true", theirs: "false"},
	{row: 43, flags: []*definition{flagFor("case-43", 100).with(func(f *definition) { f.Filters.Holdout = &holdout{42, 20} })}, subject: subject{id: "user-1"}, ours: "holdout-42", theirs: "true"},
	{row: 44, key: "case-43", subject: subject{id: "user-2"}, ours: "true", theirs: "true"},
	{row: 49, flags: []*definition{flagFor("case-49", 99.9).with(func(f *definition) { f.Bucketing = "device_id" })}, subject: subject{id: "user-1"}, ours: "false", theirs: "true"},
	{row: 54, flags: []*definition{flagFor("device-flag", 60).with(func(f *definition) { f.Bucketing = "device_id" })}, subject: subject{id: "user-1", device: "device-0001"}, ours: "true", theirs: "true"},
	{row: 59, flags: []*definition{flagFor("case-59", 100).with(func(f *definition) { f.Continuity = true })}, subject: subject{id: "user-1"}, ours: "true", theirs: inconclusive},

	// §16.3: operators.
	operatorCase(62, "exact", "Pro", "pro", "true", "false"),
	operatorCase(63, "exact", []any{"a", "B"}, "b", "true", "false"),
	operatorCase(64, "exact", 5.0, "5", "true", "false"),
	operatorCase(66, "exact", false, "banana", "true", "false"),
	operatorCase(69, "exact", []any{"true", "false"}, "true", "false", "true"),
	operatorCase(71, "exact", []any{}, true, "true", "false"),
	operatorCase(72, "is_not", []any{}, "us", "true", "true"),
	operatorCase(73, "is_not", "a", missing, "true", inconclusive),
	operatorCase(75, "exact", "null", nil, "true", "false"),
	operatorCase(76, "is_set", "is_set", nil, "true", "true"),
	operatorCase(77, "is_not_set", "is_not_set", missing, "true", inconclusive),
	operatorCase(78, "is_not_set", "is_not_set", nil, "false", inconclusive),
	operatorCase(79, "icontains", "ÉCOLE", "école", "false", "true"),
	operatorCase(80, "exact", "ÉCOLE", "école", "true", "false"),
	operatorCase(81, "icontains", "", "a", "true", "true"),
	operatorCase(82, "icontains", 3.0, 1234.0, "true", "true"),
	operatorCase(83, "not_icontains", "a", missing, "true", inconclusive),
	operatorCase(84, "icontains_multi", []any{}, "a", "false", inconclusive),
	operatorCase(85, "not_icontains_multi", []any{}, "a", "true", inconclusive),
	operatorCase(86, "starts_with", "HTTP", "https://x", "true", "true"),
	operatorCase(87, "regex", `\.com$`, "a.com", "true", "true"),
	operatorCase(88, "regex", `\.com$`, "a.com\n", "false", "false"),
	operatorCase(89, "regex", "?*", "a", "false", "false"),
	operatorCase(90, "not_regex", "?*", "a", "false", "false"),
	operatorCase(91, "not_regex", "a", missing, "true", inconclusive),
	operatorCase(92, "regex", 4.0, "x4", "true", "true"),
	operatorCase(93, "regex", "(?=.*a)b", "ba", "true", "false"),
	operatorCase(94, "gt", 5.0, "6", "true", inconclusive),
	operatorCase(95, "lt", "30", "100", "false", inconclusive),
	operatorCase(98, "gte", 1.0, true, "false", inconclusive),
	operatorCase(100, "between", []any{1.0, "5"}, 5.0, "true", inconclusive),
	operatorCase(102, "not_between", []any{1.0, 5.0}, missing, "true", inconclusive),
	operatorCase(103, "is_date_before", "-7d", "2020-11-13", "true", "true"),
	operatorCase(104, "is_date_before", "7d", "2020-11-13", "true", "true"),
	operatorCase(106, "is_date_after", "-10000d", "2020-11-13", "false", inconclusive),
	operatorCase(108, "is_date_after", "2024-06-01", 1717225201.0, "true", inconclusive),
	operatorCase(109, "is_date_exact", "2024-06-01T07:00:00Z", "2024-06-01T09:00:00+02:00", "true", inconclusive),
	operatorCase(110, "is_date_after", 1700000000.0, "2026-01-01", "false", inconclusive),
	operatorCase(111, "is_date_before", "2024-01-01", true, "false", inconclusive),
	operatorCase(113, "semver_gt", "3.9", "3.10", "true", "true"),
	operatorCase(114, "semver_eq", "1.2.0", "v1.2", "true", "true"),
	operatorCase(115, "semver_neq", "1.0.0", missing, "false", inconclusive),
	operatorCase(116, "semver_neq", "1.0.0", "banana", "false", inconclusive),
	operatorCase(117, "semver_gte", "1.0.0", "1.0.0-rc.1", "false", "true"),
	operatorCase(118, "semver_eq", "1.0.0", "1.0.0+build", "false", "true"),
	operatorCase(119, "semver_tilde", "1", "1.5.0", "false", "false"),
	operatorCase(120, "semver_tilde", "3.08", "3.8.5", "true", inconclusive),
	operatorCase(121, "semver_caret", "0.0", "0.0.1", "false", "false"),
	operatorCase(122, "semver_wildcard", "1.*", "1.9.0-beta", "false", "true"),
	operatorCase(124, "semver_eq", "1.2.3", "1.2.3.4", "false", "true"),
	operatorCase(125, "semver_eq", "1.2.3", "V1.2.3", "false", "true"),
	operatorCase(126, "foo_bar", 1.0, "1", "failed", inconclusive),

	// §16.4: cohorts, groups, dependencies.
	{row: 128, flags: []*definition{american}, cohorts: nations, subject: subject{id: "user-1", person: object{"region": "USA", "other": "thing"}}, ours: "false", theirs: "false"}, // as §5.3 says about AND
	{row: 129, key: "case-128", subject: subject{id: "user-1", person: object{"region": "USA", "other": "thing2"}}, ours: "true", theirs: "true"},
	{row: 130, key: "case-128", subject: subject{id: "user-1", person: object{"region": "USA"}}, ours: "true", theirs: "false"}, // as §5.3 says about AND
	{row: 131, key: "case-128", subject: subject{id: "user-1", person: object{"region": "USA", "other": "thing", "nation": "UK"}}, ours: "true", theirs: "true"},
	{row: 132, flags: []*definition{flagFor("case-132", 100, inCohort(999, "in"))}, subject: subject{id: "user-1"}, ours: "failed", theirs: inconclusive},
	{row: 134, flags: []*definition{flagFor("case-134", 100, inCohort(134, "in"))}, cohorts: map[string]node{"134": {"OR", []any{leaf("plan", "pro", false), inCohort(999, "in")}}}, subject: subject{id: "user-1", person: object{"plan": "pro"}}, ours: "failed", theirs: "true"},
	{row: 136, flags: []*definition{flagFor("case-136", 100, inCohort(136, "in"))}, cohorts: map[string]node{"136": {"AND", []any{}}}, subject: subject{id: "user-1"}, ours: "false", theirs: "false"},
	{row: 137, flags: []*definition{flagFor("case-137", 100, inCohort(137, "in"))}, cohorts: map[string]node{"137": {"OR", []any{}}}, subject: subject{id: "user-1"}, ours: "false", theirs: inconclusive},
	{row: 138, flags: []*definition{flagFor("case-138", 100, inCohort(138, "exact"))}, cohorts: map[string]node{"138": {"AND", []any{leaf("plan", "pro", false)}}}, subject: subject{id: "user-1", person: object{"plan": "pro"}}, ours: "false", theirs: "true"},
	{row: 139, flags: []*definition{flagFor("case-139", 100, inCohort(138, "not_in"))}, subject: subject{id: "user-1", person: object{"plan": "pro"}}, ours: "false", theirs: "true"},
	{row: 141, flags: []*definition{flagFor("group-flag", 10).with(aggregated(0))}, subject: subject{id: "user-1"}, ours: "false", theirs: inconclusive},
	{row: 142, key: "group-flag", subject: subject{id: "anybody", groups: acme}, ours: "true", theirs: "true"},
	{row: 146, flags: []*definition{flagFor("case-146", 100, ofGroup("$group_key", "exact", "acme")).with(aggregated(0))}, subject: subject{id: "user-1", groups: acme}, ours: "true", theirs: "true"},
	{row: 147, key: "case-146", subject: subject{id: "user-1", groups: acme, group: map[string]object{"company": {"$group_key": "x"}}}, ours: "true", theirs: "false"},
	{row: 148, flags: []*definition{flagFor("case-148", 100).with(aggregated(3))}, subject: subject{id: "user-1", groups: acme}, ours: "false", theirs: inconclusive},
	{row: 149, flags: []*definition{mixed}, subject: subject{id: "user-2"}, ours: "true", theirs: "true"},
	{row: 150, flags: []*definition{flagFor("case-150", 100, ofGroup("plan", "exact", "enterprise")).with(perCondition)}, subject: subject{id: "user-1"}, ours: "false", theirs: "false"},
	{row: 151, key: "case-150", subject: subject{id: "user-1", groups: acme}, ours: "false", theirs: inconclusive},                                                                                                      // the detail at the end of §6.4
	{row: 151, flags: []*definition{flagFor("case-151", 100).with(func(f *definition) { f.Filters.Groups[0].Aggregation = new(0) })}, subject: subject{id: "user-1", groups: acme}, ours: "true", theirs: inconclusive}, // the detail at the end of §6.4
	{row: 153, flags: []*definition{flagFor("case-153", 100, dependsOn("case-5", true))}, subject: subject{id: "user-1"}, ours: "false", theirs: "false"},
	{row: 155, flags: []*definition{flagFor("case-155", 100, dependsOn("case-43", true))}, subject: subject{id: "user-1"}, ours: "true", theirs: "true"},
	{row: 156, flags: []*definition{flagFor("case-156", 100, dependsOn("multivariate-flag", "Second"))}, subject: subject{id: "distinct_id_0"}, ours: "false", theirs: "false"},
	{row: 157, flags: []*definition{flagFor("case-157", 100, dependsOn("case-5", "false"))}, subject: subject{id: "user-1"}, ours: "false", theirs: "false"},
	{row: 158, flags: []*definition{flagFor("case-158", 100, dependsOn("deleted", true))}, subject: subject{id: "user-1"}, ours: "false", theirs: inconclusive},
	{row: 160, flags: []*definition{flagFor("case-160", 100, dependsOn("case-160-b", true)), flagFor("case-160-b", 100, dependsOn("case-160", true))}, subject: subject{id: "user-1"}, ours: "false", theirs: inconclusive},
	{row: 166, flags: []*definition{flagFor("case-166", 100, leaf("distinct_id", "user-1", false))}, subject: subject{id: "user-1"}, ours: "true", theirs: "true"},
	{row: 168, flags: []*definition{flagFor("case-168", 100, leaf("$initial_utm_source", "g", false))}, subject: subject{id: "user-1", person: object{"utm_source": "g"}}, ours: "true", theirs: inconclusive},
	{row: 0, flags: []*definition{flagFor("other-hash", 100).with(func(f *definition) { f.Hash = "xxhash64" })}, subject: subject{id: "user-1"}, ours: "true", theirs: inconclusive}, // evaluation.md §2.1
}
