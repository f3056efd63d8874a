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

// A changeLine is one difference of a definition.
type changeLine struct{ Place, Before, After string }

// review shows who changes by a form.
func (q *request) review(f *management.FlagView, form *flagForm) error {
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
	effect, err := q.effect(patch)
	if err != nil {
		return q.refused(err, f, form)
	}
	if f != nil && len(effect.Changes) == 0 && effect.Known {
		return q.showForm(http.StatusOK, f, form, "Nothing has changed yet.")
	}
	q.layout.Title = "Who changes"
	v := &reviewView{layout: q.layout, Key: form.Key, New: f == nil, Action: q.URL.Path, Hidden: hiddenFields(q.PostForm), Version: form.Version, effectView: *effect}
	q.render(http.StatusOK, "flag_review", v)
	return nil
}

// previewForm answers a script that asks who changes while a form is edited: with a part of
// a page, or with nothing while the form is not complete.
func (q *request) previewForm(f *management.FlagView, form *flagForm) error {
	patch, ok := form.patch(f)
	if !ok {
		q.w.WriteHeader(http.StatusNoContent)
		return nil
	}
	if f != nil {
		patch.ID, patch.Version = optional.Of(f.ID), optional.Value[int]{}
	}
	effect, err := q.effect(patch)
	if isRefusal(err) {
		q.w.WriteHeader(http.StatusNoContent)
		return nil
	}
	if err != nil {
		return err
	}
	q.renderPart(http.StatusOK, "flag_review", "effect", effect)
	return nil
}

