package flags

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// Limits of one pattern that is written out.
const (
	maxPatternNesting = 50       // groups and classes
	maxPatternOut     = 64 << 10 // bytes
)

var errPattern = errors.New("the pattern is invalid")

// What the short names of the dialect stand for, within brackets. wordClass is
// Alphabetic, marks, decimal digits, connectors and Join_Control; spaceClass is White_Space.
const (
	digitClass = `\p{Nd}`
	wordClass  = `\p{L}\p{M}\p{Nd}\p{Nl}\p{Pc}\x{200c}\x{200d}\x{24b6}-\x{24e9}\x{1f130}-\x{1f149}\x{1f150}-\x{1f169}\x{1f170}-\x{1f189}`
	spaceClass = `\x{9}-\x{d}\x{20}\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}`
	hexClass   = `0-9A-Fa-f`
)

var asciiClasses = map[string]string{
	"alnum": "0-9A-Za-z", "alpha": "A-Za-z", "ascii": `\x{0}-\x{7f}`, "blank": `\x{9}\x{20}`, "cntrl": `\x{0}-\x{1f}\x{7f}`, "digit": "0-9", "graph": "!-~",
	"lower": "a-z", "print": `\x{20}-~`, "punct": `!-\/:-@\x{5b}-\x{60}\x{7b}-~`, "space": `\x{9}-\x{d}\x{20}`, "upper": "A-Z", "word": "0-9A-Z_a-z", "xdigit": hexClass,
}

var (
	references  = regexp.MustCompile(`\\[1-9k]|\(\?\(|\(\?P=`)
	repeatCount = regexp.MustCompile(`^\{([0-9]+)(,?)([0-9]*)\}`)
	oddCount    = regexp.MustCompile(`^\{[ \t]*[0-9,][0-9, \t]*\}`)
	namedGroup  = regexp.MustCompile(`^\(\?P?<([_\pL][_.\[\]\pL\pN]*)>`)
	namedRef    = regexp.MustCompile(`^(?:\(\?P=([_\pL][_\pL\pN]*)\)|\\k<([_\pL][_\pL\pN]*)>)`)
	lookAround  = regexp.MustCompile(`^\(\?(?:[=!>]|<[=!]|\([0-9]+\))`)
	flagGroup   = regexp.MustCompile(`^\(\?([imsxuU]*)(?:-([imsxU]+))?([:)])`)
	asciiClass  = regexp.MustCompile(`^\[:(\^?)([a-z]+):\]`)
	codePoint   = regexp.MustCompile(`^(?:\{([0-9A-Fa-f]{1,8})\}|x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8}))`)
	namedClass  = regexp.MustCompile(`^(?:\{(?:(?i:gc|general_?category|sc|script)([=:]|!=))?([A-Za-z0-9_ -]+)\}|([A-Z]))`)
)

// A patternReader reads a pattern in the dialect of evaluation.md §4.6 and writes it for
// both engines: package regexp, and regexp2 in its mode RE2. They read what is written
// alike, or package regexp refuses it; but for the boundaries of words.
type patternReader struct {
	rest     string
	out      strings.Builder
	verbose  []bool          // the flag x, for each group that is open
	names    map[string]bool // of groups
	captures bool            // whether groups may be referred to
	boundary bool            // whether it has \b or \B
}

func (r *patternReader) fault(what string) error { return fmt.Errorf("%w: %s", errPattern, what) }

// take passes over a text if it follows.
func (r *patternReader) take(s string) (ok bool) {
	r.rest, ok = strings.CutPrefix(r.rest, s)
	return ok
}

// next passes over a character and returns it.
func (r *patternReader) next() rune {
	c, n := utf8.DecodeRuneInString(r.rest)
	r.rest = r.rest[n:]
	return c
}

// match passes over what an expression matches and returns its groups.
func (r *patternReader) match(re *regexp.Regexp) []string {
	m := re.FindStringSubmatch(r.rest)
	if m != nil {
		r.rest = r.rest[len(m[0]):]
	}
	return m
}

// skipBlanks passes over white space and comments, if they mean nothing.
func (r *patternReader) skipBlanks() {
	for r.verbose[len(r.verbose)-1] && r.rest != "" {
		if c, n := utf8.DecodeRuneInString(r.rest); unicode.IsSpace(c) {
			r.rest = r.rest[n:]
		} else if c == '#' {
			_, r.rest, _ = strings.Cut(r.rest, "\n")
		} else {
			return
		}
	}
}

