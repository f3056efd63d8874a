package management

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strconv"
)

// flagByRef returns the flag of a project that a path names, of any kind, deleted
// or not.
func flagByRef(ctx context.Context, store Store, project int64, ref string) (*FeatureFlag, error) {
	id, err := strconv.ParseInt(ref, 10, 64)
	if err != nil {
		return nil, errNotFound
	}
	f, err := store.Flag(ctx, project, id)
	if err != nil {
		return nil, storeError(err)
	}
	return f, nil
}

// Flag returns a flag of a project by ID, also if it is deleted. It needs scope
// feature_flag:read.
func (s *Service) Flag(ctx context.Context, p *Principal, ref, flag string) (*FlagView, error) {
	a, err := s.Access(ctx, p, ref, "feature_flag:read")
	if err != nil {
		return nil, err
	}
	f, err := flagByRef(ctx, s.store, a.Project.ID, flag)
	if err != nil {
		return nil, err
	}
	return s.showFlag(ctx, s.store, p, f)
}

func (s *Service) showFlag(ctx context.Context, store Store, p *Principal, f *FeatureFlag) (*FlagView, error) {
	views, err := s.flagViews(ctx, store, p, f.Project, []FeatureFlag{*f})
	if err != nil {
		return nil, err
	}
	return views[0], nil
}

// CreateFlag makes a flag. It needs scope feature_flag:write, as all methods that
// change flags do.
func (s *Service) CreateFlag(ctx context.Context, p *Principal, ref string, patch FlagPatch) (*FlagView, error) {
	var view *FlagView
	err := s.inProject(ctx, p, ref, []Scope{"feature_flag:write"}, func(store Store, a *ProjectAccess) error {
		patch := patch
		if err := patch.validate(true); err != nil {
			return err
		}
		f, err := s.createFlag(ctx, store, p, a.Project, &patch)
		if err != nil {
			return err
		}
		view, err = s.showFlag(ctx, store, p, f)
		return err
	})
	return view, err
}

// createFlag stores a new flag and logs it.
func (s *Service) createFlag(ctx context.Context, store Store, p *Principal, project *Project, patch *FlagPatch) (*FeatureFlag, error) {
	f := s.newFlag(p, project)
	f.HasExperiment = patch.CreationContext.Value == "experiments"
	if err := s.applyFlag(ctx, store, project, f, patch); err != nil {
		return nil, err
	}
	if err := store.CreateFlag(ctx, f); err != nil {
		return nil, flagStoreError(err)
	}
	return f, s.logFlag(ctx, store, p, f, "created", nil)
}

