package sdk

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
)

// The definitions document of evaluation.md §1, as far as the comparison needs
// it.
type (
	document struct {
		Flags   []*definition     `json:"flags"`
		Groups  map[string]string `json:"group_type_mapping"`
		Cohorts map[string]node   `json:"cohorts"`
	}
	definition struct {
		ID         int     `json:"id"`
		Key        string  `json:"key"`
		Active     bool    `json:"active"`
		Version    int     `json:"version"`
		Continuity bool    `json:"ensure_experience_continuity,omitempty"`
		Bucketing  string  `json:"bucketing_identifier,omitempty"`
		Hash       string  `json:"bucketing_hash,omitempty"`
		Filters    filters `json:"filters"`
	}
	filters struct {
		Groups       []condition   `json:"groups"`
		Multivariate *multivariate `json:"multivariate,omitempty"`
		Aggregation  *int          `json:"aggregation_group_type_index,omitempty"`
		EarlyExit    bool          `json:"early_exit,omitempty"`
		Enrollment   bool          `json:"feature_enrollment,omitempty"`
		Holdout      *holdout      `json:"holdout,omitempty"`
	}
	multivariate struct {
		Variants []variant `json:"variants"`
	}
	variant struct {
		Key     string  `json:"key"`
		Rollout float64 `json:"rollout_percentage"`
	}
	holdout struct {
		ID        int     `json:"id"`
		Exclusion float64 `json:"exclusion_percentage"`
	}
	condition struct {
		Properties  []property `json:"properties"`
		Rollout     *float64   `json:"rollout_percentage,omitempty"`
		Variant     *string    `json:"variant,omitempty"`
		Aggregation *int       `json:"aggregation_group_type_index,omitempty"`
	}
	property struct {
		Key      string   `json:"key"`
		Type     string   `json:"type"`
		Operator string   `json:"operator"`
		Value    any      `json:"value"`
		Index    *int     `json:"group_type_index,omitempty"`
		Negation bool     `json:"negation,omitempty"`
		Chain    []string `json:"dependency_chain,omitempty"`
	}
	// A node is a part of a cohort. Its values are nodes and properties.
	node struct {
		Type   string `json:"type"`
		Values []any  `json:"values"`
	}
)

// A subject is a person for whom flags are evaluated. All numbers are float64,
// as in JSON.
type subject struct {
	id     string
	device string
	person object
	groups map[string]string
	group  map[string]object
}

func (d *document) flag(key string) *definition {
	for _, f := range d.Flags {
		if f.Key == key {
			return f
		}
	}
	return nil
}

// visit calls f for each filter that the value of a flag may depend on,
// including filters of its cohorts and dependencies, with the properties that
// the filter reads.
func (d *document) visit(of *definition, s *subject, f func(p property, in object)) {
	d.walk(of, s, f, make(map[string]bool))
}

func (d *document) walk(of *definition, s *subject, f func(property, object), seen map[string]bool) {
	if of == nil || seen[of.Key] {
		return
	}
	seen[of.Key] = true
	for _, c := range of.Filters.Groups {
		for _, p := range c.Properties {
			d.walkProperty(p, s, f, seen)
		}
	}
}

func (d *document) walkProperty(p property, s *subject, f func(property, object), seen map[string]bool) {
	f(p, s.properties(p))
	switch p.Type {
	case "cohort":
		d.walkNode(d.Cohorts[fmt.Sprint(p.Value)], s, f, seen)
	case "flag":
		d.walk(d.flag(p.Key), s, f, seen)
	}
}

func (d *document) walkNode(n node, s *subject, f func(property, object), seen map[string]bool) {
	for _, v := range n.Values {
		switch v := v.(type) {
		case node:
			d.walkNode(v, s, f, seen)
		case property:
			d.walkProperty(v, s, f, seen)
		}
	}
}

// properties returns the properties that a filter reads.
func (s *subject) properties(p property) object {
	if p.Type != "group" {
		if _, ok := s.person["distinct_id"]; ok {
			return s.person
		}
		with := object{"distinct_id": s.id}
		maps.Copy(with, s.person)
		return with
	}
	with := object{"$group_key": s.groups["company"]}
	maps.Copy(with, s.group["company"])
	return with
}

