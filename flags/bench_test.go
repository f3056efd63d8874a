package flags_test

import (
	"bytes"
	"crypto/sha1"
	"encoding/json"
	"fmt"
	"regexp"
	goruntime "runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/flags/internal/bench"
	"github.com/flagstaff-go/flagstaff/runtime"
)

// Each benchmark runs beside a floor: what the work costs with nothing around
// it. The ratio of the two is what counts; .ci/bench prints it.

var (
	sinkBool   bool
	sinkString string
	sinkSum    [sha1.Size]byte
	sinkUint   uint64
	sinkBytes  []byte
)

func evaluator(b *testing.B, document string) *flags.Evaluator {
	b.Helper()
	var e flags.Evaluator
	e.Swap(compiled(b, document))
	return &e
}

// conditions is one flag with three condition sets of two filters, of which the
// third matches, at 50 %.
func conditions(hash string) string {
	return `{"bucketing_hash":"` + hash + `","flags":[{"id":1,"key":"new-checkout","active":true,"filters":{"groups":[
		{"properties":[{"key":"plan","type":"person","operator":"exact","value":"free"},{"key":"seats","type":"person","operator":"gt","value":10}],"rollout_percentage":50},
		{"properties":[{"key":"plan","type":"person","operator":"exact","value":"team"},{"key":"seats","type":"person","operator":"gt","value":20}],"rollout_percentage":50},
		{"properties":[{"key":"plan","type":"person","operator":"exact","value":"pro"},{"key":"seats","type":"person","operator":"gt","value":30}],"rollout_percentage":50}]}}]}`
}

var conditionsRequest = &flags.Request{
	DistinctID:       "0190f5a0-7c1e-7b7e-9d3a-0242ac120002",
	PersonProperties: map[string]any{"plan": "pro", "seats": 42, "country": "DE", "beta": true},
}

const hashedText = "new-checkout.0190f5a0-7c1e-7b7e-9d3a-0242ac120002"

func BenchmarkE1(b *testing.B) {
	e := evaluator(b, withFilters(`{"groups":[{}]}`))
	r := &flags.Request{DistinctID: "user-1"}
	b.Run("flagstaff", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			sinkBool = e.Bool("f", r, false)
		}
	})
	b.Run("floor", func(b *testing.B) {
		var p atomic.Pointer[map[string]int32]
		p.Store(&map[string]int32{"f": 1})
		b.ReportAllocs()
		for b.Loop() {
			sinkBool = (*p.Load())["f"] == 1
		}
	})
}

func benchmarkConditions(b *testing.B, hash string, floor func()) {
	e := evaluator(b, conditions(hash))
	b.Run("flagstaff", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			sinkBool = e.Bool("new-checkout", conditionsRequest, false)
		}
	})
	b.Run("floor", func(b *testing.B) {
		m := conditionsRequest.PersonProperties
		b.ReportAllocs()
		for b.Loop() {
			sinkBool = m["plan"] != nil && m["seats"] != nil
			floor()
		}
	})
}

func BenchmarkE2(b *testing.B) {
	text := []byte(hashedText)
	benchmarkConditions(b, "sha1", func() { sinkSum = sha1.Sum(text) })
}

func BenchmarkE2x(b *testing.B) {
	text := []byte(hashedText)
	benchmarkConditions(b, "xxhash64", func() { sinkUint = xxhash.Sum64(text) })
}

func BenchmarkE3(b *testing.B) {
	e := evaluator(b, `{"flags":[{"id":1,"key":"new-checkout","active":true,"filters":{"groups":[{"rollout_percentage":99}],
		"multivariate":{"variants":[{"key":"a","rollout_percentage":25},{"key":"b","rollout_percentage":25},{"key":"c","rollout_percentage":25},{"key":"d","rollout_percentage":25}]},
		"payloads":{"a":"{\"n\":1}","b":"{\"n\":2}","c":"{\"n\":3}","d":"{\"n\":4}"}}}]}`)
	s := e.Snapshot()
	b.Run("flagstaff", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			r, _ := s.Flag("new-checkout", conditionsRequest)
			sinkString = r.Metadata.Payload
		}
	})
	b.Run("floor", func(b *testing.B) {
		rollout, variant := []byte(hashedText), []byte(hashedText+"variant")
		b.ReportAllocs()
		for b.Loop() {
			sinkSum = sha1.Sum(rollout)
			sinkSum = sha1.Sum(variant)
		}
	})
}

func BenchmarkE4(b *testing.B) {
	const pattern = `^[a-z0-9._-]+@(acme|example|corp)[.](com|org)$`
	e := evaluator(b, `{"flags":[{"id":1,"key":"new-checkout","active":true,"filters":{"groups":[{"properties":[
		{"key":"email","type":"person","operator":"regex","value":"`+pattern+`"},
		{"key":"version","type":"person","operator":"semver_gte","value":"2.10.0"},
		{"key":"joined","type":"person","operator":"is_date_before","value":"-7d"}]}]}}]}`)
	r := &flags.Request{DistinctID: "user-1", Now: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC), PersonProperties: map[string]any{
		"email": "somebody.with.a.long.name@example.com", "version": "2.11.3", "joined": "2026-01-02T03:04:05Z",
	}}
	if !e.Bool("new-checkout", r, false) {
		b.Fatal("the flag does not match")
	}
	b.Run("flagstaff", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			sinkBool = e.Bool("new-checkout", r, false)
		}
	})
	b.Run("floor", func(b *testing.B) {
		re := regexp.MustCompile(pattern)
		b.ReportAllocs()
		for b.Loop() {
			sinkBool = re.MatchString("somebody.with.a.long.name@example.com")
		}
	})
}

