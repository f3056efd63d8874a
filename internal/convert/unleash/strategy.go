package unleash

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/convert"
)

// A condition is when a strategy enables its flag: all filters hold, and the draw includes the
// subject.
type condition struct {
	filters []flags.Filter
	draw    draw
}

// A draw is a share of those whom a strategy is for.
type draw struct {
	all     bool // it includes everybody, also those without a subject
	group   string
	percent uint64 // how many of a hundred
	fields  []string
}

// The fields of the context that a draw falls back on, each where those before it are empty.
var (
	rolloutFields = []string{"userId", "sessionId"}
	variantFields = []string{"userId", "sessionId", "remoteAddress"}
)

var everybody = draw{all: true}

// nobody is the condition of a strategy that never matches.
func nobody() condition {
	return condition{filters: []flags.Filter{convert.Always(false)}, draw: everybody}
}

// condition returns the condition of a strategy without its segments and constraints. It is not
// known if the Go SDK passes over it.
func (c *converter) condition(f *feature, s *strategy, about *report) (out condition, known bool) {
	out.draw = everybody
	switch s.Name {
	case "default":
	case "userWithId":
		ids, _ := s.Parameters["userIds"].(string)
		if ids == "" {
			return nobody(), true
		}
		out.filters = []flags.Filter{c.users(trimmed(ids))}
	case "remoteAddress":
		ips, ok := s.Parameters["IPs"].(string)
		if !ok {
			return nobody(), true
		}
		out.filters = []flags.Filter{c.dialectFilter(&constraint{ContextName: "remoteAddress", Operator: "IN_CIDR", Values: trimmed(ips)})}
	case "flexibleRollout":
		return c.flexible(s, about), true
	case "gradualRolloutUserId", "gradualRolloutSessionId":
		group, ok := s.Parameters["groupId"].(string)
		percent, isNumber := number(s.Parameters["percentage"])
		if !ok || !isNumber {
			about.note("The strategy %s lacks groupId or percentage: it never matches, as there.", s.Name)
			return nobody(), true
		}
		field := "userId"
		if s.Name == "gradualRolloutSessionId" {
			field = "sessionId"
		}
		out.draw = draw{group: group, percent: share(percent), fields: []string{field}}
	case "gradualRolloutRandom":
		percent, ok := number(s.Parameters["percentage"])
		switch {
		case !ok || !(percent >= 1):
			return nobody(), true
		case percent < 100:
			about.problem("The strategy gradualRolloutRandom draws anew at each call: here each person is drawn once, so that the share stays.")
			out.draw = draw{group: f.Name, percent: share(percent), fields: rolloutFields}
		}
	case "applicationHostname":
		if names, _ := s.Parameters["hostNames"].(string); names != "" {
			about.problem("The strategy applicationHostname asks for the name of the machine: it never matches.")
		}
		return nobody(), true
	default:
		about.problem("The strategy %q is not known: it never matches.", s.Name)
		return condition{}, false
	}
	return out, true
}

func (c *converter) flexible(s *strategy, about *report) condition {
	texts := map[string]string{}
	for _, name := range []string{"groupId", "stickiness"} {
		v, ok := s.Parameters[name].(string)
		if !ok && s.Parameters[name] != nil {
			about.problem("The parameter %s of the strategy flexibleRollout is not a text: the strategy never matches.", name)
			return nobody()
		}
		texts[name] = v
	}
	percent, ok := number(s.Parameters["rollout"])
	if !ok {
		about.note("The strategy flexibleRollout lacks rollout: it never matches, as there.")
		return nobody()
	}
	d := draw{group: texts["groupId"], percent: share(percent)}
	switch stickiness := texts["stickiness"]; stickiness {
	case "", "default":
		d.fields = rolloutFields
		d.all = d.percent == 100
		c.drawsAnew = c.drawsAnew || !d.all && d.percent > 0
	case "random":
		if d.percent > 0 && d.percent < 100 {
			about.problem("The stickiness random draws anew at each call: here each person is drawn once, so that the share stays.")
		}
		d.fields = rolloutFields
		d.all = d.percent == 100
	default:
		d.fields = []string{stickiness}
	}
	return condition{draw: d}
}

func trimmed(list string) []string {
	out := strings.Split(list, ",")
	for i := range out {
		out[i] = strings.TrimSpace(out[i])
	}
	return out
}

// number reads a parameter that is a number, or the text of one.
func number(v any) (float64, bool) {
	switch v := v.(type) {
	case float64:
		return v, true
	case string:
		f, err := strconv.ParseFloat(v, 64)
		return f, err == nil
	}
	return 0, false
}

// share returns how many of the hundred results of a draw are within a percentage: of n from 0
// to 99 those with n+1 <= percent.
func share(percent float64) uint64 {
	if !(percent > 0) {
		return 0
	}
	return uint64(math.Min(math.Floor(percent), 100))
}

// rollout returns the split of a draw by one field.
func (c *converter) rollout(d *draw, field string) flags.RuleSplit {
	return flags.RuleSplit{
		Hash: "murmur3_32", Modulus: 100, Prefix: d.group + ":", Subject: c.subject(field), Ends: []uint64{d.percent},
		Values: rawTexts("true"), Rest: "continue", NoSubject: "continue",
	}
}

// subject returns the name of the property that a split is by.
func (c *converter) subject(field string) string {
	if name := c.property(field); name != distinctID {
		return name
	}
	return ""
}

