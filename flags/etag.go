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

	"github.com/cespare/xxhash/v2"
)

// A flagSum identifies the definition of a flag.
type flagSum struct {
	digest uint64 // the same in every process
	seal   uint64 // of this process: nobody can make another definition with it
}

// A modelSum is the flagSum of a Flag.
type modelSum struct {
	flagSum
	faulty bool // something could not be understood, about which sums say nothing
}

var sealSeed = maphash.MakeSeed()

// hashContent computes the digests of everything in definitions and options that can
// change an answer: of each flag, of what they have in common, and of all. Each
// field is written with its length or presence, so that no two different
// definitions feed the hash the same bytes. Sums that an earlier Snapshot has of
// unchanged flags are not computed again.
func (c *compiler) hashContent(p *Snapshot) {
	d := c.d
	var h contentHash
	h.common(d, c.o)
	c.s.common = xxhash.Sum64(h.buf)

	var all contentHash
	all.digest(c.s.common)
	all.number(int64(len(d.Flags)))
	all.buf = slices.Grow(all.buf, 8*len(d.Flags))
	c.sums = make([]modelSum, len(d.Flags))
	next := 0
	for i := range d.Flags {
		f := &d.Flags[i]
		h.buf, h.faulty = h.buf[:0], false
		h.definition(f)
		sum := modelSum{flagSum{seal: maphash.Bytes(sealSeed, h.buf)}, h.faulty}
		if p != nil && !f.Deleted && next < len(p.order) {
			if old := &p.flags[p.order[next]]; old.sum.seal == sum.seal {
				sum.digest = old.sum.digest
			}
			next++
		}
		if sum.digest == 0 {
			sum.digest = xxhash.Sum64(h.buf)
		}
		all.digest(sum.digest)
		c.sums[i] = sum
	}
	c.s.etag = strconv.FormatUint(xxhash.Sum64(all.buf)|1<<63, 16)
}

// common hashes what is not of one flag.
func (h *contentHash) common(d *Definitions, o CompileOptions) {
	h.text("3") // version of this encoding
	h.text(o.TimeZone.String())
	h.flag(o.Regexp != nil)
	h.number(int64(d.PropertyMatchingVersion))
	h.flag(d.MinimalFlagCalledEvents)
	h.text(d.BucketingHash)
	h.number(int64(len(d.GroupTypes)))
	for _, i := range slices.Sorted(maps.Keys(d.GroupTypes)) {
		h.number(int64(i))
		h.text(d.GroupTypes[i])
	}
	h.number(int64(len(d.Cohorts)))
	for _, id := range slices.Sorted(maps.Keys(d.Cohorts)) {
		c := d.Cohorts[id]
		h.number(id)
		h.flag(c.Stored)
		h.flag(c.Behavioral)
		h.flag(c.unreadable() != nil)
		h.flag(c.Properties != nil)
		if c.Properties != nil {
			h.node(c.Properties, 0)
		}
	}
}

// A contentHash collects the bytes to hash.
type contentHash struct {
	buf    []byte
	faulty bool // a flag or one of its filters could not be understood
}

func (h *contentHash) number(n int64) {
	if 0 <= n && n < 64 {
		h.buf = append(h.buf, byte(n<<1))
		return
	}
	h.buf = binary.AppendVarint(h.buf, n)
}

func (h *contentHash) digest(n uint64) { h.buf = binary.LittleEndian.AppendUint64(h.buf, n) }

func (h *contentHash) float(f float64) { h.number(int64(math.Float64bits(f))) }

func (h *contentHash) text(s string) {
	h.number(int64(len(s)))
	h.buf = append(h.buf, s...)
}

// flag writes 1 or 0 as number does.
func (h *contentHash) flag(b bool) {
	n := byte(0)
	if b {
		n = 1 << 1
	}
	h.buf = append(h.buf, n)
}

func (h *contentHash) fault(e *DefinitionError) {
	h.flag(e != nil)
	h.faulty = h.faulty || e != nil
}

func (h *contentHash) definition(f *Flag) {
	h.number(f.ID)
	h.text(f.Key)
	h.flag(f.Active)
	h.flag(f.Deleted)
	h.number(int64(f.Version))
	h.flag(f.EnsureExperienceContinuity)
	h.text(f.BucketingIdentifier)
	h.text(f.BucketingHash)
	h.text(f.EvaluationRuntime)
	h.number(int64(len(f.EvaluationContexts)))
	for _, t := range f.EvaluationContexts {
		h.text(t)
	}
	h.text(f.EvaluationContextsMatchMode)
	h.flag(f.IsRemoteConfiguration)
	h.flag(f.HasEncryptedPayloads)
	h.flag(f.HasExperiment == nil || *f.HasExperiment)
	h.fault(f.unreadable())
	c := &f.Filters
	h.number(int64(c.Version))
	h.number(int64(c.AggregationGroupTypeIndex))
	h.flag(isTrue(c.EarlyExit))
	h.flag(isTrue(c.FeatureEnrollment))
	h.flag(c.Holdout != nil)
	if c.Holdout != nil {
		h.number(c.Holdout.ID)
		h.float(c.Holdout.ExclusionPercentage)
	}
	h.flag(c.Multivariate != nil)
	if c.Multivariate != nil {
		h.number(int64(len(c.Multivariate.Variants)))
		for _, v := range c.Multivariate.Variants {
			h.text(v.Key)
			h.float(v.RolloutPercentage)
		}
	}
	h.number(int64(len(c.Payloads)))
	if len(c.Payloads) > 0 { // to iterate allocates, and most flags have none
		for key, payload := range c.sortedPayloads() {
			h.text(key)
			h.text(sharedString(payload))
		}
	}
	h.number(int64(len(c.Groups)))
	for i := range c.Groups {
		g := &c.Groups[i]
		h.flag(g.RolloutPercentage != nil)
		if g.RolloutPercentage != nil {
			h.float(*g.RolloutPercentage)
		}
		h.flag(g.Variant != nil)
		if g.Variant != nil {
			h.text(*g.Variant)
		}
		h.number(int64(g.AggregationGroupTypeIndex))
		h.number(int64(len(g.Properties)))
		for j := range g.Properties {
			h.filter(&g.Properties[j])
		}
	}
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

func (h *contentHash) filter(f *Filter) {
	h.text(f.Key)
	h.text(sharedString(f.Value))
	h.text(f.Operator)
	h.text(f.Type)
	h.flag(f.GroupTypeIndex != nil)
	if f.GroupTypeIndex != nil {
		h.number(int64(*f.GroupTypeIndex))
	}
	h.flag(f.Negation)
	h.flag(f.DependencyChain != nil)
	h.fault(f.fault)
}

// node hashes a tree as deep as a compiled one can be.
func (h *contentHash) node(n *CohortNode, depth int) {
	h.flag(n.Leaf != nil)
	if n.Leaf != nil {
		h.filter(n.Leaf)
		return
	}
	h.text(n.Type)
	h.number(int64(len(n.Values)))
	if depth > MaxTreeGroups {
		return
	}
	for i := range n.Values {
		h.node(&n.Values[i], depth+1)
	}
}
