package console

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/optional"
)

var _ = register(screen{
	title: "Personal keys",
	scope: ofAccount, pages: map[string]page{
		"GET /me/keys":               showKeys,
		"POST /me/keys":              createKey,
		"GET /me/keys/{key}/roll":    askRollKey,
		"POST /me/keys/{key}/roll":   rollKey,
		"GET /me/keys/{key}/delete":  askDeleteKey,
		"POST /me/keys/{key}/delete": deleteKey,
	},
	done: map[string]string{"key-deleted": "The key was deleted."},
})

// A keysView is the personal API keys of the user.
type keysView struct {
	layout
	Tabs   []navItem
	Action string
	Keys   []*management.KeyView
	Newest string // the ID of the newest key; a form that is sent again makes no second key
	checked

	Label    string
	Reaches  []option
	Scopes   []scopeField
	Projects []option
}

// A scopeField is the right to one kind of things.
type scopeField struct {
	Name, Label string
	Levels      []option
}

// keyScopes are the things that the API has, by the objects of their scopes.
var keyScopes = []option{
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

func (q *request) keysPath() string { return q.accountPath() + "/keys" }

func showKeys(q *request) error {
	q.notice()
	return q.keys(http.StatusOK, new(keysView))
}

// keys shows the keys, and the form for another one as it was posted.
func (q *request) keys(status int, v *keysView) error {
	list, err := q.c.Service.Keys(q.Context(), q.by)
	if err != nil {
		return err
	}
	projects, err := q.projectNames()
	if err != nil {
		return err
	}
	v.Tabs, v.Action, v.Label, v.Keys = q.accountTabs(), q.keysPath(), q.PostForm.Get("label"), list
	reaches := options("chosen", "only what is chosen below", "all", "everything that you may")
	v.Reaches = selected(reaches, cmp.Or(q.PostForm.Get("reach"), "chosen"))
	for _, s := range keyScopes {
		name := "scope." + s.Value
		levels := selected(options("read", "read", "write", "read and change"), q.PostForm.Get(name))
		v.Scopes = append(v.Scopes, scopeField{name, s.Label, append(options("", "nothing"), levels...)})
	}
	v.Projects = append(options("", "all projects"), selected(projects, q.PostForm.Get("project"))...)
	if len(list) > 0 {
		v.Newest = list[0].ID
	}
	return q.render(status, "keys", v)
}

// projectNames returns the projects of the user as options.
func (q *request) projectNames() (names []option, err error) {
	list, err := q.c.Service.ListProjects(q.Context(), q.by, "", projectsOffered, 0)
	if err != nil {
		return nil, err
	}
	for _, p := range list.Items {
		names = append(names, option{Value: strconv.FormatInt(p.ID, 10), Label: p.Name})
	}
	return names, nil
}

const projectsOffered = 1000

// May says what a key may do. The template asks for it.
func (v *keysView) May(k *management.KeyView) string {
	var parts []string
	for _, scope := range k.Scopes {
		object, action, _ := strings.Cut(scope, ":")
		words := labelOf(keyScopes, object, object)
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
		only = append(only, labelOf(v.Projects, strconv.FormatInt(id, 10), "project "+strconv.FormatInt(id, 10)))
	}
	if n := len(k.Organizations); n > 0 {
		only = append(only, count(n, "organization", "organizations"))
	}
	if len(only) > 0 {
		text += "; only in " + strings.Join(only, ", ")
	}
	return text
}

func createKey(q *request) error {
	list, err := q.c.Service.Keys(q.Context(), q.by)
	if err != nil {
		return err
	}
	if len(list) > 0 && list[0].ID != q.PostForm.Get("newest") {
		v := new(keysView)
		v.fail("", "The key “%s” was created after this page was loaded, and no other one now. If its value is lost, roll or delete it.",
			list[0].Label)
		return q.keys(http.StatusConflict, v)
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
		Label: optional.Of(q.PostForm.Get("label")), Scopes: optional.Of(must(json.Marshal(append([]string{}, scopes...)))),
	}
	if project := q.PostForm.Get("project"); project != "" {
		patch.Projects = optional.Of(json.RawMessage("[" + strconv.Itoa(atoi(project)) + "]"))
	}
	k, err := q.c.Service.CreateKey(q.Context(), q.by, patch)
	if e, ok := errors.AsType[*management.Error](err); ok {
		v := new(keysView)
		if e.Attr == "scopes" && len(scopes) == 0 {
			v.fail("reach", "Choose something that the key may do.")
		}
		field := e.Attr
		if field != "" && field != "label" {
			field = "reach"
		}
		v.fail(field, "%s", e.Text())
		return q.keys(pageOf(e).status, v)
	}
	if err != nil {
		return err
	}
	return q.showKey("The key “"+k.Label+"”", k)
}

// showKey shows the value of a key.
func (q *request) showKey(title string, k *management.KeyView) error {
	return q.showOnce(title, &shownView{
		Text:  "Copy the key now: it is not shown again. Programs send it as Authorization: Bearer.",
		Label: "Personal key", Value: *k.Value, Back: q.keysPath(), BackName: "I have copied it",
	})
}

func askRollKey(q *request) error   { return q.askKey(http.StatusOK, true, "") }
func askDeleteKey(q *request) error { return q.askKey(http.StatusOK, false, "") }

// askKey asks whether a key shall be rolled, or else deleted.
func (q *request) askKey(status int, roll bool, refusal string) error {
	k, err := q.c.Service.Key(q.Context(), q.by, q.PathValue("key"))
	if err != nil {
		return err
	}
	v := &confirmView{Cancel: q.keysPath(), Hidden: []hidden{{"mask", k.Mask}}, Refusal: refusal}
	if roll {
		v.Text, v.Button = []string{
			"The key gets another value, which is shown once. The value that begins and ends with " + k.Mask + " is not valid any more.",
			cannotBeUndone,
		}, "Roll it"
		return q.confirm(status, "Roll the key “"+k.Label+"”?", v)
	}
	v.Text, v.Button, v.Danger = []string{"Programs that use it cannot use the API any more.", cannotBeUndone}, "Delete it", true
	return q.confirm(status, "Delete the key “"+k.Label+"”?", v)
}

// rollKey gives a key another value. A page that is sent again does nothing: its mask is
// another one.
func rollKey(q *request) error {
	k, err := q.c.Service.Key(q.Context(), q.by, q.PathValue("key"))
	if err != nil {
		return err
	}
	if k.Mask != q.PostForm.Get("mask") {
		return q.askKey(http.StatusConflict, true, "The key has got another value since this page was loaded. Nothing was done.")
	}
	if k, err = q.c.Service.RollKey(q.Context(), q.by, k.ID); err != nil {
		return err
	}
	return q.showKey("The new value of “"+k.Label+"”", k)
}

func deleteKey(q *request) error {
	if err := q.c.Service.DeleteKey(q.Context(), q.by, q.PathValue("key")); err != nil {
		return err
	}
	return q.redirect(q.keysPath() + "?done=key-deleted")
}