// needs lists the flags that the value of a flag may depend on, including the
// flag itself.
func (d *document) needs(of *definition, s *subject) []*definition {
	list := []*definition{of}
	d.visit(of, s, func(p property, _ object) {
		if target := d.flag(p.Key); p.Type == "flag" && target != nil {
			list = append(list, target)
		}
	})
	return list
}

// A generator makes flags like the flags of a real project. Most of their filters
// are ones that every evaluator understands.
type generator struct {
	*rand.Rand
	*document
}

// kinds has the properties of persons, with the operators and values used for
// each.
var kinds = map[string]struct {
	operators []string
	values    []any
}{
	"plan":    {[]string{"exact", "is_not", "is_set", "icontains", "not_icontains", "starts_with", "ends_with", "regex", "not_regex"}, []any{"pro", "free", "team", "professional"}},
	"email":   {[]string{"exact", "icontains", "not_icontains", "ends_with", "not_ends_with", "starts_with", "not_starts_with", "regex", "not_regex"}, []any{"ada@acme.example", "bob@other.example", "eve@acme.example"}},
	"country": {[]string{"exact", "is_not", "is_set"}, []any{"NO", "US", "DE", "JP"}},
	"seats":   {[]string{"gt", "gte", "lt", "lte", "exact", "is_not", "icontains"}, []any{1.0, 5.0, 20.0, 50.0, 250.0}},
	"paying":  {[]string{"exact", "is_not", "is_set"}, []any{true, false}},
	"version": {[]string{"semver_eq", "semver_neq", "semver_gt", "semver_gte", "semver_lt", "semver_lte", "semver_tilde", "semver_caret", "semver_wildcard"}, []any{"1.2.3", "1.10.0", "2.0.0", "0.3.1", "2.4", "v1.2.4"}},
	"joined":  {[]string{"is_date_before", "is_date_after"}, []any{"2020-02-29", "2024-06-01T07:00:00Z", "2026-01-02T03:04:05+02:00", "2023-12-31 23:59:59", "2023-12-31T23:59:59.5Z"}},
}

// names are the names of kinds in a fixed order.
var names = []string{"plan", "email", "country", "seats", "paying", "version", "joined"}

// Evaluators treat these values and operators differently.
var (
	oddValues    = []any{nil, "Pro", "ÉCOLE", "école", "5", "true", "1.0.0-rc.1", "03.1.0", "V1.2.3", "yesterday", 1717225201.0, []any{}, []any{"pro", "Team"}, ""}
	oddOperators = []string{"is_not_set", "icontains_multi", "not_icontains_multi", "between", "not_between", "is_date_exact", "semver_wildcard", "gt", "exact", "is_not", "icontains"}
)

func pick[T any](g *generator, list []T) T { return list[g.IntN(len(list))] }

func (g *generator) often(percent int) bool { return g.IntN(100) < percent }

// filter makes a filter on a property of the person or, if it has an index, of
// the group.
func (g *generator) filter(index *int) property {
	name := pick(g, names)
	kind := kinds[name]
	p := property{Key: name, Type: "person", Operator: pick(g, kind.operators), Value: pick(g, kind.values)}
	if index != nil {
		p.Type, p.Index = "group", index
	}
	switch p.Operator {
	case "exact", "is_not":
		if g.often(40) && name != "paying" {
			p.Value = []any{p.Value, pick(g, kind.values)}
		}
	case "icontains", "not_icontains", "starts_with", "not_starts_with", "ends_with", "not_ends_with":
		if text, ok := p.Value.(string); ok {
			p.Value = pick(g, []string{text, text[:2], text[len(text)-3:], strings.ToUpper(text)})
		}
	case "regex", "not_regex":
		p.Value = pick(g, []any{"^p", "a.me", "[ab]", "e$", "(free|team)", "?*"})
	case "semver_wildcard":
		p.Value = pick(g, []any{"1.*", "2.*", "1.2.*", "0.3.*"})
	case "is_date_before", "is_date_after":
		if g.often(30) {
			p.Value = pick(g, []any{"-30d", "-2y", "400w", "-20000h", "-9000h"})
		}
	}
	if g.often(4) {
		p.Value = pick(g, oddValues)
	}
	if g.often(2) {
		p.Operator = pick(g, oddOperators)
	}
	return p
}

func (g *generator) conditions(index *int) []condition {
	list := make([]condition, 1+g.IntN(3))
	for i := range list {
		list[i].Properties = make([]property, g.IntN(3))
		for j := range list[i].Properties {
			list[i].Properties[j] = g.filter(index)
		}
		if g.often(60) {
			list[i].Rollout = new(pick(g, []float64{0, 10, 33.3, 50, 72.65, 100}))
		}
	}
	return list
}

