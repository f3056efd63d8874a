package subjects

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/operators"
)

// Subjects are random subjects for definitions. They have the properties that filters ask
// for, each with values that make them differ: what the filters name, and what lies beside it.
type Subjects struct {
	person map[string][]any
	groups map[string]map[string][]any // by group type
	types  map[int]string
}

// Of returns the Subjects of documents.
func Of(documents ...*flags.Definitions) *Subjects {
	s := &Subjects{person: make(map[string][]any), groups: make(map[string]map[string][]any), types: make(map[int]string)}
	for _, d := range documents {
		maps.Copy(s.types, d.GroupTypes)
	}
	for _, name := range s.types {
		s.groups[name] = make(map[string][]any)
	}
	for _, d := range documents {
		for i := range d.Flags {
			filters := &d.Flags[i].Filters
			for at, f := range filters.All() {
				aggregation := filters.AggregationGroupTypeIndex
				if set := filters.RuleSet; set != nil {
					aggregation = set.Aggregation
				} else if own := filters.Groups[at.Group].AggregationGroupTypeIndex; own != flags.Inherited {
					aggregation = own
				}
				s.add(f, aggregation)
			}
			s.addSplits(filters.RuleSet)
			if on := filters.FeatureEnrollment; on != nil && *on {
				s.person["$feature_enrollment/"+d.Flags[i].Key] = []any{true, "true", false, "false"}
			}
		}
		for _, id := range slices.Sorted(maps.Keys(d.Cohorts)) {
			for leaf := range d.Cohorts[id].Properties.Leaves() {
				s.add(leaf, flags.Inherited)
			}
		}
	}
	return s
}

// addSplits notes the properties by which rules split.
func (s *Subjects) addSplits(set *flags.RuleSet) {
	if set == nil {
		return
	}
	for _, r := range set.Rules {
		if r.Split == nil || r.Split.Subject == "" {
			continue
		}
		for n := range 10 {
			s.person[r.Split.Subject] = append(s.person[r.Split.Subject], n)
		}
	}
}

// add notes what a filter asks for.
func (s *Subjects) add(f *flags.Filter, aggregation flags.Aggregation) {
	into := s.person
	switch f.Type {
	case "", "person":
	case "group":
		index, ok := aggregation.Index()
		if f.GroupTypeIndex != nil {
			index, ok = *f.GroupTypeIndex, true
		}
		if into = s.groups[s.types[index]]; !ok || into == nil {
			return
		}
	default:
		return
	}
	var value any
	if json.Unmarshal(f.Value, &value) != nil {
		return
	}
	list, ok := value.([]any)
	if !ok {
		list = []any{value}
	}
	const most = 100 // values of one property, so that memory is bounded
	for _, one := range list {
		if len(into[f.Key]) >= most {
			return
		}
		into[f.Key] = append(into[f.Key], one)
		if n, ok := number(one); ok {
			into[f.Key] = append(into[f.Key], n-1, n+1)
		}
	}
	if o, _ := operators.Of(f.Type, f.Operator); o.Operand == operators.OperandDate {
		into[f.Key] = append(into[f.Key], "2000-01-01", "2100-01-01")
	}
	into[f.Key] = append(into[f.Key], "another")
}

// number reads a number, also from a text.
func number(v any) (float64, bool) {
	switch v := v.(type) {
	case float64:
		return v, true
	case string:
		n, err := strconv.ParseFloat(v, 64)
		return n, err == nil
	}
	return 0, false
}

// Draw returns the person with a number, who has half of the properties, and each group
// three times out of four. It is safe for concurrent use, but for random.
func (s *Subjects) Draw(random *rand.Rand, number int, now time.Time) *flags.Request {
	r := &flags.Request{
		DistinctID: fmt.Sprintf("person-%d", number), DeviceID: fmt.Sprintf("device-%d", number), Now: now,
		PersonProperties: draw(random, s.person), Groups: make(map[string]string), GroupProperties: make(map[string]map[string]any),
	}
	for _, name := range slices.Sorted(maps.Keys(s.groups)) {
		if random.IntN(4) > 0 {
			r.Groups[name] = fmt.Sprintf("%s-%d", name, random.IntN(100)+1)
			r.GroupProperties[name] = draw(random, s.groups[name])
		}
	}
	return r
}

func draw(random *rand.Rand, known map[string][]any) map[string]any {
	properties := make(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(known)) {
		if values := known[name]; random.IntN(2) == 0 {
			properties[name] = values[random.IntN(len(values))]
		}
	}
	return properties
}
