package server

import (
	"errors"
	"net/http"
	"strings"

	"github.com/flagstaff-go/flagstaff/management"
)

// definitionRoutes are for clients that evaluate by themselves (wire.md §5,
// evaluation.md §14): the current path, and the older ones, which leave cohorts
// out unless they are asked for.
var definitionRoutes = []route{
	definitionRoute("/flags/definitions", true),
	definitionRoute("/api/feature_flag/local_evaluation", false),
	definitionRoute("/api/projects/{project}/feature_flags/local_evaluation", false,
		"/api/environments/{project}/feature_flags/local_evaluation"),
	{
		path: "/api/projects/{project}/feature_flags/{id}/remote_config", aliases: []string{"/api/environments/{project}/feature_flags/{id}/remote_config"},
		failure: apiFailure, every: (*Server).remoteConfig,
	},
}

func definitionRoute(path string, cohorts bool, aliases ...string) route {
	return route{
		path: path, aliases: aliases, failure: apiFailure,
		every: func(s *Server, x *exchange) error { return s.definitions(x, cohorts) },
	}
}

const allowDefinitions = "GET, OPTIONS, HEAD"

var (
	revalidate = []string{"private, must-revalidate"}
	errQuota   = errors.New("server: quota exceeded")
)

// definitionsCost is how many requests for flags a request for definitions counts
// as (evaluation.md §14).
const definitionsCost = 10

// definitions answers with the definitions of a project.
func (s *Server) definitions(x *exchange, cohorts bool) error {
	access, err := s.definitionsAccess(x)
	if access == nil || err != nil {
		return err
	}
	p, err := s.config.Projects.Project(x.r.Context(), access.Project.APIKey)
	if err != nil && !errors.Is(err, ErrUnknownProject) {
		return err
	}
	if p == nil || p.Published == nil || p.Published.definitions == nil {
		return errNotReady // made a moment ago
	}
	if s.config.Quota != nil && !s.config.Quota.Take(p.Organization, definitionsCost) {
		s.metrics.limited.Inc()
		return errQuota
	}
	if !cohorts {
		values, asked := x.r.URL.Query()["send_cohorts"]
		cohorts = asked && values[len(values)-1] != "false" && values[len(values)-1] != "0"
	}
	render := p.Published.inlined
	if cohorts {
		render = p.Published.definitions
	}
	d, err := render()
	if err != nil {
		return err
	}
	x.w.Header()["Cache-Control"] = revalidate
	return x.respondDocument(typeJSON, d)
}

// remoteConfig answers with the payload of a flag, which is the text of JSON
// (wire.md §5.4). Flags without one are not found: SDKs take that for no payload.
func (s *Server) remoteConfig(x *exchange) error {
	access, err := s.definitionsAccess(x)
	if access == nil || err != nil {
		return err
	}
	a := &apiRequest{s: s, x: x}
	payload, err := s.config.Management.RemoteConfig(x.r.Context(), access, a.segment("id"))
	x.w.Header()["Cache-Control"] = noStore
	return a.answer(http.StatusOK, payload, err)
}

// definitionsAccess finds out who asks, and for which project. It is nil if the
// request is answered already.
func (s *Server) definitionsAccess(x *exchange) (*management.DefinitionsAccess, error) {
	h := x.w.Header()
	h["X-Content-Type-Options"] = noSniff
	switch x.r.Method {
	case http.MethodGet, http.MethodHead:
	case http.MethodOptions:
		h["Allow"] = []string{allowDefinitions}
		return nil, x.respond(http.StatusNoContent, nil, nil)
	default:
		h["Allow"] = []string{allowDefinitions}
		return nil, errMethod
	}
	a := &apiRequest{s: s, x: x}
	key, _ := bearer(x.r.Header.Get("Authorization"))
	limiter, client := a.strangers()
	if err := limiter.check(client, x.start); err != nil {
		return nil, err
	}
	apiKey := a.param("token")
	if apiKey == "" {
		apiKey = storable(x.r.Header.Get("X-Posthog-Project-Api-Key"))
	}
	access, err := s.config.Management.DefinitionsAccess(x.r.Context(), key, a.segment("project"), apiKey)
	if err != nil {
		if errors.Is(err, management.ErrUnauthenticated) && key != "" {
			if err := limiter.spend(client, x.start); err != nil {
				return nil, err
			}
		}
		return nil, err
	}
	return access, s.apiLimiters.definitions.spend(strings.Clone(access.Project.APIKey), x.start)
}
