package judge

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
	"github.com/flagstaff-go/flagstaff/internal/served"
)

// Read reads filters as a client has sent them, for the flag with a key. Members that
// nothing knows are for [Merge] to refuse. Errors are of type *[Error].
//
// Each value has the right type, form and range afterwards. Whether they fit
// together and mean something in a project is for [Judge] to say.
func Read(raw []byte, key string) (flags.Filters, error) {
	f, err := readFilters(raw, key)
	return f, about("filters", err)
}

// filterMembers are the members of filters in the order in which they are read.
var filterMembers = []struct {
	name string
	read func(*flags.Filters, jsonscan.Value) error
}{
	{"version", readVersion},
	{"multivariate", readMultivariate},
	{"aggregation_group_type_index", readAggregation},
	{"groups", readGroups},
	{"payloads", readPayloads},
	{"early_exit", func(f *flags.Filters, v jsonscan.Value) (err error) { f.EarlyExit, err = optionalBool(v); return }},
	{"feature_enrollment", func(f *flags.Filters, v jsonscan.Value) (err error) {
		f.FeatureEnrollment, err = optionalBool(v)
		return
	}},
	{"holdout", readHoldout},
}

func readFilters(raw []byte, key string) (flags.Filters, error) {
	var f flags.Filters
	o, err := parse(raw)
	if err != nil {
		return f, err
	}
	for _, member := range filterMembers {
		if o.has(member.name) {
			if err := member.read(&f, o.get(member.name)); err != nil {
				return flags.Filters{}, within(member.name, err)
			}
		}
	}
	readLegacy(&f, o, key)
	return f, nil
}

func readVersion(f *flags.Filters, v jsonscan.Value) error {
	if present(v) {
		return errVersion()
	}
	f.Version = 0
	return nil
}

func errVersion() error { return refuseAs(codeVersion, "is reserved and cannot be set") }

func readAggregation(f *flags.Filters, v jsonscan.Value) error {
	index, err := readGroupType(v)
	if f.AggregationGroupTypeIndex = flags.Inherited; index != nil {
		f.AggregationGroupTypeIndex = flags.ByGroup(*index)
	}
	return err
}

func readGroups(f *flags.Filters, v jsonscan.Value) error {
	if v.Kind() != jsonscan.Array {
		return unfit(v, "a list of condition sets")
	}
	f.Groups = nil
	for a := v.Array(); a.Next(); {
		i := len(f.Groups)
		if i == served.MaxGroups {
			return refuse("must have at most %d condition sets", served.MaxGroups)
		}
		g, err := readGroup(a.Value())
		if err != nil {
			return within(i, err)
		}
		f.Groups = append(f.Groups, g)
	}
	return nil
}

func readGroup(v jsonscan.Value) (flags.Condition, error) {
	var g flags.Condition
	if v.Kind() != jsonscan.Object {
		return g, unfit(v, "an object")
	}
	o := membersOf(v)
	var err error
	if g.Properties, err = readProperties(o.get("properties")); err != nil {
		return g, within("properties", err)
	}
	if v := o.get("rollout_percentage"); present(v) {
		n, err := percentage(v)
		if err != nil {
			return g, within("rollout_percentage", err)
		}
		g.RolloutPercentage = &n
	}
	if g.Variant, err = optionalText(o.get("variant")); err != nil {
		return g, within("variant", err)
	}
	const aggregation = "aggregation_group_type_index"
	if o.has(aggregation) {
		index, err := readGroupType(o.get(aggregation))
		if err != nil {
			return g, within(aggregation, err)
		}
		if g.AggregationGroupTypeIndex = flags.ByPerson; index != nil {
			g.AggregationGroupTypeIndex = flags.ByGroup(*index)
		}
	}
	if g.Description, err = displayed(o.get("description")); err != nil {
		return g, within("description", err)
	}
	g.SortKey, err = displayed(o.get("sort_key"))
	return g, within("sort_key", err)
}

// displayed reads a member that only people look at. Any type is allowed
// (evaluation.md §1.4), but nobody writes anything but text.
func displayed(v jsonscan.Value) (string, error) {
	if v.Kind() != jsonscan.String {
		return "", nil
	}
	return plainText(v, "text")
}

func readProperties(v jsonscan.Value) ([]flags.Filter, error) {
	if !present(v) {
		return nil, nil
	}
	if v.Kind() != jsonscan.Array {
		return nil, unfit(v, "a list of properties")
	}
	var list []flags.Filter
	for a := v.Array(); a.Next(); {
		i := len(list)
		if i == served.MaxProperties {
			return nil, refuse("must have at most %d properties", served.MaxProperties)
		}
		if a.Value().Kind() != jsonscan.Object {
			return nil, within(i, unfit(a.Value(), "an object"))
		}
		p, err := readProperty(membersOf(a.Value()), flagTypes)
		if err != nil {
			return nil, within(i, err)
		}
		list = append(list, p)
	}
	return list, nil
}

