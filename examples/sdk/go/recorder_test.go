package sdk

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
)

// An exchange is a request and its answer.
type exchange struct {
	method, path string
	query        url.Values
	header       http.Header
	body         object // if it is a JSON object; decompressed
	gzip         bool
	status       int
	answerHeader http.Header
	text         string
	answer       object // if it is a JSON object
}

// events lists the events in a request.
func (e exchange) events() []object {
	batch, _ := e.body["batch"].([]any)
	var events []object
	for _, item := range batch {
		event, _ := item.(object)
		events = append(events, event)
	}
	return events
}

// A recorder is a proxy between the SDK and the server that records each
// request and its answer. It passes all headers on unchanged, including Host.
type recorder struct {
	t   testing.TB
	url string

	mu        sync.Mutex
	exchanges []exchange
}

func newRecorder(t testing.TB, server string) *recorder {
	r := &recorder{t: t}
	transport := &http.Transport{DisableCompression: true}
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		if err := r.pass(transport, server, w, request); err != nil {
			t.Errorf("proxy: %v", err)
			panic(http.ErrAbortHandler)
		}
	}))
	t.Cleanup(func() {
		proxy.Close()
		transport.CloseIdleConnections()
	})
	r.url = proxy.URL
	return r
}

func (r *recorder) pass(transport *http.Transport, server string, w http.ResponseWriter, request *http.Request) error {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return err
	}
	onward, err := http.NewRequest(request.Method, server+request.URL.RequestURI(), bytes.NewReader(body))
	if err != nil {
		return err
	}
	onward.Header, onward.Host = request.Header.Clone(), request.Host
	response, err := transport.RoundTrip(onward)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	e := exchange{
		method: request.Method, path: request.URL.Path, query: request.URL.Query(), header: request.Header,
		status: response.StatusCode, answerHeader: response.Header, text: string(text),
	}
	// Bodies that are not JSON objects stay nil.
	e.body, e.gzip = decode(body)
	_ = json.Unmarshal(text, &e.answer)

	// The exchange is recorded before its answer is passed on, so that a test
	// that has seen the answer finds the exchange.
	r.mu.Lock()
	r.exchanges = append(r.exchanges, e)
	r.mu.Unlock()
	maps.Copy(w.Header(), response.Header)
	w.WriteHeader(response.StatusCode)
	_, err = w.Write(text)
	return err
}

func decode(body []byte) (v object, compressed bool) {
	if unzip, err := gzip.NewReader(bytes.NewReader(body)); err == nil {
		compressed = true
		body, _ = io.ReadAll(unzip)
	}
	_ = json.Unmarshal(body, &v)
	return v, compressed
}

func (r *recorder) mark() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.exchanges)
}

// since lists the exchanges after a mark that satisfy a condition.
func (r *recorder) since(mark int, satisfies func(exchange) bool) []exchange {
	r.mu.Lock()
	defer r.mu.Unlock()
	var found []exchange
	for _, e := range r.exchanges[mark:] {
		if satisfies(e) {
			found = append(found, e)
		}
	}
	return found
}

// until waits for an exchange after a mark that satisfies a condition, and
// returns it.
func (r *recorder) until(what string, mark int, satisfies func(exchange) bool) exchange {
	r.t.Helper()
	found := poll(func() []exchange { return r.since(mark, satisfies) }, func(e []exchange) bool { return len(e) > 0 })
	if len(found) == 0 {
		r.t.Fatalf("no %s", what)
	}
	return found[0]
}

// untilEvent waits for an event that satisfies a condition.
func (r *recorder) untilEvent(what string, mark int, satisfies func(object) bool) (object, exchange) {
	r.t.Helper()
	var event object
	e := r.until(what, mark, func(e exchange) bool {
		for _, candidate := range e.events() {
			if satisfies(candidate) {
				event = candidate
				return true
			}
		}
		return false
	})
	return event, e
}

func atPath(path string) func(exchange) bool {
	return func(e exchange) bool { return e.path == path }
}

func named(name string) func(object) bool {
	return func(event object) bool { return event["event"] == name }
}

func properties(event object) object {
	p, _ := event["properties"].(object)
	return p
}
