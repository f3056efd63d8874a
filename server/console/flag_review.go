package console

import (
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/words"
	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/optional"
)

// A reviewView is the page that says who changes, before a change is saved.
type reviewView struct {
	layout
	Key     string
	New     bool
	Action  string
	Hidden  []hidden // the form
	Version int
	effectView
}

// A hidden field carries a part of a form from page to page.
type hidden struct{ Name, Value string }

// An effectView says what a change does.
type effectView struct {
	Known   bool   // who changes can be computed
	Asks    bool   // somebody changes, or may: the change is confirmed
	Unknown string // why it cannot
	Summary string
	Caveat  string // what is not counted
	Bar     bar
	Moves   []move
	More    int // changes of persons that are not listed
	Persons []move
	Others  []otherFlag
	Changes []changeLine
	Cut     int // changes of the definition that are not listed
}

// A move is from which value to which, for how many persons or for one.
type move struct {
	Why                            string // where it is explained
	Person, From, To, Count, Share string
	Width                          string // percent
	Class                          string
}

type otherFlag struct{ Key, Count string }

// review shows who changes by a form. With ifAsked it saves the form if nobody does.
func (q *request) review(f *management.FlagView, form *flagForm, ifAsked bool) error {
	patch, ok := form.patch(f)
	if !ok {
		return q.showForm(http.StatusUnprocessableEntity, f, form, "")
	}
	if f != nil {
		patch.ID = optional.Of(f.ID)
		if err := q.withOriginal(&patch.FlagPatch, f, form); err != nil {
			return q.refused(err, f, form)
		}
	}
	effect, err := q.formEffect(patch, f, form)
	if err != nil {
		return q.refused(err, f, form)
	}
	if f != nil && !ifAsked && len(effect.Changes) == 0 && effect.Known {
		return q.showForm(http.StatusOK, f, form, "Nothing has changed yet.")
	}
	if !effect.Asks && ifAsked {
		return q.save(f, form)
	}
	q.layout.Title = "Review changes"
	return q.render(http.StatusOK, "flag_review", &reviewView{
		Key: form.Key, New: f == nil, Action: q.URL.Path, Hidden: hiddenFields(q.PostForm), Version: form.Version, effectView: *effect,
	})
}

// A flagPreviewView is what a form that is being edited would do, and the sentences about its
// conditions (management.md §17.3).
type flagPreviewView struct {
	Effect *effectView // nil: it cannot be told yet
	Sets   []conditionView
}

// previewForm answers with what a form would do that is being edited.
func (q *request) previewForm(f *management.FlagView, form *flagForm) error {
	if f == nil && form.Key == "" {
		form.Key = "a-flag-without-a-key-yet"
	}
	sets, err := q.sentences(&form.conditionsForm)
	if err != nil {
		return err
	}
	v := &flagPreviewView{Sets: sets}
	if patch, ok := form.patch(f); ok {
		if f != nil {
			patch.ID, patch.Version = optional.Of(f.ID), optional.Value[int]{}
		}
		effect, err := q.formEffect(patch, f, form)
		if err != nil && !isRefusal(err) {
			return err
		}
		if err == nil {
			v.Effect = effect
		}
	}
	return q.renderPart(http.StatusOK, "flag_review", "preview", v)
}

// hiddenFields returns all fields of a form but its buttons and some others.
func hiddenFields(form url.Values, but ...string) []hidden {
	but = append(but, "do", "reviewed")
	return slices.DeleteFunc(fieldsOf(form), func(h hidden) bool { return slices.Contains(but, h.Name) })
}

// fieldsOf returns all fields of a form.
func fieldsOf(form url.Values) []hidden {
	var out []hidden
	for _, name := range slices.Sorted(maps.Keys(form)) {
		for _, v := range form[name] {
			out = append(out, hidden{name, v})
		}
	}
	return out
}

