package management

import (
	"context"
	"time"

	"github.com/flagstaff-go/flagstaff/management/storage"
)

const (
	maxEventRetention = 36_500         // days that a project keeps events
	minRetain         = 24 * time.Hour // for events
	expireEvery       = time.Hour      // how often it is looked for old events
	ruleCounts        = time.Second    // for how long it is not read again which events are old
)

// expireEvents deletes old events until ctx ends. Of several processes one at a time
// does.
func (s *Service) expireEvents(ctx context.Context) {
	if s.c.Data == nil {
		return
	}
	s.again(ctx, expireEvery, "old events are not deleted", func(ctx context.Context) (bool, error) {
		return false, s.lead(ctx, "old events", s.ExpireEvents)
	})
}

// eventExpiry returns which events are too old now: the operator's limit is a limit for
// all projects, and a project may keep its events for less time (management.md §16.5).
func (s *Service) eventExpiry(ctx context.Context) (storage.EventExpiry, error) {
	rule, now := storage.EventExpiry{Projects: make(map[int64]time.Time)}, s.now()
	if s.c.Retain > 0 {
		rule.Before = now.Add(-s.c.Retain)
	}
	projects, err := s.c.Store.Projects().List(ctx)
	if err != nil {
		return rule, err
	}
	for i := range projects {
		if days := projects[i].EventRetentionDays; days != nil {
			if before := now.AddDate(0, 0, -*days); before.After(rule.Before) {
				rule.Projects[projects[i].ID] = before
			}
		}
	}
	return rule, nil
}

// ExpireEvents deletes the events that are older than Config.Retain, or than their project
// keeps them, in small steps with pauses between them, in which other writers have their
// turns. Run calls it.
func (s *Service) ExpireEvents(ctx context.Context) error {
	if s.c.Data == nil {
		return nil
	}
	start, deleted := time.Now(), 0
	defer func() {
		if deleted > 0 {
			s.c.Log.InfoContext(ctx, "old events are deleted", "events", deleted, "duration", time.Since(start))
		}
	}()
	var (
		rule storage.EventExpiry
		read time.Time // when the rule was read; somebody may make it longer while events are deleted
		err  error
	)
	for {
		step := time.Now()
		if step.Sub(read) > ruleCounts {
			if rule, err = s.eventExpiry(ctx); err != nil {
				return err
			}
			read = step
		}
		n, more, err := s.c.Data.ExpireEvents(ctx, rule)
		deleted += n
		if err != nil || !more {
			return err
		}
		pause := time.NewTimer(min(time.Since(step), time.Second))
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return ctx.Err()
		}
	}
}
