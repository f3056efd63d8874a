package release

import (
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRead(t *testing.T) {
	platform := runtime.GOOS + "/" + runtime.GOARCH
	checkout := &debug.BuildInfo{GoVersion: "go1.26.1", Main: debug.Module{Version: "(devel)"}, Settings: []debug.BuildSetting{
		{Key: "vcs.revision", Value: "abc"}, {Key: "vcs.modified", Value: "true"}, {Key: "-trimpath", Value: "true"},
	}}
	for _, tt := range []struct {
		name   string
		linked string
		build  *debug.BuildInfo
		want   Info
	}{
		{"a release without a repository", "v1.2.3", &debug.BuildInfo{GoVersion: "go1.26.1"}, Info{"v1.2.3", "", false, "go1.26.1", platform}},
		{"the linker comes first", "v1.2.3", checkout, Info{"v1.2.3", "abc", true, "go1.26.1", platform}},
		{"go install", "", &debug.BuildInfo{GoVersion: "go1.26.1", Main: debug.Module{Version: "v1.2.4"}}, Info{"v1.2.4", "", false, "go1.26.1", platform}},
		{"a checkout", "", checkout, Info{"(devel)", "abc", true, "go1.26.1", platform}},
		{"nothing is known", "", new(debug.BuildInfo), Info{"(devel)", "", false, runtime.Version(), platform}},
	} {
		if diff := cmp.Diff(tt.want, read(tt.linked, tt.build)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", tt.name, diff)
		}
	}
	if got := Get().String(); got == "flagstaff " {
		t.Errorf("String() = %q, want a version", got)
	}
}
