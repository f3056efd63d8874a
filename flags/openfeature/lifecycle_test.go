package openfeature_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	of "github.com/open-feature/go-sdk/openfeature"
	"github.com/open-feature/go-sdk/openfeature/isolated"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/flags/openfeature"
	"github.com/flagstaff-go/flagstaff/flags/source"
)

// A fakeSource returns the document or the error that was set last.
type fakeSource struct {
	mu       sync.Mutex
	document string
	err      error
	hang     bool
	loading  int
}

func (f *fakeSource) set(document string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.document, f.err = document, err
}

func (f *fakeSource) Load(ctx context.Context, have string) (*flags.Definitions, string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.loading++; f.hang {
		<-ctx.Done()
		return nil, "", ctx.Err()
	}
	switch {
	case f.err != nil:
		return nil, "", f.err
	case have == f.document:
		return nil, have, source.ErrNotModified
	}
	d, err := flags.Decode(strings.NewReader(f.document))
	return d, f.document, err
}

const (
	first  = `{"flags":[{"id":1,"key":"a","active":true,"filters":{"groups":[{}]}},{"id":2,"key":"b","active":true,"filters":{"groups":[{}]}}]}`
	second = `{"flags":[{"id":1,"key":"a","active":true,"filters":{"groups":[{"rollout_percentage":0}]}},{"id":2,"key":"b","active":true,"filters":{"groups":[{}]}}]}`
)

// A program is an API of its own, with the events that its handlers have
// received.
type program struct {
	*of.EvaluationAPI
	mu     sync.Mutex
	events []string
	keys   []string // of the last change
}

// newSDK returns an API that is shut down when the bubble ends.
func newSDK(t *testing.T) *program {
	s := &program{EvaluationAPI: isolated.NewAPI()}
	for _, kind := range []of.EventType{of.ProviderReady, of.ProviderError, of.ProviderStale, of.ProviderConfigChange} {
		s.AddHandler(kind, new(func(d of.EventDetails) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.events = append(s.events, string(kind))
			if kind == of.ProviderConfigChange {
				s.keys = d.FlagChanges
			}
		}))
	}
	return s
}

func (s *program) take() []string {
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.events
	s.events = nil
	return out
}

func (s *program) on(t *testing.T, key string) bool {
	return s.NewClient().Boolean(t.Context(), key, false, of.NewEvaluationContext("u", nil))
}

// bubble runs a test in a bubble of synctest, in which goroutines that are left
// over are an error.
func bubble(t *testing.T, f func(*testing.T, *program)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := newSDK(t)
		f(t, s)
		if err := s.Shutdown(t.Context()); err != nil {
			t.Errorf("Shutdown: %v", err)
		}
	})
}

func TestFollowsSource(t *testing.T) {
	bubble(t, func(t *testing.T, s *program) {
		f := &fakeSource{document: first}
		swaps, loads := 0, 0
		p := openfeature.NewProvider(nil, openfeature.Options{Source: f, Loader: source.LoaderConfig{
			Interval: time.Second, OnSwap: func(_, _ *flags.Snapshot) { swaps++ }, OnLoad: func(error) { loads++ },
		}})
		if err := s.SetProviderAndWait(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"PROVIDER_READY"}, s.take()); diff != "" || !s.on(t, "a") {
			t.Errorf("after the start: a is on %v, events (-want +got)\n%s", s.on(t, "a"), diff)
		}

		f.set(second, nil)
		time.Sleep(time.Second)
		if diff := cmp.Diff([]string{"PROVIDER_CONFIGURATION_CHANGED"}, s.take()); diff != "" || s.on(t, "a") || !slices.Equal(s.keys, []string{"a"}) {
			t.Errorf("after a change: keys %q, events (-want +got)\n%s", s.keys, diff)
		}
		if swaps != 2 || loads < 2 {
			t.Errorf("the program's own hooks: %d swaps, %d loads", swaps, loads)
		}

		f.set(second, errors.New("out of reach"))
		time.Sleep(5 * time.Second)
		if diff := cmp.Diff([]string{"PROVIDER_STALE"}, s.take()); diff != "" || !s.on(t, "b") || s.NewClient().State() != of.StaleState {
			t.Errorf("out of reach: state %s, events (-want +got)\n%s", s.NewClient().State(), diff)
		}
		f.set(second, nil)
		time.Sleep(5 * time.Second)
		if diff := cmp.Diff([]string{"PROVIDER_READY"}, s.take()); diff != "" || s.NewClient().State() != of.ReadyState {
			t.Errorf("in reach again (-want +got)\n%s", diff)
		}
		f.set(`{"flags":`, nil)
		time.Sleep(2 * time.Second)
		f.set(first, nil)
		time.Sleep(2 * time.Second)
		if diff := cmp.Diff([]string{"PROVIDER_STALE", "PROVIDER_READY", "PROVIDER_CONFIGURATION_CHANGED"}, sorted(s.take())); diff != "" {
			t.Errorf("malformed for a while (-want +got)\n%s", diff)
		}
	})
}

