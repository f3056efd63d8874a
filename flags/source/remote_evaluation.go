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
	evaluateTimeout = 500 * time.Millisecond
	resultTTL       = 10 * time.Second

	maxKeys        = 65_536           // flags in one request
	maxResponse    = 16 << 20         // bytes of one response
	maxCached      = 20_000           // results that are kept
	maxCachedBytes = 64 << 20         // bytes of kept results, as they came
	maxRequests    = 64               // requests to the server at once
	maxPause       = 30 * time.Second // for which a server that fails is left alone

	firstPause = time.Second // the first such pause
	pauseAfter = 3           // failed requests in a row that lead to it
)

var errPaused = errors.New("source: the server is left alone for a while, since it failed")

// EvaluateRequests counts what became of the calls of [Loader.RemoteResults] that needed the server.
type EvaluateRequests struct {
	// Sent is the number of requests to the server.
	Sent uint64 `json:"sent"`

	// Cached is the number of calls that cached results settled, and Shared the number
	// of calls that waited for the request of an equal one.
	Cached uint64 `json:"cached"`
	Shared uint64 `json:"shared"`

	// Failed is the number of calls that were left to local evaluation.
	Failed uint64 `json:"failed"`

	// Err is the error of the last request, nil if it succeeded. PausedUntil is
	// when the next request goes to the server after an error; zero means at once.
	Err         error     `json:"-"`
	PausedUntil time.Time `json:"paused_until,omitzero"`
}

// A remoteEvaluator lets the server of a Remote evaluate flags. It keeps results for
// a while, sends one request for equal calls at the same moment, and leaves a server
// that fails alone.
type remoteEvaluator struct {
	remote  Remote
	own     *http.Client  // made here; nil: the Remote has one
	slots   chan struct{} // one for each request under way
	closing context.Context
	close   context.CancelFunc
	working sync.WaitGroup // requests under way

	mu       sync.Mutex
	snapshot *flags.Snapshot                 // which the kept results are for
	recent   map[requestKey]cachedResults    // what was kept last
	older    map[requestKey]cachedResults    // what was kept before; dropped when recent is full
	bytes    int                             // of recent
	open     map[requestKey]*evaluateRequest // requests under way
	failures int                             // in a row
	probing  bool                            // such a request is under way, see evaluateRequest
	requests EvaluateRequests
}

// A requestKey is a hash of everything that results depend on: of the request's body.
type requestKey [sha256.Size]byte

// cachedResults are results that are kept.
type cachedResults struct {
	results *flags.RemoteResults
	until   time.Time
}

// An evaluateRequest is under way.
type evaluateRequest struct {
	done    chan struct{} // closed when results is set
	results *flags.RemoteResults
	probe   bool // it finds out whether the server is back
}

// newRemoteEvaluator returns nil if no server is to evaluate.
func newRemoteEvaluator(s Source) *remoteEvaluator {
	remote, ok := remoteOf(s)
	if !ok || !remote.Evaluate {
		return nil
	}
	e := &remoteEvaluator{
		slots: make(chan struct{}, maxRequests), open: make(map[requestKey]*evaluateRequest),
		recent: make(map[requestKey]cachedResults),
	}
	e.closing, e.close = context.WithCancel(context.Background())
	if remote.Client == nil {
		e.own = newEvaluateClient()
		remote.Client = e.own
	}
	e.remote = remote
	return e
}

// end breaks off the requests under way and waits for them. No request begins later.
func (e *remoteEvaluator) end() {
	e.mu.Lock()
	e.close()
	e.mu.Unlock()
	e.working.Wait()
	if e.own != nil {
		e.own.CloseIdleConnections()
	}
}

