// Package oracle compares another product's flags, as its own library evaluates them, with what
// they are imported as.
package oracle

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/convert"
	"github.com/flagstaff-go/flagstaff/internal/fulltest"
)

// A Subject is for whom flags are evaluated. Values are texts, bool, float64, nil, []any and
// map[string]any.
type Subject struct {
	ID         string
	Properties map[string]any
	Groups     map[string]string         // keys by group type
	OfGroups   map[string]map[string]any // properties by group type
}

// A Product is another product.
type Product struct {
	Convert func(document []byte, o *convert.Options) (*convert.Project, error)
	Options convert.Options

	// Export writes what Convert has read.
	Export func(p *convert.Project, o *convert.Options) (document []byte, refused []convert.Kept, err error)

	// Inexact are the flags that Convert does not keep. All others must be exact.
	Inexact []string

	// MayRefuse is a part of the reason for which Export may refuse a flag that Convert keeps.
	MayRefuse string

	// GroupTypes are the names of group types, by index.
	GroupTypes []string

	// Generate makes a document of some flags, and n subjects that come near to what its
	// filters and splits ask for.
	Generate func(r *rand.Rand, n int) (document []byte, subjects []Subject)

	// Open reads a document with the product's own library. The function gives a flag's value
	// as JSON, null for what the caller falls back on.
	Open func(t testing.TB, document []byte) func(flag string, s *Subject) (json.RawMessage, error)
}

const (
	subjectsOfDocument = 200
	pairsInFull        = 1_000_000
	pairsInBrief       = 20_000
	fewerInFull        = 200_000
)

// Run compares random pairs of flag and subject.
func (p *Product) Run(t *testing.T) { p.run(t, pairsInFull) }

// run compares pairs, as many as inFull if the test runs in full, and returns the values of each
// flag.
func (p *Product) run(t *testing.T, inFull int) map[string][]string {
	pairs := pairsInBrief
	if fulltest.Enabled() {
		pairs = inFull
	}
	seed := seedOf(t)
	values, different := make(map[string][]string), make(map[string]bool)
	for done, n := 0, uint64(0); done < pairs; n++ {
		r := rand.New(rand.NewPCG(seed, n))
		document, subjects := p.Generate(r, subjectsOfDocument)
		ours, project := p.compile(t, document)
		theirs := p.Open(t, document)
		for j := range subjects {
			s := &subjects[j]
			all := ours.Evaluate(s.request())
			for i := range project.Flags {
				f := &project.Flags[i]
				if inexact := slices.Contains(p.Inexact, f.Key); inexact != (len(f.Problems) > 0) {
					t.Fatalf("seed %d, document %d: flag %s has the problems %q\n%s", seed, n, f.Key, f.Problems, document)
				} else if inexact {
					continue
				}
				want, err := theirs(f.Key, s)
				if err != nil {
					t.Fatalf("seed %d, document %d: flag %s: %v", seed, n, f.Key, err)
				}
				among, ok := all.Get(f.Key)
				got, second := valueOf(ours, f.Key, s), json.RawMessage("null") // of an inactive flag
				if ok {
					second = jsonOf(&among)
				}
				if !same(got, want) || !same(second, want) {
					about, _ := json.Marshal(s)
					const differs = "seed %d, document %d: flag %s is %s, and %s among all, want %s\nfor %s\nof %s\nfrom %s"
					t.Fatalf(differs, seed, n, f.Key, got, second, want, about, filtersOf(f), document)
				}
				if value := string(want); !slices.Contains(values[f.Key], value) {
					values[f.Key] = append(values[f.Key], value)
					different[value] = true
				}
				done++
			}
		}
	}
	t.Logf("%d different values", len(different))
	return values
}

// RunDocument is Run for one document and for subjects that somebody draws. In full, each flag has
// more than one value among them, but for those that are named.
func (p Product) RunDocument(t *testing.T, document []byte, subject func(*rand.Rand) Subject, one ...string) {
	for key, values := range p.Of(document, subject).run(t, fewerInFull) {
		if fulltest.Enabled() && slices.Contains(one, key) != (len(values) == 1) {
			t.Errorf("%s has the values %q", key, values)
		}
	}
}

