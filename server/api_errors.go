package server

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/management"
)

// An apiAnswer is what clients of the management API get for an error.
type apiAnswer struct {
	err    error // or the kind of a management.Error
	status int
	typ    string

	// code and detail are for errors other than management.Error, which has its
	// own.
	code, detail string
}

// apiAnswers is the one table of errors of the management API (management.md §2.2).
// The first entry that matches the error counts; the last one matches all errors.
// The type of conflicts is one of PostHog's oddities.
var apiAnswers = []apiAnswer{
	{management.ErrInvalid, http.StatusBadRequest, "validation_error", "", ""},
	{management.ErrUnauthenticated, http.StatusUnauthorized, "authentication_error", "", ""},
	{management.ErrForbidden, http.StatusForbidden, "authentication_error", "", ""},
	{management.ErrNotFound, http.StatusNotFound, "invalid_request", "", ""},
	{management.ErrConflict, http.StatusConflict, "server_error", "", ""},
	{management.ErrPrecondition, http.StatusPreconditionFailed, "invalid_request", "", ""},
	{management.ErrThrottled, http.StatusTooManyRequests, "throttled_error", "", ""},

	{errNotFound, http.StatusNotFound, "invalid_request", "not_found", "Endpoint not found."},
	{errMethod, http.StatusMethodNotAllowed, "invalid_request", "method_not_allowed", ""}, // names the method
	{errRateLimited, http.StatusTooManyRequests, "throttled_error", "throttled", ""},      // says how long
	{errQuota, http.StatusPaymentRequired, "quota_limited", "payment_required", "You have exceeded your feature flag request quota"},
	{errMalformed, http.StatusBadRequest, "invalid_request", "parse_error", "JSON parse error - the body cannot be read"},
	{errTooLarge, http.StatusRequestEntityTooLarge, "invalid_request", "request_too_large", "The request body is too large."},
	{errContentType, http.StatusUnsupportedMediaType, "invalid_request", "unsupported_media_type", "Unsupported media type, want application/json."},
	{errCompression, http.StatusUnsupportedMediaType, "invalid_request", "unsupported_media_type", "Compressed bodies are not supported."},
	{errInterrupted, http.StatusRequestTimeout, "invalid_request", "request_timeout", "The request body did not arrive in full."},
	{context.Canceled, http.StatusRequestTimeout, "invalid_request", "request_timeout", "The client closed the request."},

	{capture.ErrUnavailable, http.StatusServiceUnavailable, "server_error", "service_unavailable", unavailable},
	{context.DeadlineExceeded, http.StatusServiceUnavailable, "server_error", "service_unavailable", unavailable},
	{errNotReady, http.StatusServiceUnavailable, "server_error", "service_unavailable", unavailable},
	{errBusy, http.StatusServiceUnavailable, "server_error", "service_unavailable", unavailable},
	{errBackend, http.StatusServiceUnavailable, "server_error", "service_unavailable", unavailable},
	{nil, http.StatusInternalServerError, "server_error", "error", "A server error occurred."},
}

const unavailable = "The service is temporarily unavailable. Please try again later."

// apiFailure answers for errors of the management API.
func apiFailure(x *exchange, err error) failure {
	a, e := apiProblem(x, err)
	return failure{a.status, envelope(a.typ, e)}
}

// apiProblem returns what there is to answer for an error, and sets the headers that go
// with it.
func apiProblem(x *exchange, err error) (*apiAnswer, *management.Error) {
	e := management.Error{Kind: err}
	own, known := errors.AsType[*management.Error](err)
	if known {
		e = *own
	}
	a := apiAnswerTo(e.Kind, known)
	if !known {
		e.Code, e.Detail = a.code, a.detail
	}
	h := x.w.Header()
	switch a.status {
	case http.StatusUnauthorized:
		h["Www-Authenticate"] = []string{"Bearer"}
	case http.StatusMethodNotAllowed:
		const maxMethod = 20 // bytes; the names of all existing methods are shorter
		e.Detail = `Method "` + x.r.Method[:min(len(x.r.Method), maxMethod)] + `" not allowed.`
	case http.StatusTooManyRequests:
		if limit, ok := errors.AsType[*rateLimitError](err); ok {
			h["Ratelimit-Limit"] = []string{strconv.Itoa(limit.burst)}
			e.RetryAfter = time.Duration(limit.retryAfter) * time.Second
		}
		if e.RetryAfter > 0 {
			e.Detail = throttledDetail(seconds(e.RetryAfter)) // a Service has words for people
			wait := []string{strconv.Itoa(seconds(e.RetryAfter))}
			h["Retry-After"], h["Ratelimit-Reset"] = wait, wait
		}
		h["Ratelimit-Remaining"] = []string{"0"}
	}
	return a, &e
}

// apiAnswerTo finds the table entry for an error. If known is false, the kinds of a
// management.Error do not match: stores return the same errors, and one that the
// Service passes on is a failure.
func apiAnswerTo(err error, known bool) *apiAnswer {
	for i := range apiAnswers {
		if a := &apiAnswers[i]; a.err == nil || errors.Is(err, a.err) && (known || a.code != "") {
			return a
		}
	}
	panic("unreachable")
}

// envelope writes an error in the form of management.md §2.1, with the problems of a
// document if there are any.
func envelope(typ string, e *management.Error) string {
	v := struct {
		Type     string                         `json:"type"`
		Code     string                         `json:"code"`
		Detail   string                         `json:"detail"`
		Attr     *string                        `json:"attr"`
		Problems []management.DefinitionProblem `json:"problems,omitempty"`
	}{typ, e.Code, e.Text(), nil, e.Problems}
	if e.Attr != "" {
		v.Attr = &e.Attr
	}
	return encoded(v)
}

// throttledDetail is the text of management.md §2.3 for a limit.
func throttledDetail(wait int) string {
	unit := " seconds."
	if wait == 1 {
		unit = " second."
	}
	return "Request was throttled. Expected available in " + strconv.Itoa(wait) + unit
}

// seconds rounds a duration up to whole seconds.
func seconds(d time.Duration) int { return int((d + time.Second - 1) / time.Second) }
