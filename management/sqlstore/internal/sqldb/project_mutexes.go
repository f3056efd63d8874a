package sqldb

import (
	"context"
	"sync"
)

// projectMutexes make the writers of this process that write about one project wait for
// each other: from before the transaction, where waiting takes no connection,
// until the caches have dropped the changed entries. Otherwise a writer could
// be acknowledged while the caches still have entries that an earlier writer,
// whose changes it has built on, is about to drop.
type projectMutexes struct {
	mu       sync.Mutex
	projects map[int64]*projectMutex
}

type projectMutex struct {
	busy  chan struct{} // full while it is locked
	users int           // number of calls that hold it or wait for it
}

// lock locks the mutexes of projects, which must be distinct and in ascending
// order. The returned function unlocks them.
func (m *projectMutexes) lock(ctx context.Context, projects ...int64) (release func(), err error) {
	for i, project := range projects {
		if err := m.lockOne(ctx, project); err != nil {
			m.unlock(projects[:i])
			return nil, err
		}
	}
	return func() { m.unlock(projects) }, nil
}

func (m *projectMutexes) lockOne(ctx context.Context, project int64) error {
	select {
	case m.hold(project).busy <- struct{}{}:
		return nil
	case <-ctx.Done():
		m.release(project)
		return ctx.Err()
	}
}

func (m *projectMutexes) unlock(projects []int64) {
	for _, project := range projects {
		<-m.release(project).busy
	}
}

func (m *projectMutexes) hold(project int64) *projectMutex {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.projects == nil {
		m.projects = make(map[int64]*projectMutex)
	}
	if m.projects[project] == nil {
		m.projects[project] = &projectMutex{busy: make(chan struct{}, 1)}
	}
	m.projects[project].users++
	return m.projects[project]
}

func (m *projectMutexes) release(project int64) *projectMutex {
	m.mu.Lock()
	defer m.mu.Unlock()
	left := m.projects[project]
	if left.users--; left.users == 0 {
		delete(m.projects, project)
	}
	return left
}
