package jsonscan_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
)

// texts are JSON texts and near misses. Tests compare what this package makes
// of them with what encoding/json does; the fuzz tests start from them.
var texts = []string{
	// Scalars.
	`null`, `true`, `false`, `nul`, `nulll`, `True`, `t`, `trua`, `fals`, `falsee`, `n`, `N`,
	``, ` `, "\t\r\n ", "\v1", "\f1", "1\v", "\u00a01", "\ufeff1",
	" \t\r\n1 \t\r\n", `1 2`, `1,`, `,1`,
	// Numbers.
	`0`, `-0`, `-`, `+1`, `01`, `00`, `-01`, `1`, `-1`, `12345678901234567890`, `.5`, `5.`, `0.5`, `-0.50`, `1.e1`, `1e`, `1e+`,
	`1e-`, `1e5`, `1E5`, `1e+5`, `1E-05`, `0e0`, `1e5.`, `1e5e5`, `0x1`, `1_000`, `Infinity`, `NaN`, `-Infinity`, `1a`, `--1`,
	// Strings.
	`""`, `"`, `"a`, `"a"b`, `"\"`, `"\\"`, `"\""`, `"\/\b\f\n\r\t"`, `"\a"`, `"\'"`, `'a'`, `"\u0041"`, `"\u00e9\u4E2d"`,
	`"\u"`, `"\u1"`, `"\u12"`, `"\u123"`, `"\u123g"`, `"\u12`, `"\u1234`, `"\U0041"`, `"\u0000"`, `"\u004:"`, `"\u00@0"`,
	`"\ud83d\ude00"`, `"\ud83d"`, `"\ude00"`, `"\ude00\ud83d"`, `"\ud83d\ud83d\ude00"`, `"\ud83d\u0041"`, `"\ud83dx"`,
	`"\ud83d\n"`, `"\ud83d\ude"`, `"\uD83D\uDE00"`, `"é"`, `"中文"`, `"😀"`, "\"\x7f\"", "\"\x1f\"", "\"\x00\"", "\"a\nb\"",
	"\"\xff\"", "\"a\xffb\"", "\"\xe4\xb8\"", "\"\xe4\xb8\\n\"", "\"\xed\xa0\x80\"", "\"\xc0\xaf\"", "\"\xf4\x90\x80\x80\"",
	"\"\xef\xbf\xbd\"", "\"\\n\xff\xfe\\t\"", "\"\u2028\"",
	`"` + strings.Repeat("a", 7) + `"`, `"` + strings.Repeat("a", 8) + `"`, `"` + strings.Repeat("é", 20) + `\n"`,
	// Arrays.
	`[]`, `[ ]`, `[`, `]`, `[1]`, `[1,2]`, `[1,]`, `[,1]`, `[1 2]`, `[1`, `[1,`, `[1}`, `[[]]`, `[[],[[]]]`, `[]]`, `[[]`,
	` [ 1 , "a" , [ ] , { } ] `, `[]1`, `[1:2]`,
	// Objects.
	`{}`, `{ }`, `{`, `}`, `{"a":1}`, `{"a":1,"b":2}`, `{"a":1,}`, `{,"a":1}`, `{"a":1 "b":2}`, `{"a" 1}`, `{"a":}`, `{"a"}`,
	`{"a":1`, `{"a":1,`, `{"a":`, `{"a"`, `{"a`, `{a:1}`, `{1:1}`, `{"a":1]`, `{"a":{"b":{"c":[]}}}`, `{"a":1}}`, `{}{}`,
	` { "a" : 1 , "b" : { } } `, `{"a":1,"a":2}`, `{"a":1,"\u0061":2}`, `{"":0}`, `{"\"":0}`, "{\"\xff\":1,\"\xfe\":2}",
	`{"a":1,"b"}`, `{"a"::1}`, `{"a":1,,"b":2}`, `{"a":1;"b":2}`, `{"a":tru}`, `{"a":01}`, "{\"a\x01\":1}", "{\"a\":\"\n\"}",
	`[{"a":[{"b":[{}]}]}]`, `[{"a":[{"b":[{]}]}]`, `[{"a":1},{"b":2},[3]]`,
	// Deeper than one word of kinds.
	nested("[", "1", "]", 63), nested("[", "1", "]", 64), nested("[", "1", "]", 65), nested("[", "1", "]", 200),
	nested(`{"a":`, "1", "}", 64), nested(`{"a":`, "1", "}", 65), nested(`{"a":[1,`, "1", "],\"b\":{}}", 100),
	nested("[", "1", "}", 70), nested(`{"a":`, "1", "]", 70), nested("[", "[],[[]]", ",1]", 130),
	strings.Repeat("[", 100), strings.Repeat(`{"a":`, 100),
	flagsBody,
}

