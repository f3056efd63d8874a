package source_test

import (
	"testing"
	"time"

	"github.com/flagstaff-go/flagstaff/flags/source"
)

// TestNoHerd: of ten thousand programs whose streams end at the same moment, as in a
// restart of the server, no tenth of a second gets many more than its share, the first
// one included. After failures in a row they take longer, up to minutes.
func TestNoHerd(t *testing.T) {
	const programs, slot = 10_000, 100 * time.Millisecond
	for failures, spread := range []time.Duration{5 * time.Second, 10 * time.Second, 20 * time.Second} {
		slots := make([]int, spread/slot)
		for range programs {
			pause := source.StreamPause(failures)
			if pause < 0 || pause >= spread {
				t.Fatalf("after %d failures a program waits for %v, want less than %v", failures, pause, spread)
			}
			slots[pause/slot]++
		}
		share := programs / len(slots)
		for i, n := range slots {
			// Chance alone does not come near these bounds.
			if n > 2*share+20 || n < share/4 {
				t.Errorf("after %d failures, %d programs come within 100 ms from %v on, and the share is %d", failures, n, time.Duration(i)*slot, share)
			}
		}
	}
	longest := time.Duration(0)
	for range programs {
		longest = max(longest, source.StreamPause(100))
	}
	if longest > 2*time.Minute || longest < time.Minute {
		t.Errorf("after 100 failures the longest pause is %v, want up to two minutes", longest)
	}
}
