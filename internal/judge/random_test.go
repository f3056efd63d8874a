package judge_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/fulltest"
	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
	"github.com/flagstaff-go/flagstaff/internal/judge"
	"github.com/flagstaff-go/flagstaff/internal/served"
)

// compile compiles the project with the flag under test, whose filters are raw. It
// returns the errors that the engine reports for the flag; s is nil if raw is
// nothing that the engine reads.
func compile(t testing.TB, p storedProject, raw []byte) (s *flags.Snapshot, problems []string) {
	t.Helper()
	type record struct {
		ID      int64           `json:"id"`
		Key     string          `json:"key"`
		Active  bool            `json:"active"`
		Static  bool            `json:"is_static"`
		Filters json.RawMessage `json:"filters"`
	}
	list := []record{{ID: subject.ID, Key: subject.Key, Active: true, Filters: raw}}
	for _, f := range p.Flags {
		if json.Valid(f.Filters) {
			list = append(list, record{ID: f.ID, Key: f.Key, Active: f.Active, Filters: f.Filters})
		} else {
			list = append(list, record{ID: f.ID, Key: f.Key, Active: f.Active})
		}
	}
	var cohorts []record
	for _, c := range p.Cohorts {
		cohorts = append(cohorts, record{ID: c.ID, Static: c.Static, Filters: c.Filters})
	}
	document, err := json.Marshal(map[string]any{"flags": list, "cohorts": cohorts, "group_type_mapping": map[string]string{"0": "company", "1": "project"}})
	if err != nil {
		return nil, nil // raw is not JSON
	}
	d, err := flags.Decode(bytes.NewReader(document))
	if err != nil {
		return nil, nil
	}
	s, err = flags.Compile(d, flags.CompileOptions{TimeZone: p.TimeZone})
	if err != nil {
		t.Fatalf("Compile: %v", err)
	}
	for _, problem := range s.Problems() {
		if problem.Severity == flags.SeverityError && problem.Flag == subject.Key && !errors.Is(problem.Err, served.ErrBehavioral) {
			problems = append(problems, problem.DefinitionError.Error())
		}
	}
	return s, problems
}

// requests are what accepted filters are evaluated with before and after they are
// normalized.
var requests = func() []*flags.Request {
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	var list []*flags.Request
	for i := range 12 {
		r := &flags.Request{DistinctID: fmt.Sprintf("user-%d", i), Now: now, PersonProperties: map[string]any{}, DeviceID: "d"}
		for j, name := range propertyNames {
			if v := (i*7 + j*3) % (len(propertyValues) + 3); v < len(propertyValues) {
				r.PersonProperties[name] = json.RawMessage(propertyValues[v])
			}
		}
		switch i % 4 {
		case 1:
			r.PersonProperties["$feature_enrollment/new"] = i%3 == 0
		case 2:
			r.Groups = map[string]string{"company": strconv.Itoa(i), "project": "p"}
			r.GroupProperties = map[string]map[string]any{"company": r.PersonProperties}
		case 3:
			r.Cohorts = []int64{11}
			r.Groups = map[string]string{"project": strconv.Itoa(i)}
			r.GroupProperties = map[string]map[string]any{"project": r.PersonProperties}
		}
		list = append(list, r)
	}
	return list
}()

var (
	propertyNames  = []string{"a", "b", "3", "plan", "é", "created_at"}
	propertyValues = []string{`"pro"`, `1`, `1.0`, `"1"`, `true`, `false`, `null`, `["pro"]`, `"2024-06-01"`, `"1.2.3"`, `{"b":2}`, `""`, `"x y"`, `1709280000`}
)