func nested(open, inner, end string, n int) string {
	return strings.Repeat(open, n) + inner + strings.Repeat(end, n)
}

func TestParseAcceptsWhatEncodingJSONAccepts(t *testing.T) {
	for _, text := range texts {
		v, err := jsonscan.Parse([]byte(text), 1000)
		if got, want := err == nil, json.Valid([]byte(text)); got != want {
			t.Errorf("Parse(%q): error %v, but json.Valid is %v", text, err, want)
		}
		if err == nil && string(v) != strings.Trim(text, " \t\r\n") {
			t.Errorf("Parse(%q) = %q, want it trimmed", text, v)
		}
		if err != nil && v != nil {
			t.Errorf("Parse(%q) = %q with an error, want nil", text, v)
		}
	}
}

func TestParseEveryPrefixAndEveryByte(t *testing.T) {
	check := func(b []byte) {
		t.Helper()
		_, err := jsonscan.Parse(b, 1000)
		if got, want := err == nil, json.Valid(b); got != want {
			t.Errorf("Parse(%q): error %v, but json.Valid is %v", b, err, want)
		}
	}
	for i := range flagsBody {
		check([]byte(flagsBody[:i]))
	}
	// Any byte, at every position that a byte can have in a word.
	for c := range 256 {
		for i := range 20 {
			text := []byte(`"0123456789012345678"`)
			text[1+i%19] = byte(c)
			check(text)
			text[0], text[20] = '[', ']'
			check(text)
		}
		check([]byte{byte(c)})
		check([]byte{'{', byte(c)})
		check([]byte{'"', '\\', byte(c), '"'})
		check([]byte{'1', byte(c)})
	}
}

func TestParseDepth(t *testing.T) {
	for _, tt := range []struct {
		name     string
		text     string
		maxDepth int
		want     bool
	}{
		{"a scalar needs no depth", "1", 0, true},
		{"negative is zero", "1", -5, true},
		{"an empty array is one level", "[]", 0, false},
		{"an empty array within one level", "[]", 1, true},
		{"siblings do not add up", "[[],[],{}]", 2, true},
		{"two levels of one", "[[]]", 1, false},
		{"objects count as arrays do", `{"a":[]}`, 1, false},
		{"a full word", nested("[", "", "]", 64), 64, true},
		{"one more than a full word", nested("[", "", "]", 65), 64, false},
		{"one more than a full word, allowed", nested("[", "", "]", 65), 65, true},
		{"the walkers' limit", nested("[", "", "]", jsonscan.MaxDepth), jsonscan.MaxDepth, true},
		{"beyond the walkers' limit", nested("[", "", "]", jsonscan.MaxDepth+1), jsonscan.MaxDepth, false},
		{"the limit of encoding/json", nested("[", "", "]", 10_000), 10_000, true},
		{"an unlimited depth", nested("[", "", "]", 1_000_000), 1_000_000, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := jsonscan.Parse([]byte(tt.text), tt.maxDepth)
			if got := err == nil; got != tt.want {
				t.Errorf("Parse of depth %d: error %v, want success %v", tt.maxDepth, err, tt.want)
			}
		})
	}
}

