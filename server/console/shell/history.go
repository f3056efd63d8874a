package shell

import (
	"net/url"
	"slices"
	"strings"

	"github.com/flagstaff-go/flagstaff/management"
)

// An Entry says who has done what, and when.
type Entry struct {
	Who, What, Kind, Thing string
	URL                    string // the thing as it is now; "" if it has no page
	Only                   string // the entries about it alone
	At                     Moment
	Changes                []Change
	Cut                    int // changes that are not listed
}

// Entries says in words what was done.
func (q *Request) Entries(list []management.ActivityView) ([]Entry, error) {
	changes, entries := make([][]management.FlagChange, len(list)), make([]Entry, len(list))
	for i := range list {
		entries[i] = q.auditEntry(&list[i])
		changes[i], entries[i].Cut = list[i].FieldChanges()
	}
	words, err := q.ChangeVocabulary(changes...)
	if err != nil {
		return nil, err
	}
	for i := range list {
		entries[i].Changes = q.auditChanges(words, &list[i], changes[i])
	}
	return entries, nil
}

// actionWords says of what may not be shown what was done with it.
var actionWords = map[string]string{"created": "set", "changed": "changed", "deleted": "removed"}

// auditChanges says in words what an entry has changed.
func (q *Request) auditChanges(names Names, a *management.ActivityView, changes []management.FlagChange) []Change {
	thing, action := q.Thing(a.Scope), make(map[string]string)
	var out []Change
	for _, c := range a.Detail.Changes {
		action[c.Field] = c.Action
		if say := thing.Whole[c.Field]; say != nil {
			changes = slices.DeleteFunc(slices.Clone(changes), func(part management.FlagChange) bool {
				return part.Field == c.Field || strings.HasPrefix(part.Field, c.Field+"/")
			})
			out = append(out, say(names, c.Before, c.After))
		}
	}
	for i, line := range q.ChangesIn(names, a.Scope, changes) {
		if c := changes[i]; c.Before == "" && c.After == "" && !thing.Hides && actionWords[action[c.Field]] != "" {
			line.After = actionWords[action[c.Field]]
		}
		out = append(out, line)
	}
	return out
}

func (q *Request) auditEntry(a *management.ActivityView) Entry {
	thing := q.Thing(a.Scope)
	e := Entry{Who: a.User.FirstName, What: a.Activity, Kind: thing.One, Thing: a.Detail.Name, At: q.Moment(a.CreatedAt)}
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
		e.Only = q.EntriesAbout(a.Scope, a.ItemID)
	}
	if a.Activity != "deleted" || !thing.Erased {
		e.URL = thing.Path(q, a.ItemID)
	}
	return e
}

// EntriesAbout returns the path of the audit log of one thing.
func (q *Request) EntriesAbout(scope, item string) string {
	return q.ProjectPath("/audit-log?" + url.Values{"scope": {scope}, "item": {item}}.Encode())
}

const entriesShown = 10 // entries of the history on the page of a thing

// HistoryOf returns the newest entries about a thing, none if the user may not see them.
func (q *Request) HistoryOf(scope, item string) ([]Entry, error) {
	list, err := Known(q.c.Service.ListActivity(q.Context(), q.By, q.Ref, management.ActivityQuery{
		Scope: scope, ItemID: item, Page: 1, Limit: entriesShown,
	}))
	if err != nil || list == nil {
		return nil, err
	}
	return q.Entries(list.Items)
}
