package management

import (
	"context"
	"strings"
	"time"

	"github.com/flagstaff-go/flagstaff/management/internal/judge"
)

// The states of flags (management.md §13.4).
const (
	flagActive   = "ACTIVE"
	flagInactive = "INACTIVE"
	flagStale    = "STALE"
	flagDeleted  = "DELETED"
)

// staleAfter is how long no client has reported a value of a flag, or how long
// a flag that everybody has was not touched, before it is stale. Flags that were
// never reported may be evaluated by clients that do not report, and remote
// configuration is for everybody.
const staleAfter = 30 * 24 * time.Hour

// statusOf returns the state of a flag, and why it is in it.
func statusOf(f *FeatureFlag, now time.Time) (status, reason string) {
	old := func(t time.Time) bool { return now.Sub(t) >= staleAfter }
	switch {
	case f.Deleted:
		return flagDeleted, "Flag has been deleted"
	case !f.Active:
		return flagInactive, "Flag is disabled"
	case f.LastCalled != nil && old(*f.LastCalled):
		return flagStale, "Flag has not been called for 30 days"
	case !f.RemoteConfig && old(f.Updated) && judge.FullyRolledOut(&f.Filters):
		return flagStale, "Flag is rolled out to everyone and has not been changed for 30 days"
	}
	return flagActive, "Flag is in use"
}

// A FlagStatus says whether a flag is still of use.
type FlagStatus struct {
	Status string `json:"status"` // active, inactive, stale, archived or deleted
	Reason string `json:"reason"`
}

// FlagStatus returns the status of a flag. It needs scope feature_flag:read.
func (s *Service) FlagStatus(ctx context.Context, p *Principal, ref, flag string) (*FlagStatus, error) {
	w, err := s.beginAt(ctx, p, ref, "feature_flag:read")
	if err != nil {
		return nil, err
	}
	f, err := w.flagByRef(ctx, flag)
	if err != nil {
		return nil, err
	}
	if f.Archived && !f.Deleted {
		return &FlagStatus{"archived", "Flag has been archived"}, nil
	}
	status, reason := statusOf(f, s.now())
	return &FlagStatus{strings.ToLower(status), reason}, nil
}
