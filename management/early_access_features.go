package management

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"golang.org/x/text/unicode/norm"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/judge"
	"github.com/flagstaff-go/flagstaff/internal/rawjson"
	"github.com/flagstaff-go/flagstaff/management/check"
	"github.com/flagstaff-go/flagstaff/management/field"
	"github.com/flagstaff-go/flagstaff/management/optional"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// An EarlyAccessView is an early access feature as the API shows it (management.md
// §13.9).
type EarlyAccessView struct {
	ID               uuid.UUID       `json:"id"`
	Flag             *MinimalFlag    `json:"feature_flag"`
	Name             string          `json:"name"`
	Description      string          `json:"description"`
	Stage            string          `json:"stage"`
	DocumentationURL string          `json:"documentation_url"`
	Payload          json.RawMessage `json:"payload"`
	CreatedAt        time.Time       `json:"created_at"`
}

// An EarlyAccessPatch makes or changes an early access feature.
type EarlyAccessPatch struct {
	Name             optional.Value[string]          `json:"name"`
	Description      optional.Value[string]          `json:"description"`
	Stage            optional.Value[string]          `json:"stage"`
	DocumentationURL optional.Value[string]          `json:"documentation_url"`
	Payload          optional.Value[json.RawMessage] `json:"payload"`

	// FlagID is the flag of a new feature. Without it a flag is made, whose
	// key is made of the name.
	FlagID optional.Value[int64] `json:"feature_flag_id"`

	// Original is the feature as a client has seen it, as in a CohortPatch.
	Original optional.Value[json.RawMessage] `json:"original_feature"`
}

// The stages of early access features. In a release stage persons can enrol.
var (
	earlyAccessStages = []string{"draft", "concept", "alpha", "beta", "general-availability", "archived"}
	releaseStages     = []string{"alpha", "beta", "general-availability"}
)

// isReleased reports whether persons can enrol in a feature.
func isReleased(f *storage.EarlyAccessFeature) bool { return slices.Contains(releaseStages, f.Stage) }

const (
	maxEarlyAccessName = 200 // characters
	maxDocumentation   = 800 // characters of the address
)

// earlyAccessFields is the table of an early access feature. The patch is nil for a
// table that is only logged.
func earlyAccessFields(f *storage.EarlyAccessFeature, patch *EarlyAccessPatch) field.Table {
	patch = cmp.Or(patch, new(EarlyAccessPatch))
	return field.Table{
		field.Plain("name", &patch.Name, &f.Name, check.UpTo(check.Title, maxEarlyAccessName)),
		field.Plain("description", &patch.Description, &f.Description, check.UpTo(check.String, check.MaxText)),
		field.Plain("stage", &patch.Stage, &f.Stage, check.OneOf(earlyAccessStages)),
		field.Plain("documentation_url", &patch.DocumentationURL, &f.DocumentationURL, checkDocumentation),
		field.Plain("payload", &patch.Payload, &f.Payload, checkObjectOrNull),
		field.Checked("feature_flag_id", &patch.FlagID, check.Integer),
	}
}

// validate checks the values that can be judged without the flag, in the order of
// the fields.
func (patch *EarlyAccessPatch) validate(f *storage.EarlyAccessFeature, create bool) error {
	switch {
	case create && !patch.Name.Set:
		return invalid("name", "required", "This field is required.")
	case create && !patch.Stage.Set:
		return invalid("stage", "required", "This field is required.")
	}
	return judgeError(earlyAccessFields(f, patch).Check())
}

func checkDocumentation(attr string, o *optional.Value[string]) error {
	if err := check.String(attr, o, maxDocumentation); err != nil || o.Value == "" {
		return err
	}
	if u, err := url.Parse(o.Value); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return invalid(attr, "invalid_input", "Enter a valid URL.")
	}
	return nil
}

func checkObjectOrNull(attr string, o *optional.Value[json.RawMessage]) error {
	if err := check.DocumentOrNull(attr, o, check.MaxDocument); err != nil || !o.Set || o.Null {
		return err
	}
	if _, ok := rawjson.Object(o.Value); !ok {
		return invalid(attr, "not_a_dict", "Expected a dictionary of items but got type %q.", rawjson.Kind(o.Value))
	}
	return nil
}

// ListEarlyAccessFeatures returns a page of the early access features of a
// project, newest first. It needs scope early_access_feature:read.
func (s *Service) ListEarlyAccessFeatures(ctx context.Context, p *Principal, ref string, limit, offset int) (*Page[*EarlyAccessView], error) {
	w, err := s.beginAt(ctx, p, ref, "early_access_feature:read")
	if err != nil {
		return nil, err
	}
	all, err := w.store.EarlyAccess().List(ctx, storage.FeatureProject.Is(w.at.Project.ID))
	if err != nil {
		return nil, err
	}
	page := &Page[*EarlyAccessView]{len(all), []*EarlyAccessView{}}
	for _, f := range pageOf(all, limit, offset) {
		view, err := w.earlyAccessView(ctx, &f)
		if err != nil {
			return nil, err
		}
		page.Items = append(page.Items, view)
	}
	return page, nil
}

