package flags

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/judge"
	"github.com/flagstaff-go/flagstaff/internal/operators"
	"github.com/flagstaff-go/flagstaff/internal/words"
	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/optional"
	"github.com/flagstaff-go/flagstaff/server/console/internal/effects"
	"github.com/flagstaff-go/flagstaff/server/console/internal/tour"
	"github.com/flagstaff-go/flagstaff/server/console/shell"
	"github.com/flagstaff-go/flagstaff/server/console/shell/charts"
	"github.com/flagstaff-go/flagstaff/server/console/shell/forms"
	"github.com/flagstaff-go/flagstaff/server/console/shell/targeting"
)

// variantBar shows how a flag is shared out among its variants.
func variantBar(f *flags.Filters) (b charts.Bar) {
	parts := splitParts(f)
	weights := make([]float64, len(parts))
	for i := range parts {
		weights[i] = parts[i].weight
	}
	x := 0.0
	for i, share := range charts.Shares(100, weights) {
		x = b.Add(x, share, "hue-"+strconv.Itoa(i%charts.Hues), parts[i].name)
	}
	return b
}

// A splitPart is a variant, or a value of the first rule that splits.
type splitPart struct {
	name   string
	weight float64
}

func splitParts(f *flags.Filters) (parts []splitPart) {
	if f.Multivariate != nil {
		for _, v := range f.Multivariate.Variants {
			parts = append(parts, splitPart{v.Key, v.RolloutPercentage})
		}
	}
	if f.RuleSet == nil {
		return parts
	}
	for i := range f.RuleSet.Rules {
		for _, v := range f.RuleSet.Rules[i].Variants {
			parts = append(parts, splitPart{words.RuleValue(v.Value), v.Weight})
		}
		if parts != nil {
			break
		}
	}
	return parts
}

var flagScreen = shell.Screen{
	Under: "Flags",
	Scope: shell.InProject, Pages: map[string]shell.Page{
		"GET /projects/{project}/flags/{flag}":  shell.About(readFlag, flag),
		"POST /projects/{project}/flags/{flag}": shell.About(pressFlag, flag),
	},
	Done: map[string]string{
		"created":    "The flag was created.",
		"archived":   "The flag is archived, and off.",
		"unarchived": "The flag is back from the archive. It is still off.",
		"deleted":    "The flag was deleted.",
		"restored":   "The flag is back.",
	},
	Undo: map[string]shell.Undoer{"FeatureFlag": undoFlag},
	Thing: &shell.Thing{
		Scope: "FeatureFlag", One: "flag", Many: "Flags", Path: shell.Below("/flags/"),
		Place: flagPlace, Value: shell.Names.Value, Hides: true,
	},
}

// flagView is the page of one flag, to be read.
type flagView struct {
	shell.Layout
	*management.FlagView
	flagState
	Action, List string
	Tour         *tour.Panel
	May          bool   // the user may change the flag
	Fixed        string // why nobody may, if the flags come from a file
	Notice       string // why something was not done
	Problems     []string

	Enrolled bool   // the early access feature of the flag enrols people
	Broken   string // who gets it if the filters cannot be read
	Sets     []setView
	Type     string // of the values of a rule set, in words; then Sets are its rules, and its default
	Needs    []related
	Shares   charts.Bar
	Parts    []partView // the variants
	Payload  payloadView
	Settings []setting
	Snippets []snippet

	Usage    *flagUsageView
	Versions []versionView
	Users    []related
}

// A setView is a condition set in words.
type setView struct{ Words, Description string }

// A partView is a variant.
type partView struct {
	Key, Hue, Share, Label string
	Payload                payloadView
}

// A payloadView is a payload. One that is long is folded.
type payloadView struct{ Text, Excerpt string }

// A setting is a field that is not as it is for a new flag.
type setting struct{ Place, Value string }

// A related thing is one that a flag asks for, or one that the flag decides about, as the screens of
// such things name it.
type related struct{ Kind, Name, URL string }

// flag returns the flag that the path names.
func flag(q *shell.Request) (*management.FlagView, error) {
	return q.Service.Flag(q.Context(), q.By, q.Ref, q.PathValue("flag"))
}

