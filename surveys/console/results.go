package console

import (
	"bytes"
	"encoding/csv"
	"maps"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	csvtext "github.com/flagstaff-go/flagstaff/internal/text"
	"github.com/flagstaff-go/flagstaff/server/console/shell"
	"github.com/flagstaff-go/flagstaff/server/console/shell/charts"
	"github.com/flagstaff-go/flagstaff/server/console/shell/forms"
	"github.com/flagstaff-go/flagstaff/surveys"
)

func (h *handlers) resultsScreen() shell.Screen {
	return shell.Screen{
		Under: "Surveys",
		Scope: shell.InProject, Pages: map[string]shell.Page{
			"GET /projects/{project}/surveys/{survey}/results":     shell.About(h.surveyResults, h.survey),
			"GET /projects/{project}/surveys/{survey}/results.csv": shell.About(h.resultsCSV, h.survey),
			"GET /projects/{project}/surveys/{survey}/chart.csv":   shell.About(h.chartCSV, h.survey),
		},
	}
}

// resultsView is what people have answered to a survey.
type resultsView struct {
	shell.Layout
	Name, List, Survey    string
	State                 surveyState
	Headline              string
	Unknown               string // why there are no figures
	Numbers               []figure
	Days                  charts.Chart
	DayRows               []charts.Row
	DaysCSV, AllCSV, Zone string
	Questions             []questionResult
}

// A figure is a number with what it counts.
type figure struct{ Name, Value, About string }

// A questionResult is what was answered to one question.
type questionResult struct {
	ID, Title, Text, Kind string
	Answers               string // how many
	Average               string
	Score                 *scoreView
	Chart                 *charts.Chart
	Column                string // what the rows are
	Rows                  []charts.Row
	CSV                   string
	All                   string // the page with the answers in words
	Newest                []string
}

// A scoreView is a net promoter score with how it comes about.
type scoreView struct {
	Score, Formula string
	Bar            charts.Bar
}

// newestShown is how many answers in words the results show.
const newestShown = 5

// maxDaysDrawn is how many columns a chart of days has; more are put together by weeks.
const maxDaysDrawn = 100

func (h *handlers) surveyResults(q *shell.Request, s *surveys.View) error {
	q.Layout.Title = s.Name + ": results"
	base := surveyPath(q, s.ID)
	v := &resultsView{
		Name: s.Name, List: q.ProjectPath("/surveys"), Survey: base, State: stateOf(q, s), AllCSV: base + "/results.csv",
		DaysCSV: base + "/chart.csv?of=days",
		Zone:    q.At.Project.Timezone,
	}
	stats, err := h.surveys.Stats(q.Context(), q.By, q.Ref, s.ID.String(), surveys.StatsQuery{
		ExcludeArchived: true, PerQuestion: true, PerDay: true,
	})
	if shell.IsRefusal(err) {
		v.Unknown = shell.FailureOf(err).Text
		return q.Render(http.StatusOK, "survey_results", v)
	}
	if err != nil {
		return err
	}
	v.Numbers = figures(stats)
	if sent := stats.Stats.Sent; sent.Total > 0 {
		points := dayPoints(s, stats.PerDay)
		v.Days = charts.Columns("Responses over time: "+forms.Count(sent.Total, "response", "responses")+" in all", points, 6)
		v.DayRows = charts.Rows(points, sent.Total)
		headline, err := shell.Known(h.surveys.Headline(q.Context(), q.By, q.Ref, s.ID.String(), surveys.SummaryRefresh{Counted: true}))
		if err != nil {
			return err
		}
		if headline != nil {
			v.Headline = headline.Headline
		}
	}
	for i, o := range questionsOf(surveyDoc(s)) {
		if i >= len(stats.PerQuestion) { // it was added just now
			break
		}
		result, err := h.resultOf(q, s, i, o, &stats.PerQuestion[i])
		if err != nil {
			return err
		}
		v.Questions = append(v.Questions, result)
	}
	return q.Render(http.StatusOK, "survey_results", v)
}

// figures are the numbers about a survey as a whole.
func figures(stats *surveys.Stats) []figure {
	shown, dismissed, sent := stats.Stats.Shown, stats.Stats.Dismissed, stats.Stats.Sent
	return []figure{
		{"Shown", forms.Number(shown.Total), "to " + forms.Count(shown.Persons, "person", "persons")},
		{"Dismissed", forms.Number(dismissed.Total), forms.Percent(stats.Rates.Dismissal) + " of the times it was shown"},
		{"Responses", forms.Number(sent.Total), "of " + forms.Count(sent.Persons, "person", "persons")},
		{"Response rate", forms.Percent(stats.Rates.Response), forms.Percent(stats.Rates.PersonsResponse) + " of the persons"},
	}
}