// Of returns the product with one document, and subjects that somebody draws.
func (p Product) Of(document []byte, subject func(*rand.Rand) Subject) *Product {
	p.Generate = func(r *rand.Rand, n int) ([]byte, []Subject) {
		subjects := make([]Subject, n)
		for i := range subjects {
			subjects[i] = subject(r)
		}
		return document, subjects
	}
	return &p
}

// Some draws a value of each property, and leaves out one property of so many.
func Some[T any](r *rand.Rand, values map[string][]T, outOf int) map[string]any {
	drawn := make(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if list := values[name]; r.IntN(outOf) > 0 {
			drawn[name] = list[r.IntN(len(list))]
		}
	}
	return drawn
}

// Bites reports how long it takes to find a boundary that was moved. moved changes the document
// that is imported by the smallest step that the product knows, and not the one that its own
// library reads; it returns nil for a document that has no boundary.
func (p *Product) Bites(t *testing.T, moved func(r *rand.Rand, document []byte) []byte) {
	start := time.Now()
	seed := seedOf(t)
	for n := uint64(0); time.Since(start) < time.Minute; n++ {
		r := rand.New(rand.NewPCG(seed, n))
		document, subjects := p.Generate(r, subjectsOfDocument)
		other := moved(r, slices.Clone(document))
		if other == nil {
			continue
		}
		ours, project := p.compile(t, other)
		theirs := p.Open(t, document)
		for i := range project.Flags {
			for j := range subjects {
				want, err := theirs(project.Flags[i].Key, &subjects[j])
				if err != nil {
					t.Fatal(err)
				}
				if !same(valueOf(ours, project.Flags[i].Key, &subjects[j]), want) {
					t.Logf("found in document %d after %v", n, time.Since(start).Round(time.Millisecond))
					return
				}
			}
		}
	}
	t.Fatal("a boundary that was moved was not found within a minute")
}

// RunExport compares documents with what they are exported as after they were imported, as the
// product's own library evaluates both. Each flag must be exported.
func (p *Product) RunExport(t *testing.T) {
	pairs := pairsInBrief
	if fulltest.Enabled() {
		pairs = fewerInFull
	}
	seed := seedOf(t)
	for done, n := 0, uint64(0); done < pairs; n++ {
		r := rand.New(rand.NewPCG(seed, n))
		document, subjects := p.Generate(r, subjectsOfDocument)
		exported, project := p.Exported(t, document)
		before, after := p.answers(t, document, project, subjects), p.answers(t, exported, project, subjects)
		for i, want := range before {
			if got := after[i]; !same(got, want) {
				f := &project.Flags[i/len(subjects)]
				about, _ := json.Marshal(&subjects[i%len(subjects)])
				const differs = "seed %d, document %d: flag %s is %s, want %s\nfor %s\nof %s\nfrom %s\nto %s"
				t.Fatalf(differs, seed, n, f.Key, got, want, about, filtersOf(f), document, exported)
			}
			done++
		}
	}
}

// BitesExport reports how long it takes to find a boundary that was moved in what is exported.
func (p *Product) BitesExport(t *testing.T, moved func(r *rand.Rand, document []byte) []byte) {
	start := time.Now()
	seed := seedOf(t)
	for n := uint64(0); time.Since(start) < time.Minute; n++ {
		r := rand.New(rand.NewPCG(seed, n))
		document, subjects := p.Generate(r, subjectsOfDocument)
		exported, project := p.Exported(t, document)
		if exported = moved(r, exported); exported == nil {
			continue
		}
		before, after := p.answers(t, document, project, subjects), p.answers(t, exported, project, subjects)
		if !slices.EqualFunc(before, after, same) {
			t.Logf("found in document %d after %v", n, time.Since(start).Round(time.Millisecond))
			return
		}
	}
	t.Fatal("a boundary that was moved was not found within a minute")
}

// answers returns what the product's own library makes of a document: the values of each flag, for
// each subject.
func (p *Product) answers(t *testing.T, document []byte, project *convert.Project, subjects []Subject) (all []json.RawMessage) {
	value := p.Open(t, document)
	for i := range project.Flags {
		for j := range subjects {
			one, err := value(project.Flags[i].Key, &subjects[j])
			if err != nil {
				t.Fatalf("flag %s: %v\n%s", project.Flags[i].Key, err, document)
			}
			all = append(all, one)
		}
	}
	return all
}

