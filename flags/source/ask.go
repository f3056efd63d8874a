package source

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/runtime"
)

const (
	askTimeout = 500 * time.Millisecond
	askKeep    = 10 * time.Second

	maxAsked     = 65_536           // flags in one request
	maxAnswer    = 16 << 20         // bytes of one answer
	maxKept      = 20_000           // answers that are kept
	maxKeptBytes = 64 << 20         // bytes of kept answers, as they came
	maxRequests  = 64               // requests to the server at once
	maxAskPause  = 30 * time.Second // for which a server that fails is left alone

	askPause    = time.Second // the first such pause
	askFailures = 3           // failed requests in a row that lead to it
)

var errAskPaused = errors.New("source: the server is left alone for a while, since it failed")

// Asks counts what became of the calls of [Loader.Ask] that needed the server.
type Asks struct {
	// Sent is the number of requests to the server.
	Sent uint64 `json:"sent"`

	// Cached is the number of calls that a kept answer settled, and Shared the number
	// of calls that waited for the request of an equal one.
	Cached uint64 `json:"cached"`
	Shared uint64 `json:"shared"`

	// Failed is the number of calls that were left to local evaluation.
	Failed uint64 `json:"failed"`

	// Err is the error of the last request, nil if it succeeded. PausedUntil is
	// when the server will be asked again after an error; zero means at once.
	Err         error     `json:"-"`
	PausedUntil time.Time `json:"paused_until,omitzero"`
}

// An asker asks the server of a Remote for the values of flags. It keeps answers for
// a while, sends one request for equal calls at the same moment, and leaves a server
// that fails alone.
type asker struct {
	remote  Remote
	own     *http.Client  // made here; nil: the Remote has one
	slots   chan struct{} // one for each request under way
	closing context.Context
	close   context.CancelFunc
	working sync.WaitGroup // requests under way

	mu       sync.Mutex
	snapshot *flags.Snapshot // which the kept answers are for
	recent   map[askKey]kept // what was kept last
	older    map[askKey]kept // what was kept before; dropped when recent is full
	bytes    int             // of recent
	open     map[askKey]*ask // requests under way
	failures int             // in a row
	probing  bool            // such a request is under way, see ask
	asks     Asks
}

// An askKey is a hash of everything that an answer depends on: of the request's body.
type askKey [sha256.Size]byte

// kept is an answer that is kept.
type kept struct {
	answers *flags.RemoteResults
	until   time.Time
}

// An ask is a request under way.
type ask struct {
	done    chan struct{} // closed when answers is set
	answers *flags.RemoteResults
	probe   bool // it finds out whether the server is back
}

// newAsker returns nil if the source asks no server.
func newAsker(s Source) *asker {
	remote, ok := remoteOf(s)
	if !ok || !remote.Ask {
		return nil
	}
	a := &asker{
		slots: make(chan struct{}, maxRequests), open: make(map[askKey]*ask),
		recent: make(map[askKey]kept),
	}
	a.closing, a.close = context.WithCancel(context.Background())
	if remote.Client == nil {
		a.own = newAskClient()
		remote.Client = a.own
	}
	a.remote = remote
	return a
}

// end breaks off the requests under way and waits for them. No request begins later.
func (a *asker) end() {
	a.mu.Lock()
	a.close()
	a.mu.Unlock()
	a.working.Wait()
	if a.own != nil {
		a.own.CloseIdleConnections()
	}
}

// newAskClient returns a client that keeps a connection for each request that can be
// under way, of which http.DefaultTransport keeps two.
func newAskClient() *http.Client {
	t, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		return nil
	}
	t = t.Clone()
	t.MaxIdleConnsPerHost = maxRequests
	return &http.Client{Transport: t}
}

// remoteOf returns the Remote that definitions come from, if they come from one.
func remoteOf(s Source) (Remote, bool) {
	switch s := s.(type) {
	case Remote:
		return s, true
	case *Remote:
		if s != nil {
			return *s, true
		}
	case Cached:
		return remoteOf(s.Source)
	case *Cached:
		if s != nil {
			return remoteOf(s.Source)
		}
	}
	return Remote{}, false
}

