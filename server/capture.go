package server

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/runtime/useragent"
)

// events is what makes one route for events differ from another.
type events struct {
	legacy     bool // one more layer of base64 is taken off
	engage     bool // person updates may have no event name
	recordings bool // everything is discarded
}

var answerStatus1 = []byte(`{"status":1}`)

// capture answers the routes of wire.md §2.1 but the newest.
func (s *Server) capture(x *exchange, e events) error {
	if s.limiters.byIP != nil {
		if err := s.limiters.byIP.take(x.w.Header(), network(s.clientIP(x.r)), x.start); err != nil {
			return err
		}
	}
	x.body.maxBody, x.body.maxDecoded = s.config.MaxCaptureBody, s.config.MaxCaptureDecoded
	if e.recordings {
		x.body.maxBody += 5 << 20
	}
	query := parseCaptureQuery(x.r)
	payload, err := x.body.payload(x.r, &query, e.legacy)
	if err != nil {
		return err
	}
	request := capture.Request{
		Now: x.start, SentAt: query.sentAt(), Engage: e.engage, IP: s.clientIP(x.r),
		Agent: s.agentOf(x), Geo: s.placeOf(x),
	}
	var b capture.Batch
	if err := b.Parse(payload, request); err != nil {
		return err
	}
	p, err := s.captureProject(x, b.APIKey)
	if err != nil {
		return err
	}
	if p.AnonymizeIPs {
		request.IP = netip.Addr{}
		if err := b.Parse(payload, request); err != nil {
			return err
		}
	}
	switch {
	case e.recordings:
		s.metrics.events.WithLabelValues("discarded").Add(float64(len(b.Events)))
	case len(b.Events) == 0:
	case s.config.EventQuota != nil && !s.config.EventQuota.Take(p.Organization, len(b.Events)):
		s.metrics.events.WithLabelValues("over_quota").Add(float64(len(b.Events)))
	default:
		if err := s.accept(x, p, b.Events); err != nil {
			return err
		}
	}
	if query.beacon {
		return x.respond(http.StatusNoContent, nil, nil)
	}
	return x.respond(http.StatusOK, typeJSON, answerStatus1)
}

// captureProject finds the project of an API key, within the rate limit.
func (s *Server) captureProject(x *exchange, key string) (*Project, error) {
	if err := s.limiters.byKey.take(x.w.Header(), key, x.start); err != nil {
		return nil, err
	}
	p, err := s.config.Projects.Project(x.r.Context(), key)
	if err != nil && !errors.Is(err, ErrUnknownProject) {
		return nil, fmt.Errorf("%w: find project: %w", errBackend, err)
	}
	return p, err
}

// accept returns nil when events are durable.
func (s *Server) accept(x *exchange, p *Project, list []capture.Event) error {
	for i := range list {
		list[i].Project = p.ID
	}
	ctx, cancel := context.WithTimeout(x.r.Context(), s.config.CaptureTimeout)
	defer cancel()
	err := s.config.Capture.Accept(ctx, list...)
	result := "stored"
	if err != nil {
		result = "failed"
	}
	s.metrics.events.WithLabelValues(result).Add(float64(len(list)))
	if err == nil || x.r.Context().Err() != nil {
		return err // or nobody listens any more
	}
	if _, ok := errors.AsType[*capture.EventError](err); ok {
		return fmt.Errorf("%w: %w", errUnstorable, err)
	}
	return fmt.Errorf("%w: store events: %w", errBackend, err)
}

// errUnstorable says that an event can never be stored.
var errUnstorable = errors.New("server: event cannot be stored")

// mostAgents is how many User-Agents are remembered with their properties.
const mostAgents = 4096

// agentOf returns a function that returns the properties of the User-Agent.
func (s *Server) agentOf(x *exchange) func() []capture.Property {
	return func() []capture.Property {
		ua := x.r.UserAgent()
		const longest = 512 // of those that are worth remembering
		if ua == "" || len(ua) > longest || !utf8.ValidString(ua) {
			return nil
		}
		if list, ok := s.agents.Get(ua); ok {
			return list
		}
		var list []capture.Property
		a := useragent.Parse(ua)
		for _, p := range []struct{ name, value string }{
			{"$browser", a.Browser},
			{"$browser_version", a.BrowserVersion},
			{"$os", a.OS},
			{"$os_version", a.OSVersion},
			{"$device_type", a.DeviceType},
		} {
			if p.value != "" {
				list = append(list, capture.Property{Name: p.name, Value: quote(p.value)})
			}
		}
		if list != nil {
			list = append(list, capture.Property{Name: "$raw_user_agent", Value: quote(ua)})
		}
		s.agents.Add(strings.Clone(ua), list)
		return list
	}
}

// placeOf returns a function that returns the properties of the client's address,
// or nil if there is nobody to ask.
func (s *Server) placeOf(x *exchange) func() []capture.Property {
	if s.config.Geo == nil {
		return nil
	}
	return func() []capture.Property {
		addr := s.clientIP(x.r)
		if !addr.IsValid() {
			return nil
		}
		var list []capture.Property
		for name, value := range s.config.Geo.Properties(addr) {
			list = append(list, capture.Property{Name: name, Value: quote(value)})
		}
		return list
	}
}

func quote(s string) string {
	b, err := json.Marshal(s)
	if err != nil { // strings always can be encoded
		return `""`
	}
	return string(b)
}

// A captureQuery is what the query of a request with events may say.
type captureQuery struct {
	compression string
	data        string
	sent        string // "_"
	beacon      bool
}

