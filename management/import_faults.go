package management

import (
	"slices"
	"strconv"
	"strings"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/forms"
	"github.com/flagstaff-go/flagstaff/management/internal/judge"
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
		case p.Severity != flags.Error:
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

// filtersOf reads the filters of a flag of the file. What the API does not take in the form
// that the file has, it takes in the normal form, if that means something.
func (i *importer) filtersOf(f *importedFlag, sent []byte) (flags.Filters, []byte, error) {
	filters, text, err := readFilters(sent, f.Key, judge.Lenient)
	if err == nil || i.file.faults[f.Key] != nil {
		return filters, text, err
	}
	normal := f.Flag.Filters.Clone()
	normal.Version = 0 // 0 and 1 are the language that there is
	if m := normal.Multivariate; m != nil && len(m.Variants) == 0 {
		normal.Multivariate = nil
	}
	for _, fl := range normal.All() {
		normalize(fl)
	}
	form, err2 := flags.AppendFilters(nil, &normal)
	if err2 != nil {
		return filters, text, err
	}
	if again, formText, err2 := readFilters(form, f.Key, judge.Lenient); err2 == nil {
		return again, formText, nil
	}
	return filters, text, err
}

// normalize says what a filter leaves open.
func normalize(f *flags.Filter) {
	if f.Type == "" {
		f.Type = "person"
	}
	if f.Type == "cohort" {
		f.Key = "id"
	}
}

// treeOf reads the tree of a cohort of the file, as filtersOf does, with its text.
func (i *importer) treeOf(c *importedCohort, sent []byte) (*flags.CohortNode, []byte, error) {
	tree, err := judge.ReadCohort(sent, judge.Lenient)
	if fault := i.file.cohortFaults[c.ID]; err == nil && fault != nil {
		err = invalid("", "invalid_input", "%s", fault)
	}
	there, ok := i.file.definitions.Cohorts[c.ID]
	if err == nil || !ok || i.file.cohortFaults[c.ID] != nil {
		return tree, sent, err
	}
	normal := &flags.CohortNode{Type: "OR"} // nobody
	switch root := there.Properties; {
	case root == nil:
	case root.Leaf != nil:
		normal = &flags.CohortNode{Type: "AND", Values: []flags.CohortNode{*root}}
	default:
		normal = root
	}
	form, err2 := flags.AppendCohort(nil, normal)
	if err2 != nil {
		return tree, sent, err
	}
	again, err2 := flags.DecodeCohort(form, c.ID) // a copy
	if err2 != nil {
		return tree, sent, err
	}
	for leaf := range again.Leaves() {
		normalize(leaf)
	}
	if form, err2 = flags.AppendCohort(nil, again); err2 == nil {
		if again, err2 = judge.ReadCohort(form, judge.Lenient); err2 == nil {
			return again, form, nil
		}
	}
	return tree, sent, err
}