// flag makes a flag that may depend on existing flags.
func (g *generator) flag(id int) *definition {
	f := &definition{ID: id, Key: fmt.Sprintf("random-%d", id), Active: !g.often(5), Version: 1}
	if g.often(15) {
		f.Filters.Aggregation = new(0)
	}
	f.Filters.Groups = g.conditions(f.Filters.Aggregation)
	if f.Filters.Aggregation == nil {
		g.more(f)
	}
	if g.often(40) {
		f.Filters.Multivariate = &multivariate{[]variant{{"a", 20}, {"b", float64(g.IntN(80))}, {"c", float64(g.IntN(30))}}}
		if g.often(40) {
			f.Filters.Groups[0].Variant = new(pick(g, []string{"a", "c", "nope", ""}))
		}
	}
	f.Filters.EarlyExit = g.often(15)
	if g.often(4) {
		f.Filters.Holdout = &holdout{id, 30}
	}
	return f
}

// more adds parts that a flag about groups may not have: management allows it
// only filters on its group.
func (g *generator) more(f *definition) {
	add := func(p property) {
		c := &f.Filters.Groups[g.IntN(len(f.Filters.Groups))]
		c.Properties = append(c.Properties, p)
	}
	switch g.IntN(12) {
	case 0, 1:
		add(property{Key: "id", Type: "cohort", Operator: "in", Value: 1 + g.IntN(len(g.Cohorts))})
	case 2, 3:
		if target := g.target(); target != "" {
			add(property{Key: target, Type: "flag", Operator: "flag_evaluates_to", Value: pick(g, []any{true, false, "a", "b"}), Chain: []string{target}})
		}
	case 4:
		f.Filters.Groups = append(f.Filters.Groups, condition{Properties: []property{g.filter(new(0))}, Rollout: new(60.0), Aggregation: new(0)})
	case 5:
		if g.often(40) {
			f.Bucketing = "device_id"
		}
	case 6:
		if g.often(10) {
			f.Continuity = true
		}
	case 7:
		if g.often(30) {
			f.Filters.Enrollment = true
		}
	}
}

// target returns the key of a flag to depend on, or "". It excludes flags about
// groups, because the SDK evaluates them for the person when another flag
// depends on them.
func (g *generator) target() string {
	var keys []string
	for _, f := range g.Flags {
		if strings.HasPrefix(f.Key, "random-") && f.Filters.Aggregation == nil && !f.mixed() {
			keys = append(keys, f.Key)
		}
	}
	if len(keys) == 0 {
		return ""
	}
	return pick(g, keys)
}

func (f *definition) mixed() bool {
	for _, c := range f.Filters.Groups {
		if c.Aggregation != nil && f.Filters.Aggregation == nil {
			return true
		}
	}
	return false
}

// cohort makes a cohort of leaves and of earlier cohorts.
func (g *generator) cohort(id int) node {
	top := node{Type: pick(g, []string{"AND", "OR"})}
	for range 1 + g.IntN(2) {
		inner := node{Type: pick(g, []string{"AND", "OR"})}
		for range 1 + g.IntN(2) {
			leaf := g.filter(nil)
			leaf.Negation = g.often(15)
			if id > 1 && g.often(15) {
				leaf = property{Key: "id", Type: "cohort", Operator: "in", Value: 1 + g.IntN(id-1), Negation: g.often(30)}
			}
			inner.Values = append(inner.Values, leaf)
		}
		top.Values = append(top.Values, inner)
	}
	return top
}

// subject makes a person who has most of the properties.
func (g *generator) subject(n int) *subject {
	properties := func() object {
		o := object{}
		for _, name := range names {
			switch {
			case g.often(3):
			case g.often(2):
				o[name] = pick(g, oddValues)
			default:
				o[name] = pick(g, kinds[name].values)
			}
		}
		return o
	}
	s := &subject{id: fmt.Sprintf("user-%d", n), person: properties()}
	if g.often(50) {
		s.device = fmt.Sprintf("device-%d", n)
	}
	if g.often(80) {
		s.groups = map[string]string{"company": fmt.Sprintf("company-%d", n%7)}
		if g.often(97) {
			s.group = map[string]object{"company": properties()}
		}
	}
	return s
}
