package check

import (
	"regexp"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/flagstaff-go/flagstaff/internal/judge"
	"github.com/flagstaff-go/flagstaff/management/optional"
)

// Name checks the name of a person.
func Name(attr string, o *optional.Value[string]) error {
	if err := String(attr, o, maxName); err != nil || !o.Set {
		return err
	}
	return checkHuman(attr, o.Value)
}

// GroupName checks the name of a group of people, such as an organization.
func GroupName(attr string, o *optional.Value[string], most int) error {
	if err := Title(attr, o, most); err != nil || !o.Set {
		return err
	}
	return checkHuman(attr, o.Value)
}

// pageAddress finds addresses of pages: a scheme, www., or a known top-level domain
// between a dot and a slash. Initials and bare domains, as in J.de Vries and
// Example.com, are names.
var pageAddress = regexp.MustCompile(`(?i)://|\bwww\.|[\p{L}\p{N}]\.(?:com|net|org|io|co|app|dev|ai|info|biz|xyz|ru|cn|de|uk|me|ly|link|site|online|top|shop|store|click|ch|fr|eu|us)/`)

// foldDots writes all full stops as dots. Normalization folds only the full-width one.
var foldDots = strings.NewReplacer("。", ".")

// checkHuman refuses what no name has, but an attempt to deceive (management.md §4.1). It
// judges what a reader sees, so that full-width letters hide nothing.
func checkHuman(attr, value string) error {
	folded := foldDots.Replace(norm.NFKC.String(value))
	joins := false // whether a joiner may follow
	for _, r := range folded {
		switch {
		case unicode.IsControl(r), r == '\u2028', r == '\u2029':
			return judge.New(attr, "invalid_control_char", "Control characters and line breaks are not allowed.")
		case r == '<', r == '>':
			return judge.New(attr, "invalid_bracket", "The characters < and > are not allowed.")
		case r == '\u200c' || r == '\u200d':
			if !joins {
				return judge.New(attr, "invalid_invisible_char", "A joiner must follow a letter.")
			}
		case unicode.Is(unicode.Cf, r), r == '\u115f', r == '\u1160', r == '\u3164', r == '\uffa0':
			return judge.New(attr, "invalid_invisible_char", "Invisible characters and marks of direction are not allowed.")
		}
		joins = unicode.IsLetter(r) || unicode.IsMark(r)
	}
	if pageAddress.MatchString(folded) {
		return judge.New(attr, "invalid_url", "Web addresses are not allowed.")
	}
	return nil
}
