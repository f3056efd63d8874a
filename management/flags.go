package management

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/flagstaff-go/flagstaff/internal/normal"
	"github.com/flagstaff-go/flagstaff/internal/rawjson"
	"github.com/flagstaff-go/flagstaff/management/field"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// flagByRef returns the flag of a project that a path names, of any kind: by its ID,
// deleted or not, and otherwise by its key (management.md §13.14).
func (w *work) flagByRef(ctx context.Context, ref string) (*storage.Flag, error) {
	if id, err := strconv.ParseInt(ref, 10, 64); err == nil && strconv.FormatInt(id, 10) == ref { // another spelling of a number is a key
		if f, err := w.store.Flags().Get(ctx, storage.FlagProject.Is(w.at.Project.ID), storage.FlagID.Is(id)); !errors.Is(err, ErrNotFound) {
			return f, err
		}
	}
	f, err := w.store.Flags().Get(ctx, storage.FlagProject.Is(w.at.Project.ID), storage.FlagKey.Is(ref), storage.FlagDeleted.Is(false))
	return f, storeError(err)
}

// readFlag begins a work that only reads about a flag. It needs scope feature_flag:read.
func (s *Service) readFlag(ctx context.Context, p *Principal, ref, flag string, more ...Scope) (*work, *storage.Flag, error) {
	w, err := s.beginAt(ctx, p, ref, append([]Scope{"feature_flag:read"}, more...)...)
	if err != nil {
		return nil, nil, err
	}
	f, err := w.flagByRef(ctx, flag)
	return w, f, err
}

// Flag returns a flag of a project by its ID, also if it is deleted, or by its key. All
// methods that take the path of a flag do so: a text that is the ID of a flag of the
// project names that flag, even if it is the key of another one. It needs scope
// feature_flag:read.
func (s *Service) Flag(ctx context.Context, p *Principal, ref, flag string) (*FlagView, error) {
	w, f, err := s.readFlag(ctx, p, ref, flag)
	if err != nil {
		return nil, err
	}
	return w.showFlag(ctx, f)
}

func (w *work) showFlag(ctx context.Context, f *storage.Flag) (*FlagView, error) {
	return single(w.flagViews(ctx, []storage.Flag{*f}))
}

// CreateFlag makes a flag. It needs scope feature_flag:write, as all methods that
// change flags do.
func (s *Service) CreateFlag(ctx context.Context, p *Principal, ref string, patch FlagPatch) (*FlagView, error) {
	return answerAt(ctx, s, p, ref, "feature_flag:write", func(w *work) (*FlagView, error) {
		patch := patch
		if err := patch.validate(new(storage.Flag)); err != nil {
			return nil, err
		}
		f, err := w.createFlag(ctx, &patch)
		if err != nil {
			return nil, err
		}
		v, err := w.showFlag(ctx, f)
		return v.warned(nil, &patch), err
	})
}

// createFlag stores a new flag and logs it.
func (w *work) createFlag(ctx context.Context, patch *FlagPatch) (*storage.Flag, error) {
	set, err := w.definitionSet(ctx)
	if err != nil {
		return nil, err
	}
	f := w.newFlag()
	f.HasExperiment, f.Comment = patch.CreationContext.Value == "experiments", patch.Comment.Value
	if err := w.applyFlag(ctx, set, f, patch); err != nil {
		return nil, err
	}
	if err := w.store.Flags().Create(ctx, f); err != nil {
		return nil, flagStoreError(err)
	}
	return f, w.logFlag(ctx, f, "created", nil)
}

// newFlag returns a flag with defaults, made by the Principal.
func (w *work) newFlag() *storage.Flag {
	f := storage.NewFlag(w.at.Project.ID, w.now())
	f.BucketingHash = w.at.Project.BucketingHash
	if w.by != nil {
		f.CreatedBy, f.ModifiedBy = &w.by.User.ID, &w.by.User.ID
	}
	return f
}

var errSurveyFlag = invalid("", "invalid_input", "The flag belongs to a survey; change the survey instead.")

// UpdateFlag changes a flag; Deleted deletes and restores it. Each change gives it
// the next version.
//
// A change that says for which version it was made, and what the flag was then,
// leaves alone what it does not change; if somebody else has changed the same
// fields since, the error is ErrConflict (management.md §13.6).
func (s *Service) UpdateFlag(ctx context.Context, p *Principal, ref, flag string, patch FlagPatch) (*FlagView, error) {
	var before *storage.Flag
	v, err := s.changeFlag(ctx, p, ref, flag, func(w *work, set *definitionSet, f *storage.Flag) error {
		patch := patch
		before = new(*f)
		if err := cmp.Or(patch.validate(f), patch.checkRuledVersion(f)); err != nil {
			return err
		}
		return w.updateFlag(ctx, set, f, &patch)
	})
	return v.warned(before, &patch), err
}

// changeFlag runs a change of one flag that people have made in a transaction, and
// returns how the flag is shown then. It needs scope feature_flag:write.
func (s *Service) changeFlag(ctx context.Context, p *Principal, ref, flag string, change func(*work, *definitionSet, *storage.Flag) error) (*FlagView, error) {
	find := func(w *work) (*storage.Flag, error) { return w.flagByRef(ctx, flag) }
	return changeFound(ctx, s, p, ref, find, func(w *work, set *definitionSet, f *storage.Flag) (*FlagView, error) {
		if err := change(w, set, f); err != nil {
			return nil, err
		}
		return w.showFlag(ctx, f)
	})
}

