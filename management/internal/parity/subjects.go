package parity

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/flagstaff-go/flagstaff/flags"
)

// Subjects makes up subjects for definitions. The same seed makes the same
// subjects. It is not safe for concurrent use.
type Subjects struct {
	rand    *rand.Rand
	now     time.Time
	person  []property
	groups  map[string][]property // by the name of the group type
	types   []string
	cohorts []int64 // IDs of the cohorts whose membership is given
	n       int
}

// A property has the values that definitions compare with it.
type property struct {
	name   string
	values []any
}

// NewSubjects returns Subjects for definitions. Dates are relative to now.
func NewSubjects(d *flags.Definitions, now time.Time, seed uint64) *Subjects {
	c := collector{types: d.GroupTypes, seen: make(map[string]map[string][]any)}
	for i := range d.Flags {
		f := &d.Flags[i].Filters
		for at, fl := range f.All() {
			c.add(fl, f.Groups[at.Group].AggregationGroupTypeIndex, f.AggregationGroupTypeIndex)
		}
		if on := f.FeatureEnrollment; on != nil && *on {
			c.put("", "$feature_enrollment/"+d.Flags[i].Key, true, "true", false, "false")
		}
	}
	s := &Subjects{rand: rand.New(rand.NewPCG(seed, 0)), now: now, groups: make(map[string][]property)}
	for _, id := range slices.Sorted(maps.Keys(d.Cohorts)) {
		cohort := d.Cohorts[id]
		if cohort.Stored {
			s.cohorts = append(s.cohorts, id)
		}
		for leaf := range cohort.Properties.Leaves() {
			c.add(leaf)
		}
	}
	for owner, known := range c.seen {
		var list []property
		for _, name := range slices.Sorted(maps.Keys(known)) {
			list = append(list, property{name, known[name]})
		}
		if owner == "" {
			s.person = list
		} else {
			s.groups[owner] = list
		}
	}
	s.types = slices.Sorted(maps.Values(d.GroupTypes))
	return s
}

// A collector records the values that properties are compared with, by owner
// ("" is the person) and name.
type collector struct {
	types map[int]string
	seen  map[string]map[string][]any
}

func (c *collector) put(owner, name string, values ...any) {
	if c.seen[owner] == nil {
		c.seen[owner] = make(map[string][]any)
	}
	c.seen[owner][name] = append(c.seen[owner][name], values...)
}

func (c *collector) add(f *flags.Filter, aggregations ...flags.Aggregation) {
	owner := ""
	switch f.Type {
	case "cohort", "flag":
		return
	case "group":
		owner = c.groupOf(f, aggregations)
	}
	var value any
	if json.Unmarshal(f.Value, &value) != nil {
		value = nil
	}
	values, ok := value.([]any)
	if !ok || len(values) == 0 {
		values = []any{value}
	}
	c.put(owner, f.Key, values...)
}

func (c *collector) groupOf(f *flags.Filter, aggregations []flags.Aggregation) string {
	if f.GroupTypeIndex != nil {
		return c.types[*f.GroupTypeIndex]
	}
	for _, a := range aggregations {
		if i, ok := a.Index(); ok {
			return c.types[i]
		}
	}
	return ""
}

// Next returns the next subject.
func (s *Subjects) Next() *flags.Request {
	s.n++
	r := &flags.Request{
		DistinctID: fmt.Sprintf("subject-%d-%x", s.n, s.rand.Uint32()), Now: s.now,
		PersonProperties: s.properties(s.person), Groups: make(map[string]string), GroupProperties: make(map[string]map[string]any),
	}
	if s.rand.IntN(2) == 0 {
		r.DeviceID = fmt.Sprintf("device-%x", s.rand.Uint32())
	}
	for _, name := range s.types {
		if s.rand.IntN(4) == 0 {
			continue
		}
		r.Groups[name] = fmt.Sprintf("%s-%x", name, s.rand.Uint32())
		r.GroupProperties[name] = s.properties(s.groups[name])
	}
	for _, id := range s.cohorts {
		if s.rand.IntN(2) == 0 {
			r.Cohorts = append(r.Cohorts, id)
		}
	}
	return r
}

func (s *Subjects) properties(list []property) map[string]any {
	m := make(map[string]any, len(list))
	for _, p := range list {
		if s.rand.IntN(5) > 0 {
			m[p.name] = s.value(p.values)
		}
	}
	return m
}

// value returns one of the values that a property is compared with, or
// something close to it.
func (s *Subjects) value(values []any) any {
	v := values[s.rand.IntN(len(values))]
	if s.rand.IntN(3) > 0 && v != nil {
		return v
	}
	switch v := v.(type) {
	case string:
		return s.near(v)
	case float64:
		return v + []float64{-1, -0.5, 0.5, 1}[s.rand.IntN(4)]
	case bool:
		return !v
	}
	return []any{nil, "", "text", 0.0, 1.0, true, s.moment()}[s.rand.IntN(7)]
}

func (s *Subjects) near(text string) any {
	switch s.rand.IntN(6) {
	case 0:
		return strings.ToUpper(text)
	case 1:
		return "a" + text + "z"
	case 2:
		return s.moment()
	case 3:
		return bumped(text, 1-2*s.rand.IntN(2))
	case 4:
		return text[:len(text)/2]
	}
	if n, err := strconv.ParseFloat(text, 64); err == nil {
		return n + 1
	}
	return strings.ToLower(text)
}

// moment returns a time up to two years before or after now.
func (s *Subjects) moment() string {
	const days = 730
	return s.now.Add(time.Duration((s.rand.Float64()*2 - 1) * days * 24 * float64(time.Hour))).UTC().Format(time.RFC3339)
}

// bumped changes the last digit of a text, such as the last digit of a version.
func bumped(text string, by int) string {
	i := strings.LastIndexAny(text, "0123456789")
	if i < 0 {
		return text + "1"
	}
	return text[:i] + strconv.Itoa(max(0, int(text[i]-'0')+by)) + text[i+1:]
}
