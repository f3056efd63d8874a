// Package launchdarkly compares LaunchDarkly's evaluation engine with imported flags.
package launchdarkly

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/launchdarkly/go-sdk-common/v3/ldcontext"
	"github.com/launchdarkly/go-sdk-common/v3/ldvalue"
	evaluation "github.com/launchdarkly/go-server-sdk-evaluation/v3"
	"github.com/launchdarkly/go-server-sdk-evaluation/v3/ldmodel"

	"github.com/flagstaff-go/flagstaff/examples/import/internal/oracle"
	"github.com/flagstaff-go/flagstaff/internal/convert/launchdarkly"
)

// groupTypes are the kinds of contexts but user.
var groupTypes = []string{"org", "device"}

var product = oracle.Product{
	Convert:    launchdarkly.Convert,
	GroupTypes: groupTypes,
	Generate:   generate,
	Open:       open,
	Export:     launchdarkly.Export,
}

func TestExportByHand(t *testing.T) { product.RunByHand(t, true, "plain", "share") }

func TestExport(t *testing.T) { product.RunExport(t) }

// TestExportMovedBoundary moves a weight by a tenth of a percent: what is exported has no weights
// of 0, which those without an attribute would tell from others.
func TestExportMovedBoundary(t *testing.T) {
	product.BitesExport(t, func(_ *rand.Rand, document []byte) []byte { return moved(document, 100) })
}

func TestRandomPairs(t *testing.T) { product.Run(t) }

// TestMovedBoundary moves a weight by the thousandth of a percent.
func TestMovedBoundary(t *testing.T) {
	product.Bites(t, func(_ *rand.Rand, document []byte) []byte { return moved(document, 1) })
}

// moved moves the first weight of a flag.
func moved(document []byte, by float64) []byte {
	var d map[string]map[string]map[string]any
	if err := json.Unmarshal(document, &d); err != nil {
		panic(err)
	}
	for _, key := range sorted(d["flags"]) {
		serve, _ := d["flags"][key]["fallthrough"].(map[string]any)
		rollout, _ := serve["rollout"].(map[string]any)
		if rollout == nil {
			continue
		}
		list := rollout["variations"].([]any)
		if len(list) < 2 {
			continue
		}
		first := list[0].(map[string]any)
		first["weight"] = first["weight"].(float64) + by
		out, _ := json.Marshal(d)
		return out
	}
	return nil
}

