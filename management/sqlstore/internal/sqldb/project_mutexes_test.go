package sqldb_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/flagstaff-go/flagstaff/management/sqlstore/internal/sqldb"
)

// TestProjectMutexes lets many goroutines lock several projects each.
func TestProjectMutexes(t *testing.T) {
	const projects, takers, times = 5, 8, 500
	mutexes := sqldb.NewProjectMutexes()
	var busy [projects]atomic.Int32
	var wg sync.WaitGroup
	for g := range takers {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(g), 0))
			for range times {
				var list []int64
				for p := range projects {
					if rng.IntN(2) == 0 {
						list = append(list, int64(p))
					}
				}
				release, err := mutexes.Lock(t.Context(), list...)
				if err != nil {
					t.Error(err)
					return
				}
				for _, p := range list {
					if n := busy[p].Add(1); n != 1 {
						t.Errorf("%d have locked project %d", n, p)
					}
				}
				for _, p := range slices.Backward(list) {
					busy[p].Add(-1)
				}
				release()
			}
		})
	}
	wg.Wait()
}

// TestProjectMutexesEnd ends the wait for one.
func TestProjectMutexesEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mutexes := sqldb.NewProjectMutexes()
		release, err := mutexes.Lock(t.Context(), 2)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		got := make(chan error, 1)
		go func() {
			_, err := mutexes.Lock(ctx, 1, 2, 3)
			got <- err
		}()
		synctest.Wait()
		cancel()
		if err := <-got; !errors.Is(err, context.Canceled) {
			t.Errorf("Take = %v, want context.Canceled", err)
		}
		other, err := mutexes.Lock(t.Context(), 1, 3) // these are free
		if err != nil {
			t.Fatal(err)
		}
		other()
		release()
		all, err := mutexes.Lock(t.Context(), 1, 2, 3, 258) // the last one has the mutex of 2
		if err != nil {
			t.Fatal(err)
		}
		all()
	})
}
