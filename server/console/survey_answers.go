package console

import (
	"html"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/management/survey"
)

var _ = register(screen{
	under: "Surveys", needs: hasSurveys,
	scope: inProject, pages: map[string]page{
		"GET /projects/{project}/surveys/{survey}/answers":  about(surveyAnswers, (*request).survey),
		"POST /projects/{project}/surveys/{survey}/answers": about(postAnswer, (*request).survey),
	},
	done: map[string]string{
		"hidden": "The response is archived, and does not count.",
		"shown":  "The response counts again.",
	},
	undo: map[string]undoer{"Response": undoResponse},
})

// answersView is the answers to one question in words.
type answersView struct {
	layout
	Name, List, Survey, Results string
	Question, Text              string // its ID, and what it asks
	Action, Search              string
	Archived                    bool
	Back                        string // the query of the page
	CSV                         string
	Rows                        []answerRow
	pager
	Themes    []textBlock
	ThemesOff string // why there are none
	Made      moment
}

// An answerRow is an answer with what is known of its response.
type answerRow struct {
	ID, Text, Person, PersonURL string
	At                          moment
	About                       string
	Archived                    bool
	OtherAnswers                []string
}

// A textBlock is a part of a summary: a heading, a list, or a paragraph.
type textBlock struct {
	Heading, Text string
	Items         []string
}

func surveyAnswers(q *request, s *survey.View) error {
	asked := q.Form.Get("question")
	questions := questionsOf(surveyDoc(s))
	i := slices.IndexFunc(questions, func(o object) bool { return text(o["id"]) == asked })
	if i < 0 {
		return errNoPage
	}
	page := pageNumber(q.Form)
	v := &answersView{
		Name: s.Name, List: q.projectPath("/surveys"), Survey: q.surveyPath(s.ID), Results: q.surveyPath(s.ID) + "/results",
		Question: asked, Text: text(questions[i]["question"]),
		Action: q.surveyPath(s.ID) + "/answers", Search: strings.TrimSpace(q.Form.Get("q")), Archived: q.Form.Get("archived") != "",
	}
	list, err := q.c.Surveys.Responses(q.Context(), q.by, q.ref, s.ID.String(), survey.ResponseQuery{
		QuestionID: asked, Search: v.Search, ExcludeArchived: !v.Archived, Limit: strconv.Itoa(pageSize),
		Offset: strconv.Itoa((page - 1) * pageSize),
	})
	if err != nil {
		return err
	}
	archived, err := q.c.Surveys.ArchivedResponses(q.Context(), q.by, q.ref, s.ID.String())
	if err != nil {
		return err
	}
	for j := range list.Results {
		v.Rows = append(v.Rows, q.answerRow(&list.Results[j], asked, archived))
	}
	at := listing{v.Action, map[string]string{"question": asked, "q": v.Search}}
	if v.Archived {
		at.query["archived"] = "yes"
	}
	_, query, _ := strings.Cut(at.at(1), "?")
	v.CSV = v.Results + ".csv?" + query
	_, v.Back, _ = strings.Cut(at.at(page), "?")
	if list.HasMore {
		v.Older = at.at(page + 1)
	}
	if page > 1 {
		v.Newer = at.at(page - 1)
	}
	v.Range = "No answers"
	if n := len(v.Rows); n > 0 {
		v.Range = "Answers " + number((page-1)*pageSize+1) + " to " + number((page-1)*pageSize+n)
	}
	if page == 1 && v.Search == "" {
		if err := q.themes(v, s.ID.String()); err != nil {
			return err
		}
	}
	q.layout.Title = "Answers: " + s.Name
	q.notice()
	return q.render(http.StatusOK, "survey_answers", v)
}

