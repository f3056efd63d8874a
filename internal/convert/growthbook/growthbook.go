package growthbook

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/convert"
)

// Convert reads what GrowthBook serves at /api/features/KEY.
func Convert(data []byte, o *convert.Options) (*convert.Project, error) {
	if o == nil {
		o = new(convert.Options)
	}
	d, err := read(data)
	if err != nil {
		return nil, err
	}
	project := &convert.Project{Notes: d.notes}
	c := &converter{
		document: d, options: o, project: project, cohorts: &cohorts{project: project, of: make(map[[2]string]*cohort)},
		features: make(map[string]*feature), flags: make(map[string]*convert.Flag), held: make(map[string][]bool), typedValues: make(map[string]bool),
	}
	if _, ok := d.features[""]; ok {
		delete(d.features, "")
		project.Notes = append(project.Notes, "A feature whose key is empty is left out.")
	}
	keys := slices.Sorted(maps.Keys(d.features))
	for _, key := range keys {
		c.features[key] = newFeature(key, d.features[key])
	}
	for _, key := range keys {
		c.findCircle(key)
	}
	for _, key := range keys {
		project.Flags = append(project.Flags, *c.flag(key))
	}
	if c.sticky {
		project.Notes = append(project.Notes, "Experiments have versions of sticky buckets. If programs use a service for sticky buckets: what it has stored does not move, and everybody is drawn again.")
	}
	return project, nil
}

type converter struct {
	*document
	options  *convert.Options
	project  *convert.Project
	cohorts  *cohorts
	features map[string]*feature
	flags    map[string]*convert.Flag // that are made
	sticky   bool

	held        map[string][]bool // by condition of a prerequisite and values
	typedValues map[string]bool   // whether they are of a type, by both
}

// A feature is one of the document.
type feature struct {
	value json.RawMessage // nil: null
	rules []rule
	flag  *convert.Flag

	state  visit
	circle bool // it needs itself, or a feature that does
}

type visit uint8

const (
	unseen visit = iota
	within
	seen
)

// A rule is one of a feature.
type rule struct {
	where string // for people
	id    string // that rules here are named after

	condition  json.RawMessage
	parents    []parent
	forced     bool
	force      json.RawMessage
	variations []json.RawMessage
	weights    []float64
	key        string
	coverage   *float64
	span       *span
	spans      []span
	filters    []drawFilter
	namespace  *namespace
	attribute  string
	seed       string
	version    int
	name       string
	passed     []bool // of variations that pass on to the next rule
	minSticky  int
	fallback   string
	unsticky   bool
	sticky     int
	bandit     bool
}

// A parent is a prerequisite.
type parent struct {
	id        string
	condition json.RawMessage
	gate      bool
}

// A drawFilter includes some of those whom it draws.
type drawFilter struct {
	attribute, seed string
	version         int
	spans           []span
}

type namespace struct {
	id   string
	span span
}

func newFeature(key string, raw json.RawMessage) *feature {
	f := &feature{flag: &convert.Flag{Key: key, Active: true}}
	m := &members{where: "The feature", flag: f.flag}
	if json.Unmarshal(raw, &m.left) != nil {
		f.flag.Problems = append(f.flag.Problems, "The feature is not an object: it is what the caller falls back on.")
		return f
	}
	var rules []json.RawMessage
	m.take("rules", &rules)
	if value := m.left["defaultValue"]; string(value) != "null" {
		f.value = value
	}
	delete(m.left, "defaultValue")
	m.take("description", &f.flag.Description)
	var metadata struct{ Tags []string }
	m.take("metadata", &metadata)
	f.flag.Tags = metadata.Tags
	m.done()
	if m.bad {
		f.value = nil
	}
	names := make(map[string]bool)
	for i, raw := range rules {
		where := "Rule " + strconv.Itoa(i+1)
		r, ok := newRule(&members{where: where, flag: f.flag}, raw)
		if r.id == "" || names[r.id] {
			r.id = where
		}
		names[r.id] = true
		if ok {
			f.rules = append(f.rules, r)
		}
	}
	return f
}

