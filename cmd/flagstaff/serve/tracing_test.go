package serve

import (
	"context"
	"io"
	"net/http"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/capture"
)

// trail is a Tracing that writes down what it is told of one request.
type trail struct {
	mu    sync.Mutex
	steps []string
	done  chan struct{} // closed when the events are stored
}

func (t *trail) add(step string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.steps = append(t.steps, step)
}

type trailKey struct{}

func (t *trail) OnRequest(r *http.Request, route string) (context.Context, func(int, string)) {
	trace := r.Header.Get("traceparent")
	if trace == "" {
		return r.Context(), nil
	}
	t.add("request " + route)
	return context.WithValue(r.Context(), trailKey{}, trace), func(status int, id string) {
		if status != http.StatusOK || id == "" {
			t.add("the request ends badly")
		}
	}
}

func (t *trail) OnAccept(ctx context.Context, events []capture.Event) {
	if trace, ok := ctx.Value(trailKey{}).(string); ok {
		for i := range events {
			events[i].Trace = trace
		}
	}
}

func (t *trail) OnOperation(ctx context.Context, operation string) (context.Context, func(error)) {
	trace, ok := ctx.Value(trailKey{}).(string)
	if !ok {
		return ctx, nil
	}
	return ctx, func(err error) {
		if err == nil {
			t.add(operation + " of " + trace)
		}
	}
}

func (t *trail) Sink(to capture.Sink, name string) capture.Sink { return trailSink{to, t, name} }

type trailSink struct {
	to   capture.Sink
	t    *trail
	name string
}

func (s trailSink) Write(ctx context.Context, events []capture.Event) error {
	if len(events) == 0 || events[0].Trace == "" {
		return s.to.Write(ctx, events)
	}
	s.t.add(s.name + " of " + events[0].Trace)
	err := s.to.Write(context.WithValue(ctx, trailKey{}, events[0].Trace), events)
	if s.name == "store events" {
		close(s.t.done)
	}
	return err
}

// TestTracing: a request can be followed to the store, and its events through the stream.
func TestTracing(t *testing.T) {
	b := startBroker(t)
	for name, args := range map[string][]string{"store": nil, "stream": {"-stream", b.url()}} {
		t.Run(name, func(t *testing.T) {
			const trace = "00-0000000000000000000000000000abcd-000000000000beef-01"
			followed := &trail{done: make(chan struct{})}
			stderr := newOutput()
			ctx, cancel := context.WithCancel(t.Context())
			m := Main{
				Args:    append([]string{"-demo", "-addr", "127.0.0.1:0"}, args...),
				Environ: environ(nil), Stdout: io.Discard, Stderr: stderr, Tracing: followed,
			}
			code := make(chan int, 1)
			go func() { code <- m.Run(ctx) }()
			defer func() {
				cancel()
				if c := <-code; c != 0 {
					t.Errorf("exit code %d, want 0", c)
				}
			}()
			url := stderr.await(t, `listening on (\S+)`)[1]
			post(t, url+"/batch", `{"api_key":"phc_demo","batch":[{"event":"seen","distinct_id":"ada"}]}`, "traceparent", trace)
			<-followed.done
			post(t, url+"/flags?v=2", `{"api_key":"phc_demo","distinct_id":"somebody"}`, "traceparent", trace)
			followed.mu.Lock()
			defer followed.mu.Unlock()
			want := []string{"request /batch", "store events of " + trace, "write_events of " + trace, "request /flags", "read_person of " + trace}
			if args != nil {
				want = slices.Insert(want, 1, "publish events of "+trace)
			}
			if diff := cmp.Diff(want, followed.steps); diff != "" {
				t.Errorf("steps (-want +got)\n%s", diff)
			}
		})
	}
}
