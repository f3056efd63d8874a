package tool

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/flags/operator"
	"github.com/flagstaff-go/flagstaff/internal/operators"
	"github.com/flagstaff-go/flagstaff/internal/words"
)

// flagChanges returns which flags two documents do not have in common, and in what they
// differ, by key.
func flagChanges(before, after *flags.Definitions) []flagReport {
	old, new := flagsByKey(before), flagsByKey(after)
	was := normaliser{before, flags.NewIndex(before.Flags), nil}
	is := normaliser{after, flags.NewIndex(after.Flags), sameCohorts(before, after)}
	changes := []flagReport{}
	all := maps.Clone(old)
	maps.Copy(all, new)
	for _, key := range slices.Sorted(maps.Keys(all)) {
		r := flagReport{Key: key, Differences: []string{}}
		switch older, newer := old[key], new[key]; {
		case older == nil:
			r.Change = "added"
			r.Differences = append(r.Differences, summary(newer))
		case newer == nil:
			r.Change = "removed"
			r.Differences = append(r.Differences, summary(older))
		default:
			r.Change = "changed"
			was, is := was.memberTree(older), is.memberTree(newer)
			addUnset(was, is)
			addUnset(is, was)
			if alignRules(was, is) {
				r.Differences = append(r.Differences, "rules: in another order")
			}
			differ(&r.Differences, nil, was, is)
			if len(r.Differences) == 0 {
				continue
			}
		}
		changes = append(changes, r)
	}
	return changes
}

// flagsByKey returns the flags that count: of several with one key the first.
func flagsByKey(d *flags.Definitions) map[string]*flags.Flag {
	m := make(map[string]*flags.Flag, len(d.Flags))
	for i := range d.Flags {
		if f := &d.Flags[i]; m[f.Key] == nil && !f.Deleted && f.Key != "" {
			m[f.Key] = f
		}
	}
	return m
}

// summary says in a few words what a flag is.
func summary(f *flags.Flag) string {
	text := "inactive"
	if f.Active {
		text = "active"
	}
	if set := f.Filters.RuleSet; set != nil {
		return text + ", " + set.ReturnType + ", " + Count(len(set.Rules), "rule")
	}
	text += ", " + Count(len(f.Filters.Groups), "condition set")
	if variants := words.Variants(&f.Filters); variants != "" {
		text += ", variants " + variants
	}
	return text
}

// A normaliser brings the flags of a document into a form in which what means the same is
// the same: servers send defaults and the keys of flags where files leave defaults out and
// have IDs, and an import gives cohorts other numbers.
type normaliser struct {
	document *flags.Definitions
	index    *flags.Index
	cohorts  map[int64]int64 // other numbers for cohorts
}

// notCompared are the members of a flag that the keys of the documents have in common, or
// that change no value.
var notCompared = []string{"id", "key", "name", "version", "deleted", "has_experiment", "filters"}

// memberTree returns what decides a flag, as a tree of JSON.
func (n *normaliser) memberTree(f *flags.Flag) map[string]any {
	full := *f
	full.Filters = flags.Filters{}
	full.BucketingHash = cmp.Or(f.BucketingHash, n.document.BucketingHash, "sha1")
	for text, usual := range full.Defaults() {
		*text = cmp.Or(*text, usual)
	}
	tree := make(map[string]any)
	addMembers(tree, func() ([]byte, error) { return json.Marshal(full) })
	for _, name := range notCompared {
		delete(tree, name)
	}
	filters := n.filters(&f.Filters)
	addMembers(tree, filters.Normal)
	return tree
}

// filters returns filters with the defaults of members that are not there (evaluation.md
// §1.3 to §1.5), flags by key, and payloads as text.
func (n *normaliser) filters(given *flags.Filters) flags.Filters {
	f := given.Clone()
	for _, b := range []**bool{&f.EarlyExit, &f.FeatureEnrollment} {
		if *b != nil && !**b {
			*b = nil
		}
	}
	if f.Multivariate != nil {
		m := flags.Multivariate{Variants: slices.Clone(f.Multivariate.Variants)}
		for i := range m.Variants {
			if name := m.Variants[i].Name; name != nil && *name == "" {
				m.Variants[i].Name = nil
			}
		}
		if f.Multivariate = &m; len(m.Variants) == 0 {
			f.Multivariate = nil
		}
	}
	f.Payloads = maps.Clone(f.Payloads)
	for key := range f.Payloads {
		if text, ok := given.Payload(key); ok { // as clients get it
			f.SetPayload(key, text)
		}
	}
	for i := range f.Groups {
		g := &f.Groups[i]
		if g.RolloutPercentage == nil {
			g.RolloutPercentage = new(100.0)
		}
		if _, grouped := f.AggregationGroupTypeIndex.Index(); !grouped && g.AggregationGroupTypeIndex == flags.ByPerson {
			g.AggregationGroupTypeIndex = flags.Inherited
		}
	}
	if f.RuleSet != nil {
		for i := range f.RuleSet.Rules {
			f.RuleSet.Rules[i].AssignBy = ""
		}
	}
	for _, p := range f.All() {
		p.CohortName = ""
		if reference, ok := p.Target(); ok {
			if target := n.index.Find(reference); target != nil {
				p.Key = target.Key
			}
			p.DependencyChain = nil
			continue
		}
		if id, ok := p.CohortID(); ok {
			p.Value = strconv.AppendInt(nil, cmp.Or(n.cohorts[id], id), 10)
		}
		if o, ok := operators.Of(p.Type, p.Operator); ok {
			p.Operator = o.Name
		}
	}
	return f
}

