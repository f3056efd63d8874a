package dialect_test

import (
	"encoding/json"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/flagstaff-go/flagstaff/flags/internal/dialect"
	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
)

// valueOf returns JSON as a Check sees it. The empty text is no property.
func valueOf(t testing.TB, property string) dialect.Value {
	t.Helper()
	v := dialect.Value{JSON: jsonscan.Value(property), Now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	v.Kind = v.JSON.Kind()
	switch v.Kind {
	case jsonscan.String:
		if err := json.Unmarshal([]byte(property), &v.Text); err != nil {
			t.Fatal(err)
		}
	case jsonscan.Number:
		v.Text = property
		v.Number, _ = v.JSON.Float()
	}
	return v
}

// TestUnleash has the edges of the operators: properties that match, and such that do not.
func TestUnleash(t *testing.T) {
	for _, test := range []struct {
		operator, value string
		yes, no         []string
	}{
		{"IN", `["a", "5", "true"]`, []string{`"a"`, `5`, `"5"`, `true`, `"true"`}, []string{`"A"`, `""`, ``, `null`, `5.0`, `["a"]`}},
		{"IN", `["", "[\"a\"]"]`, []string{``, `null`, `""`, `["a"]`, `[ "a" ]`}, []string{`"null"`, `[]`}},
		{"IN", `[]`, nil, []string{``, `"a"`}},
		{"NOT_IN", `["a"]`, []string{``, `null`, `"A"`, `{}`}, []string{`"a"`}},
		{"NOT_IN", `{"values": ["a"], "inverted": true}`, []string{`"a"`}, []string{``, `"A"`}},
		{"STR_CONTAINS", `["an", "X"]`, []string{`"banana"`, `"X"`}, []string{`"bAnAna"`, `"x"`, ``, `null`}},
		{"STR_CONTAINS", `[""]`, []string{``, `null`, `"a"`}, nil},
		{"STR_CONTAINS", `["ul"]`, []string{`"null"`}, []string{`null`}},
		{"STR_STARTS_WITH", `["an", "b"]`, []string{`"anna"`, `"ba"`}, []string{`"Anna"`, `"ab"`, ``}},
		{"STR_ENDS_WITH", `["an", "1"]`, []string{`"pan"`, `21`, `"1"`}, []string{`"ana"`, `12`, ``}},
		{"STR_ENDS_WITH", `{"values": ["@Acme.COM"], "caseInsensitive": true}`, []string{`"A@ACME.com"`, `"a@acme.com"`}, []string{`"a@acme.co"`, ``}},
		{"STR_CONTAINS", `{"values": ["É", "ß"], "caseInsensitive": true}`, []string{`"CAFÉ"`, `"Straße"`, `"café"`}, []string{`"STRASSE"`, `"cafe"`}},
		{"STR_STARTS_WITH", `{"values": ["k"], "caseInsensitive": true}`, []string{`"K"`, `"\u212a"`}, []string{`"c"`}},
		{"STR_STARTS_WITH", `{"values": ["k"], "caseInsensitive": true, "inverted": true}`, []string{`"c"`, ``, `null`}, []string{`"K"`}},
		{"STR_CONTAINS", `{"values": ["` + strings.Repeat("x", 300) + `"], "caseInsensitive": true}`, []string{`"` + strings.Repeat("X", 300) + `"`}, []string{`"x"`}},
		{"NUM_EQ", `"5"`, []string{`5`, `5.0`, `"5"`, `"+5.00"`, `"0.5e1"`, `"05"`}, []string{`"5.0000000000000001"`, `"5 "`, `" 5"`, ``, `null`, `"five"`, `true`, `[5]`, `"5_0"`, `"0x5"`}},
		{"NUM_EQ", `{"value": "5", "inverted": true}`, []string{`6`, `"-5"`}, []string{`5`, ``, `"five"`, `null`, `true`}},
		{"NUM_EQ", `"0"`, []string{`0`, `-0`, `"-0"`, `"-0.0"`, `"0e9"`}, []string{`""`, `1`}},
		{"NUM_EQ", `"0.1"`, []string{`0.1`, `"0.10"`, `"1e-1"`}, []string{`"0.10000000000000001"`, `"0.100000000000000001"`}},
		{"NUM_LT", `"2.5"`, []string{`2.4`, `2`, `-3`, `"2.49999999999999999"`, `"-Inf"`, `"-1e99"`}, []string{`2.5`, `3`, `25e-1`, ``}},
		{"NUM_LTE", `"-1.5"`, []string{`-1.5`, `-2`}, []string{`-1.4`, `0`, `1.5`, `"Inf"`}},
		{"NUM_GT", `"999999999999999999"`, []string{`1000000000000000000`, `"9999999999999999999"`}, []string{`999999999999999998`, `"999999999999999999.0"`}},
		{"NUM_GTE", `"Inf"`, []string{`"Inf"`, `"+inf"`}, []string{`"1e99"`, `"NaN"`}},
		{"NUM_GT", `"1"`, []string{`2`}, []string{`"` + strings.Repeat("9", 10_001) + `"`}},
		{"DATE_AFTER", `"2026-01-01T00:00:00Z"`, []string{``, `null`, `""`, `"2026-01-01T00:00:00.001Z"`, `"2025-12-31T23:00:00-02:00"`}, []string{`"2026-01-01T00:00:00Z"`, `"2026-01-02"`, `5`, `"tomorrow"`}},
		{"DATE_BEFORE", `"2026-01-01T01:00:00+01:00"`, []string{`"2025-12-31T23:59:59Z"`}, []string{``, `"2026-01-01T00:00:00Z"`, `"2025"`}},
		{"DATE_BEFORE", `{"value": "2026-01-01T00:00:00Z", "inverted": true}`, []string{``, `"2026-01-01T00:00:00Z"`}, []string{`"2025-12-31T23:59:59Z"`, `"2025"`}},
		{"SEMVER_EQ", `"1.2.3"`, []string{`"1.2.3"`, `"1.2.3+b.01"`}, []string{`"1.2.3-a"`, `"v1.2.3"`, `"1.2"`, `1.2`, `"1.2.03"`, `"1.2.3+"`, `"1.2.3-"`, `"1.2.3+a_b"`, `"1.2.3 "`, ``, `"1.2.3.4"`}},
		{"SEMVER_LT", `"1.2.3-rc.2"`, []string{`"1.2.2"`, `"1.2.3-rc.1"`, `"1.2.3-rc"`, `"1.2.3-1"`, `"1.2.3-beta.11"`}, []string{`"1.2.3"`, `"1.2.3-rc.2"`, `"1.2.3-rc.10"`, `"1.2.3-rc.2.0"`, `"1.2.3-rc.a"`}},
		{"SEMVER_LT", `{"value": "1.2.3", "inverted": true}`, []string{`"1.2.3"`, `"2.0.0"`}, []string{`"1.2.2"`, ``, `"2"`}},
		{"SEMVER_LTE", `"1.0.0"`, []string{`"1.0.0"`, `"1.0.0-a"`}, []string{`"1.0.1"`, `"18446744073709551616.0.0"`, ``}},
		{"SEMVER_GT", `"1.0.0-a.18446744073709551616"`, []string{`"1.0.0-a.9z"`, `"1.0.0-b"`}, []string{`"1.0.0-a.5"`, `"1.0.0-a.01"`}},
		{"SEMVER_GTE", `"1.0.0"`, []string{`"1.0.0"`, `"1.0.1-a"`}, []string{`"1.0.0-a"`, ``}},
		{"REGEX", `"^ab+$"`, []string{`"abb"`}, []string{`"ABB"`, `"xabb"`, ``}},
		{"REGEX", `{"value": "b+", "caseInsensitive": true}`, []string{`"xABBx"`}, []string{`"a"`, ``}},
		{"REGEX", `"^$"`, []string{``, `null`, `""`}, []string{`"a"`}},
		{"REGEX", `{"value": "^[0-9]+$", "inverted": true}`, []string{`"a"`, ``}, []string{`12`, `"12"`}},
		{
			"IN_CIDR", `["10.0.0.0/8", " 192.168.1.7 ", "bad", "", "2001:db8::/32", "1.2.3.4/032"]`,
			[]string{`"10.1.2.3"`, `" 192.168.1.7"`, `"::ffff:10.9.9.9"`, `"2001:DB8::1"`, `"1.2.3.4"`},
			[]string{`"11.0.0.0"`, `"192.168.1.8"`, `"10.1.2"`, `"2001:db9::1"`, `"2001:db8::1%eth0"`, ``, `null`, `10`},
		},
		{"IN_CIDR", `["::/0"]`, []string{`"::1"`}, []string{`"1.2.3.4"`, `"::ffff:1.2.3.4"`}},
		{"IN_CIDR", `["::ffff:10.0.0.0/104"]`, []string{`"10.1.2.3"`}, []string{`"11.0.0.0"`}},
		{"IN_CIDR", `["::ffff:10.0.0.0/80", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/-8", "10.0.0.0/8/8"]`, []string{`"::1"`}, []string{`"10.0.0.0"`}},
		{"IN_CIDR", `{"values": ["10.0.0.0/8"], "inverted": true}`, []string{``, `"11.0.0.0"`, `"x"`}, []string{`"10.0.0.0"`}},
	} {
		check, err := dialect.Compile("unleash", test.operator, jsonscan.Value(test.value))
		if err != nil {
			t.Errorf("%s %s: %v", test.operator, test.value, err)
			continue
		}
		for want, list := range map[bool][]string{true: test.yes, false: test.no} {
			for _, property := range list {
				if got := check.Match(valueOf(t, property)); got != want {
					t.Errorf("%s %s of %s: %t, want %t", test.operator, test.value, property, got, want)
				}
			}
		}
	}
}

func TestUnleashFaults(t *testing.T) {
	for _, test := range []struct{ operator, value, want string }{
		{"in", `["a"]`, "there is no such operator of Unleash; want one of DATE_AFTER, "},
		{"IN", `"a"`, "want an array of texts"},
		{"IN", `[1]`, "want a text, an array of texts, or an object of "},
		{"IN", ``, "want a text, an array"},
		{"IN", `{"values": ["a"], "operator": "IN"}`, "want a text, an array"},
		{"IN", `{"values": ["a"], "inverted": "yes"}`, "want a text, an array"},
		{"IN_CIDR", `{}`, "want an array of texts"},
		{"NUM_EQ", `["5"]`, "want a text"},
		{"NUM_EQ", `"five"`, "want a number"},
		{"DATE_AFTER", `"2026-01-01"`, "want a time of RFC 3339"},
		{"SEMVER_EQ", `"1.2"`, "want a version such as "},
		{"REGEX", `"(a"`, "want a pattern of RE2"},
		{"REGEX", `"(?=a)"`, "want a pattern of RE2"},
	} {
		_, err := dialect.Compile("unleash", test.operator, jsonscan.Value(test.value))
		if err == nil || !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("%s %s: %v, want %s…", test.operator, test.value, err, test.want)
		}
	}
}

