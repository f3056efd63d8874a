package management

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/flagstaff-go/flagstaff/internal/rawjson"
	"github.com/flagstaff-go/flagstaff/management/check"
	"github.com/flagstaff-go/flagstaff/management/optional"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// maxBulk is how many flags one request may be about.
const maxBulk = 1000

// A FlagSelection names flags by their IDs.
type FlagSelection struct {
	IDs optional.Value[json.RawMessage] `json:"ids"`
}

// ids returns the IDs, and what is none. No list is an empty one.
func (q *FlagSelection) ids() (ids []int64, wrong []string, err error) {
	if !q.IDs.Set || q.IDs.Null {
		return nil, nil, nil
	}
	raw, err := check.DecodeList[json.RawMessage]("ids", &q.IDs)
	if err != nil {
		return nil, nil, judgeError(err)
	}
	if len(raw) > maxBulk {
		return nil, nil, invalid("ids", "max_length", "Ensure this field has no more than %d elements.", maxBulk)
	}
	for _, one := range raw {
		id, err := strconv.ParseInt(rawjson.Text(one), 10, 64)
		if err != nil {
			wrong = append(wrong, check.Excerpt(string(one)))
			continue
		}
		ids = append(ids, id)
	}
	return ids, wrong, nil
}

// FlagKeys are the keys of flags by their IDs.
type FlagKeys struct {
	Keys    map[string]string `json:"keys"`
	Warning string            `json:"warning,omitempty"`
}

// FlagKeys returns the keys of those flags that exist and are not deleted. It needs scope
// feature_flag:read.
func (s *Service) FlagKeys(ctx context.Context, p *Principal, ref string, q FlagSelection) (*FlagKeys, error) {
	w, err := s.beginAt(ctx, p, ref, "feature_flag:read")
	if err != nil {
		return nil, err
	}
	ids, wrong, err := q.ids()
	if err != nil {
		return nil, err
	}
	if len(ids) == 0 && len(wrong) > 0 {
		return nil, invalid("ids", "invalid_input", "None of the IDs is an integer.")
	}
	out := &FlagKeys{Keys: make(map[string]string, len(ids))}
	for _, id := range ids {
		switch f, err := w.store.Flags().Get(ctx, storage.FlagProject.Is(w.at.Project.ID), storage.FlagID.Is(id)); {
		case err == nil && f.Deleted:
		case err == nil:
			out.Keys[strconv.FormatInt(id, 10)] = f.Key
		case !errors.Is(err, ErrNotFound):
			return nil, err
		}
	}
	if len(wrong) > 0 {
		out.Warning = fmt.Sprintf("Ignored what is not an integer: %s", strings.Join(wrong, ", "))
	}
	return out, nil
}

// DeletedFlags tells which flags were deleted, and why others were not.
type DeletedFlags struct {
	Deleted []FlagName      `json:"deleted"`
	Errors  []UndeletedFlag `json:"errors"`
}

// An UndeletedFlag is a flag that was not deleted.
type UndeletedFlag struct {
	ID     int64  `json:"id"`
	Key    string `json:"key"`
	Reason string `json:"reason"`
}

// DeleteFlags deletes flags, each by itself: what cannot be deleted stays, and the
// others go. It needs scope feature_flag:write.
func (s *Service) DeleteFlags(ctx context.Context, p *Principal, ref string, q FlagSelection) (*DeletedFlags, error) {
	w, err := s.beginAt(ctx, p, ref, "feature_flag:write")
	if err != nil {
		return nil, err
	}
	ids, wrong, err := q.ids()
	switch {
	case err != nil:
		return nil, err
	case !q.IDs.Set, q.IDs.Null:
		return nil, invalid("ids", "required", "This field is required.")
	case len(wrong) > 0:
		return nil, invalid("ids", "invalid_input", "A valid integer is required, not %s.", wrong[0])
	}
	out := &DeletedFlags{Deleted: []FlagName{}, Errors: []UndeletedFlag{}}
	for _, id := range uniqueValues(ids) {
		f, err := w.store.Flags().Get(ctx, storage.FlagProject.Is(w.at.Project.ID), storage.FlagID.Is(id))
		if errors.Is(err, ErrNotFound) {
			out.Errors = append(out.Errors, UndeletedFlag{ID: id, Reason: plainNotFound.Detail})
			continue
		}
		if err != nil {
			return nil, err
		}
		_, err = s.UpdateFlag(ctx, p, ref, strconv.FormatInt(id, 10), FlagPatch{Deleted: optional.Of(true), AnyVersion: true})
		e, refused := errors.AsType[*Error](err)
		switch {
		case err == nil:
			out.Deleted = append(out.Deleted, FlagName{id, f.Key})
		case refused:
			out.Errors = append(out.Errors, UndeletedFlag{id, f.Key, e.Detail})
		default:
			return nil, err
		}
	}
	return out, nil
}

// UpdateFlags changes several flags, by their IDs, as [Service.UpdateFlag] changes one: all of
// them or none. An error begins with the key of the flag that is refused. It needs scope
// feature_flag:write.
func (s *Service) UpdateFlags(ctx context.Context, p *Principal, ref string, patches map[int64]FlagPatch) (map[int64]*FlagView, error) {
	return changeFlags(ctx, s, p, ref, patches, func(w *work, set *definitionSet, f *storage.Flag, patch *FlagPatch) error {
		if err := cmp.Or(patch.validate(f), patch.checkRuledVersion(f)); err != nil {
			return err
		}
		return w.updateFlag(ctx, set, f, patch)
	})
}

// RevertFlags gives several flags, by their IDs, older content again, as [Service.RevertFlag] does
// with one: all of them or none, as UpdateFlags.
func (s *Service) RevertFlags(ctx context.Context, p *Principal, ref string, patches map[int64]RevertPatch) (map[int64]*FlagView, error) {
	return changeFlags(ctx, s, p, ref, patches, func(w *work, set *definitionSet, f *storage.Flag, patch *RevertPatch) error {
		return w.revertFlag(ctx, set, f, patch)
	})
}

// changeFlags changes flags that people have made in one transaction, in the order of their IDs.
func changeFlags[P any](
	ctx context.Context, s *Service, p *Principal, ref string, patches map[int64]P, change func(*work, *definitionSet, *storage.Flag, *P) error,
) (map[int64]*FlagView, error) {
	if len(patches) == 0 || len(patches) > maxBulk {
		return nil, invalid("ids", "invalid_input", "Ensure this field has 1 to %d elements, not %d.", maxBulk, len(patches))
	}
	var views map[int64]*FlagView
	err := s.atomicAt(ctx, p, ref, []Scope{"feature_flag:write"}, func(w *work) error {
		views = make(map[int64]*FlagView, len(patches))
		for _, id := range slices.Sorted(maps.Keys(patches)) {
			f, err := w.flagByRef(ctx, strconv.FormatInt(id, 10))
			if err != nil {
				return err
			}
			set, err := w.definitionSet(ctx) // with the changes before
			if err != nil {
				return err
			}
			key, patch := f.Key, patches[id]
			if err = errSurveyFlag; f.Kind == storage.FlagOrdinary {
				err = change(w, set, f, &patch)
			}
			if e, ok := errors.AsType[*Error](err); ok {
				named := *e
				named.Detail = key + ": " + e.Detail
				return &named
			}
			if err != nil {
				return err
			}
			if views[id], err = w.showFlag(ctx, f); err != nil {
				return err
			}
		}
		return nil
	})
	return views, err
}
