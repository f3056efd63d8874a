package reference

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// A Generator makes random definitions documents, and requests that fit them.
// It uses few different values so that they meet: properties match and
// mismatch, keys collide, and dependencies find their targets. The same seed
// makes the same sequence.
//
// Documents are valid JSON whose members have the types of section 1. Values of
// wrong types occur where the specification has a rule for them: as free
// values, cohort ids, filter keys, and in cohort trees.
//
// A Generator is not safe for concurrent use.
type Generator struct {
	rng   *rand.Rand
	names *rand.Rand // for escapes in names, which change nothing else

	// The content of the last document, for Request and for references within
	// the document.
	flags    []generatedFlag
	failing  []int // indexes of flags that fail when they are reached
	compared []comparedValue
	cohorts  []int64
}

type generatedFlag struct {
	id       string // JSON, or "" if it has none
	key      string
	variants []string
}

// A comparedValue is a value that a filter compares a property with. Requests
// have values close to it.
type comparedValue struct {
	kind, property string
	groupType      string
	value          string // JSON
}

// NewGenerator returns a Generator whose output depends only on the seed.
func NewGenerator(seed uint64) *Generator {
	return &Generator{rng: rand.New(rand.NewPCG(seed, 0x666c616773746166)), names: rand.New(rand.NewPCG(seed, 0x6e616d6573))}
}

// Document returns the next definitions document as JSON.
func (g *Generator) Document() []byte {
	g.flags, g.failing, g.compared, g.cohorts = nil, nil, nil, nil
	var members []string
	cohorts, static := g.cohortsMember(), g.staticCohorts()

	count := 1 + g.rng.IntN(5)
	if g.chance(20) {
		count += g.rng.IntN(4)
	}
	if g.chance(1) {
		count = 0
	}
	// All keys are chosen first, so that a filter can refer to a later flag.
	for i := range count {
		g.flags = append(g.flags, g.newFlag(i))
	}
	var flags []string
	for i := range count {
		flags = append(flags, g.flagJSON(i))
	}
	members = append(members, "flags", array(flags...))

	if g.chance(90) {
		mapping := []string{"0", g.text("company"), "1", g.text("project")}
		if g.chance(20) {
			mapping = append(mapping, "12", g.text("team"))
		}
		members = append(members, "group_type_mapping", object(mapping...))
	} else if g.chance(50) {
		members = append(members, "group_type_mapping", pick(g, `{}`, `null`))
	}
	if cohorts != "" {
		members = append(members, "cohorts", cohorts)
	}
	if static != "" {
		members = append(members, "static_cohorts", static)
	}
	if g.chance(50) {
		members = append(members, "property_matching_version", pick(g, "1", "2", "2", "2", "3", "null"))
	}
	if g.chance(4) {
		members = append(members, "bucketing_hash", pick(g, `"xxhash64"`, `"sha1"`, `null`))
	}
	if g.chance(5) {
		members = append(members, "minimal_flag_called_events", "true", "evaluation_metadata", `{"dependency_stages":[[1]]}`)
	}
	return g.escapeNames(object(members...))
}

// flagKeys are short and few. §2.8 has hashes for some of them, "2" is also the
// text of an id, and two belong to surveys.
var flagKeys = []string{
	"k", "beta-feature", "checkout", "simple-flag", "mixed", "group-flag", "device-flag", "multivariate-flag",
	"a", "a.b", "über-flagge", "新機能", "2", "survey-targeting-1", "survey-targeting-x", "Flag With Spaces",
}

var variantKeys = []string{"control", "test", "x", "Test", "true", "é"}

func (g *Generator) newFlag(i int) generatedFlag {
	f := generatedFlag{id: strconv.Itoa(i + 1), key: pick(g, flagKeys...)}
	used := func(f generatedFlag) bool {
		return slices.ContainsFunc(g.flags, func(other generatedFlag) bool { return other.key == f.key })
	}
	for used(f) && !g.chance(6) { // duplicates are allowed, but rare
		f.key = pick(g, flagKeys...)
	}
	switch {
	case g.chance(3):
		f.id = ""
	case g.chance(3):
		f.id = strconv.Itoa(1 + g.rng.IntN(4)) // another flag may have this id
	case g.chance(3):
		f.id = "9007199254740993"
	}
	if g.chance(40) {
		for range 1 + g.rng.IntN(4) {
			f.variants = append(f.variants, pick(g, variantKeys...))
		}
		slices.Sort(f.variants)
		f.variants = slices.Compact(f.variants)
		g.rng.Shuffle(len(f.variants), func(i, j int) { f.variants[i], f.variants[j] = f.variants[j], f.variants[i] })
	}
	return f
}

