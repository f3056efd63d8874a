package jsonscan_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
)

// walked is what a walk over a value shows, to the bottom. A Map that is not nil makes it.
func walked(out *strings.Builder, m *jsonscan.Map, v jsonscan.Value, depth int) {
	fmt.Fprintf(out, "%s\n", v)
	if depth == 0 {
		return
	}
	if m == nil {
		o, a := v.Object(), v.Array()
		for o.Next() {
			fmt.Fprintln(out, string(o.Name()))
			walked(out, m, o.Value(), depth-1)
		}
		fmt.Fprintln(out, o.Next(), o.Value() == nil, o.Name() == nil)
		for a.Next() {
			walked(out, m, a.Value(), depth-1)
		}
		fmt.Fprintln(out, a.Next(), a.Value() == nil)
		return
	}
	o, a := m.Object(v), m.Array(v)
	for o.Next() {
		fmt.Fprintln(out, string(o.Name()))
		walked(out, m, o.Value(), depth-1)
	}
	fmt.Fprintln(out, o.Next(), o.Value() == nil, o.Name() == nil)
	for a.Next() {
		walked(out, m, a.Value(), depth-1)
	}
	fmt.Fprintln(out, a.Next(), a.Value() == nil)
}

// mapsAlike checks that a Map walks over the elements of an array as values do.
func mapsAlike(t testing.TB, m *jsonscan.Map, text []byte) {
	t.Helper()
	const depth = 8
	var want, got strings.Builder
	a := jsonscan.Value(text).Array()
	b := a
	for a.Next() {
		if !m.Next(&b) {
			t.Fatalf("Map.Next is false at %.200q: %v", a.Value(), b.Err())
		}
		walked(&want, nil, a.Value(), depth)
		walked(&got, m, b.Value(), depth)
		if a.Offset() != b.Offset() {
			t.Fatalf("Offset = %d, want %d", b.Offset(), a.Offset())
		}
	}
	if m.Next(&b) {
		t.Fatalf("Map.Next is true at %.200q, want false: %v", b.Value(), a.Err())
	}
	if diff := cmp.Diff(fmt.Sprint(a.Err()), fmt.Sprint(b.Err())); diff != "" {
		t.Fatalf("error (-Elements.Next +Map.Next)\n%s\nof %.200q", diff, text)
	}
	if want.String() != got.String() {
		t.Fatalf("walks differ (-Value +Map)\n%s\nof %.200q", cmp.Diff(want.String(), got.String()), text)
	}
}

func TestMap(t *testing.T) {
	var m jsonscan.Map // one for all, so that nothing of an earlier text may count
	for _, text := range []string{
		`[{"a":1,"b":{"c":[1,2,{"d":null}]},"b":[]},[],{},"x",true,-1.5e3]`,
		` [ { "a" : [ ] , "\u0062" : { } , "é\n" : "\"" } , [ [ [ ] ] , [ { } ] ] ] `,
		`[[{"a":{}}],[{"a":[]}],{"a":[[]]}]`,
		`[{"a":1},{"a":`, `[{"a":1},{"a" 1}]`, `[{"a":1},[1,2}]`, `[{"a":1}{}]`, `[1`, `[`, ``, `{}`, `[] x`,
		`[` + nested(`{"a":[`, "1", "]}", 31) + `]`, `[` + nested(`{"a":[`, "1", "]}", 40) + `,{"b":{"c":1}}]`,
	} {
		mapsAlike(t, &m, []byte(text))
	}
	// Values that are not part of the text, and no text at all.
	other := jsonscan.Value(`{"a":[1]}`)
	var want, got strings.Builder
	walked(&want, nil, other, 3)
	walked(&got, &m, other, 3)
	if diff := cmp.Diff(want.String(), got.String()); diff != "" {
		t.Errorf("a value that is not in the text (-Value +Map)\n%s", diff)
	}
	o, a := m.Object(nil), m.Array(nil)
	if o.Next() || a.Next() || o.Value() != nil || a.Value() != nil {
		t.Error("no value has something")
	}
}

// A text that is too large is walked all the same, and so is the next one.
func TestMapLargeText(t *testing.T) {
	var m jsonscan.Map
	text := []byte(`[{"a":[` + strings.Repeat(`{"b":[1]},`, 120_000) + `2],"c":{"d":1}},{"e":[3]}]`)
	a := jsonscan.Value(text).Array()
	for _, want := range []string{"c", "e"} {
		if !m.Next(&a) {
			t.Fatal(a.Err())
		}
		last := ""
		for o := m.Object(a.Value()); o.Next(); {
			last = string(o.Name())
			inner := m.Array(o.Value())
			for n := 0; inner.Next() && n < 3; n++ {
				if v := inner.Value(); string(v) != `{"b":[1]}` && string(v) != "3" {
					t.Fatalf("element %s", v)
				}
			}
		}
		if last != want {
			t.Errorf("the last member is %q, want %q", last, want)
		}
	}
}

// TestMembersBySteps walks over an object whose arrays are walked on the way.
func TestMembersBySteps(t *testing.T) {
	for _, text := range []string{
		`{"a":[1,{"b":[2]}],"c":[],"d":3}`, ` { "a" : [ 1 , [ ] ] , "b" : { } } `, `{"a":[1,2`, `{"a":[1 2],"b":1}`, `{"a":[1,],"b":1}`, `{"a":[]]`, `{"a":[] "b":1}`, `{"a"`, `{"a":`, `[]`, ``,
		`{"a":[` + nested("[", "", "]", 3) + `]}`, `{"a":[` + nested("[", "", "]", 4) + `]}`,
	} {
		const depth = 5
		var want, got []string
		o := jsonscan.Value(text).ObjectWithin(depth)
		for o.Next() {
			want = append(want, string(o.Name()), string(o.Value()))
		}
		s := jsonscan.Value(text).ObjectWithin(depth)
		for s.NextName() {
			name := string(s.Name())
			if a, ok := s.Elements(); ok {
				start := s.Offset()
				for a.Next() {
					if from := start + a.Offset(); !strings.HasPrefix(text[from:], string(a.Value())) {
						t.Errorf("%s: Offset = %d", text, a.Offset())
					}
				}
				if !s.Behind(&a) {
					break
				}
			} else if !s.Read() {
				break
			}
			got = append(got, name, string(s.Value()))
		}
		if diff := cmp.Diff(want, got); diff != "" || fmt.Sprint(o.Err()) != fmt.Sprint(s.Err()) {
			t.Errorf("%s: error %v, want %v; members (-Next +steps)\n%s", text, s.Err(), o.Err(), diff)
		}
	}
	s := jsonscan.Value(`{"a":[1,2]}`).Object()
	s.NextName()
	if a, _ := s.Elements(); !a.Next() || s.Behind(&a) || s.NextName() {
		t.Error("an array that was not walked over does not end the walk")
	}
}

func FuzzMap(f *testing.F) {
	for _, text := range texts {
		f.Add([]byte(text), []byte("["+text+","+text+"]"))
	}
	f.Fuzz(func(t *testing.T, first, second []byte) {
		var m jsonscan.Map
		for _, b := range [][]byte{first, second, bytes.Join([][]byte{[]byte("["), first, []byte("]")}, nil)} {
			mapsAlike(t, &m, b)
		}
	})
}
