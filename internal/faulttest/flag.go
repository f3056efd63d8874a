package faulttest

// Flag is a flag that has all fields, without a fault.
const Flag = `{"key":"whole","name":"Whole","active":true,"deleted":false,"archived":false,"tags":["web"],
	"ensure_experience_continuity":false,"evaluation_runtime":"all","bucketing_identifier":"distinct_id","bucketing_hash":"sha1",
	"evaluation_tags":["app"],"evaluation_contexts_match_mode":"any","is_remote_configuration":false,"has_encrypted_payloads":false,
	"creation_context":"feature_flags","filters":` + filters + `}`

const filters = `{
		"groups":[
			{"properties":[{"key":"plan","type":"person","operator":"exact","value":["pro"]}],"rollout_percentage":50,"variant":"test","description":"paying","sort_key":"a"},
			{"properties":[],"rollout_percentage":5}],
		"multivariate":{"variants":[{"key":"control","name":"As before","rollout_percentage":50},{"key":"test","rollout_percentage":50}]},
		"payloads":{"test":"{\"hex\":\"#00f\"}"},"early_exit":false,"feature_enrollment":false,"holdout":{"id":7,"exclusion_percentage":10}}`

// Flags are the faults of flags.
var Flags = []Fault{
	{Path: "key", Value: `"a b"`, Text: `Only letters, numbers, hyphens (-) and underscores (_) are allowed, not "a b".`, Field: "key", Check: "note"},
	{Path: "name", Value: `["x"]`, Text: "Not a valid string."},
	{Path: "filters", Value: `[]`, Text: "must be an object, not an array: []"},
	{Path: "active", Value: `[]`, Text: "Must be a valid boolean."},
	{Path: "deleted", Value: `[]`, Text: "Must be a valid boolean."},
	{Path: "archived", Value: `[]`, Text: "Must be a valid boolean."},
	{Path: "ensure_experience_continuity", Value: `[]`, Text: "Must be a valid boolean."},
	{Path: "evaluation_runtime", Value: `"browser"`, Text: `"browser" is not a valid choice.`, Field: "runtime"},
	{Path: "bucketing_identifier", Value: `"email"`, Text: `"email" is not a valid choice.`, Field: "bucketing"},
	{Path: "bucketing_hash", Value: `"md5"`, Text: `"md5" is not a valid choice.`, Field: "hash"},
	{Path: "evaluation_contexts", Value: `["app"," "]`, Text: "This field may not be blank.", At: "evaluation_contexts/1", Check: "none"},
	{Path: "evaluation_tags", Value: `["app"," "]`, Text: "This field may not be blank.", At: "evaluation_tags/1", Check: "none"},
	{Path: "evaluation_contexts_match_mode", Value: `"some"`, Text: `"some" is not a valid choice.`, Field: "context_match"},
	{Path: "tags", Value: `["web",5]`, Text: "The item has the wrong type: 5.", At: "tags/1"},
	{Path: "is_remote_configuration", Value: `[]`, Text: "Must be a valid boolean."},
	{Path: "has_encrypted_payloads", Value: `true`, Text: "Only payloads of remote configuration flags can be encrypted.", Check: "none"},
	{Path: "creation_context", Value: `"console"`, Text: `"console" is not a valid choice.`, Check: "none"},
	{Path: "comment", Value: `["x"]`, Text: "Not a valid string.", Check: "none"},
	{Path: "version", Value: `"two"`, Text: "A valid integer is required."},

	{Path: "filters/groups", Value: `{}`, Text: "must be an array, not an object: {}"},
	{Path: "filters/multivariate", Value: `[]`, Text: "must be an object, not an array: []"},
	{Path: "filters/aggregation_group_type_index", Value: `"company"`, Text: `must be an integer, not a string: "company"`},
	{Path: "filters/payloads", Value: `{"tset":"1"}`, Text: `must have only keys of the flag's variants, not "tset"`},
	{Path: "filters/early_exit", Value: `"no"`, Text: `must be true or false, not a string: "no"`},
	{Path: "filters/feature_enrollment", Value: `"no"`, Text: `must be true or false, not a string: "no"`},
	{Path: "filters/holdout", Value: `7`, Text: "must be an object, not a number: 7"},
	{Path: "filters/version", Value: `1`, Text: "is reserved and cannot be set"},
	{Path: "filters/payloads/test", Value: `"{"`, Text: "must be JSON, or text that contains JSON: text itself needs another pair of quotes", Field: "v1.payload", Typed: "{"},

	{Path: "filters/groups/0/properties", Value: `{}`, Text: "must be an array, not an object: {}"},
	{Path: "filters/groups/0/rollout_percentage", Value: `500`, Text: "must be a number from 0 to 100, not 500", Field: "c0.share"},
	{Path: "filters/groups/0/variant", Value: `"blue"`, Text: `must be the key of a variant of the flag, not "blue"`, Field: "c0.variant"},
	{Path: "filters/groups/0/aggregation_group_type_index", Value: `-2`, Text: "group type index out of range, want 0 to 1048576: -2"},
	{Path: "filters/groups/0/description", Value: `"a\u0000b"`, Text: "must not contain the character NUL", Field: "c0.description", Typed: "a\x00b", Beside: "c0", Check: "none"},
	{Path: "filters/groups/0/sort_key", Value: `"a\u0000b"`, Text: "must not contain the character NUL", Check: "none"},

	{Path: "filters/groups/0/properties/0/key", Value: `""`, Text: "is required and must be text or a number", Field: "c0.f0.key", Check: "none"},
	{Path: "filters/groups/0/properties/0/value", Value: `null`, Text: "is required for operator exact"},
	{Path: "filters/groups/0/properties/0/operator", Value: `"almost"`, Text: "must be one of exact, is_not, is_set, is_not_set, icontains, not_icontains, icontains_multi,", Field: "c0.f0.operator", Beside: "c0.f0.value"},
	{Path: "filters/groups/0/properties/0/type", Value: `"user"`, Text: `must be one of person, person_metadata, group, cohort, flag, not "user"`},
	{Path: "filters/groups/0/properties/0/group_type_index", Value: `"company"`, Text: `must be an integer, not a string: "company"`},
	{Path: "filters/groups/0/properties/0/negation", Value: `"no"`, Text: `must be true or false, not a string: "no"`},
	{Path: "filters/groups/0/properties/0/dependency_chain", Value: `"a"`, Text: `must be an array, not a string: "a"; it is ignored`},

	{Path: "filters/multivariate/variants", Value: `{}`, Text: "must be an array, not an object: {}"},
	{Path: "filters/multivariate/variants/0/key", Value: `"a b"`, Text: `must be 1 to 400 letters, digits, underscores, dots, slashes and hyphens, not "a b"`, Field: "v0.key", Check: "note"},
	{Path: "filters/multivariate/variants/0/name", Value: `5`, Text: "must be a string, not a number: 5; it is ignored"},
	{Path: "filters/multivariate/variants/0/rollout_percentage", Value: `-1`, Text: "must be a number from 0 to 100, not -1", Field: "v0.share"},

	{Path: "filters/holdout/id", Value: `"seven"`, Text: `must be an integer, not a string: "seven"`, Field: "holdout_id"},
	{Path: "filters/holdout/exclusion_percentage", Value: `101`, Text: "must be a number from 0 to 100, not 101", Field: "holdout_share"},
}
