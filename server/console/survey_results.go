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
	"github.com/flagstaff-go/flagstaff/management/survey"
)

var _ = register(screen{
	under: "Surveys", needs: hasSurveys,
	scope: inProject, pages: map[string]page{
		"GET /projects/{project}/surveys/{survey}/results":     about(surveyResults, (*request).survey),
		"GET /projects/{project}/surveys/{survey}/results.csv": about(resultsCSV, (*request).survey),
		"GET /projects/{project}/surveys/{survey}/chart.csv":   about(chartCSV, (*request).survey),
	},
})

// resultsView is what people have answered to a survey.
type resultsView struct {
	layout
	Name, List, Survey    string
	State                 surveyState
	Headline              string
	Unknown               string // why there are no figures
	Numbers               []figure
	Days                  chart
	DayRows               []countRow
	DaysCSV, AllCSV, Zone string
	Questions             []questionResult
}

// A figure is a number with what it counts.
type figure struct{ Name, Value, About string }

// A countRow is a row of a table of counts; its bar is Width percent.
type countRow struct {
	Label, Count, Share, Width, Class string
}

// A questionResult is what was answered to one question.
type questionResult struct {
	ID, Title, Text, Kind string
	Answers               string // how many
	Average               string
	Score                 *scoreView
	Chart                 *chart
	Column                string // what the rows are
	Rows                  []countRow
	CSV                   string
	All                   string // the page with the answers in words
	Newest                []string
}

// A scoreView is a net promoter score with how it comes about.
type scoreView struct {
	Score, Formula string
	Bar            bar
}

// newestShown is how many answers in words the results show.
const newestShown = 5

// maxDaysDrawn is how many columns a chart of days has; more are put together by weeks.
const maxDaysDrawn = 100

func surveyResults(q *request, s *survey.View) error {
	q.layout.Title = s.Name + ": results"
	base := q.surveyPath(s.ID)
	v := &resultsView{
		Name: s.Name, List: q.projectPath("/surveys"), Survey: base, State: q.surveyState(s), AllCSV: base + "/results.csv",
		DaysCSV: base + "/chart.csv?of=days",
		Zone:    q.at.Project.Timezone,
	}
	stats, err := q.c.Surveys.Stats(q.Context(), q.by, q.ref, s.ID.String(), survey.StatsQuery{
		ExcludeArchived: true, PerQuestion: true, PerDay: true,
	})
	if isRefusal(err) {
		v.Unknown = pageOf(err).text
		return q.render(http.StatusOK, "survey_results", v)
	}
	if err != nil {
		return err
	}
	v.Numbers = figures(stats)
	if sent := stats.Stats.Sent; sent.Total > 0 {
		points := dayPoints(s, stats.PerDay)
		v.Days = columnChart("Responses over time: "+count(sent.Total, "response", "responses")+" in all", points, 6)
		v.DayRows = countRows(points, sent.Total)
		headline, err := known(q.c.Surveys.Headline(q.Context(), q.by, q.ref, s.ID.String(), survey.SummaryRefresh{}))
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
		result, err := q.questionResult(s, i, o, &stats.PerQuestion[i])
		if err != nil {
			return err
		}
		v.Questions = append(v.Questions, result)
	}
	return q.render(http.StatusOK, "survey_results", v)
}

// figures are the numbers about a survey as a whole.
func figures(stats *survey.Stats) []figure {
	shown, dismissed, sent := stats.Stats.Shown, stats.Stats.Dismissed, stats.Stats.Sent
	return []figure{
		{"Shown", number(shown.Total), "to " + count(shown.Persons, "person", "persons")},
		{"Dismissed", number(dismissed.Total), percent(stats.Rates.Dismissal) + " of the times it was shown"},
		{"Responses", number(sent.Total), "of " + count(sent.Persons, "person", "persons")},
		{"Response rate", percent(stats.Rates.Response), percent(stats.Rates.PersonsResponse) + " of the persons"},
	}
}

// dayPoints returns a value for each day, from the first one of the survey to the last one
// with a response, or for each week if there are many.
func dayPoints(s *survey.View, days []survey.DayStats) []point {
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
	var out []point
	for day := first; !day.After(last); day = day.AddDate(0, 0, step) {
		n := 0
		for i := range step {
			n += counts[day.AddDate(0, 0, i).Format(time.DateOnly)]
		}
		out = append(out, point{Label: label + day.Format("2 Jan 2006"), Value: n})
	}
	return out
}

