package judge

import (
	"bytes"
	"encoding/json"
	"maps"
	"math"
	"regexp"
	"slices"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
)

// Limits of the filters of one flag, besides their size.
const (
	maxGroups     = 1000 // condition sets
	maxProperties = 1000 // of one condition set
	maxVariants   = 500
	maxVariantKey = 400 // bytes
)

// A Subject is the flag that filters are for.
type Subject struct {
	// ID is 0 for a flag that is being created.
	ID  int64
	Key string

	// Create asks for a condition set: a flag may lose its last one, but not
	// begin without.
	Create bool

	// RemoteConfig forces the rollout that a flag for remote configuration has,
	// see [RemoteConfig].
	RemoteConfig bool
}

// Filters checks the filters of a flag by the rules of management.md §13.5, and
// returns them as they are to be stored. To do so again changes nothing. Payloads
// must be readable: encrypt them afterwards.
//
// Errors are of type *[Error], or failures of the engine.
func Filters(raw json.RawMessage, s Subject, w *World) (json.RawMessage, error) {
	out, err := normalize(raw, s, w)
	return out, about("filters", err)
}

func normalize(raw json.RawMessage, s Subject, w *World) (json.RawMessage, error) {
	o, err := parse(raw, w.project.MaxBytes)
	if err != nil {
		return nil, err
	}
	f, err := readFilters(o, s.Key)
	if err != nil {
		return nil, err
	}
	if err := f.checkPayloads(); err != nil {
		return nil, err
	}
	if s.RemoteConfig {
		f.forceRollout()
	}
	if s.Create && len(f.Groups) == 0 {
		return nil, within("groups", refuse("must have at least one condition set"))
	}
	if err := f.checkGroupTypes(w.project.GroupTypes); err != nil {
		return nil, err
	}
	if err := w.checkDependencies(f, s); err != nil {
		return nil, err
	}
	if err := w.checkCohorts(f); err != nil {
		return nil, err
	}
	out, err := encode(f)
	if err != nil {
		return nil, err
	}
	// Nothing may be stored that could not be sent back.
	if len(out) > w.project.MaxBytes {
		return nil, tooLarge(len(out), w.project.MaxBytes)
	}
	if err := w.lintFlag(f, out); err != nil {
		return nil, err
	}
	return out, nil
}

// filters are the filters of a flag (evaluation.md §1.3).
type filters struct {
	Groups            []group           `json:"groups"`
	Multivariate      *multivariate     `json:"multivariate,omitempty"`
	Aggregation       *int              `json:"aggregation_group_type_index,omitempty"`
	Payloads          map[string]string `json:"payloads,omitempty"`
	EarlyExit         *bool             `json:"early_exit,omitempty"`
	FeatureEnrollment *bool             `json:"feature_enrollment,omitempty"`
	Holdout           *flags.Holdout    `json:"holdout,omitempty"`

	variants     map[string]bool // by key
	dependencies []*Flag
}

// A group is a condition set (evaluation.md §1.4).
type group struct {
	Properties        []property        `json:"properties"`
	RolloutPercentage *float64          `json:"rollout_percentage,omitempty"`
	Variant           *string           `json:"variant,omitempty"`
	Aggregation       flags.Aggregation `json:"aggregation_group_type_index,omitzero"`

	// What people see. SortKey does not order anything.
	Description string `json:"description,omitempty"`
	SortKey     string `json:"sort_key,omitempty"`
}

type multivariate struct {
	Variants []variant `json:"variants"`
}

type variant struct {
	Key               string  `json:"key"`
	Name              *string `json:"name,omitempty"`
	RolloutPercentage float64 `json:"rollout_percentage"`
}

// readFilters reads the filters of the flag with the given key, and judges them as
// far as that takes nothing else.
func readFilters(o object, key string) (*filters, error) {
	if present(o.values["version"]) {
		return nil, within("version", refuseAs(codeVersion, "is reserved and cannot be set"))
	}
	f := new(filters)
	for _, member := range []struct {
		name string
		read func(jsonscan.Value) error
	}{
		{"multivariate", f.readVariants},
		{"aggregation_group_type_index", func(v jsonscan.Value) (err error) { f.Aggregation, err = readGroupType(v); return }},
		{"groups", f.readGroups},
		{"payloads", f.readPayloads},
		{"early_exit", func(v jsonscan.Value) (err error) { f.EarlyExit, err = optionalBool(v); return }},
		{"feature_enrollment", func(v jsonscan.Value) (err error) { f.FeatureEnrollment, err = optionalBool(v); return }},
		{"holdout", f.readHoldout},
	} {
		if err := member.read(o.values[member.name]); err != nil {
			return nil, within(member.name, err)
		}
	}
	return f, f.readLegacy(o, key)
}

