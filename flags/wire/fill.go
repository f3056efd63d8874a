package wire

import (
	"time"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
	"github.com/flagstaff-go/flagstaff/runtime"
)

// Fill resets in to the snapshot and to this request. kind is what the headers
// say about the runtime; the body beats it. Nothing is copied: in must not be
// used after the next Parse. Without a snapshot Fill does nothing.
//
// Errors are about objects that were set without Parse and are not JSON objects.
func (r *Request) Fill(in *flags.Input, s *flags.Snapshot, kind runtime.Kind, now time.Time) error {
	if s == nil {
		return nil
	}
	if r.HasRuntime {
		kind = r.Runtime
	}
	in.Reset(s, r.DistinctID, runtime.Filter{Kind: kind, Tags: r.Tags}, now)
	in.AnonymousID, in.DeviceID = r.AnonymousID, r.DeviceID
	if r.HasKeys {
		in.SetKeys(r.Keys)
	}
	if r.Person != nil {
		if err := in.PersonJSON(r.Person); err != nil {
			return err
		}
	}
	if r.Groups != nil {
		o := jsonscan.Value(r.Groups).Object()
		for o.Next() {
			if err := in.Group(r.memberName(&o), o.Value()); err != nil {
				return err
			}
		}
		if o.Err() != nil {
			return &FieldError{Field: names[groups], Want: "an object"}
		}
	}
	if r.GroupProperties == nil {
		return nil
	}
	if err := r.collectGroups(); err != nil {
		return err
	}
	for _, e := range r.entries {
		if e.properties.Kind() == jsonscan.Null {
			continue
		}
		if err := in.GroupJSON(e.name, e.properties); err != nil {
			return err
		}
	}
	return nil
}

// A groupEntry is one member of GroupProperties.
type groupEntry struct {
	name       string
	properties jsonscan.Value
}

// collectGroups sets entries to the members of GroupProperties. It takes the last
// one of duplicates, and nothing of the others.
func (r *Request) collectGroups() error {
	// Projects have five group types. A body with many more is an attack on the
	// server's time, so a map is worth its allocations.
	const many = 16
	var index map[string]int
	r.entries = r.entries[:0]
	o := jsonscan.Value(r.GroupProperties).Object()
next:
	for o.Next() {
		e := groupEntry{r.memberName(&o), o.Value()}
		if len(r.entries) == many && index == nil {
			index = make(map[string]int)
			for i, old := range r.entries {
				index[old.name] = i
			}
		}
		if index != nil {
			if i, ok := index[e.name]; ok {
				r.entries[i] = e
				continue
			}
			index[e.name] = len(r.entries)
		} else {
			for i, old := range r.entries {
				if old.name == e.name {
					r.entries[i] = e
					continue next
				}
			}
		}
		r.entries = append(r.entries, e)
	}
	if o.Err() != nil {
		return &FieldError{Field: names[groupProperties], Want: "an object of objects"}
	}
	return nil
}

// GroupKey returns the key of the request's group of the type with the given
// name, as it identifies the group in a store. It is "" if the request has no
// usable key for it (evaluation.md §6.2).
func (r *Request) GroupKey(name string) string {
	switch key := r.lastMember(r.Groups, name); key.Kind() {
	case jsonscan.String:
		return r.decoded(key)
	case jsonscan.Number:
		return r.numeral(key)
	default:
		return ""
	}
}

func (r *Request) memberName(o *jsonscan.Members) string {
	return view(o.NameIn(&r.text))
}

// PersonText returns the request's person property of the given name if it is a
// string, otherwise "".
func (r *Request) PersonText(name string) string {
	if value := r.lastMember(r.Person, name); value.Kind() == jsonscan.String {
		return r.decoded(value)
	}
	return ""
}

// lastMember returns the value of the last member of an object with a name, nil if there is
// none.
func (r *Request) lastMember(object []byte, name string) (value jsonscan.Value) {
	if object == nil {
		return nil
	}
	for o := jsonscan.Value(object).Object(); o.Next(); {
		if r.memberName(&o) == name {
			value = o.Value()
		}
	}
	return value
}
