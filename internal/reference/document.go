package reference

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Document is a decoded definitions document (§1.1).
type Document struct {
	flags           []*flag           // the flags that count, in document order
	groupTypes      map[string]string // group type names by index, as decimal text
	cohorts         map[int64]*cohort
	matchingVersion int // property_matching_version, 1 or 2
	zone            *time.Location
}

// A flag is one element of "flags" (§1.2) with its "filters" (§1.3).
type flag struct {
	id            int64
	key           string
	version       int
	hasExperiment bool

	active     bool
	encrypted  bool
	runtime    string   // evaluation_runtime
	contexts   []string // evaluation_contexts, else evaluation_tags
	matchAll   bool     // evaluation_contexts_match_mode
	bucketing  string   // bucketing_identifier
	continuity bool     // ensure_experience_continuity
	hash       string   // bucketing_hash of the flag, else of the document

	// malformed says that the configuration cannot be understood (§1.7).
	malformed bool

	conditions  []condition
	variants    []variant
	aggregation *int64 // nil means person
	payloads    map[string]json.RawMessage
	earlyExit   bool
	enrollment  bool
	holdout     *holdout
}

// A condition is one element of "filters.groups" (§1.4).
type condition struct {
	filters []filter
	rollout float64
	pin     *string

	// The condition's own aggregation. If absent, the flag's applies; null
	// means person.
	hasAggregation bool
	aggregation    *int64
}

type variant struct {
	key   string
	share float64
}

// A holdout is "filters.holdout" (§13.1).
type holdout struct {
	id         int64
	percentage float64
}

// Parse decodes a definitions document. It returns an error if the document as
// a whole is unusable. A single broken flag is kept, and fails when it is
// evaluated (§1.7).
func Parse(document []byte) (*Document, error) {
	top := decodeFields(document)
	if top.problem == nil && !top.has("flags") {
		return nil, fmt.Errorf("%w: no flags", errShape)
	}
	defaultHash, _ := decodeValue(top.members["bucketing_hash"]).(string)
	d := &Document{groupTypes: map[string]string{}, matchingVersion: 1, zone: time.UTC}
	// §4.4: any other value means version 1.
	if decodeValue(top.members["property_matching_version"]) == json.Number("2") {
		d.matchingVersion = 2
	}
	if name, ok := decodeValue(top.members["timezone"]).(string); ok && name != "" && name != "Local" {
		if zone, err := time.LoadLocation(name); err == nil { // §1.1: else UTC
			d.zone = zone
		}
	}
	mapping := top.object("group_type_mapping")
	for index := range mapping.members {
		if name := mapping.text(index); name != nil {
			d.groupTypes[index] = *name
		}
	}

	seen := map[string]bool{}
	for _, raw := range top.array("flags") {
		f := decodeFlag(raw, defaultHash)
		// §1.2: the first of several flags with one key counts.
		if f == nil || seen[f.key] {
			continue
		}
		seen[f.key] = true
		d.flags = append(d.flags, f)
	}
	d.cohorts = decodeCohorts(top)
	return d, top.problem
}

// decodeFlag returns nil for a flag that does not count: deleted, or without a
// usable key (§1.2).
func decodeFlag(raw json.RawMessage, defaultHash string) *flag {
	in := decodeFields(raw)
	key := in.text("key")
	if key == nil || *key == "" || in.boolean("deleted", false) {
		return nil
	}
	f := &flag{
		key:           *key,
		hasExperiment: in.boolean("has_experiment", true),
		active:        in.boolean("active", false), // §1.2: absent means inactive
		encrypted:     in.boolean("has_encrypted_payloads", false),
		continuity:    in.boolean("ensure_experience_continuity", false),
		hash:          defaultHash,
	}
	if id := in.integer("id"); id != nil {
		f.id = *id
	}
	if version := in.integer("version"); version != nil {
		f.version = int(*version)
	}
	if runtime := in.text("evaluation_runtime"); runtime != nil {
		f.runtime = *runtime
	}
	if bucketing := in.text("bucketing_identifier"); bucketing != nil {
		f.bucketing = *bucketing
	}
	if in.has("bucketing_hash") {
		f.hash, _ = decodeValue(in.members["bucketing_hash"]).(string) // §1.2: any unknown value means SHA-1
	}
	// §1.2: the newer name counts if it is present and not null, even with an
	// empty list.
	if in.has("evaluation_contexts") {
		f.contexts = in.texts("evaluation_contexts")
	} else {
		f.contexts = in.texts("evaluation_tags")
	}
	mode := in.text("evaluation_contexts_match_mode")
	f.matchAll = mode != nil && *mode == "all"
	if mode != nil && !slices.Contains([]string{"any", "all", ""}, *mode) {
		f.malformed = true // §1.7
	}
	filters := in.object("filters")
	_, given := in.members["filters"]
	_, hasVersion := filters.members["version"]
	if given && !in.has("filters") || hasVersion && !filters.has("version") {
		f.malformed = true // §1.7: null is not a value of these two
	}
	f.decodeFilters(filters)
	f.convertLegacy(filters)
	if flagWords.check(in) != nil {
		f.malformed = true
	}
	f.malformed = f.malformed || in.problem != nil || filters.problem != nil
	return f
}

