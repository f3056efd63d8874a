package source_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/flags/source"
	"github.com/flagstaff-go/flagstaff/flags/wire"
	"github.com/flagstaff-go/flagstaff/internal/fulltest"
)

// A teller is a server that tells of changes, as the Transport of clients within a
// synctest bubble.
type teller struct {
	mu       sync.Mutex
	document string
	address  string // of its stream, "" if there is none
	refuses  int    // the status of answers to those who want the stream, 0 if they get it
	streams  map[*io.PipeWriter]bool
	loads    []load
	opened   []time.Time
}

// A load is a request for definitions.
type load struct {
	at     time.Time
	query  string
	status int
}

func newTeller() *teller {
	return &teller{document: document("a"), address: "../ofrep/v1/streams/secret", streams: make(map[*io.PipeWriter]bool)}
}

func (s *teller) remote() source.Remote {
	return source.Remote{URL: "https://flags.example/prefix", ProjectKey: "phc_project", SecretKey: secret, Client: &http.Client{Transport: s, Timeout: 10 * time.Second}}
}

// RoundTrip implements [http.RoundTripper].
func (s *teller) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	resp := &http.Response{StatusCode: http.StatusOK, Header: make(http.Header), Request: r, Body: http.NoBody}
	if r.URL.Path != "/prefix/flags/definitions" {
		s.opened = append(s.opened, time.Now())
		switch {
		case r.URL.Path != "/prefix/ofrep/v1/streams/secret" || r.Header.Get("Authorization") != "":
			resp.StatusCode = http.StatusNotFound
			return resp, nil
		case s.refuses != 0:
			resp.StatusCode = s.refuses
			resp.Header.Set("Retry-After", "60")
			return resp, nil
		}
		body, stream := io.Pipe()
		s.streams[stream] = true
		context.AfterFunc(r.Context(), func() { stream.CloseWithError(r.Context().Err()) })
		resp.Header.Set("Content-Type", "text/event-stream; charset=utf-8")
		resp.Body = body
		return resp, nil
	}
	etag := wire.DefinitionsETag([]byte(s.document))
	if r.Header.Get("If-None-Match") == etag {
		resp.StatusCode = http.StatusNotModified
	} else {
		resp.Body = io.NopCloser(strings.NewReader(s.document))
	}
	resp.Header.Set("Etag", etag)
	if s.address != "" {
		resp.Header.Set("Flagstaff-Event-Stream", s.address+"?from=x")
	}
	s.loads = append(s.loads, load{time.Now(), r.URL.RawQuery, resp.StatusCode})
	return resp, nil
}

// change changes the document, and tells of it.
func (s *teller) change(key, event string) {
	s.mu.Lock()
	s.document = document(key)
	s.mu.Unlock()
	s.tell(event)
}

// tell writes to all streams, as far as they are read, and returns when they have been.
func (s *teller) tell(text string) {
	s.mu.Lock()
	streams := make([]*io.PipeWriter, 0, len(s.streams))
	for stream := range s.streams {
		streams = append(streams, stream)
	}
	s.mu.Unlock()
	for _, stream := range streams {
		_, _ = io.WriteString(stream, text) // its client may have left
	}
	synctest.Wait()
}

// restart ends all streams.
func (s *teller) restart() {
	s.mu.Lock()
	for stream := range s.streams {
		stream.Close()
	}
	clear(s.streams)
	s.opened = nil
	s.mu.Unlock()
	synctest.Wait()
}

// since returns the loads since the last call.
func (s *teller) since() []load {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.loads
	s.loads = nil
	return list
}

// openedBetween counts the attempts to open a stream.
func (s *teller) openedBetween(from, to time.Time) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, at := range s.opened {
		if !at.Before(from) && at.Before(to) {
			n++
		}
	}
	return n
}

const told = "id: 8f\nevent: message\ndata: {\"type\":\"refetchEvaluation\",\"etag\":\"8f\",\"lastModified\":1771622898}\n\n"

// follow runs a Loader, and returns what it loads into.
func follow(t *testing.T, from source.Source) (*flags.Evaluator, *source.Loader) {
	t.Helper()
	e := new(flags.Evaluator)
	l := source.NewLoader(e, from, source.LoaderConfig{Log: slog.New(slog.DiscardHandler)})
	go func() {
		if err := l.Run(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	synctest.Wait()
	return e, l
}

// TestFollow: a Loader loads when the server tells of a change, through whatever Source the
// Remote is in, and at no other time than without a stream.
func TestFollow(t *testing.T) {
	type embedding struct{ source.Remote }
	for _, tt := range []struct {
		name string
		from func(source.Remote) source.Source
	}{
		{"Remote", func(r source.Remote) source.Source { return r }},
		{"pointer", func(r source.Remote) source.Source { return &r }},
		{"Cached", func(r source.Remote) source.Source {
			return source.Cached{Source: r, Path: filepath.Join(t.TempDir(), "cache")}
		}},
		{"embedded", func(r source.Remote) source.Source { return embedding{r} }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newTeller()
				e, l := follow(t, tt.from(s.remote()))
				defer l.Close()
				if !flagOn(e, "a") || !l.Status().Following {
					t.Fatalf("%+v", l.Status())
				}
				s.since()

				s.change("b", "retry: 1000\nid: 1\n\n:\n\n"+told)
				if !flagOn(e, "b") {
					t.Error("a change that was told of is not live")
				}
				s.tell("data: {\"type\":\"other\"}\n\ndata: no JSON\n\ndata:{\"type\":\ndata: \"refetchEvaluation\"}\r\n\r\n")
				const query = "token=phc_project&send_cohorts&rule_sets"
				var queries []string
				for _, one := range s.since() {
					queries = append(queries, fmt.Sprint(one.status, " ", one.query))
				}
				if diff := cmp.Diff([]string{"200 " + query + "&flagConfigEtag=8f", "304 " + query}, queries); diff != "" {
					t.Errorf("loads (-want +got)\n%s", diff)
				}
			})
		})
	}
}

