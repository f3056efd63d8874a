package management

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/management/check"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// An EventDefinitionView is a [storage.Definition] of an event as the API shows it.
type EventDefinitionView struct {
	ID         uuid.UUID `json:"id"` // always the same one for a name in a project
	Name       string    `json:"name"`
	CreatedAt  time.Time `json:"created_at"` // when the first event happened
	LastSeenAt time.Time `json:"last_seen_at"`
}

// A PropertyDefinitionView is a [storage.Definition] of a property as the API shows it.
type PropertyDefinitionView struct {
	EventDefinitionView
	PropertyType *storage.PropertyType `json:"property_type"` // null: not known
	IsNumerical  bool                  `json:"is_numerical"`
}

// definitionIDs is the namespace of the IDs of definitions.
var definitionIDs = uuid.MustParse("6b1f4c0e-9a5d-4f4e-8a53-0c7d2f3b9e11")

func showDefinition(project int64, kind storage.DefinitionKind, d *storage.Definition) EventDefinitionView {
	id := uuid.NewSHA1(definitionIDs, fmt.Appendf(nil, "%d/%d/%s", project, kind, d.Name))
	return EventDefinitionView{id, d.Name, d.First, d.Last}
}

// A DefinitionQuery selects definitions, as the parameters of a request say it.
type DefinitionQuery struct {
	Search string // a part of the name, whatever its case

	// Type is "event", "person" or "group", for properties. Empty: event. GroupTypeIndex
	// is a number and goes with "group".
	Type           string
	GroupTypeIndex string
}

// kind reads whose properties a query is about.
func (q *DefinitionQuery) kind() (storage.DefinitionKind, error) {
	if q.GroupTypeIndex != "" && q.Type != "group" {
		return 0, invalid("group_type_index", "invalid_input", "It goes with the type group only.")
	}
	switch q.Type {
	case "", "event":
		return storage.DefinesEventProperty, nil
	case "person":
		return storage.DefinesPerson, nil
	case "group":
		if q.GroupTypeIndex == "" {
			return 0, invalid("group_type_index", "required", "This field is required.")
		}
		index, err := strconv.ParseUint(q.GroupTypeIndex, 10, 8)
		if err != nil {
			return 0, invalid("group_type_index", "invalid_input", "%q is not the index of a group type.", check.Excerpt(q.GroupTypeIndex))
		}
		return storage.DefinesGroup(int(index)), nil
	}
	return 0, judgeError(check.Selected("type", q.Type, "event", "person", "group"))
}

// EventDefinitions returns a page of the names of the events of a project, by ascending
// name. Names of events that have just been stored may be missing, see [Service.Run]. It
// needs scope event_definition:read (management.md §16.6).
func (s *Service) EventDefinitions(
	ctx context.Context, p *Principal, ref string, q DefinitionQuery, limit, offset int,
) (*Page[*EventDefinitionView], error) {
	w, err := s.capturedAt(ctx, p, ref, "event_definition:read")
	if err != nil {
		return nil, err
	}
	return definitionPage(ctx, w, storage.DefinesEvent, q.Search, limit, offset, func(v EventDefinitionView, _ *storage.Definition) *EventDefinitionView { return &v })
}

// PropertyDefinitions is like [Service.EventDefinitions] for properties. It needs scope
// property_definition:read.
func (s *Service) PropertyDefinitions(
	ctx context.Context, p *Principal, ref string, q DefinitionQuery, limit, offset int,
) (*Page[*PropertyDefinitionView], error) {
	w, err := s.capturedAt(ctx, p, ref, "property_definition:read")
	if err != nil {
		return nil, err
	}
	kind, err := q.kind()
	if err != nil {
		return nil, err
	}
	return definitionPage(ctx, w, kind, q.Search, limit, offset, func(v EventDefinitionView, d *storage.Definition) *PropertyDefinitionView {
		view := &PropertyDefinitionView{EventDefinitionView: v, IsNumerical: d.Type == storage.PropertyNumber}
		if d.Type != "" {
			view.PropertyType = &d.Type
		}
		return view
	})
}

func definitionPage[V any](
	ctx context.Context, w *work, kind storage.DefinitionKind, search string, limit, offset int, show func(EventDefinitionView, *storage.Definition) V,
) (*Page[V], error) {
	if err := judgeError(check.Search(search)); err != nil {
		return nil, err
	}
	project := w.at.Project.ID
	list, total, err := w.c.Data.Definitions(ctx, project, kind, search, max(limit, 0), max(offset, 0))
	if err != nil {
		return nil, err
	}
	return &Page[V]{total, each(list, func(d *storage.Definition) V { return show(showDefinition(project, kind, d), d) })}, nil
}