// changeFound runs a change of the flag that find returns, if people have made it, in a
// transaction, and returns what it returns. It needs scope feature_flag:write.
func changeFound[V any](
	ctx context.Context, s *Service, p *Principal, ref string, find func(*work) (*storage.Flag, error), change func(*work, *definitionSet, *storage.Flag) (*V, error),
) (*V, error) {
	return answerAt(ctx, s, p, ref, "feature_flag:write", func(w *work) (*V, error) {
		f, err := find(w)
		if err != nil {
			return nil, err
		}
		set, err := w.definitionSet(ctx)
		if err != nil {
			return nil, err
		}
		if f.Kind != storage.FlagOrdinary {
			return nil, errSurveyFlag
		}
		return change(w, set, f)
	})
}

// updateFlag changes a flag, stores it and logs that.
func (w *work) updateFlag(ctx context.Context, set *definitionSet, f *storage.Flag, patch *FlagPatch) error {
	before := *f
	if err := w.settleConflict(f, patch); err != nil {
		return err
	}
	if err := w.applyFlag(ctx, set, f, patch); err != nil {
		return err
	}
	return w.saveAs(ctx, &before, f, versionNote{comment: patch.Comment.Value})
}

// saveFlag stores and logs a flag that has changed. What was only encrypted anew, or said
// in other words, is stored as well, so that payloads come under the newest secret key.
func (w *work) saveFlag(ctx context.Context, before, f *storage.Flag) error {
	return w.saveAs(ctx, before, f, versionNote{})
}

// A versionNote is what is known of a version besides its content.
type versionNote struct {
	revertedTo *int // the older version whose content it has again
	comment    string
}

// saveAs is saveFlag with a note about the version, if the flag gets one.
func (w *work) saveAs(ctx context.Context, before, f *storage.Flag, note versionNote) error {
	changes := w.flagChanges(before, f, before.EncryptedPayloads || f.EncryptedPayloads)
	if len(changes) == 0 {
		if bytes.Equal(normal.Shown(&before.Filters), normal.Shown(&f.Filters)) {
			return nil
		}
		return flagStoreError(w.store.Flags().Update(ctx, f))
	}
	w.nextVersion(f, note)
	if f.Deleted && !before.Deleted {
		if err := w.c.FlagUsers.Unlink(ctx, &UnitOfWork{w}, f); err != nil {
			return err
		}
	}
	if err := w.store.Flags().Update(ctx, f); err != nil {
		return flagStoreError(err)
	}
	activity := "updated"
	if note.revertedTo != nil {
		activity = "reverted"
		changes = append(changes, field.Change{Type: "FeatureFlag", Field: "reverted_to", After: *note.revertedTo, Action: "created"})
	}
	if note.comment != "" {
		changes = append(changes, field.Change{Type: "FeatureFlag", Field: "comment", After: note.comment, Action: "created"})
	}
	if f.Deleted && !before.Deleted {
		activity = "deleted"
	}
	return w.logFlag(ctx, f, activity, changes)
}

// nextVersion makes a flag that has changed the next version of itself.
func (w *work) nextVersion(f *storage.Flag, note versionNote) {
	f.Version++
	f.RevertedTo, f.Comment = note.revertedTo, note.comment
	f.Updated = w.now()
	f.ModifiedBy = nil
	if w.by != nil {
		f.ModifiedBy = &w.by.User.ID
	}
}

// flagChanges returns what has changed of a flag. Of payloads that are secret only that
// they have.
func (s *Service) flagChanges(before, after *storage.Flag, secret bool) []field.Change {
	if !secret {
		was, is := hideSeeds(before.Filters, after.Filters)
		return field.Differences("FeatureFlag", flagFields(before, was, nil), flagFields(after, is, nil))
	}
	changes := field.Differences("FeatureFlag", flagFields(before, withoutPayloads(before.Filters), nil), flagFields(after, withoutPayloads(after.Filters), nil))
	was, is := s.openPayloads(before), s.openPayloads(after)
	if !normal.SameFilters(&was, &is) &&
		!slices.ContainsFunc(changes, func(c field.Change) bool { return c.Field == "filters" }) {
		changes = append(changes, field.Change{Type: "FeatureFlag", Field: "payloads", Before: nil, After: nil, Action: "changed"})
	}
	return changes
}

func (w *work) logFlag(ctx context.Context, f *storage.Flag, activity string, changes []field.Change) error {
	return w.record(ctx, flagActivity(f, activity, changes))
}

// flagActivity returns an entry of the activity log about a flag.
func flagActivity(f *storage.Flag, activity string, changes []field.Change) storage.Activity {
	return importActivity(f, activity, changes, nil)
}

// importActivity is flagActivity for a change by an import from another product.
func importActivity(f *storage.Flag, activity string, changes []field.Change, by *field.Import) storage.Activity {
	return storage.Activity{
		Project: &f.Project, Activity: activity, Scope: "FeatureFlag", ItemID: strconv.FormatInt(f.ID, 10),
		Detail: rawjson.Must(field.Detail{Name: f.Key, Changes: append([]field.Change{}, changes...), Import: by}),
	}
}
