package judge

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
	"github.com/flagstaff-go/flagstaff/internal/members"
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

// extra checks what a part of filters keeps beside its fields. What stands for another
// member package flags does not understand, so that Lenient has nothing left to refuse.
func (m Mode) extra(s *members.Shape, extra json.RawMessage) error {
	if m == Lenient {
		return nil
	}
	return m.CheckObject(s, jsonscan.Value(extra))
}

// CheckFilters returns an [*Error] about the first member of filters that nothing knows,
// or nil.
func (m Mode) CheckFilters(f *flags.Filters) error {
	if f.Version != 0 {
		return nil // another language, which is refused as such
	}
	return about("filters", m.filters(f))
}

func (m Mode) filters(f *flags.Filters) error {
	if err := m.extra(members.Filters, f.Extra); err != nil {
		return err
	}
	for i := range f.Groups {
		if err := m.condition(&f.Groups[i]); err != nil {
			return within("groups", within(i, err))
		}
	}
	if f.Multivariate != nil {
		if err := m.extra(members.Multivariate, f.Multivariate.Extra); err != nil {
			return within("multivariate", err)
		}
		for i := range f.Multivariate.Variants {
			if err := m.extra(members.Variant, f.Multivariate.Variants[i].Extra); err != nil {
				return within("multivariate", within("variants", within(i, err)))
			}
		}
	}
	if f.Holdout == nil {
		return nil
	}
	return within("holdout", m.extra(members.Holdout, f.Holdout.Extra))
}

func (m Mode) condition(c *flags.Condition) error {
	if err := m.extra(members.Condition, c.Extra); err != nil {
		return err
	}
	for i := range c.Properties {
		if err := m.extra(members.Filter, c.Properties[i].Extra); err != nil {
			return within("properties", within(i, err))
		}
	}
	return nil
}

// CheckTree is CheckFilters for the filters of a cohort, in JSON. Criteria on what somebody
// did have members of their own. What cannot be understood is in order.
func (m Mode) CheckTree(filters json.RawMessage) error {
	if err := m.CheckObject(members.Criteria, jsonscan.Value(filters)); err != nil {
		return about("filters", err)
	}
	tree, err := flags.DecodeCohort(filters, 0)
	if err != nil || tree == nil {
		return nil
	}
	return about("filters", within("properties", m.node(tree)))
}

func (m Mode) node(n *flags.CohortNode) error {
	switch {
	case n.Leaf != nil && n.Leaf.Kind() == flags.UnknownFilter:
		return nil
	case n.Leaf != nil:
		return m.extra(members.Filter, n.Leaf.Extra)
	}
	if err := m.extra(members.Node, n.Extra); err != nil {
		return err
	}
	for i := range n.Values {
		if err := m.node(&n.Values[i]); err != nil {
			return within("values", within(i, err))
		}
	}
	return nil
}
