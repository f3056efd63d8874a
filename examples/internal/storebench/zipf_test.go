package storebench

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/flagstaff-go/flagstaff/management/sqlstore"
	"github.com/flagstaff-go/flagstaff/management/sqlstore/postgres"
	"github.com/flagstaff-go/flagstaff/management/sqlstore/postgres/postgrestest"
)

// BenchmarkS7 measures row S7 of docs/performance.md: flags that need stored properties
// of 1,000,000 persons in PostgreSQL, of which the cache holds 10,000. Few persons ask
// often and many rarely, by Zipf's law. The floor is 1,000 persons who ask in turn.
func BenchmarkS7(b *testing.B) {
	const connections, perRound, cached = 32, 3200, 10_000
	people := 1_000_000
	if testing.Short() {
		people = 1000
	}
	database := postgrestest.Start(b)
	open := func() sqlstore.Storage {
		// A quarter of the entries is for persons.
		db, err := postgres.Open(b.Context(), database.URL, sqlstore.Options{CacheEntries: 4 * cached})
		if err != nil {
			b.Fatal(err)
		}
		return db
	}
	few, many := open(), open()
	addPersons(b, database.URL, people)
	fewAddr, manyAddr := startBench(b, few, hundredFlags()), startBench(b, many, hundredFlags())

	zipf := rand.NewZipf(rand.New(rand.NewPCG(1, 2)), zipfExponent, 1, uint64(people-1))
	askFew := func(n int) []time.Duration {
		return fire(b, fewAddr, "/flags/?v=2", connections, n, func(dst []byte, i int) []byte { return fmt.Appendf(dst, askText, i%1000, "") })
	}
	askMany := func(n int) []time.Duration {
		numbers := make([]int, n)
		for i := range numbers {
			numbers[i] = int(zipf.Uint64()) * 7919 % people // neighbours of the law are none in the index
		}
		return fire(b, manyAddr, "/flags/?v=2", connections, n, func(dst []byte, i int) []byte { return fmt.Appendf(dst, askText, numbers[i], "") })
	}

	b.Run("rate", func(b *testing.B) {
		askFew(perRound)
		askMany(5 * perRound)
		hits, misses := many.CacheReads()
		var rates, floors, ratios []float64
		var took, tookFew []time.Duration
		for b.Loop() {
			start := time.Now()
			tookFew = append(tookFew, askFew(perRound)...)
			floor := time.Since(start).Seconds()
			start = time.Now()
			took = append(took, askMany(perRound)...)
			rate := time.Since(start).Seconds()
			rates, floors, ratios = append(rates, perRound/rate), append(floors, perRound/floor), append(ratios, floor/rate)
		}
		h, m := many.CacheReads()
		b.ReportMetric(100*float64(h-hits)/float64(h-hits+m-misses), "%hits")
		b.ReportMetric(percentile(ratios, 50), "flagstaff/floor")
		b.ReportMetric(percentile(rates, 50), "flagstaff-req/s")
		b.ReportMetric(percentile(floors, 50), "floor-req/s")
		b.ReportMetric(percentile(took, 99).Seconds()*1e3, "flagstaff-p99-ms")
		b.ReportMetric(percentile(tookFew, 99).Seconds()*1e3, "floor-p99-ms")
	})

	// The database restarts again and again. Its persons cannot be read meanwhile, and
	// answers say that they are partial.
	b.Run("restarts", func(b *testing.B) {
		var took []time.Duration
		for b.Loop() {
			restarted := make(chan struct{})
			go func() {
				defer close(restarted)
				database.Stop(b)
				database.Run(b)
			}()
			for done := false; !done; {
				took = append(took, askMany(perRound)...)
				select {
				case <-restarted:
					done = true
				default:
				}
			}
		}
		b.ReportMetric(percentile(took, 99).Seconds()*1e3, "p99-ms")
		b.ReportMetric(slices.Max(took).Seconds()*1e3, "longest-ms")
	})
}

func percentile[T cmp.Ordered](list []T, p int) T {
	list = slices.Sorted(slices.Values(list))
	return list[len(list)*p/100]
}

// zipfExponent makes nine of ten requests find their person in the cache.
const zipfExponent = 1.35

// addPersons fills the tables of persons, as if each had sent an event.
func addPersons(b *testing.B, url string, n int) {
	b.Helper()
	conn, err := pgx.Connect(b.Context(), url)
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close(b.Context())
	for _, statement := range []string{
		`INSERT INTO person (id, project_id, properties, is_identified, created_at)
		SELECT ('00000000-0000-7000-8000-' || lpad(to_hex(i), 12, '0'))::uuid, 1,
			'{"plan":"pro","age":' || i % 90 || ',"email":"jo@acme.example","company":"Acme","seats":250,"city":"Bern"}', true, now()
		FROM generate_series(0, $1 - 1) i`,
		`INSERT INTO person_distinct_id (project_id, distinct_id, person_id)
		SELECT 1, 'user-' || lpad(i::text, 7, '0'), ('00000000-0000-7000-8000-' || lpad(to_hex(i), 12, '0'))::uuid
		FROM generate_series(0, $1 - 1) i`,
	} {
		if _, err := conn.Exec(b.Context(), statement, n); err != nil {
			b.Fatal(err)
		}
	}
	if _, err := conn.Exec(b.Context(), "VACUUM ANALYZE person, person_distinct_id"); err != nil {
		b.Fatal(err)
	}
}
