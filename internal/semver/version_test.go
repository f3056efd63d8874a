package semver_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/flagstaff-go/flagstaff/internal/semver"
)

func TestParse(t *testing.T) {
	const huge = "99999999999999999999"
	for _, tt := range []struct {
		name, text string
		same       string // the same version in a plain form; "" if it is invalid
	}{
		{"three components", "1.2.3", "1.2.3"},
		{"two components", "1.2", "1.2.0"},
		{"one component", "2", "2.0.0"},
		{"zero", "0", "0.0.0"},
		{"leading zeros", "3.08", "3.8.0"},
		{"many leading zeros", "000000000000000000000000001.2", "1.2.0"},
		{"a v", "v1.2", "1.2.0"},
		{"spaces", "  1.2.3 ", "1.2.3"},
		{"other white space", "\t1.2.3\r\n\u00a0\u2003", "1.2.3"},
		{"a v, then a space", "v 1.2.3", "1.2.3"},
		{"pre-release", "1.2.3-rc.1", "1.2.3-rc.1"},
		{"pre-release with one component", "2-rc.1", "2.0.0-rc.1"},
		{"pre-release with two components", "2.1-rc.1", "2.1.0-rc.1"},
		{"build", "1.0.0+build.01", "1.0.0+build.01"},
		{"build with one component", "1+b", "1.0.0+b"},
		{"pre-release and build", "1.0.0-a.b-c+d-e.f", "1.0.0-a.b-c+d-e.f"},
		{"hyphens as identifiers", "1.0.0--.-.---", "1.0.0--.-.---"},
		{"hyphens in build", "1.0.0+-", "1.0.0+-"},
		{"zero as identifier", "1.0.0-0", "1.0.0-0"},
		{"words with leading zeros", "1.0.0-01a", "1.0.0-01a"},
		{"a number beyond 64 bits as identifier", "1.0.0-" + huge, "1.0.0-" + huge},
		{"the greatest components", "18446744073709551615.18446744073709551615.18446744073709551615", "18446744073709551615.18446744073709551615.18446744073709551615"},

		{"nothing", "", ""},
		{"a v alone", "v", ""},
		{"two vs", "vv1", ""},
		{"a capital V", "V1.2.3", ""},
		{"a space before the v", " v1.2", ""},
		{"four components", "1.2.3.4", ""},
		{"a word", "banana", ""},
		{"a sign", "+1", ""},
		{"a minus", "-1", ""},
		{"no major", ".1", ""},
		{"no minor", "1.", ""},
		{"an empty minor", "1..2", ""},
		{"no patch", "1.2.", ""},
		{"a space inside", "1. 2", ""},
		{"a component beyond 64 bits", "18446744073709551616", ""},
		{"a component far beyond 64 bits", huge + ".0.0", ""},
		{"a minor beyond 64 bits", "1." + huge, ""},
		{"a patch beyond 64 bits", "1.2." + huge, ""},
		{"empty pre-release", "1.0.0-", ""},
		{"empty identifier", "1.0.0-a..b", ""},
		{"empty last identifier", "1.0.0-a.", ""},
		{"a number with a leading zero as identifier", "1.0.0-01", ""},
		{"a number with a leading zero as last identifier", "1.0.0-a.00", ""},
		{"empty build", "1.0.0+", ""},
		{"empty identifier in build", "1.0.0+a..b", ""},
		{"two builds", "1.0.0+a+b", ""},
		{"a character in pre-release", "1.0.0-a_b", ""},
		{"a character in build", "1.0.0+a b", ""},
		{"letters behind a number", "1.0.0rc1", ""},
		{"a letter as component", "1.x", ""},
		{"a star", "1.*", ""},
		{"another script's digits", "١.٢", ""},
		{"a letter outside ASCII", "1.0.0-é", ""},
		{"a JSON text", `["1.2.3"]`, ""},
		{"a control character", "1.2.3\x00", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, ok := semver.Parse(tt.text)
			if ok != (tt.same != "") {
				t.Fatalf("Parse(%q) = _, %v, want %v", tt.text, ok, !ok)
			}
			if !ok {
				if got != (semver.Version{}) {
					t.Errorf("Parse(%q) = %v, false, want no version", tt.text, got)
				}
				return
			}
			if want := parse(t, tt.same); got != want || semver.Compare(&got, &want) != 0 {
				t.Errorf("Parse(%q) = %v, want %v", tt.text, got, want)
			}
		})
	}
}

