package server

import (
	"context"
	"net/http"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/flags/subject"
	"github.com/flagstaff-go/flagstaff/flags/wire"
	"github.com/flagstaff-go/flagstaff/internal/text"
)

// An exchange is one request, its answer, and the memory for both, which later
// exchanges reuse.
type exchange struct {
	w     http.ResponseWriter
	r     *http.Request
	start time.Time

	status   int                                // of the answer, 0 before there is one
	streams  bool                               // the answer is written while it is made
	answered func(status int, requestID string) // of Config.OnRequest; nil: nobody waits
	id       string                             // "" before the first call of requestID
	apiKey   string                             // of the project that OpenFeature's protocol is about, "" otherwise

	query wire.Query
	body  body
	req   wire.Request
	in    flags.Input
	out   []byte
	key   [1]string // of the flag, if the request is about one
	more  []byte    // eventStreams of the answer

	shard uint32 // where evaluations.add counted last

	opened *stream // to be written after the exchange; nil if there is none

	// filler has the stored data to which in refers until the answer is written.
	filler subject.Filler
}

func newExchange(s *Server) *exchange {
	return &exchange{
		body:   body{budget: &s.budget},
		filler: subject.Filler{Store: s.config.Store, Timeout: s.config.StoreTimeout, Locator: s.config.Geo},
	}
}

// serve runs a route's handler and answers for it if it fails. It returns an event stream
// that the caller is to write: a stream takes long, and keeps no exchange.
func (s *Server) serve(rt *route, w http.ResponseWriter, r *http.Request) *stream {
	x := s.exchanges.Get().(*exchange)
	x.w, x.r, x.start, x.status, x.streams, x.id = w, r, time.Now(), 0, false, ""
	x.body.in = newArrival(w, r)
	x.body.maxBody, x.body.maxDecoded = s.config.MaxBody, s.config.MaxDecoded
	s.metrics.inFlight.Inc()
	if s.config.OnRequest != nil {
		var ctx context.Context
		ctx, x.answered = s.config.OnRequest(r, rt.path)
		x.r = r.WithContext(ctx)
	}
	defer s.finish(rt, x)
	if rt.public {
		setCORS(w.Header(), r.Header)
	}
	if err := s.dispatch(rt, x); err != nil {
		s.fail(rt, x, err)
	}
	return x.opened
}

// finish ends an exchange, also after a panic. The process survives the panic, and
// the client gets an error. Only the type of the panic's value is logged, because
// the value may quote a request.
func (s *Server) finish(rt *route, x *exchange) {
	v := recover()
	if v != nil && v != http.ErrAbortHandler {
		s.config.Log.Error("panic", "request_id", x.requestID(), "route", rt.path, "value", text.OfPanic(v), "stack", string(debug.Stack()))
		if x.status == 0 {
			s.fail(rt, x, errPanic)
			v = nil
		} else {
			v = http.ErrAbortHandler // so that the client sees that the answer is cut off
		}
	}
	s.metrics.inFlight.Dec()
	x.body.release()
	s.metrics.observe(rt, x.status, time.Since(x.start))
	if x.answered != nil {
		x.answered(x.status, x.requestID())
		x.answered = nil
	}
	if v != nil {
		panic(v)
	}
	x.w, x.r, x.id, x.apiKey, x.key[0], x.opened, x.body.in = nil, nil, "", "", "", nil, arrival{}
	if x.status != http.StatusInternalServerError && x.body.size() <= maxPooledBody && int64(cap(x.out)+cap(x.more)+x.filler.Memory()) <= s.maxPooled {
		s.exchanges.Put(x)
	}
}

// How many bytes of memory an exchange may keep for the next request: for bodies,
// whose size clients choose, some fifty times what SDKs send, and otherwise the
// answer of ten thousand flags, or less if there is little memory. After a larger
// request the memory is freed.
const (
	maxPooledBody = 128 << 10
	maxPooled     = 8 << 20
)

// requestID returns the id of the request: its X-Request-Id if that is a UUID,
// otherwise a new one (evaluation.md §11.1).
func (x *exchange) requestID() string {
	if x.id == "" {
		x.id = x.r.Header.Get("X-Request-Id")
		const length = len("00000000-0000-0000-0000-000000000000") // other forms exist
		if len(x.id) != length || uuid.Validate(x.id) != nil {
			x.id = uuid.NewString()
		}
	}
	return x.id
}

// Values of the header Content-Type, shared by all answers.
var (
	typeJSON = []string{"application/json"}
	typeText = []string{"text/plain; charset=utf-8"}
)

// respondOut answers with x.out. A long answer is charged, because a client may read it
// slowly.
func (x *exchange) respondOut() error {
	if x.body.charge(int64(len(x.out))) != nil {
		return errBusy
	}
	return x.respond(http.StatusOK, typeJSON, x.out)
}

// respond writes the whole answer. It always returns nil: if the client has gone,
// nothing is left to do.
func (x *exchange) respond(status int, contentType []string, body []byte) error {
	h := x.w.Header()
	if status != http.StatusNoContent {
		h["Content-Type"] = contentType
		h["Content-Length"] = []string{strconv.Itoa(len(body))}
	}
	x.status = status
	x.prolong()
	x.w.WriteHeader(status)
	if len(body) > 0 {
		x.write(body)
	}
	return nil
}
