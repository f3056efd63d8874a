package text_test

import (
	"testing"

	"github.com/flagstaff-go/flagstaff/internal/text"
)

func TestIdentifier(t *testing.T) {
	for _, tt := range []struct {
		s    string
		n    int
		want string
	}{
		{"", 0, ""},
		{"a", 0, ""},
		{"user", 4, "user"},
		{"user-1", 4, "user"},
		{"\x00us\x00er", 3, "\uFFFDus"},
		{"\x00", 1, "\uFFFD"},
		{"äöü", 3, "äöü"},
		{"äöü", 2, "äö"},
		{"\xff\xfe\xfd", 2, "\xff\xfe"},
	} {
		if got := text.Identifier(tt.s, tt.n); got != tt.want {
			t.Errorf("Identifier(%q, %d) = %q, want %q", tt.s, tt.n, got, tt.want)
		}
	}
}
