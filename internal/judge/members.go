package judge

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
	"github.com/flagstaff-go/flagstaff/internal/members"
	"github.com/flagstaff-go/flagstaff/internal/operators"
	"github.com/flagstaff-go/flagstaff/internal/text"
)

// A Mode says what becomes of members that nothing knows (evaluation.md §1.8).
type Mode bool

const (
	// Strict refuses all of them.
	Strict Mode = false

	// Lenient refuses those that stand for another member.
	Lenient Mode = true
)

// CheckObject returns an [*Error] about the first member of an object that nothing knows.
// What is not an object has none.
func (m Mode) CheckObject(s *members.Shape, v jsonscan.Value) error {
	for o := v.Object(); o.Next(); {
		if s.Knows(o.Name()) {
			continue
		}
		name := string(o.Name())
		meant := s.Meant(name, v)
		switch {
		case meant == "" && m == Lenient:
			continue
		case meant == "":
			meant = s.Nearest(name)
		}
		if meant == "" {
			return within(shorten(name), refuseAs(codeUnknown, "is not a member of %s, which has %s", s.Noun, strings.Join(s.Deciding(), ", ")))
		}
		return within(shorten(name), refuseAs(codeUnknown, "is not a member of %s; did you mean %s?", s.Noun, meant))
	}
	return nil
}

// CheckMembers is CheckObject for the members of a body, which are fields of their own.
func (m Mode) CheckMembers(s *members.Shape, body []byte) error {
	err := m.CheckObject(s, body)
	if e, ok := errors.AsType[*Error](err); ok {
		e.Attr, e.Path, e.Detail = e.Path[0], nil, Quote(e.Path[0])+" "+e.Detail
	}
	return err
}

// CheckFilters returns an [*Error] about the first member of filters that nothing knows,
// or nil. What stands for another member package flags does not understand, so that Lenient
// has nothing left to refuse.
func (m Mode) CheckFilters(f *flags.Filters) error {
	if f.Version != 0 || m == Lenient {
		return nil // another language is refused as such
	}
	return about("filters", eachPart(f, m.checkPart))
}

// CheckTree is CheckFilters for the filters of a cohort, in JSON. Criteria on what somebody
// did have members of their own. What cannot be understood is in order.
func (m Mode) CheckTree(filters json.RawMessage) error {
	if err := m.CheckObject(members.Criteria, jsonscan.Value(filters)); err != nil {
		return about("filters", err)
	}
	tree, err := flags.DecodeCohort(filters, 0)
	if err != nil || tree == nil || m == Lenient {
		return nil
	}
	return about("filters", within("properties", eachNode(tree, m.checkPart)))
}

func (m Mode) checkPart(s *members.Shape, extra *json.RawMessage) error {
	return m.CheckObject(s, jsonscan.Value(*extra))
}

// keepKnown drops what nothing knows from a part that is to be stored: a client that asks for
// that may send it, and would be refused with it the next time.
func keepKnown(s *members.Shape, extra *json.RawMessage) error {
	known := []byte{'{'}
	for o := jsonscan.Value(*extra).Object(); o.Next(); {
		if !s.Knows(o.Name()) {
			continue
		}
		if len(known) > len(`{`) {
			known = append(known, ',')
		}
		known = append(append(text.AppendQuoted(known, string(o.Name())), ':'), o.Value()...)
	}
	if *extra = nil; len(known) > len(`{`) {
		*extra = append(known, '}')
	}
	return nil
}

// A visitor looks at what a part of filters has beside its fields.
type visitor func(s *members.Shape, extra *json.RawMessage) error

// eachPart calls visit for each part of filters that has something beside its fields, until
// there is an error, to which it adds where the part is.
func eachPart(f *flags.Filters, visit visitor) error {
	if err := visit.part(members.Filters, &f.Extra); err != nil {
		return err
	}
	for i := range f.Groups {
		c := &f.Groups[i]
		err := visit.part(members.Condition, &c.Extra)
		for j := 0; j < len(c.Properties) && err == nil; j++ {
			err = within("properties", within(j, visit.part(members.Filter, &c.Properties[j].Extra)))
		}
		if err != nil {
			return within("groups", within(i, err))
		}
	}
	if m := f.Multivariate; m != nil {
		err := visit.part(members.Multivariate, &m.Extra)
		for i := 0; i < len(m.Variants) && err == nil; i++ {
			err = within("variants", within(i, visit.part(members.Variant, &m.Variants[i].Extra)))
		}
		if err != nil {
			return within("multivariate", err)
		}
	}
	if f.Holdout == nil {
		return nil
	}
	return within("holdout", visit.part(members.Holdout, &f.Holdout.Extra))
}

// eachNode is eachPart for a tree.
func eachNode(n *flags.CohortNode, visit visitor) error {
	switch {
	case n.Leaf != nil && operators.KindOf(n.Leaf.Type) == operators.UnknownFilter:
		return nil
	case n.Leaf != nil:
		return visit.part(members.Leaf, &n.Leaf.Extra)
	}
	if err := visit.part(members.Node, &n.Extra); err != nil {
		return err
	}
	for i := range n.Values {
		if err := eachNode(&n.Values[i], visit); err != nil {
			return within("values", within(i, err))
		}
	}
	return nil
}

func (visit visitor) part(s *members.Shape, extra *json.RawMessage) error {
	if *extra == nil {
		return nil
	}
	return visit(s, extra)
}
