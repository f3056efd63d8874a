package account

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/optional"
	"github.com/flagstaff-go/flagstaff/server/console/shell"
	"github.com/flagstaff-go/flagstaff/server/console/shell/forms"
)

var keysScreen = shell.Screen{
	Title: "Personal keys",
	Scope: shell.OfAccount, Pages: map[string]shell.Page{
		"GET /me/keys":               showKeys,
		"POST /me/keys":              createKey,
		"GET /me/keys/{key}/roll":    askRollKey,
		"POST /me/keys/{key}/roll":   rollKey,
		"GET /me/keys/{key}/delete":  askDeleteKey,
		"POST /me/keys/{key}/delete": deleteKey,
	},
	Done: map[string]string{"key-deleted": "The key was deleted."},
}

// A keysView is the personal API keys of the user.
type keysView struct {
	shell.Layout
	Tabs   []shell.NavItem
	Action string
	Keys   []*management.KeyView
	Newest string // the ID of the newest key; a form that is sent again makes no second key
	forms.Checked

	Label    string
	Reaches  []forms.Option
	Scopes   []scopeField
	Projects []forms.Option
}

// A scopeField is the right to one kind of things.
type scopeField struct {
	Name, Label string
	Levels      []forms.Option
}

// keyScopes are the things that the API has, by the objects of their scopes.
var keyScopes = []forms.Option{
	{Value: "feature_flag", Label: "Flags"},
	{Value: "cohort", Label: "Cohorts"},
	{Value: "early_access_feature", Label: "Early access features"},
	{Value: "survey", Label: "Surveys"},
	{Value: "person", Label: "Persons"},
	{Value: "group", Label: "Groups"},
	{Value: "activity_log", Label: "Audit log"},
	{Value: "project", Label: "Projects, and their keys"},
	{Value: "organization", Label: "The organization"},
	{Value: "organization_member", Label: "Members and invitations"},
	{Value: "user", Label: "Your account"},
}

func showKeys(q *shell.Request) error {
	q.Notice()
	return keys(q, http.StatusOK, new(keysView))
}

// keys shows the keys, and the form for another one as it was posted.
func keys(q *shell.Request, status int, v *keysView) error {
	list, err := q.Service.Keys(q.Context(), q.By)
	if err != nil {
		return err
	}
	projects, err := projectNames(q)
	if err != nil {
		return err
	}
	v.Tabs, v.Action, v.Label, v.Keys = accountTabs(q), keysPath(q), q.PostForm.Get("label"), list
	reaches := forms.Options("chosen", "only what is chosen below", "all", "everything that you may")
	v.Reaches = forms.Selected(reaches, cmp.Or(q.PostForm.Get("reach"), "chosen"))
	for _, s := range keyScopes {
		name := "scope." + s.Value
		levels := forms.Selected(forms.Options("read", "read", "write", "read and change"), q.PostForm.Get(name))
		v.Scopes = append(v.Scopes, scopeField{name, s.Label, append(forms.Options("", "nothing"), levels...)})
	}
	v.Projects = append(forms.Options("", "all projects"), forms.Selected(projects, q.PostForm.Get("project"))...)
	if len(list) > 0 {
		v.Newest = list[0].ID
	}
	return q.Render(status, "keys", v)
}

// projectNames returns the projects of the user as options.
func projectNames(q *shell.Request) (names []forms.Option, err error) {
	list, err := q.Service.ListProjects(q.Context(), q.By, "", projectsOffered, 0)
	if err != nil {
		return nil, err
	}
	for _, p := range list.Items {
		names = append(names, forms.Option{Value: strconv.FormatInt(p.ID, 10), Label: p.Name})
	}
	return names, nil
}

const projectsOffered = 1000

// May says what a key may do. The template asks for it.
func (v *keysView) May(k *management.KeyView) string {
	var parts []string
	for _, scope := range k.Scopes {
		object, action, _ := strings.Cut(scope, ":")
		words := forms.LabelOf(keyScopes, object, object)
		switch {
		case scope == "*":
			words = "everything"
		case action == "write":
			words += " (read and change)"
		default:
			words += " (read)"
		}
		parts = append(parts, words)
	}
	text := strings.Join(parts, ", ")
	var only []string
	for _, id := range k.Projects {
		only = append(only, forms.LabelOf(v.Projects, strconv.FormatInt(id, 10), "project "+strconv.FormatInt(id, 10)))
	}
	if n := len(k.Organizations); n > 0 {
		only = append(only, forms.Count(n, "organization", "organizations"))
	}
	if len(only) > 0 {
		text += "; only in " + strings.Join(only, ", ")
	}
	return text
}

