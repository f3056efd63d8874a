package configcat_test

import (
	"crypto/sha1"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/flagstaff-go/flagstaff/examples/import/internal/oracle"
)

type object = map[string]any

// A generator makes a config and subjects for it.
type generator struct {
	*rand.Rand
	salt     string
	values   map[string][]object // of the settings so far
	segments []object
	asked    map[string][]string // by attribute
	ends     []end
}

// An end is one of a percentage option.
type end struct {
	key, attribute string
	percent        int
}

var (
	texts = []string{
		"ada", "Ada", "bob", "a", "", " ", "ada@example.org", "@example.org", "example", "ä€𝄞", "5", "1.5", "true", "Germany", "a_b", `q"<&>\`, `["a","b"]`, `["<&>"]`, "NaN", "1e+16", "-0",
	}
	versions   = []string{"1.0.0", "1.2.3", "1.2.3-beta", "1.2.3-beta.2", "1.2.3-beta.11", "1.2.3-1", "1.2.3+b7", "1.2.4", "2.0.0", "10.0.0", "0.0.0", "1.2.3-alpha-x", "1.2.3--"}
	unversions = []string{"1.2", "v1.2.3", "01.2.3", "1.2.3-", "1.2.3-01", "1.2.3+", "", "1.2.3.4", "x", "1.2.3-a..b", "1.2.3-ä", "-1.2.3"}
	numbers    = []float64{0, 1, -1, 5, 1.5, 0.1, 1e16, 123456789, 1700000000, 1700000000.5, -0.25}
	unnumbers  = []string{"5", " 5 ", "1,5", "1.5", "Infinity", "-Infinity", "+Infinity", "NaN", "inf", "0x10", "1e3", "1,000.5", "5x", "", "1_0"}
	lists      = [][]any{{}, {"a"}, {"a", "b"}, {"ada", "Ada", ""}, {"<&>"}, {"<&>", "\u2028", "ä"}, {"a", 5.0}, {nil}}
	unlists    = []string{`["a","b"]`, `[]`, `["ada"]`, `["a",1]`, `null`, `[null]`, ` [ "a" ] `, `{"a":1}`, `"a"`, ``, `["\u0061"]`}
	attributes = []string{"Identifier", "Email", "Country", "plan", "age", "version", "tags"}
	salts      = []string{"yk1y0ZUhvM0RXkTfbqIvpg==", "", "salt-of-flags-0123456789"}
)

func one[T any](g *generator, list []T) T { return list[g.IntN(len(list))] }

func some[T any](g *generator, list []T, most int) []T {
	out := []T{}
	for range g.IntN(most + 1) {
		out = append(out, one(g, list))
	}
	return out
}

func generate(r *rand.Rand, n int) ([]byte, []oracle.Subject) {
	g := &generator{Rand: r, salt: one(&generator{Rand: r}, salts), values: make(map[string][]object), asked: make(map[string][]string)}
	for i := range g.IntN(4) {
		name := fmt.Sprintf("Seg%d", i)
		conditions := []object{}
		for range g.IntN(4) {
			conditions = append(conditions, g.user(name))
		}
		g.segments = append(g.segments, object{"n": name, "r": conditions})
	}
	settings := make(object)
	for i := range 5 {
		key := "setting" + strconv.Itoa(i)
		settings[key] = g.setting(key)
	}
	config := object{"f": settings, "s": g.segments}
	if g.salt != "" || g.IntN(2) == 0 {
		config["p"] = object{"s": g.salt, "u": "https://cdn-global.example.org", "r": 0}
	}
	document, err := json.Marshal(config)
	if err != nil {
		panic(err)
	}
	subjects := make([]oracle.Subject, n)
	for i := range subjects {
		subjects[i] = g.subject()
	}
	return document, subjects
}

func (g *generator) setting(key string) object {
	kind := g.IntN(4)
	var values []object
	for i := range 3 {
		switch kind {
		case 0:
			values = append(values, object{"b": i%2 == 0})
		case 1:
			values = append(values, object{"s": one(g, []string{"red", "Red", "blue", "a b", "1"})})
		case 2:
			values = append(values, object{"i": one(g, []int{0, 1, -5, 1 << 40})})
		default:
			values = append(values, object{"d": one(g, []float64{0, 1, 0.1, -2.5, 1e-7, 9007199254740991})})
		}
	}
	s := object{"t": kind, "v": one(g, values), "i": "f0f0"}
	if g.IntN(3) == 0 {
		s["a"] = one(g, attributes[:6])
	}
	attribute, _ := s["a"].(string)
	var rules []object
	for range g.IntN(4) {
		rule := object{}
		var conditions []object
		for range g.IntN(3) {
			conditions = append(conditions, g.condition(key))
		}
		rule["c"] = conditions
		if g.IntN(3) == 0 {
			rule["p"] = g.options(key, attribute, values)
		} else {
			rule["s"] = object{"v": one(g, values), "i": "0a0a"}
		}
		rules = append(rules, rule)
	}
	s["r"] = rules
	if g.IntN(2) == 0 {
		s["p"] = g.options(key, attribute, values)
	}
	g.values[key] = values
	return s
}

// options returns percentage options, which need not add up to 100.
func (g *generator) options(key, attribute string, values []object) (list []object) {
	sum := 0
	for range 1 + g.IntN(4) {
		p := g.IntN(60)
		if g.IntN(5) == 0 {
			p = one(g, []int{0, 1, 99, 100})
		}
		sum += p
		g.ends = append(g.ends, end{key, attribute, sum})
		list = append(list, object{"p": p, "v": one(g, values), "i": "1b1b"})
	}
	return list
}

func (g *generator) condition(key string) object {
	switch g.IntN(6) {
	case 0:
		if len(g.segments) > 0 {
			return object{"s": object{"s": g.IntN(len(g.segments)), "c": g.IntN(2)}}
		}
	case 1:
		if n := len(g.values); n > 0 {
			of := "setting" + strconv.Itoa(g.IntN(n))
			return object{"p": object{"f": of, "c": g.IntN(2), "v": one(g, g.values[of])}}
		}
	}
	return object{"u": g.user(key)}
}

// user returns a condition about the user, whose hashes have a context.
func (g *generator) user(context string) object {
	comparator := g.IntN(36)
	attribute := one(g, attributes)
	if usual := usualOf(comparator); usual != "" && g.IntN(4) > 0 {
		attribute = usual
	}
	u := object{"a": attribute, "c": comparator}
	pool := texts
	hash := func(s string) string {
		h := sha256.Sum256([]byte(s + g.salt + context))
		return hex.EncodeToString(h[:])
	}
	switch comparator {
	case 4, 5:
		list := some(g, versions, 3)
		if g.IntN(6) == 0 {
			list = append(list, one(g, unversions))
		}
		u["l"], pool = list, append(list, one(g, versions), " "+one(g, versions), one(g, unversions))
	case 6, 7, 8, 9:
		v := one(g, versions)
		if g.IntN(8) == 0 {
			v = one(g, unversions)
		}
		u["s"], pool = one(g, []string{"", " "})+v, []string{v, " " + v + "\t", one(g, versions), one(g, unversions)}
	case 10, 11, 12, 13, 14, 15, 18, 19:
		n := one(g, numbers)
		digits := strconv.FormatFloat(n, 'g', -1, 64)
		u["d"], pool = n, []string{digits, digits, strings.ReplaceAll(digits, ".", ","), " " + digits, one(g, unnumbers)}
	case 28, 29:
		s := one(g, texts)
		u["s"], pool = s, []string{s}
	case 20, 21:
		s := one(g, texts)
		u["s"], pool = hash(s), []string{s}
		if g.IntN(8) == 0 {
			u["s"] = strings.ToUpper(hash(s))
		}
	case 16, 17, 26, 27:
		list := some(g, texts, 3)
		hashes := []string{}
		for _, s := range list {
			hashes = append(hashes, one(g, []string{hash(s), strings.ToUpper(hash(s)), hash(s), hash(s)[:10], "zz"}))
		}
		u["l"], pool = hashes, list
	case 22, 23, 24, 25:
		list := some(g, texts, 3)
		hashes := []string{}
		for _, s := range list {
			hashes = append(hashes, strconv.Itoa(len(s))+"_"+hash(s))
		}
		u["l"], pool = hashes, list
	default:
		list := some(g, texts, 3)
		u["l"], pool = list, list
	}
	g.asked[attribute] = append(g.asked[attribute], pool...)
	return u
}

// usualOf returns the attribute that a comparator is mostly about, so that its values are of the
// right type.
func usualOf(comparator int) string {
	switch {
	case comparator >= 4 && comparator <= 9:
		return "version"
	case comparator >= 10 && comparator <= 15, comparator == 18, comparator == 19:
		return "age"
	case comparator == 26, comparator == 27, comparator >= 34:
		return "tags"
	}
	return ""
}

func (g *generator) subject() oracle.Subject {
	s := oracle.Subject{Properties: make(object)}
	s.ID = g.text("Identifier")
	if g.IntN(3) == 0 {
		s.ID = strconv.FormatUint(g.Uint64(), 36)
	}
	for _, name := range attributes[1:] {
		switch {
		case g.IntN(6) == 0:
		case name == "Email" || name == "Country":
			s.Properties[name] = g.text(name)
		default:
			s.Properties[name] = g.property(name)
		}
	}
	if len(g.ends) > 0 && g.IntN(2) == 0 {
		e := one(g, g.ends)
		subject := g.near(e)
		if e.attribute == "" || e.attribute == "Identifier" {
			s.ID = subject
		} else {
			s.Properties[e.attribute] = subject
		}
	}
	// Percentage options by a number with a fraction, or a list, are not drawn.
	for _, e := range g.ends {
		switch v := s.Properties[e.attribute].(type) {
		case float64:
			if v != float64(int64(v)) || v >= 1e15 {
				s.Properties[e.attribute] = 7.0
			}
		case []any:
			s.Properties[e.attribute] = true
		}
	}
	return s
}

// near returns a subject whose bucket is near to an end.
func (g *generator) near(e end) (subject string) {
	bucket := uint32(e.percent + g.IntN(3) - 1)
	for range 500 {
		subject = "u" + strconv.Itoa(g.IntN(1e9))
		sum := sha1.Sum([]byte(e.key + subject))
		if binary.BigEndian.Uint32(sum[:])>>4%100 == bucket {
			break
		}
	}
	return subject
}

// text returns a text near to what conditions ask for.
func (g *generator) text(attribute string) string {
	pool := g.asked[attribute]
	if len(pool) == 0 || g.IntN(4) == 0 {
		pool = one(g, [][]string{texts, versions, unversions, unnumbers, unlists})
	}
	s := one(g, pool)
	switch g.IntN(8) {
	case 0:
		return strings.ToUpper(s)
	case 1:
		return one(g, []string{"x", " "}) + s
	case 2:
		return s + one(g, []string{"x", " ", "ä"})
	}
	return s
}

// property returns a value of some type.
func (g *generator) property(attribute string) any {
	n := g.IntN(9)
	if attribute == "tags" && n > 4 {
		n = 3
	}
	switch n {
	case 0:
		return nil
	case 1:
		return g.IntN(2) == 0
	case 2:
		return one(g, lists)
	case 3:
		list := []any{}
		for range g.IntN(3) {
			list = append(list, g.text(attribute))
		}
		return list
	case 4, 5:
		n, err := strconv.ParseFloat(g.text(attribute), 64)
		if err != nil || n-n != 0 {
			n = one(g, numbers)
		}
		return n + one(g, []float64{0, 0, 1, -1, 0.5, 1e-9})
	case 6:
		if g.IntN(5) == 0 {
			return object{"a": "b"}
		}
	}
	return g.text(attribute)
}
