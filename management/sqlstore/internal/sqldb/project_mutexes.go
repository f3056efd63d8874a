package sqldb

import (
	"context"
	"slices"
)

// projectMutexes make the writers of this process that write about one project wait for
// each other: from before the transaction, where waiting takes no connection,
// until the caches have dropped the changed entries. Otherwise a writer could
// be acknowledged while the caches still have entries that an earlier writer,
// whose changes it has built on, is about to drop. A mutex is a channel, full while it is
// locked; projects that share one wait for each other as well.
type projectMutexes [256]chan struct{}

func newProjectMutexes() *projectMutexes {
	m := new(projectMutexes)
	for i := range m {
		m[i] = make(chan struct{}, 1)
	}
	return m
}

// lock locks the mutexes of projects, in one order. The returned function unlocks them.
func (m *projectMutexes) lock(ctx context.Context, projects ...int64) (release func(), err error) {
	places := collect(projects, func(p *int64) uint64 { return uint64(*p) % uint64(len(m)) })
	slices.Sort(places)
	places = slices.Compact(places)
	unlock := func(locked []uint64) {
		for _, i := range locked {
			<-m[i]
		}
	}
	for n, i := range places {
		select {
		case m[i] <- struct{}{}:
		case <-ctx.Done():
			unlock(places[:n])
			return nil, ctx.Err()
		}
	}
	return func() { unlock(places) }, nil
}
