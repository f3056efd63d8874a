package management

import (
	"cmp"
	"context"
	"encoding/json"
	"regexp"
	"strconv"
	"strings"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/management/internal/check"
	"github.com/flagstaff-go/flagstaff/management/internal/field"
	"github.com/flagstaff-go/flagstaff/management/internal/judge"
	"github.com/flagstaff-go/flagstaff/management/internal/normal"
	"github.com/flagstaff-go/flagstaff/management/optional"
)

// A FlagPatch makes or changes a flag (management.md §13.3). What is not set
// stays, of filters each member by itself.
type FlagPatch struct {
	Key               optional.Value[string]          `json:"key"`
	Name              optional.Value[string]          `json:"name"`
	Filters           optional.Value[json.RawMessage] `json:"filters"`
	Active            optional.Value[bool]            `json:"active"`
	Deleted           optional.Value[bool]            `json:"deleted"`
	Archived          optional.Value[bool]            `json:"archived"`
	Continuity        optional.Value[bool]            `json:"ensure_experience_continuity"`
	Runtime           optional.Value[string]          `json:"evaluation_runtime"`
	Bucketing         optional.Value[string]          `json:"bucketing_identifier"`
	BucketingHash     optional.Value[string]          `json:"bucketing_hash"`
	Contexts          optional.Value[json.RawMessage] `json:"evaluation_contexts"`
	OldContexts       optional.Value[json.RawMessage] `json:"evaluation_tags"` // older name
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
	maxFlagKey  = 400    // characters
	maxFlagName = 10_000 // characters
	maxContexts = 50     // evaluation contexts of one flag
	maxTags     = 100    // tags of one flag
)

var (
	flagKeyForm      = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)
	flagRuntimes     = []string{"server", "client", "all"}
	flagBucketings   = []string{"distinct_id", "device_id"}
	flagHashes       = []string{"sha1", "xxhash64"}
	creationContexts = []string{"feature_flags", "experiments", "surveys", "early_access_features", "web_experiments", "product_tours"}
)

// flagFields is the table of a flag, with the filters that are to be logged: those
// of the flag, or what of them may be shown. The patch is nil for a table that is
// only logged.
//
// Filters are judged with other flags and cohorts: see [Service.applyFilters].
func flagFields(f *FeatureFlag, filters flags.Filters, patch *FlagPatch) field.Table {
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
		field.Checked("filters", &patch.Filters, check.RequiredIf(f.ID == 0, check.NotNull[json.RawMessage])).LoggedAs(normal.LoggedFilters{Filters: &filters}),
		field.Plain("active", &patch.Active, &f.Active, check.Bool),
		field.Plain("deleted", &patch.Deleted, &f.Deleted, check.Bool),
		field.Plain("archived", &patch.Archived, &f.Archived, check.Bool),
		field.Nullable("ensure_experience_continuity", &patch.Continuity, &f.Continuity, check.BoolOrNull).LoggedAs(f.continues()),
		field.Default("evaluation_runtime", &patch.Runtime, &f.Runtime, "all", check.OneOfOrNull(flagRuntimes)),
		field.Default("bucketing_identifier", &patch.Bucketing, &f.Bucketing, "distinct_id", check.OneOfOrNull(flagBucketings)),
		field.Default("bucketing_hash", &patch.BucketingHash, &f.BucketingHash, "", check.OneOfOrNull(flagHashes)),
		field.List("evaluation_contexts", &patch.Contexts, &f.Contexts, contexts),
		field.List("tags", &patch.Tags, &f.Tags, tags),
		field.Plain("is_remote_configuration", &patch.RemoteConfig, &f.RemoteConfig, check.BoolOrNull),
		field.Plain("has_encrypted_payloads", &patch.EncryptedPayloads, &f.EncryptedPayloads, check.BoolOrNull),
		field.Checked("creation_context", &patch.CreationContext, check.OneOfOrNull(creationContexts)),
		field.Checked("version", &patch.Version, check.Integer),
	}
}

// validate checks the values that can be judged without other things of the project,
// in the order of the fields. A flag without an ID is new.
func (patch *FlagPatch) validate(f *FeatureFlag) error {
	switch {
	case f.ID == 0 && !patch.Key.Set:
		return invalid("key", "required", "This field is required.")
	case f.ID == 0 && patch.Deleted.Value:
		return invalid("deleted", "invalid_input", "A new flag cannot be deleted.")
	}
	if !patch.Contexts.Set {
		patch.Contexts = patch.OldContexts
	}
	return judgeError(flagFields(f, f.Filters, patch).Check())
}

func checkFlagKey(attr string, o *optional.Value[string]) error {
	if err := check.Title(attr, o, maxFlagKey); err != nil || !o.Set {
		return err
	}
	if !flagKeyForm.MatchString(o.Value) {
		return invalid(attr, "invalid_key", "Only letters, numbers, hyphens (-) and underscores (_) are allowed, not %q.", check.Excerpt(o.Value))
	}
	return nil
}

