package runtime_test

import (
	"testing"

	"github.com/flagstaff-go/flagstaff/runtime"
)

func TestAdmits(t *testing.T) {
	for _, tt := range []struct {
		name string
		kind runtime.Kind
		r    runtime.Requirement
		want bool
	}{
		{"all sees any", runtime.All, runtime.Any, true},
		{"all sees client-only", runtime.All, runtime.ClientOnly, true},
		{"all sees server-only", runtime.All, runtime.ServerOnly, true},
		{"unknown sees any", runtime.Unknown, runtime.Any, true},
		{"unknown does not see client-only", runtime.Unknown, runtime.ClientOnly, false},
		{"unknown does not see server-only", runtime.Unknown, runtime.ServerOnly, false},
		{"client sees any", runtime.Client, runtime.Any, true},
		{"client sees client-only", runtime.Client, runtime.ClientOnly, true},
		{"client does not see server-only", runtime.Client, runtime.ServerOnly, false},
		{"server sees any", runtime.Server, runtime.Any, true},
		{"server does not see client-only", runtime.Server, runtime.ClientOnly, false},
		{"server sees server-only", runtime.Server, runtime.ServerOnly, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.r.Admits(tt.kind); got != tt.want {
				t.Errorf("%v.Admits(%v) = %v, want %v", tt.r, tt.kind, got, tt.want)
			}
		})
	}
}

func TestParse(t *testing.T) {
	for _, tt := range []struct {
		text string
		kind runtime.Kind
		r    runtime.Requirement
	}{
		{"client", runtime.Client, runtime.ClientOnly},
		{"server", runtime.Server, runtime.ServerOnly},
		{"all", runtime.All, runtime.Any},
		{"CLIENT", runtime.Client, runtime.ClientOnly},
		{"Server", runtime.Server, runtime.ServerOnly},
		{"All", runtime.All, runtime.Any},
		{"", runtime.All, runtime.Any},
		{"edge", runtime.All, runtime.Any},
		{"unknown", runtime.All, runtime.Any},
		{" client", runtime.All, runtime.Any},
		{"clients", runtime.All, runtime.Any},
		{"\u017ferver", runtime.All, runtime.Any}, // folds to "server" beyond ASCII
	} {
		if got := runtime.ParseKind(tt.text); got != tt.kind {
			t.Errorf("ParseKind(%q) = %v, want %v", tt.text, got, tt.kind)
		}
		if got := runtime.ParseRequirement(tt.text); got != tt.r {
			t.Errorf("ParseRequirement(%q) = %v, want %v", tt.text, got, tt.r)
		}
	}
}

func TestString(t *testing.T) {
	for kind, want := range map[runtime.Kind]string{
		runtime.All: "all", runtime.Unknown: "unknown", runtime.Client: "client", runtime.Server: "server", 99: "unknown",
	} {
		if got := kind.String(); got != want {
			t.Errorf("Kind(%d).String() = %q, want %q", uint8(kind), got, want)
		}
	}
	for r, want := range map[runtime.Requirement]string{
		runtime.Any: "all", runtime.ClientOnly: "client", runtime.ServerOnly: "server", 99: "all",
	} {
		if got := r.String(); got != want {
			t.Errorf("Requirement(%d).String() = %q, want %q", uint8(r), got, want)
		}
		if got := runtime.ParseRequirement(r.String()); r != 99 && got != r {
			t.Errorf("ParseRequirement(%q) = %v, want what it came from", r.String(), got)
		}
	}
}

func TestValuesOutOfRange(t *testing.T) {
	if !runtime.Any.Admits(99) || runtime.ClientOnly.Admits(99) || runtime.ServerOnly.Admits(99) {
		t.Error("Kind(99) is not treated as Unknown")
	}
	if r := runtime.Requirement(99); !r.Admits(runtime.Unknown) || !r.Admits(runtime.Client) || !r.Admits(runtime.Server) {
		t.Error("Requirement(99) is not treated as Any")
	}
}
