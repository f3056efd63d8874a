package management

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/flagstaff-go/flagstaff/internal/rawjson"
	"github.com/flagstaff-go/flagstaff/management/field"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// A GroupTypeView is a group type as the API shows it.
type GroupTypeView struct {
	GroupType      string `json:"group_type"`
	GroupTypeIndex int    `json:"group_type_index"`
}

// A GroupView is a group as the API shows it.
type GroupView struct {
	GroupTypeIndex  int             `json:"group_type_index"`
	GroupKey        string          `json:"group_key"`
	GroupProperties json.RawMessage `json:"group_properties"`
	CreatedAt       time.Time       `json:"created_at"`
}

func showGroup(g *storage.Group) *GroupView {
	return &GroupView{GroupTypeIndex: g.TypeIndex, GroupKey: g.Key, GroupProperties: rawjson.Or(g.Properties, "{}"), CreatedAt: g.Created}
}

// GroupTypes returns the group types of a project by ascending index. It needs
// scope group:read.
func (s *Service) GroupTypes(ctx context.Context, p *Principal, ref string) ([]*GroupTypeView, error) {
	w, err := s.capturedAt(ctx, p, ref, "group:read")
	if err != nil {
		return nil, err
	}
	types, err := w.store.GroupTypes(ctx, w.at.Project.ID)
	if err != nil {
		return nil, err
	}
	views := []*GroupTypeView{}
	for _, index := range slices.Sorted(maps.Keys(types)) {
		views = append(views, &GroupTypeView{GroupType: types[index], GroupTypeIndex: index})
	}
	return views, nil
}

// ListGroups returns a page of the groups of a type whose keys begin with search,
// by ascending key. It needs scope group:read.
func (s *Service) ListGroups(ctx context.Context, p *Principal, ref string, typeIndex int, search string, limit, offset int) (*Page[*GroupView], error) {
	w, err := s.capturedAt(ctx, p, ref, "group:read")
	if err != nil {
		return nil, err
	}
	list, total, err := s.c.Data.Groups(ctx, w.at.Project.ID, typeIndex, search, max(limit, 0), max(offset, 0))
	if err != nil {
		return nil, err
	}
	return &Page[*GroupView]{total, each(list, showGroup)}, nil
}

// FindGroup returns a group. It needs scope group:read.
func (s *Service) FindGroup(ctx context.Context, p *Principal, ref string, typeIndex int, key string) (*GroupView, error) {
	w, err := s.capturedAt(ctx, p, ref, "group:read")
	if err != nil {
		return nil, err
	}
	g, err := s.c.Data.Group(ctx, w.at.Project.ID, typeIndex, key)
	if err != nil {
		return nil, storeError(err)
	}
	return showGroup(g), nil
}

// UpdateGroupProperty sets a property of a group. It needs scope group:write. The entry
// in the activity log is written before the change, for the reason that
// [Service.UpdatePersonProperty] gives.
func (s *Service) UpdateGroupProperty(ctx context.Context, p *Principal, ref string, typeIndex int, key string, patch PropertyPatch) (*GroupView, error) {
	return s.editGroup(ctx, p, ref, typeIndex, key, "update_property", patch.edit)
}

// DeleteGroupProperty takes a property from a group. It needs and logs the same as
// [Service.UpdateGroupProperty].
func (s *Service) DeleteGroupProperty(ctx context.Context, p *Principal, ref string, typeIndex int, key string, removal PropertyRemoval) (*GroupView, error) {
	return s.editGroup(ctx, p, ref, typeIndex, key, "delete_property", removal.edit)
}

func (s *Service) editGroup(ctx context.Context, p *Principal, ref string, typeIndex int, key, activity string, check func() (*propertyEdit, error)) (*GroupView, error) {
	w, err := s.capturedAt(ctx, p, ref, "group:write")
	if err != nil {
		return nil, err
	}
	edit, err := check()
	if err != nil {
		return nil, err
	}
	g, err := s.c.Data.Group(ctx, w.at.Project.ID, typeIndex, key)
	if err != nil {
		return nil, storeError(err)
	}
	changes, err := edit.foresee("Group", g.Properties)
	if err != nil {
		return nil, err
	}
	if len(changes) > 0 {
		if err := w.logGroup(ctx, g, activity, changes); err != nil {
			return nil, err
		}
		if g, err = s.c.Data.UpdateGroup(ctx, w.at.Project.ID, typeIndex, key, edit.set, edit.unset); err != nil {
			return nil, dataError(err)
		}
	}
	return showGroup(g), nil
}

// logGroup logs what happens to a group. The ID of a group in the log is its type and
// key.
func (w *work) logGroup(ctx context.Context, g *storage.Group, activity string, changes []field.Change) error {
	return w.addActivity(ctx, storage.Activity{
		Project: &w.at.Project.ID, Organization: &w.at.Project.Organization, Activity: activity, Scope: "Group", ItemID: strconv.Itoa(g.TypeIndex) + "/" + g.Key,
	}, field.Detail{Name: g.Key, Changes: append([]field.Change{}, changes...)})
}

// DeleteGroup deletes a group with its properties. Its type and the events about it
// stay. It needs scope group:write.
func (s *Service) DeleteGroup(ctx context.Context, p *Principal, ref string, typeIndex int, key string) error {
	w, err := s.capturedAt(ctx, p, ref, "group:write")
	if err != nil {
		return err
	}
	g, err := s.c.Data.Group(ctx, w.at.Project.ID, typeIndex, key)
	if err != nil {
		return storeError(err)
	}
	if err := w.logGroup(ctx, g, "deleted", nil); err != nil {
		return err
	}
	return storeError(s.c.Data.DeleteGroup(ctx, w.at.Project.ID, typeIndex, key))
}
