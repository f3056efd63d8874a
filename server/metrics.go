package server

import (
	"fmt"
	"iter"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/flagstaff-go/flagstaff/flags"
)

// metrics are what /metrics shows, on a registry of their own.
type metrics struct {
	handler   http.Handler
	requests  *prometheus.CounterVec
	inFlight  prometheus.Gauge
	evaluated prometheus.Counter
	limited   prometheus.Counter
	failures  *prometheus.CounterVec
	events    *prometheus.CounterVec
	durations *prometheus.HistogramVec
	routes    map[*route]*routeMetrics

	evaluations *evaluations
}

// routeMetrics are the metrics that every request of a route changes. They are made by its
// first request, because most routes of most servers are never called. What two requests
// make at the same time is the same.
type routeMetrics struct {
	ok        atomic.Pointer[prometheus.Counter] // requests with status 200
	unchanged atomic.Pointer[prometheus.Counter] // with status 304
	duration  atomic.Pointer[prometheus.Observer]
}

func newMetrics(c Config, streams *streams) (*metrics, error) {
	counter := func(name, help string) prometheus.CounterOpts {
		return prometheus.CounterOpts{Name: name, Help: help}
	}
	gauge := func(name, help string) prometheus.GaugeOpts { return prometheus.GaugeOpts{Name: name, Help: help} }
	m := &metrics{
		requests: prometheus.NewCounterVec(counter("flagstaff_http_requests_total", "Requests by route and status of the answer."),
			[]string{"route", "status"}),
		inFlight:  prometheus.NewGauge(gauge("flagstaff_http_requests_in_flight", "Requests that are being answered.")),
		evaluated: prometheus.NewCounter(counter("flagstaff_flags_evaluated_total", "Flags in answers.")),
		limited: prometheus.NewCounter(counter("flagstaff_quota_limited_total",
			"Answers without flags or definitions because the quota was used up.")),
		failures: prometheus.NewCounterVec(counter("flagstaff_store_failures_total",
			"Reads of stored data that failed, by what was read. The answers were partial."), []string{"store"}),
		events: prometheus.NewCounterVec(counter("flagstaff_events_total",
			"Events that clients have sent, by what became of them: stored, not stored (the client is told), over the quota, or discarded on purpose."),
			[]string{"result"}),
		durations: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "flagstaff_http_request_duration_seconds",
			Help:    "Time from the first byte of a request that was read to the last of the answer that was written, by route.",
			Buckets: []float64{.00005, .0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5},

			// For scrapes in the protobuf format.
			NativeHistogramBucketFactor:     1.1,
			NativeHistogramMaxBucketNumber:  100,
			NativeHistogramMinResetDuration: time.Hour,
		}, []string{"route"}),
		routes:      make(map[*route]*routeMetrics),
		evaluations: newEvaluations(),
	}
	// A counter that begins at 0 shows its first increase, too.
	for _, what := range []string{"person", "group", "cohorts", "overrides"} {
		m.failures.WithLabelValues(what)
	}
	for _, result := range []string{"stored", "failed", "over_quota", "discarded"} {
		m.events.WithLabelValues(result)
	}
	add := func(rt *route) { m.routes[rt] = new(routeMetrics) }
	for _, rt := range c.routes() {
		add(rt)
	}
	add(&unknownRoute)
	if c.Management.Service != nil {
		add(&unknownAPIRoute)
	}

	r := prometheus.NewRegistry()
	r.MustRegister(m.requests, m.inFlight, m.evaluated, m.limited, m.failures, m.durations, m.evaluations,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	if c.addressed() != nil {
		r.MustRegister(prometheus.NewGaugeFunc(gauge("flagstaff_event_streams", "Event streams that are open."),
			func() float64 { return float64(streams.count()) }))
	}
	if p, ok := c.Projects.(enumerable); ok {
		r.MustRegister(definitions{p})
	}
	if c.Capture.Collector != nil {
		r.MustRegister(m.events, prometheus.NewGaugeFunc(gauge("flagstaff_events_waiting", "Events that were taken and are not stored yet."),
			func() float64 { return float64(c.Capture.Collector.Waiting()) }))
	}
	for _, more := range c.Metrics {
		if err := r.Register(more); err != nil {
			return nil, fmt.Errorf("server: Config.Metrics: %w", err)
		}
	}
	m.handler = promhttp.HandlerFor(r, promhttp.HandlerOpts{})
	return m, nil
}

