package keykind_test

import (
	"strings"
	"testing"

	"github.com/flagstaff-go/flagstaff/internal/keykind"
)

func TestMistaken(t *testing.T) {
	for _, tt := range []struct {
		key    string
		wanted []keykind.Kind
		want   string
	}{
		{"phx_s3cret", []keykind.Kind{keykind.Personal}, ""},
		{"s3cret", []keykind.Kind{keykind.Personal}, ""},
		{"phc_s3cret", []keykind.Kind{keykind.Personal}, "this is a project API key (phc_…); it wants a personal API key (phx_…)"},
		{"phs_s3cret", []keykind.Kind{keykind.Personal}, "this is a project secret key (phs_…); it wants a personal API key (phx_…)"},
		{"phc_s3cret", []keykind.Kind{keykind.Secret, keykind.Personal}, "this is a project API key (phc_…); it wants a project secret key (phs_…) or a personal API key (phx_…)"},
		{"phs_s3cret", []keykind.Kind{keykind.Project}, "this is a project secret key (phs_…); it wants a project API key (phc_…)"},
		{"phx_s3cret", []keykind.Kind{keykind.Project}, "this is a personal API key (phx_…); it wants a project API key (phc_…)"},
	} {
		got := keykind.Mistaken(tt.key, "it", tt.wanted...)
		if got != tt.want || strings.Contains(got, "s3cret") {
			t.Errorf("Mistaken(%q, %q) = %q, want %q", tt.key, tt.wanted, got, tt.want)
		}
	}
}