// checkAccepted reports whether raw could be compared. It checks what Filters returned for raw: the engine has no errors, to
// normalize again changes nothing, and it means what raw means.
func checkAccepted(t testing.TB, p storedProject, w *judge.References, raw, out []byte) (compared bool) {
	t.Helper()
	again, err := readAndJudge(out, subject, w)
	if err != nil || !bytes.Equal(again, out) {
		t.Errorf("Filters(%s) = %s; once more: %s", raw, out, outcome(again, err))
	}
	kept := stored(out)
	if err := judge.Judge(kept, subject, w); err != nil || normal(t, kept) != string(out) {
		t.Errorf("Filters(%s) = %s; when it is stored: %v, %s", raw, out, err, normal(t, kept))
	}
	after, problems := compile(t, p, out)
	if after == nil || len(problems) > 0 {
		t.Fatalf("Filters(%s) = %s, which the engine refuses: %q", raw, out, problems)
	}
	before, problems := compile(t, p, raw)
	if before == nil || len(problems) > 0 || repeats(raw) {
		return false // normalized into what can be evaluated
	}
	for i, r := range requests {
		was, err1 := before.Flag(subject.Key, r)
		is, err2 := after.Flag(subject.Key, r)
		if diff := cmp.Diff(was, is, cmpopts.IgnoreUnexported(flags.Result{})); diff != "" || err1 != nil || err2 != nil {
			t.Errorf("Filters(%s) = %s, which means something else to request %d: %v, %v (-raw +normalized)\n%s", raw, out, i, err1, err2, diff)
		}
		if was.Value() != is.Value() {
			t.Errorf("Filters(%s) = %s, which has value %v for request %d, want %v", raw, out, is.Value(), i, was.Value())
		}
	}
	return true
}

// repeats reports whether an object has two members with one name. The engine reads
// some of them one over the other, where null changes nothing.
func repeats(raw []byte) bool {
	switch v := jsonscan.Value(bytes.TrimSpace(raw)); v.Kind() {
	case jsonscan.Object:
		seen := make(map[string]bool)
		for o := v.Object(); o.Next(); {
			name := string(o.Name())
			if seen[name] || repeats(o.Value()) {
				return true
			}
			seen[name] = true
		}
	case jsonscan.Array:
		for a := v.Array(); a.Next(); {
			if repeats(a.Value()) {
				return true
			}
		}
	}
	return false
}

// A generator writes filters, most of them good.
type generator struct{ *rand.Rand }

func (g generator) chance(percent int) bool { return g.IntN(100) < percent }

func (g generator) one(choices ...string) string { return choices[g.IntN(len(choices))] }

// junk is any JSON.
func (g generator) junk() string {
	return g.one(`null`, `true`, `0`, `-1`, `1.5`, `1e999`, `""`, `"x"`, `"1"`, `[]`, `{}`, `[1]`, `{"a":null}`, `"\u0000"`, `"\ud800"`)
}

// or returns what is good, and now and then something else.
func (g generator) or(good string) string {
	if g.chance(2) {
		return g.junk()
	}
	return good
}

// object joins members, of which good ones are left out at times.
func (g generator) object(members ...string) string {
	var list []string
	for i := 0; i+1 < len(members); i += 2 {
		if members[i+1] != "" && !g.chance(1) {
			list = append(list, strconv.Quote(members[i])+":"+g.or(members[i+1]))
		}
	}
	if g.chance(5) {
		list = append(list, `"unknown":`+g.junk())
	}
	g.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return "{" + strings.Join(list, ",") + "}"
}

func (g generator) list(most int, element func() string) string {
	var list []string
	for range g.IntN(most + 1) {
		list = append(list, g.or(element()))
	}
	return "[" + strings.Join(list, g.one(",", " , ")) + "]"
}

func (g generator) share() string {
	return g.one("", "0", "100", "100.0", "50", "12.5", "5e1", "null", "1E2", "33.333")
}

