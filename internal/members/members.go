package members

import (
	"cmp"
	"errors"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
)

// A Shape has the members that one kind of object can have. A member that the object
// does not know would change nothing, so that a misspelt one could release a flag to
// everybody: none is passed over in silence (evaluation.md §1.8).
type Shape struct {
	Noun string // what an object of this kind is called, with its article

	known map[string]bool // all names
	read  []string        // the members that decide something

	// means has other names of members that the object lacks. instead has names that
	// break the object even if the right member is there. Names are folded.
	means, instead map[string]string
}

// New returns a Shape. read and kept are names of members that decide something, and
// of others that the public system and the management API have. Each text of means is
// a member and the other names for it, folded.
func New(noun, read, kept string, means ...string) *Shape {
	s := &Shape{Noun: noun, known: make(map[string]bool), read: strings.Fields(read), means: make(map[string]string), instead: make(map[string]string)}
	for _, name := range slices.Concat(s.read, strings.Fields(kept)) {
		s.known[name] = true
	}
	for _, names := range means {
		names := strings.Fields(names)
		for _, other := range names[1:] {
			s.means[other] = names[0]
		}
	}
	return s
}

// With returns a Shape that knows more names.
func (s *Shape) With(names ...string) *Shape {
	more := *s
	more.known = maps.Clone(s.known)
	for _, name := range names {
		more.known[name] = true
	}
	return &more
}

// insteadOf adds other names for something else than a missing member.
func (s *Shape) insteadOf(what string, names ...string) *Shape {
	for _, name := range names {
		s.instead[name] = what
	}
	return s
}

// ErrUnknown says that an object of definitions has a member that nothing knows
// (evaluation.md §1.8).
var ErrUnknown = errors.New("unknown member")

// The kinds of objects of a definitions document and of the bodies of the management
// API.
var (
	Document = New("the document",
		"flags cohorts static_cohorts group_type_mapping property_matching_version timezone minimal_flag_called_events bucketing_hash",
		"$schema count next previous results evaluation_metadata",
		"cohorts cohort", "group_type_mapping grouptypes groups", "property_matching_version matchingversion", "timezone zone tz")

	Flag = New("a feature flag",
		"id key name active deleted version filters ensure_experience_continuity evaluate_remotely bucketing_identifier bucketing_hash "+
			"evaluation_runtime evaluation_contexts evaluation_tags evaluation_contexts_match_mode is_remote_configuration has_encrypted_payloads has_experiment",
		"team_id team project_id uuid description created_by created_at updated_at last_modified_by archived is_simple_flag rollout_percentage experiment_set "+
			"experiment_set_metadata surveys features can_edit tags usage_dashboard analytics_dashboards has_enriched_analytics user_access_level "+
			"creation_context status stale_reason stale_since warnings last_called_at is_used_in_replay_settings performed_rollback rollback_conditions "+
			"original_flag deleted_at _create_in_folder _should_create_usage_dashboard",
		"filters filter conditions conditionsets rules groups targeting",
		"ensure_experience_continuity continuity experiencecontinuity",
		"evaluation_runtime runtime evaluationenvironment",
		"evaluation_contexts contexts environments evaluationenvironments", "evaluation_contexts_match_mode contextsmatchmode matchmode",
		"bucketing_identifier bucketing bucketby", "bucketing_hash hash",
		"is_remote_configuration remoteconfig remoteconfiguration isremoteconfig",
		"has_encrypted_payloads encrypted encryptedpayloads", "deleted isdeleted").
		insteadOf("active", "enabled", "isenabled", "isactive", "disabled", "isdisabled").
		insteadOf("filters.groups[0].rollout_percentage", "rollout", "percentage", "rolloutpercent").
		insteadOf("filters.groups[0].properties", "properties", "property")

	Filters = New("filters",
		"groups multivariate aggregation_group_type_index payloads early_exit feature_enrollment holdout holdout_groups super_groups version", "",
		"groups conditions conditionsets conditiongroups",
		"multivariate variants", "aggregation_group_type_index aggregation grouptypeindex", "feature_enrollment earlyaccess enrollment").
		insteadOf("groups[0].rollout_percentage", "rollout", "rolloutpercentage", "percentage", "rolloutpercent").
		insteadOf("groups[0].properties", "properties", "property").
		insteadOf("multivariate", "multivariant", "multivariants", "variant").
		insteadOf(`groups, or "version": 2 beside it for a rule set`, "rules", "returntype", "defaultvalue")

	Condition = New("a condition set",
		"properties rollout_percentage variant aggregation_group_type_index description sort_key", "users_affected name label id",
		"rollout_percentage rollout percentage percent rolloutpercent rolloutpct pct percentile share weight traffic",
		"properties property filters filter conditions rules where",
		"variant variantkey variantoverride override", "aggregation_group_type_index aggregation grouptypeindex")

	Filter = New("a property",
		"key value operator type group_type_index negation dependency_chain", "cohort_name label name group_key_names id bytecode bytecode_error conditionHash",
		"operator op comparator comparison matchtype", "value values expected", "type propertytype kind typ",
		"negation not negate negated isnegated inverted", "group_type_index grouptype groupindex").
		insteadOf("rollout_percentage beside properties", "rollout", "rolloutpercentage", "percentage")

	// Leaf is a filter in the tree of a cohort.
	Leaf = Filter.With("case_sensitive", "strict_type", "must_be_set", "any_element", "path", "dialect")

	Multivariate = New("multivariate", "variants", "", "variants options variations variant multivariant multivariants")

	Variant = New("a variant", "key name rollout_percentage", "id description",
		"rollout_percentage rollout percentage percent weight share")

	Holdout = New("a holdout", "id exclusion_percentage", "name",
		"exclusion_percentage exclusion percentage rolloutpercentage excluded")

	Cohort = New("a cohort", "id filters groups is_static deleted cohort_type",
		"name description query count created_by created_at updated_at is_calculating last_calculation errors_calculating "+
			"last_error_message experiment_set version pending_version team team_id project_id uuid basic_surveys_set condition_type "+
			"_create_in_folder _create_static_person_ids original_cohort",
		"filters filter", "groups group", "is_static static", "deleted isdeleted")

	Criteria = New("the filters of a cohort", "properties", "", "properties property filters values groups conditions tree")

	Node = New("a group of criteria", "type values", "negation id name", "values value filters conditions properties")
)

