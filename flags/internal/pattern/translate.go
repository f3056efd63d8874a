package pattern

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// ErrUnsupported says that a pattern needs what package regexp cannot do, or that
// engines of the dialect do not agree on it.
var ErrUnsupported = errors.New("the pattern needs")

// ErrInvalid says that a pattern is wrong.
var ErrInvalid = errors.New("the pattern is invalid")

// ErrTooLarge says that the classes of a pattern exceed the limit of [Translate].
var ErrTooLarge = errors.New("the classes of the pattern are too large")

// A Translation is a pattern as package regexp has it.
type Translation struct {
	// Expression is what package regexp reads.
	Expression string

	// Boundary says that the pattern has \b or \B.
	Boundary bool

	// Work is a measure of what the translation has cost: the number of ranges that
	// classes were computed from. A range takes some nanoseconds.
	Work int
}

// maxRepeat is the highest number of repetitions that package regexp counts.
const maxRepeat = 1000

// Translate reads a pattern, which must be valid UTF-8. The first fault from the left
// decides whether the error is ErrUnsupported or ErrInvalid. It is ErrTooLarge if Work
// or the length of the expression in bytes would exceed the limit.
func Translate(pattern string, limit int) (Translation, error) {
	t := translator{src: pattern, limit: limit, names: make(map[string]bool)}
	err := t.alternation()
	switch {
	case err != nil:
	case t.pos < len(t.src):
		err = t.invalid("unopened group")
	case t.tooLarge():
		err = ErrTooLarge
	}
	if err != nil {
		return Translation{Work: t.work}, err
	}
	return Translation{Expression: string(t.out), Boundary: t.boundary, Work: t.work}, nil
}

// flagSet has the flags of a part of a pattern.
type flagSet struct{ fold, multiline, dotAll, verbose bool }

// A translator parses a pattern and writes each part of it at once.
type translator struct {
	src      string
	pos      int
	flags    flagSet
	names    map[string]bool // of groups
	out      []byte
	work     int
	limit    int
	boundary bool
}

func (t *translator) tooLarge() bool { return t.work > t.limit || len(t.out) > t.limit }

func (t *translator) unsupported(what string) error {
	return fmt.Errorf("%w %s", ErrUnsupported, what)
}

func (t *translator) invalid(what string) error {
	return fmt.Errorf("%w: %s at byte %d", ErrInvalid, what, t.pos)
}

const beyond = "look-around or back-references"

// more reports whether something follows.
func (t *translator) more() bool { return t.pos < len(t.src) }

// next reports whether the text that follows begins so.
func (t *translator) next(s string) bool { return strings.HasPrefix(t.src[t.pos:], s) }

// take passes over a text if it follows.
func (t *translator) take(s string) bool {
	if !t.next(s) {
		return false
	}
	t.pos += len(s)
	return true
}

// rune passes over a character and returns it.
func (t *translator) rune() rune {
	r, n := utf8.DecodeRuneInString(t.src[t.pos:])
	t.pos += n
	return r
}

// skipBlanks passes over blanks and comments, if they mean nothing.
func (t *translator) skipBlanks() {
	for t.flags.verbose && t.more() {
		r, n := utf8.DecodeRuneInString(t.src[t.pos:])
		switch {
		case r == '#':
			end := strings.IndexByte(t.src[t.pos:], '\n')
			if end < 0 {
				t.pos = len(t.src)
				return
			}
			t.pos += end + 1
		case unicode.IsSpace(r):
			t.pos += n
		default:
			return
		}
	}
}

func (t *translator) write(s string) { t.out = append(t.out, s...) }

// alternation reads up to the end of a group or of the pattern. Flags that are set
// within hold up to there. Groups are nested no deeper than the pattern is long.
func (t *translator) alternation() error {
	for {
		if err := t.concatenation(); err != nil || !t.take("|") {
			return err
		}
		t.write("|")
	}
}

// concatenation reads pieces up to the end of an alternative.
func (t *translator) concatenation() error {
	for {
		t.skipBlanks()
		if !t.more() || t.next("|") || t.next(")") {
			return nil
		}
		if t.tooLarge() {
			return ErrTooLarge
		}
		repeatable, err := t.atom()
		if err != nil {
			return err
		}
		if repeatable {
			if err := t.repetition(); err != nil {
				return err
			}
		}
	}
}

