package flags

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
	"github.com/flagstaff-go/flagstaff/internal/members"
	"github.com/flagstaff-go/flagstaff/internal/served"
)

// maxCohortChain is how many cohorts a chain of references may have.
const maxCohortChain = 64

// cohorts reads the document's cohorts: an object from id to property group, or
// an array of full records (evaluation.md §5.1).
func (d *decoder) cohorts(v jsonscan.Value) error {
	at := &path{name: "cohorts"}
	switch v.Kind() {
	case jsonscan.Object:
		o := d.object(nil, v)
		for o.next() {
			key := string(o.Name())
			id, err := strconv.ParseInt(key, 10, 64)
			if err != nil {
				d.note(SeverityError, &path{up: at, name: key}, nil, "the cohort is left out", errors.New("a cohort's name must be its integer id"))
				continue
			}
			if err := d.cohort(id, &path{up: at, name: key}, o.Value()); err != nil {
				return err
			}
		}
		d.check(&o, at)
	case jsonscan.Array:
		a := v.Array()
		for i := 0; a.Next(); i++ {
			p := &path{up: at, n: i}
			var id int64
			hasID := false
			for o := a.Value().Object(); o.Next(); {
				if string(o.Name()) == "id" {
					hasID = d.integer(&id, &path{up: p, name: "id"}, o.Value())
				}
			}
			if !hasID {
				d.note(SeverityError, &path{up: p, name: "id"}, a.Value(), "the cohort is left out", errors.New("a cohort needs an integer id"))
				continue
			}
			if err := d.cohort(id, p, a.Value()); err != nil {
				return err
			}
			if c, ok := d.out.Cohorts[id]; ok {
				c.place = i + 1
				d.out.Cohorts[id] = c
			}
		}
	case jsonscan.Null, jsonscan.Invalid:
	default:
		d.note(SeverityError, at, v, "flags that need a cohort fail", wrongType(v, "an object or an array"))
	}
	return nil
}

// staticCohorts reads the ids of the cohorts whose members are a list
// (evaluation.md §5.4). One that has a tree as well is a list all the same: nobody
// is a member then whom the list does not have.
func (d *decoder) staticCohorts(v jsonscan.Value) error {
	at := &path{name: "static_cohorts"}
	if v.Kind() == jsonscan.Null || v.Kind() == jsonscan.Invalid {
		return nil
	}
	if v.Kind() != jsonscan.Array {
		d.note(SeverityError, at, v, "flags that need one of them fail", wrongType(v, "an array of ids"))
		return nil
	}
	a := v.Array()
	for i := 0; a.Next(); i++ {
		if err := d.count(1); err != nil {
			return err
		}
		id, err := strconv.ParseInt(string(a.Value()), 10, 64)
		if err != nil {
			d.note(SeverityError, &path{up: at, n: i}, a.Value(), "the cohort is left out", errors.New("a cohort's id must be an integer"))
			continue
		}
		if c, ok := d.out.Cohorts[id]; ok && !c.Stored {
			d.note(SeverityWarning, &path{up: at, n: i}, a.Value(), "the tree is not read; remove the id here or in cohorts", errors.New("the cohort is among cohorts, too"))
		} else if ok {
			continue
		}
		if d.out.Cohorts == nil {
			d.out.Cohorts = make(map[int64]Cohort)
		}
		d.out.Cohorts[id] = Cohort{Stored: true}
	}
	return nil
}

