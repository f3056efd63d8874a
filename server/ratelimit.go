package server

import (
	"errors"
	"math"
	"net/http"
	"net/netip"
	"strings"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/time/rate"
)

// RateLimit limits requests by token buckets. The zero value does not limit. Public
// services use bursts of 625 and 1250, and 10 and 50 per second (evaluation.md
// §11.6).
type RateLimit struct {
	// Project limits requests for flags and with events by API key.
	Project Limit

	// IP limits the same requests by client address, and also requests for
	// configuration, surveys and early access features. In IPv6, a network of 64
	// bits counts as one address.
	IP Limit
}

// A Limit is one token bucket. The zero value does not limit.
type Limit struct {
	PerSecond float64

	// Burst is how many requests may come at once. It must be positive if
	// PerSecond is not zero.
	Burst int
}

// limiters are the buckets of a Server. A nil bucket does not limit.
type limiters struct {
	byKey *limiter[string]
	byIP  *limiter[netip.Addr]
}

func newLimiters(l RateLimit) (limiters, error) {
	byKey, errKey := newLimiter(l.Project, strings.Clone)
	byIP, errIP := newLimiter(l.IP, func(a netip.Addr) netip.Addr { return a })
	return limiters{byKey, byIP}, errors.Join(errKey, errIP)
}

// A limiter has a bucket per key. It remembers a bounded number of keys and forgets
// the ones that were not used for longest. The bucket of a forgotten key is full
// again.
type limiter[K comparable] struct {
	limit   Limit
	keep    func(K) K // a copy that may be kept
	buckets *lru.Cache[K, *rate.Limiter]
}

// maxBuckets is how many keys a limiter remembers, about 20 MB of them.
const maxBuckets = 1 << 16

func newLimiter[K comparable](l Limit, keep func(K) K) (*limiter[K], error) {
	if l == (Limit{}) {
		return nil, nil
	}
	if !(l.PerSecond > 0) || math.IsInf(l.PerSecond, 0) || l.Burst < 1 {
		return nil, errors.New("server: Config.RateLimit: a limit needs a positive rate and a positive burst")
	}
	buckets, err := lru.New[K, *rate.Limiter](maxBuckets)
	if err != nil {
		return nil, err
	}
	return &limiter[K]{l, keep, buckets}, nil
}

// limitedKey returns the part of an API key that a rate limit is about. Clients may
// send keys as long as bodies, and the limiter would keep them.
func limitedKey(key string) string { return key[:min(len(key), maxKey)] }

// maxKey is how long an API key may be, in bytes (wire.md §2.4).
const maxKey = 64

// A rateLimitError is an errRateLimited that says when to come back.
type rateLimitError struct {
	retryAfter int // seconds
	burst      int // Burst of the Limit
}

func (e *rateLimitError) Error() string { return errRateLimited.Error() }
func (e *rateLimitError) Unwrap() error { return errRateLimited }

// take takes a token from the bucket of a key. It returns a *rateLimitError if
// there is none, and warns the client in a header when four fifths are gone.
func (l *limiter[K]) take(h http.Header, key K, now time.Time) error {
	if l == nil {
		return nil
	}
	bucket := l.bucket(key)
	if !bucket.AllowN(now, 1) {
		return l.exceeded()
	}
	if bucket.TokensAt(now) <= float64(l.limit.Burst)/5 {
		h["X-Posthog-Rate-Limit-Warning"] = []string{"true"}
	}
	return nil
}

// spend is take without a warning.
func (l *limiter[K]) spend(key K, now time.Time) error {
	if l == nil || l.bucket(key).AllowN(now, 1) {
		return nil
	}
	return l.exceeded()
}

// takeIP takes a token from the bucket of the client's address.
func (s *Server) takeIP(x *exchange) error {
	if s.limiters.byIP == nil {
		return nil
	}
	return s.limiters.byIP.take(x.w.Header(), network(s.ClientIP(x.r)), x.start)
}

// check returns what spend would return, and takes nothing.
func (l *limiter[K]) check(key K, now time.Time) error {
	if l == nil {
		return nil
	}
	if bucket, ok := l.buckets.Get(key); ok && bucket.TokensAt(now) < 1 {
		return l.exceeded()
	}
	return nil
}

func (l *limiter[K]) bucket(key K) *rate.Limiter {
	bucket, ok := l.buckets.Get(key)
	if !ok {
		bucket = rate.NewLimiter(rate.Limit(l.limit.PerSecond), l.limit.Burst)
		if other, ok, _ := l.buckets.PeekOrAdd(l.keep(key), bucket); ok {
			bucket = other
		}
	}
	return bucket
}

func (l *limiter[K]) exceeded() error {
	return &rateLimitError{int(min(math.Ceil(1/l.limit.PerSecond), 3600)), l.limit.Burst}
}

// network returns the part of an address that a rate limit is about: a client with
// one IPv6 address usually has the 2^64 addresses around it as well.
func network(a netip.Addr) netip.Addr {
	if a.Is6() {
		if p, err := a.Prefix(64); err == nil {
			return p.Addr()
		}
	}
	return a
}
