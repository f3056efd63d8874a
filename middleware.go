package flagstaff

import (
	"net/http"
	"net/netip"
	"slices"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/runtime"
)

// Middleware makes a [Person] for each request, which the handler gets by [From]. The
// function identify says for whom flags are evaluated; if it returns nil, the handler
// gets no Person, and From(ctx) answers fallbacks. [Config.Web] says what is added from the
// HTTP request. With [Config.RemoteEvaluation] the server is asked before the handler runs.
func (c *Client) Middleware(identify func(*http.Request) *flags.Request) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if request := identify(r); request != nil {
				p := c.ForRemote(r.Context(), c.describe(request, r))
				r = r.WithContext(p.Context(r.Context()))
			}
			next.ServeHTTP(w, r)
		})
	}
}

// describe adds what the HTTP request says about its client.
func (c *Client) describe(request *flags.Request, r *http.Request) *flags.Request {
	if c == nil {
		return request
	}
	web := &c.config.Web
	out := *request
	if web.Detector != nil && out.Filter.Kind == runtime.All {
		if out.Filter.Tags == nil {
			out.Filter.Tags = c.config.Filter.Tags
		}
		out.Filter.Kind = web.Detector.Detect(runtime.SignalsOf(r.Header))
	}
	if web.Locator == nil {
		return &out
	}
	out.Person = slices.Clip(out.Person)
	for name, value := range web.Locator.Properties(web.address(r)) {
		_, given := out.PersonProperties[name]
		if !given && !slices.ContainsFunc(out.Person, func(p flags.Property) bool { return p.Name() == name }) {
			out.Person = append(out.Person, flags.StringProperty(name, value))
		}
	}
	return &out
}

// address returns the address of the client of a request.
func (w *Web) address(r *http.Request) netip.Addr {
	if w.Address != nil {
		return w.Address(r)
	}
	peer, _ := netip.ParseAddrPort(r.RemoteAddr) // the zero Addr has no place
	return peer.Addr()
}
