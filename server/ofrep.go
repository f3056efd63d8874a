package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/flags/wire"
	"github.com/flagstaff-go/flagstaff/internal/keykind"
	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/runtime"
)

// ofrepRoutes are OpenFeature's remote evaluation protocol (wire.md §7). A server
// asks for one flag; a client that evaluates for one person, such as a browser,
// asks for all flags.
var ofrepRoutes = []route{
	{
		path: "/ofrep/v1/evaluate/flags/{key}", method: http.MethodPost, allow: allowPost, public: true,
		handle: (*Server).ofrepFlag, failure: ofrepFailure,
	},
	{
		path: "/ofrep/v1/evaluate/flags", method: http.MethodPost, allow: allowPost, public: true,
		handle: (*Server).ofrepFlags, failure: ofrepFailure,
	},
}

// ofrepExposed are the headers that pages of other origins may read.
var ofrepExposed = []string{"ETag, Retry-After"}

// ofrepFlag evaluates one flag, for a server unless the User-Agent is a client's.
func (s *Server) ofrepFlag(x *exchange) error {
	p, snapshot, kind, err := s.ofrepRequest(x, runtime.Server)
	if err != nil {
		return err
	}
	key := x.r.PathValue("key")
	x.key[0] = key
	x.req.Keys, x.req.HasKeys = x.key[:], true
	complete, err := s.fill(x, p, snapshot, kind)
	if err != nil {
		return err
	}
	s.countUnknown(p, snapshot, x.req.Keys)
	r, err := x.in.Flag(key)
	if err != nil {
		return err
	}
	s.metrics.evaluations.addResult(p.ID, snapshot, &r, &x.shard)
	s.metrics.evaluated.Inc()
	var status int
	x.out, status = wire.AppendEvaluation(x.out[:0], &r, wire.Envelope{RequestID: x.requestID(), Partial: !complete})
	return x.respond(status, typeJSON, x.out)
}

// ofrepFlags evaluates all flags, for a client unless the User-Agent is a server's.
//
// The entity tag is a hash of the values themselves. A hash of the definitions
// would not do, because stored properties, dates and the client's place change the
// values, too. A request with a tag is evaluated like any other, which costs less
// than to find out whether any of these has changed; only the body is saved.
func (s *Server) ofrepFlags(x *exchange) error {
	p, snapshot, kind, err := s.ofrepRequest(x, runtime.Client)
	if err != nil {
		return err
	}
	complete, err := s.fill(x, p, snapshot, kind)
	if err != nil {
		return err
	}
	e := wire.Envelope{RequestID: x.requestID(), EvaluatedAt: x.start, Partial: !complete}
	if s.addressed != nil {
		x.more = s.appendEventStreams(x.more[:0], x.r, x.apiKey, snapshot.ETag())
		e.EventStreams = x.more
	}
	var list []byte
	var n int
	x.out, list, n = wire.AppendEvaluations(x.out[:0], &x.in, e)
	s.metrics.evaluations.add(p.ID, snapshot, &x.in, n, &x.shard)
	s.metrics.evaluated.Add(float64(n))
	etag := wire.DefinitionsETag(list)
	x.w.Header()["Etag"] = []string{etag}
	if hasETag(x.r.Header["If-None-Match"], etag) {
		x.status = http.StatusNotModified
		x.w.WriteHeader(http.StatusNotModified)
		return nil
	}
	return x.respondOut()
}

// ofrepRequest reads a request: what the routes for one flag and for all flags have
// in common. otherwise is the runtime if the User-Agent does not tell.
func (s *Server) ofrepRequest(x *exchange, otherwise runtime.Kind) (*Project, *flags.Snapshot, runtime.Kind, error) {
	x.w.Header()["Access-Control-Expose-Headers"] = ofrepExposed
	p, secret, err := s.ofrepProject(x)
	if err != nil {
		return nil, nil, 0, err
	}
	x.query = wire.Query{}
	if err := x.body.parseContext(x.r, &x.req); err != nil {
		return nil, nil, 0, err
	}
	if !x.req.HasDistinctID {
		return nil, nil, 0, errNoPerson
	}
	s.catchUp(x, p)
	snapshot := p.snapshot()
	if snapshot == nil {
		return nil, nil, 0, errNotReady
	}
	if s.config.Quota != nil && !s.config.Quota.Take(p.Organization, 1) {
		s.metrics.limited.Inc()
		return nil, nil, 0, fmt.Errorf("%w: %w", errQuota, &rateLimitError{retryAfter: ofrepQuotaPause})
	}
	if secret {
		return p, snapshot, runtime.Server, nil
	}
	// Only the User-Agent counts: the other headers of browsers are also sent by
	// fetch of Node.js.
	kind := s.detector.Detect(runtime.Signals{UserAgent: x.r.UserAgent()})
	if kind == runtime.Unknown {
		kind = otherwise
	}
	return p, snapshot, kind, nil
}

