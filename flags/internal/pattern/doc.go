// Package pattern reads regular expressions in the dialect of flag filters and
// writes them for package regexp (evaluation.md §4.6).
//
// The dialect is Rust's, in which \w and other classes are Unicode's. Package regexp
// reads most patterns alike, but not all: \w is ASCII to it, "[a[bc]]" has another
// meaning, and so has "\<". [Translate] therefore parses the whole pattern and writes
// an expression that package regexp reads as the dialect reads the pattern. It never
// guesses: a pattern is translated, or it is invalid in the dialect as well, or it is
// [ErrUnsupported].
//
//	t, err := pattern.Translate(`\bcafé\b`, limit)
//	m, err := t.Compile()
//	m.MatchString("un café noir") // true
//
// # What is written otherwise
//
//	\d \w \s \D \W \S          classes of Unicode
//	\u00e9 \u{e9} \U000000e9   \x{e9}
//	\h \H \e                   [0-9A-Fa-f], its complement, \x{1b}
//	[a[bc]] [a-z&&[^b]] [a-z--b] [a-c~~b-d]
//	                           the ranges of the class
//	\p{alphabetic} \p{gc=Lu} \p{script:Greek}
//	                           a class that package regexp knows, or ranges
//	(?x) a b # comment         ab
//	(?P<name>a) (?<name>a) (a) (?:a)
//
// # Word boundaries
//
// Package regexp knows word characters of ASCII only. For texts that have others, a
// pattern with \b or \B is matched by a simulation of its program with Unicode's word
// characters, in time that is linear in the length of the text. Texts without them
// are matched by package regexp.
//
// The version of Unicode is the one of package unicode. All functions are pure, and
// matchers are safe for concurrent use.
package pattern