func snapshotOf(b *testing.B, n int, hash string) *flags.Snapshot {
	b.Helper()
	s, err := flags.Compile(bench.Definitions(n, hash), flags.CompileOptions{})
	if err != nil {
		b.Fatal(err)
	}
	return s
}

func BenchmarkE5(b *testing.B) {
	person, _ := bench.Person()
	for _, n := range []int{100, 1000} {
		for _, hash := range []string{"sha1", "xxhash64"} {
			s := snapshotOf(b, n, hash)
			in := new(flags.Input)
			var dst []byte
			run := func() {
				in.Reset(s, "0190f5a0-7c1e-7b7e-9d3a-0242ac120002", runtime.Filter{Kind: runtime.Server}, time.Time{})
				if err := in.PersonJSON(person); err != nil {
					b.Fatal(err)
				}
				dst, _ = in.AppendFlags(dst[:0])
			}
			run()
			name := fmt.Sprintf("flags=%d/hash=%s/", n, hash)
			b.Run(name+"flagstaff", func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					run()
				}
				sinkBytes = dst
			})
			b.Run(name+"floor", func(b *testing.B) {
				text, out := []byte("benchmark-flag-000.0190f5a0-7c1e-7b7e-9d3a-0242ac120002"), make([]byte, len(dst))
				b.ReportAllocs()
				for b.Loop() {
					for range n {
						if hash == "xxhash64" {
							sinkUint = xxhash.Sum64(text)
						} else {
							sinkSum = sha1.Sum(text)
						}
					}
					copy(out, dst)
				}
				sinkBytes = out
			})
		}
	}
}

func BenchmarkE6(b *testing.B) {
	for _, n := range []int{1000, 10_000} {
		document := bench.Document(n)
		name := fmt.Sprintf("flags=%d/", n)
		b.Run(name+"flagstaff", func(b *testing.B) {
			b.ReportAllocs()
			var s *flags.Snapshot
			var before, after goruntime.MemStats
			goruntime.GC()
			goruntime.ReadMemStats(&before)
			for b.Loop() {
				d, err := flags.Decode(bytes.NewReader(document))
				if err != nil {
					b.Fatal(err)
				}
				if s, err = flags.Compile(d, flags.CompileOptions{}); err != nil {
					b.Fatal(err)
				}
			}
			goruntime.GC()
			goruntime.ReadMemStats(&after)
			b.ReportMetric(float64(int64(after.HeapAlloc)-int64(before.HeapAlloc)-int64(flags.RenderedSize(s)))/float64(n), "heap-B/flag")
			goruntime.KeepAlive(s)
		})
		b.Run(name+"floor", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				var d flags.Definitions
				if err := json.Unmarshal(document, &d); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkE7(b *testing.B) {
	e := evaluator(b, conditions("sha1"))
	b.Run("parallel", func(b *testing.B) {
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if e.Bool("new-checkout", conditionsRequest, false) == e.Bool("nope", conditionsRequest, true) {
					continue
				}
			}
		})
	})
	b.Run("floor", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if e.Bool("new-checkout", conditionsRequest, false) == e.Bool("nope", conditionsRequest, true) {
				continue
			}
		}
	})
}

func BenchmarkE8(b *testing.B) {
	e := evaluator(b, conditions("sha1"))
	s := e.Snapshot()
	b.Run("explain", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			t, err := s.Explain("new-checkout", conditionsRequest)
			if err != nil {
				b.Fatal(err)
			}
			sinkBool = t.Enabled
		}
	})
	b.Run("floor", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			sinkBool = e.Bool("new-checkout", conditionsRequest, false)
		}
	})
}

// BenchmarkE10 builds the request in every call. Its floor is to build the map
// and to evaluate E2: the two should add up.
func BenchmarkE10(b *testing.B) {
	e := evaluator(b, conditions("sha1"))
	plan := strings.Clone("pro")
	b.Run("flagstaff", func(b *testing.B) {
		b.ReportAllocs()
		seats := 0
		for b.Loop() {
			seats = (seats + 1) & 63
			sinkBool = e.Bool("new-checkout", &flags.Request{
				DistinctID:       "0190f5a0-7c1e-7b7e-9d3a-0242ac120002",
				PersonProperties: map[string]any{"plan": plan, "seats": seats, "country": "DE", "beta": true},
			}, false)
		}
	})
	b.Run("floor", func(b *testing.B) {
		b.ReportAllocs()
		seats := 0
		for b.Loop() {
			seats = (seats + 1) & 63
			m := map[string]any{"plan": plan, "seats": seats, "country": "DE", "beta": true}
			sinkMap = m
			sinkBool = e.Bool("new-checkout", conditionsRequest, false)
		}
	})
}

var sinkMap map[string]any
