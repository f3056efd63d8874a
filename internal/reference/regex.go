package reference

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// regexSupport says how a pattern is treated.
type regexSupport int

const (
	regexSupported   regexSupport = iota
	regexInvalid                  // invalid: never matches (§4.6)
	regexUnsupported              // not supported: breaks its filter (§4.6)
)

// MatchPattern matches a pattern of §4.6 with a text. The treatment is "supported",
// "invalid" or "unsupported".
func MatchPattern(pattern, text string) (matched bool, treatment string) {
	re, support := compileRegex(pattern)
	treatment = map[regexSupport]string{regexSupported: "supported", regexInvalid: "invalid", regexUnsupported: "unsupported"}[support]
	return support == regexSupported && re.MatchString(text), treatment
}

// A regex is a pattern that was read. It leads from places in a text to the places
// where a match from there can end. Places lie before the characters and at the end.
type regex func(text []rune, at places) places

// places has an element for each place of a text.
type places []bool

// MatchString reports whether the text has a match anywhere.
func (re regex) MatchString(s string) bool {
	text := []rune(s)
	everywhere := make(places, len(text)+1)
	for i := range everywhere {
		everywhere[i] = true
	}
	return slices.Contains(re(text, everywhere), true)
}

func either(a, b places) places {
	out := slices.Clone(a)
	for i := range b {
		out[i] = out[i] || b[i]
	}
	return out
}

func nothing(_ []rune, at places) places { return at }

// one matches one character.
func one(class charClass) regex {
	return func(text []rune, at places) places {
		out := make(places, len(at))
		for i, r := range text {
			out[i+1] = at[i] && class(r)
		}
		return out
	}
}

// lookAt matches nothing at the places that satisfy a condition.
func lookAt(condition func(text []rune, i int) bool) regex {
	return func(text []rune, at places) places {
		out := make(places, len(at))
		for i := range at {
			out[i] = at[i] && condition(text, i)
		}
		return out
	}
}

func sequence(a, b regex) regex {
	return func(text []rune, at places) places { return b(text, a(text, at)) }
}

func alternative(a, b regex) regex {
	return func(text []rune, at places) places { return either(a(text, at), b(text, at)) }
}

// times repeats a regex, with no upper bound if high is negative.
func times(re regex, low, high int) regex {
	return func(text []rune, at places) places {
		for range low {
			at = re(text, at)
		}
		for n := low; high < 0 || n < high; n++ {
			more := either(at, re(text, at))
			if slices.Equal(more, at) {
				break
			}
			at = more
		}
		return at
	}
}

// A charClass says which characters belong to a class.
type charClass func(r rune) bool

func (c charClass) not() charClass { return func(r rune) bool { return !c(r) } }

func (c charClass) or(d charClass) charClass { return func(r rune) bool { return c(r) || d(r) } }

func (c charClass) and(d charClass) charClass { return func(r rune) bool { return c(r) && d(r) } }

// anyCase adds the other cases of letters.
func (c charClass) anyCase() charClass {
	return func(r rune) bool {
		for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
			if c(other) {
				return true
			}
		}
		return c(r)
	}
}

func between(low, high rune) charClass {
	return func(r rune) bool { return low <= r && r <= high }
}

func inTables(tables ...*unicode.RangeTable) charClass {
	return func(r rune) bool { return unicode.In(r, tables...) }
}

func oneOf(characters string) charClass {
	return func(r rune) bool { return strings.ContainsRune(characters, r) }
}

// isWordCharacter is \w.
var isWordCharacter = inTables(unicode.L, unicode.Nl, unicode.Other_Alphabetic, unicode.M, unicode.Nd, unicode.Pc, unicode.Join_Control)

// namedClasses are the classes of \d and the like.
var namedClasses = map[rune]charClass{
	'd': inTables(unicode.Nd), 's': inTables(unicode.White_Space), 'w': isWordCharacter, 'h': oneOf("0123456789abcdefABCDEF"),
	'D': inTables(unicode.Nd).not(), 'S': inTables(unicode.White_Space).not(), 'W': isWordCharacter.not(), 'H': oneOf("0123456789abcdefABCDEF").not(),
}