// flagJSON writes flag i. About half of all flags have nothing special.
func (g *Generator) flagJSON(i int) string {
	f := g.flags[i]
	plain := g.chance(45)
	special := func(percent int) bool { return !plain && g.chance(percent) }

	members := []string{"key", g.text(f.key)}
	if f.id != "" {
		members = append(members, "id", f.id)
	}
	switch {
	case plain || g.chance(90):
		members = append(members, "active", "true")
	case g.chance(70):
		members = append(members, "active", pick(g, "false", "null"))
	}
	if g.chance(70) {
		members = append(members, "version", strconv.Itoa(g.rng.IntN(5)))
	}
	if g.chance(10) {
		members = append(members, "has_experiment", pick(g, "true", "false", "null"))
	}
	if g.chance(20) {
		members = append(members, "name", `"ignored"`, "team_id", "7", "is_simple_flag", "true", "rollout_percentage", "3", "unknown", `{"a":[]}`)
	}
	if special(5) {
		members = append(members, "deleted", pick(g, "true", "false", "null"))
	}
	if special(4) {
		members = append(members, "has_encrypted_payloads", pick(g, "true", "true", "false"))
	}
	if special(25) {
		members = append(members, "evaluation_runtime", pick(g, `"client"`, `"server"`, `"all"`, `"SERVER"`, `"Client"`, `"edge"`, `""`, `null`))
	}
	if special(25) {
		members = append(members, "evaluation_contexts", g.tagList())
	}
	if special(10) {
		members = append(members, "evaluation_tags", g.tagList())
	}
	if special(10) {
		members = append(members, "evaluation_contexts_match_mode", pick(g, `"all"`, `"all"`, `"all"`, `"any"`, `null`, `""`, `"ALL"`))
	}
	device := special(20)
	if device {
		members = append(members, "bucketing_identifier", `"device_id"`)
	} else if g.chance(5) {
		members = append(members, "bucketing_identifier", pick(g, `"distinct_id"`, `"session"`, `null`))
	}
	if special(20) || g.chance(3) {
		members = append(members, "ensure_experience_continuity", pick(g, "true", "true", "true", "false", "null"))
	}
	if special(8) {
		members = append(members, "bucketing_hash", pick(g, `"xxhash64"`, `"xxhash64"`, `"sha1"`, `"md5"`, `null`))
	}
	if filters := g.filtersJSON(i, plain, device); filters != "" {
		members = append(members, "filters", filters)
	}
	return object(g.strayMember(members, 2)...)
}

func (g *Generator) tagList() string {
	return pick(g, `["docs"]`, `["docs"]`, `["app"]`, `["docs","app"]`, `["Docs"]`, `[]`, `null`)
}

// filtersJSON writes the member "filters" of flag i, or "" for none.
func (g *Generator) filtersJSON(i int, plain, device bool) string {
	if g.chance(1) {
		return pick(g, "", "null", "{}")
	}
	f := g.flags[i]
	special := func(percent int) bool { return !plain && g.chance(percent) }
	var members []string

	grouped := special(17)
	if grouped {
		members = append(members, "aggregation_group_type_index", pick(g, "0", "0", "0", "1", "7"))
	} else if g.chance(20) {
		members = append(members, "aggregation_group_type_index", "null")
	}

	// A flag that fails when it is reached lets other flags depend on it.
	if special(9) {
		g.failing = append(g.failing, i)
	}
	failing := slices.Contains(g.failing, i)
	// Some flags that depend on failed flags have several conditions with
	// nearly the same value.
	torn := !failing && len(g.failing) > 0 && g.chance(60)

	var conditions []string
	switch {
	case failing:
		conditions = append(conditions, g.failingCondition())
	case torn:
		for range 2 + g.rng.IntN(3) {
			conditions = append(conditions, g.tornCondition(f))
		}
	default:
		for range pick(g, 0, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 4) {
			conditions = append(conditions, g.conditionJSON(i, plain, device))
		}
	}
	members = append(members, "groups", array(conditions...))

	if len(f.variants) > 0 {
		members = append(members, "multivariate", object("variants", g.variantsJSON(f.variants)))
	} else if g.chance(15) {
		members = append(members, "multivariate", pick(g, `null`, `{"variants":[]}`, `{}`))
	}
	if g.chance(45) {
		members = append(members, "payloads", g.payloadsJSON(f.variants))
	}
	if special(25) || torn && g.chance(40) {
		members = append(members, "early_exit", pick(g, "true", "true", "true", "false", "null"))
	}
	if special(14) {
		members = append(members, "feature_enrollment", pick(g, "true", "true", "true", "false", "null"))
	}
	if special(5) {
		members = append(members, "super_groups", g.superGroups(f.key))
	}
	if special(14) {
		members = append(members, "holdout", g.holdoutJSON())
	}
	if special(5) {
		members = append(members, "holdout_groups", pick(g,
			`[{"properties":[],"rollout_percentage":20,"variant":"holdout-42"}]`,
			`[{"properties":[],"variant":"holdout-7"},{"rollout_percentage":100,"variant":"holdout-8"}]`,
			`[{"rollout_percentage":50,"variant":"control"}]`, `[]`, `null`))
	}
	if special(6) {
		members = append(members, "version", pick(g, "2", "2", "1", "1", "0", "null", "3"))
	}
	return object(g.strayMember(members, 2)...)
}

