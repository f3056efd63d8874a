package jsonscan_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
)

// A member is what a test sees of one step of a walk.
type member struct {
	Raw, Name string
	Value     string
}

func members(v jsonscan.Value) (all []member, err error) {
	o := v.Object()
	for o.Next() {
		at := v[o.Offset():][:len(o.Value())] // panics if the offset is wrong by much
		all = append(all, member{string(o.RawName()), string(o.Name()), string(at)})
	}
	return all, o.Err()
}

func elements(v jsonscan.Value) (all []string, err error) {
	a := v.Array()
	for a.Next() {
		all = append(all, string(v[a.Offset():][:len(a.Value())]))
	}
	return all, a.Err()
}

func TestObject(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       []member
		wantErr    string
	}{
		{"empty", `{}`, nil, ""},
		{"white space everywhere", " {\t} \n", nil, ""},
		{"one member", `{"a":1}`, []member{{"a", "a", "1"}}, ""},
		{
			"values of every kind, trimmed", ` { "a" : null , "b":true ,"c": "x" , "d" :[ 1 ] , "e": { } } `,
			[]member{
				{"a", "a", "null"},
				{"b", "b", "true"},
				{"c", "c", `"x"`},
				{"d", "d", "[ 1 ]"},
				{"e", "e", "{ }"},
			},
			"",
		},
		{
			"duplicates in order", `{"a":1,"a":2,"\u0061":3}`,
			[]member{{"a", "a", "1"}, {"a", "a", "2"}, {`\u0061`, "a", "3"}},
			"",
		},
		{
			"keys that are not ASCII", "{\"é\":1,\"\xff\":2,\"\":3}",
			[]member{{"é", "é", "1"}, {"\xff", "�", "2"}, {"", "", "3"}},
			"",
		},
		{"no value", ``, nil, "offset 0: not an object"},
		{"an array", `[1]`, nil, "offset 0: not an object"},
		{"a scalar", ` 1`, nil, "offset 1: not an object"},
		{"nothing behind the brace", `{`, nil, "offset 1: unexpected end of input where a member name should begin"},
		{"comma first", `{,"a":1}`, nil, "offset 1: unexpected character ',' where a member name should begin"},
		{
			"comma last", `{"a":1,}`,
			[]member{{"a", "a", "1"}},
			"offset 7: unexpected character '}' where a member name should begin",
		},
		{
			"wrong bracket", `{"a":1]`,
			[]member{{"a", "a", "1"}},
			"offset 6: unexpected character ']' in object",
		},
		{
			"text behind the brace", `{"a":1} x`,
			[]member{{"a", "a", "1"}},
			"offset 8: unexpected character 'x' after the value",
		},
		{"text behind an empty object", `{}}`, nil, "offset 2: unexpected character '}' after the value"},
		{"no colon", `{"a" 1}`, nil, "offset 5: unexpected character '1' after a member name"},
		{"a fault in a key", `{"\x":1}`, nil, "offset 3: unexpected character 'x' in string escape"},
		{"a fault inside a value", `{"a":{"b":[01]}}`, nil, "offset 12: unexpected character '1' in array"},
		{
			"too deep", `{"a":` + nested("[", "", "]", jsonscan.MaxDepth) + `}`, nil,
			"offset 1004: nested deeper than 1000 levels",
		},
		{
			"just not too deep", `{"a":` + nested("[", "", "]", jsonscan.MaxDepth-1) + `}`,
			[]member{{"a", "a", nested("[", "", "]", jsonscan.MaxDepth-1)}},
			"",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := members(jsonscan.Value(tt.text))
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("members of %.100q differ (-want +got):\n%s", tt.text, diff)
			}
			checkError(t, tt.text, err, tt.wantErr)
		})
	}
}

