package management

import (
	"context"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/management/internal/survey"
)

// A StatsQuery is about which events statistics are. Times are as they were sent.
type StatsQuery struct {
	From, To        string // ISO 8601, "" for no bound
	ExcludeArchived bool
	PerQuestion     bool
}

// EventStats are what is known of the events of one kind (management.md §11.1).
type EventStats struct {
	Total           int        `json:"total_count"`
	Persons         int        `json:"unique_persons"`
	First           *time.Time `json:"first_seen"`
	Last            *time.Time `json:"last_seen"`
	PersonsOnlySeen int        `json:"unique_persons_only_seen"`
	TotalOnlySeen   int        `json:"total_count_only_seen"`
}

// SurveyRates are percentages with two decimals.
type SurveyRates struct {
	Response         float64 `json:"response_rate"`
	Dismissal        float64 `json:"dismissal_rate"`
	PersonsResponse  float64 `json:"unique_users_response_rate"`
	PersonsDismissal float64 `json:"unique_users_dismissal_rate"`
}

// ProjectSurveyStats are statistics of all surveys of a project that are not
// archived. Stats are empty if there are none.
type ProjectSurveyStats struct {
	Stats map[string]EventStats `json:"stats"`
	Rates SurveyRates           `json:"rates"`
}

// SurveyStats are statistics of one survey.
type SurveyStats struct {
	ProjectSurveyStats
	SurveyID    uuid.UUID       `json:"survey_id"`
	StartDate   *time.Time      `json:"start_date"`
	EndDate     *time.Time      `json:"end_date"`
	PerQuestion []QuestionStats `json:"per_question_stats,omitempty"`
}

// statsOf turns counts into statistics. Of persons who have dismissed a survey and
// answered it, those who answered count.
func statsOf(c *SurveyCounts) ProjectSurveyStats {
	block := func(c SurveyCount) EventStats {
		return EventStats{Total: c.Total, Persons: c.Persons, First: c.First, Last: c.Last}
	}
	shown, dismissed, sent := block(c.Shown), block(c.Dismissed), block(c.Sent)
	dismissed.Persons = max(0, dismissed.Persons-c.Both)
	shown.PersonsOnlySeen = max(0, shown.Persons-dismissed.Persons-sent.Persons)
	shown.TotalOnlySeen = max(0, shown.Total-dismissed.Total-sent.Total)
	return ProjectSurveyStats{
		Stats: map[string]EventStats{"survey shown": shown, "survey dismissed": dismissed, "survey sent": sent},
		Rates: SurveyRates{
			Response: percent(sent.Total, shown.Total), Dismissal: percent(dismissed.Total, shown.Total),
			PersonsResponse: percent(sent.Persons, shown.Persons), PersonsDismissal: percent(dismissed.Persons, shown.Persons),
		},
	}
}

// percent returns part of whole with two decimals, 0 of nothing.
func percent(part, whole int) float64 {
	if whole == 0 {
		return 0
	}
	return math.Round(float64(part)*1e4/float64(whole)) / 100
}

// SurveyStats returns statistics of a survey, between its start and its end. It
// needs scope survey:read.
func (s *Service) SurveyStats(ctx context.Context, p *Principal, ref, id string, q StatsQuery) (*SurveyStats, error) {
	_, v, err := s.readSurvey(ctx, p, ref, id)
	if err != nil {
		return nil, err
	}
	from, to, err := window(q.From, q.To)
	if err != nil {
		return nil, err
	}
	if s.c.Data == nil {
		return nil, errNoData
	}
	begin := v.Created
	if v.Start != nil {
		begin = *v.Start
	}
	if from == nil || from.Before(begin) {
		from = &begin
	}
	if v.End != nil && (to == nil || to.After(*v.End)) {
		to = v.End
	}
	query := SurveyQuery{Project: v.Project, Surveys: []uuid.UUID{v.ID}, From: from, To: to, ExcludeArchived: q.ExcludeArchived}
	counts, err := s.c.Data.CountSurveyEvents(ctx, query)
	if err != nil {
		return nil, err
	}
	stats := &SurveyStats{ProjectSurveyStats: statsOf(counts), SurveyID: v.ID, StartDate: v.Start, EndDate: v.End}
	if q.PerQuestion {
		stats.PerQuestion, err = s.questionStats(ctx, v, query)
	}
	return stats, err
}

// ProjectSurveyStats returns statistics of the surveys of a project together. It
// needs scope survey:read.
func (s *Service) ProjectSurveyStats(ctx context.Context, p *Principal, ref string, q StatsQuery) (*ProjectSurveyStats, error) {
	a, err := s.Access(ctx, p, ref, "survey:read")
	if err != nil {
		return nil, err
	}
	from, to, err := window(q.From, q.To)
	if err != nil {
		return nil, err
	}
	if s.c.Data == nil {
		return nil, errNoData
	}
	surveys, err := s.store.Surveys(ctx, a.Project.ID)
	if err != nil {
		return nil, err
	}
	query := SurveyQuery{Project: a.Project.ID, From: from, To: to}
	for i := range surveys {
		if !surveys[i].Archived {
			query.Surveys = append(query.Surveys, surveys[i].ID)
		}
	}
	if len(query.Surveys) == 0 {
		return &ProjectSurveyStats{Stats: map[string]EventStats{}}, nil
	}
	counts, err := s.c.Data.CountSurveyEvents(ctx, query)
	if err != nil {
		return nil, err
	}
	return new(statsOf(counts)), nil
}

