package management

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/internal/rawjson"
	"github.com/flagstaff-go/flagstaff/management/check"
	"github.com/flagstaff-go/flagstaff/management/field"
	"github.com/flagstaff-go/flagstaff/management/internal/names"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// A PersonView is a person as the API shows it.
type PersonView struct {
	ID           uuid.UUID       `json:"id"` // as UUID
	UUID         uuid.UUID       `json:"uuid"`
	Name         string          `json:"name"`
	DistinctIDs  []string        `json:"distinct_ids"` // IDs that SDKs made at random come last
	Properties   json.RawMessage `json:"properties"`
	CreatedAt    time.Time       `json:"created_at"`
	IsIdentified bool            `json:"is_identified"`
}

func showPerson(p *storage.Person) *PersonView {
	v := &PersonView{
		ID: p.ID, UUID: p.ID, DistinctIDs: append([]string{}, p.DistinctIDs...), Properties: rawjson.Or(p.Properties, "{}"),
		CreatedAt: p.Created, IsIdentified: p.Identified,
	}
	slices.SortStableFunc(v.DistinctIDs, func(a, b string) int {
		switch anonymous := randomID(a); {
		case anonymous == randomID(b):
			return 0
		case anonymous:
			return 1
		}
		return -1
	})
	if list := names.Of(v.Properties); len(list) > 0 {
		v.Name = list[0]
	} else if len(v.DistinctIDs) > 0 {
		v.Name = v.DistinctIDs[0]
	}
	return v
}

// randomID reports whether a distinct ID looks like one that an SDK has made for an
// anonymous person: five parts of digits and small letters.
func randomID(id string) bool {
	if strings.Count(id, "-") != 4 || strings.Contains("-"+id+"-", "--") {
		return false
	}
	return !strings.ContainsFunc(id, func(r rune) bool { return r != '-' && (r < '0' || r > '9') && (r < 'a' || r > 'z') })
}

// ListPersons returns a page of the persons of a project that a filter selects,
// newest first. It needs scope person:read.
func (s *Service) ListPersons(ctx context.Context, p *Principal, ref string, f storage.PersonFilter, limit, offset int) (*Page[*PersonView], error) {
	w, err := s.capturedAt(ctx, p, ref, "person:read")
	if err != nil {
		return nil, err
	}
	if f.Cohort != 0 {
		if err := w.checkList(ctx, f.Cohort); err != nil {
			return nil, err
		}
	}
	list, total, err := s.c.Data.Persons(ctx, w.at.Project.ID, f, max(limit, 0), max(offset, 0))
	if err != nil {
		return nil, err
	}
	return &Page[*PersonView]{total, each(list, showPerson)}, nil
}

// checkList returns an error unless a cohort is static.
func (w *work) checkList(ctx context.Context, cohort int64) error {
	c, err := w.store.Cohorts().Get(ctx, storage.CohortProject.Is(w.at.Project.ID), storage.CohortID.Is(cohort))
	switch {
	case errors.Is(err, ErrNotFound), err == nil && c.Deleted:
		return invalid("cohort", "does_not_exist", `Invalid pk "%d" - object does not exist.`, cohort)
	case err == nil && !c.Static:
		return invalid("cohort", "invalid_input", "Cohort %d is not a list of persons: it has those with certain properties.", cohort)
	}
	return err
}

// findPerson returns the person that a path names by UUID or by a distinct ID. The UUID
// is tried first.
func (w *work) findPerson(ctx context.Context, id string) (*storage.Person, error) {
	if u, err := check.ParseID(id); err == nil {
		person, err := w.c.Data.Person(ctx, w.at.Project.ID, u)
		if !errors.Is(err, ErrNotFound) {
			return person, err
		}
	}
	person, err := w.c.Data.PersonByDistinctID(ctx, w.at.Project.ID, id)
	return person, storeError(err)
}

// personAt is capturedAt with a person that a path names.
func (s *Service) personAt(ctx context.Context, p *Principal, ref, id string, scopes ...Scope) (*work, *storage.Person, error) {
	w, err := s.capturedAt(ctx, p, ref, scopes...)
	if err != nil {
		return nil, nil, err
	}
	person, err := w.findPerson(ctx, id)
	return w, person, err
}

// GetPerson returns a person by UUID or by a distinct ID; the following methods take
// both, too. It needs scope person:read.
func (s *Service) GetPerson(ctx context.Context, p *Principal, ref, id string) (*PersonView, error) {
	_, person, err := s.personAt(ctx, p, ref, id, "person:read")
	if err != nil {
		return nil, err
	}
	return showPerson(person), nil
}

// UpdatePersonProperty sets a property of a person. It needs scope person:write.
//
// Captured data is not part of the transactions of the Store. The change is therefore
// logged first, once it is known to be possible, so that no change is without an entry.
// If storage fails right then, there may be an entry without a change.
func (s *Service) UpdatePersonProperty(ctx context.Context, p *Principal, ref, id string, patch PropertyPatch) (*PersonView, error) {
	return s.editPerson(ctx, p, ref, id, "updated", patch.edit)
}

// DeletePersonProperty takes a property from a person. It needs and logs the same as
// [Service.UpdatePersonProperty].
func (s *Service) DeletePersonProperty(ctx context.Context, p *Principal, ref, id string, removal PropertyRemoval) (*PersonView, error) {
	return s.editPerson(ctx, p, ref, id, "delete_property", removal.edit)
}

func (s *Service) editPerson(ctx context.Context, p *Principal, ref, id, activity string, check func() (*propertyEdit, error)) (*PersonView, error) {
	w, err := s.capturedAt(ctx, p, ref, "person:write")
	if err != nil {
		return nil, err
	}
	edit, err := check()
	if err != nil {
		return nil, err
	}
	person, err := w.findPerson(ctx, id)
	if err != nil {
		return nil, err
	}
	changes, err := edit.foresee("Person", person.Properties)
	if err != nil {
		return nil, err
	}
	if len(changes) > 0 {
		if err := w.logPerson(ctx, person.ID, activity, changes); err != nil {
			return nil, err
		}
		if person, err = s.c.Data.UpdatePerson(ctx, w.at.Project.ID, person.ID, edit.set, edit.unset); err != nil {
			return nil, dataError(err)
		}
	}
	return showPerson(person), nil
}

// logPerson logs what happens to a person. The entry has nothing that identifies the
// person.
func (w *work) logPerson(ctx context.Context, id uuid.UUID, activity string, changes []field.Change) error {
	return w.addActivity(ctx, storage.Activity{
		Project: &w.at.Project.ID, Organization: &w.at.Project.Organization, Activity: activity, Scope: "Person", ItemID: id.String(),
	}, field.Detail{Name: id.String(), Changes: append([]field.Change{}, changes...)})
}

// DeletePerson deletes a person with all that is kept about it except events. If
// deleteEvents is true, [Service.Run] deletes the events that are stored now a little
// later. It needs scope person:write. The entry in the activity log is written first, as
// for [Service.UpdatePersonProperty].
func (s *Service) DeletePerson(ctx context.Context, p *Principal, ref, id string, deleteEvents bool) error {
	w, person, err := s.personAt(ctx, p, ref, id, "person:write")
	if err != nil {
		return err
	}
	var changes []field.Change
	if deleteEvents {
		changes = append(changes, field.Change{Type: "Person", Field: "events", Before: nil, After: nil, Action: "deleted"})
	}
	if err := w.logPerson(ctx, person.ID, "deleted", changes); err != nil {
		return err
	}
	return storeError(s.c.Data.DeletePerson(ctx, w.at.Project.ID, person.ID, deleteEvents))
}
