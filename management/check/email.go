package check

import (
	"net/mail"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/net/idna"
	"golang.org/x/text/unicode/norm"

	"github.com/flagstaff-go/flagstaff/internal/judge"
	"github.com/flagstaff-go/flagstaff/management/optional"
)

// emailDomain is a host name with at least one dot, or localhost, where the first account
// of an installation lives.
var emailDomain = regexp.MustCompile(`^(?:localhost|(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)$`)

// NormalEmail returns the form in which an e-mail address is stored, which all ways to
// write the address of one mailbox have in common (management.md §4.4): the local part in
// NFKC and lower case, the domain in ASCII. A text that is not an address stays one that no
// address equals.
func NormalEmail(s string) string {
	s = strings.TrimSpace(s)
	at := strings.LastIndexByte(s, '@')
	local := s
	if at >= 0 {
		local = s[:at]
	}
	// Lower case can have a normal form of its own.
	local = norm.NFKC.String(strings.ToLower(norm.NFKC.String(local)))
	if at < 0 {
		return local
	}
	domain, err := idna.Lookup.ToASCII(s[at+1:])
	if err != nil {
		domain = strings.ToLower(s[at+1:])
	}
	return local + "@" + domain
}

// Email checks an e-mail address and puts it into its normal form.
func Email(attr string, o *optional.Value[string]) error {
	if err := String(attr, o, maxEmail); err != nil || !o.Set {
		return err
	}
	if o.Value == "" {
		return judge.New(attr, "blank", "This field may not be blank.")
	}
	o.Value = NormalEmail(o.Value)
	if !ValidEmail(o.Value) {
		return judge.New(attr, "invalid_input", "Enter a valid email address.")
	}
	if err := Length(attr, o.Value, maxEmail); err != nil { // it can be longer than what was sent
		return err
	}
	if part := mixedScripts(o.Value); part != "" {
		return judge.New(attr, "invalid_input", "%q mixes letters of several scripts, which can look like another address.", Excerpt(part))
	}
	return nil
}

// ValidEmail reports whether a text in its normal form is an e-mail address.
func ValidEmail(s string) bool {
	address, err := mail.ParseAddress(s)
	invisible := func(r rune) bool { return !unicode.IsPrint(r) }
	if err != nil || address.Address != s || address.Name != "" || strings.ContainsAny(s, "<>\"\\ ") || strings.ContainsFunc(s, invisible) {
		return false
	}
	domain := s[strings.LastIndexByte(s, '@')+1:]
	if !emailDomain.MatchString(domain) {
		return false
	}
	_, err = idna.Lookup.ToASCII(domain)
	return err == nil
}

// mixedScripts returns the local part or the label of an address whose letters belong to
// several scripts, as readers see it, "" if there is none.
func mixedScripts(address string) string {
	at := strings.LastIndexByte(address, '@')
	parts := []string{address[:at]}
	if domain, err := idna.Lookup.ToUnicode(address[at+1:]); err == nil {
		parts = append(parts, strings.Split(domain, ".")...)
	}
	for _, part := range parts {
		if !singleScript(part) {
			return part
		}
	}
	return ""
}

// writings are the scripts that are written together.
var writings = [][]string{
	{"Han", "Hiragana", "Katakana"}, // Japanese
	{"Han", "Hangul"},               // Korean
	{"Han", "Bopomofo"},             // Chinese
}

// singleScript reports whether the letters of a text belong to one script, or to scripts
// that are written together.
func singleScript(text string) bool {
	var found []string
	for _, r := range text {
		if script := scriptOf(r); script != "" && !slices.Contains(found, script) {
			found = append(found, script)
		}
	}
	if len(found) <= 1 {
		return true
	}
	return slices.ContainsFunc(writings, func(together []string) bool {
		return !slices.ContainsFunc(found, func(script string) bool { return !slices.Contains(together, script) })
	})
}

// scriptOf returns the script of a letter, a digit or a mark, "" for what all scripts use.
func scriptOf(r rune) string {
	if r < unicode.MaxASCII {
		if unicode.IsLetter(r) {
			return "Latin"
		}
		return ""
	}
	for name, table := range unicode.Scripts {
		if unicode.Is(table, r) {
			if name == "Common" || name == "Inherited" {
				return ""
			}
			return name
		}
	}
	return ""
}