// newEvaluateClient returns a client that keeps a connection for each request that can be
// under way, of which http.DefaultTransport keeps two.
func newEvaluateClient() *http.Client {
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

// results returns the results for a request, or nil if it lacks nothing.
func (e *remoteEvaluator) results(ctx context.Context, s *flags.Snapshot, r *flags.Request) *flags.RemoteResults {
	keys := s.MissingContext(r)
	if len(keys) == 0 {
		return nil
	}
	body, err := e.remote.evaluateBody(r, keys[:min(len(keys), maxKeys)])
	if err != nil {
		return e.failed(err)
	}
	key := sha256.Sum256(body)
	call, results := e.begin(ctx, s, key, body)
	if results != nil {
		return results
	}
	select {
	case <-call.done:
	case <-ctx.Done():
		return e.failed(ctx.Err())
	case <-time.After(e.remote.evaluateTimeout()):
		return e.failed(fmt.Errorf("source: no flags within %v: %w", e.remote.evaluateTimeout(), context.DeadlineExceeded))
	}
	if call.results.Err != nil {
		return e.failed(call.results.Err)
	}
	return call.results
}

func (e *remoteEvaluator) failed(err error) *flags.RemoteResults {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.requests.Failed++
	return &flags.RemoteResults{Err: err}
}

// begin returns kept results, or a request to wait for, which may be under way
// already.
func (e *remoteEvaluator) begin(ctx context.Context, s *flags.Snapshot, key requestKey, body []byte) (*evaluateRequest, *flags.RemoteResults) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closing.Err() != nil {
		e.requests.Failed++
		return nil, &flags.RemoteResults{Err: ErrClosed}
	}
	now := time.Now()
	if results := e.find(s, key, now); results != nil {
		e.requests.Cached++
		return nil, results
	}
	if call := e.open[key]; call != nil {
		e.requests.Shared++
		return call, nil
	}
	call := &evaluateRequest{done: make(chan struct{})}
	if !e.requests.PausedUntil.IsZero() {
		if e.probing || now.Before(e.requests.PausedUntil) {
			e.requests.Failed++
			return nil, &flags.RemoteResults{Err: fmt.Errorf("%w: %w", errPaused, e.requests.Err)}
		}
		e.probing, call.probe = true, true
	}
	e.requests.Sent++
	e.open[key] = call
	// The request goes on when this caller gives up: others may wait for it, and the
	// next call finds its results.
	e.working.Go(func() { e.run(context.WithoutCancel(ctx), s, key, body, call) })
	return call, nil
}

// find returns the kept results, or nil. The results for an older Snapshot are
// forgotten.
func (e *remoteEvaluator) find(s *flags.Snapshot, key requestKey, now time.Time) *flags.RemoteResults {
	if e.snapshot != s {
		e.snapshot, e.recent, e.older, e.bytes = s, make(map[requestKey]cachedResults), nil, 0
		return nil
	}
	k, ok := e.recent[key]
	if !ok {
		k = e.older[key]
	}
	if now.Before(k.until) {
		return k.results
	}
	return nil
}

// keep keeps results. When there are many, the older half is forgotten.
func (e *remoteEvaluator) keep(s *flags.Snapshot, key requestKey, results *flags.RemoteResults, size int) {
	if e.snapshot != s {
		return
	}
	if len(e.recent) >= maxCached/2 || e.bytes+size > maxCachedBytes/2 {
		e.older, e.recent, e.bytes = e.recent, make(map[requestKey]cachedResults), 0
	}
	e.recent[key] = cachedResults{results, time.Now().Add(e.remote.resultTTL())}
	e.bytes += size
}

// run sends a request and settles it.
func (e *remoteEvaluator) run(ctx context.Context, s *flags.Snapshot, key requestKey, body []byte, call *evaluateRequest) {
	var (
		results *flags.RemoteResults
		size    int
		lasting bool
		err     error
	)
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("source: evaluating flags remotely panicked: %v", r)
		}
		e.mu.Lock()
		e.settle(call, err)
		if err != nil {
			results = &flags.RemoteResults{Err: err}
		} else if lasting {
			e.keep(s, key, results, size)
		}
		delete(e.open, key)
		e.mu.Unlock()
		call.results = results
		close(call.done)
	}()
	ctx, stop := context.WithTimeout(ctx, e.remote.evaluateTimeout())
	defer stop()
	defer context.AfterFunc(e.closing, stop)()
	select {
	case e.slots <- struct{}{}:
		defer func() { <-e.slots }()
	case <-ctx.Done():
	}
	if ctx.Err() != nil {
		err = fmt.Errorf("source: %d requests for flags are under way: %w", maxRequests, ctx.Err())
		return
	}
	results, size, lasting, err = e.remote.evaluate(ctx, body)
}

