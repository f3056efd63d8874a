package sdk

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// passed and failed count the assertions of all drivers.
var passed, failed atomic.Int64

// checks prints a line for each assertion of a driver. A failed one does not end
// it: what else fails tells what is wrong.
type checks struct {
	t      *testing.T
	driver string
}

func (c checks) ok(id, text string, condition bool, seen ...any) {
	c.t.Helper()
	if condition {
		passed.Add(1)
		if testing.Verbose() {
			fmt.Printf("ok %s %s %s\n", c.driver, id, text)
		}
		return
	}
	failed.Add(1)
	c.t.Errorf("FAIL %s %s %s: saw %v", c.driver, id, text, seen)
}

func (c checks) equal(id, text string, got, want any) {
	c.t.Helper()
	diff := cmp.Diff(want, got)
	c.ok(id, text, diff == "", diff)
}

// poll asks until an answer satisfies, or until a deadline; then the last answer
// is as good as it gets.
func poll[T any](ask func() T, satisfies func(T) bool) T {
	for deadline := time.Now().Add(10 * time.Second); ; {
		answer := ask()
		if satisfies(answer) || time.Now().After(deadline) {
			return answer
		}
		time.Sleep(10 * time.Millisecond)
	}
}
