package pattern

import (
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
)

// TestFoldable: the list that is made of ranges has every character with another case.
func TestFoldable(t *testing.T) {
	var want []rune
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if unicode.SimpleFold(r) != r {
			want = append(want, r)
		}
	}
	if diff := cmp.Diff(want, foldable()); diff != "" {
		t.Errorf("characters with another case (-want +got):\n%s", diff)
	}
}
