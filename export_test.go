package flagstaff

import "testing"

// KeepHandles forgets at the end of a test which flags it has declared.
func KeepHandles(t *testing.T) {
	before := declared.handles
	t.Cleanup(func() { declared.handles = before })
}
