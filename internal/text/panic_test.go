package text_test

import (
	"errors"
	"testing"

	"github.com/flagstaff-go/flagstaff/internal/text"
)

func TestOfPanic(t *testing.T) {
	var list []int
	var outside any
	func() {
		defer func() { outside = recover() }()
		_ = list[len(list)]
	}()
	for _, tt := range []struct {
		value any
		want  string
	}{
		{outside, "runtime error: index out of range [0] with length 0"},
		{"phx_secret", "string"},
		{errors.New("of phx_secret"), "*errors.errorString"},
	} {
		if got := text.OfPanic(tt.value); got != tt.want {
			t.Errorf("OfPanic(%v) = %q, want %q", tt.value, got, tt.want)
		}
	}
}
