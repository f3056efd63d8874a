package judge

import (
	"slices"
	"strings"

	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
	"github.com/flagstaff-go/flagstaff/internal/members"
)

// A Mode says what becomes of members that nothing knows (evaluation.md §1.8).
type Mode bool

const (
	// Strict refuses all of them.
	Strict Mode = false

	// Lenient refuses those that stand for another member, and drops the others.
	Lenient Mode = true
)

// CheckBody refuses the members of a body that nothing knows. The error is an
// [*Error] about the member, which its detail names as well, or says that the body is no
// JSON.
func (m Mode) CheckBody(s *members.Shape, body []byte) error {
	v, err := jsonscan.Parse(body, jsonscan.MaxDepth)
	if err == nil {
		err = m.object(s, v)
	}
	if e, ok := err.(*Error); ok {
		name, what, _ := strings.Cut(e.Detail, ": ")
		e.Attr, e.Detail = name, quote(name)+" "+what
	}
	return err
}

// object checks the members of an object. What is no object has none.
func (m Mode) object(s *members.Shape, v jsonscan.Value) error {
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
			return within(shorten(name), refuseAs(codeUnknown, "is no member of %s, which has %s", s.Noun, strings.Join(s.Deciding(), ", ")))
		}
		return within(shorten(name), refuseAs(codeUnknown, "is no member of %s; did you mean %s?", s.Noun, meant))
	}
	return nil
}

// elements calls check for each element of a list.
func elements(v jsonscan.Value, check func(jsonscan.Value) error) error {
	i := 0
	for a := v.Array(); a.Next(); i++ {
		if err := check(a.Value()); err != nil {
			return within(i, err)
		}
	}
	return nil
}

// filters checks the members of filters and of all objects in them.
func (m Mode) filters(v jsonscan.Value) error {
	o := membersOf(v)
	if present(o.get("version")) {
		return nil // another language, which is refused as such
	}
	if err := m.object(members.Filters, v); err != nil {
		return err
	}
	if err := elements(o.get("groups"), m.condition); err != nil {
		return within("groups", err)
	}
	multivariate := o.get("multivariate")
	err := m.object(members.Multivariate, multivariate)
	if err == nil {
		err = within("variants", elements(memberOf(multivariate, "variants"), func(v jsonscan.Value) error { return m.object(members.Variant, v) }))
	}
	if err != nil {
		return within("multivariate", err)
	}
	return within("holdout", m.object(members.Holdout, o.get("holdout")))
}

// condition checks the members of a condition set and of its properties.
func (m Mode) condition(v jsonscan.Value) error {
	if err := m.object(members.Condition, v); err != nil {
		return err
	}
	property := func(v jsonscan.Value) error { return m.object(members.Filter, v) }
	return within("properties", elements(memberOf(v, "properties"), property))
}

// criteria checks the members of the filters of a cohort, and of all objects in them
// but criteria on what somebody did, which have members of their own.
func (m Mode) criteria(v jsonscan.Value) error {
	if err := m.object(members.Criteria, v); err != nil {
		return err
	}
	return within("properties", m.node(memberOf(v, "properties")))
}

func (m Mode) node(v jsonscan.Value) error {
	o := membersOf(v)
	list := listOf(o)
	if list == "" {
		if name, _ := str(o.get("type")); name == "behavioral" {
			return nil
		}
		s := members.Filter
		if kind, _ := str(o.get("type")); strings.EqualFold(kind, "AND") || strings.EqualFold(kind, "OR") {
			s = members.Node
		}
		return m.object(s, v)
	}
	if err := m.object(members.Node, without(o, list, "values")); err != nil {
		return err
	}
	return within(list, elements(o.get(list), m.node))
}

// without returns an object that lacks a member, unless it has a certain name.
func without(o object, name, but string) jsonscan.Value {
	if name == but {
		return o.append(nil)
	}
	rest := object{members: slices.Clone(o.members)}
	rest.keep(func(other string) bool { return other != name })
	return rest.append(nil)
}
