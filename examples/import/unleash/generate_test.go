package unleash

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/flagstaff-go/flagstaff/examples/import/internal/oracle"
)

type object = map[string]any

// A generator makes documents for a version of the SDK, and subjects for them. What Unleash
// draws anew at each call has no value to compare, so subjects have what draws fall back on.
type generator struct {
	version int

	r       *rand.Rand
	texts   map[string][]string // that constraints compare fields with
	names   []string            // of flags
	partial bool                // default stickiness may leave somebody out: subjects have an ID or a session
	allIDs  bool                // subjects have an ID
}

func one[T any](r *rand.Rand, list ...T) T { return list[r.IntN(len(list))] }

func (g generator) chance(percent int) bool { return g.r.IntN(100) < percent }

func (g generator) generate(r *rand.Rand, n int) ([]byte, []oracle.Subject) {
	g.r = r
	g.texts = make(map[string][]string)
	g.partial, g.allIDs = g.chance(80), g.chance(40)
	for i := range 3 + r.IntN(6) {
		g.names = append(g.names, "flag-"+strconv.Itoa(i))
	}
	if g.chance(20) {
		g.names[0] = "fläg <0>"
	}
	var features, segments []any
	for i := range 3 {
		segments = append(segments, object{"id": i + 1, "name": "Segment " + strconv.Itoa(i), "constraints": g.constraints(g.chance(60))})
	}
	for i, name := range g.names {
		features = append(features, g.feature(i, name))
	}
	document, err := json.Marshal(object{"version": 2, "features": features, "segments": segments})
	if err != nil {
		panic(err)
	}
	subjects := make([]oracle.Subject, n)
	for i := range subjects {
		subjects[i] = g.subject()
	}
	return document, subjects
}

func (g generator) feature(i int, name string) object {
	f := object{"name": name, "type": one(g.r, "release", "experiment", "kill-switch"), "description": "…", "project": "default", "stale": g.chance(5), "impressionData": false}
	f["enabled"] = !g.chance(12)
	kind := g.r.IntN(4) // boolean, variants of the flag, of strategies, of both
	var strategies []any
	for range one(g.r, 0, 1, 1, 1, 2, 2, 3, 4) {
		strategies = append(strategies, g.strategy(name, kind >= 2))
	}
	f["strategies"] = strategies
	if kind&1 == 1 {
		f["variants"] = g.variants("", g.chance(50))
	}
	if i > 0 && g.chance(40) {
		var dependencies []any
		for range 1 + g.r.IntN(2) {
			d := object{"feature": g.names[g.r.IntN(i)]}
			switch g.r.IntN(20) {
			case 0:
				d["feature"] = "missing"
			case 1:
				d["feature"] = name
			case 2, 3, 4, 5, 6:
				d["enabled"] = false
			case 7, 8, 9:
				d["enabled"] = true
			}
			if g.chance(50) {
				d["variants"] = []string{one(g.r, variantNames...), one(g.r, variantNames...), one(g.r, "disabled", "none")}[:g.r.IntN(4)]
			}
			dependencies = append(dependencies, d)
		}
		f["dependencies"] = dependencies
	}
	return f
}

var variantNames = []string{"red", "green", "blue", "disabled"}

func (g generator) percentage() any {
	switch g.r.IntN(20) {
	case 0:
		return "0"
	case 1:
		return one[any](g.r, "abc", "", nil, "NaN", "1e999", true)
	case 2:
		return one[any](g.r, "-5", "0.99", "150", "1e2", "0x1p5", "Inf")
	case 3:
		return float64(g.r.IntN(100)) + g.r.Float64()
	case 4, 5:
		return strconv.FormatFloat(100*g.r.Float64(), 'f', 2, 64)
	case 6, 7, 8:
		return "100"
	}
	return strconv.Itoa(g.r.IntN(101))
}

// allOrNone is a percentage with which nothing is drawn.
func (g generator) allOrNone() any {
	return one[any](g.r, "0", "100", "100", "100", 100, "0.5", "1000")
}

