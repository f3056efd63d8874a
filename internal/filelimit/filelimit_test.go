//go:build unix

package filelimit_test

import (
	"syscall"
	"testing"

	"github.com/flagstaff-go/flagstaff/internal/filelimit"
)

// TestProcess lowers the limit and sees it.
func TestProcess(t *testing.T) {
	var was syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &was); err != nil {
		t.Fatal(err)
	}
	lower := was
	lower.Cur = 200
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &lower); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &was); err != nil {
			t.Error(err)
		}
	})
	if got := filelimit.Process(); got != 200 {
		t.Errorf("Process() = %d, want 200", got)
	}
}
