package numeral_test

import (
	"errors"
	"math"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/flagstaff-go/flagstaff/internal/numeral"
)

var (
	inf = math.Inf(1)
	nan = math.NaN()
)

var floats = []struct {
	name, text string
	want       float64
}{
	// The texts of evaluation.md §4.7, and of rows 94, 95, 99 and 100 of §16.3.
	{"an integer", "5", 5},
	{"a point behind", "5.", 5},
	{"a point in front", ".5", 0.5},
	{"a plus", "+5", 5},
	{"an exponent", "1e3", 1000},
	{"inf", "inf", inf},
	{"infinity", "infinity", inf},
	{"NaN", "NaN", nan},
	{"row 94", "6", 6},
	{"row 95, filter", "30", 30},
	{"row 95, property", "100", 100},
	{"row 99", "1e3", 1000},
	{"row 100", "5", 5},
	{"epoch seconds", "1717225200", 1717225200},
	{"epoch milliseconds", "1717225200000", 1717225200000},
	// Grammar.
	{"a minus", "-5.25", -5.25},
	{"minus zero", "-0", math.Copysign(0, -1)},
	{"leading zeros", "007", 7},
	{"only zeros", "000.000", 0},
	{"a capital exponent", "1E3", 1000},
	{"an exponent with plus", "1e+3", 1000},
	{"an exponent with minus", "1e-3", 0.001},
	{"an exponent with leading zeros", "1e0003", 1000},
	{"a point behind and an exponent", "5.e1", 50},
	{"a point in front and an exponent", ".5e1", 5},
	{"INF", "INF", inf},
	{"a plus and inf", "+inf", inf},
	{"a minus and Infinity", "-Infinity", -inf},
	{"INFINITY", "INFINITY", inf},
	{"nan", "nan", nan},
	{"a sign and nan", "-nan", nan},
	// Values.
	{"15 digits", "123456789012345", 123456789012345},
	{"15 digits and a point", "1234567.89012345", 1234567.89012345},
	{"16 digits", "9007199254740993", 9007199254740992},
	{"a tenth", "0.1", 0.1},
	{"the greatest", "1.7976931348623157e308", math.MaxFloat64},
	{"rounds down to the greatest", "1.797693134862315807e308", math.MaxFloat64},
	{"overflow by a hair", "1.797693134862315808e308", inf},
	{"overflow", "1e309", inf},
	{"overflow, minus", "-1e309", -inf},
	{"overflow, far", "1e99999999999999999999999", inf},
	{"overflow, digits", "1" + strings.Repeat("0", 400), inf},
	{"no overflow, leading zeros", strings.Repeat("0", 400) + "1", 1},
	{"no overflow, point and exponent", "0." + strings.Repeat("0", 400) + "1e400", 0.1},
	{"no underflow, digits and exponent", "1" + strings.Repeat("0", 400) + "e-400", 1},
	{"zero with a great exponent", "0e999999", 0},
	{"zero with places and a great exponent", "0.000e999999", 0},
	{"the least", "5e-324", 5e-324},
	{"rounds up to the least", "2.4703282292062328e-324", 5e-324},
	{"underflow", "2.4703282292062327e-324", 0},
	{"underflow, minus", "-1e-400", math.Copysign(0, -1)},
	{"underflow, far", "1e-99999999999999999999999", 0},
	{"an exponent that strconv cuts off", "0." + strings.Repeat("0", 199_999) + "1e200001", 10},
	{"digits that strconv cuts off", "1" + strings.Repeat("0", 1000) + "e-1000", 1},
	{"halfway and a digit far behind", "9007199254740993." + strings.Repeat("0", 2000) + "1", 9007199254740994},
	{"halfway and zeros far behind", "9007199254740993." + strings.Repeat("0", 2000), 9007199254740992},
}

// sameFloat compares numbers such that NaN equals itself and -0 differs from 0.
func sameFloat(x, y float64) bool {
	return math.Float64bits(x) == math.Float64bits(y) || x != x && y != y
}

func TestFloat(t *testing.T) {
	for _, tt := range floats {
		t.Run(tt.name, func(t *testing.T) {
			if got, ok := numeral.Float(tt.text); !ok || !sameFloat(got, tt.want) {
				t.Errorf("Float(%.40q) = %v, %v, want %v", tt.text, got, ok, tt.want)
			}
		})
	}
}

