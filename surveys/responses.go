package surveys

import (
	"context"
	"encoding/csv"
	"io"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/internal/casefold"
	"github.com/flagstaff-go/flagstaff/internal/text"
	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/check"
	"github.com/flagstaff-go/flagstaff/surveys/internal/rules"
)

// A ResponseQuery selects responses of a survey (management.md §11.8). An empty field
// excludes nothing. Numbers and times are the text that was sent.
type ResponseQuery struct {
	Since, Until    string
	QuestionID      string
	Search          string // part of an answer, in any case; of the answer to the question if there is one
	Least, Most     string // score_gte and score_lte, of the answer to the question
	ExcludeArchived bool
	Limit, Offset   string // 1 to 500, 100 if not given; ignored for CSV
}

const (
	defaultResponses = 100
	maxResponses     = 500 // on a page
)

// ResponsePage is a page of responses, newest first.
type ResponsePage struct {
	Results []ResponseView `json:"results"`
	HasMore bool           `json:"has_more"`
	Limit   int            `json:"limit"`
	Offset  int            `json:"offset"`
}

// A ResponseView is a response as the API shows it.
type ResponseView struct {
	UUID        uuid.UUID     `json:"uuid"`
	DistinctID  string        `json:"distinct_id"`
	SessionID   *string       `json:"session_id"`
	SubmittedAt time.Time     `json:"submitted_at"`
	Answers     []AnswerView  `json:"answers"`
	Extra       ResponseExtra `json:"extra"`
}

// A ResponseExtra is what is known of a response besides its answers. Nil: nothing.
type ResponseExtra struct {
	DeviceType  *string `json:"device_type"`
	Browser     *string `json:"browser"`
	OS          *string `json:"os"`
	CountryCode *string `json:"geoip_country_code"`
	CountryName *string `json:"geoip_country_name"`
	CityName    *string `json:"geoip_city_name"`
	CurrentURL  *string `json:"current_url"`
	Iteration   *string `json:"iteration"`
}

// An AnswerView is an answer: null, a text, or the texts of a multiple choice.
type AnswerView struct {
	QuestionID    string `json:"question_id"`
	QuestionIndex int    `json:"question_index"`
	QuestionText  string `json:"question_text"`
	QuestionType  string `json:"question_type"`
	Answer        any    `json:"answer"`
}

// Responses returns a page of the responses of a survey. It needs scopes
// survey:read and query:read.
func (s *Service) Responses(ctx context.Context, p *management.Principal, ref, id string, q ResponseQuery) (*ResponsePage, error) {
	questions, responses, err := s.findResponses(ctx, p, ref, id, q)
	if err != nil {
		return nil, err
	}
	page := &ResponsePage{Results: []ResponseView{}}
	if page.Limit, err = countParameter("limit", q.Limit, 1, maxResponses, defaultResponses); err != nil {
		return nil, err
	}
	if page.Offset, err = countParameter("offset", q.Offset, 0, 1<<31-1, 0); err != nil {
		return nil, err
	}
	n := 0
	for r, err := range responses {
		if err != nil {
			return nil, err
		}
		if n++; n <= page.Offset {
			continue
		}
		if len(page.Results) == page.Limit {
			page.HasMore = true
			break
		}
		page.Results = append(page.Results, newResponseView(&r, questions))
	}
	return page, nil
}

// findResponses returns the questions of a survey and the responses that a query
// selects.
func (s *Service) findResponses(ctx context.Context, p *management.Principal, ref, id string, q ResponseQuery) ([]rules.Question, iter.Seq2[Response, error], error) {
	w, v, err := s.read(ctx, p, ref, id, "query:read")
	if err != nil {
		return nil, nil, err
	}
	query := Query{Project: v.Project, Surveys: []uuid.UUID{v.ID}, ExcludeArchived: q.ExcludeArchived}
	if query.From, query.To, err = w.timeWindow("since", q.Since, "until", q.Until); err != nil {
		return nil, nil, err
	}
	if err := refusal(check.Search(q.Search)); err != nil {
		return nil, nil, err
	}
	questions := rules.Parse(v.Questions)
	selected, err := q.selector(questions)
	if err != nil {
		return nil, nil, err
	}
	return questions, func(yield func(Response, error) bool) {
		for r, err := range s.events.SurveyResponses(ctx, query) {
			if err == nil && !selected(&r) {
				continue
			}
			if !yield(r, err) {
				return
			}
		}
	}, nil
}

