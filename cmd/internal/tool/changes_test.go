package tool

import (
	"context"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/flags"
)

// FuzzChanges: a document does not differ from itself, two documents differ whichever
// way they are compared, and random persons can be drawn from any.
func FuzzChanges(f *testing.F) {
	const faulty = `{"flags":[
		{"id":1,"key":"beta","active":true,"filters":{"groups":[
			{"properties":[{"key":"plan","type":"person","operator":"almost","value":"pro"}]},{"properties":[],"rollout_percentage":120}]}},
		{"id":3,"key":"beta","active":true,"filters":{"groups":[{}]}}]}`
	const grouped = `{"group_type_mapping":{"0":"company"},"flags":[
		{"id":1,"key":"beta","active":true,"filters":{"groups":[
			{"properties":[{"key":"plan","type":"person","operator":"exact","value":"pro"}]},{"properties":[],"rollout_percentage":7}]}},
		{"id":2,"key":"billing","active":true,"filters":{"aggregation_group_type_index":0,"groups":[{"properties":[
			{"key":"tier","type":"group","group_type_index":0,"operator":"exact","value":"free"}],"rollout_percentage":100}]}}]}`
	f.Add(faulty, grouped)
	f.Add(grouped, faulty)
	f.Fuzz(func(t *testing.T, first, second string) {
		one, err := flags.Decode(strings.NewReader(first))
		if err != nil {
			t.Skip(err)
		}
		two, err := flags.Decode(strings.NewReader(second))
		if err != nil {
			t.Skip(err)
		}
		if changes := flagChanges(one, one); len(changes) > 0 {
			t.Errorf("a document differs from itself: %+v", changes)
		}
		there, back := flagChanges(one, two), flagChanges(two, one)
		if len(there) != len(back) {
			t.Errorf("%d flags differ one way, and %d the other", len(there), len(back))
		}
		for _, r := range there {
			for _, line := range append(r.Differences, r.Key) {
				if strings.ContainsFunc(Printable(line), func(c rune) bool { return c < ' ' || c == 0x7f }) {
					t.Errorf("%q does not fit into a line", line)
				}
			}
		}
		now := time.Unix(1e9, 0)
		var drawn [2][]*flags.Request
		for i := range drawn {
			for r := range randomPersons(context.Background(), 5, now, one, two) {
				drawn[i] = append(drawn[i], r)
			}
		}
		if diff := gocmp.Diff(drawn[0], drawn[1]); diff != "" {
			t.Errorf("the persons of two runs differ\n%s", diff)
		}
	})
}

func FuzzProperty(f *testing.F) {
	f.Add(`plan=pro`)
	f.Add(`n={"a":[1e400]}`)
	f.Add(`=`)
	f.Fuzz(func(t *testing.T, text string) {
		name, _, ok := property(text)
		if want := strings.Index(text, "=") > 0; ok != want || ok && !strings.HasPrefix(text, name+"=") {
			t.Errorf("property(%q) = %q, %v", text, name, ok)
		}
	})
}
