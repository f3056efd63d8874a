package growthbook_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	sdk "github.com/growthbook/growthbook-golang"

	"github.com/flagstaff-go/flagstaff/examples/import/internal/oracle"
	"github.com/flagstaff-go/flagstaff/internal/convert"
	"github.com/flagstaff-go/flagstaff/internal/convert/growthbook"
)

var product = oracle.Product{
	Convert: growthbook.Convert, Export: growthbook.Export, Generate: generate, Open: open, Options: convert.Options{Properties: map[string]string{"plan": "tier"}},
}

func TestOracle(t *testing.T) { product.Run(t) }

func TestExportByHand(t *testing.T) { product.RunByHand(t, true, "plain", "share") }

func TestExport(t *testing.T) { product.RunExport(t) }

func TestExportBites(t *testing.T) { product.BitesExport(t, moved) }

func TestOracleBites(t *testing.T) { product.Bites(t, moved) }

// moved moves the ends of shares by one of the 1000 or 10000 numbers of the hash.
func moved(_ *rand.Rand, document []byte) []byte {
	var d map[string]any
	if err := json.Unmarshal(document, &d); err != nil {
		panic(err)
	}
	found := false
	for _, f := range d["features"].(map[string]any) {
		for _, rule := range f.(map[string]any)["rules"].([]any) {
			rule := rule.(map[string]any)
			step := 0.001
			if rule["hashVersion"] == 2.0 {
				step = 0.0001
			}
			if share, ok := rule["coverage"].(float64); ok && rule["force"] != nil && rule["range"] == nil {
				rule["coverage"], found = share+step, true
			}
		}
	}
	if !found {
		return nil
	}
	document, err := json.Marshal(d)
	if err != nil {
		panic(err)
	}
	return document
}