// readPattern reads a pattern. boundary says that \b and \B in what is written are those
// of the dialect, which package regexp knows for texts of ASCII only.
func readPattern(pattern string) (written string, boundary bool, err error) {
	r := patternReader{rest: pattern, verbose: []bool{false}, names: map[string]bool{}, captures: references.MatchString(pattern)}
	for r.skipBlanks(); r.rest != "" && err == nil; r.skipBlanks() {
		err = r.piece()
		switch {
		case err != nil:
		case len(r.verbose) > maxPatternNesting:
			err = fmt.Errorf("%w: more than %d groups are nested", errRegexTooLarge, maxPatternNesting)
		case r.out.Len() > maxPatternOut:
			err = fmt.Errorf("%w: its classes are too long", errRegexTooLarge)
		}
	}
	return r.out.String(), r.boundary, err
}

// piece reads a piece of a pattern outside of classes.
func (r *patternReader) piece() error {
	switch c := r.next(); c {
	case '[':
		s, err := r.class(len(r.verbose))
		r.out.WriteString(s)
		return err
	case '\\':
		return r.escape()
	case '(':
		r.rest = "(" + r.rest
		return r.group()
	case ')':
		if len(r.verbose) == 1 {
			return r.fault("unexpected )")
		}
		r.verbose = r.verbose[:len(r.verbose)-1]
		r.out.WriteByte(')')
	case '{':
		r.rest = "{" + r.rest
		if m := r.match(repeatCount); m != nil {
			low, err1 := strconv.Atoi(m[1])
			high, err2 := strconv.Atoi("0" + m[3])
			if err1 != nil || err2 != nil || m[2] == "" && m[3] != "" {
				return r.fault("a count of repetitions")
			}
			r.out.WriteString("{" + strconv.Itoa(low) + m[2])
			if m[3] != "" {
				r.out.WriteString(strconv.Itoa(high))
			}
			r.out.WriteByte('}')
			return nil
		}
		if oddCount.MatchString(r.rest) {
			return r.fault("a repetition that is not {n}, {n,} or {n,m}")
		}
		r.next()
		r.out.WriteString(literal('{'))
	case '|', '^', '$', '.', '*', '+', '?':
		r.out.WriteRune(c)
	default:
		r.out.WriteString(literal(c))
	}
	return nil
}

// literal writes a character that stands for itself, for within brackets and outside.
func literal(c rune) string {
	if c < utf8.RuneSelf && isAlphanumeric(byte(c)) || c >= utf8.RuneSelf && unicode.IsPrint(c) {
		return string(c)
	}
	return fmt.Sprintf(`\x{%x}`, c)
}