func readFlag(q *shell.Request, f *management.FlagView) error {
	return showFlag(q, http.StatusOK, f, "")
}

// pressFlag does what a button beside the facts of a flag says.
func pressFlag(q *shell.Request, f *management.FlagView) error {
	switch verb := q.PostForm.Get("do"); verb {
	case "archive", "unarchive", "delete", "restore":
		return actOnFlag(q, f, verb)
	}
	return shell.ErrForm
}

// showFlag answers with the page of a flag.
func showFlag(q *shell.Request, status int, f *management.FlagView, notice string) error {
	const shown = 5 // versions
	q.Notice()
	q.Layout.Title = f.Key
	v := &flagView{
		FlagView: f, flagState: stateOf(q, f), Action: flagPath(q, f.ID), List: q.ProjectPath("/flags"), Notice: notice,
		Problems: problems(q)[f.Key], Shares: variantBar(&f.Filters), Snippets: snippets(q, f),
		Enrolled: f.Filters.FeatureEnrollment != nil && *f.Filters.FeatureEnrollment,
	}
	names, err := vocabulary(q, []*management.FlagView{f})
	if err != nil {
		return err
	}
	if err := changeable(q); err == nil {
		v.May = true
		if v.Tour, err = tour.Of(q); err != nil {
			return err
		}
	} else if e, ok := errors.AsType[*management.Error](err); !ok {
		return err
	} else if errors.Is(e, management.ErrConflict) {
		v.Fixed = e.Text()
	}
	if err := v.say(q, names); err != nil {
		return err
	}
	if v.Usage, err = usage(q, f, &f.Filters); err != nil {
		return err
	}
	versions, err := q.Service.FlagVersions(q.Context(), q.By, q.Ref, strconv.FormatInt(f.ID, 10), shown, 0)
	if err != nil {
		return err
	}
	for _, version := range versions.Items {
		const most = 3 // changes
		if more := len(version.Changes) - most; more > 0 {
			version.Changes, version.MoreChanges = version.Changes[:most], version.MoreChanges+more
		}
	}
	if v.Versions, err = versionViews(q, versions.Items); err != nil {
		return err
	}
	if err := v.relate(q, names); err != nil {
		return err
	}
	return q.Render(status, "flag", v)
}

// changeable returns why the user may not change flags of the project, nil if that is allowed.
func changeable(q *shell.Request) error {
	_, err := q.Service.Access(q.Context(), q.By, q.Ref, "feature_flag:write")
	return err
}

// say fills in the definition of the flag in words.
func (v *flagView) say(q *shell.Request, names *words.Names) error {
	f := &v.Filters
	if f.Err() != nil {
		v.Broken = names.Audience(f)
	}
	for i := range f.Groups {
		v.Sets = append(v.Sets, setView{names.Condition(&f.Groups[i], f.AggregationGroupTypeIndex), f.Groups[i].Description})
	}
	form, usual := formOf(v.FlagView), newFlagForm()
	list := settings
	if set := f.RuleSet; set != nil {
		v.Problems = append(v.Problems, effects.Warnings(judge.Warnings(nil, set))...)
		v.Type, list = words.OfRule("return_type", set.ReturnType), settings[:settingsOfRules]
		for i := range set.Rules {
			r := &set.Rules[i]
			v.Sets = append(v.Sets, setView{names.Rule(r, set), description(r)})
		}
		v.Sets = append(v.Sets, setView{Words: "otherwise: " + words.Default(set)})
	}
	if len(form.Variants) == 0 {
		v.Payload = payloadOf(form.Payload)
	}
	for i, part := range form.Variants {
		v.Parts = append(v.Parts, partView{
			part.Key, "hue-" + strconv.Itoa(i%charts.Hues), forms.Percent(targeting.Percentage(part.Share)), part.Label,
			payloadOf(part.Payload),
		})
	}
	s := &speaker{names: names}
	if form.Aggregation != "" {
		var err error
		if s.groupTypes, err = q.GroupTypes(); err != nil {
			return err
		}
	}
	for i := range list {
		field := &list[i]
		if field.get(form) != field.get(usual) && field.path != otherMembersPath {
			v.Settings = append(v.Settings, setting{field.place(), field.say(s, form)})
		}
	}
	return nil
}

