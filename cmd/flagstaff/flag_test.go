package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
)

// TestFlagList lists more flags than a page has, in the order of the server.
func TestFlagList(t *testing.T) {
	t.Parallel()
	for kind, open := range stores {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			server := serveProcess(t, "-store", open(t), "-drain", "0s")
			env := []string{"FLAGSTAFF_URL=" + server.url + "/", "FLAGSTAFF_KEY=" + server.key}
			call{args: []string{"flag", "list"}, env: env}.run(t).want(t, outcome{0, "KEY  STATE  ROLLOUT  NAME\n", ""})
			call{args: []string{"flag", "list", "-json"}, env: env}.run(t).want(t, outcome{0, "[]\n", ""})
			for _, body := range []string{
				`{"key":"beta","name":"a\u001b[31m","active":true,"filters":{"groups":[{"properties":[{"key":"plan","type":"person","operator":"exact","value":"pro"}],"rollout_percentage":100},{"properties":[],"rollout_percentage":12.5}]}}`,
				`{"key":"off","name":"Nobody has it","active":false,"filters":{"groups":[{"properties":[],"rollout_percentage":0}]}}`,
			} {
				server.ask(t, "POST", "/api/projects/@current/feature_flags/", body, nil)
			}
			call{args: []string{"flag", "list"}, env: env}.run(t).want(t, outcome{0, `KEY   STATE  ROLLOUT                  NAME
off   off    0%                       Nobody has it
beta  on     100% of 1 filter, 12.5%  a\x1b[31m
`, ""})
			for i := range 120 {
				server.ask(t, "POST", "/api/projects/@current/feature_flags/", fmt.Sprintf(`{"key":"f%d","filters":{"groups":[{"properties":[],"rollout_percentage":0}]}}`, i), nil)
			}
			got := call{args: []string{"flag", "list", "-json"}, env: env}.run(t)
			var list []remoteFlag
			if err := json.Unmarshal([]byte(got.Stdout), &list); err != nil || got.Code != 0 {
				t.Fatalf("%+v: %v", got, err)
			}
			var keys []string
			for _, f := range list {
				keys = append(keys, f.Key)
			}
			slices.Sort(keys)
			if n := len(slices.Compact(keys)); n != 122 {
				t.Errorf("%d flags are listed, want 122", n)
			}
			wrong := []string{env[0], "FLAGSTAFF_KEY=phx_wrong"}
			call{args: []string{"flag", "list"}, env: wrong}.run(t).want(t,
				outcome{1, "", "flagstaff flag list: the server refuses GET /api/projects/@current/feature_flags/?limit=100&offset=0 with status 401: The personal API key in the Authorization header is not valid.\n"})
			call{args: []string{"flag", "list", "-project", "999"}, env: env}.run(t).want(t,
				outcome{1, "", "flagstaff flag list: the server refuses GET /api/projects/999/feature_flags/?limit=100&offset=0 with status 404: Project not found.\n"})
		})
	}
}
