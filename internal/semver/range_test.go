package semver_test

import (
	"strings"
	"testing"

	"github.com/flagstaff-go/flagstaff/internal/semver"
)

var constructors = map[string]func(string) (semver.Range, bool){
	"tilde":    semver.Tilde,
	"caret":    semver.Caret,
	"wildcard": semver.Wildcard,
}

var ranges = []struct {
	name, operator, filter, property string
	want                             bool
}{
	// The table of evaluation.md §4.10.
	{"from a.b.c", "tilde", "1.2.3", "1.2.3", true},
	{"not below a.b.c", "tilde", "1.2.3", "1.2.2", false},
	{"up to the next minor", "tilde", "1.2.3", "1.2.99", true},
	{"the next minor", "tilde", "1.2.3", "1.3.0", false},
	{"another major", "tilde", "1.2.3", "2.2.3", false},
	{"tilde with one component, inside", "tilde", "1", "1.0.7", true},
	{"tilde with one component, next minor", "tilde", "1", "1.1.0", false},
	{"caret", "caret", "1.2.3", "1.9.0", true},
	{"caret below", "caret", "1.2.3", "1.2.2", false},
	{"caret next major", "caret", "1.2.3", "2.0.0", false},
	{"caret with one component", "caret", "1", "1.0.0", true},
	{"caret below 1", "caret", "0.2.3", "0.2.9", true},
	{"caret below 1, below", "caret", "0.2.3", "0.2.2", false},
	{"caret below 1, next minor", "caret", "0.2.3", "0.3.0", false},
	{"caret below 1, next major", "caret", "0.2.3", "1.2.3", false},
	{"caret below 0.1", "caret", "0.0.3", "0.0.3", true},
	{"caret below 0.1, next patch", "caret", "0.0.3", "0.0.4", false},
	{"caret below 0.1, patch before", "caret", "0.0.3", "0.0.2", false},
	{"caret 0.0", "caret", "0.0", "0.0.0", true},
	{"caret 0", "caret", "0", "0.0.0", true},
	{"caret 0, next patch", "caret", "0", "0.0.1", false},
	{"star", "wildcard", "*", "0.0.0", true},
	{"star, greatest", "wildcard", "*", "18446744073709551615.18446744073709551615.18446744073709551615", true},
	{"star, pre-release", "wildcard", "*", "1.0.0-rc.1", false},
	{"two stars", "wildcard", "*.*", "7.1.0", false},
	{"star for minor", "wildcard", "1.*", "1.99.0", true},
	{"star for minor, other major", "wildcard", "1.*", "2.0.0", false},
	{"star for minor, major before", "wildcard", "1.*", "0.9.0", false},
	{"stars for minor and patch", "wildcard", "1.*.*", "1.99.3", true},
	{"star for patch", "wildcard", "1.2.*", "1.2.99", true},
	{"star for patch, other minor", "wildcard", "1.2.*", "1.3.0", false},
	{"star for patch, minor before", "wildcard", "1.2.*", "1.1.9", false},
	{"zero and star", "wildcard", "0.*", "0.7.1", true},
	{"no star", "wildcard", "1.2.3", "1.9.0", true},
	{"no star, below", "wildcard", "1.2.3", "1.2.2", false},
	{"no star, next major", "wildcard", "1.2.3", "2.0.0", false},
	{"no star, below 1", "wildcard", "0.2", "0.3.0", false},
	{"no star, only major", "wildcard", "0", "0.9.0", true},
	{"no star, 0.0", "wildcard", "0.0", "0.0.7", true},
	{"a letter", "wildcard", "x", "7.1.0", true},
	{"a letter for minor", "wildcard", "1.x", "1.9.0", true},
	{"a letter for patch", "wildcard", "1.2.X", "1.3.0", false},
	{"at least", "wildcard", ">=1.2.3", "7.0.0", true},
	{"above a minor", "wildcard", ">1.2", "1.2.9", false},
	{"above a minor, the next", "wildcard", ">1.2", "1.3.0", true},
	{"up to a minor", "wildcard", "<=1.2", "1.2.9", true},
	{"below a major", "wildcard", "<2", "1.99.0", true},
	{"exactly a minor", "wildcard", "=1.2", "1.2.9", true},
	{"a list", "wildcard", "1.2.3, <1.5", "1.4.9", true},
	{"a list, outside", "wildcard", "1.2.3, <1.5", "1.5.0", false},
	{"a list with a pre-release", "wildcard", ">=1.2.3-a, <2", "1.2.3-b", true},
	{"a list under tilde", "tilde", "1.2.3, <1.2.5", "1.2.4", true},
	{"a list under tilde, outside", "tilde", "1.2.3, <1.2.5", "1.2.5", false},
	{"a list under tilde that is padded", "tilde", "1, <2", "1.7.0", true},
	{"a star under tilde", "tilde", "1.2.*", "1.2.9", true},
	{"a star under caret", "caret", "1.2.*", "1.9.0", true},
	{"a star for minor under tilde", "tilde", "1.*", "1.0.0", false},
	{"a sign under caret", "caret", ">=1.2.3", "1.2.3", false},
	{"no star, pre-release", "wildcard", "1.2.3-a", "1.2.3-b", true},
	// Pre-releases.
	{"a pre-release in its own range", "tilde", "1.2.3-beta.1", "1.2.3-beta.2", true},
	{"the same pre-release", "tilde", "1.2.3-beta.1", "1.2.3-beta.1", true},
	{"a lower pre-release", "tilde", "1.2.3-beta.2", "1.2.3-beta.1", false},
	{"the release of a pre-release", "tilde", "1.2.3-beta.1", "1.2.3", true},
	{"the release after it", "tilde", "1.2.3-beta.1", "1.2.4", true},
	{"a pre-release of the release after it", "tilde", "1.2.3-beta.1", "1.2.4-beta.1", false},
	{"caret, a pre-release in its own range", "caret", "1.2.3-beta.1", "1.2.3-beta.2", true},
	{"caret, a later pre-release", "caret", "1.2.3-beta.1", "1.3.0-beta.1", false},
	{"caret, exact release, its pre-release", "caret", "0.0.3-beta", "0.0.3-rc", true},
	{"caret, exact release of a pre-release", "caret", "0.0.3-beta", "0.0.3", true},
	{"caret, exact release, lower pre-release", "caret", "0.0.3-beta", "0.0.3-alpha", false},
	{"a pre-release of the upper bound", "tilde", "1.2.3", "1.3.0-rc.1", false},
	{"a pre-release of the upper bound, given one", "tilde", "1.2.3-a", "1.3.0-a", false},
	{"a pre-release of a release in the range", "caret", "1.2.3", "1.5.0-rc.1", false},
	{"1.* has no pre-release", "wildcard", "1.*", "1.5.0-rc.1", false},
	{"1.* has no pre-release of its start", "wildcard", "1.*", "1.0.0-rc.1", false},
	// Build metadata.
	{"build of the property", "caret", "1.2.3", "1.2.3+a", true},
	{"build of the filter", "caret", "1.2.3+b", "1.2.3", true},
	{"lower build", "tilde", "1.2.3+b", "1.2.3+a", true},
	{"build in an exact range", "caret", "0.0.3+b", "0.0.3+a", true},
	// The greatest components: upper bounds do not wrap around.
	{"tilde at the greatest minor", "tilde", "1.18446744073709551615.2", "1.18446744073709551615.3", true},
	{"tilde at the greatest minor, below", "tilde", "1.18446744073709551615.2", "1.0.0", false},
	{"tilde at the greatest minor, next major", "tilde", "1.18446744073709551615.2", "2.0.0", false},
	{"caret at the greatest major", "caret", "18446744073709551615.1", "18446744073709551615.2", true},
	{"caret at the greatest major, below", "caret", "18446744073709551615.1", "0.5.0", false},
	{"caret at the greatest minor", "caret", "0.18446744073709551615.1", "0.18446744073709551615.2", true},
	{"caret at the greatest patch", "caret", "0.0.18446744073709551615", "0.0.18446744073709551615", true},
	{"wildcard at the greatest major", "wildcard", "18446744073709551615.*", "18446744073709551615.1.0", true},
	// The worked examples and the rows of evaluation.md §16.3.
	{"worked: leading zeros", "wildcard", "3.08.*", "3.8.5", true},
	{"row 119", "tilde", "1", "1.5.0", false},
	{"row 120", "tilde", "3.08", "3.8.5", true},
	{"row 120, outside", "tilde", "3.08", "3.9.0", false},
	{"row 121", "caret", "0.0", "0.0.1", false},
	{"row 122", "wildcard", "1.*", "1.9.0-beta", false},
	{"row 123", "wildcard", "1.*.3", "1.5.3", false},
	// Texts around versions.
	{"a v and spaces", "tilde", "v 1.2 ", "v1.2.5", true},
	{"a v and spaces around stars", "wildcard", "v 1.* ", "v1.2.5", true},
	{"unparsable property", "wildcard", "*", "1.2.3.4", false},
	{"unparsable filter", "caret", "banana", "1.0.0", false},
}

