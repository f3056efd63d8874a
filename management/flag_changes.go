package management

import (
	"bytes"
	"encoding/json"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/flagstaff-go/flagstaff/internal/rawjson"
	"github.com/flagstaff-go/flagstaff/internal/text"
	"github.com/flagstaff-go/flagstaff/internal/words"
	"github.com/flagstaff-go/flagstaff/management/field"
)

// maxFlagChanges is how many changes a [FlagVersion] tells at most.
const maxFlagChanges = 50

// A FlagChange is one difference between two versions of a flag.
type FlagChange struct {
	// Field is a field of the flag, such as active. Within filters it has the place as
	// well: filters/groups/0/rollout_percentage.
	Field string `json:"field"`

	// Before and After are JSON, shortened to a length that is good to read, and "" for
	// what is not there. Both are "" for what may not be shown.
	Before string `json:"before"`
	After  string `json:"after"`
}

// String returns the change in words.
func (c FlagChange) String() string {
	const longest = 80 // characters
	say := func(value string) string { return words.Shorten(new(words.Names).Value(c.Field, value), longest) }
	place, before, after := words.Place(c.Field), say(c.Before), say(c.After)
	switch {
	case before == "" && after == "":
		return place + " changed"
	case before == "":
		return place + ": " + after + " added"
	case after == "":
		return place + ": " + before + " removed"
	}
	return place + ": " + before + " → " + after
}

// summary says in words what a version has changed.
func (v *FlagVersion) summary() string {
	const maxShown = 3 // changes
	switch {
	case v.Changes == nil && v.Version == 1:
		return "created"
	case v.Changes == nil:
		return "the first version that was kept"
	}
	shown := each(v.Changes[:min(maxShown, len(v.Changes))], (*FlagChange).String)
	if more := len(v.Changes) + v.MoreChanges - len(shown); more > 0 {
		shown = append(shown, strconv.Itoa(more)+" more")
	}
	text := strings.Join(shown, "; ")
	if v.RevertedTo != nil {
		text = "reverted to version " + strconv.Itoa(*v.RevertedTo) + ": " + text
	}
	return text
}

// detailed returns changes with the places of what has changed within filters, and how
// many of them are left out.
func detailed(changes []field.Change) (list []FlagChange, more int) {
	d := newFlagDiffer()
	d.detail(changes)
	return d.list, d.more
}

// newFlagDiffer returns one for differences that pages show.
func newFlagDiffer() *flagDiffer {
	const maxShown = 400 // bytes of a value, which most condition sets have
	return &flagDiffer{list: []FlagChange{}, most: maxFlagChanges, shown: maxShown}
}

// inFull is detailed without limits.
func inFull(changes []field.Change) []FlagChange {
	d := &flagDiffer{list: []FlagChange{}, most: math.MaxInt, shown: math.MaxInt}
	d.detail(changes)
	return d.list
}

func (d *flagDiffer) detail(changes []field.Change) {
	for _, c := range changes {
		d.field(c.Field, rawjson.Must(c.Before), rawjson.Must(c.After))
	}
}

// A flagDiffer collects the differences between two JSON values: at most so many, with
// values of at most so many bytes.
type flagDiffer struct {
	list        []FlagChange
	more        int
	most, shown int
}

// field adds the differences between two values of a field. A field of which no value may
// be shown has changed.
func (d *flagDiffer) field(name string, before, after json.RawMessage) {
	was, is := writtenValue(before), writtenValue(after)
	if was == nil && is == nil {
		d.add(name, nil, nil)
		return
	}
	d.compare(name, was, is)
}

func (d *flagDiffer) add(place string, before, after any) {
	if len(d.list) == d.most {
		d.more++
		return
	}
	d.list = append(d.list, FlagChange{place, excerpt(before, d.shown), excerpt(after, d.shown)})
}

// excerpt returns a value as JSON that is shortened to some bytes, "" for nothing.
func excerpt(v any, maxShown int) string {
	if v == "" || emptyValue(v) {
		return ""
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil { // it was decoded from JSON
		panic(err)
	}
	return text.Shorten(strings.TrimSuffix(b.String(), "\n"), maxShown)
}

// compare adds the differences between two values as writtenValue returns them; nil is
// what is not there.
func (d *flagDiffer) compare(place string, before, after any) {
	switch was := before.(type) {
	case map[string]any:
		if is, ok := after.(map[string]any); ok && !strings.HasSuffix(place, "/split") { // which is one value, as its shares are
			names := slices.Collect(maps.Keys(was))
			names = slices.AppendSeq(names, maps.Keys(is))
			slices.Sort(names)
			for _, name := range slices.Compact(names) {
				d.compare(place+"/"+name, was[name], is[name])
			}
			return
		}
	case []any:
		if is, ok := after.([]any); ok && !plainList(was) && !plainList(is) {
			d.compareLists(place, was, is)
			return
		}
	}
	if !reflect.DeepEqual(before, after) {
		d.add(place, before, after)
	}
}

// plainList reports whether a list is one value, as the texts that a property may have.
func plainList(list []any) bool {
	return len(list) > 0 && !slices.ContainsFunc(list, func(v any) bool { _, object := v.(map[string]any); return object })
}

// compareLists compares what lies between the elements that are the same at both ends, so
// that one that comes or goes is the only difference.
func (d *flagDiffer) compareLists(place string, was, is []any) {
	if place == "filters/rules" {
		d.compareRules(place, was, is)
		return
	}
	begin := 0
	for begin < min(len(was), len(is)) && reflect.DeepEqual(was[begin], is[begin]) {
		begin++
	}
	end := 0
	for end < min(len(was), len(is))-begin && reflect.DeepEqual(was[len(was)-1-end], is[len(is)-1-end]) {
		end++
	}
	for i := begin; i < max(len(was), len(is))-end; i++ {
		var before, after any
		if i < len(was)-end {
			before = was[i]
		}
		if i < len(is)-end {
			after = is[i]
		}
		d.compare(place+"/"+strconv.Itoa(i), before, after)
	}
}

// compareRules compares the rules of rule sets by their IDs. A change of their order says at
// which places those that stay were.
func (d *flagDiffer) compareRules(place string, was, is []any) {
	id := func(rule any) any {
		object, _ := rule.(map[string]any)
		return object["id"]
	}
	var order []int
	for i, rule := range is {
		n := slices.IndexFunc(was, func(other any) bool { return id(other) == id(rule) })
		if n < 0 {
			d.compare(place+"/"+strconv.Itoa(i), nil, rule)
			continue
		}
		order = append(order, n)
		d.compare(place+"/"+strconv.Itoa(i), was[n], rule)
	}
	for n, rule := range was {
		if !slices.ContainsFunc(is, func(other any) bool { return id(other) == id(rule) }) {
			d.compare(place+"/"+strconv.Itoa(n), rule, nil)
		}
	}
	if sorted := slices.Sorted(slices.Values(order)); !slices.Equal(order, sorted) {
		d.add(place+"/order", sorted, order)
	}
}
