package surveys_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/storage"
	"github.com/flagstaff-go/flagstaff/surveys"
)

func (w *world) copySurvey(p *management.Principal, ref, id, body string) (*surveys.Copies, error) {
	w.t.Helper()
	return w.Copy(w.t.Context(), p, ref, id, decode[surveys.CopyRequest](w.t, body))
}

// management.md §9.11: what a copy has, and what it has not.
func TestCopySurvey(t *testing.T) {
	var told []int64
	w := newWorld(t)
	original := w.fullSurvey()
	w.clock.advance(9 * aDay)
	w = w.another(func(c *config) {
		c.management.Catalog = toldCatalog{&told}
	})
	before := w.storedSurvey(original.ID)
	body := fmt.Sprintf(`{"target_team_ids":[%d,%d,%d]}`, w.app.ID, w.web.ID, w.app.ID)
	copies := must(w.copySurvey(w.as(w.ben), refOf(w.web), original.ID.String(), body))(t)
	if copies.Count != 2 || len(copies.Surveys) != 2 || copies.Surveys[0].Project != w.web.ID || copies.Surveys[1].Project != w.app.ID {
		t.Fatalf("copies: %+v", copies)
	}
	if got, want := encode(t, copies.Surveys[1]), fmt.Sprintf(`{"team_id":%d,"survey_id":"%s","name":"NPS Q1"}`, w.app.ID, copies.Surveys[1].ID); got != want {
		t.Errorf("a copy: %s, want %s", got, want)
	}
	if diff := cmp.Diff([]int64{w.web.ID, w.app.ID}, told, same); diff != "" {
		t.Errorf("projects that the Catalog is told of (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff(before, w.storedSurvey(original.ID), same); diff != "" {
		t.Errorf("the original (-before +after)\n%s", diff)
	}
	for i, c := range copies.Surveys {
		got := must(w.store.Survey(t.Context(), c.Project, c.ID))(t)
		want := surveys.Survey{
			ID: c.ID, Project: c.Project, Name: []string{"NPS Q1 (copy)", "NPS Q1"}[i], Description: "for us", Type: "popover", Schedule: new("recurring"),
			InternalFlag: got.InternalFlag, Questions: before.Questions, Appearance: before.Appearance, Translations: before.Translations, FormContent: before.FormContent,
			Conditions: []byte(strings.Replace(string(before.Conditions), `"linkedFlagVariant":"test",`, "", 1)), BaseLanguage: "de",
			ResponsesLimit: new(500), IterationCount: new(2), IterationDays: new(7), SamplingType: new("week"), PartialResponses: new(true),
			IframeEmbedding: new(false), CreatedBy: &w.ben.ID, Created: w.clock.Now(), Updated: w.clock.Now(),
		}
		if diff := cmp.Diff(&want, got, same); diff != "" {
			t.Errorf("copy %d (-want +got)\n%s", i, diff)
		}
		f := must(w.store.Flags().Get(t.Context(), storage.FlagProject.Is(c.Project), storage.FlagID.Is(*got.InternalFlag)))(t)
		if f.Active || f.Name != "Targeting flag for survey "+c.Name || !strings.Contains(filtersText(t, f), c.ID.String()+"/1") {
			t.Errorf("flag of copy %d: %+v", i, f)
		}
		// It is a survey like others.
		must(w.Update(t.Context(), w.as(w.ada), fmt.Sprint(c.Project), c.ID.String(), decode[surveys.Patch](t, `{"conditions":`+string(got.Conditions)+`}`)))(t)
		must(w.Launch(t.Context(), w.as(w.ada), fmt.Sprint(c.Project), c.ID.String()))(t)
	}
}

func TestCopySurveyNames(t *testing.T) {
	w := newWorld(t)
	long := chars(400)
	for _, tt := range []struct {
		name string
		want []string
	}{
		{"A", []string{"A (copy)", "A (copy 2)", "A (copy 3)"}},
		{"B (copy)", []string{"B (copy) (copy)"}},
		{long, []string{chars(393) + " (copy)", chars(391) + " (copy 2)"}},
		{chars(392) + " ü", []string{chars(392) + " (copy)"}},
	} {
		id := w.survey(`{"name":"` + tt.name + `"}`).ID.String()
		for _, want := range tt.want {
			copies := must(w.Copy(t.Context(), w.as(w.ada), refOf(w.web), id, copyTo(w.web)))(t)
			if got := copies.Surveys[0].Name; got != want {
				t.Errorf("a copy of %s is called %s, want %s", tt.name, got, want)
			}
		}
	}
}

// All projects must be such that a copy can be made in them; if one is not, no copy
// is made, and projects of others look like projects that do not exist.
func TestCopySurveyRefuses(t *testing.T) {
	w := newWorld(t)
	id := w.survey(`{}`).ID.String()
	before, entries := w.surveyState(), len(w.activities())
	for _, tt := range []struct{ body, want string }{
		{`{}`, "required target_team_ids"},
		{`{"target_team_ids":null}`, "null target_team_ids"},
		{`{"target_team_ids":[]}`, "invalid_input target_team_ids"},
		{`{"target_team_ids":5}`, "not_a_list target_team_ids"},
		{`{"target_team_ids":["x"]}`, "invalid_input target_team_ids"},
		{`{"target_team_ids":[` + strings.Repeat("1,", 100) + `1]}`, "invalid_input target_team_ids"},
		{fmt.Sprintf(`{"target_team_ids":[%d,%d]}`, w.app.ID, w.shop.ID), "does_not_exist target_team_ids"},
		{fmt.Sprintf(`{"target_team_ids":[%d,12345]}`, w.app.ID), "does_not_exist target_team_ids"},
		{fmt.Sprintf(`{"target_team_ids":[%d,0]}`, w.app.ID), "does_not_exist target_team_ids"},
	} {
		_, err := w.copySurvey(w.as(w.ada), refOf(w.web), id, tt.body)
		checkFault(t, "CopySurvey to "+tt.body, err, "invalid "+tt.want)
	}
	only := w.key(w.ada, onlyProjects(w.web))
	_, err := w.Copy(t.Context(), only, refOf(w.web), id, copyTo(w.app))
	checkFault(t, "CopySurvey with a key for another project", err, "invalid does_not_exist target_team_ids")
	_, err = w.Copy(t.Context(), w.as(w.dov), refOf(w.web), id, copyTo(w.shop))
	checkFault(t, "CopySurvey of a survey of others", err, "not found not_found")
	if diff := cmp.Diff(before, w.surveyState(), same); diff != "" || len(w.activities()) != entries {
		t.Errorf("something has changed (-before +after)\n%s", diff)
	}
}
