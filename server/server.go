package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/flags/subject"
	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/runtime"
)

// Config configures a [Server]. Only Projects is required.
type Config struct {
	// Projects finds the project of an API key.
	Projects Projects

	// Store has what is stored about persons and groups. What cannot be read
	// from it does not fail a request: it is logged, and the answer says that it
	// is partial. Nil: nothing is stored.
	Store subject.Store

	// Geo finds out where a client is. Nil: there are no $geoip_* properties
	// but those of the request.
	Geo subject.Locator

	// Quota counts evaluations; a request for definitions counts as ten. Nil:
	// there is no limit.
	Quota Quota

	// OFREP serves flags by OpenFeature's remote evaluation protocol as well.
	// False: its routes do not exist.
	OFREP bool

	// Products are the names with which SDKs introduce themselves in their
	// User-Agent, for runtime detection. None: those of [runtime.Detector].
	Products []string

	// TrustedProxies are the peers whose X-Forwarded-For is believed. Nil:
	// every peer, as the API says, which lets clients choose their address;
	// empty but not nil: none. The management API believes only those that are
	// listed, X-Forwarded-Proto and X-Forwarded-Host as well.
	TrustedProxies []netip.Prefix

	// Capture takes captured events, usually a [*capture.Collector]. Nil: the
	// routes for events do not exist.
	Capture Capture

	// EventQuota counts captured events. Those beyond it are dropped silently,
	// as wire.md §2.4 has it. Nil: there is no limit.
	EventQuota Quota

	// CaptureTimeout is how long a request waits for its events to be stored;
	// then the client is told to send them again. Zero: 10 s.
	CaptureTimeout time.Duration

	// MaxBody is the largest body in bytes as it is sent, MaxDecoded after
	// decompression. Zero: 10 MiB and 20 MiB.
	MaxBody    int64
	MaxDecoded int64

	// MaxCaptureBody and MaxCaptureDecoded are the same for events. Zero:
	// 20 MiB and 50 MiB. The route for recordings takes 5 MiB more, and
	// /i/v1/analytics/events at most 10 MiB (wire.md §2.2, §2.9).
	MaxCaptureBody    int64
	MaxCaptureDecoded int64

	// MaxBodyMemory bounds the memory in bytes that bodies beyond 1 MiB take,
	// of all requests together, and decoding and parsing them. When it is used
	// up clients are told to come back, so it should be many times MaxDecoded
	// and MaxCaptureDecoded: one body takes up to ten times its size. Each
	// request may take up to 5 MiB that are not counted. Zero: 512 MiB.
	MaxBodyMemory int64

	// RateLimit limits requests of clients that need no secret. The zero value
	// does not.
	RateLimit RateLimit

	// Management answers the management API, and knows who may have definitions.
	// Nil: there are neither, only surveys and early access features are below
	// /api/, and the fields that follow, up to AppURL, mean nothing.
	Management *management.Service

	// ManagementLimit limits requests to the management API and for
	// definitions. The zero value does, unlike that of RateLimit.
	ManagementLimit ManagementLimit

	// MaxManagementBody is the largest body in bytes, but for uploads. Zero: 1
	// MiB.
	MaxManagementBody int64

	// MaxUpload is the largest list of members of a cohort in bytes. Lists are
	// stored while they arrive, so that it costs no memory. Zero: 64 MiB.
	MaxUpload int64

	// AuthFunc recognises users whom the host application has signed in. It is
	// asked before a personal API key is looked for. Nil and no error means
	// that it knows nobody; an error ends the request, with status 500 unless
	// it is a [*management.Error]. Requests that change something and that a
	// browser sends from another origin are refused, unless that is one of
	// ManagementOrigins. Nil: there are only keys.
	AuthFunc func(*http.Request) (*management.Principal, error)

	// AllowKeyInBody takes personal API keys also from the member or query
	// parameter personal_api_key; of uploads, and where there is no body, from
	// the query alone. Queries are often logged.
	AllowKeyInBody bool

	// ManagementOrigins are the origins, as https://app.example.com, whose
	// pages may use the management API. None: those of the server's own.
	ManagementOrigins []string

	// AppURL is what clients see the server as, for links to other pages of a
	// list. Empty: what the request says.
	AppURL string

	// Ready is asked by /readyz. Nil: always ready. The error is logged, not
	// shown.
	Ready func(context.Context) error

	// Metrics are told by /metrics as well.
	Metrics []prometheus.Collector

	// Log takes warnings, and errors that are nobody's fault but ours. Nil:
	// they are discarded.
	Log *slog.Logger
}

