package surveys

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/internal/rawjson"
	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/surveys/internal/rules"
)

// A StatsQuery selects the events that statistics count. Times are the text that was sent.
type StatsQuery struct {
	From, To        string // ISO 8601, "" for no bound
	ExcludeArchived bool
	PerQuestion     bool
	PerDay          bool
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

// Rates are percentages with two decimals.
type Rates struct {
	Response         float64 `json:"response_rate"`
	Dismissal        float64 `json:"dismissal_rate"`
	PersonsResponse  float64 `json:"unique_users_response_rate"`
	PersonsDismissal float64 `json:"unique_users_dismissal_rate"`
}

// StatsByKind are statistics of each kind of event, nil if there is no survey.
type StatsByKind struct {
	Shown     *EventStats `json:"survey shown,omitempty"`
	Dismissed *EventStats `json:"survey dismissed,omitempty"`
	Sent      *EventStats `json:"survey sent,omitempty"`
}

// ProjectStats are statistics of all surveys of a project that are not
// archived.
type ProjectStats struct {
	Stats StatsByKind `json:"stats"`
	Rates Rates       `json:"rates"`
}

// Stats are statistics of one survey.
type Stats struct {
	ProjectStats
	SurveyID    uuid.UUID       `json:"survey_id"`
	StartDate   *time.Time      `json:"start_date"`
	EndDate     *time.Time      `json:"end_date"`
	PerQuestion []QuestionStats `json:"per_question_stats,omitzero"` // nil unless asked for
	PerDay      []DayStats      `json:"per_day_stats,omitzero"`      // nil unless asked for
}

// statsOf turns counts into statistics. A person who has dismissed a survey and answered it
// counts as one who has answered.
func statsOf(c *Counts) ProjectStats {
	block := func(c Count) *EventStats {
		return &EventStats{Total: c.Total, Persons: c.Persons, First: c.First, Last: c.Last}
	}
	shown, dismissed, sent := block(c.Shown), block(c.Dismissed), block(c.Sent)
	dismissed.Persons = max(0, dismissed.Persons-c.Both)
	shown.PersonsOnlySeen = max(0, shown.Persons-dismissed.Persons-sent.Persons)
	shown.TotalOnlySeen = max(0, shown.Total-dismissed.Total-sent.Total)
	return ProjectStats{
		Stats: StatsByKind{shown, dismissed, sent},
		Rates: Rates{
			Response: percentOf(sent.Total, shown.Total), Dismissal: percentOf(dismissed.Total, shown.Total),
			PersonsResponse: percentOf(sent.Persons, shown.Persons), PersonsDismissal: percentOf(dismissed.Persons, shown.Persons),
		},
	}
}

// percentOf returns part of whole with two decimals, 0 of nothing. It is rounded by
// formatting, which rounds as the public system does.
func percentOf(part, whole int) float64 {
	if whole == 0 {
		return 0
	}
	return roundHundredths(float64(part) / float64(whole) * 100)
}

// roundHundredths returns a number with two decimals.
func roundHundredths(x float64) float64 {
	x, _ = strconv.ParseFloat(strconv.FormatFloat(x, 'f', 2, 64), 64)
	return x
}

// statsWindow returns the window of time that a query is about.
func (w *work) statsWindow(q StatsQuery) (from, to *time.Time, err error) {
	return w.timeWindow("date_from", q.From, "date_to", q.To)
}

// Stats returns statistics of a survey, between its start and its end. It
// needs scope survey:read.
func (s *Service) Stats(ctx context.Context, p *management.Principal, ref, id string, q StatsQuery) (*Stats, error) {
	w, v, err := s.read(ctx, p, ref, id)
	if err != nil {
		return nil, err
	}
	from, to, err := w.statsWindow(q)
	if err != nil {
		return nil, err
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
	query := Query{Project: v.Project, Surveys: []uuid.UUID{v.ID}, From: from, To: to, ExcludeArchived: q.ExcludeArchived}
	counts, err := s.events.CountSurveyEvents(ctx, query)
	if err != nil {
		return nil, err
	}
	stats := &Stats{ProjectStats: statsOf(counts), SurveyID: v.ID, StartDate: v.Start, EndDate: v.End}
	if q.PerQuestion || q.PerDay {
		err = w.addResponseStats(ctx, v, query, q, stats)
	}
	return stats, err
}

// ProjectStats returns statistics of the surveys of a project together. It
// needs scope survey:read.
func (s *Service) ProjectStats(ctx context.Context, p *management.Principal, ref string, q StatsQuery) (*ProjectStats, error) {
	w, err := s.begin(ctx, p, ref, "survey:read")
	if err != nil {
		return nil, err
	}
	from, to, err := w.statsWindow(q)
	if err != nil {
		return nil, err
	}
	surveys, err := w.surveys.Surveys(ctx, w.at.Project.ID)
	if err != nil {
		return nil, err
	}
	query := Query{Project: w.at.Project.ID, From: from, To: to}
	for i := range surveys {
		if !surveys[i].Archived {
			query.Surveys = append(query.Surveys, surveys[i].ID)
		}
	}
	if len(query.Surveys) == 0 {
		return new(ProjectStats), nil
	}
	counts, err := s.events.CountSurveyEvents(ctx, query)
	if err != nil {
		return nil, err
	}
	return new(statsOf(counts)), nil
}

// CountResponses returns how many responses the surveys of a project have since the first of
// them began (management.md §11.3). A survey without responses is not in the map. The IDs
// select surveys; without IDs all are counted. It needs scope survey:read.
func (s *Service) CountResponses(ctx context.Context, p *management.Principal, ref string, ids []string, excludeArchived bool) (map[uuid.UUID]int, error) {
	w, err := s.begin(ctx, p, ref, "survey:read")
	if err != nil {
		return nil, err
	}
	surveys, err := w.surveys.Surveys(ctx, w.at.Project.ID)
	if err != nil {
		return nil, err
	}
	wanted, err := parseIDs("survey_ids", ids)
	if err != nil {
		return nil, err
	}
	query := Query{Project: w.at.Project.ID, ExcludeArchived: excludeArchived}
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
	return s.events.CountResponses(ctx, query)
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

// DayStats are the responses of one day in the time zone of the project.
type DayStats struct {
	Day       string `json:"date"` // such as 2026-03-01
	Responses int    `json:"response_count"`
}

// addResponseStats reads the answers of all responses that a query selects, and adds what
// was asked for.
func (w *work) addResponseStats(ctx context.Context, v *Survey, q Query, asked StatsQuery, stats *Stats) error {
	zone, err := time.LoadLocation(w.at.Project.Timezone)
	if err != nil {
		return err
	}
	type date struct {
		year  int
		month time.Month
		day   int
	}
	var counters answerCounters
	if asked.PerQuestion {
		counters = newAnswerCounters(rules.Parse(v.Questions))
	}
	days := make(map[date]int)
	for a, err := range w.events.SurveyAnswers(ctx, q) {
		if err != nil {
			return err
		}
		if asked.PerDay {
			var d date
			d.year, d.month, d.day = a.Time.In(zone).Date()
			days[d]++
		}
		if asked.PerQuestion {
			counters.add(a.Object)
		}
	}
	if asked.PerQuestion {
		stats.PerQuestion = counters.stats()
	}
	if asked.PerDay {
		stats.PerDay = make([]DayStats, 0, len(days))
		for d, n := range days {
			stats.PerDay = append(stats.PerDay, DayStats{time.Date(d.year, d.month, d.day, 0, 0, 0, 0, time.UTC).Format(time.DateOnly), n})
		}
		slices.SortFunc(stats.PerDay, func(a, b DayStats) int { return strings.Compare(a.Day, b.Day) })
	}
	return nil
}

// answersTo returns the answers of a response to a question as texts: several for a multiple
// choice, at most one otherwise. The answer by the question's ID counts, and without it the
// answer by its index. For a multiple choice, a list takes precedence over a text
// (management.md §10.1).
func answersTo(r *Response, question *rules.Question) []string {
	return answersIn(r.Answers[question.ID], r.Answers[strconv.Itoa(question.Index)], question)
}

// answersIn is answersTo for the answers by ID and by index.
func answersIn(byID, byIndex json.RawMessage, question *rules.Question) []string {
	list := answerTexts(byID)
	if other := answerTexts(byIndex); len(list) == 0 || question.Type == rules.MultipleChoice && byID[0] != '[' && len(other) > 0 {
		list = other
	}
	if question.Type != rules.MultipleChoice && len(list) > 1 {
		list = list[:1]
	}
	return list
}

// answerTexts returns the texts in an answer that are not empty.
func answerTexts(raw json.RawMessage) []string {
	many := []json.RawMessage{raw}
	if len(raw) > 0 && raw[0] == '[' {
		many = nil
		_ = json.Unmarshal(raw, &many) // it was read from an event
	}
	var list []string
	for _, v := range many {
		if string(v) == "null" {
			continue
		}
		if text := rawjson.Text(v); text != "" {
			list = append(list, text)
		}
	}
	return list
}