// cohort reads one cohort: a property group, or a full record.
func (d *decoder) cohort(id int64, at *path, v jsonscan.Value) error {
	if err := d.count(1); err != nil {
		return err
	}
	var c Cohort
	outer := d.fault
	d.fault = &c.fault
	defer func() { d.fault = outer }()

	if v.Kind() != jsonscan.Object {
		d.wrong(at, v, "an object")
	}
	var filters, legacy jsonscan.Value
	record, deleted := false, false
	o := d.object(members.Cohort, v)
	for o.next() {
		v, p := o.Value(), &path{up: at}
		switch string(o.Name()) {
		case "filters":
			record, filters = true, v
			d.expect(jsonscan.Object, p.member("filters"), v)
		case "groups":
			record, legacy = true, v
			d.expect(jsonscan.Array, p.member("groups"), v)
		case "is_static":
			record = true
			p.name = "is_static"
			b := false
			d.bool(&b, p, v)
			c.Stored = c.Stored || b
		case "deleted":
			record = true
			d.bool(&deleted, p.member("deleted"), v)
		case "cohort_type":
			record = true
			d.expect(jsonscan.String, p.member("cohort_type"), v)
			if v.Kind() == jsonscan.String {
				switch d.text(v) {
				case "behavioral", "realtime", "analytical":
					c.Stored, c.Behavioral = true, true
				}
			}
		default:
			o.other()
		}
	}
	if deleted {
		return nil
	}
	root, given := v, false
	if record { // a tree has its own look at the names
		d.check(&o, at)
		given = filters.Kind() == jsonscan.Object
		d.checkMembersOf(members.Criteria, &path{up: at, name: "filters"}, filters)
		if root = treeOf(filters); root != nil {
			c.inFilters, at = true, &path{up: &path{up: at, name: "filters"}, name: "properties"}
		}
	}
	if !c.Stored {
		if err := d.cohortRoot(&c, at, root, given, legacy); err != nil {
			return err
		}
	}
	if d.out.Cohorts == nil {
		d.out.Cohorts = make(map[int64]Cohort)
	}
	d.out.Cohorts[id] = c
	return nil
}

// DecodeCohort reads the filters of a cohort as they are stored, {"properties": …}
// with a tree of evaluation.md §5.1, just as [Decode] does. id is the id of the
// cohort, for the paths of errors. The tree is nil if there are no criteria, so
// that nobody is a member.
//
// Unlike Decode it keeps in Extra what evaluation does not use.
//
// The error is the first *[DefinitionError] of the tree or one of its leaves, or else the
// first thing in it that cannot be what its author meant, as in [DecodeFilters]. The
// tree comes with it all the same: flags that need the cohort may fail. That there is
// none does not mean that a flag can be evaluated with the tree, which is for
// [Compile] to say.
//
// The result shares the memory of raw, which must not change any more.
func DecodeCohort(raw []byte, id int64) (*CohortNode, error) {
	at := &path{up: &path{up: &path{name: "cohorts"}, name: strconv.FormatInt(id, 10)}, name: "filters"}
	var c Cohort
	d := decoder{fault: &c.fault}
	v, err := parseJSON(raw)
	if err == nil {
		if v.Kind() != jsonscan.Object {
			d.wrong(at, v, "an object")
		}
		err = d.cohortRoot(&c, &path{up: at, name: "properties"}, treeOf(v), false, nil)
	}
	if err != nil {
		c = Cohort{fault: &DefinitionError{Path: at.String(), Err: err}}
	}
	if fault := c.unreadable(); fault != nil {
		if c.Properties == nil {
			c.Properties = new(CohortNode)
		}
		c.Properties.fault, c.Properties.source = fault, raw
		return c.Properties, fault
	}
	for leaf := range c.Properties.Leaves() {
		if leaf.fault != nil {
			c.Properties.source = raw
			return c.Properties, leaf.fault
		}
	}
	if d.doubt != nil {
		return c.Properties, d.doubt
	}
	return c.Properties, nil
}

// treeOf returns the tree in the filters of a cohort, nil for none.
func treeOf(filters jsonscan.Value) (tree jsonscan.Value) {
	for o := filters.Object(); o.Next(); {
		if string(o.Name()) == "properties" {
			tree = o.Value()
		}
	}
	return tree
}

// cohortRoot reads the tree of a cohort, or else its legacy groups. given reports
// whether it is a record with filters, which must not be empty then
// (evaluation.md §5.5).
func (d *decoder) cohortRoot(c *Cohort, at *path, root jsonscan.Value, given bool, legacy jsonscan.Value) error {
	if root.Kind() == jsonscan.Object && !emptyObject(root) {
		c.Properties = new(CohortNode)
		outer := d.fault
		d.fault = &c.Properties.fault
		defer func() { d.fault = outer }()
		return d.node(c.Properties, at, root, 0)
	}
	switch root.Kind() {
	case jsonscan.Object, jsonscan.Null, jsonscan.Invalid:
	default:
		d.wrong(at, root, "an object")
		return nil
	}
	if a := legacy.Array(); a.Next() {
		return d.legacyGroups(c, &path{up: at, name: "groups"}, legacy)
	}
	if given {
		d.fail(at, root, errNoCriteria)
	}
	return nil // neither filters nor groups: nobody is a member
}

