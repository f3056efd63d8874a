package parallel

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
)

// Recovered calls f, and returns its panic as an error: one in a goroutine that nobody
// else recovers would end the program.
func Recovered(f func()) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("a goroutine panicked: %v\n%s", v, debug.Stack())
		}
	}()
	f()
	return nil
}

// Each calls f for the numbers below n, on all processors. The error is a panic of
// f, after which f may not have been called for some numbers.
func Each(n int, f func(int)) error {
	var next atomic.Int64
	var wg sync.WaitGroup
	errs := make(chan error, 1)
	for range min(runtime.GOMAXPROCS(0), n) {
		wg.Go(func() {
			err := Recovered(func() {
				for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
					f(i)
				}
			})
			if err == nil {
				return
			}
			next.Store(int64(n))
			select {
			case errs <- err:
			default: // the first one is enough
			}
		})
	}
	wg.Wait()
	select {
	case err := <-errs:
		return err
	default:
		return nil
	}
}

// InTurns calls read for each part, and write for what it returns, in order, until one of
// them fails. It reads a part while the one before is written.
func InTurns[P, R any](parts []P, read func(P) (R, error), write func(R) error) error {
	type result struct {
		read R
		err  error
	}
	results, stop := make(chan result), make(chan struct{})
	var wg sync.WaitGroup
	defer wg.Wait()
	defer close(stop)
	wg.Go(func() {
		for _, part := range parts {
			var r result
			if err := Recovered(func() { r.read, r.err = read(part) }); err != nil {
				r.err = err
			}
			select {
			case results <- r:
			case <-stop:
				return
			}
		}
	})
	for range parts {
		r := <-results
		if r.err != nil {
			return r.err
		}
		if err := write(r.read); err != nil {
			return err
		}
	}
	return nil
}
