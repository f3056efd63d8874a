package flags

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/flagstaff-go/flagstaff/internal/operators"
	"github.com/flagstaff-go/flagstaff/internal/words"
	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/optional"
	"github.com/flagstaff-go/flagstaff/server/console/internal/effects"
	"github.com/flagstaff-go/flagstaff/server/console/internal/tour"
	"github.com/flagstaff-go/flagstaff/server/console/shell"
	"github.com/flagstaff-go/flagstaff/server/console/shell/charts"
	"github.com/flagstaff-go/flagstaff/server/console/shell/forms"
)

var listScreen = shell.Screen{
	Title: "Flags", Entry: 2, Go: "f", Path: "/flags",
	Icon:  "M3.4 14.6V1.6M3.4 2.6h9.2l-2 3.2 2 3.2H3.4",
	Scope: shell.InProject, Pages: map[string]shell.Page{"GET /projects/{project}/flags": listFlags},
}

// flagsView is the list of flags.
type flagsView struct {
	shell.Layout
	Rows   []flagRow
	Query  flagsQuery
	Action string // where the filters are sent
	Back   string // the query of the list
	May    bool   // the user may change flags
	Tour   *tour.Panel

	States                                         []shell.Tab
	Kinds, Tags, Contexts, Owners, Runtimes, Sorts []forms.Option

	shell.Pager
	Empty   bool       // the project has no flags
	Connect connection // if Empty
}

// A flagRow is a flag in the list.
type flagRow struct {
	*management.FlagView
	flagState
	Kind     string // in words; "" for a plain flag
	Reach    string
	Variants charts.Bar
	Usage    charts.Sparkline
	Problems []string
}

// usageShown is of how many days the list shows evaluations.
const usageShown = 30

var flagKinds = forms.Options(
	"boolean", "On or off", "multivariant", "Variants", "experiment", "Experiment",
	"remote_config", "Remote configuration",
)

var flagSorts = forms.Options(
	"", "Newest", "-updated_at", "Last changed", "key", "Key", "-last_called_at", "Last evaluated",
	"updated_at", "Unchanged for longest",
)

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
	keys := make([]string, len(page.Items))
	for i, f := range page.Items {
		keys[i] = f.Key
	}
	usage, err := q.Service.UsageOfFlags(q.Context(), q.By, q.Ref, keys, usageShown)
	if err != nil {
		return err
	}
	words, err := vocabulary(q, page.Items)
	if err != nil {
		return err
	}
	q.Notice()
	v := &flagsView{Query: asked, Action: q.ProjectPath("/flags"), May: changeable(q) == nil}
	if v.May {
		if v.Tour, err = tour.Of(q); err != nil {
			return err
		}
	}
	at := asked.at(v.Action)
	_, v.Back, _ = strings.Cut(at.At(asked.Page), "?")
	for _, f := range page.Items {
		v.Rows = append(v.Rows, flagRow{
			f, stateOf(q, f), kindWords(f), words.Audience(&f.Filters), variantBar(&f.Filters), sparkline(usage[f.Key]), problems[f.Key],
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

// sparkline draws how often a flag was evaluated by day.
func sparkline(days []int64) charts.Sparkline {
	total := 0
	for _, n := range days {
		total += int(n)
	}
	return charts.Line(forms.Count(total, "evaluation", "evaluations")+" reported in "+forms.Count(len(days), "day", "days"), days)
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
		{"never-evaluated", "Never evaluated", facets.NeverEvaluated},
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
			if id, ok := p.CohortID(); ok && p.CohortName != "" {
				v.Cohorts[strconv.FormatInt(id, 10)] = p.CohortName
			}
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

func kindWords(f *management.FlagView) string {
	filters := &f.Filters
	switch {
	case filters.RuleSet != nil && filters.RuleSet.ReturnType == typeOnOff:
		return "by rules"
	case filters.RuleSet != nil:
		return words.OfRule("return_type", filters.RuleSet.ReturnType)
	case f.RemoteConfig:
		return "remote configuration"
	case len(f.Features) > 0 || filters.FeatureEnrollment != nil && *filters.FeatureEnrollment:
		return "early access"
	case filters.Holdout != nil:
		return "experiment"
	}
	return ""
}
