package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
)

// deliveryRoutes are what browsers and mobile clients fetch besides flags
// (wire.md §4).
var deliveryRoutes = []route{
	{
		path: "/api/surveys", method: http.MethodGet, also: http.MethodPost, allow: allowDelivery, public: true,
		handle: (*Server).surveys, failure: deliveryFailure,
	},
	{
		path: "/api/early_access_features", method: http.MethodGet, also: http.MethodPost, allow: allowDelivery, public: true,
		handle: (*Server).earlyAccessFeatures, failure: deliveryFailure,
	},
	{path: "/array/{key}/config", method: http.MethodGet, allow: allowConfig, public: true, handle: (*Server).arrayConfig},
	{path: "/array/{key}/config.js", method: http.MethodGet, allow: allowConfig, public: true, handle: (*Server).arrayScript},
}

const (
	allowDelivery = "GET, POST, OPTIONS, HEAD"
	allowConfig   = "GET, OPTIONS, HEAD"
)

var (
	cacheMinute    = []string{"public, max-age=60"}
	cacheFive      = []string{"public, max-age=300"}
	varyReferer    = []string{"Origin, Referer"}
	typeJavaScript = []string{"application/javascript; charset=utf-8"}
)

// deliveryFailure answers for errors of surveys and early access features
// (management.md §12).
func deliveryFailure(x *exchange, err error) failure {
	switch {
	case errors.Is(err, errNoAPIKey):
		return failure{http.StatusUnauthorized, jsonError("authentication_error", "missing_api_key",
			"The project API key is missing. Send it as the parameter token.")}
	case errors.Is(err, ErrUnknownProject):
		return failure{http.StatusUnauthorized, jsonError("authentication_error", "invalid_api_key",
			"The project API key is not that of a project.")}
	}
	return (&route{}).failed(x, err)
}

// published returns what can be fetched of the project that a request names, in
// its query or its body.
func (s *Server) published(x *exchange) (*Published, error) {
	key := x.r.URL.Query().Get("token")
	if key == "" && x.r.Method == http.MethodPost {
		x.query.Parse(x.r.URL.RawQuery)
		if err := x.body.parse(x.r, x.query.Compression, &x.req); err != nil {
			return nil, err
		}
		key = x.req.APIKey
	}
	if key == "" {
		return nil, errNoAPIKey
	}
	return s.publishedOf(x, key)
}

func (s *Server) publishedOf(x *exchange, key string) (*Published, error) {
	p, err := s.config.Projects.Project(x.r.Context(), key)
	switch {
	case errors.Is(err, ErrUnknownProject):
		return nil, err
	case err != nil:
		return nil, fmt.Errorf("%w: find project: %w", errBackend, err)
	case p.Published == nil:
		return nothingPublished(p, key)
	}
	return p.Published, nil
}

// nothingPublished stands for what a project without Published has.
func nothingPublished(p *Project, key string) (*Published, error) {
	return Publish(Publication{Project: p.ID, APIKey: key})
}

// surveys answers with the surveys of a project; clients decide which to show.
func (s *Server) surveys(x *exchange) error {
	p, err := s.published(x)
	if err != nil {
		return err
	}
	x.w.Header()["Cache-Control"] = cacheMinute
	return x.respondDocument(typeJSON, p.surveys)
}

// earlyAccessFeatures answers with the features at the stages that a query names.
func (s *Server) earlyAccessFeatures(x *exchange) error {
	p, err := s.published(x)
	if err != nil {
		return err
	}
	stages := x.r.URL.Query()["stage"]
	if !slices.ContainsFunc(stages, func(s string) bool { return s != "" }) {
		stages = []string{"beta"}
	}
	body, err := encode(struct {
		Features []json.RawMessage `json:"earlyAccessFeatures"`
	}{p.stages(stages)})
	if err != nil {
		return err
	}
	x.w.Header()["Cache-Control"] = cacheMinute
	return x.respondDocument(typeJSON, newDocument(body))
}

// keyForm is what the API key in a path looks like.
var keyForm = regexp.MustCompile(`^[A-Za-z0-9_-]{1,200}$`)

// arrayConfig answers with the client configuration as JSON, and arrayScript as a
// script that leaves it where posthog-js looks for it.
func (s *Server) arrayConfig(x *exchange) error {
	p, err := s.arrayPublished(x)
	if err != nil {
		return err
	}
	return x.respondDocument(typeJSON, p.config)
}

func (s *Server) arrayScript(x *exchange) error {
	p, err := s.arrayPublished(x)
	if err != nil {
		return err
	}
	return x.respondDocument(typeJavaScript, p.script)
}

func (s *Server) arrayPublished(x *exchange) (*Published, error) {
	key := x.r.PathValue("key")
	if !keyForm.MatchString(key) {
		return nil, errKeyForm
	}
	p, err := s.publishedOf(x, key)
	if errors.Is(err, ErrUnknownProject) {
		return nil, errNotFound
	}
	if err != nil {
		return nil, err
	}
	h := x.w.Header()
	h["Cache-Control"] = cacheFive
	h["Vary"] = varyReferer
	h["X-Content-Type-Options"] = noSniff
	return p, nil
}
