package strictver_test

import (
	"testing"

	"github.com/flagstaff-go/flagstaff/internal/strictver"
)

func TestParse(t *testing.T) {
	for s, want := range map[string]strictver.Version{
		"1.2.3":              {Major: "1", Minor: "2", Patch: "3"},
		"0.0.0-0":            {Major: "0", Minor: "0", Patch: "0", Pre: "0"},
		"1.2.3-rc.1+build.7": {Major: "1", Minor: "2", Patch: "3", Pre: "rc.1"},
		"1.2.3+01":           {Major: "1", Minor: "2", Patch: "3"},
		"1.2.3---":           {Major: "1", Minor: "2", Patch: "3", Pre: "--"},
	} {
		if got, ok := strictver.Parse(s, false); !ok || got != want {
			t.Errorf("%q is %v, %v, want %v", s, got, ok, want)
		}
	}
	for _, s := range []string{"", "1", "1.2", "1.2.", "v1.2.3", "01.2.3", "1.2.3-", "1.2.3-01", "1.2.3-a..b", "1.2.3+", "1.2.3 ", "1.2.3-é", "1..3", "1.2-rc.3"} {
		if got, ok := strictver.Parse(s, false); ok {
			t.Errorf("%q is %v", s, got)
		}
	}
	for s, ok := range map[string]bool{"1": true, "1.2": true, "1.": false, "1.2-rc": false, "1-rc": false, "": false} {
		if _, got := strictver.Parse(s, true); got != ok {
			t.Errorf("%q with parts left out: %v", s, got)
		}
	}
}

// TestCompare has versions in ascending order of precedence.
func TestCompare(t *testing.T) {
	order := []string{
		"0.9.10", "1.0.0-1", "1.0.0-2", "1.0.0-10", "1.0.0-99999999999999999999", "1.0.0--", "1.0.0-A", "1.0.0-a", "1.0.0-a.1", "1.0.0-a.1.0", "1.0.0-a.b",
		"1.0.0", "1.0.9", "1.0.10", "1.2.0", "1.10.0", "99999999999999999999.0.0",
	}
	for i, a := range order {
		for j, b := range order {
			v, _ := strictver.Parse(a, false)
			w, _ := strictver.Parse(b+"+build", false)
			if got := v.Compare(&w); got != min(max(i-j, -1), 1) {
				t.Errorf("%s to %s is %d", a, b, got)
			}
		}
	}
}

func TestFits(t *testing.T) {
	for s, want := range map[string]bool{
		"18446744073709551615.0.0": true, "18446744073709551616.0.0": false, "1.0.0-18446744073709551616": false, "1.0.0-a18446744073709551616": true,
	} {
		if v, ok := strictver.Parse(s, false); !ok || v.Fits() != want {
			t.Errorf("%s: %v", s, v.Fits())
		}
	}
}