// observe counts a request that was answered.
func (m *metrics) observe(rt *route, status int, d time.Duration) {
	rm := m.routes[rt]
	count := func() prometheus.Counter { return m.requests.WithLabelValues(rt.path, strconv.Itoa(status)) }
	switch status {
	case http.StatusOK:
		madeOnce(&rm.ok, count).Inc()
	case http.StatusNotModified:
		madeOnce(&rm.unchanged, count).Inc()
	default:
		count().Inc()
	}
	madeOnce(&rm.duration, func() prometheus.Observer { return m.durations.WithLabelValues(rt.path) }).Observe(d.Seconds())
}

// madeOnce returns what p has, after its first use made it.
func madeOnce[T any](p *atomic.Pointer[T], newT func() T) T {
	if made := p.Load(); made != nil {
		return *made
	}
	made := newT()
	p.Store(&made)
	return made
}

// MetricsHandler returns a handler that answers as the route /metrics does, for a listener of
// operators. The handler is safe for concurrent use.
func (s *Server) MetricsHandler() http.Handler { return s.metrics.handler }

func (s *Server) serveMetrics(x *exchange) error {
	x.status = http.StatusOK
	s.metrics.handler.ServeHTTP(x.w, x.r)
	return nil
}

// enumerable are Projects that can list what they hold.
type enumerable interface {
	All() iter.Seq[*Project]
}

// definitions is a collector that looks at the definitions of projects for each
// scrape.
type definitions struct{ projects enumerable }

var (
	descFlags = prometheus.NewDesc("flagstaff_definitions_flags",
		"Flags in the definitions of a project, inactive ones included.", []string{"project"}, nil)
	descProblems = prometheus.NewDesc("flagstaff_definitions_problems",
		"Problems in the definitions of a project, by severity.", []string{"project", "severity"}, nil)
	descTimeouts = prometheus.NewDesc("flagstaff_pattern_timeouts_total",
		"Matches of patterns in the filters of a project that were given up.", []string{"project"}, nil)
	descLoaded = prometheus.NewDesc("flagstaff_definitions_loaded",
		"1 if a project has definitions, 0 if there are none yet.", []string{"project"}, nil)
	descAge = prometheus.NewDesc("flagstaff_definitions_age_seconds",
		"Time since the definitions of a project were last known to be current.", []string{"project"}, nil)
	descOrigin = prometheus.NewDesc("flagstaff_definitions_origin",
		"1 for where the definitions of a project come from.", []string{"project", "origin"}, nil)
)

// Describe implements [prometheus.Collector].
func (definitions) Describe(ch chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{descFlags, descProblems, descTimeouts, descLoaded, descAge, descOrigin} {
		ch <- desc
	}
}

// Collect implements [prometheus.Collector].
func (d definitions) Collect(ch chan<- prometheus.Metric) {
	seen := make(map[int64]bool)
	for p := range d.projects.All() {
		if seen[p.ID] { // two metrics with one id would be an error for all
			continue
		}
		seen[p.ID] = true
		project := strconv.FormatInt(p.ID, 10)
		gauge := func(desc *prometheus.Desc, v float64, labels ...string) {
			ch <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, v, append([]string{project}, labels...)...)
		}
		status := p.status()
		if !status.Checked.IsZero() {
			gauge(descAge, time.Since(status.Checked).Seconds())
		}
		if status.Origin != "" {
			gauge(descOrigin, 1, status.Origin)
		}
		ch <- prometheus.MustNewConstMetric(descTimeouts, prometheus.CounterValue, float64(p.Flags.PatternTimeouts()), project)
		s := p.snapshot()
		if s == nil {
			gauge(descLoaded, 0)
			continue
		}
		gauge(descLoaded, 1)
		gauge(descFlags, float64(s.Len()))
		counts := make(map[flags.Severity]int)
		for _, problem := range status.Problems {
			counts[problem.Severity]++
		}
		for _, severity := range []flags.Severity{flags.SeverityError, flags.SeverityWarning} {
			gauge(descProblems, float64(counts[severity]), severity.String())
		}
	}
}