// Names returns the names of all members of the objects, in no order.
func (s *Shape) Names() iter.Seq[string] { return maps.Keys(s.known) }

// Knows reports whether the objects have a member with a name.
func (s *Shape) Knows(name []byte) bool { return s.known[string(name)] }

// Meant returns what the author of an object meant with an unknown name: a member that
// the object lacks, or something that must never be misunderstood. It is empty for a
// name that stands for nothing.
func (s *Shape) Meant(name string, object jsonscan.Value) string {
	if len(name) > maxName {
		return ""
	}
	folded := fold(name)
	if what := s.instead[folded]; what != "" {
		return what
	}
	if m := s.means[folded]; m != "" && !has(object, m) {
		return m
	}
	for _, m := range s.read {
		if Misspelt(name, m) && !has(object, m) {
			return m
		}
	}
	return ""
}

// Misspelt reports whether a name is another one in another spelling, or with one
// character that is wrong. Names of three letters or fewer have no wrong characters.
func Misspelt(name, of string) bool {
	a, b := fold(name), fold(of)
	return a == b || len(a) > 3 && len(b) > 3 && oneEdit(a, b)
}

// maxName bounds the names that are compared with members, in bytes.
const maxName = 64

// Nearest returns the known member whose name differs least from another name, "" if
// all differ in more than half of it. It is for messages.
func (s *Shape) Nearest(name string) string {
	if len(name) > maxName {
		return ""
	}
	folded := fold(name)
	if m := cmp.Or(s.instead[folded], s.means[folded]); m != "" {
		return m
	}
	nearest, least := "", len(folded)/2+1
	for _, m := range s.Members() {
		if n := distance(folded, fold(m)); n < least {
			nearest, least = m, n
		}
	}
	return nearest
}

// Members returns all known names, those first that decide something.
func (s *Shape) Members() []string {
	var kept []string
	for name := range s.known {
		if !slices.Contains(s.read, name) {
			kept = append(kept, name)
		}
	}
	slices.Sort(kept)
	return slices.Concat(s.read, kept)
}

// Deciding returns the names of the members that decide something.
func (s *Shape) Deciding() []string { return slices.Clone(s.read) }

// fold returns a name without what spellings differ in.
func fold(name string) string { return spelling.Replace(strings.ToLower(name)) }

var spelling = strings.NewReplacer("_", "", "-", "", " ", "")

func has(object jsonscan.Value, name string) bool {
	for o := object.Object(); o.Next(); {
		if string(o.Name()) == name {
			return true
		}
	}
	return false
}

// oneEdit reports whether one character that is added, removed, replaced or swapped
// with its neighbour makes one text of the other.
func oneEdit(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	for len(a) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	return len(a) <= 1 && len(b) == 1 || len(a) == 2 && len(b) == 2 && a[0] == b[1] && a[1] == b[0]
}

// distance returns how many bytes must be added, removed or replaced to make one text
// of the other.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
