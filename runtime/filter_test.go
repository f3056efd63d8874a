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
		{"an empty list is not tags", []string{}, []string{"docs"}, true},
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
			if got := (runtime.Filter{Tags: tt.request}).Admits(runtime.Any, tt.flag, runtime.AnyTag); got != tt.want {
				t.Errorf("Filter{Tags: %q}.Admits(Any, %q, any) = %v, want %v", tt.request, tt.flag, got, tt.want)
			}
		})
	}
}

// TestRuling64TagMatch is the second part of evaluation.md §9.2.
func TestRuling64TagMatch(t *testing.T) {
	for _, tt := range []struct {
		name          string
		request, flag []string
		want          bool
	}{
		{"neither has tags", nil, nil, true},
		{"a request without tags sees all flags", nil, []string{"docs", "app"}, true},
		{"a flag without tags is always seen", []string{"app"}, nil, true},
		{"all", []string{"app", "docs"}, []string{"docs", "app"}, true},
		{"more than all", []string{"app", "site", "docs"}, []string{"docs", "app"}, true},
		{"one of two", []string{"docs"}, []string{"docs", "app"}, false},
		{"the other one", []string{"app", "site"}, []string{"docs", "app"}, false},
		{"a tag that the flag has twice", []string{"docs"}, []string{"docs", "docs"}, true},
		{"a tag that the request has twice", []string{"docs", "docs"}, []string{"docs", "app"}, false},
		{"case counts", []string{"app", "Docs"}, []string{"app", "docs"}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := (runtime.Filter{Tags: tt.request}).Admits(runtime.Any, tt.flag, runtime.AllTags); got != tt.want {
				t.Errorf("Filter{Tags: %q}.Admits(Any, %q, all) = %v, want %v", tt.request, tt.flag, got, tt.want)
			}
		})
	}
	for text, want := range map[string]runtime.TagMatch{"": runtime.AnyTag, "any": runtime.AnyTag, "all": runtime.AllTags} {
		m, ok := runtime.ParseTagMatch(text)
		if m != want || !ok || text != "" && m.String() != text {
			t.Errorf("ParseTagMatch(%q) = %v, %v; want %v", text, m, ok, want)
		}
	}
	for _, text := range []string{"ALL", "All", "every", " all"} {
		if m, ok := runtime.ParseTagMatch(text); ok {
			t.Errorf("ParseTagMatch(%q) = %v, want none", text, m)
		}
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
			if got := f.Admits(tt.r, tt.tags, runtime.AnyTag); got != tt.want {
				t.Errorf("%v.Admits(%v, %q, any) = %v, want %v", f, tt.r, tt.tags, got, tt.want)
			}
		})
	}
}

func TestZeroFilterHidesNothing(t *testing.T) {
	for _, r := range []runtime.Requirement{runtime.Any, runtime.ClientOnly, runtime.ServerOnly} {
		if !(runtime.Filter{}).Admits(r, []string{"app"}, runtime.AllTags) {
			t.Errorf("Filter{} hides a flag with requirement %v", r)
		}
	}
}
