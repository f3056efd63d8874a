package server

import (
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"

	"github.com/flagstaff-go/flagstaff/internal/keykind"
)

// deliveryRoutes are what browsers and mobile clients fetch besides flags (wire.md
// §4).
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
		return newFailure(http.StatusUnauthorized, typeAuthentication, "missing_api_key",
			"The project API key is missing. Send it as the parameter token.", "")
	case errors.Is(err, ErrUnknownProject):
		return newFailure(http.StatusUnauthorized, typeAuthentication, "invalid_api_key",
			"The project API key is not that of a project.", "")
	}
	return flagsFailure(x, err)
}

// surveys answers with the surveys of a project. The client decides which to show.
func (s *Server) surveys(x *exchange) error {
	p, err := s.deliverTo(x)
	if err != nil {
		return err
	}
	x.w.Header()["Cache-Control"] = cacheMinute
	return x.respondDocument(typeJSON, p.surveys())
}

// earlyAccessFeatures answers with the features at the stages that a query names.
func (s *Server) earlyAccessFeatures(x *exchange) error {
	p, err := s.deliverTo(x)
	if err != nil {
		return err
	}
	var stages []string
	for stage := range valuesOf(x.r.URL.RawQuery, "stage") {
		if stage != "" {
			stages = append(stages, stage)
		}
	}
	x.w.Header()["Cache-Control"] = cacheMinute
	return x.respondDocument(typeJSON, p.earlyAccess(stages))
}

// deliverTo returns the project that a request names in its query, or else in its
// body.
func (s *Server) deliverTo(x *exchange) (*Project, error) {
	x.w.Header()["X-Content-Type-Options"] = noSniff
	if err := s.takeIP(x); err != nil {
		return nil, err
	}
	key := lastOf(x.r.URL.RawQuery, "token")
	if key == "" && x.r.Method == http.MethodPost && x.r.ContentLength != 0 {
		if err := x.parseQuery(); err != nil {
			return nil, err
		}
		if err := x.body.parse(x.r, x.query.Compression, &x.req); err != nil && x.req.APIKey == "" {
			return nil, err // other fields do not matter here
		}
		key = x.req.APIKey
	}
	if key == "" {
		return nil, errNoAPIKey
	}
	return s.projectOf(x, key)
}

// projectOf returns the project with an API key.
func (s *Server) projectOf(x *exchange, key string) (*Project, error) {
	p, err := s.config.Projects.Project(x.r.Context(), key)
	if errors.Is(err, ErrUnknownProject) {
		return nil, &keyError{keykind.Refused(key, "this route", keykind.Project), err}
	}
	if err != nil {
		return nil, fmt.Errorf("%w: find project: %w", errBackend, err)
	}
	return p, nil
}

// A keyError is an ErrUnknownProject that says what may be wrong with the key.
type keyError struct {
	why string // "" if that cannot be told
	err error
}

func (e *keyError) Error() string { return e.err.Error() }
func (e *keyError) Unwrap() error { return e.err }

// aboutKey returns the text of an answer, with what is wrong with the key if err is a
// keyError that knows.
func aboutKey(err error, text string) string {
	e, ok := errors.AsType[*keyError](err)
	if !ok || e.why == "" {
		return text
	}
	sentence, _, ends := strings.Cut(text, ".")
	if sentence += ": " + e.why; ends {
		sentence += "."
	}
	return sentence
}

// arrayConfig answers with the client configuration as JSON, and arrayScript as a
// script that puts it where posthog-js looks for it.
func (s *Server) arrayConfig(x *exchange) error {
	p, key, err := s.arrayProject(x)
	if err != nil {
		return err
	}
	return x.respondDocument(typeJSON, p.config(key))
}

func (s *Server) arrayScript(x *exchange) error {
	p, key, err := s.arrayProject(x)
	if err != nil {
		return err
	}
	return x.respondDocument(typeJavaScript, p.script(key))
}

// keyForm matches the API key in a path.
var keyForm = regexp.MustCompile(`^[A-Za-z0-9_-]{1,200}$`)

// arrayProject returns the project in a path, and its API key there.
func (s *Server) arrayProject(x *exchange) (*Project, string, error) {
	h := x.w.Header()
	h["X-Content-Type-Options"] = noSniff
	if err := s.takeIP(x); err != nil {
		return nil, "", err
	}
	key := x.r.PathValue("key")
	if !keyForm.MatchString(key) {
		return nil, "", errKeyForm
	}
	p, err := s.projectOf(x, key)
	switch {
	case errors.Is(err, ErrUnknownProject):
		return nil, "", errNoProject
	case err != nil:
		return nil, "", err
	}
	h["Cache-Control"] = cacheFive
	h["Vary"] = varyReferer
	return p, key, nil
}
