package flags_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/flags/internal/bench"
	"github.com/flagstaff-go/flagstaff/internal/fulltest"
	"github.com/flagstaff-go/flagstaff/internal/reference"
)

// decodesAlike checks that a DocumentReader reads a document as Decode does.
func decodesAlike(t testing.TB, d *flags.DocumentReader, document []byte) *flags.Definitions {
	t.Helper()
	want, wantErr := flags.Decode(bytes.NewReader(document))
	got, err := d.Decode(bytes.Clone(document))
	if diff := cmp.Diff(fmt.Sprint(wantErr), fmt.Sprint(err)); diff != "" {
		t.Fatalf("error (-Decode +DocumentReader)\n%s\nof %s", diff, document)
	}
	everything := cmp.Options{cmp.Exporter(func(reflect.Type) bool { return true }), cmpopts.EquateEmpty(), cmpopts.EquateNaNs()}
	sums := cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".sums" }, cmp.Ignore())
	if diff := cmp.Diff(want, got, everything, sums); diff != "" {
		t.Fatalf("definitions (-Decode +DocumentReader)\n%s\nof %s", diff, document)
	}
	if got != nil {
		has, want := flags.Sums(got)
		if diff := cmp.Diff(want, has, everything); diff != "" {
			t.Fatalf("sums of flags (-want +got)\n%s\nof %s", diff, document)
		}
	}
	return got
}

// tidy keeps of an edited document what a DocumentReader can use again: what is read without
// regard to the rest.
func (e *edited) tidy(t testing.TB) {
	t.Helper()
	fits := func(members map[string]json.RawMessage, list ...map[string]json.RawMessage) bool {
		one := edited{members: members, flags: list}
		d := flags.NewDocumentReader()
		_, err := d.Decode(one.document(t))
		return err == nil && flags.Keeps(d)
	}
	if !fits(e.members, []map[string]json.RawMessage{}...) {
		e.members = nil
	}
	unfit := func(f map[string]json.RawMessage) bool { return !fits(nil, f) }
	e.flags, e.spare = slices.DeleteFunc(e.flags, unfit), slices.DeleteFunc(e.spare, unfit)
}

func TestDocumentReader(t *testing.T) {
	seed := rand.Uint64()
	documents, reused := 0, 0
	for i := range uint64(fulltest.Count(10, 20)) {
		if !t.Run(fmt.Sprint("seed ", seed+i), func(t *testing.T) {
			e, d := newEdited(t, seed+i), flags.NewDocumentReader()
			if i%4 > 0 {
				e.tidy(t)
			}
			known := make(map[*flags.Condition]bool) // what flags had before
			for range 20 {
				documents++
				again := false
				for _, f := range decodesAlike(t, d, e.document(t)).Flags {
					if len(f.Filters.Groups) > 0 {
						again = again || known[&f.Filters.Groups[0]]
						known[&f.Filters.Groups[0]] = true
					}
				}
				if again {
					reused++
				}
				for range 1 + e.rng.IntN(2) {
					e.change()
				}
			}
		}) {
			return
		}
	}
	if reused < documents/5 {
		t.Errorf("of %d documents %d could use something of the one before, want a fifth at least", documents, reused)
	}
}

