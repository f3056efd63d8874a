package jsonscan_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
)

func TestKind(t *testing.T) {
	for _, tt := range []struct {
		text string
		want jsonscan.Kind
	}{
		{"null", jsonscan.Null},
		{"false", jsonscan.False},
		{"true", jsonscan.True},
		{"0", jsonscan.Number},
		{"9.5", jsonscan.Number},
		{"-1", jsonscan.Number},
		{`""`, jsonscan.String},
		{"[]", jsonscan.Array},
		{"{}", jsonscan.Object},
		{"", jsonscan.Invalid},
		{" 1", jsonscan.Invalid},
		{"x", jsonscan.Invalid},
		{"]", jsonscan.Invalid},
	} {
		if got := jsonscan.Value(tt.text).Kind(); got != tt.want {
			t.Errorf("Value(%q).Kind() = %d, want %d", tt.text, got, tt.want)
		}
	}
	if got := jsonscan.Value(nil).Kind(); got != jsonscan.Invalid {
		t.Errorf("Value(nil).Kind() = %d, want %d", got, jsonscan.Invalid)
	}
}

func TestBool(t *testing.T) {
	for _, tt := range []struct {
		text      string
		value, ok bool
	}{
		{"true", true, true},
		{"false", false, true},
		{"tru", false, false},
		{"truex", false, false},
		{`"true"`, false, false},
		{"1", false, false},
		{"null", false, false},
		{"", false, false},
	} {
		if value, ok := jsonscan.Value(tt.text).Bool(); value != tt.value || ok != tt.ok {
			t.Errorf("Value(%q).Bool() = %v, %v, want %v, %v", tt.text, value, ok, tt.value, tt.ok)
		}
	}
}

func TestAppendString(t *testing.T) {
	for _, tt := range []struct {
		name, text, want string
		plain            bool
	}{
		{"empty", `""`, "", true},
		{"ASCII", `"abc"`, "abc", true},
		{"longer than a word", `"0123456789"`, "0123456789", true},
		{"valid UTF-8", `"é中😀"`, "é中😀", true},
		{"a replacement character that is really there", `"�"`, "�", true},
		{"each short escape", `"\"\\\/\b\f\n\r\t"`, "\"\\/\b\f\n\r\t", false},
		{"escape after a full word", `"01234567\n"`, "01234567\n", false},
		{"a quote in every position of a word", `"0\"23\"5\"\"8"`, `0"23"5""8`, false},
		{"code points of each width", `"\u0041\u00e9\u4E2D"`, "Aé中", false},
		{"NUL", `"\u0000"`, "\x00", false},
		{"surrogate pair", `"\ud83d\ude00"`, "😀", false},
		{"high surrogate alone", `"\ud83d!"`, "�!", false},
		{"low surrogate alone", `"\ude00"`, "�", false},
		{"surrogates in the wrong order", `"\ude00\ud83d"`, "��", false},
		{"a pair after a lone half", `"\ud83d\ud83d\ude00"`, "�😀", false},
		{"half and another escape", `"\ud83d\u0041"`, "�A", false},
		{"half and a short escape", `"\ud83d\n"`, "�\n", false},
		{"invalid byte", "\"a\xffb\"", "a�b", false},
		{"each invalid byte counts", "\"\xff\xfe\"", "��", false},
		{"truncated sequence", "\"\xe4\xb8\"", "��", false},
		{"surrogate in UTF-8", "\"\xed\xa0\x80\"", "���", false},
		{"invalid byte and escape", "\"\\t\xff\"", "\t�", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := jsonscan.Value(tt.text)
			got, ok := v.AppendString([]byte("before "))
			if !ok || string(got) != "before "+tt.want {
				t.Errorf("Value(%q).AppendString = %q, %v, want %q", tt.text, got, ok, "before "+tt.want)
			}
			var std string
			if err := json.Unmarshal([]byte(tt.text), &std); err != nil || std != tt.want {
				t.Errorf("json.Unmarshal(%q) = %q, %v, want %q", tt.text, std, err, tt.want)
			}
			raw, ok := v.Plain()
			if ok != tt.plain || ok && string(raw) != tt.want {
				t.Errorf("Value(%q).Plain() = %q, %v, want plain %v", tt.text, raw, ok, tt.plain)
			}
			if cap(raw) != len(raw) {
				t.Errorf("Value(%q).Plain() has capacity %d, want %d", tt.text, cap(raw), len(raw))
			}
		})
	}
}

func TestStringsThatAreNone(t *testing.T) {
	for _, text := range []string{
		``, `"`, `a`, `1`, `null`, `"a`, `a"`, `"a"b`, `"a" `, ` "a"`, `"a""`, `"\"`, `"\q"`, `"\u12"`, "\"\n\"", `["a"]`, `'a'`,
	} {
		dst := []byte("before")
		if got, ok := jsonscan.Value(text).AppendString(dst); ok || string(got) != "before" {
			t.Errorf("Value(%q).AppendString = %q, %v, want it unchanged, false", text, got, ok)
		}
		if got, ok := jsonscan.Value(text).Plain(); ok || got != nil {
			t.Errorf("Value(%q).Plain() = %q, %v, want nil, false", text, got, ok)
		}
	}
}

