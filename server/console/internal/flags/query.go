package flags

import (
	"encoding/json"
	"net/url"
	"strings"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/server/console/shell"
	"github.com/flagstaff-go/flagstaff/server/console/shell/forms"
)

// flagsQuery is what the URL of the list says.
type flagsQuery struct {
	Search, State, Kind, Tag, Runtime, Context, Owner, Sort string
	Page                                                    int // from 1
}

func readFlagsQuery(v url.Values) flagsQuery {
	q := flagsQuery{
		Search: strings.TrimSpace(v.Get("q")), State: v.Get("state"), Kind: v.Get("kind"), Tag: v.Get("tag"), Runtime: v.Get("runtime"),
		Context: v.Get("context"), Owner: v.Get("owner"), Sort: v.Get("sort"),
	}
	q.Page = shell.PageNumber(v)
	return q
}

// at returns the address of the list.
func (q flagsQuery) at(path string) shell.Listing {
	return shell.Listing{Path: path, Query: map[string]string{
		"q": q.Search, "state": q.State, "kind": q.Kind, "tag": q.Tag, "runtime": q.Runtime, "context": q.Context, "owner": q.Owner,
		"sort": q.Sort,
	}}
}

func (q flagsQuery) filtered() bool {
	q.Sort, q.Page = "", 1
	return q != flagsQuery{Page: 1}
}

// query returns the query of the Service; broken are the keys of the flags with problems.
func (q flagsQuery) query(broken []string) management.FlagQuery {
	list := func(name string) string {
		if name == "" {
			return ""
		}
		return string(forms.Must(json.Marshal([]string{name})))
	}
	out := management.FlagQuery{
		Search: q.Search, Type: q.Kind, Runtime: q.Runtime, Tags: list(q.Tag), Contexts: list(q.Context), CreatedBy: q.Owner, Order: q.Sort,
	}
	switch q.State {
	case "on":
		out.Active = "true"
	case "off":
		out.Active = "false"
	case "stale":
		out.Active = "STALE"
	case "never-evaluated":
		out.Active, out.Evaluated = "true", new(false)
	case "archived":
		out.Archived = new(true)
	case "broken":
		out.Keys = string(forms.Must(json.Marshal(append([]string{}, broken...))))
	}
	return out
}