func description(r *flags.Rule) string {
	if r.Description == nil {
		return ""
	}
	return *r.Description
}

// payloadOf returns a payload as the page shows it.
func payloadOf(text string) payloadView {
	const longest = 100 // characters
	v := payloadView{Text: text}
	if excerpt := forms.Shorten(text, longest); excerpt != text || strings.Contains(text, "\n") {
		v.Text, v.Excerpt = forms.Pretty(json.RawMessage(text)), excerpt
	}
	return v
}

// relate fills in what the flag asks for, and what it decides about.
func (v *flagView) relate(q *shell.Request, names *words.Names) error {
	needs := make(map[related]bool)
	add := func(r related) {
		if !needs[r] {
			needs[r] = true
			v.Needs = append(v.Needs, r)
		}
	}
	for _, p := range v.Filters.All() {
		if id, ok := p.CohortID(); ok {
			text := strconv.FormatInt(id, 10)
			add(related{"cohort", cmp.Or(names.Cohorts[text], text), q.Thing("Cohort").Path(q, text)})
		} else if operators.KindOf(p.Type) == operators.FlagFilter {
			add(related{"flag", cmp.Or(names.Flags[p.Key], p.Key), q.ProjectPath("/flags/" + url.PathEscape(p.Key))})
		}
	}
	dependents, err := q.Service.FlagDependents(q.Context(), q.By, q.Ref, strconv.FormatInt(v.ID, 10))
	if err != nil {
		return err
	}
	for _, u := range dependents {
		v.Users = append(v.Users, related{"flag", u.Key, flagPath(q, u.ID)})
	}
	for _, users := range []struct {
		scope string
		list  []management.FlagUser
	}{{"Survey", v.Surveys}, {"EarlyAccessFeature", v.Features}} {
		thing := q.Thing(users.scope)
		for _, u := range users.list {
			v.Users = append(v.Users, related{thing.One, u.Name, thing.Path(q, u.ID.String())})
		}
	}
	return nil
}

// newFlagMark marks a flag that was just made: there is no version before.
const newFlagMark = "new"

// flagUndo returns how a change of a flag is taken back, which is nil before if it was made.
func flagUndo(before, after *management.FlagView) shell.Undo {
	u := shell.Undo{What: "FeatureFlag", Item: strconv.FormatInt(after.ID, 10), Mark: strconv.Itoa(after.Version)}
	switch {
	case before == nil:
		u.Mark = newFlagMark
	case before.Version == after.Version:
		return shell.Undo{}
	}
	return u
}

func undoFlag(q *shell.Request, u shell.Undo) (string, shell.Undo, error) {
	f, err := q.Service.Flag(q.Context(), q.By, q.Ref, u.Item)
	if err != nil {
		return "", shell.Undo{}, err
	}
	if u.Mark == newFlagMark {
		if f.Version != 1 || f.Deleted {
			return "", shell.Undo{}, shell.ErrUndo
		}
		patch := management.FlagPatch{Deleted: optional.Of(true), IfVersion: &f.Version}
		saved, err := q.Service.UpdateFlag(q.Context(), q.By, q.Ref, u.Item, patch)
		if err != nil {
			return "", shell.Undo{}, err
		}
		return q.ProjectPath("/flags"), flagUndo(f, saved), nil
	}
	version, err := strconv.Atoi(u.Mark)
	if err != nil {
		return "", shell.Undo{}, shell.ErrForm
	}
	patch := management.RevertPatch{Version: optional.Of(version - 1), IfVersion: &version}
	saved, err := q.Service.RevertFlag(q.Context(), q.By, q.Ref, u.Item, patch)
	if err != nil {
		return "", shell.Undo{}, err
	}
	return "", flagUndo(f, saved), nil
}

// flagPlace says in words where in a flag something is.
func flagPlace(field string) string {
	if field == "name" {
		return "description"
	}
	return words.Place(field)
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
		text += ". " + strings.ToUpper(p.Hint[:1]) + p.Hint[1:] // hints are in English
	}
	return text
}

func flagPath(q *shell.Request, id int64) string {
	return q.ProjectPath("/flags/" + strconv.FormatInt(id, 10))
}