// ask returns the answers for a request, or nil if it lacks nothing.
func (a *asker) ask(ctx context.Context, s *flags.Snapshot, r *flags.Request) *flags.RemoteResults {
	keys := s.MissingContext(r)
	if len(keys) == 0 {
		return nil
	}
	body, err := a.remote.askBody(r, keys[:min(len(keys), maxAsked)])
	if err != nil {
		return a.failed(err)
	}
	key := sha256.Sum256(body)
	call, answers := a.begin(ctx, s, key, body)
	if answers != nil {
		return answers
	}
	timer := time.NewTimer(a.remote.askTimeout())
	defer timer.Stop()
	select {
	case <-call.done:
	case <-ctx.Done():
		return a.failed(ctx.Err())
	case <-timer.C:
		return a.failed(fmt.Errorf("source: no flags within %v: %w", a.remote.askTimeout(), context.DeadlineExceeded))
	}
	if call.answers.Err != nil {
		return a.failed(call.answers.Err)
	}
	return call.answers
}

func (a *asker) failed(err error) *flags.RemoteResults {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asks.Failed++
	return &flags.RemoteResults{Err: err}
}

// begin returns kept answers, or a request to wait for, which may be under way
// already.
func (a *asker) begin(ctx context.Context, s *flags.Snapshot, key askKey, body []byte) (*ask, *flags.RemoteResults) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closing.Err() != nil {
		a.asks.Failed++
		return nil, &flags.RemoteResults{Err: ErrClosed}
	}
	now := time.Now()
	if answers := a.find(s, key, now); answers != nil {
		a.asks.Cached++
		return nil, answers
	}
	if call := a.open[key]; call != nil {
		a.asks.Shared++
		return call, nil
	}
	call := &ask{done: make(chan struct{})}
	if !a.asks.PausedUntil.IsZero() {
		if a.probing || now.Before(a.asks.PausedUntil) {
			a.asks.Failed++
			return nil, &flags.RemoteResults{Err: fmt.Errorf("%w: %w", errAskPaused, a.asks.Err)}
		}
		a.probing, call.probe = true, true
	}
	a.asks.Sent++
	a.open[key] = call
	// The request goes on when this caller gives up: others may wait for it, and the
	// next call finds its answer.
	a.working.Go(func() { a.run(context.WithoutCancel(ctx), s, key, body, call) })
	return call, nil
}

// find returns the kept answers, or nil. The answers for an older Snapshot are
// forgotten.
func (a *asker) find(s *flags.Snapshot, key askKey, now time.Time) *flags.RemoteResults {
	if a.snapshot != s {
		a.snapshot, a.recent, a.older, a.bytes = s, make(map[askKey]kept), nil, 0
		return nil
	}
	k, ok := a.recent[key]
	if !ok {
		k = a.older[key]
	}
	if now.Before(k.until) {
		return k.answers
	}
	return nil
}

// keep keeps answers. When there are many, the older half is forgotten.
func (a *asker) keep(s *flags.Snapshot, key askKey, answers *flags.RemoteResults, size int) {
	if a.snapshot != s {
		return
	}
	if len(a.recent) >= maxKept/2 || a.bytes+size > maxKeptBytes/2 {
		a.older, a.recent, a.bytes = a.recent, make(map[askKey]kept), 0
	}
	a.recent[key] = kept{answers, time.Now().Add(a.remote.askKeep())}
	a.bytes += size
}

// run sends a request and settles its ask.
func (a *asker) run(ctx context.Context, s *flags.Snapshot, key askKey, body []byte, call *ask) {
	var (
		answers *flags.RemoteResults
		size    int
		lasting bool
		err     error
	)
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("source: asking for flags panicked: %v", r)
		}
		a.mu.Lock()
		a.settle(call, err)
		if err != nil {
			answers = &flags.RemoteResults{Err: err}
		} else if lasting {
			a.keep(s, key, answers, size)
		}
		delete(a.open, key)
		a.mu.Unlock()
		call.answers = answers
		close(call.done)
	}()
	ctx, stop := context.WithTimeout(ctx, a.remote.askTimeout())
	defer stop()
	defer context.AfterFunc(a.closing, stop)()
	select {
	case a.slots <- struct{}{}:
		defer func() { <-a.slots }()
	case <-ctx.Done():
	}
	if ctx.Err() != nil {
		err = fmt.Errorf("source: %d requests for flags are under way: %w", maxRequests, ctx.Err())
		return
	}
	answers, size, lasting, err = a.remote.ask(ctx, body)
}

