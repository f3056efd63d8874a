package flags

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
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

var (
	errPattern     = errors.New("the pattern is invalid")
	errPatternDeep = fmt.Errorf("%w: more than %d groups are nested", errRegexTooLarge, maxPatternNesting)
	errPatternLong = fmt.Errorf("%w: its classes are too long", errRegexTooLarge)
)

// What the short names of the dialect stand for, within brackets. wordClass is
// Alphabetic, marks, decimal digits, connectors and Join_Control; spaceClass is White_Space.
const (
	digitClass = `\p{Nd}`
	wordClass  = `\p{L}\p{M}\p{Nd}\p{Nl}\p{Pc}\x{200c}\x{200d}\x{24b6}-\x{24e9}\x{1f130}-\x{1f149}\x{1f150}-\x{1f169}\x{1f170}-\x{1f189}`
	spaceClass = `\x{9}-\x{d}\x{20}\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}`
	hexClass   = `0-9A-Fa-f`
)

var (
	shortClasses = map[rune]string{'d': digitClass, 'w': wordClass, 's': spaceClass, 'h': hexClass}
	controls     = map[rune]rune{'a': '\a', 'e': 0x1b, 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t', 'v': '\v'}
	asciiClasses = map[string]string{
		"alnum": "0-9A-Za-z", "alpha": "A-Za-z", "ascii": `\x{0}-\x{7f}`, "blank": `\x{9}\x{20}`,
		"cntrl": `\x{0}-\x{1f}\x{7f}`, "digit": "0-9", "graph": "!-~", "lower": "a-z", "print": `\x{20}-~`,
		"punct": `!-\/:-@\x{5b}-\x{60}\x{7b}-~`, "space": `\x{9}-\x{d}\x{20}`,
		"upper": "A-Z", "word": "0-9A-Z_a-z", "xdigit": hexClass,
	}
)

// The pieces of a pattern.
var (
	references  = regexp.MustCompile(`\\[1-9k]|\(\?\(|\(\?P=`)
	sign        = regexp.MustCompile(`^(?:\\[Az]|[|^$.*+?])`)
	wordBound   = regexp.MustCompile(`^\\[bB]`)
	repeatCount = regexp.MustCompile(`^\{0*([0-9]{1,9})(?:(,)0*([0-9]{0,9}))?\}`)
	oddCount    = regexp.MustCompile(`^\{[ \t]*[0-9,][0-9, \t]*\}`)
	reference   = regexp.MustCompile(`^(?:\\([1-9][0-9]*)|\(\?P=([_\pL][_\pL\pN]*)\)|\\k<([_\pL][_\pL\pN]*)>)`)
	namedGroup  = regexp.MustCompile(`^\(\?P?<([_\pL][_.\[\]\pL\pN]*)>`)
	otherGroup  = regexp.MustCompile(`^\((?:\?(?:[=!>]|<[=!]|\([0-9]+\)))?`)
	flagGroup   = regexp.MustCompile(`^\(\?(?:([imsxuU]+)|([imsxuU]*)-([imsxU]+))?([:)])`)
	asciiClass  = regexp.MustCompile(`^\[:(\^?)([a-z]+):\]`)
	codePoint   = regexp.MustCompile(`^(?:[xuU]\{([0-9A-Fa-f]{1,8})\}|x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8}))`)
	namedClass  = regexp.MustCompile(`^[pP](?:\{(?:(?i:gc|general_?category|sc|script)([=:]|!=))?([A-Za-z0-9_ -]+)\}|([A-Z]))`)
)

// A patternReader reads a pattern in the dialect of evaluation.md §4.6 and writes it for
// both engines: package regexp, and regexp2 in its mode RE2. They read what is written
// alike, or package regexp refuses it; but for the boundaries of words.
type patternReader struct {
	rest     string
	m        []string // groups of what was matched last
	verbose  []bool   // the flag x, for each group that is open
	names    []string // of groups
	captures bool     // whether groups may be referred to
	boundary bool     // whether it has \b or \B
}

func fault(what string) error { return fmt.Errorf("%w: %s", errPattern, what) }

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

// match passes over what an expression matches, and keeps its groups.
func (r *patternReader) match(re *regexp.Regexp) bool {
	if r.m = re.FindStringSubmatch(r.rest); r.m != nil {
		r.rest = r.rest[len(r.m[0]):]
	}
	return r.m != nil
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
	r := patternReader{rest: pattern, verbose: []bool{false}, captures: references.MatchString(pattern)}
	var out strings.Builder
	for r.skipBlanks(); r.rest != ""; r.skipBlanks() {
		s, err := r.piece()
		switch out.WriteString(s); {
		case err != nil:
			return "", false, err
		case len(r.verbose) > maxPatternNesting:
			return "", false, errPatternDeep
		case out.Len() > maxPatternOut:
			return "", false, errPatternLong
		}
	}
	return out.String(), r.boundary, nil
}

// piece reads a piece of a pattern outside of classes.
func (r *patternReader) piece() (string, error) {
	if c := r.rest[0]; c >= utf8.RuneSelf || isAlphanumeric(c) {
		return literal(r.next()), nil
	}
	verbose := r.verbose[len(r.verbose)-1]
	open := ""
	switch {
	case r.match(sign):
		return r.m[0], nil
	case r.take("["):
		return r.class(len(r.verbose))
	case r.take(")"):
		if r.verbose = r.verbose[:len(r.verbose)-1]; len(r.verbose) == 0 {
			return "", fault("unexpected )")
		}
		return ")", nil
	case r.match(repeatCount):
		return "{" + r.m[1] + r.m[2] + r.m[3] + "}", nil
	case oddCount.MatchString(r.rest):
		return "", fault("a repetition that is not {n}, {n,} or {n,m}")
	case r.match(wordBound):
		r.boundary = true
		if s := r.m[0]; !strings.HasPrefix(r.rest, "{") || repeatCount.MatchString(r.rest) {
			return s, nil
		}
		return "", fault(`\b{`)
	case r.match(reference):
		if n := r.m[1]; n != "" {
			return `(?=)\` + n, nil // package regexp reads \12 as a character
		}
		return `\k<` + r.m[2] + r.m[3] + `>`, nil
	case r.take(`\`):
		i, err := r.item()
		return i.expression(), err
	case r.match(namedGroup):
		if open = "(?<" + r.m[1] + ">"; slices.Contains(r.names, r.m[1]) {
			return "", fault("two groups of one name")
		}
		r.names = append(r.names, r.m[1])
	case r.match(flagGroup):
		on, off, end := r.m[1]+r.m[2], r.m[3], r.m[4]
		for _, f := range on + off {
			if strings.Count(on+off, string(f)) > 1 {
				return "", fault("a flag that comes twice")
			}
		}
		verbose = (verbose || strings.Contains(on, "x")) && !strings.Contains(off, "x")
		// Unicode is on, and which of several matches is found does not matter.
		drop := strings.NewReplacer("x", "", "u", "", "U", "")
		if open = "(?" + drop.Replace(on); drop.Replace(off) != "" {
			open += "-" + drop.Replace(off)
		}
		if end == ":" {
			r.verbose = append(r.verbose, verbose)
			return open + ":", nil
		}
		r.verbose[len(r.verbose)-1] = verbose
		r.skipBlanks()
		if on+off == "" || r.rest != "" && strings.Contains("*+?", r.rest[:1]) || repeatCount.MatchString(r.rest) {
			return "", fault("flags that are missing or repeated")
		}
		if open == "(?" {
			open += ":"
		}
		return open + ")", nil
	case r.match(otherGroup):
		if open = r.m[0]; strings.HasPrefix(r.rest, "?") {
			return "", fault("an unknown kind of group")
		}
	default:
		return literal(r.next()), nil
	}
	if r.verbose = append(r.verbose, verbose); !r.captures && (open == "(" || strings.HasSuffix(open, ">") && open != "(?>") {
		open = "(?:"
	}
	return open, nil
}

// literal writes a character that stands for itself, within brackets and outside.
func literal(c rune) string {
	if c < utf8.RuneSelf && isAlphanumeric(byte(c)) || c >= utf8.RuneSelf && unicode.IsPrint(c) {
		return string(c)
	}
	return `\x{` + strconv.FormatInt(int64(c), 16) + `}`
}

func isAlphanumeric(c byte) bool { return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z' }

// An item is a part of a class, as it stands within brackets.
type item struct {
	text    string
	negated bool
	char    rune // -1: the item is not a single character
}

func charItem(c rune) item { return item{text: literal(c), char: c} }

// expression writes the item for outside of brackets.
func (i item) expression() string {
	switch {
	case i.negated:
		return "[^" + i.text + "]"
	case i.char < 0:
		return "[" + i.text + "]"
	}
	return i.text
}

// item reads what is behind a backslash and stands for a character or for several.
func (r *patternReader) item() (item, error) {
	switch {
	case r.match(codePoint):
		if n, err := strconv.ParseUint(strings.Join(r.m[1:], ""), 16, 31); err == nil && utf8.ValidRune(rune(n)) {
			return charItem(rune(n)), nil
		}
		return item{}, fault("a number that is not a character")
	case r.match(namedClass):
		name := r.m[2] + r.m[3]
		text, ok := properties()[foldProperty(name)]
		if !ok {
			return item{}, fault(fmt.Sprintf("an unknown property %q", name))
		}
		return item{text: text, negated: (r.m[0][0] == 'P') != (r.m[1] == "!="), char: -1}, nil
	}
	before := r.rest
	c := r.next()
	lower := unicode.ToLower(c)
	if s, ok := shortClasses[lower]; ok {
		return item{text: s, negated: c != lower, char: -1}, nil
	}
	if control, ok := controls[c]; ok {
		return charItem(control), nil
	}
	if before == "" || c >= utf8.RuneSelf || isAlphanumeric(byte(c)) || c == '<' || c == '>' {
		return item{}, fault(fmt.Sprintf(`an unknown escape \%.1s`, before))
	}
	return charItem(c), nil
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

// A classBuilder collects the items of a class up to the next operator.
type classBuilder struct {
	plain    string   // what can stand within brackets
	others   []string // expressions for one character
	left, op string   // what comes before
}

// combine returns an expression for what was collected.
func (b *classBuilder) combine() string {
	all := b.others
	if b.plain != "" {
		all = append(all, "["+b.plain+"]")
	}
	s := `[^\x{0}-\x{10ffff}]`
	if len(all) == 1 {
		s = all[0]
	} else if len(all) > 1 {
		s = "(?:" + strings.Join(all, "|") + ")"
	}
	switch b.op {
	case "&&":
		return "(?:(?=" + b.left + ")" + s + ")"
	case "--":
		return "(?:(?!" + s + ")" + b.left + ")"
	case "~~":
		return "(?:(?!" + s + ")" + b.left + "|(?!" + b.left + ")" + s + ")"
	}
	return s
}

// class reads a class behind its opening bracket.
func (r *patternReader) class(depth int) (string, error) {
	if depth > maxPatternNesting {
		return "", errPatternDeep
	}
	r.skipBlanks()
	negated := r.take("^")
	var b classBuilder
	for r.skipBlanks(); r.take("-"); r.skipBlanks() {
		b.plain += literal('-')
	}
	if b.plain == "" && r.take("]") {
		b.plain = literal(']')
	}
	for {
		r.skipBlanks()
		other, i := "", item{}
		var err error
		m := asciiClass.FindStringSubmatch(r.rest)
		switch {
		case r.rest == "":
			return "", fault("missing ]")
		case r.take("]"):
			switch {
			case !negated:
				return b.combine(), nil
			case b.op == "" && len(b.others) == 0:
				return "[^" + b.plain + "]", nil
			}
			return "(?:(?!" + b.combine() + ")(?s:.))", nil
		case strings.HasPrefix(r.rest, "&&"), strings.HasPrefix(r.rest, "--"), strings.HasPrefix(r.rest, "~~"):
			b = classBuilder{left: b.combine(), op: r.rest[:2]}
			r.rest = r.rest[2:]
			continue
		case m != nil && asciiClasses[m[2]] != "":
			r.take(m[0])
			i = item{text: asciiClasses[m[2]], negated: m[1] != ""}
		case r.take("["):
			other, err = r.class(depth + 1)
		default:
			i, err = r.span()
		}
		if i.negated {
			other = i.expression()
		}
		switch {
		case err != nil:
			return "", err
		case len(b.left)+len(other) > maxPatternOut:
			return "", errPatternLong
		case other != "":
			b.others = append(b.others, other)
		default:
			b.plain += i.text
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
	if r.skipBlanks(); r.rest == "" || strings.Contains("]-", r.rest[:1]) {
		r.rest = before
		return low, nil
	}
	high, err := one()
	if err == nil && (low.char < 0 || low.char > high.char) {
		err = fault("a range of characters")
	}
	low.text += "-" + high.text
	return low, err
}
