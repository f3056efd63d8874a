package management

import (
	"cmp"
	"context"
	"slices"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// Enrollments are the persons who have chosen for an early access feature, or against it.
type Enrollments struct {
	Enrolled int `json:"enrolled"`  // how many have chosen for it
	OptedOut int `json:"opted_out"` // how many have chosen against it

	// Property is the property of persons that says it: true or false.
	Property string `json:"property"`

	// Persons are a page of those who were asked for, the oldest first.
	Persons []*PersonView `json:"persons"`
}

// ListEnrollments returns who has enrolled in an early access feature or, for optedOut, who
// has chosen against it (evaluation.md §3.3). All persons of the project are looked at, for
// each page anew. It needs scopes early_access_feature:read and person:read.
func (s *Service) ListEnrollments(ctx context.Context, p *Principal, ref, id string, optedOut bool, limit, offset int) (*Enrollments, error) {
	w, err := s.capturedAt(ctx, p, ref, "early_access_feature:read", "person:read")
	if err != nil {
		return nil, err
	}
	f, err := w.earlyAccessByRef(ctx, id)
	if err != nil {
		return nil, err
	}
	flag, err := w.store.Flags().Get(ctx, storage.FlagProject.Is(f.Project), storage.FlagID.Is(f.Flag))
	if err != nil {
		return nil, storeError(err)
	}
	out := &Enrollments{Property: enrollmentPrefix + flag.Key, Persons: []*PersonView{}}
	name := []byte(out.Property)
	var ids []uuid.UUID
	for person, err := range s.c.Data.AllPersons(ctx, f.Project) {
		if err != nil {
			return nil, err
		}
		chosen, enrolled := enrollment(person.Properties, name)
		if !chosen {
			continue
		}
		n := &out.Enrolled
		if !enrolled {
			n = &out.OptedOut
		}
		if enrolled != optedOut && *n >= offset && len(ids) < limit {
			ids = append(ids, person.ID)
		}
		*n++
	}
	if len(ids) == 0 {
		return out, nil
	}
	// All their distinct IDs are shown.
	list, _, err := s.c.Data.Persons(ctx, f.Project, storage.PersonFilter{IDs: ids}, len(ids), 0)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(list, func(a, b storage.Person) int { return cmp.Compare(a.ID.String(), b.ID.String()) })
	out.Persons = each(list, showPerson)
	return out, nil
}

// enrollmentPrefix begins the names of the properties that say whether a person is
// enrolled; the key of a flag follows.
const enrollmentPrefix = "$feature_enrollment/"

// enrollment reports whether properties have one with a name, and whether its value enrols
// the person.
func enrollment(properties []byte, name []byte) (chosen, enrolled bool) {
	var buf []byte
	for o := jsonscan.Value(properties).Object(); o.Next(); {
		if string(o.NameIn(&buf)) != string(name) {
			continue
		}
		v := o.Value()
		text, _ := v.Plain()
		yes, _ := v.Bool()
		chosen, enrolled = true, yes || string(text) == "true"
	}
	return chosen, enrolled
}
