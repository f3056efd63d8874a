package server

import "net/http"

// A route is one path and what answers it.
type route struct {
	path   string
	method string // that handle answers
	also   string // another method, or ""
	allow  string // header Allow

	// public routes are for clients of other origins: they answer preflights, and
	// every answer has CORS headers.
	public bool

	handle func(*Server, *exchange) error

	// every answers all methods, in place of the fields above. It is set in routes
	// of the management API, which may also have aliases: other paths to the same.
	every   func(*Server, *exchange) error
	aliases []string

	// failure writes errors in the route's own form. Nil: by the table answers.
	failure func(*exchange, error) failure
}

// routes are all paths that a server answers. Each is served with and without a
// trailing slash.
var routes = []route{
	{path: "/flags", method: http.MethodPost, allow: allowPost, public: true, handle: (*Server).flags},
	{path: "/decide", method: http.MethodPost, allow: allowPost, public: true, handle: (*Server).decide},

	{path: "/healthz", method: http.MethodGet, allow: allowGet, handle: (*Server).healthz},
	{path: "/readyz", method: http.MethodGet, allow: allowGet, handle: (*Server).readyz},
}

// metricsRoute exists unless Config.PrivateMetrics is set.
var metricsRoute = route{path: "/metrics", method: http.MethodGet, allow: allowGet, handle: (*Server).serveMetrics}

// captureRoutes are the routes of a server that takes events (wire.md §2.1).
var captureRoutes = []route{
	captureRoute("/i/v0/e", events{}),
	captureRoute("/batch", events{}),
	postOnly(captureRoute("/i/v0/ai/batch", events{})),
	captureRoute("/e", events{legacy: true}),
	captureRoute("/capture", events{legacy: true}),
	captureRoute("/track", events{legacy: true}),
	captureRoute("/engage", events{legacy: true, engage: true}),
	postOnly(captureRoute("/s", events{recordings: true})),
	{
		path: "/i/v1/analytics/events", method: http.MethodPost, allow: allowPost, public: true,
		handle: (*Server).analytics, failure: analyticsFailure,
	},
	{path: "/_readiness", method: http.MethodGet, allow: allowGet, handle: (*Server).readyz},
	{path: "/", method: http.MethodGet, allow: allowGet, handle: (*Server).healthz},
	{path: "/_liveness", method: http.MethodGet, allow: allowGet, handle: (*Server).healthz},
}

func captureRoute(path string, e events) route {
	return route{
		path: path, method: http.MethodPost, also: http.MethodGet, allow: "GET, POST, OPTIONS, HEAD", public: true,
		handle:  func(s *Server, x *exchange) error { return s.capture(x, e) },
		failure: captureFailure,
	}
}

// postOnly removes GET from a route.
func postOnly(rt route) route {
	rt.also, rt.allow = "", allowPost
	return rt
}

const (
	allowPost = "POST, OPTIONS, HEAD" // evaluation.md §11.5
	allowGet  = "GET, HEAD"
)

// unknownRoute answers all other paths.
var unknownRoute = route{path: "other", public: true}

func (s *Server) routes() []*route { return s.config.routes() }

// routes returns the routes that a server with the config has.
func (c Config) routes() (list []*route) {
	add := func(routes ...route) {
		for i := range routes {
			list = append(list, &routes[i])
		}
	}
	add(routes...)
	if !c.PrivateMetrics {
		list = append(list, &metricsRoute)
	}
	add(deliveryRoutes...)
	add(documentRoutes...)
	if c.OFREP {
		add(ofrepRoutes...)
		if c.addressed() != nil {
			list = append(list, &streamRoute)
		}
	}
	if c.Capture.Collector != nil {
		add(captureRoutes...)
	}
	if c.Management.Service != nil {
		add(apiRoutes...)
		add(managedRoutes...)
		add(c.Management.routes...)
		add(definitionRoutes...)
		add(manifestRoutes...)
		list = append(list, &signupRoute)
		if c.Management.Service.MailAvailable() {
			add(pageRoutes...)
		}
	}
	return list
}

func (s *Server) newMux() *http.ServeMux {
	mux := http.NewServeMux()
	handle := func(pattern string, rt *route) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			if stream := s.serve(rt, w, r); stream != nil {
				stream.write(w, r)
			}
		})
	}
	for _, rt := range s.routes() {
		if rt.path == "/" {
			handle("/{$}", rt)
			continue
		}
		for _, path := range append([]string{rt.path}, rt.aliases...) {
			handle(path, rt)
			handle(path+"/{$}", rt)
		}
	}
	if s.config.Management.Service != nil {
		handle("/api", &unknownAPIRoute)
		handle("/api/", &unknownAPIRoute)
	}
	handle("/", &unknownRoute)
	return mux
}

// dispatch answers a request by its route and method.
func (s *Server) dispatch(rt *route, x *exchange) error {
	method := x.r.Method
	switch {
	case rt.every != nil:
		return rt.every(s, x)
	case rt.handle == nil:
		if rt.public && method == http.MethodOptions {
			return x.preflight("GET, POST, OPTIONS")
		}
		return errNotFound
	case method == rt.method, method == rt.also:
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