// newRule reads a rule. It is not ok if a member of it is not what it has to be.
func newRule(m *members, raw json.RawMessage) (r rule, ok bool) {
	r.where = m.where
	if json.Unmarshal(raw, &m.left) != nil {
		m.flag.Problems = append(m.flag.Problems, m.where+" is not an object: it is left out.")
		return r, false
	}
	r.force, r.forced = m.left["force"]
	r.condition = m.left["condition"]
	delete(m.left, "force")
	delete(m.left, "condition")
	var parents, filters, meta []map[string]json.RawMessage
	var namespaces []json.RawMessage
	var later, bandit json.RawMessage
	m.takeAll(map[string]any{
		"id": &r.id, "parentConditions": &parents, "variations": &r.variations, "weights": &r.weights, "key": &r.key, "coverage": &r.coverage,
		"range": &r.span, "ranges": &r.spans, "filters": &filters, "namespace": &namespaces, "hashAttribute": &r.attribute, "seed": &r.seed,
		"hashVersion": &r.version, "name": &r.name, "meta": &meta, "minBucketVersion": &r.minSticky, "bucketVersion": &r.sticky,
		"fallbackAttribute": &r.fallback, "disableStickyBucketing": &r.unsticky, "contextualVariations": &later, "contextualBanditRef": &bandit,
	})
	r.bandit = later != nil || given(bandit)
	for _, name := range []string{"urlPatterns", "url", "groups", "status"} {
		if raw := m.left[name]; given(raw) && string(raw) != "[]" && string(raw) != `"running"` {
			m.flag.Problems = append(m.flag.Problems, fmt.Sprintf("%s: %q is not taken over: the rule is for all pages and groups, as in GrowthBook's SDK for Go.", m.where, name))
		}
		delete(m.left, name)
	}
	for _, name := range []string{"phase", "type", "banditVersion", "tracks", "metadata"} { // which decide nothing
		delete(m.left, name)
	}
	m.done()
	for _, left := range parents {
		var p parent
		p.condition = left["condition"]
		delete(left, "condition")
		m.inner("a prerequisite", left, map[string]any{"id": &p.id, "gate": &p.gate})
		r.parents = append(r.parents, p)
	}
	for _, left := range filters {
		var f drawFilter
		m.inner("a filter", left, map[string]any{"attribute": &f.attribute, "seed": &f.seed, "hashVersion": &f.version, "ranges": &f.spans})
		r.filters = append(r.filters, f)
	}
	for _, left := range meta {
		var passed bool
		var text string
		m.inner("a variation", left, map[string]any{"passthrough": &passed, "key": &text, "name": &text})
		r.passed = append(r.passed, passed)
	}
	if namespaces != nil {
		r.namespace = new(namespace)
		left := make(map[string]json.RawMessage)
		for i, name := range []string{"id", "start", "end"} {
			if i < len(namespaces) {
				left[name] = namespaces[i]
			}
		}
		m.bad = m.bad || len(namespaces) != 3
		m.inner("a namespace", left, map[string]any{"id": &r.namespace.id, "start": &r.namespace.span[0], "end": &r.namespace.span[1]})
	}
	return r, !m.bad
}

// inner reads an object within a rule.
func (m *members) inner(what string, left map[string]json.RawMessage, to map[string]any) {
	within := &members{left: left, where: m.where + ", " + what, flag: m.flag}
	within.takeAll(to)
	within.done()
	m.bad = m.bad || within.bad
}

// findCircle finds features that need themselves. GrowthBook gives them null where it comes to
// that.
func (c *converter) findCircle(key string) (circle bool) {
	f := c.features[key]
	switch {
	case f == nil:
		return false
	case f.state != unseen:
		return f.state == within || f.circle
	}
	f.state = within
	for i := range f.rules {
		for _, p := range f.rules[i].parents {
			if c.findCircle(p.id) {
				f.circle = true
			}
		}
	}
	f.state = seen
	return f.circle
}

