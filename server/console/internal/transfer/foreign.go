package transfer

import (
	"context"
	"net/url"
	"slices"
	"strconv"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/foreign"
	"github.com/flagstaff-go/flagstaff/server/console/shell"
	"github.com/flagstaff-go/flagstaff/server/console/shell/forms"
)

// An origin says from which product a document comes, and how it is read. It is as it was typed.
type origin struct {
	From        string // "": Flagstaff or PostHog
	Environment string
	Version     string
	Map         string // lines ATTRIBUTE=PROPERTY
	Archived    bool
	Taken       []string // keys of flags that are not exact, and taken all the same
}

// originFields are the fields of a form about an origin, by their names in the form and in errors
// of the service.
var originFields = []string{"from", "environment", "bucket_version", "map"}

// Open reports whether the fields for other products are shown from the beginning.
func (o origin) Open() bool { return o.From != "" || o.Environment+o.Version+o.Map != "" || o.Archived }

// A preview is what somebody has seen before an import.
type preview struct {
	taken []string // flags that are not exact and that it had taken
	etag  string   // of the flags and cohorts of the project; "": it was of definitions
}

// productOptions are the choices of where a document comes from.
func productOptions(chosen string) []forms.Option {
	list := forms.Options("", "Flagstaff or PostHog")
	for _, name := range foreign.Products() {
		list = append(list, forms.Option{Value: name, Label: foreign.Title(name)})
	}
	return forms.Selected(list, chosen)
}

// readOrigin reads one field.
func (f *importForm) readOrigin(name, value string) {
	switch o := &f.origin; name {
	case "from":
		o.From = value
	case "environment":
		o.Environment = value
	case "bucket_version":
		o.Version = value
	case "map":
		o.Map = forms.Lines(value)
	case "archived":
		o.Archived = value == "true"
	case "take":
		o.Taken = append(o.Taken, value)
	case "taken":
		f.seen.taken = append(f.seen.taken, value)
	case "etag":
		f.seen.etag = value
	}
}

// options returns how the service applies the document.
func (o *origin) options() management.ApplyOptions {
	return management.ApplyOptions{From: &foreign.Options{
		From: o.From, Environment: o.Environment, Version: o.Version, Archived: o.Archived, Map: forms.LineNames(o.Map), Inexact: o.Taken,
	}}
}

// taken returns fields with the keys of the flags that are taken all the same.
func (o *origin) taken(name string) (list []forms.Hidden) {
	for _, key := range o.Taken {
		list = append(list, forms.Hidden{Name: name, Value: key})
	}
	return list
}

// hidden returns what an import needs besides the document, and what its preview has taken.
func (o *origin) hidden(r *management.ApplyReport) []forms.Hidden {
	list := []forms.Hidden{
		{Name: "from", Value: o.From},
		{Name: "environment", Value: o.Environment},
		{Name: "bucket_version", Value: o.Version},
		{Name: "map", Value: o.Map},
		{Name: "archived", Value: strconv.FormatBool(o.Archived)},
		{Name: "etag", Value: r.ETag},
	}
	for _, k := range r.Inexact {
		list = append(list, forms.Hidden{Name: "taken", Value: k.Flag})
	}
	return list
}

// unseen says why an import has to be previewed first, "" if it need not.
func (f *importForm) unseen() string {
	switch {
	case f.origin.From == "":
		return ""
	case f.seen.etag == "":
		return "Look first at what would change."
	case !slices.Equal(slices.Sorted(slices.Values(f.origin.Taken)), slices.Sorted(slices.Values(f.seen.taken))):
		return "Nothing was imported yet: you have chosen other flags that are not exact. Look first at what would change with them."
	}
	return ""
}

// applyForeign imports the document of another product.
func applyForeign(ctx context.Context, q *shell.Request, form *importForm, progress func(string, int, int)) (importReport, error) {
	o := form.origin.options()
	o.IfMatch, o.Progress = &form.seen.etag, progress
	report, err := q.Service.ApplyDefinitions(ctx, q.By, q.Ref, form.document, o)
	if err != nil {
		return importReport{}, err
	}
	view, err := appliedReport(q, report, nil, nil)
	view.Mark = report.ImportID
	return view, err
}

