package pattern

import (
	"slices"
	"strings"
	"sync"
	"unicode"
)

// A property is a named class of characters.
type property struct {
	// in and out are how package regexp names the class and its complement within
	// brackets; "" if it cannot.
	in, out string

	ranges func() ranges
}

func (p *property) hasText(negated bool) bool { return p.text(negated) != "" }

func (p *property) text(negated bool) string {
	if negated {
		return p.out
	}
	return p.in
}

// tabled returns the property of one or several tables.
func tabled(in, out string, tables ...*unicode.RangeTable) *property {
	return &property{in: in, out: out, ranges: sync.OnceValue(func() ranges { return rangesOf(tables...) })}
}

// rangesOf returns the characters of tables.
func rangesOf(tables ...*unicode.RangeTable) ranges {
	var r ranges
	add := func(low, high, stride rune) {
		if stride == 1 {
			r = append(r, low, high)
			return
		}
		for c := low; c <= high; c += stride {
			r = append(r, c, c)
		}
	}
	for _, t := range tables {
		for _, x := range t.R16 {
			add(rune(x.Lo), rune(x.Hi), rune(x.Stride))
		}
		for _, x := range t.R32 {
			add(rune(x.Lo), rune(x.Hi), rune(x.Stride))
		}
	}
	return normalize(r)
}

