package flipt_test

import (
	"encoding/json"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/flagstaff-go/flagstaff/examples/import/internal/oracle"
)

type object = map[string]any

// A generator makes features and subjects for them.
type generator struct {
	*rand.Rand
	version  string // of the document
	segments []string
	keys     []string // of flags
	ends     []int    // of shares, of 1000
	percents []int    // of thresholds
	asked    map[string][]string
	entities []string
}

var (
	texts   = []string{"pro", "Pro", "free", "a b", " lead", "trail ", "ä€𝄞", "a,b", `q"uo\te`, "pr", "o", "x@example.org", "true", "5", ""}
	numbers = []string{"5", "5.0", "05", "0", "-0", "-1", "1e3", "1000", "0.1", "9007199254740993", "1e-7", "Inf", "-inf", "NaN", "0x1p4", "+7", "123456789.125"}
	times   = []string{
		"2024-02-29", "2024-02-29T00:00:00Z", "2024-02-29T01:00:00+01:00", "2024-02-28T23:59:59.999999999Z", "2024-03-01", "2024-02-29T00:00:00.5Z", "1969-12-31",
		"9999-12-31T23:59:59Z", "2024-02-29T00:00:00-00:01",
	}
	properties = map[string][]string{
		"STRING_COMPARISON_TYPE": {"plan", "email", "mixed"}, "NUMBER_COMPARISON_TYPE": {"age", "score", "mixed"},
		"BOOLEAN_COMPARISON_TYPE": {"beta", "mixed"}, "DATETIME_COMPARISON_TYPE": {"since", "mixed"},
		"ENTITY_ID_COMPARISON_TYPE": {"entityId"},
	}
	kinds    = []string{"STRING_COMPARISON_TYPE", "NUMBER_COMPARISON_TYPE", "BOOLEAN_COMPARISON_TYPE", "DATETIME_COMPARISON_TYPE", "ENTITY_ID_COMPARISON_TYPE"}
	ofTexts  = []string{"eq", "neq", "empty", "notempty", "prefix", "suffix", "isoneof", "isnotoneof", "contains", "notcontains"}
	compared = map[string][]string{
		"STRING_COMPARISON_TYPE": ofTexts, "ENTITY_ID_COMPARISON_TYPE": ofTexts,
		"NUMBER_COMPARISON_TYPE":   {"eq", "neq", "lt", "lte", "gt", "gte", "present", "notpresent", "isoneof", "isnotoneof", "le"},
		"BOOLEAN_COMPARISON_TYPE":  {"true", "false", "present", "notpresent"},
		"DATETIME_COMPARISON_TYPE": {"eq", "neq", "lt", "lte", "gt", "gte", "present", "notpresent", "le"},
	}
)

func one[T any](g *generator, list []T) T { return list[g.IntN(len(list))] }

func generate(r *rand.Rand, n int) ([]byte, []oracle.Subject) {
	g := &generator{Rand: r, asked: make(map[string][]string)}
	g.version = one(g, []string{"1.3", "1.4", "1.5", "1.6"})
	document := object{"version": g.version}
	if g.IntN(2) == 0 {
		document["namespace"] = one(g, []any{"default", object{"key": "shop", "name": "Shop"}})
	}
	document["segments"], document["flags"] = g.someSegments(), g.someFlags()
	b, err := json.Marshal(document)
	if err != nil {
		panic(err)
	}
	subjects := make([]oracle.Subject, n)
	for i := range subjects {
		subjects[i] = g.subject()
	}
	return b, subjects
}

func (g *generator) someSegments() (list []object) {
	for i := range 2 + g.IntN(5) {
		key := fmt.Sprintf("segment-%d", i)
		g.segments = append(g.segments, key)
		s := object{"key": key, "name": "Segment " + strconv.Itoa(i), "match_type": one(g, []string{"ALL_MATCH_TYPE", "ANY_MATCH_TYPE"})}
		constraints := []object{}
		for range g.IntN(4) {
			constraints = append(constraints, g.constraint())
		}
		if len(constraints) > 0 || g.IntN(2) == 0 {
			s["constraints"] = constraints
		}
		list = append(list, s)
	}
	return list
}

