package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/flags/subject"
	"github.com/flagstaff-go/flagstaff/management"
)

// Config configures a [Server]. Only Projects is required.
type Config struct {
	// Projects finds the project of an API key.
	Projects Projects

	// Store has what is stored about persons and groups. A failure of the Store
	// does not fail a request: the failure is logged, and the answer says that it
	// is partial. Nil: nothing is stored.
	Store subject.Store

	// StoreTimeout is how long a request for flags waits for the Store in all. It should
	// be shorter than clients wait for flags, 3 s in most SDKs. Zero: 1 s.
	StoreTimeout time.Duration

	// Geo finds out where a client is. Nil: there are no $geoip_* properties
	// except those in the request.
	Geo subject.Locator

	// Quota counts evaluations. A request for definitions counts as ten. Nil:
	// there is no limit.
	Quota Quota

	// OFREP adds the routes of OpenFeature's remote evaluation protocol. If Projects
	// is a [*Registry], they include event streams, and definitions name them as well.
	OFREP bool

	// MaxStreams is how many event streams the clients of one project may have on this
	// server. Zero: 10,000. Less than zero: there are no event streams, and clients
	// poll. All projects together have one for each 256 KiB of the memory that the
	// process may have, one for two files that it may have open, and 65,536 at most.
	MaxStreams int

	// Products are the names with which SDKs introduce themselves in their
	// User-Agent, for runtime detection. None: the names of [runtime.Detector].
	Products []string

	// MaxBody and MaxDecoded bound the bodies of requests for flags, in bytes,
	// before and after decompression. Zero: 10 MiB and 20 MiB.
	MaxBody    int64
	MaxDecoded int64

	// Capture configures the routes for events.
	Capture CaptureConfig

	// Management configures the management API and the routes for definitions.
	Management ManagementConfig

	// TrustedProxies are the addresses of the proxies in front of the server.
	// The client is the last address in X-Forwarded-For, or the peer, that is
	// not in the list (evaluation.md §10). Nil: every peer is believed, as the
	// API says, and the first address counts, so that clients can choose
	// theirs; empty but not nil: the peer is the client. The management API
	// believes only the listed peers, and of them X-Forwarded-Proto and
	// X-Forwarded-Host as well.
	TrustedProxies []netip.Prefix

	// RateLimit limits requests of clients that need no secret. The zero value
	// does not.
	RateLimit RateLimit

	// MaxBodyMemory bounds the memory in bytes that all requests together take
	// to read, decode and parse bodies of more than a few kilobytes, and to
	// write long answers. When it is used up, clients are told to come back;
	// the last quarter is for requests that take little. A body that takes more
	// than three quarters alone is too large. One takes up to ten times its
	// size. Zero: 512 MiB, or a quarter of what the process may have if that is
	// less: of the limit of the Go runtime (GOMEMLIMIT), or else of the
	// container.
	MaxBodyMemory int64

	// Ready is asked by /readyz. Nil: always ready. The error is logged when it
	// begins, and not shown, except for what a [*NotReady] says.
	Ready func(context.Context) error

	// OnRequest is called when a request begins, with the pattern of its route, for traces.
	// The request goes on with the context that it returns, and the function that it
	// returns, if that is not nil, is called with the status and the id of the request
	// when it was answered: of an event stream, when the stream begins. It must be safe for
	// concurrent use and not block. Nil: it is not called.
	OnRequest func(r *http.Request, route string) (context.Context, func(status int, requestID string))

	// Metrics are shown by /metrics in addition to the server's own.
	Metrics []prometheus.Collector

	// PrivateMetrics leaves the route /metrics out. A program serves
	// [Server.MetricsHandler] elsewhere, where only operators can reach it.
	PrivateMetrics bool

	// Log receives warnings, and errors that are not the client's. Nil discards
	// them.
	Log *slog.Logger
}

// CaptureConfig configures the routes for events. They exist if there is a
// Collector.
type CaptureConfig struct {
	// Collector takes the events, usually a [*capture.Collector].
	Collector Collector

	// Quota counts events. Events beyond it are dropped silently (wire.md
	// §2.4). Nil: there is no limit.
	Quota Quota

	// Timeout is how long a request waits until its events are stored. After
	// it, the client is told to send them again. Zero: 10 s.
	Timeout time.Duration

	// MaxBody and MaxDecoded bound the bodies of requests with events, in bytes,
	// before and after decompression. Zero: 20 MiB and 50 MiB. The route for
	// recordings accepts 5 MiB more, and /i/v1/analytics/events at most 10 MiB
	// (wire.md §2.2, §2.9).
	MaxBody    int64
	MaxDecoded int64

	// MaxEvent bounds an event in bytes, as [capture.Event.Size] counts them. A
	// stream has a limit of its own, which should not be lower. Zero: 1 MiB.
	MaxEvent int
}

