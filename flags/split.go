package flags

import (
	"crypto/sha1"
	"encoding/binary"
	"encoding/json"
	"hash/crc32"
	"math"
	"slices"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/cespare/xxhash/v2"
	"github.com/twmb/murmur3"

	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
	"github.com/flagstaff-go/flagstaff/internal/served"
	"github.com/flagstaff-go/flagstaff/internal/text"
)

// A RuleSplit is how another product splits (rules.md §9): an unsigned integer of a text is
// compared with ends, in ascending order. The first end that is above it has the value.
type RuleSplit struct {
	Hash     string // one of rules.md §9.1
	HashSeed uint32 // of "murmur3_32"
	Modulus  uint64 // 0: the whole hash

	// The text is Prefix, the subject and Suffix. The subject is the identifier, or the
	// property with the name Subject, if that is a text or an integer.
	Prefix, Suffix, Subject string

	Path     string // to the subject within the property, as in [Comparison]
	TextOnly bool   // an integer is not a subject
	Decimal  bool   // each number but 0 is a subject, in as few digits as it needs and no exponent
	Empty    bool   // an empty text is a subject
	Group    *int   // the subject is the key, or a property, of the group of this type

	Ends   []uint64
	Values []json.RawMessage // one for each of the Ends

	// Rest is what those beyond all Ends get: "last", the last value, "continue" or
	// "return_default".
	Rest string

	// NoSubject is what those without a subject get: "first", the first value, "continue",
	// "return_default", or "hash": their subject is the empty text.
	NoSubject string
}

// Shares returns the percentage of those with a subject who get each of the Values, and at the
// end that of those beyond all Ends.
func (s *RuleSplit) Shares() []float64 {
	all := math.Ldexp(1, splitBits[s.Hash])
	if s.Modulus > 0 {
		all = float64(s.Modulus)
	}
	shares := make([]float64, len(s.Ends)+1)
	before := 0.0
	for i, end := range s.Ends {
		here := min(float64(end), all)
		shares[i] = 100 * (here - before) / all
		before = here
	}
	shares[len(s.Ends)] = 100 * (all - before) / all
	return shares
}

// splitBits are how many bits hashes have.
var splitBits = map[string]int{
	"sha1_60": 60, "sha1_28": 28, "xxhash64": 64, "murmur3_32": 32, "crc32": 32, "fnv1a_32": 32, "fnv1a_32_utf16": 32, "fnv1a_32_utf16_twice": 32,
}

const (
	ruleOfSplit = "split"

	restLast       = "last"
	noSubjectFirst = "first"
	noSubjectHash  = "hash"
)

// splitHashes are the names of the hashes of splits. A text is the hash of its bytes in UTF-8,
// but for those of UTF-16.
var splitHashes = []string{
	hashSHA1Top60: "sha1_60", hashSHA1Top28: "sha1_28", hashXXHash: "xxhash64", hashMurmur3: "murmur3_32", hashCRC32: "crc32",
	hashFNV1a: "fnv1a_32", hashFNV1aUTF16: "fnv1a_32_utf16", hashFNV1aTwice: "fnv1a_32_utf16_twice",
}

// A splitHash is a place in splitHashes. It is a number and not a function, through which what
// is hashed would leave the stack.
type splitHash uint8

const (
	hashSHA1Top60 splitHash = iota
	hashSHA1Top28
	hashXXHash
	hashMurmur3
	hashCRC32
	hashFNV1a
	hashFNV1aUTF16
	hashFNV1aTwice
)

func (h splitHash) sum(seed uint32, b []byte) uint64 {
	switch h {
	case hashSHA1Top60:
		return sha1Top(b) >> 4
	case hashSHA1Top28:
		return sha1Top(b) >> 36
	case hashXXHash:
		return xxhash.Sum64(b)
	case hashMurmur3:
		return uint64(murmur3.SeedSum32(seed, b))
	case hashCRC32:
		return uint64(crc32IEEE(b))
	case hashFNV1a:
		return uint64(fnv1a(b))
	case hashFNV1aUTF16:
		return uint64(fnv1aUTF16(b))
	}
	var digits [10]byte
	return uint64(fnv1a(strconv.AppendUint(digits[:0], uint64(fnv1aUTF16(b)), 10)))
}

// sha1Top returns the first 64 bits of the SHA-1 of a text.
func sha1Top(b []byte) uint64 {
	sum := sha1.Sum(b)
	// The sum was just written in words of 32 bits. To load 64 at once would have to
	// wait until both are in the cache.
	return uint64(binary.BigEndian.Uint32(sum[0:4]))<<32 | uint64(binary.BigEndian.Uint32(sum[4:8]))
}

const (
	fnvOffset = 2166136261
	fnvPrime  = 16777619
)

// fnv1a is that of hash/fnv, which would allocate.
func fnv1a(b []byte) uint32 {
	h := uint32(fnvOffset)
	for _, c := range b {
		h = (h ^ uint32(c)) * fnvPrime
	}
	return h
}

