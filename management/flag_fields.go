package management

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/served"
	"github.com/flagstaff-go/flagstaff/management/internal/check"
	"github.com/flagstaff-go/flagstaff/management/internal/field"
	"github.com/flagstaff-go/flagstaff/management/optional"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// A FlagPatch makes or changes a flag (management.md §13.3). What is not set
// stays, of filters each member by itself.
type FlagPatch struct {
	Key               optional.Value[string]          `json:"key"`
	Name              optional.Value[string]          `json:"name"`
	Filters           optional.Value[flags.Filters]   `json:"filters"`
	Active            optional.Value[bool]            `json:"active"`
	Deleted           optional.Value[bool]            `json:"deleted"`
	Archived          optional.Value[bool]            `json:"archived"`
	Continuity        optional.Value[bool]            `json:"ensure_experience_continuity"`
	Runtime           optional.Value[string]          `json:"evaluation_runtime"`
	Bucketing         optional.Value[string]          `json:"bucketing_identifier"`
	BucketingHash     optional.Value[string]          `json:"bucketing_hash"`
	Contexts          optional.Value[json.RawMessage] `json:"evaluation_contexts"`
	OldContexts       optional.Value[json.RawMessage] `json:"evaluation_tags"` // older name
	ContextMatch      optional.Value[string]          `json:"evaluation_contexts_match_mode"`
	Tags              optional.Value[json.RawMessage] `json:"tags"`
	RemoteConfig      optional.Value[bool]            `json:"is_remote_configuration"`
	EncryptedPayloads optional.Value[bool]            `json:"has_encrypted_payloads"`
	CreationContext   optional.Value[string]          `json:"creation_context"`

	// Version is the version of the flag for which the change was made, and Original
	// is what the flag was then: see [Service.UpdateFlag].
	Version  optional.Value[int]             `json:"version"`
	Original optional.Value[json.RawMessage] `json:"original_flag"`

	// IfVersion refuses the change unless the flag has this version. Nil: any.
	IfVersion *int `json:"-"`
}

// Limits of values.
const (
	maxFlagName = 10_000 // characters
	maxContexts = 50     // evaluation contexts of one flag
	maxTags     = 100    // tags of one flag
)

var (
	flagKeyForm      = served.FlagKey
	flagRuntimes     = []string{"server", "client", "all"}
	flagBucketings   = []string{"distinct_id", "device_id"}
	contextMatches   = []string{"any", "all"}
	flagHashes       = []string{"sha1", "xxhash64"}
	creationContexts = []string{"feature_flags", "experiments", "surveys", "early_access_features", "web_experiments", "product_tours"}
)

// flagFields is the table of the fields of a flag, with the filters to log: those
// of the flag, or what of them may be shown. The patch is nil for a table that is
// only logged.
//
// Filters are judged with other flags and cohorts: see [Service.applyFilters].
func flagFields(f *storage.Flag, filters flags.Filters, patch *FlagPatch) field.Table {
	patch = cmp.Or(patch, new(FlagPatch))
	contexts := func(attr string, o *optional.Value[json.RawMessage]) ([]string, error) {
		return check.ReadNames(attr, o, maxContexts, strings.ToLower)
	}
	tags := func(attr string, o *optional.Value[json.RawMessage]) ([]string, error) {
		return check.ReadNames(attr, o, maxTags, strings.Clone)
	}
	return field.Table{
		field.Plain("key", &patch.Key, &f.Key, checkFlagKey),
		field.Plain("name", &patch.Name, &f.Name, check.UpTo(check.String, maxFlagName)),
		field.Checked("filters", &patch.Filters, check.NotNull[flags.Filters]).LoggedAs(shownFilters{filters}),
		field.Plain("active", &patch.Active, &f.Active, check.Bool),
		field.Plain("deleted", &patch.Deleted, &f.Deleted, check.Bool),
		field.Plain("archived", &patch.Archived, &f.Archived, check.Bool),
		field.Nullable("ensure_experience_continuity", &patch.Continuity, &f.Continuity, check.BoolOrNull).LoggedAs(f.Continues()),
		field.Default("evaluation_runtime", &patch.Runtime, &f.Runtime, "all", check.OneOfOrNull(flagRuntimes)),
		field.Default("bucketing_identifier", &patch.Bucketing, &f.Bucketing, "distinct_id", check.OneOfOrNull(flagBucketings)),
		field.Default("bucketing_hash", &patch.BucketingHash, &f.BucketingHash, "", check.OneOfOrNull(flagHashes)),
		field.List("evaluation_contexts", &patch.Contexts, &f.Contexts, contexts),
		field.Default("evaluation_contexts_match_mode", &patch.ContextMatch, &f.ContextMatch, "any", check.OneOfOrNull(contextMatches)),
		field.List("tags", &patch.Tags, &f.Tags, tags),
		field.Plain("is_remote_configuration", &patch.RemoteConfig, &f.RemoteConfig, check.BoolOrNull),
		field.Plain("has_encrypted_payloads", &patch.EncryptedPayloads, &f.EncryptedPayloads, check.BoolOrNull),
		field.Checked("creation_context", &patch.CreationContext, check.OneOfOrNull(creationContexts)),
		field.Checked("version", &patch.Version, check.Integer),
		field.Logged("has_experiment", f.HasExperiment), // which only a document changes (management.md §13.23)
	}
}

func checkFlagKey(attr string, o *optional.Value[string]) error {
	if err := check.Title(attr, o, storage.MaxFlagKey); err != nil || !o.Set {
		return err
	}
	if !flagKeyForm.MatchString(o.Value) {
		return invalid(attr, "invalid_key", "Only letters, numbers, hyphens (-) and underscores (_) are allowed, not %q.", check.Excerpt(o.Value))
	}
	return nil
}
