package management

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/management/internal/survey"
	"github.com/flagstaff-go/flagstaff/management/summary"
)

// A SummaryQuery asks for a summary of the answers to one question, by its ID or
// its index.
type SummaryQuery struct {
	QuestionID    string
	QuestionIndex string // as it was sent
	Refresh       SummaryRefresh
}

// A SummaryRefresh says whether what was said before may be said again.
type SummaryRefresh struct {
	Force Optional[bool] `json:"force_refresh"`
}

// A SurveySummary says what answers say (management.md §11.5).
type SurveySummary struct {
	Content       string    `json:"content"` // Markdown
	ResponseCount int       `json:"response_count"`
	GeneratedAt   time.Time `json:"generated_at"`
	TraceID       string    `json:"trace_id,omitempty"`
	Cached        bool      `json:"cached"`
}

// A SurveyHeadline says in a sentence what responses say (management.md §11.6).
type SurveyHeadline struct {
	Headline string `json:"headline"`
	Sampled  int    `json:"responses_sampled"`
	HasMore  bool   `json:"has_more"`
}

const (
	mostSummarized = 1000 // responses, the newest
	mostSampled    = 100
)

// summarizer returns what puts answers into words. One that the host application
// has brought needs the organization's consent.
func (s *Service) summarizer(o *Organization) (summary.Summarizer, error) {
	if s.c.Summarizer == nil {
		return summary.Extractive{}, nil
	}
	if o.AIProcessingApproved == nil || !*o.AIProcessingApproved {
		return nil, forbidden("The organization has not approved the processing of its data by AI.")
	}
	return s.c.Summarizer, nil
}

// SummarizeResponses returns a summary of the answers to a question of a survey,
// archived ones left out: the one that was made before, unless that is not wanted
// or there are a tenth more responses now. It needs scope survey:read.
func (s *Service) SummarizeResponses(ctx context.Context, p *Principal, ref, id string, q SummaryQuery) (*SurveySummary, error) {
	a, v, err := s.readSurvey(ctx, p, ref, id)
	if err != nil {
		return nil, err
	}
	if err := checkBool("force_refresh", &q.Refresh.Force, true); err != nil {
		return nil, err
	}
	question, err := questionOf(v, q)
	if err != nil {
		return nil, err
	}
	words, err := s.summarizer(a.Organization)
	if err != nil {
		return nil, err
	}
	if s.c.Data == nil {
		return nil, errNoData
	}
	answers, total, err := s.answers(ctx, v, question)
	if err != nil {
		return nil, err
	}
	now := s.now()
	if total == 0 {
		return &SurveySummary{Content: summary.NoAnswers, GeneratedAt: now}, nil
	}
	known := summariesOf(v)
	if old, ok := known[question.ID]; ok && !q.Refresh.Force.Value && !grown(old.ResponseCount, total) {
		old.Cached = true
		return &old, nil
	}
	out, err := words.Summarize(ctx, summary.Input{Survey: v.Name, Question: wordsQuestion(question), Answers: answers})
	if err != nil {
		return nil, err
	}
	made := SurveySummary{Content: out.Content, ResponseCount: total, GeneratedAt: now, TraceID: uuid.NewString()}
	return &made, s.keepSummary(ctx, v, func(current *Survey) {
		known := summariesOf(current)
		known[question.ID] = made
		current.Summaries = mustJSON(known)
	})
}

// grown reports whether there are so many more responses that a summary is
// outdated.
func grown(before, now int) bool { return now*10 >= before*11 && now > before }

func summariesOf(v *Survey) map[string]SurveySummary {
	known := make(map[string]SurveySummary)
	_ = json.Unmarshal(orJSON(v.Summaries, "{}"), &known) // what cannot be read is made anew
	return known
}

// keepSummary stores what was made of responses.
func (s *Service) keepSummary(ctx context.Context, v *Survey, f func(*Survey)) error {
	err := s.store.Atomic(ctx, func(store Store) error {
		current, err := store.Survey(ctx, v.Project, v.ID)
		if err != nil {
			return err
		}
		f(current)
		return store.UpdateSurvey(ctx, current)
	})
	if errors.Is(err, ErrNotFound) { // deleted meanwhile
		return nil
	}
	return err
}