// ofrepQuotaPause is how many seconds clients pause when the quota is used up. The
// server does not know when the quota is renewed.
const ofrepQuotaPause = 60

// ofrepProject finds the project whose flags are asked for, and reports whether the
// key is a secret one, as definitions need it.
func (s *Server) ofrepProject(x *exchange) (p *Project, secret bool, err error) {
	if err := s.takeIP(x); err != nil {
		return nil, false, err
	}
	key, ok := bearer(x.r.Header.Get("Authorization"))
	if !ok {
		key = strings.TrimSpace(x.r.Header.Get("X-Api-Key"))
	}
	if key == "" {
		return nil, false, errNoAPIKey
	}
	if kind := keykind.Of(key); s.config.Management.Service != nil && (kind == keykind.Secret || kind == keykind.Personal) {
		a := &Request{s: s, x: x}
		access, err := a.opened(key)
		if err != nil {
			return nil, false, err
		}
		key, secret = access.Project.APIKey, true
	}
	if err := s.limiters.byKey.take(x.w.Header(), limitedKey(key), x.start); err != nil {
		return nil, false, err
	}
	x.apiKey = key
	p, err = s.projectOf(x, key)
	if secret && errors.Is(err, ErrUnknownProject) { // the project was made a moment ago
		err = errNotReady
	}
	if err == nil {
		p.requested(x.start)
	}
	return p, secret, err
}

// An ofrepAnswer is what clients of the protocol get for an error.
type ofrepAnswer struct {
	err     error
	status  int
	code    string // "" where the protocol has none
	details string
}

// ofrepAnswers is the one table of errors of the protocol (wire.md §7.1). The first
// entry that matches the error counts; the last one matches all errors.
var ofrepAnswers = []ofrepAnswer{
	{flags.ErrUnknownFlag, http.StatusNotFound, wire.CodeFlagNotFound, "There is no such flag."},
	{flags.ErrFiltered, http.StatusNotFound, wire.CodeFlagNotFound, "There is no such flag."},
	{errNoPerson, http.StatusBadRequest, wire.CodeTargetingKeyMissing, "targetingKey is required"},
	{errContentType, http.StatusBadRequest, wire.CodeParseError, "Unsupported content type, want application/json."},
	{errMalformed, http.StatusBadRequest, wire.CodeParseError, "The body is not a JSON object."},
	{errTooLarge, http.StatusRequestEntityTooLarge, wire.CodeParseError, "The request body is too large."},
	{errInterrupted, http.StatusRequestTimeout, wire.CodeParseError, "The request body did not arrive in full."},

	{errNoAPIKey, http.StatusUnauthorized, "", "No key provided, want Authorization: Bearer or X-API-Key."},
	{ErrUnknownProject, http.StatusUnauthorized, "", "The key is invalid."},
	{errNoStream, http.StatusNotFound, "", "There is no event stream at this address. Evaluate all flags to get the current one."},
	{errQuota, http.StatusTooManyRequests, "", "The quota of feature flag requests is used up."},
	{errStreams, http.StatusTooManyRequests, "", "There are too many event streams of this project, or of this address."},
	{errRateLimited, http.StatusTooManyRequests, "", "Rate limit exceeded."},
	{errMethod, http.StatusMethodNotAllowed, "", "Method not allowed."},

	{context.Canceled, http.StatusRequestTimeout, "", "The client closed the request."},
	{errNotReady, http.StatusServiceUnavailable, "", "The flags are not loaded yet. Please try again later."},
	{context.DeadlineExceeded, http.StatusServiceUnavailable, "", unavailable},
	{errBusy, http.StatusServiceUnavailable, "", unavailable},
	{errBackend, http.StatusServiceUnavailable, "", unavailable},
	{nil, http.StatusInternalServerError, wire.CodeGeneral, "Internal server error. Request id: "}, // the id follows
}

// ofrepFailure answers for errors of the protocol.
func ofrepFailure(x *exchange, err error) failure {
	key := x.r.PathValue("key")
	if e, ok := errors.AsType[*management.Error](err); ok { // about a secret key
		status := apiFailure(x, err).status
		if status == http.StatusNotFound { // 404 would say that the flag is missing, and the project is
			status = http.StatusForbidden
		}
		return failure{status, string(wire.AppendFailure(nil, "", "", e.Detail))}
	}
	if e, ok := errors.AsType[*wire.FieldError](err); ok && e.Field != "" {
		details := e.Field + " must be " + e.Want
		return failure{http.StatusBadRequest, string(wire.AppendFailure(nil, key, wire.CodeInvalidContext, details))}
	}
	for _, a := range ofrepAnswers {
		if a.err != nil && !errors.Is(err, a.err) {
			continue
		}
		if a.err == nil {
			a.details += x.requestID()
		}
		if a.code == "" {
			key = ""
		}
		return failure{a.status, string(wire.AppendFailure(nil, key, a.code, aboutKey(err, a.details)))}
	}
	panic("unreachable")
}
