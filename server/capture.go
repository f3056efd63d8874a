package server

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
	"github.com/flagstaff-go/flagstaff/runtime/useragent"
)

// events is what makes one route for events differ from another.
type events struct {
	legacy     bool // one more layer of base64 is removed
	engage     bool // person updates may have no event name
	recordings bool // everything is discarded
}

var answerStatus1 = []byte(`{"status":1}`)

// capture answers the routes of wire.md §2.1, except the newest one.
func (s *Server) capture(x *exchange, e events) error {
	ip := s.ClientIP(x.r)
	if err := s.limiters.byIP.take(x.w.Header(), network(ip), x.start); err != nil {
		return err
	}
	x.body.maxBody, x.body.maxDecoded = s.config.Capture.MaxBody, s.config.Capture.MaxDecoded
	maxEvent := s.config.Capture.MaxEvent
	if e.recordings { // which are larger, and not stored
		x.body.maxBody += 5 << 20
		maxEvent = 0
	}
	query, err := parseCaptureQuery(x.r)
	if err != nil {
		return err
	}
	payload, err := x.body.payload(x.r, &query, e.legacy)
	if err != nil {
		return err
	}
	request := capture.Request{
		Now: x.start, SentAt: query.sentAt(), Engage: e.engage, MaxEvent: maxEvent, IP: ip,
		Agent: s.agentOf(x), Geo: s.placeOf(ip),
	}
	if err := x.body.charge(eventMemory(payload)); err != nil {
		return err
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
		b.Anonymize()
	}
	discarded := b.Dropped
	switch {
	case e.recordings:
		discarded += len(b.Events)
	case len(b.Events) == 0:
	case s.config.Capture.Quota != nil && !s.config.Capture.Quota.Take(p.Organization, len(b.Events)):
		s.metrics.events.WithLabelValues("over_quota").Add(float64(len(b.Events)))
	default:
		if err := s.accept(x, p, b.Events); err != nil {
			return err
		}
	}
	if discarded > 0 {
		s.metrics.events.WithLabelValues("discarded").Add(float64(discarded))
	}
	if query.beacon {
		return x.respond(http.StatusNoContent, nil, nil)
	}
	return x.respond(http.StatusOK, typeJSON, answerStatus1)
}

// captureProject finds the project of an API key, within the rate limit.
func (s *Server) captureProject(x *exchange, key string) (*Project, error) {
	if err := s.limiters.byKey.take(x.w.Header(), limitedKey(key), x.start); err != nil {
		return nil, err
	}
	return s.projectOf(x, key)
}

// accept returns nil when events are durable.
func (s *Server) accept(x *exchange, p *Project, list []capture.Event) error {
	for i := range list {
		list[i].Project = p.ID
	}
	ctx, cancel := context.WithTimeout(x.r.Context(), s.config.Capture.Timeout)
	defer cancel()
	err := s.config.Capture.Collector.Accept(ctx, list...)
	if err == nil {
		s.metrics.events.WithLabelValues("stored").Add(float64(len(list)))
		return nil
	}
	if faults, only := capture.Faults(err, len(list)); only {
		s.metrics.events.WithLabelValues("stored").Add(float64(len(list) - len(faults)))
		s.metrics.events.WithLabelValues("failed").Add(float64(len(faults)))
		return &unstorableError{faults, err}
	}
	s.metrics.events.WithLabelValues("failed").Add(float64(len(list)))
	if x.r.Context().Err() != nil {
		return err // the client has gone
	}
	return fmt.Errorf("%w: store events: %w", errBackend, err)
}

// errUnstorable says that some events can never be stored.
var errUnstorable = errors.New("server: event cannot be stored")

// An unstorableError is an errUnstorable that has the events.
type unstorableError struct {
	faults []*capture.EventError
	err    error
}

func (e *unstorableError) Error() string   { return errUnstorable.Error() + ": " + e.err.Error() }
func (e *unstorableError) Unwrap() []error { return []error{errUnstorable, e.err} }

// eventMemory returns about how many bytes the events of a payload take in addition
// to the payload: their properties are copied, and each event has its own fields
// and the properties that are added to it.
func eventMemory(payload []byte) int64 {
	const perEvent = 1500 // bytes, as measured with a place and a browser
	n := min(bytes.Count(payload, []byte{'{'}), capture.MaxEvents)
	return int64(len(payload) + n*perEvent)
}

// maxAgents is how many User-Agents are remembered with their properties.
const maxAgents = 4096

