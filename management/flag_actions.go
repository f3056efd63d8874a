package management

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
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
		_, err = s.UpdateFlag(ctx, p, ref, strconv.FormatInt(id, 10), FlagPatch{Deleted: optional.Of(true)})
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

// A FlagUpdate is a change of one flag among several: a patch, or an older version that comes
// back.
type FlagUpdate struct {
	ID     int64
	Patch  FlagPatch
	Revert *RevertPatch // nil: Patch
}

// UpdateFlags changes several flags, all of them or none: an error begins with the key of the
// flag that is refused. It returns them in the order of the updates. It needs scope
// feature_flag:write.
func (s *Service) UpdateFlags(ctx context.Context, p *Principal, ref string, updates []FlagUpdate) ([]*FlagView, error) {
	if len(updates) == 0 || len(updates) > maxBulk {
		return nil, invalid("ids", "invalid_input", "Ensure this field has 1 to %d elements, not %d.", maxBulk, len(updates))
	}
	list, err := answerAt(ctx, s, p, ref, "feature_flag:write", func(w *work) (*[]*FlagView, error) {
		views := make([]*FlagView, len(updates))
		for i := range updates {
			u := &updates[i]
			f, err := w.flagByRef(ctx, strconv.FormatInt(u.ID, 10))
			if err != nil {
				return nil, err
			}
			set, err := w.definitionSet(ctx) // with the updates before
			if err != nil {
				return nil, err
			}
			key := f.Key
			if f.Kind != storage.FlagOrdinary {
				err = errSurveyFlag
			} else if u.Revert != nil {
				err = w.revertFlag(ctx, set, f, u.Revert)
			} else {
				patch := u.Patch
				if err = patch.validate(f); err == nil {
					err = w.updateFlag(ctx, set, f, &patch)
				}
			}
			if e, ok := errors.AsType[*Error](err); ok {
				named := *e
				named.Detail = key + ": " + e.Detail
				return nil, &named
			}
			if err != nil {
				return nil, err
			}
			if views[i], err = w.showFlag(ctx, f); err != nil {
				return nil, err
			}
		}
		return &views, nil
	})
	if err != nil {
		return nil, err
	}
	return *list, nil
}
