package console

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/flagstaff-go/flagstaff/management"
)

// activityView is what was done in a project, newest first.
type activityView struct {
	layout
	Action       string
	Item         string // the ID of a thing, "" for all
	Scopes       []option
	Users        []option // who can have done it
	Entries      []activityEntry
	Range        string
	Older, First string // the next page, and the first one; "" if there is none
	Clear        string
}

// An activityEntry says who has done what, and when.
type activityEntry struct {
	Who, What, Kind, Thing string
	URL                    string // the thing as it is now; "" if it has no page
	Only                   string // the entries about it alone
	At                     moment
	Changes                []changeLine
}

// activityScopes are the kinds of things that have entries, in words.
var activityScopes = []option{
	{Value: "FeatureFlag", Label: "Flags"},
	{Value: "Cohort", Label: "Cohorts"},
	{Value: "Survey", Label: "Surveys"},
	{Value: "EarlyAccessFeature", Label: "Early access features"},
	{Value: "Person", Label: "Persons"},
	{Value: "Group", Label: "Groups"},
	{Value: "Project", Label: "Project"},
}

var scopeWords = map[string]string{
	"FeatureFlag": "flag", "Cohort": "cohort", "Survey": "survey", "EarlyAccessFeature": "early access feature", "Person": "person", "Group": "group", "Project": "project",
}

// thingPaths are where things are shown; the ID follows.
var thingPaths = map[string]string{"FeatureFlag": "/flags/", "Cohort": "/cohorts/", "EarlyAccessFeature": "/features/", "Person": "/persons/", "Survey": "/surveys/"}

func activity(q *request) error {
	asked := management.ActivityQuery{
		Scope: q.Form.Get("scope"), ItemID: q.Form.Get("item"), User: q.Form.Get("by"), Before: q.Form.Get("before"), Page: 1, Limit: pageSize,
	}
	list, err := q.c.Service.ListActivity(q.Context(), q.by, q.ref, asked)
	if errors.Is(err, management.ErrInvalid) {
		return errNoPage // a user or a place in the list was made up
	}
	if err != nil {
		return err
	}
	q.layout.Title = "Activity"
	v := &activityView{layout: q.layout, Action: q.projectPath("/activity"), Item: asked.ItemID}
	v.Scopes = selected(append([]option{{Value: "", Label: "Everything"}}, activityScopes...), asked.Scope)
	if v.Users, err = q.authors(asked.User); err != nil {
		return err
	}
	for i := range list.Items {
		v.Entries = append(v.Entries, q.activityEntry(&list.Items[i]))
	}
	link := func(before string) string {
		values := url.Values{}
		for name, value := range map[string]string{"scope": asked.Scope, "item": asked.ItemID, "by": asked.User, "before": before} {
			if value != "" {
				values.Set(name, value)
			}
		}
		return strings.TrimSuffix(v.Action+"?"+values.Encode(), "?")
	}
	v.Range = count(list.Total, "entry", "entries")
	if n := len(list.Items); n == pageSize {
		v.Older = link(list.Items[n-1].ID.String())
	}
	if asked.Before != "" {
		v.First = link("")
	}
	if asked.Scope != "" || asked.ItemID != "" || asked.User != "" {
		v.Clear = v.Action
	}
	q.render(http.StatusOK, "activity", v)
	return nil
}

// authors are the members of the organization, and the system.
func (q *request) authors(chosen string) ([]option, error) {
	out := []option{{Value: "", Label: "Anybody"}, {Value: "system", Label: "The system"}}
	list, err := q.c.Service.ListMembers(q.Context(), q.by, q.at.Organization.ID.String(), maxOffered, 0)
	if err != nil && !isRefusal(err) {
		return nil, err
	}
	if err == nil {
		for _, m := range list.Items {
			u := &m.User
			out = append(out, option{Value: strconv.FormatInt(u.ID, 10), Label: fullName(u.FirstName, u.LastName, u.Email)})
		}
	}
	return selected(out, chosen), nil
}

// thingPath returns where a thing is shown as it is now, "" if it has no page.
func (q *request) thingPath(scope, id string) string {
	if path := thingPaths[scope]; path != "" && (scope != "Survey" || q.c.Surveys != nil) {
		return q.projectPath(path + url.PathEscape(id))
	}
	if scope == "Project" {
		return q.projectPath("/settings")
	}
	if kind, key, ok := strings.Cut(id, "/"); ok && scope == "Group" {
		if index, err := strconv.Atoi(kind); err == nil {
			return q.groupPath(index, key)
		}
	}
	return ""
}

func (q *request) activityEntry(a *management.ActivityView) activityEntry {
	e := activityEntry{Who: a.User.FirstName, What: a.Activity, Kind: scopeWords[a.Scope], Thing: a.Detail.Name, At: q.c.moment(a.CreatedAt)}
	if e.Kind == "" {
		e.Kind = a.Scope
	}
	switch {
	case a.User.System:
		e.Who = "The system"
	case e.Who == "" && a.User.Email != nil:
		e.Who = *a.User.Email
	case e.Who == "":
		e.Who = "Somebody who is gone"
	}
	if e.Thing == "" {
		e.Thing = a.ItemID
	}
	if a.ItemID != "" {
		e.Only = q.projectPath("/activity?" + url.Values{"scope": {a.Scope}, "item": {a.ItemID}}.Encode())
	}
	if a.Activity != "deleted" || a.Scope != "Person" && a.Scope != "Group" && a.Scope != "Survey" { // of which nothing is left
		e.URL = q.thingPath(a.Scope, a.ItemID)
	}
	for _, c := range a.Detail.Changes {
		e.Changes = append(e.Changes, changeLine{placeWords(c.Field), excerpt(c.Before), excerpt(c.After)})
	}
	return e
}

// excerpt shortens a value for a list.
func excerpt(raw json.RawMessage) string {
	if slices.Contains([]string{`""`, "[]", "{}"}, string(raw)) {
		return ""
	}
	return shorten(text(raw), 160)
}
