package server

import (
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/runtime"
)

// A Server answers requests. It is safe for concurrent use.
type Server struct {
	config    Config
	detector  runtime.Detector
	mux       *http.ServeMux
	metrics   *metrics
	limiters  limiters
	exchanges sync.Pool
	budget    budget
	maxPooled int64                                  // bytes of answers that an exchange keeps
	agents    *lru.Cache[string, []capture.Property] // by User-Agent
	unready   atomic.Pointer[string]                 // what /readyz has answered last, nil for ready

	// For event streams. addressed is nil if there are none.
	addressed addressed
	streams   *streams
	appPath   string // of Config.Management.AppURL

	described func() (description, error)

	// For the management API.
	apiLimiters apiLimiters
	origins     *http.CrossOriginProtection
}

var _ http.Handler = (*Server)(nil)

// New returns a Server, or an error if the Config makes no sense.
func New(c Config) (*Server, error) {
	c = c.withDefaults()
	if err := c.check(); err != nil {
		return nil, err
	}
	limiters, err := newLimiters(c.RateLimit)
	if err != nil {
		return nil, err
	}
	apiLimiters, err := newAPILimiters(c.Management.Limit)
	if err != nil {
		return nil, err
	}
	origins, err := newOrigins(c.Management.Origins)
	if err != nil {
		return nil, err
	}
	if err := checkAppURL(c.Management.AppURL); err != nil {
		return nil, err
	}
	agents, err := lru.New[string, []capture.Property](maxAgents)
	if err != nil {
		return nil, err
	}
	streams := newStreams(c.MaxStreams)
	metrics, err := newMetrics(c, streams)
	if err != nil {
		return nil, err
	}
	s := &Server{
		config:   c,
		detector: runtime.Detector{Products: c.Products},
		metrics:  metrics,
		limiters: limiters,
		agents:   agents,

		addressed: c.addressed(),
		streams:   streams,
		appPath:   pathOf(c.Management.AppURL),
		described: sync.OnceValues(c.describe),

		apiLimiters: apiLimiters,
		origins:     origins,
	}
	s.budget.total = c.MaxBodyMemory
	s.budget.left.Store(c.MaxBodyMemory)
	s.maxPooled = min(maxPooled, c.MaxBodyMemory/64)
	s.exchanges.New = func() any { return newExchange(s) }
	s.mux = s.newMux()
	if c.TrustedProxies == nil && (c.Geo != nil || c.Capture.Collector != nil || c.RateLimit.IP.PerSecond > 0) {
		c.Log.Warn("X-Forwarded-For of every client is believed; list the proxies in front of the server, or none")
	}
	return s, nil
}

// ServeHTTP answers a request. A Server that New has not made is never ready.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s == nil || s.mux == nil {
		h := w.Header()
		h["Content-Type"], h["Retry-After"] = typeJSON, []string{"1"}
		w.WriteHeader(http.StatusServiceUnavailable)
		io.WriteString(w, newFailure(http.StatusServiceUnavailable, typeServer, codeUnavailable, "not ready", "").body)
		return
	}
	if !isClean(r.URL.Path) {
		// ServeMux would redirect, and redirects lose bodies (wire.md §0.4).
		rt := &unknownRoute
		if s.config.Management.Service != nil && strings.HasPrefix(r.URL.Path, "/api/") {
			rt = &unknownAPIRoute
		}
		s.serve(rt, w, r)
		return
	}
	s.mux.ServeHTTP(w, r)
}

// isClean reports whether ServeMux takes a path as it is.
func isClean(path string) bool {
	return strings.HasPrefix(path, "/") && !strings.Contains(path, "//") && !strings.Contains(path, "/.")
}