// decodeFilters reads the member "filters" (§1.3).
func (f *flag) decodeFilters(in *fields) {
	if version := in.number("version"); version != nil && *version != 0 && *version != 1 {
		f.malformed = true // §1.3
	}
	for _, err := range []error{
		filtersWords.check(in), multivariateWords.checkObject(in.members["multivariate"]), holdoutWords.checkObject(in.members["holdout"]),
	} {
		f.malformed = f.malformed || err != nil // §1.8
	}
	f.aggregation = in.integer("aggregation_group_type_index")
	f.earlyExit = in.boolean("early_exit", false)
	f.enrollment = in.boolean("feature_enrollment", false)
	f.payloads = in.object("payloads").members

	for _, raw := range in.array("groups") {
		f.conditions = append(f.conditions, f.decodeCondition(raw))
	}

	multivariate := in.object("multivariate")
	for _, raw := range multivariate.array("variants") {
		v := decodeFields(raw)
		f.malformed = f.malformed || variantWords.check(v) != nil
		key, share := v.text("key"), v.number("rollout_percentage")
		if v.problem != nil || key == nil {
			f.malformed = true
			continue
		}
		if share == nil {
			share = new(float64) // §1.3: an absent share is 0
		}
		f.variants = append(f.variants, variant{key: *key, share: *share})
	}
	f.malformed = f.malformed || multivariate.problem != nil

	h := in.object("holdout")
	id, percentage := h.integer("id"), h.number("exclusion_percentage")
	if id != nil && percentage != nil { // §13.1: without both members there is no holdout
		f.holdout = &holdout{id: *id, percentage: *percentage}
	}
	f.malformed = f.malformed || h.problem != nil
}

func (f *flag) decodeCondition(raw json.RawMessage) condition {
	in := decodeFields(raw)
	c := condition{rollout: 100, pin: in.text("variant")}
	if isNull(raw) || conditionWords.check(in) != nil {
		f.malformed = true // the element is not an object, or §1.8
	}
	if rollout := in.number("rollout_percentage"); rollout != nil {
		c.rollout = *rollout
	}
	_, c.hasAggregation = in.members["aggregation_group_type_index"]
	c.aggregation = in.integer("aggregation_group_type_index")
	for _, element := range in.array("properties") {
		decoded, err := decodeFilter(element)
		if err != nil {
			f.malformed = true
		}
		c.filters = append(c.filters, decoded)
	}
	f.malformed = f.malformed || in.problem != nil
	return c
}

// conditionAggregation implements §3.5 step 1: the condition's own aggregation
// if it has the member (null means person), else the flag's.
func (f *flag) conditionAggregation(c condition) *int64 {
	if c.hasAggregation {
		return c.aggregation
	}
	return f.aggregation
}

// groupTypeName resolves the index of a group type. It reports false for a
// person (nil) and for an index without a name.
func (d *Document) groupTypeName(index *int64) (name string, ok bool) {
	if index == nil {
		return "", false
	}
	name, ok = d.groupTypes[strconv.FormatInt(*index, 10)]
	return name, ok
}

// convertLegacy converts legacy members to current ones (§3.3, §13.3).
func (f *flag) convertLegacy(in *fields) {
	// §3.3: super_groups with exactly the enrolment filter means
	// feature_enrollment.
	if !in.has("feature_enrollment") {
		if groups, ok := decodeValue(in.members["super_groups"]).([]any); ok && len(groups) > 0 {
			first, _ := groups[0].(map[string]any)
			properties, _ := first["properties"].([]any)
			if len(properties) == 1 {
				only, _ := properties[0].(map[string]any)
				if key, ok := only["key"].(string); ok && key == "$feature_enrollment/"+f.key {
					f.enrollment = true
				}
			}
		}
	}
	if !in.has("holdout") {
		f.holdout = holdoutFromGroups(in.members["holdout_groups"])
	}
}

// holdoutFromGroups implements §13.3: the first entry of holdout_groups means a
// holdout. It returns nil for anything else.
func holdoutFromGroups(raw json.RawMessage) *holdout {
	groups, _ := decodeValue(raw).([]any)
	if len(groups) == 0 {
		return nil
	}
	first, _ := groups[0].(map[string]any)
	name, _ := first["variant"].(string)
	digits, named := strings.CutPrefix(name, "holdout-")
	id, err := strconv.ParseInt(digits, 10, 64)
	if !named || err != nil {
		return nil
	}
	if first["rollout_percentage"] == nil {
		return &holdout{id: id, percentage: 100}
	}
	percentage, ok := jsonNumber(first["rollout_percentage"])
	if !ok {
		return nil
	}
	return &holdout{id: id, percentage: percentage}
}
