package management

import (
	"context"
	"sync"
	"time"
)

// mailers is how many messages are sent at once.
const mailers = 4

// Run sends mail, counts cohorts, indexes events and persons, reads the names and properties
// of events, and deletes old events and what projects and persons leave behind, until ctx
// ends. Then it sends the messages that wait, once each, for at most ten seconds, and returns
// nil. It must be called once: without it mail waits, cohorts have no count, events are found
// slowly and their names are not listed, and data of deleted projects and persons stays.
func (s *Service) Run(ctx context.Context) error {
	var wg sync.WaitGroup
	for range mailers {
		wg.Go(func() {
			for ctx.Err() == nil {
				select {
				case m := <-s.mail.waiting:
					s.mail.deliver(ctx, m)
				case v := <-s.mail.requested:
					if err := v.send(ctx); ctx.Err() != nil && err != nil {
						s.mail.request(v) // waits again
					} else {
						s.noteUnsent(ctx, v, err)
					}
				case <-ctx.Done():
				}
			}
		})
	}
	if data := s.c.Data; data != nil {
		wg.Go(func() {
			s.again(ctx, purgeAfter, "what deleted projects leave behind is not deleted", func(ctx context.Context) (bool, error) {
				return data.PurgeProjects(ctx, s.now().Add(-purgeAfter))
			})
		})
		wg.Go(func() { s.again(ctx, purgeAfter, "events of deleted persons are not deleted", data.PurgeEvents) })
		for failed, f := range map[string]func(context.Context) (bool, error){
			"events are not indexed, and to find them takes longer and longer": data.Index,
			"names of new events and properties are not listed":                data.DefineEvents,
		} {
			wg.Go(func() { s.again(ctx, indexEvery, failed, f) })
		}
	}
	wg.Go(func() { s.keepCohorts(ctx) })
	wg.Go(func() { s.expireEvents(ctx) })
	wg.Wait()
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	for {
		select {
		case v := <-s.mail.requested:
			s.noteUnsent(last, v, v.send(last))
			continue
		default:
		}
		select {
		case m := <-s.mail.waiting:
			if err := s.mail.try(last, m); err != nil {
				s.c.Log.Error("mail is not sent before the end", "kind", m.Kind, "error", err)
			}
		default:
			return nil
		}
	}
}

// noteUnsent logs why nobody gets a message, if there is an error.
func (s *Service) noteUnsent(ctx context.Context, v requestedMail, err error) {
	if err != nil {
		s.c.Log.ErrorContext(ctx, "mail is not sent", "kind", v.kind, "error", err)
	}
}

// purgeAfter is how long a project must be gone before what it left is deleted:
// events that were accepted before may still be on their way. It is also how often
// that is looked for.
const purgeAfter = time.Minute

// indexEvery is how often it is looked for events that can be indexed.
const indexEvery = 10 * time.Second

// lead runs f, unless another process does under a name.
func (s *Service) lead(ctx context.Context, name string, f func(context.Context) error) error {
	if s.c.Leader == nil {
		return f(ctx)
	}
	_, err := s.c.Leader.Lead(ctx, name, f)
	return err
}

// again calls f now and after each pause, and at once while there is more. Failed says
// what a failure means.
func (s *Service) again(ctx context.Context, pause time.Duration, failed string, f func(context.Context) (more bool, err error)) {
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for {
		more, err := f(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			s.c.Log.ErrorContext(ctx, failed, "error", err)
		case more:
			continue
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}
