package server_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/flagstaff-go/flagstaff/server"
)

// TestHasETag: what clients make of an entity tag (wire.md §5.1, evaluation.md
// §14).
func TestHasETag(t *testing.T) {
	const etag = `W/"8f3a"`
	for _, tt := range []struct {
		name   string
		header []string
		want   bool
	}{
		{"none", nil, false},
		{"empty", []string{""}, false},
		{"weak", []string{`W/"8f3a"`}, true},
		{"strong", []string{`"8f3a"`}, true},
		{"bare", []string{`8f3a`}, true},
		{"weak and bare", []string{`W/8f3a`}, true},
		{"blanks", []string{"\t W/\"8f3a\" "}, true},
		{"any", []string{"*"}, true},
		{"quoted asterisk", []string{`"*"`}, false},
		{"first of a list", []string{`W/"8f3a", "x"`}, true},
		{"last of a list", []string{`"x",W/"y" ,"8f3a"`}, true},
		{"list of others", []string{`"x", W/"y"`}, false},
		{"second header", []string{`"x"`, `"8f3a"`}, true},
		{"other", []string{`W/"8f3b"`}, false},
		{"prefix", []string{`W/"8f3"`}, false},
		{"longer", []string{`W/"8f3a0"`}, false},
		{"other case", []string{`W/"8F3A"`}, false},
		{"lower-case w", []string{`w/"8f3a"`}, false},
		{"blank inside", []string{`"8f 3a"`}, false},
		{"commas", []string{",,,"}, false},
		{"W", []string{"W/"}, false},
	} {
		if got := server.HasETag(tt.header, etag); got != tt.want {
			t.Errorf("%s: HasETag(%q) = %v, want %v", tt.name, tt.header, got, tt.want)
		}
	}
}

// tagForm is what may stand between the commas of If-None-Match.
var tagForm = regexp.MustCompile(`^(?:W/)?"*([^"]*)"*$`)

func FuzzHasETag(f *testing.F) {
	for _, seed := range []string{`W/"8f3a"`, `"x", 8f3a`, "*", ",", `W/W/"8f3a"`, `""8f3a""`, "\x00", `W/"8f3a`, `W/`, "\u00a0W/\"8f3a\""} {
		f.Add(seed, seed)
	}
	f.Fuzz(func(t *testing.T, first, second string) {
		const etag = `W/"8f3a"`
		want := slices.ContainsFunc(strings.Split(first+","+second, ","), func(tag string) bool {
			tag = strings.TrimSpace(tag)
			m := tagForm.FindStringSubmatch(tag)
			return tag == "*" || m != nil && m[1] == "8f3a"
		})
		if got := server.HasETag([]string{first, second}, etag); got != want {
			t.Errorf("HasETag(%q, %q) = %v, want %v", first, second, got, want)
		}
	})
}
