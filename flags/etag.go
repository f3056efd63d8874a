package flags

import (
	"encoding/binary"
	"encoding/json"
	"hash/maphash"
	"iter"
	"maps"
	"math"
	"slices"
	"strconv"
	"sync"

	"github.com/cespare/xxhash/v2"

	"github.com/flagstaff-go/flagstaff/internal/served"
)

// A flagSum identifies the definition of a flag.
type flagSum struct {
	digest uint64 // the same in every process
	seal   uint64 // of this process: nobody can make another definition with it
}

// A modelSum is the flagSum of a Flag.
type modelSum struct {
	flagSum
	faulty  bool // something could not be understood, about which sums say nothing
	depends bool // a filter is on a flag
}

var sealSeed = maphash.MakeSeed()

// hashContent computes the digests of everything in definitions and options that can
// change an answer: of each flag, of what they have in common, and of all. Each
// field is written with its length or presence, so that no two different
// definitions feed the hash the same bytes. Sums of unchanged flags that a DocumentReader
// or an earlier Snapshot has are not computed again.
func (c *compiler) hashContent(p *Snapshot) {
	d := c.d
	c.s.common = xxhash.Sum64(make(contentHash, 0, 512).common(d, c.o))
	if d.sums.areOf(d.Flags) {
		c.sums = d.sums.of(d.Flags)
	} else {
		c.sums = sumsOf(d.Flags, p)
	}
	all := make(contentHash, 0, 32+8*len(d.Flags)).digest(c.s.common).number(int64(len(d.Flags)))
	for i := range c.sums {
		all = all.digest(c.sums[i].digest)
	}
	c.s.etag = strconv.FormatUint(xxhash.Sum64(all)|1<<63, 16)
}

// keptSums are the sums of the flags that a [DocumentReader] has read, which nobody
// changes. They are computed when they are first needed.
type keptSums struct {
	first *Flag // of the list, whose copies may have been changed
	once  sync.Once
	list  []modelSum
}

// keepSums returns the keptSums of a list of flags.
func keepSums(list []Flag) *keptSums {
	if len(list) == 0 {
		return nil
	}
	return &keptSums{first: &list[0]}
}

// areOf reports whether the sums are of a list of flags.
func (k *keptSums) areOf(list []Flag) bool { return k != nil && len(list) > 0 && &list[0] == k.first }

// of returns the sums of the list. It is safe for concurrent use.
func (k *keptSums) of(list []Flag) []modelSum {
	k.once.Do(func() {
		if k.list == nil {
			k.list = sumsOf(list, nil)
		}
	})
	return k.list
}

// sumsOf computes the sums of flags, of which an earlier Snapshot may have the digests.
func sumsOf(list []Flag, p *Snapshot) []modelSum {
	sums := make([]modelSum, len(list))
	b := make(contentHash, 0, 512)
	next := 0
	for i := range list {
		f, sum := &list[i], &sums[i]
		b, sum.faulty, sum.depends = b[:0].definition(f)
		sum.seal = maphash.Bytes(sealSeed, b)
		if p != nil && !f.Deleted && next < len(p.order) {
			if old := &p.flags[p.order[next]]; old.sum.seal == sum.seal {
				sum.digest = old.sum.digest
			}
			next++
		}
		if sum.digest == 0 {
			sum.digest = xxhash.Sum64(b)
		}
	}
	return sums
}

// common hashes what is not of one flag.
func (b contentHash) common(d *Definitions, o CompileOptions) contentHash {
	b = b.text("3") // version of this encoding
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

func (b contentHash) digest(n uint64) contentHash { return binary.LittleEndian.AppendUint64(b, n) }

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