// foldable lists the characters that have another case, in order.
var foldable = sync.OnceValue(func() []rune {
	var list []rune
	for _, cased := range unicode.CaseRanges {
		for c := rune(cased.Lo); c <= rune(cased.Hi); c++ {
			// ß is the other case of ẞ only, and in no range itself.
			for other := unicode.SimpleFold(c); other != c; other = unicode.SimpleFold(other) {
				list = append(list, c, other)
			}
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
})

// The tables of a word character: \w is alphabetic characters, marks, decimal digits,
// connectors and joiners (evaluation.md §4.6).
var (
	alphabetic = []*unicode.RangeTable{unicode.L, unicode.Nl, unicode.Other_Alphabetic}
	word       = []*unicode.RangeTable{unicode.L, unicode.Nl, unicode.Other_Alphabetic, unicode.M, unicode.Nd, unicode.Pc, unicode.Join_Control}
)

// perl has the classes \d, \s, \w and \h.
var perl = sync.OnceValue(func() map[byte]*property {
	const named = `\p{L}\p{M}\p{Nd}\p{Nl}\p{Pc}`
	w := tabled("", "", word...)
	rest := w.ranges().intersect(rangesOf(unicode.L, unicode.M, unicode.Nd, unicode.Nl, unicode.Pc).negate())
	w.in = named + string(rest.append(nil))
	s := tabled("", "", unicode.White_Space)
	s.in = string(s.ranges().append(nil))
	return map[byte]*property{
		'd': tabled(`\p{Nd}`, `\P{Nd}`, unicode.Nd), 'w': w, 's': s,
		'h': {in: "0-9A-Fa-f", ranges: func() ranges { return ranges{'0', '9', 'A', 'F', 'a', 'f'} }},
	}
})

// perlItem returns \d, \D, \w, \W, \s, \S, \h or \H.
func perlItem(name byte) item {
	return item{named: perl()[name|0x20], negated: name&0x20 == 0}
}

// asciiClasses has the classes of [:name:].
var asciiClasses = func() map[string]*property {
	m := make(map[string]*property)
	for name, r := range map[string]ranges{
		"alnum": {'0', '9', 'A', 'Z', 'a', 'z'}, "alpha": {'A', 'Z', 'a', 'z'}, "ascii": {0, 0x7f}, "blank": {'\t', '\t', ' ', ' '},
		"cntrl": {0, 0x1f, 0x7f, 0x7f}, "digit": {'0', '9'}, "graph": {'!', '~'}, "lower": {'a', 'z'}, "print": {' ', '~'},
		"punct": {'!', '/', ':', '@', '[', '`', '{', '~'}, "space": {'\t', '\r', ' ', ' '}, "upper": {'A', 'Z'},
		"word": {'0', '9', 'A', 'Z', '_', '_', 'a', 'z'}, "xdigit": {'0', '9', 'A', 'F', 'a', 'f'},
	} {
		m[name] = &property{in: "[:" + name + ":]", out: "[:^" + name + ":]", ranges: func() ranges { return r }}
	}
	return m
}()

// findProperty finds the class that \p names, in one of the spellings name, key=name,
// key:name and key!=name. negated says that it was the last one.
func findProperty(name string) (p *property, negated, ok bool) {
	key, value, found := strings.Cut(name, "!=")
	if negated = found; !found {
		if i := strings.IndexAny(name, "=:"); i >= 0 {
			key, value, found = name[:i], name[i+1:], true
		}
	}
	all := properties()
	if !found {
		folded := foldName(name)
		// These are properties of which only the categories can be told.
		for _, kind := range []map[string]*property{all.binary, all.category, all.script} {
			if p := kind[folded]; p != nil {
				return p, false, true
			}
		}
		return nil, false, false
	}
	switch folded := foldName(value); foldName(key) {
	case "gc", "generalcategory":
		p = all.category[folded]
	case "sc", "script":
		p = all.script[folded]
	}
	return p, negated, p != nil
}

// foldName returns a name without what spellings differ in.
func foldName(name string) string {
	return strings.TrimPrefix(strings.ToLower(strings.NewReplacer("_", "", "-", "", " ", "").Replace(name)), "is")
}

type propertyNames struct{ binary, category, script map[string]*property }

// properties has the properties by folded name, of each kind.
var properties = sync.OnceValue(func() propertyNames {
	all := propertyNames{make(map[string]*property), make(map[string]*property), make(map[string]*property)}
	name := func(s string) (in, out string) { return `\p{` + s + `}`, `\P{` + s + `}` }
	for category, table := range unicode.Categories {
		in, out := name(category)
		all.category[foldName(category)] = tabled(in, out, table)
	}
	for alias, category := range unicode.CategoryAliases {
		all.category[foldName(alias)] = all.category[foldName(category)]
	}
	for script, table := range unicode.Scripts {
		in, out := name(script)
		all.script[foldName(script)] = tabled(in, out, table)
	}
	for name, table := range unicode.Properties {
		if !strings.HasPrefix(name, "Other_") {
			all.binary[foldName(name)] = tabled("", "", table)
		}
	}
	add := func(names string, p *property) {
		for n := range strings.FieldsSeq(names) {
			all.binary[n] = p
		}
	}
	lower := []*unicode.RangeTable{unicode.Ll, unicode.Other_Lowercase}
	upper := []*unicode.RangeTable{unicode.Lu, unicode.Other_Uppercase}
	add("alphabetic alpha", tabled("", "", alphabetic...))
	add("lowercase lower", tabled("", "", lower...))
	add("uppercase upper", tabled("", "", upper...))
	add("cased", tabled("", "", append(append([]*unicode.RangeTable{unicode.Lt}, lower...), upper...)...))
	add("math", tabled("", "", unicode.Sm, unicode.Other_Math))
	add("whitespace wspace space", tabled("", "", unicode.White_Space))
	add("asciihexdigit ahex", tabled("", "", unicode.ASCII_Hex_Digit))
	add("hexdigit hex", tabled("", "", unicode.Hex_Digit))
	add("any", &property{ranges: func() ranges { return ranges{0, unicode.MaxRune} }})
	add("ascii", &property{in: `\x{0}-\x{7f}`, ranges: func() ranges { return ranges{0, 0x7f} }})
	add("assigned", &property{ranges: sync.OnceValue(func() ranges { return rangesOf(unicode.Cn).negate() })})
	start := sync.OnceValue(func() ranges {
		return rangesOf(unicode.L, unicode.Nl, unicode.Other_ID_Start).intersect(rangesOf(unicode.Pattern_Syntax, unicode.Pattern_White_Space).negate())
	})
	add("idstart ids", &property{ranges: start})
	add("idcontinue idc", &property{ranges: sync.OnceValue(func() ranges {
		rest := rangesOf(unicode.Mn, unicode.Mc, unicode.Nd, unicode.Pc, unicode.Other_ID_Continue)
		return normalize(append(rest, start()...)).intersect(rangesOf(unicode.Pattern_Syntax, unicode.Pattern_White_Space).negate())
	})})
	return all
})
