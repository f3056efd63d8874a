package capture_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/capture"
)

// named returns events with the given names.
func named(names ...string) []capture.Event {
	events := make([]capture.Event, len(names))
	for i, name := range names {
		events[i] = capture.Event{Name: name, DistinctID: "u", Properties: []byte(`{}`)}
	}
	return events
}

// sized returns one event with properties of so many bytes.
func sized(n int) capture.Event {
	return capture.Event{Name: "e", Properties: []byte(`{` + strings.Repeat(" ", n-2) + `}`)}
}

func newCollector(t testing.TB, c capture.CollectorConfig) *capture.Collector {
	t.Helper()
	collector, err := capture.NewCollector(c)
	if err != nil {
		t.Fatal(err)
	}
	return collector
}

// run starts Run. stop ends it and waits.
func run(t testing.TB, c *capture.Collector) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- c.Run(ctx) }()
	return func() {
		t.Helper()
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run = %v, want nil", err)
		}
	}
}

// accept calls Accept in the background.
func accept(c *capture.Collector, ctx context.Context, events ...capture.Event) <-chan error {
	result := make(chan error, 1)
	go func() { result <- c.Accept(ctx, events...) }()
	return result
}

// isDone reports whether there is a result.
func isDone(result <-chan error) bool { return len(result) > 0 }

// A gate is a Sink that tells what it was asked to write and waits for the
// outcome.
type gate struct {
	entered chan []string
	outcome chan error
}

func newGate() *gate { return &gate{make(chan []string), make(chan error)} }

func (g *gate) Write(ctx context.Context, events []capture.Event) error {
	var names []string
	for _, e := range events {
		names = append(names, e.Name)
	}
	select {
	case g.entered <- names:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-g.outcome:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func TestNewCollectorRefuses(t *testing.T) {
	for _, c := range []capture.CollectorConfig{
		{},
		{Sink: discard, MaxBatch: -1},
		{Sink: discard, MaxEvents: -1},
		{Sink: discard, MaxBytes: -1},
		{Sink: discard, WriteTimeout: -1},
	} {
		if got, err := capture.NewCollector(c); err == nil || got != nil {
			t.Errorf("NewCollector(%+v) = %v, %v, want an error", c, got, err)
		}
	}
}

// TestCollectorIsDurable says that Accept returns after Write and not before,
// and that what arrives meanwhile is written together, in order and in groups.
func TestCollectorIsDurable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink := newGate()
		type write struct {
			Events int
			D      time.Duration
			Err    error
		}
		var writes []write
		c := newCollector(t, capture.CollectorConfig{Sink: sink, MaxBatch: 4, OnWrite: func(n int, d time.Duration, err error) {
			writes = append(writes, write{n, d, err})
		}})
		first := accept(c, t.Context(), named("a")...) // before Run
		synctest.Wait()
		if isDone(first) || c.Waiting() != 1 {
			t.Errorf("before Run: done %v, %d waiting", isDone(first), c.Waiting())
		}
		stop := run(t, c)
		if got := <-sink.entered; !slices.Equal(got, []string{"a"}) {
			t.Errorf("first Write of %v", got)
		}
		var later []<-chan error
		for _, names := range [][]string{{"b", "c"}, {"d"}, {"e", "f"}, {"g", "h", "i", "j", "k"}, {"l"}} {
			later = append(later, accept(c, t.Context(), named(names...)...))
			synctest.Wait() // so that the order is known
		}
		if isDone(first) || c.Waiting() != 12 {
			t.Errorf("while writing: done %v, %d waiting, want 12", isDone(first), c.Waiting())
		}
		time.Sleep(time.Second) // of a fake clock
		sink.outcome <- nil
		if err := <-first; err != nil {
			t.Errorf("Accept = %v", err)
		}
		var got [][]string
		for range 4 {
			got = append(got, <-sink.entered)
			sink.outcome <- nil
		}
		want := [][]string{{"b", "c", "d"}, {"e", "f"}, {"g", "h", "i", "j", "k"}, {"l"}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("batches (-want +got):\n%s", diff)
		}
		for i, result := range later {
			if err := <-result; err != nil {
				t.Errorf("Accept %d = %v", i, err)
			}
		}
		if err := c.Accept(t.Context()); err != nil {
			t.Errorf("Accept of nothing = %v", err)
		}
		stop()
		if c.Waiting() != 0 {
			t.Errorf("%d waiting at the end", c.Waiting())
		}
		if diff := cmp.Diff([]write{{1, time.Second, nil}, {3, 0, nil}, {2, 0, nil}, {5, 0, nil}, {1, 0, nil}}, writes); diff != "" {
			t.Errorf("OnWrite (-want +got):\n%s", diff)
		}
	})
}

