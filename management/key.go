package management

import (
	"cmp"
	"context"
	"encoding/json"
	"math"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/internal/rawjson"
	"github.com/flagstaff-go/flagstaff/management/check"
	"github.com/flagstaff-go/flagstaff/management/field"
	"github.com/flagstaff-go/flagstaff/management/optional"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// Limits of personal API keys.
const (
	maxKeys  = 10 // of a user
	maxLabel = 40
)

// A KeyView is a personal API key as the API shows it (management.md §1.3).
type KeyView struct {
	ID            string      `json:"id"`
	Label         string      `json:"label"`
	Value         *string     `json:"value"` // null but in the answer that makes the key
	Mask          string      `json:"mask_value"`
	Created       time.Time   `json:"created_at"`
	LastUsed      *time.Time  `json:"last_used_at"`
	LastRolled    *time.Time  `json:"last_rolled_at"`
	User          int64       `json:"user_id"`
	Scopes        []string    `json:"scopes"`
	Projects      []int64     `json:"scoped_teams"`
	Organizations []uuid.UUID `json:"scoped_organizations"`
}

func showKey(k *storage.PersonalKey, value string) *KeyView {
	v := &KeyView{
		ID: k.ID, Label: k.Label, Mask: k.Mask, Created: k.Created, LastUsed: k.LastUsed, LastRolled: k.LastRolled, User: k.User,
		Scopes: k.Scopes, Projects: append([]int64{}, k.Projects...), Organizations: append([]uuid.UUID{}, k.Organizations...),
	}
	if len(v.Scopes) == 0 {
		v.Scopes = []string{"*"}
	}
	if value != "" {
		v.Value = &value
	}
	return v
}

// A KeyPatch makes or changes a personal API key.
type KeyPatch struct {
	Label         optional.Value[string]          `json:"label"`
	Scopes        optional.Value[json.RawMessage] `json:"scopes"`
	Projects      optional.Value[json.RawMessage] `json:"scoped_teams"`
	Organizations optional.Value[json.RawMessage] `json:"scoped_organizations"`
}

// keyMaster returns an error unless a Principal may do everything: a restricted key that
// makes keys could make one with more rights than its own.
func keyMaster(p *Principal) error {
	if !p.all() {
		return forbidden("Only a personal API key with scope '*' and without restrictions can manage keys.")
	}
	return nil
}

// Keys returns the keys of the Principal's user, newest first.
func (s *Service) Keys(ctx context.Context, p *Principal) ([]*KeyView, error) {
	if err := keyMaster(p); err != nil {
		return nil, err
	}
	keys, err := s.c.Store.Keys().List(ctx, storage.KeyUser.Is(p.User.ID))
	if err != nil {
		return nil, err
	}
	return each(keys, func(k *storage.PersonalKey) *KeyView { return showKey(k, "") }), nil
}

// ownKey returns a key of the Principal's user.
func (w *work) ownKey(ctx context.Context, id string) (*storage.PersonalKey, error) {
	if id == "@current" {
		if w.by.Key == nil {
			return nil, plainNotFound
		}
		id = w.by.Key.ID
	}
	k, err := w.store.Keys().Get(ctx, storage.KeyID.Is(id))
	if err != nil {
		return nil, storeError(err)
	}
	if k.User != w.by.User.ID {
		return nil, plainNotFound
	}
	return k, nil
}

// Key returns a key of the Principal's user. The ID @current stands for the key that was
// presented, which may always see itself.
func (s *Service) Key(ctx context.Context, p *Principal, id string) (*KeyView, error) {
	if p.Key == nil || id != "@current" && id != p.Key.ID {
		if err := keyMaster(p); err != nil {
			return nil, err
		}
	}
	k, err := s.begin(p).ownKey(ctx, id)
	if err != nil {
		return nil, err
	}
	return showKey(k, ""), nil
}

// CreateKey makes a key for the Principal's user. Only the answer has its value.
func (s *Service) CreateKey(ctx context.Context, p *Principal, patch KeyPatch) (*KeyView, error) {
	if err := keyMaster(p); err != nil {
		return nil, err
	}
	if err := s.stepUp(ctx, p); err != nil {
		return nil, err
	}
	if !patch.Label.Set {
		return nil, invalid("label", "required", "This field is required.")
	}
	if !patch.Scopes.Set {
		return nil, invalid("scopes", "required", "This field is required.")
	}
	return s.makeKey(ctx, p, patch, maxKeys)
}

// IssueKey makes a key for the user with an e-mail address. It is for programs on the
// machine of the server: it checks no rights, and the limit on keys does not apply.
// Without scopes the key has all. The error is ErrNotFound if no user has the address.
func (s *Service) IssueKey(ctx context.Context, email, label string, scopes ...Scope) (*KeyView, error) {
	u, err := s.c.Store.Users().Get(ctx, storage.UserEmail.Is(check.NormalEmail(email)))
	if err != nil {
		return nil, storeError(err)
	}
	if len(scopes) == 0 {
		scopes = []Scope{"*"}
	}
	return s.makeKey(ctx, &Principal{User: u}, KeyPatch{Label: optional.Of(label), Scopes: optional.Of(rawjson.Must(scopes))}, math.MaxInt)
}

func (s *Service) makeKey(ctx context.Context, p *Principal, patch KeyPatch, most int) (*KeyView, error) {
	value := storage.NewPersonalKey()
	k := &storage.PersonalKey{ID: storage.RandomToken(32), User: p.User.ID, Mask: maskOf(value), Hash: storage.HashKey(value), Created: s.now()}
	return answer(ctx, s, p, func(w *work) (*KeyView, error) {
		u, err := w.activeUser(ctx)
		if err != nil {
			return nil, err
		}
		keys, err := w.store.Keys().List(ctx, storage.KeyUser.Is(u.ID))
		if err != nil {
			return nil, err
		}
		if len(keys) >= most {
			return nil, invalid("", "invalid_input", "A user can have at most %d personal API keys.", most)
		}
		if err := w.applyKey(ctx, u, k, patch); err != nil {
			return nil, err
		}
		if err := w.store.Keys().Create(ctx, k); err != nil {
			return nil, err
		}
		w.send(s.accountMail(u, kindKeyCreated, "It is called “"+k.Label+"” and begins and ends with "+k.Mask+"."))
		return showKey(k, value), w.logKey(ctx, k, "created", nil)
	})
}

// keyFields is the table of the fields of a personal API key. The patch is nil if the
// table is only for the log.
func keyFields(k *storage.PersonalKey, patch *KeyPatch) field.Table {
	patch = cmp.Or(patch, new(KeyPatch))
	organizations := field.List("scoped_organizations", &patch.Organizations, &k.Organizations, readOrganizations)
	return field.Table{
		field.Plain("label", &patch.Label, &k.Label, checkLabel),
		field.List("scopes", &patch.Scopes, &k.Scopes, readScopes),
		organizations.Unlogged(), // checked before the projects, logged after them
		field.List("scoped_teams", &patch.Projects, &k.Projects, readProjects),
		field.Logged("scoped_organizations", k.Organizations),
	}
}

func checkLabel(attr string, o *optional.Value[string]) error {
	if err := check.String(attr, o, maxLabel); err != nil || !o.Set {
		return err
	}
	if o.Value == "" {
		return invalid(attr, "blank", "This field may not be blank.")
	}
	return nil
}

func readScopes(attr string, o *optional.Value[json.RawMessage]) ([]string, error) {
	if err := check.NotNull(attr, o); err != nil {
		return nil, err
	}
	scopes, err := check.DecodeList[string](attr, o)
	if err != nil {
		return nil, err
	}
	for _, scope := range scopes {
		if !Scope(scope).Valid() {
			return nil, invalid(attr, "invalid_input", "Invalid scope: %s", check.Excerpt(scope))
		}
	}
	if len(scopes) == 0 {
		return nil, invalid(attr, "invalid_input", "At least one scope is required; \"*\" is all of them.")
	}
	return uniqueValues(scopes), nil
}

func readProjects(attr string, o *optional.Value[json.RawMessage]) ([]int64, error) {
	projects, err := check.DecodeList[int64](attr, o)
	return uniqueValues(projects), err
}

func readOrganizations(attr string, o *optional.Value[json.RawMessage]) ([]uuid.UUID, error) {
	texts, err := check.DecodeList[string](attr, o)
	if err != nil {
		return nil, err
	}
	ids, err := parseIDs(attr, texts)
	return uniqueValues(ids), err
}

// parseIDs reads UUIDs that a field has.
func parseIDs(attr string, texts []string) ([]uuid.UUID, error) {
	ids := make([]uuid.UUID, len(texts))
	for i, text := range texts {
		var err error
		if ids[i], err = check.ParseID(text); err != nil {
			return nil, invalid(attr, "invalid_input", "Must be a valid UUID.")
		}
	}
	return ids, nil
}

// applyKey checks a KeyPatch and applies it to a key of a user, who must be a member
// of each organization and have access to each project that the patch names.
func (w *work) applyKey(ctx context.Context, u *storage.User, k *storage.PersonalKey, patch KeyPatch) error {
	if err := applyTable(keyFields(k, &patch)); err != nil {
		return err
	}
	memberships, err := w.store.Memberships().List(ctx, storage.MembershipUser.In([]int64{u.ID}))
	if err != nil {
		return err
	}
	mine := each(memberships, func(m *storage.Membership) uuid.UUID { return m.Organization })
	for _, id := range k.Organizations {
		if patch.Organizations.Set && !slices.Contains(mine, id) {
			return invalid("scoped_organizations", "invalid_input", "You are not a member of organization %s.", id)
		}
	}
	if !patch.Projects.Set || len(k.Projects) == 0 {
		return nil
	}
	projects, err := w.store.Projects().List(ctx, storage.ProjectOrganization.In(mine))
	if err != nil {
		return err
	}
	for _, id := range k.Projects {
		if !slices.ContainsFunc(projects, func(p storage.Project) bool { return p.ID == id }) {
			return invalid("scoped_teams", "invalid_input", "You do not have access to project %d.", id)
		}
	}
	return nil
}

// changeKey runs f, which changes and logs a key of the Principal's user, in a transaction. It
// shows the key with its new value, unless that is "".
func (s *Service) changeKey(ctx context.Context, p *Principal, id, value string, f func(*work, *storage.PersonalKey) error) (*KeyView, error) {
	if err := keyMaster(p); err != nil {
		return nil, err
	}
	if err := s.stepUp(ctx, p); err != nil {
		return nil, err
	}
	return answer(ctx, s, p, func(w *work) (*KeyView, error) {
		k, err := w.ownKey(ctx, id)
		if err == nil {
			err = f(w, k)
		}
		if err != nil {
			return nil, err
		}
		return showKey(k, value), nil
	})
}

// UpdateKey changes the label, the scopes or the restrictions of a key.
func (s *Service) UpdateKey(ctx context.Context, p *Principal, id string, patch KeyPatch) (*KeyView, error) {
	return s.changeKey(ctx, p, id, "", func(w *work, k *storage.PersonalKey) error {
		before := *k
		if err := w.applyKey(ctx, p.User, k, patch); err != nil {
			return err
		}
		if err := w.store.Keys().Update(ctx, k); err != nil {
			return err
		}
		changes := field.Differences("PersonalAPIKey", keyFields(&before, nil), keyFields(k, nil))
		if len(changes) == 0 {
			return nil
		}
		return w.logKey(ctx, k, "updated", changes)
	})
}

// RollKey gives a key a new value. The old value becomes invalid. If several callers roll
// a key with its old value at once, one of them succeeds.
func (s *Service) RollKey(ctx context.Context, p *Principal, id string) (*KeyView, error) {
	value := storage.NewPersonalKey()
	return s.changeKey(ctx, p, id, value, func(w *work, k *storage.PersonalKey) error {
		if p.Key != nil && p.Key.ID == k.ID && p.Key.Hash != k.Hash {
			return &Error{Kind: ErrUnauthenticated, Code: "authentication_failed", Detail: "The personal API key was replaced."}
		}
		now := s.now()
		k.Mask, k.Hash, k.LastRolled = maskOf(value), storage.HashKey(value), &now
		if err := w.store.Keys().Update(ctx, k); err != nil {
			return err
		}
		w.send(s.accountMail(p.User, kindKeyRolled, "It is called “"+k.Label+"” and now begins and ends with "+k.Mask+"."))
		return w.logKey(ctx, k, "rolled", nil)
	})
}

// DeleteKey deletes a key, also the one that was presented.
func (s *Service) DeleteKey(ctx context.Context, p *Principal, id string) error {
	_, err := s.changeKey(ctx, p, id, "", func(w *work, k *storage.PersonalKey) error {
		if err := w.store.Keys().Delete(ctx, storage.KeyID.Is(k.ID)); err != nil {
			return storeError(err)
		}
		w.send(s.accountMail(p.User, kindKeyDeleted, "It was called “"+k.Label+"” and began and ended with "+k.Mask+"."))
		return w.logKey(ctx, k, "deleted", nil)
	})
	return err
}

func (w *work) logKey(ctx context.Context, k *storage.PersonalKey, activity string, changes []field.Change) error {
	return w.addActivity(ctx, storage.Activity{
		Organization: w.by.User.CurrentOrganization, Activity: activity, Scope: "PersonalAPIKey", ItemID: k.ID,
	}, field.Detail{Name: k.Label, Changes: append([]field.Change{}, changes...)})
}

// uniqueValues removes what comes twice.
func uniqueValues[T comparable](values []T) []T {
	var once []T
	for _, v := range values {
		if !slices.Contains(once, v) {
			once = append(once, v)
		}
	}
	return once
}
