package shell

import (
	"net/http"
	"strings"

	"github.com/flagstaff-go/flagstaff/internal/answered"
)

// unknownRoute is the name of all paths that have no page, as server has it.
const unknownRoute = "other"

// trace tells Config.OnRequest of requests.
func (c *console) trace(next http.Handler) http.Handler {
	if c.OnRequest == nil {
		return next
	}
	files := "GET " + c.Prefix + "/static/"
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, pattern := c.mux.Handler(r)
		if strings.HasPrefix(pattern, files) {
			next.ServeHTTP(w, r)
			return
		}
		ctx, ended := c.OnRequest(r, c.routeOf(pattern))
		seen := &answered.Writer{ResponseWriter: w}
		within := r.WithContext(ctx)
		defer func() { // also after a panic, which goes on
			r.Pattern = within.Pattern // for handlers around the console, such as an access log
			if ended != nil {
				ended(seen.Status, requestID(r))
			}
		}()
		next.ServeHTTP(seen, within)
		seen.Returned()
	})
}

// routeOf returns the route of a pattern of the mux.
func (c *console) routeOf(pattern string) string {
	_, route, page := strings.Cut(pattern, " ")
	if !page { // what takes all other paths has no method
		return unknownRoute
	}
	return strings.TrimSuffix(route, "/{$}")
}
