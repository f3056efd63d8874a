package flagd

import (
	"fmt"
	"math"
	"sort"
	"strings"
	"unicode"

	"github.com/twmb/murmur3"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/convert/jsonlogic"
	"github.com/flagstaff-go/flagstaff/internal/convert/logic"
)

// A drawing is what the operator fractional comes to for those for whom a filter holds: a draw by
// a subject, or a constant.
type drawing struct {
	when   flags.Filter
	value  jsonlogic.Value // without a split
	split  *flags.RuleSplit
	shares []share
}

// A share is a variant, and the end of the hashes that get it.
type share struct {
	variant any
	end     uint64
}

// hashes is how many there are.
const hashes = 1 << 32

// fractional returns what the operator comes to, in cases that exclude each other.
func (b *flagBuild) fractional(arguments any) ([]drawing, error) {
	always := func(v jsonlogic.Value) []drawing { return []drawing{{when: logic.True(), value: v}} }
	list, ok := arguments.([]any)
	if !ok {
		if _, computed := arguments.(map[string]any); computed {
			return nil, fmt.Errorf("the operator fractional with arguments that are computed cannot be converted")
		}
		return always(jsonlogic.Value{}), nil
	}
	if len(list) == 0 {
		return always(jsonlogic.Value{}), nil
	}
	by, rest, err := b.subject(list)
	if err != nil {
		return nil, err
	}
	var out []drawing
	for _, d := range by {
		if d.split != nil || d.hashed() {
			shares, ok, err := b.shares(rest)
			ok = ok && (!b.old || len(list) > 1)
			switch {
			case err != nil:
				return nil, err
			case !ok:
				d = drawing{when: d.when}
			case d.split == nil:
				text := d.value.Constant.(constantSubject)
				d = drawing{when: d.when, value: jsonlogic.Value{Constant: at(shares, murmur3.StringSum32(string(text)))}}
			default:
				d.shares = shares
			}
		}
		out = append(out, d)
	}
	return out, nil
}

// A constantSubject is a text that all users are drawn with alike.
type constantSubject string

func (d *drawing) hashed() bool {
	_, ok := d.value.Constant.(constantSubject)
	return ok
}

// subject returns by what is drawn, and the shares behind it.
func (b *flagBuild) subject(list []any) (by []drawing, rest []any, err error) {
	key := func(when flags.Filter) drawing {
		return drawing{when: when, split: &flags.RuleSplit{Hash: "murmur3_32", Prefix: b.out.Key, NoSubject: "return_default"}}
	}
	if _, isShare := list[0].([]any); isShare {
		return []drawing{key(logic.True())}, list, nil
	}
	if m, ok := list[0].(map[string]any); ok && len(m) == 1 && m["cat"] != nil {
		d, err := b.joined(m["cat"])
		return d, list[1:], err
	}
	cases, err := b.converter.Cases(list[0])
	if err != nil {
		return nil, nil, err
	}
	for _, k := range cases {
		text, isText := k.Constant.(string)
		switch {
		case k.Fails:
			by = append(by, drawing{when: k.When, value: k.Value})
		case k.Property != nil && k.Property.Key == "distinct_id" && k.Property.Comparison.Path == "":
			by = append(by, drawing{when: k.When, split: &flags.RuleSplit{Hash: "murmur3_32", NoSubject: "return_default"}})
		case k.Property != nil:
			isText, isNull := k.Is("text"), k.Is("null")
			by = append(by,
				drawing{when: logic.And(k.When, isText), split: &flags.RuleSplit{
					Hash: "murmur3_32", Subject: k.Property.Key, Path: k.Property.Comparison.Path, TextOnly: true, NoSubject: "hash",
				}},
				key(logic.And(k.When, isNull)),
				drawing{when: logic.And(k.When, logic.Not(isText), logic.Not(isNull))})
			b.out.Note("Users whose %s is a list get the default variant here. flagd takes such a list for a share of its own.", name(k.Property))
		case isText:
			by = append(by, drawing{when: k.When, value: jsonlogic.Value{Constant: constantSubject(text)}})
		case k.Constant == nil:
			by = append(by, key(k.When))
		default: // flagd looks for a share in it, and finds none
			by = append(by, drawing{when: k.When})
		}
	}
	return by, list[1:], nil
}

// name returns what a property is called.
func name(f *flags.Filter) string {
	return f.Key + strings.ReplaceAll(f.Comparison.Path, "/", ".")
}