func (g generator) strategy(flag string, variants bool) object {
	s := object{}
	p := object{"groupId": one(g.r, flag, flag, "", "shared", "größe")}
	switch g.r.IntN(14) {
	case 0:
		s["name"] = "default"
	case 1:
		s["name"] = "userWithId"
		p["userIds"] = one(g.r, "u1,u2, u3 ,u7", "", ",", "ü,U1, ", strings.Join(ids[:10], ","))
		if g.chance(5) {
			delete(p, "userIds")
		}
	case 2:
		s["name"] = "remoteAddress"
		p["IPs"] = strings.Join([]string{g.network(), " " + g.network(), g.network()}, ",")
	case 3:
		s["name"] = one(g.r, "gradualRolloutUserId", "gradualRolloutSessionId")
		p["percentage"] = g.percentage()
		if g.chance(5) {
			delete(p, "groupId")
		}
	case 4:
		s["name"] = one(g.r, "gradualRolloutRandom", "applicationHostname")
		p["percentage"], p["hostNames"] = g.allOrNone(), ""
	default:
		s["name"] = "flexibleRollout"
		p["rollout"] = g.percentage()
		stickiness := one(g.r, "default", "default", "default", "", "userId", "sessionId", "tenant", "plan", "remoteAddress", "environment", "random")
		if stickiness == "random" || !g.partial && (stickiness == "default" || stickiness == "") {
			p["rollout"] = g.allOrNone()
		}
		p["stickiness"] = stickiness
		if g.chance(3) {
			delete(p, "groupId")
		}
	}
	if g.chance(30) {
		s["segments"] = []int{1 + g.r.IntN(3), 1 + g.r.IntN(3)}[:1+g.r.IntN(2)]
	}
	if g.chance(3) {
		s["segments"] = []int{99}
	}
	s["constraints"] = g.constraints(true)
	if s["name"] == "default" && g.chance(20) {
		delete(p, "groupId")
	}
	if variants && g.chance(80) {
		stickiness := ""
		if g.version == 6 {
			// The stickiness of the strategy counts, and must not be one that is drawn anew.
			if p["stickiness"] == nil && g.chance(20) {
				p["stickiness"] = g.variantStickiness()
			}
			switch name, _ := p["stickiness"].(string); {
			case p["stickiness"] == nil:
			case name == "userId" && g.allIDs, name == "tenant", name == "environment", name == "default", name == "":
				stickiness = "any"
			default:
				stickiness = "alone"
			}
		}
		s["variants"] = g.variants(stickiness, g.chance(50))
	}
	s["parameters"] = p
	return s
}

// variantStickiness is one that is not drawn anew for any subject.
func (g generator) variantStickiness() string {
	if g.allIDs && g.chance(30) {
		return "userId"
	}
	return one(g.r, "default", "default", "", "tenant", "environment")
}

// variants makes variants with a stickiness that is not drawn anew: of their own, any if another
// one counts, or alone if the one that counts would be drawn anew.
func (g generator) variants(stickiness string, payloads bool) []any {
	own := g.variantStickiness()
	if stickiness == "any" {
		own = one(g.r, "default", "random", "plan")
	}
	var list []any
	n := 1 + g.r.IntN(4)
	for i := range n {
		weight := one(g.r, 0, 1, 250, 333, 334, 500, 1000, g.r.IntN(1001))
		if stickiness == "alone" && i > 0 {
			weight = 0
		}
		v := object{"name": one(g.r, variantNames...), "weight": weight, "weightType": one(g.r, "fix", "variable"), "stickiness": own}
		if payloads && g.chance(60) {
			v["payload"] = one(g.r, object{"type": "string", "value": "<b> & 'ü'"}, object{"type": "json", "value": `{"a": [1, null]}`},
				object{"type": "number", "value": ""}, object{"value": "5"}, object{}, nil)
		}
		if g.chance(25) {
			var overrides []any
			for range 1 + g.r.IntN(2) {
				field := one(g.r, "userId", "sessionId", "remoteAddress", "environment", "appName", "currentTime", "plan", "country", "missing")
				overrides = append(overrides, object{"contextName": field, "values": g.values(field, one(g.r, 0, 1, 2, 2))})
			}
			v["overrides"] = overrides
		}
		list = append(list, v)
	}
	return list
}

func (g generator) constraints(passing bool) []any {
	list := []any{}
	for range one(g.r, 0, 0, 0, 0, 1, 1, 1, 2) {
		list = append(list, g.constraint(passing))
	}
	return list
}

