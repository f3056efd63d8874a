package flags

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
)

// A shape has the members that one kind of object in a document can have. A member
// that the object does not know would change nothing, so that a misspelt one could
// release a flag to everybody: none is passed over in silence (evaluation.md §1.8).
type shape struct {
	known map[string]bool // all names
	read  []string        // the members that Decode reads

	// means has other names of members that the object lacks. instead has names that
	// break the object even if the right member is there. Names are folded.
	means, instead map[string]string
}

// newShape returns a shape. read and kept are names of members that Decode reads, and
// of others that the public system and the management API have. Each text of means is
// a member and the other names for it, folded.
func newShape(read, kept string, means ...string) *shape {
	s := &shape{known: make(map[string]bool), read: strings.Fields(read), means: make(map[string]string), instead: make(map[string]string)}
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

// insteadOf adds other names for something else than a missing member.
func (s *shape) insteadOf(what string, names ...string) *shape {
	for _, name := range names {
		s.instead[name] = what
	}
	return s
}

var (
	documentShape = newShape(
		"flags cohorts static_cohorts group_type_mapping property_matching_version timezone minimal_flag_called_events bucketing_hash",
		"count next previous results evaluation_metadata",
		"cohorts cohort", "group_type_mapping grouptypes groups", "property_matching_version matchingversion", "timezone zone tz")

	flagShape = newShape(
		"id key name active deleted version filters ensure_experience_continuity evaluate_remotely bucketing_identifier bucketing_hash "+
			"evaluation_runtime evaluation_contexts evaluation_tags evaluation_contexts_match_mode is_remote_configuration has_encrypted_payloads has_experiment",
		"team_id team project_id uuid description created_by created_at updated_at last_modified_by archived is_simple_flag rollout_percentage experiment_set "+
			"experiment_set_metadata surveys features can_edit tags usage_dashboard analytics_dashboards has_enriched_analytics user_access_level "+
			"creation_context status last_called_at is_used_in_replay_settings performed_rollback rollback_conditions "+
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

	filtersShape = newShape(
		"groups multivariate aggregation_group_type_index payloads early_exit feature_enrollment holdout holdout_groups super_groups version", "",
		"groups conditions conditionsets conditiongroups rules",
		"multivariate variants variant", "aggregation_group_type_index aggregation grouptypeindex", "feature_enrollment earlyaccess enrollment").
		insteadOf("groups[0].rollout_percentage", "rollout", "rolloutpercentage", "percentage", "rolloutpercent").
		insteadOf("groups[0].properties", "properties", "property")

	conditionShape = newShape(
		"properties rollout_percentage variant aggregation_group_type_index description sort_key", "users_affected name label id",
		"rollout_percentage rollout percentage percent rolloutpercent rolloutpct",
		"properties property filters filter conditions rules where",
		"variant variantkey variantoverride override", "aggregation_group_type_index aggregation grouptypeindex")

	filterShape = newShape(
		"key value operator type group_type_index negation dependency_chain", "cohort_name label name group_key_names id",
		"operator op comparator comparison matchtype", "value values expected", "type propertytype kind",
		"negation not negate negated isnegated inverted", "group_type_index grouptype groupindex").
		insteadOf("rollout_percentage beside properties", "rollout", "rolloutpercentage", "percentage")

	multivariateShape = newShape("variants", "", "variants options variations")

	variantShape = newShape("key name rollout_percentage", "id description",
		"rollout_percentage rollout percentage percent weight share")

	holdoutShape = newShape("id exclusion_percentage", "name",
		"exclusion_percentage exclusion percentage rolloutpercentage excluded")

	cohortShape = newShape("id filters groups is_static deleted cohort_type",
		"name description query count created_by created_at updated_at is_calculating last_calculation errors_calculating "+
			"last_error_message experiment_set version pending_version team team_id project_id uuid basic_surveys_set condition_type",
		"filters filter", "groups group", "is_static static", "deleted isdeleted")

	nodeShape = newShape("type values", "negation id name", "values value filters conditions properties")
)

// checkMembers reports the members of an object that are not known. Something that
// stands for a member which is not there is a fault of what is being read.
func (d *decoder) checkMembers(s *shape, at *path, v jsonscan.Value) {
	for o := v.Object(); o.Next(); {
		if s.known[string(o.Name())] {
			continue
		}
		name, p := string(o.Name()), &path{up: at}
		p.name = name
		switch meant := s.meant(name, v); {
		case meant == "":
			d.noteMember(s, name, p, o.Value(), "it is ignored here, and wherever else it is", errUnknownMember)
		case d.fault == nil:
			d.note(Error, p, o.Value(), "write "+meant, errUnknownMember)
		default:
			d.fail(p, o.Value(), fmt.Errorf("%w, write %s", errUnknownMember, meant))
		}
	}
}

// errUnknownMember says that an object has a member that nothing knows.
var errUnknownMember = errors.New("unknown member")

// noteMember notes a member that means nothing, once in a document for each name: the
// public system may have a new one in every flag. The map must not take the name from p,
// see [path.append].
func (d *decoder) noteMember(s *shape, name string, p *path, v jsonscan.Value, hint string, err error) {
	key := memberKey{s, name}
	if len(d.noted) >= maxNotedMembers || d.noted[key] {
		return
	}
	if d.noted == nil {
		d.noted = make(map[memberKey]bool)
	}
	d.noted[key] = true
	d.note(Note, p, v, hint, err)
}

// maxNotedMembers is how many unknown members are noted in a document.
const maxNotedMembers = 100

// A memberKey is a name in one kind of object.
type memberKey struct {
	shape *shape
	name  string
}

// meant returns what the author of an object meant with an unknown name: a member that
// the object lacks, or something that must never be misunderstood. It is empty for a
// name that stands for nothing.
func (s *shape) meant(name string, object jsonscan.Value) string {
	if len(name) > maxMemberName {
		return ""
	}
	folded := foldMember(name)
	if what := s.instead[folded]; what != "" {
		return what
	}
	if m := s.means[folded]; m != "" && !hasMember(object, m) {
		return m
	}
	for _, m := range s.read {
		other := foldMember(m)
		if (other == folded || len(folded) > 3 && len(other) > 3 && oneEdit(folded, other)) && !hasMember(object, m) {
			return m
		}
	}
	return ""
}

// maxMemberName bounds the names that are compared with members, in bytes.
const maxMemberName = 64

// foldMember returns a name without what spellings differ in.
func foldMember(name string) string {
	return spelling.Replace(strings.ToLower(name))
}

var spelling = strings.NewReplacer("_", "", "-", "", " ", "")

func hasMember(object jsonscan.Value, name string) bool {
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