func (c Config) withDefaults() Config {
	c.MaxBody = cmp.Or(c.MaxBody, 10<<20)
	c.MaxDecoded = cmp.Or(c.MaxDecoded, 20<<20)
	c.MaxCaptureBody = cmp.Or(c.MaxCaptureBody, 20<<20)
	c.MaxCaptureDecoded = cmp.Or(c.MaxCaptureDecoded, 50<<20)
	c.MaxBodyMemory = cmp.Or(c.MaxBodyMemory, 512<<20)
	c.CaptureTimeout = cmp.Or(c.CaptureTimeout, 10*time.Second)
	c.MaxManagementBody = cmp.Or(c.MaxManagementBody, 1<<20)
	c.MaxUpload = cmp.Or(c.MaxUpload, 64<<20)
	c.AppURL = strings.TrimRight(c.AppURL, "/")
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	return c
}

// A Server answers requests. It is safe for concurrent use.
type Server struct {
	config    Config
	detector  runtime.Detector
	mux       *http.ServeMux
	metrics   *metrics
	limiters  limiters
	exchanges sync.Pool
	budget    budget
	agents    *lru.Cache[string, []capture.Property] // by User-Agent

	// Of the management API.
	apiLimiters apiLimiters
	origins     *http.CrossOriginProtection
}

var _ http.Handler = (*Server)(nil)

// New returns a Server, or an error if the Config makes no sense.
func New(c Config) (*Server, error) {
	c = c.withDefaults()
	if c.Projects == nil {
		return nil, errors.New("server: Config.Projects is missing")
	}
	if c.MaxBody < 0 || c.MaxDecoded < 0 || c.MaxCaptureBody < 0 || c.MaxCaptureDecoded < 0 || c.MaxBodyMemory < 0 || c.MaxManagementBody < 0 || c.MaxUpload < 0 {
		return nil, errors.New("server: Config.MaxBody, MaxDecoded, MaxCaptureBody, MaxCaptureDecoded, MaxBodyMemory, MaxManagementBody and MaxUpload must not be negative")
	}
	if c.CaptureTimeout < 0 {
		return nil, errors.New("server: Config.CaptureTimeout must not be negative")
	}
	for _, p := range c.TrustedProxies {
		if !p.IsValid() {
			return nil, fmt.Errorf("server: Config.TrustedProxies: %v is no address prefix", p)
		}
	}
	limiters, err := newLimiters(c.RateLimit)
	if err != nil {
		return nil, err
	}
	apiLimiters, err := newAPILimiters(c.ManagementLimit)
	if err != nil {
		return nil, err
	}
	origins, err := newOrigins(c.ManagementOrigins)
	if err != nil {
		return nil, err
	}
	if err := checkAppURL(c.AppURL); err != nil {
		return nil, err
	}
	agents, err := lru.New[string, []capture.Property](mostAgents)
	if err != nil {
		return nil, err
	}
	metrics, err := newMetrics(c)
	if err != nil {
		return nil, err
	}
	s := &Server{
		config:   c,
		detector: runtime.Detector{Products: c.Products},
		metrics:  metrics,
		limiters: limiters,
		agents:   agents,

		apiLimiters: apiLimiters,
		origins:     origins,
	}
	s.budget.left.Store(c.MaxBodyMemory)
	s.exchanges.New = func() any { return newExchange(s) }
	s.mux = s.newMux()
	if c.TrustedProxies == nil && (c.Geo != nil || c.Capture != nil || c.RateLimit.IP.PerSecond > 0) {
		c.Log.Warn("X-Forwarded-For is believed whoever sends it; list the proxies to trust if clients connect directly")
	}
	return s, nil
}

// ServeHTTP answers a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !isClean(r.URL.Path) {
		// ServeMux would redirect, and redirects lose bodies (wire.md §0.4).
		rt := &unknownRoute
		if s.config.Management != nil && strings.HasPrefix(r.URL.Path, "/api/") {
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