func TestContains(t *testing.T) {
	for _, tt := range ranges {
		t.Run(tt.name, func(t *testing.T) {
			r, ok1 := constructors[tt.operator](tt.filter)
			v, ok2 := semver.Parse(tt.property)
			if got := ok1 && ok2 && r.Contains(&v); got != tt.want {
				t.Errorf("%s %q contains %q = %v, want %v", tt.operator, tt.filter, tt.property, got, tt.want)
			}
		})
	}
}

var wildcards = []struct {
	text string
	want bool
}{
	{"*", true},
	{"x", true},
	{"X ", true},
	{"1.x", true},
	{"1.X.*", true},
	{">=1.2.3", true},
	{"> 1.2", true},
	{"=1", true},
	{"~1.2,^1", true},
	{"1.2.3, <2", true},
	{"1.2.3-a , <2 ", true},
	{strings.Repeat("1,", 31) + "1", true},
	{"1.*", true},
	{"1.*.*", true},
	{"1.2.*", true},
	{"01.002.*", true},
	{"v*", true},
	{"v1.*", true},
	{" 1.* ", true},
	{"1.2.3", true},
	{"1", true},
	{"1.2.3-rc.1+b", true},

	{"", false},
	{"*.*", false},
	{"*, 1", false},
	{"1, *", false},
	{"1,", false},
	{",1", false},
	{"1.*.*.*", false},
	{"=>1", false},
	{"~>1", false},
	{strings.Repeat("1,", 32) + "1", false},
	{"1.*.3", false},
	{"*.2", false},
	{"*.2.3", false},
	{"*.*.3", false},
	{"*.2.*", false},
	{"*.*.*.*", false},
	{"1.2.3.*", false},
	{"1.2.3*", false},
	{"1*", false},
	{"*1", false},
	{"**", false},
	{"*.", false},
	{".*", false},
	{"1..*", false},
	{"1.*.", false},
	{"*.*.*.", false},
	{"*-rc", false},
	{"1.*-rc.1", false},
	{"1.*+b", false},
	{"1.2.3-*", false},
	{"1-rc.*", false},
	{"1. *", false},
	{"V1.*", false},
	{" v1.*", false},
	{"x.*", false},
	{"-1.*", false},
	{"18446744073709551616.*", false},
	{"1.18446744073709551616.*", false},
	{"1.2.3.4", false},
	{"banana", false},
}

