package flags

import (
	"slices"
	"strings"

	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
	"github.com/flagstaff-go/flagstaff/internal/served"
)

// What works in a flag, but hardly as its author meant. A server refuses what is an error
// here (management.md §13.5), so that a document has errors where an import leaves flags
// out. What a server refuses although it works as its author meant is a note: the characters
// of names, and a look from persons at groups or from groups at persons.

// hintServed says what becomes of what is not a fault here.
const hintServed = "it works from a file; a server does not take it"

// lintFlag reports what works in a flag, but hardly as its author meant.
func (c *compiler) lintFlag(f *compiledFlag, m *Flag) {
	c.lintMembers(f, m, "condition sets")
	if len(f.conditions) == 0 && f.holdoutValue < 0 && f.enrollment < 0 {
		c.problem(SeverityNote, &path{up: &path{name: "filters"}, name: "groups"}, nil, "add a condition set without filters to match everyone",
			"the flag has no condition sets and is off for everybody")
	}
	if h := m.Filters.Holdout; h != nil && !isPercentage(h.ExclusionPercentage) {
		c.problem(SeverityError, &path{up: &path{name: "filters"}, name: "holdout"}, nil, "use a percentage from 0 to 100", "the exclusion percentage %v is cut to 0 or 100", h.ExclusionPercentage)
	}
	c.lintVariants(m)
	c.lintConditions(f, m)
	c.lintPayloads(m)
}

// lintMembers is lintFlag for what all flags have. parts is what theirs are called.
func (c *compiler) lintMembers(f *compiledFlag, m *Flag, parts string) {
	if !isServedKey(m.Key) && (len(m.Key) > 400 || !served.FlagKey.MatchString(m.Key)) {
		c.problem(SeverityNote, &path{name: "key"}, quote(m.Key), hintServed, "the key has other characters than letters, digits, underscores and hyphens, or more than 400")
	}
	switch strings.ToLower(m.EvaluationRuntime) {
	case "", "all", "client", "server":
	default:
		c.problem(SeverityError, &path{name: "evaluation_runtime"}, quote(m.EvaluationRuntime), `use "all", "client" or "server"`, "unknown runtime, it counts as all")
	}
	switch m.BucketingIdentifier {
	case "", "distinct_id", "device_id":
	default:
		c.problem(SeverityError, &path{name: "bucketing_identifier"}, quote(m.BucketingIdentifier), `use "distinct_id" or "device_id"`, "unknown bucketing identifier, it counts as distinct_id")
	}
	if f.aggregation == ownerNobody {
		c.problem(SeverityError, &path{up: &path{name: "filters"}, name: "aggregation_group_type_index"}, nil, "use an index of group_type_mapping", "the group type does not exist: its %s never match", parts)
	}
}

