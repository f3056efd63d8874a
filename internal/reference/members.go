package reference

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// A vocabulary has the members of one kind of object (§1.8).
type vocabulary struct {
	read []string // members that evaluation reads
	kept []string // others that are known

	// synonyms are other words for a member that is missing, always are words that
	// break the object in any case. Both are folded.
	synonyms map[string]string
	always   []string
}

func split(text string) []string { return strings.Fields(text) }

var (
	flagWords = vocabulary{
		read: split("id key name active deleted version filters ensure_experience_continuity evaluate_remotely bucketing_identifier bucketing_hash evaluation_runtime evaluation_contexts evaluation_tags evaluation_contexts_match_mode is_remote_configuration has_encrypted_payloads has_experiment"),
		kept: split("team_id is_simple_flag rollout_percentage created_by created_at tags status surveys"),
		synonyms: map[string]string{
			"filter": "filters", "conditions": "filters", "conditionsets": "filters", "rules": "filters", "groups": "filters", "targeting": "filters",
			"continuity": "ensure_experience_continuity", "experiencecontinuity": "ensure_experience_continuity",
			"runtime": "evaluation_runtime", "evaluationenvironment": "evaluation_runtime",
			"contexts": "evaluation_contexts", "environments": "evaluation_contexts", "evaluationenvironments": "evaluation_contexts",
			"contextsmatchmode": "evaluation_contexts_match_mode", "matchmode": "evaluation_contexts_match_mode",
			"bucketing": "bucketing_identifier", "bucketby": "bucketing_identifier", "hash": "bucketing_hash",
			"remoteconfig": "is_remote_configuration", "remoteconfiguration": "is_remote_configuration", "isremoteconfig": "is_remote_configuration",
			"encrypted": "has_encrypted_payloads", "encryptedpayloads": "has_encrypted_payloads", "isdeleted": "deleted",
		},
		always: split("enabled isenabled isactive disabled isdisabled rollout percentage rolloutpercent properties property"),
	}
	filtersWords = vocabulary{
		read: split("groups multivariate aggregation_group_type_index payloads early_exit feature_enrollment holdout holdout_groups super_groups version"),
		synonyms: map[string]string{
			"conditions": "groups", "conditionsets": "groups", "conditiongroups": "groups", "rules": "groups",
			"variants":    "multivariate",
			"aggregation": "aggregation_group_type_index", "grouptypeindex": "aggregation_group_type_index",
			"earlyaccess": "feature_enrollment", "enrollment": "feature_enrollment",
		},
		always: split("rollout rolloutpercentage percentage rolloutpercent properties property multivariant multivariants variant"),
	}
	conditionWords = vocabulary{
		read: split("properties rollout_percentage variant aggregation_group_type_index description sort_key"),
		kept: split("users_affected name label id"),
		synonyms: map[string]string{
			"rollout": "rollout_percentage", "percentage": "rollout_percentage", "percent": "rollout_percentage", "rolloutpercent": "rollout_percentage", "rolloutpct": "rollout_percentage",
			"pct": "rollout_percentage", "percentile": "rollout_percentage", "share": "rollout_percentage", "weight": "rollout_percentage", "traffic": "rollout_percentage",
			"property": "properties", "filters": "properties", "filter": "properties", "conditions": "properties", "rules": "properties", "where": "properties",
			"variantkey": "variant", "variantoverride": "variant", "override": "variant",
			"aggregation": "aggregation_group_type_index", "grouptypeindex": "aggregation_group_type_index",
		},
	}
	filterWords = vocabulary{
		read: split("key value operator type group_type_index negation dependency_chain"),
		kept: split("cohort_name label name group_key_names id"),
		synonyms: map[string]string{
			"op": "operator", "comparator": "operator", "comparison": "operator", "matchtype": "operator",
			"values": "value", "expected": "value", "propertytype": "type", "kind": "type", "typ": "type",
			"negate": "negation", "negated": "negation", "not": "negation", "isnegated": "negation", "inverted": "negation",
			"grouptype": "group_type_index", "groupindex": "group_type_index",
		},
		always: split("rollout rolloutpercentage percentage"),
	}
	multivariateWords = vocabulary{read: split("variants"), synonyms: map[string]string{
		"options": "variants", "variations": "variants", "variant": "variants", "multivariant": "variants", "multivariants": "variants",
	}}
	variantWords = vocabulary{
		read: split("key name rollout_percentage"), kept: split("id description"),
		synonyms: map[string]string{"rollout": "rollout_percentage", "percentage": "rollout_percentage", "percent": "rollout_percentage", "weight": "rollout_percentage", "share": "rollout_percentage"},
	}
	holdoutWords = vocabulary{
		read: split("id exclusion_percentage"), kept: split("name"),
		synonyms: map[string]string{"exclusion": "exclusion_percentage", "percentage": "exclusion_percentage", "rolloutpercentage": "exclusion_percentage", "excluded": "exclusion_percentage"},
	}
	cohortWords = vocabulary{
		read: split("id filters groups is_static deleted cohort_type"), kept: split("name description query count"),
		synonyms: map[string]string{"filter": "filters", "group": "groups", "static": "is_static", "isdeleted": "deleted"},
	}
	nodeWords = vocabulary{
		read: split("type values"), kept: split("negation id name AND OR key"),
		synonyms: map[string]string{"value": "values", "filters": "values", "conditions": "values", "properties": "values"},
	}
)

// check returns an error if a member stands for one that is missing.
func (w vocabulary) check(in *fields) error {
	for name := range in.members {
		if slices.Contains(w.read, name) || slices.Contains(w.kept, name) {
			continue
		}
		folded := fold(name)
		if slices.Contains(w.always, folded) {
			return fmt.Errorf("%w: member %q", errShape, name)
		}
		for _, member := range w.read {
			_, there := in.members[member]
			if !there && (w.synonyms[folded] == member || similar(folded, fold(member))) {
				return fmt.Errorf("%w: member %q", errShape, name)
			}
		}
	}
	return nil
}

func fold(name string) string {
	return strings.ToLower(strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r == ' ' {
			return -1
		}
		return r
	}, name))
}

// similar reports whether two folded names are equal, or one edit apart and of more
// than three letters.
func similar(a, b string) bool {
	if a == b {
		return true
	}
	if len(a) <= 3 || len(b) <= 3 {
		return false
	}
	for i := range len(a) + 1 {
		if i < len(a) && a[:i]+a[i+1:] == b { // one less
			return true
		}
		for j := range len(b) + 1 {
			if j < len(b) && b[:j]+b[j+1:] == a { // one more
				return true
			}
		}
		if i < len(a) && len(a) == len(b) && a[:i] == b[:i] && a[i+1:] == b[i+1:] { // another one
			return true
		}
		if i+1 < len(a) && a[:i]+a[i+1:i+2]+a[i:i+1]+a[i+2:] == b { // two swapped
			return true
		}
	}
	return false
}

// checkObject checks the members of an object that may be absent.
func (w vocabulary) checkObject(raw json.RawMessage) error { return w.check(decodeFields(raw)) }
