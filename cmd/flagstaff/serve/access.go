package serve

import (
	"errors"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/internal/answered"
)

// A share is how many requests the access log has, from 0 to 1.
type share float64

func (s *share) String() string {
	if *s == 0 {
		return ""
	}
	return strconv.FormatFloat(float64(*s), 'g', -1, 64)
}

func (s *share) Set(text string) error {
	if text == "all" {
		*s = 1
		return nil
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || !(n > 0 && n <= 1) {
		return errors.New("want all, or a share of the requests above 0 and up to 1, such as 0.01")
	}
	*s = share(n)
	return nil
}

// An accessLog writes a line for requests. It has the pattern of a path, never the path,
// which may have a key or the token of a link.
type accessLog struct {
	next     http.Handler
	share    float64
	clientIP func(*http.Request) netip.Addr
	log      *slog.Logger
}

// ServeHTTP implements [http.Handler].
func (a *accessLog) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	begin := time.Now()
	id := identify(w, r)
	seen := &answered.Writer{ResponseWriter: w}
	returned := false
	defer func() { // also after a panic, which goes on
		if seen.Status < http.StatusInternalServerError && returned && rand.Float64() >= a.share {
			return
		}
		attrs := []slog.Attr{
			slog.String("method", methodOf(r)), slog.String("route", routeOf(r.Pattern)), slog.Int("status", seen.Status),
			slog.Int64("bytes", seen.Bytes), slog.Duration("duration", time.Since(begin)),
			slog.String("request_id", id), slog.String("client", a.clientIP(r).String()),
		}
		if !returned {
			attrs = append(attrs, slog.Bool("cut_off", true))
		}
		a.log.LogAttrs(r.Context(), slog.LevelInfo, "request", attrs...)
	}()
	a.next.ServeHTTP(seen, r)
	seen.Returned()
	returned = true
}

// identify gives a request an id, which its handlers and its answer then have: the client's
// if that is a UUID, otherwise a new one (evaluation.md §11.1).
func identify(w http.ResponseWriter, r *http.Request) string {
	const header, length = "X-Request-Id", 36
	id := r.Header.Get(header)
	if len(id) != length || uuid.Validate(id) != nil {
		id = uuid.NewString()
		r.Header.Set(header, id)
	}
	w.Header().Set(header, id)
	return id
}

// methodOf returns the method of a request. Clients may invent long ones.
func methodOf(r *http.Request) string {
	if len(r.Method) > len(http.MethodOptions) {
		return "other"
	}
	return r.Method
}

// routeOf returns the route of a pattern of [http.ServeMux], as metrics have it.
func routeOf(pattern string) string {
	if _, path, ok := strings.Cut(pattern, " "); ok {
		pattern = path
	}
	switch pattern {
	case "", "/": // for paths that nothing else takes
		return "other"
	case "/{$}":
		return "/"
	}
	return strings.TrimSuffix(pattern, "/{$}")
}
