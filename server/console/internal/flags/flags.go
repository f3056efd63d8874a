package flags

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/operators"
	"github.com/flagstaff-go/flagstaff/internal/words"
	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/optional"
	"github.com/flagstaff-go/flagstaff/server/console/internal/effects"
	"github.com/flagstaff-go/flagstaff/server/console/shell"
	"github.com/flagstaff-go/flagstaff/server/console/shell/charts"
	"github.com/flagstaff-go/flagstaff/server/console/shell/forms"
)

var listScreen = shell.Screen{
	Title: "Flags", Entry: 1, Path: "/flags",
	Scope: shell.InProject, Pages: map[string]shell.Page{"GET /projects/{project}/flags": listFlags},
}

// flagsView is the list of flags.
type flagsView struct {
	shell.Layout
	Rows   []flagRow
	Query  flagsQuery
	Action string // where the filters are sent
	Back   string // the query of the list

	States                                         []shell.Tab
	Kinds, Tags, Contexts, Owners, Runtimes, Sorts []forms.Option

	shell.Pager
	Empty   bool       // the project has no flags
	Connect connection // if Empty
}

// flagsQuery is what the URL of the list says.
type flagsQuery struct {
	Search, State, Kind, Tag, Runtime, Context, Owner, Sort string
	Page                                                    int // from 1
}

// A flagRow is a flag in the list.
type flagRow struct {
	*management.FlagView
	flagState
	Kind     string // in words; "" for a plain flag
	Reach    string
	Variants charts.Bar
	Problems []string
}

// A flagState says whether a flag is of use, and when programs have asked for it last. Both
// come from stateOf, so that they never contradict each other.
type flagState struct {
	State     string // in words
	Stale     bool
	Evaluated shell.Moment // when a program has reported a value last; without words: never
}

func stateOf(q *shell.Request, f *management.FlagView) flagState {
	state, stale := stateWords(f, q.Config.Now())
	return flagState{state, stale, q.MomentOf(f.LastCalledAt)}
}

// stateWords says whether a flag is of use, and whether it is stale. A flag that is off,
// archived or the same for everybody may well be asked for: then its state says so.
func stateWords(f *management.FlagView, now time.Time) (state string, stale bool) {
	used := f.LastCalledAt != nil && now.Sub(*f.LastCalledAt) < recently
	asked := used && f.LastCalledAt.After(f.UpdatedAt)
	switch {
	case f.Deleted:
		state = "Deleted"
	case f.Archived:
		state = "Archived, and off"
	case !f.Active:
		state = "Off"
	case f.StaleReason != nil:
		state, stale = *f.StaleReason, true
	case used:
		return "On, and in use", false
	case f.LastCalledAt == nil:
		return "On, but no program has reported a value of it yet", false
	default:
		return "On, but no program has reported a value of it lately", false
	}
	if asked {
		state += ". Programs still ask for it"
	}
	return state, stale
}

// recently is within which time a report says that programs ask for a flag.
const recently = 7 * 24 * time.Hour

// protectedTag is the tag of flags whose switch always asks first.
const protectedTag = "protected"

var flagKinds = forms.Options(
	"boolean", "On or off", "multivariant", "Variants", "experiment", "Experiment",
	"remote_config", "Remote configuration",
)

var flagSorts = forms.Options(
	"", "Newest", "-updated_at", "Last changed", "key", "Key", "-last_called_at", "Last evaluated",
	"updated_at", "Unchanged for longest",
)

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
	case "archived":
		out.Archived = new(true)
	case "broken":
		out.Keys = string(forms.Must(json.Marshal(append([]string{}, broken...))))
	}
	return out
}

func listFlags(q *shell.Request) error {
	asked := readFlagsQuery(q.Form)
	problems := problems(q)
	broken := slices.Sorted(maps.Keys(problems))
	page, err := q.Service.ListFlags(q.Context(), q.By, q.Ref, asked.query(broken), shell.PageSize, (asked.Page-1)*shell.PageSize)
	if err != nil {
		return err
	}
	facets, err := q.Service.FlagFacets(q.Context(), q.By, q.Ref)
	if err != nil {
		return err
	}
	words, err := vocabulary(q, page.Items)
	if err != nil {
		return err
	}
	q.Notice()
	v := &flagsView{Query: asked, Action: q.ProjectPath("/flags")}
	at := asked.at(v.Action)
	_, v.Back, _ = strings.Cut(at.At(asked.Page), "?")
	for _, f := range page.Items {
		v.Rows = append(v.Rows, flagRow{
			f, stateOf(q, f), kindWords(f), words.Audience(&f.Filters), variantBar(&f.Filters), problems[f.Key],
		})
	}
	v.Empty = facets.On+facets.Off+facets.Archived == 0
	if v.Empty {
		v.Connect = connectionOf(q)
	}
	v.choices(facets, len(broken))
	v.Pager = at.Page(asked.Page, shell.PageSize, len(v.Rows), page.Total, "flag", "flags")
	if asked.filtered() {
		v.Clear = shell.Listing{Path: v.Action, Query: map[string]string{"sort": asked.Sort}}.At(1)
	}
	return q.Render(http.StatusOK, "flags", v)
}

