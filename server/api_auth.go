package server

import (
	"errors"
	"fmt"
	"net/http"
	"net/netip"

	"github.com/flagstaff-go/flagstaff/management"
)

// ManagementLimit limits requests to the management API. The zero value has the
// limits of management.md §1.7 and §2.6; a negative number is no limit. Tokens come
// back evenly, as with [Limit]. Principals of [ManagementConfig.AuthFunc] that have
// no key are not limited.
type ManagementLimit struct {
	// PerMinute and PerHour are how many requests a personal API key may make.
	// Zero: 480 and 4800.
	PerMinute int
	PerHour   int

	// Strangers is how many requests a client address may make in a minute with
	// wrong keys, or without a key where none is needed. Beyond it, right keys are
	// refused as well. In IPv6, a network of 64 bits counts as one address. Zero:
	// 60.
	Strangers int

	// Definitions is how many requests for definitions and for payloads of remote
	// configuration a project may get in a minute, with all keys together. Zero:
	// 600.
	Definitions int
}

// apiLimiters are the buckets of the management API. A nil bucket does not limit.
type apiLimiters struct {
	burst, sustained *limiter[string] // by the ID of a key
	strangers        *limiter[netip.Addr]
	definitions      *limiter[string] // by the API key of a project
}

func newAPILimiters(l ManagementLimit) (apiLimiters, error) {
	limit := func(n, otherwise int, seconds float64) Limit {
		switch {
		case n < 0:
			return Limit{}
		case n == 0:
			n = otherwise
		}
		return Limit{float64(n) / seconds, n}
	}
	self := func(id string) string { return id }
	burst, errBurst := newLimiter(limit(l.PerMinute, 480, 60), self)
	sustained, errSustained := newLimiter(limit(l.PerHour, 4800, 3600), self)
	strangers, errStrangers := newLimiter(limit(l.Strangers, 60, 60), func(addr netip.Addr) netip.Addr { return addr })
	definitions, errDefinitions := newLimiter(limit(l.Definitions, 600, 60), self)
	return apiLimiters{burst, sustained, strangers, definitions}, errors.Join(errBurst, errSustained, errStrangers, errDefinitions)
}

// authenticate finds the user of the request, and counts the request. On open
// routes a client needs no key, and a wrong key counts as none.
func (a *Request) authenticate() error {
	p, err := a.identify()
	if errors.Is(err, management.ErrUnauthenticated) {
		if !a.m.open && !a.presented {
			return err
		}
		limiter, client := a.strangers()
		limited := limiter.spend(client, a.x.start)
		if a.m.open {
			return limited
		}
		return err
	}
	if err != nil {
		return err
	}
	a.principal = p
	if p.Key == nil {
		return nil
	}
	if err := a.s.apiLimiters.burst.spend(p.Key.ID, a.x.start); err != nil {
		return err
	}
	return a.s.apiLimiters.sustained.spend(p.Key.ID, a.x.start)
}

// identify asks the host application first, and then looks for a key.
func (a *Request) identify() (*management.Principal, error) {
	if m := &a.s.config.Management; m.AuthFunc != nil && !(m.AuthSameOrigin && foreign(a.x.r)) {
		p, err := m.AuthFunc(a.x.r)
		if err != nil {
			return nil, fmt.Errorf("authenticate: %w", err)
		}
		if p != nil {
			own := *p // the host may use its Principal for many requests
			return &own, a.sameSite()
		}
	}
	key, from, err := a.key()
	if err != nil {
		return nil, err
	}
	if a.presented = key != ""; a.presented {
		// Only wrong keys take tokens, so that any number of requests with right
		// keys can be under way at once.
		limiter, client := a.strangers()
		if err := limiter.check(client, a.x.start); err != nil {
			return nil, err
		}
	}
	return a.service().Authenticate(a.Context(), key, from)
}

// sameSite returns an error if a page of another origin made a browser send the
// request. Browsers add cookies to such a request as well, by which the host
// application may recognise the user. They do not add keys.
func (a *Request) sameSite() error {
	if err := a.s.origins.Check(a.x.r); err != nil {
		return &management.Error{
			Kind: management.ErrForbidden, Code: "permission_denied",
			Detail: "Requests of other origins are not allowed.",
		}
	}
	return nil
}

// foreign reports whether a page of another origin made a browser send a request.
func foreign(r *http.Request) bool {
	changing := *r
	changing.Method = http.MethodPost // what only reads would pass
	return new(http.CrossOriginProtection).Check(&changing) != nil
}

// key returns the personal API key of a request, "" if there is none, and where it
// was (management.md §1.1).
func (a *Request) key() (string, string, error) {
	key, ok := bearer(a.x.r.Header.Get("Authorization"))
	switch {
	case ok:
		return key, "the Authorization header", nil
	case !a.s.config.Management.AllowKeyInBody:
		return "", "the Authorization header", nil
	}
	if !a.m.document && !a.m.stream { // a document is stored with all that is in it
		if err := a.readBody(); err != nil {
			return "", "", err
		}
		if a.members.key != "" {
			return a.members.key, "the request body", nil
		}
	}
	return a.Param("personal_api_key"), "the query string", nil
}

// prove hands the Service the evidence that the request comes from the user and not
// only from a program that has a key (management.md §1.8).
func (a *Request) prove() {
	if a.principal != nil {
		a.principal.Proof = management.Proof{Password: a.members.password, Code: a.x.r.Header.Get("X-2FA-Token")}
	}
}

// strangers returns the bucket that limits clients without a right key, and the
// network of this client. Clients of a Unix socket have no address; they are not
// limited, because all would share one bucket.
func (a *Request) strangers() (*limiter[netip.Addr], netip.Addr) {
	client := a.client()
	if !client.IsValid() {
		return nil, client
	}
	return a.s.apiLimiters.strangers, client
}

// client returns the network for which attempts are counted. Unlike on public
// routes, a proxy must be listed to be believed (management.md §15.2): a client
// that could choose its address would have any number of attempts.
func (a *Request) client() netip.Addr {
	if a.s.config.TrustedProxies == nil {
		return network(parseIP(a.x.r.RemoteAddr))
	}
	return network(a.s.ClientIP(a.x.r))
}

// newOrigins returns the check of the origins that may use sessions of the host
// application, or an error if one of the list is not an origin.
func newOrigins(list []string) (*http.CrossOriginProtection, error) {
	protection := http.NewCrossOriginProtection()
	for _, origin := range list {
		if err := protection.AddTrustedOrigin(origin); err != nil {
			return nil, fmt.Errorf("server: Config.Management.Origins: %w; want scheme://host or scheme://host:port", err)
		}
	}
	return protection, nil
}