// hiddenFields returns all fields of a form but its buttons.
func hiddenFields(form url.Values) []hidden {
	return slices.DeleteFunc(fieldsOf(form), func(h hidden) bool { return h.Name == "do" || h.Name == "reviewed" })
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

// effect asks the Service what a change would do.
func (q *request) effect(patch management.PreviewPatch) (*effectView, error) {
	p, err := q.c.Service.PreviewFlag(q.Context(), q.by, q.ref, patch)
	if e, ok := errors.AsType[*management.Error](err); ok && e.Code == "not_available" {
		return &effectView{Unknown: "Who changes is not known: no events are captured here."}, nil
	}
	if err != nil {
		return nil, err
	}
	v := effectOf(p, q.c.since(p.Since))
	if aboutGroups(readFilters(patch.Filters.Value)) {
		v.Caveat = groupCaveat
	}
	if key := q.PathValue("flag"); key != "" {
		for i := range v.Persons {
			v.Persons[i].Why = q.projectPath("/why?" + url.Values{"person": {v.Persons[i].Person}, "flag": {key}}.Encode())
		}
	}
	return v, nil
}

const groupCaveat = "Conditions about groups are not counted: which groups a person is in is known only when a program asks."

// aboutGroups reports whether a condition set is about groups rather than persons.
func aboutGroups(f *rawFilters) bool {
	for i := range f.Groups {
		own := f.Groups[i].Aggregation
		if text(own) != "" || len(own) == 0 && text(f.Aggregation) != "" {
			return true
		}
	}
	return false
}

const examplesShown = 12 // persons that a page lists

// effectOf says in words what a preview has found.
func effectOf(p *management.FlagPreview, since string) *effectView {
	v := &effectView{Known: true, Cut: p.MoreDefinition}
	share := func(n int) float64 {
		if p.Subjects == 0 {
			return 0
		}
		return float64(n) * 100 / float64(p.Subjects)
	}
	var gain, lose, other int
	for _, t := range p.Transitions {
		class := "other"
		switch {
		case !has(t.From) && has(t.To):
			gain += t.Count
			class = "gain"
		case has(t.From) && !has(t.To):
			lose += t.Count
			class = "lose"
		default:
			other += t.Count
		}
		v.Moves = append(v.Moves, move{
			From: valueWords(t.From), To: valueWords(t.To), Count: number(t.Count), Share: percent(round(share(t.Count))), Width: decimal(share(t.Count)), Class: class,
		})
	}
	x := v.Bar.add(0, share(gain), "gain", "gain it")
	x = v.Bar.add(x, share(lose), "lose", "lose it")
	x = v.Bar.add(x, share(other), "other", "get another value")
	v.Bar.add(x, 100-x, "same", "stay as they are")
	for i, c := range p.Changes {
		if i == examplesShown {
			break
		}
		v.Persons = append(v.Persons, move{Person: c.DistinctID, From: valueWords(c.From), To: valueWords(c.To)})
	}
	v.More = p.Changed - len(v.Persons)
	for _, o := range p.OtherFlags {
		v.Others = append(v.Others, otherFlag{o.Key, count(o.Changed, "person", "persons")})
	}
	for _, c := range p.Definition {
		v.Changes = append(v.Changes, changeOf(c))
	}
	v.Summary = summaryOf(p.Subjects, p.Changed, gain, lose, other, since)
	return v
}

// since says from when on the persons of a preview were seen.
func (c *console) since(t *time.Time) string {
	if t == nil {
		return ""
	}
	now, then := c.Now().UTC(), t.UTC()
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
		return "Nobody has been seen yet, so it cannot be told who changes."
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

// placeNames are the words for the fields of a flag and the members of its filters.
var placeNames = map[string]string{
	"key": "key", "name": "description", "active": "on", "archived": "archived", "deleted": "deleted", "tags": "tags",
	"evaluation_contexts": "contexts", "evaluation_contexts_match_mode": "how many contexts", "evaluation_runtime": "runtime",
	"bucketing_identifier": "draws by", "bucketing_hash": "hash", "ensure_experience_continuity": "stays when identified",
	"is_remote_configuration": "remote configuration", "has_encrypted_payloads": "encrypted payloads", "payloads": "payloads",
	"rollout_percentage": "share", "properties": "filters", "multivariate": "variants", "early_exit": "early exit", "holdout": "holdout",
	"exclusion_percentage": "held out", "aggregation_group_type_index": "is about", "variant": "variant", "value": "value",
	"operator": "operator", "type": "kind", "description": "note", "feature_enrollment": "early access",
}

// placeWords says in words where in a flag something is.
func placeWords(place string) string {
	steps := strings.Split(strings.TrimPrefix(place, "filters/"), "/")
	var out []string
	for i := 0; i < len(steps); i++ {
		step := steps[i]
		next := ""
		if i+1 < len(steps) {
			next = steps[i+1]
		}
		n, err := strconv.Atoi(next)
		switch {
		case err == nil && step == "groups":
			out = append(out, "condition "+strconv.Itoa(n+1))
			i++
		case err == nil && step == "properties":
			out = append(out, "filter "+strconv.Itoa(n+1))
			i++
		case err == nil && step == "variants":
			out = append(out, "variant "+strconv.Itoa(n+1))
			i++
		case step == "multivariate" && next == "variants":
		case step == "payloads" && next != "":
			out = append(out, "payload of "+next)
			i++
		case placeNames[step] != "":
			out = append(out, placeNames[step])
		default:
			out = append(out, step)
		}
	}
	return strings.Join(out, ", ")
}

func changeOf(c management.FlagChange) changeLine {
	line := changeLine{placeWords(c.Field), c.Before, c.After}
	if line.Before == "" && line.After == "" {
		line.After = "changed; what it is stays secret"
	}
	return line
}

// A conflictView is the page for somebody who has edited an older version of a flag.
type conflictView struct {
	layout
	Key     string
	Action  string
	Flag    string // where it is as it is now
	Hidden  []hidden
	Version int // as it is now
	Theirs  []versionView
	Mine    effectView
	MineErr string
}

// conflict shows what others have changed since a form was made, and what saving the form
// would change now.
func (q *request) conflict(f *management.FlagView, form *flagForm) error {
	versions, err := q.c.Service.FlagVersions(q.Context(), q.by, q.ref, strconv.FormatInt(f.ID, 10), max(1, min(f.Version-form.Version, pageSize)), 0)
	if err != nil {
		return q.keepFlag(err, form)
	}
	q.layout.Title = "Somebody else changed " + f.Key
	v := &conflictView{layout: q.layout, Key: f.Key, Action: q.URL.Path, Flag: q.flagPath(f.ID), Version: f.Version}
	for _, h := range hiddenFields(q.PostForm) {
		if h.Name != "version" {
			v.Hidden = append(v.Hidden, h)
		}
	}
	for _, version := range versions.Items {
		v.Theirs = append(v.Theirs, q.versionView(version))
	}
	form.Version = f.Version
	if patch, ok := form.patch(f); ok {
		patch.ID = optional.Of(f.ID)
		effect, err := q.effect(patch)
		if e, refused := errors.AsType[*management.Error](err); refused {
			v.MineErr = e.Detail
		} else if err != nil {
			return q.keepFlag(err, form)
		} else {
			v.Mine = *effect
		}
	}
	q.render(http.StatusConflict, "flag_conflict", v)
	return nil
}
