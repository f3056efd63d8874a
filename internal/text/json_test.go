package text_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
	"github.com/flagstaff-go/flagstaff/internal/numeral"
	"github.com/flagstaff-go/flagstaff/internal/text"
)

var values = []struct {
	name, json string
	compact    string // result of AppendJSON
	str        string // result of Str; "" if it is the same
}{
	// The examples of evaluation.md §4.1.
	{"example true", `true`, `true`, ``},
	{"example null, and row 75 of §16.3", `null`, `null`, ``},
	{"example 12", `12`, `12`, ``},
	{"example 1.5", `1.5`, `1.5`, ``},
	{"example array", `["a","b"]`, `["a","b"]`, ``},
	{"example object", `{"a":1}`, `{"a":1}`, ``},
	{"example 1.0", `1.0`, `1.0`, ``},
	// The examples of §4.4 and rows of §16.3.
	{"an array of a string", `["a"]`, `["a"]`, ``},
	{"that array as a string", `"[\"a\"]"`, `"[\"a\"]"`, `["a"]`},
	{"row 64, filter", `5`, `5`, ``},
	{"row 64, property", `"5"`, `"5"`, `5`},
	{"row 65, property", `5.0`, `5.0`, ``},
	{"row 67, filter", `false`, `false`, ``},
	{"row 82, property", `1234`, `1234`, ``},
	{"row 92, filter", `4`, `4`, ``},
	// Layout.
	{"white space", " \t\r\n[ 1 ,\n2 , { \"a\" : [ ] , \"b\" : { } } ] ", `[1,2,{"a":[],"b":{}}]`, ``},
	{"empty array", `[ ]`, `[]`, ``},
	{"empty object", `{ }`, `{}`, ``},
	{"objects in arrays in objects", `{"b":[{"d":1,"c":[{"z":0,"y":{}}]},{"e":{}}],"a":{}}`, `{"a":{},"b":[{"c":[{"y":{},"z":0}],"d":1},{"e":{}}]}`, ``},
	{"numbers inside", `[1,1.50,-0,1e3,1e999,{"n":0.00}]`, `[1,1.5,-0.0,1000.0,1e999,{"n":0.0}]`, ``},
	{"literals inside", `[true,false,null]`, `[true,false,null]`, ``},
	{"brackets in strings", `["{","]",{"}":"\"{"}]`, `["{","]",{"}":"\"{"}]`, ``},
	// Names.
	{"sorted names", `{"b":1,"a":2,"c":3}`, `{"a":2,"b":1,"c":3}`, ``},
	{"capitals first", `{"a":1,"B":2}`, `{"B":2,"a":1}`, ``},
	{"shorter first", `{"aa":1,"a":2,"":3}`, `{"":3,"a":2,"aa":1}`, ``},
	{"bytes, not characters of UTF-16", `{"\uffff":1,"\ud83d\ude00":2}`, `{"` + "\uffff" + `":1,"😀":2}`, ``},
	{"decoded before sorting", `{"b":1,"\u0061":2}`, `{"a":2,"b":1}`, ``},
	{"by what is escaped, not by the escape", `{"#":1,"\"":2,"]":3,"\\":4,"[":5,"\n":6}`, `{"\n":6,"\"":2,"#":1,"[":5,"\\":4,"]":3}`, ``},
	{"the last of two", `{"a":1,"a":2}`, `{"a":2}`, ``},
	{"the last of three, between others", `{"b":1,"a":1,"b":{"x":1},"c":1,"b":2}`, `{"a":1,"b":2,"c":1}`, ``},
	{"two spellings of a name", `{"a":1,"\u0061":2}`, `{"a":2}`, ``},
	{"names that are not UTF-8 become the same", "{\"\xff\":1,\"\xfe\":2}", "{\"\ufffd\":2}", ``},
	{"more than a few names", `{"z":1,"y":2,"x":3,"w":4,"v":5,"u":6,"t":7,"s":8,"r":9,"q":1,"p":2,"o":3,"n":4,"m":5,"l":6,"k":7,"j":8,"i":9,"h":1,"g":2,"f":3,"e":4,"d":5,"c":6,"b":7,"a":8}`, `{"a":8,"b":7,"c":6,"d":5,"e":4,"f":3,"g":2,"h":1,"i":9,"j":8,"k":7,"l":6,"m":5,"n":4,"o":3,"p":2,"q":1,"r":9,"s":8,"t":7,"u":6,"v":5,"w":4,"x":3,"y":2,"z":1}`, ``},
	// Strings.
	{"empty string", `""`, `""`, ``},
	{"plain string", `"pro"`, `"pro"`, `pro`},
	{"no need for escapes", `"\u00e9\/\u003c\u007f"`, "\"é/<\u007f\"", "é/<\u007f"},
	{"escapes that stay", `"\"\\\b\t\n\f\r"`, `"\"\\\b\t\n\f\r"`, "\"\\\b\t\n\f\r"},
	{"control characters", `"\u0000\u001F\u000a"`, `"\u0000\u001f\n"`, "\x00\x1f\n"},
	{"U+2028 is not a control character", `"\u2028"`, "\"\u2028\"", "\u2028"},
	{"pair of surrogates", `"\ud83d\ude00"`, `"😀"`, `😀`},
	{"half a pair", `"\ud83dx"`, "\"\ufffdx\"", "\ufffdx"},
	{"bytes that are not UTF-8", "\"a\xff\xfeb\"", "\"a\ufffd\ufffdb\"", "a\ufffd\ufffdb"},
	{"a string that grows a lot", `["` + strings.Repeat(`\u0001`, 50) + `"]`, `["` + strings.Repeat(`\u0001`, 50) + `"]`, ``},
}