func (g generator) value(operator string) string {
	switch {
	case strings.Contains(operator, "multi"):
		return g.one(`["pro","x"]`, `[]`, `["1"]`)
	case strings.Contains(operator, "icontains"), strings.Contains(operator, "with"):
		return g.one(`"pr"`, `""`, `"\u00e9"`, `"1"`)
	case strings.Contains(operator, "regex"):
		return g.one(`"^p"`, `"\\d"`, `"["`, `"(?=a)"`, `"a|b"`, `"\\w+ \\w"`)
	case strings.Contains(operator, "semver"):
		return g.one(`"1.2.3"`, `"v1"`, `"1.*"`, `"1.2.3-rc.1"`, `"x"`)
	case strings.Contains(operator, "date"):
		return g.one(`"2024-06-01"`, `"-7d"`, `"2w"`, `"2024-06-01T12:00:00+02:00"`, `"x"`)
	case strings.Contains(operator, "between"):
		return g.one(`[0,5]`, `["1",2.5]`, `[5,1]`)
	case operator == "gt", operator == "gte", operator == "lt", operator == "lte", operator == "min", operator == "max":
		return g.one(`1`, `1.0`, `"1"`, `-5e3`, `"inf"`)
	case strings.HasSuffix(operator, "set"):
		return g.one(``, `null`, `"is_set"`, `[1]`)
	}
	return g.one(propertyValues...)
}

func (g generator) compare(kind, index string) string {
	operator := g.one("", "exact", "is_not", "is_set", "is_not_set", "icontains", "not_icontains", "icontains_multi", "not_icontains_multi",
		"starts_with", "not_ends_with", "regex", "not_regex", "gt", "gte", "lt", "lte", "min", "max", "between", "not_between", "is_date_exact",
		"is_date_before", "is_date_after", "semver_eq", "semver_neq", "semver_gt", "semver_lte", "semver_tilde", "semver_caret", "semver_wildcard")
	name := g.one("null", "")
	if operator != "" {
		name = strconv.Quote(operator)
	}
	return g.object("key", g.one(`"a"`, `"b"`, `3`, `"plan"`, `"\u00e9"`, `"created_at"`), "type", kind, "operator", name, "value", g.value(operator),
		"group_type_index", index, "negation", g.one("", "", "false", "true", "null"))
}

func (g generator) property(grouped string) string {
	switch n := g.IntN(10); {
	case n == 0:
		return g.object("key", g.one(`"2"`, `2`, `"base"`, `"88"`, `7`, `"new"`, `"3"`, `"4"`, `"nope"`), "type", `"flag"`, "operator", `"flag_evaluates_to"`,
			"value", g.one(`true`, `false`, `"a"`), "dependency_chain", g.one("", "", "", "[]", `["base"]`, "null"))
	case grouped != "":
		return g.compare(`"group"`, g.one("", grouped, grouped, "null", "0"))
	case n < 3:
		return g.object("key", `"id"`, "type", `"cohort"`, "value", g.one(`10`, `"10"`, `11`, `16`, `12`, `13`, `99`), "operator", g.one("", "", "null", `"in"`, `"not_in"`, `"exact"`))
	}
	return g.compare(g.one(`"person"`, `"person"`, `"person"`, `"person_metadata"`), g.one("", "", "", "null", "0"))
}

func (g generator) filters() string {
	own := g.one("", "", "", "null", "0", "1")
	variants, names, payloads := "", []string{"null", ""}, []string{`{"true":"{\"a\": 1}"}`, `{"true":[1, 2]}`, `{"true":null}`, "", "{}"}
	switch g.IntN(6) {
	case 0, 1:
		variants = `{"variants":[` + g.object("key", `"a"`, "rollout_percentage", "50", "name", g.one(`""`, `null`, ``)) + `,` + g.object("key", `"b"`, "rollout_percentage", "50.0") + `]}`
		names, payloads = []string{"", "null", `"a"`, `"b"`, `"c"`}, []string{`{"a":"1"}`, `{"a":"\"x\"","b":{"c": [ ]}}`, `{"b":1.50}`, ""}
	case 2:
		variants = `null`
	}
	groups := g.list(3, func() string {
		index := g.one("", "", "", "null", "0", "1")
		grouped := index
		if index == "" {
			grouped = own
		}
		if grouped == "null" {
			grouped = ""
		}
		return g.object("properties", g.list(3, func() string { return g.property(grouped) }), "rollout_percentage", g.share(), "variant", g.one(names...),
			"aggregation_group_type_index", index, "description", g.one("", `"D"`), "sort_key", g.one("", `"k"`, "1"))
	})
	return g.object("groups", groups, "multivariate", variants, "aggregation_group_type_index", own, "payloads", g.one(payloads...),
		"early_exit", g.one("", "", "true", "false", "null"), "feature_enrollment", g.one("", "", "true", "false", "null"),
		"holdout", g.one("", "", "", "null", `{"id":7,"exclusion_percentage":30}`),
		"holdout_groups", g.one("", "", "", "[]", `[{"rollout_percentage":40,"variant":"holdout-9","properties":[]}]`, `[{"variant":"holdout-9"}]`),
		"super_groups", g.one("", "", "", "[]", `[{"properties":[{"key":"$feature_enrollment/new","type":"person","value":["true"]}]}]`, `[{"properties":[{"key":"a"}]}]`))
}

