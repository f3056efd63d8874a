package transfer

import (
	"cmp"
	"time"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/server/console/internal/effects"
	"github.com/flagstaff-go/flagstaff/server/console/shell"
	"github.com/flagstaff-go/flagstaff/server/console/shell/forms"
)

const (
	// maxImportTime is how long an import may take from its first byte, which is longer
	// than other requests.
	maxImportTime = 10 * time.Minute

	importListed = 200 // flags, cohorts, … that a report lists of each
)

// An importReport is what an import has done, or would do.
type importReport struct {
	Summary, Proof string
	Who            string // changes, before the import
	Mark           string // of its undo; "": there is nothing to take back
	UndoHint       string // what the undo does
	Foreign        bool   // from another product: it has changed flags as well
	Sections       []importSection
}

// An importSection is a part of a report.
type importSection struct {
	Title, Hint string
	Reasons     []importReason // in place of Items
	Changed     []importChange // in place of Items
	Items       []importItem
	Choice      bool   // some of the reasons are choices
	More        string // what is not listed
	Closed      bool
}

// An importReason says why something is left out, or what is to know of it.
type importReason struct {
	What    string
	Reasons []string
	Box     string // ID of the checkbox that takes it all the same; "": there is none
	Taken   bool
}

// An importChange is what an import changes of one flag or cohort.
type importChange struct {
	importItem
	Changes []shell.Change
	Cut     int // changes that are not listed
}

type importItem struct {
	Text, URL, Note string
	Code            bool
}

// madeWords says what an import makes, "" for nothing.
func madeWords(r *management.ImportReport) string { return thingWords(len(r.Flags), len(r.Cohorts)) }

func thingWords(flags, cohorts int) string {
	var parts []string
	if flags > 0 {
		parts = append(parts, forms.Count(flags, "flag", "flags"))
	}
	if cohorts > 0 {
		parts = append(parts, forms.Count(cohorts, "cohort", "cohorts"))
	}
	return forms.Joined(parts)
}

// importReport says in words what an import has done or, if there is a preview, would do.
func reportOf(q *shell.Request, r *management.ImportReport, preview *management.FlagPreview) importReport {
	done := preview == nil
	would := func(did, would string) string {
		if done {
			return did
		}
		return would
	}
	v := importReport{Summary: cmp.Or(madeWords(r), "Nothing") + would(" imported", " would be imported")}
	if n := len(r.Unchanged); n > 0 {
		v.Summary += ", " + forms.Number(n) + " there already"
	}
	if n := len(r.Left); n > 0 {
		v.Summary += ", " + forms.Number(n) + " left out"
	}
	v.Summary += "."
	v.UndoHint = "which deletes what it has created as long as no one has changed it and nothing else uses it. Names of group types stay."
	if r.Parity > 0 {
		v.Proof = "Each new flag was tried for " + forms.Count(r.Parity, "random person", "random persons") +
			": here it has the same value as in the document."
	}
	if n := len(r.Left); n > 0 {
		s := importSection{
			Title: would("Left out", "Would be left out"),
			Hint:  "Change the document, or the project, and import the same document again: what is there already stays as it is.",
		}
		for _, left := range r.Left[:min(n, importListed)] {
			s.Reasons = append(s.Reasons, importReason{What: left.What, Reasons: []string{left.Reason}})
		}
		s.cut(n)
		v.Sections = append(v.Sections, s)
	}
	v.add(importSection{Title: "To know"}, r.Notes, plainItem)
	gets := make(map[string]string)
	if preview != nil && len(r.Active) > 0 {
		v.Who = importedFor(q, preview)
		for _, f := range preview.OtherFlags {
			gets[f.Key] = "for " + forms.Count(f.Changed, "person", "persons")
		}
	}
	v.add(importSection{
		Title: would("On from the beginning", "Would be on from the beginning"),
		Hint: would("Programs that evaluate these flags get them now, as their condition sets say.",
			"Flags that are off change nothing. Programs that evaluate these get them at once, as their condition sets say."),
	}, r.Active, func(key string) importItem {
		item := importItem{Text: key, Code: true, Note: gets[key]}
		if v.Who != "" && item.Note == "" {
			item.Note = "for none of them"
		}
		return item
	})
	v.add(importSection{Title: would("New flags", "Flags to create")}, r.Flags, func(key string) importItem {
		item := importItem{Text: key, Code: true}
		if done {
			item.URL = q.ProjectPath("/flags/" + key)
		}
		return item
	})
	v.add(importSection{Title: would("New cohorts", "Cohorts to create")}, r.Cohorts, plainItem)
	var empty []string
	for _, c := range r.StaticCohorts {
		if c.Made {
			empty = append(empty, c.Name)
		}
	}
	v.add(importSection{
		Title: "Static cohorts without members",
		Hint: "A document does not have the members of static cohorts. Upload them to the cohort, or let “flagstaff import -from” " +
			"copy them from the other server.",
	}, empty, plainItem)
	v.addUnchanged(r.Unchanged)
	return v
}

func (v *importReport) addUnchanged(names []string) {
	v.add(importSection{Title: "Already there", Hint: "The project has these as they are in the document.", Closed: true}, names, plainItem)
}

// importedFor says who would get the new flags that are on.
func importedFor(q *shell.Request, p *management.FlagPreview) string {
	if p.Subjects == 0 {
		return "No persons have been seen yet, so the impact of the new flags is not known."
	}
	return seenLast(q, p) + " would get one of the new flags" + orMore(p)
}

// seenLast says of how many persons a preview is, and how many of them it concerns.
func seenLast(q *shell.Request, p *management.FlagPreview) string {
	words := "Of the " + forms.Number(p.Subjects) + " persons who were seen last" + effects.Since(q, p.Since) + ", "
	if p.Changed == 0 {
		return words + "no person"
	}
	return words + forms.Number(p.Changed)
}

func orMore(p *management.FlagPreview) string {
	if p.Changed == 0 {
		return "."
	}
	return " or more."
}

func plainItem(name string) importItem { return importItem{Text: name} }

// add adds a section if something is in it.
func (v *importReport) add(s importSection, names []string, item func(string) importItem) {
	if len(names) == 0 {
		return
	}
	for _, name := range names[:min(len(names), importListed)] {
		s.Items = append(s.Items, item(name))
	}
	s.cut(len(names))
	v.Sections = append(v.Sections, s)
}

// cut notes how many things there are, and how many are not listed.
func (s *importSection) cut(n int) {
	s.Title += " (" + forms.Number(n) + ")"
	if n > importListed {
		s.More = "and " + forms.Number(n-importListed) + " more"
	}
}
