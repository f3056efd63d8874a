package server

import (
	"net/http"

	"github.com/flagstaff-go/flagstaff/management"
)

// manifestRoutes are the Manifest Management API of OpenFeature (wire.md §7.5). Tools add
// the path to whatever address of a server they are given, so that the address can name
// the project.
var manifestRoutes = []route{
	manifestRoute("", func(s *Server, x *exchange) error { return s.secret(x, (*Request).manifest) }),
	manifestRoute("/flags", manifestMethods(methods{post: createManifestFlag})),
	manifestRoute("/flags/{flag}", manifestMethods(methods{put: updateManifestFlag, delete: deleteManifestFlag})),
}

func manifestRoute(path string, every func(*Server, *exchange) error) route {
	path = "/openfeature/v0/manifest" + path
	return route{path: path, aliases: []string{"/api/projects/{project}" + path}, every: every, failure: manifestFailure}
}

func manifestMethods(m methods) func(*Server, *exchange) error {
	return func(s *Server, x *exchange) error { return s.api(x, &m) }
}

// The values of the header that says what the caller may do with the manifest.
var (
	readManifest   = []string{"read"}
	changeManifest = []string{"read,write,delete"}
)

const manifestCapabilities = "X-Manifest-Capabilities"

// manifest answers with the flags of a project as tools of OpenFeature know them.
func (a *Request) manifest(access *management.DefinitionsAccess) error {
	m, err := a.service().Manifest(a.Context(), access)
	if err != nil {
		return fromBackend(err)
	}
	h := a.x.w.Header()
	h["Cache-Control"] = noStore
	h[manifestCapabilities] = readManifest
	if m.Writable {
		h[manifestCapabilities] = changeManifest
	}
	return a.Answer(http.StatusOK, m, nil)
}

var createManifestFlag = changeWith(http.StatusCreated, func(a *Request, patch management.ManifestPatch) (*management.ManifestChange, error) {
	ref, err := a.manifestProject()
	if err != nil {
		return nil, err
	}
	return a.service().CreateManifestFlag(a.Context(), a.principal, ref, patch)
})

var updateManifestFlag = changeWith(http.StatusOK, func(a *Request, patch management.ManifestPatch) (*management.ManifestChange, error) {
	ref, err := a.manifestProject()
	if err != nil {
		return nil, err
	}
	return a.service().UpdateManifestFlag(a.Context(), a.principal, ref, a.Segment("flag"), patch)
})

func deleteManifestFlag(a *Request) error {
	ref, err := a.manifestProject()
	if err != nil {
		return err
	}
	v, err := a.service().DeleteManifestFlag(a.Context(), a.principal, ref, a.Segment("flag"))
	return a.Answer(http.StatusOK, v, err)
}

// manifestProject returns the project that a change is about: the one that the same
// request would read.
func (a *Request) manifestProject() (string, error) {
	a.x.w.Header()[manifestCapabilities] = changeManifest
	return a.service().ProjectRef(a.Context(), a.principal, a.Segment("project"), a.projectKey())
}

// manifestFailure answers for errors in the form of the Manifest Management API, of which
// its tools show the message.
func manifestFailure(x *exchange, err error) failure {
	h := x.w.Header()
	h["Cache-Control"] = noStore
	h["X-Request-Id"] = []string{x.requestID()}
	delete(h, manifestCapabilities)
	a, e := apiProblem(x, err)
	type detail struct {
		Field   string `json:"field,omitempty"`
		Code    string `json:"code"`
		Message string `json:"message"`
	}
	var v struct {
		Error struct {
			Message string   `json:"message"`
			Status  int      `json:"status"`
			Details []detail `json:"details"`
		} `json:"error"`
	}
	v.Error.Message, v.Error.Status, v.Error.Details = e.Detail, a.status, []detail{{e.Attr, e.Code, e.Detail}}
	if e.Attr != "" {
		v.Error.Message = e.Attr + ": " + e.Detail
	}
	return failure{a.status, encoded(v)}
}
