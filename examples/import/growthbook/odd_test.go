package growthbook_test

import (
	"encoding/json"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/convert/growthbook"
	"github.com/flagstaff-go/flagstaff/internal/fulltest"
)

// TestOddDocuments puts parts of documents where they do not belong: a flag that does not say
// that it is not exact has the values that it has in GrowthBook, as far as its SDK reads the
// document.
func TestOddDocuments(t *testing.T) {
	const seed = 7
	read, exact := 0, 0
	for n := range uint64(fulltest.Count(300, 5_000)) {
		r := rand.New(rand.NewPCG(seed, n))
		document, subjects := generate(r, 20)
		var d any
		if err := json.Unmarshal(document, &d); err != nil {
			t.Fatal(err)
		}
		var parts []any
		collect(d, &parts)
		for range 1 + r.IntN(3) {
			d = replaced(r, d, parts)
		}
		document, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		p, err := growthbook.Convert(document, &product.Options)
		if err != nil {
			continue
		}
		definitions, err := p.Definitions(nil)
		if err != nil {
			t.Fatalf("document %d: %v\n%s", n, err, document)
		}
		s, err := flags.Compile(definitions, flags.CompileOptions{})
		if err != nil {
			t.Fatalf("document %d: %v\n%s", n, err, document)
		}
		for _, problem := range s.Problems() {
			if problem.Severity == flags.SeverityError {
				t.Fatalf("document %d: %v\n%s", n, problem, document)
			}
		}
		theirs, err := opened(document)
		if err != nil {
			continue
		}
		read++
		for i := range p.Flags {
			f := &p.Flags[i]
			if len(f.Problems) > 0 {
				continue
			}
			exact++
			for j := range subjects {
				want, err := theirs(f.Key, &subjects[j])
				if err != nil {
					t.Fatal(err)
				}
				got := json.RawMessage("null")
				if result, err := s.Flag(f.Key, &flags.Request{DistinctID: subjects[j].ID, PersonProperties: subjects[j].Properties}); err != nil {
					t.Fatal(err)
				} else if result.JSON() != nil {
					got = result.JSON()
				}
				if !sameJSON(got, want) {
					about, _ := json.Marshal(subjects[j])
					t.Fatalf("document %d: flag %s is %s, want %s\nfor %s\nof %s", n, f.Key, got, want, about, document)
				}
			}
		}
	}
	t.Logf("the SDK reads %d documents; %d flags are exact", read, exact)
}

// collect adds all that is within a value.
func collect(v any, to *[]any) {
	*to = append(*to, v)
	switch v := v.(type) {
	case object:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			collect(v[name], to)
		}
	case list:
		for _, e := range v {
			collect(e, to)
		}
	}
}

// replaced returns a value in which one part is another one, gone, or under another name.
func replaced(r *rand.Rand, v any, parts []any) any {
	switch o := v.(type) {
	case object:
		if names := slices.Sorted(maps.Keys(o)); len(names) > 0 && r.IntN(8) > 0 {
			name, out := names[r.IntN(len(names))], maps.Clone(o)
			switch r.IntN(20) {
			case 0:
				delete(out, name)
			case 1:
				out[names[r.IntN(len(names))]] = o[name]
			default:
				out[name] = replaced(r, o[name], parts)
			}
			return out
		}
	case list:
		if len(o) > 0 && r.IntN(8) > 0 {
			i, out := r.IntN(len(o)), slices.Clone(o)
			out[i] = replaced(r, o[i], parts)
			return out
		}
	}
	return pick[any](r, nil, true, "", "x", "f", 0.5, 2.0, -1.0, list{}, object{}, parts[r.IntN(len(parts))], parts[r.IntN(len(parts))])
}
