package server_test

import (
	"context"
	"errors"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/flagstaff-go/flagstaff/server"
)

func TestStoredProperties(t *testing.T) {
	const acme = `"groups":{"company":"acme"}`
	for _, tt := range []struct {
		name, query, members string
		calls                []string
		on, off              string // flags, "" for none
	}{
		{"stored person", ``, ``, []string{"person 7 user-1"}, "flag-person", "flag-group"},
		{"request wins", ``, `,"person_properties":{"plan":"free"}`, []string{"person 7 user-1"}, "", "flag-person"},
		{"stored property that the request does not mention", ``, `,"person_properties":{"city":"Graz"}`, []string{"person 7 user-1"}, "flag-person", ""},
		{"override properties only", `&only_use_override_person_properties=true`, ``, nil, "flag-bool", "flag-person"},
		{"stored group", ``, `,` + acme, []string{"person 7 user-1", "group 7 company/acme"}, "flag-group", ""},
		{"group that is a number", ``, `,"groups":{"company":12}`, []string{"person 7 user-1", "group 7 company/12"}, "", "flag-group"},
		{"group without usable key", ``, `,"groups":{"company":""}`, []string{"person 7 user-1"}, "", "flag-group"},
		{"override properties only, with group", `&only_use_override_person_properties=true`, `,` + acme, []string{"group 7 company/acme"}, "flag-group", "flag-person"},
		{"no flag needs anything", ``, `,"flag_keys":["flag-bool","flag-variant"],` + acme, nil, "flag-bool", ""},
		{"the request has it all", ``, `,"flag_keys":["flag-group"],` + acme + `,"group_properties":{"company":{"tier":"enterprise"}}`, nil, "flag-group", ""},
		{"runtime hides the flag", ``, `,"flag_keys":["flag-client"]`, nil, "", ""},
		{"surveys only", `&only_evaluate_survey_feature_flags=true`, ``, nil, "survey-targeting-1", ""},
		{"disabled", ``, `,"disable_flags":true`, nil, "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := &fakeProperties{
				persons: map[string]string{"user-1": `{"plan":"pro"}`},
				groups:  map[string]string{"company/acme": `{"tier":"enterprise"}`},
			}
			s := newServer(t, func(c *server.Config) { c.Store = fakeStore{fakeProperties: f} })
			a := call{target: "/flags?v=2" + tt.query, body: `{"token":"phc_demo","distinct_id":"user-1"` + tt.members + `}`}.ok(t, s)
			if diff := cmp.Diff(tt.calls, f.calls, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
			if tt.on != "" && !a.enabled(tt.on) || tt.off != "" && a.enabled(tt.off) || *a.ErrorsWhileComputingFlags {
				t.Errorf("want %q on, %q off: %+v", tt.on, tt.off, a)
			}
		})
	}
}

// TestStoreFailures: without a store's data the others count, and the answer
// says that it is partial.
func TestStoreFailures(t *testing.T) {
	down := errors.New("down")
	for _, tt := range []struct {
		name   string
		change func(*server.Config)
		want   bool
	}{
		{"nothing fails", func(c *server.Config) {
			c.Store = fakeStore{&fakeProperties{}, &fakeOverrides{}, &fakeCohorts{}}
		}, false},
		{"properties", func(c *server.Config) { c.Store = fakeStore{fakeProperties: &fakeProperties{err: down}} }, true},
		{"person is not JSON", func(c *server.Config) {
			c.Store = fakeStore{fakeProperties: &fakeProperties{persons: map[string]string{"user-1": `{"plan":`}}}
		}, true},
		{"group is not an object", func(c *server.Config) {
			c.Store = fakeStore{fakeProperties: &fakeProperties{groups: map[string]string{"company/acme": `[1]`}}}
		}, true},
		{"cohorts", func(c *server.Config) { c.Store = fakeStore{fakeCohorts: &fakeCohorts{err: down}} }, true},
		{"overrides", func(c *server.Config) { c.Store = fakeStore{fakeOverrides: &fakeOverrides{err: down}} }, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newServer(t, tt.change)
			for _, target := range []string{"/flags?v=2", "/flags?v=1", "/decide", "/flags?detailed_analysis=true"} {
				a := call{target: target, body: `{"token":"phc_demo","distinct_id":"user-1","groups":{"company":"acme"}}`}.ok(t, s)
				if *a.ErrorsWhileComputingFlags != tt.want || a.Flags != nil && !a.enabled("flag-bool") {
					t.Errorf("%s: %+v, want errorsWhileComputingFlags %v", target, a, tt.want)
				}
			}
		})
	}
}

// A silentProperties store answers nothing before its context ends.
type silentProperties struct{ fakeStore }

func (silentProperties) AppendPerson(ctx context.Context, dst []byte, _ int64, _ string) ([]byte, error) {
	<-ctx.Done()
	return dst, ctx.Err()
}