func TestArray(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       []string
		wantErr    string
	}{
		{"empty", `[]`, nil, ""},
		{"white space everywhere", " [\t] \n", nil, ""},
		{"one element", `[1]`, []string{"1"}, ""},
		{"values of every kind, trimmed", ` [ null,true , "x", [ 1 ] , { } ] `, []string{"null", "true", `"x"`, "[ 1 ]", "{ }"}, ""},
		{"no value", ``, nil, "offset 0: not an array"},
		{"an object", `{}`, nil, "offset 0: not an array"},
		{"nothing behind the bracket", `[`, nil, "offset 1: unexpected end of input where a value should begin"},
		{"comma first", `[,1]`, nil, "offset 1: unexpected character ',' where a value should begin"},
		{"comma last", `[1,]`, []string{"1"}, "offset 3: unexpected character ']' where a value should begin"},
		{"wrong bracket", `[1}`, []string{"1"}, "offset 2: unexpected character '}' in array"},
		{"end of input", `[1`, []string{"1"}, "offset 2: unexpected end of input in array"},
		{"text behind the bracket", `[1] x`, []string{"1"}, "offset 4: unexpected character 'x' after the value"},
		{"a fault inside an element", `[1,{"a" 2}]`, []string{"1"}, "offset 8: unexpected character '2' after a member name"},
		{"too deep", nested("[", "", "]", jsonscan.MaxDepth+1), nil, "offset 1000: nested deeper than 1000 levels"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := elements(jsonscan.Value(tt.text))
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("elements of %.100q differ (-want +got):\n%s", tt.text, diff)
			}
			checkError(t, tt.text, err, tt.wantErr)
		})
	}
}

func checkError(t *testing.T, text string, err error, want string) {
	t.Helper()
	got := ""
	if err != nil {
		got = err.Error()
	}
	if got != want {
		t.Errorf("walking %.100q: error %q, want %q", text, got, want)
	}
}

func TestWalkersBeforeAndAfter(t *testing.T) {
	for _, text := range []string{`{"a":1}`, `{"a":1`, `{}`, ``} {
		o := jsonscan.Value(text).Object()
		check := func(when string) {
			t.Helper()
			if o.RawName() != nil || o.Value() != nil || o.Name() != nil {
				t.Errorf("%s walking %q: RawName %q, Name %q, Value %q, want none", when, text, o.RawName(), o.Name(), o.Value())
			}
		}
		check("before")
		for o.Next() {
		}
		check("after")
		err := o.Err()
		if o.Next() || cmp.Diff(err, o.Err()) != "" {
			t.Errorf("walking %q: Next after the end is true or changes the error", text)
		}
	}

	var o jsonscan.Members
	var a jsonscan.Elements
	if o.Next() || o.Err() == nil || a.Next() || a.Err() == nil {
		t.Error("a zero walker has something, or no error")
	}
}

// TestNames: names stay valid, and those with escapes are in the memory of the
// caller if it gives some.
func TestNames(t *testing.T) {
	o := jsonscan.Value(`{"plain":1,"\u0061b":2,"":3,"\ud83d\ude00":4}`).Object()
	buf := []byte("before ")
	var own, kept [][]byte
	for o.Next() {
		own = append(own, o.Name())
		kept = append(kept, o.NameIn(&buf))
	}
	for i, want := range []string{"plain", "ab", "", "😀"} {
		if string(own[i]) != want || string(kept[i]) != want || cap(kept[i]) != len(kept[i]) {
			t.Errorf("Name = %q, NameIn = %q with capacity %d; want %q", own[i], kept[i], cap(kept[i]), want)
		}
	}
	if string(buf) != "before ab😀" {
		t.Errorf("NameIn wrote %q", buf)
	}
	if o.Name() != nil || o.NameIn(&buf) != nil {
		t.Error("there is a name after the end")
	}
}