// numbers are number literals of which some are too large for a float64.
var numbers = []string{
	"0", "-0", "0.0", "-0.0", "0e9999999999", "-0.000e400", "1", "-1", "42", "999999999999999", "-99999999999999",
	"1000000000000000", "9007199254740993", "18446744073709551616", "0.1", "-0.1", "1.5e3", "1E+2", "1e-2", "2.5E-3",
	"123456789.123456789", "5e-324", "2e-324", "1e-400", "1e-99999999999999999999", "1e308", "1.7976931348623157e308",
	"1.7976931348623158e308", "1.7976931348623159e308", "-1.7976931348623159e308", "17976931348623157e292", "1.8e308",
	"0.00018e312", "0.00017e312", "2e308", "9e308", "1e309", "-1e309", "1e310", "1e400", "-1e400", "1e99999999999999999999",
	threshold, "-" + threshold, threshold + ".0", threshold + ".000000001", threshold + "e-1", threshold + "e1",
	threshold[:308] + "1", below, below + ".99999", below + strings.Repeat("9", 3), "0." + threshold + "e309",
	"0." + below + "e309", "0." + threshold[:300] + "e309", "0." + threshold[:308] + "e309", threshold[:200] + "." + threshold[200:] + "e109",
	strings.Repeat("9", 308), strings.Repeat("9", 309), strings.Repeat("1", 309), strings.Repeat("1", 310),
	"1" + strings.Repeat("0", 308), "1" + strings.Repeat("0", 309), "1" + strings.Repeat("0", 100_000),
	"1" + strings.Repeat("0", 100_000) + "e-100000", "1" + strings.Repeat("0", 5_000) + "e-5000",
	"0." + strings.Repeat("0", 5_000) + "1e5001", "0." + strings.Repeat("0", 100_000) + "1e100400",
	"0." + strings.Repeat("3", 100_000), "0." + strings.Repeat("0", 400) + "1",
}

// threshold is 2^1024 - 2^970, the least number that rounds to an infinity,
// and below the integer before it.
const (
	threshold = "17976931348623158079372897140530341507993413271003782693617377898044496829276475" +
		"09466490179775872070963302864166928879109465555478519404026306574886715058206819" +
		"08902000708383676273854845817711531764475730270069855571366959622842914819860834" +
		"936475292719074168444365510704342711559699508093042880177904174497792"
	below = "17976931348623158079372897140530341507993413271003782693617377898044496829276475" +
		"09466490179775872070963302864166928879109465555478519404026306574886715058206819" +
		"08902000708383676273854845817711531764475730270069855571366959622842914819860834" +
		"936475292719074168444365510704342711559699508093042880177904174497791"
)

// stdFloat is what encoding/json makes of a number.
func stdFloat(text []byte) (float64, bool) {
	var x any
	if json.Unmarshal(text, &x) != nil {
		return 0, false
	}
	f, ok := x.(float64)
	return f, ok
}

func TestFloatEqualsEncodingJSON(t *testing.T) {
	for _, text := range numbers {
		got, ok := jsonscan.Value(text).Float()
		want, wantOK := stdFloat([]byte(text))
		if ok != wantOK || math.Float64bits(got) != math.Float64bits(want) {
			t.Errorf("Value(%.400q).Float() = %v, %v, want %v, %v", text, got, ok, want, wantOK)
		}
	}
}

func TestFloatsThatAreNone(t *testing.T) {
	for _, text := range []string{
		"", "-", "+1", "01", ".5", "5.", "1e", "1 ", " 1", "1,", "0x10", "1_0", "Inf", "NaN", "-Infinity", `"1"`, "true", "null", "[1]",
	} {
		if got, ok := jsonscan.Value(text).Float(); ok || got != 0 {
			t.Errorf("Value(%q).Float() = %v, %v, want 0, false", text, got, ok)
		}
	}
}

func TestScalarsDoNotAllocate(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	for _, text := range numbers {
		v := jsonscan.Value(text)
		if n := testing.AllocsPerRun(10, func() { v.Float() }); n != 0 {
			t.Errorf("Value(%.400q).Float() allocates %v times, want 0", text, n)
		}
	}
	v := jsonscan.Value("\"a long text with \\u00e9scapes and \xff that needs room\"")
	dst := make([]byte, 0, 100)
	if n := testing.AllocsPerRun(10, func() { dst, _ = v.AppendString(dst[:0]); v.Plain() }); n != 0 {
		t.Errorf("AppendString allocates %v times, want 0", n)
	}
}

func FuzzString(f *testing.F) {
	for _, text := range texts {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var want any
		wantOK := json.Unmarshal(b, &want) == nil
		text, isString := want.(string)
		// json.Unmarshal takes white space around the value, a Value has none.
		wantOK = wantOK && isString && b[0] == '"' && b[len(b)-1] == '"'

		v := jsonscan.Value(b)
		got, ok := v.AppendString([]byte("x"))
		if ok != wantOK || ok && string(got) != "x"+text || !ok && string(got) != "x" {
			t.Fatalf("Value(%q).AppendString = %q, %v, want %q, %v", b, got, ok, text, wantOK)
		}
		raw, plain := v.Plain()
		wantPlain := wantOK && !strings.Contains(string(b), `\`) && utf8.Valid(b)
		if plain != wantPlain || plain && string(raw) != text {
			t.Fatalf("Value(%q).Plain() = %q, %v, want %q, %v", b, raw, plain, text, wantPlain)
		}
	})
}

func FuzzFloat(f *testing.F) {
	for _, text := range numbers {
		if len(text) < 1_000 {
			f.Add([]byte(text))
		}
	}
	for _, text := range texts {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		want, wantOK := stdFloat(b)
		if wantOK && strings.Trim(string(b), " \t\r\n") != string(b) {
			return // white space: not a Value
		}
		got, ok := jsonscan.Value(b).Float()
		if ok != wantOK || math.Float64bits(got) != math.Float64bits(want) {
			t.Fatalf("Value(%q).Float() = %v, %v, want %v, %v", b, got, ok, want, wantOK)
		}
	})
}