func TestWildcard(t *testing.T) {
	for _, tt := range wildcards {
		t.Run(tt.text, func(t *testing.T) {
			if _, got := semver.Wildcard(tt.text); got != tt.want {
				t.Errorf("Wildcard(%q) = _, %v, want %v", tt.text, got, tt.want)
			}
		})
	}
}

func TestZeroRange(t *testing.T) {
	release, _ := semver.Parse("7.1")
	pre, _ := semver.Parse("7.1.0-a")
	if r := (semver.Range{}); !r.Contains(&release) || r.Contains(&pre) {
		t.Error("Range{} is not every release")
	}
}

func FuzzContains(f *testing.F) {
	for _, tt := range ranges {
		f.Add(tt.filter, tt.property)
	}
	for _, tt := range wildcards {
		f.Add(tt.text, "1.2.3")
	}
	f.Fuzz(func(t *testing.T, filter, property string) {
		v, _ := semver.Parse(property)
		o, parsed := obviousParse(property)
		for name, same := range map[string]func(string) (obviousRange, bool){
			"tilde":    obviousTilde,
			"caret":    obviousCaret,
			"wildcard": obviousWildcard,
		} {
			r, ok := constructors[name](filter)
			want, wantOK := same(filter)
			if ok != wantOK {
				t.Fatalf("%s(%q) = _, %v, want %v", name, filter, ok, wantOK)
			}
			if !ok || !parsed {
				continue
			}
			if got := r.Contains(&v); got != want.contains(o) {
				t.Fatalf("%s %q contains %q = %v, want %v", name, filter, property, got, !got)
			}
		}
	})
}

func BenchmarkContains(b *testing.B) {
	for _, tt := range []struct{ name, filter, property string }{
		{"inside", "1.2.3", "1.9.0"},
		{"other major", "1.2.3", "2.0.0"},
		{"pre-release", "1.2.3-beta.1", "1.2.3-beta.2"},
	} {
		b.Run(tt.name, func(b *testing.B) {
			r, _ := semver.Caret(tt.filter)
			v, _ := semver.Parse(tt.property)
			b.ReportAllocs()
			for b.Loop() {
				r.Contains(&v)
			}
		})
	}
}
