package management_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/management"
)

// TestPreviewApply: a preview says what a document would do, and for how many persons which flags
// change: those of the document, and those of the project that follow from its flags and cohorts.
func TestPreviewApply(t *testing.T) {
	w := newWorld(t, withData)
	for i := range 10 {
		w.capture(w.web, "x", fmt.Sprintf("u%d", i), fmt.Sprintf(`{"$set":{"plan":%q}}`, []string{"pro", "free", "free", "free", "free"}[i%5]))
	}
	document := func(base, plan, more string) string {
		const text = `{"flags":[{"id":1,"key":"base","active":%s,"filters":{"groups":[{}]}},
			{"id":2,"key":"off","active":false,"filters":{"groups":[{"properties":[{"key":"id","type":"cohort","value":8}]}]}}%s],
			"cohorts":[{"id":7,"name":"Of a plan","filters":{"properties":{"type":"OR","values":[{"key":"plan","type":"person","value":%q}]}}},
			{"id":8,"name":"In it","filters":{"properties":{"type":"OR","values":[{"key":"id","type":"cohort","value":7}]}}},
			{"id":9,"name":"Listed","is_static":true}]}`
		return fmt.Sprintf(text, base, more, plan)
	}
	const fresh = `,{"id":3,"key":"fresh","active":true,"filters":{"groups":[{"properties":[{"key":"plan","type":"person","value":"pro"}]}]}}`
	preview := func(document string) (*management.ApplyReport, string) {
		t.Helper()
		before := w.exported(management.ExportOptions{Archived: true})
		report, p, err := w.PreviewApply(t.Context(), w.as(w.ada), ref(w.web), []byte(document), management.ApplyOptions{})
		w.ok(err)
		if after := w.exported(management.ExportOptions{Archived: true}); after != before {
			t.Errorf("a preview has changed something:\n%s", cmp.Diff(before, after))
		}
		if p == nil {
			return report, "nothing"
		}
		words := []string{fmt.Sprintf("%d of %d:", p.Changed, p.Subjects)}
		for _, f := range p.OtherFlags {
			words = append(words, fmt.Sprintf("%s %d", f.Key, f.Changed))
		}
		return report, strings.Join(words, " ")
	}
	first := document("true", "pro", "")
	if report, got := preview(first); got != "10 of 10: base 10" || !slices.Equal(report.Active, []string{"base"}) {
		t.Errorf("the first document changes %s, and active are %v", got, report.Active)
	}
	must(w.applied(first, management.ApplyOptions{}))(t)
	in := must(w.ListCohorts(t.Context(), w.as(w.ada), ref(w.web), management.CohortQuery{Search: "In it"}, 10, 0))(t).Items[0].ID
	w.flag(w.web, `{"key":"needs","filters":`+dependsOn(fmt.Sprint(w.ids()["base"]))+`}`)
	w.flag(w.web, `{"key":"members","filters":`+inCohort(fmt.Sprint(in))+`}`)
	w.flag(w.web, `{"key":"other","filters":`+everybody+`}`)
	for _, tt := range []struct {
		name, document, want string
	}{
		{"the same", first, "nothing"},
		{"a flag that is off", document("true", "pro", `,{"id":3,"key":"quiet","active":false,"filters":{"groups":[{}]}}`), "nothing"},
		{"a new flag", document("true", "pro", fresh), "2 of 10: fresh 2"},
		{"a cohort within a cohort", document("true", "free", ""), "10 of 10: members 10"},
		{
			"a flag, and who depends on it", strings.Replace(first, `[{}]`, `[{"properties":[{"key":"plan","type":"person","value":"pro"}]}]`, 1),
			"8 of 10: base 8 needs 8",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, got := preview(tt.document); got != tt.want {
				t.Errorf("changes %s, want %s", got, tt.want)
			}
		})
	}
	must(w.applied(document("true", "pro", fresh), management.ApplyOptions{}))(t)
	off := document("true", "pro", strings.Replace(fresh, `"active":true`, `"active":false`, 1))
	if _, got := preview(off); got != "2 of 10: fresh 2" {
		t.Errorf("a flag that is switched off changes %s", got)
	}
}