// sameCohorts returns for the cohorts of a document the numbers of the same ones in an
// older document, where those are others.
func sameCohorts(before, after *flags.Definitions) map[int64]int64 {
	byContent := make(map[string][]int64)
	for _, id := range slices.Sorted(maps.Keys(before.Cohorts)) {
		content := cohortContent(before, id, nil)
		byContent[content] = append(byContent[content], id)
	}
	same := make(map[int64]int64)
	for id := range after.Cohorts {
		if list := byContent[cohortContent(after, id, nil)]; len(list) > 0 && !slices.Contains(list, id) {
			same[id] = list[0]
		}
	}
	return same
}

// cohortContent returns the tree of a cohort with the trees of the cohorts that it uses in
// place of their numbers. A cohort whose members are a list is its number, and so is one
// that uses itself. way are the cohorts between.
func cohortContent(d *flags.Definitions, id int64, way []int64) string {
	number := strconv.FormatInt(id, 10)
	c, ok := d.Cohorts[id]
	if !ok || c.Stored || c.Properties == nil || slices.Contains(way, id) {
		return number
	}
	raw, err := c.Properties.Normal()
	if err != nil {
		return number
	}
	tree, err := decodeTree(raw)
	if err != nil {
		return number
	}
	way = append(slices.Clone(way), id)
	var resolve func(v any)
	resolve = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, one := range v {
				resolve(one)
			}
		case map[string]any:
			delete(v, "cohort_name")
			if used, ok := v["value"].(json.Number); ok && v["type"] == "cohort" {
				if id, err := used.Int64(); err == nil {
					v["value"] = cohortContent(d, id, way)
				}
			}
			if o := v["operator"]; o == operator.Exact || o == operator.In {
				delete(v, "operator") // which are the defaults
			}
			for _, one := range v {
				resolve(one)
			}
		}
	}
	resolve(tree)
	return inFull(tree)
}

// decodeTree decodes a JSON object, with numbers as they are written.
func decodeTree(raw []byte) (tree map[string]any, err error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	err = d.Decode(&tree)
	return tree, err
}

// addMembers adds the members of a JSON object to a tree. What cannot be read becomes one
// member.
func addMembers(tree map[string]any, object func() ([]byte, error)) {
	raw, err := object()
	if err == nil {
		var members map[string]any
		if members, err = decodeTree(raw); err == nil {
			maps.Copy(tree, members)
		}
	}
	if err != nil {
		tree["filters"] = string(raw)
	}
}

// addUnset gives a tree the switches and lists of another one that are off or empty in it.
func addUnset(tree, other map[string]any) {
	for name, value := range other {
		if _, ok := tree[name]; ok {
			continue
		}
		switch value.(type) {
		case bool:
			tree[name] = false
		case []any:
			tree[name] = []any{}
		}
	}
}

// alignRules orders the rules of the tree before as their IDs stand in the tree after, so that each
// rule is compared with itself. It reports whether rules have moved.
func alignRules(before, after map[string]any) (moved bool) {
	old, _ := before["rules"].([]any)
	list, _ := after["rules"].([]any)
	id := func(rule any) any {
		members, _ := rule.(map[string]any)
		return members["id"]
	}
	aligned, last := make([]any, len(list)), -1
	for _, rule := range old {
		i := slices.IndexFunc(list, func(other any) bool { return id(other) == id(rule) })
		if i < 0 || aligned[i] != nil {
			aligned = append(aligned, rule)
			continue
		}
		aligned[i] = rule
		moved, last = moved || i < last, max(last, i)
	}
	if last >= 0 {
		before["rules"] = aligned
	}
	return moved
}

// differ appends a line for each place in which two trees of JSON differ.
func differ(lines *[]string, place []string, before, after any) {
	switch was := before.(type) {
	case map[string]any:
		if is, ok := after.(map[string]any); ok {
			names := maps.Clone(was)
			maps.Copy(names, is)
			for _, name := range slices.Sorted(maps.Keys(names)) {
				differ(lines, slices.Concat(place, []string{name}), was[name], is[name])
			}
			return
		}
	case []any:
		if is, ok := after.([]any); ok && !plain(was) && !plain(is) {
			for i := range max(len(was), len(is)) {
				differ(lines, slices.Concat(place, []string{strconv.Itoa(i)}), at(was, i), at(is, i))
			}
			return
		}
	}
	was, is := inFull(before), inFull(after)
	if was == is {
		return
	}
	const shown = 200 // characters
	path := strings.Join(place, "/")
	say := func(v any, text string) string {
		if v == nil {
			return ""
		}
		return words.Shorten(new(words.Names).Value(path, text), shown)
	}
	was, is = say(before, was), say(after, is)
	switch {
	case before == nil:
		*lines = append(*lines, words.Place(path)+": added: "+is)
	case after == nil:
		*lines = append(*lines, words.Place(path)+": removed: "+was)
	default:
		*lines = append(*lines, words.Place(path)+": "+was+" → "+is)
	}
}

// plain reports whether a list has neither objects nor lists, and something at all.
func plain(list []any) bool {
	for _, v := range list {
		switch v.(type) {
		case map[string]any, []any:
			return false
		}
	}
	return len(list) > 0
}

// at returns an element of a list, or nil.
func at(list []any, i int) any {
	if i < len(list) {
		return list[i]
	}
	return nil
}

// inFull returns JSON as one line.
func inFull(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(v) != nil {
		return "?"
	}
	return strings.TrimSpace(b.String())
}