// formEffect asks the Service what a form would do. A flag that is off does nothing: then
// it is what the flag would do if it was switched on.
func (q *request) formEffect(patch management.PreviewPatch, f *management.FlagView, form *flagForm) (*effectView, error) {
	if f == nil && form.Active || f != nil && (f.Active || f.Deleted || f.Archived) {
		return q.effect(patch, f)
	}
	patch.Active = optional.Of(true)
	v, err := q.effect(patch, f)
	if e, ok := errors.AsType[*management.Error](err); ok && f != nil && errors.Is(e, management.ErrInvalid) { // it cannot be on
		patch.Active = optional.Of(false)
		v, err = q.effect(patch, f)
	}
	if err != nil {
		return nil, err
	}
	v.Asks = false
	v.Changes = slices.DeleteFunc(v.Changes, func(c changeLine) bool { return c.Place == words.Place("active") })
	if v.Known {
		v.Summary = "The flag is off for everyone. Switched on: " + v.Summary
	}
	return v, nil
}

// effect asks the Service what a change of a flag would do, which is nil for a new one.
func (q *request) effect(patch management.PreviewPatch, f *management.FlagView) (*effectView, error) {
	p, err := q.c.Service.PreviewFlag(q.Context(), q.by, q.ref, patch)
	if e, ok := errors.AsType[*management.Error](err); ok && e.Code == "not_available" {
		asks := f == nil || f.Active || patch.Active.Value
		return &effectView{Asks: asks, Unknown: "The impact is not known: no events are captured here."}, nil
	}
	if err != nil {
		return nil, err
	}
	words, err := q.changeVocabulary(p.Definition)
	if err != nil {
		return nil, err
	}
	v := effectOf(p, words, q.since(p.Since))
	filters := patch.Filters.Value
	on := f == nil
	if f != nil {
		on = f.Active || slices.ContainsFunc(p.Definition, func(c management.FlagChange) bool {
			return c.Field == "active" || c.Field == "deleted"
		})
		if !patch.Filters.Set {
			filters = f.Filters
		}
	}
	if aboutGroups(&filters) {
		v.Caveat = groupCaveat
		v.Asks = v.Asks || f == nil || slices.ContainsFunc(p.Definition, decides)
	}
	v.Asks = v.Asks && on
	if key := q.PathValue("flag"); key != "" {
		for i := range v.Persons {
			v.Persons[i].Why = q.projectPath("/explain?" + url.Values{"person": {v.Persons[i].Person}, "flag": {key}}.Encode())
		}
	}
	return v, nil
}

const groupCaveat = "Condition sets about groups are not counted: the groups of a person are known only when a program evaluates flags."

// aboutGroups reports whether a condition set is about groups rather than persons.
func aboutGroups(f *flags.Filters) bool {
	for i := range f.Groups {
		if _, grouped := words.Aggregation(&f.Groups[i], f.AggregationGroupTypeIndex); grouped {
			return true
		}
	}
	return false
}

const examplesShown = 12 // persons that a page lists

// effectOf says in words what a preview has found.
func effectOf(p *management.FlagPreview, words *words.Names, since string) *effectView {
	v := &effectView{Known: true, Cut: p.MoreDefinition}
	v.Asks = len(p.OtherFlags) > 0 || p.MoreDefinition > 0 || slices.ContainsFunc(p.Definition, uncounted)
	transitions := slices.DeleteFunc(slices.Clone(p.Transitions), func(t management.FlagTransition) bool {
		return !has(t.From) && !has(t.To) // off, and no flag, are the same to programs
	})
	parts := make([]int, len(transitions), len(transitions)+1)
	same := p.Subjects
	for i, t := range transitions {
		parts[i] = t.Count
		same -= t.Count
	}
	share := shares(p.Subjects, append(parts, same))
	var gain, lose, other int
	var gains, losses, others float64
	for i, t := range transitions {
		class := "other"
		switch {
		case !has(t.From) && has(t.To):
			gain, gains = gain+t.Count, gains+share[i]
			class = "gain"
		case has(t.From) && !has(t.To):
			lose, losses = lose+t.Count, losses+share[i]
			class = "lose"
		default:
			other, others = other+t.Count, others+share[i]
		}
		v.Moves = append(v.Moves, move{
			From: valueWords(t.From), To: valueWords(t.To), Count: number(t.Count), Share: percent(share[i]), Width: decimal(share[i]),
			Class: class,
		})
	}
	changed := gain + lose + other
	v.Asks = v.Asks || changed > 0
	if changed == 0 {
		p.Changes = nil
	}
	x := v.Bar.add(0, gains, "gain", "gain it")
	x = v.Bar.add(x, losses, "lose", "lose it")
	x = v.Bar.add(x, others, "other", "get another value")
	v.Bar.add(x, share[len(parts)], "same", "stay as they are")
	for _, c := range p.Changes[:min(len(p.Changes), examplesShown)] {
		v.Persons = append(v.Persons, move{Person: c.DistinctID, From: valueWords(c.From), To: valueWords(c.To)})
	}
	v.More = changed - len(v.Persons)
	for _, o := range p.OtherFlags {
		v.Others = append(v.Others, otherFlag{o.Key, count(o.Changed, "person", "persons")})
	}
	v.Changes = changesIn(words, "FeatureFlag", p.Definition)
	v.Summary = summaryOf(p.Subjects, changed, gain, lose, other, since)
	return v
}