// joined returns the drawing by several texts that are put together, one of which may be an
// attribute.
func (b *flagBuild) joined(arguments any) ([]drawing, error) {
	list, ok := arguments.([]any)
	if !ok {
		return nil, fmt.Errorf("the operator cat can be converted with a list only")
	}
	var prefix, suffix string
	var subject *jsonlogic.Case
	for _, e := range list {
		cases, err := b.converter.Cases(e)
		if err != nil {
			return nil, err
		}
		if len(cases) != 1 {
			return nil, fmt.Errorf("the operator cat can be converted with constants and one attribute only")
		}
		k := &cases[0]
		text, ok := "", true
		switch {
		case k.Fails:
			ok = false
		case k.Property != nil && subject != nil:
			return nil, fmt.Errorf("the operator cat with two attributes cannot be converted")
		case k.Property != nil:
			subject = k
			continue
		default:
			text, ok = textOf(k.Constant)
		}
		if !ok {
			return []drawing{{when: logic.True(), value: jsonlogic.Value{Fails: true}}}, nil
		}
		if subject == nil {
			prefix += text
		} else {
			suffix += text
		}
	}
	several := len(list) > 1 // then spaces around it are removed
	if several {
		prefix, suffix = strings.TrimLeftFunc(prefix, unicode.IsSpace), strings.TrimRightFunc(suffix, unicode.IsSpace)
	}
	if subject == nil {
		if several {
			prefix = strings.TrimSpace(prefix)
		}
		return []drawing{{when: logic.True(), value: jsonlogic.Value{Constant: constantSubject(prefix)}}}, nil
	}
	split := &flags.RuleSplit{Hash: "murmur3_32", Prefix: prefix, Suffix: suffix, Subject: subject.Property.Key, Path: subject.Property.Comparison.Path, NoSubject: "hash"}
	if split.Subject == "distinct_id" && split.Path == "" {
		split.Subject = ""
		return []drawing{{when: logic.True(), split: split}}, nil
	}
	split.Decimal = true
	if several && (prefix == "" || suffix == "") {
		b.out.Note("Users whose %s is a text with spaces around it may get another variant: here they are drawn with the spaces.", name(subject.Property))
	}
	zero := subject.Compare("===", 0.0) // is not drawn with
	is := logic.Or(subject.Is("text"), subject.Is("null"), subject.Is("number"))
	return []drawing{
		{when: zero, value: jsonlogic.Value{Constant: constantSubject(prefix + "0" + suffix)}},
		{when: logic.And(is, logic.Not(zero)), split: split},
		{when: logic.Not(is), value: jsonlogic.Value{Fails: true}},
	}, nil
}

// textOf returns the text of a constant that cat takes.
func textOf(v any) (string, bool) {
	switch v := v.(type) {
	case nil:
		return "", true
	case string:
		return v, true
	case float64:
		return jsonlogic.Digits(v), true
	}
	return "", false
}

// shares returns the ends of the shares. It is not ok if flagd takes them for a mistake, and then
// gives the default variant.
func (b *flagBuild) shares(list []any) (out []share, ok bool, err error) {
	var variants []any
	var weights []float64
	for _, e := range list {
		cases, err := b.converter.Cases(e)
		if err != nil {
			return nil, false, fmt.Errorf("of the operator fractional: %w", err)
		}
		if len(cases) != 1 || cases[0].Property != nil {
			return nil, false, fmt.Errorf("shares that depend on the user cannot be converted")
		}
		parts, isList := cases[0].Constant.([]any)
		if cases[0].Fails || !isList || len(parts) == 0 {
			return nil, false, nil
		}
		_, isText := parts[0].(string)
		switch parts[0].(type) {
		case []any, map[string]any:
			return nil, false, nil
		}
		if b.old && !isText {
			return nil, false, nil
		}
		weight := 1.0
		if len(parts) > 1 {
			w, isNumber := parts[1].(float64)
			switch {
			case isNumber:
				weight = w
			case parts[1] != nil && !b.old:
				return nil, false, nil
			}
		}
		variants, weights = append(variants, parts[0]), append(weights, weight)
	}
	if b.old {
		out, err = oldShares(variants, weights)
		return out, err == nil, err
	}
	out, ok = newShares(variants, weights)
	return out, ok, nil
}

// newShares are parts of all hashes: h · total / 2^32 is compared with the sums of weights.
func newShares(variants []any, weights []float64) (out []share, ok bool) {
	var total uint64
	for i, w := range weights {
		if w != math.Trunc(w) || w > math.MaxInt32 {
			return nil, false
		}
		weights[i] = max(w, 0)
		total += uint64(weights[i])
	}
	if total == 0 || total > math.MaxInt32 {
		return nil, false
	}
	var sum uint64
	for i, w := range weights {
		sum += uint64(w)
		out = append(out, share{variants[i], (sum<<32 + total - 1) / total})
	}
	return out, true
}

// oldShares are parts of the absolute values of hashes with a sign, as percentages of the largest:
// the lower half of the hashes in their order, and the upper one backwards. What is beyond all
// percentages is an error.
func oldShares(variants []any, weights []float64) (out []share, err error) {
	total := 0
	for _, w := range weights {
		if math.Abs(w) > math.MaxInt32 {
			return nil, fmt.Errorf("a weight of %v is too large to be converted", w)
		}
		total += int(w)
	}
	const half = hashes / 2
	type part struct {
		variant    any
		start, end int // of absolute values
	}
	var parts []part
	percent, start := 0.0, 0
	for i, w := range weights {
		if total != 0 {
			percent += 100 * float64(int(w)) / float64(total)
		}
		end := sort.Search(half+1, func(n int) bool { return oldBucket(n) >= percent })
		if end > start {
			parts = append(parts, part{variants[i], start, end})
			start = end
		}
	}
	if start <= half {
		parts = append(parts, part{beyond, start, half + 1})
	}
	for _, p := range parts {
		out = append(out, share{p.variant, uint64(min(p.end, half))})
	}
	for i := len(parts) - 1; i >= 0; i-- {
		p := parts[i]
		out = append(out, share{p.variant, uint64(min(hashes-p.start+1, hashes))})
	}
	return out, nil
}

// beyond is the variant of those beyond all percentages: the empty text, which no flag has.
const beyond = ""

func oldBucket(n int) float64 { return float64(n) / math.MaxInt32 * 100 }

// at returns the variant for a hash.
func at(shares []share, hash uint32) any {
	for _, s := range shares {
		if uint64(hash) < s.end {
			return s.variant
		}
	}
	return nil
}