func sorted[T any](m map[string]T) (keys []string) {
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// A data is a document as the engine of LaunchDarkly asks for it.
type data struct {
	Flags    map[string]*ldmodel.FeatureFlag `json:"flags"`
	Segments map[string]*ldmodel.Segment     `json:"segments"`
}

func (d *data) GetFeatureFlag(key string) *ldmodel.FeatureFlag {
	if f := d.Flags[key]; f != nil && !f.Deleted {
		return f
	}
	return nil
}

func (d *data) GetSegment(key string) *ldmodel.Segment {
	if s := d.Segments[key]; s != nil && !s.Deleted {
		return s
	}
	return nil
}

func open(t testing.TB, document []byte) func(string, *oracle.Subject) (json.RawMessage, error) {
	d := new(data)
	if err := json.Unmarshal(document, d); err != nil {
		t.Fatal(err)
	}
	for _, f := range d.Flags {
		ldmodel.PreprocessFlag(f)
	}
	for _, s := range d.Segments {
		ldmodel.PreprocessSegment(s)
	}
	e := evaluation.NewEvaluator(d)
	return func(flag string, s *oracle.Subject) (json.RawMessage, error) {
		c := contextOf(s)
		if err := c.Err(); err != nil {
			return nil, err
		}
		return json.RawMessage(e.Evaluate(d.Flags[flag], c, nil).Detail.Value.JSONString()), nil
	}
}

func contextOf(s *oracle.Subject) ldcontext.Context {
	multi := ldcontext.NewMultiBuilder()
	one := func(kind, key string, properties map[string]any) {
		b := ldcontext.NewBuilder(key).Kind(ldcontext.Kind(kind))
		for name, v := range properties {
			b.SetValue(name, ldvalue.CopyArbitraryValue(v))
		}
		multi.Add(b.Build())
	}
	if s.ID != "" {
		one("user", s.ID, s.Properties)
	}
	for kind, key := range s.Groups {
		one(kind, key, s.OfGroups[kind])
	}
	return multi.Build()
}

// What attributes have, and clauses ask for.
var (
	names = []string{"plan", "email", "seats", "version", "since", "tags", "address", "name", "a/b", "anonymous", "key"}
	texts = []string{"pro", "Pro", "PRO", "free", "x@acme.com", "X@ACME.COM", "acme", "", "5", "true", "1.2.3", "ſ", "été", "ÉTÉ", "👍 ok", "u1", "u2", "org1"}
	// Not 1e19: the Go library of LaunchDarkly misreads integers beyond 64 bits.
	number = []float64{0, 1, -1, 5, 5.5, 1e3, 99999999999, 1e18, 1e22, -0.5, 1468713600000, 1700000000000}
	dates  = []string{
		"2016-07-17T00:00:00Z", "2016-07-17T00:00:00.000Z", "2023-11-14T22:13:20+00:00", "2023-11-14T23:13:20.5+01:00", "2023-11-14t22:13:20z", "2023-11-14",
		"2023-02-31T1:00:00Z", "2016-12-31T23:59:60Z", "2023-11-14T22:13:20", "2023-11-14T22:13:20-99:59", "2023-11-14T22:13:20Zjunk", "0001-01-01T00:00:00Z",
		"2023-11-14T22:13:20.1234567890Z", "2023-11-14T22:13:20+01:00é", "2023-13-01T00:00:00Z",
	}
	versions = []string{
		"1", "1.2", "1.2.3", "1.2.4", "1.2.3-alpha", "1.2.3-alpha.1", "1.2.3-alpha.beta", "1.2.3-2", "1.2.3-10", "1.2.3-01", "1.2.3+build.5", "1.2.3-a+b", "01.2.3",
		"v1.2.3", "1.2.3.4", "1.2.", "", "1.2.3-", "1.2.3+", "1.2.3-é", "99999999999999999999.0.0", "1+b", "1-a", "2.0.0", "1.2.3-alpha-1",
	}
	patterns = []string{"^pro$", "(?i)acme", "[", "\\d+", "o", "^$", "^.{3}$", "(", "\\p{L}+"}
	ops      = []string{
		"in", "startsWith", "endsWith", "contains", "matches", "lessThan", "lessThanOrEqual", "greaterThan", "greaterThanOrEqual", "before", "after",
		"semVerEqual", "semVerLessThan", "semVerGreaterThan", "segmentMatch",
	}
	keys = []string{"u1", "u2", "u3", "org1", "d1"}
)

func pick[T any](r *rand.Rand, list []T) T { return list[r.IntN(len(list))] }

// scalar returns a value that an operator may like.
func scalar(r *rand.Rand, op string) any {
	if r.IntN(8) == 0 {
		op = "in"
	}
	switch op {
	case "before", "after":
		if r.IntN(2) == 0 {
			return pick(r, number)
		}
		return pick(r, dates)
	case "semVerEqual", "semVerLessThan", "semVerGreaterThan":
		return pick(r, versions)
	case "lessThan", "lessThanOrEqual", "greaterThan", "greaterThanOrEqual":
		return pick(r, number) + float64(r.IntN(3)-1)
	case "matches":
		return pick(r, patterns)
	case "startsWith", "endsWith", "contains":
		s := []rune(pick(r, texts))
		if len(s) > 1 {
			i := r.IntN(len(s))
			s = s[i : i+r.IntN(len(s)-i)+1]
		}
		return string(s)
	}
	switch r.IntN(9) {
	case 0:
		return pick(r, number)
	case 1:
		return r.IntN(2) == 0
	case 2:
		return pick(r, versions)
	case 3:
		return pick(r, dates)
	case 4:
		switch r.IntN(4) {
		case 0:
			return nil
		case 1:
			return []any{"pro"}
		case 2:
			return map[string]any{"city": "rome"}
		}
	}
	return pick(r, texts)
}

type object = map[string]any

func generator(r *rand.Rand) *generating { return &generating{r} }

type generating struct{ *rand.Rand }

func (g *generating) attribute(kind string) string {
	name := pick(g.Rand, names)
	switch {
	case kind != "" && g.IntN(4) == 0:
		return pick(g.Rand, []string{"/address/city", "/address/zip/code", "/a~1b", "/plan", "/tags/0", "/key", "/kind", "/address/~0", "/name/first"})
	case g.IntN(12) == 0:
		return "kind"
	case kind == "" && g.IntN(20) == 0:
		return "/plan"
	}
	return name
}

func (g *generating) kind() string {
	return pick(g.Rand, []string{"", "", "user", "user", "user", "org", "org", "device"})
}

func (g *generating) clause(segments bool) object {
	op := pick(g.Rand, ops)
	for op == "segmentMatch" && !segments {
		op = pick(g.Rand, ops)
	}
	kind := g.kind()
	c := object{"op": op, "attribute": g.attribute(kind)}
	if kind != "" {
		c["contextKind"] = kind
	}
	if g.IntN(3) == 0 {
		c["negate"] = true
	}
	values := []any{}
	for range pick(g.Rand, []int{0, 1, 1, 1, 2, 3, 5}) {
		v := scalar(g.Rand, op)
		if c["attribute"] == "key" && g.IntN(2) == 0 {
			v = pick(g.Rand, keys)
		}
		values = append(values, v)
	}
	switch {
	case op == "segmentMatch":
		values = values[:0]
		for range 1 + g.IntN(3) {
			values = append(values, pick(g.Rand, []any{"s0", "s1", "s2", "s3", "none", 5}))
		}
	case c["attribute"] == "kind":
		c["op"] = "in"
		values = values[:0]
		for range g.IntN(3) {
			values = append(values, pick(g.Rand, []any{"user", "org", "device", 1, nil}))
		}
	case c["attribute"] == "anonymous":
		values = append(values, g.IntN(2) == 0)
	case c["attribute"] == "/kind":
		c["op"] = "in"
		values = append(values, pick(g.Rand, []any{"user", "org"}))
	}
	c["values"] = values
	return c
}

func (g *generating) clauses(segments bool) []object {
	list := []object{}
	for range pick(g.Rand, []int{0, 1, 1, 1, 2, 3}) {
		list = append(list, g.clause(segments))
	}
	return list
}

func (g *generating) rollout(variations int) object {
	list := []object{}
	left := 100000
	for i := range 1 + g.IntN(5) {
		w := g.IntN(left + 1)
		switch g.IntN(6) {
		case 0:
			w = 0
		case 1:
			w = pick(g.Rand, []int{1, 3, 10, 33333, 50000, 99999, 100000, 120000})
		}
		if i == 4 && g.IntN(2) == 0 {
			w = left
		}
		left = max(left-w, 0)
		list = append(list, object{"variation": g.IntN(variations), "weight": w})
	}
	out := object{"variations": list}
	kind := g.kind()
	if kind != "" {
		out["contextKind"] = kind
	}
	switch g.IntN(5) {
	case 0:
		out["kind"] = "experiment"
	case 1:
		out["kind"] = "rollout"
	}
	if g.IntN(3) == 0 {
		out["seed"] = pick(g.Rand, []int{0, 1, 61, -5, 123456789})
	}
	if g.IntN(3) == 0 {
		out["bucketBy"] = strings.ReplaceAll(g.attribute(kind), "kind", "seats")
	}
	return out
}

func (g *generating) serve(into object, variations int) object {
	if g.IntN(2) == 0 {
		into["variation"] = g.IntN(variations)
	} else {
		into["rollout"] = g.rollout(variations)
	}
	return into
}

func (g *generating) keyList() []string {
	list := []string{}
	for range g.IntN(3) {
		list = append(list, pick(g.Rand, keys))
	}
	return list
}

func (g *generating) flag(n int, flags object) object {
	sets := [][]any{
		{true, false},
		{"red", "green", "blue", "ö"},
		{1, 2.5, -3, 0, 9007199254740991},
		{object{"a": 1}, object{"a": []any{nil, "", 1.5}}, object{}},
		{false, true},
	}
	variations := pick(g.Rand, sets)
	f := object{
		"key": fmt.Sprintf("flag-%d", n), "on": g.IntN(8) > 0, "variations": variations, "salt": pick(g.Rand, []string{"", "s1", "80a5", "ü", "a.b"}), "version": n + 1,
		"fallthrough": g.serve(object{}, len(variations)), "offVariation": nil,
	}
	if g.IntN(3) > 0 {
		f["offVariation"] = g.IntN(len(variations))
	}
	if n > 0 && g.IntN(3) == 0 {
		list := []object{}
		for range 1 + g.IntN(2) {
			other := fmt.Sprintf("flag-%d", g.IntN(n))
			of, _ := flags[other].(object)
			list = append(list, object{"key": other, "variation": g.IntN(len(of["variations"].([]any)))})
		}
		if g.IntN(10) == 0 {
			list = append(list, object{"key": "gone", "variation": 0})
		}
		f["prerequisites"] = list
	}
	if g.IntN(3) == 0 {
		list := []object{}
		for range g.IntN(3) {
			list = append(list, object{"values": g.keyList(), "variation": g.IntN(len(variations))})
		}
		f["targets"] = list
		if g.IntN(2) == 0 {
			list := []object{}
			for range 1 + g.IntN(3) {
				t := object{"values": g.keyList(), "variation": g.IntN(len(variations)), "contextKind": g.kind()}
				if g.IntN(2) == 0 && (t["contextKind"] == "" || t["contextKind"] == "user") {
					t["values"] = []string{}
				}
				list = append(list, t)
			}
			f["contextTargets"] = list
		}
	}
	rules := []object{}
	for i := range g.IntN(5) {
		rules = append(rules, g.serve(object{"id": fmt.Sprintf("r%d", i), "clauses": g.clauses(true)}, len(variations)))
	}
	f["rules"] = rules
	return f
}

func (g *generating) segment(n int) object {
	s := object{"key": fmt.Sprintf("s%d", n), "salt": pick(g.Rand, []string{"", "salt", "x.y"}), "included": g.keyList(), "excluded": g.keyList()}
	targets := func() []object {
		list := []object{}
		for range g.IntN(3) {
			list = append(list, object{"contextKind": pick(g.Rand, []string{"org", "device", "user"}), "values": g.keyList()})
		}
		return list
	}
	if g.IntN(3) == 0 {
		s["includedContexts"], s["excludedContexts"] = targets(), targets()
	}
	rules := []object{}
	for range g.IntN(3) {
		rule := object{"clauses": g.clauses(false)}
		if n == 3 && g.IntN(2) == 0 {
			rule["clauses"] = append(rule["clauses"].([]object), object{"op": "segmentMatch", "values": []any{"s0", "s1"}, "negate": g.IntN(2) == 0})
		}
		if g.IntN(3) == 0 {
			rule["weight"] = pick(g.Rand, []int{0, 1, 20000, 50000, 99999, 100000})
			kind := g.kind()
			if kind != "" {
				rule["rolloutContextKind"] = kind
			}
			if g.IntN(2) == 0 {
				rule["bucketBy"] = strings.ReplaceAll(g.attribute(kind), "kind", "plan")
			}
		}
		rules = append(rules, rule)
	}
	s["rules"] = rules
	return s
}

func generate(r *rand.Rand, n int) ([]byte, []oracle.Subject) {
	g := generator(r)
	flags, segments := object{}, object{}
	for i := range 25 {
		f := g.flag(i, flags)
		flags[f["key"].(string)] = f
	}
	for i := range 4 {
		s := g.segment(i)
		segments[s["key"].(string)] = s
	}
	document, err := json.Marshal(object{"flags": flags, "segments": segments})
	if err != nil {
		panic(err)
	}
	subjects := make([]oracle.Subject, n)
	for i := range subjects {
		subjects[i] = g.subject(i)
	}
	return document, subjects
}

func (g *generating) properties() map[string]any {
	p := make(map[string]any)
	for _, name := range names {
		if name == "key" || g.IntN(3) == 0 {
			continue
		}
		switch name {
		case "name":
			p[name] = pick(g.Rand, texts)
		case "anonymous":
			p[name] = g.IntN(2) == 0
		case "tags":
			list := []any{}
			for range g.IntN(4) {
				list = append(list, scalar(g.Rand, pick(g.Rand, ops)))
			}
			p[name] = list
		case "address":
			p[name] = map[string]any{"city": scalar(g.Rand, pick(g.Rand, ops)), "zip": map[string]any{"code": scalar(g.Rand, "in")}, "~": scalar(g.Rand, "in")}
		default:
			p[name] = scalar(g.Rand, pick(g.Rand, ops))
		}
	}
	return p
}

func (g *generating) subject(i int) oracle.Subject {
	s := oracle.Subject{ID: fmt.Sprintf("user-%d-%d", i, g.Uint32()), Properties: g.properties()}
	if g.IntN(4) == 0 {
		s.ID = pick(g.Rand, keys)
	}
	if g.IntN(3) == 0 {
		s.Groups, s.OfGroups = make(map[string]string), make(map[string]map[string]any)
		for _, kind := range groupTypes {
			if g.IntN(2) == 0 {
				s.Groups[kind] = pick(g.Rand, []string{"org1", "d1", "u1", fmt.Sprint("g", g.IntN(1000))})
				s.OfGroups[kind] = g.properties()
			}
		}
		if len(s.Groups) > 0 && g.IntN(4) == 0 {
			s.ID, s.Properties = "", nil
		}
	}
	return s
}