// IsVariantKey reports whether a text may be the key of a variant.
func IsVariantKey(text string) bool { return served.IsVariantKey(text) }

func readMultivariate(f *flags.Filters, v jsonscan.Value) error {
	f.Multivariate = nil
	if !present(v) {
		return nil
	}
	if v.Kind() != jsonscan.Object {
		return unfit(v, "an object with a list of variants")
	}
	list, err := readVariants(memberOf(v, "variants"))
	f.Multivariate = &flags.Multivariate{Variants: list}
	return within("variants", err)
}

func readVariants(v jsonscan.Value) ([]flags.Variant, error) {
	var list []flags.Variant
	for a := v.Array(); a.Next(); {
		i := len(list)
		if i == served.MaxVariants {
			return nil, refuse("must have at most %d variants", served.MaxVariants)
		}
		x, err := readVariant(a.Value())
		if err != nil {
			return nil, within(i, err)
		}
		list = append(list, x)
	}
	if len(list) == 0 {
		return nil, unfit(v, "a list of at least one variant")
	}
	return list, nil
}

func readVariant(v jsonscan.Value) (flags.Variant, error) {
	var x flags.Variant
	if v.Kind() != jsonscan.Object {
		return x, unfit(v, "an object")
	}
	o := membersOf(v)
	key, ok := str(o.get("key"))
	if !ok || !IsVariantKey(key) {
		return x, within("key", unfit(o.get("key"), "1 to 400 letters, digits, underscores, dots, slashes and hyphens"))
	}
	x.Key = key
	var err error
	if x.Name, err = optionalText(o.get("name")); err != nil {
		return x, within("name", err)
	}
	x.RolloutPercentage, err = percentage(o.get("rollout_percentage"))
	return x, within("rollout_percentage", err)
}

// readPayloads reads payloads as the texts that SDKs expect. Null is none, as the
// engine sees it.
func readPayloads(f *flags.Filters, v jsonscan.Value) error {
	f.Payloads = nil
	if !present(v) {
		return nil
	}
	if v.Kind() != jsonscan.Object {
		return unfit(v, "an object")
	}
	o := membersOf(v)
	slices.SortFunc(o.members, func(a, b member) int { return strings.Compare(a.name, b.name) })
	for _, m := range o.members {
		if !present(m.value) {
			continue
		}
		payload, err := readPayload(m.value)
		if err != nil {
			return within(shorten(m.name), err)
		}
		f.SetPayload(m.name, payload)
	}
	return nil
}

// readPayload returns a payload's JSON as text. What it contains is in no error: it
// may be secret.
func readPayload(v jsonscan.Value) (string, error) {
	if s, ok := str(v); ok {
		return s, nil
	}
	var b bytes.Buffer
	if err := json.Compact(&b, bytes.ToValidUTF8(v, []byte("\uFFFD"))); err != nil {
		return "", refuse("must be JSON")
	}
	return b.String(), nil
}

func readHoldout(f *flags.Filters, v jsonscan.Value) error {
	f.Holdout = nil
	if !present(v) {
		return nil
	}
	if v.Kind() != jsonscan.Object {
		return unfit(v, "an object with id and exclusion_percentage")
	}
	o := membersOf(v)
	id, ok := integer(o.get("id"))
	if !ok {
		return within("id", unfit(o.get("id"), "an integer"))
	}
	share, err := percentage(o.get("exclusion_percentage"))
	if err != nil {
		return within("exclusion_percentage", err)
	}
	f.Holdout = &flags.Holdout{ID: id, ExclusionPercentage: share}
	return nil
}

// readLegacy takes over super_groups and holdout_groups where they say what
// feature_enrollment and holdout say now, as the loader does (evaluation.md §3.3
// and §13.3). Otherwise they have no effect, and are dropped.
func readLegacy(f *flags.Filters, o object, key string) {
	var old object
	for _, name := range []string{"super_groups", "holdout_groups"} {
		if present(o.get(name)) {
			old.set(name, o.get(name))
		}
	}
	if len(old.members) == 0 {
		return
	}
	m, _ := flags.DecodeFilters(old.append(nil), key) // what means nothing is dropped
	if f.FeatureEnrollment == nil {
		f.FeatureEnrollment = m.FeatureEnrollment
	}
	if f.Holdout == nil && m.Holdout != nil {
		f.Holdout = m.Holdout
		f.Holdout.ExclusionPercentage = min(max(f.Holdout.ExclusionPercentage, 0), 100)
	}
}