// questionResult shows what was answered to a question.
func (q *request) questionResult(s *survey.View, i int, o object, stats *survey.QuestionStats) (questionResult, error) {
	base := q.surveyPath(s.ID)
	r := questionResult{
		ID: questionName(i), Title: "Question " + strconv.Itoa(i+1), Text: stats.Text, Kind: questionTypeNames[stats.Type],
		Answers: count(stats.Responses, "answer", "answers"),
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
			r.Average = exact(*stats.Average)
		}
		c := columnChart(stats.Text+": how many gave each rating", points, 11)
		r.Chart = &c
		r.Score = scoreOf(o, stats)
	case "open", "link":
		points = nil
	}
	r.Rows = countRows(points, stats.Responses)
	if stats.Type == "open" && stats.Responses > 0 {
		page, err := known(q.c.Surveys.Responses(q.Context(), q.by, q.ref, s.ID.String(), survey.ResponseQuery{
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
func answerTo(r *survey.ResponseView, question string) string {
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
func resultPoints(o object, stats *survey.QuestionStats) (out []point) {
	left := make(map[string]int, len(stats.Distribution))
	maps.Copy(left, stats.Distribution)
	take := func(answer, label string) {
		out = append(out, point{Label: label, Value: left[answer]})
		delete(left, answer)
	}
	if stats.Type == "rating" {
		for _, r := range previewRatings(text(o["scale"]), false) {
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
		choices := texts(o["choices"])
		if string(o["hasOpenChoice"]) == "true" && len(choices) > 0 {
			choices = choices[:len(choices)-1]
		}
		for _, c := range choices {
			take(c, c)
		}
		slices.SortStableFunc(out, func(a, b point) int { return b.Value - a.Value })
	}
	other, free := left[otherAnswers]
	delete(left, otherAnswers)
	for _, answer := range slices.Sorted(maps.Keys(left)) {
		out = append(out, point{Label: answer + " (not asked any more)", Value: left[answer]})
	}
	if free {
		out = append(out, point{Label: "In their own words", Value: other})
	}
	return out
}

// otherAnswers is how statistics name free text where there are choices
// (management.md §11.1).
const otherAnswers = "<other>"

// scoreOf returns the net promoter score of a question, nil if it has none.
func scoreOf(o object, stats *survey.QuestionStats) *scoreView {
	if text(o["scale"]) != "10" || string(o["isNpsQuestion"]) == "false" {
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
	share := shares(all, []int{detractors, passives, promoters})
	v := &scoreView{Score: strconv.Itoa(int(math.Round(float64(promoters-detractors) * 100 / float64(all))))}
	v.Formula = percent(share[2]) + " promoters (9 or 10) − " + percent(share[0]) + " detractors (0 to 6) = " + v.Score +
		". Passives (7 or 8) count among the " + count(all, "answer", "answers") + " only."
	x := v.Bar.add(0, share[0], "lose", "detractors")
	x = v.Bar.add(x, share[1], "same", "passives")
	v.Bar.add(x, share[2], "gain", "promoters")
	return v
}

// resultsCSV answers with the responses of a survey as a table.
func resultsCSV(q *request, s *survey.View) error {
	w := &attachment{q: q, name: "responses.csv"}
	query := survey.ResponseQuery{
		ExcludeArchived: q.Form.Get("archived") == "", QuestionID: q.Form.Get("question"), Search: q.Form.Get("q"),
	}
	err := q.c.Surveys.WriteResponses(q.Context(), w, q.by, q.ref, s.ID.String(), query)
	if err != nil && w.begun {
		q.c.Log.ErrorContext(q.Context(), "a table of responses was cut off", "error", err)
		panic(http.ErrAbortHandler) // so that the browser knows
	}
	return err
}

// An attachment is a file for the browser of any length. It sends its header with the first
// byte, so that an error before that is answered with a page.
type attachment struct {
	q     *request
	name  string
	begun bool
}

func (a *attachment) Write(b []byte) (int, error) {
	if !a.begun {
		a.begun = true
		h := a.q.w.Header()
		h.Set("Content-Type", "text/csv; charset=utf-8")
		h.Set("Content-Disposition", `attachment; filename="`+a.name+`"`)
		a.q.w.WriteHeader(http.StatusOK)
	}
	return writeSlowly(a.q.w, b)
}

// chartCSV answers with the table of a chart: of the days, or of a question by its ID.
func chartCSV(q *request, s *survey.View) error {
	of := q.Form.Get("of")
	stats, err := q.c.Surveys.Stats(q.Context(), q.by, q.ref, s.ID.String(), survey.StatsQuery{
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
		i := slices.IndexFunc(stats.PerQuestion, func(s survey.QuestionStats) bool { return s.ID == of })
		questions := questionsOf(surveyDoc(s))
		if i < 0 || i >= len(questions) {
			return errNoPage
		}
		asked := &stats.PerQuestion[i]
		name, rows = "question-"+strconv.Itoa(i+1)+".csv", [][]string{{"answer", "responses", "percent"}}
		points := resultPoints(questions[i], asked)
		share := pointShares(points, asked.Responses)
		for i, p := range points {
			rows = append(rows, []string{csvtext.CSVCell(p.Label), strconv.Itoa(p.Value), strings.TrimSuffix(percent(share[i]), "%")})
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
