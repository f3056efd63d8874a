package server

import (
	"net/http"
	"sync"

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

	// The documents are made when they are asked for first.
	documentJSON = sync.OnceValue(func() document { return newDocument([]byte(openapi.JSON())) })
	documentYAML = sync.OnceValue(func() document { return newDocument([]byte(openapi.YAML())) })
	documentPage = sync.OnceValues(func() (document, error) {
		text, err := openapi.Page()
		return newDocument(text), err
	})

	docsPolicy = []string{openapi.Policy()}
)

// schema answers with the OpenAPI document: as JSON if the query says so, or if it says
// nothing and the client would rather have JSON, and otherwise as YAML.
func (s *Server) schema(x *exchange) error {
	if err := s.takeIP(x); err != nil {
		return err
	}
	format := lastOf(x.r.URL.RawQuery, "format")
	h := x.w.Header()
	h["Vary"] = varyAccept
	h["X-Content-Type-Options"] = noSniff
	contentType, d := typeYAML, documentYAML
	switch {
	case format == "json", format == "" && prefers(x.r.Header["Accept"], schemaJSON, schemaYAML):
		contentType, d = typeJSON, documentJSON
	case format != "" && format != "yaml":
		return &parameterError{"format", format, "yaml or json"}
	}
	h["Cache-Control"] = cacheFive
	return x.respondDocument(contentType, d())
}

// docs answers with the page.
func (s *Server) docs(x *exchange) error {
	if err := s.takeIP(x); err != nil {
		return err
	}
	page, err := documentPage()
	if err != nil {
		return err
	}
	h := x.w.Header()
	h["Cache-Control"] = cacheFive
	h["Content-Security-Policy"] = docsPolicy
	h["X-Content-Type-Options"] = noSniff
	return x.respondDocument(typeHTML, page)
}