// TestUnleashDecimals compares short numbers, which have a comparison of their own, with what
// they are if they are written so that they do not have it.
func TestUnleashDecimals(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	number := func() string {
		s := strconv.FormatUint(r.Uint64()%1_000_000_000_000_000_000>>r.IntN(60), 10)
		if n := r.IntN(len(s)); n > 0 {
			s = s[:n] + "." + s[n:]
		}
		return []string{"", "-", "+"}[r.IntN(3)] + s
	}
	for range 20_000 {
		a, b := number(), number()
		if r.IntN(2) == 0 {
			b = a[:len(a)-1] + strconv.Itoa(r.IntN(10))
		}
		for _, operator := range []string{"NUM_EQ", "NUM_LT", "NUM_GTE"} {
			check, err := dialect.Compile("unleash", operator, jsonscan.Value(strconv.Quote(b)))
			if err != nil {
				t.Fatal(err)
			}
			short, long := valueOf(t, strconv.Quote(a)), valueOf(t, strconv.Quote(a+"e0"))
			if check.Match(short) != check.Match(long) {
				t.Errorf("%s %s %s differs from %se0", a, operator, b, a)
			}
		}
	}
}

func TestUnleashAllocations(t *testing.T) {
	for _, test := range []struct{ operator, value, property string }{
		{"IN", `["a", "b"]`, `"b"`},
		{"STR_CONTAINS", `["a", "b"]`, `"b"`},
		{"STR_ENDS_WITH", `{"values": ["@acme.com"], "caseInsensitive": true}`, `"Somebody.with.a.long.name@Acme.Com"`},
		{"NUM_GT", `"5.25"`, `"12.5"`},
		{"DATE_AFTER", `"2026-01-01T00:00:00Z"`, `"2026-05-01T00:00:00Z"`},
		{"SEMVER_GT", `"1.2.3-rc.1"`, `"1.2.3-rc.beta.5"`},
		{"REGEX", `"^[a-z]+@"`, `"somebody@acme.com"`},
		{"IN_CIDR", `["10.0.0.0/8", "2001:db8::/32"]`, `"2001:db8::1"`},
	} {
		check, err := dialect.Compile("unleash", test.operator, jsonscan.Value(test.value))
		if err != nil {
			t.Fatal(err)
		}
		v := valueOf(t, test.property)
		if n := testing.AllocsPerRun(100, func() { check.Match(v) }); n > 0 {
			t.Errorf("%s: %v allocations", test.operator, n)
		}
	}
}

func FuzzUnleash(f *testing.F) {
	for i, operator := range []string{"IN", "STR_CONTAINS", "NUM_LT", "DATE_BEFORE", "SEMVER_LT", "REGEX", "IN_CIDR"} {
		f.Add(operator, []string{`["a"]`, `["a"]`, `"5"`, `"2026-01-01T00:00:00Z"`, `"1.2.3-a.1"`, `"a*"`, `["::1/9"]`}[i], "1.2.3-a")
	}
	f.Fuzz(func(t *testing.T, operator, value, property string) {
		v, err := jsonscan.Parse([]byte(value), jsonscan.MaxDepth)
		if err != nil {
			return
		}
		check, err := dialect.Compile("unleash", operator, v)
		if err != nil {
			return
		}
		check.Match(dialect.Value{Kind: jsonscan.String, Text: property})
		check.Match(dialect.Value{})
	})
}