func TestResultsDoNotReachBeyond(t *testing.T) {
	text := []byte(` {"a":"x"} `)
	v, err := jsonscan.Parse(text, 5)
	if err != nil {
		t.Fatal(err)
	}
	o := v.Object()
	if !o.Next() {
		t.Fatal(o.Err())
	}
	for name, b := range map[string][]byte{"Parse": v, "Name": o.Name(), "RawName": o.RawName(), "Value": o.Value()} {
		if cap(b) != len(b) {
			t.Errorf("%s: capacity %d, want %d: append would overwrite the input", name, cap(b), len(b))
		}
	}
}

func TestWalksDoNotAllocate(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	body := []byte(flagsBody)
	key := make([]byte, 0, 100)
	if n := testing.AllocsPerRun(100, func() {
		if _, err := jsonscan.Parse(body, 100); err != nil {
			t.Fatal(err)
		}
		o := jsonscan.Value(body).Object()
		for o.Next() {
			key = key[:0]
			o.NameIn(&key)
			p := o.Value().Object()
			for p.Next() {
				p.Value().Plain()
				p.Value().Float()
			}
			a := o.Value().Array()
			for a.Next() {
				key, _ = a.Value().AppendString(key[:0])
			}
		}
	}); n != 0 {
		t.Errorf("Parse and walk allocate %v times, want 0", n)
	}
}

// std returns what encoding/json makes of an object, or nil if it is none.
func std(b []byte) map[string]string {
	var raw map[string]json.RawMessage
	if json.Unmarshal(b, &raw) != nil || raw == nil {
		return nil
	}
	all := map[string]string{}
	for k, v := range raw {
		all[k] = string(v)
	}
	return all
}

func FuzzObject(f *testing.F) {
	for _, text := range texts {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		all, err := members(b)
		if err != nil && strings.HasSuffix(err.Error(), " levels") {
			return // encoding/json goes deeper
		}
		want := std(b)
		if (err == nil) != (want != nil) {
			t.Fatalf("walking %q: error %v, but encoding/json has %v", b, err, want)
		}
		if err != nil {
			return
		}
		got := map[string]string{}
		for _, m := range all {
			got[m.Name] = m.Value
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("walking %q: members differ (-encoding/json +got):\n%s", b, diff)
		}
	})
}

func FuzzArray(f *testing.F) {
	for _, text := range texts {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := elements(b)
		if err != nil && strings.HasSuffix(err.Error(), " levels") {
			return // encoding/json goes deeper
		}
		var raw []json.RawMessage
		ok := json.Unmarshal(b, &raw) == nil && raw != nil
		if (err == nil) != ok {
			t.Fatalf("walking %q: error %v, but encoding/json has %q", b, err, raw)
		}
		if err != nil {
			return
		}
		var want []string
		for _, v := range raw {
			want = append(want, string(v))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("walking %q: elements differ (-encoding/json +got):\n%s", b, diff)
		}
	})
}

// FuzzWalkAnything walks bytes that were never parsed, to the bottom.
func FuzzWalkAnything(f *testing.F) {
	for _, text := range texts {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		steps := 0
		var walk func(v jsonscan.Value, depth int)
		walk = func(v jsonscan.Value, depth int) {
			if steps++; depth > 20 || steps > 10_000 {
				return
			}
			v.Kind()
			v.Bool()
			v.Float()
			v.Plain()
			v.AppendString(nil)
			o := v.Object()
			for o.Next() {
				if name := o.Name(); !bytes.Equal(name, o.RawName()) && utf8.Valid(o.RawName()) && !bytes.ContainsRune(o.RawName(), '\\') {
					t.Fatalf("Name = %q, RawName = %q", name, o.RawName())
				}
				walk(o.Value(), depth+1)
			}
			a := v.Array()
			for a.Next() {
				walk(a.Value(), depth+1)
			}
			if o.Err() == nil && a.Err() == nil {
				t.Fatalf("%q is both an object and an array", v)
			}
		}
		walk(b, 0)
		for i := range min(len(b), 16) {
			walk(b[i:], 15)
		}
	})
}
