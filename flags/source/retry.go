package source

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// A RetryError is an error of a Source that asks for a pause: the source does
// not want another request before After has passed. [Loader.Run] waits at least
// that long, however short its interval is; [Loader.Refresh] does not.
type RetryError struct {
	After time.Duration
	Err   error
}

func (e *RetryError) Error() string {
	if e == nil || e.Err == nil {
		return "source: the source asks for a pause"
	}
	return e.Err.Error()
}

func (e *RetryError) Unwrap() error {
	if e == nil {
		return nil
	}
	return e.Err
}

// maxRetryAfter limits the pause that a server can ask for, so that one bad
// header does not cut a process off from its flags.
const maxRetryAfter = 10 * time.Minute

// retryAfter returns the pause in a header Retry-After, in seconds or as a
// date, up to maxRetryAfter, or zero if there is none.
func retryAfter(h http.Header, now time.Time) time.Duration {
	v := strings.TrimSpace(h.Get("Retry-After"))
	if v == "" {
		return 0
	}
	if strings.Trim(v, "0123456789") == "" {
		seconds, err := strconv.ParseUint(v, 10, 31)
		if err != nil { // the number is too large to parse
			return maxRetryAfter
		}
		return min(time.Duration(seconds)*time.Second, maxRetryAfter)
	}
	at, err := http.ParseTime(v)
	if err != nil {
		return 0
	}
	return min(max(at.Sub(now), 0), maxRetryAfter)
}