var (
	textFields   = []string{"plan", "country", "email", "userId", "country", "plan"}
	passingField = []string{"sessionId", "remoteAddress", "environment", "appName", "currentTime", "tenant"}
	dates        = []string{"2020-01-01T00:00:00Z", "2020-01-01T00:00:00.000Z", "2020-01-01T01:00:00+01:00", "2019-12-31T23:59:59.999999999Z", "2090-06-01T12:00:00Z"}
	versions     = []string{"1.2.3", "1.2.3-rc.1", "1.2.3-rc.2", "1.2.3-rc.11", "1.2.3-beta", "1.2.3+b7", "1.2.4", "2.0.0", "0.9.10", "1.2.3-1", "1.2.3-a.b"}
	numbers      = []string{"0", "5", "5.0", "5.5", "-5", "6", "4", "18", "1e3", "1000", "0.1", "0.10000000000000001", "9007199254740993", "18446744073709551616"}
	patterns     = []string{"^pro$", "p", "(?i)acme", "^$", "", "[0-9]+", `\d{2}`, "^(a|b)", "é", "."}
	broken       = []string{"", "abc", "1.2", "v1.2.3", "2020-01-01", "01.2.3", "1_000", "0x10", "NaN", "Inf", "(", "(?=a)", "1.2.3-", " 5"}
)

func (g generator) constraint(passing bool) object {
	field := one(g.r, textFields...)
	if passing && g.chance(25) {
		field = one(g.r, passingField...)
	}
	c := object{"inverted": g.chance(30), "caseInsensitive": g.chance(25), "values": []string{}, "value": ""}
	operator := one(g.r, "IN", "IN", "NOT_IN", "NOT_IN", "STR_CONTAINS", "STR_STARTS_WITH", "STR_ENDS_WITH", "NUM", "NUM", "DATE", "SEMVER", "SEMVER", "REGEX", "IN_CIDR")
	value := ""
	switch operator {
	case "NUM":
		operator += one(g.r, "_EQ", "_LT", "_LTE", "_GT", "_GTE")
		field = one(g.r, "age", "age", "score", field)
		value = one(g.r, numbers...)
	case "DATE":
		operator += one(g.r, "_BEFORE", "_AFTER")
		if passing {
			field = one(g.r, "currentTime", "since", "since", field)
		} else {
			field = "since"
		}
		value = one(g.r, dates...)
	case "SEMVER":
		operator += one(g.r, "_EQ", "_LT", "_GT", "_LTE", "_GTE")
		field = one(g.r, "version", "version", field)
		value = one(g.r, versions...)
	case "REGEX":
		value = one(g.r, patterns...)
	case "IN_CIDR":
		field = one(g.r, "ip", "ip", field)
		if passing {
			field = one(g.r, "remoteAddress", "ip", field)
		}
		c["values"] = []string{g.network(), g.network(), g.network()}[:g.r.IntN(4)]
	default:
		c["values"] = g.values(field, one(g.r, 0, 1, 1, 1, 2, 3, 12))
	}
	if value != "" {
		if g.chance(6) {
			value = one(g.r, broken...)
		}
		g.texts[field] = append(g.texts[field], value)
		c["value"] = value
	}
	c["contextName"], c["operator"] = field, operator
	return c
}

func (g generator) network() string {
	n := fmt.Sprintf("%d.%d.%d.%d", one(g.r, 10, 10, 192, 127), one(g.r, 0, 1), one(g.r, 0, 0, 255), g.r.IntN(4))
	n6 := fmt.Sprintf("2001:db8::%x:%x", g.r.IntN(2), g.r.IntN(4))
	return one(
		g.r, n, n+"/"+strconv.Itoa(8+g.r.IntN(25)), n+"/"+strconv.Itoa(g.r.IntN(34)), n6, n6+"/"+strconv.Itoa(g.r.IntN(130)),
		"::ffff:"+n, "::ffff:"+n+"/"+strconv.Itoa(80+g.r.IntN(49)), "localhost", "", "10.0.0.0/08", n+"/", "fe80::1%eth0", "::/0",
	)
}

// values are texts for a field, which subjects have, too.
func (g generator) values(field string, n int) []string {
	list := []string{}
	for range n {
		v := ""
		switch field {
		case "userId":
			v = one(g.r, ids...)
		case "sessionId":
			v = one(g.r, sessions...)
		case "environment", "appName":
			v = one(g.r, "development", "production", "default", appName, "web")
		case "remoteAddress":
			v = g.network()
		case "currentTime":
			v = one(g.r, dates...)
		default:
			v = one(g.r, "pro", "Pro", "free", "NO", "no", "se", "x@acme.com", "@acme.com", "null", "true", "5", "é", "ÉTÉ", "[1]", `{"a":1}`, "ſ", "K")
		}
		if g.chance(4) {
			v = ""
		}
		if g.chance(15) && v != "" {
			v = v[:1+g.r.IntN(len(v))]
			v = strings.ToValidUTF8(v, "")
		}
		list = append(list, v)
		g.texts[field] = append(g.texts[field], v)
	}
	return list
}

