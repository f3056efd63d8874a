package products_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/convert"
	"github.com/flagstaff-go/flagstaff/internal/convert/products"
	"github.com/flagstaff-go/flagstaff/internal/fulltest"
)

// versions are what Options.Version can be of products that want it.
var versions = map[string][]string{"flagd": {"new", "old"}}

// optionsOf returns options for each version of a product.
func optionsOf(product string) (list []convert.Options) {
	for _, v := range versions[product] {
		list = append(list, convert.Options{Version: v})
	}
	if list == nil {
		list = make([]convert.Options, 1)
	}
	return list
}

// definitions returns a document with a flag, and one that it may need.
func definitions(flag string) []byte {
	return []byte(`{"flags":[{"id":1,"key":"f","active":true,` + flag + `},
		{"id":2,"key":"half","active":true,"filters":{"version":2,"return_type":"boolean","default_value":false,"rules":[
			{"id":"33333333-3333-4333-8333-333333333333","rule_type":"percentage_rollout","targeting":{"properties":[]},"value":true,"rollout_percentage":50,
			"on_rollout_miss":"continue","assignment_algorithm":"sha1_60_v1","seed":"s"}]}}],
		"cohorts":[{"id":3,"name":"Static","is_static":true},
		{"id":6,"name":"Broken","filters":{"properties":{"type":"XOR","values":[{"type":"person","key":"distinct_id","operator":"exact","value":["ada"],"case_sensitive":true}]}}},
		{"id":4,"name":"Seniors","filters":{"properties":{"type":"OR","values":[{"type":"AND","values":[{"type":"person","key":"age","operator":"gt","value":60}]}]}}}]}`)
}

func ruleSet(members, rules string) string {
	return `"filters":{"version":2,"return_type":"boolean","default_value":false,` + members + `"rules":[` + rules + `]}`
}

func rule(members, filters string) string {
	return `{"id":"11111111-1111-4111-8111-111111111111","targeting":{"properties":[` + filters + `]},` + members + `}`
}

func release(filters string) string {
	return rule(`"rule_type":"targeted_release","value":true`, filters)
}

func split(members string) string {
	return rule(`"rule_type":"split","split":{`+members+`}`, "")
}