// Documents that differ in the wrong places, or are broken where only a part is read.
func TestDocumentReaderEdges(t *testing.T) {
	const a, b, c = `{"id":1,"key":"a"}`, `{"id":2,"key":"b","name":"x"}`, `{"id":3,"key":"c"}`
	documents := []string{
		`{"flags":[]}`, `{"flags":[` + a + `]}`, `{"flags":[` + a + `,` + b + `]}`, `{"flags":[` + b + `,` + a + `]}`, `{"flags":[` + b + `]}`,
		`{"flags":[` + a + `,` + b + `,` + c + `]}`, `{"flags":[` + a + `,` + c + `]}`, `{"flags":[` + a + ` , ` + c + ` ]}`, ` {"flags":[` + a + `,` + c + `]} `,
		`{"flags":[` + a + `,` + a + `]}`, `{"flags":[` + a + `,` + a + `,` + a + `]}`, `{"flags":[` + a + b + `]}`, `{"flags":[` + a + `,]}`, `{"flags":[,` + a + `]}`,
		`{"flags":[` + a + `.5,` + b + `]}`, `{"flags":[` + a + `,7,` + b + `]}`, `{"flags":[` + a + `],"x":[` + b + `]}`, `{"flags":[` + a + `],"flags":[` + b + `]}`,
		`{"flags":[` + a + `,{"id":2}]}`, `{"flags":[` + a + `,{"id":2,"key":"b","nmae":"x"},` + c + `]}`, `{"flags":[` + a + `,{"id":2,"key":"b","nmae":"y"},` + c + `]}`,
		`{"flags":[` + a + `,{"key":"b"},` + c + `],"cohorts":{"x":1}}`, `{"flags":[` + a + `,{"key":"bb"},` + c + `],"cohorts":{"x":1}}`, `{"group_type_mapping":7,"flags":[{"key":"b"},` + c + `],"cohorts":{"x":1}}`,
		`{"group_type_mapping":7,"flags":[{"key":"b"},` + c + `,{"key":"d"}],"cohorts":{"x":1}}`, `{"flags":[` + a + `,{"id":2,"key":"b","filters":7},` + c + `]}`,
		`{"flags":[` + a, `{"flags":[` + a + `,` + b + `]`, ``, `7`, `{"flags":7}`, `{"flags":[` + a + `,{"id":2,"key":"b","x":` + string(bytes.Repeat([]byte("["), 197)) + string(bytes.Repeat([]byte("]"), 197)) + `},` + c + `]}`,
		`{"flags":[` + a + `,{"id":2,"key":"b","x":` + string(bytes.Repeat([]byte("["), 198)) + string(bytes.Repeat([]byte("]"), 198)) + `},` + c + `]}`,
	}
	for _, first := range documents {
		for _, second := range documents {
			d := flags.NewDocumentReader()
			for _, document := range []string{first, second, first, second} {
				decodesAlike(t, d, []byte(document))
			}
		}
	}
}

// Definitions with copies of the flags that a DocumentReader has read may be changed.
func TestDocumentReaderCopy(t *testing.T) {
	const document = `{"flags":[{"id":1,"key":"a","active":true,"filters":{"groups":[{"rollout_percentage":0}]}}]}`
	d, err := flags.NewDocumentReader().Decode([]byte(document))
	if err != nil {
		t.Fatal(err)
	}
	before, err := flags.Compile(d, flags.CompileOptions{})
	if err != nil {
		t.Fatal(err)
	}
	other := *d
	other.Flags = slices.Clone(d.Flags)
	other.Flags[0].Filters.Groups = []flags.Condition{{RolloutPercentage: new(100.0)}}
	after, err := flags.Compile(&other, flags.CompileOptions{Previous: before})
	if err != nil {
		t.Fatal(err)
	}
	if before.ETag() == after.ETag() || !after.Bool("a", &flags.Request{DistinctID: "p"}, false) {
		t.Error("a change of the copy is ignored")
	}
}

// FuzzDocumentReader reads two documents one after the other.
func FuzzDocumentReader(f *testing.F) {
	for seed := range uint64(10) {
		g := reference.NewGenerator(seed)
		document := g.Document()
		f.Add(document, bytes.Replace(document, []byte("active"), []byte("activ"), 1), document)
		f.Add(document, document[:len(document)/2], g.Document())
	}
	f.Fuzz(func(t *testing.T, first, second, third []byte) {
		d := flags.NewDocumentReader()
		for _, document := range [][]byte{first, second, third} {
			decodesAlike(t, d, document)
		}
	})
}

// BenchmarkE18 reads and compiles a document of 10,000 flags of which one has
// changed. Its floor is to load it for the first time.
func BenchmarkE18(b *testing.B) {
	const n = 10_000
	var versions [2][]byte
	for i := range versions {
		d := bench.Definitions(n, "sha1")
		d.Flags[n/2].Filters.Groups[0].RolloutPercentage = new(float64(10 + i))
		var err error
		if versions[i], err = json.Marshal(d); err != nil {
			b.Fatal(err)
		}
	}
	for _, floor := range []bool{false, true} {
		b.Run(map[bool]string{false: "flagstaff", true: "floor"}[floor], func(b *testing.B) {
			b.ReportAllocs()
			d, s := new(flags.DocumentReader), (*flags.Snapshot)(nil)
			for i := 0; b.Loop(); i++ {
				if floor {
					d, s = new(flags.DocumentReader), nil
				}
				definitions, err := d.Decode(slices.Clip(versions[i%2]))
				if err != nil {
					b.Fatal(err)
				}
				if s, err = flags.Compile(definitions, flags.CompileOptions{Previous: s}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