// TestFollowFallsBack: without a stream, and while it is broken, a Loader polls as ever.
func TestFollowFallsBack(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*teller, *source.Remote)
		opened bool // somebody tries to
	}{
		{"another server", func(s *teller, _ *source.Remote) { s.address = "" }, false},
		{"Poll", func(_ *teller, r *source.Remote) { r.Poll = true }, false},
		{"another host", func(s *teller, _ *source.Remote) { s.address = "https://other.example/prefix/ofrep/v1/streams/secret" }, false},
		{"another scheme", func(s *teller, _ *source.Remote) { s.address = "http://flags.example/prefix/ofrep/v1/streams/secret" }, false},
		{"unknown", func(s *teller, _ *source.Remote) { s.address = "/ofrep/v1/streams/other" }, true},
		{"too many", func(s *teller, _ *source.Remote) { s.refuses = 429 }, true},
		{"not modified", func(s *teller, _ *source.Remote) { s.refuses = 304 }, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newTeller()
				r := s.remote()
				tt.change(s, &r)
				start := time.Now()
				e, l := follow(t, r)
				defer l.Close()
				s.change("b", "")
				time.Sleep(30 * time.Second)
				synctest.Wait()
				if !flagOn(e, "b") || l.Status().Following || l.Status().Err != nil {
					t.Errorf("after an interval: %+v", l.Status())
				}
				time.Sleep(time.Hour - 30*time.Second)
				n := s.openedBetween(start, time.Now())
				if (n > 0) != tt.opened || n > 120 {
					t.Errorf("%d attempts to open a stream in an hour", n)
				}
			})
		})
	}
}

// TestFollowSilence: a stream on which nothing comes counts as broken, and another one is
// opened, which tells of what was missed.
func TestFollowSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTeller()
		_, l := follow(t, s.remote())
		defer l.Close()
		for range 10 {
			time.Sleep(60 * time.Second)
			s.tell(":\n\n")
		}
		if n := s.openedBetween(time.Time{}, time.Now()); n != 1 {
			t.Errorf("%d streams were opened, want the first to live on heartbeats", n)
		}
		time.Sleep(75 * time.Second)
		synctest.Wait()
		if l.Status().Following {
			t.Error("a silent stream is followed")
		}
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if !l.Status().Following {
			t.Error("no other stream is followed")
		}
		s.tell(strings.Repeat("x", 5000) + "\n")
		if l.Status().Following {
			t.Error("a stream with endless lines is followed")
		}
	})
}

// TestFollowPauses: news does not shorten the pause that a server has asked for.
func TestFollowPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTeller()
		throttled := false
		remote := s.remote()
		remote.Client.Transport = roundTripper(func(r *http.Request) (*http.Response, error) {
			resp, err := s.RoundTrip(r)
			if throttled && strings.HasSuffix(r.URL.Path, "/definitions") {
				resp.StatusCode, resp.Body = http.StatusTooManyRequests, http.NoBody
				resp.Header.Set("Retry-After", "300")
			}
			return resp, err
		})
		e, l := follow(t, remote)
		defer l.Close()
		throttled = true
		s.since()
		s.change("b", told)
		for range 50 {
			time.Sleep(5 * time.Second)
			s.tell(told)
		}
		if n := len(s.since()); n != 1 || l.Status().Err == nil {
			t.Errorf("%d loads in 250 s, %v", n, l.Status().Err)
		}
		throttled = false
		for range 18 {
			time.Sleep(5 * time.Second)
			s.tell(":\n\n")
		}
		if !flagOn(e, "b") {
			t.Errorf("after the pause: %+v", l.Status())
		}
	})
}

// TestFollowersAreSpread: the clients of a server that restarts come back one after the
// other, and load nothing for it.
func TestFollowersAreSpread(t *testing.T) {
	clients := fulltest.Count(1_000, 10_000)
	synctest.Test(t, func(t *testing.T) {
		s := newTeller()
		var all []*source.Loader
		for range clients {
			_, l := follow(t, s.remote())
			all = append(all, l)
		}
		s.since()
		restarted := time.Now()
		s.restart()
		time.Sleep(5 * time.Second)
		synctest.Wait()
		for _, l := range all {
			if !l.Status().Following {
				t.Fatal("after five seconds a client has not come back")
			}
		}
		const slot = 100 * time.Millisecond
		for at := restarted; at.Before(restarted.Add(5 * time.Second)); at = at.Add(slot) {
			if n := s.openedBetween(at, at.Add(slot)); n > clients/50*2 {
				t.Errorf("%d clients come back within %v, %v after the restart", n, slot, at.Sub(restarted))
			}
		}
		// Polls go on: one in 28.5 to 30 s.
		if n := len(s.since()); n > clients*5*12/285 {
			t.Errorf("%d loads in five seconds after a restart", n)
		}
		s.change("b", told)
		if n := len(s.since()); n != clients {
			t.Errorf("%d loads after a change, want %d", n, clients)
		}
		for _, l := range all {
			l.Close()
		}
	})
}