var noFloats = []string{
	"", " ", "+", "-", ".", "+.", "e", "e5", ".e5", "1e", "1e+", "1e-", "1e5.0", "1.2.3", "1..2",
	" 5", "5 ", "\t5", "5\n", // not trimmed (evaluation.md §4.7; row 96 of §16.3 is " 6")
	" 6", "abc", "b", // rows 96 and 97
	"5abc", "++5", "+-5", "--5", "1_000", "1,000", "0x10", "0x1p4", "1p4", "0b1", "0o7", "1f", "1d",
	"i", "in", "infi", "infinit", "infinityy", "info", "na", "nano", "nan(1)", "ınf", "1e5x", "５", "٥", "∞",
	"true", "null", "2024-01-02", "1:30", "$5", "5%", "\x00", "5\x00", "\xff",
}

func TestFloatRejects(t *testing.T) {
	for _, s := range noFloats {
		if got, ok := numeral.Float(s); ok {
			t.Errorf("Float(%q) = %v, true, want false", s, got)
		}
	}
}

var grammar = regexp.MustCompile(`^[+-]?(?:(?i:inf|infinity|nan)|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)$`)

func FuzzFloat(f *testing.F) {
	for _, tt := range floats {
		if len(tt.text) < 100 {
			f.Add(tt.text)
		}
	}
	for _, s := range noFloats {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, ok := numeral.Float(s)
		if ok != grammar.MatchString(s) {
			t.Fatalf("Float(%q) = %v, %v, want %v", s, got, ok, !ok)
		}
		if !ok || len(s) > 300 {
			return // strconv is not exact for longer texts
		}
		want, err := strconv.ParseFloat(strings.TrimLeft(s, "+-"), 64)
		if err != nil && !errors.Is(err, strconv.ErrRange) {
			t.Fatalf("ParseFloat(%q) = %v, %v", s, want, err)
		}
		if s[0] == '-' {
			want = -want
		}
		if e := strings.IndexAny(s, "eE"); e >= 0 && len(s)-e > 6 {
			return // strconv is not exact for such exponents
		}
		if !sameFloat(got, want) {
			t.Fatalf("Float(%q) = %v, want %v", s, got, want)
		}
	})
}

// FuzzFloatLong compares the conversion of long numbers with math/big.
func FuzzFloatLong(f *testing.F) {
	f.Add("9007199254740993", uint16(0), "1", uint16(1500), int16(0))
	f.Add("1", uint16(400), "5", uint16(0), int16(-400))
	f.Add("0", uint16(0), "17976931348623158", uint16(310), int16(619))
	f.Add("17976931348623157", uint16(0), "580793728971405303415079934132710", uint16(0), int16(292))
	f.Add("24703282292062327208", uint16(0), "9", uint16(900), int16(-343))
	f.Fuzz(func(t *testing.T, whole string, zeros uint16, places string, inner uint16, exponent int16) {
		s := whole + strings.Repeat("0", int(zeros%2000)) + "." + strings.Repeat("0", int(inner%2000)) + places + "e" + strconv.Itoa(int(exponent))
		if !grammar.MatchString(s) || len(s) > 10_000 {
			return
		}
		exact, ok := new(big.Rat).SetString(s)
		if !ok {
			t.Fatalf("SetString(%q) failed", s)
		}
		want, _ := exact.Float64()
		if s[0] == '-' && want == 0 {
			want = math.Copysign(0, -1)
		}
		if got, ok := numeral.Float(s); !ok || !sameFloat(got, want) {
			t.Fatalf("Float(%q) = %v, %v, want %v", s, got, ok, want)
		}
	})
}

func TestFloatNoAllocation(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	for _, tt := range floats {
		if n := testing.AllocsPerRun(100, func() { numeral.Float(tt.text) }); n != 0 {
			t.Errorf("Float(%.40q) allocates %v times, want 0", tt.text, n)
		}
	}
	for _, s := range noFloats {
		if n := testing.AllocsPerRun(100, func() { numeral.Float(s) }); n != 0 {
			t.Errorf("Float(%q) allocates %v times, want 0", s, n)
		}
	}
}

func BenchmarkFloat(b *testing.B) {
	for _, s := range []string{"42", "1717225200", "1234.56", "1e3", "0.30000000000000004", "2024-06-01", "pro"} {
		b.Run(s, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				numeral.Float(s)
			}
		})
	}
}
