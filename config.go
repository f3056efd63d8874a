package flagstaff

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/flags/source"
	"github.com/flagstaff-go/flagstaff/internal/keykind"
	"github.com/flagstaff-go/flagstaff/runtime"
)

// Config says where the definitions of a [Client] come from, and where exposures go.
// Exactly one of URL, File and Source is required.
type Config struct {
	// URL is the address of a server, Flagstaff's or PostHog's, such as
	// "https://flags.example.com". SecretKey (phs_…) reads the definitions.
	// ProjectKey (phc_…) reports exposures; without it none are reported.
	URL        string
	ProjectKey string
	SecretKey  string

	// File is the path of a definitions document, which is followed: a change is
	// in force within two seconds.
	File string

	// Source is any other source of definitions.
	Source source.Source

	// Cache is the path of a file that keeps the last definitions of URL or File, so that
	// the program can start while the server cannot be reached, and so that what a newer
	// document breaks stays in force across a restart. Empty: none.
	Cache string

	// KeepLast keeps the last good definition of a flag in force when URL sends one that
	// is broken, which always holds for File (see [source.Remote]).
	KeepLast bool

	// RemoteEvaluation makes [Client.ForRemote] and [Client.Middleware] let the server of URL
	// evaluate flags that depend on what only the server knows (see package flags/source).
	RemoteEvaluation bool

	// Interval is the time between two looks at the source. Zero: 30 seconds for
	// URL, two seconds for File.
	Interval time.Duration

	// HTTP sends the requests to URL. Nil: clients with timeouts.
	HTTP *http.Client

	// Events takes exposures, in place of an own client for URL. It is not closed by
	// [Client.Close].
	Events *capture.Client

	// OnEvaluation is called when a flag is evaluated for a Person: when it is asked the
	// first time for a value that is shown, and whenever there is no value. The context is
	// the one of [Client.ForRemote], which [Client.Middleware] calls. It must be safe for
	// concurrent use and not block. Package flags/otel has one. Nil: it is not called.
	OnEvaluation func(context.Context, Evaluation)

	// Filter is for requests whose own Filter is zero: the runtime and the
	// evaluation contexts of this program. The zero value hides no flag.
	Filter runtime.Filter

	// Compile configures the compilation of definitions.
	Compile flags.CompileOptions

	// Log receives new definitions with their problems, and errors. Nil:
	// slog.Default().
	Log *slog.Logger

	// Web configures [Client.Middleware].
	Web Web
}

// Web says what [Client.Middleware] adds to the requests for flags that it makes.
type Web struct {
	// Locator knows the place of an address; [*geoip.Resolver] is one. The
	// $geoip_* properties become person properties of the request, unless it has
	// properties of these names.
	//
	// [*geoip.Resolver]: https://pkg.go.dev/github.com/flagstaff-go/flagstaff/geoip#Resolver
	Locator interface {
		Properties(netip.Addr) iter.Seq2[string, string]
	}

	// Address returns the address of the client. Nil: the peer's. A program behind
	// a proxy needs one that knows whom to believe.
	Address func(*http.Request) netip.Addr

	// Detector tells clients from servers, so that flags are hidden that are not
	// meant for the caller (evaluation.md §9.1). Nil: no flag is hidden.
	Detector *runtime.Detector
}

// definitions returns the source of the definitions.
func (c *Config) definitions() (source.Source, error) {
	given := 0
	for _, is := range []bool{c.URL != "", c.File != "", c.Source != nil} {
		if is {
			given++
		}
	}
	if given != 1 {
		return nil, errors.New("flagstaff: Config needs exactly one of URL, File and Source")
	}
	if c.URL == "" {
		switch {
		case c.Cache != "" && c.File == "":
			return nil, errors.New("flagstaff: Config.Cache is for Config.URL and Config.File: definitions of Source are not kept; use source.Cached")
		case c.KeepLast:
			return nil, errors.New("flagstaff: Config.KeepLast is for Config.URL: a File keeps them in any case")
		case c.RemoteEvaluation:
			return nil, errors.New("flagstaff: Config.RemoteEvaluation is for Config.URL: no other source can evaluate")
		case c.ProjectKey != "" || c.SecretKey != "":
			return nil, errors.New("flagstaff: Config.ProjectKey and Config.SecretKey are for Config.URL")
		case c.File != "":
			return c.cached(source.File{Path: c.File}), nil
		}
		return c.Source, nil
	}
	if c.SecretKey == "" {
		return nil, errors.New("flagstaff: Config.SecretKey is missing: the server gives definitions to none without it")
	}
	if !strings.Contains(c.URL, "://") {
		example := "https://flags.example.com"
		if !strings.ContainsAny(c.URL, "@ ") { // it could be a password
			example = "https://" + c.URL
		}
		return nil, errors.New("flagstaff: Config.URL does not begin with https:// or http://: write it such as " + example)
	}
	mistaken := cmp.Or(
		keykind.Mistaken(c.SecretKey, "Config.SecretKey", keykind.Secret, keykind.Personal),
		keykind.Mistaken(c.ProjectKey, "Config.ProjectKey", keykind.Project),
	)
	if mistaken != "" {
		return nil, errors.New("flagstaff: " + mistaken)
	}
	remote := source.Remote{URL: c.URL, ProjectKey: c.ProjectKey, SecretKey: c.SecretKey, Client: c.HTTP, Evaluate: c.RemoteEvaluation, KeepLast: c.KeepLast}
	return c.cached(remote), nil
}

// cached returns a source with the cache, if there shall be one.
func (c *Config) cached(s source.DocumentSource) source.Source {
	if c.Cache == "" {
		return s
	}
	return source.Cached{Source: s, Path: c.Cache, Log: c.Log}
}
