package check_test

import (
	"strings"
	"testing"

	"github.com/flagstaff-go/flagstaff/management/check"
	"github.com/flagstaff-go/flagstaff/management/optional"
)

// All ways to write the address of a mailbox are one address (management.md §4.4).
func TestRuling71OneAddress(t *testing.T) {
	for want, forms := range map[string][]string{
		"ada@example.com":                {"ada@example.com", " ADA@Example.COM\n", "ａｄａ@example.com", "ada@ｅｘａｍｐｌｅ．ｃｏｍ", "ada@example。com", "ada@example｡com"},
		"zoë@example.com":                {"zoë@example.com", "ZOË@example.com", "zoe\u0308@example.com"},
		"ada@xn--bcher-kva.example":      {"ada@bücher.example", "ada@BÜCHER.example", "ada@bu\u0308cher.example", "ada@xn--bcher-kva.example", "ada@XN--BCHER-KVA.example"},
		"ada@xn--strae-oqa.example":      {"ada@straße.example"}, // not strasse
		"fi@example.com":                 {"ﬁ@example.com"},
		"почта@xn--e1afmkfd.xn--p1ai":    {"почта@пример.рф", "ПОЧТА@ПРИМЕР.РФ"},
		"用户@xn--fsqu00a.xn--0zwm56d":     {"用户@例子.测试"},
		"さくら漢字カナ@xn--r8jz45g.xn--zckzah": {"さくら漢字カナ@例え.テスト"},
		"admin@localhost":                {"admin@localhost", "Admin@LOCALHOST"},
		"a.b+c_d'e@x1.example":           {"A.b+c_d'e@X1.example"},
	} {
		for _, form := range forms {
			o := optional.Of(form)
			if err := check.Email("email", &o); err != nil || o.Value != want {
				t.Errorf("Email(%q) = %q, %v; want %q", form, o.Value, err, want)
			}
			if got := check.NormalEmail(form); got != want {
				t.Errorf("NormalEmail(%q) = %q, want %q", form, got, want)
			}
		}
	}
}

// Addresses that look like others are refused, with the part that does.
func TestRuling71LookAlikes(t *testing.T) {
	for address, want := range map[string]string{
		"аda@example.com":            "mixes letters", // Cyrillic а
		"adа@example.com":            "mixes letters",
		"αda@example.com":            "mixes letters",
		"ada@exаmple.com":            "mixes letters",
		"ada@sub.exаmple.com":        "mixes letters",
		"ada@xn--exmple-4nf.com":     "mixes letters", // the same in ASCII
		"ada用@example.com":           "mixes letters",
		"пoчта@example.com":          "mixes letters", // Latin o
		"почта@example.com":          "",              // scripts may differ between parts
		"ada@пример.example":         "",
		"x@y":                        "Enter a valid",
		"ada":                        "Enter a valid",
		"@example.com":               "Enter a valid",
		"ada@":                       "Enter a valid",
		"ada@example":                "Enter a valid",
		"ada@-x.example":             "Enter a valid",
		"ada@xn--a.example":          "Enter a valid", // no punycode
		"ada@a\u200bb.example\u202e": "Enter a valid",
		"a\u200bda@example.com":      "Enter a valid",
		"Ada <ada@example.com>":      "Enter a valid",
		`"ada"@example.com`:          "Enter a valid",
		"ada@[192.0.2.1]":            "Enter a valid",
		"ada@" + strings.Repeat("ü", 60) + ".example": "Enter a valid", // longer than a label in ASCII
	} {
		o := optional.Of(address)
		err := check.Email("email", &o)
		if got := err == nil; got != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("Email(%q) = %v, want %q", address, err, want)
		}
	}
}

// FuzzEmail checks that a second normalization changes nothing, and the form of an accepted
// one is accepted.
func FuzzEmail(f *testing.F) {
	for _, s := range []string{
		"ada@example.com", " Ada@Bücher.example ", "ﬁ@x.example", "İ@x.example", "ẞ@ß.example", "a@b@c.example", "用户@例子.测试", "@", "", "x@xn--a.b", "ſ@x.example", "\xff@x.example",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		o := optional.Of(s)
		if check.Email("email", &o) != nil {
			return
		}
		if got := check.NormalEmail(s); got != o.Value {
			t.Errorf("NormalEmail(%q) = %q, but Email stores %q", s, got, o.Value)
		}
		again := o
		if err := check.Email("email", &again); err != nil || again.Value != o.Value {
			t.Errorf("%q has the form %q, whose form is %q, %v", s, o.Value, again.Value, err)
		}
	})
}