func (g *generator) constraint() object {
	kind := one(g, kinds)
	c := object{"type": kind, "property": one(g, properties[kind]), "operator": one(g, compared[kind])}
	var pool []string
	switch kind {
	case "STRING_COMPARISON_TYPE":
		pool = texts
	case "NUMBER_COMPARISON_TYPE":
		pool = numbers
	case "DATETIME_COMPARISON_TYPE":
		pool = times
	case "ENTITY_ID_COMPARISON_TYPE":
		pool = []string{"ada", "bob", "eve", "a", "", "x", strings.Repeat("l", 199)}
	default:
		return c
	}
	value := one(g, pool)
	if kind == "ENTITY_ID_COMPARISON_TYPE" {
		g.entities = append(g.entities, value)
	}
	property := c["property"].(string)
	g.asked[property] = append(g.asked[property], value)
	c["value"] = value
	if operator := c["operator"].(string); operator == "isoneof" || operator == "isnotoneof" {
		c["value"] = g.list(kind, property, pool)
	}
	return c
}

// list returns the list of isoneof and isnotoneof, which is a text before version 1.6.
func (g *generator) list(kind, property string, pool []string) any {
	elements := []any{}
	for range g.IntN(4) {
		s := one(g, pool)
		g.asked[property] = append(g.asked[property], s)
		if kind != "NUMBER_COMPARISON_TYPE" {
			elements = append(elements, s)
		} else if n, err := strconv.ParseFloat(s, 64); err == nil && n-n == 0 {
			elements = append(elements, n)
		}
	}
	if g.version == "1.6" {
		return elements
	}
	b, _ := json.Marshal(elements)
	return string(b)
}

func (g *generator) someFlags() (list []object) {
	for i := range 4 {
		f := object{"key": fmt.Sprintf("flag_%d-%d", i, g.IntN(1000)), "name": "Flag", "enabled": g.IntN(6) > 0, "description": "For a test"}
		g.keys = append(g.keys, f["key"].(string))
		if g.IntN(3) == 0 {
			f["type"], f["rollouts"] = "BOOLEAN_FLAG_TYPE", g.rollouts()
		} else {
			if g.IntN(2) == 0 {
				f["type"] = "VARIANT_FLAG_TYPE"
			}
			g.addVariants(f)
		}
		if g.IntN(3) == 0 {
			f["metadata"] = object{"team": "shop", "temporary": true, "points": 3}
		}
		list = append(list, f)
	}
	return list
}

func (g *generator) rollouts() (list []object) {
	for range g.IntN(5) {
		r := object{"description": "A rollout"}
		if g.IntN(2) == 0 {
			percent := one(g, []any{0, 1, 33, 33.3, 50, 66.6, 99, 99.5, 100, g.IntN(101), float64(g.IntN(10001)) / 100})
			r["threshold"] = object{"percentage": percent, "value": g.IntN(2) == 0}
			p := 0
			if n, ok := percent.(int); ok {
				p = n
			} else {
				p = int(percent.(float64))
			}
			g.percents = append(g.percents, p)
		} else {
			s := object{"value": g.IntN(2) == 0}
			if g.IntN(2) == 0 {
				s["key"] = one(g, g.segments)
			} else {
				s["keys"], s["operator"] = g.someKeys()
			}
			if s["operator"] == nil {
				delete(s, "operator")
			}
			r["segment"] = s
		}
		list = append(list, r)
	}
	return list
}

func (g *generator) someKeys() (keys []string, operator any) {
	for range g.IntN(4) {
		keys = append(keys, one(g, g.segments))
	}
	if keys == nil {
		keys = []string{}
	}
	return keys, one(g, []any{"AND_SEGMENT_OPERATOR", "OR_SEGMENT_OPERATOR", nil})
}

func (g *generator) addVariants(f object) {
	var variants []object
	attachments := g.IntN(3) == 0
	for i := range g.IntN(6) {
		v := object{"key": fmt.Sprintf("v%d", i), "name": "Variant"}
		if attachments {
			v["attachment"] = one(g, []any{nil, object{"a": 1, "b": []any{"x", 2.5, nil, ""}}, []any{1, "two"}, object{}})
		}
		if g.IntN(5) == 0 {
			v["default"] = true
		}
		variants = append(variants, v)
	}
	f["variants"] = variants
	var rules []object
	for range g.IntN(5) {
		r := object{}
		if g.IntN(2) == 0 {
			r["segment"] = one(g, g.segments)
		} else {
			keys, operator := g.someKeys()
			s := object{"keys": keys}
			if operator != nil {
				s["operator"] = operator
			}
			r["segment"] = s
		}
		if d := g.distributions(variants); d != nil {
			r["distributions"] = d
		}
		rules = append(rules, r)
	}
	f["rules"] = rules
}

