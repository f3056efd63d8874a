package flags_test

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/flagstaff-go/flagstaff/server/console/consoletest"
)

// TestSettle: what two people have changed is chosen field by field, what only one of them has
// changed is taken over, and the form has it all.
func TestSettle(t *testing.T) {
	s := consoletest.NewSite(t)
	const before = `{"name":"Before","tags":["t"],"active":false,"evaluation_runtime":"all","filters":{"groups":[
		{"properties":[{"key":"plan","type":"person","value":"pro"}],"rollout_percentage":10},{"properties":[],"rollout_percentage":20}],
		"multivariate":{"variants":[{"key":"a","rollout_percentage":50},{"key":"b","rollout_percentage":50}]},"payloads":{"a":"1"}}}`
	groups := func(first, second int) string {
		return fmt.Sprintf(`{"filters":{"groups":[{"properties":[{"key":"plan","type":"person","value":"pro"}],"rollout_percentage":%d},
			{"properties":[],"rollout_percentage":%d}]}}`, first, second)
	}
	for _, tt := range []struct {
		name, theirs string
		mine         []string // fields
		clashes      []string // in words
		says         []string
		choose       []string          // fields
		form         map[string]string // afterwards
	}{
		{
			name: "one condition set each", theirs: groups(11, 20), mine: []string{"c1.share", "22", "tags", "t, mine", "comment", "mine"},
			says: []string{
				"No field was changed by both",
				"condition set 1 theirs 10% of everyone where plan is pro → 11% of everyone where plan is pro",
				"condition set 2 yours 20% of everyone → 22% of everyone", "tags yours t → t, mine",
			},
			form: map[string]string{"c0.share": "11", "c1.share": "22", "tags": "t, mine", "name": "Before", "comment": "mine"},
		},
		{
			name: "the same condition set, mine", theirs: groups(11, 23), mine: []string{"c1.share", "22"},
			clashes: []string{"condition set 2 Before: 20% of everyone Theirs 23% of everyone Mine 22% of everyone"},
			form:    map[string]string{"c0.share": "11", "c1.share": "22"},
		},
		{
			name: "the same condition set, theirs", theirs: groups(11, 23), mine: []string{"c1.share", "22"},
			choose: []string{"take filters/groups/1", "theirs"}, form: map[string]string{"c0.share": "11", "c1.share": "23"},
		},
		{
			name: "some of each", theirs: `{"name":"Theirs","evaluation_runtime":"server","filters":{"groups":[{"properties":[]}]}}`,
			mine: []string{"name", "Mine", "runtime", "client", "c1.share", "22", "v0.payload", "2"},
			clashes: []string{
				"description Before: Before Theirs Theirs Mine Mine",
				"condition sets Before: 10% of everyone where plan is pro; 20% of everyone Theirs everyone Mine " +
					"10% of everyone where plan is pro; 22% of everyone",
				"runtime Before: All runtimes Theirs Server only Mine Client only",
			},
			says:   []string{"variant 1 yours a 50%, payload 1 → a 50%, payload 2"},
			choose: []string{"take name", "theirs", "take filters/groups", "theirs"},
			form:   map[string]string{"name": "Theirs", "runtime": "client", "c0.share": "100", "c1.share": "", "v0.payload": "2"},
		},
		{
			name: "both the same", theirs: `{"name":"Alike","tags":["x"]}`, mine: []string{"name", "Alike", "tags", "y"},
			clashes: []string{"tags Before: t Theirs x Mine y"}, form: map[string]string{"name": "Alike", "tags": "y"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s.T = t
			s.Update("retired", before)
			path := s.EditPath("retired")
			form := consoletest.With(s.Get(path).Form("form"), tt.mine...)
			s.Update("retired", tt.theirs)
			now := s.Flag("retired").Version
			page := s.Post(path, consoletest.With(form, "do", "save"))
			if page.Status == 303 { // nothing of the same members was changed
				t.Fatalf("it was saved: %s", page.Header.Get("Location"))
			}
			page.Want(409, append(slices.Concat(tt.clashes, tt.says), "Somebody else changed this flag")...)
			page.CheckPage()
			choice := consoletest.With(page.Form(""), tt.choose...)
			settled := s.Post(path, consoletest.With(choice, "do", "settle")).Want(200, "Edit retired")
			settled.CheckPage()
			got := settled.Form("form")
			for name, want := range tt.form {
				if got.Get(name) != want {
					t.Errorf("%s is %q, want %q", name, got.Get(name), want)
				}
			}
			if got.Get("version") != fmt.Sprint(now) {
				t.Errorf("the form is for version %s, want %d", got.Get("version"), now)
			}
			s.Post(path, consoletest.With(got, "do", "save")).Want(303)

			// Whoever chooses late chooses once more.
			s.Update("retired", `{"name":"Much later"}`)
			again := s.Post(path, consoletest.With(choice, "do", "settle")).Want(409, "Somebody else changed this flag")
			if n := strings.Count(again.Body, `name="was"`); n != 1 || again.Form("").Get("version") == fmt.Sprint(now) {
				t.Errorf("the second choice: %v", again.Form(""))
			}
		})
	}
	s.T = t

	// As JSON, and of a version that is not there any more.
	s.Update("retired", before)
	path := s.EditPath("retired")
	form := s.Post(path, consoletest.With(s.Get(path).Form("form"), "do", "to-json")).Form("form")
	s.Update("retired", groups(11, 23))
	form = consoletest.With(form, "json", strings.Replace(form.Get("json"), `"rollout_percentage": 20`, `"rollout_percentage": 22`, 1))
	page := s.Post(path, consoletest.With(form, "do", "save")).Want(409, "Theirs 23% of everyone Mine 22% of everyone")
	if got := s.Post(path, consoletest.With(page.Form(""), "do", "settle")).Want(200).Form("form"); got.Get("c1.share") != "22" ||
		got.Get("c0.share") != "11" {
		t.Errorf("the form of JSON is %v", got)
	}
	gone := s.Post(path, consoletest.With(form, "do", "save", "version", "0")).Want(409, "condition set 1", "condition set 2")
	gone.CheckPage()
	s.Post("/projects/1/flags/new", url.Values{"do": {"settle"}, "key": {"x"}}).Want(400)
}
