package source

import (
	"context"
	"log/slog"
	"regexp"
	"time"
)

// repeatAfter is the time after which a failure that goes on is logged again.
const repeatAfter = 10 * time.Minute

// A failure is what was logged of attempts that fail one after the other. The zero failure
// is none.
type failure struct {
	text   string    // without numbers, such as ports
	begun  time.Time // zero: the last attempt has not failed
	logged time.Time
	count  int // attempts since begun
}

var numbers = regexp.MustCompile(`[0-9]+`)

// log logs the error of an attempt, which may be nil: an error at once, and the same one
// again with a count after a while; then that it is over. some reports whether there are
// definitions all the same.
func (f *failure) log(ctx context.Context, log *slog.Logger, err error, some bool) {
	now := time.Now()
	if err == nil {
		if f.count > 1 {
			log.InfoContext(ctx, "flag definitions can be loaded again", "failures", f.count, "since", f.begun.UTC().Format(time.RFC3339))
		}
		*f = failure{}
		return
	}
	if f.count++; f.count == 1 {
		f.begun = now
	}
	text := numbers.ReplaceAllString(err.Error(), "0")
	if text == f.text && now.Sub(f.logged) < repeatAfter {
		return
	}
	message := "flag definitions cannot be loaded; the last good ones stay"
	if !some {
		message = "flag definitions cannot be loaded; there are no definitions yet"
	}
	args := []any{"error", err}
	if f.count > 1 {
		args = append(args, "failures", f.count, "since", f.begun.UTC().Format(time.RFC3339))
	}
	log.ErrorContext(ctx, message, args...)
	f.text, f.logged = text, now
}
