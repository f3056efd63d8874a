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

// checks prints a line for each assertion of a driver. A failed assertion does
// not end the driver, because the other failures help to find the cause.
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

// poll asks until an answer satisfies the condition, or until a deadline
// passes. Then it returns the last answer.
func poll[T any](ask func() T, satisfies func(T) bool) T {
	for deadline := time.Now().Add(10 * time.Second); ; {
		answer := ask()
		if satisfies(answer) || time.Now().After(deadline) {
			return answer
		}
		time.Sleep(10 * time.Millisecond)
	}
}
