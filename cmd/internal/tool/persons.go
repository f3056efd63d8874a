package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/operators"
)

// A vocabulary has the properties that filters ask for, each with values that make them
// differ: what the filters name, and what lies beside it.
type vocabulary struct {
	person map[string][]any
	groups map[string]map[string][]any // by group type
	types  map[int]string
}

// vocabularyOf returns the vocabulary of documents.
func vocabularyOf(documents ...*flags.Definitions) *vocabulary {
	v := &vocabulary{person: make(map[string][]any), groups: make(map[string]map[string][]any), types: make(map[int]string)}
	for _, d := range documents {
		maps.Copy(v.types, d.GroupTypes)
	}
	for _, name := range v.types {
		v.groups[name] = make(map[string][]any)
	}
	for _, d := range documents {
		for i := range d.Flags {
			filters := &d.Flags[i].Filters
			for _, c := range filters.Groups {
				aggregation := c.AggregationGroupTypeIndex
				if aggregation == flags.Inherited {
					aggregation = filters.AggregationGroupTypeIndex
				}
				for j := range c.Properties {
					v.add(&c.Properties[j], aggregation)
				}
			}
		}
		for _, id := range slices.Sorted(maps.Keys(d.Cohorts)) {
			v.addTree(d.Cohorts[id].Properties)
		}
	}
	return v
}

func (v *vocabulary) addTree(node *flags.CohortNode) {
	if node == nil {
		return
	}
	if node.Leaf != nil {
		v.add(node.Leaf, flags.Inherited)
	}
	for i := range node.Values {
		v.addTree(&node.Values[i])
	}
}

// add notes what a filter asks for.
func (v *vocabulary) add(f *flags.Filter, aggregation flags.Aggregation) {
	into := v.person
	switch f.Type {
	case "", "person":
	case "group":
		index, ok := aggregation.Index()
		if f.GroupTypeIndex != nil {
			index, ok = *f.GroupTypeIndex, true
		}
		if into = v.groups[v.types[index]]; !ok || into == nil {
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

// randomPersons yields persons with random properties and groups, the same ones for the
// same documents.
func randomPersons(ctx context.Context, n int, now time.Time, documents ...*flags.Definitions) iter.Seq[*flags.Request] {
	v := vocabularyOf(documents...)
	random := rand.New(rand.NewPCG(1, 2))
	return func(yield func(*flags.Request) bool) {
		for i := range n {
			if ctx.Err() != nil || !yield(v.draw(random, i, now)) {
				return
			}
		}
	}
}

// draw returns a person who has half of the properties, and each group three times out
// of four.
func (v *vocabulary) draw(random *rand.Rand, number int, now time.Time) *flags.Request {
	r := &flags.Request{
		DistinctID: fmt.Sprintf("person-%d", number+1), DeviceID: fmt.Sprintf("device-%d", number+1), Now: now,
		PersonProperties: drawProperties(random, v.person), Groups: make(map[string]string), GroupProperties: make(map[string]map[string]any),
	}
	for _, name := range slices.Sorted(maps.Keys(v.groups)) {
		if random.IntN(4) > 0 {
			r.Groups[name] = fmt.Sprintf("%s-%d", name, random.IntN(100)+1)
			r.GroupProperties[name] = drawProperties(random, v.groups[name])
		}
	}
	return r
}

func drawProperties(random *rand.Rand, known map[string][]any) map[string]any {
	properties := make(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(known)) {
		if values := known[name]; random.IntN(2) == 0 {
			properties[name] = values[random.IntN(len(values))]
		}
	}
	return properties
}