// TestRefused wants words that say why a flag cannot be exported, to whichever product.
func TestRefused(t *testing.T) {
	const draws = `"on_rollout_miss":"continue","assignment_algorithm":"sha1_60_v1","seed":"s"`
	for name, tt := range map[string]struct {
		flag string
		want string            // of each product
		more map[string]string // of one product; "-": it is not refused there
	}{
		"a share":          {ruleSet("", rule(`"rule_type":"percentage_rollout","value":true,"rollout_percentage":30,`+draws, "")), "Rule 1 includes 30 %, drawn with sha1_60_v1 and compared as float64 with ≤.", nil},
		"an experiment":    {ruleSet("", rule(`"rule_type":"experiment","rollout_percentage":100,"experiment_id":null,"paused":false,"variants":[{"key":"a","weight":50,"value":true},{"key":"b","weight":50,"value":false}],`+draws, "")), "Rule 1 is an experiment", nil},
		"condition sets":   {`"filters":{"groups":[{"properties":[],"rollout_percentage":100},{"properties":[],"rollout_percentage":30}]}`, "Condition set 2 includes 30 %: condition sets draw with another hash", nil},
		"variants":         {`"filters":{"groups":[{"properties":[],"rollout_percentage":100}],"multivariate":{"variants":[{"key":"a","rollout_percentage":100}]}}`, "condition sets and variants", nil},
		"payloads":         {`"filters":{"groups":[{"properties":[],"rollout_percentage":100}],"payloads":{"true":"1"}}`, "payloads", nil},
		"for groups":       {ruleSet(`"aggregation_group_type_index":0,`, release("")), "It is for groups", nil},
		"for some":         {`"evaluation_contexts":["web"],` + ruleSet("", release("")), "some programs alone", nil},
		"a later version":  {`"filters":{"version":10}`, "Its filters are of the version 10, which is not known", nil},
		"a fault":          {ruleSet("", `{}`), "Its definition has a fault", nil},
		"any letters":      {ruleSet("", release(`{"type":"person","key":"plan","operator":"exact","value":"pro"}`)), `Rule 1: the filter on "plan"`, nil},
		"a static cohort":  {ruleSet("", release(`{"type":"cohort","key":"id","value":3}`)), `The cohort "Static" has members that no other product can compute`, nil},
		"a cohort":         {ruleSet("", release(`{"type":"cohort","key":"id","value":4}`)), "Rule 1: ", map[string]string{"configcat": "Seniors"}},
		"a broken cohort":  {ruleSet("", release(`{"type":"cohort","key":"id","value":6}`)), `The cohort "Broken", or one that it refers to, has a fault`, nil},
		"no such cohort":   {ruleSet("", release(`{"type":"cohort","key":"id","value":5}`)), "a cohort that is not there", nil},
		"a refused flag":   {ruleSet("", rule(`"rule_type":"targeted_release","value":false`, `{"type":"flag","key":"half","operator":"flag_evaluates_to","value":true,"negation":true}`)), "half", nil},
		"no such flag":     {ruleSet("", release(`{"type":"flag","key":"gone","operator":"flag_evaluates_to","value":true}`)), `It needs the flag "gone", which is not there`, nil},
		"another hash":     {ruleSet("", split(`"hash":"fnv1a_32","ends":["5"],"values":[true],"rest":"last","no_subject":"first"`)), "Rule 1: it draws", map[string]string{"launchdarkly": "it draws with another hash"}},
		"an end between":   {ruleSet("", split(`"hash":"sha1_60","prefix":"f.x.","ends":["5"],"values":[true],"rest":"last","no_subject":"first"`)), "draws", map[string]string{"launchdarkly": "at ends that no weights have there"}},
		"the fallback":     {strings.Replace(ruleSet("", release(`{"type":"any","filters":[]}`)), `"default_value":false`, `"default_value":null`, 1), "the caller falls back on", map[string]string{"unleash": "another value than false", "go-feature-flag": "-", "growthbook": "-", "flagd": "-"}},
		"for everybody":    {ruleSet("", release("")), "-", nil},
		"everybody drawn":  {ruleSet("", rule(`"rule_type":"percentage_rollout","value":true,"rollout_percentage":100,`+draws, "")), "-", nil},
		"nobody drawn":     {ruleSet("", rule(`"rule_type":"percentage_rollout","value":true,"rollout_percentage":0,`+draws, "")), "-", nil},
		"one value drawn":  {ruleSet("", split(`"hash":"sha1_60","prefix":"f.x.","ends":["1152921504606846976"],"values":[true],"rest":"last","no_subject":"first"`)), "draws", map[string]string{"launchdarkly": "-"}},
		"an ID":            {ruleSet("", release(`{"type":"person","key":"distinct_id","operator":"exact","value":["ada"],"case_sensitive":true,"must_be_set":true}`)), "-", map[string]string{"launchdarkly": `the filter on "distinct_id"`}},
		"an ID, strictly":  {ruleSet("", release(`{"type":"person","key":"distinct_id","operator":"exact","value":["ada"],"case_sensitive":true,"must_be_set":true,"strict_type":true,"any_element":true}`)), `the filter on "distinct_id"`, map[string]string{"launchdarkly": "-", "go-feature-flag": "-", "growthbook": "-", "flagd": "-"}},
		"everybody by now": {`"filters":{"groups":[{"properties":[],"rollout_percentage":100}]}`, "-", nil},
	} {
		for i := range products.All {
			product := &products.All[i]
			if product.Export == nil {
				continue
			}
			for _, o := range optionsOf(product.Name) {
				t.Run(name+"/"+product.Name+o.Version, func(t *testing.T) {
					p, err := convert.Read(definitions(tt.flag))
					if err != nil {
						t.Fatal(err)
					}
					document, refused, err := product.Export(p, &o)
					if err != nil {
						t.Fatal(err)
					}
					want := tt.want
					if more, ok := tt.more[product.Name]; ok {
						want = more
					}
					i := slices.IndexFunc(refused, func(k convert.Kept) bool { return k.Flag == "f" })
					switch {
					case want == "-" && i >= 0:
						t.Errorf("refused: %q", refused[i].Reasons)
					case want == "-" && !bytes.Contains(document, []byte(`"f"`)):
						t.Errorf("the flag is not in %s", document)
					case want != "-" && i < 0:
						t.Errorf("not refused: %s", document)
					case want != "-" && !strings.Contains(strings.Join(refused[i].Reasons, " "), want):
						t.Errorf("refused for %q, want %q", refused[i].Reasons, want)
					}
				})
			}
		}
	}
}

