package tool

import (
	"fmt"
	"os"
	"sync/atomic"
	"time"
)

// progressEvery is how often people hear of long work.
const progressEvery = 2 * time.Second

// Progress prints how far long work has come, again and again, until stop is called. It
// prints nothing if standard error is not a terminal, or if there is nothing to say.
func (p *Program) Progress(far func() string) (stop func()) {
	if !isTerminal(p.Stderr) {
		return func() {}
	}
	ended, finished := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(finished)
		tick := time.NewTicker(progressEvery)
		defer tick.Stop()
		for {
			select {
			case <-ended:
				return
			case <-tick.C:
				if text := far(); text != "" {
					fmt.Fprintln(p.Stderr, Printable(text))
				}
			}
		}
	}()
	return func() {
		close(ended)
		<-finished
	}
}

func isTerminal(w any) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// Counting is progress of something that is counted: the work tells done how many there
// are, which format says in words.
func (p *Program) Counting(format string) (done func(n int), stop func()) {
	var counted atomic.Int64
	stop = p.Progress(func() string { return fmt.Sprintf(format, counted.Load()) })
	return func(n int) { counted.Store(int64(n)) }, stop
}