func (w *work) earlyAccessView(ctx context.Context, f *storage.EarlyAccessFeature) (*EarlyAccessView, error) {
	flag, err := w.store.Flags().Get(ctx, storage.FlagProject.Is(f.Project), storage.FlagID.Is(f.Flag))
	if err != nil {
		return nil, storeError(err)
	}
	return &EarlyAccessView{
		ID: f.ID, Flag: NewMinimalFlag(flag), Name: f.Name, Description: f.Description, Stage: f.Stage, DocumentationURL: f.DocumentationURL,
		Payload: rawjson.Or(f.Payload, "{}"), CreatedAt: f.Created,
	}, nil
}

// EarlyAccessFeature returns an early access feature.
func (s *Service) EarlyAccessFeature(ctx context.Context, p *Principal, ref, id string) (*EarlyAccessView, error) {
	w, err := s.beginAt(ctx, p, ref, "early_access_feature:read")
	if err != nil {
		return nil, err
	}
	f, err := w.earlyAccessByRef(ctx, id)
	if err != nil {
		return nil, err
	}
	return w.earlyAccessView(ctx, f)
}

func (w *work) earlyAccessByRef(ctx context.Context, ref string) (*storage.EarlyAccessFeature, error) {
	id, err := check.ParseID(ref)
	if err != nil {
		return nil, plainNotFound
	}
	f, err := w.store.EarlyAccess().Get(ctx, storage.FeatureProject.Is(w.at.Project.ID), storage.FeatureID.Is(id))
	return f, storeError(err)
}

// CreateEarlyAccessFeature makes an early access feature. It needs scope
// early_access_feature:write, as all methods that change features do, although they
// change flags as well.
func (s *Service) CreateEarlyAccessFeature(ctx context.Context, p *Principal, ref string, patch EarlyAccessPatch) (*EarlyAccessView, error) {
	return answerAt(ctx, s, p, ref, "early_access_feature:write", func(w *work) (*EarlyAccessView, error) {
		f, patch := &storage.EarlyAccessFeature{ID: storage.NewID(), Project: w.at.Project.ID, Created: s.now()}, patch
		if err := patch.validate(f, true); err != nil {
			return nil, err
		}
		earlyAccessFields(f, &patch).Apply()
		flag, err := w.earlyAccessFlag(ctx, f, &patch)
		if err != nil {
			return nil, err
		}
		f.Flag = flag.ID
		if isReleased(f) {
			if err := w.markEnrollment(ctx, flag, true); err != nil {
				return nil, err
			}
		}
		if err := w.store.EarlyAccess().Create(ctx, f); err != nil {
			if errors.Is(err, ErrConflict) {
				return nil, errFeatureTaken
			}
			return nil, storeError(err)
		}
		if err := w.logEarlyAccess(ctx, f, "created", nil); err != nil {
			return nil, err
		}
		return w.earlyAccessView(ctx, f)
	})
}

var errFeatureTaken = invalid("", "invalid_input", "The feature flag has an early access feature already.")

// earlyAccessFlag returns the flag of a new feature.
func (w *work) earlyAccessFlag(ctx context.Context, f *storage.EarlyAccessFeature, patch *EarlyAccessPatch) (*storage.Flag, error) {
	if !patch.FlagID.Set || patch.FlagID.Null {
		return w.newEarlyAccessFlag(ctx, f)
	}
	flag, err := w.store.Flags().Get(ctx, storage.FlagProject.Is(w.at.Project.ID), storage.FlagID.Is(patch.FlagID.Value))
	if err != nil && !errors.Is(err, ErrNotFound) {
		return nil, err
	}
	switch {
	case err != nil || flag.Deleted || flag.Kind != storage.FlagOrdinary:
		return nil, invalid("", "invalid_input", "There is no feature flag with the ID %d.", patch.FlagID.Value)
	case judge.GroupBased(&flag.Filters):
		return nil, invalid("", "invalid_input", "Group-based feature flags are not supported for early access features.")
	case len(judge.Variants(&flag.Filters)) > 0:
		return nil, invalid("", "invalid_input", "Multivariate feature flags are not supported for early access features.")
	}
	if err := refuseRuleSet(flag, "feature_flag_id", noEnrollment); err != nil {
		return nil, err
	}
	features, err := w.store.EarlyAccess().List(ctx, storage.FeatureProject.Is(w.at.Project.ID))
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(features, func(other storage.EarlyAccessFeature) bool { return other.Flag == flag.ID }) {
		return nil, errFeatureTaken
	}
	return flag, nil
}

