package management

import (
	"context"
	"strconv"
	"strings"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/judge"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// validate checks the values that can be judged without other things of the project,
// in the order of the fields. A flag without an ID is new.
func (patch *FlagPatch) validate(f *storage.Flag) error {
	switch {
	case f.ID == 0 && !patch.Key.Set:
		return invalid("key", "required", "This field is required.")
	case f.ID == 0 && patch.Deleted.Value:
		return invalid("deleted", "invalid_input", "A new flag cannot be deleted.")
	}
	older := !patch.Contexts.Set
	if older {
		patch.Contexts = patch.OldContexts
	}
	if err := patch.checkRuled(f); err != nil {
		return err
	}
	err := judgeError(flagFields(f, f.Filters, patch).Check())
	if older { // as the client calls them
		err = renamed(err, "evaluation_contexts", "evaluation_tags")
	}
	return err
}

// applyFlag changes a flag of a project, which the caller stores. Its ID is 0 if it
// is new.
func (w *work) applyFlag(ctx context.Context, set *definitionSet, f *storage.Flag, patch *FlagPatch) error {
	refs := set.references()
	before := *f
	if err := w.applyIn(refs, f, patch); err != nil {
		return err
	}
	if f.Deleted && !before.Deleted {
		return w.checkUnused(ctx, &before, refs)
	}
	return nil
}

// applyIn is applyFlag for a change that deletes nothing.
func (s *Service) applyIn(refs *judge.References, f *storage.Flag, patch *FlagPatch) error {
	before := *f
	if err := applyFields(f, patch, refs); err != nil {
		return err
	}
	return s.applyFilters(f, &before, patch, refs)
}

// applyFields changes a flag but for its filters.
func applyFields(f *storage.Flag, patch *FlagPatch, refs *judge.References) error {
	before := *f
	flagFields(f, f.Filters, patch).Apply()
	return checkFlag(&before, f, patch.Filters.Set, refs)
}

// checkFlag returns an error if fields of a flag exclude each other, or others do not
// allow it to become active or inactive. judged says that its filters are judged
// besides.
func checkFlag(before, f *storage.Flag, judged bool, refs *judge.References) error {
	switch {
	case f.Archived && f.Active:
		return invalid("archived", "invalid_input", "An archived flag cannot be active.")
	case f.EncryptedPayloads && !f.RemoteConfig:
		return invalid("has_encrypted_payloads", "invalid_input", "Only payloads of remote configuration flags can be encrypted.")
	case f.Bucketing == "device_id" && f.Continues():
		return invalid("ensure_experience_continuity", "invalid_input", "Experience continuity and bucketing by device exclude each other.")
	}
	return checkActivation(before, f, judged, refs)
}

// applyFilters changes what decides a flag. What a flag refers to can have gone
// while it was not in force.
func (s *Service) applyFilters(f, before *storage.Flag, patch *FlagPatch, refs *judge.References) error {
	revived := f.InForce() && !before.InForce()
	if f.ID != 0 && !patch.Filters.Set && !revived && f.Key == before.Key && f.RemoteConfig == before.RemoteConfig && f.EncryptedPayloads == before.EncryptedPayloads {
		return nil
	}
	if patch.ruled(before) {
		return s.applyRules(f, before, patch, refs)
	}
	if f.EncryptedPayloads && s.box == nil {
		return errNoSecretKey
	}
	filters := s.openPayloads(before)
	var err error
	if before.EncryptedPayloads && !f.EncryptedPayloads {
		if filters, err = withdrawPayloads(before, patch); err != nil {
			return err
		}
	}
	switch {
	case !patch.Filters.Set:
		filters = filters.Clone()
	case before.ID == 0:
		filters = patch.Filters.Value.Clone()
	default:
		filters = filters.Merge(&patch.Filters.Value)
		filters = filters.Clone()
	}
	subject := judge.Subject{ID: f.ID, Key: f.Key, RemoteConfig: f.RemoteConfig}
	if err := judge.Judge(&filters, subject, refs); err != nil {
		return filtersError(&filters, err)
	}
	f.Filters, err = s.settlePayloads(f, before, filters)
	return err
}

var errNoSecretKey = invalid("has_encrypted_payloads", "invalid_input", "Payloads cannot be encrypted: the server has no secret key.")

// checkActivation returns an error if a flag cannot become active or inactive
// because of others (management.md §13.3).
func checkActivation(before, f *storage.Flag, judged bool, refs *judge.References) error {
	switch {
	case f.ID == 0:
	case before.InForce() && !f.InForce() && !f.Deleted:
		if users := judge.Dependents(refs, f.ID, before.Key); len(users) > 0 {
			return invalid("", "invalid_input", "The flag cannot be disabled: other active flags depend on it: %s.", keysOf(users))
		}
	case f.InForce() && !before.InForce() && !judged:
		for _, other := range judge.Dependencies(refs, &f.Filters) {
			if !other.Active {
				return invalid("", "invalid_input", "The flag cannot be enabled: it depends on the disabled flag %s.", other.Key)
			}
		}
	}
	return nil
}

// keysOf lists the keys of the first few of some flags.
func keysOf(list []*flags.Flag) string {
	return strings.Join(firstFew(list, func(f **flags.Flag) string { return (*f).Key }), ", ")
}

// firstFew says something of the first few elements of a list, and how many more there are.
func firstFew[T any](list []T, say func(*T) string) []string {
	const few = 5
	texts := each(list[:min(few, len(list))], say)
	if more := len(list) - len(texts); more > 0 {
		texts = append(texts, "and "+strconv.Itoa(more)+" more")
	}
	return texts
}

// checkUnused returns an error if something needs a flag that is to be deleted
// (management.md §13.3).
func (w *work) checkUnused(ctx context.Context, f *storage.Flag, refs *judge.References) error {
	features, err := w.store.EarlyAccess().List(ctx, storage.FeatureProject.Is(f.Project))
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
	if users := judge.Dependents(refs, f.ID, f.Key); len(users) > 0 {
		return invalid("", "invalid_input", "The flag cannot be deleted: other active flags depend on it: %s.", keysOf(users))
	}
	return nil
}