// applyFlag changes a flag of a project, which the caller stores. Its ID is 0 if it
// is new.
func (w *work) applyFlag(ctx context.Context, set *definitionSet, f *FeatureFlag, patch *FlagPatch) error {
	world := set.world()
	before := *f
	if err := w.applyIn(world, f, patch); err != nil {
		return err
	}
	if f.Deleted && !before.Deleted {
		return w.checkUnused(ctx, &before, world)
	}
	return nil
}

// applyIn is applyFlag for a change that deletes nothing.
func (s *Service) applyIn(world *judge.World, f *FeatureFlag, patch *FlagPatch) error {
	before := *f
	if err := applyFields(f, patch, world); err != nil {
		return err
	}
	return s.applyFilters(f, &before, patch, world)
}

// applyFields changes a flag but for its filters.
func applyFields(f *FeatureFlag, patch *FlagPatch, world *judge.World) error {
	before := *f
	flagFields(f, f.Filters, patch).Apply()
	switch {
	case f.Archived && f.Active:
		return invalid("archived", "invalid_input", "An archived flag cannot be active.")
	case f.EncryptedPayloads && !f.RemoteConfig:
		return invalid("has_encrypted_payloads", "invalid_input", "Only payloads of remote configuration flags can be encrypted.")
	case f.Bucketing == "device_id" && f.continues():
		return invalid("ensure_experience_continuity", "invalid_input", "Experience continuity and bucketing by device exclude each other.")
	}
	return checkActivation(&before, f, patch, world)
}

// applyFilters changes what decides a flag. What a flag refers to can have gone
// while it was not in force.
func (s *Service) applyFilters(f, before *FeatureFlag, patch *FlagPatch, world *judge.World) error {
	revived := f.inForce() && !before.inForce()
	if f.ID != 0 && !patch.Filters.Set && !revived && f.Key == before.Key && f.RemoteConfig == before.RemoteConfig && f.EncryptedPayloads == before.EncryptedPayloads {
		return nil
	}
	if f.EncryptedPayloads && s.box == nil {
		return invalid("has_encrypted_payloads", "invalid_input", "Payloads cannot be encrypted: the server has no secret key.")
	}
	filters := s.openPayloads(before)
	var err error
	if before.EncryptedPayloads && !f.EncryptedPayloads {
		if filters, err = withdrawPayloads(before, patch); err != nil {
			return err
		}
	}
	filters = filters.Clone()
	if patch.Filters.Set {
		if err := judge.Read(patch.Filters.Value, f.Key, &filters); err != nil {
			return judgeError(err)
		}
	}
	subject := judge.Subject{ID: f.ID, Key: f.Key, Create: f.ID == 0, RemoteConfig: f.RemoteConfig}
	if err := judge.Judge(&filters, subject, world); err != nil {
		return judgeError(err)
	}
	f.Filters, err = s.settlePayloads(f, before, filters)
	return err
}

// checkActivation returns an error if a flag cannot become active or inactive
// because of others (management.md §13.3).
func checkActivation(before, f *FeatureFlag, patch *FlagPatch, world *judge.World) error {
	switch {
	case f.ID == 0:
	case before.inForce() && !f.inForce() && !f.Deleted:
		if users := judge.Dependents(world, f.ID, before.Key); len(users) > 0 {
			return invalid("", "invalid_input", "The flag cannot be disabled: other active flags depend on it: %s.", keysOf(users))
		}
	case f.inForce() && !before.inForce() && !patch.Filters.Set: // filters that were sent are judged
		for _, other := range judge.Dependencies(world, &f.Filters) {
			if !other.Active {
				return invalid("", "invalid_input", "The flag cannot be enabled: it depends on the disabled flag %s.", other.Key)
			}
		}
	}
	return nil
}

// keysOf lists the keys of the first few of some flags.
func keysOf(list []*flags.Flag) string {
	const maxListed = 5 // keys
	var keys []string
	for i, f := range list {
		if i == maxListed {
			keys = append(keys, "and "+strconv.Itoa(len(list)-maxListed)+" more")
			break
		}
		keys = append(keys, f.Key)
	}
	return strings.Join(keys, ", ")
}

// checkUnused returns an error if something needs a flag that is to be deleted
// (management.md §13.3).
func (w *work) checkUnused(ctx context.Context, f *FeatureFlag, world *judge.World) error {
	features, err := w.store.EarlyAccessFeatures(ctx, f.Project)
	if err != nil {
		return err
	}
	for i := range features {
		if features[i].Flag == f.ID {
			return invalid("", "invalid_input", "The flag cannot be deleted: the early access feature %q uses it.", features[i].Name)
		}
	}
	if err := w.c.FlagUsers.CheckUnused(ctx, &UnitOfWork{w}, f); err != nil {
		return err
	}
	if users := judge.Dependents(world, f.ID, f.Key); len(users) > 0 {
		return invalid("", "invalid_input", "The flag cannot be deleted: other active flags depend on it: %s.", keysOf(users))
	}
	return nil
}
