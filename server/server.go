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

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/runtime"
)

// Config configures a [Server]. Only Projects is required.
type Config struct {
	// Projects finds the project of an API key.
	Projects Projects

	// Properties, Overrides and Cohorts are what is stored about persons and
	// groups. Nil: nothing is stored.
	Properties PropertyStore
	Overrides  OverrideStore
	Cohorts    CohortStore

	// Geo finds out where a client is. Nil: there are no $geoip_* properties
	// but those of the request.
	Geo Locator

	// Quota counts evaluations. Nil: there is no limit.
	Quota Quota

	// Products are the names with which SDKs introduce themselves in their
	// User-Agent, for runtime detection. None: those of [runtime.Detector].
	Products []string

	// TrustedProxies are the peers whose X-Forwarded-For is believed. Nil:
	// every peer, as the API says, which lets clients choose their address;
	// empty but not nil: none.
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

	// RateLimit limits requests. The zero value does not.
	RateLimit RateLimit

	// Ready is asked by /readyz. Nil: always ready. The error is logged, not
	// shown.
	Ready func(context.Context) error

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
}

var _ http.Handler = (*Server)(nil)

// New returns a Server, or an error if the Config makes no sense.
func New(c Config) (*Server, error) {
	c = c.withDefaults()
	if c.Projects == nil {
		return nil, errors.New("server: Config.Projects is missing")
	}
	if c.MaxBody < 0 || c.MaxDecoded < 0 || c.MaxCaptureBody < 0 || c.MaxCaptureDecoded < 0 || c.MaxBodyMemory < 0 {
		return nil, errors.New("server: Config.MaxBody, MaxDecoded, MaxCaptureBody, MaxCaptureDecoded and MaxBodyMemory must not be negative")
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
	agents, err := lru.New[string, []capture.Property](mostAgents)
	if err != nil {
		return nil, err
	}
	s := &Server{
		config:   c,
		detector: runtime.Detector{Products: c.Products},
		metrics:  newMetrics(c),
		limiters: limiters,
		agents:   agents,
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
		s.serve(&unknownRoute, w, r)
		return
	}
	s.mux.ServeHTTP(w, r)
}

// isClean reports whether ServeMux takes a path as it is.
func isClean(path string) bool {
	return strings.HasPrefix(path, "/") && !strings.Contains(path, "//") && !strings.Contains(path, "/.")
}
