package numeral_test

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/flagstaff-go/flagstaff/internal/numeral"
)

var numbers = []struct {
	name, literal, want string
}{
	// The examples of evaluation.md §4.1, and row 65 of §16.3.
	{"example 12", "12", "12"},
	{"example 1.5", "1.5", "1.5"},
	{"example 1", "1", "1"},
	{"example 1.0", "1.0", "1.0"},
	{"example 1e16", "1e16", "1e16"},
	{"example 0.00001", "0.00001", "0.00001"},
	{"example 1e-6", "1e-6", "1e-6"},
	{"row 65, filter", "5", "5"},
	{"row 65, property", "5.0", "5.0"},
	// Integers.
	{"zero", "0", "0"},
	{"minus one", "-1", "-1"},
	{"minus zero", "-0", "-0.0"},
	{"the greatest signed", "9223372036854775807", "9223372036854775807"},
	{"beyond the greatest signed", "9223372036854775808", "9223372036854775808"},
	{"the least signed", "-9223372036854775808", "-9223372036854775808"},
	{"beyond the least signed", "-9223372036854775809", "-9.223372036854776e18"},
	{"the greatest unsigned", "18446744073709551615", "18446744073709551615"},
	{"beyond the greatest unsigned", "18446744073709551616", "1.8446744073709552e19"},
	{"20 digits", "99999999999999999999", "1e20"},
	{"21 digits", "123456789012345678901", "1.2345678901234568e20"},
	{"minus 20 digits", "-10000000000000000000", "-1e19"},
	{"300 digits", "1" + strings.Repeat("0", 299), "1e299"},
	// Layout of floats.
	{"float zero", "0.0", "0.0"},
	{"float minus zero", "-0.0", "-0.0"},
	{"zero with an exponent", "0e5", "0.0"},
	{"trailing zeros", "1.500", "1.5"},
	{"exponent that gives an integer", "1e3", "1000.0"},
	{"capital exponent with plus", "1E+3", "1000.0"},
	{"16 integer digits", "1e15", "1000000000000000.0"},
	{"16 integer digits, all of them", "1234567890123456.0", "1234567890123456.0"},
	{"16 integer digits and a fraction", "1234567890123456.5", "1234567890123456.5"},
	{"17 integer digits", "12345678901234567.0", "1.2345678901234568e16"},
	{"minus, 17 integer digits", "-1e16", "-1e16"},
	{"just below the limit", "9999999999999998.0", "9999999999999998.0"},
	{"rounds up to the limit", "9999999999999999.9", "1e16"},
	{"five places", "0.00012", "0.00012"},
	{"four zeros behind the point", "0.0000123", "0.0000123"},
	{"five zeros behind the point", "0.00000123", "1.23e-6"},
	{"minus and an exponent", "-1.25e-7", "-1.25e-7"},
	{"shortest digits", "0.1000000000000000055511151231257827", "0.1"},
	{"all 17 digits", "0.30000000000000004", "0.30000000000000004"},
	{"the greatest float", "1.7976931348623157e308", "1.7976931348623157e308"},
	{"rounds down to the greatest float", "1.7976931348623158e308", "1.7976931348623157e308"},
	{"the least float", "5e-324", "5e-324"},
	{"below the least float", "1e-400", "0.0"},
	{"minus, below the least float", "-1e-400", "-0.0"},
	// Beyond float64.
	{"too large", "1e999", "1e999"},
	{"too large, minus", "-1e999", "-1e999"},
	{"too large by a hair", "1.797693134862315808e308", "1.797693134862315808e308"},
	{"too large, other letters", "1.50E+400", "1.50E+400"},
	{"too large, an integer", "1" + strings.Repeat("0", 309), "1" + strings.Repeat("0", 309)},
	// No numbers.
	{"nothing", "", ""},
	{"leading zeros", "007", "007"},
	{"a plus", "+1", "+1"},
	{"a word", "NaN", "NaN"},
}

func TestAppendNumber(t *testing.T) {
	for _, tt := range numbers {
		t.Run(tt.name, func(t *testing.T) {
			if got := string(numeral.Append([]byte("x"), []byte(tt.literal))); got != "x"+tt.want {
				t.Errorf("Append(x, %s) = %s, want x%s", tt.literal, got, tt.want)
			}
		})
	}
}

