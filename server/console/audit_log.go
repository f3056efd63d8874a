package console

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/flagstaff-go/flagstaff/internal/words"
	"github.com/flagstaff-go/flagstaff/management"
)

var _ = register(screen{
	title: "Audit log", entry: 7, path: "/audit-log",
	scope: inProject, pages: map[string]page{"GET /projects/{project}/audit-log": auditLog},
})

// auditLogView is what was done in a project, newest first.
type auditLogView struct {
	layout
	Action string
	Item   string // the ID of a thing, "" for all
	Scopes []option
	Users  []option // who can have done it
	Query  auditQuery
	checked
	Entries      []auditEntry
	Range        string
	Older, First string // the next page, and the first one; "" if there is none
	Clear        string
}

// An auditEntry says who has done what, and when.
type auditEntry struct {
	Who, What, Kind, Thing string
	URL                    string // the thing as it is now; "" if it has no page
	Only                   string // the entries about it alone
	At                     moment
	Changes                []changeLine
	Cut                    int // changes that are not listed
}

// auditQuery is what the URL of the list says.
type auditQuery struct{ Scope, Item, By, Name, Text, From, To, Before string }

func readAuditQuery(v url.Values) auditQuery {
	get := func(name string) string { return strings.TrimSpace(v.Get(name)) }
	return auditQuery{get("scope"), get("item"), get("by"), get("name"), get("q"), get("from"), get("to"), get("before")}
}

// at returns the address of the log.
func (q auditQuery) at(path string) listing {
	return listing{path, map[string]string{
		"scope": q.Scope, "item": q.Item, "by": q.By, "name": q.Name, "q": q.Text, "from": q.From, "to": q.To, "before": q.Before,
	}}
}

func auditLog(q *request) error {
	asked := readAuditQuery(q.Form)
	v := &auditLogView{Action: q.projectPath("/audit-log"), Item: asked.Item, Query: asked}
	v.Scopes = options("", "Everything")
	for _, s := range screens {
		if s.thing != nil {
			v.Scopes = append(v.Scopes, option{Value: s.thing.scope, Label: s.thing.many})
		}
	}
	slices.SortFunc(v.Scopes[1:], func(a, b option) int { return cmp.Compare(a.Label, b.Label) })
	v.Scopes = selected(v.Scopes, asked.Scope)
	if asked != (auditQuery{Before: asked.Before}) {
		v.Clear = v.Action
	}
	var err error
	if v.Users, err = q.authors(asked.By); err != nil {
		return err
	}
	list, err := q.c.Service.ListActivity(q.Context(), q.by, q.ref, management.ActivityQuery{
		Scope: asked.Scope, ItemID: asked.Item, User: asked.By, Name: asked.Name, Search: asked.Text, Since: asked.From, Until: asked.To,
		Before: asked.Before, Page: 1, Limit: pageSize,
	})
	if e, ok := errors.AsType[*management.Error](err); ok && errors.Is(e, management.ErrInvalid) {
		field, known := map[string]string{"name": "name", "search": "q", "": "from"}[e.Attr]
		if !known {
			return errNoPage // a user or a place in the list was made up
		}
		if field == "from" {
			v.fail(field, "Type two days such as 2026-03-01, of which the first one is not the later one.")
		}
		v.fail(field, "%s", e.Detail)
		return q.render(http.StatusUnprocessableEntity, "audit_log", v)
	}
	if err != nil {
		return err
	}
	if v.Entries, err = q.auditEntries(list.Items); err != nil {
		return err
	}
	at := asked.at(v.Action)
	v.Range = count(list.Total, "entry", "entries")
	if n := len(list.Items); n == pageSize {
		v.Older = at.at(1, "before", list.Items[n-1].ID.String())
	}
	if asked.Before != "" {
		v.First = at.at(1, "before", "")
	}
	return q.render(http.StatusOK, "audit_log", v)
}

// authors are the members of the organization, and the system.
func (q *request) authors(chosen string) ([]option, error) {
	out := options("", "Anybody", "system", "The system")
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

// auditEntries says in words what was done.
func (q *request) auditEntries(list []management.ActivityView) ([]auditEntry, error) {
	changes, entries := make([][]management.FlagChange, len(list)), make([]auditEntry, len(list))
	for i := range list {
		entries[i] = q.auditEntry(&list[i])
		changes[i], entries[i].Cut = list[i].FieldChanges()
	}
	words, err := q.changeVocabulary(changes...)
	if err != nil {
		return nil, err
	}
	for i := range list {
		entries[i].Changes = auditChanges(words, &list[i], changes[i])
	}
	return entries, nil
}

// actionWords says of what may not be shown what was done with it.
var actionWords = map[string]string{"created": "set", "changed": "changed", "deleted": "removed"}

// auditChanges says in words what an entry has changed.
func auditChanges(names *words.Names, a *management.ActivityView, changes []management.FlagChange) []changeLine {
	thing, action := thingOf(a.Scope), make(map[string]string)
	var out []changeLine
	for _, c := range a.Detail.Changes {
		action[c.Field] = c.Action
		if say := thing.whole[c.Field]; say != nil {
			changes = slices.DeleteFunc(slices.Clone(changes), func(part management.FlagChange) bool {
				return part.Field == c.Field || strings.HasPrefix(part.Field, c.Field+"/")
			})
			out = append(out, say(names, c.Before, c.After))
		}
	}
	for i, line := range changesIn(names, a.Scope, changes) {
		if c := changes[i]; c.Before == "" && c.After == "" && !thing.hides && actionWords[action[c.Field]] != "" {
			line.After = actionWords[action[c.Field]]
		}
		out = append(out, line)
	}
	return out
}

func (q *request) auditEntry(a *management.ActivityView) auditEntry {
	thing := thingOf(a.Scope)
	e := auditEntry{Who: a.User.FirstName, What: a.Activity, Kind: thing.one, Thing: a.Detail.Name, At: q.c.moment(a.CreatedAt)}
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
		e.Only = q.entriesAbout(a.Scope, a.ItemID)
	}
	if a.Activity != "deleted" || !thing.erased {
		e.URL = thing.path(q, a.ItemID)
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

// entriesAbout returns the path of the audit log of one thing.
func (q *request) entriesAbout(scope, item string) string {
	return q.projectPath("/audit-log?" + url.Values{"scope": {scope}, "item": {item}}.Encode())
}