func TestAppendJSON(t *testing.T) {
	for _, tt := range values {
		t.Run(tt.name, func(t *testing.T) {
			got, ok := text.AppendJSON([]byte("x"), []byte(tt.json))
			if !ok || string(got) != "x"+tt.compact {
				t.Errorf("AppendJSON(x, %s) = %s, %v, want x%s", tt.json, got, ok, tt.compact)
			}
		})
	}
}

func TestStr(t *testing.T) {
	for _, tt := range values {
		t.Run(tt.name, func(t *testing.T) {
			want := tt.str
			if want == "" && tt.json != `""` {
				want = tt.compact
			}
			if got, ok := text.Str([]byte(tt.json)); !ok || got != want {
				t.Errorf("Str(%s) = %q, %v, want %q", tt.json, got, ok, want)
			}
		})
	}
}

var invalid = []string{
	``, ` `, `x`, `tru`, `truex`, `01`, `1.`, `.5`, `+1`, `NaN`, `"`, `"a`, `'a'`, `"\x"`, "\"\n\"", `[`, `[1`, `[1,]`, `[,1]`, `[1 2]`,
	`{`, `{"a"}`, `{"a":}`, `{"a":1,}`, `{a:1}`, `{"a":1 "b":2}`, `]`, `}`, `1 2`, `[]]`, `{"a":[}`, `null,`, "\xef\xbb\xbf1",
	strings.Repeat("[", jsonscan.MaxDepth+1) + strings.Repeat("]", jsonscan.MaxDepth+1),
}

func TestInvalidJSON(t *testing.T) {
	for _, v := range invalid {
		if got, ok := text.AppendJSON([]byte("x"), []byte(v)); ok || string(got) != "x" {
			t.Errorf("AppendJSON(x, %.40s) = %s, %v, want x, false", v, got, ok)
		}
		if got, ok := text.Str([]byte(v)); ok || got != "" {
			t.Errorf("Str(%.40s) = %q, %v, want false", v, got, ok)
		}
	}
}

func TestDepth(t *testing.T) {
	const n = jsonscan.MaxDepth
	for _, tt := range []struct{ open, close string }{
		{"[", "]"},
		{`{"a":`, "}"},
	} {
		inner := "0"
		deep := strings.Repeat(tt.open, n) + inner + strings.Repeat(tt.close, n)
		if got, ok := text.AppendJSON(nil, []byte(deep)); !ok || string(got) != deep {
			t.Errorf("AppendJSON of %d nested %s fails", n, tt.open)
		}
		deeper := tt.open + deep + tt.close
		if _, ok := text.AppendJSON(nil, []byte(deeper)); ok {
			t.Errorf("AppendJSON of %d nested %s succeeds", n+1, tt.open)
		}
	}
}