// questionOf returns the question that a query names.
func questionOf(v *Survey, q SummaryQuery) (*survey.Question, error) {
	questions := survey.Parse(v.Questions)
	if q.QuestionID != "" {
		i := slices.IndexFunc(questions, func(question survey.Question) bool { return question.ID == q.QuestionID })
		if i < 0 {
			return nil, invalid("", "invalid_input", "The survey has no question with this ID.")
		}
		return &questions[i], nil
	}
	i, err := strconv.Atoi(q.QuestionIndex)
	if err != nil || i < 0 || i >= len(questions) {
		return nil, invalid("", "invalid_input", "The survey has no question with this index: it has %d questions.", len(questions))
	}
	return &questions[i], nil
}

// responsesOf returns which responses of a survey are summarised: those from the
// start of its first day to the end of its last (management.md §11.5).
func (s *Service) responsesOf(v *Survey) SurveyQuery {
	from, to := v.Created.Truncate(day), s.now().Truncate(day).Add(2*day)
	if v.Start != nil {
		from = v.Start.Truncate(day)
	}
	if v.End != nil {
		to = v.End.Truncate(day).Add(day - time.Microsecond)
	}
	return SurveyQuery{Project: v.Project, Surveys: []uuid.UUID{v.ID}, From: &from, To: &to, ExcludeArchived: true}
}

// answers returns the newest answers to a question, and how many there are in all.
func (s *Service) answers(ctx context.Context, v *Survey, question *survey.Question) (list [][]string, total int, err error) {
	for r, err := range s.c.Data.SurveyResponses(ctx, s.responsesOf(v)) {
		if err != nil {
			return nil, 0, err
		}
		if texts := answersTo(&r, question); len(texts) > 0 {
			if total++; total <= mostSummarized {
				list = append(list, texts)
			}
		}
	}
	return list, total, nil
}

func wordsQuestion(q *survey.Question) summary.Question {
	return summary.Question{
		ID: q.ID, Index: q.Index, Type: q.Type, Text: q.Text, Choices: q.Choices, OpenChoice: q.HasOpenChoice, Scale: q.Scale, NPS: q.NPS,
	}
}

// SurveyHeadline returns a sentence about the newest responses of a survey: the
// one that was made before, unless that is not wanted or there are a tenth more
// responses now. It needs scope survey:read.
func (s *Service) SurveyHeadline(ctx context.Context, p *Principal, ref, id string, q SummaryRefresh) (*SurveyHeadline, error) {
	a, v, err := s.readSurvey(ctx, p, ref, id)
	if err != nil {
		return nil, err
	}
	if err := checkBool("force_refresh", &q.Force, true); err != nil {
		return nil, err
	}
	if s.c.Data == nil {
		return nil, errNoData
	}
	query := s.responsesOf(v)
	counts, err := s.c.Data.CountResponses(ctx, query)
	if err != nil {
		return nil, err
	}
	total := counts[v.ID]
	if v.Headline != "" && v.HeadlineSample > 0 && !q.Force.Value && !grown(v.HeadlineResponses, total) {
		return &SurveyHeadline{Headline: v.Headline, Sampled: v.HeadlineSample}, nil
	}
	words, err := s.summarizer(a.Organization)
	if err != nil {
		return nil, err
	}
	questions := slices.DeleteFunc(survey.Parse(v.Questions), func(q survey.Question) bool { return q.Type == summary.Link })
	switch {
	case len(questions) == 0:
		return &SurveyHeadline{Headline: summary.NoQuestions}, nil
	case total == 0:
		return &SurveyHeadline{Headline: summary.NoResponses}, nil
	}
	in := summary.HeadlineInput{Survey: v.Name}
	for i := range questions {
		in.Questions = append(in.Questions, wordsQuestion(&questions[i]))
	}
	for r, err := range s.c.Data.SurveyResponses(ctx, query) {
		if err != nil {
			return nil, err
		}
		if len(in.Responses) == mostSampled {
			break
		}
		var response summary.Response
		for i := range questions {
			response.Answers = append(response.Answers, answersTo(&r, &questions[i]))
		}
		in.Responses = append(in.Responses, response)
	}
	headline, err := words.Headline(ctx, in)
	if err != nil {
		return nil, err
	}
	out := &SurveyHeadline{Headline: headline, Sampled: len(in.Responses), HasMore: total > mostSampled}
	return out, s.keepSummary(ctx, v, func(current *Survey) {
		current.Headline, current.HeadlineSample, current.HeadlineResponses = headline, out.Sampled, total
	})
}