// appliedWords counts the flags and cohorts to which one of some things was done.
func appliedWords(r *management.ApplyReport, actions ...string) string {
	count := make(map[string]int)
	for _, c := range r.Changes {
		if slices.Contains(actions, c.Action) {
			count[c.Kind]++
		}
	}
	return thingWords(count["flag"], count["cohort"])
}

// appliedSummary says in one sentence what was done, or would be.
func appliedSummary(r *management.ApplyReport, would string) string {
	words, rest := "", ""
	for _, action := range []string{"created", "changed"} {
		if things := appliedWords(r, action); things != "" && words == "" {
			words = things + would + action
		} else if things != "" {
			words += ", " + things + " " + action
		}
	}
	if words == "" {
		words = "Nothing" + would + "imported"
	}
	if r.Unchanged > 0 {
		rest = ", " + forms.Number(r.Unchanged) + " there already"
	}
	if n := len(r.LeftOut); n > 0 {
		rest += ", " + forms.Count(n, "flag", "flags") + " left out"
	}
	return words + rest + "."
}

// appliedReport says in words what an import from another product has done or, if there is an
// origin, would do. Without a preview, no flag that is on would change.
func appliedReport(q *shell.Request, r *management.ApplyReport, preview *management.FlagPreview, from *origin) (importReport, error) {
	done := from == nil
	would := func(did, would string) string {
		if done {
			return did
		}
		return would
	}
	v := importReport{
		Summary: appliedSummary(r, would(" ", " would be ")), Foreign: true,
		UndoHint: "which makes everything what it was before, as long as no one has changed it and nothing else uses what is new. " +
			"Names of group types stay.",
	}
	gets := make(map[string]string)
	if preview != nil {
		v.Who = "No persons have been seen yet, so it is not known whose flags would change."
		if preview.Subjects > 0 {
			v.Who = seenLast(q, preview) + " would get another value of one flag" + orMore(preview)
		}
		for _, f := range preview.OtherFlags {
			gets[f.Key] = "for " + forms.Count(f.Changed, "person", "persons")
		}
	}
	v.addLeftOut(r, from)
	v.add(importSection{Title: "To know"}, r.Notes, plainItem)
	v.addReasons(importSection{Title: "Notes on flags"}, reasonsOf(r.Report, r.FlagNotes))
	if err := v.addChanged(q, r, gets, would("Changed", "Would be changed")); err != nil {
		return v, err
	}
	var fresh, cohorts, dependents []string
	known := make(map[string]bool)
	for _, c := range r.Changes {
		switch {
		case c.Kind == "flag":
			known[c.Name] = true
			if c.Action == "created" {
				fresh = append(fresh, c.Name)
			}
		case c.Action == "created":
			cohorts = append(cohorts, c.Name)
		}
	}
	on := make(map[string]bool)
	for _, key := range r.Active {
		on[key] = true
	}
	flagItem := func(key string) importItem {
		item := importItem{Text: key, Code: true, Note: gets[key]}
		if done {
			item.URL = q.ProjectPath("/flags/" + url.PathEscape(key))
		}
		return item
	}
	v.add(importSection{
		Title: would("New flags", "Flags to create"),
		Hint: would("Programs that evaluate these flags get them now, but for those that are off.",
			"Flags that are off change nothing. Programs that evaluate the others get them at once."),
	}, fresh, func(key string) importItem {
		item := flagItem(key)
		switch {
		case !on[key]:
			item.Note = "off"
		case item.Note != "":
			item.Note = "on, " + item.Note
		case preview != nil && preview.Subjects > 0:
			item.Note = "on, for none of them"
		default:
			item.Note = "on"
		}
		return item
	})
	for _, f := range otherFlags(preview) {
		if !known[f.Key] {
			dependents = append(dependents, f.Key)
		}
	}
	v.add(importSection{Title: "Flags that depend on them", Hint: "They would change as well."}, dependents, flagItem)
	v.add(importSection{Title: would("New cohorts", "Cohorts to create")}, cohorts, plainItem)
	v.addUnchanged(r.UnchangedNames)
	return v, nil
}

