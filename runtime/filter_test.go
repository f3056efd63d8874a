package runtime_test

import (
	"testing"

	"github.com/flagstaff-go/flagstaff/runtime"
)

func TestFilterTags(t *testing.T) {
	for _, tt := range []struct {
		name          string
		request, flag []string
		want          bool
	}{
		{"neither has tags", nil, nil, true},
		{"a request without tags sees tagged flags", nil, []string{"docs"}, true},
		{"an empty list is no tags", []string{}, []string{"docs"}, true},
		{"a flag without tags is always seen", []string{"app"}, nil, true},
		{"a flag with an empty list is always seen", []string{"app"}, []string{}, true},
		{"one in common", []string{"app", "docs"}, []string{"docs"}, true},
		{"one of several in common", []string{"app", "docs"}, []string{"site", "docs"}, true},
		{"none in common", []string{"app", "docs"}, []string{"site"}, false},
		{"case counts", []string{"app", "docs"}, []string{"Docs"}, false},
		{"spaces count", []string{"docs"}, []string{" docs"}, false},
		{"the empty tag is a tag", []string{""}, []string{"docs"}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := (runtime.Filter{Tags: tt.request}).Admits(runtime.Any, tt.flag); got != tt.want {
				t.Errorf("Filter{Tags: %q}.Admits(Any, %q) = %v, want %v", tt.request, tt.flag, got, tt.want)
			}
		})
	}
}

func TestBothFiltersMustPass(t *testing.T) {
	f := runtime.Filter{Kind: runtime.Client, Tags: []string{"app"}}
	for _, tt := range []struct {
		name string
		r    runtime.Requirement
		tags []string
		want bool
	}{
		{"both pass", runtime.ClientOnly, []string{"app"}, true},
		{"the runtime does not", runtime.ServerOnly, []string{"app"}, false},
		{"the tags do not", runtime.ClientOnly, []string{"site"}, false},
		{"neither does", runtime.ServerOnly, []string{"site"}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := f.Admits(tt.r, tt.tags); got != tt.want {
				t.Errorf("%v.Admits(%v, %q) = %v, want %v", f, tt.r, tt.tags, got, tt.want)
			}
		})
	}
}

func TestZeroFilterHidesNothing(t *testing.T) {
	for _, r := range []runtime.Requirement{runtime.Any, runtime.ClientOnly, runtime.ServerOnly} {
		if !(runtime.Filter{}).Admits(r, []string{"app"}) {
			t.Errorf("Filter{} hides a flag with requirement %v", r)
		}
	}
}