// asciiClasses are the classes of [:name:].
var asciiClasses = func() map[string]charClass {
	lower, upper, digit := between('a', 'z'), between('A', 'Z'), between('0', '9')
	alpha := lower.or(upper)
	graph := between('!', '~')
	return map[string]charClass{
		"alnum": alpha.or(digit), "alpha": alpha, "ascii": between(0, 0x7f), "blank": oneOf(" \t"), "cntrl": between(0, 0x1f).or(oneOf("\x7f")), "digit": digit,
		"graph": graph, "lower": lower, "print": between(' ', '~'), "punct": graph.and(alpha.or(digit).not()), "space": oneOf("\t\n\v\f\r "), "upper": upper,
		"word": alpha.or(digit).or(oneOf("_")), "xdigit": namedClasses['h'],
	}
}()

// isBoundary is \b.
func isBoundary(text []rune, i int) bool {
	before := i > 0 && isWordCharacter(text[i-1])
	after := i < len(text) && isWordCharacter(text[i])
	return before != after
}

// propertyOf finds the class of a name in \p{…} (§4.6).
func propertyOf(name string) (class charClass, ok bool) {
	name = strings.NewReplacer("_", "", "-", "", " ", "").Replace(strings.ToLower(name))
	for _, sign := range []string{"!=", "=", ":"} {
		kind, value, found := strings.Cut(name, sign)
		if !found {
			continue
		}
		value = strings.TrimPrefix(value, "is")
		switch strings.TrimPrefix(kind, "is") {
		case "gc", "generalcategory":
			class = categoryOf(value)
		case "sc", "script":
			class = tableOf(unicode.Scripts, value)
		}
		if class != nil && sign == "!=" {
			class = class.not()
		}
		return class, class != nil
	}
	name = strings.TrimPrefix(name, "is")
	lowercase := inTables(unicode.Ll, unicode.Other_Lowercase)
	uppercase := inTables(unicode.Lu, unicode.Other_Uppercase)
	start := inTables(unicode.L, unicode.Nl, unicode.Other_ID_Start)
	syntax := inTables(unicode.Pattern_Syntax, unicode.Pattern_White_Space)
	switch name {
	case "any":
		return between(0, unicode.MaxRune), true
	case "ascii":
		return between(0, 0x7f), true
	case "assigned":
		return inTables(unicode.Cn).not(), true
	case "alphabetic", "alpha":
		return inTables(unicode.L, unicode.Nl, unicode.Other_Alphabetic), true
	case "lowercase", "lower":
		return lowercase, true
	case "uppercase", "upper":
		return uppercase, true
	case "cased":
		return lowercase.or(uppercase).or(inTables(unicode.Lt)), true
	case "math":
		return inTables(unicode.Sm, unicode.Other_Math), true
	case "wspace", "space":
		return inTables(unicode.White_Space), true
	case "ahex":
		return inTables(unicode.ASCII_Hex_Digit), true
	case "hex":
		return inTables(unicode.Hex_Digit), true
	case "idstart", "ids":
		return start.and(syntax.not()), true
	case "idcontinue", "idc":
		return start.or(inTables(unicode.Mn, unicode.Mc, unicode.Nd, unicode.Pc, unicode.Other_ID_Continue)).and(syntax.not()), true
	}
	if class = tableOf(unicode.Properties, name); class != nil && !strings.HasPrefix(name, "other") {
		return class, true
	}
	if class = categoryOf(name); class != nil {
		return class, true
	}
	class = tableOf(unicode.Scripts, name)
	return class, class != nil
}

func categoryOf(name string) charClass {
	for alias, category := range unicode.CategoryAliases {
		if strings.ReplaceAll(strings.ToLower(alias), "_", "") == name {
			return inTables(unicode.Categories[category])
		}
	}
	return tableOf(unicode.Categories, name)
}

func tableOf(tables map[string]*unicode.RangeTable, name string) charClass {
	for other, table := range tables {
		if strings.ReplaceAll(strings.ToLower(other), "_", "") == name {
			return inTables(table)
		}
	}
	return nil
}

// compileRegex reads a pattern (§4.6).
func compileRegex(pattern string) (regex, regexSupport) {
	if len(pattern) > 4<<10 {
		return nil, regexInvalid
	}
	p := &regexParser{rest: []rune(pattern), groups: map[string]bool{}}
	re := p.alternatives()
	if len(p.rest) > 0 {
		p.stop(regexInvalid) // a closing parenthesis
	}
	return re, p.fault
}

