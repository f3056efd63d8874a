package server

import (
	"context"
	"net/http"
	"strings"

	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
	"github.com/flagstaff-go/flagstaff/management"
)

// A Request is a request to the management API while it is answered. The
// [management.Service] decides what is allowed; this package adds only what concerns
// HTTP.
type Request struct {
	s *Server
	x *exchange
	m *methods // of the path

	// principal is the user of the request. Nil: the client has shown no key, on an
	// open route.
	principal *management.Principal
	presented bool // a key, right or wrong

	document jsonscan.Value // the body; nil before readBody
	members  members        // of document, if it is an object
}

// An Operation answers one method of a path of the management API. An error of type
// [*management.Error] is answered with its code.
type Operation func(*Request) error

// methods are the operations on a path of the management API. A nil operation does
// not exist.
type methods struct {
	get, post, put, patch, delete Operation

	open     bool      // to clients without a key
	document bool      // a body need not be an object
	stream   bool      // the operation reads the body itself
	before   Operation // checks what all methods have in common
}

// operationFor returns the operation for a method of HTTP, nil if there is none.
func (m *methods) operationFor(method string) Operation {
	switch method {
	case http.MethodGet, http.MethodHead: // net/http leaves the body of the answer out
		return m.get
	case http.MethodPost:
		return m.post
	case http.MethodPut:
		return m.put
	case http.MethodPatch:
		return m.patch
	case http.MethodDelete:
		return m.delete
	}
	return nil
}

// allow returns the header Allow.
func (m *methods) allow() string {
	var list []string
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodHead} {
		if m.operationFor(method) != nil {
			list = append(list, method)
		}
	}
	return strings.Join(append(list, http.MethodOptions), ", ")
}

// api answers a request. It checks in the order of management.md §2.5: user, rate,
// method, body. The Service checks the rest.
func (s *Server) api(x *exchange, m *methods) error {
	s.setAPIHeaders(x)
	if x.r.Method == http.MethodOptions {
		return s.apiOptions(x, m.allow())
	}
	a := &Request{s: s, x: x, m: m}
	if err := a.authenticate(); err != nil {
		return err
	}
	answer := m.operationFor(x.r.Method)
	if answer == nil {
		x.w.Header()["Allow"] = []string{m.allow()}
		return errMethod
	}
	if !m.stream {
		if err := a.readBody(); err != nil {
			return err
		}
	}
	if !m.document && !m.stream {
		if err := a.requireObject(); err != nil {
			return err
		}
	}
	a.prove()
	if m.before != nil {
		if err := m.before(a); err != nil {
			return err
		}
	}
	return answer(a)
}

// The values of the headers that all answers of the management API have. The
// answers are about accounts, so no cache may keep them, and no browser may take
// them for a page.
var (
	noStore = []string{"no-store"}
	noSniff = []string{"nosniff"}
)

func (s *Server) setAPIHeaders(x *exchange) {
	h := x.w.Header()
	h["Cache-Control"] = noStore
	h["X-Content-Type-Options"] = noSniff
	h["X-Request-Id"] = []string{x.requestID()}
	s.setAPICORS(h, x.r.Header)
}

func (a *Request) service() *management.Service { return a.s.config.Management.Service }

// Context returns the context of the request.
func (a *Request) Context() context.Context { return a.x.r.Context() }

// Segment returns the decoded part of a path that a wildcard of its pattern
// matches.
func (a *Request) Segment(name string) string { return storable(a.x.r.PathValue(name)) }

// storable returns a text that every store can look for. Databases refuse NUL and
// broken UTF-8, which percent-encoding can produce; storable changes such a text to
// one that equals nothing in a store.
func storable(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

// Answer writes a value as JSON, or returns the error.
func (a *Request) Answer(status int, v any, err error) error {
	if err != nil {
		return err
	}
	body, err := encode(v)
	if err != nil {
		return err
	}
	return a.x.respond(status, typeJSON, body)
}

// done answers without content, or returns the error.
func (a *Request) done(err error) error {
	if err != nil {
		return err
	}
	return a.x.respond(http.StatusNoContent, nil, nil)
}
