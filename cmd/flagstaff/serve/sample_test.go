package serve

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
)

// plainLog returns a log without times, and what was written to it.
func plainLog() (*slog.Logger, *output) {
	out := newOutput()
	return slog.New(slog.NewTextHandler(out, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}})), out
}

// TestSampler: of repetitions the first line passes, and one counts the others, for as long
// as they come. What differs in a way that matters is not a repetition, and lines below
// warnings are not counted.
func TestSampler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		plain, out := plainLog()
		log, end := newSampler(plain)
		check := func(what string, want ...string) {
			t.Helper()
			if diff := gocmp.Diff(strings.Join(want, "\n"), strings.TrimSpace(out.take())); diff != "" {
				t.Errorf("%s (-want +got)\n%s", what, diff)
			}
		}
		for i := range 1000 {
			log.Error("down", "request_id", i, "route", "/a")
		}
		log.With("more", true).Error("down", "request_id", 1000, "route", "/b")
		check("at once", "level=ERROR msg=down request_id=0 route=/a", "level=ERROR msg=down more=true request_id=1000 route=/b")
		time.Sleep(sampleTime + 1)
		synctest.Wait()
		check("after the time", "level=ERROR msg=down request_id=999 route=/a left_out=999 within=1m0s")
		for i := range 10 { // what works in the background fails once a minute
			log.Error("down", "request_id", 2000+i, "route", "/a")
			time.Sleep(time.Minute)
		}
		synctest.Wait()
		check("while it goes on", "level=ERROR msg=down request_id=2009 route=/a left_out=10 within=10m0s")
		time.Sleep(sampleAgain)
		synctest.Wait()
		log.Error("down", "request_id", 3000, "route", "/a")
		check("another time", "level=ERROR msg=down request_id=3000 route=/a")

		for i := range 3 {
			log.Info("fine", "i", i)
		}
		if n := strings.Count(out.take(), "fine"); n != 3 {
			t.Errorf("%d lines of information, want all", n)
		}
		log.Error("down", "request_id", 4000, "route", "/a")
		time.Sleep(10 * time.Second)
		end()
		check("at the end", "level=ERROR msg=down request_id=4000 route=/a left_out=1 within=10s")
		log.Error("down", "request_id", 5000, "route", "/a")
		check("after the end", "level=ERROR msg=down request_id=5000 route=/a")
	})
}

// TestSamplerBound: any number of kinds takes a bounded memory, and no line is lost in
// silence, also with many writers at once.
func TestSamplerBound(t *testing.T) {
	plain, out := plainLog()
	log, end := newSampler(plain)
	const writers, lines = 8, 500
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range lines {
				log.Error("down", "route", strings.Repeat("/long", 100), "project", fmt.Sprint(w, "-", i))
			}
		})
	}
	wg.Wait()
	if n := len(log.Handler().(*sampler).kinds); n > maxKinds+1 {
		t.Errorf("%d kinds are kept, want at most %d", n, maxKinds+1)
	}
	end()
	total := 0
	for line := range strings.Lines(out.String()) {
		n := 0
		if _, left, ok := strings.Cut(line, "left_out="); ok {
			if _, err := fmt.Sscan(left, &n); err != nil {
				t.Fatal(err)
			}
		} else {
			n = 1
		}
		total += n
	}
	if total != writers*lines {
		t.Errorf("%d lines are told of, want %d", total, writers*lines)
	}
	if !log.Enabled(context.Background(), slog.LevelError) {
		t.Error("errors are not enabled")
	}
}