// A regexParser reads a pattern from the left. After the first fault it has nothing
// more to read.
type regexParser struct {
	rest   []rune
	fault  regexSupport
	groups map[string]bool // names

	anyCase, multiline, dotAll, verbose bool
}

func (p *regexParser) stop(fault regexSupport) {
	if p.fault == regexSupported {
		p.fault = fault
	}
	p.rest = nil
}

// sees reports whether one of the texts follows.
func (p *regexParser) sees(texts ...string) bool {
	return slices.ContainsFunc(texts, func(s string) bool {
		r := []rune(s)
		return len(p.rest) >= len(r) && slices.Equal(p.rest[:len(r)], r)
	})
}

// eats passes over a text if it follows.
func (p *regexParser) eats(s string) bool {
	if !p.sees(s) {
		return false
	}
	p.rest = p.rest[len([]rune(s)):]
	return true
}

// character returns the next character. There must be one, or the pattern is invalid.
func (p *regexParser) character() rune {
	if len(p.rest) == 0 {
		p.stop(regexInvalid)
		return 0
	}
	r := p.rest[0]
	p.rest = p.rest[1:]
	return r
}

// until returns the text before a character, which must follow, and passes over both.
func (p *regexParser) until(end rune) string {
	i := slices.Index(p.rest, end)
	if i < 0 {
		p.stop(regexInvalid)
		return ""
	}
	s := string(p.rest[:i])
	p.rest = p.rest[i+1:]
	return s
}

// blanks passes over what means nothing under the flag x.
func (p *regexParser) blanks() {
	for p.verbose && len(p.rest) > 0 && (p.rest[0] == '#' || unicode.IsSpace(p.rest[0])) {
		if p.rest[0] != '#' {
			p.rest = p.rest[1:]
		} else if i := slices.Index(p.rest, '\n'); i >= 0 {
			p.rest = p.rest[i+1:]
		} else {
			p.rest = nil
		}
	}
}

func (p *regexParser) alternatives() regex {
	re := p.pieces()
	for p.eats("|") {
		re = alternative(re, p.pieces())
	}
	return re
}

func (p *regexParser) pieces() regex {
	re := regex(nothing)
	for {
		p.blanks()
		if len(p.rest) == 0 || p.sees("|", ")") {
			return re
		}
		if atom := p.atom(); atom != nil {
			re = sequence(re, p.repeated(atom))
		}
	}
}

// literal matches a character as it is, or in any case.
func (p *regexParser) literal(r rune) regex {
	class := charClass(func(other rune) bool { return other == r })
	if p.anyCase {
		class = class.anyCase()
	}
	return one(class)
}