// TestDepthTime guards against reading or moving nested values once per level.
func TestDepthTime(t *testing.T) {
	const n = jsonscan.MaxDepth - 1
	leaf := `"` + strings.Repeat("x", 1_000_000) + `"`
	v := strings.Repeat(`{"b":`, n) + leaf + strings.Repeat(`,"a":1}`, n)
	want := strings.Repeat(`{"a":1,"b":`, n) + leaf + strings.Repeat(`}`, n)
	if got, ok := text.AppendJSON(nil, []byte(v)); !ok || string(got) != want {
		t.Errorf("AppendJSON of deeply nested objects fails")
	}
}

// obviousJSON implements evaluation.md §4.1 for the values that encoding/json
// decodes.
func obviousJSON(v any) string {
	switch v := v.(type) {
	case string:
		var b strings.Builder
		for _, r := range v {
			switch i := strings.IndexRune("\"\\\b\t\n\f\r", r); {
			case i >= 0:
				b.WriteString("\\" + `"\btnfr`[i:i+1])
			case r < ' ':
				fmt.Fprintf(&b, `\u%04x`, r)
			default:
				b.WriteRune(r)
			}
		}
		return `"` + b.String() + `"`
	case json.Number:
		return string(numeral.Append(nil, []byte(v.String())))
	case []any:
		parts := []string{}
		for _, e := range v {
			parts = append(parts, obviousJSON(e))
		}
		return "[" + strings.Join(parts, ",") + "]"
	case map[string]any:
		parts := []string{}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			parts = append(parts, obviousJSON(name)+":"+obviousJSON(v[name]))
		}
		return "{" + strings.Join(parts, ",") + "}"
	default:
		return strings.Replace(fmt.Sprint(v), "<nil>", "null", 1)
	}
}

func FuzzJSON(f *testing.F) {
	for _, tt := range values {
		f.Add([]byte(tt.json))
	}
	for _, v := range invalid {
		f.Add([]byte(v))
	}
	f.Fuzz(func(t *testing.T, v []byte) {
		before := bytes.Clone(v)
		got, ok := text.AppendJSON(nil, v)
		if !bytes.Equal(before, v) {
			t.Fatalf("AppendJSON changes its input %q to %q", before, v)
		}
		str, strOK := text.Str(v)
		if ok != strOK {
			t.Fatalf("AppendJSON(%q) is %v, Str is %v", v, ok, strOK)
		}
		if ok != json.Valid(v) {
			if bytes.Count(v, []byte("["))+bytes.Count(v, []byte("{")) > jsonscan.MaxDepth {
				return
			}
			t.Fatalf("AppendJSON(%q) = %q, %v, want %v", v, got, ok, !ok)
		}
		if !ok {
			return
		}
		d := json.NewDecoder(bytes.NewReader(v))
		d.UseNumber()
		var x any
		if err := d.Decode(&x); err != nil {
			t.Fatalf("Decode(%q): %v", v, err)
		}
		want := obviousJSON(x)
		if diff := cmp.Diff(want, string(got)); diff != "" {
			t.Fatalf("AppendJSON(%q) (-want +got):\n%s", v, diff)
		}
		if s, isString := x.(string); isString {
			want = s
		}
		if str != want {
			t.Fatalf("Str(%q) = %q, want %q", v, str, want)
		}
		if again, ok := text.AppendJSON(nil, got); !ok || !bytes.Equal(again, got) {
			t.Fatalf("AppendJSON(%q) = %q, %v, want it unchanged", got, again, ok)
		}
	})
}

func TestJSONNoAllocation(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	dst := make([]byte, 0, 1024)
	for _, v := range []string{`42`, `"a\nb"`, `["us","ca",1.5,["x"],"\u0001\/"]`, `{"b":[{"d":1,"c":2}],"a":"x\ty"}`} {
		value := []byte(v)
		if n := testing.AllocsPerRun(100, func() { text.AppendJSON(dst, value) }); n != 0 {
			t.Errorf("AppendJSON(%s) allocates %v times, want 0", v, n)
		}
	}
}

func BenchmarkAppendJSON(b *testing.B) {
	dst := make([]byte, 0, 1024)
	for _, tt := range []struct{ name, json string }{
		{"array", `["us","ca","mx"]`},
		{"object", `{"tier":"enterprise","seats":250,"beta":true}`},
		{"nested", `{"b":[{"d":1,"c":2.5}],"a":"x\ty"}`},
	} {
		b.Run(tt.name, func(b *testing.B) {
			v := []byte(tt.json)
			b.ReportAllocs()
			for b.Loop() {
				text.AppendJSON(dst, v)
			}
		})
	}
}
