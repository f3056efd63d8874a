package surveys

import (
	"context"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/field"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// FlagUsers are the surveys that flags decide about, for Config.FlagUsers of package
// management.
type FlagUsers struct{}

var _ management.FlagUsers = FlagUsers{}

// Linked returns the surveys that are linked to flags of a project, by the IDs of the
// flags.
func (FlagUsers) Linked(ctx context.Context, w *management.UnitOfWork, project int64) (map[int64][]management.FlagUser, error) {
	surveys, err := surveysOf(ctx, w, project)
	linked := make(map[int64][]management.FlagUser)
	for i := range surveys {
		if id := surveys[i].LinkedFlag; id != nil {
			linked[*id] = append(linked[*id], management.FlagUser{ID: surveys[i].ID, Name: surveys[i].Name})
		}
	}
	return linked, err
}

// CheckUnused returns a [*management.Error] if a flag targets a survey that has not ended
// and is not archived.
func (FlagUsers) CheckUnused(ctx context.Context, w *management.UnitOfWork, f *storage.Flag) error {
	surveys, err := surveysOf(ctx, w, f.Project)
	if err != nil {
		return err
	}
	for i := range surveys {
		v := &surveys[i]
		if v.TargetingFlag != nil && *v.TargetingFlag == f.ID && v.End == nil && !v.Archived {
			return invalid("", "The flag cannot be deleted: it targets the survey %q.", v.Name)
		}
	}
	return nil
}

// Unlink takes a flag that is deleted from the surveys that are linked to it.
func (FlagUsers) Unlink(ctx context.Context, w *management.UnitOfWork, f *storage.Flag) error {
	store, err := DataIn(w.Store())
	if err != nil {
		return err
	}
	surveys, err := store.Surveys(ctx, f.Project)
	if err != nil {
		return err
	}
	for i := range surveys {
		v := &surveys[i]
		if v.LinkedFlag == nil || *v.LinkedFlag != f.ID {
			continue
		}
		v.LinkedFlag, v.Updated = nil, f.Updated
		if err := store.UpdateSurvey(ctx, v); err != nil {
			return storeError(err)
		}
		change := field.Change{Type: "Survey", Field: "linked_flag_id", Before: f.ID, After: nil, Action: "deleted"}
		if err := logEntry(ctx, w, v, "updated", v.Name, []field.Change{change}); err != nil {
			return err
		}
	}
	return nil
}

func surveysOf(ctx context.Context, w *management.UnitOfWork, project int64) ([]Survey, error) {
	store, err := DataIn(w.Store())
	if err != nil {
		return nil, err
	}
	return store.Surveys(ctx, project)
}
