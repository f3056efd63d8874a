// Package gofeatureflag compares flags of GO Feature Flag with what they are imported as.
package gofeatureflag

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/thomaspoignant/go-feature-flag/modules/core/dto"
	"github.com/thomaspoignant/go-feature-flag/modules/core/flag"
	"github.com/thomaspoignant/go-feature-flag/modules/core/utils"

	"github.com/flagstaff-go/flagstaff/examples/import/internal/generate"
	"github.com/flagstaff-go/flagstaff/examples/import/internal/oracle"
	"github.com/flagstaff-go/flagstaff/internal/convert"
	"github.com/flagstaff-go/flagstaff/internal/convert/gofeatureflag"
)

func TestMain(m *testing.M) {
	slog.SetDefault(slog.New(slog.NewTextHandler(io.Discard, nil))) // queries that fail are logged, each time
	os.Exit(m.Run())
}

func product() *oracle.Product {
	return &oracle.Product{Convert: gofeatureflag.Convert, Export: gofeatureflag.Export, Generate: document, Open: open}
}

func TestValues(t *testing.T) { product().Run(t) }

// TestBites moves a boundary by a thousandth of a percent, which is the smallest step there is.
func TestBites(t *testing.T) { product().Bites(t, moved) }

func TestExport(t *testing.T) { product().RunExport(t) }

func TestExportByHand(t *testing.T) {
	p := product()
	p.Generate = func(r *rand.Rand, n int) ([]byte, []oracle.Subject) {
		document, subjects := document(r, n)
		subjects[0].ID = "ada"
		return document, subjects
	}
	p.RunByHand(t, true, "plain", "share")
}

func TestExportBites(t *testing.T) { product().BitesExport(t, moved) }

// TestGrammar has queries with signs too many or too few. GO Feature Flag repairs some and ignores
// what stands behind others; those that are imported without a problem give the same values.
func TestGrammar(t *testing.T) {
	p := product()
	p.Generate = func(r *rand.Rand, n int) ([]byte, []oracle.Subject) {
		g := generator{generate.Generator{Rand: r}}
		file := make(map[string]any)
		for i := range 10 {
			f := g.broken()
			for hasProblem(f, "") {
				f = g.broken()
			}
			file[fmt.Sprintf("flag-%d", i)] = f
		}
		return marshal(file), g.subjects(n / 5)
	}
	p.Run(t)
}

// broken makes a flag whose query is not quite right.
func (g generator) broken() map[string]any {
	q := g.condition(1)
	for range 1 + g.IntN(2) {
		at := g.IntN(len(q) + 1)
		switch g.IntN(3) {
		case 0:
			q = q[:at] + generate.Pick(g.Rand, " ", "(", ")", "[", "]", ",", ".", "-", "not ", " and ", " or ", "\"", "1", "e+1", "AND", " AND ", "\t", ";", "+", "\n", "é", "'") + q[at:]
		case 1:
			q = q[:at] + q[min(at+1, len(q)):]
		case 2:
			q = q[:at]
		}
	}
	if !utf8.ValidString(q) {
		q = "plan pr"
	}
	return map[string]any{
		"variations":  map[string]any{"a": true, "b": false},
		"targeting":   []any{map[string]any{"query": q, "variation": "a"}},
		"defaultRule": map[string]any{"variation": "b"},
	}
}

// open reads flags as the product's cache does: those that are not valid are left out.
func open(t testing.TB, document []byte) func(string, *oracle.Subject) (json.RawMessage, error) {
	var file map[string]dto.DTO
	if err := json.Unmarshal(document, &file); err != nil {
		t.Fatal(err)
	}
	flags := make(map[string]*flag.InternalFlag)
	for key, d := range file {
		f := d.Convert()
		if f.IsValid() == nil {
			flags[key] = &f
		}
	}
	return func(key string, s *oracle.Subject) (json.RawMessage, error) {
		f := flags[key]
		if f == nil {
			return json.RawMessage("null"), nil
		}
		value, _ := f.Value(key, utils.ConvertEvaluationCtxFromRequest(s.ID, s.Properties), flag.Context{})
		return json.Marshal(value)
	}
}

// moved changes one percentage and another one by a thousandth.
func moved(_ *rand.Rand, document []byte) []byte {
	var file map[string]map[string]any
	if json.Unmarshal(document, &file) != nil {
		return nil
	}
	for _, f := range file {
		d, _ := f["defaultRule"].(map[string]any)
		p, _ := d["percentage"].(map[string]any)
		sum := 0.0
		for _, share := range p {
			sum += share.(float64)
		}
		names := slices.Sorted(maps.Keys(p))
		if len(names) < 2 || sum >= 1 {
			continue
		}
		slices.Reverse(names) // as it draws
		if a, b := p[names[0]].(float64), p[names[1]].(float64); a > 0 && b > 0.001 {
			p[names[0]], p[names[1]] = a+0.001, b-0.001
			other, _ := json.Marshal(file)
			return other
		}
	}
	return nil
}