// newFlag returns a flag with defaults.
func (s *Service) newFlag(p *Principal, project *Project) *FeatureFlag {
	now := s.now()
	f := &FeatureFlag{
		Project: project.ID, Active: true, Version: 1, Continuity: new(false), Runtime: "all", Bucketing: "distinct_id",
		BucketingHash: project.BucketingHash, Created: now, Updated: now,
	}
	if p != nil {
		f.CreatedBy, f.ModifiedBy = &p.User.ID, &p.User.ID
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
	var view *FlagView
	err := s.inProject(ctx, p, ref, []Scope{"feature_flag:write"}, func(store Store, a *ProjectAccess) error {
		f, err := flagByRef(ctx, store, a.Project.ID, flag)
		if err != nil {
			return err
		}
		if f.Kind != FlagOrdinary {
			return errSurveyFlag
		}
		patch := patch
		if err := patch.validate(false); err != nil {
			return err
		}
		if err := s.updateFlag(ctx, store, p, a.Project, f, &patch); err != nil {
			return err
		}
		view, err = s.showFlag(ctx, store, p, f)
		return err
	})
	return view, err
}

// updateFlag changes a flag, stores it and logs that.
func (s *Service) updateFlag(ctx context.Context, store Store, p *Principal, project *Project, f *FeatureFlag, patch *FlagPatch) error {
	before := *f
	if err := s.settleConflict(f, patch); err != nil {
		return err
	}
	if err := s.applyFlag(ctx, store, project, f, patch); err != nil {
		return err
	}
	return s.saveFlag(ctx, store, p, &before, f)
}

// saveFlag stores and logs a flag that has changed. What was only encrypted anew
// is stored as well, so that payloads come under the newest secret key.
func (s *Service) saveFlag(ctx context.Context, store Store, p *Principal, before, f *FeatureFlag) error {
	changes := s.flagChanges(before, f)
	if len(changes) == 0 {
		if bytes.Equal(before.Filters, f.Filters) {
			return nil
		}
		return flagStoreError(store.UpdateFlag(ctx, f))
	}
	f.Version++
	f.Updated = s.now()
	if f.ModifiedBy = nil; p != nil {
		f.ModifiedBy = &p.User.ID
	}
	if f.Deleted && !before.Deleted {
		if err := s.unlinkFlag(ctx, store, p, f); err != nil {
			return err
		}
	}
	if err := store.UpdateFlag(ctx, f); err != nil {
		return flagStoreError(err)
	}
	if f.Deleted && !before.Deleted {
		return s.logFlag(ctx, store, p, f, "deleted", changes)
	}
	return s.logFlag(ctx, store, p, f, "updated", changes)
}

// unlinkFlag takes a flag that is deleted from the surveys that are linked to it.
func (s *Service) unlinkFlag(ctx context.Context, store Store, p *Principal, f *FeatureFlag) error {
	surveys, err := store.Surveys(ctx, f.Project)
	if err != nil {
		return err
	}
	for i := range surveys {
		survey := &surveys[i]
		if survey.LinkedFlag == nil || *survey.LinkedFlag != f.ID {
			continue
		}
		survey.LinkedFlag = nil
		survey.Updated = s.now()
		if err := store.UpdateSurvey(ctx, survey); err != nil {
			return storeError(err)
		}
		change := fieldChange{"Survey", "linked_flag_id", f.ID, nil, "deleted"}
		if err := s.addProjectActivity(ctx, store, p, f.Project, "updated", "Survey", survey.ID.String(), detail{survey.Name, []fieldChange{change}}); err != nil {
			return err
		}
	}
	return nil
}

// flagFields are what is logged of a flag.
var flagFields = []string{
	"key", "name", "filters", "active", "deleted", "archived", "ensure_experience_continuity", "evaluation_runtime", "bucketing_identifier",
	"bucketing_hash", "evaluation_contexts", "tags", "is_remote_configuration", "has_encrypted_payloads",
}

// flagRecord is a flag as it is logged and compared.
type flagRecord struct {
	Key               string          `json:"key"`
	Name              string          `json:"name"`
	Filters           json.RawMessage `json:"filters"`
	Active            bool            `json:"active"`
	Deleted           bool            `json:"deleted"`
	Archived          bool            `json:"archived"`
	Continuity        bool            `json:"ensure_experience_continuity"`
	Runtime           string          `json:"evaluation_runtime"`
	Bucketing         string          `json:"bucketing_identifier"`
	BucketingHash     string          `json:"bucketing_hash"`
	Contexts          []string        `json:"evaluation_contexts"`
	Tags              []string        `json:"tags"`
	RemoteConfig      bool            `json:"is_remote_configuration"`
	EncryptedPayloads bool            `json:"has_encrypted_payloads"`
}

// recordOf returns the record of a flag with the filters that are to be shown.
func recordOf(f *FeatureFlag, filters json.RawMessage) *flagRecord {
	return &flagRecord{
		f.Key, f.Name, filters, f.Active, f.Deleted, f.Archived, f.Continuity != nil && *f.Continuity, f.Runtime, f.Bucketing,
		f.BucketingHash, f.Contexts, f.Tags, f.RemoteConfig, f.EncryptedPayloads,
	}
}

// flagChanges returns what has changed of a flag. Of payloads that are secret, or
// become so, only that they have.
func (s *Service) flagChanges(before, after *FeatureFlag) []fieldChange {
	if !before.EncryptedPayloads && !after.EncryptedPayloads {
		return differences("FeatureFlag", recordOf(before, before.Filters), recordOf(after, after.Filters), flagFields)
	}
	changes := differences("FeatureFlag", recordOf(before, withoutPayloads(before.Filters)), recordOf(after, withoutPayloads(after.Filters)), flagFields)
	if !bytes.Equal(s.openPayloads(before), s.openPayloads(after)) &&
		!slices.ContainsFunc(changes, func(c fieldChange) bool { return c.Field == "filters" }) {
		changes = append(changes, fieldChange{"FeatureFlag", "payloads", nil, nil, "changed"})
	}
	return changes
}

func (s *Service) logFlag(ctx context.Context, store Store, p *Principal, f *FeatureFlag, activity string, changes []fieldChange) error {
	return s.addProjectActivity(ctx, store, p, f.Project, activity, "FeatureFlag", strconv.FormatInt(f.ID, 10), detail{f.Key, append([]fieldChange{}, changes...)})
}