// sorted puts the events of one load into the order of the list, because the
// SDK runs handlers concurrently.
func sorted(events []string) []string {
	if n := len(events); n >= 2 && events[n-1] == "PROVIDER_READY" {
		events[n-2], events[n-1] = events[n-1], events[n-2]
	}
	return events
}

func TestInitFails(t *testing.T) {
	bubble(t, func(t *testing.T, s *program) {
		f := &fakeSource{err: errors.New("out of reach")}
		p := openfeature.NewProvider(nil, openfeature.Options{Source: f})
		start := time.Now()
		if err := s.SetProviderAndWait(t.Context(), p); err == nil || !strings.Contains(err.Error(), "out of reach") || time.Since(start) != 0 {
			t.Errorf("SetProviderAndWait = %v after %v", err, time.Since(start))
		}
		if diff := cmp.Diff([]string{"PROVIDER_ERROR"}, s.take()); diff != "" || s.on(t, "a") {
			t.Errorf("(-want +got)\n%s", diff)
		}
		f.set(first, nil)
		time.Sleep(3 * time.Second)
		if diff := cmp.Diff([]string{"PROVIDER_READY"}, s.take()); diff != "" || !s.on(t, "a") {
			t.Errorf("in reach: (-want +got)\n%s", diff)
		}
	})
}

func TestInitTimesOut(t *testing.T) {
	bubble(t, func(t *testing.T, s *program) {
		start := time.Now()
		p := openfeature.NewProvider(nil, openfeature.Options{Source: &fakeSource{hang: true}})
		if err := s.SetProviderAndWait(t.Context(), p); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != 10*time.Second {
			t.Errorf("SetProviderAndWait = %v after %v", err, time.Since(start))
		}
		p = openfeature.NewProvider(nil, openfeature.Options{InitTimeout: time.Minute})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := p.InitWithContext(ctx, of.EvaluationContext{}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("InitWithContext = %v", err)
		}
		p.Shutdown()

		// Init succeeds with definitions that were swapped in without a report,
		// and with older ones of a source that hangs.
		e := new(flags.Evaluator)
		time.AfterFunc(time.Second, func() { e.Swap(compile(t, first)) })
		for _, o := range []openfeature.Options{{}, {Source: &fakeSource{hang: true}}} {
			p = openfeature.NewProvider(e, o)
			if err := p.Init(of.EvaluationContext{}); err != nil {
				t.Errorf("Init = %v", err)
			}
			p.Shutdown()
		}

		// Two calls that wait at the same time both give up.
		p = openfeature.NewProvider(nil, openfeature.Options{})
		errs := make(chan error, 2)
		for range 2 {
			go func() { errs <- p.Init(of.EvaluationContext{}) }()
		}
		for range 2 {
			if err := <-errs; !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("Init = %v", err)
			}
		}
		p.Shutdown()
	})
}

