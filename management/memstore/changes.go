package memstore

import (
	"context"
	"maps"
	"sync"
)

// bump makes the version of a project grow; 0 stands for projects themselves.
func (t *tables) bump(project int64) {
	versions := maps.Clone(t.versions)
	if versions == nil {
		versions = make(map[int64]int64)
	}
	versions[project]++
	t.versions = versions
}

// Versions implements [management.ChangeStore].
func (s *Store) Versions(ctx context.Context) (map[int64]int64, error) {
	return maps.Clone(s.tables().versions), ctx.Err()
}

// Watch implements [management.ChangeStore].
func (s *Store) Watch(ctx context.Context, changed func()) error {
	for {
		seen := s.current.Load()
		changed()
		for now := seen; maps.Equal(now.changes(), seen.changes()); now = s.current.Load() {
			select {
			case <-s.nextChange(now):
			case <-ctx.Done():
				return nil
			}
		}
	}
}

func (t *tables) changes() map[int64]int64 {
	if t == nil {
		return nil
	}
	return t.versions
}

// nextChange returns a channel that is closed once the tables are others.
func (a *accounts) nextChange(than *tables) <-chan struct{} {
	a.writing.Lock()
	defer a.writing.Unlock()
	if a.current.Load() != than {
		over := make(chan struct{})
		close(over)
		return over
	}
	if a.changed == nil {
		a.changed = make(chan struct{})
	}
	return a.changed
}

// leaders are the names of what is done by one at a time.
type leaders struct {
	mu    sync.Mutex
	names map[string]bool
}

// Lead implements [management.Leader].
func (l *leaders) Lead(ctx context.Context, name string, f func(context.Context) error) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	if !l.begin(name) {
		return false, nil
	}
	defer l.end(name)
	return true, f(ctx)
}

func (l *leaders) begin(name string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.names[name] {
		return false
	}
	if l.names == nil {
		l.names = make(map[string]bool)
	}
	l.names[name] = true
	return true
}

func (l *leaders) end(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.names, name)
}