// selector returns a function that reports whether the query selects a response by its
// answers.
func (q *ResponseQuery) selector(questions []rules.Question) (func(*Response) bool, error) {
	least, err := scoreParameter("score_gte", q.Least)
	if err != nil {
		return nil, err
	}
	most, err := scoreParameter("score_lte", q.Most)
	if err != nil {
		return nil, err
	}
	if q.QuestionID == "" {
		if least != nil || most != nil {
			return nil, refuse("question_id", "required", "score_gte and score_lte need a question_id.")
		}
		return func(r *Response) bool { return q.Search == "" || slices.ContainsFunc(questions, q.found(r)) }, nil
	}
	for i := range questions {
		if questions[i].ID != q.QuestionID {
			continue
		}
		return func(r *Response) bool {
			answers := answersTo(r, &questions[i])
			if q.Search != "" && !q.found(r)(questions[i]) {
				return false
			}
			if least == nil && most == nil {
				return len(answers) > 0
			}
			if len(answers) != 1 {
				return false
			}
			n, err := strconv.ParseFloat(answers[0], 64)
			return err == nil && (least == nil || n >= *least) && (most == nil || n <= *most)
		}, nil
	}
	return nil, invalid("question_id", "The survey has no question with this ID.")
}

// found returns a function that reports whether a response answers a question with the
// text that is searched for.
func (q *ResponseQuery) found(r *Response) func(rules.Question) bool {
	part := casefold.Lower(q.Search)
	return func(question rules.Question) bool {
		return slices.ContainsFunc(answersTo(r, &question), func(answer string) bool { return strings.Contains(casefold.Lower(answer), part) })
	}
}

func newResponseView(r *Response, questions []rules.Question) ResponseView {
	extra := func(name string) *string {
		if value, ok := r.Extra[name]; ok {
			return &value
		}
		return nil
	}
	v := ResponseView{
		UUID: r.ID, DistinctID: r.DistinctID, SessionID: extra("$session_id"), SubmittedAt: r.Time, Answers: make([]AnswerView, len(questions)),
		Extra: ResponseExtra{
			DeviceType: extra("$device_type"), Browser: extra("$browser"), OS: extra("$os"), CountryCode: extra("$geoip_country_code"),
			CountryName: extra("$geoip_country_name"), CityName: extra("$geoip_city_name"), CurrentURL: extra("$current_url"),
			Iteration: extra("$survey_iteration"),
		},
	}
	for i := range questions {
		q := &questions[i]
		v.Answers[i] = AnswerView{QuestionID: q.ID, QuestionIndex: q.Index, QuestionText: q.Text, QuestionType: q.Type}
		switch answers := answersTo(r, q); {
		case len(answers) == 0:
		case q.Type == rules.MultipleChoice:
			v.Answers[i].Answer = answers
		default:
			v.Answers[i].Answer = answers[0]
		}
	}
	return v
}

// extraColumns are the columns of the CSV besides answers, with the properties of events
// that they show.
var extraColumns = []struct{ name, property string }{
	{"session_id", "$session_id"},
	{"iteration", "$survey_iteration"},
	{"completed", "$survey_completed"},
	{"device_type", "$device_type"},
	{"browser", "$browser"},
	{"os", "$os"},
	{"geoip_country_code", "$geoip_country_code"},
	{"geoip_country_name", "$geoip_country_name"},
	{"geoip_city_name", "$geoip_city_name"},
	{"current_url", "$current_url"},
}

