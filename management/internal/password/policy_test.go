package password_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/flagstaff-go/flagstaff/management/internal/password"
)

const (
	tooShort  = "This password is too short. It must contain at least 8 characters."
	tooLong   = "This password is too long. It must contain at most 128 characters."
	blank     = "This password consists of blanks only."
	personal  = "This password is too similar to your name or e-mail address."
	guessable = "This password is too easy to guess. Add another word or two. Uncommon words are better."
)

// ada has the personal values of a user.
var ada = []string{"ada.lovelace@example.com", "Ada", "King-Noel Lovelace"}

func TestCheck(t *testing.T) {
	h := password.New()
	for _, tt := range []struct{ name, password, want string }{
		{"empty", "", tooShort},
		{"seven characters", "q7#Zk!x", tooShort},
		{"seven characters of more bytes", "жщъэюяй", tooShort},
		{"eight characters", "q7#Zk!xW", ""},
		{"128 characters", strings.Repeat("ß", 7) + long(121), ""},
		{"129 characters", strings.Repeat("ß", 8) + long(121), tooLong},
		{"blanks", "          ", blank},
		{"many kinds of blanks", " \t\u00a0\u2003\u3000 \n\r ", blank},

		{"the local part", "ada.lovelace", personal},
		{"the local part and a number", "Ada.Lovelace1", personal},
		{"a name twice", "lovelacelovelace", personal},
		{"a name with digits for letters", "L0v3l4c3!!", personal},
		{"a name with marks", "Lövelâce1", personal},
		{"first and last name", "ada_lovelace_1815", personal},
		{"parts of a last name", "KingNoel99", personal},
		{"half of it is a name", "lovelacekzqjxvwp", personal},
		{"less than half of it is a name", "lovelace grumpy walrus", ""},
		{"the host does not count", "example-tundra-walrus", ""},
		{"a name counts for nothing in an estimate", "lovelace monkey12", guessable},

		{"a passphrase", "correct horse battery staple", ""},
		{"a passphrase without blanks", "correcthorsebatterystaple", ""},
		{"a passphrase in Russian", "правильная лошадь батарея скрепка", ""},
		{"a passphrase in Chinese", "正确的马电池订书钉", ""},
		{"a passphrase in Korean", "정확한 말 배터리 스테이플", ""},
		{"a passphrase in German", "Fünf Möwen stehlen Brötchen", ""},
		{"emoji", "🐴🔋📎🧊🎸🌈🚀🍕", ""},
		{"blanks at the ends", "  tundra walrus lamp ", ""},
		{"of a password manager", "x7$Kq!vZ2pLm", ""},
		{"of a password manager, letters and digits", "hT4mQz9LwEy2KxRb", ""},

		{"the password", "password", guessable},
		{"with digits for letters", "P4$$w0rd", guessable},
		{"with a year", "Password2026!", guessable},
		{"with marks", "pässwörd", guessable},
		{"wide", "ｐａｓｓｗｏｒｄ", guessable},
		{"twice", "passwordpassword", guessable},
		{"season and year", "Summer2026!", guessable},
		{"keyboard", "qwertyuiop", guessable},
		{"keyboard, German", "qwertzuiop", guessable},
		{"keyboard, in columns", "1qaz2wsx3edc", guessable},
		{"alphabet", "abcdefghijklm", guessable},
		{"alphabet, Russian", "абвгдежзи", guessable},
		{"digits", "12345678901234567890", guessable},
		{"digits, downward in twos", "9876543210", guessable},
		{"date", "01.02.1990", guessable},
		{"one character", "aaaaaaaaaaaaaaaa", guessable},
		{"one character that is not in ASCII", "ааааааааааааааа", guessable},
		{"one emoji", "😀😀😀😀😀😀😀😀", guessable},
		{"a group of characters", "qzkqzkqzkqzkqzkq", guessable},
		{"a group that is not in ASCII", "密码密码密码密码密码密码", guessable},
		{"name and year", "J3ssica1990", guessable},
		{"the product", "Flagstaff2026!", guessable},
		{"as installed", "changeme123!", guessable},
		{"a phrase that many have", "iloveyou2", guessable},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := h.Check(tt.password, ada...)
			if got := fmt.Sprint(err); got != tt.want && !(tt.want == "" && err == nil) {
				t.Errorf("Check(%q) = %q, want %q", tt.password, got, tt.want)
			}
			if _, ok := errors.AsType[password.PolicyError](err); err != nil && !ok {
				t.Errorf("Check(%q) is a %T, want a PolicyError", tt.password, err)
			}
		})
	}
}

// long returns n characters that are hard to guess.
func long(n int) string {
	return strings.Repeat("hT4mQz9LwEy2KxRbv7NcPd3JgSf6AuVk", 4)[:n]
}

// Missing or very short names must not make every password refused.
func TestCheckWithoutPersonalValues(t *testing.T) {
	h := password.New()
	for _, values := range [][]string{nil, {""}, {"", " ", "@"}, {"a@example.com", "A", "Bo"}, {"...@example.com", "- -"}} {
		if err := h.Check("abode of a grumpy walrus", values...); err != nil {
			t.Errorf("Check for %q = %v, want nil", values, err)
		}
	}
}

func TestScoreCountsCharactersNotBytes(t *testing.T) {
	if got := password.Score("пароль123"); got > 2 {
		t.Errorf("Score of six letters and 123 = %d, want 2 or less", got)
	}
	if ascii, other := password.Score("qkzjxvbw"), password.Score("йцщжъэфы"); ascii != other {
		t.Errorf("Score of eight letters = %d in ASCII, %d elsewhere; want the same", ascii, other)
	}
}

func TestLeetReadings(t *testing.T) {
	for _, letters := range []string{password.LeetWithOneAsI, password.LeetWithOneAsL} {
		if len(letters) != len(password.LeetSigns) {
			t.Errorf("%q are %d letters for %d signs", letters, len(letters), len(password.LeetSigns))
		}
	}
}

// No input makes Check panic or take long, and its error is right about the
// length.
func FuzzCheck(f *testing.F) {
	for _, seed := range []string{"", "correct horse battery staple", "İİİİİİİİ", "\xff\xfe\x00", "1!|7+4@3{[<(", "😀👩‍👩‍👧‍👦", "한국어비밀번호"} {
		f.Add(seed, "ada@example.com")
		f.Add(strings.Repeat(seed, 9), seed)
	}
	h := password.New()
	f.Fuzz(func(t *testing.T, secret, name string) {
		err := h.Check(secret, name)
		n := utf8.RuneCountInString(secret)
		switch got := fmt.Sprint(err); {
		case (n < password.MinLength) != (got == tooShort), (n > password.MaxLength) != (got == tooLong):
			t.Errorf("Check(%q) of %d characters = %v", secret, n, err)
		}
	})
}

// These passwords are among the slowest to estimate.
func BenchmarkCheck(b *testing.B) {
	h := password.New()
	for name, secret := range map[string]string{
		"passphrase": "correct horse battery staple",
		"digits":     strings.Repeat("1!|7+4@3{[<(0$5%269", 7)[:128],
		"keyboard":   ("fghjuytgfdertghjkjhgfdsdfghjkjhgfdertyuytrdfghjk1" + "qwe8dfgp1qwe8dfgp1qaz1frtqaz1frtqaz1frt")[:64],
		"repeats":    "12111111211a1a21112121111211aa2122a1a12222aa11211a11a1111211aa122a22a2a11a212121222aa112a222a11aa2aa2222111aa12aa22a111121212222",
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_ = h.Check(secret, ada...)
			}
		})
	}
}
