package management

import (
	"context"
	"time"
)

const (
	minRetain   = 24 * time.Hour // for events
	expireEvery = time.Hour      // how often it is looked for old events
)

// expireEvents deletes old events until ctx ends. Of several processes one at a time
// does.
func (s *Service) expireEvents(ctx context.Context) {
	if s.c.Data == nil {
		return
	}
	expire := s.ExpireEvents
	if s.c.Leader != nil {
		expire = func(ctx context.Context) error {
			_, err := s.c.Leader.Lead(ctx, "old events", s.ExpireEvents)
			return err
		}
	}
	s.again(ctx, expireEvery, "old events are not deleted", func() (bool, error) { return false, expire(ctx) })
}

// ExpireEvents deletes the events that are older than Config.Retain, in small steps with
// pauses between them, in which other writers have their turns. Run calls it.
func (s *Service) ExpireEvents(ctx context.Context) error {
	if s.c.Data == nil {
		return nil
	}
	if s.c.Retain == 0 {
		return s.c.Data.KeepEvents(ctx)
	}
	before, start, deleted := s.now().Add(-s.c.Retain), time.Now(), 0
	defer func() {
		if deleted > 0 {
			s.c.Log.InfoContext(ctx, "old events are deleted", "events", deleted, "before", before.Truncate(24*time.Hour), "duration", time.Since(start))
		}
	}()
	for {
		step := time.Now()
		n, more, err := s.c.Data.ExpireEvents(ctx, before)
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
