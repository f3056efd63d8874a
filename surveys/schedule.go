package surveys

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/internal/rawjson"
	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/surveys/internal/rules"
)

const day = 24 * time.Hour

// planIterations plans the iterations of a survey after a change (management.md §9.8).
// The first one begins with the survey, or as it was planned before if the start of the
// survey has not changed, or now if all are over and the survey is resumed.
func planIterations(before, v *Survey, now time.Time) {
	count, days := orZero(v.IterationCount), orZero(v.IterationDays)
	if count == 0 || days == 0 || v.Start == nil {
		v.IterationStarts, v.CurrentIteration, v.IterationStart = nil, nil, nil
		if count == 0 || days == 0 {
			v.IterationStarts = []time.Time{}
		}
		return
	}
	first := *v.Start
	if len(before.IterationStarts) > 0 && before.Start != nil && before.Start.Equal(first) {
		first = before.IterationStarts[0]
	}
	starts := rules.IterationStarts(first, count, days)
	if _, over := rules.CurrentIteration(starts, days, now); over && before.End != nil && v.End == nil {
		starts = rules.IterationStarts(now, count, days)
	}
	n := 1
	switch {
	case v.CurrentIteration == nil:
	case slices.EqualFunc(starts, before.IterationStarts, time.Time.Equal):
		n = *v.CurrentIteration
	default:
		n, _ = rules.CurrentIteration(starts, days, now)
	}
	n = min(max(n, 1), len(starts)) // 1 before the first one begins
	v.IterationStarts, v.CurrentIteration, v.IterationStart = starts, &n, &starts[n-1]
}

// planSampling plans how many responses are wanted each day (management.md §9.9).
func planSampling(v *Survey) error {
	v.SamplingDaily = nil
	if v.SamplingStart == nil || v.SamplingType == nil {
		return nil
	}
	limits, err := rules.NewDailyLimits(*v.SamplingStart, orZero(v.SamplingInterval), *v.SamplingType, orZero(v.SamplingLimit))
	if err == nil && limits != nil {
		v.SamplingDaily = rawjson.Must([]rules.DailyLimit(limits))
	}
	return refusal(err)
}

// Keep is called every keepEvery, and keepAfter after a response or a change.
const (
	keepEvery = 10 * time.Minute
	keepAfter = 10 * time.Second
)

// keepSchedules calls Keep again and again until ctx ends, in one process at a time.
func (s *Service) keepSchedules(ctx context.Context) {
	next := time.Now()
	for ctx.Err() == nil {
		timer := time.NewTimer(time.Until(next))
		select {
		case <-timer.C:
			select {
			case <-s.answered: // Keep sees what has happened before
			default:
			}
			if err := s.lead(ctx); err != nil && ctx.Err() == nil {
				s.c.Log.ErrorContext(ctx, "the schedule of surveys is behind", "error", err)
			}
			next = time.Now().Add(keepEvery)
		case <-s.answered:
			if soon := time.Now().Add(keepAfter); soon.Before(next) {
				next = soon
			}
		case <-ctx.Done():
		}
		timer.Stop()
	}
}

// reschedule lets keepSchedules look at surveys soon.
func (s *Service) reschedule() {
	select {
	case s.answered <- struct{}{}:
	default: // it will be
	}
}

// rescheduled is reschedule after a change that has not failed. It returns the error.
func (s *Service) rescheduled(err error) error {
	if err == nil {
		s.reschedule()
	}
	return err
}

func (s *Service) lead(ctx context.Context) error {
	if s.c.Leader == nil {
		return s.Keep(ctx)
	}
	_, err := s.c.Leader.Lead(ctx, "surveys", s.Keep)
	return err
}