const day = 24 * time.Hour

// A generator makes a document.
type generator struct{ generate.Generator }

func document(r *rand.Rand, n int) ([]byte, []oracle.Subject) {
	g := generator{generate.Generator{Rand: r}}
	file := make(map[string]any)
	for i := range 10 {
		f := g.flag()
		for hasProblem(f, unsure) {
			f = g.flag()
		}
		file[fmt.Sprintf("flag-%d", i)] = f
	}
	return marshal(file), g.subjects(n / 5) // rather more flags, which differ in more
}

func (g generator) subjects(n int) []oracle.Subject {
	list := make([]oracle.Subject, n)
	for i := range list {
		list[i] = g.Subject(i)
	}
	return list
}

func marshal(v any) []byte {
	document, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return document
}

// unsure is what the problem says of percentages that the product adds in an order that changes:
// it gives users now one variation, now another.
const unsure = "in an order that changes"

// hasProblem reports whether a flag is imported with a problem.
func hasProblem(f map[string]any, with string) bool {
	p, err := gofeatureflag.Convert(marshal(map[string]any{"f": f}), &convert.Options{})
	return err == nil && slices.ContainsFunc(p.Flags[0].Problems, func(s string) bool { return strings.Contains(s, with) })
}

// variations are of one type, mostly.
func (g generator) variations() map[string]any {
	return generate.Pick(g.Rand,
		map[string]any{"a": true, "b": false},
		map[string]any{"a": "one", "b": "two", "c": "three", "B": "four"},
		map[string]any{"a": 1, "b": 2.5, "c": -3, "d": 0},
		map[string]any{"a": map[string]any{"x": 1}, "b": map[string]any{}, "c": map[string]any{"y": []any{1, "", nil}}},
	)
}

func (g generator) flag() map[string]any {
	v := g.variations()
	f := map[string]any{"variations": v, "defaultRule": g.rule(v, false)}
	var rules []any
	for i := range g.IntN(4) {
		r := g.rule(v, true)
		if g.IntN(2) == 0 {
			r["name"] = fmt.Sprintf("rule %d", i)
		}
		if g.IntN(12) == 0 {
			r["disable"] = true
		}
		rules = append(rules, r)
	}
	if rules != nil {
		f["targeting"] = rules
	}
	switch g.IntN(12) {
	case 0:
		f["bucketingKey"] = generate.Pick(g.Rand, "", "plan", "user.name", "user.address.city", "age", "nowhere.else")
	case 1:
		f["disable"] = true
	case 2:
		f["experimentation"] = map[string]any{"start": g.past(), "end": g.past()}
	case 3:
		f["experimentation"] = map[string]any{"start": g.past()}
	case 4, 5:
		f["scheduledRollout"] = g.steps(v)
	}
	return f
}

func (g generator) past() string {
	return time.Now().Add(-time.Duration(1+g.IntN(500)) * day).UTC().Format(time.RFC3339)
}

// steps have all come.
func (g generator) steps(v map[string]any) (steps []any) {
	for range 1 + g.IntN(4) {
		s := map[string]any{"date": g.past()}
		switch g.IntN(6) {
		case 0:
			s["disable"] = g.IntN(3) == 0
		case 1:
			s["defaultRule"] = g.rule(v, false)
		case 2:
			s["variations"] = g.variations()
			if _, same := v["a"].(bool); same {
				s["variations"] = map[string]any{"a": false, "b": true}
			} else {
				delete(s, "variations")
			}
		case 3:
			s["experimentation"] = map[string]any{generate.Pick(g.Rand, "start", "end"): g.past()}
		default:
			r := g.rule(v, true)
			r["name"] = fmt.Sprintf("rule %d", g.IntN(3))
			s["targeting"] = []any{r}
		}
		steps = append(steps, s)
	}
	return steps
}

func (g generator) rule(v map[string]any, query bool) map[string]any {
	r := make(map[string]any)
	if query {
		r["query"] = g.query()
	}
	names := slices.Sorted(maps.Keys(v))
	slices.Reverse(names)
	switch g.IntN(8) {
	case 0, 2, 3:
		r["variation"] = generate.Pick(g.Rand, names...)
	case 1:
		from, to := float64(g.IntN(50)), float64(50+g.IntN(60))
		r["progressiveRollout"] = map[string]any{
			"initial": map[string]any{"variation": names[0], "percentage": from, "date": time.Now().Add(-1000 * day).Format(time.RFC3339)},
			"end":     map[string]any{"variation": names[1], "percentage": to, "date": time.Now().Add(-900 * day).Format(time.RFC3339)},
		}
	default:
		r["percentage"] = g.percentages(names)
	}
	return r
}