func isAlphanumeric(c byte) bool { return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z' }

// group reads the beginning of a group, or what looks like one.
func (r *patternReader) group() error {
	verbose := r.verbose[len(r.verbose)-1]
	if m := r.match(namedRef); m != nil {
		r.out.WriteString(`\k<` + m[1] + `>`)
		return nil
	}
	open := "(?:"
	if !strings.HasPrefix(r.rest, "(?") {
		r.take("(")
		if r.captures {
			open = "("
		}
	} else if m := r.match(lookAround); m != nil {
		open = m[0]
	} else if m := r.match(namedGroup); m != nil {
		if r.names[m[1]] {
			return r.fault("two groups of one name")
		}
		r.names[m[1]] = true
		if r.captures {
			open = "(?<" + m[1] + ">"
		}
	} else if m := r.match(flagGroup); m != nil {
		on, off := m[1], m[2]
		for _, f := range on + off {
			if strings.Count(on+off, string(f)) > 1 {
				return r.fault("a flag that comes twice")
			}
		}
		verbose = (verbose || strings.Contains(on, "x")) && !strings.Contains(off, "x")
		// Unicode is on, and which of several matches is found does not matter.
		drop := strings.NewReplacer("x", "", "u", "", "U", "")
		open = "(?" + drop.Replace(on)
		if off = drop.Replace(off); off != "" {
			open += "-" + off
		}
		if m[3] == ")" {
			if on+m[2] == "" {
				return r.fault("flags are missing")
			}
			r.verbose[len(r.verbose)-1] = verbose
			if open == "(?" {
				open = "(?:"
			}
			r.out.WriteString(open + ")")
			if r.skipBlanks(); r.rest != "" && strings.Contains("*+?", r.rest[:1]) || repeatCount.MatchString(r.rest) {
				return r.fault("nothing to repeat")
			}
			return nil
		}
		open += ":"
	} else {
		return r.fault("an unknown kind of group")
	}
	r.verbose = append(r.verbose, verbose)
	r.out.WriteString(open)
	return nil
}

// escape reads what is behind a backslash, outside of classes.
func (r *patternReader) escape() error {
	r.rest = `\` + r.rest
	if m := r.match(namedRef); m != nil {
		r.out.WriteString(`\k<` + m[2] + `>`)
		return nil
	}
	r.take(`\`)
	c, _ := utf8.DecodeRuneInString(r.rest)
	switch {
	case c == 'A', c == 'z':
		r.out.WriteString(`\` + string(r.next()))
		return nil
	case c == 'b', c == 'B':
		r.out.WriteString(`\` + string(r.next()))
		if strings.HasPrefix(r.rest, "{") && !repeatCount.MatchString(r.rest) {
			return r.fault(`\b{`)
		}
		r.boundary = true
		return nil
	case '1' <= c && c <= '9':
		n := len(r.rest) - len(strings.TrimLeft(r.rest, "0123456789"))
		// Package regexp reads \12 otherwise, but nothing refers to an unnamed group.
		r.out.WriteString(`(?=)\` + r.rest[:n])
		r.rest = r.rest[n:]
		return nil
	}
	i, err := r.item()
	if err != nil {
		return err
	}
	r.out.WriteString(i.expression())
	return nil
}

// An item is a part of a class, as it stands within brackets.
type item struct {
	text     string
	negated  bool
	char     rune
	isAClass bool
}

func (i item) expression() string {
	switch {
	case i.negated:
		return "[^" + i.text + "]"
	case i.isAClass:
		return "[" + i.text + "]"
	}
	return i.text
}

func charItem(c rune) item { return item{text: literal(c), char: c} }

// item reads what is behind a backslash and stands for a character or for several.
func (r *patternReader) item() (item, error) {
	before := r.rest
	c := r.next()
	lower := unicode.ToLower(c)
	if s, ok := map[rune]string{'d': digitClass, 'w': wordClass, 's': spaceClass, 'h': hexClass}[lower]; ok {
		return item{text: s, negated: c != lower, isAClass: true}, nil
	}
	if s, ok := map[rune]rune{'a': '\a', 'e': 0x1b, 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t', 'v': '\v'}[c]; ok {
		return charItem(s), nil
	}
	switch {
	case lower == 'p':
		return r.property(c == 'P')
	case c == 'x', lower == 'u':
		if !strings.HasPrefix(r.rest, "{") {
			r.rest = before
		}
		if m := r.match(codePoint); m != nil {
			if n, err := strconv.ParseUint(strings.Join(m[1:], ""), 16, 32); err == nil && n <= unicode.MaxRune && utf8.ValidRune(rune(n)) {
				return charItem(rune(n)), nil
			}
		}
		return item{}, r.fault("a number that is not a character")
	case before == "" || c >= utf8.RuneSelf || isAlphanumeric(byte(c)) || c == '<' || c == '>':
		return item{}, r.fault(fmt.Sprintf(`an unknown escape \%.1s`, before))
	}
	return charItem(c), nil
}

// property reads what is behind \p or \P.
func (r *patternReader) property(negated bool) (item, error) {
	m := r.match(namedClass)
	if m == nil {
		return item{}, r.fault("a property of characters")
	}
	text, ok := properties()[foldProperty(m[2]+m[3])]
	if !ok {
		return item{}, r.fault(fmt.Sprintf("an unknown property %q", m[2]+m[3]))
	}
	return item{text: text, negated: negated != (m[1] == "!="), isAClass: true}, nil
}

// foldProperty returns a name without what spellings differ in.
func foldProperty(name string) string {
	return strings.TrimPrefix(strings.ToLower(strings.NewReplacer("_", "", "-", "", " ", "").Replace(name)), "is")
}

// properties has what stands for properties of characters within brackets, by folded name.
var properties = sync.OnceValue(func() map[string]string {
	all := make(map[string]string)
	for _, tables := range []map[string]*unicode.RangeTable{unicode.Properties, unicode.Scripts, unicode.Categories} {
		for name := range tables {
			all[foldProperty(name)] = `\p{` + name + `}`
		}
	}
	for alias, name := range unicode.CategoryAliases {
		all[foldProperty(alias)] = `\p{` + name + `}`
	}
	lower, upper := `\p{Ll}\p{Other_Lowercase}`, `\p{Lu}\p{Other_Uppercase}`
	for names, text := range map[string]string{
		"any": `\x{0}-\x{10ffff}`, "ascii": `\x{0}-\x{7f}`, "assigned": `\P{Cn}`, "alphabetic alpha": `\p{L}\p{Nl}\p{Other_Alphabetic}`,
		"lowercase lower": lower, "uppercase upper": upper, "cased": `\p{Lt}` + lower + upper, "math": `\p{Sm}\p{Other_Math}`,
		"whitespace wspace space": spaceClass, "hexdigit hex": `\p{Hex_Digit}`, "asciihexdigit ahex": hexClass,
	} {
		for name := range strings.FieldsSeq(names) {
			all[name] = text
		}
	}
	return all
})

// class reads a class behind its opening bracket.
func (r *patternReader) class(depth int) (string, error) {
	if depth > maxPatternNesting {
		return "", fmt.Errorf("%w: more than %d groups are nested", errRegexTooLarge, maxPatternNesting)
	}
	r.skipBlanks()
	negated := r.take("^")
	var (
		plain    string   // what can stand within brackets
		others   []string // expressions for one character
		left, op string
	)
	combined := func() string {
		s := "[" + plain + "]"
		switch {
		case plain == "" && len(others) == 0:
			s = `[^\x{0}-\x{10ffff}]`
		case plain == "":
			s = "(?:" + strings.Join(others, "|") + ")"
		case len(others) > 0:
			s = "(?:" + s + "|" + strings.Join(others, "|") + ")"
		}
		plain, others = "", nil
		switch op {
		case "&&":
			return "(?:(?=" + left + ")" + s + ")"
		case "--":
			return "(?:(?!" + s + ")" + left + ")"
		case "~~":
			return "(?:(?!" + s + ")" + left + "|(?!" + left + ")" + s + ")"
		}
		return s
	}
	for r.skipBlanks(); r.take("-"); r.skipBlanks() {
		plain += literal('-')
	}
	if plain == "" && r.take("]") {
		plain = literal(']')
	}
	for {
		r.skipBlanks()
		if len(left) > maxPatternOut || len(others) > 0 && len(others[len(others)-1]) > maxPatternOut {
			return "", fmt.Errorf("%w: its classes are too long", errRegexTooLarge)
		}
		switch {
		case r.rest == "":
			return "", r.fault("missing ]")
		case r.take("]"):
			switch {
			case negated && op == "" && len(others) == 0:
				return "[^" + plain + "]", nil
			case negated:
				return "(?:(?!" + combined() + ")(?s:.))", nil
			}
			return combined(), nil
		case strings.HasPrefix(r.rest, "&&"), strings.HasPrefix(r.rest, "--"), strings.HasPrefix(r.rest, "~~"):
			left, op = combined(), r.rest[:2]
			r.rest = r.rest[2:]
			continue
		}
		i, s := item{}, ""
		var err error
		if m := asciiClass.FindStringSubmatch(r.rest); m != nil && asciiClasses[m[2]] != "" {
			r.take(m[0])
			i = item{text: asciiClasses[m[2]], negated: m[1] != ""}
		} else if r.take("[") {
			s, err = r.class(depth + 1)
		} else {
			i, err = r.span()
		}
		switch {
		case err != nil:
			return "", err
		case i.negated:
			others = append(others, i.expression())
		case s != "":
			others = append(others, s)
		default:
			plain += i.text
		}
	}
}

// span reads a character, an escape or a range within a class.
func (r *patternReader) span() (item, error) {
	one := func() (item, error) {
		if r.take(`\`) {
			return r.item()
		}
		return charItem(r.next()), nil
	}
	low, err := one()
	r.skipBlanks()
	before := r.rest
	if err != nil || !r.take("-") {
		return low, err
	}
	r.skipBlanks()
	if strings.HasPrefix(r.rest, "]") || strings.HasPrefix(r.rest, "-") || r.rest == "" {
		r.rest = before
		return low, nil
	}
	high, err := one()
	if err == nil && (low.isAClass || high.isAClass || low.char > high.char) {
		err = r.fault("a range of characters")
	}
	low.text += "-" + high.text
	return low, err
}