// payloadsJSON writes payloads for true, false, holdouts and variants, in all
// stored types.
func (g *Generator) payloadsJSON(variants []string) string {
	var members []string
	keys := slices.Sorted(slices.Values(append([]string{"true", "false", "holdout-42"}, variants...)))
	for _, key := range slices.Compact(keys) {
		if g.chance(70) {
			members = append(members, key, pick(g, `"1"`, `"{\"a\":1}"`, `"text"`, `{"a":1,"b":[null,"é"]}`, `1.0`, `[1,2]`, `true`, `null`, `""`))
		}
	}
	return object(members...)
}

// variantsJSON writes variants whose shares add up to 100, less, or more.
func (g *Generator) variantsJSON(keys []string) string {
	var list []string
	even := strconv.FormatFloat(100/float64(len(keys)), 'g', 4, 64)
	balanced := g.chance(50)
	for i, key := range keys {
		share := pick(g, "0", "10", "20", "50", "33.3", "100", "1e1", "")
		if balanced {
			share = even
		}
		members := []string{"key", g.text(key)}
		if share != "" {
			members = append(members, "rollout_percentage", share)
		}
		if g.chance(20) {
			members = append(members, "name", pick(g, `null`, `"name"`))
		}
		list = append(list, object(g.strayMember(members, 1)...))
		// Nothing forbids the same key twice, although it makes no sense.
		if i == 0 && g.chance(2) {
			list = append(list, object("key", g.text(key), "rollout_percentage", "30"))
		}
	}
	return array(list...)
}

func (g *Generator) superGroups(key string) string {
	enrolment := object("key", g.text("$feature_enrollment/"+key), "type", `"person"`, "operator", `"exact"`, "value", `["true"]`)
	return pick(g,
		array(object("properties", array(enrolment), "rollout_percentage", "100")),
		array(object("properties", array(enrolment), "rollout_percentage", "100")),
		array(object("properties", array(enrolment, `{"key":"x","value":1}`))),
		array(object("properties", `[{"key":"x","value":1}]`)),
		`[]`, `null`)
}

func (g *Generator) holdoutJSON() string {
	if g.chance(15) {
		return pick(g, `null`, `{}`, `{"id":42}`, `{"exclusion_percentage":100}`, `{"id":null,"exclusion_percentage":50}`)
	}
	return object("id", pick(g, "42", "42", "43", "0"), "exclusion_percentage", pick(g, "0", "10", "20", "33.3", "50", "92.7", "100", "150", "-5"))
}

// conditionJSON writes one condition of flag i.
func (g *Generator) conditionJSON(i int, plain, device bool) string {
	var members []string
	special := func(percent int) bool { return !plain && g.chance(percent) }
	aggregation := -1
	if special(15) {
		value := pick(g, "0", "0", "1", "null", "null", "7")
		if n, err := strconv.Atoi(value); err == nil {
			aggregation = n
		}
		members = append(members, "aggregation_group_type_index", value)
	}
	if special(10) && len(g.cohorts) > 0 {
		// The filter is alone: cohorts come last, so no other filter may fail
		// before it.
		members = append(members, "properties", array(g.cohortFilter()))
	} else if count := pick(g, 0, 0, 0, 1, 1, 1, 1, 2, 2, 3); count > 0 || g.chance(60) {
		var filters []string
		for range count {
			filters = append(filters, g.filter(i, plain, aggregation >= 0))
		}
		members = append(members, "properties", array(filters...))
	} else if g.chance(50) {
		members = append(members, "properties", "null")
	}
	members = g.rolloutMember(members, device)
	members = g.pinMember(members, g.flags[i].variants)
	if g.chance(10) {
		members = append(members, "sort_key", `"b"`, "description", `null`, "users_affected", "5")
	}
	return object(g.strayMember(members, 3)...)
}

