package server_test

import (
	"net/url"
	"slices"
	"testing"

	"github.com/flagstaff-go/flagstaff/server"
)

// FuzzValuesOf: the values of a parameter are the values that net/url finds.
func FuzzValuesOf(f *testing.F) {
	for _, query := range []string{
		"", "a", "a=", "a=1", "a=1&a=2&b=3", "a=%zz&a=2", "%61=1", "a=1;2&a=3", "a;b=1", "&&a=1&", "=1&a==1", "a=x+y%20z", "%=1&a=%", "a=%00", "a=%ff",
	} {
		f.Add(query, "a")
		f.Add(query, "")
	}
	f.Fuzz(func(t *testing.T, query, name string) {
		want, _ := url.ParseQuery(query) // as net/http does
		if got := slices.Collect(server.ValuesOf(query, name)); !slices.Equal(got, want[name]) {
			t.Errorf("ValuesOf(%q, %q) = %q, want %q", query, name, got, want[name])
		}
	})
}