// flag returns the flag that a feature becomes.
func (c *converter) flag(key string) *convert.Flag {
	if f := c.flags[key]; f != nil {
		return f
	}
	f := c.features[key]
	c.flags[key] = f.flag
	b := &builder{converter: c, feature: f, flag: f.flag, set: &f.flag.Rules}
	b.build()
	f.flag.Problems, f.flag.Notes = once(f.flag.Problems), once(f.flag.Notes)
	return f.flag
}

// once returns a list without what comes again in it.
func once(list []string) (out []string) {
	for _, s := range list {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// A builder makes the rule set of one feature.
type builder struct {
	*converter
	*feature
	flag  *convert.Flag
	set   *flags.RuleSet
	size  int
	nulls bool // a rule ends with null
}

func (b *builder) problem(text string, of ...any) {
	b.flag.Problems = append(b.flag.Problems, fmt.Sprintf(text, of...))
}

func (b *builder) build() {
	b.set.Rules, b.set.Aggregation = []flags.Rule{}, flags.ByPerson
	b.set.ReturnType, _ = convert.TypeOf(b.values())
	value := b.typed("The default value", b.value)
	for i := range b.rules {
		b.rule(&b.rules[i])
	}
	b.set.Default = value
	if b.nulls && value != nil {
		// Null is what the caller falls back on, so the value is that of a last rule.
		b.set.Default = nil
		b.add(flags.Rule{ID: "\x00default", Type: "targeted_release", Targeting: []flags.Filter{}, Value: value, Description: new("The default value")})
	}
	if len(b.set.Rules) > maxRules {
		b.problem("The feature has more than %d rules: it is what the caller falls back on.", maxRules)
		b.set.Rules, b.set.Default = []flags.Rule{}, nil
	}
	for i := range b.set.Rules {
		b.set.Rules[i].ID = convert.ID("growthbook", b.flag.Key, b.set.Rules[i].ID)
	}
	filters, err := b.flag.Filters()
	if err == nil {
		_, err = flags.DecodeRuleSet(filters, false)
	}
	if err != nil {
		b.problem("A rule set cannot be like this (%v): it is what the caller falls back on.", err)
		b.set.Rules, b.set.Default = []flags.Rule{}, nil
	}
}

const maxRules = 100

// values are those that the feature can have.
func (b *builder) values() []json.RawMessage {
	list := []json.RawMessage{b.value}
	for i := range b.rules {
		list = append(list, b.rules[i].force)
		list = append(list, b.rules[i].variations...)
	}
	slices.SortFunc(list, func(a, b json.RawMessage) int { return bytes.Compare(a, b) })
	list = slices.CompactFunc(list, func(a, b json.RawMessage) bool { return bytes.Equal(a, b) })
	return slices.DeleteFunc(list, isNull)
}

// typed returns a value of the type of the feature, or nil for null, and for one that is not.
func (b *builder) typed(where string, v json.RawMessage) json.RawMessage {
	switch {
	case isNull(v):
		return nil
	case !b.hasType(v):
		what := "not a " + b.set.ReturnType + " as others are, or not one that a flag may have"
		if v[0] == '[' {
			what = "a list"
		} else if string(v) == `""` {
			what = "an empty text"
		}
		b.problem("%s is %s: in its place is what the caller falls back on.", where, what)
		return nil
	case v[0] == '{':
		// Of several members with one name the last counts.
		d := json.NewDecoder(bytes.NewReader(v))
		d.UseNumber()
		var object any
		if d.Decode(&object) == nil {
			return encode(object)
		}
	}
	return v
}

// hasType reports whether a value is of the type of the feature. Many features have the same
// values.
func (b *builder) hasType(v json.RawMessage) bool {
	key := b.set.ReturnType + string(v)
	has, ok := b.typedValues[key]
	if !ok {
		has = convert.HasType(v, b.set.ReturnType)
		b.typedValues[key] = has
	}
	return has
}

func isNull(v json.RawMessage) bool { return v == nil || string(v) == "null" }

// conditions returns what reads conditions of a rule, and a function that keeps what they say.
func (b *builder) conditions(where string) (c *conditions, keep func()) {
	t := new(told)
	return &conditions{options: b.options, groups: b.groups, cohorts: b.cohorts, told: t, size: &b.size}, func() {
		for _, p := range t.problems {
			b.problem("%s: %s", where, p)
		}
		for _, n := range t.notes {
			b.flag.Notes = append(b.flag.Notes, where+": "+n)
		}
	}
}

// rule adds what a rule becomes.
func (b *builder) rule(r *rule) {
	var parts []expression
	for i, p := range r.parents {
		if parent := b.features[p.id]; parent != nil && parent.circle {
			b.problem("%s needs the feature %q, which needs itself: in place of the rule is what the caller falls back on.", r.where, p.id)
			b.null(r, fmt.Sprintf("circle %d", i+1), "", parts...)
			return
		}
		holds := b.parent(r, p)
		if !p.gate {
			parts = append(parts, holds)
			continue
		}
		b.null(r, fmt.Sprintf("gate %d", i+1), fmt.Sprintf("Without the feature %q", p.id), append(slices.Clip(parts), holds.not())...)
	}
	if !r.forced && len(r.variations) < 2 && !r.bandit {
		return
	}
	if r.bandit && !r.forced {
		b.problem("%s is one of a contextual bandit: it is left out.", r.where)
		return
	}
	if !r.unsticky && (r.fallback != "" || r.minSticky > 0) {
		b.problem("%s has sticky buckets: what is stored there does not move, and everybody is drawn by the hash attribute alone.", r.where)
	}
	b.sticky = b.sticky || r.sticky > 0
	c, keep := b.conditions(r.where)
	parts = append(parts, c.read(r.condition))
	keep()
	for _, f := range r.filters {
		parts = append(parts, b.drawFilter(f))
	}
	if r.forced {
		b.force(r, parts)
	} else {
		b.flag.Experiment = true
		b.experiment(r, parts)
	}
}

// drawFilter returns a filter that holds for those whom a filter of GrowthBook includes.
func (b *builder) drawFilter(f drawFilter) expression {
	d, ok := newDraw(f.seed, cmp.Or(f.version, 2), b.subject(f.attribute))
	if !ok {
		return never
	}
	return one(d.filter(d.inSpans(f.spans), included))
}

func included(index int) bool { return index >= 0 }

// subject returns the property that is hashed, "" for the distinct ID.
func (b *builder) subject(attribute string) string {
	if name := propertyOf(b.options, cmp.Or(attribute, "id")); name != distinctID {
		return name
	}
	if attribute == distinctID {
		b.flag.Notes = append(b.flag.Notes, "A hash attribute: "+ownDistinctID)
	}
	return ""
}

// force adds a rule that gives one value.
func (b *builder) force(r *rule, parts []expression) {
	value := b.typed("The value of "+r.where, r.force)
	if r.coverage == nil && r.span == nil {
		b.give(r, value, parts...)
		return
	}
	d, ok := newDraw(cmp.Or(r.seed, b.flag.Key), cmp.Or(r.version, 1), b.subject(r.attribute))
	if !ok {
		return
	}
	var pieces []piece
	if r.span != nil {
		pieces = d.inSpans([]span{*r.span})
	} else {
		pieces = d.inSpans([]span{{0, *r.coverage}})
	}
	b.pieces(r, d, pieces, []json.RawMessage{value}, parts)
}

// experiment adds a rule that gives one of several values.
func (b *builder) experiment(r *rule, parts []expression) {
	subject := b.subject(r.attribute)
	if n := r.namespace; n != nil && len(r.filters) == 0 {
		d, _ := newDraw("__"+n.id, 1, subject)
		parts = append(parts, one(d.filter(d.inSpans([]span{n.span}), included)))
	}
	d, ok := newDraw(cmp.Or(r.seed, r.key, b.flag.Key), cmp.Or(r.version, 1), subject)
	if !ok {
		return
	}
	spans := r.spans
	if len(spans) == 0 {
		coverage := 1.0
		if r.coverage != nil {
			coverage = *r.coverage
		}
		spans = weightedSpans(len(r.variations), coverage, r.weights)
	}
	pieces := d.inSpans(spans)
	values := make([]json.RawMessage, len(r.variations))
	for i, v := range r.variations {
		if i >= len(r.passed) || !r.passed[i] {
			values[i] = b.typed(fmt.Sprintf("Variation %d of %s", i+1, r.where), v)
		}
	}
	for i := range pieces {
		index := pieces[i].index
		if index >= len(r.variations) || index >= 0 && index < len(r.passed) && r.passed[index] {
			pieces[i].index = -1
		}
	}
	b.pieces(r, d, pieces, values, parts)
}

// pieces adds rules that give each piece of a draw its value.
func (b *builder) pieces(r *rule, d draw, pieces []piece, values []json.RawMessage, parts []expression) {
	noValue := func(index int) bool { return index >= 0 && values[index] == nil }
	if slices.ContainsFunc(pieces, func(p piece) bool { return noValue(p.index) }) {
		b.null(r, "null", "", append(slices.Clip(parts), one(d.filter(pieces, noValue)))...)
	}
	hasValue := func(index int) bool { return index >= 0 && values[index] != nil }
	split := d.split("continue")
	gap, gaps := false, false
	for _, p := range pieces {
		if !hasValue(p.index) {
			gap = true
			continue
		}
		gaps = gaps || gap
		split.Ends, split.Values = append(split.Ends, p.end), append(split.Values, values[p.index])
	}
	switch {
	case len(split.Values) == 0:
		if i := slices.IndexFunc(values, func(v json.RawMessage) bool { return v != nil }); i >= 0 {
			split.Ends, split.Values = []uint64{0}, values[i:i+1]
		} else {
			return
		}
	case gaps && len(split.Values) == 1: // the filter alone decides
		b.give(r, split.Values[0], append(slices.Clip(parts), one(d.filter(pieces, hasValue)))...)
		return
	case gaps:
		parts = append(slices.Clip(parts), one(d.filter(pieces, hasValue)))
	}
	b.targeted(r, flags.Rule{ID: r.id, Type: "split", Split: split, Description: describe(r)}, parts...)
}

// give adds a rule that gives a value, or null.
func (b *builder) give(r *rule, value json.RawMessage, parts ...expression) {
	if value == nil {
		b.null(r, "null", "", parts...)
		return
	}
	b.targeted(r, flags.Rule{ID: r.id, Type: "targeted_release", Value: value, Description: describe(r)}, parts...)
}

// null adds a rule that ends with what the caller falls back on.
func (b *builder) null(r *rule, suffix, description string, parts ...expression) {
	rule := flags.Rule{ID: r.id + "\x00" + suffix, Description: new(cmp.Or(description, "No value"))}
	convert.Fallback(&rule, b.set.ReturnType)
	rule.Seed = "fallback"
	if b.targeted(r, rule, parts...) {
		b.nulls = true
	}
}

func describe(r *rule) *string {
	if text := cmp.Or(r.name, r.key); text != "" {
		return &text
	}
	return nil
}

// targeted adds a rule for those for whom all parts hold, unless that is nobody.
func (b *builder) targeted(r *rule, rule flags.Rule, parts ...expression) bool {
	e := allOf(parts...)
	if holds, ok := convert.IsConstant(&e.holds); ok && !holds {
		return false
	}
	filters, ok := e.targeting()
	if !ok {
		b.problem("%s: conditions lie more than %d deep within each other: it is left out.", r.where, maxDepth)
		return false
	}
	rule.Targeting = filters
	b.add(rule)
	return true
}

func (b *builder) add(rule flags.Rule) { b.set.Rules = append(b.set.Rules, rule) }

// parent returns an expression that holds if the value of a feature meets a condition.
func (b *builder) parent(r *rule, p parent) expression {
	var list []json.RawMessage
	canBeNull := true
	if b.features[p.id] != nil {
		flag := b.converter.flag(p.id)
		if len(flag.Problems) > 0 {
			b.problem("%s needs the feature %q, which is not exact.", r.where, p.id)
		}
		list, canBeNull = flag.Rules.Values(), flag.Rules.Default == nil
	}
	holds := b.holds(r, p.condition, append(slices.Clip(list), json.RawMessage("null")))
	ofNull := holds[len(list)]
	var with, without []json.RawMessage
	for i, v := range list {
		if holds[i] {
			with = append(with, v)
		} else {
			without = append(without, v)
		}
	}
	switch {
	case canBeNull && ofNull, !canBeNull && len(without) < len(with):
		return isOneOf(p.id, without, canBeNull).not()
	}
	return isOneOf(p.id, with, canBeNull)
}

// isOneOf returns an expression that holds if a flag has one of some values.
func isOneOf(flag string, values []json.RawMessage, canBeNull bool) expression {
	var parts []expression
	for _, v := range values {
		f := flags.Filter{Type: "flag", Key: flag, Operator: "flag_evaluates_to", Value: v}
		// False is also what a flag is that has no value.
		f.Comparison.StrictType = string(v) == "false" && canBeNull || strings.IndexByte(`tf"`, v[0]) < 0
		parts = append(parts, one(f))
	}
	return anyOf(parts...)
}

// holds reports for which values of a feature a condition on it is met.
func (b *builder) holds(r *rule, condition json.RawMessage, values []json.RawMessage) []bool {
	key := string(condition) + "\x00" + string(bytes.Join(asBytes(values), []byte{0}))
	if held, ok := b.held[key]; ok {
		return held
	}
	c, keep := b.conditions(r.where)
	c.cohorts, c.ofParent = nil, true
	e := c.read(condition)
	complete := len(c.told.problems) == 0
	keep()
	held := make([]bool, len(values))
	filters, ok := e.targeting()
	if !ok {
		b.problem("%s: conditions on a prerequisite lie more than %d deep within each other: they are not met.", r.where, maxDepth)
		return held
	}
	s, err := probe(filters)
	if err != nil {
		return held
	}
	for i, v := range values {
		held[i] = s.Bool(probeKey, &flags.Request{DistinctID: "probe", PersonProperties: map[string]any{parentProperty + "value": v}}, false)
	}
	if complete {
		b.held[key] = held
	}
	return held
}

// probeKey is the key of the flag of a probe. No other flag has it.
var probeKey = convert.ID("growthbook", "probe")

// probe compiles a flag that is true if filters all hold, beside others that these may be about.
func probe(filters []flags.Filter, others ...convert.Flag) (*flags.Snapshot, error) {
	set := flags.RuleSet{ReturnType: "boolean", Aggregation: flags.ByPerson, Rules: []flags.Rule{
		{ID: probeKey, Type: "targeted_release", Targeting: filters, Value: json.RawMessage("true")},
	}}
	project := convert.Project{Flags: append(others, convert.Flag{Key: probeKey, Active: true, Rules: set})}
	d, err := project.Definitions(nil)
	if err != nil {
		return nil, err
	}
	return flags.Compile(d, flags.CompileOptions{})
}

func asBytes(list []json.RawMessage) [][]byte {
	out := make([][]byte, len(list))
	for i := range list {
		out[i] = list[i]
	}
	return out
}
