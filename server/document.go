package server

import (
	"net/http"
	"strings"

	"github.com/flagstaff-go/flagstaff/server/internal/openapi"
)

// documentRoutes are the OpenAPI document of the server, and the page that shows it.
var documentRoutes = []route{
	{path: "/api/schema", method: http.MethodGet, allow: allowConfig, public: true, handle: (*Server).schema},
	{path: "/api/docs", method: http.MethodGet, allow: allowConfig, public: true, handle: (*Server).docs},
}

var (
	typeYAML   = []string{"application/yaml"} // RFC 9512
	varyAccept = []string{"Origin, Accept"}

	// Media types of the document. The one with vnd is what the public system sends.
	schemaJSON = []string{"application/json", "application/vnd.oai.openapi+json"}
	schemaYAML = []string{"application/yaml", "application/vnd.oai.openapi", "application/x-yaml", "text/yaml"}

	docsPolicy = []string{openapi.Policy()}
)

// A description is the OpenAPI document of a server in the forms that it answers with.
type description struct{ json, yaml, page document }

// describe makes the description when it is asked for first. What belongs to a project and other
// packages add ([ManagementConfig.Routes]) is in it if they do.
func (c Config) describe() (description, error) {
	has := make(map[string]bool)
	for _, rt := range c.routes() {
		has[rt.path] = true
	}
	asJSON, asYAML, err := openapi.Part(func(path string) bool {
		return c.Management.Service != nil && strings.HasPrefix(path, "/api/projects/{project}/") && !has[path]
	})
	if err != nil {
		return description{}, err
	}
	page, err := openapi.Page(asJSON)
	return description{newDocument([]byte(asJSON)), newDocument([]byte(asYAML)), newDocument(page)}, err
}

// schema answers with the OpenAPI document: as JSON if the query says so, or if it says
// nothing and the client would rather have JSON, and otherwise as YAML.
func (s *Server) schema(x *exchange) error {
	if err := s.takeIP(x); err != nil {
		return err
	}
	described, err := s.described()
	if err != nil {
		return err
	}
	format := lastOf(x.r.URL.RawQuery, "format")
	h := x.w.Header()
	h["Vary"] = varyAccept
	h["X-Content-Type-Options"] = noSniff
	contentType, d := typeYAML, described.yaml
	switch {
	case format == "json", format == "" && prefers(x.r.Header["Accept"], schemaJSON, schemaYAML):
		contentType, d = typeJSON, described.json
	case format != "" && format != "yaml":
		return &parameterError{"format", format, "yaml or json"}
	}
	h["Cache-Control"] = cacheFive
	return x.respondDocument(contentType, d)
}

// docs answers with the page.
func (s *Server) docs(x *exchange) error {
	if err := s.takeIP(x); err != nil {
		return err
	}
	described, err := s.described()
	if err != nil {
		return err
	}
	h := x.w.Header()
	h["Cache-Control"] = cacheFive
	h["Content-Security-Policy"] = docsPolicy
	h["X-Content-Type-Options"] = noSniff
	return x.respondDocument(typeHTML, described.page)
}
