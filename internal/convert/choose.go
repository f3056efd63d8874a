package convert

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/flagstaff-go/flagstaff/flags"
)

// A Kept says what a flag does not keep, or what somebody has to know of it.
type Kept struct {
	Flag    string   `json:"flag"`
	Reasons []string `json:"reasons"`
}

// A Choice is which flags of a project are imported.
type Choice struct {
	LeftOut []Kept   // flags that are not exact
	Inexact []Kept   // flags that are not exact, and wanted all the same
	Notes   []Kept   // of flags that are exact
	Unknown []string // keys that are wanted and that the project does not have
}

// maxDescription is how many characters the description of a flag may have, as its name.
const maxDescription = 10_000

// Choose takes the flags out of a project that are archived, unless these are wanted, and those
// that are not exact, unless their keys are among inexact: such a flag says so in its
// description. Cohorts that no flag needs any more go, too.
func (p *Project) Choose(archived bool, inexact []string) Choice {
	var c Choice
	wanted := make(map[string]bool)
	for _, key := range inexact {
		wanted[key] = true
	}
	known := make(map[string]bool)
	p.Flags = slices.DeleteFunc(p.Flags, func(f Flag) bool {
		known[f.Key] = true
		switch {
		case f.Archived && !archived:
			return true
		case len(f.Problems) > 0 && !wanted[f.Key]:
			c.LeftOut = append(c.LeftOut, Kept{f.Key, f.Problems})
			return true
		case len(f.Problems) > 0:
			c.Inexact = append(c.Inexact, Kept{f.Key, f.Problems})
		}
		if len(f.Notes) > 0 {
			c.Notes = append(c.Notes, Kept{f.Key, f.Notes})
		}
		return false
	})
	for i := range p.Flags {
		if f := &p.Flags[i]; len(f.Problems) > 0 {
			f.Description = shortened(strings.TrimSpace(f.Description + " Not imported exactly: " + strings.Join(f.Problems, " ")))
		}
	}
	for _, key := range inexact {
		if !known[key] {
			c.Unknown = append(c.Unknown, key)
		}
	}
	p.dropUnused()
	return c
}

func shortened(s string) string {
	if utf8.RuneCountInString(s) <= maxDescription {
		return s
	}
	return string([]rune(s)[:maxDescription-1]) + "…"
}

// Drop takes a flag out of a project, and those that need it. It returns their keys.
func (p *Project) Drop(key string) (gone []string) {
	gone = []string{key}
	for n := 0; n < len(gone); n++ {
		p.Flags = slices.DeleteFunc(p.Flags, func(f Flag) bool {
			filters := flags.Filters{Version: 2, RuleSet: &f.Rules}
			needs := f.Key == gone[n]
			for t := range filters.Targets() {
				needs = needs || t.Name == gone[n]
			}
			if needs && f.Key != key {
				gone = append(gone, f.Key)
			}
			return needs
		})
	}
	p.dropUnused()
	return gone
}

// dropUnused takes out cohorts that no flag needs.
func (p *Project) dropUnused() {
	used := make(map[int64]bool)
	for i := range p.Flags {
		filters := flags.Filters{Version: 2, RuleSet: &p.Flags[i].Rules}
		for id := range filters.CohortIDs() {
			used[id] = true
		}
	}
	for again := true; again; {
		again = false
		for i := range p.Cohorts {
			c := &p.Cohorts[i]
			if !used[c.ID] {
				continue
			}
			for id := range c.Criteria.CohortIDs() {
				again = again || !used[id]
				used[id] = true
			}
		}
	}
	p.Cohorts = slices.DeleteFunc(p.Cohorts, func(c Cohort) bool { return !used[c.ID] })
}