// TestStoreTimeout: a store that does not answer delays an answer by a second, unless
// the server is configured otherwise.
func TestStoreTimeout(t *testing.T) {
	for _, tt := range []struct{ timeout, want time.Duration }{{0, time.Second}, {20 * time.Millisecond, 20 * time.Millisecond}} {
		synctest.Test(t, func(t *testing.T) {
			s := newServer(t, func(c *server.Config) { c.Store, c.StoreTimeout = silentProperties{}, tt.timeout })
			start := time.Now()
			a := call{body: simple}.ok(t, s)
			if took := time.Since(start); took != tt.want || !*a.ErrorsWhileComputingFlags || !a.enabled("flag-bool") {
				t.Errorf("timeout %v: after %v: %+v, want a partial answer after %v", tt.timeout, took, a, tt.want)
			}
		})
	}
}

func TestCohorts(t *testing.T) {
	f := &fakeCohorts{ids: []int64{8, 9}}
	s := newServer(t, func(c *server.Config) { c.Store = fakeStore{fakeCohorts: f} })
	if !(call{body: simple}.ok(t, s).enabled("flag-person")) {
		t.Error("a member: off")
	}
	call{body: `{"token":"phc_demo","distinct_id":"user-1","flag_keys":["flag-bool"]}`}.ok(t, s)
	call{body: `{"token":"phc_demo","distinct_id":""}`}.ok(t, s)
	if diff := cmp.Diff([]string{"7 user-1"}, f.calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	f.ids = nil
	if (call{body: simple}.ok(t, s).enabled("flag-person")) {
		t.Error("not a member: on")
	}
}

func TestOverrides(t *testing.T) {
	// One of these two is on at 50 %, and the other is off.
	on, off := "u-1", "u-2"
	f := &fakeOverrides{flag: "flag-continuity", key: on}
	s := newServer(t, func(c *server.Config) { c.Store = fakeStore{fakeOverrides: f} })
	if !(call{body: `{"token":"phc_demo","distinct_id":"u-2"}`}.ok(t, s).enabled("flag-continuity")) {
		t.Error("the stored key did not count")
	}
	call{body: `{"token":"phc_demo","distinct_id":"u-2","$anon_distinct_id":"a-1"}`}.ok(t, s)
	call{body: `{"token":"phc_demo","distinct_id":"u-2","person_properties":{"$anon_distinct_id":"a-2"}}`}.ok(t, s)
	call{body: `{"token":"phc_demo","distinct_id":"u-2","flag_keys":["flag-bool"]}`}.ok(t, s)
	if diff := cmp.Diff([]string{`7 u-2  ["flag-continuity"]`, `7 u-2 a-1 ["flag-continuity"]`, `7 u-2 a-2 ["flag-continuity"]`}, f.calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	f.key = off
	if (call{body: `{"token":"phc_demo","distinct_id":"u-1"}`}.ok(t, s).enabled("flag-continuity")) {
		t.Error("the stored key did not count")
	}
	// Nothing of it is left for the next person.
	f.flag = ""
	if !(call{body: `{"token":"phc_demo","distinct_id":"u-1"}`}.ok(t, s).enabled("flag-continuity")) {
		t.Error("an earlier request's key counted")
	}
}

func TestGeo(t *testing.T) {
	var asked []netip.Addr
	s := newServer(t, func(c *server.Config) {
		c.Geo = fakeGeo{&asked, map[string]string{"$geoip_country_code": "AT"}}
	})
	for _, tt := range []struct {
		name, members string
		asks, want    bool
	}{
		{"looked up", ``, true, true},
		{"null in the request", `,"person_properties":{"$geoip_country_code":null}`, true, true},
		{"given in the request", `,"person_properties":{"$geoip_country_code":"DE"}`, false, false},
		{"forbidden", `,"geoip_disable":true`, false, false},
		{"not needed", `,"flag_keys":["flag-bool"]`, false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			asked = nil
			a := call{body: `{"token":"phc_demo","distinct_id":"u"` + tt.members + `}`}.ok(t, s)
			if len(asked) > 0 != tt.asks || a.enabled("flag-person") != tt.want {
				t.Errorf("asked for %v, flag on: %v", asked, a.enabled("flag-person"))
			}
		})
	}
}

func TestQuota(t *testing.T) {
	q := &fakeQuota{left: map[string]int{"acme": 2}}
	s := newServer(t, func(c *server.Config) { c.Quota = q })
	for i, want := range []bool{false, false, true, true} {
		a := call{body: simple}.ok(t, s)
		if limited := len(a.QuotaLimited) == 1 && a.QuotaLimited[0] == "feature_flags"; limited != want || (len(a.Flags) == 0) != want || *a.ErrorsWhileComputingFlags {
			t.Errorf("request %d: limited %v, want %v: %+v", i, limited, want, a)
		}
	}
	// Answers without evaluation cost nothing.
	q.left["acme"] = 1
	call{body: `{"token":"phc_demo","disable_flags":true}`}.ok(t, s)
	call{body: `{"token":"phc_demo"}`}.do(s)
	call{body: `{"token":"phc_other","distinct_id":"u"}`}.do(s)
	if q.left["acme"] != 1 {
		t.Errorf("%d left, want 1", q.left["acme"])
	}
}
