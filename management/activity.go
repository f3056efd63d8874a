package management

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/google/uuid"
)

// What the activity log knows about accounts. Values of secrets are never in it,
// nor their hashes.

type fieldChange struct {
	Type   string `json:"type"`
	Field  string `json:"field"`
	Before any    `json:"before"`
	After  any    `json:"after"`
	Action string `json:"action"`
}

// detail is what management.md §11.7 calls so.
type detail struct {
	Name    string        `json:"name"`
	Changes []fieldChange `json:"changes"`
}

// differences lists the fields of two JSON objects that differ. What is empty is
// not there, so that all of it is equal (management.md §11.7).
func differences(scope string, before, after any, fields []string) []fieldChange {
	was, _ := object(mustJSON(before))
	is, _ := object(mustJSON(after))
	list := []fieldChange{}
	for _, name := range fields {
		action := "changed"
		switch created, deleted := empty(was[name]), empty(is[name]); {
		case created && deleted, bytes.Equal(was[name], is[name]):
			continue
		case created:
			action = "created"
		case deleted:
			action = "deleted"
		}
		list = append(list, fieldChange{scope, name, was[name], is[name], action})
	}
	return list
}

func empty(raw json.RawMessage) bool {
	switch string(raw) {
	case "", "null", `""`, "[]", "{}":
		return true
	}
	return false
}

// userFields are what is logged of a user, as a view shows it.
var userFields = []string{
	"first_name", "last_name", "email", "pending_email", "is_email_verified", "notification_settings", "anonymize_data",
	"allow_impersonation", "toolbar_mode", "is_staff", "events_column_config", "has_seen_product_intro_for", "theme_mode",
	"hedgehog_config", "allow_sidebar_suggestions", "shortcut_position", "role_at_organization", "passkeys_enabled_for_2fa",
}

// add adds an entry about something.
func (s *Service) add(ctx context.Context, store Store, p *Principal, a Activity, d detail) error {
	a.ID, a.Created, a.Detail = newID(), s.now(), mustJSON(d)
	if p == nil || p.User == nil {
		a.System = true
	} else {
		a.User = &p.User.ID
	}
	return store.AddActivity(ctx, &a)
}

// logUser logs what has changed of a user.
func (s *Service) logUser(ctx context.Context, store Store, p *Principal, before, after *User) error {
	d := detail{after.Email, differences("User", s.view(before), s.view(after), userFields)}
	if before.PasswordHash != after.PasswordHash {
		d.Changes = append(d.Changes, fieldChange{"User", "password", nil, nil, "changed"})
	}
	if !same(before.CurrentOrganization, after.CurrentOrganization) {
		d.Changes = append(d.Changes, fieldChange{"User", "current_organization", before.CurrentOrganization, after.CurrentOrganization, "changed"})
	}
	if !same(before.CurrentProject, after.CurrentProject) {
		d.Changes = append(d.Changes, fieldChange{"User", "current_team", before.CurrentProject, after.CurrentProject, "changed"})
	}
	if len(d.Changes) == 0 {
		return nil
	}
	return s.addUser(ctx, store, p, after, "updated", d)
}

func (s *Service) addUser(ctx context.Context, store Store, p *Principal, u *User, activity string, d detail) error {
	return s.add(ctx, store, p, Activity{
		Organization: u.CurrentOrganization, Activity: activity, Scope: "User", ItemID: u.UUID.String(),
	}, d)
}

// logSecurity logs something about a user that has no field.
func (s *Service) logSecurity(ctx context.Context, store Store, p *Principal, u *User, activity string) error {
	return s.addUser(ctx, store, p, u, activity, detail{u.Email, []fieldChange{}})
}

// keyDetail is what can be told of a key.
func keyDetail(k *PersonalKey) map[string]any {
	return map[string]any{
		"label": k.Label, "mask_value": k.Mask, "scopes": k.Scopes, "scoped_teams": k.Projects, "scoped_organizations": k.Organizations,
	}
}

func (s *Service) logKey(ctx context.Context, store Store, p *Principal, k *PersonalKey, activity string, changes map[string]any) error {
	d := detail{k.Label, []fieldChange{}}
	if changes != nil {
		d.Changes = differences("PersonalAPIKey", changes["before"], changes["after"],
			[]string{"label", "scopes", "scoped_teams", "scoped_organizations"})
		if len(d.Changes) == 0 {
			return nil
		}
	}
	return s.add(ctx, store, p, Activity{
		Organization: p.User.CurrentOrganization, Activity: activity, Scope: "PersonalAPIKey", ItemID: k.ID,
	}, d)
}

func (s *Service) logOrganization(ctx context.Context, store Store, p *Principal, id uuid.UUID, activity string, changes []fieldChange) error {
	o, err := store.Organization(ctx, id)
	if err != nil {
		return shown(err)
	}
	return s.add(ctx, store, p, Activity{
		Organization: &id, Activity: activity, Scope: "Organization", ItemID: id.String(),
	}, detail{o.Name, append([]fieldChange{}, changes...)})
}