// TestWithoutSource has the test itself keep the Evaluator current.
func TestWithoutSource(t *testing.T) {
	bubble(t, func(t *testing.T, s *program) {
		e := new(flags.Evaluator)
		p := openfeature.NewProvider(e, openfeature.Options{})
		swap := func(snapshot *flags.Snapshot) { p.OnSwap(e.Swap(snapshot), snapshot) }
		time.AfterFunc(3*time.Second, func() { swap(compile(t, first)) })
		start := time.Now()
		if err := s.SetProviderAndWait(t.Context(), p); err != nil || time.Since(start) != 3*time.Second {
			t.Fatalf("%v after %v", err, time.Since(start))
		}
		s.take()
		swap(compile(t, first)) // the same definitions again
		if got := s.take(); len(got) != 0 {
			t.Errorf("no change: %q", got)
		}
		swap(compile(t, second))
		if got := s.take(); !slices.Equal(got, []string{"PROVIDER_CONFIGURATION_CHANGED"}) || s.on(t, "a") {
			t.Errorf("a change: %q", got)
		}
		p.OnLoad(errors.New("out of reach"))
		p.OnLoad(errors.New("still"))
		if got := s.take(); !slices.Equal(got, []string{"PROVIDER_STALE"}) {
			t.Errorf("stale: %q", got)
		}
		p.OnLoad(nil)
		if got := s.take(); !slices.Equal(got, []string{"PROVIDER_READY"}) {
			t.Errorf("current: %q", got)
		}
		swap(nil)
		if got := s.take(); !slices.Equal(got, []string{"PROVIDER_ERROR"}) {
			t.Errorf("nothing: %q", got)
		}
		swap(compile(t, first))
		if got := s.take(); !slices.Equal(got, []string{"PROVIDER_READY"}) || !s.on(t, "a") {
			t.Errorf("something again: %q", got)
		}
	})
}

// TestDomains checks that a provider of several domains follows its source only
// once, and can be used again after it was shut down.
func TestDomains(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeSource{document: first}
		p := openfeature.NewProvider(nil, openfeature.Options{Source: f, Loader: source.LoaderConfig{Interval: time.Hour}})
		for round := range 2 {
			s := newSDK(t)
			if err := errors.Join(s.SetProviderAndWait(t.Context(), p), s.SetProviderAndWait(t.Context(), p, of.WithDomain("x"))); err != nil {
				t.Fatal(err)
			}
			if !s.on(t, "a") || f.loading != round+1 {
				t.Errorf("round %d: a is on %v, %d loads", round, s.on(t, "a"), f.loading)
			}
			s.take()
			if err := s.Shutdown(t.Context()); err != nil {
				t.Error(err)
			}
			p.OnSwap(nil, compile(t, first)) // the provider is shut down
			p.OnLoad(nil)
		}
		p.Shutdown()
	})
}

func TestShutdownDuringInit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := openfeature.NewProvider(nil, openfeature.Options{Source: &fakeSource{hang: true}})
		done := make(chan error)
		go func() { done <- p.Init(of.EvaluationContext{}) }()
		synctest.Wait()
		p.Shutdown()
		if err := <-done; err == nil || !strings.Contains(err.Error(), "shut down") {
			t.Errorf("Init = %v", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := p.ShutdownWithContext(ctx); err != nil {
			t.Errorf("a second Shutdown = %v", err)
		}
	})
}

// TestNobodyListens checks that events that nobody reads neither block nor pile
// up.
func TestNobodyListens(t *testing.T) {
	e := new(flags.Evaluator)
	a, b := compile(t, first), compile(t, second)
	e.Swap(a)
	p := openfeature.NewProvider(e, openfeature.Options{})
	if err := p.Init(of.EvaluationContext{}); err != nil {
		t.Fatal(err)
	}
	for range 100 {
		p.OnSwap(a, b)
		p.OnSwap(b, a)
	}
	p.OnLoad(errors.New("the last"))
	n, last := 0, of.Event{}
	for len(p.EventChannel()) > 0 {
		n, last = n+1, <-p.EventChannel()
	}
	if n != 16 || last.EventType != of.ProviderStale || last.Message != "the last" || last.ProviderName != "flagstaff" {
		t.Errorf("%d events, the last %+v", n, last)
	}
	p.Shutdown()
}

// TestConcurrently swaps, loads, evaluates, starts and stops at the same time.
func TestConcurrently(t *testing.T) {
	e := new(flags.Evaluator)
	a, b := compile(t, first), compile(t, second)
	e.Swap(a)
	p := openfeature.NewProvider(e, openfeature.Options{})
	var wg sync.WaitGroup
	for _, f := range []func(){
		func() { p.OnSwap(e.Swap(b), b) },
		func() { p.OnSwap(e.Swap(a), a) },
		func() { p.OnLoad(nil) },
		func() { p.OnLoad(errors.New("x")) },
		func() { p.BooleanEvaluation(t.Context(), "a", false, of.FlattenedContext{"targetingKey": "u"}) },
		func() { _ = p.Init(of.EvaluationContext{}) },
		p.Shutdown,
	} {
		wg.Go(func() {
			for range 200 {
				f()
			}
		})
	}
	wg.Wait()
	p.Shutdown()
}