// TestMutated exports flags of all products with parts that were exchanged, to each product, and
// imports them again.
func TestMutated(t *testing.T) {
	pool := partsOf(t)
	n := 300
	if fulltest.Enabled() {
		n = 3_000
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	exported := 0
	for i := range n {
		r := rand.New(rand.NewPCG(seed, uint64(i)))
		document := mutated(r, pool)
		exported += exportAndBack(t, document)
		if t.Failed() {
			t.Fatalf("seed %d, %d: %s", seed, i, document)
		}
	}
	if exported == 0 {
		t.Error("no flag was exported")
	}
}

// FuzzExport exports any definitions.
func FuzzExport(f *testing.F) {
	f.Add(definitions(ruleSet("", release(""))))
	pool := partsOf(f)
	for i := range uint64(100) {
		f.Add(mutated(rand.New(rand.NewPCG(1, i)), pool))
	}
	f.Fuzz(func(t *testing.T, document []byte) { exportAndBack(t, document) })
}

// A part is a flag of another product, with the cohorts that it needs.
type part struct {
	flags, cohorts []any
}

func partsOf(t testing.TB) (pool []part) {
	for _, product := range products.All {
		files, err := filepath.Glob(fmt.Sprintf("../%s/testdata/*.json", strings.ReplaceAll(product.Name, "-", "")))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			document, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, o := range optionsOf(product.Name) {
				o.Group = func(string) int { return 0 }
				p, err := product.Convert(document, &o)
				if err != nil {
					continue // the file is for other tests
				}
				definitions, err := p.Document([]string{"org"})
				if err != nil {
					t.Fatal(err)
				}
				var d struct{ Flags, Cohorts []any }
				if err := json.Unmarshal(definitions, &d); err != nil {
					t.Fatal(err)
				}
				for i := range d.Flags {
					pool = append(pool, part{d.Flags[i : i+1], d.Cohorts})
				}
			}
		}
	}
	if len(pool) == 0 {
		t.Fatal("there are no flags")
	}
	return pool
}

// mutated returns a document of a flag in which parts of others take the place of its own.
func mutated(r *rand.Rand, pool []part) []byte {
	one := pool[r.IntN(len(pool))]
	document, _ := json.Marshal(map[string]any{"flags": one.flags, "cohorts": one.cohorts, "group_type_mapping": map[string]string{"0": "org"}})
	var d map[string]any
	_ = json.Unmarshal(document, &d)
	for range r.IntN(4) {
		to := places(d["flags"], nil)
		from := places(pool[r.IntN(len(pool))].flags, nil)
		where := to[r.IntN(len(to))]
		for range 10 { // of the same kind
			other := from[r.IntN(len(from))]
			if other.name == where.name {
				var own any // a copy, which other changes leave alone in the pool
				raw, _ := json.Marshal(other.value)
				_ = json.Unmarshal(raw, &own)
				where.set(own)
				break
			}
		}
		if r.IntN(6) == 0 {
			where.set([]any{nil, true, "x", "", 0.5, []any{}, map[string]any{}}[r.IntN(7)])
		}
	}
	document, _ = json.Marshal(d)
	return document
}

// A place is one of a value within others.
type place struct {
	name  string
	value any
	set   func(any)
}

func places(v any, all []place) []place {
	switch v := v.(type) {
	case []any:
		for i := range v {
			all = places(v[i], append(all, place{"", v[i], func(to any) { v[i] = to }}))
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			all = places(v[name], append(all, place{name, v[name], func(to any) { v[name] = to }}))
		}
	}
	return all
}