// settle records the end of a request. After several failures, and when the server
// demands it, the server is left alone for a while; then one request finds out
// whether it is back.
func (e *remoteEvaluator) settle(call *evaluateRequest, err error) {
	e.requests.Err = err
	if call.probe {
		e.probing = false
	}
	if _, own := errors.AsType[*requestError](err); err == nil || own {
		e.failures, e.requests.PausedUntil = 0, time.Time{}
		return
	}
	if !call.probe && !e.requests.PausedUntil.IsZero() {
		return // it began before the pause
	}
	e.failures++
	pause := time.Duration(0)
	if e.failures >= pauseAfter {
		pause = min(firstPause<<min(e.failures-pauseAfter, 10), maxPause)
	}
	if retry, ok := errors.AsType[*RetryError](err); ok {
		pause = max(pause, retry.After)
	}
	if pause > 0 {
		e.requests.PausedUntil = time.Now().Add(pause)
	}
}

func (e *remoteEvaluator) status() EvaluateRequests {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.requests
}

// RemoteResults lets the server evaluate the flags of [flags.Snapshot.MissingContext], for which
// the request lacks what only the server knows. The results belong into
// [flags.Request.RemoteResults]:
//
//	r.RemoteResults = loader.RemoteResults(ctx, r)
//
// It is nil if there is nothing to evaluate there, if the source of the Loader is not a
// [Remote] with Evaluate, or if no definitions are loaded. Otherwise flags that the server
// has not answered for are evaluated here and marked as [flags.Result.Unconfirmed],
// and their Err says why. RemoteResults returns when ctx ends, or after
// [Remote.EvaluateTimeout]; when the Loader is closed, Err is [ErrClosed].
func (l *Loader) RemoteResults(ctx context.Context, r *flags.Request) *flags.RemoteResults {
	if l.usable() != nil || l.remote == nil {
		return nil
	}
	s := l.evaluator.Snapshot()
	if s == nil {
		return nil
	}
	return l.remote.results(ctx, s, r)
}

// EvaluatesRemotely reports whether RemoteResults can let a server evaluate.
func (l *Loader) EvaluatesRemotely() bool { return l != nil && l.remote != nil }

// A requestError is about one request, and says nothing about the server.
type requestError struct{ err error }

func (e *requestError) Error() string { return e.err.Error() }
func (e *requestError) Unwrap() error { return e.err }

func (r Remote) evaluateTimeout() time.Duration {
	if r.EvaluateTimeout > 0 {
		return r.EvaluateTimeout
	}
	return evaluateTimeout
}

func (r Remote) resultTTL() time.Duration {
	if r.ResultTTL != 0 {
		return r.ResultTTL
	}
	return resultTTL
}

// evaluateBody returns the body of POST /flags for some flags. Equal requests have equal
// bodies.
func (r Remote) evaluateBody(request *flags.Request, keys []string) ([]byte, error) {
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

// evaluate sends a body to POST /flags. lasting says that the results may be kept.
func (r Remote) evaluate(ctx context.Context, body []byte) (results *flags.RemoteResults, size int, lasting bool, err error) {
	request, err := r.request(ctx, http.MethodPost, "flags", "v=3")
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
	document, err := io.ReadAll(io.LimitReader(response.Body, maxResponse+1))
	if err != nil {
		return nil, 0, false, fmt.Errorf("source: read the flags of %s: %w", response.Request.URL.Host, r.redact(err))
	}
	if len(document) > maxResponse {
		return nil, 0, false, &requestError{fmt.Errorf("source: the server's answer with flags has more than %d bytes", maxResponse)}
	}
	results, lasting, err = readResults(document)
	return results, len(document), lasting, err
}

// readResults reads the response to POST /flags?v=3 (rules.md §4.5), or what an older server
// answers. It is not lasting if the server had no access to what it knows. A record that cannot
// be read is a failed flag, and the others count.
func readResults(document []byte) (results *flags.RemoteResults, lasting bool, err error) {
	var in struct {
		Flags        map[string]json.RawMessage `json:"flags"`
		Errors       bool                       `json:"errorsWhileComputingFlags"`
		QuotaLimited []string                   `json:"quotaLimited"`
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
	results = &flags.RemoteResults{Results: make(map[string]flags.Result, len(in.Flags))}
	for key, record := range in.Flags {
		var result flags.Result
		if err := result.UnmarshalJSON(record); err != nil {
			result = flags.Result{Key: key, Failed: true, Reason: flags.Reason{Code: flags.ErrorFlagData, ConditionIndex: -1, Description: err.Error()}}
		}
		lasting = lasting || result.Failed && result.Reason.Code != flags.ErrorOverrides
		results.Results[key] = result
	}
	return results, lasting, nil
}
