package management

import (
	"cmp"
	"context"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/flagstaff-go/flagstaff/internal/judge"
	"github.com/flagstaff-go/flagstaff/internal/text"
	"github.com/flagstaff-go/flagstaff/management/check"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// A FlagQuery selects flags as the parameters of a list do (management.md §13.2).
// Empty fields select nothing away, but archived flags.
type FlagQuery struct {
	Active         string // a boolean as in other queries (evaluation.md §8.2), or STALE
	Archived       *bool
	CreatedBy      string // an ID, a list with commas, or a JSON list
	Search         string
	Key            string
	Type           string // boolean, multivariant, experiment or remote_config
	Runtime        string
	Tags           string // JSON lists of names
	ExcludedTags   string
	ExcludedFields string // excluded_properties: a JSON list of keys
	Keys           string // a JSON list of keys, one of which the flag has
	Contexts       string // a JSON list of evaluation contexts, one of which the flag has
	HasContexts    *bool
	Evaluated      *bool  // whether some program has reported a value
	Order          string // a field, after - for descending
}

// ListFlags returns a page of the flags of a project that are not deleted, newest
// first. It needs scope feature_flag:read.
func (s *Service) ListFlags(ctx context.Context, p *Principal, ref string, q FlagQuery, limit, offset int) (*Page[*FlagView], error) {
	w, err := s.beginAt(ctx, p, ref, "feature_flag:read")
	if err != nil {
		return nil, err
	}
	list, total, err := w.findFlags(ctx, q, limit, offset)
	if err != nil {
		return nil, err
	}
	views, err := w.flagViews(ctx, list)
	if err != nil {
		return nil, err
	}
	return &Page[*FlagView]{total, views}, nil
}

// MatchingFlags returns the IDs of all flags that a query selects. It needs scope
// feature_flag:read.
func (s *Service) MatchingFlags(ctx context.Context, p *Principal, ref string, q FlagQuery) ([]int64, error) {
	w, err := s.beginAt(ctx, p, ref, "feature_flag:read")
	if err != nil {
		return nil, err
	}
	list, err := w.selectFlags(ctx, q)
	if err != nil {
		return nil, err
	}
	return each(list, func(f *storage.Flag) int64 { return f.ID }), nil
}

// A FlagName is what a flag is called.
type FlagName struct {
	ID  int64  `json:"id"`
	Key string `json:"key"`
}

// FlagNames returns the newest flags of a project that people have made and that are not
// archived, at most limit, to choose from. Of flags that have not changed since they were
// read last, nothing is read. It needs scope feature_flag:read.
func (s *Service) FlagNames(ctx context.Context, p *Principal, ref string, limit int) ([]FlagName, error) {
	w, err := s.beginAt(ctx, p, ref, "feature_flag:read")
	if err != nil {
		return nil, err
	}
	list, err := w.store.FlagDefinitions(ctx, w.at.Project.ID)
	if err != nil {
		return nil, err
	}
	var newest []FlagName
	for i := len(list) - 1; i >= 0 && len(newest) < limit; i-- { // by ascending ID
		if f := &list[i]; f.Kind == storage.FlagOrdinary && !f.Archived {
			newest = append(newest, FlagName{f.ID, f.Key})
		}
	}
	return newest, nil
}

// findFlags leaves to the store what it can select by itself, so that a page costs
// the same however many flags there are.
func (w *work) findFlags(ctx context.Context, q FlagQuery, limit, offset int) ([]storage.Flag, int, error) {
	if err := q.check(); err != nil {
		return nil, 0, err
	}
	archived := cmp.Or(q.Archived, new(false))
	simple := storage.FlagFilter{Archived: archived, Key: q.Key}
	switch q.Active {
	case "true":
		simple.Active = new(true)
	case "false":
		simple.Active = new(false)
	}
	rest := q
	rest.Active, rest.Archived, rest.Key = "", nil, ""
	if q.Active != flagStale && rest.empty() {
		return w.store.Flags().Page(ctx, limit, offset, simple.Where(w.at.Project.ID)...)
	}
	list, err := w.selectFlags(ctx, q)
	return pageOf(list, limit, offset), len(list), err
}

// check returns an error if a field with a closed set of values has another one. It makes
// true or false of each word for a boolean.
func (q *FlagQuery) check() error {
	if active, ok := text.ParseBool(q.Active); ok {
		q.Active = strconv.FormatBool(active)
	}
	return judgeError(cmp.Or(
		check.Selected("active", q.Active, "true", "false", flagStale),
		check.Selected("type", q.Type, "boolean", "multivariant", "experiment", "remote_config"),
		check.Selected("evaluation_runtime", q.Runtime, "all", "client", "server"),
	))
}

func (q *FlagQuery) empty() bool {
	return q.CreatedBy == "" && q.Search == "" && q.Type == "" && q.Runtime == "" && q.Tags == "" && q.ExcludedTags == "" &&
		q.ExcludedFields == "" && q.Keys == "" && q.Contexts == "" && q.HasContexts == nil && q.Evaluated == nil && q.Order == ""
}

// selectFlags returns the flags that a query selects, in its order.
func (w *work) selectFlags(ctx context.Context, q FlagQuery) ([]storage.Flag, error) {
	var states stateJudge
	if err := q.check(); err != nil {
		return nil, err
	}
	selected, err := flagSelector(&q, &states)
	if err != nil {
		return nil, err
	}
	order, err := flagOrder(q.Order)
	if err != nil {
		return nil, err
	}
	list, err := w.store.CalledFlags(ctx, w.at.Project.ID)
	if err != nil {
		return nil, err
	}
	if q.Active == flagStale {
		if states, err = w.stateJudge(ctx, list); err != nil {
			return nil, err
		}
	}
	list = slices.DeleteFunc(list, func(f storage.Flag) bool { return f.Kind != storage.FlagOrdinary || !selected(&f) })
	slices.SortStableFunc(list, order)
	return list, nil
}

// flagSelector returns what tells whether a query selects a flag. It asks for states only
// if the query selects by them.
func flagSelector(q *FlagQuery, states *stateJudge) (func(*storage.Flag) bool, error) {
	if err := judgeError(check.Search(q.Search)); err != nil {
		return nil, err
	}
	authors, err := idList("created_by_id", q.CreatedBy)
	if err != nil {
		return nil, err
	}
	var tags, excluded, keys, chosen, contexts []string
	for _, list := range []struct {
		attr, text string
		names      *[]string
	}{
		{"tags", q.Tags, &tags},
		{"excluded_tags", q.ExcludedTags, &excluded},
		{"excluded_properties", q.ExcludedFields, &keys},
		{"keys", q.Keys, &chosen},
		{"evaluation_contexts", q.Contexts, &contexts},
	} {
		if *list.names, err = nameList(list.attr, list.text); err != nil {
			return nil, err
		}
	}
	found := containing(q.Search)
	archived := cmp.Or(q.Archived, new(false))
	hasOneOf := func(names, of []string) bool {
		return slices.ContainsFunc(of, func(name string) bool { return slices.Contains(names, name) })
	}
	return func(f *storage.Flag) bool {
		return f.Archived == *archived &&
			(q.Active != "true" || f.Active) && (q.Active != "false" || !f.Active) && (q.Active != flagStale || states.state(f).status == flagStale) &&
			(len(authors) == 0 || f.CreatedBy != nil && slices.Contains(authors, *f.CreatedBy)) &&
			(q.Search == "" || found(f.Key) || found(f.Name)) &&
			(q.Key == "" || strings.EqualFold(q.Key, f.Key)) &&
			(q.Type == "" || q.Type == flagType(f)) &&
			(q.Runtime == "" || q.Runtime == f.Runtime) &&
			(q.Keys == "" || slices.Contains(chosen, f.Key)) &&
			(len(contexts) == 0 || hasOneOf(f.Contexts, contexts)) &&
			(len(tags) == 0 || hasOneOf(f.Tags, tags)) && !hasOneOf(f.Tags, excluded) && !slices.Contains(keys, f.Key) &&
			(q.HasContexts == nil || *q.HasContexts == (len(f.Contexts) > 0)) &&
			(q.Evaluated == nil || *q.Evaluated == (f.LastCalled != nil))
	}, nil
}

func flagType(f *storage.Flag) string {
	switch {
	case f.RemoteConfig:
		return "remote_config"
	case f.Experiments():
		return "experiment"
	}
	if set := f.Filters.RuleSet; len(judge.Variants(&f.Filters)) > 0 || set != nil && set.ReturnType != "boolean" {
		return "multivariant"
	}
	return "boolean"
}

// flagOrders are the fields that lists of flags can be sorted by.
var flagOrders = map[string]func(a, b *storage.Flag) int{
	"id":             func(a, b *storage.Flag) int { return cmp.Compare(a.ID, b.ID) },
	"key":            func(a, b *storage.Flag) int { return cmp.Compare(a.Key, b.Key) },
	"name":           func(a, b *storage.Flag) int { return cmp.Compare(a.Name, b.Name) },
	"created_at":     func(a, b *storage.Flag) int { return a.Created.Compare(b.Created) },
	"updated_at":     func(a, b *storage.Flag) int { return a.Updated.Compare(b.Updated) },
	"last_called_at": func(a, b *storage.Flag) int { return timeOrZero(a.LastCalled).Compare(timeOrZero(b.LastCalled)) },
	"version":        func(a, b *storage.Flag) int { return cmp.Compare(a.Version, b.Version) },
	"active": func(a, b *storage.Flag) int {
		return cmp.Compare(strconv.FormatBool(a.Active), strconv.FormatBool(b.Active))
	},
}

// flagOrder returns the order that a parameter names; newest first is the default,
// and breaks ties.
func flagOrder(name string) (func(a, b storage.Flag) int, error) {
	newest := func(a, b *storage.Flag) int { return cmp.Or(b.Created.Compare(a.Created), cmp.Compare(b.ID, a.ID)) }
	field, down := strings.CutPrefix(name, "-")
	by := flagOrders[field]
	switch {
	case name == "":
		by = func(*storage.Flag, *storage.Flag) int { return 0 }
	case by == nil:
		var names []string
		for _, field := range slices.Sorted(maps.Keys(flagOrders)) {
			names = append(names, field, "-"+field)
		}
		return nil, judgeError(check.Selected("order", name, names...))
	}
	return func(a, b storage.Flag) int {
		c := by(&a, &b)
		if down {
			c = -c
		}
		return cmp.Or(c, newest(&a, &b))
	}, nil
}

// containing returns a function that reports whether a text contains what somebody looks for,
// whatever the case of letters. A blank stands for a blank, - or _.
func containing(search string) func(string) bool {
	pattern := strings.ReplaceAll(regexp.QuoteMeta(strings.ToValidUTF8(search, "\uFFFD")), " ", "[ _-]")
	return regexp.MustCompile("(?i)" + pattern).MatchString
}
