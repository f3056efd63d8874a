package management

import (
	"context"
	"encoding/json"
	"strconv"

	"github.com/flagstaff-go/flagstaff/internal/rawjson"
	"github.com/flagstaff-go/flagstaff/management/check"
	"github.com/flagstaff-go/flagstaff/management/field"
	"github.com/flagstaff-go/flagstaff/management/optional"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// A ScenePatch chooses a dashboard for a place (management.md §7.2).
type ScenePatch struct {
	Scene     optional.Value[string]          `json:"scene"`
	Dashboard optional.Value[json.RawMessage] `json:"dashboard"` // a number or its text; null clears the choice
}

const (
	maxScene    = 200
	maxHedgehog = 16 << 10 // bytes
)

// SetScene chooses the dashboard of a place in the user's current project. It
// needs scope user:write.
func (s *Service) SetScene(ctx context.Context, p *Principal, ref string, patch ScenePatch) (*UserView, error) {
	if err := p.changesUsers(); err != nil {
		return nil, err
	}
	u, err := s.begin(p).userByRef(ctx, ref)
	if err != nil {
		return nil, err
	}
	if !patch.Dashboard.Set || !patch.Scene.Set || patch.Scene.Null {
		return nil, invalid("", "invalid_input", "scene and dashboard are required.")
	}
	if err := judgeError(check.String("scene", &patch.Scene, maxScene)); err != nil {
		return nil, err
	}
	if patch.Scene.Value == "" {
		return nil, invalid("scene", "blank", "This field may not be blank.")
	}
	if u.CurrentProject == nil {
		return nil, invalid("", "invalid_input", "The user has no current project.")
	}
	scene := storage.Scene{User: u.ID, Project: *u.CurrentProject, Scene: patch.Scene.Value}
	if !patch.Dashboard.Null {
		if scene.Dashboard, err = strconv.ParseInt(rawjson.Text(patch.Dashboard.Value), 10, 64); err != nil {
			return nil, invalid("dashboard", "incorrect_type", "A valid integer is required.")
		}
		exists, err := s.c.DashboardExists(ctx, scene.Project, scene.Dashboard)
		if err != nil {
			return nil, err
		}
		if !exists {
			return nil, invalid("dashboard", "does_not_exist", "Invalid pk \"%d\" - object does not exist.", scene.Dashboard)
		}
	}
	return answer(ctx, s, p, func(w *work) (*UserView, error) {
		if patch.Dashboard.Null {
			_, err = w.store.Scenes().DeleteAll(ctx, storage.SceneUser.Is(scene.User), storage.SceneProject.Is(scene.Project), storage.SceneName.Is(scene.Scene))
		} else {
			err = w.store.Scenes().Set(ctx, &scene)
		}
		if err != nil {
			return nil, storeError(err)
		}
		u, err := w.userByRef(ctx, ref)
		if err != nil {
			return nil, err
		}
		change := field.Change{Type: "User", Field: "scene_personalisation", Before: nil, After: SceneView{scene.Scene, scene.Dashboard}, Action: "changed"}
		if patch.Dashboard.Null {
			change.After = nil
		}
		if err := w.addUserActivity(ctx, u, "updated", field.Detail{Name: u.Email, Changes: []field.Change{change}}); err != nil {
			return nil, err
		}
		return w.showUser(ctx, u)
	})
}

// Hedgehog returns the hedgehog_config of a user, {} if there is none
// (management.md §7.1). It needs scope user:read.
func (s *Service) Hedgehog(ctx context.Context, p *Principal, ref string) (json.RawMessage, error) {
	if err := p.Require("user:read"); err != nil {
		return nil, err
	}
	u, err := s.begin(p).userByRef(ctx, ref)
	if err != nil {
		return nil, err
	}
	return rawjson.Or(u.HedgehogConfig, "{}"), nil
}

// SetHedgehog replaces the hedgehog_config of a user and returns what is stored. A
// document with hedgehog_config as its only member stands for the value of that member.
// Null clears the hedgehog_config, and no document at all is an error. It needs scope
// user:write.
func (s *Service) SetHedgehog(ctx context.Context, p *Principal, ref string, doc json.RawMessage) (json.RawMessage, error) {
	if err := p.changesUsers(); err != nil {
		return nil, err
	}
	if _, err := s.begin(p).userByRef(ctx, ref); err != nil {
		return nil, err
	}
	if len(doc) == 0 {
		return nil, invalid("", "required", "A document is required; {} is an empty one.")
	}
	attr := ""
	members, ok := rawjson.Object(doc)
	if inner := members["hedgehog_config"]; inner != nil && len(members) == 1 {
		doc, attr = inner, "hedgehog_config"
		_, ok = rawjson.Object(doc)
	}
	o := optional.Value[json.RawMessage]{Set: true}
	if kind := rawjson.Kind(doc); kind == "NoneType" {
		o.Null = true
	} else if !ok {
		return nil, invalid(attr, "invalid_input", "Invalid data. Expected a dictionary, but got %s.", kind)
	} else {
		o.Value = doc
	}
	if err := judgeError(check.DocumentOrNull(attr, &o, maxHedgehog)); err != nil {
		return nil, err
	}
	err := s.atomic(ctx, p, func(w *work) error {
		u, err := w.userByRef(ctx, ref)
		if err != nil {
			return err
		}
		before := *u
		u.HedgehogConfig = o.Value
		if err := w.store.Users().Update(ctx, u); err != nil {
			return storeError(err)
		}
		return w.logUser(ctx, &before, u)
	})
	if err != nil {
		return nil, err
	}
	return rawjson.Or(o.Value, "{}"), nil
}
