package shell

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/quota"
)

// Config configures a console. Only Service is required.
type Config struct {
	Service *management.Service

	// Screens are the screens that other packages add to the console.
	Screens []Group

	// Prefix is the path below which the console is, such as "/console", without a
	// slash at the end. "" is the root of the host.
	Prefix string

	// URL is the origin at which browsers reach the program, such as
	// https://flags.example.com. With https, cookies are for HTTPS alone, also if a proxy
	// ends TLS. "": as requests say.
	URL string

	// OpenLinks makes a link sign its user in as soon as it is opened, without a button. It is
	// for demos: mail programs open links to look at them, and each link works once.
	OpenLinks bool

	// Parts adds the page Prefix/parts, which shows what pages are made of. It is for demos, and
	// for those who change the style sheet.
	Parts bool

	// ClientIP returns the address of the client of a request. Nil: the address of the
	// connection, or of the proxy.
	ClientIP func(*http.Request) netip.Addr

	// Problems returns what is wrong with the definitions that are served of a project.
	// Nil: that is not known, and not shown.
	Problems func(project int64) []flags.Problem

	// Status returns what serves the flags of a project, and what does not work. Nil:
	// that is not known, and not shown.
	Status func(ctx context.Context, project int64) Status

	// Usage returns what an organization has used of what it may. Nil: that is not known,
	// and not shown.
	Usage func(organization uuid.UUID) []Usage

	// Retain is for how long the Service keeps events at most, in whole days. Zero: for
	// ever.
	Retain time.Duration

	// OnRequest is called when a request begins, with the pattern of its route, for traces:
	// see [server.Config], whose OnRequest serves here, too. Files that pages need, such as
	// the style sheet, are not told of. Nil: it is not called.
	//
	// [server.Config]: https://pkg.go.dev/github.com/flagstaff-go/flagstaff/server#Config
	OnRequest func(r *http.Request, route string) (context.Context, func(status int, requestID string))

	// Now is the clock. Nil: time.Now.
	Now func() time.Time

	// Log takes failures. Nil: they are discarded.
	Log *slog.Logger
}

// A Status is how the flags of a project are served.
type Status struct {
	Origin      string    // where the definitions come from, such as "store" or "file"; "": not known
	Checked     time.Time // when they were last known to be current; zero: not known
	Loaded      time.Time // when they were compiled; zero if that is not known
	LastRequest time.Time // when a program last asked this server for flags; zero if none has
	Faults      string    // what does not work, in words for everybody; "" if nothing is known
}

// A Usage is how much an organization has used of something in the period that is running.
type Usage struct {
	Name   string // of what is counted, as the page shows it
	Period quota.Period
	Used   int64
	Limit  int64 // [quota.None]: none
}

func (c Config) withDefaults() Config {
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.ClientIP == nil {
		c.ClientIP = connectionIP
	}
	if c.Problems == nil {
		c.Problems = func(int64) []flags.Problem { return nil }
	}
	if c.Usage == nil {
		c.Usage = func(uuid.UUID) []Usage { return nil }
	}
	return c
}

func (c *Config) validate() error {
	if c.Service == nil {
		return errors.New("console: Config.Service is missing")
	}
	if c.Prefix != "" && (!strings.HasPrefix(c.Prefix, "/") || strings.HasSuffix(c.Prefix, "/") ||
		strings.ContainsAny(c.Prefix, "{}?#%\\ \"") || strings.Contains(c.Prefix, "//")) {
		return fmt.Errorf("console: Config.Prefix is %q, want a path such as \"/console\"", c.Prefix)
	}
	if c.URL == "" {
		return nil
	}
	u, err := url.Parse(c.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.Path != "" || u.RawQuery != "" || u.Fragment != "" ||
		u.User != nil {
		return fmt.Errorf("console: Config.URL is %q, want an origin such as \"https://flags.example.com\"", c.URL)
	}
	return nil
}

// connectionIP returns the address of the other end of a connection.
func connectionIP(r *http.Request) netip.Addr {
	a, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	return a.Addr()
}
