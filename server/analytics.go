package server

import (
	"context"
	"encoding/json"
	"errors"
	"mime"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/flagstaff-go/flagstaff/capture"
)

// Faults of the headers of /i/v1/analytics/events.
var (
	errNoAuthorization = errors.New("server: no bearer token")
	errNoHeaders       = errors.New("server: a required header is missing")
	errMediaType       = errors.New("server: content type is not JSON")
	errEncoding        = errors.New("server: unknown content encoding")
	errHeaderValue     = errors.New("server: a header has an invalid value")
	errNoBody          = errors.New("server: empty body")
	errEventQuota      = errors.New("server: event quota exceeded")
)

// A headerError names the header that is wrong.
type headerError struct {
	kind   error
	header string
	want   string
}

func (e *headerError) Error() string { return e.kind.Error() + ": " + e.header }
func (e *headerError) Unwrap() error { return e.kind }

// analytics answers /i/v1/analytics/events. It checks in the order of wire.md §2.9.
func (s *Server) analytics(x *exchange) error {
	ip := s.ClientIP(x.r)
	if err := s.limiters.byIP.take(x.w.Header(), network(ip), x.start); err != nil {
		return err
	}
	if id := x.r.Header.Get("PostHog-Request-Id"); id != "" && len(id) <= 64 {
		x.w.Header()["Posthog-Request-Id"] = []string{id}
	}
	key, ok := bearer(x.r.Header.Get("Authorization"))
	if !ok {
		return errNoAuthorization
	}
	request, encoding, err := s.analyticsHeaders(x, ip)
	if err != nil {
		return err
	}
	if len(key) > maxKey {
		return ErrUnknownProject
	}
	p, err := s.captureProject(x, key)
	if err != nil {
		return err
	}
	x.body.maxBody, x.body.maxDecoded = min(s.config.Capture.MaxBody, 10<<20), s.config.Capture.MaxDecoded
	if err := x.body.read(); err != nil {
		return err
	}
	if len(x.body.raw) == 0 {
		return errNoBody
	}
	payload, err := x.body.analyticsBody(encoding)
	if err != nil {
		return err
	}
	if err := x.body.charge(eventMemory(payload)); err != nil {
		return err
	}
	if !p.AnonymizeIPs {
		request.IP = ip
	}
	var b capture.AnalyticsBatch
	if err := b.Parse(payload, request); err != nil {
		return err
	}
	if n := len(b.Results) - len(b.Events); n > 0 {
		s.metrics.events.WithLabelValues("discarded").Add(float64(n))
	}
	if len(b.Events) > 0 {
		if s.config.Capture.Quota != nil && !s.config.Capture.Quota.Take(p.Organization, len(b.Events)) {
			s.metrics.events.WithLabelValues("over_quota").Add(float64(len(b.Events)))
			return errEventQuota
		}
		if err := s.accept(x, p, b.Events); err != nil {
			if x.r.Context().Err() != nil {
				return err
			}
			s.config.Log.Error("events were not stored", "request_id", x.requestID(), "error", err)
			notStored(&b, err)
			if errors.Is(err, errBackend) {
				x.w.Header()["Retry-After"] = []string{"1"}
			}
		}
	}
	x.out = appendResults(x.out[:0], b.Results)
	return x.respond(http.StatusOK, typeJSON, x.out)
}

// notStored changes the results of the events that the error of a Collector names.
func notStored(b *capture.AnalyticsBatch, err error) {
	e, some := errors.AsType[*unstorableError](err)
	bad := make(map[int]bool)
	if some {
		for _, f := range e.faults {
			bad[f.Index] = true
		}
	}
	for i := range b.Results {
		r := &b.Results[i]
		switch {
		case r.Event < 0:
		case !some:
			r.Result, r.Details = "retry", "not_persisted"
		case bad[r.Event]:
			r.Result, r.Details = "drop", "malformed_event_properties"
		}
	}
}

func appendResults(dst []byte, results []capture.Result) []byte {
	dst = append(dst, `{"results":{`...)
	for i, r := range results {
		if i > 0 {
			dst = append(dst, ',')
		}
		// Nothing needs escapes: a UUID, and texts from tables of this package and
		// of package capture.
		dst = append(append(append(dst, '"'), r.UUID...), `":{"result":"`...)
		dst = append(append(dst, r.Result...), '"')
		if r.Details != "" {
			dst = append(append(append(dst, `,"details":"`...), r.Details...), '"')
		}
		dst = append(dst, '}')
	}
	return append(dst, "}}"...)
}

// maxLibrary is the length of PostHog-Sdk-Info in bytes: a name and a version.
const maxLibrary = 200

// bearer returns the token of an Authorization header.
func bearer(header string) (string, bool) {
	scheme, token, ok := strings.Cut(header, " ")
	token = strings.TrimSpace(token)
	return token, ok && token != "" && strings.EqualFold(scheme, "Bearer")
}

