package main

import (
	"encoding/json"
	"strings"
	"testing"
)

const explained = `{"group_type_mapping":{"0":"company"},"flags":[
	{"id":1,"key":"new-checkout","name":"The checkout","active":true,"filters":{"groups":[{"properties":[
		{"key":"plan","type":"person","operator":"exact","value":"pro"},{"key":"seats","type":"person","operator":"gt","value":5}]}]}},
	{"id":2,"key":"billing","active":true,"filters":{"aggregation_group_type_index":0,"groups":[{"properties":[
		{"key":"tier","type":"group","group_type_index":0,"operator":"exact","value":"free"}]}]}},
	{"id":3,"key":"recent","active":true,"evaluation_runtime":"client","evaluation_contexts":["app"],"filters":{"groups":[{"properties":[
		{"key":"seen","type":"person","operator":"is_date_after","value":"-30d"}]}]}},
	{"id":4,"key":"zip","active":true,"filters":{"groups":[{"properties":[{"key":"zip","type":"person","operator":"exact","value":"01234"}]}]}}]}`

func TestExplain(t *testing.T) {
	t.Parallel()
	file := write(t, "flags.json", explained)
	for _, tt := range []struct {
		name string
		args []string
		want string // how the output begins
	}{
		{"no properties", []string{file, "new-checkout", "ada"}, "new-checkout = false"},
		{"properties", []string{"-property", "plan=pro", "--property=seats=6", file, "new-checkout", "ada"}, "new-checkout = true"},
		{"flags after arguments", []string{file, "new-checkout", "ada", "-property", "plan=pro", "-property", "seats=6"}, "new-checkout = true"},
		{"a comma is not a separator", []string{file, "new-checkout", "ada", "-property", "plan=pro,team", "-property", "seats=6"}, "new-checkout = false"},
		{"a group", []string{"-group", "company=acme", "-group-property", "company.tier=free", file, "billing", "ada"}, "billing = true"},
		{"another group", []string{"-group", "company=acme", "-group-property", "company.tier=paid", file, "billing", "ada"}, "billing = false"},
		{"a moment", []string{"-now", "2026-03-01T00:00:00Z", "-property", "seen=2026-02-20", "-context", "app", "-runtime", "client", file, "recent", "ada"}, "recent = true"},
		{"another moment", []string{"-now", "2026-06-01T00:00:00Z", "-property", "seen=2026-02-20", "-context", "app", file, "recent", "ada"}, "recent = false"},
		{"another runtime", []string{"-runtime", "server", file, "recent", "ada"}, "recent = "},
		{"a text of digits", []string{"-property", `zip="01234"`, file, "zip", "ada"}, "zip = true"},
		{"a text that looks like a number and is none", []string{"-property", `zip=01234`, file, "zip", "ada"}, "zip = true"},
		{"a person with a hyphen", []string{file, "zip", "--", "-ada"}, "zip = false"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := run(t, append([]string{"explain"}, tt.args...)...)
			if got.Code != 0 || got.Stderr != "" || !strings.HasPrefix(got.Stdout, tt.want) || strings.Count(got.Stdout, "\n") < 2 {
				t.Errorf("%+v, want %q", got, tt.want)
			}
		})
	}
	if got := run(t, "explain", "-runtime", "server", file, "recent", "ada"); !strings.Contains(got.Stdout, "\n  hidden: ") {
		t.Errorf("another runtime: %q does not say that the flag is hidden", got.Stdout)
	}
	call{args: []string{"explain", "-", "new-chekout", "ada"}, stdin: explained}.run(t).want(t,
		outcome{1, "", `flagstaff explain: standard input has no flag "new-chekout"; did you mean new-checkout?` + "\n"})
	run(t, "explain", file, "xyzzy", "ada").want(t, outcome{1, "", "flagstaff explain: " + file + ` has no flag "xyzzy"` + "\n"})
	run(t, "explain", file+"x", "zip", "ada").want(t, outcome{1, "", "flagstaff explain: open " + file + "x: no such file or directory\n"})
	call{args: []string{"explain", "-", "a", "ada"}, stdin: "{\n}"}.run(t).want(t,
		outcome{1, "", "flagstaff explain: standard input:1:1: flags: definitions must have an array \"flags\", not nothing\n"})

	got := run(t, "explain", "-json", "-property", "plan=pro", "-property", "seats=6", file, "new-checkout", "ada")
	var trace struct {
		Result struct {
			Key     string
			Enabled bool
		}
	}
	if err := json.Unmarshal([]byte(got.Stdout), &trace); err != nil || trace.Result.Key != "new-checkout" || !trace.Result.Enabled {
		t.Errorf("%+v: %v", got, err)
	}
}
