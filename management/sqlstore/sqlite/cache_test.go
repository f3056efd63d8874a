package sqlite

import (
	"testing"

	"github.com/flagstaff-go/flagstaff/internal/memlimit"
)

// TestCacheSizes: a process with little memory has small page caches.
func TestCacheSizes(t *testing.T) {
	for _, tt := range []struct {
		memory         int64
		writer, reader string
	}{
		{memlimit.None, "cache_size(-65536)", "cache_size(-16384)"},
		{2 << 30, "cache_size(-65536)", "cache_size(-16384)"},
		{192 << 20, "cache_size(-12288)", "cache_size(-2457)"},
	} {
		if writer, reader := cacheSizes(tt.memory, 5); writer != tt.writer || reader != tt.reader {
			t.Errorf("for %d bytes: %s and %s, want %s and %s", tt.memory, writer, reader, tt.writer, tt.reader)
		}
	}
}