// byHand are definitions that nobody has imported, with the filters that each product has.
const byHand = `{"flags":[
	{"id":1,"key":"everybody","active":true,"filters":{"version":2,"return_type":"boolean","default_value":false,"rules":[{"id":"11111111-1111-4111-8111-111111111111","rule_type":"targeted_release","targeting":{"properties":[]},"value":true}]}},
	{"id":2,"key":"conditions","active":true,"filters":{"groups":[{"properties":[],"rollout_percentage":100}]}},
	{"id":3,"key":"share","active":true,"filters":{"version":2,"return_type":"boolean","default_value":false,"rules":[{"id":"11111111-1111-4111-8111-111111111111","rule_type":"percentage_rollout","targeting":{"properties":[]},"value":true,"rollout_percentage":50,"on_rollout_miss":"continue","assignment_algorithm":"sha1_60_v1","seed":"s"}]}},
	{"id":4,"key":"all-and-none","active":true,"filters":{"version":2,"return_type":"string","default_value":"rest","rules":[
		{"id":"11111111-1111-4111-8111-111111111111","rule_type":"percentage_rollout","targeting":{"properties":[]},"value":"none","rollout_percentage":0,"on_rollout_miss":"continue","assignment_algorithm":"sha1_60_v1","seed":"s"},
		{"id":"21111111-1111-4111-8111-111111111111","rule_type":"percentage_rollout","targeting":{"properties":[]},"value":"all","rollout_percentage":100,"on_rollout_miss":"continue","assignment_algorithm":"sha1_60_v1","seed":"s"}]}},
	{"id":5,"key":"ids","active":true,"filters":{"version":2,"return_type":"string","default_value":"no","rules":[{"id":"11111111-1111-4111-8111-111111111111","rule_type":"targeted_release","targeting":{"properties":[{"type":"person","key":"distinct_id","operator":"exact","value":["ada","u1","Ada","bob","a"],"case_sensitive":true,"must_be_set":true,STRICT}]},"value":"yes"}]}},
	{"id":6,"key":"cohort","active":true,"filters":{"version":2,"return_type":"boolean","default_value":false,"rules":[{"id":"11111111-1111-4111-8111-111111111111","rule_type":"targeted_release","targeting":{"properties":[{"type":"cohort","key":"id","operator":"in","value":7}]},"value":true}]}},
	{"id":7,"key":"plain","active":true,"filters":{"version":2,"return_type":"boolean","default_value":false,"rules":[{"id":"11111111-1111-4111-8111-111111111111","rule_type":"targeted_release","targeting":{"properties":[{"type":"person","key":"plan","operator":"exact","value":"pro"}]},"value":true}]}}],
	"cohorts":[{"id":7,"name":"Some","filters":{"properties":{"type":"AND","values":[{"type":"person","key":"distinct_id","operator":"icontains","value":"1","case_sensitive":true,"must_be_set":true,STRICT}]}}}]}`

// RunByHand exports definitions that were written by hand. Each flag is exported with the values
// that it has here, except the flags that are named as refused. strict is for products that
// compare values of one type only.
func (p *Product) RunByHand(t *testing.T, strict bool, refused ...string) {
	more := strconv.Quote("strict_type") + ":" + strconv.FormatBool(strict) + "," + strconv.Quote("any_element") + ":" + strconv.FormatBool(strict)
	definitions := []byte(strings.ReplaceAll(byHand, "STRICT", more))
	project, err := convert.Read(definitions)
	if err != nil {
		t.Fatal(err)
	}
	exported, left, err := p.Export(project, &p.Options)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, k := range left {
		got = append(got, k.Flag)
	}
	if !slices.Equal(got, refused) {
		t.Errorf("refused %q, want %q", left, refused)
	}
	d, err := flags.Decode(bytes.NewReader(definitions))
	if err != nil {
		t.Fatal(err)
	}
	ours, err := flags.Compile(d, flags.CompileOptions{})
	if err != nil {
		t.Fatal(err)
	}
	theirs := p.Open(t, exported)
	values := make(map[string]bool)
	for n := range uint64(20) {
		_, subjects := p.Generate(rand.New(rand.NewPCG(1, n)), subjectsOfDocument)
		for i := range d.Flags {
			key := d.Flags[i].Key
			if slices.Contains(got, key) {
				continue
			}
			for j := range subjects {
				want := valueOf(ours, key, &subjects[j])
				if d.Flags[i].Filters.RuleSet == nil {
					want = json.RawMessage("true") // which results with condition sets do not have as JSON
				}
				if value, err := theirs(key, &subjects[j]); err != nil || !same(value, want) {
					about, _ := json.Marshal(&subjects[j])
					t.Fatalf("flag %s is %s, want %s: %v\nfor %s\nfrom %s", key, value, want, err, about, exported)
				}
				values[key+string(want)] = true
			}
		}
	}
	for _, both := range []string{"idsyes", "idsno", "cohorttrue", "cohortfalse"} {
		if both = strings.NewReplacer("yes", `"yes"`, "no", `"no"`).Replace(both); !values[both] {
			t.Errorf("nobody has %s", both)
		}
	}
}