// Keep does what the schedules of all surveys ask for now: it ends surveys that have as many
// responses as they want or whose iterations are over, begins the next iteration, and lets
// in as many persons as the day wants. It can be called at any time and any number of
// times, also by several processes at once. A survey that fails does not stop the others.
// Run calls Keep.
func (s *Service) Keep(ctx context.Context) error {
	surveys, err := s.data.ScheduledSurveys(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for i := range surveys {
		if err := ctx.Err(); err != nil {
			return errors.Join(append(errs, err)...)
		}
		if err := s.keepSurvey(ctx, &surveys[i]); err != nil {
			errs = append(errs, fmt.Errorf("survey %s: %w", surveys[i].ID, err))
		}
	}
	return errors.Join(errs...)
}

// keepSurvey does what is due for one survey. It counts responses before the transaction,
// which must wait for nothing but the store. So the counts may be about another schedule
// than the one that the transaction finds.
func (s *Service) keepSurvey(ctx context.Context, seen *Survey) error {
	now := s.now()
	t, err := s.countTally(ctx, seen, now)
	if err != nil {
		return err
	}
	return s.atomic(ctx, nil, func(w *work) error {
		v, err := w.surveys.Survey(ctx, seen.Project, seen.ID)
		if errors.Is(err, management.ErrNotFound) {
			return nil
		}
		if err != nil || !runsNow(v) {
			return err
		}
		before := *v
		rollout, err := advance(v, t, now)
		if err != nil {
			return err
		}
		changed, err := w.syncFlags(ctx, v, rollout)
		if err != nil {
			return err
		}
		saved, err := w.save(ctx, &before, v, "updated", nil)
		if changed || saved {
			w.Changed(seen.Project)
		}
		return err
	})
}

// A tally is how many responses there are. Nil: they were not counted.
type tally struct {
	all     *int
	sampled *int // since the cycle of sampling began
	since   time.Time
}

// countTally counts what the schedule of a survey depends on.
func (s *Service) countTally(ctx context.Context, v *Survey, now time.Time) (t tally, err error) {
	if v.ResponsesLimit != nil {
		if t.all, err = s.countSince(ctx, v, v.Created); err != nil {
			return t, err
		}
	}
	if limits := dailyLimits(v); len(limits) > 0 {
		t.since = cycleStart(*v.SamplingStart, len(limits), now)
		t.sampled, err = s.countSince(ctx, v, t.since)
	}
	return t, err
}

// countSince counts the responses of a survey from a time on.
func (s *Service) countSince(ctx context.Context, v *Survey, from time.Time) (*int, error) {
	counts, err := s.events.CountResponses(ctx, Query{Project: v.Project, Surveys: []uuid.UUID{v.ID}, From: &from})
	if err != nil {
		return nil, err
	}
	return new(counts[v.ID]), nil
}

// advance changes a survey as its schedule asks, and returns the percentage of
// persons to let in from now on, or nil if the percentage stays.
func advance(v *Survey, t tally, now time.Time) (rollout *float64, err error) {
	if v.ResponsesLimit != nil && t.all != nil && *t.all >= *v.ResponsesLimit {
		v.End, v.ResponsesLimit = &now, nil
		return nil, nil
	}
	n, over := rules.CurrentIteration(v.IterationStarts, orZero(v.IterationDays), now)
	switch {
	case over:
		v.End = &now
		return nil, nil
	case n > 0:
		v.CurrentIteration, v.IterationStart = &n, &v.IterationStarts[n-1]
	}
	return advanceSampling(v, t, now)
}

// advanceSampling is advance for a survey with daily limits. When the last day of a cycle
// has come, the next cycle begins on the day after (management.md §9.9). If Keep was not
// called since, the cycle is the one that would have begun.
func advanceSampling(v *Survey, t tally, now time.Time) (rollout *float64, err error) {
	limits := dailyLimits(v)
	if len(limits) == 0 {
		return nil, nil
	}
	start := cycleStart(*v.SamplingStart, len(limits), now)
	if t.sampled == nil || !t.since.Equal(start) {
		return nil, nil // the plan has changed since responses were counted
	}
	if !start.Equal(*v.SamplingStart) {
		v.SamplingStart = &start
		if err := planSampling(v); err != nil {
			return nil, err
		}
		limits = dailyLimits(v)
	}
	today, begun := limits.On(now)
	if !begun {
		return nil, nil
	}
	if *t.sampled < today.Limit {
		rollout = &today.Percentage
	}
	if today.Percentage == 100 {
		v.SamplingStart = new(now.Truncate(day).Add(day))
		err = planSampling(v)
	}
	return rollout, err
}

// cycleStart returns the begin of the cycle of sampling that a time is in, if cycles follow
// each other from a start on. All but the first begin at midnight. For a time before the
// start it is the start.
func cycleStart(start time.Time, days int, now time.Time) time.Time {
	first := start.Truncate(day)
	if passed := int(now.Truncate(day).Sub(first)/day) / days; passed > 0 {
		return first.Add(time.Duration(passed*days) * day)
	}
	return start
}

// dailyLimits returns the limits by day of a survey, none if there are none.
func dailyLimits(v *Survey) rules.DailyLimits {
	var limits rules.DailyLimits
	if v.SamplingDaily == nil || v.SamplingStart == nil || json.Unmarshal(v.SamplingDaily, &limits) != nil { // planSampling has made it
		return nil
	}
	return limits
}
