package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/flagstaff-go/flagstaff/flags/wire"
	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
	"github.com/flagstaff-go/flagstaff/management"
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
	errEmptyBody   = errors.New("server: empty body")
	errNoForm      = errors.New("server: a form without data")
	errTooLarge    = errors.New("server: body too large")
	errNoRoom      = fmt.Errorf("%w: it takes more memory than bodies may have", errTooLarge)
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
	typ    string
	code   string
	detail string
}

// answers is the one table of errors (evaluation.md §11.5). The first entry that
// matches the error counts; the last one matches all errors.
var answers = []answer{
	{errNotFound, http.StatusNotFound, typeInvalidRequest, "not_found", "Endpoint not found."},
	{errMethod, http.StatusMethodNotAllowed, typeInvalidRequest, "method_not_allowed", "Method not allowed."},
	{errRateLimited, http.StatusTooManyRequests, typeValidation, "rate_limit_exceeded", "Rate limit exceeded"},

	{errContentType, http.StatusBadRequest, typeInvalidRequest, codeMediaType, undecodable + "Unsupported content type, want application/json, text/plain or application/x-www-form-urlencoded."},
	{errCompression, http.StatusBadRequest, typeInvalidRequest, codeMediaType, undecodable + "Unsupported compression type" + wantedCompression},
	{errEmptyBody, http.StatusBadRequest, typeInvalidRequest, "empty_body", "The request body is empty, want a JSON object with api_key and distinct_id."},
	{errNoForm, http.StatusBadRequest, typeInvalidRequest, codeParse, undecodable + "the form has no field data."},
	{errMalformed, http.StatusBadRequest, typeInvalidRequest, codeParse, undecodable + "the body is not what its compression says."},
	{errNoRoom, http.StatusRequestEntityTooLarge, typeInvalidRequest, codeTooLarge, undecodable + "The request body takes more memory than this server has for bodies."},
	{errTooLarge, http.StatusRequestEntityTooLarge, typeInvalidRequest, codeTooLarge, undecodable + "The request body is too large."},
	{errInterrupted, http.StatusRequestTimeout, typeInvalidRequest, codeTimeout, undecodable + "The request body did not arrive in full."},

	{errNoAPIKey, http.StatusUnauthorized, typeAuthentication, "not_authenticated", "No API token provided. Please include a valid API token in your request."},
	{ErrUnknownProject, http.StatusUnauthorized, typeAuthentication, "authentication_failed", "The provided API key is invalid. Please check your API key and try again."},
	{errKeyForm, http.StatusBadRequest, typeValidation, codeInvalid, "The project API key in the path is malformed: want 1 to 200 letters, digits, _ or -."},
	{errNoProject, http.StatusNotFound, typeInvalidRequest, "not_found", "Project not found."},
	{errNoPerson, http.StatusBadRequest, typeValidation, "required", "The distinct_id field is missing from the request. Please include a valid identifier."},

	{errNotReady, http.StatusServiceUnavailable, typeServer, codeUnavailable, "not ready"},
	{context.DeadlineExceeded, http.StatusGatewayTimeout, typeServer, "gateway_timeout", "The service did not answer in time. Please try again later."},
	{context.Canceled, http.StatusRequestTimeout, typeInvalidRequest, codeTimeout, "The client closed the request."},
	{errBusy, http.StatusServiceUnavailable, typeServer, codeUnavailable, "The service is busy. Please try again later."},
	{errBackend, http.StatusServiceUnavailable, typeServer, codeUnavailable, unavailable},
	{nil, http.StatusInternalServerError, typeServer, "error", "Internal server error. Request id: "}, // the id follows
}

// The types of errors, and codes that several have.
const (
	typeAuthentication = "authentication_error"
	typeInvalidRequest = "invalid_request"
	typeServer         = "server_error"
	typeValidation     = "validation_error"

	codeInvalid     = "invalid_input"
	codeMediaType   = "unsupported_media_type"
	codeParse       = "parse_error"
	codeTimeout     = "request_timeout"
	codeTooLarge    = "request_too_large"
	codeUnavailable = "service_unavailable"
)

// undecodable begins the texts about bodies.
const undecodable = "Failed to decode request: "

const wantedCompression = ", want gzip, gzip-js, base64, lz64 or lz-string, and no gzip in a form."

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
	// Nothing failed if there are only many requests. Metrics count the answers.
	if f.status >= http.StatusInternalServerError && !errors.Is(err, errPanic) && !errors.Is(err, errBusy) {
		s.config.Log.Error("request failed", "request_id", x.requestID(), "route", rt.path, "status", f.status, "error", err)
	}
	h := x.w.Header()
	if f.status >= http.StatusInternalServerError {
		h["X-Request-Id"] = []string{x.requestID()} // finds it in the log
	}
	switch f.status {
	case http.StatusTooManyRequests:
		if e, ok := errors.AsType[*rateLimitError](err); ok {
			h["Retry-After"] = []string{strconv.Itoa(e.retryAfter)}
		}
	case http.StatusServiceUnavailable:
		h["Retry-After"] = []string{"1"}
	}
	cutOff := f.status == http.StatusRequestTimeout // or nobody listens any more
	closes := cutOff || f.status == http.StatusRequestEntityTooLarge || x.body.in.isLong(x.r)
	if closes {
		h["Connection"] = []string{"close"}
	}
	x.respond(f.status, typeJSON, []byte(f.body))
	if closes && !cutOff {
		x.discard()
	}
}

// A failure is the answer to a request that failed.
type failure struct {
	status int
	body   string // JSON
}

// newFailure returns a failure in the form of management.md §2.1. attr is the field
// or parameter at fault, "" if there is none.
func newFailure(status int, typ, code, detail, attr string) failure {
	return failure{status, envelope(typ, &management.Error{Code: code, Detail: detail, Attr: attr})}
}

// failed returns how a route answers for an error.
func (rt *route) failed(x *exchange, err error) failure {
	if rt.failure != nil {
		return rt.failure(x, err)
	}
	return flagsFailure(x, err)
}

// flagsFailure answers for errors by the table answers. It names fields of the body
// and parameters, what they are and what they must be.
func flagsFailure(x *exchange, err error) failure {
	if e, ok := errors.AsType[*parameterError](err); ok {
		return e.failure()
	}
	a := answerTo(err)
	detail, attr := a.detail, ""
	switch a.err {
	case errMalformed:
		if e, ok := errors.AsType[*wire.FieldError](err); ok {
			return newFailure(a.status, typeValidation, codeInvalid, e.Detail(), e.Field)
		}
		if e, ok := errors.AsType[*jsonscan.SyntaxError](err); ok {
			detail = undecodable + "invalid JSON, " + e.Error()
		} else if errors.Is(err, wire.ErrSyntax) {
			detail = undecodable + "invalid JSON"
		}
	case errCompression:
		attr = "compression"
		if e, ok := errors.AsType[compressionError](err); ok {
			detail = undecodable + "Unsupported compression type " + e.quoted() + wantedCompression
		}
	case ErrUnknownProject:
		detail = aboutKey(err, detail)
	case errNoPerson:
		attr = "distinct_id"
	case errTooLarge:
		detail += fmt.Sprintf(" Want at most %d bytes, and %d after decompression.", x.body.maxBody, x.body.maxDecoded)
	case nil:
		detail += x.requestID()
	}
	return newFailure(a.status, a.typ, a.code, detail, attr)
}