// crc32IEEE is ChecksumIEEE of hash/crc32, which would take what is hashed from the stack.
func crc32IEEE(b []byte) uint32 {
	crc := ^uint32(0)
	for _, c := range b {
		crc = crc32.IEEETable[byte(crc)^c] ^ crc>>8
	}
	return ^crc
}

// fnv1aUTF16 takes in the units of UTF-16 in place of bytes, as JavaScript has them.
func fnv1aUTF16(b []byte) uint32 {
	h := uint32(fnvOffset)
	for i := 0; i < len(b); {
		r, size := utf8.DecodeRune(b[i:])
		i += size
		if high, low := utf16.EncodeRune(r); high != utf8.RuneError {
			h = (h ^ uint32(high)) * fnvPrime
			r = low
		}
		h = (h ^ uint32(r)) * fnvPrime
	}
	return h
}

// A compiledSplit is what a RuleSplit is compiled to.
type compiledSplit struct {
	hash           splitHash
	seed           uint32
	modulus        uint64
	prefix, suffix string
	owner          int      // whose property is the subject
	slot           int32    // of the property, or -1 for the distinct ID
	path           []string // to the subject within it
	textOnly       bool
	decimal        bool
	empty          bool // an empty text is a subject
	hashesNobody   bool // no subject is the empty text
	ends           []uint64
	values         []int32
	rest, nobody   splitOutcome
}

// A splitOutcome is what becomes of those who are in no share.
type splitOutcome struct {
	value    int32 // or -1
	fallback bool  // they get the default; else the next rule is tried
}

func (c *compiler) compileSplit(f *compiledFlag, src *RuleSplit, at *path, value func(json.RawMessage) int32) *compiledSplit {
	s := &compiledSplit{
		hash: splitHash(slices.Index(splitHashes, src.Hash)), seed: src.HashSeed, modulus: src.Modulus, prefix: src.Prefix, suffix: src.Suffix,
		owner: ownerPerson, slot: -1, path: pathSteps(src.Path), textOnly: src.TextOnly, decimal: src.Decimal, empty: src.Empty, hashesNobody: src.NoSubject == noSubjectHash, ends: src.Ends,
	}
	if src.Group != nil || f.aggregation != ownerPerson {
		s.owner = c.groupOwner(f, src.Group, at)
	}
	for _, v := range src.Values {
		s.values = append(s.values, value(v))
	}
	switch {
	case src.Subject != "":
		s.slot = c.slot(s.owner, src.Subject)
	case s.owner != ownerPerson:
		s.slot = c.slot(s.owner, groupKeyName)
	}
	s.rest = splitOutcome{-1, src.Rest == onMissDefault}
	if src.Rest == restLast {
		s.rest.value = s.values[len(s.values)-1]
	}
	s.nobody = splitOutcome{-1, src.NoSubject == onMissDefault}
	if src.NoSubject == noSubjectFirst {
		s.nobody.value = s.values[0]
	}
	return s
}

// decide returns what becomes of a subject, if it is one. The text is hashed in buf.
func (s *compiledSplit) decide(subject string, is bool, buf []byte) splitOutcome {
	if !is && !s.hashesNobody {
		return s.nobody
	}
	h := s.hash.sum(s.seed, append(append(append(buf, s.prefix...), subject...), s.suffix...))
	if s.modulus > 0 {
		h %= s.modulus
	}
	for i, end := range s.ends {
		if h < end {
			return splitOutcome{value: s.values[i]}
		}
	}
	return s.rest
}

// splitSubject returns the subject of a split, if there is one. Other products do not cut it.
func (in *Input) splitSubject(s *compiledSplit) (subject string, ok bool) {
	if s.slot < 0 {
		return in.uncut, in.uncut != "" || s.empty
	}
	p := in.property(s.slot)
	if p != nil && s.path != nil {
		p = follow(p.raw, s.path, new(slotValue))
	}
	if p == nil || p.kind != jsonscan.String && (p.kind != jsonscan.Number || s.textOnly) {
		return "", false
	}
	if s.decimal && p.kind == jsonscan.Number {
		n, ok := in.number(p)
		start := len(in.buf)
		in.buf = strconv.AppendFloat(in.buf, n, 'f', -1, 64)
		return sharedString(in.buf[start:]), ok && n != 0
	}
	if subject = in.text(p); p.kind == jsonscan.String {
		return subject, subject != "" || s.empty
	}
	if n, err := strconv.ParseInt(subject, 10, 64); err != nil {
		return "", false
	} else if n == 0 {
		subject = "0" // also for -0
	}
	return subject, true
}

// decision returns what an outcome of rule i comes to.
func (o splitOutcome) decision(set *compiledRules, i int32) (d decision, ended bool) {
	if o.value < 0 {
		return decision{set.defaultValue, reasonAt(reasonRuleMiss, i)}, o.fallback
	}
	return decision{o.value, reasonAt(reasonRuleMatch, i)}, true
}

