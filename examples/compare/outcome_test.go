package main_test

import (
	"math"
	"testing"
)

// each runs a test for each library, with an engine that it opens.
func each(t *testing.T, all []flag, test func(t *testing.T, l library, e engine)) {
	t.Helper()
	for _, l := range libraries {
		t.Run(l.name, func(t *testing.T) {
			e := l.prepare(t, all, false)()
			t.Cleanup(e.close)
			test(t, l, e)
		})
	}
}

// wantShare fails the test unless got/n is close to the share want. The
// tolerance is five standard deviations.
func wantShare(t *testing.T, what string, got, n int, want float64) {
	t.Helper()
	share, tolerance := float64(got)/float64(n), 5*math.Sqrt(want*(1-want)/float64(n))
	if math.Abs(share-want) > tolerance {
		t.Errorf("%s: %d of %d, want a share of %.2f ± %.3f", what, got, n, want, tolerance)
	}
}

func TestConditions(t *testing.T) {
	for _, tt := range []struct {
		name string
		flag flag
		can  func(library) bool
	}{
		{"one boolean flag", booleanFlag, nil},
		{"three conditions", conditionsFlag, nil},
		{"regexp", regexpFlag, func(l library) bool { return l.regexps }},
		{"semver", semverFlag, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			each(t, []flag{tt.flag}, func(t *testing.T, l library, e engine) {
				if tt.can != nil && !tt.can(l) {
					t.Skip("the library cannot do this")
				}
				met, on, rollout := 0, 0, 100
				for _, p := range persons(2000, anybody) {
					want := false
					for _, c := range tt.flag.conditions {
						if c.meets(p) {
							want, rollout = true, c.rollout
						}
					}
					s := e.subject(p)
					got := s.enabled(flagKey)
					if got != s.enabled(flagKey) {
						t.Fatalf("%+v has two values", p)
					}
					if want {
						met++
					}
					if got {
						on++
					}
					if got && !want || want && !got && tt.flag.conditions[0].rollout == 100 {
						t.Fatalf("enabled for %+v = %v, want %v", p, got, want)
					}
				}
				if met == 0 || len(tt.flag.conditions[0].filters) > 0 && met == 2000 {
					t.Fatalf("%d of 2000 persons meet the conditions, so nothing is tested", met)
				}
				wantShare(t, "enabled", on, met, float64(rollout)/100)

				// The measured outcome is the one that takes the most work.
				on = 0
				for _, p := range persons(2000, customer) {
					if e.subject(p).enabled(flagKey) {
						on++
					}
				}
				wantShare(t, "enabled, of those who are measured", on, 2000, float64(rollout)/100)
			})
		})
	}
}

func TestVariants(t *testing.T) {
	each(t, []flag{variantsFlag}, func(t *testing.T, _ library, e engine) {
		count := make(map[string]int)
		for _, p := range persons(2000, customer) {
			s := e.subject(p)
			v := s.variant(flagKey)
			if v != s.variant(flagKey) {
				t.Fatalf("%s has two variants", p.id)
			}
			count[v]++
		}
		if len(count) != len(variantsFlag.variants) {
			t.Errorf("variants %v, want %v", count, variantsFlag.variants)
		}
		for _, v := range variantsFlag.variants {
			wantShare(t, v, count[v], 2000, variantsFlag.share(1))
		}
	})
}

func TestAll(t *testing.T) {
	all := manyFlags(100)
	each(t, all, func(t *testing.T, _ library, e engine) {
		on, pairs := 0, 0
		for _, p := range persons(40, visitor) {
			s, each := e.subject(p), 0
			for _, f := range all {
				if s.enabled(f.key) {
					each++
				}
			}
			if got := s.all(); got != each {
				t.Fatalf("all for %s = %d, one by one %d", p.id, got, each)
			}
			// Flags must not share their rollouts.
			if each < 20 || each > 80 {
				t.Errorf("%s has %d of 100 flags", p.id, each)
			}
			on, pairs = on+each, pairs+100
		}
		wantShare(t, "enabled", on, pairs, 0.5)

		// Nobody has a flag whose condition is not met.
		p := visitor(0)
		for _, text := range []string{"plan", "country", "browser", "os", "locale", "team"} {
			p.properties[text] = "other"
		}
		if got := e.subject(p).all(); got != 0 {
			t.Errorf("all for a person who meets nothing = %d, want 0", got)
		}
	})
}

func TestEvents(t *testing.T) {
	for _, l := range libraries {
		if !l.events {
			continue
		}
		t.Run(l.name, func(t *testing.T) {
			var on [2]int
			for i, events := range []bool{false, true} {
				e := l.prepare(t, []flag{conditionsFlag}, events)()
				before := delivered.Load()
				for _, p := range persons(200, anybody) {
					if e.subject(p).enabled(flagKey) {
						on[i]++
					}
				}
				e.close()
				if n := delivered.Load() - before; events != (n >= 200) || !events && n != 0 {
					t.Errorf("with events %v, %d were delivered for 200 persons", events, n)
				}
			}
			if on[0] != on[1] {
				t.Errorf("enabled for %d persons without events, for %d with them", on[0], on[1])
			}
		})
	}
}

// TestDirect: a person whose properties are given for the call has the same value.
func TestDirect(t *testing.T) {
	each(t, []flag{conditionsFlag}, func(t *testing.T, _ library, e engine) {
		d, ok := e.(direct)
		if !ok {
			t.Skip("the library takes a person")
		}
		for i := range 200 {
			if id := personID(i); d.enabledFor(flagKey, id) != e.subject(customer(i)).enabled(flagKey) {
				t.Errorf("%s has two values", id)
			}
		}
	})
}