func createKey(q *shell.Request) error {
	list, err := q.Service.Keys(q.Context(), q.By)
	if err != nil {
		return err
	}
	if len(list) > 0 && list[0].ID != q.PostForm.Get("newest") {
		v := new(keysView)
		v.Fail("", "The key “%s” was created after this page was loaded, and no other one now. If its value is lost, roll or delete it.",
			list[0].Label)
		return keys(q, http.StatusConflict, v)
	}
	var scopes []string
	if q.PostForm.Get("reach") == "all" {
		scopes = []string{"*"}
	} else {
		for _, s := range keyScopes {
			if action := q.PostForm.Get("scope." + s.Value); action != "" {
				scopes = append(scopes, s.Value+":"+action)
			}
		}
	}
	patch := management.KeyPatch{
		Label: optional.Of(q.PostForm.Get("label")), Scopes: optional.Of(forms.Must(json.Marshal(append([]string{}, scopes...)))),
	}
	if project := q.PostForm.Get("project"); project != "" {
		patch.Projects = optional.Of(json.RawMessage("[" + strconv.Itoa(forms.Atoi(project)) + "]"))
	}
	k, err := q.Service.CreateKey(q.Context(), q.By, patch)
	if e, ok := errors.AsType[*management.Error](err); ok {
		v := new(keysView)
		if e.Attr == "scopes" && len(scopes) == 0 {
			v.Fail("reach", "Choose something that the key may do.")
		}
		field := e.Attr
		if field != "" && field != "label" {
			field = "reach"
		}
		v.Fail(field, "%s", e.Text())
		return keys(q, shell.FailureOf(e).Status, v)
	}
	if err != nil {
		return err
	}
	return showKey(q, "The key “"+k.Label+"”", k)
}

// showKey shows the value of a key.
func showKey(q *shell.Request, title string, k *management.KeyView) error {
	return q.ShowOnce(title, &shell.ShownView{
		Text:  "Copy the key now: it is not shown again. Programs send it as Authorization: Bearer.",
		Label: "Personal key", Value: *k.Value, Back: keysPath(q), BackName: "I have copied it",
	})
}

func askRollKey(q *shell.Request) error { return askKey(q, http.StatusOK, true, "") }

func askDeleteKey(q *shell.Request) error { return askKey(q, http.StatusOK, false, "") }

// askKey asks whether a key shall be rolled, or else deleted.
func askKey(q *shell.Request, status int, roll bool, refusal string) error {
	k, err := q.Service.Key(q.Context(), q.By, q.PathValue("key"))
	if err != nil {
		return err
	}
	v := &shell.ConfirmView{Cancel: keysPath(q), Hidden: []forms.Hidden{{Name: "mask", Value: k.Mask}}, Refusal: refusal}
	if roll {
		v.Text, v.Button = []string{
			"The key gets another value, which is shown once. The value that begins and ends with " + k.Mask + " is not valid any more.",
			shell.CannotBeUndone,
		}, "Roll it"
		return q.Confirm(status, "Roll the key “"+k.Label+"”?", v)
	}
	v.Text, v.Button, v.Danger = []string{"Programs that use it cannot use the API any more.", shell.CannotBeUndone}, "Delete it", true
	return q.Confirm(status, "Delete the key “"+k.Label+"”?", v)
}

// rollKey gives a key another value. A page that is sent again does nothing: its mask is
// another one.
func rollKey(q *shell.Request) error {
	k, err := q.Service.Key(q.Context(), q.By, q.PathValue("key"))
	if err != nil {
		return err
	}
	if k.Mask != q.PostForm.Get("mask") {
		return askKey(q, http.StatusConflict, true, "The key has got another value since this page was loaded. Nothing was done.")
	}
	if k, err = q.Service.RollKey(q.Context(), q.By, k.ID); err != nil {
		return err
	}
	return showKey(q, "The new value of “"+k.Label+"”", k)
}

func deleteKey(q *shell.Request) error {
	if err := q.Service.DeleteKey(q.Context(), q.By, q.PathValue("key")); err != nil {
		return err
	}
	return q.Redirect(keysPath(q) + "?done=key-deleted")
}
