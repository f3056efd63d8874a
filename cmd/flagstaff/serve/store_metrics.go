package serve

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/management/sqlstore"
)

// storeMetrics show what a store does, and how events come to it.
type storeMetrics struct {
	operations *prometheus.HistogramVec
	commits    prometheus.Histogram
	sizes      prometheus.Histogram
}

func newStoreMetrics() *storeMetrics {
	histogram := func(name, help string, buckets []float64) prometheus.HistogramOpts {
		return prometheus.HistogramOpts{
			Name: name, Help: help, Buckets: buckets,
			NativeHistogramBucketFactor: 1.1, NativeHistogramMaxBucketNumber: 100, NativeHistogramMinResetDuration: time.Hour,
		}
	}
	durations := []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 10}
	return &storeMetrics{
		operations: prometheus.NewHistogramVec(histogram("flagstaff_store_operation_duration_seconds",
			"Time that the database took, by what was read or changed. Changes include the time in which others had their turn.", durations), []string{"operation"}),
		commits: prometheus.NewHistogram(histogram("flagstaff_commit_duration_seconds",
			"Time to make a group of events durable: in the store, or with -stream in the stream.", durations)),
		sizes: prometheus.NewHistogram(histogram("flagstaff_commit_events",
			"Events that became durable together.", []float64{1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000})),
	}
}

// onOperation is for [sqlstore.Options].
func (m *storeMetrics) onOperation(ctx context.Context, o sqlstore.Operation) (context.Context, func(error)) {
	start := time.Now()
	return ctx, func(error) { m.operations.WithLabelValues(o).Observe(time.Since(start).Seconds()) }
}

// wrote observes a write of the collector, unless it has made nothing durable.
func (m *storeMetrics) wrote(events int, d time.Duration, err error) {
	faults, durable := capture.Faults(err, events)
	if stored := events - len(faults); durable && stored > 0 {
		m.commits.Observe(d.Seconds())
		m.sizes.Observe(float64(stored))
	}
}

// collectors returns the metrics for /metrics, with what the store counts by itself: how often
// its cache spares the database, and which events it did not store.
func (m *storeMetrics) collectors(store sqlstore.Storage) []prometheus.Collector {
	reads := func(result string, value func() uint64) prometheus.Collector {
		return counter("flagstaff_store_cache_reads_total",
			"Reads of stored data for flags: hits were answered from memory, misses by the database.", prometheus.Labels{"result": result}, value)
	}
	skipped := func(reason string, value func() uint64) prometheus.Collector {
		return counter("flagstaff_store_skipped_events_total",
			"Events that came to the store and were acknowledged without being stored: repeated, if they were stored before, or too_old, if events as old are not kept any more.",
			prometheus.Labels{"reason": reason}, value)
	}
	return []prometheus.Collector{
		m.operations, m.commits, m.sizes,
		reads("hit", func() uint64 { hits, _ := store.CacheReads(); return hits }),
		reads("miss", func() uint64 { _, misses := store.CacheReads(); return misses }),
		skipped("repeated", func() uint64 { repeated, _ := store.SkippedEvents(); return repeated }),
		skipped("too_old", func() uint64 { _, tooOld := store.SkippedEvents(); return tooOld }),
	}
}

// counter returns a metric whose value something else counts.
func counter(name, help string, labels prometheus.Labels, value func() uint64) prometheus.Collector {
	return prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help, ConstLabels: labels},
		func() float64 { return float64(value()) })
}

// gauge returns a metric whose value is asked for when somebody looks.
func gauge(name, help string, value func() float64) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, value)
}