func TestCollectorIsBounded(t *testing.T) {
	for _, tt := range []struct {
		name   string
		config capture.CollectorConfig
		fits   []capture.Event // beside one event of 10 bytes
		not    []capture.Event // after that
		huge   []capture.Event // alone
	}{
		{"by events", capture.CollectorConfig{MaxEvents: 3}, named("a", "b"), named("c"), named("a", "b", "c", "d")},
		{"by bytes", capture.CollectorConfig{MaxBytes: 100}, []capture.Event{sized(40), sized(50)}, []capture.Event{sized(2)}, []capture.Event{sized(101)}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sink := newGate()
				tt.config.Sink = sink
				c := newCollector(t, tt.config)
				stop := run(t, c)
				first := accept(c, t.Context(), sized(10))
				<-sink.entered
				// What is being written counts as well.
				second := accept(c, t.Context(), tt.fits...)
				synctest.Wait()
				if isDone(second) {
					t.Errorf("what fits: %v", <-second)
				}
				for _, events := range [][]capture.Event{tt.not, tt.huge} {
					if err := c.Accept(t.Context(), events...); !errors.Is(err, capture.ErrFull) {
						t.Errorf("what does not fit: %v, want ErrFull", err)
					}
				}
				sink.outcome <- nil
				<-sink.entered
				sink.outcome <- nil
				if err := errors.Join(<-first, <-second); err != nil {
					t.Error(err)
				}

				huge := accept(c, t.Context(), tt.huge...)
				<-sink.entered
				if err := c.Accept(t.Context(), tt.not...); !errors.Is(err, capture.ErrFull) {
					t.Errorf("beside a group larger than the queue: %v, want ErrFull", err)
				}
				sink.outcome <- nil
				if err := <-huge; err != nil {
					t.Errorf("a group larger than the queue: %v", err)
				}
				stop()
			})
		})
	}
}

// TestCollectorFaults says which requests get which error. The groups of all tests
// are {a b}, {c}, {d e f}; they are one batch.
func TestCollectorFaults(t *testing.T) {
	bad := errors.New("bad event")
	outage := fmt.Errorf("disk: %w", capture.ErrUnavailable)
	broken := errors.New("broken")
	fault := func(i int) error { return &capture.EventError{Index: i, Err: bad} }
	all := []string{"abcdef"}
	isolated := []string{"abcdef", "ab", "c", "def"}
	for _, tt := range []struct {
		name  string
		write func(names string) error
		calls []string
		want  [3]string
	}{
		{"all is well", func(string) error { return nil }, all, [3]string{"<nil>", "<nil>", "<nil>"}},
		{"one event", func(string) error { return fault(2) }, all, [3]string{"<nil>", "event 0: bad event", "<nil>"}},
		{
			"several events", func(string) error { return errors.Join(fault(4), errors.Join(fault(1)), fault(3)) }, all,
			[3]string{"event 1: bad event", "<nil>", "event 1: bad event\nevent 0: bad event"},
		},
		{"the store is away", func(string) error { return outage }, all, [3]string{outage.Error(), outage.Error(), outage.Error()}},
		{"the store is away, joined to events", func(string) error { return errors.Join(fault(0), outage) }, all, [3]string{
			"event 0: bad event\n" + outage.Error(), "event 0: bad event\n" + outage.Error(), "event 0: bad event\n" + outage.Error(),
		}},
		{"one group breaks the batch", func(names string) error {
			if strings.Contains(names, "c") {
				return broken
			}
			return nil
		}, isolated, [3]string{"<nil>", "broken", "<nil>"}},
		{"one event breaks the batch and is found in its group", func(names string) error {
			if i := strings.Index(names, "e"); i >= 0 && len(names) < 6 {
				return fault(i)
			} else if i >= 0 {
				return broken
			}
			return nil
		}, isolated, [3]string{"<nil>", "<nil>", "event 1: bad event"}},
		{"the store goes away meanwhile", func(names string) error {
			switch names {
			case "abcdef":
				return broken
			case "c":
				return outage
			}
			return nil
		}, isolated[:3], [3]string{"<nil>", outage.Error(), outage.Error()}},
		{"an event that does not exist", func(names string) error {
			if names == "ab" {
				return nil
			}
			return fault(len(names))
		}, isolated, [3]string{"<nil>", "event 1: bad event", "event 3: bad event"}},
		{"an event before the first", func(string) error { return fault(-1) }, isolated, [3]string{"event -1: bad event", "event -1: bad event", "event -1: bad event"}},
		{"wrapped, so it is not only about events", func(string) error { return fmt.Errorf("x: %w", fault(0)) }, isolated, [3]string{
			"x: event 0: bad event", "x: event 0: bad event", "x: event 0: bad event",
		}},
		{"an error that joins none", func(string) error { return hollow{} }, isolated, [3]string{"hollow", "hollow", "hollow"}},
		{"a panic", func(names string) error {
			if strings.Contains(names, "d") {
				panic(secret)
			}
			return nil
		}, isolated, [3]string{"<nil>", "<nil>", "capture: sink panicked: string"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var calls []string
				c := newCollector(t, capture.CollectorConfig{Sink: sinkFunc(func(_ context.Context, events []capture.Event) error {
					var names strings.Builder
					for _, e := range events {
						names.WriteString(e.Name)
					}
					calls = append(calls, names.String())
					return tt.write(names.String())
				})})
				var results []<-chan error
				for _, names := range [][]string{{"a", "b"}, {"c"}, {"d", "e", "f"}} {
					results = append(results, accept(c, t.Context(), named(names...)...))
					synctest.Wait()
				}
				stop := run(t, c)
				for i, result := range results {
					if got := fmt.Sprint(<-result); got != tt.want[i] {
						t.Errorf("group %d: %s, want %s", i, got, tt.want[i])
					}
				}
				stop()
				if diff := cmp.Diff(tt.calls, calls); diff != "" {
					t.Errorf("calls of Write (-want +got):\n%s", diff)
				}
				if c.Waiting() != 0 {
					t.Errorf("%d waiting at the end", c.Waiting())
				}
			})
		})
	}
}