// window reads the bounds of a query. A blank stands for the + of a zone, which
// forms turn into one.
func window(from, to string) (*time.Time, *time.Time, error) {
	begin, err := bound("date_from", from)
	if err != nil {
		return nil, nil, err
	}
	end, err := bound("date_to", to)
	if err != nil {
		return nil, nil, err
	}
	if begin != nil && end != nil && begin.After(*end) {
		return nil, nil, invalid("", "invalid_input", "date_from must not be after date_to.")
	}
	return begin, end, nil
}

func bound(name, text string) (*time.Time, error) {
	if text == "" {
		return nil, nil
	}
	text = strings.TrimSpace(text)
	if i := strings.LastIndexByte(text, ' '); i > len(time.DateOnly) {
		text = text[:i] + "+" + text[i+1:]
	}
	for _, form := range append(timeForms, "2006-01-02 15:04:05.999999999Z07:00", "2006-01-02 15:04:05.999999999", time.DateOnly) {
		if t, err := time.Parse(form, text); err == nil {
			return new(t.UTC()), nil
		}
	}
	return nil, invalid("", "invalid_input", "Invalid %s: want an ISO 8601 date or time, as 2026-03-01T12:00:00Z.", name)
}

// CountSurveyResponses returns how many responses the surveys of a project have
// since the first of them began; surveys without responses are left out
// (management.md §11.3). IDs select some, none of them all. It needs scope
// survey:read.
func (s *Service) CountSurveyResponses(ctx context.Context, p *Principal, ref string, ids []string, excludeArchived bool) (map[uuid.UUID]int, error) {
	a, err := s.Access(ctx, p, ref, "survey:read")
	if err != nil {
		return nil, err
	}
	if s.c.Data == nil {
		return nil, errNoData
	}
	surveys, err := s.store.Surveys(ctx, a.Project.ID)
	if err != nil {
		return nil, err
	}
	wanted := surveyIDs(ids)
	query := SurveyQuery{Project: a.Project.ID, ExcludeArchived: excludeArchived}
	for i := range surveys {
		v := &surveys[i]
		if v.Start != nil && (query.From == nil || v.Start.Before(*query.From)) {
			query.From = v.Start
		}
		if len(ids) == 0 || slices.Contains(wanted, v.ID) {
			query.Surveys = append(query.Surveys, v.ID)
		}
	}
	if query.From == nil || len(query.Surveys) == 0 {
		return map[uuid.UUID]int{}, nil
	}
	return s.c.Data.CountResponses(ctx, query)
}

// QuestionStats are what was answered to one question.
type QuestionStats struct {
	ID           string         `json:"question_id"`
	Index        int            `json:"question_index"`
	Text         string         `json:"question_text"`
	Type         string         `json:"question_type"`
	Responses    int            `json:"response_count"`
	Distribution map[string]int `json:"distribution"`
	Average      *float64       `json:"average"`
}

const (
	otherAnswers     = "<other>" // free text where there are choices
	mostDistribution = 200       // distinct values
)

// questionStats reads all responses that a query selects.
func (s *Service) questionStats(ctx context.Context, v *Survey, q SurveyQuery) ([]QuestionStats, error) {
	questions := survey.Parse(v.Questions)
	list := make([]QuestionStats, len(questions))
	sums := make([]float64, len(questions))
	rated := make([]int, len(questions))
	for i, question := range questions {
		list[i] = QuestionStats{ID: question.ID, Index: question.Index, Text: question.Text, Type: question.Type, Distribution: map[string]int{}}
	}
	for r, err := range s.c.Data.SurveyResponses(ctx, q) {
		if err != nil {
			return nil, err
		}
		for i := range questions {
			answers := answersTo(&r, &questions[i])
			if len(answers) == 0 {
				continue
			}
			list[i].Responses++
			if questions[i].Type == "open" || questions[i].Type == "link" {
				continue
			}
			for _, answer := range answers {
				list[i].add(answer, &questions[i])
				if n, err := strconv.ParseFloat(answer, 64); questions[i].Type == "rating" && err == nil {
					sums[i] += n
					rated[i]++
				}
			}
		}
	}
	for i := range list {
		if rated[i] > 0 {
			list[i].Average = new(math.Round(sums[i]/float64(rated[i])*100) / 100)
		}
	}
	return list, nil
}

func (q *QuestionStats) add(answer string, question *survey.Question) {
	if strings.HasSuffix(question.Type, "_choice") && !isChoice(question, answer) {
		answer = otherAnswers
	}
	if _, known := q.Distribution[answer]; known || len(q.Distribution) < mostDistribution {
		q.Distribution[answer]++
	}
}

// isChoice reports whether an answer is one of those to choose from; the last of
// them may stand for free text.
func isChoice(question *survey.Question, answer string) bool {
	choices := question.Choices
	if question.HasOpenChoice && len(choices) > 0 {
		choices = choices[:len(choices)-1]
	}
	return slices.Contains(choices, answer)
}

// answersTo returns what a response answers to a question, as texts: one, but for
// multiple choices. The answer by the question's ID counts, and the one by its
// index if there is none (management.md §10.1).
func answersTo(r *SurveyResponse, question *survey.Question) []string {
	if list := texts(r.Answers[question.ID]); len(list) > 0 {
		return list
	}
	return texts(r.Answers[strconv.Itoa(question.Index)])
}

// texts returns the texts in an answer. What is empty is none.
func texts(raw json.RawMessage) []string {
	var one string
	var many []json.RawMessage
	switch {
	case len(raw) == 0 || string(raw) == "null":
		return nil
	case json.Unmarshal(raw, &one) == nil:
		many = []json.RawMessage{raw}
	case json.Unmarshal(raw, &many) != nil:
		many = []json.RawMessage{raw}
	}
	var list []string
	for _, v := range many {
		if text := scalar(v); text != "" && text != "null" {
			list = append(list, text)
		}
	}
	return list
}
