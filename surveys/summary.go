package surveys

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/internal/rawjson"
	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/check"
	"github.com/flagstaff-go/flagstaff/management/optional"
	"github.com/flagstaff-go/flagstaff/management/storage"
	"github.com/flagstaff-go/flagstaff/surveys/internal/rules"
	"github.com/flagstaff-go/flagstaff/surveys/summary"
)

// A SummaryQuery asks for a summary of the answers to one question, by its ID or
// its index.
type SummaryQuery struct {
	QuestionID    string
	QuestionIndex string // as it was sent
	Refresh       SummaryRefresh
}

// A SummaryRefresh says whether a summary is made anew although there is one.
type SummaryRefresh struct {
	Force optional.Value[bool] `json:"force_refresh"`

	// Counted asks for what can be said by counting, where the error would be
	// ErrProcessingNotApproved.
	Counted bool `json:"-"`
}

// A Summary sums up the answers to a question (management.md §11.5).
type Summary struct {
	Content       string    `json:"content"` // Markdown
	ResponseCount int       `json:"response_count"`
	GeneratedAt   time.Time `json:"generated_at"`
	TraceID       string    `json:"trace_id,omitempty"`
	Cached        bool      `json:"cached"`
	WrittenBy     string    `json:"written_by,omitempty"` // the service that has; "": it was counted
	Problem       string    `json:"problem,omitempty"`    // why it was counted, and not written
}

// A Headline sums up responses in a sentence (management.md §11.6).
type Headline struct {
	Headline string `json:"headline"`
	Sampled  int    `json:"responses_sampled"`
	HasMore  bool   `json:"has_more"`
	Problem  string `json:"problem,omitempty"` // why it was counted, and not written
}

const (
	maxSummarized = 1000 // answers of which a summary is made, the newest
	maxSampled    = 100  // responses of which a headline is made, the newest

	summarizerPause = time.Minute // in which one that has failed is not asked again, unless somebody insists
)

// ErrProcessingNotApproved is the error if answers would be handed to
// Config.Summarizer, but the organization has not approved that. It is a
// [management.ErrForbidden].
var ErrProcessingNotApproved error = &management.Error{
	Kind: management.ErrForbidden, Code: "permission_denied", Detail: "The organization has not approved that its data is processed by AI.",
}

// SummaryNotice says what is sent to whom if an organization approves that its data is
// processed, "" if answers are only counted.
func (s *Service) SummaryNotice() string { return s.c.SummaryNotice }

// maySend reports whether Config.Summarizer is asked about the answers of an organization.
func (s *Service) maySend(o *storage.Organization, r SummaryRefresh) (bool, error) {
	approved := o.AIProcessingApproved != nil && *o.AIProcessingApproved
	if s.c.Summarizer != nil && !approved && !r.Counted {
		return false, ErrProcessingNotApproved
	}
	return s.c.Summarizer != nil && approved, nil
}

// sumUp asks Config.Summarizer if it may, and counts otherwise. The problem says why it has
// counted although it may ask.
func (s *Service) sumUp(ctx context.Context, send, insist bool, ask func(summary.Summarizer) error) (problem string, err error) {
	if send && (insist || s.now().Sub(time.Unix(s.summarizerFailed.Load(), 0)) > summarizerPause) {
		if err = ask(s.c.Summarizer); err == nil || ctx.Err() != nil {
			return "", err
		}
		s.summarizerFailed.Store(s.now().Unix())
		s.c.Log.WarnContext(ctx, "the summarizer failed, and answers were counted instead", "error", err)
	}
	if send {
		problem = "The service that writes summaries has failed. The answers were counted instead."
	}
	return problem, ask(summary.Extractive{})
}

// A keptSummary is a summary as it is stored with a survey.
type keptSummary struct {
	Summary
	All  int  `json:"all"`            // responses to the survey when it was made
	Sent bool `json:"sent,omitempty"` // Config.Summarizer was asked
}

