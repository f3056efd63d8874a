package judge

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
	"github.com/flagstaff-go/flagstaff/internal/members"
	"github.com/flagstaff-go/flagstaff/internal/text"
)

// Clients get filters back as they have sent them (management.md §13.5). The model
// alone decides; the text that is kept beside it says the same in the client's words.

// Merge returns the text of filters after a change (management.md §13.3). Members that
// were sent replace the members of the text before, and the others stay. f is what the
// text before says, or nil if there is none: then a list of condition sets that was not
// sent is empty. A member that replaces an older form of itself takes the older form
// away. Filters that cannot be understood are replaced as a whole if condition sets were
// sent. Errors are of type *[Error].
func Merge(before json.RawMessage, f *flags.Filters, change json.RawMessage, m Mode) (json.RawMessage, error) {
	merged, err := mergeText(before, f, change, m)
	return merged, about("filters", err)
}

func mergeText(before json.RawMessage, f *flags.Filters, change json.RawMessage, m Mode) (json.RawMessage, error) {
	sent, err := parse(change)
	if err == nil {
		err = m.filters(jsonscan.Value(change))
	}
	if err != nil {
		return nil, err
	}
	if f == nil && !sent.has("groups") {
		sent.set("groups", jsonscan.Value("[]")) // a flag begins without condition sets
	}
	if f == nil || sent.has("groups") && unreadable(f) != nil {
		return Compact(sent.append(nil)), nil
	}
	stored, err := parse(before)
	if err != nil {
		return nil, err
	}
	for _, older := range [][2]string{{"feature_enrollment", "super_groups"}, {"holdout", "holdout_groups"}} {
		if sent.has(older[0]) {
			stored.remove(older[1])
		}
	}
	if slices.ContainsFunc(stored.members, func(m member) bool { return !sent.has(m.name) }) {
		for _, m := range sent.members {
			stored.set(m.name, m.value)
		}
		sent = stored
	}
	return Compact(sent.append(nil)), nil
}

// Compact returns JSON without white space between its tokens.
func Compact(raw json.RawMessage) json.RawMessage {
	var b bytes.Buffer
	if json.Compact(&b, bytes.ToValidUTF8(raw, []byte("\uFFFD"))) != nil {
		return nil
	}
	return b.Bytes()
}

// Show returns the text of filters where it says what the filters say: what it says
// otherwise, such as the key of a flag in place of its ID, is replaced. The names of
// cohorts are the ones in the filters. If opaque is true, the payloads are the ones of
// the filters, whatever the text has. The result is nil if the text is none of these
// filters.
func Show(sent json.RawMessage, f *flags.Filters, opaque bool) json.RawMessage {
	v, err := jsonscan.Parse(sent, maxDepth)
	if err != nil || v.Kind() != jsonscan.Object {
		return nil
	}
	e := editor{}
	out := e.filters(v, f, opaque)
	if e.foreign {
		return nil
	}
	return out
}

// WithEnrollment returns the text of filters with the mark for enrolment in an early
// access feature, or without it.
func WithEnrollment(sent json.RawMessage, on bool) json.RawMessage {
	o, err := parse(sent)
	if err != nil {
		return nil
	}
	o.remove("super_groups") // the older form of the mark
	o.remove("feature_enrollment")
	if on {
		o.set("feature_enrollment", jsonscan.Value("true"))
	}
	return o.append(nil)
}

// ShowCohort is Show for the filters of a cohort.
func ShowCohort(sent json.RawMessage, tree *flags.CohortNode) json.RawMessage {
	v, err := jsonscan.Parse(sent, maxDepth)
	if err != nil || v.Kind() != jsonscan.Object || tree == nil {
		return nil
	}
	e := editor{}
	v = jsonscan.Value(Compact(json.RawMessage(v)))
	o := kept(members.Criteria, v)
	o.edit("properties", func(v jsonscan.Value) jsonscan.Value { return e.node(v, tree) })
	if e.foreign {
		return nil
	}
	return o.append(nil)
}

// An editor brings a text into line with a model.
type editor struct {
	foreign bool // the text is none of the model
}

// kept returns the members of an object that are known.
func kept(s *members.Shape, v jsonscan.Value) object {
	o := membersOf(v)
	o.keep(func(name string) bool { return s.Knows([]byte(name)) })
	return o
}

// edit replaces the value of a member, if there is one.
func (o *object) edit(name string, change func(jsonscan.Value) jsonscan.Value) {
	if i := o.find(name); i >= 0 {
		o.members[i].value = change(o.members[i].value)
	}
}

// list edits the elements of a list, of which there must be as many as in the model.
func (e *editor) list(v jsonscan.Value, length int, change func(i int, v jsonscan.Value) []byte) jsonscan.Value {
	if !present(v) {
		e.foreign = e.foreign || length > 0
		return v
	}
	out, i := []byte{'['}, 0
	for a := v.Array(); a.Next(); i++ {
		if i == length {
			break
		}
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, change(i, a.Value())...)
	}
	rest := v.Array()
	for range i {
		rest.Next()
	}
	e.foreign = e.foreign || i != length || rest.Next()
	return append(out, ']')
}

