package storetest

import (
	"testing"
	"time"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/management/sqlstore"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// testLastCalled checks when events move LastCalled (management.md §13.4).
func testLastCalled(t *testing.T, s *suite) {
	ctx := t.Context()
	o := s.organization(t, "acme")
	p, q := s.project(t, o), s.project(t, o)
	beta, other, strange := s.flag(t, p, "beta"), s.flag(t, p, `o"ther`), s.flag(t, q, "beta")
	gone := s.flag(t, p, "gone")
	gone.Deleted = true
	must(t, s.Flags().Update(ctx, gone))
	sampling := &storage.Flag{Project: p.ID, Kind: storage.FlagSurveySampling, Key: "sampling", Created: s.now, Updated: s.now}
	must(t, s.Flags().Create(ctx, sampling))
	received := s.now.Add(24 * time.Hour)
	call := func(project int64, at time.Duration, properties string) capture.Event {
		e := s.event("$feature_flag_called", "u", properties)
		e.Project, e.Time, e.Received = project, s.now.Add(at), received
		return e
	}
	const step = storage.LastCalledStep
	moved := func(f *storage.Flag, at time.Duration) { f.LastCalled = new(s.now.Add(at)) }
	for _, tt := range []struct {
		name   string
		events []capture.Event
		change func()
	}{
		{"the first call", []capture.Event{call(p.ID, 0, `{"$feature_flag":"beta"}`)}, func() { moved(beta, 0) }},
		{"a call ten minutes later", []capture.Event{call(p.ID, step, `{"$feature_flag":"beta"}`)}, func() {}},
		{"one after more than ten minutes", []capture.Event{call(p.ID, step+time.Microsecond, `{"$feature_flag":"beta"}`)}, func() { moved(beta, step+time.Microsecond) }},
		{"an earlier one", []capture.Event{call(p.ID, -time.Hour, `{"$feature_flag":"beta"}`)}, func() {}},
		{"several of several", []capture.Event{
			call(p.ID, 2*time.Hour, `{"$feature_flag":"beta"}`), call(p.ID, 3*time.Hour, `{"$feature_flag":"beta"}`), call(p.ID, time.Hour, `{"$feature_flag":"beta"}`),
			call(p.ID, time.Hour, `{"$feature\u005fflag":"o\"ther"}`), call(q.ID, 2*time.Hour, `{"x":[{"$feature_flag":"gone"}],"$feature_flag":"beta"}`), call(p.ID, 0, `{"$feature_flag":"sampling"}`),
		}, func() {
			moved(beta, 3*time.Hour)
			moved(other, time.Hour)
			moved(strange, 2*time.Hour)
			moved(sampling, 0)
		}},
		{"flags that there are not", []capture.Event{
			call(p.ID, 9*time.Hour, `{"$feature_flag":"gone"}`), call(p.ID, 9*time.Hour, `{"$feature_flag":"Beta"}`), call(p.ID, 9*time.Hour, `{"$feature_flag":"be\u0000ta"}`),
			call(p.ID, 9*time.Hour, `{"$feature_flag":"\ud800"}`), call(99, 9*time.Hour, `{"$feature_flag":"beta"}`),
		}, func() {}},
		{"no flag", []capture.Event{
			call(p.ID, 9*time.Hour, `{}`), call(p.ID, 9*time.Hour, `{"$feature_flag":null}`), call(p.ID, 9*time.Hour, `{"$feature_flag":["beta"]}`), call(p.ID, 9*time.Hour, `{"$feature_flag":""}`),
		}, func() {}},
		{"the future", []capture.Event{call(p.ID, 48*time.Hour, `{"$feature_flag":"beta"}`)}, func() { moved(beta, 24*time.Hour) }},
		{"nobody", []capture.Event{func() capture.Event {
			e := call(p.ID, 20*time.Hour, `{"$feature_flag":"o\"ther"}`)
			e.NoPerson = true
			return e
		}()}, func() { moved(other, 20*time.Hour) }},
	} {
		s.write(t, tt.events...)
		tt.change()
		for _, store := range []sqlstore.Storage{s.Storage, s.another(t)} {
			for _, f := range []*storage.Flag{beta, other, strange, gone, sampling} {
				want(t, "Flag after "+tt.name, f)(store.Flags().Get(ctx, storage.FlagProject.Is(f.Project), storage.FlagID.Is(f.ID)))
			}
		}
	}

	// Who changes a flag leaves it as it is, and a process that knows nothing of
	// earlier calls does too.
	stale := *beta
	stale.LastCalled, stale.Name = nil, "changed"
	must(t, s.Flags().Update(ctx, &stale))
	beta.Name = stale.Name
	want(t, "Flag that was changed", beta)(s.Flags().Get(ctx, storage.FlagProject.Is(p.ID), storage.FlagID.Is(beta.ID)))
	must(t, s.another(t).Write(ctx, []capture.Event{call(p.ID, 24*time.Hour-step, `{"$feature_flag":"beta"}`)}))
	want(t, "Flag after an earlier call elsewhere", beta)(s.Flags().Get(ctx, storage.FlagProject.Is(p.ID), storage.FlagID.Is(beta.ID)))

	// Another flag of that key has not been called.
	beta.Deleted = true
	must(t, s.Flags().Update(ctx, beta))
	again := s.flag(t, p, "beta")
	want(t, "another Flag of the key", again)(s.Flags().Get(ctx, storage.FlagProject.Is(p.ID), storage.FlagID.Is(again.ID)))
	received = s.now.Add(48 * time.Hour)
	s.write(t, call(p.ID, 30*time.Hour, `{"$feature_flag":"beta"}`), s.event("page", "u", `{"$feature_flag":"gone"}`))
	moved(again, 30*time.Hour)
	want(t, "another Flag of the key", again)(s.Flags().Get(ctx, storage.FlagProject.Is(p.ID), storage.FlagID.Is(again.ID)))
	want(t, "the Flag that is deleted", beta)(s.Flags().Get(ctx, storage.FlagProject.Is(p.ID), storage.FlagID.Is(beta.ID)))
}
