package storage_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/flagstaff-go/flagstaff/management/storage"
)

var begin = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

func TestLimit(t *testing.T) {
	l := storage.Limit{N: 5, Per: time.Minute}
	var full time.Time
	now := begin
	try := func(want time.Duration) {
		t.Helper()
		next, wait := l.Next(full, now)
		if wait != want {
			t.Errorf("wait %s, want %s", wait, want)
		}
		if (wait > 0) != next.Equal(full) && !full.IsZero() {
			t.Errorf("full %s, then %s after waiting %s", full, next, wait)
		}
		full = next
	}
	for range 5 {
		try(0)
	}
	try(12 * time.Second)
	try(12 * time.Second) // a refused attempt costs nothing
	now = now.Add(11 * time.Second)
	try(time.Second)
	now = now.Add(time.Second)
	try(0)
	try(12 * time.Second)
	now = now.Add(time.Hour) // no more than all come back
	for range 5 {
		try(0)
	}
	try(12 * time.Second)
	now = now.Add(-time.Minute) // a clock that goes back
	try(72 * time.Second)
}

// Next is a bucket of tokens that come back evenly, in one number.
func TestLimitIsATokenBucket(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 0))
		n := 1 + r.IntN(40)
		each := time.Duration(1 + r.IntN(1e9)) // so that no fraction is lost
		l := storage.Limit{N: n, Per: time.Duration(n) * each}
		now, full := begin, time.Time{}
		last, level := now, l.Per // the bucket: what is in it, in units of time
		for step := range 500 {
			now = now.Add(time.Duration(r.Int64N(int64(2 * each))))
			if r.IntN(50) == 0 {
				now = now.Add(time.Duration(r.Int64N(int64(2 * l.Per))))
			}
			level, last = min(l.Per, level+now.Sub(last)), now
			want := time.Duration(0)
			if level < each {
				want = each - level
			} else {
				level -= each
			}
			next, wait := l.Next(full, now)
			if wait != want {
				t.Fatalf("seed %d, step %d: Limit{%d, %s} waits %s, want %s", seed, step, n, l.Per, wait, want)
			}
			full = next
		}
	}
}
