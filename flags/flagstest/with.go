package flagstest

import (
	"context"
	"testing"

	"github.com/flagstaff-go/flagstaff"
)

// With returns a context in which the flags of the builders come before all others, for
// code that asks [flagstaff.From] or a declared flag. Goroutines that get the context
// have the flags, too, and other tests do not see them:
//
//	ctx := flagstest.With(t, t.Context(), flagstest.Flag("new-checkout").On())
//
// It fails the test in the same cases as Snapshot.
func With(t testing.TB, ctx context.Context, builders ...*Builder) context.Context {
	t.Helper()
	return flagstaff.Override(ctx, Snapshot(t, builders...))
}