// atom reads what can be repeated. Nil stands for flags.
func (p *regexParser) atom() regex {
	switch {
	case p.sees("*", "+", "?"):
		p.stop(regexInvalid)
		return nothing
	case p.sees("{"):
		switch _, _, form := p.bounds(); form {
		case regexSupported:
			p.stop(regexInvalid)
		case regexUnsupported:
			p.stop(regexUnsupported)
		default:
			return p.literal(p.character())
		}
		return nothing
	case p.eats("("):
		return p.group()
	case p.eats("["):
		return one(p.class())
	case p.eats(`\`):
		return p.escape()
	case p.eats("."):
		if p.dotAll {
			return one(between(0, unicode.MaxRune))
		}
		return one(oneOf("\n").not())
	case p.eats("^"):
		multiline := p.multiline
		return lookAt(func(text []rune, i int) bool { return i == 0 || multiline && text[i-1] == '\n' })
	case p.eats("$"):
		multiline := p.multiline
		return lookAt(func(text []rune, i int) bool { return i == len(text) || multiline && text[i] == '\n' })
	}
	return p.literal(p.character())
}

// repeated reads how often an atom occurs.
func (p *regexParser) repeated(atom regex) regex {
	p.blanks()
	low, high := 1, 1
	switch {
	case p.eats("*"):
		low, high = 0, -1
	case p.eats("+"):
		low, high = 1, -1
	case p.eats("?"):
		low, high = 0, 1
	case p.sees("{"):
		var form regexSupport
		low, high, form = p.bounds()
		switch {
		case form == regexInvalid:
			return atom // the brace stands for itself
		case form == regexUnsupported || low > 1000 || high > 1000:
			p.stop(regexUnsupported)
			return nothing
		case high >= 0 && low > high:
			p.stop(regexInvalid)
			return nothing
		}
	default:
		return atom
	}
	p.eats("?")
	if p.sees("+") {
		p.stop(regexUnsupported)
	}
	p.blanks()
	if p.sees("*", "+", "?") {
		p.stop(regexUnsupported)
	}
	if p.sees("{") {
		here := p.rest
		if _, _, form := p.bounds(); form != regexInvalid {
			p.stop(regexUnsupported)
		} else {
			p.rest = here
		}
	}
	return times(atom, low, high)
}

// bounds reads {n}, {n,} and {n,m}. The form is supported for these, unsupported for
// what only looks like them, and invalid for a brace that stands for itself.
func (p *regexParser) bounds() (low, high int, form regexSupport) {
	end := slices.Index(p.rest, '}')
	if end < 0 {
		return 0, 0, regexInvalid
	}
	inside := string(p.rest[1:end])
	digits, other := 0, 0
	for _, r := range inside {
		switch {
		case '0' <= r && r <= '9' || r == ',':
			digits++
		case r != ' ' && r != '\t':
			other++
		}
	}
	if other > 0 || digits == 0 {
		return 0, 0, regexInvalid
	}
	count := func(s string) int {
		for _, r := range s {
			if r < '0' || r > '9' {
				form = regexUnsupported
			}
		}
		n, err := strconv.Atoi(s)
		if err != nil {
			n = 1 << 30
		}
		return n
	}
	parts := strings.Split(inside, ",")
	low, high = count(parts[0]), -1
	switch {
	case parts[0] == "" || len(parts) > 2:
		form = regexUnsupported
	case len(parts) == 1:
		high = low
	case parts[1] != "":
		high = count(parts[1])
	}
	if form == regexSupported {
		p.rest = p.rest[end+1:]
	}
	return low, high, form
}

func (p *regexParser) group() regex {
	outer := *p
	if p.eats("?") {
		switch {
		case p.sees("=", "!", "<=", "<!", ">", "(", "P=", "P>", "&", "#", "|", "~", "'", "0", "1", "2", "3", "4", "5", "6", "7", "8", "9"):
			p.stop(regexUnsupported)
			return nothing
		case p.eats("P<"), p.eats("<"):
			name := p.until('>')
			for i, r := range []rune(name) {
				if r != '_' && !unicode.IsLetter(r) && (i == 0 || !strings.ContainsRune(".[]", r) && !unicode.IsNumber(r)) {
					p.stop(regexInvalid)
				}
			}
			if name == "" || p.groups[name] {
				p.stop(regexInvalid)
			}
			p.groups[name] = true
		default:
			if p.readFlags() == ')' {
				return nil
			}
		}
	}
	re := p.alternatives()
	if !p.eats(")") {
		p.stop(regexInvalid)
	}
	p.anyCase, p.multiline, p.dotAll, p.verbose = outer.anyCase, outer.multiline, outer.dotAll, outer.verbose
	return re
}

// readFlags reads flags and returns the character behind them.
func (p *regexParser) readFlags() rune {
	met := ""
	on := true
	for last := rune(0); ; {
		r := p.character()
		switch {
		case p.fault != regexSupported:
			return 0
		case r == ':' && last == 0, (r == ':' || r == ')') && last != 0 && last != '-':
			return r
		case r == '-' && on:
			on = false
		case strings.ContainsRune(met, r):
			p.stop(regexInvalid)
		case r == 'i':
			p.anyCase = on
		case r == 'm':
			p.multiline = on
		case r == 's':
			p.dotAll = on
		case r == 'x':
			p.verbose = on
		case r == 'R', r == 'u' && !on:
			p.stop(regexUnsupported)
		case r == 'u', r == 'U':
		default:
			p.stop(regexInvalid)
		}
		met += string(r)
		last = r
	}
}

// escape reads what is behind a backslash, outside of classes.
func (p *regexParser) escape() regex {
	switch {
	case p.eats("A"):
		return lookAt(func(_ []rune, i int) bool { return i == 0 })
	case p.eats("z"):
		return lookAt(func(text []rune, i int) bool { return i == len(text) })
	case p.sees("b", "B"):
		isB := p.character() == 'b'
		if p.sees("{") {
			here := p.rest
			if _, _, form := p.bounds(); form != regexSupported {
				p.stop(regexUnsupported)
			} else {
				p.rest = here
			}
		}
		return lookAt(func(text []rune, i int) bool { return isBoundary(text, i) == isB })
	}
	if p.sees("<", ">", "K", "G", "Z", "O", "N", "R", "X", "k", "g", "0", "1", "2", "3", "4", "5", "6", "7", "8", "9") {
		p.stop(regexUnsupported)
		return nothing
	}
	class, character := p.escaped()
	if class != nil {
		return one(class)
	}
	return p.literal(character)
}

// escaped reads an escape that stands for a class or, if that is nil, a character.
func (p *regexParser) escaped() (charClass, rune) {
	digits := 0
	switch r := p.character(); r {
	case 'd', 'D', 's', 'S', 'w', 'W', 'h', 'H':
		return namedClasses[r], 0
	case 'p', 'P':
		return p.property(r == 'P'), 0
	case 'a', 'e', 'f', 'n', 'r', 't', 'v':
		return nil, map[rune]rune{'a': 7, 'e': 27, 'f': 12, 'n': 10, 'r': 13, 't': 9, 'v': 11}[r]
	case 'x':
		digits = 2
	case 'u':
		digits = 4
	case 'U':
		digits = 8
	default:
		if r > 0x7f || r == '<' || r == '>' || asciiClasses["alnum"](r) {
			p.stop(regexInvalid)
		}
		return nil, r
	}
	var number string
	if p.eats("{") {
		number = p.until('}')
	} else {
		for range digits {
			number += string(p.character())
		}
	}
	n, err := strconv.ParseUint(number, 16, 32)
	if err != nil || n > unicode.MaxRune || n >= 0xd800 && n < 0xe000 {
		p.stop(regexInvalid)
	}
	return nil, rune(n)
}

func (p *regexParser) property(negated bool) charClass {
	var name string
	if p.eats("{") {
		name = p.until('}')
	} else {
		name = string(p.character())
	}
	if p.fault != regexSupported {
		return nil
	}
	class, ok := propertyOf(name)
	if !ok {
		p.stop(regexUnsupported)
		return nil
	}
	if p.anyCase {
		class = class.anyCase()
	}
	if negated {
		class = class.not()
	}
	return class
}

// class reads a class behind its opening bracket.
func (p *regexParser) class() charClass {
	p.blanks()
	negated := p.eats("^")
	none := charClass(func(rune) bool { return false })
	left, union, operator := none, none, ""
	p.blanks()
	first := true
	for p.eats("-") {
		union = union.or(oneOf("-"))
		first = false
		p.blanks()
	}
	if first && p.eats("]") {
		union = oneOf("]")
	}
	combine := func() charClass {
		side := union
		if p.anyCase {
			side = side.anyCase()
		}
		switch operator {
		case "&&":
			return left.and(side)
		case "--":
			return left.and(side.not())
		case "~~":
			return left.or(side).and(left.and(side).not())
		}
		return side
	}
	for {
		p.blanks()
		switch {
		case len(p.rest) == 0:
			p.stop(regexInvalid)
			return none
		case p.eats("]"):
			class := combine()
			if negated {
				class = class.not()
			}
			return class
		case p.sees("&&", "--", "~~"):
			left, operator = combine(), string(p.rest[:2])
			union = none
			p.rest = p.rest[2:]
		case p.sees("["):
			union = union.or(p.inner())
		default:
			union = union.or(p.span())
		}
	}
}

// inner reads a class within a class.
func (p *regexParser) inner() charClass {
	for name, class := range asciiClasses {
		if p.eats("[:" + name + ":]") {
			return class
		}
		if p.eats("[:^" + name + ":]") {
			if p.anyCase {
				class = class.anyCase()
			}
			return class.not()
		}
	}
	p.eats("[")
	return p.class()
}

// span reads a character, an escape or a range.
func (p *regexParser) span() charClass {
	class, low := p.member()
	p.blanks()
	if p.sees("-") {
		here := p.rest
		p.eats("-")
		p.blanks()
		if !p.sees("]", "-") {
			otherClass, high := p.member()
			if class != nil || otherClass != nil || low > high {
				p.stop(regexInvalid)
			}
			return between(low, high)
		}
		p.rest = here
	}
	if class != nil {
		return class
	}
	return between(low, low)
}

func (p *regexParser) member() (charClass, rune) {
	if !p.eats(`\`) {
		return nil, p.character()
	}
	return p.escaped()
}
