package server

import "net/http"

// A route is one path and what answers it.
type route struct {
	path   string
	method string // the one that handle is for
	allow  string // header Allow

	// public routes are for clients of other origins: they answer preflights,
	// and every answer has CORS headers.
	public bool

	handle func(*Server, *exchange) error
}

// routes are all paths that the server answers. Each is served with and without
// a trailing slash.
var routes = []route{
	{"/flags", http.MethodPost, allowPost, true, (*Server).flags},
	{"/decide", http.MethodPost, allowPost, true, (*Server).decide},

	{"/healthz", http.MethodGet, allowGet, false, (*Server).healthz},
	{"/readyz", http.MethodGet, allowGet, false, (*Server).readyz},
	{"/metrics", http.MethodGet, allowGet, false, (*Server).serveMetrics},
}

const (
	allowPost = "POST, OPTIONS, HEAD" // decisions.md 3
	allowGet  = "GET, HEAD"
)

// unknownRoute answers all other paths.
var unknownRoute = route{path: "other", public: true}

func (s *Server) newMux() *http.ServeMux {
	mux := http.NewServeMux()
	handle := func(pattern string, rt *route) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) { s.serve(rt, w, r) })
	}
	for i := range routes {
		rt := &routes[i]
		handle(rt.path, rt)
		handle(rt.path+"/{$}", rt)
	}
	handle("/", &unknownRoute)
	return mux
}

// dispatch answers a request by its route and method.
func (s *Server) dispatch(rt *route, x *exchange) error {
	method := x.r.Method
	switch {
	case rt.handle == nil:
		if rt.public && method == http.MethodOptions {
			return x.preflight("GET, POST, OPTIONS")
		}
		return errNotFound
	case method == rt.method:
		return rt.handle(s, x)
	case rt.public && method == http.MethodOptions:
		return x.preflight(rt.allow)
	case method == http.MethodHead && rt.method == http.MethodGet:
		return rt.handle(s, x)
	case method == http.MethodHead:
		return x.respond(http.StatusOK, typeJSON, nil)
	}
	x.w.Header()["Allow"] = []string{rt.allow}
	return errMethod
}
