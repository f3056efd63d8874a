package main_test

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// A flag is a definition independent of any library. Conditions are tried in
// turn: a person who meets all filters of a condition has the flag, at the
// rollout of this condition. A flag with variants has no conditions: each
// person has one of its variants.
type flag struct {
	key        string
	conditions []condition
	variants   []string // with equal shares
}

type condition struct {
	filters []filter
	rollout int // in percent
}

type operator uint8

const (
	equals operator = iota
	above
	matches
	versions // from this version on
)

// A filter compares a property with a string or, for the operator above, an
// int.
type filter struct {
	property string
	operator operator
	value    any
}

// A person is the subject of an evaluation. Its properties are strings, ints
// and bools.
type person struct {
	id         string
	properties map[string]any
}

// meets is the result that every library should have.
func (c condition) meets(p person) bool {
	for _, f := range c.filters {
		ok := false
		switch v := p.properties[f.property]; f.operator {
		case equals:
			ok = v == f.value
		case above:
			ok = v.(int) > f.value.(int)
		case matches:
			ok = regexp.MustCompile(f.value.(string)).MatchString(v.(string))
		case versions:
			ok = !older(v.(string), f.value.(string))
		}
		if !ok {
			return false
		}
	}
	return true
}

// older compares versions of three numbers.
func older(a, b string) bool {
	as, bs := strings.Split(a, "."), strings.Split(b, ".")
	for i := range as {
		x, _ := strconv.Atoi(as[i])
		y, _ := strconv.Atoi(bs[i])
		if x != y {
			return x < y
		}
	}
	return false
}

const flagKey = "new-checkout"

var (
	booleanFlag = flag{key: flagKey, conditions: []condition{{rollout: 100}}}

	conditionsFlag = flag{key: flagKey, conditions: []condition{
		{filters: []filter{{"plan", equals, "Free"}, {"seats", above, 10}}, rollout: 50},
		{filters: []filter{{"plan", equals, "Team"}, {"seats", above, 20}}, rollout: 50},
		{filters: []filter{{"plan", equals, "Pro"}, {"seats", above, 30}}, rollout: 50},
	}}

	variantsFlag = flag{key: flagKey, variants: []string{"red", "green", "blue", "black"}}

	regexpFlag = flag{key: flagKey, conditions: []condition{{
		filters: []filter{{"email", matches, `^[a-z0-9._-]+@(acme|example|corp)[.](com|org)$`}}, rollout: 100,
	}}}

	semverFlag = flag{key: flagKey, conditions: []condition{{
		filters: []filter{{"version", versions, "2.10.0"}}, rollout: 100,
	}}}
)

// manyFlags returns n flags with one condition of two filters at 50 %. The
// persons of visitor meet all filters.
func manyFlags(n int) []flag {
	texts := []string{"plan", "country", "browser", "os", "locale", "team"}
	numbers := []string{"seats", "logins", "age_days", "projects"}
	p := visitor(0)
	flags := make([]flag, n)
	for i := range flags {
		text := texts[i%len(texts)]
		flags[i] = flag{key: fmt.Sprintf("benchmark-flag-%05d", i), conditions: []condition{{
			filters: []filter{{text, equals, p.properties[text]}, {numbers[i%len(numbers)], above, i % 7}},
			rollout: 50,
		}}}
	}
	return flags
}

func personID(i int) string { return fmt.Sprintf("0190f5a0-7c1e-7b7e-9d3a-%012x", i) }

// customer returns a person with few properties, who meets the third condition
// of conditionsFlag and the conditions of the other flags.
func customer(i int) person { return customerWith(personID(i)) }

func customerWith(id string) person {
	return person{id, map[string]any{
		"plan": "Pro", "seats": 42, "country": "DE", "beta": true,
		"email": "somebody.with.a.long.name@example.com", "version": "2.11.3",
	}}
}

// anybody returns a person who may meet any of the conditions, or none.
func anybody(i int) person {
	p := customer(i)
	p.properties["plan"] = []string{"Free", "Team", "Pro", "none"}[i%4]
	p.properties["seats"] = i * 7 % 60
	p.properties["email"] = []string{"ada@acme.com", "ada@example.net", "Ada@corp.org", "ada.b-c@corp.org"}[i%4]
	p.properties["version"] = []string{"2.9.9", "2.10.0", "1.99.0", "10.0.0", "2.10.1"}[i%5]
	return p
}

// visitor returns a person with 25 properties.
func visitor(i int) person {
	return person{personID(i), map[string]any{
		"plan": "Pro", "country": "DE", "browser": "Chrome", "os": "Linux", "locale": "de-DE", "team": "platform",
		"seats": 42, "logins": 1337, "age_days": 400, "projects": 12,
		"email": "somebody@example.com", "browser_version": 156, "device_type": "Desktop", "timezone": "Europe/Berlin",
		"current_url": "https://app.example.com/projects/42/dashboard", "referrer": "https://www.example.org/",
		"screen_width": 2560, "screen_height": 1440, "utm_source": "newsletter", "utm_campaign": "autumn",
		"beta": true, "verified": true, "joined": "2025-10-16T09:30:00Z", "trial": false, "score": 75,
	}}
}

func persons(n int, of func(int) person) []person {
	all := make([]person, n)
	for i := range all {
		all[i] = of(i)
	}
	return all
}