// percentages add up to much, little, or 100. They are binary fractions or thousandths, whose
// sum does not depend on the order.
func (g generator) percentages(names []string) map[string]float64 {
	p := make(map[string]float64)
	switch g.IntN(4) {
	case 0: // a few thousandths, so that each end has many neighbours
		for _, name := range names {
			p[name] = float64(g.IntN(5)) / 1024
		}
	case 1:
		rest := 100
		for _, name := range names[1:] {
			n := g.IntN(rest + 1)
			p[name] = float64(n)
			rest -= n
		}
		p[names[0]] = float64(rest)
	case 2:
		for _, name := range names {
			p[name] = float64(g.IntN(400)) / 8
		}
	default:
		p[names[0]], p[names[1]] = float64(g.IntN(30))/1000, float64(g.IntN(30))/1000
	}
	sum := 0.0
	for _, share := range p {
		sum += share
	}
	if sum == 0 {
		p[names[0]] = 1
	}
	return p
}

func (g generator) query() string {
	if g.IntN(3) == 0 {
		rule := g.Logic(2)
		for {
			if m, ok := rule.(map[string]any); ok && m != nil {
				break
			}
			rule = g.Logic(2)
		}
		document, _ := json.Marshal(rule)
		return string(document)
	}
	if g.IntN(60) == 0 {
		return generate.Pick(g.Rand, "", "null", `{"nosuch": [1]}`, "{}", `{"a": 1, "b": 2}`)
	}
	q := g.condition(2)
	if g.IntN(20) == 0 {
		q += generate.Pick(g.Rand, " ", " AND plan eq \"pro\"", ")", ";", "\n", " foo")
	}
	if g.IntN(20) == 0 {
		q = strings.ReplaceAll(q, " or ", " \nor ")
	}
	return q
}

func (g generator) condition(depth int) string {
	switch n := g.IntN(8); {
	case depth > 0 && n < 3:
		return g.condition(depth-1) + generate.Pick(g.Rand, " and ", " or ") + g.condition(depth-1)
	case depth > 0 && n == 3:
		return generate.Pick(g.Rand, "not ", "NOT ", "not", "", "") + generate.Pick(g.Rand, "(", "( ") + g.condition(depth-1) + generate.Pick(g.Rand, ")", " )")
	}
	name := generate.Pick(g.Rand, generate.Attributes...)
	if g.IntN(5) == 0 {
		name = generate.Pick(g.Rand, generate.Nested...)
	}
	if g.IntN(15) == 0 {
		return name + " pr"
	}
	kind := g.IntN(8)
	if g.IntN(3) > 0 { // what suits the attribute
		switch name[strings.LastIndex(name, ".")+1:] {
		case "plan", "name", "city", "key", "targetingKey":
			kind = isText
		case "age", "score", "zip":
			kind = generate.Pick(g.Rand, isWhole, isDouble)
		case "version":
			kind = isVersion
		case "beta", "anonymous":
			kind = isBoolean
		}
	}
	return name + " " + g.comparison(kind)
}

// The kinds of literals; all other numbers are texts.
const (
	isText = iota
	isWhole
	isDouble
	isVersion
	isBoolean
	isNull
)

// comparison makes an operator and a value, which mostly go together.
func (g generator) comparison(kind int) string {
	op := generate.Pick(g.Rand, "eq", "ne", "gt", "lt", "ge", "le", "EQ", "==", "!=", ">", "<=", "GE")
	switch {
	case g.IntN(40) == 0:
		op = generate.Pick(g.Rand, "co", "sw", "ew", "in")
	case kind == isBoolean || kind == isNull:
		op = generate.Pick(g.Rand, "eq", "ne", "NE")
	case kind != isVersion && g.IntN(3) == 0:
		op = generate.Pick(g.Rand, "in", "IN")
		if g.IntN(6) > 0 {
			return op + " " + g.list(kind)
		}
	case kind != isVersion && kind != isWhole && kind != isDouble && g.IntN(2) == 0:
		op = generate.Pick(g.Rand, "co", "sw", "ew", "CO", "SW")
	}
	return op + " " + g.literal(kind)
}

func (g generator) literal(kind int) string {
	switch kind {
	case isBoolean:
		return generate.Pick(g.Rand, "true", "false")
	case isNull:
		return "null"
	case isVersion:
		return generate.Pick(g.Rand, generate.Versions[:10]...)
	case isDouble:
		return g.double()
	case isWhole:
		return fmt.Sprint(generate.Pick(g.Rand, 1, -1) * generate.Pick(g.Rand, generate.Wholes...))
	}
	return fmt.Sprintf("%q", generate.Pick(g.Rand, generate.Texts...))
}

func (g generator) list(kind int) string {
	var list []string
	for range 1 + g.IntN(3) {
		element := g.literal(kind)
		if kind == isWhole { // a list has no negative ones
			element = strings.TrimPrefix(element, "-")
		}
		list = append(list, element)
	}
	return "[" + strings.Join(list, generate.Pick(g.Rand, ",", ", ")) + "]"
}

func (g generator) double() string {
	return fmt.Sprintf("%.6f", generate.Pick(g.Rand, generate.Doubles...))
}