// chain returns a filter that draws by the first of the fields that is there.
func (c *converter) chain(fields []string, split func(field string, last bool) flags.RuleSplit) flags.Filter {
	var parts []flags.Filter
	for i, field := range fields {
		s := split(field, i == len(fields)-1)
		parts = append(parts, convert.All(append(c.emptyAll(fields[:i]), flags.Filter{Type: "split", Split: &s})...))
	}
	return convert.Any(parts...)
}

func (c *converter) emptyAll(fields []string) (list []flags.Filter) {
	for _, field := range fields {
		list = append(list, c.empty(field))
	}
	return list
}

// drawFilters returns the filter of a draw, if it does not include everybody.
func (c *converter) drawFilters(d *draw) []flags.Filter {
	if d.all {
		return nil
	}
	return []flags.Filter{c.chain(d.fields, func(field string, _ bool) flags.RuleSplit { return c.rollout(d, field) })}
}

// A collection is variants, of which one is drawn.
type collection struct {
	group      string
	stickiness string
	variants   []variant
}

// variantsOf returns what those whom a strategy enables draw from. It is not ok if the strategy
// turns the flag off, because its variants lack the group that they are drawn with.
func (c *converter) variantsOf(f *feature, s *strategy, about *report) (v *collection, ok bool) {
	if s == nil || len(s.Variants) == 0 {
		if len(f.Variants) == 0 {
			return nil, true
		}
		return c.collection(f.Name, f.Variants[0].Stickiness, f.Variants, about), true
	}
	group, ok := s.Parameters["groupId"].(string)
	if !ok {
		about.note("The strategy %s has variants and lacks groupId: it turns the flag off, as in the Go SDK.", s.Name)
		return nil, false
	}
	stickiness, first := s.Variants[0].Stickiness, s.Variants[0].Stickiness
	if v, ok := s.Parameters["stickiness"].(string); ok && c.version != 5 {
		stickiness = v
	}
	out := c.collection(group, stickiness, s.Variants, about)
	if now, before := sticky(stickiness), sticky(first); c.version == 0 && out.alone() == nil && out.total() > 0 && now != before {
		say := about.problem
		if both := []string{"default", "userId"}; slices.Contains(both, now) && slices.Contains(both, before) {
			say = about.note // which only concerns people without an ID
		}
		say("Version 5 of the Go SDK draws the variants of a strategy by the stickiness %q of the first one, version 6 by %q of the strategy. "+
			"Here it is as in version 6. Say which one served the users.", before, now)
	}
	return out, true
}

func sticky(s string) string {
	if s == "" {
		return "default"
	}
	return s
}

func (c *converter) collection(group, stickiness string, list []variant, about *report) *collection {
	v := &collection{group: group, stickiness: sticky(stickiness)}
	for _, one := range list {
		if one.Weight < 0 || one.Weight > math.MaxInt32 {
			about.problem("The weight of the variant %q is negative or too large: nobody draws it.", one.Name)
			one.Weight = 0
		}
		v.variants = append(v.variants, one)
	}
	if v.total() > math.MaxUint32 {
		about.problem("The weights of the variants are too large: nobody draws one.")
		for i := range v.variants {
			v.variants[i].Weight = 0
		}
	}
	if v.alone() == nil && v.total() > 0 {
		if v.stickiness == "random" {
			about.problem("The variants are drawn anew at each call, by the stickiness random: here they are drawn once for each person, so that the shares stay.")
			v.stickiness = "default"
		}
		c.drawsAnew = c.drawsAnew || v.stickiness == "default"
	}
	return v
}

func (v *collection) total() (n int64) {
	for i := range v.variants {
		n += v.variants[i].Weight
	}
	return n
}

// alone returns the variant that everybody draws, if there is one.
func (v *collection) alone() *variant {
	for i := range v.variants {
		if one := &v.variants[i]; one.Weight > 0 && one.Weight == v.total() {
			return one
		}
	}
	return nil
}

func (v *collection) fields() []string {
	if v.stickiness == "default" {
		return variantFields
	}
	return []string{v.stickiness}
}

// split returns the split of the variants by one field. Unleash draws anew for those without any
// field: here they get the first variant.
func (c *converter) split(v *collection, field string, last bool, value func(*variant) string) flags.RuleSplit {
	s := flags.RuleSplit{
		Hash: "murmur3_32", HashSeed: 86028157, Modulus: uint64(v.total()), Prefix: v.group + ":", Subject: c.subject(field), Rest: "last", NoSubject: "continue",
	}
	if last {
		s.NoSubject = "first"
	}
	end := uint64(0)
	for i := range v.variants {
		if one := &v.variants[i]; one.Weight > 0 {
			end += uint64(one.Weight)
			s.Ends = append(s.Ends, end)
			s.Values = append(s.Values, rawTexts(value(one))...)
		}
	}
	return s
}

// override returns a filter for those who get a variant without drawing, or nil.
func (c *converter) override(v *variant) *flags.Filter {
	var list []flags.Filter
	for _, o := range v.Overrides {
		k := &constraint{ContextName: o.ContextName, Operator: "IN", Values: o.Values}
		f, ok := c.ownOperator(k)
		switch {
		case len(o.Values) == 0:
			continue
		case o.ContextName == "" || o.ContextName == "currentTime": // there is no such property for overrides
			f = convert.Always(slices.Contains(o.Values, ""))
		case !ok:
			f = c.dialectFilter(k)
		}
		list = append(list, f)
	}
	f := convert.Any(list...)
	if holds, constant := convert.IsConstant(&f); constant && !holds {
		return nil
	}
	return &f
}