// agentOf returns a function that returns the properties of the User-Agent.
func (s *Server) agentOf(x *exchange) func() []capture.Property {
	return func() []capture.Property {
		ua := x.r.UserAgent()
		const maxAgent = 512 // bytes; longer ones are rare and have nothing to tell
		if ua == "" || len(ua) > maxAgent || !utf8.ValidString(ua) {
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

// placeOf returns a function that returns the properties of an address, or nil if
// there is no address or no Geo.
func (s *Server) placeOf(addr netip.Addr) func() []capture.Property {
	if s.config.Geo == nil || !addr.IsValid() {
		return nil
	}
	return func() []capture.Property {
		var list []capture.Property
		for name, value := range s.config.Geo.Properties(addr) {
			list = append(list, capture.Property{Name: name, Value: quote(value)})
		}
		return list
	}
}

func quote(s string) string {
	b, err := json.Marshal(s)
	if err != nil { // cannot be: a string
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

func parseCaptureQuery(r *http.Request) (q captureQuery, err error) {
	if r.URL.RawQuery == "" {
		return q, nil
	}
	beacon := ""
	for pair := range strings.SplitSeq(r.URL.RawQuery, "&") {
		name, value, _ := strings.Cut(pair, "=")
		switch name {
		case "compression":
			q.compression = queryValue(q.compression, value)
		case "data":
			q.data = queryValue(q.data, value)
		case "_":
			q.sent = queryValue(q.sent, value)
		case "beacon":
			beacon = queryValue(beacon, value)
		}
	}
	if beacon != "" {
		q.beacon, err = parseTruth("beacon", beacon)
	}
	return q, err
}

// queryValue returns the value of a parameter that had a known value before. The
// first value counts.
func queryValue(known, value string) string {
	if known != "" || strings.IndexByte(value, '%') < 0 && strings.IndexByte(value, '+') < 0 {
		return cmp.Or(known, value)
	}
	value, err := url.QueryUnescape(value)
	if err != nil {
		return ""
	}
	return value
}

func (q *captureQuery) sentAt() (t time.Time) {
	if q.sent == "" {
		return t
	}
	ms, err := strconv.ParseInt(q.sent, 10, 64)
	if err != nil {
		return t
	}
	return capture.SentAt(ms)
}

// payload reads and decodes a body with events (wire.md §2.2).
func (b *body) payload(r *http.Request, q *captureQuery, legacy bool) ([]byte, error) {
	if err := b.read(); err != nil {
		return nil, err
	}
	payload := b.raw
	var formHint string
	form, _ := isForm(r.Header.Get("Content-Type")) // any other type will do
	switch {
	case len(bytes.TrimSpace(payload)) == 0:
		b.text = append(b.text[:0], q.data...)
		if payload = b.text; !looksLikeEvents(payload) {
			withPluses(payload)
		}
	case form && looksLikeEvents(payload): // curl -d calls JSON a form
	case form || bytes.HasPrefix(payload, []byte("data=")):
		data, compression, ok := formData(payload)
		if !ok {
			return nil, errNoForm
		}
		if err := b.unescape(data); err != nil {
			return nil, err
		}
		if payload = b.text; looksLikeEvents(payload) {
			// It was not encoded further, so a plus sign was a blank.
			payload = appendUnescaped(b.text[:0], withBlanks(data))
		} else {
			withPluses(payload)
		}
		formHint = string(compression)
	}
	if len(payload) == 0 {
		return nil, errEmptyBody
	}

	hint := q.compression
	if !isHint(hint) {
		hint = formHint
	}
	if !isHint(hint) {
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
		if b.plain, payload, err = b.strictBase64(b.plain, payload); err != nil {
			return nil, err
		}
		switch {
		case isGzip(payload):
			payload, err = b.inflate(payload)
		case hint == "br" && !utf8.Valid(payload): // even if it begins as JSON does
			payload, err = b.decompress(hint, payload)
		case looksLikeEvents(payload): // a proxy has undone what the hint is about
		case hint == "gzip" || hint == "gzip-js":
			err = fmt.Errorf("%w: not gzip", errMalformed)
		case hint == "deflate" || hint == "br" || hint == "zstd":
			payload, err = b.decompress(hint, payload)
		}
	}
	if err == nil && legacy {
		b.inner, payload, err = b.strictBase64(b.inner, bytes.TrimSpace(payload))
	}
	if err == nil && isBlank(payload) {
		err = errEmptyBody
	}
	return payload, err
}

// isHint reports whether a hint about compression is known (wire.md §2.2).
func isHint(s string) bool {
	switch s {
	case "gzip", "gzip-js", "lz64", "lz-string", "base64", "b64", "deflate", "br", "zstd":
		return true
	}
	return false
}

// looksLikeEvents reports whether a payload begins like JSON with events.
func looksLikeEvents(payload []byte) bool {
	trimmed := bytes.TrimLeft(payload, " \t\r\n")
	return len(trimmed) > 0 && (trimmed[0] == '{' || trimmed[0] == '[')
}

// withPluses turns blanks back into the plus signs of base64 that decoding a form
// made blanks.
func withPluses(text []byte) []byte {
	for i, c := range text {
		if c == ' ' {
			text[i] = '+'
		}
	}
	return text
}

// withBlanks turns the plus signs of a form into blanks.
func withBlanks(text []byte) []byte {
	for i, c := range text {
		if c == '+' {
			text[i] = ' '
		}
	}
	return text
}

// strictBase64 decodes text that is nothing but base64 with its padding into the
// memory of buffer. It returns other text unchanged, and so it does JSON that happens
// to be of that alphabet: null, true, and numbers.
func (b *body) strictBase64(buffer, text []byte) (newBuffer, decoded []byte, err error) {
	if !isBase64(text) {
		return buffer, text, nil
	}
	if jsonscan.Value(text).Kind() != jsonscan.Invalid {
		if _, err := jsonscan.Parse(text, jsonscan.MaxDepth); err == nil {
			return buffer, text, nil
		}
	}
	buffer, err = b.room(buffer, base64.StdEncoding.DecodedLen(len(text)))
	if err != nil {
		return buffer, nil, err
	}
	decoded, err = base64.StdEncoding.AppendDecode(buffer, text)
	if err != nil { // wrong padding
		return buffer, text, nil
	}
	return decoded, decoded, nil
}

// isBase64 reports whether text has the length and the alphabet of base64. It needs
// no memory, and sees only the first byte of most bodies.
func isBase64(text []byte) bool {
	if len(text) == 0 || len(text)%4 != 0 {
		return false
	}
	for _, c := range text {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '+', c == '/', c == '=':
		default:
			return false
		}
	}
	return true
}

// captureFailure answers for errors of the routes for events (wire.md §2.4).
func captureFailure(x *exchange, err error) failure {
	if e, ok := errors.AsType[*capture.RequestError](err); ok {
		status, typ := http.StatusBadRequest, typeValidation
		switch {
		case e.Kind == capture.ErrUnauthorized:
			status, typ = http.StatusUnauthorized, typeAuthentication
		case e.Kind == capture.ErrTooLarge:
			status, typ = http.StatusRequestEntityTooLarge, typeInvalidRequest
		case e.Code == codeParse:
			typ = typeInvalidRequest
		}
		return newFailure(status, typ, e.Code, e.Text, e.Attr)
	}
	if e, ok := errors.AsType[*parameterError](err); ok {
		return e.failure()
	}
	for _, a := range captureAnswers {
		if errors.Is(err, a.err) {
			return newFailure(a.status, a.typ, a.code, aboutKey(err, a.detail), "")
		}
	}
	return newFailure(http.StatusInternalServerError, typeServer, "error", "internal server error, request id "+x.requestID(), "")
}

var captureAnswers = []answer{
	{errMethod, http.StatusMethodNotAllowed, typeInvalidRequest, "method_not_allowed", "method not allowed"},
	{errEmptyBody, http.StatusBadRequest, typeInvalidRequest, "empty_body", "request missing data payload"},
	{errNoForm, http.StatusBadRequest, typeInvalidRequest, codeParse, "failed to decode request: expected form data in POST request payload"},
	{errMalformed, http.StatusBadRequest, typeInvalidRequest, codeParse, "failed to decode request: the body is not what its compression says"},
	{errUnstorable, http.StatusBadRequest, typeValidation, codeInvalid, "an event cannot be stored; the others were"},
	{ErrUnknownProject, http.StatusUnauthorized, typeAuthentication, "authentication_failed", "API key does not belong to any project"},
	{errNoRoom, http.StatusRequestEntityTooLarge, typeInvalidRequest, codeTooLarge, "maximum event size exceeded: the body takes more memory than this server has for bodies"},
	{errTooLarge, http.StatusRequestEntityTooLarge, typeInvalidRequest, codeTooLarge, "maximum event size exceeded: the body is too large"},
	{errInterrupted, http.StatusRequestTimeout, typeInvalidRequest, codeTimeout, "the body did not arrive in full"},
	{errRateLimited, http.StatusTooManyRequests, typeValidation, "rate_limit_exceeded", "rate limited"},
	{errBusy, http.StatusServiceUnavailable, typeServer, codeUnavailable, "transient error, please retry"},
	{errBackend, http.StatusServiceUnavailable, typeServer, codeUnavailable, "transient error, please retry"},
	{context.DeadlineExceeded, http.StatusServiceUnavailable, typeServer, codeUnavailable, "transient error, please retry"},
	{context.Canceled, http.StatusRequestTimeout, typeInvalidRequest, codeTimeout, "the client closed the request"},
}