// atom reads one thing that can be repeated, or a setting of flags, which cannot.
func (t *translator) atom() (repeatable bool, err error) {
	start := t.pos
	switch r := t.rune(); r {
	case '(':
		return t.group()
	case '[':
		return true, t.class()
	case '\\':
		return true, t.escape()
	case '.':
		t.write(".")
	case '^':
		t.write("^")
	case '$':
		t.write("$")
	case '*', '+', '?':
		t.pos = start
		return false, t.invalid("nothing to repeat")
	case '{':
		t.pos = start
		switch _, _, form := t.counts(); form {
		case countsNone:
			t.pos++
			t.literal('{')
		case countsOdd:
			return false, t.unsupported("a repetition that is not {n}, {n,} or {n,m}")
		default:
			t.pos = start
			return false, t.invalid("nothing to repeat")
		}
	default:
		t.literal(r)
	}
	return true, nil
}

// literal writes a character that stands for itself.
func (t *translator) literal(r rune) { t.write(regexp.QuoteMeta(string(r))) }

// codePoint writes a character by its number.
func (t *translator) codePoint(r rune) { t.out = appendCodePoint(t.out, r) }

func appendCodePoint(dst []byte, r rune) []byte {
	dst = append(dst, `\x{`...)
	return append(strconv.AppendInt(dst, int64(r), 16), '}')
}

// repetition reads what says how often the atom before it occurs.
func (t *translator) repetition() error {
	t.skipBlanks()
	switch {
	case t.take("*"):
		t.write("*")
	case t.take("+"):
		t.write("+")
	case t.take("?"):
		t.write("?")
	case t.next("{"):
		low, high, form := t.counts()
		switch {
		case form == countsNone:
			return nil
		case form == countsOdd:
			return t.unsupported("a repetition that is not {n}, {n,} or {n,m}")
		case low > maxRepeat || high > maxRepeat:
			return t.unsupported(fmt.Sprintf("a repeat count over %d", maxRepeat))
		case high >= 0 && low > high:
			return t.invalid("a repetition from more to less")
		}
		t.write("{" + strconv.Itoa(low) + ",")
		if high >= 0 {
			t.write(strconv.Itoa(high))
		}
		t.write("}")
	default:
		return nil
	}
	t.take("?") // as few as possible: whether there is a match is the same
	if t.take("+") {
		return t.unsupported(beyond) // a possessive repetition
	}
	t.skipBlanks()
	if t.next("*") || t.next("+") || t.next("?") {
		return t.unsupported("a repetition of a repetition")
	}
	if t.next("{") {
		at := t.pos
		if _, _, form := t.counts(); form != countsNone {
			return t.unsupported("a repetition of a repetition")
		}
		t.pos = at
	}
	return nil
}

// countsForm tells what an opening brace begins.
type countsForm int

const (
	countsNone countsForm = iota // nothing: it stands for itself
	countsGood                   // {n}, {n,} or {n,m}
	countsOdd                    // another form, which engines read differently
)

// counts reads {n}, {n,} or {n,m}; high is -1 if there is no upper bound. Only for
// these it passes over what it has read. Numbers that are too large are one more than
// maxRepeat.
func (t *translator) counts() (low, high int, form countsForm) {
	rest := t.src[t.pos+1:]
	end := strings.IndexByte(rest, '}')
	if end < 0 || strings.Trim(rest[:end], "0123456789, \t") != "" || !strings.ContainsAny(rest[:end], "0123456789,") {
		return 0, 0, countsNone
	}
	first, second, two := strings.Cut(rest[:end], ",")
	low, ok := number(first)
	high, ok2 := low, true
	if two {
		high = -1
		if second != "" {
			high, ok2 = number(second)
		}
	}
	if !ok || !ok2 {
		return 0, 0, countsOdd
	}
	t.pos += end + 2
	return low, high, countsGood
}

