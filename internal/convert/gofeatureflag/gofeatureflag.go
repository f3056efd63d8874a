package gofeatureflag

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/flagstaff-go/flagstaff/internal/convert"
	"github.com/flagstaff-go/flagstaff/internal/convert/objects"
)

// product is the first part of IDs.
const product = "go-feature-flag"

// Convert converts a file of flags, as JSON.
func Convert(document []byte, o *convert.Options) (*convert.Project, error) {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(document, &all); err != nil || all == nil {
		return nil, fmt.Errorf("this is not a file of GO Feature Flag: want an object of flags by their keys, each with variations and defaultRule%s", because(err))
	}
	p := &convert.Project{}
	for _, key := range slices.Sorted(maps.Keys(all)) {
		b := &flagBuild{options: o, now: o.Moment(), out: convert.Flag{Key: key, Active: true}}
		if key == "" {
			return nil, fmt.Errorf("a flag has the empty key")
		}
		if err := b.read(all[key]); err != nil {
			return nil, fmt.Errorf("flag %q: %w", key, err)
		}
		b.build()
		p.Flags = append(p.Flags, b.out)
	}
	return p, nil
}

func because(err error) string {
	if err == nil {
		return ""
	}
	return " (" + err.Error() + ")"
}

// A definition is a flag, or a step of a schedule, as the file has it. Members are nil where the
// file does not have them.
type definition struct {
	Variations      *map[string]json.RawMessage `json:"variations,omitempty"`
	Targeting       []rule                      `json:"targeting,omitempty"`
	BucketingKey    *string                     `json:"bucketingKey,omitempty"`
	DefaultRule     *rule                       `json:"defaultRule,omitempty"`
	Experimentation *experimentation            `json:"experimentation,omitempty"`
	Scheduled       []step                      `json:"scheduledRollout,omitempty"`
	TrackEvents     *bool                       `json:"trackEvents,omitempty"`
	Disable         *bool                       `json:"disable,omitempty"`
	Version         *string                     `json:"version,omitempty"`
	Metadata        map[string]any              `json:"metadata,omitempty"`
	Converter       *string                     `json:"converter,omitempty"`
}

type rule struct {
	Name        *string             `json:"name,omitempty"`
	Query       *string             `json:"query,omitempty"`
	Variation   *string             `json:"variation,omitempty"`
	Percentage  *map[string]float64 `json:"percentage,omitempty"`
	Progressive *progressive        `json:"progressiveRollout,omitempty"`
	Disable     *bool               `json:"disable,omitempty"`
}

type progressive struct {
	Initial *progress `json:"initial,omitempty"`
	End     *progress `json:"end,omitempty"`
}

type progress struct {
	Variation  *string    `json:"variation,omitempty"`
	Percentage *float64   `json:"percentage,omitempty"`
	Date       *time.Time `json:"date,omitempty"`
}

type experimentation struct {
	Start *time.Time `json:"start,omitempty"`
	End   *time.Time `json:"end,omitempty"`
}

type step struct {
	definition
	Date *time.Time `json:"date,omitempty"`
}

// A flagBuild converts one flag.
type flagBuild struct {
	options *convert.Options
	now     time.Time
	def     definition
	out     convert.Flag
	usable  convert.Values

	// buckets says that some rule draws, now or by a step of the schedule.
	buckets bool
}

// read reads a flag. An error is what the product does not read either.
func (b *flagBuild) read(document json.RawMessage) error {
	d := json.NewDecoder(bytes.NewReader(document))
	if err := d.Decode(&b.def); err != nil {
		return fmt.Errorf("it cannot be read: want variations, defaultRule, targeting and the other members of a flag (%w)", err)
	}
	var raw any
	if err := json.Unmarshal(document, &raw); err != nil {
		return err
	}
	members, ok := raw.(map[string]any)
	if !ok || members["variations"] == nil && members["defaultRule"] == nil && members["targeting"] == nil {
		return fmt.Errorf("want an object with variations and defaultRule")
	}
	b.unknown("", raw, flagShape)
	return nil
}

// A shape is what an object may have: the shape of each member, nil for anything.
type shape map[string]shape