func TestIsCanonicalInteger(t *testing.T) {
	for _, literal := range []string{"0", "7", "-7", "42", "1234567890123456789", "9223372036854775808", "-9223372036854775808", "18446744073709551615"} {
		if !numeral.IsCanonicalInteger([]byte(literal)) {
			t.Errorf("IsCanonicalInteger(%s) = false, want true", literal)
		}
	}
	for _, literal := range []string{
		"", "-", "-0", "00", "01", "-01", "+1", "1.0", "1e3", "1E3", "0x1", " 1", "1 ", "a", "\"1\"",
		"18446744073709551616", "18446744073709551620", "20000000000000000000", "-9223372036854775809", "-10000000000000000000", "123456789012345678901",
	} {
		if numeral.IsCanonicalInteger([]byte(literal)) {
			t.Errorf("IsCanonicalInteger(%s) = true, want false", literal)
		}
	}
}

var jsonNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)

// obviousNumber implements evaluation.md §4.1 with the layouts of strconv.
func obviousNumber(literal string) string {
	if !jsonNumber.MatchString(literal) {
		return literal
	}
	if n, err := strconv.ParseInt(literal, 10, 64); err == nil && literal != "-0" {
		return strconv.FormatInt(n, 10)
	}
	if n, err := strconv.ParseUint(literal, 10, 64); err == nil {
		return strconv.FormatUint(n, 10)
	}
	x, err := strconv.ParseFloat(literal, 64)
	if err != nil {
		return literal
	}
	if size := math.Abs(x); size != 0 && (size >= 1e16 || size < 1e-5) {
		s := strconv.FormatFloat(x, 'e', -1, 64)
		s = strings.Replace(s, "e+", "e", 1)
		return strings.Replace(s, "e-0", "e-", 1)
	}
	s := strconv.FormatFloat(x, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}

func FuzzAppendNumber(f *testing.F) {
	for _, tt := range numbers {
		f.Add(tt.literal)
	}
	f.Fuzz(func(t *testing.T, literal string) {
		if len(literal) > 400 {
			return // strconv is not exact for all of them
		}
		got := string(numeral.Append(nil, []byte(literal)))
		if want := obviousNumber(literal); got != want {
			t.Fatalf("Append(%s) = %s, want %s", literal, got, want)
		}
		if again := string(numeral.Append(nil, []byte(got))); again != got {
			t.Fatalf("Append(%s) = %s, want it unchanged", got, again)
		}
		if numeral.IsCanonicalInteger([]byte(literal)) != (got == literal && regexp.MustCompile(`^(0|-?[1-9][0-9]*)$`).MatchString(literal) && len(literal) <= 20) {
			t.Fatalf("IsCanonicalInteger(%s) is wrong", literal)
		}
		if x, err := strconv.ParseFloat(literal, 64); err == nil && jsonNumber.MatchString(literal) {
			if y, err := strconv.ParseFloat(got, 64); err != nil || x != y {
				t.Fatalf("Append(%s) = %s, another number", literal, got)
			}
		}
	})
}

// FuzzAppendNumberBits reaches floats that mutated texts rarely do.
func FuzzAppendNumberBits(f *testing.F) {
	for _, x := range []float64{0, 1, 1e15, 1e16, 1e-4, 1e-5, 1e-6, math.MaxFloat64, math.SmallestNonzeroFloat64, -0.1} {
		f.Add(math.Float64bits(x))
	}
	f.Fuzz(func(t *testing.T, bits uint64) {
		x := math.Float64frombits(bits)
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return
		}
		literal := strconv.FormatFloat(x, 'e', 20, 64)
		if got, want := string(numeral.Append(nil, []byte(literal))), obviousNumber(literal); got != want {
			t.Fatalf("Append(%s) = %s, want %s", literal, got, want)
		}
	})
}

func TestNumberNoAllocation(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	dst := make([]byte, 0, 64)
	for _, tt := range numbers {
		literal := []byte(tt.literal)
		if len(literal) > cap(dst) {
			continue
		}
		if n := testing.AllocsPerRun(100, func() { numeral.Append(dst, literal) }); n != 0 {
			t.Errorf("Append(%s) allocates %v times, want 0", literal, n)
		}
	}
}

func BenchmarkAppendNumber(b *testing.B) {
	dst := make([]byte, 0, 64)
	for _, literal := range []string{"42", "1764547200000", "18446744073709551615", "1234.56", "1e16"} {
		b.Run(literal, func(b *testing.B) {
			v := []byte(literal)
			b.ReportAllocs()
			for b.Loop() {
				numeral.Append(dst, v)
			}
		})
	}
}