// settle records the end of a request. After several failures, and when the server
// demands it, the server is left alone for a while; then one request finds out
// whether it is back.
func (a *asker) settle(call *ask, err error) {
	a.asks.Err = err
	if call.probe {
		a.probing = false
	}
	if _, own := errors.AsType[*requestError](err); err == nil || own {
		a.failures, a.asks.PausedUntil = 0, time.Time{}
		return
	}
	if !call.probe && !a.asks.PausedUntil.IsZero() {
		return // it began before the pause
	}
	a.failures++
	pause := time.Duration(0)
	if a.failures >= askFailures {
		pause = min(askPause<<min(a.failures-askFailures, 10), maxAskPause)
	}
	if retry, ok := errors.AsType[*RetryError](err); ok {
		pause = max(pause, retry.After)
	}
	if pause > 0 {
		a.asks.PausedUntil = time.Now().Add(pause)
	}
}

func (a *asker) status() Asks {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.asks
}

// Ask asks the server for the flags of [flags.Snapshot.MissingContext], for which
// the request lacks what only the server knows. The answers belong into
// [flags.Request.RemoteResults]:
//
//	r.Answers = loader.Ask(ctx, r)
//
// It is nil if there is nothing to ask for, if the source of the Loader is no
// [Remote] with Ask, or if no definitions are loaded. Otherwise flags that the server
// has not answered for are evaluated here and marked as [flags.Result.Unconfirmed],
// and Err of the Answers says why. Ask returns when ctx ends, or after
// [Remote.AskTimeout]; when the Loader is closed, Err is [ErrClosed].
func (l *Loader) Ask(ctx context.Context, r *flags.Request) *flags.RemoteResults {
	if l.usable() != nil || l.asker == nil {
		return nil
	}
	s := l.evaluator.Snapshot()
	if s == nil {
		return nil
	}
	return l.asker.ask(ctx, s, r)
}

// Asks reports whether Ask can ask a server.
func (l *Loader) Asks() bool { return l != nil && l.asker != nil }

// A requestError is about one request, and says nothing about the server.
type requestError struct{ err error }

func (e *requestError) Error() string { return e.err.Error() }
func (e *requestError) Unwrap() error { return e.err }

func (r Remote) askTimeout() time.Duration {
	if r.AskTimeout > 0 {
		return r.AskTimeout
	}
	return askTimeout
}

func (r Remote) askKeep() time.Duration {
	if r.AskKeep != 0 {
		return r.AskKeep
	}
	return askKeep
}

// askBody returns the body of POST /flags for some flags. Equal requests have equal
// bodies.
func (r Remote) askBody(request *flags.Request, keys []string) ([]byte, error) {
	request = request.Merged()
	body := struct {
		Key        string                                `json:"api_key"`
		DistinctID string                                `json:"distinct_id"`
		Anonymous  string                                `json:"$anon_distinct_id,omitempty"`
		Device     string                                `json:"$device_id,omitempty"`
		Groups     map[string]string                     `json:"groups,omitempty"`
		Person     map[string]json.RawMessage            `json:"person_properties,omitempty"`
		OfGroups   map[string]map[string]json.RawMessage `json:"group_properties,omitempty"`
		Contexts   []string                              `json:"evaluation_contexts,omitempty"`
		Runtime    string                                `json:"evaluation_runtime,omitempty"`
		Keys       []string                              `json:"flag_keys"`

		// The server sees the address of this program, which is not the person's.
		NoGeo bool `json:"geoip_disable"`
	}{
		Key: r.ProjectKey, DistinctID: request.DistinctID, Anonymous: request.AnonymousID, Device: request.DeviceID,
		Groups: request.Groups, Person: encoded(request.PersonProperties),
		Contexts: request.Filter.Tags, Keys: keys, NoGeo: true,
	}
	for name, properties := range request.GroupProperties {
		if body.OfGroups == nil {
			body.OfGroups = make(map[string]map[string]json.RawMessage)
		}
		body.OfGroups[name] = encoded(properties)
	}
	switch request.Filter.Kind {
	case runtime.All:
		body.Runtime = "all"
	case runtime.Client:
		body.Runtime = "client"
	case runtime.Server:
		body.Runtime = "server"
	}
	return json.Marshal(body)
}