// TestOperators checks the worked examples of evaluation.md §4.10 and the rows
// of §16.3 for the operators that compare.
func TestOperators(t *testing.T) {
	for _, tt := range []struct {
		name, operator, filter, property string
		want                             bool
	}{
		{"worked: 3.10 is after 3.9", "gt", "3.9", "3.10", true},
		{"worked: missing patch", "eq", "1.2.0", "v1.2", true},
		{"worked: capital V, eq", "eq", "1.2.0", "V1.2", false},
		{"worked: capital V, neq", "neq", "1.2.0", "V1.2", false},
		{"worked: capital V, gt", "gt", "0", "V1.2", false},
		{"worked: capital V, lte", "lte", "2", "V1.2", false},
		{"worked: four components, eq", "eq", "1.2.3", "1.2.3.4", false},
		{"worked: four components, neq", "neq", "1.2.3", "1.2.3.4", false},
		{"worked: four components, gte", "gte", "1.2.3", "1.2.3.4", false},
		{"worked: four components, lt", "lt", "2", "1.2.3.4", false},
		{"worked: a pre-release is lower", "gte", "1.0.0", "1.0.0-alpha", false},
		{"rule: rc.1 is below the release", "lt", "1.0.0", "1.0.0-rc.1", true},
		{"rule: build is not equal to none", "eq", "1.0.0", "1.0.0+a", false},
		{"rule: build is greater than none", "gt", "1.0.0", "1.0.0+a", true},
		{"rule: unparsable filter", "neq", "banana", "1.0.0", false},
		{"row 113", "gt", "3.9", "3.10", true},
		{"row 114", "eq", "1.2.0", "v1.2", true},
		{"row 115: missing, as the text of nothing", "neq", "1.0.0", "", false},
		{"row 116", "neq", "1.0.0", "banana", false},
		{"row 117", "gte", "1.0.0", "1.0.0-rc.1", false},
		{"row 118", "eq", "1.0.0", "1.0.0+build", false},
		{"row 124", "eq", "1.2.3", "1.2.3.4", false},
		{"row 125", "eq", "1.2.3", "V1.2.3", false},
		{"neq of different versions", "neq", "1.0.0", "1.0.1", true},
		{"neq of the same version", "neq", "1.0", "1.0.0", false},
		{"lte of the same version", "lte", "1", "1.0.0", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f, ok1 := semver.Parse(tt.filter)
			p, ok2 := semver.Parse(tt.property)
			got := ok1 && ok2
			if got {
				switch c := semver.Compare(&p, &f); tt.operator {
				case "eq":
					got = c == 0
				case "neq":
					got = c != 0
				case "gt":
					got = c > 0
				case "gte":
					got = c >= 0
				case "lt":
					got = c < 0
				case "lte":
					got = c <= 0
				}
			}
			if got != tt.want {
				t.Errorf("%q semver_%s %q = %v, want %v", tt.property, tt.operator, tt.filter, got, tt.want)
			}
		})
	}
}

// ascending is sorted by Compare, without equal versions.
var ascending = []string{
	"0", "0.0.1", "0.1", "0.9.9",
	"1.0.0-0", "1.0.0-1", "1.0.0-2", "1.0.0-10", "1.0.0-10.0", "1.0.0-18446744073709551616", "1.0.0-99999999999999999999",
	"1.0.0--", "1.0.0-0a", "1.0.0-A", "1.0.0-Z",
	"1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.1.0", "1.0.0-alpha.2", "1.0.0-alpha.beta", "1.0.0-beta", "1.0.0-beta.2", "1.0.0-beta.11",
	"1.0.0-rc.1", "1.0.0-rc.1+1", "1.0.0-rc.1.1",
	"1.0.0", "1.0.0+0", "1.0.0+0.a", "1.0.0+00", "1.0.0+1", "1.0.0+1.0", "1.0.0+01", "1.0.0+001", "1.0.0+2", "1.0.0+10",
	"1.0.0+018446744073709551616", "1.0.0+18446744073709551617", "1.0.0+-", "1.0.0+A", "1.0.0+a", "1.0.0+a.1", "1.0.0+a.a", "1.0.0+aa", "1.0.0+b",
	"1.0.1-a", "1.0.1", "1.2", "1.10", "2", "10", "18446744073709551615",
}

func TestCompare(t *testing.T) {
	for i, a := range ascending {
		for j, b := range ascending {
			want := 0
			switch {
			case i < j:
				want = -1
			case i > j:
				want = 1
			}
			v, w := parse(t, a), parse(t, b)
			if got := semver.Compare(&v, &w); got != want {
				t.Errorf("Compare(%q, %q) = %d, want %d", a, b, got, want)
			}
			if (v == w) != (want == 0) {
				t.Errorf("%q == %q is %v, want %v", a, b, v == w, want == 0)
			}
		}
	}
}