// distributions returns shares that add up to 100, and others.
func (g *generator) distributions(variants []object) (list []object) {
	if len(variants) == 0 || g.IntN(6) == 0 {
		return nil
	}
	n := 1 + g.IntN(len(variants))
	shares := make([]float64, n)
	rest := 100.0
	for i := range shares {
		switch g.IntN(5) {
		case 0:
			shares[i] = float64(g.IntN(int(rest) + 1))
		case 1:
			shares[i] = float64(int(10000/n)) / 100
		case 2:
			shares[i] = float64(g.IntN(int(rest*100)+1)) / 100
		case 3:
			shares[i] = one(g, []float64{0, 0.1, 0.05, 33.33, 33.34, 14.29, 16.67, 28.57, 100})
		default:
			shares[i] = float64(g.IntN(10001)) / 100
		}
		rest = max(0, rest-shares[i])
	}
	if g.IntN(2) == 0 {
		shares[n-1] = float64(int(rest*100+0.5)) / 100
	}
	sum, total := 0.0, 0.0
	for _, s := range shares {
		total += s
	}
	for i, s := range shares {
		list = append(list, object{"variant": variants[g.IntN(len(variants))]["key"], "rollout": s})
		sum += s
		g.ends = append(g.ends, int(sum*10))
		if total > 0 && i < n-1 {
			g.ends = append(g.ends, int(sum/total*1000))
		}
	}
	return list
}

func (g *generator) subject() oracle.Subject {
	s := oracle.Subject{ID: g.entity(), Properties: make(object)}
	for _, name := range []string{"plan", "email", "mixed", "age", "score", "beta", "since", "entityId"} {
		if v := g.property(name); v != nil || g.IntN(20) == 0 {
			s.Properties[name] = v
		}
	}
	return s
}

// entity returns an ID that constraints ask for, or one near to an end of a share.
func (g *generator) entity() string {
	switch n := g.IntN(8); {
	case n == 0 && len(g.entities) > 0:
		return one(g, []string{"", " ", "x", "A"}) + one(g, g.entities)
	case n == 1:
		return one(g, []string{"ada", "bob", "eve", "ädä", " ", strings.Repeat("l", 199) + "m", strings.Repeat("ä", 99) + "xy"})
	case n <= 4 && len(g.ends) > 0:
		key, bucket := one(g, g.keys), uint32(one(g, g.ends)+g.IntN(3)-1)
		return g.find(func(id string) bool { return crc32.ChecksumIEEE([]byte(key+id))%1000 == bucket })
	case n == 5 && len(g.percents) > 0:
		key, bucket := one(g, g.keys), uint32(one(g, g.percents)+g.IntN(3)-1)
		return g.find(func(id string) bool { return crc32.ChecksumIEEE([]byte(id+key))%100 == bucket })
	}
	return strconv.FormatUint(g.Uint64(), 36)
}

func (g *generator) find(ok func(id string) bool) (id string) {
	for range 5000 {
		if id = "u" + strconv.Itoa(g.IntN(1e9)); ok(id) {
			break
		}
	}
	return id
}

// property returns a value near to what constraints ask for, of some type.
func (g *generator) property(name string) any {
	pool := g.asked[name]
	if len(pool) == 0 || g.IntN(4) == 0 {
		pool = one(g, [][]string{texts, numbers, times, {"16", "0x10", "1_0", "1", "t", "T", "TRUE", "true", "True", "0", "f", "false", "yes", " true", ""}})
	}
	v := one(g, pool)
	switch g.IntN(10) {
	case 0:
		return nil
	case 1:
		return v + " "
	case 2:
		return one(g, []string{" ", "\t", "x", "\u00a0", "0"}) + v
	case 3:
		return strings.ToUpper(v)
	case 4:
		return g.IntN(2) == 0
	case 5, 6:
		n, err := strconv.ParseFloat(v, 64)
		if err != nil || n-n != 0 || n > 1e15 {
			n = float64(g.IntN(20))
		}
		return n + one(g, []float64{0, 0, 1, -1, 0.5})
	case 7:
		if v != "" {
			return v[:len(v)-1]
		}
	}
	return v
}
