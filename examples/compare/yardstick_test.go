package main_test

import (
	"crypto/sha1"
	"encoding/binary"
	"encoding/json"
	"math"
	"regexp"
	"testing"

	"github.com/cespare/xxhash/v2"
)

// The yardstick is code that a program could have by hand for exactly these
// flags, without a library: compiled conditions over numbered properties, which
// are read from the person's map when a condition first needs them.

type plan struct {
	xxhash     bool
	properties []string // by number
	flags      []plannedFlag
	byKey      map[string]int
}

type plannedFlag struct {
	always     bool
	prefix     string // of the text to hash
	conditions []plannedCondition
	variants   []string
}

type plannedCondition struct {
	filters []plannedFilter
	below   uint64 // hashes below it are inside the rollout
}

type plannedFilter struct {
	property int
	operator operator
	text     string
	number   int
	pattern  *regexp.Regexp
	version  uint64
}

// maxProperties is the number of properties that a plan may use.
const maxProperties = 16

// values are the properties that were read.
type values [maxProperties]any

const hashBits = 60

// A document has the part of publicDefinitions that the yardstick needs.
type document struct {
	Flags []struct {
		Key     string
		Filters struct {
			Groups []struct {
				Properties []struct {
					Key, Operator string
					Value         any
				}
				RolloutPercentage uint64 `json:"rollout_percentage"`
			}
			Multivariate struct{ Variants []struct{ Key string } }
		}
	}
}

func yardstick(useXXHash bool) func(testing.TB, []flag, bool) func() engine {
	return func(tb testing.TB, all []flag, _ bool) func() engine {
		definitions := encode(tb, publicDefinitions(all, ""))
		return func() engine {
			var d document
			if err := json.Unmarshal(definitions, &d); err != nil {
				tb.Fatal(err)
			}
			return d.plan(useXXHash)
		}
	}
}

func (d *document) plan(useXXHash bool) *plan {
	p := &plan{xxhash: useXXHash, flags: make([]plannedFlag, len(d.Flags)), byKey: make(map[string]int, len(d.Flags))}
	numbers := make(map[string]int)
	for i := range d.Flags {
		f, planned := &d.Flags[i], &p.flags[i]
		p.byKey[f.Key], planned.prefix = i, f.Key+"."
		for _, v := range f.Filters.Multivariate.Variants {
			planned.variants = append(planned.variants, v.Key)
		}
		for _, c := range f.Filters.Groups {
			pc := plannedCondition{below: math.MaxUint64}
			if c.RolloutPercentage < 100 {
				pc.below = c.RolloutPercentage * (1 << hashBits / 100)
			}
			for _, x := range c.Properties {
				n, ok := numbers[x.Key]
				if !ok {
					n = len(p.properties)
					numbers[x.Key] = n
					p.properties = append(p.properties, x.Key)
				}
				pf := plannedFilter{property: n, operator: operators[x.Operator]}
				switch pf.operator {
				case equals:
					pf.text = x.Value.(string)
				case above:
					pf.number = int(x.Value.(float64))
				case matches:
					pf.pattern = regexp.MustCompile(x.Value.(string))
				case versions:
					pf.version = packVersion(x.Value.(string))
				}
				pc.filters = append(pc.filters, pf)
			}
			planned.always = planned.always || len(pc.filters) == 0 && pc.below == math.MaxUint64
			planned.conditions = append(planned.conditions, pc)
		}
	}
	return p
}

// packVersion packs a version of three numbers into one number.
func packVersion(s string) uint64 {
	var packed, number uint64
	for i := range len(s) {
		if s[i] == '.' {
			packed, number = packed<<20|number, 0
		} else {
			number = number*10 + uint64(s[i]-'0')
		}
	}
	return packed<<20 | number
}

func (p *plan) subject(who person) subject { return &plannedSubject{p, who.id, who.properties} }

func (*plan) close() {}

type plannedSubject struct {
	*plan
	id         string
	properties map[string]any
}

func (s *plannedSubject) hash(prefix, suffix string) uint64 {
	var text [128]byte
	b := append(append(append(text[:0], prefix...), s.id...), suffix...)
	if s.xxhash {
		return xxhash.Sum64(b) >> (64 - hashBits)
	}
	sum := sha1.Sum(b)
	return binary.BigEndian.Uint64(sum[:]) >> (64 - hashBits)
}

func (s *plannedSubject) meets(c *plannedCondition, read *values) bool {
	for i := range c.filters {
		f := &c.filters[i]
		v := read[f.property]
		if v == nil {
			v = s.properties[s.plan.properties[f.property]]
			read[f.property] = v
		}
		ok := false
		switch f.operator {
		case equals:
			text, is := v.(string)
			ok = is && text == f.text
		case above:
			number, is := v.(int)
			ok = is && number > f.number
		case matches:
			text, is := v.(string)
			ok = is && f.pattern.MatchString(text)
		case versions:
			text, is := v.(string)
			ok = is && packVersion(text) >= f.version
		}
		if !ok {
			return false
		}
	}
	return true
}

func (s *plannedSubject) has(f *plannedFlag, read *values) bool {
	for i := range f.conditions {
		c := &f.conditions[i]
		if s.meets(c, read) && (c.below == math.MaxUint64 || s.hash(f.prefix, "") < c.below) {
			return true
		}
	}
	return false
}

func (s *plannedSubject) enabled(key string) bool {
	i, ok := s.byKey[key]
	if !ok {
		return false
	}
	f := &s.flags[i]
	if f.always {
		return true
	}
	var read values
	return s.has(f, &read)
}

func (s *plannedSubject) variant(key string) string {
	i, ok := s.byKey[key]
	if !ok {
		return ""
	}
	f := &s.flags[i]
	return f.variants[s.hash(f.prefix, "variant")/(1<<hashBits/uint64(len(f.variants)))]
}

func (s *plannedSubject) all() int {
	var read values
	n := 0
	for i := range s.flags {
		if s.has(&s.flags[i], &read) {
			n++
		}
	}
	return n
}