// hollow is an error that joins nothing.
type hollow struct{}

func (hollow) Error() string   { return "hollow" }
func (hollow) Unwrap() []error { return nil }

func TestCollectorKeepsErrors(t *testing.T) {
	bad := errors.New("bad event")
	c := newCollector(t, capture.CollectorConfig{Sink: sinkFunc(func(context.Context, []capture.Event) error {
		return &capture.EventError{Index: 1, Err: bad}
	})})
	defer run(t, c)()
	err := c.Accept(t.Context(), named("a", "b")...)
	e, ok := errors.AsType[*capture.EventError](err)
	if !ok || e.Index != 1 || !errors.Is(err, bad) {
		t.Errorf("Accept = %#v, want an EventError of index 1", err)
	}
}

func TestCollectorWriteTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink := newGate()
		c := newCollector(t, capture.CollectorConfig{Sink: sink})
		results := []<-chan error{accept(c, t.Context(), named("a")...), accept(c, t.Context(), named("b")...)}
		synctest.Wait()
		stop := run(t, c)
		start := time.Now()
		<-sink.entered
		for _, result := range results { // no event is tried alone
			if err := <-result; !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("Accept = %v, want DeadlineExceeded", err)
			}
		}
		if d := time.Since(start); d != 30*time.Second {
			t.Errorf("after %v, want 30s", d)
		}
		stop()
	})
}

func TestCollectorContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink := newGate()
		c := newCollector(t, capture.CollectorConfig{Sink: sink})
		stop := run(t, c)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		first := accept(c, ctx, named("a")...)
		<-sink.entered
		second := accept(c, ctx, named("b")...)
		for _, result := range []<-chan error{first, second} {
			if err := <-result; !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("Accept = %v, want DeadlineExceeded", err)
			}
		}
		// They are written all the same.
		sink.outcome <- nil
		if got := <-sink.entered; !slices.Equal(got, []string{"b"}) {
			t.Errorf("Write of %v", got)
		}
		sink.outcome <- nil
		stop()
	})
}

// TestCollectorDrains says what the end of Run means. The Sink's context does
// not end with Run's.
func TestCollectorDrains(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink := newGate()
		c := newCollector(t, capture.CollectorConfig{Sink: sink, MaxBatch: 1})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- c.Run(ctx) }()
		var results []<-chan error
		for _, name := range []string{"a", "b", "c"} {
			results = append(results, accept(c, t.Context(), named(name)...))
			synctest.Wait()
		}
		<-sink.entered
		cancel()
		sink.outcome <- nil
		for _, want := range []string{"b", "c"} {
			if got := <-sink.entered; got[0] != want {
				t.Errorf("Write of %v, want %s", got, want)
			}
			if err := c.Accept(t.Context(), named("x")...); !errors.Is(err, capture.ErrClosed) {
				t.Errorf("Accept while draining = %v, want ErrClosed", err)
			}
			sink.outcome <- nil
		}
		if err := <-ended; err != nil {
			t.Errorf("Run = %v, want nil", err)
		}
		for i, result := range results {
			if err := <-result; err != nil {
				t.Errorf("Accept %d = %v, want nil", i, err)
			}
		}
		if err := c.Accept(t.Context(), named("x")...); !errors.Is(err, capture.ErrClosed) {
			t.Errorf("Accept afterwards = %v, want ErrClosed", err)
		}
	})
}