func parseCaptureQuery(r *http.Request) (q captureQuery) {
	if r.URL.RawQuery == "" {
		return q
	}
	v := r.URL.Query()
	return captureQuery{v.Get("compression"), v.Get("data"), v.Get("_"), v.Get("beacon") == "1"}
}

func (q *captureQuery) sentAt() (t time.Time) {
	ms, err := strconv.ParseInt(q.sent, 10, 64)
	if err != nil {
		return t
	}
	return capture.SentAt(ms)
}

// payload reads and decodes a body with events (wire.md §2.2).
func (b *body) payload(r *http.Request, q *captureQuery, legacy bool) ([]byte, error) {
	if err := b.read(r); err != nil {
		return nil, err
	}
	payload := b.raw
	if len(bytes.TrimSpace(payload)) == 0 {
		b.text = append(b.text[:0], q.data...)
		payload = withPluses(b.text)
	}
	if len(payload) == 0 {
		return nil, errNoPayload
	}
	hint := q.compression
	form, _ := isForm(r.Header.Get("Content-Type")) // any other type will do
	if form || bytes.HasPrefix(payload, []byte("data=")) {
		data, compression, ok := formData(payload)
		if !ok {
			return nil, errNoForm
		}
		b.text = appendUnescaped(b.text[:0], data)
		if looksLikeEvents(b.text) {
			// It was not encoded further, so that blanks are blanks.
			b.text = appendUnescaped(b.text[:0], bytes.ReplaceAll(data, []byte("+"), []byte("%20")))
		} else {
			withPluses(b.text)
		}
		payload = b.text
		if len(payload) == 0 {
			return nil, errNoPayload
		}
		if hint == "" {
			hint = string(compression)
		}
	}
	if hint == "" {
		hint = strings.ToLower(r.Header.Get("Content-Encoding"))
	}

	var err error
	switch hint {
	case "lz64", "lz-string": // before base64, for which it may pass by accident
		if !isGzip(payload) && !looksLikeEvents(payload) {
			payload, err = b.decodeLZ64(payload)
			break
		}
		fallthrough
	default:
		if decoded, ok := strictBase64(b.plain[:0], payload); ok {
			b.plain, payload = decoded, decoded
		}
		switch {
		case isGzip(payload):
			payload, err = b.inflate(payload)
		case looksLikeEvents(payload): // the hint was about a proxy's work
		case hint == "gzip" || hint == "gzip-js":
			err = fmt.Errorf("%w: not gzip", errMalformed)
		case hint == "deflate" || hint == "br" || hint == "zstd":
			payload, err = b.decompress(hint, payload)
		}
	}
	if err != nil {
		return nil, err
	}
	if legacy {
		if decoded, ok := strictBase64(nil, bytes.TrimSpace(payload)); ok {
			payload = decoded
		}
	}
	return payload, nil
}

// looksLikeEvents reports whether a payload begins as JSON with events does.
func looksLikeEvents(payload []byte) bool {
	trimmed := bytes.TrimLeft(payload, " \t\r\n")
	return len(trimmed) > 0 && (trimmed[0] == '{' || trimmed[0] == '[')
}

// withPluses turns blanks, which somebody made of the plus signs of base64, back.
func withPluses(text []byte) []byte {
	for i, c := range text {
		if c == ' ' {
			text[i] = '+'
		}
	}
	return text
}

// strictBase64 decodes text that is nothing but base64 with its padding.
func strictBase64(dst, text []byte) ([]byte, bool) {
	if len(text) == 0 || len(text)%4 != 0 || looksLikeEvents(text) || bytes.ContainsAny(text, "\r\n") {
		return nil, false
	}
	decoded, err := base64.StdEncoding.AppendDecode(dst, text)
	return decoded, err == nil
}

// What can be wrong with a body before it is JSON.
var (
	errNoPayload = errors.New("server: no payload")
	errNoForm    = errors.New("server: a form without data")
)

// captureFailure answers for errors of the routes for events: one line of text
// (wire.md §2.4).
func captureFailure(x *exchange, err error) failure {
	if e, ok := errors.AsType[*capture.RequestError](err); ok {
		switch e.Kind {
		case capture.ErrUnauthorized:
			return failure{http.StatusUnauthorized, e.Text}
		case capture.ErrTooLarge:
			return failure{http.StatusRequestEntityTooLarge, e.Text}
		}
		return failure{http.StatusBadRequest, e.Text}
	}
	for _, a := range captureAnswers {
		if errors.Is(err, a.err) {
			return failure{a.status, a.body}
		}
	}
	return failure{http.StatusInternalServerError, "internal server error, request id " + x.requestID()}
}

var captureAnswers = []answer{
	{errMethod, http.StatusMethodNotAllowed, "method not allowed"},
	{errNoPayload, http.StatusBadRequest, "request missing data payload"},
	{errNoForm, http.StatusBadRequest, "failed to decode request: expected form data in POST request payload"},
	{errMalformed, http.StatusBadRequest, "failed to decode request: the body is not what its compression says"},
	{errUnstorable, http.StatusBadRequest, "an event cannot be stored; the others were"},
	{ErrUnknownProject, http.StatusUnauthorized, "API key does not belong to any project"},
	{errTooLarge, http.StatusRequestEntityTooLarge, "maximum event size exceeded: the body is too large"},
	{errInterrupted, http.StatusRequestTimeout, "the body did not arrive in full"},
	{errRateLimited, http.StatusTooManyRequests, "rate limited"},
	{errBusy, http.StatusServiceUnavailable, "transient error, please retry"},
	{errBackend, http.StatusServiceUnavailable, "transient error, please retry"},
	{context.DeadlineExceeded, http.StatusServiceUnavailable, "transient error, please retry"},
	{context.Canceled, http.StatusRequestTimeout, "the client closed the request"},
}
