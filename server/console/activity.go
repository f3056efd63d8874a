package console

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/flagstaff-go/flagstaff/management"
)

// activityView is what was done in a project, newest first.
type activityView struct {
	layout
	Action       string
	Item         string // the ID of a thing, "" for all
	Scopes       []option
	Entries      []activityEntry
	Range        string
	Older, Newer string
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
var thingPaths = map[string]string{"FeatureFlag": "/flags/", "Cohort": "/cohorts/", "EarlyAccessFeature": "/features/"}

func activity(q *request) error {
	page, _ := strconv.Atoi(q.Form.Get("page")) // what is no number is the first page
	page = min(max(page, 1), 1<<20)
	asked := management.ActivityQuery{Scope: q.Form.Get("scope"), ItemID: q.Form.Get("item"), Page: page, Limit: pageSize}
	list, err := q.c.Service.ListActivity(q.Context(), q.by, q.ref, asked)
	if err != nil {
		return err
	}
	q.layout.Title = "Activity"
	v := &activityView{layout: q.layout, Action: q.projectPath("/activity"), Item: asked.ItemID}
	v.Scopes = selected(append([]option{{Value: "", Label: "Everything"}}, activityScopes...), asked.Scope)
	for i := range list.Items {
		v.Entries = append(v.Entries, q.activityEntry(&list.Items[i]))
	}
	link := func(page int) string {
		values := url.Values{}
		for name, value := range map[string]string{"scope": asked.Scope, "item": asked.ItemID} {
			if value != "" {
				values.Set(name, value)
			}
		}
		if page > 1 {
			values.Set("page", strconv.Itoa(page))
		}
		if len(values) == 0 {
			return v.Action
		}
		return v.Action + "?" + values.Encode()
	}
	first := (page-1)*pageSize + 1
	v.Range = "Nothing yet"
	if len(v.Entries) > 0 {
		v.Range = number(first) + " to " + number(first+len(v.Entries)-1) + " of " + count(list.Total, "entry", "entries")
	}
	if page*pageSize < list.Total {
		v.Older = link(page + 1)
	}
	if page > 1 {
		v.Newer = link(page - 1)
	}
	if asked.Scope != "" || asked.ItemID != "" {
		v.Clear = v.Action
	}
	q.render(http.StatusOK, "activity", v)
	return nil
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
	if path := thingPaths[a.Scope]; path != "" {
		e.URL = q.projectPath(path + url.PathEscape(a.ItemID))
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