func (f *filters) readGroups(v jsonscan.Value) error {
	f.Groups = []group{}
	if v == nil {
		return nil
	}
	if v.Kind() != jsonscan.Array {
		return unfit(v, "a list of condition sets")
	}
	for a := v.Array(); a.Next(); {
		i := len(f.Groups)
		if i == maxGroups {
			return refuse("must have at most %d condition sets", maxGroups)
		}
		g, err := readGroup(a.Value())
		if err == nil {
			err = f.checkGroup(&g)
		}
		if err != nil {
			return within(i, err)
		}
		f.Groups = append(f.Groups, g)
	}
	return nil
}

func readGroup(v jsonscan.Value) (group, error) {
	var g group
	if v.Kind() != jsonscan.Object {
		return g, unfit(v, "an object")
	}
	o := membersOf(v)
	var err error
	if g.Properties, err = readProperties(o.values["properties"]); err != nil {
		return g, within("properties", err)
	}
	if v := o.values["rollout_percentage"]; present(v) {
		n, err := percentage(v)
		if err != nil {
			return g, within("rollout_percentage", err)
		}
		g.RolloutPercentage = &n
	}
	if g.Variant, err = optionalText(o.values["variant"]); err != nil {
		return g, within("variant", err)
	}
	const aggregation = "aggregation_group_type_index"
	if v, ok := o.values[aggregation]; ok {
		index, err := readGroupType(v)
		if err != nil {
			return g, within(aggregation, err)
		}
		if g.Aggregation = flags.ByPerson; index != nil {
			g.Aggregation = flags.ByGroup(*index)
		}
	}
	if g.Description, err = displayed(o.values["description"]); err != nil {
		return g, within("description", err)
	}
	g.SortKey, err = displayed(o.values["sort_key"])
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

func readProperties(v jsonscan.Value) ([]property, error) {
	list := []property{}
	if !present(v) {
		return list, nil
	}
	if v.Kind() != jsonscan.Array {
		return nil, unfit(v, "a list of properties")
	}
	for a := v.Array(); a.Next(); {
		i := len(list)
		if i == maxProperties {
			return nil, refuse("must have at most %d properties", maxProperties)
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

// aggregation returns the index of the group type whose members a condition set
// is about; ok is false if it is about persons.
func (f *filters) aggregation(g *group) (index int, ok bool) {
	if g.Aggregation != flags.Inherited {
		return g.Aggregation.Index()
	}
	if f.Aggregation == nil {
		return 0, false
	}
	return *f.Aggregation, true
}

// checkGroup checks a condition set against the rest of the flag.
func (f *filters) checkGroup(g *group) error {
	if g.Variant != nil && !f.variants[*g.Variant] {
		if f.Multivariate == nil {
			return within("variant", refuse("must be null for a flag without variants, not %s", quote(*g.Variant)))
		}
		return within("variant", refuse("must be the key of a variant of the flag, not %s", quote(*g.Variant)))
	}
	index, grouped := f.aggregation(g)
	for i := range g.Properties {
		if err := g.Properties[i].checkOwner(index, grouped); err != nil {
			return within("properties", within(i, err))
		}
	}
	return nil
}

// checkOwner checks that a property is of whom its condition set is about. Flags
// are of everybody (evaluation.md §7.1).
func (p *property) checkOwner(index int, grouped bool) error {
	switch {
	case p.Type == "flag" || grouped == (p.Type == "group"):
	case grouped:
		return within("type", refuse("must be group or flag in a condition set about groups, not %s", p.Type))
	default:
		return within("type", refuse("must be person, person_metadata, cohort or flag in a condition set about persons, not group"))
	}
	if p.Type != "group" {
		return nil
	}
	if p.GroupTypeIndex == nil {
		p.GroupTypeIndex = &index
	}
	if *p.GroupTypeIndex != index {
		return within("group_type_index", refuse("must be %d as in the condition set, not %d", index, *p.GroupTypeIndex))
	}
	return nil
}

var variantKey = regexp.MustCompile(`^[a-zA-Z0-9_./-]+$`)

func (f *filters) readVariants(v jsonscan.Value) error {
	if !present(v) {
		return nil
	}
	if v.Kind() != jsonscan.Object {
		return unfit(v, "an object with a list of variants")
	}
	return within("variants", f.readVariantList(membersOf(v).values["variants"]))
}

func (f *filters) readVariantList(v jsonscan.Value) error {
	f.Multivariate, f.variants = new(multivariate), make(map[string]bool)
	for a := v.Array(); a.Next(); {
		i := len(f.Multivariate.Variants)
		if i == maxVariants {
			return refuse("must have at most %d variants", maxVariants)
		}
		x, err := f.readVariant(a.Value())
		if err != nil {
			return within(i, err)
		}
		f.Multivariate.Variants = append(f.Multivariate.Variants, x)
	}
	if len(f.Multivariate.Variants) == 0 {
		return unfit(v, "a list of at least one variant")
	}
	sum := 0.0
	for _, x := range f.Multivariate.Variants {
		sum += x.RolloutPercentage
	}
	// Only what float64 makes of 33.33, 33.33 and 33.34 is forgiven.
	if math.Abs(sum-100) > 1e-6 {
		return refuse("must have rollout percentages that sum to 100, not %v", sum)
	}
	return nil
}

func (f *filters) readVariant(v jsonscan.Value) (variant, error) {
	var x variant
	if v.Kind() != jsonscan.Object {
		return x, unfit(v, "an object")
	}
	o := membersOf(v)
	key, ok := str(o.values["key"])
	switch {
	case !ok || len(key) > maxVariantKey || !variantKey.MatchString(key):
		return x, within("key", unfit(o.values["key"], "1 to 400 letters, digits, underscores, dots, slashes and hyphens"))
	case f.variants[key]:
		return x, within("key", refuse("must be unique among the variants of the flag; %s is not", quote(key)))
	}
	f.variants[key] = true
	x.Key = key
	var err error
	if x.Name, err = optionalText(o.values["name"]); err != nil {
		return x, within("name", err)
	}
	x.RolloutPercentage, err = percentage(o.values["rollout_percentage"])
	return x, within("rollout_percentage", err)
}

func (f *filters) readPayloads(v jsonscan.Value) error {
	if !present(v) {
		return nil
	}
	if v.Kind() != jsonscan.Object {
		return unfit(v, "an object")
	}
	allowed, want := f.variants, "must have only keys of the flag's variants"
	if f.Multivariate == nil {
		allowed, want = map[string]bool{"true": true}, "must have only the key true for a flag without variants"
	}
	o := membersOf(v)
	f.Payloads = make(map[string]string)
	for _, key := range slices.Sorted(maps.Keys(o.values)) {
		if !present(o.values[key]) {
			continue // nothing, as the engine sees it
		}
		if !allowed[key] {
			return refuse("%s, not %s", want, quote(key))
		}
		payload, err := readPayload(o.values[key])
		if err != nil {
			return within(shorten(key), err)
		}
		f.Payloads[key] = payload
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

// checkPayloads checks that payloads are JSON, which encrypted ones are not.
func (f *filters) checkPayloads() error {
	for _, key := range slices.Sorted(maps.Keys(f.Payloads)) {
		if _, err := jsonscan.Parse([]byte(f.Payloads[key]), maxDepth); err != nil {
			return within("payloads", within(shorten(key), refuse("must be JSON, or text that contains JSON: text itself needs another pair of quotes")))
		}
	}
	return nil
}

func (f *filters) readHoldout(v jsonscan.Value) error {
	if !present(v) {
		return nil
	}
	if v.Kind() != jsonscan.Object {
		return unfit(v, "an object with id and exclusion_percentage")
	}
	o := membersOf(v)
	id, ok := integer(o.values["id"])
	if !ok {
		return within("id", unfit(o.values["id"], "an integer"))
	}
	share, err := percentage(o.values["exclusion_percentage"])
	if err != nil {
		return within("exclusion_percentage", err)
	}
	f.Holdout = &flags.Holdout{ID: id, ExclusionPercentage: share}
	return nil
}

// forceRollout gives everybody the value of a flag for remote configuration
// (management.md §13.3).
func (f *filters) forceRollout() {
	if len(f.Groups) == 0 {
		f.Groups = []group{{Properties: []property{}}}
	}
	for i := range f.Groups {
		if p := f.Groups[i].RolloutPercentage; p == nil || *p == 0 {
			f.Groups[i].RolloutPercentage = new(100.0)
		}
	}
}

// checkGroupTypes checks that the group types exist, if it is known which do.
func (f *filters) checkGroupTypes(known map[int]string) error {
	if known == nil {
		return nil
	}
	check := func(index int, ok bool) error {
		if _, exists := known[index]; !ok || exists {
			return nil
		}
		return within("aggregation_group_type_index", refuse("must be the index of a group type of the project, one of %v, not %d", slices.Sorted(maps.Keys(known)), index))
	}
	if f.Aggregation != nil {
		if err := check(*f.Aggregation, true); err != nil {
			return err
		}
	}
	for i := range f.Groups {
		if err := check(f.Groups[i].Aggregation.Index()); err != nil {
			return within("groups", within(i, err))
		}
	}
	return nil
}