// exportAndBack exports definitions to each product, and wants all that is written back without
// problems.
func exportAndBack(t *testing.T, document []byte) (exported int) {
	for i := range products.All {
		product := &products.All[i]
		if product.Export == nil {
			continue
		}
		for _, o := range optionsOf(product.Name) {
			exported += toAndBack(t, document, product, o)
		}
	}
	return exported
}

func toAndBack(t *testing.T, document []byte, product *products.Product, o convert.Options) (exported int) {
	p, err := convert.Read(document)
	if err != nil {
		return 0
	}
	name := product.Name + o.Version
	written, refused, err := product.Export(p, &o)
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return 0
	}
	o.Group = func(name string) int {
		for i, n := range p.GroupTypes {
			if n == name {
				return i
			}
		}
		return -1
	}
	back, err := product.Convert(written, &o)
	if err != nil {
		t.Errorf("%s: %v\n%s", name, err, written)
		return 0
	}
	if got, want := len(back.Flags), len(p.Flags)-len(refused); got != want {
		t.Errorf("%s: %d flags come back, want %d\n%s", name, got, want, written)
	}
	for _, flag := range back.Flags {
		if len(flag.Problems) > 0 {
			t.Errorf("%s: flag %s comes back with problems %q\n%s", name, flag.Key, flag.Problems, written)
		}
	}
	sameValues(t, name, document, back, p.GroupTypes)
	return len(back.Flags)
}

// sameValues evaluates definitions, and what comes back of them, for persons whose properties are
// values that filters ask for.
func sameValues(t *testing.T, name string, document []byte, back *convert.Project, groupTypes map[int]string) {
	if len(back.Flags) == 0 {
		return
	}
	before, err := flags.Decode(bytes.NewReader(document))
	if err != nil {
		t.Fatal(err)
	}
	var types []string
	for i := range len(groupTypes) {
		types = append(types, groupTypes[i])
	}
	after, err := back.Definitions(types)
	if err != nil {
		t.Fatal(err)
	}
	var both [2]*flags.Snapshot
	for i, d := range []*flags.Definitions{before, after} {
		if both[i], err = flags.Compile(d, flags.CompileOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	var parsed any
	_ = json.Unmarshal(document, &parsed)
	asked := make(map[string][]any)
	for _, place := range places(parsed, nil) {
		f, isObject := place.value.(map[string]any)
		key, isFilter := f["key"].(string)
		if !isObject || !isFilter || f["value"] == nil {
			continue
		}
		list, isList := f["value"].([]any)
		if !isList {
			list = []any{f["value"]}
		}
		asked[key] = append(append(asked[key], list...), nil, "", "x", 1.0, true)
	}
	r := rand.New(rand.NewPCG(1, uint64(len(document))))
	for range 20 {
		request := flags.Request{DistinctID: fmt.Sprint("u", r.IntN(1000)), PersonProperties: make(map[string]any)}
		for _, key := range slices.Sorted(maps.Keys(asked)) {
			if r.IntN(4) == 0 {
				continue
			}
			value := asked[key][r.IntN(len(asked[key]))]
			if id, ok := value.(string); ok && key == "distinct_id" {
				request.DistinctID = id
			} else if key != "distinct_id" {
				request.PersonProperties[key] = value
			}
		}
		for _, f := range back.Flags {
			conditions := slices.ContainsFunc(before.Flags, func(o flags.Flag) bool { return o.Key == f.Key && o.Active && o.Filters.RuleSet == nil })
			if a, b := valueOf(both[0], f.Key, conditions, &request), valueOf(both[1], f.Key, false, &request); !convert.SameJSON(a, b) {
				t.Errorf("%s: flag %s is %s and comes back as %s for %+v", name, f.Key, a, b, request)
				return
			}
		}
	}
}

func valueOf(s *flags.Snapshot, key string, conditions bool, r *flags.Request) json.RawMessage {
	result, err := s.Flag(key, r)
	switch {
	case err != nil || result.Failed:
		return json.RawMessage("null") // which is the caller's fallback, too
	case result.JSON() == nil && conditions:
		return json.RawMessage(strconv.FormatBool(result.Enabled))
	case result.JSON() == nil:
		return json.RawMessage("null")
	}
	return result.JSON()
}
