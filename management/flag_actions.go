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
