package serve

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/flagstaff-go/flagstaff/management/sqlstore"
)

// storeMetrics show how often the cache of a store spares the database.
type storeMetrics struct{ store sqlstore.Storage }

var descCacheReads = prometheus.NewDesc("flagstaff_store_cache_reads_total",
	"Reads of stored data for flags: hits were answered from memory, misses by the database.", []string{"result"}, nil)

// Describe implements [prometheus.Collector].
func (m storeMetrics) Describe(ch chan<- *prometheus.Desc) { ch <- descCacheReads }

// Collect implements [prometheus.Collector].
func (m storeMetrics) Collect(ch chan<- prometheus.Metric) {
	hits, misses := m.store.CacheReads()
	ch <- prometheus.MustNewConstMetric(descCacheReads, prometheus.CounterValue, float64(hits), "hit")
	ch <- prometheus.MustNewConstMetric(descCacheReads, prometheus.CounterValue, float64(misses), "miss")
}