func (g generator) node(depth int) string {
	if depth == 0 || g.chance(40) {
		switch g.IntN(6) {
		case 0:
			return g.object("key", `"id"`, "type", `"cohort"`, "value", g.one(`10`, `"10"`, `11`, `16`, `12`, `99`, `20`), "operator", g.one("", "null", `"in"`, `"not_in"`), "negation", g.one("", "true"))
		case 1:
			return g.object("key", g.one(`"$pageview"`, `4`), "type", `"behavioral"`, "value", `"performed_event"`, "time_value", "30", "negation", g.one("", "true"))
		}
		return g.compare(g.one(`"person"`, `"person"`, `"person_metadata"`), "")
	}
	list := g.list(3, func() string { return g.node(depth - 1) })
	switch g.IntN(8) {
	case 0:
		return `{"AND":` + list + `}`
	case 1:
		return `{"OR":` + list + `}`
	}
	return g.object("type", g.one(`"AND"`, `"OR"`, `"and"`, `"Or"`, `"property"`), "values", list)
}

// What Filters accepts compiles without errors, and means what was sent.
func TestRandomFilters(t *testing.T) {
	n := fulltest.Count(400, 4000)
	p := project()
	w := worldOf(p)
	accepted, compared := 0, 0
	for i := range n {
		g := generator{rand.New(rand.NewPCG(1, uint64(i)))}
		raw := []byte(g.filters())
		out, err := readAndJudge(raw, subject, w)
		if err == nil {
			accepted++
			if checkAccepted(t, p, w, raw, out) {
				compared++
			}
		} else if e, ok := errors.AsType[*judge.Error](err); !ok || e.Attr != "filters" || out != nil {
			t.Errorf("Filters(%s) = %s, %v; want a fault", raw, out, err)
		}
		if t.Failed() {
			t.Fatalf("stopped at case %d", i)
		}
	}
	if compared < n/10 || accepted > n*9/10 {
		t.Errorf("of %d filters %d were accepted and %d compared: the generator has lost its balance", n, accepted, compared)
	}
}

// Many filters at once are judged as each by itself.
func TestRandomJudgeAll(t *testing.T) {
	w := newWorld()
	g := generator{rand.New(rand.NewPCG(4, 4))}
	refused, accepted := 0, 0
	for range fulltest.Count(10, 100) {
		var cases []judge.Case
		var want, got []string
		for len(cases) < 60 {
			f, err := read(nil, []byte(g.filters()))
			if err != nil {
				continue
			}
			alone := f.Clone()
			err = judge.Judge(&alone, subject, w)
			want = append(want, judged(t, &alone, err))
			cases = append(cases, judge.Case{Filters: &f, Subject: subject})
			if err != nil {
				refused++
			} else {
				accepted++
			}
		}
		for i, err := range judge.JudgeAll(cases, w) {
			got = append(got, judged(t, cases[i].Filters, err))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("JudgeAll (-each by itself +all at once)\n%s", diff)
		}
	}
	if refused < accepted/10 || accepted < refused/10 {
		t.Errorf("%d filters were refused and %d accepted: the generator has lost its balance", refused, accepted)
	}
}

