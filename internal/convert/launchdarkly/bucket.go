package launchdarkly

import (
	"cmp"
	"encoding/json"
	"sort"
	"strconv"

	"github.com/flagstaff-go/flagstaff/flags"
)

// points is how many numbers the first 60 bits of a SHA-1 can be.
const points = 1 << 60

// bucketOf is the share of a number, with the rounding of the SDKs.
func bucketOf(n uint64) float32 { return float32(n) / float32(points-1) }

// endBelow returns the first number whose share is not below a sum of weights.
func endBelow(sum float32) uint64 {
	return uint64(sort.Search(points, func(n int) bool { return !(bucketOf(uint64(n)) < sum) }))
}

// split returns the split of a rollout, without shares that nobody is in. key and salt are those
// of the flag.
func (c *converter) split(r *rollout, key, salt string, values []json.RawMessage) *flags.RuleSplit {
	s := &flags.RuleSplit{Hash: "sha1_60", Rest: "last", NoSubject: "first", Prefix: key + "." + salt + "."}
	if r.Seed != nil {
		s.Prefix = strconv.Itoa(*r.Seed) + "."
	}
	var sum float32
	for i, v := range r.Variations {
		sum += float32(v.Weight) / 100000.0
		if end := endBelow(sum); len(s.Ends) == 0 && end > 0 || len(s.Ends) > 0 && end > s.Ends[len(s.Ends)-1] {
			s.Ends = append(s.Ends, end)
			s.Values = append(s.Values, values[i])
		}
	}
	if last := len(r.Variations) - 1; len(s.Ends) == 0 || s.Ends[len(s.Ends)-1] < points && string(s.Values[len(s.Values)-1]) != string(values[last]) {
		s.Ends, s.Values = append(s.Ends, points), append(s.Values, values[last]) // what lies beyond all sums
	}
	bucketBy := r.BucketBy
	if r.Kind == "experiment" {
		bucketBy = ""
	}
	c.subject(s, r.ContextKind, bucketBy)
	return s
}

// subject sets what a split hashes.
func (c *converter) subject(s *flags.RuleSplit, kind, bucketBy string) {
	a, err := c.attribute(kind, cmp.Or(bucketBy, "key"))
	if err != nil {
		c.problem("Bucket by %q: %v. Everybody counts as one without the attribute.", bucketBy, err)
	}
	if err == nil && a.name == "kind" {
		c.problem("A rollout is by the kind of context, so that everybody has one bucket. It is drawn as if nobody had one.")
	}
	s.Group = a.group
	s.Subject, s.Path, s.Empty = a.property, a.path, true
	if a.isKey {
		s.Subject, s.Empty = "", false
	}
}
