package management

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/forms"
	"github.com/flagstaff-go/flagstaff/internal/judge"
	"github.com/flagstaff-go/flagstaff/internal/rawjson"
)

// A file is judged as "flagstaff check" judges it: what has an error there is left out here,
// and what has none is taken, also in forms that clients of the API do not send.

// checkForeign refuses files of other products.
func checkForeign(document []byte) error {
	if err := forms.Foreign(document); err != nil {
		text := err.Error()
		return invalid("", "invalid_input", "%s.", strings.ToUpper(text[:1])+text[1:])
	}
	return nil
}

// findFaults notes the first error of each flag and each cohort of the file. It refuses a
// file with errors in what is about all flags.
func (f *importFile) findFaults(cohortsByID bool) error {
	f.faults, f.cohortFaults = make(map[string]*flags.DefinitionError), make(map[int64]*flags.DefinitionError)
	first := *f.definitions // without later flags with the same key, which importFlags leaves out
	first.Flags = slices.Clone(first.Flags)
	keys := make(map[string]bool, len(first.Flags))
	first.Flags = slices.DeleteFunc(first.Flags, func(d flags.Flag) bool {
		if d.Deleted || d.Key == "" {
			return false
		}
		again := keys[d.Key]
		keys[d.Key] = true
		return again
	})
	s, err := flags.Compile(&first, flags.CompileOptions{})
	if err != nil {
		return invalid("", "invalid_input", "The definitions of the file cannot be compiled: %s.", err)
	}
	for _, p := range s.Problems() {
		switch {
		case p.Severity != flags.SeverityError:
		case p.Flag != "":
			if f.faults[p.Flag] == nil {
				f.faults[p.Flag] = p.DefinitionError
			}
		case strings.HasPrefix(p.Path, "/cohorts/"):
			if id, ok := f.cohortAt(p.Path, cohortsByID); ok && f.cohortFaults[id] == nil {
				f.cohortFaults[id] = p.DefinitionError
			}
		case strings.HasPrefix(p.Path, "/flags/"): // one without a key, which is left out
		default:
			return invalid(strings.TrimPrefix(p.Path, "/"), "invalid_input", "The definitions cannot be read: %s.", p.DefinitionError)
		}
	}
	return nil
}

// cohortAt returns the ID of the cohort that a path is about.
func (f *importFile) cohortAt(path string, byID bool) (id int64, ok bool) {
	place, _, _ := strings.Cut(strings.TrimPrefix(path, "/cohorts/"), "/")
	n, err := strconv.ParseInt(place, 10, 64)
	switch {
	case err != nil:
		return 0, false
	case byID:
		return n, true
	case n < 0 || n >= int64(len(f.cohorts)):
		return 0, false
	}
	return f.cohorts[n].ID, true
}

// wholeFilters returns the filters of a flag of the file, with what a file may leave open
// and the API may not. What cannot be understood has an error.
func (f *importedFlag) wholeFilters() flags.Filters {
	filters, _ := flags.DecodeFilters(rawjson.Or(f.Filters, "{}"), f.Key)
	if filters.Version == 1 { // 0 and 1 are the language that there is
		filters.Version = 0
	}
	if m := filters.Multivariate; m != nil && len(m.Variants) == 0 {
		filters.Multivariate = nil
	}
	if filters.Groups == nil && !judge.IsRuleSet(&filters) {
		filters.Groups = []flags.Condition{}
	}
	for _, fl := range filters.All() {
		complete(fl)
	}
	return filters
}

// complete says what a filter leaves open.
func complete(f *flags.Filter) {
	f.Type = cmp.Or(f.Type, "person")
	if f.Type == "cohort" {
		f.Key = "id"
	}
}

// treeOf returns the tree of a cohort of the file, as wholeFilters does.
func (i *importer) treeOf(c *importedCohort) (*flags.CohortNode, error) {
	var tree *flags.CohortNode
	var err error
	if rawjson.Empty(c.Filters) {
		tree, err = judge.TreeOfGroups(rawjson.Or(c.Groups, "[]"))
	} else {
		tree, _ = flags.DecodeCohort(c.Filters, c.ID) // what is wrong with it is among the faults
	}
	switch {
	case err != nil:
		return nil, judgeError(err)
	case tree == nil:
		tree = &flags.CohortNode{Type: "OR"} // nobody
	case tree.Leaf != nil:
		tree = &flags.CohortNode{Type: "AND", Values: []flags.CohortNode{*tree}}
	}
	for leaf := range tree.Leaves() {
		complete(leaf)
	}
	return tree, nil
}