// judged shows filters that were judged, or why they were refused.
func judged(t *testing.T, f *flags.Filters, err error) string {
	if err != nil {
		return outcome(nil, err)
	}
	return normal(t, f)
}

// An object with many members has each once, with the last of its values.
func TestManyMembers(t *testing.T) {
	var b strings.Builder
	want := make(map[string]string)
	b.WriteString(`{"groups":[{}],"payloads":{`)
	for i := range 60 {
		key := fmt.Sprintf("key-%d", i*7%40) // of which the first twenty come twice
		want[key] = strconv.Itoa(i)
		fmt.Fprintf(&b, `"%s":%d,`, key, i)
	}
	b.WriteString(`"last":null}}`)
	f, err := read(nil, []byte(b.String()))
	if err != nil {
		t.Fatal(err)
	}
	got := make(map[string]string)
	for key := range f.Payloads {
		if payload, ok := f.Payload(key); ok {
			got[key] = payload
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("payloads (-want +got)\n%s", diff)
	}
}

// checkCohort checks what CohortFilters returned for raw, as checkAccepted does, by
// a flag that uses the cohort.
func checkCohort(t testing.TB, p storedProject, w *judge.References, raw, out []byte) (compared bool) {
	t.Helper()
	const id = 20
	again, err := readAndJudgeCohort(out, id, w)
	if err != nil || !bytes.Equal(again, out) {
		t.Errorf("CohortFilters(%s) = %s; once more: %s", raw, out, outcome(again, err))
	}
	kept := storedTree(out)
	if err := judge.JudgeCohort(kept, id, w); err != nil {
		t.Errorf("CohortFilters(%s) = %s; when it is stored: %v", raw, out, err)
	}
	if again, err := kept.Normal(); err != nil || !bytes.Equal(again, out) {
		t.Errorf("CohortFilters(%s) = %s; when it is stored: %s, %v", raw, out, again, err)
	}
	with := func(filters []byte) (*flags.Snapshot, []string) {
		p := p
		p.Cohorts = append(p.Cohorts[:len(p.Cohorts):len(p.Cohorts)], storedCohort{ID: id, Filters: filters})
		return compile(t, p, []byte(property(`{"key":"id","type":"cohort","value":20}`)))
	}
	after, problems := with(out)
	if after == nil || len(problems) > 0 {
		t.Fatalf("CohortFilters(%s) = %s, which the engine refuses: %q", raw, out, problems)
	}
	before, problems := with(raw)
	if before == nil || len(problems) > 0 || repeats(raw) {
		return false
	}
	for i, r := range requests {
		was, err1 := before.Flag(subject.Key, r)
		is, err2 := after.Flag(subject.Key, r)
		if diff := cmp.Diff(was, is, cmpopts.IgnoreUnexported(flags.Result{})); diff != "" || err1 != nil || err2 != nil {
			t.Errorf("CohortFilters(%s) = %s, which means something else to request %d: %v, %v (-raw +normalized)\n%s", raw, out, i, err1, err2, diff)
		}
	}
	return true
}

func TestRandomCohorts(t *testing.T) {
	n := fulltest.Count(300, 3000)
	p := project()
	w := worldOf(p)
	accepted, compared := 0, 0
	for i := range n {
		g := generator{rand.New(rand.NewPCG(2, uint64(i)))}
		raw := []byte(g.object("properties", g.node(3)))
		out, err := readAndJudgeCohort(raw, 20, w)
		if err == nil {
			accepted++
			if checkCohort(t, p, w, raw, out) {
				compared++
			}
		} else if e, ok := errors.AsType[*judge.Error](err); !ok || e.Attr != "filters" || out != nil {
			t.Errorf("CohortFilters(%s) = %s, %v; want a fault", raw, out, err)
		}
		if t.Failed() {
			t.Fatalf("stopped at case %d", i)
		}
	}
	if compared < n/10 || accepted > n*9/10 {
		t.Errorf("of %d trees %d were accepted and %d compared: the generator has lost its balance", n, accepted, compared)
	}
}