// analyticsHeaders reads and checks the headers.
func (s *Server) analyticsHeaders(x *exchange, ip netip.Addr) (request capture.AnalyticsRequest, encoding string, err error) {
	h := x.r.Header
	for _, name := range []string{"PostHog-Sdk-Info", "PostHog-Attempt", "PostHog-Request-Id", "PostHog-Request-Timestamp", "Content-Type", "User-Agent"} {
		if h.Get(name) == "" {
			return request, "", &headerError{errNoHeaders, name, ""}
		}
	}
	if mediaType, _, err := mime.ParseMediaType(h.Get("Content-Type")); err != nil || mediaType != "application/json" {
		return request, "", errMediaType
	}
	if encoding = strings.ToLower(h.Get("Content-Encoding")); !knownEncoding(encoding) {
		return request, "", errEncoding
	}
	if _, err := capture.ParseUUID(h.Get("PostHog-Request-Id")); err != nil {
		return request, "", &headerError{errHeaderValue, "PostHog-Request-Id", "a UUID"}
	}
	if n, err := strconv.Atoi(h.Get("PostHog-Attempt")); err != nil || n < 1 {
		return request, "", &headerError{errHeaderValue, "PostHog-Attempt", "an integer from 1 on"}
	}
	sent, err := time.Parse(time.RFC3339, h.Get("PostHog-Request-Timestamp"))
	if err != nil {
		return request, "", &headerError{errHeaderValue, "PostHog-Request-Timestamp", "a time in RFC 3339"}
	}
	// Each event gets a copy of the header, so it is short.
	if len(h.Get("PostHog-Sdk-Info")) > maxLibrary {
		return request, "", &headerError{errHeaderValue, "PostHog-Sdk-Info", "at most " + strconv.Itoa(maxLibrary) + " bytes"}
	}
	request.Library, request.LibraryVersion, _ = strings.Cut(h.Get("PostHog-Sdk-Info"), "/")
	request.Now, request.SentAt, request.MaxEvent = x.start, sent, s.config.Capture.MaxEvent
	request.Agent, request.Geo = s.agentOf(x), s.placeOf(ip)
	return request, encoding, nil
}

// An analyticsAnswer is what clients get for an error.
type analyticsAnswer struct {
	err    error
	status int
	tag    string
	text   string
}

// analyticsAnswers is the table of errors of wire.md §2.9.
var analyticsAnswers = []analyticsAnswer{
	{errMethod, http.StatusMethodNotAllowed, "method_not_allowed", "Only POST is allowed."},
	{errNoAuthorization, http.StatusUnauthorized, "missing_authorization", "Send the project API key as Authorization: Bearer KEY."},
	{errMediaType, http.StatusUnsupportedMediaType, "unsupported_content_type", "The content type must be application/json."},
	{errEncoding, http.StatusUnsupportedMediaType, "unsupported_encoding", "The content encoding must be gzip, deflate, br, zstd or none."},
	{ErrUnknownProject, http.StatusUnauthorized, "invalid_api_token", "The API key does not belong to any project."},
	{errTooLarge, http.StatusRequestEntityTooLarge, "payload_too_large", "The body is too large."},
	{errNoBody, http.StatusBadRequest, "empty_body", "The body is empty."},
	{errMalformed, http.StatusBadRequest, "request_decoding_error", "The body is not what its content encoding says."},
	{errEventQuota, http.StatusPaymentRequired, "billing_limit_exceeded", "The event quota of the organization is used up."},
	{errInterrupted, http.StatusRequestTimeout, "request_timeout", "The body did not arrive in full."},
	{errRateLimited, http.StatusTooManyRequests, "rate_limited", "Too many requests."},
	{errBusy, http.StatusServiceUnavailable, "service_unavailable", "The service is busy. Please try again later."},
	{errBackend, http.StatusServiceUnavailable, "service_unavailable", "The service is temporarily unavailable. Please try again later."},
	{context.DeadlineExceeded, http.StatusGatewayTimeout, "gateway_timeout", "The service did not answer in time. Please try again later."},
	{context.Canceled, http.StatusRequestTimeout, "request_timeout", "The client closed the request."},
}

// analyticsFailure answers for errors as JSON.
func analyticsFailure(x *exchange, err error) failure {
	if e, ok := errors.AsType[*capture.AnalyticsError](err); ok {
		return newAnalyticsFailure(http.StatusBadRequest, e.Tag, e.Text)
	}
	if e, ok := errors.AsType[*headerError](err); ok {
		if errors.Is(err, errNoHeaders) {
			return newAnalyticsFailure(http.StatusBadRequest, "missing_required_headers", "The header "+e.header+" is missing.")
		}
		return newAnalyticsFailure(http.StatusBadRequest, "invalid_header_value", "The header "+e.header+" must be "+e.want+".")
	}
	for _, a := range analyticsAnswers {
		if errors.Is(err, a.err) {
			return newAnalyticsFailure(a.status, a.tag, aboutKey(err, a.text))
		}
	}
	return newAnalyticsFailure(http.StatusInternalServerError, "internal_error", "Internal server error. Request id: "+x.requestID())
}

func newAnalyticsFailure(status int, tag, text string) failure {
	body, err := json.Marshal(struct {
		Error       string `json:"error"`
		Description string `json:"error_description"`
		URI         string `json:"error_uri"`
	}{tag, text, "https://posthog.com/docs/api"})
	if err != nil { // cannot be: three strings
		return failure{http.StatusInternalServerError, `{"error":"internal_error"}`}
	}
	return failure{status, string(body)}
}