func otherFlags(p *management.FlagPreview) []management.ChangedFlag {
	if p == nil {
		return nil
	}
	return p.OtherFlags
}

// addLeftOut adds the flags that are not exact, with checkboxes if an origin says what was chosen.
func (v *importReport) addLeftOut(r *management.ApplyReport, from *origin) {
	left, taken := reasonsOf(r.Report, r.LeftOut), reasonsOf(r.Report, r.Inexact)
	if from == nil {
		v.addReasons(importSection{Title: "Left out"}, left)
		v.addReasons(importSection{Title: "Not exact", Hint: "The description of each says so."}, taken)
		return
	}
	for i := range left {
		if slices.Contains(from.Taken, left[i].What) {
			left[i].Reasons = append(left[i].Reasons,
				"You wanted to take it all the same: that is not possible, because the project refuses it.")
		} else {
			left[i].Box = "left-" + strconv.Itoa(i)
		}
	}
	for i := range taken {
		taken[i].Box, taken[i].Taken = "taken-"+strconv.Itoa(i), true
	}
	v.addReasons(importSection{
		Title: "Would be left out", Choice: true,
		Hint: "Some users would get another value of these flags, or the project refuses them. What is taken all the same says so in its " +
			"description.",
	}, left)
	v.addReasons(importSection{
		Title: "Not exact, taken all the same", Choice: true,
		Hint: "Some users would get another value of these flags.",
	}, taken)
}

func reasonsOf(r *foreign.Report, list []foreign.Kept) (out []importReason) {
	for _, k := range list {
		reasons := slices.Clone(k.Reasons)
		if persons := r.Concerns(&k); persons != "" {
			reasons = append(reasons, persons)
		}
		out = append(out, importReason{What: k.Flag, Reasons: reasons})
	}
	return out
}

// addReasons adds a section if something is in it. Choices are all listed.
func (v *importReport) addReasons(s importSection, list []importReason) {
	if len(list) == 0 {
		return
	}
	s.Reasons = list
	if !s.Choice {
		s.Reasons = list[:min(len(list), importListed)]
		s.cut(len(list))
	} else {
		s.Title += " (" + forms.Number(len(list)) + ")"
	}
	v.Sections = append(v.Sections, s)
}

// scopes are those of the audit log, by kinds of changes.
var scopes = map[string]string{"flag": "FeatureFlag", "cohort": "Cohort"}

// addChanged adds what is changed of flags and cohorts that the project has, in words.
func (v *importReport) addChanged(q *shell.Request, r *management.ApplyReport, gets map[string]string, title string) error {
	var list []management.DefinitionChange
	for _, c := range r.Changes {
		if c.Action == "changed" {
			list = append(list, c)
		}
	}
	if len(list) == 0 {
		return nil
	}
	s := importSection{Title: title}
	s.cut(len(list))
	list = list[:min(len(list), importListed)]
	entries := make([]management.ActivityView, len(list))
	for i, c := range list {
		entries[i] = management.ActivityView{Scope: scopes[c.Kind], Detail: management.ActivityDetail{Changes: c.Fields}}
	}
	said, err := q.Entries(entries)
	if err != nil {
		return err
	}
	for i, c := range list {
		item := importItem{Text: c.Name}
		if c.Kind == "flag" {
			item = importItem{Text: c.Name, Code: true, Note: gets[c.Name], URL: q.ProjectPath("/flags/" + url.PathEscape(c.Name))}
		}
		s.Changed = append(s.Changed, importChange{item, said[i].Changes, said[i].Cut})
	}
	v.Sections = append(v.Sections, s)
	return nil
}