// WriteResponses writes all responses of a survey that a query selects as CSV, with
// a column for each question. Nothing was written if it returns a [*management.Error]. It
// needs scopes survey:read and query:read.
func (s *Service) WriteResponses(ctx context.Context, dst io.Writer, p *management.Principal, ref, id string, q ResponseQuery) error {
	questions, responses, err := s.findResponses(ctx, p, ref, id, q)
	if err != nil {
		return err
	}
	out := csv.NewWriter(dst)
	head := []string{"uuid", "submitted_at", "distinct_id"}
	for i := range questions {
		head = append(head, text.CSVCell(questions[i].Text))
	}
	for _, column := range extraColumns {
		head = append(head, column.name)
	}
	if err := out.Write(head); err != nil {
		return err
	}
	for r, err := range responses {
		if err != nil {
			return err
		}
		row := []string{r.ID.String(), r.Time.Format(time.RFC3339Nano), text.CSVCell(r.DistinctID)}
		for i := range questions {
			row = append(row, text.CSVCell(strings.Join(answersTo(&r, &questions[i]), "; ")))
		}
		for _, column := range extraColumns {
			row = append(row, text.CSVCell(r.Extra[column.property]))
		}
		if err := out.Write(row); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// ArchiveResponse hides a response from statistics that leave archived ones out. It does
// not check whether the response exists (management.md §11.4). It needs scope survey:write.
func (s *Service) ArchiveResponse(ctx context.Context, p *management.Principal, ref, id, response string) error {
	return s.archiveResponse(ctx, p, ref, id, response, true)
}

// UnarchiveResponse shows a response again that was archived. It needs scope survey:write.
func (s *Service) UnarchiveResponse(ctx context.Context, p *management.Principal, ref, id, response string) error {
	return s.archiveResponse(ctx, p, ref, id, response, false)
}

func (s *Service) archiveResponse(ctx context.Context, p *management.Principal, ref, id, response string, archive bool) error {
	return s.atomic(ctx, p, func(w *work) error {
		if err := w.enter(ctx, ref, "survey:write"); err != nil {
			return err
		}
		v, err := w.byRef(ctx, id)
		if err != nil {
			return err
		}
		event, err := check.ParseID(response)
		if err != nil {
			return invalid("response_uuid", "Invalid UUID format")
		}
		var changed bool
		activity := "response_archived"
		if archive {
			changed, err = w.surveys.ArchiveResponse(ctx, v.Project, v.ID, event, s.now())
		} else {
			activity = "response_unarchived"
			changed, err = w.surveys.UnarchiveResponse(ctx, v.Project, v.ID, event)
		}
		if err != nil || !changed {
			return storeError(err)
		}
		if err := w.forgetStored(ctx, v); err != nil {
			return err
		}
		return logEntry(ctx, w.UnitOfWork, v, activity, "Response "+event.String(), nil)
	})
}

// forgetStored removes the stored summaries, which may quote a response that is archived.
func (w *work) forgetStored(ctx context.Context, v *Survey) error {
	if v.Headline == "" && v.Summaries == nil {
		return nil
	}
	v.forgetSummaries()
	return storeError(w.surveys.UpdateSurvey(ctx, v))
}

// ArchivedResponses returns the UUIDs of the archived responses of a survey. It
// needs scope survey:read.
func (s *Service) ArchivedResponses(ctx context.Context, p *management.Principal, ref, id string) ([]uuid.UUID, error) {
	w, v, err := s.read(ctx, p, ref, id)
	if err != nil {
		return nil, err
	}
	list, err := w.surveys.ArchivedResponses(ctx, v.Project, v.ID)
	return append([]uuid.UUID{}, list...), err
}

// A QuestionLabel names a question of a survey.
type QuestionLabel struct {
	QuestionID    string    `json:"question_id"`
	QuestionText  string    `json:"question_text"`
	QuestionIndex int       `json:"question_index"`
	SurveyID      uuid.UUID `json:"survey_id"`
	SurveyName    string    `json:"survey_name"`
}

// QuestionLabels returns the questions of all surveys of a project. It needs scope
// survey:read.
func (s *Service) QuestionLabels(ctx context.Context, p *management.Principal, ref string) ([]QuestionLabel, error) {
	w, err := s.begin(ctx, p, ref, "survey:read")
	if err != nil {
		return nil, err
	}
	surveys, err := w.surveys.Surveys(ctx, w.at.Project.ID)
	labels := []QuestionLabel{}
	for i := range surveys {
		v := &surveys[i]
		for _, q := range rules.Parse(v.Questions) {
			labels = append(labels, QuestionLabel{q.ID, q.Text, q.Index, v.ID, v.Name})
		}
	}
	return labels, err
}
