package fulltest

import (
	"os"
	"testing"
)

// Enabled reports whether tests run in full.
func Enabled() bool { return os.Getenv("FLAGSTAFF_TEST_FULL") == "1" }

// Only skips a test that has nothing to add to faster ones but when tests run in
// full.
func Only(tb testing.TB) {
	tb.Helper()
	if !Enabled() {
		tb.Skip("runs with FLAGSTAFF_TEST_FULL=1")
	}
}

// Count returns all if tests run in full, and few otherwise.
func Count(few, all int) int {
	if Enabled() {
		return all
	}
	return few
}
