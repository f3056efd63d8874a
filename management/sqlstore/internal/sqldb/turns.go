package sqldb

import (
	"context"
	"sync"
)

// turns makes the writers of this process that write about one project wait for
// each other: from before the transaction, where waiting takes no connection,
// until the caches have dropped the changed entries. Otherwise a writer could
// be acknowledged while the caches still have entries that an earlier writer,
// whose changes it has built on, is about to drop.
type turns struct {
	mu       sync.Mutex
	projects map[int64]*turn
}

type turn struct {
	busy  chan struct{} // full while the turn is taken
	users int           // number of calls that have the turn or wait for it
}

// take waits for the turns of projects, which must be distinct and in ascending
// order. The returned function ends the turns.
func (t *turns) take(ctx context.Context, projects ...int64) (release func(), err error) {
	for i, project := range projects {
		if err := t.begin(ctx, project); err != nil {
			t.end(projects[:i])
			return nil, err
		}
	}
	return func() { t.end(projects) }, nil
}

func (t *turns) begin(ctx context.Context, project int64) error {
	select {
	case t.join(project).busy <- struct{}{}:
		return nil
	case <-ctx.Done():
		t.leave(project)
		return ctx.Err()
	}
}

func (t *turns) end(projects []int64) {
	for _, project := range projects {
		<-t.leave(project).busy
	}
}

func (t *turns) join(project int64) *turn {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.projects == nil {
		t.projects = make(map[int64]*turn)
	}
	if t.projects[project] == nil {
		t.projects[project] = &turn{busy: make(chan struct{}, 1)}
	}
	t.projects[project].users++
	return t.projects[project]
}

func (t *turns) leave(project int64) *turn {
	t.mu.Lock()
	defer t.mu.Unlock()
	left := t.projects[project]
	if left.users--; left.users == 0 {
		delete(t.projects, project)
	}
	return left
}