// Summarize returns a summary of the newest answers to a question of a survey, without
// archived ones. It is the summary that was made before, unless the query forces a new one,
// there are a tenth more responses now, or the questions or the archived responses have
// changed since, or whether Config.Summarizer may be asked. It needs scope survey:read. The
// error may be ErrProcessingNotApproved.
func (s *Service) Summarize(ctx context.Context, p *management.Principal, ref, id string, q SummaryQuery) (*Summary, error) {
	w, v, err := s.read(ctx, p, ref, id)
	if err != nil {
		return nil, err
	}
	if err := refusal(check.BoolOrNull("force_refresh", &q.Refresh.Force)); err != nil {
		return nil, err
	}
	question, err := questionOf(v, q)
	if err != nil {
		return nil, err
	}
	send, err := s.maySend(w.at.Organization, q.Refresh)
	if err != nil {
		return nil, err
	}
	all, err := s.countSummarized(ctx, v)
	if err != nil {
		return nil, err
	}
	if old, ok := summariesOf(v)[question.ID]; ok && old.Sent == send && !q.Refresh.Force.Value && !summaryOutdated(old.All, all) {
		old.Cached = true
		return &old.Summary, nil
	}
	answers, err := s.questionAnswers(ctx, v, question)
	if err != nil {
		return nil, err
	}
	made := Summary{Content: summary.NoAnswers, GeneratedAt: s.now()}
	if len(answers) == 0 {
		return &made, nil
	}
	made.Problem, err = s.sumUp(ctx, send, q.Refresh.Force.Value, func(words summary.Summarizer) error {
		out, err := words.Summarize(ctx, summary.Input{Survey: v.Name, Question: *question, Answers: answers})
		made.Content, made.WrittenBy = out.Content, out.By
		return err
	})
	made.ResponseCount, made.TraceID = len(answers), uuid.NewString()
	if err != nil || made.Problem != "" {
		return &made, err
	}
	return &made, s.keepSummary(ctx, v, func(current *Survey) {
		known := summariesOf(current)
		known[question.ID] = keptSummary{made, all, send}
		current.Summaries = rawjson.Must(known)
	})
}

// summaryOutdated reports whether there are now a tenth more responses than when a summary
// was made, or fewer.
func summaryOutdated(before, now int) bool {
	return now < before || now > before && now*10 >= before*11
}

func summariesOf(v *Survey) map[string]keptSummary {
	known := make(map[string]keptSummary)
	_ = json.Unmarshal(rawjson.Or(v.Summaries, "{}"), &known) // a summary that cannot be read is made anew
	return known
}

// forgetSummaries removes the summaries, after a change that makes them wrong.
func (v *Survey) forgetSummaries() {
	v.Headline, v.HeadlineSample, v.HeadlineResponses, v.Summaries = "", 0, 0, nil
}

// keepSummary stores a summary, unless the survey has other questions now.
func (s *Service) keepSummary(ctx context.Context, v *Survey, f func(*Survey)) error {
	err := s.atomic(ctx, nil, func(w *work) error {
		current, err := w.surveys.Survey(ctx, v.Project, v.ID)
		if err != nil || !bytes.Equal(current.Questions, v.Questions) {
			return err
		}
		f(current)
		return w.surveys.UpdateSurvey(ctx, current)
	})
	if errors.Is(err, management.ErrNotFound) { // deleted meanwhile
		return nil
	}
	return err
}

// questionOf returns the question that a query names.
func questionOf(v *Survey, q SummaryQuery) (*rules.Question, error) {
	questions := rules.Parse(v.Questions)
	if q.QuestionID != "" {
		i := slices.IndexFunc(questions, func(question rules.Question) bool { return question.ID == q.QuestionID })
		if i < 0 {
			return nil, invalid("", "The survey has no question with this ID.")
		}
		return &questions[i], nil
	}
	i, err := strconv.Atoi(q.QuestionIndex)
	if err != nil || i < 0 || i >= len(questions) {
		return nil, invalid("", "The survey has no question with this index: it has %d questions.", len(questions))
	}
	return &questions[i], nil
}

