package server

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/flagstaff-go/flagstaff/management"
)

// definitionRoutes are for clients that evaluate by themselves (wire.md §5,
// evaluation.md §14): the current path, the older ones, which leave cohorts out
// unless the client asks for them, and the payloads of remote configuration.
var definitionRoutes = []route{
	secretRoute("/flags/definitions", (*Request).definitionsWithCohorts),
	secretRoute("/api/feature_flag/local_evaluation", (*Request).localEvaluation),
	secretRoute("/api/projects/{project}/feature_flags/local_evaluation", (*Request).localEvaluation,
		"/api/environments/{project}/feature_flags/local_evaluation"),
	secretRoute("/api/projects/{project}/feature_flags/{id}/remote_config", (*Request).remoteConfig,
		"/api/environments/{project}/feature_flags/{id}/remote_config"),
}

// secretRoute is a route that needs a project's secret key, or a personal API key
// with scope feature_flag:read.
func secretRoute(path string, answer func(*Request, *management.DefinitionsAccess) error, aliases ...string) route {
	return route{
		path: path, aliases: aliases, failure: definitionsFailure,
		every: func(s *Server, x *exchange) error { return s.secret(x, answer) },
	}
}

const allowDefinitions = "GET, OPTIONS, HEAD"

var (
	revalidate = []string{"private, must-revalidate"}
	errQuota   = errors.New("server: quota exceeded")
)

// secret answers a request to a secretRoute.
func (s *Server) secret(x *exchange, answer func(*Request, *management.DefinitionsAccess) error) error {
	h := x.w.Header()
	h["X-Content-Type-Options"] = noSniff
	s.setAPICORS(h, x.r.Header)
	switch x.r.Method {
	case http.MethodGet, http.MethodHead: // net/http leaves the body of the answer out
	case http.MethodOptions:
		return s.apiOptions(x, allowDefinitions)
	default:
		h["Allow"] = []string{allowDefinitions}
		return errMethod
	}
	a := &Request{s: s, x: x}
	access, err := a.definitionsAccess()
	if err != nil {
		return err
	}
	if err := s.apiLimiters.definitions.spend(access.Project.APIKey, x.start); err != nil {
		return err
	}
	return answer(a, access)
}

// definitionsAccess finds the user and the project of a request.
func (a *Request) definitionsAccess() (*management.DefinitionsAccess, error) {
	key, ok := bearer(a.x.r.Header.Get("Authorization"))
	if !ok {
		key = ""
		if a.s.config.Management.AllowKeyInBody {
			key = a.Param("personal_api_key")
		}
	}
	return a.opened(key)
}

// opened returns the project that a secret key opens. It counts attempts with wrong
// keys.
func (a *Request) opened(key string) (*management.DefinitionsAccess, error) {
	limiter, client := a.strangers()
	if key != "" {
		if err := limiter.check(client, a.x.start); err != nil {
			return nil, err
		}
	}
	access, err := a.service().DefinitionsAccess(a.Context(), key, a.Segment("project"), a.projectKey())
	if key != "" && errors.Is(err, management.ErrUnauthenticated) {
		limiter.spend(client, a.x.start)
	}
	return access, fromBackend(err)
}

// projectKey returns the API key of the project that a request is about, "" if it names
// none.
func (a *Request) projectKey() string {
	if key := a.Param("token"); key != "" {
		return key
	}
	return storable(a.x.r.Header.Get("X-Posthog-Project-Api-Key"))
}

// fromBackend makes an error of the store one after which clients come back: after
// others they would drop their definitions (wire.md §0.12, §5.3).
func fromBackend(err error) error {
	if _, told := errors.AsType[*management.Error](err); err == nil || told {
		return err
	}
	return fmt.Errorf("%w: %w", errBackend, err)
}

// definitionsCost is how many requests for flags a request for definitions counts
// as (evaluation.md §14), whether the definitions have changed or not.
const definitionsCost = 10

func (a *Request) definitionsWithCohorts(access *management.DefinitionsAccess) error {
	return a.definitions(access, true)
}

// localEvaluation answers with definitions by an older name.
func (a *Request) localEvaluation(access *management.DefinitionsAccess) error {
	cohorts, err := a.askedOrBare("send_cohorts")
	if err != nil {
		return err
	}
	return a.definitions(access, cohorts)
}

// askedOrBare is Asked for a parameter that is true without a value, too.
func (a *Request) askedOrBare(name string) (bool, error) {
	bare := false
	for value := range valuesOf(a.x.r.URL.RawQuery, name) {
		bare = value == ""
	}
	if bare {
		return true, nil
	}
	return a.Asked(name)
}

// definitions answers with the definitions of a project. Rule sets come with cohorts, which
// stand in them for what they are.
func (a *Request) definitions(access *management.DefinitionsAccess, cohorts bool) error {
	s, x := a.s, a.x
	ruleSets, err := a.askedOrBare("rule_sets")
	if err != nil {
		return err
	}
	p, err := a.published(access.Project.APIKey)
	if err != nil {
		return err
	}
	if s.addressed != nil {
		s.catchUp(x, p)
		etag := p.snapshot().ETag()
		// A new snapshot is served after its definitions are published. In this order they
		// are not older than what the stream begins with.
		if p, err = a.published(access.Project.APIKey); err != nil {
			return err
		}
		x.w.Header()["Flagstaff-Event-Stream"] = []string{relativeStream(x.r, access.Project.APIKey, etag)}
	}
	p.requested(x.start)
	if s.config.Quota != nil && !s.config.Quota.Take(p.Organization, definitionsCost) {
		s.metrics.limited.Inc()
		return errQuota
	}
	render := p.Published.inlined
	switch {
	case ruleSets:
		render = p.Published.ruleSets
	case cohorts:
		render = p.Published.definitions
	}
	d, err := render()
	if err != nil {
		return err
	}
	x.w.Header()["Cache-Control"] = revalidate
	return x.respondDocument(typeJSON, d)
}

// published returns a project with definitions.
func (a *Request) published(apiKey string) (*Project, error) {
	p, err := a.s.config.Projects.Project(a.x.r.Context(), apiKey)
	switch {
	case errors.Is(err, ErrUnknownProject): // the project was made a moment ago
		return nil, errNotReady
	case err != nil:
		return nil, fmt.Errorf("%w: find project: %w", errBackend, err)
	case p.Published == nil || p.Published.definitions == nil:
		return nil, errNotReady
	}
	return p, nil
}

// remoteConfig answers with the payload of a flag, which is the text of JSON
// (wire.md §5.4). A flag without one is not found: SDKs take 404 for no payload.
func (a *Request) remoteConfig(access *management.DefinitionsAccess) error {
	payload, err := a.service().RemoteConfig(a.Context(), access, a.Segment("id"))
	if err != nil {
		return fromBackend(err)
	}
	a.x.w.Header()["Cache-Control"] = noStore
	return a.Answer(http.StatusOK, payload, nil)
}

// definitionsFailure is apiFailure on routes where not all answers have the headers
// of the management API.
func definitionsFailure(x *exchange, err error) failure {
	h := x.w.Header()
	h["Cache-Control"] = noStore
	h["X-Request-Id"] = []string{x.requestID()}
	return apiFailure(x, err)
}
