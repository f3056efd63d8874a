package management

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// The states of flags (management.md §13.4).
const (
	flagActive   = "ACTIVE"
	flagInactive = "INACTIVE"
	flagStale    = "STALE"
	flagArchived = "ARCHIVED"
	flagDeleted  = "DELETED"
)

// staleAfter is how long no client has reported a value of a flag, or how long
// a flag that everybody has was not touched, before it is stale. Flags that were
// never reported may be evaluated by clients that do not report, and remote
// configuration is for everybody.
const staleAfter = 30 * 24 * time.Hour

// A flagState is the state of a flag and why it is in it, and since when if it is stale.
type flagState struct {
	status, reason string
	since          *time.Time
}

// stateJudge tells the states of flags.
type stateJudge struct {
	now      time.Time
	compiled *flags.Snapshot // of all flags that have to be looked at; nil: none has to
}

// stateJudge returns what tells the states of flags of the project. It compiles flags only
// if none are served and one of them is so old that it matters.
func (w *work) stateJudge(ctx context.Context, list []storage.Flag) (stateJudge, error) {
	j := stateJudge{now: w.now()}
	if !slices.ContainsFunc(list, func(f storage.Flag) bool { return j.unchanged(&f) }) {
		return j, nil
	}
	if j.compiled = w.c.Catalog.Snapshot(w.at.Project.ID); j.compiled != nil {
		return j, nil
	}
	d, err := w.definitionSet(ctx)
	if err == nil {
		j.compiled, err = d.compile(d.flags)
	}
	return j, err
}

// unchanged reports whether a flag that is evaluated was not touched for long. What is
// served may be newer or older by a moment, so such a flag is served as it is stored.
func (j *stateJudge) unchanged(f *storage.Flag) bool {
	return f.Active && !f.Deleted && !f.RemoteConfig && j.now.Sub(f.Updated) >= staleAfter
}

func (j *stateJudge) state(f *storage.Flag) flagState {
	switch {
	case f.Deleted:
		return flagState{flagDeleted, "Flag has been deleted", nil}
	case f.Archived:
		return flagState{flagArchived, "Flag has been archived", nil}
	case !f.Active:
		return flagState{flagInactive, "Flag is disabled", nil}
	case f.LastCalled != nil && j.now.Sub(*f.LastCalled) >= staleAfter:
		days := int(j.now.Sub(*f.LastCalled) / (24 * time.Hour))
		return flagState{flagStale, fmt.Sprintf("No client has reported a value for %d days, since %s", days, dateOf(*f.LastCalled)), f.LastCalled}
	case !j.unchanged(f):
	default:
		if r, ok := j.compiled.Constant(f.Key); ok {
			reason := fmt.Sprintf("Every request gets %s: condition set %d is for everybody; unchanged since %s", r.Text(), r.Reason.ConditionIndex+1, dateOf(f.Updated))
			return flagState{flagStale, reason, &f.Updated}
		}
	}
	return flagState{flagActive, "Flag is in use", nil}
}

func dateOf(t time.Time) string { return t.UTC().Format("2 January 2006") }

// A FlagStatus says whether a flag is still of use.
type FlagStatus struct {
	Status string `json:"status"` // active, inactive, stale, archived or deleted
	Reason string `json:"reason"`
}

// FlagStatus returns the status of a flag. It needs scope feature_flag:read.
func (s *Service) FlagStatus(ctx context.Context, p *Principal, ref, flag string) (*FlagStatus, error) {
	w, f, err := s.readFlag(ctx, p, ref, flag)
	if err != nil {
		return nil, err
	}
	j, err := w.stateJudge(ctx, []storage.Flag{*f})
	if err != nil {
		return nil, err
	}
	state := j.state(f)
	return &FlagStatus{strings.ToLower(state.status), state.reason}, nil
}
