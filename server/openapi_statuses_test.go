package server_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/flagstaff-go/flagstaff/server/internal/openapi"
)

// TestOpenAPIStatuses sends each operation wrong requests: the document names each status
// of the answers by itself, and does not leave it to its default, which is for faults of the
// server and what any server may answer.
func TestOpenAPIStatuses(t *testing.T) {
	var document struct {
		Paths map[string]map[string]struct {
			RequestBody any
			Responses   map[string]any
		}
	}
	if err := json.Unmarshal([]byte(openapi.JSON()), &document); err != nil {
		t.Fatal(err)
	}
	a := newManagedSite(t)
	seen := make(map[string]bool) // one fault for each operation and status
	param := regexp.MustCompile(`\{[^}]+\}`)
	for _, path := range slices.Sorted(maps.Keys(document.Paths)) {
		for _, method := range slices.Sorted(maps.Keys(document.Paths[path])) {
			o := document.Paths[path][method]
			here := strings.Replace(path, "{project}", "1", 1)
			var calls []call
			send := func(path, body string, header ...string) {
				calls = append(calls, api(strings.ToUpper(method), path, body, header...))
			}
			// Things that there are not, or cannot be.
			for _, value := range []string{"1", "0", "x", "a%2Fb", "00000000-0000-7000-8000-0000000000ff", "%00", strings.Repeat("9", 30)} {
				send(param.ReplaceAllString(here, value), "")
				if o.RequestBody != nil {
					send(param.ReplaceAllString(here, value), "{}")
				}
			}
			if here != path {
				for _, project := range []string{"2", "99", "x"} { // of others, of nobody, of no form
					send(param.ReplaceAllString(strings.Replace(path, "{project}", project, 1), "1"), "")
				}
			}
			target := param.ReplaceAllString(here, "1")
			for _, key := range []string{"", "Bearer phx_nobody", "Bearer phc_acme", "Bearer " + readerKey, "Bearer " + stellaKey} {
				send(target, "", "Authorization", key)
			}
			send(target+"?limit=x&offset=x&active=x&type=x&format=x&send_cohorts=x&group_type_index=x&scope=x&after=x", "")
			for _, id := range []string{"1", "2"} { // of a cohort by properties, and of a static one
				target := param.ReplaceAllString(here, id)
				if o.RequestBody == nil {
					break
				}
				for _, body := range []string{`{`, `[]`, `null`, `12345678`, "\xff", `{"key":5,"name":[],"filters":[],"distinct_id":{},"ids":{}}`} {
					send(target, body)
				}
				send(target, "<a/>", "Content-Type", "text/xml")
				send(target, "\xff", "Content-Type", "text/csv")
				send(target, "{}", "Content-Encoding", "snappy")
			}
			for _, c := range calls {
				resp := c.do(a)
				body, status := bodyText(t, resp), fmt.Sprint(resp.StatusCode)
				if o.Responses[status] == nil && !seen[method+path+status] {
					seen[method+path+status] = true
					t.Errorf("%s %s of %q = %s %.200s, which the document does not name", c.method, c.target, c.body, status, body)
				}
			}
		}
	}
}
