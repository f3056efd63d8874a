package text_test

import (
	"math"
	"testing"

	"github.com/flagstaff-go/flagstaff/internal/text"
)

func TestShorten(t *testing.T) {
	for _, tt := range []struct {
		value string
		most  int
		want  string
	}{
		{"", 0, ""},
		{"abc", 3, "abc"},
		{"abc", math.MaxInt, "abc"},
		{"abcd", 3, "abc…"},
		{"aé", 3, "aé"},
		{"aéé", 4, "aé…"},
		{"a\xff", 4, "a\uFFFD"},
		{"ab\xff", 3, "ab…"},
	} {
		if got := text.Shorten(tt.value, tt.most); got != tt.want {
			t.Errorf("Shorten(%q, %d) = %q, want %q", tt.value, tt.most, got, tt.want)
		}
	}
}
