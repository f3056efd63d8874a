package reference

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"unicode"
)

// regexSupport says how a pattern is treated.
type regexSupport int

const (
	regexSupported   regexSupport = iota
	regexInvalid                  // invalid in all dialects, or in ours: never matches (§4.6)
	regexUnsupported              // needs look-around, back-references or the like (§4.6)
)

// compileRegex compiles a pattern with RE2, after rewriting the Perl classes to
// Unicode ones (§4.6).
func compileRegex(pattern string) (*regexp.Regexp, regexSupport) {
	// This comes first, because RE2 would read the back-reference \12 as an
	// octal escape.
	if needsBacktracking(pattern) {
		return nil, regexUnsupported
	}
	re, err := regexp.Compile(rewriteClasses(pattern))
	if err != nil {
		return nil, regexInvalid
	}
	return re, regexSupported
}

// The meaning of \d, \w and \s. \s is Unicode's White_Space: the separators and
// six control characters.
const (
	digitClass = `\p{Nd}`
	wordClass  = `\p{L}\p{M}\p{Nd}\p{Pc}`
	spaceClass = `\p{Z}\t\n\x{B}\f\r\x{85}`
)

// rewriteClasses replaces \d \w \s \D \W \S, outside and inside of character
// classes.
func rewriteClasses(pattern string) string {
	var b strings.Builder
	for _, t := range tokenize(pattern) {
		switch {
		case t.kind == tokenEscape && t.inClass:
			switch t.text {
			case `\d`:
				b.WriteString(digitClass)
			case `\D`:
				b.WriteString(`\P{Nd}`)
			case `\w`:
				b.WriteString(wordClass)
			case `\W`:
				b.WriteString(notWord())
			case `\s`:
				b.WriteString(spaceClass)
			case `\S`:
				b.WriteString(notSpace())
			default:
				b.WriteString(t.text)
			}
		case t.kind == tokenEscape:
			switch t.text {
			case `\d`:
				b.WriteString(digitClass)
			case `\D`:
				b.WriteString(`\P{Nd}`)
			case `\w`:
				b.WriteString("[" + wordClass + "]")
			case `\W`:
				b.WriteString("[^" + wordClass + "]")
			case `\s`:
				b.WriteString("[" + spaceClass + "]")
			case `\S`:
				b.WriteString("[^" + spaceClass + "]")
			default:
				b.WriteString(t.text)
			}
		default:
			b.WriteString(t.text)
		}
	}
	return b.String()
}

// A class cannot contain the complement of several properties, so the
// complement is spelled out in ranges. Each begins with a property, so that a
// range such as [a-\W] stays the error that it is.
var (
	notWord = sync.OnceValue(func() string {
		return `\p{Cc}` + complement(unicode.L, unicode.M, unicode.Nd, unicode.Pc)
	})
	notSpace = sync.OnceValue(func() string {
		return `\p{L}` + complement(unicode.White_Space)
	})
)

// complement lists all code points outside of the tables as ranges for a
// character class.
func complement(tables ...*unicode.RangeTable) string {
	var b strings.Builder
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if unicode.In(r, tables...) {
			continue
		}
		first := r
		for r < unicode.MaxRune && !unicode.In(r+1, tables...) {
			r++
		}
		fmt.Fprintf(&b, `\x{%X}-\x{%X}`, first, r)
	}
	return b.String()
}

// needsBacktracking reports whether the pattern uses, outside of escapes and
// character classes, a construct that RE2 does not have (§4.6): look-around,
// atomic groups, conditionals, back-references, or possessive quantifiers. It
// does not matter whether the rest of the pattern is valid.
func needsBacktracking(pattern string) bool {
	afterAtom, afterQuantifier := false, false
	for _, t := range tokenize(pattern) {
		switch t.kind {
		case tokenEscape:
			if t.inClass {
				break
			}
			if t.text[1] >= '1' && t.text[1] <= '9' || t.text == `\g` || t.text == `\k` && strings.HasPrefix(t.rest, "<") {
				return true
			}
			afterAtom, afterQuantifier = true, false
		case tokenGroup:
			for _, construct := range []string{"(?=", "(?!", "(?<=", "(?<!", "(?>", "(?("} {
				if strings.HasPrefix(t.text+t.rest, construct) {
					return true
				}
			}
			afterAtom, afterQuantifier = false, false
		case tokenQuantifier:
			if afterQuantifier && t.text == "+" {
				return true // a possessive quantifier: a*+ a++ a?+ a{2}+
			}
			afterAtom, afterQuantifier = false, afterAtom
		case tokenAlternation:
			afterAtom, afterQuantifier = false, false
		default:
			afterAtom, afterQuantifier = true, false
		}
	}
	return false
}

type tokenKind int

const (
	tokenLiteral     tokenKind = iota // a character, a closing parenthesis, or anything inside a class
	tokenEscape                       // a backslash and the character after it, with its braces for \x \p \P
	tokenGroup                        // an opening parenthesis
	tokenQuantifier                   // * + ? {n} {n,} {n,m}
	tokenAlternation                  // |
)

type token struct {
	kind    tokenKind
	text    string
	inClass bool
	rest    string // the pattern after text
}

var (
	repetition = regexp.MustCompile(`^\{[0-9]+(,[0-9]*)?\}`)
	braced     = regexp.MustCompile(`^\\[xpP]\{[^}]*\}`)
)

// tokenize splits a pattern as far as the two functions above need. The
// concatenated texts are the pattern.
func tokenize(pattern string) []token {
	var tokens []token
	inClass := false
	for rest := pattern; rest != ""; {
		kind, length := tokenLiteral, 1
		wasInClass := inClass
		switch {
		case strings.HasPrefix(rest, `\Q`) && !inClass:
			// The text up to \E is literal.
			length = len(rest)
			if end := strings.Index(rest, `\E`); end >= 0 {
				length = end + 2
			}
		case braced.MatchString(rest):
			kind, length = tokenEscape, len(braced.FindString(rest))
		case rest[0] == '\\' && len(rest) > 1:
			kind, length = tokenEscape, 2
		case inClass && strings.HasPrefix(rest, "[:") && strings.Contains(rest[2:], ":]"):
			length = 2 + strings.Index(rest[2:], ":]") + 2
		case inClass && rest[0] == ']':
			inClass = false
		case inClass:
		case rest[0] == '[':
			inClass = true
			// A ] in the first place is literal.
			for _, opening := range []string{"[^]", "[]", "[^"} {
				if strings.HasPrefix(rest, opening) {
					length = len(opening)
					break
				}
			}
		case rest[0] == '(':
			kind = tokenGroup
		case rest[0] == '|':
			kind = tokenAlternation
		case strings.HasPrefix(rest, "*"), strings.HasPrefix(rest, "+"), strings.HasPrefix(rest, "?"):
			kind = tokenQuantifier
		case repetition.MatchString(rest):
			kind, length = tokenQuantifier, len(repetition.FindString(rest))
		}
		tokens = append(tokens, token{kind, rest[:length], wasInClass, rest[length:]})
		rest = rest[length:]
	}
	return tokens
}
