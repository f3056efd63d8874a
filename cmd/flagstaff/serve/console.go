package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/quota"
	"github.com/flagstaff-go/flagstaff/server"
	"github.com/flagstaff-go/flagstaff/server/console"
	"github.com/flagstaff-go/flagstaff/server/console/shell"
	"github.com/flagstaff-go/flagstaff/surveys"
	surveyscreens "github.com/flagstaff-go/flagstaff/surveys/console"
)

// consolePrefix is where the web console is.
const consolePrefix = "/console"

// withConsole returns a server with the web console, and the server by itself. Pages of
// the same origin use the management API with the sessions of the console. A browser that
// opens / is sent to the console.
func (s *settings) withConsole(config server.Config, accounts *management.Service, surveys *surveys.Service, projects *server.Registry, ready *readiness, usage func(uuid.UUID) []console.Usage) (handler http.Handler, api *server.Server, err error) {
	c := console.Config{
		Service: accounts, Prefix: consolePrefix, URL: originOf(s.appURL), Problems: problemsOf(projects), Status: servedOf(projects, ready), Usage: usage, Retain: s.retain.duration(), Log: config.Log,
		OnRequest: config.OnRequest, OpenLinks: s.demo, Parts: s.demo,
		Screens:  []shell.Group{surveyscreens.Screens(surveys)},
		ClientIP: func(r *http.Request) netip.Addr { return api.ClientIP(r) },
	}
	pages, err := console.New(c)
	if err != nil {
		return nil, nil, err
	}
	if config.Management.AuthFunc, err = console.AuthFunc(c); err != nil {
		return nil, nil, err
	}
	config.Management.AuthSameOrigin = true
	if api, err = server.New(config); err != nil {
		return nil, nil, err
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path := r.URL.Path
		token, reset := strings.CutPrefix(path, "/reset_password/")
		invitation, signup := strings.CutPrefix(path, "/signup/")
		switch { // mails lead to the first two
		case reset && r.Method == http.MethodGet:
			w.Header().Set("Location", consolePrefix+"/reset/"+url.PathEscape(token))
			w.WriteHeader(http.StatusSeeOther)
		case signup && r.Method == http.MethodGet:
			w.Header().Set("Location", consolePrefix+"/join/"+url.PathEscape(invitation))
			w.WriteHeader(http.StatusSeeOther)
		case path == consolePrefix, path == "/" && r.Method == http.MethodGet && strings.Contains(r.Header.Get("Accept"), "text/html"):
			w.Header().Set("Location", consolePrefix+"/")
			w.WriteHeader(http.StatusSeeOther)
		case strings.HasPrefix(path, consolePrefix+"/"):
			identify(w, r) // for the log of the console
			pages.ServeHTTP(w, r)
		default:
			api.ServeHTTP(w, r)
		}
	}), api, nil
}

// originOf returns a URL without its path, "" for "".
func originOf(address string) string {
	u, err := url.Parse(address)
	if err != nil || address == "" { // the settings were checked
		return ""
	}
	return u.Scheme + "://" + u.Host
}

// usageOf returns what tells how much organizations have used of their quotas.
func usageOf(evaluations, events *quota.Quota, s *settings) func(uuid.UUID) []console.Usage {
	of := func(name string, q *quota.Quota, allowed allowance, organization string) console.Usage {
		used, limit := q.Usage(organization)
		return console.Usage{Name: name, Used: used, Limit: limit, Period: allowed.period}
	}
	return func(organization uuid.UUID) []console.Usage {
		id := organization.String()
		return []console.Usage{of("Answers with flags", evaluations, s.quota, id), of("Events", events, s.eventQuota, id)}
	}
}

// problemsOf returns what tells the problems of the definitions that are served.
func problemsOf(projects *server.Registry) func(int64) []flags.Problem {
	return func(id int64) []flags.Problem {
		for p := range projects.All() {
			if p.ID == id {
				return p.Status().Problems
			}
		}
		return nil
	}
}

// servedOf returns what tells how the flags of a project are served.
func servedOf(projects *server.Registry, ready *readiness) func(context.Context, int64) console.Status {
	return func(ctx context.Context, id int64) console.Status {
		var s console.Status
		for p := range projects.All() {
			if p.ID != id {
				continue
			}
			status := p.Status()
			s.Origin, s.Checked, s.Loaded = status.Origin, status.Checked, status.Loaded
			if at := p.LastRequest.Load(); at != 0 {
				s.LastRequest = time.Unix(at, 0)
			}
		}
		if e, ok := errors.AsType[*server.NotReady](ready.check(ctx)); ok {
			s.Faults = e.What
		}
		return s
	}
}

// linkConsole prints a link that signs the owner of the demo in.
func (s *settings) linkConsole(ctx context.Context, w io.Writer, url string, accounts *management.Service) error {
	principal, err := accounts.Authenticate(ctx, demoPersonal, "the Authorization header")
	if errors.Is(err, management.ErrUnauthenticated) {
		return nil // the store was made with other keys
	}
	if err != nil {
		return err
	}
	token, err := accounts.NewSignInLink(ctx, principal.User.Email)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "console  %s%s/join/%s\n", url, consolePrefix, token)
	return err
}