// uncounted reports whether what a change does is not in the numbers of a preview, which
// evaluates for every caller alike, and looks at values alone.
func uncounted(c management.FlagChange) bool {
	switch c.Field {
	case "active", "archived", "deleted", "bucketing_hash":
		return false
	}
	return decides(c) && (!strings.HasPrefix(c.Field, "filters/") || strings.HasPrefix(c.Field, "filters/payloads"))
}

// decides reports whether a change can change what programs get.
func decides(c management.FlagChange) bool { return c.Field != "name" && c.Field != "tags" }

// since says from when on the persons of a preview were seen.
func (q *request) since(t *time.Time) string {
	if t == nil {
		return ""
	}
	now, then := q.c.Now().UTC(), t.UTC()
	form := "2 January 2006"
	switch {
	case now.Sub(then) < 24*time.Hour:
		form = "15:04 UTC on 2 January"
	case then.Year() == now.Year():
		form = "2 January"
	}
	return ", since " + then.Format(form)
}

// has reports whether somebody with a value has the flag.
func has(v any) bool { return v != nil && v != false }

// summaryOf says in one sentence for how many persons something changes.
func summaryOf(subjects, changed, gain, lose, other int, since string) string {
	switch {
	case subjects == 0:
		return "No persons have been seen yet, so the impact is not known."
	case changed == 0:
		return "Nothing changes for the " + number(subjects) + " persons who were seen last" + since + "."
	}
	var parts []string
	for _, p := range []struct {
		n     int
		words string
	}{{gain, "gain it"}, {lose, "lose it"}, {other, "get another value"}} {
		if p.n > 0 {
			parts = append(parts, number(p.n)+" "+p.words)
		}
	}
	return "Of the " + number(subjects) + " persons who were seen last" + since + ", " + joined(parts) + "."
}

// joined writes a list as people say it.
func joined(parts []string) string {
	if len(parts) < 2 {
		return strings.Join(parts, "")
	}
	return strings.Join(parts[:len(parts)-1], ", ") + " and " + parts[len(parts)-1]
}

// A conflictView is the page for somebody who has edited an older version of a flag.
type conflictView struct {
	layout
	Key, Action string
	Flag        string // where it is as it is now
	Hidden      []hidden
	Version     int // as it is now
	Theirs      []versionView
	Mine        effectView
	MineErr     string
}

// conflict shows what others have changed since a form was made, and what saving the form
// would change now.
func (q *request) conflict(f *management.FlagView, form *flagForm) error {
	versions, err := q.c.Service.FlagVersions(q.Context(), q.by, q.ref, strconv.FormatInt(f.ID, 10),
		max(1, min(f.Version-form.Version, pageSize)), 0)
	if err != nil {
		return q.keepFlag(err, form)
	}
	q.layout.Title = "Somebody else changed " + f.Key
	v := &conflictView{
		Key: f.Key, Action: q.URL.Path, Flag: q.flagPath(f.ID), Version: f.Version, Hidden: hiddenFields(q.PostForm, "version"),
	}
	if v.Theirs, err = q.versionViews(versions.Items); err != nil {
		return q.keepFlag(err, form)
	}
	form.Version = f.Version
	if patch, ok := form.patch(f); ok {
		patch.ID = optional.Of(f.ID)
		effect, err := q.effect(patch, f)
		if e, refused := errors.AsType[*management.Error](err); refused {
			v.MineErr = e.Text()
		} else if err != nil {
			return q.keepFlag(err, form)
		} else {
			v.Mine = *effect
		}
	}
	return q.render(http.StatusConflict, "flag_conflict", v)
}