// Exported imports a document as definitions, and exports these.
func (p *Product) Exported(t *testing.T, document []byte) ([]byte, *convert.Project) {
	t.Helper()
	_, project := p.compile(t, document)
	definitions, err := project.Document(p.GroupTypes)
	if err != nil {
		t.Fatal(err)
	}
	back, err := convert.Read(definitions)
	if err != nil {
		t.Fatal(err)
	}
	exported, refused, err := p.Export(back, &p.Options)
	for _, k := range refused {
		if p.MayRefuse == "" || len(k.Reasons) > 1 || !strings.Contains(k.Reasons[0], p.MayRefuse) {
			t.Fatalf("%v: refused %q\n%s\n%s", err, refused, document, definitions)
		}
		project.Flags = slices.DeleteFunc(project.Flags, func(f convert.Flag) bool { return f.Key == k.Flag })
	}
	if err != nil {
		t.Fatal(err)
	}
	return exported, project
}

func (p *Product) compile(t *testing.T, document []byte) (*flags.Snapshot, *convert.Project) {
	t.Helper()
	o := p.Options
	o.Group = func(name string) int { return slices.Index(p.GroupTypes, name) }
	project, err := p.Convert(document, &o)
	if err != nil {
		t.Fatalf("%v\n%s", err, document)
	}
	d, err := project.Definitions(p.GroupTypes)
	if err != nil {
		t.Fatalf("%v\n%s", err, document)
	}
	s, err := flags.Compile(d, flags.CompileOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, problem := range s.Problems() {
		if problem.Severity == flags.SeverityError {
			t.Fatalf("%v\n%s", problem, document)
		}
	}
	return s, project
}

func (s *Subject) request() *flags.Request {
	return &flags.Request{DistinctID: s.ID, PersonProperties: s.Properties, Groups: s.Groups, GroupProperties: s.OfGroups}
}

func valueOf(s *flags.Snapshot, flag string, subject *Subject) json.RawMessage {
	result, err := s.Flag(flag, subject.request())
	if err != nil {
		return json.RawMessage(fmt.Sprintf("%q", err))
	}
	return jsonOf(&result)
}

func jsonOf(result *flags.Result) json.RawMessage {
	if result.Failed {
		return json.RawMessage(fmt.Sprintf("%q", "failed: "+result.Reason.Description))
	}
	if result.JSON() == nil {
		return json.RawMessage("null")
	}
	return result.JSON()
}

// same compares JSON by its meaning.
func same(a, b json.RawMessage) bool {
	if bytes.Equal(a, b) {
		return true
	}
	var x, y any
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return false
	}
	p, _ := json.Marshal(x)
	q, _ := json.Marshal(y)
	return bytes.Equal(p, q)
}

func filtersOf(f *convert.Flag) []byte {
	document, err := f.Filters()
	if err != nil {
		return []byte(err.Error())
	}
	return document
}

// seedOf returns the seed of a test, which FLAGSTAFF_RANDOM_SEED sets.
func seedOf(t *testing.T) uint64 {
	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv("FLAGSTAFF_RANDOM_SEED"); text != "" {
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		seed = n
	}
	t.Logf("FLAGSTAFF_RANDOM_SEED=%d", seed)
	return seed
}