func (q *request) answerRow(r *survey.ResponseView, question string, archived []uuid.UUID) answerRow {
	row := answerRow{
		ID: r.UUID.String(), Text: answerTo(r, question), Person: r.DistinctID, At: q.c.moment(r.SubmittedAt),
		Archived: slices.Contains(archived, r.UUID),
	}
	row.PersonURL = q.projectPath("/explain?" + url.Values{"person": {r.DistinctID}}.Encode())
	var about []string
	for _, p := range []*string{r.Extra.DeviceType, r.Extra.Browser, r.Extra.CountryName, r.Extra.CurrentURL} {
		if p != nil && *p != "" {
			about = append(about, shorten(*p, 80))
		}
	}
	row.About = strings.Join(about, ", ")
	for _, a := range r.Answers {
		if a.QuestionID != question && a.Answer != nil {
			row.OtherAnswers = append(row.OtherAnswers,
				strings.TrimSuffix(shorten(a.QuestionText, 60), ":")+" → "+shorten(answerTo(r, a.QuestionID), 80))
		}
	}
	return row
}

// themes fills in what the answers have in common.
func (q *request) themes(v *answersView, id string) error {
	s, err := q.c.Surveys.Summarize(q.Context(), q.by, q.ref, id, survey.SummaryQuery{QuestionID: v.Question})
	if isRefusal(err) {
		v.ThemesOff = pageOf(err).text
		return nil
	}
	if err != nil {
		return err
	}
	v.Themes, v.Made = textBlocks(s.Content), q.c.moment(s.GeneratedAt)
	return nil
}

var (
	strong  = regexp.MustCompile(`\*\*([^*]+)\*\*`)
	escaped = regexp.MustCompile(`\\([[:punct:]])`)
)

// textBlocks reads the Markdown of a summary, as far as summaries use it.
func textBlocks(markdown string) (out []textBlock) {
	words := func(s string) string {
		return escaped.ReplaceAllString(html.UnescapeString(strong.ReplaceAllString(s, "$1")), "$1")
	}
	for line := range strings.Lines(markdown) {
		line = strings.TrimSpace(line)
		switch {
		case line == "":
		case strings.HasPrefix(line, "#"):
			out = append(out, textBlock{Heading: words(strings.TrimSpace(strings.TrimLeft(line, "#")))})
		case strings.HasPrefix(line, "- "), strings.HasPrefix(line, "* "):
			if len(out) == 0 || out[len(out)-1].Items == nil {
				out = append(out, textBlock{})
			}
			last := &out[len(out)-1]
			last.Items = append(last.Items, words(line[2:]))
		default:
			out = append(out, textBlock{Text: words(line)})
		}
	}
	return out
}

// postAnswer archives a response, or brings it back.
func postAnswer(q *request, s *survey.View) error {
	act, done := q.c.Surveys.ArchiveResponse, "hidden"
	switch q.PostForm.Get("do") {
	case "archive":
	case "unarchive":
		act, done = q.c.Surveys.UnarchiveResponse, "shown"
	default:
		return errForm
	}
	if err := act(q.Context(), q.by, q.ref, s.ID.String(), q.PostForm.Get("response")); err != nil {
		return err
	}
	back, _ := url.ParseQuery(q.PostForm.Get("back")) // what cannot be read is left out
	to := make(url.Values)
	for _, name := range []string{"question", "q", "archived", "page"} {
		if value := back.Get(name); value != "" {
			to.Set(name, value)
		}
	}
	return q.done(q.surveyPath(s.ID)+"/answers?"+to.Encode(), done, undo{
		"Response", s.ID.String() + "/" + q.PostForm.Get("response"), q.PostForm.Get("do"),
	})
}

func undoResponse(q *request, u undo) (string, undo, error) {
	if q.c.Surveys == nil {
		return "", undo{}, errNoPage
	}
	of, response, _ := strings.Cut(u.Item, "/")
	act, again := q.c.Surveys.ArchiveResponse, "archive"
	if u.Mark == "archive" {
		act, again = q.c.Surveys.UnarchiveResponse, "unarchive"
	}
	return "", undo{u.What, u.Item, again}, act(q.Context(), q.by, q.ref, of, response)
}