// dayPoints returns a value for each day, from the first one of the survey to the last one
// with a response, or for each week if there are many.
func dayPoints(s *surveys.View, days []surveys.DayStats) []charts.Point {
	if len(days) == 0 {
		return nil
	}
	first, err := time.Parse(time.DateOnly, days[0].Day)
	last, err2 := time.Parse(time.DateOnly, days[len(days)-1].Day)
	if err != nil || err2 != nil {
		return nil
	}
	if s.StartDate != nil && s.StartDate.Before(first) && first.Sub(*s.StartDate) < 30*24*time.Hour {
		first = s.StartDate.UTC().Truncate(24 * time.Hour)
	}
	counts := make(map[string]int, len(days))
	for _, d := range days {
		counts[d.Day] = d.Responses
	}
	step, label := 1, ""
	if last.Sub(first) > maxDaysDrawn*24*time.Hour {
		step, label = 7, "week of "
	}
	var out []charts.Point
	for day := first; !day.After(last); day = day.AddDate(0, 0, step) {
		n := 0
		for i := range step {
			n += counts[day.AddDate(0, 0, i).Format(time.DateOnly)]
		}
		out = append(out, charts.Point{Label: label + day.Format("2 Jan 2006"), Value: n})
	}
	return out
}

// questionResult shows what was answered to a question.
func (h *handlers) resultOf(q *shell.Request, s *surveys.View, i int, o forms.Object, stats *surveys.QuestionStats) (questionResult, error) {
	base := surveyPath(q, s.ID)
	r := questionResult{
		ID: questionName(i), Title: "Question " + strconv.Itoa(i+1), Text: stats.Text, Kind: questionTypeNames[stats.Type],
		Answers: forms.Count(stats.Responses, "answer", "answers"),
		CSV:     base + "/chart.csv?" + url.Values{"of": {stats.ID}}.Encode(),
	}
	inWords := stats.Type == "open" || string(o["hasOpenChoice"]) == "true"
	if inWords {
		r.All = base + "/answers?" + url.Values{"question": {stats.ID}}.Encode()
	}
	r.Column = "Choice"
	points := resultPoints(o, stats)
	switch stats.Type {
	case "rating":
		r.Column = "Rating"
		if stats.Average != nil {
			r.Average = forms.Exact(*stats.Average)
		}
		c := charts.Columns(stats.Text+": how many gave each rating", points, 11)
		r.Chart = &c
		r.Score = scoreOf(o, stats)
	case "open", "link":
		points = nil
	}
	r.Rows = charts.Rows(points, stats.Responses)
	if stats.Type == "open" && stats.Responses > 0 {
		page, err := shell.Known(h.surveys.Responses(q.Context(), q.By, q.Ref, s.ID.String(), surveys.ResponseQuery{
			QuestionID: stats.ID, ExcludeArchived: true, Limit: strconv.Itoa(newestShown),
		}))
		if err != nil {
			return r, err
		}
		if page != nil {
			for _, response := range page.Results {
				r.Newest = append(r.Newest, answerTo(&response, stats.ID))
			}
		}
	}
	return r, nil
}

// answerTo returns the answer of a response to a question in words.
func answerTo(r *surveys.ResponseView, question string) string {
	for _, a := range r.Answers {
		if a.QuestionID == question {
			switch answer := a.Answer.(type) {
			case string:
				return answer
			case []string:
				return strings.Join(answer, "; ")
			}
		}
	}
	return ""
}

// resultPoints returns how often each answer was given: ratings in their order, choices by
// how many took them, free text last.
func resultPoints(o forms.Object, stats *surveys.QuestionStats) (out []charts.Point) {
	left := make(map[string]int, len(stats.Distribution))
	maps.Copy(left, stats.Distribution)
	take := func(answer, label string) {
		out = append(out, charts.Point{Label: label, Value: left[answer]})
		delete(left, answer)
	}
	if stats.Type == "rating" {
		for _, r := range previewRatings(forms.Text(o["scale"]), false) {
			switch {
			case r.Turn != "":
				take("1", "1 (thumbs down)")
			case r.Path != "":
				take("2", "2 (thumbs up)")
			default:
				take(r.Sign, r.Sign)
			}
		}
	} else {
		choices := forms.Texts(o["choices"])
		if string(o["hasOpenChoice"]) == "true" && len(choices) > 0 {
			choices = choices[:len(choices)-1]
		}
		for _, c := range choices {
			take(c, c)
		}
		slices.SortStableFunc(out, func(a, b charts.Point) int { return b.Value - a.Value })
	}
	other, free := left[otherAnswers]
	delete(left, otherAnswers)
	for _, answer := range slices.Sorted(maps.Keys(left)) {
		out = append(out, charts.Point{Label: answer + " (not asked any more)", Value: left[answer]})
	}
	if free {
		out = append(out, charts.Point{Label: "In their own words", Value: other})
	}
	return out
}