var ids, sessions = func() (ids, sessions []string) {
	for i := range 40 {
		ids = append(ids, "u"+strconv.Itoa(i))
		sessions = append(sessions, "s"+strconv.Itoa(i))
	}
	return append(ids, "U1", "ü", "12", "007", strings.Repeat("long", 50), "a,b", " u1", "👍"), append(sessions, "S1")
}()

// near returns a text, or one that comes near to it.
func (g generator) near(s string) string {
	switch g.r.IntN(10) {
	case 0:
		return strings.ToUpper(s)
	case 1:
		return s + one(g.r, "0", "x", " ", ".0")
	case 2:
		if n, err := strconv.ParseFloat(s, 64); err == nil && n < 1e6 && n > -1e6 {
			return strconv.FormatFloat(n+one(g.r, 1, -1, 0.1), 'f', -1, 64)
		}
		return "x" + s
	}
	return s
}

func (g generator) subject() oracle.Subject {
	s := oracle.Subject{Properties: make(map[string]any)}
	if g.allIDs || g.chance(85) {
		s.ID = one(g.r, ids...)
		if g.chance(50) {
			s.ID = strconv.FormatUint(g.r.Uint64(), 36)
		}
		list := g.texts["userId"]
		if len(list) == 0 && g.chance(5) { // filters cut what is longer than 200
			s.ID = strings.Repeat("longer", 50)
		}
		if len(list) > 0 && g.chance(30) {
			if id := g.near(one(g.r, list...)); id != "" && len(id) <= 200 {
				s.ID = id
			}
		}
	}
	for _, field := range []string{"plan", "country", "email", "age", "score", "since", "version", "ip", "sessionId", "remoteAddress", "environment", "appName", "currentTime", "tenant"} {
		s.Properties[field] = g.property(field)
		if s.Properties[field] == absent {
			delete(s.Properties, field)
		}
	}
	if session, _ := s.Properties["sessionId"].(string); session == "" && s.ID == "" && g.partial {
		s.Properties["sessionId"] = one(g.r, sessions...)
	}
	if address, _ := s.Properties["remoteAddress"].(string); address == "" && s.ID == "" {
		s.Properties["remoteAddress"] = "10.0.0.1"
	}
	return s
}

var absent = new(int)

func (g generator) property(field string) any {
	always := field == "environment" || field == "appName" || field == "tenant"
	if !always {
		switch g.r.IntN(20) {
		case 0, 1:
			return absent
		case 2:
			return nil
		case 3:
			return ""
		case 4:
			if field != "plan" && field != "sessionId" && field != "remoteAddress" { // by which rollouts are
				return one[any](g.r, true, false, 5.5, []any{1.0}, object{"a": 1.0}, []any{"a"}, []any{})
			}
		case 5:
			return one[any](g.r, 5.0, 12.0, 0.0, -5.0)
		}
	}
	if list := g.texts[field]; len(list) > 0 && g.chance(60) {
		s := g.near(one(g.r, list...))
		if n, err := strconv.ParseInt(s, 10, 32); err == nil && g.chance(50) {
			return float64(n)
		}
		if s != "" || !always {
			return s
		}
	}
	switch field {
	case "age", "score":
		return float64(g.r.IntN(30)) - 5
	case "since", "currentTime":
		return one(g.r, dates...)
	case "version":
		return one(g.r, versions...)
	case "ip", "remoteAddress":
		if a := g.network(); a != "" {
			return a
		}
		return "10.0.0.2"
	case "sessionId":
		return one(g.r, sessions...)
	case "tenant":
		return one[any](g.r, "t"+strconv.Itoa(g.r.IntN(50)), float64(g.r.IntN(50)))
	case "environment", "appName":
		return one(g.r, "development", "production", "default", appName)
	case "email":
		return one(g.r, "x@acme.com", "X@ACME.COM", "y@other.org", "é@acme.com")
	}
	return one(g.r, "pro", "Pro", "free", "no", "NO", "se", "null", "true")
}