// errNoCriteria says that the filters of a cohort are empty.
var errNoCriteria = errors.New("the cohort has filters without a tree of criteria")

// errTreeDepth says that a cohort's tree is nested too deeply.
var errTreeDepth = fmt.Errorf("more than %d groups within each other", served.MaxTreeGroups)

// isGroupType reports whether a node says that it is a group.
func isGroupType(d *decoder, kind jsonscan.Value) bool {
	if kind.Kind() != jsonscan.String {
		return false
	}
	n := CohortNode{Type: d.text(kind)}
	_, known := n.AnyOf()
	return known
}

// emptyGroup reports whether a node says that it is a group, and has no values, which
// makes it nobody (evaluation.md §5.3). An empty list is something else.
func (d *decoder) emptyGroup(v jsonscan.Value) bool {
	group := false
	for o := v.Object(); o.Next(); {
		switch name := string(o.Name()); {
		case name == "type":
			group = isGroupType(d, o.Value())
		case name == "values" && o.Value().Kind() == jsonscan.Null:
		case name == "values" || !members.Node.Knows(o.Name()):
			return false
		}
	}
	return group
}

func emptyObject(v jsonscan.Value) bool {
	o := v.Object()
	return !o.Next()
}

// node reads a node of a tree: with an array "values" it is a group, otherwise
// a leaf (evaluation.md §5.1).
func (d *decoder) node(n *CohortNode, at *path, v jsonscan.Value, depth int) error {
	if err := d.count(1); err != nil {
		return err
	}
	if v.Kind() != jsonscan.Object {
		d.wrong(at, v, "an object")
		return nil
	}
	var values, kind, key, and, or jsonscan.Value
	o := d.object(members.Node, v)
	for o.next() {
		switch string(o.Name()) {
		case "values":
			values = o.Value()
		case "type":
			kind = o.Value()
		case "key":
			key = o.Value()
		case "AND":
			and = o.Value()
		case "OR":
			or = o.Value()
		default:
			o.other()
		}
	}
	if o.odd && key == nil && isGroupType(d, kind) {
		d.checkMembers(members.Node, at, v)
	}
	switch {
	case d.emptyGroup(v):
		n.Type = "OR"
		if values != nil {
			at, v = &path{up: at, name: "values"}, values
		}
		d.note(SeverityError, at, v, "give it a list of values, or remove it", errors.New("the group has no values and is nobody"))
		return nil
	case values != nil:
		d.str(&n.Type, &path{up: at, name: "type"}, kind)
		at = &path{up: at, name: "values"}
	case key == nil && and.Kind() == jsonscan.Array:
		n.Type, values, at = "AND", and, &path{up: at, name: "AND"}
	case key == nil && or.Kind() == jsonscan.Array:
		n.Type, values, at = "OR", or, &path{up: at, name: "OR"}
	default:
		n.Leaf = new(Filter)
		if err := d.decodeFilter(n.Leaf, members.Leaf, at, v); err != nil {
			return err
		}
		if n.Leaf.Type == "" && n.Leaf.fault == nil {
			d.note(SeverityWarning, &path{up: at, name: "type"}, nil, hintType, errNoType)
		}
		return nil
	}
	d.checkNames(&o.names, at.up, v)
	n.Extra = d.extra(v, n.has)
	if depth == served.MaxTreeGroups {
		d.fail(at, nil, errTreeDepth)
		return nil
	}
	if values.Kind() != jsonscan.Array {
		d.wrong(at, values, "an array")
		return nil
	}
	a := values.Array()
	for i := 0; a.Next(); i++ {
		n.Values = append(n.Values, CohortNode{})
		if err := d.node(&n.Values[len(n.Values)-1], &path{up: at, n: i}, a.Value(), depth+1); err != nil {
			return err
		}
	}
	return nil
}