// splitOf reads a split (rules.md §9).
func (m *record) splitOf(name string) *RuleSplit {
	v, ok := m.need(name)
	if !ok {
		return nil
	}
	s := m.record(m.path(name), v, "hash", "hash_seed", "modulus", "prefix", "suffix", "subject", "path", "text_only", "decimal", "hash_empty", "group_type_index", "ends", "values", "rest", "no_subject")
	out := &RuleSplit{
		Hash: s.str("hash"), Rest: s.one("rest", restLast, onMissContinue, onMissDefault),
		NoSubject: s.one("no_subject", noSubjectFirst, onMissContinue, onMissDefault, noSubjectHash),
	}
	if m.fault == nil && !slices.Contains(splitHashes, out.Hash) {
		m.fail(codeInvalid, s.path("hash"), "there is no such hash")
	}
	if s.has("hash_seed") {
		out.HashSeed = uint32(m.unsigned(s.path("hash_seed"), s.members["hash_seed"], 32))
	}
	if s.has("modulus") {
		if out.Modulus = m.unsigned(s.path("modulus"), s.members["modulus"], 64); out.Modulus == 0 {
			m.fail(codeInvalid, s.path("modulus"), "want a number above 0")
		}
	}
	for name, to := range map[string]*string{"prefix": &out.Prefix, "suffix": &out.Suffix, "subject": &out.Subject, "path": &out.Path} {
		if t := s.optionalText(name); t != nil {
			*to = *t
		}
	}
	if out.Path != "" && (out.Path[0] != '/' || out.Subject == "") {
		m.fail(codeInvalid, s.path("path"), "want a JSON pointer, such as /city, within the subject")
	}
	for name, to := range map[string]*bool{"text_only": &out.TextOnly, "decimal": &out.Decimal, "hash_empty": &out.Empty} {
		if s.has(name) {
			*to = s.bool(name)
		}
	}
	if s.has("group_type_index") {
		n, ok := integer(s.members["group_type_index"])
		if !ok || n < 0 || n > served.MaxGroupTypeIndex {
			m.fail(codeInvalid, s.path("group_type_index"), "want the index of a group type")
		}
		out.Group = new(int(n))
	}
	for i, v := range s.list("ends", maxEnds, "ends") {
		end := m.unsigned(s.path("ends")+"/"+strconv.Itoa(i), v, 64)
		if i > 0 && end < out.Ends[i-1] {
			m.fail(codeInvalid, s.path("ends"), "want numbers in ascending order")
		}
		out.Ends = append(out.Ends, end)
	}
	for i, v := range s.list("values", maxEnds, "values") {
		if fault := typeFault(m.kind, v); fault != "" {
			m.fail(codeInvalid, s.path("values")+"/"+strconv.Itoa(i), "%s", fault)
		}
		out.Values = append(out.Values, compact(v))
	}
	if m.fault == nil && (len(out.Ends) != len(out.Values) || len(out.Ends) == 0) {
		m.fail(codeInvalid, s.path("ends"), "want one for each value, and one value at least")
	}
	return out
}

const maxEnds = 1000

// unsigned returns an unsigned integer, which is a text: readers of JSON lose digits of
// numbers.
func (r *ruleReader) unsigned(at string, v jsonscan.Value, bits int) uint64 {
	s, _ := text.Str(v)
	n, err := strconv.ParseUint(s, 10, bits)
	if v.Kind() != jsonscan.String || err != nil || strconv.FormatUint(n, 10) != s {
		r.fail(codeInvalid, at, "want an unsigned integer of at most %d bits, as a text", bits)
	}
	return n
}

// split writes a split.
func (e *encoder) split(s *RuleSplit) {
	e.raw(`{`)
	e.textMember("hash", s.Hash)
	if s.HashSeed != 0 {
		e.textMember("hash_seed", strconv.FormatUint(uint64(s.HashSeed), 10))
	}
	if s.Modulus != 0 {
		e.textMember("modulus", strconv.FormatUint(s.Modulus, 10))
	}
	e.textMember("prefix", s.Prefix)
	e.textMember("suffix", s.Suffix)
	e.textMember("subject", s.Subject)
	e.textMember("path", s.Path)
	if s.TextOnly {
		e.member("text_only").bool(true)
	}
	if s.Decimal {
		e.member("decimal").bool(true)
	}
	if s.Empty {
		e.member("hash_empty").bool(true)
	}
	if s.Group != nil {
		e.member("group_type_index").int(int64(*s.Group))
	}
	encodeList(e, "ends", s.Ends, func(n *uint64) { e.text(strconv.FormatUint(*n, 10)) })
	encodeList(e, "values", s.Values, func(v *json.RawMessage) { e.json(*v) })
	e.textMember("rest", s.Rest)
	e.textMember("no_subject", s.NoSubject)
	e.raw(`}`)
}