// isServedKey is a quick look at most keys.
func isServedKey(key string) bool {
	for i := range len(key) {
		if c := key[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '_' {
			return false
		}
	}
	return len(key) <= 400
}

func isPercentage(n float64) bool { return 0 <= n && n <= 100 }

func (c *compiler) lintVariants(m *Flag) {
	if m.Filters.Multivariate == nil || len(m.Filters.Multivariate.Variants) == 0 {
		return
	}
	at := &path{up: &path{up: &path{name: "filters"}, name: "multivariate"}, name: "variants"}
	pinned := make(map[string]bool)
	for _, g := range m.Filters.Groups {
		if g.Variant != nil {
			pinned[*g.Variant] = true
		}
	}
	seen := make(map[string]bool)
	sum := 0.0
	for i, v := range m.Filters.Multivariate.Variants {
		p := &path{up: at, n: i}
		if seen[v.Key] {
			c.problem(SeverityError, &path{up: p, name: "key"}, quote(v.Key), "give each variant a key of its own", "two variants have the same key")
		}
		seen[v.Key] = true
		switch {
		case v.Key == "":
			c.problem(SeverityError, &path{up: p, name: "key"}, nil, "give it a key", "a variant's key is empty")
		case !isServedKey(v.Key) && !served.IsVariantKey(v.Key):
			c.problem(SeverityNote, &path{up: p, name: "key"}, quote(v.Key), hintServed, "the key has other characters than letters, digits, underscores, dots, slashes and hyphens, or more than 400")
		}
		if sum >= 100 && v.RolloutPercentage > 0 && !pinned[v.Key] {
			c.problem(SeverityWarning, p, quote(v.Key), "lower the shares of the variants before it", "the variant is unreachable: those before it have 100 %% or more")
		}
		if !isPercentage(v.RolloutPercentage) {
			c.problem(SeverityError, &path{up: p, name: "rollout_percentage"}, nil, "use a percentage from 0 to 100", "the share is %v", v.RolloutPercentage)
		}
		sum += v.RolloutPercentage
	}
	if !served.SumsTo100(sum) {
		c.problem(SeverityError, at, nil, "make them sum to 100", "the shares of the variants sum to %v: some subjects get no variant, or some variants nobody", sum)
	}
	if n := len(m.Filters.Multivariate.Variants); n > served.MaxVariants {
		c.problem(SeverityError, at, nil, "remove some", "%d variants, of which there can be %d", n, served.MaxVariants)
	}
}

func (c *compiler) lintConditions(f *compiledFlag, m *Flag) {
	if n := len(f.conditions); n > served.MaxGroups {
		c.problem(SeverityError, &path{up: &path{name: "filters"}, name: "groups"}, nil, "remove some", "%d condition sets, of which there can be %d", n, served.MaxGroups)
	}
	everyone, exits := -1, -1
	for i := range f.conditions {
		d, src := &f.conditions[i], &m.Filters.Groups[i]
		p := conditionPath(i)
		switch {
		case everyone >= 0 && (d.aggregation == ownerPerson || d.aggregation == f.conditions[everyone].aggregation):
			c.problem(SeverityWarning, p, nil, "move it up or remove it", "the condition set is unreachable: condition set %d matches everyone", everyone+1)
		case exits >= 0:
			c.problem(SeverityWarning, p, nil, "move it up or remove it", "the condition set is unreachable: the flag exits early at condition set %d, which has no filters", exits+1)
		}
		if src.Variant != nil && *src.Variant != "" && d.pinned < 0 { // "" is how the public system says none
			c.problem(SeverityError, &path{up: p, name: "variant"}, quote(*src.Variant), "pin one of the flag's variants, or write null", "the pinned variant does not exist; a variant is drawn instead")
		}
		if pct := src.RolloutPercentage; pct != nil && !isPercentage(*pct) {
			c.problem(SeverityError, &path{up: p, name: "rollout_percentage"}, nil, "use a percentage from 0 to 100", "the rollout percentage is %v", *pct)
		}
		if d.aggregation == ownerNobody && f.aggregation != ownerNobody {
			c.problem(SeverityError, &path{up: p, name: "aggregation_group_type_index"}, nil, "use an index of group_type_mapping", "the group type does not exist: the condition set never matches")
		}
		if n := len(src.Properties); n > served.MaxProperties {
			c.problem(SeverityError, &path{up: p, name: "properties"}, nil, "use a list as the value of one filter", "%d filters, of which there can be %d", n, served.MaxProperties)
		}
		if len(d.checks) == 0 && d.aggregation == ownerPerson && (!f.byDevice || !d.hashMatters) {
			switch {
			case d.everyone && everyone < 0:
				everyone = i
			case !d.everyone && f.earlyExit && exits < 0:
				exits = i
			}
		}
	}
}

// lintOwner reports a filter on somebody else than whom its condition set is about: filter j
// of condition set n.
func (c *compiler) lintOwner(fl *Filter, src *Condition, n, j int) {
	a := src.AggregationGroupTypeIndex
	if a == Inherited {
		a = c.flag.Filters.AggregationGroupTypeIndex
	}
	index, grouped := a.Index()
	switch ofGroup := fl.Type == "group"; {
	case grouped && !ofGroup:
		c.problem(SeverityNote, filterPath(n, j), nil, hintServed, "a filter on persons in a condition set about groups")
	case !grouped && ofGroup:
		c.problem(SeverityNote, filterPath(n, j), nil, hintServed, "a filter on groups in a condition set about persons")
	case grouped && fl.GroupTypeIndex != nil && *fl.GroupTypeIndex != index:
		c.problem(SeverityNote, &path{up: filterPath(n, j), name: "group_type_index"}, nil, hintServed, "a filter on groups of another type than the condition set's")
	}
}

func (c *compiler) lintPayloads(m *Flag) {
	if len(m.Filters.Payloads) == 0 {
		return
	}
	want := `use "true"`
	known := []string{"true"}
	if v := m.Filters.Multivariate; v != nil && len(v.Variants) > 0 {
		want, known = "use the key of a variant", known[:0]
		for i := range v.Variants {
			known = append(known, v.Variants[i].Key)
		}
	}
	for key := range m.Filters.sortedPayloads() {
		at := &path{up: &path{up: &path{name: "filters"}, name: "payloads"}, name: key}
		payload, ok := m.Filters.Payload(key)
		switch {
		case !ok: // null
		case !slices.Contains(known, key):
			c.problem(SeverityError, at, nil, want, "the flag never has this value, so its payload is never sent")
		case m.HasEncryptedPayloads:
		default:
			if _, err := jsonscan.Parse([]byte(payload), jsonscan.MaxDepth); err != nil {
				c.problem(SeverityError, at, nil, `text itself needs another pair of quotes: "\"text\""`, "the payload is a text that does not contain JSON")
			}
		}
	}
}

func (c *compiler) lintGroupTypes() {
	// Two indexes with one name work, but hardly as meant.
	if len(c.s.groupNames) != len(c.groupOf) {
		c.problem(SeverityWarning, &path{name: "group_type_mapping"}, nil, "give each index a name of its own", "two group type indexes have the same name")
	}
}
