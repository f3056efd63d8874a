package server

import (
	"io"
	"net/http"

	"github.com/flagstaff-go/flagstaff/management"
)

// A ProjectRoute is a path of the management API for something that belongs to a project,
// with the operations on it, see [ManagementConfig.Routes]. An operation that is nil does not
// exist.
type ProjectRoute struct {
	// Path follows the path of the project, such as /surveys/{id}. It may have wildcards,
	// which [Request.Segment] reads.
	Path string

	Get, Post, Put, Patch, Delete Operation
}

func (r *ProjectRoute) route() route {
	return routeInProject(r.Path, methods{get: r.Get, post: r.Post, put: r.Put, patch: r.Patch, delete: r.Delete})
}

// Principal returns who has sent the request.
func (a *Request) Principal() *management.Principal { return a.principal }

// Project returns how the path names the project, for the methods of a
// [management.Service].
func (a *Request) Project() string { return a.Segment("project") }

// Header returns the header of the answer.
func (a *Request) Header() http.Header { return a.x.w.Header() }

// Stream returns a writer for an answer of any length. It sends the header and the status
// 200 with the first byte, so that an error before that is answered as usual.
func (a *Request) Stream(contentType, filename string) io.Writer {
	return &responseWriter{x: a.x, head: func(h http.Header) {
		h["Content-Type"] = []string{contentType}
		h["Content-Disposition"] = []string{`attachment; filename="` + filename + `"`}
	}}
}

// Empty answers without content.
func (a *Request) Empty() error { return a.done(nil) }

// BadParameter returns the error about a parameter of the query that has another value than
// those that are wanted.
func BadParameter(name, value, want string) error {
	return (&parameterError{name, value, want}).refusal()
}

// Done answers that all went well, or returns the error.
func (a *Request) Done(err error) error {
	return a.Answer(http.StatusOK, succeeded{Success: true}, err)
}

// A responseWriter writes an answer of any length. It sends its header with the
// first byte, so that an error before that is answered as usual.
type responseWriter struct {
	x    *exchange
	head func(http.Header)
}

func (w *responseWriter) Write(b []byte) (int, error) {
	if w.x.status == 0 {
		w.head(w.x.w.Header())
		w.x.status, w.x.streams = http.StatusOK, true
		w.x.w.WriteHeader(http.StatusOK)
	}
	return w.x.write(b)
}