// ManagementConfig configures the management API and the routes for definitions.
// They exist if there is a Service; otherwise only surveys and early access
// features are below /api/.
type ManagementConfig struct {
	// Service answers the requests, and knows which keys open definitions.
	Service *management.Service

	// Routes are what other packages add to the API, such as package surveys.
	Routes []ProjectRoute

	routes []route // of Routes and of early access features

	// AuthFunc recognises users whom the host application has signed in. It is
	// asked before a personal API key is looked for. Nil and no error means
	// that it recognises nobody. An error ends the request, with status 500
	// unless it is a [*management.Error]. A request that changes something and
	// that a browser sends from another origin is refused, unless the origin is
	// one of Origins. Nil: there are only keys.
	AuthFunc func(*http.Request) (*management.Principal, error)

	// AuthSameOrigin asks AuthFunc only about requests that no page of another origin
	// has made a browser send, whatever their method is. Pages of Origins then use the
	// API with keys alone.
	AuthSameOrigin bool

	// AllowKeyInBody accepts personal API keys also as the member or query
	// parameter personal_api_key. An upload, and a request without a body, can
	// have it in the query alone. Queries are often logged.
	AllowKeyInBody bool

	// Origins are the origins, as https://app.example.com, whose pages may use
	// the API. None: only the server's own.
	Origins []string

	// AppURL is the address of the server as clients see it, for links to other
	// pages of a list. Empty: what the request says.
	AppURL string

	// Limit limits requests for the API and for definitions. Unlike the zero
	// RateLimit, the zero Limit does.
	Limit ManagementLimit

	// MaxBody is the largest body in bytes, except of uploads. Zero: 1 MiB.
	MaxBody int64

	// MaxUpload is the largest list of members of a cohort, and the largest document
	// of an import, in bytes. Lists are stored while they arrive, so that a long one
	// takes no memory; a document is read as a whole. Zero: 64 MiB.
	MaxUpload int64
}

// A Collector takes events. [*capture.Collector] does.
type Collector interface {
	// Accept returns nil when the events are durable, and an error that is or
	// joins [*capture.EventError]s if only some cannot be stored. After any
	// other error the client is told to send all of them again.
	Accept(ctx context.Context, events ...capture.Event) error

	// Waiting returns how many events are not durable yet, for metrics.
	Waiting() int
}

var _ Collector = (*capture.Collector)(nil)

// A Quota counts what organizations use. It must be safe for concurrent use and
// not block.
type Quota interface {
	// Take counts n evaluations or events and reports whether they are within
	// the quota.
	Take(organization string, n int) bool
}

func (c Config) withDefaults() Config {
	c.MaxBody = cmp.Or(c.MaxBody, 10<<20)
	c.MaxDecoded = cmp.Or(c.MaxDecoded, 20<<20)
	c.Capture.MaxBody = cmp.Or(c.Capture.MaxBody, 20<<20)
	c.Capture.MaxDecoded = cmp.Or(c.Capture.MaxDecoded, 50<<20)
	c.Capture.MaxEvent = cmp.Or(c.Capture.MaxEvent, 1<<20)
	c.StoreTimeout = cmp.Or(c.StoreTimeout, time.Second)
	c.Capture.Timeout = cmp.Or(c.Capture.Timeout, 10*time.Second)
	c.MaxBodyMemory = cmp.Or(c.MaxBodyMemory, usualMemory())
	c.MaxStreams = cmp.Or(c.MaxStreams, maxProjectStreams)
	c.Management.MaxBody = cmp.Or(c.Management.MaxBody, 1<<20)
	c.Management.MaxUpload = cmp.Or(c.Management.MaxUpload, 64<<20)
	for _, r := range slices.Concat(earlyAccessRoutes, c.Management.Routes) {
		c.Management.routes = append(c.Management.routes, r.route())
	}
	c.Management.AppURL = strings.TrimRight(c.Management.AppURL, "/")
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	return c
}

// check returns an error if the Config makes no sense.
func (c Config) check() error {
	if c.Projects == nil {
		return errors.New("server: Config.Projects is missing")
	}
	for _, limit := range []struct {
		name  string
		bytes int64
	}{
		{"MaxBody", c.MaxBody},
		{"MaxDecoded", c.MaxDecoded},
		{"Capture.MaxBody", c.Capture.MaxBody},
		{"Capture.MaxDecoded", c.Capture.MaxDecoded},
		{"Capture.MaxEvent", int64(c.Capture.MaxEvent)},
		{"MaxBodyMemory", c.MaxBodyMemory},
		{"Management.MaxBody", c.Management.MaxBody},
		{"Management.MaxUpload", c.Management.MaxUpload},
	} {
		if limit.bytes < 0 {
			return fmt.Errorf("server: Config.%s is %d, want 0 or more bytes", limit.name, limit.bytes)
		}
	}
	if c.StoreTimeout < 0 {
		return fmt.Errorf("server: Config.StoreTimeout is %v, want 0 or more", c.StoreTimeout)
	}
	if c.Capture.Timeout < 0 {
		return fmt.Errorf("server: Config.Capture.Timeout is %v, want 0 or more", c.Capture.Timeout)
	}
	for _, p := range c.TrustedProxies {
		if !p.IsValid() {
			return fmt.Errorf("server: Config.TrustedProxies: %v is not an address prefix", p)
		}
		if p.Addr().Is4In6() { // Contains would find nothing in it
			return fmt.Errorf("server: Config.TrustedProxies: %v is IPv4 in IPv6, want a prefix of IPv4 or IPv6", p)
		}
	}
	return nil
}