// strayMember sometimes adds a member that no object has (§1.8).
func (g *Generator) strayMember(members []string, percent int) []string {
	if !g.chance(percent) {
		return members
	}
	name := pick(g, "rollout", "rolloutPercentage", "Rollout-Percentage", "rollout_percntage", "percent", "property", "Properties", "propertis", "varient", "enabled",
		"grops", "multivariant", "operater", "op", "negated", "valeu", "typ", "payload", "filter", "conditions", "exclusion", "weight", "verison", "actve",
		"future_member", "x", "unknown", "keys", "evaluation_runtimes", "dates")
	return append(members, name, pick(g, `10`, `10`, `null`, `[]`, `"x"`, `true`, `{}`))
}

func (g *Generator) rolloutMember(members []string, device bool) []string {
	if g.chance(30) {
		return members
	}
	rollouts := []string{"100", "100", "100", "50", "33.3", "0", "100.0", "1e2", "150", "-5", "null", "72.65", "60"}
	if device {
		rollouts = append(rollouts, "100", "100", "100", "100")
	}
	return append(members, "rollout_percentage", pick(g, rollouts...))
}

func (g *Generator) pinMember(members, variants []string) []string {
	switch {
	case len(variants) > 0 && g.chance(35):
		return append(members, "variant", g.text(pick(g, slices.Concat(variants, []string{"nope", ""})...)))
	case g.chance(10):
		return append(members, "variant", pick(g, `null`, `""`, `"test"`))
	}
	return members
}

// failingCondition writes a condition that fails its flag with one of several
// codes, unless the flag is settled before.
func (g *Generator) failingCondition() string {
	return object("properties", array(pick(g,
		`{"key":"id","type":"cohort","value":999}`,
		`{"key":"id","type":"cohort","value":null}`,
		`{"key":"x","type":"person","operator":"nonsense","value":1}`,
		`{"key":"x","type":"behavioral","value":"performed_event"}`,
		`{"key":"id","type":"cohort","value":[1]}`)))
}

// tornCondition writes a condition that often depends on a failing flag.
func (g *Generator) tornCondition(f generatedFlag) string {
	var filters []string
	if g.chance(70) {
		failing := g.flags[pick(g, g.failing...)]
		filters = append(filters, object("key", g.text(failing.key), "type", `"flag"`, "operator", `"flag_evaluates_to"`,
			"value", pick(g, `true`, `true`, `false`, `"test"`, `1`), "dependency_chain", array(g.text(failing.key))))
	}
	if g.chance(25) {
		filters = append(filters, g.propertyFilter(typePerson))
	}
	if g.chance(8) {
		filters = append(filters, `{"key":"id","type":"cohort","value":998}`)
	}
	members := []string{"properties", array(filters...), "rollout_percentage", pick(g, "100", "100", "100", "100", "0", "50")}
	return object(g.pinMember(members, f.variants)...)
}

// chance returns true in so many cases out of a hundred.
func (g *Generator) chance(percent int) bool { return g.rng.IntN(100) < percent }

// pick chooses one element. An element that occurs twice is twice as likely.
func pick[T any](g *Generator, list ...T) T { return list[g.rng.IntN(len(list))] }

// text writes a JSON string, sometimes with unnecessary escapes.
func (g *Generator) text(s string) string {
	if !g.chance(8) {
		return quote(s)
	}
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r >= 0x10000:
			high, low := (r-0x10000)>>10+0xd800, (r-0x10000)&0x3ff+0xdc00
			fmt.Fprintf(&b, `\u%04x\u%04X`, high, low)
		case r == '/' && g.chance(50):
			b.WriteString(`\/`)
		case r < 0x20 || r == '"' || r == '\\' || g.chance(50):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// escapeNames writes a character of some member names as an escape, which changes
// nothing.
func (g *Generator) escapeNames(document string) []byte {
	var out []byte
	for document != "" {
		start := strings.IndexByte(document, '"')
		if start < 0 {
			break
		}
		end := start + 1
		for document[end] != '"' {
			if document[end] == '\\' {
				end++
			}
			end++
		}
		name, rest := document[start+1:end], document[end+1:]
		out = append(out, document[:start+1]...)
		if strings.HasPrefix(rest, ":") && name != "" && g.names.IntN(100) < 4 {
			i := g.names.IntN(len(name))
			if c := name[i]; c < 0x80 && !strings.Contains(name, `\`) {
				name = fmt.Sprintf(`%s\u%04x%s`, name[:i], c, name[i+1:])
			}
		}
		out = append(append(out, name...), '"')
		document = rest
	}
	return append(out, document...)
}

// object writes a JSON object, given its names and JSON values in turn.
func object(namesAndValues ...string) string {
	var members []string
	for pair := range slices.Chunk(namesAndValues, 2) {
		members = append(members, quote(pair[0])+":"+pair[1])
	}
	return "{" + strings.Join(members, ",") + "}"
}

func array(elements ...string) string { return "[" + strings.Join(elements, ",") + "]" }
