package convert

import (
	"slices"
	"testing"
)

// TestPointer has names with the signs that a JSON pointer has by itself.
func TestPointer(t *testing.T) {
	for pointer, names := range map[string][]string{
		"": nil, "/": {""}, "/a": {"a"}, "/a/b": {"a", "b"}, "/a~1b/~0/~01": {"a/b", "~", "~1"}, "/a//b": {"a", "", "b"},
	} {
		if got := Pointer(names...); got != pointer {
			t.Errorf("%q is the pointer %q, want %q", names, got, pointer)
		}
		if got := Steps(pointer); !slices.Equal(got, names) {
			t.Errorf("%q has the names %q, want %q", pointer, got, names)
		}
	}
}
