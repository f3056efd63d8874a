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

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/optional"
	"github.com/flagstaff-go/flagstaff/management/storage"
	"github.com/flagstaff-go/flagstaff/server/console/shell"
	"github.com/flagstaff-go/flagstaff/server/console/shell/forms"
	"github.com/flagstaff-go/flagstaff/surveys"
)

func (h *handlers) answersScreen() shell.Screen {
	return shell.Screen{
		Under: "Surveys",
		Scope: shell.InProject, Pages: map[string]shell.Page{
			"GET /projects/{project}/surveys/{survey}/answers":  shell.About(h.surveyAnswers, h.survey),
			"POST /projects/{project}/surveys/{survey}/answers": shell.About(h.postAnswer, h.survey),
		},
		Done: map[string]string{
			"hidden":   "The response is archived, and does not count.",
			"shown":    "The response counts again.",
			"written":  "Answers to surveys of the organization are sent, and summaries written.",
			"unshared": "Answers are not sent any more. Summaries are counted here.",
		},
		Undo: map[string]shell.Undoer{"Response": h.undoResponse},
	}
}

// answersView is the answers to one question in words.
type answersView struct {
	shell.Layout
	Name, List, Survey, Results string
	Question, Text              string // its ID, and what it asks
	Action, Search              string
	Archived                    bool
	Back                        string // the query of the page
	CSV                         string
	Rows                        []answerRow
	shell.Pager
	Themes  []textBlock
	Made    shell.Moment
	Summary *surveys.Summary
	Sharing sharing
}

// sharing is whether answers leave the machine so that a service writes summaries.
type sharing struct {
	Notice       string // what is sent, and to which service; "": no service is configured
	On           bool
	Organization string
	MayChange    bool
}

// An answerRow is an answer with what is known of its response.
type answerRow struct {
	ID, Text, Person, PersonURL string
	At                          shell.Moment
	About                       string
	Archived                    bool
	OtherAnswers                []string
}

// A textBlock is a part of a summary: a heading, a list, or a paragraph.
type textBlock struct {
	Heading, Text string
	Items         []string
}

func (h *handlers) surveyAnswers(q *shell.Request, s *surveys.View) error {
	asked := q.Form.Get("question")
	questions := questionsOf(surveyDoc(s))
	i := slices.IndexFunc(questions, func(o forms.Object) bool { return forms.Text(o["id"]) == asked })
	if i < 0 {
		return shell.ErrNoPage
	}
	page := shell.PageNumber(q.Form)
	v := &answersView{
		Name: s.Name, List: q.ProjectPath("/surveys"), Survey: surveyPath(q, s.ID), Results: surveyPath(q, s.ID) + "/results",
		Question: asked, Text: forms.Text(questions[i]["question"]),
		Action: surveyPath(q, s.ID) + "/answers", Search: strings.TrimSpace(q.Form.Get("q")), Archived: q.Form.Get("archived") != "",
	}
	list, err := h.surveys.Responses(q.Context(), q.By, q.Ref, s.ID.String(), surveys.ResponseQuery{
		QuestionID: asked, Search: v.Search, ExcludeArchived: !v.Archived, Limit: strconv.Itoa(shell.PageSize),
		Offset: strconv.Itoa((page - 1) * shell.PageSize),
	})
	if err != nil {
		return err
	}
	archived, err := h.surveys.ArchivedResponses(q.Context(), q.By, q.Ref, s.ID.String())
	if err != nil {
		return err
	}
	for j := range list.Results {
		v.Rows = append(v.Rows, answerRowOf(q, &list.Results[j], asked, archived))
	}
	at := shell.Listing{Path: v.Action, Query: map[string]string{"question": asked, "q": v.Search}}
	if v.Archived {
		at.Query["archived"] = "yes"
	}
	_, query, _ := strings.Cut(at.At(1), "?")
	v.CSV = v.Results + ".csv?" + query
	_, v.Back, _ = strings.Cut(at.At(page), "?")
	if list.HasMore {
		v.Older = at.At(page + 1)
	}
	if page > 1 {
		v.Newer = at.At(page - 1)
	}
	v.Range = "No answers"
	if n := len(v.Rows); n > 0 {
		v.Range = "Answers " + forms.Number((page-1)*shell.PageSize+1) + " to " + forms.Number((page-1)*shell.PageSize+n)
	}
	if page == 1 && v.Search == "" {
		if err := h.themes(q, v, s.ID.String()); err != nil {
			return err
		}
	}
	q.Layout.Title = "Answers: " + s.Name
	q.Notice()
	return q.Render(http.StatusOK, "survey_answers", v)
}

