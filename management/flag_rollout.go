package management

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/judge"
	"github.com/flagstaff-go/flagstaff/management/check"
	"github.com/flagstaff-go/flagstaff/management/optional"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// A RolloutPatch changes the percentage of one condition set of a flag (management.md
// §13.15).
type RolloutPatch struct {
	RolloutPercentage optional.Value[float64] `json:"rollout_percentage"` // 0 to 100; required

	// Condition is the index of the condition set, from 0. It may be missing if the
	// flag has only one.
	Condition optional.Value[int] `json:"condition"`

	// Version is the version of the flag for which the change was made: another one
	// is ErrConflict. IfVersion is the same, but another one is ErrPrecondition.
	Version   optional.Value[int] `json:"version"`
	IfVersion *int                `json:"-"`
}

func (patch *RolloutPatch) validate() error {
	share := &patch.RolloutPercentage
	switch {
	case !share.Set:
		return invalid("rollout_percentage", "required", "This field is required.")
	case share.Null:
		return invalid("rollout_percentage", "null", "This field may not be null.")
	case share.Undecoded() != nil:
		return invalid("rollout_percentage", "invalid_input", "Must be a number from 0 to 100, not %s.", check.Excerpt(string(share.Undecoded())))
	case !(share.Value >= 0 && share.Value <= 100):
		return invalid("rollout_percentage", "invalid_input", "Must be a number from 0 to 100, not %v.", share.Value)
	}
	return judgeError(cmp.Or(check.Integer("condition", &patch.Condition), check.Integer("version", &patch.Version)))
}

// index returns the index of the condition set that the patch is about.
func (patch *RolloutPatch) index(f *storage.Flag) (int, error) {
	n := len(f.Filters.Groups)
	at := &patch.Condition
	switch asked := at.Set && !at.Null; {
	case n == 0:
		return 0, invalid("condition", "invalid_input", "The flag has no condition set.")
	case !asked && n > 1:
		return 0, invalid("condition", "required", "The flag has %d condition sets: say which one, from 0 to %d.", n, n-1)
	case asked && (at.Value < 0 || at.Value >= n):
		return 0, invalid("condition", "invalid_input", "The flag has %d condition sets, from 0 to %d: there is no %d.", n, n-1, at.Value)
	}
	return at.Value, nil
}

// flagPatch returns the change of filters that the patch is. All but the percentage
// stays as somebody has sent it.
func (patch *RolloutPatch) flagPatch(f *storage.Flag) (*FlagPatch, error) {
	if err := judge.CheckReadable(&f.Filters); err != nil {
		return nil, judgeError(err)
	}
	index, err := patch.index(f)
	if err != nil {
		return nil, err
	}
	share := math.Abs(patch.RolloutPercentage.Value) // for there is a negative zero
	if f.RemoteConfig && share == 0 {
		return nil, invalid("rollout_percentage", "min_value", "Must be more than 0: disable remote configuration that nobody shall have.")
	}
	change := flags.Filters{Groups: slices.Clone(f.Filters.Groups)}
	change.Groups[index].RolloutPercentage = &share
	return &FlagPatch{Filters: optional.Of(change), IfVersion: patch.IfVersion}, nil
}

// RollOutFlag changes the percentage of one condition set of a flag, and leaves all else
// as it is. The change is judged as a change by [Service.UpdateFlag] is. It needs scope
// feature_flag:write.
func (s *Service) RollOutFlag(ctx context.Context, p *Principal, ref, flag string, patch RolloutPatch) (*FlagView, error) {
	return s.changeFlag(ctx, p, ref, flag, func(w *work, set *definitionSet, f *storage.Flag) error {
		if err := patch.validate(); err != nil {
			return err
		}
		if err := checkPrecondition(f, patch.IfVersion); err != nil {
			return err
		}
		if err := checkCurrent(f, &patch.Version); err != nil {
			return err
		}
		const instead = "change the percentage of one of its rules, and send filters as a whole."
		if err := refuseRuleSet(f, "condition", instead); err != nil {
			return err
		}
		change, err := patch.flagPatch(f)
		if err != nil {
			return err
		}
		return w.updateFlag(ctx, set, f, change)
	})
}