// encoded returns properties as JSON. A value that cannot be encoded counts as
// missing, as it does in evaluation.
func encoded(properties map[string]any) map[string]json.RawMessage {
	if len(properties) == 0 {
		return nil
	}
	out := make(map[string]json.RawMessage, len(properties))
	for name, v := range properties {
		if b, ok := encode(v); ok {
			out[name] = b
		}
	}
	return out
}

func encode(v any) (b []byte, ok bool) {
	defer func() {
		if recover() != nil { // of a MarshalJSON of the caller
			b, ok = nil, false
		}
	}()
	b, err := json.Marshal(v)
	return b, err == nil
}

// ask sends a body to POST /flags. lasting says that the answer may be kept.
func (r Remote) ask(ctx context.Context, body []byte) (answers *flags.RemoteResults, size int, lasting bool, err error) {
	request, err := r.request(ctx, http.MethodPost, "flags", "v=2")
	if err != nil {
		return nil, 0, false, err
	}
	request.Body, request.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	request.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	request.Header.Set("Content-Type", "application/json")
	response, err := r.client().Do(request)
	if err != nil {
		return nil, 0, false, fmt.Errorf("source: ask %s for flags: %w", request.URL.Host, r.redact(err))
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		_, _ = io.CopyN(io.Discard, response.Body, 4<<10)
		err := fmt.Errorf("source: %s answers %d %s to a request for flags", response.Request.URL.Host, response.StatusCode, http.StatusText(response.StatusCode))
		switch response.StatusCode {
		case http.StatusBadRequest, http.StatusRequestEntityTooLarge:
			return nil, 0, false, &requestError{err}
		}
		if after := retryAfter(response.Header, time.Now()); after > 0 {
			err = &RetryError{after, err}
		}
		return nil, 0, false, err
	}
	document, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	if err != nil {
		return nil, 0, false, fmt.Errorf("source: read the flags of %s: %w", response.Request.URL.Host, r.redact(err))
	}
	if len(document) > maxAnswer {
		return nil, 0, false, &requestError{fmt.Errorf("source: the server's answer with flags has more than %d bytes", maxAnswer)}
	}
	answers, lasting, err = readAnswer(document)
	return answers, len(document), lasting, err
}

// readAnswer reads the answer to POST /flags?v=2 (evaluation.md §11.1). It is not
// lasting if the server had no access to what it knows.
func readAnswer(document []byte) (answers *flags.RemoteResults, lasting bool, err error) {
	var in struct {
		Flags        map[string]flags.Result `json:"flags"`
		Errors       bool                    `json:"errorsWhileComputingFlags"`
		QuotaLimited []string                `json:"quotaLimited"`
	}
	if err := json.Unmarshal(document, &in); err != nil {
		return nil, false, fmt.Errorf("source: the server's answer with flags: %w", err)
	}
	switch {
	case len(in.QuotaLimited) > 0:
		return nil, false, &RetryError{quotaPause, ErrQuotaLimited}
	case in.Flags == nil:
		return nil, false, errors.New("source: the server's answer has no flags")
	}
	// Without a flag that failed by itself, the errors are about stored data.
	lasting = !in.Errors
	for _, result := range in.Flags {
		lasting = lasting || result.Failed && result.Reason.Code != flags.ErrorOverrides
	}
	return &flags.RemoteResults{Results: in.Flags}, lasting, nil
}