// otherAnswers is how statistics name free text where there are choices
// (management.md §11.1).
const otherAnswers = "<other>"

// scoreOf returns the net promoter score of a question, nil if it has none.
func scoreOf(o forms.Object, stats *surveys.QuestionStats) *scoreView {
	if forms.Text(o["scale"]) != "10" || string(o["isNpsQuestion"]) == "false" {
		return nil
	}
	var detractors, passives, promoters int
	for n := range 11 {
		switch got := stats.Distribution[strconv.Itoa(n)]; {
		case n <= 6:
			detractors += got
		case n <= 8:
			passives += got
		default:
			promoters += got
		}
	}
	all := detractors + passives + promoters
	if all == 0 {
		return nil
	}
	share := charts.Shares(all, []int{detractors, passives, promoters})
	v := &scoreView{Score: strconv.Itoa(int(math.Round(float64(promoters-detractors) * 100 / float64(all))))}
	v.Formula = forms.Percent(share[2]) + " promoters (9 or 10) − " + forms.Percent(share[0]) + " detractors (0 to 6) = " + v.Score +
		". Passives (7 or 8) count among the " + forms.Count(all, "answer", "answers") + " only."
	x := v.Bar.Add(0, share[0], "lose", "detractors")
	x = v.Bar.Add(x, share[1], "same", "passives")
	v.Bar.Add(x, share[2], "gain", "promoters")
	return v
}

// resultsCSV answers with the responses of a survey as a table.
func (h *handlers) resultsCSV(q *shell.Request, s *surveys.View) error {
	w := &attachment{q: q, name: "responses.csv"}
	query := surveys.ResponseQuery{
		ExcludeArchived: q.Form.Get("archived") == "", QuestionID: q.Form.Get("question"), Search: q.Form.Get("q"),
	}
	err := h.surveys.WriteResponses(q.Context(), w, q.By, q.Ref, s.ID.String(), query)
	if err != nil && w.begun {
		q.Config.Log.ErrorContext(q.Context(), "a table of responses was cut off", "error", err)
		panic(http.ErrAbortHandler) // so that the browser knows
	}
	return err
}

// An attachment is a file for the browser of any length. It sends its header with the first
// byte, so that an error before that is answered with a page.
type attachment struct {
	q     *shell.Request
	name  string
	begun bool
}

func (a *attachment) Write(b []byte) (int, error) {
	if !a.begun {
		a.begun = true
		h := a.q.W.Header()
		h.Set("Content-Type", "text/csv; charset=utf-8")
		h.Set("Content-Disposition", `attachment; filename="`+a.name+`"`)
		a.q.W.WriteHeader(http.StatusOK)
	}
	return shell.WriteSlowly(a.q.W, b)
}

// chartCSV answers with the table of a chart: of the days, or of a question by its ID.
func (h *handlers) chartCSV(q *shell.Request, s *surveys.View) error {
	of := q.Form.Get("of")
	stats, err := h.surveys.Stats(q.Context(), q.By, q.Ref, s.ID.String(), surveys.StatsQuery{
		ExcludeArchived: true, PerQuestion: of != "days", PerDay: of == "days",
	})
	if err != nil {
		return err
	}
	rows := [][]string{{"date", "responses"}}
	for _, d := range stats.PerDay {
		rows = append(rows, []string{d.Day, strconv.Itoa(d.Responses)})
	}
	name := "days.csv"
	if of != "days" {
		i := slices.IndexFunc(stats.PerQuestion, func(s surveys.QuestionStats) bool { return s.ID == of })
		questions := questionsOf(surveyDoc(s))
		if i < 0 || i >= len(questions) {
			return shell.ErrNoPage
		}
		asked := &stats.PerQuestion[i]
		name, rows = "question-"+strconv.Itoa(i+1)+".csv", [][]string{{"answer", "responses", "percent"}}
		points := resultPoints(questions[i], asked)
		share := charts.PointShares(points, asked.Responses)
		for i, p := range points {
			rows = append(rows, []string{csvtext.CSVCell(p.Label), strconv.Itoa(p.Value), strings.TrimSuffix(forms.Percent(share[i]), "%")})
		}
	}
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	if err := w.WriteAll(rows); err != nil { // a Buffer takes everything
		return err
	}
	_, err = (&attachment{q: q, name: name}).Write(b.Bytes())
	return err
}
