package management_test

import (
	"bytes"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// largeGroups are condition sets with 900 properties and a rollout.
func largeGroups(rollout int) string {
	var properties []string
	for i := range 900 {
		properties = append(properties, fmt.Sprintf(`{"key":"plan-%d","value":["pro","team"],"operator":"exact","type":"person"}`, i))
	}
	return fmt.Sprintf(`"groups":[{"properties":[%s],"rollout_percentage":%d}]`, strings.Join(properties, ","), rollout)
}

// largeFlag is a flag with as many variants as there may be, each with a payload, and
// 900 properties.
func largeFlag(key string) string {
	var variants, payloads []string
	for i := range 500 {
		variants = append(variants, fmt.Sprintf(`{"key":"variant-%d","rollout_percentage":0.2}`, i))
		payloads = append(payloads, fmt.Sprintf(`"variant-%d":"{\"color\":\"blue\",\"limit\":%d}"`, i, i))
	}
	return fmt.Sprintf(`{"key":%q,"filters":{%s,"multivariate":{"variants":[%s]},"payloads":{%s}}}`,
		key, largeGroups(50), strings.Join(variants, ","), strings.Join(payloads, ","))
}

// A change of one percentage takes some 20 ms for the largest flag, and took seconds
// when payloads were settled one by one.
func TestLargeFlagIsQuick(t *testing.T) {
	const most = time.Second // on a busy machine, under the race detector
	w := newWorld(t)
	id := w.flag(w.web, largeFlag("large"))
	fastest := time.Hour
	for i := range 3 {
		patch := decode[management.FlagPatch](t, `{"filters":{`+largeGroups(60+i)+`}}`)
		start := time.Now()
		must(w.UpdateFlag(t.Context(), w.as(w.ada), ref(w.web), id, patch))(t)
		fastest = min(fastest, time.Since(start))
	}
	if fastest > most {
		t.Errorf("UpdateFlag takes %v, want at most %v", fastest, most)
	}
}

// The filters of a change are read as JSON in the body, and when their size and depth as they
// are stored are looked at; those of the flag before in its row. The store, the log and the
// client get what the model writes. Other flags are read once, in their rows.
func TestFlagIsParsedFewTimes(t *testing.T) {
	w := newWorld(t)
	w.flag(w.web, largeFlag("other"))
	id := w.flag(w.web, largeFlag("large"))
	var own, others atomic.Int64 // flags are told apart by a percentage
	stop := jsonscan.Watch(func(text []byte) {
		switch {
		case !bytes.Contains(text, []byte(`"plan-899"`)):
		case bytes.Contains(text, []byte(`"rollout_percentage":60`)):
			own.Add(1)
		default:
			others.Add(1)
		}
	})
	patch := decode[management.FlagPatch](t, `{"filters":{`+largeGroups(60)+`}}`)
	must(w.UpdateFlag(t.Context(), w.as(w.ada), ref(w.web), id, patch))(t)
	stop()
	if own.Load() > 2 || others.Load() > 2 {
		t.Errorf("what was sent is parsed %d times, and what two flags were before %d times; want 2 at most", own.Load(), others.Load())
	}
}

func BenchmarkLargeFlag(b *testing.B) {
	w := newWorld(b)
	p, i := w.as(w.ada), 0
	b.Run("create", func(b *testing.B) {
		for b.Loop() {
			i++
			patch := decode[management.FlagPatch](b, largeFlag(fmt.Sprintf("large-%d", i)))
			v := must(w.CreateFlag(b.Context(), p, ref(w.web), patch))(b)
			b.StopTimer()
			w.ok(w.store.Flags().Delete(b.Context(), storage.FlagProject.Is(w.web.ID), storage.FlagID.Is(v.ID)))
			b.StartTimer()
		}
	})
	id := w.flag(w.web, largeFlag("large"))
	b.Run("change", func(b *testing.B) {
		for b.Loop() {
			i++
			patch := decode[management.FlagPatch](b, `{"filters":{`+largeGroups(i%100)+`}}`)
			must(w.UpdateFlag(b.Context(), p, ref(w.web), id, patch))(b)
		}
	})
}