// TestCompareTime guards against comparing the rest of two long lists at each
// identifier.
func TestCompareTime(t *testing.T) {
	list := strings.Repeat("1.", 500_000)
	a, b := parse(t, "1-"+list+"1"), parse(t, "1-"+list+"2")
	if got := semver.Compare(&a, &b); got != -1 {
		t.Errorf("Compare of long lists = %d, want -1", got)
	}
}

func parse(t *testing.T, s string) semver.Version {
	t.Helper()
	v, ok := semver.Parse(s)
	if !ok {
		t.Fatalf("Parse(%q) = _, false, want a version", s)
	}
	return v
}

func FuzzParse(f *testing.F) {
	for _, s := range ascending {
		f.Add(s)
	}
	for _, s := range []string{"", "v1.2", " v1", "v 1 ", "1.2.3.4", "1..2", "1-01", "1+01", "1-a..b", "1+a+b", "18446744073709551616", "V1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		v, ok := semver.Parse(s)
		o, want := obviousParse(s)
		if ok != want {
			t.Fatalf("Parse(%q) = _, %v, want %v", s, ok, want)
		}
		if !ok {
			return
		}
		// A parsed version, written plainly, is the same version.
		var plain strings.Builder
		for i, n := range o.core {
			if i > 0 {
				plain.WriteByte('.')
			}
			plain.WriteString(n.String())
		}
		if o.pre != nil {
			plain.WriteString("-" + strings.Join(o.pre, "."))
		}
		if o.build != nil {
			plain.WriteString("+" + strings.Join(o.build, "."))
		}
		if w, ok := semver.Parse(plain.String()); !ok || w != v {
			t.Fatalf("Parse(%q) = %v, %v, want %v as of %q", plain.String(), w, ok, v, s)
		}
	})
}

func FuzzCompare(f *testing.F) {
	for i := range len(ascending) - 2 {
		f.Add(ascending[i], ascending[i+1], ascending[i+2])
		f.Add(ascending[i+2], ascending[i], ascending[i])
	}
	f.Fuzz(func(t *testing.T, a, b, c string) {
		texts := []string{a, b, c}
		versions := make([]semver.Version, 3)
		for i, s := range texts {
			var ok bool
			if versions[i], ok = semver.Parse(s); !ok {
				return
			}
		}
		for i, v := range versions {
			x, _ := obviousParse(texts[i])
			for j, w := range versions {
				y, _ := obviousParse(texts[j])
				got := semver.Compare(&v, &w)
				if got < -1 || got > 1 || got != sign(x.compare(y)) {
					t.Fatalf("Compare(%q, %q) = %d, want %d", texts[i], texts[j], got, sign(x.compare(y)))
				}
				if back := semver.Compare(&w, &v); back != -got {
					t.Fatalf("Compare(%q, %q) = %d, but %d the other way round", texts[i], texts[j], got, back)
				}
				if (got == 0) != (v == w) {
					t.Fatalf("Compare(%q, %q) = %d, but == is %v", texts[i], texts[j], got, v == w)
				}
			}
		}
		// After sorting, the first version is not above the last.
		slices.SortFunc(versions, func(v, w semver.Version) int { return semver.Compare(&v, &w) })
		if semver.Compare(&versions[0], &versions[2]) > 0 {
			t.Fatalf("Compare is not transitive for %q", texts)
		}
	})
}

func sign(n int) int { return min(max(n, -1), 1) }

func TestNoAllocation(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	r, _ := semver.Caret("1.2.3-beta.1")
	n := testing.AllocsPerRun(100, func() {
		a, _ := semver.Parse("v1.2.3-beta.2+build.5 ")
		b, _ := semver.Parse("1.2.3-beta.11+build.05")
		semver.Compare(&a, &b)
		r.Contains(&a)
		semver.Parse("1.2.x")
	})
	if n != 0 {
		t.Errorf("Parse, Compare and Contains allocate %v times, want 0", n)
	}
}

func BenchmarkParse(b *testing.B) {
	for _, s := range []string{"3.10.2", "v1.2", "1.0.0-rc.1+build.7", "banana"} {
		b.Run(s, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				semver.Parse(s)
			}
		})
	}
}

func BenchmarkCompare(b *testing.B) {
	for _, tt := range []struct{ name, a, b string }{
		{"minor", "3.10.2", "3.9.0"},
		{"equal", "3.10.2", "3.10.2"},
		{"pre-release", "1.0.0-rc.1", "1.0.0-rc.2"},
	} {
		b.Run(tt.name, func(b *testing.B) {
			v, _ := semver.Parse(tt.a)
			w, _ := semver.Parse(tt.b)
			b.ReportAllocs()
			for b.Loop() {
				semver.Compare(&v, &w)
			}
		})
	}
}
