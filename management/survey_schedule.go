package management

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/management/internal/survey"
)

const day = 24 * time.Hour

// iterate plans the iterations of a survey after a change (management.md §9.8):
// anew if the plan has changed, and from now on if it was over and the survey is
// resumed.
func iterate(before, v *Survey, now time.Time) {
	count, days := orZero(v.IterationCount), orZero(v.IterationDays)
	switch {
	case count == 0 || days == 0:
		v.IterationStarts, v.CurrentIteration, v.IterationStart = []time.Time{}, nil, nil
		return
	case v.Start == nil:
		v.IterationStarts, v.CurrentIteration, v.IterationStart = nil, nil, nil
		return
	}
	starts := v.IterationStarts
	resumed := before.End != nil && v.End == nil
	switch moved := before.Start == nil || !before.Start.Equal(*v.Start) || orZero(before.IterationDays) != days; {
	case moved || len(starts) == 0:
		starts = survey.IterationStarts(*v.Start, count, days)
	case resumed && isOver(starts, days, now):
		starts = survey.IterationStarts(now, count, days)
		v.CurrentIteration = nil
	case orZero(before.IterationCount) != count:
		starts = survey.IterationStarts(starts[0], count, days)
	}
	current := min(max(orZero(v.CurrentIteration), 1), len(starts))
	v.IterationStarts, v.CurrentIteration, v.IterationStart = starts, &current, &starts[current-1]
}

func isOver(starts []time.Time, days int, now time.Time) bool {
	_, over := survey.CurrentIteration(starts, days, now)
	return over
}

// sample plans how many responses are wanted each day (management.md §9.9).
func sample(v *Survey) error {
	v.SamplingDaily = nil
	if v.SamplingStart == nil || v.SamplingType == nil {
		return nil
	}
	limits, err := survey.NewDailyLimits(*v.SamplingStart, orZero(v.SamplingInterval), *v.SamplingType, orZero(v.SamplingLimit))
	if err != nil {
		return judged(err)
	}
	if limits != nil {
		v.SamplingDaily = mustJSON([]survey.DailyLimit(limits))
	}
	return nil
}

// How often surveys are looked at, and how soon after a response.
const (
	surveysEvery  = 10 * time.Minute
	surveysSettle = 10 * time.Second
)

// keepSurveys ends surveys that have what they want, and moves on those with
// iterations and daily limits, until ctx ends. Of several processes one at a time
// does.
func (s *Service) keepSurveys(ctx context.Context) {
	if s.c.Data == nil {
		return
	}
	next := time.Now()
	for {
		timer := time.NewTimer(time.Until(next))
		select {
		case <-timer.C:
			if err := s.leadSurveys(ctx); err != nil && ctx.Err() == nil {
				s.c.Log.ErrorContext(ctx, "the schedule of surveys is behind", "error", err)
			}
			next = time.Now().Add(surveysEvery)
		case <-s.answered:
			timer.Stop()
			if soon := time.Now().Add(surveysSettle); soon.Before(next) {
				next = soon
			}
		case <-ctx.Done():
			timer.Stop()
			return
		}
	}
}

func (s *Service) leadSurveys(ctx context.Context) error {
	if s.c.Leader == nil {
		return s.KeepSurveys(ctx)
	}
	_, err := s.c.Leader.Lead(ctx, "surveys", s.KeepSurveys)
	return err
}

// KeepSurveys does once what the schedules of all surveys ask for now: ends those
// that have as many responses as they want or whose iterations are over, begins
// the next iteration, and lets in as many persons as the day wants. It is right
// whenever it is called, and however often. Run calls it.
func (s *Service) KeepSurveys(ctx context.Context) error {
	surveys, err := s.store.ScheduledSurveys(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for i := range surveys {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := s.keepSurvey(ctx, &surveys[i]); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// keepSurvey does for one survey what is due.
func (s *Service) keepSurvey(ctx context.Context, seen *Survey) error {
	all, err := s.responsesSince(ctx, seen, seen.ResponsesLimit != nil, &seen.Created)
	if err != nil {
		return err
	}
	sampled, err := s.responsesSince(ctx, seen, seen.SamplingDaily != nil, seen.SamplingStart)
	if err != nil {
		return err
	}
	changed := false
	err = s.store.Atomic(ctx, func(store Store) error {
		changed = false
		v, err := store.Survey(ctx, seen.Project, seen.ID)
		if errors.Is(err, ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		if v.Start == nil || v.End != nil || v.Archived {
			return nil
		}
		project, err := store.Project(ctx, v.Project)
		if err != nil {
			return err
		}
		before := *v
		percentage, err := s.due(v, all, sampled)
		if err != nil {
			return err
		}
		if err := s.syncSurveyFlags(ctx, store, project, v); err != nil {
			return err
		}
		if percentage >= 0 && v.SamplingFlag != nil {
			f, err := store.Flag(ctx, v.Project, *v.SamplingFlag)
			if err != nil {
				return err
			}
			if _, err := s.putSurveyFlag(ctx, store, f, survey.SamplingFilters(percentage), active(v)); err != nil {
				return err
			}
		}
		versions := len(differences("Survey", surveyRecordOf(&before), surveyRecordOf(v), surveyFields))
		changed = versions > 0 || percentage >= 0
		if versions == 0 {
			return nil
		}
		return s.saveSurvey(ctx, store, nil, &before, v, "updated", nil)
	})
	if err == nil && changed {
		s.c.OnChange(ctx, seen.Project)
	}
	return err
}

// responsesSince counts the responses of a survey since a time, if that is wanted.
func (s *Service) responsesSince(ctx context.Context, v *Survey, wanted bool, from *time.Time) (int, error) {
	if !wanted {
		return 0, nil
	}
	counts, err := s.c.Data.CountResponses(ctx, SurveyQuery{Project: v.Project, Surveys: []uuid.UUID{v.ID}, From: from})
	return counts[v.ID], err
}

// due changes a survey as its schedule asks, and returns the percentage of persons
// to let in, or -1 if that stays. It is given how many responses there are, and
// how many since the sampling began.
func (s *Service) due(v *Survey, all, sampled int) (percentage float64, err error) {
	now := s.now()
	if v.ResponsesLimit != nil && all >= *v.ResponsesLimit {
		v.End, v.ResponsesLimit = &now, nil
		return -1, nil
	}
	if len(v.IterationStarts) > 0 && v.IterationDays != nil {
		n, over := survey.CurrentIteration(v.IterationStarts, *v.IterationDays, now)
		switch {
		case over:
			v.End = &now
			return -1, nil
		case n > 0:
			v.CurrentIteration, v.IterationStart = &n, &v.IterationStarts[n-1]
		}
	}
	if v.SamplingDaily == nil {
		return -1, nil
	}
	var limits survey.DailyLimits
	if err := json.Unmarshal(v.SamplingDaily, &limits); err != nil {
		return -1, err
	}
	today, ok := limits.On(now)
	if !ok || sampled >= today.Limit {
		return -1, nil
	}
	if today.Percentage == 100 { // the last day: tomorrow it begins again
		v.SamplingStart = new(now.Truncate(day).Add(day))
		if err := sample(v); err != nil {
			return -1, err
		}
	}
	return today.Percentage, nil
}