var (
	progressShape = shape{"variation": nil, "percentage": nil, "date": nil}
	ruleShape     = shape{
		"name": nil, "query": nil, "variation": nil, "percentage": nil, "disable": nil,
		"progressiveRollout": {"initial": progressShape, "end": progressShape},
	}
	experimentShape = shape{"start": nil, "end": nil}
	stepShape       = shape{
		"variations": nil, "targeting": ruleShape, "bucketingKey": nil, "defaultRule": ruleShape, "experimentation": experimentShape,
		"trackEvents": nil, "disable": nil, "version": nil, "metadata": nil, "date": nil, "converter": nil,
	}
	flagShape = shape{
		"variations": nil, "targeting": ruleShape, "bucketingKey": nil, "defaultRule": ruleShape, "experimentation": experimentShape,
		"trackEvents": nil, "disable": nil, "version": nil, "metadata": nil, "converter": nil, "scheduledRollout": stepShape,
	}
)

// unknown makes a problem of each member that is not known.
func (b *flagBuild) unknown(at string, v any, s shape) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			b.unknown(at, e, s)
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			inner, known := s[name]
			switch {
			case !known:
				b.out.Problem("The member %q is not known: it has no effect.", strings.TrimPrefix(at+"."+name, "."))
			case inner != nil:
				b.unknown(at+"."+name, v[name], inner)
			}
		}
	}
}

// build makes the rule set.
func (b *flagBuild) build() {
	b.about()
	invalid := b.def.invalid()
	b.schedule()
	b.buckets = b.def.draws() || slices.ContainsFunc(b.def.Scheduled, func(s step) bool { return s.draws() })
	if b.def.Disable != nil && *b.def.Disable {
		b.out.Active = false
	}
	b.experiment()
	b.values()
	b.rules()
	objects.Finish(&b.out)
	if invalid != "" {
		b.out.Notes, b.out.Problems = append(b.out.Notes, b.out.Problems...), nil
		b.off("GO Feature Flag does not load this flag, because %s. Everybody gets the default of the code there, and here because the flag is not active.", invalid)
	}
}

// off makes the flag one that gives everybody the caller's default.
func (b *flagBuild) off(format string, args ...any) {
	b.out.Active = false
	b.out.Note(format, args...)
}

// about takes over what is for people.
func (b *flagBuild) about() {
	b.out.Description, _ = b.def.Metadata["description"].(string)
	if tags, ok := b.def.Metadata["tags"].([]any); ok {
		for _, t := range tags {
			if s, ok := t.(string); ok && s != "" {
				b.out.Tags = append(b.out.Tags, s)
			}
		}
	}
	if b.def.TrackEvents != nil && !*b.def.TrackEvents {
		b.out.Note("Evaluations of this flag are not exported there (trackEvents is false). Here they become events, as evaluations of all flags do.")
	}
}

func (d *definition) draws() bool {
	return d.DefaultRule != nil && d.DefaultRule.draws() || slices.ContainsFunc(d.Targeting, func(r rule) bool { return r.draws() })
}

func (r *rule) draws() bool {
	return r.Percentage != nil && len(*r.Percentage) > 0 || r.Progressive != nil
}

// schedule applies the steps whose time has come, in their order, as the product does at each
// evaluation.
func (b *flagBuild) schedule() {
	var due []step
	for _, s := range b.def.Scheduled {
		switch {
		case s.Date == nil:
			b.out.Note("A step of scheduledRollout without a date never comes.")
		case s.Date.After(b.now):
			b.out.Problem("It changes by itself on %s, by scheduledRollout: it stays what it was on import.", s.Date.Format(time.RFC3339))
		default:
			due = append(due, s)
		}
	}
	slices.SortStableFunc(due, func(s, t step) int { return s.Date.Compare(*t.Date) })
	d := &b.def
	for i := range due {
		s := &due[i]
		d.Targeting = b.mergeRules(d.Targeting, s.Targeting)
		if s.Disable != nil {
			d.Disable = s.Disable
		}
		if s.DefaultRule != nil && d.DefaultRule != nil {
			b.merge(d.DefaultRule, s.DefaultRule)
		}
		if s.Variations != nil {
			all := make(map[string]json.RawMessage)
			if d.Variations != nil {
				all = *d.Variations
			}
			maps.Copy(all, *s.Variations)
			d.Variations = &all
		}
		if e := s.Experimentation; e != nil {
			if d.Experimentation == nil {
				d.Experimentation = &experimentation{}
			}
			if e.Start != nil {
				d.Experimentation.Start = e.Start
			}
			if e.End != nil {
				d.Experimentation.End = e.End
			}
		}
	}
}