// TestCollectorStopsUnderLoad has producers who always come back, so that the
// queue is never empty.
func TestCollectorStopsUnderLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCollector(t, capture.CollectorConfig{MaxBatch: 1, Sink: sinkFunc(func(context.Context, []capture.Event) error {
			time.Sleep(time.Millisecond) // of a fake clock
			return nil
		})})
		var producers sync.WaitGroup
		for range 3 {
			producers.Go(func() {
				for {
					if err := c.Accept(t.Context(), named("e")...); err != nil {
						if !errors.Is(err, capture.ErrClosed) {
							t.Errorf("Accept = %v", err)
						}
						return
					}
				}
			})
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		if err := c.Run(ctx); err != nil {
			t.Errorf("Run = %v", err)
		}
		if d := time.Since(start); d > time.Second+10*time.Millisecond {
			t.Errorf("Run ended after %v, want 1s and what was waiting", d)
		}
		producers.Wait()
	})
}

// TestCollectorEndsAtOnce covers a Run that has nothing to do.
func TestCollectorEndsAtOnce(t *testing.T) {
	c := newCollector(t, capture.CollectorConfig{Sink: discard})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.Run(ctx); err != nil {
		t.Errorf("Run = %v", err)
	}
	if err := c.Accept(t.Context(), named("x")...); !errors.Is(err, capture.ErrClosed) {
		t.Errorf("Accept = %v, want ErrClosed", err)
	}
}

// TestCollectorConcurrently has many producers and a sink that fails at random.
// Every event that was acknowledged must have been stored, exactly once, and in
// the order of its producer.
func TestCollectorConcurrently(t *testing.T) {
	const producers, calls = 16, 200
	random := rand.New(rand.NewPCG(3, 4)) // only used by Write, which runs once at a time
	var stored, broken []string
	sink := sinkFunc(func(_ context.Context, events []capture.Event) error {
		switch random.IntN(8) {
		case 0:
			return fmt.Errorf("disk: %w", capture.ErrUnavailable)
		case 1:
			return errors.New("broken")
		case 2:
			panic("broken")
		}
		var faults []error
		for i, e := range events {
			if random.IntN(50) == 0 {
				faults = append(faults, &capture.EventError{Index: i, Err: errors.New(e.Name)})
				broken = append(broken, e.Name)
				continue
			}
			stored = append(stored, e.Name)
		}
		return errors.Join(faults...)
	})
	c := newCollector(t, capture.CollectorConfig{Sink: sink, MaxBatch: 20, MaxEvents: 40})
	stop := run(t, c)

	acknowledged := make([][]string, producers)
	rejected := make([][]string, producers)
	var all sync.WaitGroup
	for p := range producers {
		all.Go(func() {
			for i := range calls {
				names := make([]string, 1+(p+i)%3)
				for j := range names {
					names[j] = fmt.Sprintf("%d/%d/%d", p, i, j)
				}
				err := c.Accept(t.Context(), named(names...)...)
				faults := make(map[int]error)
				for _, e := range unjoin(err) {
					f, ok := errors.AsType[*capture.EventError](e)
					if !ok {
						names = nil // nothing is known of them
						break
					}
					faults[f.Index] = f.Err
				}
				for j, name := range names {
					switch err, ok := faults[j]; {
					case !ok:
						acknowledged[p] = append(acknowledged[p], name)
					case err.Error() == name:
						rejected[p] = append(rejected[p], name)
					default:
						t.Errorf("event %s has the error of %v", name, err)
					}
				}
			}
		})
	}
	all.Wait()
	stop()

	for p := range producers {
		// What failed as a batch is not stored by this sink, so the lists agree.
		own := func(list []string) (own []string) {
			for _, name := range list {
				if strings.HasPrefix(name, fmt.Sprintf("%d/", p)) {
					own = append(own, name)
				}
			}
			return own
		}
		if diff := cmp.Diff(acknowledged[p], own(stored)); diff != "" {
			t.Errorf("producer %d: acknowledged, stored (-want +got):\n%s", p, diff)
		}
		if diff := cmp.Diff(rejected[p], own(broken)); diff != "" {
			t.Errorf("producer %d: rejected, refused (-want +got):\n%s", p, diff)
		}
		if len(acknowledged[p]) == 0 {
			t.Errorf("producer %d: nothing was stored", p)
		}
	}
	if c.Waiting() != 0 {
		t.Errorf("%d waiting at the end", c.Waiting())
	}
}
