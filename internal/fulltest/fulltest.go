// Package fulltest says how much tests do.
//
// A test that is slow by design runs with few cases or cheap parameters, so that
// `go test work` takes minutes on a small machine. With FLAGSTAFF_TEST_FULL=1 in the
// environment, as in .ci/run, it runs in full.
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