func nameOf(r *rule) string {
	if r.Name == nil {
		return ""
	}
	return *r.Name
}

// mergeRules changes the rules that updates name, and adds the others.
func (b *flagBuild) mergeRules(rules, updates []rule) []rule {
	named := make(map[string]*rule)
	for i := range updates {
		if updates[i].Name != nil {
			named[*updates[i].Name] = &updates[i]
		}
	}
	merged := make(map[string]bool)
	for i := range rules {
		if u := named[nameOf(&rules[i])]; u != nil {
			b.merge(&rules[i], u)
			merged[nameOf(&rules[i])] = true
		}
	}
	for _, u := range updates {
		if !merged[nameOf(&u)] {
			rules = append(rules, u)
		}
	}
	return rules
}

// merge changes a rule as a step of the schedule says.
func (b *flagBuild) merge(r, update *rule) {
	if update.Disable != nil {
		r.Disable = update.Disable
	}
	if update.Query != nil {
		r.Query = update.Query
	}
	if update.Variation != nil {
		r.Variation = update.Variation
	}
	if u := update.Progressive; u != nil {
		p := &progressive{Initial: &progress{}, End: &progress{}}
		if r.Progressive != nil {
			p = r.Progressive
		}
		if !p.Initial.merge(u.Initial) || !p.End.merge(u.End) {
			b.out.Problem("A step of scheduledRollout changes a progressiveRollout that has no initial or no end, at which GO Feature Flag fails: the step is left out.")
		}
		r.Progressive = p
	}
	if update.Percentage != nil {
		all := make(map[string]float64)
		if r.Percentage != nil {
			maps.Copy(all, *r.Percentage)
		}
		for name, share := range *update.Percentage {
			if share < 0 {
				delete(all, name)
			} else {
				all[name] = share
			}
		}
		r.Percentage = &all
	}
}

// merge reports false if there is nothing to change.
func (p *progress) merge(update *progress) bool {
	if update == nil {
		return true
	}
	if p == nil {
		return *update == progress{}
	}
	if update.Variation != nil {
		p.Variation = update.Variation
	}
	if update.Date != nil {
		p.Date = update.Date
	}
	if update.Percentage != nil {
		p.Percentage = update.Percentage
	}
	return true
}

// experiment looks whether the flag is within the time of its experiment.
func (b *flagBuild) experiment() {
	e := b.def.Experimentation
	if e == nil {
		return
	}
	b.out.Experiment = true
	begins := e.Start != nil && b.now.Before(*e.Start)
	over := e.End != nil && b.now.After(*e.End)
	switch {
	case over:
		b.off("Its experiment has ended on %s: everybody gets the default of the code.", e.End.Format(time.RFC3339))
	case begins:
		b.out.Active = false
		b.out.Problem("It changes by itself on %s, when its experiment begins: until somebody makes it active everybody gets the default of the code.", e.Start.Format(time.RFC3339))
	case e.End != nil:
		b.out.Problem("It changes by itself on %s, when its experiment ends and everybody gets the default of the code: it stays what it was on import.", e.End.Format(time.RFC3339))
	}
}

// values finds the type of the flag, and the values that it can have.
func (b *flagBuild) values() {
	var all map[string]json.RawMessage
	if b.def.Variations != nil {
		all = *b.def.Variations
	}
	var refused []string
	b.out.Rules.ReturnType, b.usable, refused = convert.Usable(all)
	for _, name := range refused {
		b.out.Problem("The variation %q is a list, null, an empty text, a number beyond 2^53, or of another type than others, which no flag may have here: who has it gets the default of the code.", name)
	}
}