func TestSyntaxError(t *testing.T) {
	for _, tt := range []struct {
		text string
		want jsonscan.SyntaxError
	}{
		{``, jsonscan.SyntaxError{0, "unexpected end of input where a value should begin"}},
		{` x`, jsonscan.SyntaxError{1, "unexpected character 'x' where a value should begin"}},
		{`[1,]`, jsonscan.SyntaxError{3, "unexpected character ']' where a value should begin"}},
		{`{'a':1}`, jsonscan.SyntaxError{1, `unexpected character '\'' where a member name should begin`}},
		{`{"a":1,}`, jsonscan.SyntaxError{7, "unexpected character '}' where a member name should begin"}},
		{`{"a"=1}`, jsonscan.SyntaxError{4, "unexpected character '=' after a member name"}},
		{`{"a":1x}`, jsonscan.SyntaxError{6, "unexpected character 'x' in object"}},
		{`{"a":{"b":1`, jsonscan.SyntaxError{11, "unexpected end of input in object"}},
		{`[1 é]`, jsonscan.SyntaxError{3, "unexpected character 'é' in array"}},
		{"[1 \xff]", jsonscan.SyntaxError{3, "unexpected byte 0xff in array"}},
		{"\"a\nb\"", jsonscan.SyntaxError{2, `unexpected character '\n' in string`}},
		{`"secret`, jsonscan.SyntaxError{7, "unexpected end of input in string"}},
		{`"a\x"`, jsonscan.SyntaxError{3, "unexpected character 'x' in string escape"}},
		{`"\u00g0"`, jsonscan.SyntaxError{5, "unexpected character 'g' in string escape"}},
		{`"\`, jsonscan.SyntaxError{2, "unexpected end of input in string escape"}},
		{`-x`, jsonscan.SyntaxError{1, "unexpected character 'x' in number"}},
		{`1.`, jsonscan.SyntaxError{2, "unexpected end of input in number"}},
		{`nil`, jsonscan.SyntaxError{1, "unexpected character 'i' in literal"}},
		{`01`, jsonscan.SyntaxError{1, "unexpected character '1' after the value"}},
		{`{} {}`, jsonscan.SyntaxError{3, "unexpected character '{' after the value"}},
		{`[[[[]]]]`, jsonscan.SyntaxError{3, "nested deeper than 3 levels"}},
	} {
		_, err := jsonscan.Parse([]byte(tt.text), 3)
		got, ok := errors.AsType[*jsonscan.SyntaxError](err)
		if !ok {
			t.Errorf("Parse(%q): error %v, want a *SyntaxError", tt.text, err)
			continue
		}
		if diff := cmp.Diff(tt.want, *got); diff != "" {
			t.Errorf("Parse(%q): error differs (-want +got):\n%s", tt.text, diff)
		}
	}
	err := &jsonscan.SyntaxError{Offset: 17, Msg: "unexpected character 'x' in object"}
	if got, want := err.Error(), "offset 17: unexpected character 'x' in object"; got != want {
		t.Errorf("Error() = %q, want %q", got, want)
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range texts {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		v, err := jsonscan.Parse(b, 10_000) // the limit of encoding/json
		if got, want := err == nil, json.Valid(b); got != want {
			t.Fatalf("Parse(%q): error %v, but json.Valid is %v", b, err, want)
		}
		if err != nil {
			if e, ok := errors.AsType[*jsonscan.SyntaxError](err); !ok || e.Offset < 0 || e.Offset > len(b) || len(e.Msg) > 100 {
				t.Fatalf("Parse(%q): odd error %#v", b, err)
			}
			return
		}
		if v.Kind() == jsonscan.Invalid {
			t.Fatalf("Parse(%q) = %q of no kind", b, v)
		}
		if again, err := jsonscan.Parse(v, 10_000); err != nil || string(again) != string(v) {
			t.Fatalf("Parse of its own result %q = %q, %v", v, again, err)
		}
	})
}