// number reads decimal digits.
func number(digits string) (int, bool) {
	if digits == "" || strings.Trim(digits, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.Atoi(digits)
	if err != nil || n > maxRepeat {
		n = maxRepeat + 1
	}
	return n, true
}

// group reads what follows an opening parenthesis.
func (t *translator) group() (repeatable bool, err error) {
	outer := t.flags
	switch {
	case !t.take("?"):
		t.write("(?:")
	case t.next("=") || t.next("!") || t.next("<=") || t.next("<!") || t.next(">") || t.next("("):
		return false, t.unsupported(beyond)
	case t.next("P=") || t.next("P>") || t.next("&") || t.next("#") || t.next("|") || t.next("~") || t.next("'") ||
		t.more() && '0' <= t.src[t.pos] && t.src[t.pos] <= '9':
		return false, t.unsupported("the group (?" + t.src[t.pos:t.pos+1])
	case t.take("P<"), t.take("<"):
		if err := t.name(); err != nil {
			return false, err
		}
		t.write("(?:")
	default:
		alone, err := t.setFlags()
		if err != nil {
			return false, err
		}
		if alone {
			t.writeFlags(outer, ")")
			return false, nil
		}
		t.writeFlags(outer, ":")
	}
	if err := t.alternation(); err != nil {
		return false, err
	}
	if !t.take(")") {
		return false, t.invalid("unclosed group")
	}
	t.write(")")
	t.flags = outer
	return true, nil
}

// writeFlags writes "(?", the flags that package regexp is told of, as far as the outer
// ones differ, and what comes behind. It writes nothing if that would set nothing.
func (t *translator) writeFlags(outer flagSet, behind string) {
	on, off := "", ""
	for _, f := range []struct {
		name     string
		now, was bool
	}{{"i", t.flags.fold, outer.fold}, {"m", t.flags.multiline, outer.multiline}, {"s", t.flags.dotAll, outer.dotAll}} {
		switch {
		case f.now && !f.was:
			on += f.name
		case f.was && !f.now:
			off += f.name
		}
	}
	if off != "" {
		off = "-" + off
	}
	if on+off == "" && behind == ")" {
		return
	}
	t.write("(?" + on + off + behind)
}

// name reads the name of a group and the > behind it.
func (t *translator) name() error {
	end := strings.IndexByte(t.src[t.pos:], '>')
	if end < 0 {
		return t.invalid("the name of a group has no end")
	}
	name := t.src[t.pos : t.pos+end]
	for i, r := range name {
		if r == '_' || unicode.IsLetter(r) || i > 0 && (r == '.' || r == '[' || r == ']' || unicode.IsNumber(r)) {
			continue
		}
		return t.invalid("a group with this name")
	}
	if name == "" || t.names[name] {
		return t.invalid("a group without a name of its own")
	}
	t.names[name] = true
	t.pos += end + 1
	return nil
}

// setFlags reads flags up to ":" or ")". alone says that it was ")".
func (t *translator) setFlags() (alone bool, err error) {
	seen := ""
	negated, dangling := false, true
	for t.more() {
		c := t.src[t.pos]
		switch {
		case c == ':' || c == ')':
			if dangling && (c == ')' || negated) {
				return false, t.invalid("flags that are missing")
			}
			t.pos++
			return c == ')', nil
		case c == '-' && !negated:
			negated, dangling = true, true
		case strings.IndexByte(seen, c) >= 0:
			return false, t.invalid("a flag that comes twice")
		case c == 'i':
			t.flags.fold = !negated
		case c == 'm':
			t.flags.multiline = !negated
		case c == 's':
			t.flags.dotAll = !negated
		case c == 'x':
			t.flags.verbose = !negated
		case c == 'u' && negated:
			return false, t.unsupported("the flag -u")
		case c == 'R':
			return false, t.unsupported("the flag R")
		case c == 'U' || c == 'u':
			// Which of several matches is found does not matter, and Unicode is on.
		default:
			return false, t.invalid("an unknown flag")
		}
		if c != '-' {
			dangling = false
			seen += string(c)
		}
		t.pos++
	}
	return false, t.invalid("unclosed group")
}

// escape reads what follows a backslash outside of classes.
func (t *translator) escape() error {
	if !t.more() {
		return t.invalid("a backslash with nothing behind it")
	}
	start := t.pos
	switch c := t.src[t.pos]; c {
	case 'A', 'z':
		t.pos++
		t.write(`\` + string(c))
		return nil
	case 'b', 'B':
		t.pos++
		if t.next("{") {
			if _, _, form := t.counts(); form != countsGood {
				return t.unsupported(`\` + string(c) + `{`)
			}
			t.pos = start + 1
		}
		t.boundary = true
		t.write(`\` + string(c))
		return nil
	case 'k', 'g', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		return t.unsupported(beyond)
	case '<', '>', 'K', 'G', 'Z', 'O', 'N', 'R', 'X':
		return t.unsupported(`\` + string(c))
	}
	e, err := t.escapeItem()
	if err != nil {
		return err
	}
	if e.literal {
		t.literalOrCode(e.low)
		return nil
	}
	c := class{items: []item{e}}
	if e.negated && !e.named.hasText(true) {
		// Package regexp can name the complement of the class, though not in brackets.
		c.items[0].negated, c.negated = false, true
	}
	return t.writeClass(&c)
}

// literalOrCode writes a character that was escaped.
func (t *translator) literalOrCode(r rune) {
	if unicode.IsPrint(r) {
		t.literal(r)
	} else {
		t.codePoint(r)
	}
}

// escapeItem reads what follows a backslash and stands for a character or a class of
// characters.
func (t *translator) escapeItem() (item, error) {
	if !t.more() {
		return item{}, t.invalid("a backslash with nothing behind it")
	}
	start := t.pos
	r := t.rune()
	switch r {
	case 'd', 'D', 'w', 'W', 's', 'S', 'h', 'H':
		return perlItem(byte(r)), nil
	case 'p', 'P':
		return t.property(r == 'P')
	case 'x', 'u', 'U':
		return t.hex(byte(r))
	case 'a':
		return char('\a'), nil
	case 'e':
		return char('\x1b'), nil
	case 'f':
		return char('\f'), nil
	case 't':
		return char('\t'), nil
	case 'n':
		return char('\n'), nil
	case 'r':
		return char('\r'), nil
	case 'v':
		return char('\v'), nil
	}
	if r < utf8.RuneSelf && !isAlphanumeric(byte(r)) && r != '<' && r != '>' {
		return char(r), nil
	}
	t.pos = start
	return item{}, t.invalid("an unknown escape")
}

func isAlphanumeric(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
}

// hex reads the number of a character behind \x, \u or \U: in braces, or with exactly
// two, four or eight digits.
func (t *translator) hex(kind byte) (item, error) {
	digits := ""
	if t.take("{") {
		end := strings.IndexByte(t.src[t.pos:], '}')
		if end < 0 {
			return item{}, t.invalid("a number without an end")
		}
		digits = t.src[t.pos : t.pos+end]
		t.pos += end + 1
	} else {
		n := map[byte]int{'x': 2, 'u': 4, 'U': 8}[kind]
		if len(t.src)-t.pos < n {
			return item{}, t.invalid("too few hexadecimal digits")
		}
		digits = t.src[t.pos : t.pos+n]
		t.pos += n
	}
	n, err := strconv.ParseUint(digits, 16, 32)
	if err != nil || !utf8.ValidRune(rune(n)) || n > unicode.MaxRune {
		return item{}, t.invalid("a number that is no character")
	}
	return char(rune(n)), nil
}

// property reads what follows \p or \P.
func (t *translator) property(negated bool) (item, error) {
	if !t.more() {
		return item{}, t.invalid("a property without a name")
	}
	name := ""
	if t.take("{") {
		end := strings.IndexByte(t.src[t.pos:], '}')
		if end < 0 {
			return item{}, t.invalid("a property without an end")
		}
		name = t.src[t.pos : t.pos+end]
		t.pos += end + 1
	} else {
		name = string(t.rune())
	}
	p, not, ok := findProperty(name)
	if !ok {
		return item{}, t.unsupported(fmt.Sprintf("the Unicode property %.40q", name))
	}
	return item{named: p, negated: negated != not}, nil
}

// Compile compiles the expression.
func (t Translation) Compile() (Matcher, error) {
	re, err := regexp.Compile(t.Expression)
	if err != nil || !t.Boundary {
		return re, err
	}
	return newBoundaryMatcher(re, t.Expression)
}

// A Matcher is a compiled pattern.
type Matcher interface {
	MatchString(s string) bool
}

// Parse parses the expression, so that its size can be judged. An error is
// ErrUnsupported if nested repetitions amount to more than package regexp counts.
func (t Translation) Parse() (*syntax.Regexp, error) {
	re, err := syntax.Parse(t.Expression, syntax.Perl)
	if err == nil {
		return re, nil
	}
	e, ok := errors.AsType[*syntax.Error](err)
	switch {
	case ok && e.Code == syntax.ErrInvalidRepeatSize:
		return nil, fmt.Errorf("%w nested repetitions of more than %d", ErrUnsupported, maxRepeat)
	case ok && (e.Code == syntax.ErrNestingDepth || e.Code == syntax.ErrLarge):
		return nil, fmt.Errorf("%w: %s", ErrInvalid, e.Code)
	}
	return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
}