// choices fills in what can be selected.
func (v *flagsView) choices(facets *management.FlagFacets, broken int) {
	for _, t := range []struct {
		state, name string
		n           int
	}{
		{"", "All", facets.On + facets.Off},
		{"on", "On", facets.On},
		{"off", "Off", facets.Off},
		{"stale", "Stale", facets.Stale},
		{"broken", "Problems", broken},
		{"archived", "Archived", facets.Archived},
	} {
		url := v.Query.at(v.Action).At(1, "state", t.state)
		v.States = append(v.States, shell.Tab{Name: t.name, URL: url, Count: forms.Number(t.n), Current: v.Query.State == t.state})
	}
	choice := func(label string, options []forms.Option, selected string) []forms.Option {
		out := append([]forms.Option{{Value: "", Label: label, Selected: selected == ""}}, options...)
		for i := range out {
			out[i].Selected = out[i].Value == selected
		}
		return out
	}
	names := func(facets []management.FlagFacet) (out []forms.Option) {
		for _, f := range facets {
			out = append(out, forms.Option{Value: f.Name, Label: f.Name + " (" + forms.Number(f.Flags) + ")"})
		}
		return out
	}
	var owners []forms.Option
	for _, o := range facets.Owners {
		owners = append(owners, forms.Option{
			Value: strconv.FormatInt(o.User.ID, 10),
			Label: shell.AuthorName(o.User) + " (" + forms.Number(o.Flags) + ")",
		})
	}
	v.Kinds = choice("Any kind", flagKinds, v.Query.Kind)
	v.Runtimes = choice("Any runtime", forms.Options("all", "All runtimes", "client", "Client only", "server", "Server only"),
		v.Query.Runtime)
	v.Sorts = choice("", flagSorts, v.Query.Sort)[1:]
	if len(facets.Tags) > 0 {
		v.Tags = choice("Any tag", names(facets.Tags), v.Query.Tag)
	}
	if len(facets.Contexts) > 0 {
		v.Contexts = choice("Any context", names(facets.Contexts), v.Query.Context)
	}
	if len(owners) > 1 || v.Query.Owner != "" {
		v.Owners = choice("Any owner", owners, v.Query.Owner)
	}
}

// problems returns the warnings and errors about the flags of the project, by key.
func problems(q *shell.Request) map[string][]string {
	out := make(map[string][]string)
	for _, p := range q.Config.Problems(q.At.Project.ID) {
		if p.Severity != flags.SeverityNote && p.DefinitionError != nil && p.Flag != "" {
			out[p.Flag] = append(out[p.Flag], problemWords(p))
		}
	}
	return out
}

func problemWords(p flags.Problem) string {
	text := p.Severity.String() + ": "
	if p.Err != nil {
		text += p.Err.Error()
	}
	if p.Path != "" {
		text += " (" + words.Place(p.Path) + ")"
	}
	if p.Hint != "" {
		text += ". " + p.Hint
	}
	return text
}

// vocabulary returns the names of what some flags refer to.
func vocabulary(q *shell.Request, list []*management.FlagView) (*words.Names, error) {
	v := words.NewNames()
	var ids []json.RawMessage
	groups := false
	for _, f := range list {
		filters := &f.Filters
		groups = groups || effects.AboutGroups(filters)
		for _, p := range filters.All() {
			groups = groups || p.Type == "group"
			if operators.KindOf(p.Type) == operators.FlagFilter && forms.IsNumber(p.Key) {
				ids = append(ids, json.RawMessage(p.Key))
			}
		}
	}
	if len(ids) > 0 {
		s := management.FlagSelection{IDs: optional.Of(forms.Must(json.Marshal(ids[:min(len(ids), 1000)])))}
		keys, err := q.Service.FlagKeys(q.Context(), q.By, q.Ref, s)
		if err != nil {
			return nil, err
		}
		v.Flags = keys.Keys
	}
	if groups {
		types, err := q.GroupTypes()
		if err != nil {
			return nil, err
		}
		for _, t := range types {
			v.GroupTypes[t.Value] = t.Label
		}
	}
	return v, nil
}

func flagPath(q *shell.Request, id int64) string {
	return q.ProjectPath("/flags/" + strconv.FormatInt(id, 10))
}

func kindWords(f *management.FlagView) string {
	filters := &f.Filters
	switch {
	case f.RemoteConfig:
		return "remote configuration"
	case len(f.Features) > 0 || filters.FeatureEnrollment != nil && *filters.FeatureEnrollment:
		return "early access"
	case filters.Holdout != nil:
		return "experiment"
	}
	return ""
}