// newEarlyAccessFlag makes the flag of a feature, which only persons have who
// enrol in it.
func (w *work) newEarlyAccessFlag(ctx context.Context, f *storage.EarlyAccessFeature) (*storage.Flag, error) {
	key := keyOf(f.Name)
	switch _, err := w.store.Flags().Get(ctx, storage.FlagProject.Is(w.at.Project.ID), storage.FlagKey.Is(key), storage.FlagDeleted.Is(false)); {
	case err == nil:
		return nil, invalid("name", "unique", "There is already a feature flag with the key %s, which the name gives; choose another name, or name the flag in feature_flag_id.", key)
	case !errors.Is(err, ErrNotFound):
		return nil, err
	}
	filters := withEnrollment(flags.Filters{Groups: []flags.Condition{{Properties: []flags.Filter{}, RolloutPercentage: new(0.0)}}}, isReleased(f))
	patch := &FlagPatch{Key: optional.Of(key), Name: optional.Of("Feature flag for early access feature " + f.Name), Filters: optional.Of(filters)}
	return w.createFlag(ctx, patch)
}

var (
	accents   = regexp.MustCompile(`\p{Mn}+`)
	notInKeys = regexp.MustCompile(`[^a-z0-9_-]+`)
)

// keyOf makes a flag's key of a name.
func keyOf(name string) string {
	plain := strings.ToLower(accents.ReplaceAllString(norm.NFKD.String(name), ""))
	key := strings.Trim(notInKeys.ReplaceAllString(plain, "-"), "-")
	return cmp.Or(key[:min(len(key), storage.MaxFlagKey)], "early-access-feature")
}

// markEnrollment lets persons enrol in a flag, or lets them no more.
func (w *work) markEnrollment(ctx context.Context, flag *storage.Flag, on bool) error {
	before := *flag
	flag.Filters = withEnrollment(flag.Filters, on)
	return w.saveFlag(ctx, &before, flag)
}

// UpdateEarlyAccessFeature changes an early access feature, but not its flag.
func (s *Service) UpdateEarlyAccessFeature(ctx context.Context, p *Principal, ref, id string, patch EarlyAccessPatch) (*EarlyAccessView, error) {
	return answerAt(ctx, s, p, ref, "early_access_feature:write", func(w *work) (*EarlyAccessView, error) {
		f, err := w.earlyAccessByRef(ctx, id)
		if err != nil {
			return nil, err
		}
		patch := patch
		if err := patch.validate(f, false); err != nil {
			return nil, err
		}
		if err := settleOriginal("early access feature", &patch.Original, earlyAccessFields(f, &patch)); err != nil {
			return nil, err
		}
		before := *f
		earlyAccessFields(f, &patch).Apply()
		flag, err := w.store.Flags().Get(ctx, storage.FlagProject.Is(f.Project), storage.FlagID.Is(f.Flag))
		if err != nil {
			return nil, storeError(err)
		}
		if isReleased(f) || isReleased(&before) {
			if err := w.markEnrollment(ctx, flag, isReleased(f)); err != nil {
				return nil, err
			}
		}
		if changes := field.Differences("EarlyAccessFeature", earlyAccessFields(&before, nil), earlyAccessFields(f, nil)); len(changes) > 0 {
			if err := w.store.EarlyAccess().Update(ctx, f); err != nil {
				return nil, storeError(err)
			}
			if err := w.logEarlyAccess(ctx, f, "updated", changes); err != nil {
				return nil, err
			}
		}
		return w.earlyAccessView(ctx, f)
	})
}

// DeleteEarlyAccessFeature deletes an early access feature. Its flag stays, and
// nobody can enrol in it any more.
func (s *Service) DeleteEarlyAccessFeature(ctx context.Context, p *Principal, ref, id string) error {
	return s.atomicAt(ctx, p, ref, []Scope{"early_access_feature:write"}, func(w *work) error {
		f, err := w.earlyAccessByRef(ctx, id)
		if err != nil {
			return err
		}
		flag, err := w.store.Flags().Get(ctx, storage.FlagProject.Is(f.Project), storage.FlagID.Is(f.Flag))
		if err != nil {
			return storeError(err)
		}
		if isReleased(f) {
			if err := w.markEnrollment(ctx, flag, false); err != nil {
				return err
			}
		}
		if err := w.store.EarlyAccess().Delete(ctx, storage.FeatureProject.Is(f.Project), storage.FeatureID.Is(f.ID)); err != nil {
			return storeError(err)
		}
		// The entry has what the feature was, so that it can be made again.
		changes := field.Differences("EarlyAccessFeature", earlyAccessFields(f, nil), earlyAccessFields(new(storage.EarlyAccessFeature), nil))
		changes = append(changes, field.Change{Type: "EarlyAccessFeature", Field: "feature_flag_id", Before: f.Flag, Action: "deleted"})
		return w.logEarlyAccess(ctx, f, "deleted", changes)
	})
}

func (w *work) logEarlyAccess(ctx context.Context, f *storage.EarlyAccessFeature, activity string, changes []field.Change) error {
	return w.addProjectActivity(ctx, f.Project, activity, "EarlyAccessFeature", f.ID.String(), field.Detail{Name: f.Name, Changes: append([]field.Change{}, changes...)})
}
