package check_test

import (
	"errors"
	"testing"

	"github.com/flagstaff-go/flagstaff/internal/judge"
	"github.com/flagstaff-go/flagstaff/management/check"
	"github.com/flagstaff-go/flagstaff/management/optional"
)

// codeOf returns the code of what a check has found.
func codeOf(err error) string {
	if e, ok := errors.AsType[*judge.Error](err); ok {
		return e.Code
	}
	return ""
}

// management.md §4.1.
func TestRuling58Names(t *testing.T) {
	for name, want := range map[string]string{
		"علی\u200cرضا": "", "J.de Vries": "", "O’Connor-Smith": "", "D'Arcy": "", "Zoë": "", "Zoe\u0308": "", "Martin Luther King, Jr.": "",
		"क्\u200dष": "", "N'Ko ߒߞߏ": "", "José·Mª": "", "李·小龍": "", "St.me": "", "Dr.com Müller": "", "evil.com": "", "A/B": "", "": "",
		"Ann (née Bee)": "", "Ryan #1": "", "Ólafur №3": "", "10.5": "",

		"http://x": "invalid_url", "HTTPS://x": "invalid_url", "see ftp://x": "invalid_url", "javascript://": "invalid_url",
		"www.evil": "invalid_url", "WWW.evil": "invalid_url", "ｗｗｗ．evil": "invalid_url", "www。evil": "invalid_url",
		"evil.com/x": "invalid_url", "evil.COM/": "invalid_url", "a.b.evil.co/x": "invalid_url", "ｅｖｉｌ．ｃｏｍ／x": "invalid_url",
		"evil。com/": "invalid_url", "evil｡com/": "invalid_url", "evil．com/": "invalid_url", "зло.ru/x": "invalid_url", "x1.de/": "invalid_url",

		"a\tb": "invalid_control_char", "a\u0085b": "invalid_control_char", "a\u2028b": "invalid_control_char", "a\u2029b": "invalid_control_char",
		"a\u200eb": "invalid_invisible_char", "a\u200fb": "invalid_invisible_char", "a\u061cb": "invalid_invisible_char",
		"a\u202ab": "invalid_invisible_char", "a\u202eb": "invalid_invisible_char", "a\u2066b": "invalid_invisible_char", "a\u2069b": "invalid_invisible_char",
		"a\u200bb": "invalid_invisible_char", "a\u00adb": "invalid_invisible_char", "a\ufeffb": "invalid_invisible_char", "a\U000e0061b": "invalid_invisible_char",
		"\u200ca": "invalid_invisible_char", "a\u200d\u200db": "invalid_invisible_char", "a \u200db": "invalid_invisible_char",
		"<b>": "invalid_bracket", "a＞b": "invalid_bracket",
	} {
		o := optional.Of(name)
		if got := codeOf(check.Name("first_name", &o)); got != want {
			t.Errorf("Name(%q): %q, want %q", name, got, want)
		}
	}
}
