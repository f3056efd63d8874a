package console

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/server/console/shell"
	"github.com/flagstaff-go/flagstaff/server/console/shell/forms"
	"github.com/flagstaff-go/flagstaff/surveys"
)

// handlers answer for the surveys of a Service.
type handlers struct{ surveys *surveys.Service }

func (h *handlers) surveysScreen() shell.Screen {
	return shell.Screen{
		Title: "Surveys", Entry: 4, Go: "s", Path: "/surveys",
		Icon:  "M2 2.8h12v8.4H7.4L4.4 14v-2.8H2ZM5 5.8h6M5 8.4h4",
		Scope: shell.InProject, Pages: map[string]shell.Page{"GET /projects/{project}/surveys": h.listSurveys},
	}
}

// surveysView is the list of surveys.
type surveysView struct {
	shell.Layout
	Action, Search string
	Archived       bool
	Tabs           []shell.Tab
	Types          []forms.Option
	Rows           []surveyRow
	Starts         []surveyStart // templates
	shell.Pager
	Empty bool // the project has no surveys
}

// A surveyRow is a survey in the list.
type surveyRow struct {
	*surveys.View
	State            surveyState
	Asks             string // the first question, and how many more
	Responses, Limit string
}

// Kind says how the survey is shown. The template asks for it.
func (r *surveyRow) Kind() string { return surveyTypeNames[r.Type] }

// A surveyState says whether a survey runs (management.md §9.2).
type surveyState struct{ Name, Class string }

// A surveyStart is what a new survey can begin with.
type surveyStart struct{ Key, Name, About, json string }

// surveyStarts are the surveys that are offered as a beginning.
var surveyStarts = []surveyStart{
	{"nps", "Net promoter score", "From 0 to 10, and why.", `{"name":"Net promoter score","questions":[{"type":"rating",
		"question":"How likely are you to recommend us to a friend?","display":"number","scale":10,"isNpsQuestion":true,
		"lowerBoundLabel":"Not likely","upperBoundLabel":"Very likely"},{"type":"open","question":"What is the main reason?",
		"optional":true}],"appearance":{"displayThankYouMessage":true}}`},
	{"satisfaction", "Satisfaction", "Five faces, and what to do better.", `{"name":"Satisfaction","questions":[{"type":"rating",
		"question":"How satisfied are you with us?","display":"emoji","scale":5,"isNpsQuestion":false,"lowerBoundLabel":"Not at all",
		"upperBoundLabel":"Very"},{"type":"open","question":"What could we do better?","optional":true}],
		"appearance":{"displayThankYouMessage":true}}`},
	{"choice", "One question with choices", "What people use, want or miss.", `{"name":"What do you use?",
		"questions":[{"type":"single_choice","question":"What do you use most?","choices":["The app","The website","Something else"],
		"hasOpenChoice":true}],"appearance":{"displayThankYouMessage":true}}`},
	{"open", "Open feedback", "One free text, behind a button.", `{"name":"Feedback","type":"widget","schedule":"always",
		"questions":[{"type":"open","question":"What is on your mind?"}],"appearance":{"displayThankYouMessage":true,"widgetType":"tab",
		"widgetLabel":"Feedback"}}`},
	{"empty", "An empty survey", "Add the questions yourself.", `{"questions":[]}`},
}

func surveyPath(q *shell.Request, id uuid.UUID) string {
	return q.ProjectPath("/surveys/" + id.String())
}

func (h *handlers) listSurveys(q *shell.Request) error {
	page := shell.PageNumber(q.Form)
	v := &surveysView{
		Action: q.ProjectPath("/surveys"), Search: strings.TrimSpace(q.Form.Get("q")), Archived: q.Form.Get("state") == "archived",
	}
	filter := surveys.Filter{Archived: &v.Archived, Search: v.Search, Type: q.Form.Get("type")}
	found, err := h.surveys.List(q.Context(), q.By, q.Ref, filter, shell.PageSize, (page-1)*shell.PageSize)
	if err != nil {
		return err
	}
	ids := make([]string, len(found.Items))
	for i, s := range found.Items {
		ids[i] = s.ID.String()
	}
	responses, err := h.countResponses(q, ids)
	if err != nil {
		return err
	}
	for _, s := range found.Items {
		v.Rows = append(v.Rows, rowOf(q, s, responses))
	}
	q.Notice()
	v.Starts = surveyStarts
	v.Types = forms.Selected(forms.Options(
		"", "Any type", "popover", "Popovers", "widget", "Widgets", "external_survey", "Hosted",
		"api", "API",
	), filter.Type)
	at := shell.Listing{Path: v.Action, Query: map[string]string{"q": v.Search, "type": filter.Type}}
	for _, t := range []struct {
		state, name string
		archived    bool
	}{{"", "Current", false}, {"archived", "Archived", true}} {
		n := found.Total
		if t.archived != v.Archived {
			other := filter
			other.Archived = &t.archived
			count, err := h.surveys.List(q.Context(), q.By, q.Ref, other, 1, 0)
			if err != nil {
				return err
			}
			n = count.Total
		}
		v.Tabs = append(v.Tabs, shell.Tab{
			Name: t.name, URL: at.At(1, "state", t.state), Count: forms.Number(n),
			Current: t.archived == v.Archived,
		})
		v.Empty = (t.state == "" || v.Empty) && n == 0
	}
	filtered := v.Search != "" || filter.Type != ""
	v.Empty = v.Empty && !filtered
	if v.Archived {
		at.Query["state"] = "archived"
	}
	v.Pager = at.Page(page, shell.PageSize, len(v.Rows), found.Total, "survey", "surveys")
	if filtered {
		v.Clear = v.Action
	}
	return q.Render(http.StatusOK, "surveys", v)
}

// countResponses returns how many responses surveys have, nil if nobody counts them.
func (h *handlers) countResponses(q *shell.Request, ids []string) (map[uuid.UUID]int, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	return shell.Known(h.surveys.CountResponses(q.Context(), q.By, q.Ref, ids, true))
}

func rowOf(q *shell.Request, s *surveys.View, responses map[uuid.UUID]int) surveyRow {
	row := surveyRow{View: s, State: stateOf(q, s), Asks: asks(s.Questions)}
	if responses != nil {
		row.Responses = forms.Number(responses[s.ID])
	}
	if s.ResponsesLimit != nil && *s.ResponsesLimit > 0 {
		row.Limit = "of " + forms.Number(*s.ResponsesLimit)
	}
	return row
}

// asks says what a survey asks: the first question, and how many more there are.
func asks(questions json.RawMessage) string {
	list := forms.ReadList(questions)
	if len(list) == 0 {
		return "no questions yet"
	}
	words := forms.Shorten(forms.Text(forms.ReadObject(string(list[0]))["question"]), 90)
	if len(list) > 1 {
		words += " (and " + strconv.Itoa(len(list)-1) + " more)"
	}
	return words
}

// stateOf says whether a survey runs.
func stateOf(q *shell.Request, s *surveys.View) surveyState {
	now := q.Config.Now()
	switch {
	case s.Archived:
		return surveyState{"archived", ""}
	case s.EndDate != nil && !now.Before(*s.EndDate):
		return surveyState{"complete", ""}
	case s.StartDate == nil:
		return surveyState{"draft", ""}
	case now.Before(*s.StartDate):
		return surveyState{"scheduled", "warn"}
	}
	return surveyState{"running", "good"}
}
