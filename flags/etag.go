package flags

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"iter"
	"maps"
	"math"
	"slices"

	"github.com/flagstaff-go/flagstaff/internal/served"
)

// A digest identifies the content of a flag's definition, in every process: of two flags with
// one digest, neither has to be compiled for the other.
type digest [16]byte

func (b contentHash) sum() digest {
	all := sha256.Sum256(b)
	return digest(all[:len(digest{})])
}

// A modelDigest is the digest of a Flag.
type modelDigest struct {
	digest
	faulty  bool // something could not be understood, about which the digest says nothing
	depends bool // a filter is on a flag
}

// hashContent computes the digests of everything in definitions and options that can
// change an answer: of each flag, of what they have in common, and of all. Each
// field is written with its length or presence, so that no two different
// definitions feed the hash the same bytes.
func (c *compiler) hashContent() {
	b := make(contentHash, 0, 512).common(c.d, c.o)
	c.s.common = b.sum()
	all := append(make(contentHash, 0, 32+len(digest{})*len(c.d.Flags)), c.s.common[:]...).number(int64(len(c.d.Flags)))
	c.digests = make([]modelDigest, len(c.d.Flags))
	for i := range c.digests {
		m := &c.digests[i]
		b, m.faulty, m.depends = b[:0].definition(&c.d.Flags[i])
		m.digest = b.sum()
		all = append(all, m.digest[:]...)
	}
	etag := all.sum()
	c.s.etag = hex.EncodeToString(etag[:])
}

// common hashes what is not of one flag.
func (b contentHash) common(d *Definitions, o CompileOptions) contentHash {
	b = b.text("4") // version of this encoding
	b = b.text(o.TimeZone.String())
	b = b.flag(o.Regexp != nil)
	b = b.number(int64(d.PropertyMatchingVersion))
	b = b.flag(d.MinimalFlagCalledEvents)
	b = b.text(d.BucketingHash)
	b = b.number(int64(len(d.GroupTypes)))
	for _, i := range slices.Sorted(maps.Keys(d.GroupTypes)) {
		b = b.number(int64(i))
		b = b.text(d.GroupTypes[i])
	}
	b = b.number(int64(len(d.Cohorts)))
	for _, id := range slices.Sorted(maps.Keys(d.Cohorts)) {
		c := d.Cohorts[id]
		b = b.number(id)
		b = b.flag(c.Stored)
		b = b.flag(c.Behavioral)
		b = b.flag(c.unreadable() != nil)
		b = b.flag(c.Properties != nil)
		if c.Properties != nil {
			b = b.node(c.Properties, 0)
		}
	}
	return b
}

// A contentHash collects the bytes to hash.
type contentHash []byte

func (b contentHash) number(n int64) contentHash {
	if 0 <= n && n < 64 {
		return append(b, byte(n<<1))
	}
	return binary.AppendVarint(b, n)
}

func (b contentHash) float(f float64) contentHash { return b.number(int64(math.Float64bits(f))) }

func (b contentHash) text(s string) contentHash { return append(b.number(int64(len(s))), s...) }

// flag writes 1 or 0 as number does.
func (b contentHash) flag(v bool) contentHash {
	if v {
		return append(b, 1<<1)
	}
	return append(b, 0)
}

// definition hashes a flag. faulty says that something of it could not be understood, and
// depends that a filter is on a flag.
func (b contentHash) definition(f *Flag) (_ contentHash, faulty, depends bool) {
	for i := range flagFields {
		if hash := flagFields[i].hash; hash != nil {
			b = hash(b, f)
		}
	}
	faulty = f.unreadable() != nil
	for _, fl := range f.Filters.All() {
		faulty, depends = faulty || fl.fault != nil, depends || fl.Type == "flag"
	}
	return b, faulty, depends
}

// filters hashes the filters of a flag.
func (b contentHash) filters(c *Filters) contentHash {
	if c.RuleSet != nil {
		e := encoder{full: true}
		e.ruleSet(c.RuleSet)
		return b.text(string(e.dst))
	}
	b = b.number(int64(c.Version))
	b = b.number(int64(c.AggregationGroupTypeIndex))
	b = b.flag(isTrue(c.EarlyExit))
	b = b.flag(isTrue(c.FeatureEnrollment))
	b = b.flag(c.Holdout != nil)
	if c.Holdout != nil {
		b = b.number(c.Holdout.ID)
		b = b.float(c.Holdout.ExclusionPercentage)
	}
	b = b.flag(c.Multivariate != nil)
	if c.Multivariate != nil {
		b = b.number(int64(len(c.Multivariate.Variants)))
		for _, v := range c.Multivariate.Variants {
			b = b.text(v.Key)
			b = b.float(v.RolloutPercentage)
		}
	}
	b = b.number(int64(len(c.Payloads)))
	if len(c.Payloads) > 0 {
		b = b.payloads(c)
	}
	b = b.number(int64(len(c.Groups)))
	for i := range c.Groups {
		g := &c.Groups[i]
		b = b.flag(g.RolloutPercentage != nil)
		if g.RolloutPercentage != nil {
			b = b.float(*g.RolloutPercentage)
		}
		b = b.flag(g.Variant != nil)
		if g.Variant != nil {
			b = b.text(*g.Variant)
		}
		b = b.number(int64(g.AggregationGroupTypeIndex))
		b = b.number(int64(len(g.Properties)))
		for j := range g.Properties {
			fl := &g.Properties[j]
			b = b.filter(fl)
		}
	}
	return b
}

// payloads is a part of definition that most flags do not need: to iterate allocates.
func (b contentHash) payloads(f *Filters) contentHash {
	for key, payload := range f.sortedPayloads() {
		b = b.text(key).text(sharedString(payload))
	}
	return b
}

// sortedPayloads iterates over the payloads in the order of their keys.
func (f *Filters) sortedPayloads() iter.Seq2[string, json.RawMessage] {
	if len(f.Payloads) <= 1 {
		return maps.All(f.Payloads)
	}
	return func(yield func(string, json.RawMessage) bool) {
		for _, key := range slices.Sorted(maps.Keys(f.Payloads)) {
			if !yield(key, f.Payloads[key]) {
				return
			}
		}
	}
}

func (b contentHash) filter(f *Filter) contentHash {
	b = b.text(f.Key)
	b = b.text(sharedString(f.Value))
	b = b.text(f.Operator)
	b = b.text(f.Type)
	b = b.flag(f.GroupTypeIndex != nil)
	if f.GroupTypeIndex != nil {
		b = b.number(int64(*f.GroupTypeIndex))
	}
	b = b.flag(f.Negation)
	b = b.flag(f.DependencyChain != nil)
	b = b.flag(f.fault != nil)
	if c := f.Comparison; c != (Comparison{}) { // of a leaf of a cohort
		for _, m := range c.members() {
			b = b.flag(*m.value)
		}
		for _, m := range c.texts() {
			b = b.text(m.value)
		}
	}
	return b
}

// node hashes a tree as deep as a compiled one can be.
func (b contentHash) node(n *CohortNode, depth int) contentHash {
	b = b.flag(n.Leaf != nil)
	if n.Leaf != nil {
		b = b.filter(n.Leaf)
		return b
	}
	b = b.text(n.Type)
	b = b.number(int64(len(n.Values)))
	if depth > served.MaxTreeGroups {
		return b
	}
	for i := range n.Values {
		b = b.node(&n.Values[i], depth+1)
	}
	return b
}
