package management_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/management"
)

// management.md §13.3: a flag may be made without condition sets, and is off for everybody
// until it gets one.
func TestRuling86FlagsWithoutConditionSets(t *testing.T) {
	const everybody = `{"groups":[{"properties":[],"rollout_percentage":100}]}`
	for _, tt := range []struct{ name, more, filters string }{
		{"no filters", ``, `{"groups":[]}`},
		{"empty filters", `,"filters":{}`, `{"groups":[]}`},
		{"no condition sets", `,"filters":{"groups":[]}`, `{"groups":[]}`},
		{
			"variants without condition sets", `,"filters":{"multivariate":{"variants":[{"key":"a","rollout_percentage":100}]},"payloads":{"a":"1"}}`,
			`{"groups":[],"multivariate":{"variants":[{"key":"a","rollout_percentage":100}]},"payloads":{"a":"1"}}`,
		},
		{"remote configuration without filters", `,"is_remote_configuration":true`, everybody},
		{"remote configuration with empty filters", `,"is_remote_configuration":true,"filters":{}`, everybody},
		{"remote configuration without condition sets", `,"is_remote_configuration":true,"filters":{"groups":[]}`, everybody},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, withData)
			id := w.flag(w.web, `{"key":"k"`+tt.more+`}`)
			v := w.seeFlag(id)
			if diff := cmp.Diff(tt.filters, shown(v.Filters), same); diff != "" || !v.Active || v.Status != "ACTIVE" || v.Version != 1 {
				t.Errorf("active %t, status %s, version %d, filters (-want +got)\n%s", v.Active, v.Status, v.Version, diff)
			}
			want := tt.filters == everybody

			// As it is evaluated, and served to clients that evaluate themselves.
			value := must(w.explain(id, `{"distinct_id":"somebody"}`))(t).Result.Enabled
			if value != want {
				t.Errorf("evaluated to %v, want %t", value, want)
			}
			definitions := must(w.definitions())(t)
			for _, compiled := range []*flags.Definitions{definitions, decodeDefinitions(t, must(json.Marshal(definitions))(t))} {
				s := must(flags.Compile(compiled, flags.CompileOptions{}))(t)
				for _, p := range s.Problems() {
					if p.Severity != flags.SeverityNote {
						t.Errorf("%v: %v", p.Severity, p)
					}
				}
			}

			// Exported, read again, and made elsewhere.
			exported := must(w.ExportDefinitions(t.Context(), w.as(w.ada), ref(w.web), management.ExportOptions{}))(t)
			same := must(w.ImportDefinitions(t.Context(), w.as(w.ada), ref(w.web), exported, management.ImportOptions{}))(t)
			if !slices.Equal(same.Unchanged, []string{"k"}) {
				t.Errorf("imported again: %+v", same)
			}
			other := newWorld(t, withData)
			made := must(other.Import(t.Context(), other.web.ID, exported, management.ImportOptions{}))(t)
			if !slices.Equal(made.Flags, []string{"k"}) || made.Parity == 0 {
				t.Errorf("imported elsewhere: %+v", made)
			}
			if diff := cmp.Diff(string(exported), string(must(other.ExportDefinitions(t.Context(), other.as(other.ada), ref(other.web), management.ExportOptions{}))(t))); diff != "" {
				t.Errorf("exported elsewhere (-first +second)\n%s", diff)
			}

			// Other changes leave it so; a condition set turns it on, and it can go back.
			if v = must(w.changeFlag(id, `{"name":"n","filters":{}}`))(t); shown(v.Filters) != tt.filters {
				t.Errorf("renamed: %s, want %s", shown(v.Filters), tt.filters)
			}
			must(w.changeFlag(id, `{"filters":`+when("plan", "pro")+`}`))(t)
			if !must(w.explain(id, `{"distinct_id":"somebody","person_properties":{"plan":"pro"}}`))(t).Result.Enabled {
				t.Error("a condition set does not turn it on")
			}
			for n := range 2 {
				if v := w.version(id, n+1); shown(v.Filters) != tt.filters {
					t.Errorf("version %d: %s, want %s", n+1, shown(v.Filters), tt.filters)
				}
			}
			if v := must(w.revert(id, `{"version":1}`))(t); shown(v.Filters) != tt.filters {
				t.Errorf("reverted: %s, want %s", shown(v.Filters), tt.filters)
			}
		})
	}
}

// What a flag cannot be made of stays refused: null is not filters, and a survey that
// targets nobody is a mistake (management.md §9.6).
func TestRuling86WhatStaysRefused(t *testing.T) {
	w := newWorld(t)
	for body, want := range map[string]string{
		`{"key":"k","filters":null}`:            "invalid null filters",
		`{"key":"k","filters":{"groups":null}}`: "invalid invalid_input filters",
		`{"key":"k","filters":[]}`:              "invalid invalid_input filters",
	} {
		_, err := w.CreateFlag(t.Context(), w.as(w.ada), ref(w.web), decode[management.FlagPatch](t, body))
		checkFault(t, body, err, want)
	}
}

func decodeDefinitions(t testing.TB, document []byte) *flags.Definitions {
	t.Helper()
	return must(flags.Decode(strings.NewReader(string(document))))(t)
}