func answerRowOf(q *shell.Request, r *surveys.ResponseView, question string, archived []uuid.UUID) answerRow {
	row := answerRow{
		ID: r.UUID.String(), Text: answerTo(r, question), Person: r.DistinctID, At: q.Moment(r.SubmittedAt),
		Archived: slices.Contains(archived, r.UUID),
	}
	row.PersonURL = q.ProjectPath("/explain?" + url.Values{"person": {r.DistinctID}}.Encode())
	var about []string
	for _, p := range []*string{r.Extra.DeviceType, r.Extra.Browser, r.Extra.CountryName, r.Extra.CurrentURL} {
		if p != nil && *p != "" {
			about = append(about, forms.Shorten(*p, 80))
		}
	}
	row.About = strings.Join(about, ", ")
	for _, a := range r.Answers {
		if a.QuestionID != question && a.Answer != nil {
			row.OtherAnswers = append(row.OtherAnswers,
				strings.TrimSuffix(forms.Shorten(a.QuestionText, 60), ":")+" → "+forms.Shorten(answerTo(r, a.QuestionID), 80))
		}
	}
	return row
}

// themes fills in what the answers have in common.
func (h *handlers) themes(q *shell.Request, v *answersView, id string) (err error) {
	o := q.At.Organization
	v.Sharing = sharing{
		h.surveys.SummaryNotice(), o.AIProcessingApproved != nil && *o.AIProcessingApproved, o.Name, q.At.Level >= storage.LevelAdmin,
	}
	v.Summary, err = h.surveys.Summarize(q.Context(), q.By, q.Ref, id, surveys.SummaryQuery{
		QuestionID: v.Question, Refresh: surveys.SummaryRefresh{Counted: true},
	})
	if err != nil {
		return err
	}
	v.Themes, v.Made = textBlocks(v.Summary.Content), q.Moment(v.Summary.GeneratedAt)
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

// postAnswer archives a response, or brings it back, or decides whether answers are sent to
// the service that writes summaries.
func (h *handlers) postAnswer(q *shell.Request, s *surveys.View) error {
	act, done := h.surveys.ArchiveResponse, "hidden"
	switch q.PostForm.Get("do") {
	case "archive":
	case "unarchive":
		act, done = h.surveys.UnarchiveResponse, "shown"
	case "send", "count":
		send := q.PostForm.Get("do") == "send"
		if done = "unshared"; send {
			done = "written"
		}
		_, err := q.Service.UpdateOrganization(q.Context(), q.By, q.At.Organization.ID.String(), management.OrganizationPatch{AIApproved: optional.Of(send)})
		if err != nil {
			return err
		}
		return q.Done(answersPath(q, s), done, shell.Undo{})
	default:
		return shell.ErrForm
	}
	if err := act(q.Context(), q.By, q.Ref, s.ID.String(), q.PostForm.Get("response")); err != nil {
		return err
	}
	return q.Done(answersPath(q, s), done, shell.Undo{
		What: "Response", Item: s.ID.String() + "/" + q.PostForm.Get("response"), Mark: q.PostForm.Get("do"),
	})
}

// answersPath returns the address of the page that a form was on.
func answersPath(q *shell.Request, s *surveys.View) string {
	back, _ := url.ParseQuery(q.PostForm.Get("back")) // what cannot be read is left out
	to := make(url.Values)
	for _, name := range []string{"question", "q", "archived", "page"} {
		if value := back.Get(name); value != "" {
			to.Set(name, value)
		}
	}
	return surveyPath(q, s.ID) + "/answers?" + to.Encode()
}

func (h *handlers) undoResponse(q *shell.Request, u shell.Undo) (string, shell.Undo, error) {
	if h.surveys == nil {
		return "", shell.Undo{}, shell.ErrNoPage
	}
	of, response, _ := strings.Cut(u.Item, "/")
	act, again := h.surveys.ArchiveResponse, "archive"
	if u.Mark == "archive" {
		act, again = h.surveys.UnarchiveResponse, "unarchive"
	}
	return "", shell.Undo{What: u.What, Item: u.Item, Mark: again}, act(q.Context(), q.By, q.Ref, of, response)
}