// legacyGroups converts the field "groups" of old records: groups are ORed, the
// properties inside one are ANDed. A group that defines nothing is nobody
// (evaluation.md §5.6).
func (d *decoder) legacyGroups(c *Cohort, at *path, v jsonscan.Value) error {
	c.Properties = &CohortNode{Type: "OR"}
	a := v.Array()
	for i := 0; a.Next(); i++ {
		if err := d.count(1); err != nil {
			return err
		}
		group, err := d.legacyGroup(&path{up: at, n: i}, a.Value())
		if err != nil {
			return err
		}
		c.Properties.Values = append(c.Properties.Values, group)
	}
	d.note(SeverityNote, at, nil, "replace it by filters", errors.New("the legacy groups of a cohort were converted"))
	return nil
}

func (d *decoder) legacyGroup(at *path, v jsonscan.Value) (CohortNode, error) {
	var properties, values jsonscan.Value
	event := false
	for o := v.Object(); o.Next(); {
		switch string(o.Name()) {
		case "properties":
			properties = o.Value()
		case "values":
			values = o.Value()
		case "event_id", "action_id":
			event = event || o.Value().Kind() != jsonscan.Null
		}
	}
	var group CohortNode
	var err error
	switch {
	case values.Kind() == jsonscan.Array && properties == nil:
		err = d.node(&group, at, v, 1)
	case isTree(properties):
		err = d.node(&group, &path{up: at, name: "properties"}, properties, 1)
	case d.emptyGroup(properties):
		group.Type = "OR"
	default:
		group, err = d.legacyProperties(&path{up: at, name: "properties"}, properties)
	}
	if err != nil || checkTree(&group, nil, 1) != nil {
		return group, err // the whole cohort is malformed
	}
	some := false
	for range group.Leaves() {
		some = true
	}
	switch {
	case event && some:
		d.note(SeverityWarning, at, v, "use filters, and a static cohort for what events say", errors.New("the group's event is left out: its properties alone decide"))
	case event:
		d.note(SeverityWarning, at, v, "use a static cohort", errors.New("the group is nobody: flags cannot tell who has sent an event"))
	case !some:
		d.note(SeverityError, at, v, "give it properties, or remove it", errors.New("the group defines nothing and is nobody"))
	}
	if !some {
		return CohortNode{Type: "OR"}, nil
	}
	return group, nil
}

// isTree reports whether the properties of a legacy group are a tree, and not an
// object of values by names.
func isTree(properties jsonscan.Value) bool {
	hasType, hasValues := false, false
	for o := properties.Object(); o.Next(); {
		switch string(o.Name()) {
		case "type":
			hasType = o.Value().Kind() == jsonscan.String
		case "values":
			hasValues = o.Value().Kind() == jsonscan.Array
		}
	}
	return hasType && hasValues
}

// legacyProperties reads the properties of a legacy group: a list of filters, or an
// object of the values that properties must have.
func (d *decoder) legacyProperties(at *path, v jsonscan.Value) (CohortNode, error) {
	all := CohortNode{Type: "AND"}
	switch v.Kind() {
	case jsonscan.Array:
		a := v.Array()
		for i := 0; a.Next(); i++ {
			leaf, at := new(Filter), &path{up: at, n: i}
			if a.Value().Kind() != jsonscan.Object {
				d.wrong(at, a.Value(), "an object")
				continue
			}
			if err := errors.Join(d.count(1), d.decodeFilter(leaf, members.Leaf, at, a.Value())); err != nil {
				return all, err
			}
			if leaf.Type == "event" || leaf.Type == "" {
				leaf.Type = "person"
			}
			all.Values = append(all.Values, CohortNode{Leaf: leaf})
		}
	case jsonscan.Object:
		for o := v.Object(); o.Next(); {
			if err := d.count(1); err != nil {
				return all, err
			}
			all.Values = append(all.Values, CohortNode{Leaf: &Filter{
				Key: string(o.Name()), Value: []byte(o.Value()), Type: "person",
			}})
		}
	case jsonscan.Null, jsonscan.Invalid:
	default:
		d.wrong(at, v, "an array or an object")
	}
	return all, nil
}