func (e *editor) filters(v jsonscan.Value, f *flags.Filters, opaque bool) []byte {
	o := kept(members.Filters, v)
	if empty := memberOf(v, "groups"); len(f.Groups) == 1 && !hasElements(empty) {
		o.set("groups", jsonscan.Value(`[{"properties":[]}]`)) // which remote configuration has made
	}
	o.edit("groups", func(v jsonscan.Value) jsonscan.Value {
		return e.list(v, len(f.Groups), func(i int, v jsonscan.Value) []byte { return e.condition(v, &f.Groups[i]) })
	})
	o.edit("aggregation_group_type_index", func(v jsonscan.Value) jsonscan.Value { return aggregationText(v, f.AggregationGroupTypeIndex) })
	o.edit("multivariate", func(v jsonscan.Value) jsonscan.Value {
		if !present(v) {
			return v
		}
		m := kept(members.Multivariate, v)
		m.edit("variants", func(v jsonscan.Value) jsonscan.Value {
			variants := 0
			if f.Multivariate != nil {
				variants = len(f.Multivariate.Variants)
			}
			return e.list(v, variants, func(_ int, v jsonscan.Value) []byte { x := kept(members.Variant, v); return x.append(nil) })
		})
		return m.append(nil)
	})
	o.edit("holdout", func(v jsonscan.Value) jsonscan.Value {
		if !present(v) {
			return v
		}
		h := kept(members.Holdout, v)
		return h.append(nil)
	})
	if opaque && len(f.Payloads) > 0 {
		o.set("payloads", payloadsText(f))
	}
	return o.append(nil)
}

func hasElements(list jsonscan.Value) bool {
	a := list.Array()
	return a.Next()
}

func (e *editor) condition(v jsonscan.Value, g *flags.Condition) []byte {
	o := kept(members.Condition, v)
	o.edit("properties", func(v jsonscan.Value) jsonscan.Value {
		return e.list(v, len(g.Properties), func(i int, v jsonscan.Value) []byte { return property(v, &g.Properties[i]) })
	})
	o.edit("aggregation_group_type_index", func(v jsonscan.Value) jsonscan.Value { return aggregationText(v, g.AggregationGroupTypeIndex) })
	if share := g.RolloutPercentage; share != nil {
		if n, err := percentage(o.get("rollout_percentage")); err != nil || n != *share {
			o.set("rollout_percentage", strconv.AppendFloat(nil, *share, 'f', -1, 64))
		}
	}
	return o.append(nil)
}

// property shows a property of a condition set, or a leaf of a cohort's tree.
func property(v jsonscan.Value, p *flags.Filter) []byte {
	o := kept(members.Filter, v)
	o.remove("cohort_name")
	o.edit("group_type_index", func(v jsonscan.Value) jsonscan.Value {
		if n, ok := integer(v); ok && p.GroupTypeIndex != nil && int64(*p.GroupTypeIndex) != n {
			return strconv.AppendInt(nil, int64(*p.GroupTypeIndex), 10)
		}
		return v
	})
	switch p.Type {
	case "flag":
		o.remove("dependency_chain") // it says that the key is no ID
		if key, ok := str(o.get("key")); !ok || key != p.Key {
			o.set("key", text.AppendQuoted(nil, p.Key))
		}
	case "cohort":
		sent := o.get("value")
		if s, ok := str(sent); ok {
			sent = jsonscan.Value(s)
		}
		want, _ := p.CohortID()
		if id, ok := integer(sent); !ok || id != want {
			o.set("value", jsonscan.Value(p.Value))
		}
		if p.CohortName != "" {
			o.set("cohort_name", text.AppendQuoted(nil, p.CohortName))
		}
	}
	return o.append(nil)
}

// aggregationText shows the index of a group type.
func aggregationText(v jsonscan.Value, a flags.Aggregation) jsonscan.Value {
	index, grouped := a.Index()
	if n, ok := integer(v); ok && grouped && n != int64(index) {
		return strconv.AppendInt(nil, int64(index), 10)
	}
	return v
}

func payloadsText(f *flags.Filters) jsonscan.Value {
	b, err := flags.AppendFilters(nil, &flags.Filters{Payloads: f.Payloads})
	if err != nil {
		return jsonscan.Value("null")
	}
	v, _ := jsonscan.Parse(b, maxDepth)
	o := membersOf(v)
	if !o.has("payloads") {
		return jsonscan.Value("null")
	}
	return o.get("payloads")
}

// node shows a node of a cohort's tree.
func (e *editor) node(v jsonscan.Value, n *flags.CohortNode) []byte {
	o := membersOf(v)
	list := listOf(o)
	switch {
	case (list == "") != (n.Leaf != nil):
		e.foreign = true
		return v
	case list != "":
		shown := kept(members.Node, v)
		if list != "values" {
			shown.set(list, o.get(list))
		}
		shown.edit(list, func(v jsonscan.Value) jsonscan.Value {
			return e.list(v, len(n.Values), func(i int, v jsonscan.Value) []byte { return e.node(v, &n.Values[i]) })
		})
		return shown.append(nil)
	case n.Criterion != nil:
		return v
	}
	return property(v, n.Leaf)
}
