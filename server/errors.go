package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"strconv"
)

// The errors that handlers return. A handler with more to say wraps one of them.
// The cause is for the log; clients see the table below.
var (
	errNotFound    = errors.New("server: no such route")
	errMethod      = errors.New("server: method not allowed")
	errRateLimited = errors.New("server: rate limit exceeded")
	errContentType = errors.New("server: unsupported content type")
	errCompression = errors.New("server: unsupported compression")
	errMalformed   = errors.New("server: malformed request")
	errTooLarge    = errors.New("server: body too large")
	errInterrupted = errors.New("server: body did not arrive")
	errNoAPIKey    = errors.New("server: no API key")
	errNoPerson    = errors.New("server: no distinct_id")
	errBackend     = errors.New("server: backend failed")
	errNotReady    = errors.New("server: not ready")
	errBusy        = errors.New("server: too much memory in use by other requests")
	errKeyForm     = errors.New("server: malformed API key")
	errNoProject   = errors.New("server: no project at this path")
	errPanic       = errors.New("server: panic")
)

// An answer is what clients get for an error.
type answer struct {
	err    error
	status int
	body   string // JSON if it begins with a brace, otherwise text
}

// answers is the one table of errors (evaluation.md §11.5). The first entry that
// matches the error counts; the last one matches all errors.
var answers = []answer{
	{errNotFound, http.StatusNotFound, jsonError("invalid_request", "not_found", "Endpoint not found.")},
	{errMethod, http.StatusMethodNotAllowed, jsonError("invalid_request", "method_not_allowed", "Method not allowed.")},
	{errRateLimited, http.StatusTooManyRequests, jsonError("validation_error", "rate_limit_exceeded", "Rate limit exceeded")},

	{errContentType, http.StatusBadRequest, undecodable + "Unsupported content type"},
	{errCompression, http.StatusBadRequest, undecodable + "Unsupported compression type"},
	{errMalformed, http.StatusBadRequest, undecodable + "invalid JSON. Please check your request format and try again."},
	{errTooLarge, http.StatusRequestEntityTooLarge, undecodable + "The request body is too large."},
	{errInterrupted, http.StatusRequestTimeout, undecodable + "The request body did not arrive in full."},

	{errNoAPIKey, http.StatusUnauthorized, jsonError("authentication_error", "not_authenticated",
		"No API token provided. Please include a valid API token in your request.")},
	{ErrUnknownProject, http.StatusUnauthorized, jsonError("authentication_error", "authentication_failed",
		"The provided API key is invalid. Please check your API key and try again.")},
	{errKeyForm, http.StatusBadRequest, jsonError("validation_error", "invalid_input",
		"The project API key in the path is malformed: want 1 to 200 letters, digits, _ or -.")},
	{errNoProject, http.StatusNotFound, jsonError("invalid_request", "not_found", "Project not found.")},
	{errNoPerson, http.StatusBadRequest, "The distinct_id field is missing from the request. Please include a valid identifier."},

	{errNotReady, http.StatusServiceUnavailable, "not ready"},
	{context.DeadlineExceeded, http.StatusGatewayTimeout, "The service did not answer in time. Please try again later."},
	{context.Canceled, http.StatusRequestTimeout, "The client closed the request."},
	{errBusy, http.StatusServiceUnavailable, "The service is busy. Please try again later."},
	{errBackend, http.StatusServiceUnavailable, "The service is temporarily unavailable. Please try again later."},
	{nil, http.StatusInternalServerError, "Internal server error. Request id: "}, // the id follows
}

// undecodable begins the texts about bodies.
const undecodable = "Failed to decode request: "

func jsonError(kind, code, detail string) string {
	return `{"type":"` + kind + `","code":"` + code + `","detail":"` + detail + `","attr":null}`
}

// answerTo finds the table entry for an error.
func answerTo(err error) *answer {
	for i := range answers {
		if a := &answers[i]; a.err == nil || errors.Is(err, a.err) {
			return a
		}
	}
	panic("unreachable")
}

// fail answers for an error.
func (s *Server) fail(rt *route, x *exchange, err error) {
	if x.status != 0 {
		if x.r.Context().Err() == nil { // otherwise the client has left
			s.config.Log.Error("failed while the answer was written", "request_id", x.requestID(), "route", rt.path, "error", err)
		}
		panic(http.ErrAbortHandler) // so that the client sees that the answer is cut off
	}
	f := rt.failed(x, err)
	if f.status >= http.StatusInternalServerError && !errors.Is(err, errPanic) {
		s.config.Log.Error("request failed", "request_id", x.requestID(), "route", rt.path, "status", f.status, "error", err)
	}
	h := x.w.Header()
	switch f.status {
	case http.StatusTooManyRequests:
		if e, ok := errors.AsType[*rateLimitError](err); ok {
			h["Retry-After"] = []string{strconv.Itoa(e.retryAfter)}
		}
	case http.StatusServiceUnavailable:
		h["Retry-After"] = []string{"1"}
	case http.StatusRequestEntityTooLarge, http.StatusRequestTimeout:
		h["Connection"] = []string{"close"} // there may be more of the body
	}
	contentType := typeText
	if f.body[0] == '{' {
		contentType = typeJSON
	}
	x.respond(f.status, contentType, []byte(f.body))
}

// A failure is the answer to a request that failed.
type failure struct {
	status int
	body   string // JSON if it begins with a brace, otherwise text
}

// failed returns how a route answers for an error.
func (rt *route) failed(x *exchange, err error) failure {
	if rt.failure != nil {
		return rt.failure(x, err)
	}
	return flagsFailure(x, err)
}

// flagsFailure answers for errors by the table answers.
func flagsFailure(x *exchange, err error) failure {
	a := answerTo(err)
	if a.err == nil {
		return failure{a.status, a.body + x.requestID()}
	}
	return failure{a.status, a.body}
}

// panicText describes the value of a panic. Errors of the Go runtime quote no data;
// of any other value it tells only the type.
func panicText(v any) string {
	if err, ok := v.(runtime.Error); ok {
		return err.Error()
	}
	return fmt.Sprintf("%T", v)
}
