package nearest_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/internal/nearest"
)

func Example() {
	fmt.Println(nearest.Names([]string{"check", "diff", "explain"}, "chekc"))
	// Output: [check]
}

func TestNames(t *testing.T) {
	names := []string{"addr", "max-body", "max-event", "store", "stream"}
	for word, want := range map[string][]string{
		"adr":      {"addr"},
		"sotre":    {"store"},
		"strea":    {"stream"},
		"stora":    {"store"},
		"body":     {"max-body"},
		"max":      {"max-body", "max-event"},
		"xyzzy":    nil,
		"":         nil,
		"addr":     {"addr"},
		"ad":       {"addr"},
		"maxevent": {"max-event"},
	} {
		if diff := cmp.Diff(want, nearest.Names(names, word)); diff != "" {
			t.Errorf("%q (-want +got)\n%s", word, diff)
		}
	}
}

func FuzzNames(f *testing.F) {
	f.Add("max-body", "body")
	f.Add("ab", "abcdefghijklmnopqrstuvwxyz")
	f.Fuzz(func(t *testing.T, name, word string) {
		names := []string{"check", name}
		for _, near := range nearest.Names(names, word) {
			if near != "check" && near != name {
				t.Errorf("%q is near %q, and none of %q", near, word, names)
			}
		}
	})
}