// responsesOf returns a query for the responses to summarize: from the start of the first
// day of a survey to the end of its last day, or of tomorrow (management.md §11.5).
func (s *Service) responsesOf(v *Survey) Query {
	from, last := v.Created, s.now().Add(day)
	if v.Start != nil {
		from = *v.Start
	}
	if v.End != nil {
		last = *v.End
	}
	from, to := from.Truncate(day), last.Truncate(day).Add(day-time.Microsecond)
	return Query{Project: v.Project, Surveys: []uuid.UUID{v.ID}, From: &from, To: &to, ExcludeArchived: true}
}

// countSummarized counts the responses that responsesOf selects.
func (s *Service) countSummarized(ctx context.Context, v *Survey) (int, error) {
	counts, err := s.events.CountResponses(ctx, s.responsesOf(v))
	return counts[v.ID], err
}

// questionAnswers returns the newest answers to a question.
func (s *Service) questionAnswers(ctx context.Context, v *Survey, question *rules.Question) (list [][]string, err error) {
	for r, err := range s.events.SurveyResponses(ctx, s.responsesOf(v)) {
		if err != nil {
			return nil, err
		}
		if texts := answersTo(&r, question); len(texts) > 0 {
			list = append(list, texts)
		}
		if len(list) == maxSummarized {
			break
		}
	}
	return list, nil
}

// Headline returns a sentence about the newest responses of a survey, as
// Summarize does about the answers to a question. It needs scope
// survey:read.
func (s *Service) Headline(ctx context.Context, p *management.Principal, ref, id string, q SummaryRefresh) (*Headline, error) {
	w, v, err := s.read(ctx, p, ref, id)
	if err != nil {
		return nil, err
	}
	if err := refusal(check.BoolOrNull("force_refresh", &q.Force)); err != nil {
		return nil, err
	}
	total, err := s.countSummarized(ctx, v)
	if err != nil {
		return nil, err
	}
	if v.Headline != "" && v.HeadlineSample > 0 && !q.Force.Value && !summaryOutdated(v.HeadlineResponses, total) {
		return &Headline{Headline: v.Headline, Sampled: v.HeadlineSample}, nil
	}
	send, err := s.maySend(w.at.Organization, q)
	if err != nil {
		return nil, err
	}
	questions := slices.DeleteFunc(rules.Parse(v.Questions), func(q rules.Question) bool { return q.Type == rules.Link })
	switch {
	case len(questions) == 0:
		return &Headline{Headline: summary.NoQuestions}, nil
	case total == 0:
		return &Headline{Headline: summary.NoResponses}, nil
	}
	in, err := s.headlineInput(ctx, v, questions)
	if err != nil {
		return nil, err
	}
	out := &Headline{Sampled: len(in[0].Answers), HasMore: total > maxSampled}
	out.Problem, err = s.sumUp(ctx, send, q.Force.Value, func(words summary.Summarizer) (err error) {
		out.Headline, err = words.Headline(ctx, in)
		return err
	})
	if err != nil || send != (s.c.Summarizer != nil) || out.Problem != "" { // which is not what is to be kept
		return out, err
	}
	return out, s.keepSummary(ctx, v, func(current *Survey) {
		current.Headline, current.HeadlineSample, current.HeadlineResponses = out.Headline, out.Sampled, total
	})
}

// headlineInput reads the newest responses to questions of a survey.
func (s *Service) headlineInput(ctx context.Context, v *Survey, questions []rules.Question) ([]summary.Input, error) {
	in := make([]summary.Input, len(questions))
	for i, q := range questions {
		in[i] = summary.Input{Survey: v.Name, Question: q}
	}
	for r, err := range s.events.SurveyResponses(ctx, s.responsesOf(v)) {
		if err != nil {
			return in, err
		}
		for i := range in {
			in[i].Answers = append(in[i].Answers, answersTo(&r, &in[i].Question))
		}
		if len(in[0].Answers) == maxSampled {
			break
		}
	}
	return in, nil
}