func open(t testing.TB, document []byte) func(string, *oracle.Subject) (json.RawMessage, error) {
	f, err := opened(document)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// opened reads a document as GrowthBook's SDK does.
func opened(document []byte) (func(string, *oracle.Subject) (json.RawMessage, error), error) {
	ctx := context.Background()
	client, err := sdk.NewClient(ctx, sdk.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		return nil, err
	}
	if err := client.UpdateFromApiResponseJSON(string(document)); err != nil {
		return nil, err
	}
	var last *oracle.Subject
	var of *sdk.Client
	return func(flag string, s *oracle.Subject) (json.RawMessage, error) {
		if s != last {
			attributes := sdk.Attributes{"id": s.ID}
			maps.Copy(attributes, s.Properties)
			if tier, ok := attributes["tier"]; ok { // as Options say
				attributes["plan"] = tier
			}
			if of, err = client.WithAttributes(attributes); err != nil {
				return nil, err
			}
			last = s
		}
		return json.Marshal(of.EvalFeature(ctx, flag).Value)
	}, nil
}

type (
	object = map[string]any
	list   = []any
)

// A generator makes a document, and keeps what its conditions ask for.
type generator struct {
	*rand.Rand
	asked  map[string]list // values by attribute
	groups []string
	made   []feature
}

type feature struct {
	key    string
	values list
}

func generate(r *rand.Rand, n int) ([]byte, []oracle.Subject) {
	g := &generator{Rand: r, asked: make(map[string]list)}
	groups := object{}
	for i := range 5 {
		id := fmt.Sprintf("grp_%d", i)
		groups[id] = g.group()
		g.groups = append(g.groups, id)
	}
	// The IDs of the others may be numbers, and the distinct ID is a text.
	groups[groupOfIDs] = pick[any](r, g.some("id"), object{"type": "list", "attributeKey": "id", "values": g.some("id")})
	features := object{}
	for i := range 6 {
		key := fmt.Sprintf("feature-%d", i)
		features[key] = g.feature(key)
	}
	document, err := json.Marshal(object{"status": 200, "features": features, "savedGroups": groups, "dateUpdated": "2026-11-20T12:00:00Z"})
	if err != nil {
		panic(err)
	}
	subjects := make([]oracle.Subject, n)
	for i := range subjects {
		subjects[i] = g.subject()
	}
	return document, subjects
}

const groupOfIDs = "grp_ids"

func pick[T any](r *rand.Rand, list ...T) T { return list[r.IntN(len(list))] }

func (g *generator) chance(percent int) bool { return g.IntN(100) < percent }

// What attributes can be. The first one of each is of its usual type.
var attributes = map[string][]func(*generator) any{
	"id":       {(*generator).id},
	"country":  {(*generator).word, (*generator).number},
	"plan":     {(*generator).word, (*generator).boolean},
	"email":    {(*generator).email, (*generator).words},
	"age":      {(*generator).number, (*generator).numeral, (*generator).words},
	"beta":     {(*generator).boolean, (*generator).word},
	"version":  {(*generator).version, (*generator).number},
	"tags":     {(*generator).words, (*generator).word, (*generator).mixed},
	"devices":  {(*generator).devices, (*generator).mixed},
	"company":  {(*generator).company, (*generator).words},
	"a/b~c":    {(*generator).word, (*generator).mixed},
	"deviceId": {(*generator).id, (*generator).boolean, (*generator).words},
	"account":  {(*generator).account, (*generator).id, (*generator).number},
}

var paths = []string{
	"company.plan", "company.seats", "company.owner.name", "company.tags", "company.a/b~c", "company.missing.deep", "tags.0", "tags.length",
	"devices.1.os", "devices.length", "country.length", "company.tags.1", "id.length", "devices.os",
}

var words = []string{
	"", "US", "us", "CA", "pro", "Pro", "PRO", "free", "straße", "STRASSE", "ſ", "s", "K", "k", "K", "İ", "é", "É", "😀", "\ue000", "a b", "10", "9",
	"true", "null", "0", "日本", "line\nbreak", "qu\"ote",
}

func (g *generator) word() any    { return pick(g.Rand, words...) }
func (g *generator) boolean() any { return g.chance(50) }
func (g *generator) numeral() any { return pick(g.Rand, "10", "9", "18", "-1", "1.5") }
func (g *generator) number() any {
	return pick(g.Rand, -1.0, 0, 1, 2, 9, 10, 17, 18, 19, 1.5, 99.99, 1e6, 1e21, 9007199254740991, 0.1)
}

func (g *generator) account() any {
	return pick(g.Rand, float64(g.IntN(5000)), g.Float64()*1000, float64(g.IntN(100))*1e19, float64(g.IntN(9))*1e-9)
}

func (g *generator) id() any {
	if g.chance(3) {
		return pick(g.Rand, "", "ada")
	}
	return pick(g.Rand, "user-", "u", "ü", "日本", "😀", "\ue000", "") + fmt.Sprint(g.IntN(20000))
}

func (g *generator) email() any {
	return pick(g.Rand, "ada", "bob", "Ada", "o'neil") + pick(g.Rand, "@acme.com", "@ACME.com", "@acme.com.evil.org", "@exämple.org", "")
}

func (g *generator) version() any {
	v := pick(g.Rand, "", "v", "V") + fmt.Sprintf("%d.%d", g.IntN(3), pick(g.Rand, 0, 2, 10, 9, 100000, 99999))
	return v + pick(g.Rand, "", ".0", ".1", ".10", ".1-rc.1", ".1-beta", "-2", ".0+build.5", ".1.2", "+a\n+b")
}

func (g *generator) words() any {
	l := list{}
	for range g.IntN(4) {
		l = append(l, g.word())
	}
	return l
}

func (g *generator) mixed() any {
	l := list{}
	for range g.IntN(4) {
		l = append(l, g.anything(1))
	}
	return l
}

func (g *generator) anything(depth int) any {
	switch n := g.IntN(9); {
	case n == 0:
		return nil
	case n == 1:
		return g.boolean()
	case n < 4:
		return g.number()
	case n == 4 && depth > 0:
		return list{g.anything(depth - 1), g.anything(depth - 1)}
	case n == 5 && depth > 0:
		return object{"os": g.word(), "x": g.anything(depth - 1)}
	}
	return g.word()
}

func (g *generator) devices() any {
	l := list{}
	for range g.IntN(4) {
		l = append(l, object{"os": g.word(), "version": g.version(), "screens": list{g.number(), g.word()}, "id": g.id()})
	}
	return l
}

func (g *generator) company() any {
	c := object{"plan": g.word(), "seats": g.number(), "tags": g.words(), "owner": object{"name": g.word()}, "a/b~c": g.word()}
	for _, name := range slices.Sorted(maps.Keys(c)) {
		if g.chance(15) {
			delete(c, name)
		} else if g.chance(10) {
			c[name] = g.anything(1)
		}
	}
	return c
}

// value returns a value of an attribute or of what a path leads to.
func (g *generator) value(path string) any {
	kinds := attributes[path]
	switch {
	case kinds != nil && !g.chance(15):
		return kinds[0](g)
	case kinds != nil:
		return pick(g.Rand, kinds...)(g)
	case strings.HasSuffix(path, "length"):
		return float64(g.IntN(4))
	case strings.HasSuffix(path, "seats"):
		return g.number()
	}
	return g.anything(1)
}

// ask returns a value for a condition, to which subjects come near.
func (g *generator) ask(path string) any {
	if seen := g.asked[path]; len(seen) > 0 && g.chance(30) {
		return pick(g.Rand, seen...)
	}
	v := g.value(path)
	if path == "id" {
		v = g.id()
	}
	g.asked[path] = append(g.asked[path], v)
	return v
}

func (g *generator) some(path string) list {
	l := list{}
	for range g.IntN(5) {
		l = append(l, g.ask(path))
	}
	if path != "id" && g.chance(15) {
		l = append(l, g.anything(1))
	}
	return l
}

func (g *generator) scalar(path string) any {
	for range 5 {
		switch v := g.ask(path).(type) {
		case list, object:
		default:
			return v
		}
	}
	return g.word()
}

// group returns a saved group.
func (g *generator) group() any {
	path := g.path()
	switch g.IntN(8) {
	case 0, 1, 2:
		return g.some(path)
	case 3, 4:
		return object{"type": "list", "attributeKey": path, "values": g.some(path)}
	case 5:
		return pick[any](g.Rand, object{"type": "list", "attributeKey": "country"}, object{"type": "condition"}, object{"type": "list", "values": list{"US"}}, nil, 5, list{})
	}
	return object{"type": "condition", "condition": g.condition(2)}
}

func (g *generator) groupID() string {
	return pick(g.Rand, append(slices.Clone(g.groups), "grp_missing", "grp_3")...)
}

func (g *generator) path() string {
	if g.chance(30) {
		return pick(g.Rand, paths...)
	}
	return pick(g.Rand, slices.Sorted(maps.Keys(attributes))...)
}

func (g *generator) conditions(depth int) list {
	l := list{}
	for range g.IntN(4) {
		l = append(l, g.condition(depth-1))
	}
	return l
}

func (g *generator) condition(depth int) object {
	c := object{}
	for range pick(g.Rand, 0, 1, 1, 1, 1, 2, 2, 3) {
		n := g.IntN(100)
		if depth <= 0 {
			n += 30
		}
		switch {
		case n < 6:
			c["$and"] = g.conditions(depth)
		case n < 15:
			c["$or"] = g.conditions(depth)
		case n < 20:
			c["$nor"] = g.conditions(depth)
		case n < 26:
			c["$not"] = g.condition(depth - 1)
		case n >= 30 && n < 38:
			c["$savedGroup"] = g.reference()
		default:
			path := g.path()
			c[path] = g.compared(path, depth)
		}
	}
	return c
}

func (g *generator) reference() any {
	r := object{"id": g.groupID()}
	if g.chance(20) {
		r["id"] = groupOfIDs
	} else if path := g.path(); path != "id" && g.chance(30) {
		r["attributeKey"] = path
	}
	return pick[any](g.Rand, r, r, r, r, r, r, r, "x", object{}, object{"id": "grp_0", "attributeKey": 1})
}

// compared returns what an attribute is compared with.
func (g *generator) compared(path string, depth int) any {
	if g.chance(25) {
		return g.ask(path)
	}
	o := object{}
	for range pick(g.Rand, 0, 1, 1, 1, 1, 1, 1, 2, 2, 3) {
		name := pick(g.Rand, operators...)
		o[name] = g.operand(name, path, depth)
	}
	return o
}

var operators = []string{
	"$eq", "$ne", "$lt", "$lte", "$gt", "$gte", "$in", "$nin", "$ini", "$nini", "$regex", "$regexi", "$veq", "$vne", "$vgt", "$vgte", "$vlt", "$vlte",
	"$size", "$elemMatch", "$all", "$alli", "$type", "$exists", "$inGroup", "$notInGroup", "$not", "$or",
}

func (g *generator) operand(name, path string, depth int) any {
	switch name {
	case "$eq", "$ne", "$lt", "$lte", "$gt", "$gte":
		return g.ask(path)
	case "$in", "$nin", "$ini", "$nini":
		if g.chance(3) {
			return "US"
		}
		return g.some(path)
	case "$regex", "$regexi":
		return pick(g.Rand, "^u", "@acme\\.com$", "^Pro$", "a", "", "[0-9]+$", "(?i)pro", "^(us|ca)$", "k", "(", "x(?!y)", "\\bs\\b", "^.$", "\\.", "s")
	case "$veq", "$vne", "$vgt", "$vgte", "$vlt", "$vlte":
		if path == "version" {
			return g.ask(path)
		}
		return pick[any](g.Rand, g.version(), g.version(), g.number(), nil, true, list{"1.0"})
	case "$size":
		return pick[any](g.Rand, 0, 1, 2, 3, "2", object{"$gt": 1}, object{"$lte": 2, "$ne": 0}, object{"$in": list{1, 3}})
	case "$type":
		return pick(g.Rand, "string", "number", "boolean", "array", "object", "null", "undefined")
	case "$exists":
		return pick[any](g.Rand, true, false, 1, 0, "", "x", nil, list{}, object{})
	case "$inGroup", "$notInGroup":
		if path == "id" {
			return groupOfIDs
		}
		return g.groupID()
	case "$all", "$alli":
		l := list{}
		for range g.IntN(3) {
			if g.chance(20) {
				l = append(l, g.compared("country", 0))
			} else {
				l = append(l, g.word())
			}
		}
		return l
	case "$elemMatch":
		switch {
		case g.chance(50):
			o := object{}
			for range 1 + g.IntN(2) {
				name := pick(g.Rand, operators[:27]...)
				o[name] = g.operand(name, "country", 0)
			}
			return o
		case g.chance(30) && depth > 0:
			return g.condition(depth - 1)
		}
		o := object{}
		for range 1 + g.IntN(2) {
			p := pick(g.Rand, "os", "version", "screens", "screens.0", "screens.length", "x", "$gt", "missing")
			o[p] = g.compared(pick(g.Rand, "version", "country", "tags"), 0)
		}
		if g.chance(20) {
			o["$or"] = list{object{"os": g.word()}, object{"os": object{"$type": "string"}}, object{"$savedGroup": g.reference()}}
		}
		return o
	case "$not":
		return g.compared(path, depth-1)
	}
	return list{object{"country": "US"}}
}

// share returns a share between 0 and 1, often one at which rounding shows.
func (g *generator) share() float64 {
	switch g.IntN(4) {
	case 0:
		return pick(g.Rand, 0, 1, 0.5, 0.1, 0.3, 0.001, 0.0001, 0.29, 0.57, 0.58, 1.0/3, 2.0/3, 0.9999, 0.99999, 1e-9)
	case 1:
		return float64(g.IntN(1001)) / 1000
	case 2:
		return float64(g.IntN(10001)) / 10000
	}
	return g.Float64()
}

func (g *generator) span() list {
	if g.chance(5) {
		return pick(g.Rand, list{0.5, 0.2}, list{-1, 2}, list{0, 0}, list{0.3}, list{0.1, 0.9, 7})
	}
	a, b := g.share(), g.share()
	return list{min(a, b), max(a, b)}
}

func (g *generator) spans() list {
	if g.chance(40) { // side by side
		at := pick(g.Rand, 0, 0, g.share()/2)
		l := list{}
		for range 1 + g.IntN(4) {
			next := at + (1-at)*g.Float64()
			l, at = append(l, list{at, next}), next
		}
		return l
	}
	l := list{}
	for range g.IntN(4) {
		l = append(l, g.span())
	}
	return l
}

// drawn adds what says who is drawn, and how.
func (g *generator) drawn(rule object, key string) {
	if g.chance(40) {
		rule["hashAttribute"] = pick(g.Rand, "id", "deviceId", "account", "company.plan", "plan", "missing", "email")
	}
	if g.chance(60) {
		rule["hashVersion"] = pick(g.Rand, 1, 2, 2, 2, 0, 3)
	}
	if g.chance(40) {
		rule["seed"] = pick(g.Rand, "seed", "sääd-😀", "", key)
	}
	if g.chance(10) {
		rule["fallbackAttribute"], rule["disableStickyBucketing"] = "deviceId", true
	}
	if g.chance(20) {
		l := list{}
		for range 1 + g.IntN(2) {
			f := object{"seed": pick(g.Rand, "ns", "pricing", ""), "ranges": g.spans()}
			if g.chance(40) {
				f["hashVersion"] = pick(g.Rand, 1, 2, 0, 5)
			}
			if g.chance(40) {
				f["attribute"] = pick(g.Rand, "id", "deviceId", "account", "missing")
			}
			l = append(l, f)
		}
		rule["filters"] = l
	}
	if g.chance(20) {
		rule["namespace"] = list{pick(g.Rand, "checkout", "näm", ""), g.share(), g.share()}
	}
}

func (g *generator) feature(key string) object {
	kind := g.IntN(4)
	f := feature{key: key}
	value := func() any {
		if g.chance(6) {
			f.values = append(f.values, nil)
			return nil
		}
		var v any
		switch kind {
		case 0:
			v = g.boolean()
		case 1:
			v = pick(g.Rand, "control", "red", "blue", "true", "0")
		case 2:
			v = pick(g.Rand, -1.5, 0, 1, 2, 10, 1e15)
		case 3:
			v = pick(g.Rand, object{}, object{"a": 1}, object{"a": "x", "b": object{"c": list{1, nil, ""}}})
		}
		f.values = append(f.values, v)
		return v
	}
	out := object{}
	if !g.chance(10) {
		out["defaultValue"] = value()
	}
	rules := list{}
	for i := range g.IntN(5) {
		rule := object{"id": fmt.Sprintf("fr_%d", i)}
		if g.chance(15) {
			delete(rule, "id")
		}
		if g.chance(60) {
			c := g.condition(2)
			if g.chance(1) {
				c["$savedGroups"] = "x" // which is never met
			}
			rule["condition"] = c
		}
		if len(g.made) > 0 && g.chance(25) {
			l := list{}
			for range 1 + g.IntN(2) {
				l = append(l, g.prerequisite())
			}
			rule["parentConditions"] = l
		}
		switch n := g.IntN(10); {
		case n < 2:
			rule["force"] = value()
		case n < 5:
			rule["force"] = value()
			g.drawn(rule, key)
			if !g.chance(20) {
				rule["coverage"] = pick(g.Rand, g.share(), g.share(), g.share(), -0.5, 1.5)
			}
			if g.chance(25) {
				rule["range"] = g.span()
			}
		case n < 9:
			g.experiment(rule, key, value)
		}
		rules = append(rules, rule)
	}
	out["rules"] = rules
	g.made = append(g.made, f)
	return out
}

func (g *generator) experiment(rule object, key string, value func() any) {
	n := pick(g.Rand, 1, 2, 2, 2, 2, 3, 4)
	variations, meta, weights := list{}, list{}, list{}
	for range n {
		variations = append(variations, value())
		m := object{"key": fmt.Sprint(len(meta))}
		if g.chance(10) {
			m["passthrough"] = true
		}
		meta = append(meta, m)
		weights = append(weights, g.share())
	}
	rule["variations"] = variations
	g.drawn(rule, key)
	if g.chance(40) {
		rule["key"] = pick(g.Rand, "exp-1", "exp-ü")
	}
	if g.chance(50) {
		rule["meta"] = meta
	}
	if g.chance(60) {
		rule["coverage"] = pick(g.Rand, g.share(), g.share(), 1, 1, -1, 2)
	}
	switch g.IntN(4) {
	case 0: // they do not add up
		rule["weights"] = weights
	case 1: // they do
		rest := 1.0
		for i := range weights[1:] {
			w := rest * g.Float64()
			weights[i], rest = w, rest-w
		}
		weights[n-1] = rest * pick(g.Rand, 1, 1, 1.005, 0.995)
		rule["weights"] = weights
	case 2:
		rule["weights"] = pick(g.Rand, list{0.334, 0.333, 0.333}, list{0.5, 0.5}, list{1, 0}, list{0.1, 0.9}, list{0.33, 0.33, 0.33}, list{1.5, -0.5}, list{0.7, 0.2, 0.1})
	}
	if g.chance(35) {
		rule["ranges"] = g.spans()
	}
}

// prerequisite returns a condition on a feature that was made before, or on none.
func (g *generator) prerequisite() object {
	p := object{"id": "missing"}
	var values list
	if !g.chance(5) {
		f := pick(g.Rand, g.made...)
		p["id"], values = f.key, f.values
	}
	values = append(slices.Clone(values), nil, true, 1.0)
	v := pick(g.Rand, values...)
	name := pick(g.Rand, "$eq", "$ne", "$gt", "$gte", "$lt", "$in", "$nin", "$type", "$exists", "$exists")
	operand := v
	switch name {
	case "$in", "$nin":
		operand = list{v, pick(g.Rand, values...)}
	case "$type":
		operand = pick(g.Rand, "string", "number", "null", "object")
	case "$exists":
		operand = g.boolean()
	}
	p["condition"] = pick[any](g.Rand, object{"value": v}, object{"value": true}, object{"value": object{name: operand}}, object{"value": object{name: operand}},
		object{"$not": object{"value": v}}, object{"$or": list{object{"value": v}, object{"value": object{"$gt": 0}}}}, object{"value.a": 1}, object{"value.b.c.length": 3}, object{}, nil,
		object{"country": "US"}, object{"id": object{"$exists": false}}, object{"$savedGroup": g.reference()})
	if g.chance(40) {
		p["gate"] = true
	}
	return p
}

func (g *generator) subject() oracle.Subject {
	s := oracle.Subject{ID: g.id().(string), Properties: object{}}
	if asked := g.asked["id"]; len(asked) > 0 && g.chance(30) {
		s.ID = pick(g.Rand, asked...).(string)
	}
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		if name == "id" || g.chance(12) {
			continue
		}
		v := g.value(name)
		if asked := g.asked[name]; len(asked) > 0 && g.chance(50) {
			v = g.near(pick(g.Rand, asked...))
		}
		if g.chance(5) {
			v = nil
		}
		s.Properties[name] = v
	}
	// What paths lead to.
	company, ok := s.Properties["company"].(object)
	for _, path := range paths {
		if name, found := strings.CutPrefix(path, "company."); ok && found && !strings.Contains(name, ".") && len(g.asked[path]) > 0 && g.chance(50) {
			company[name] = g.near(pick(g.Rand, g.asked[path]...))
		}
	}
	if plan, ok := s.Properties["plan"]; ok {
		s.Properties["tier"] = plan
		delete(s.Properties, "plan")
	}
	return s
}

// near returns a value or one that differs little from it.
func (g *generator) near(v any) any {
	if g.chance(60) {
		return v
	}
	switch v := v.(type) {
	case float64:
		return pick[any](g.Rand, v+1, v-1, fmt.Sprint(v), list{v})
	case string:
		return pick[any](g.Rand, strings.ToUpper(v), strings.ToLower(v), v+"x", "x"+v, list{v}, list{v, "US"}, object{"os": v})
	case bool:
		return pick[any](g.Rand, !v, fmt.Sprint(v))
	case list:
		return append(slices.Clone(v), g.anything(0))
	}
	return v
}
