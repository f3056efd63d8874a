package console

import (
	"net/http"
	"strings"
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
		answer := &answered{ResponseWriter: w}
		within, returned := r.WithContext(ctx), false
		defer func() { // also after a panic, which goes on
			if answer.status == 0 && returned {
				answer.status = http.StatusOK // as net/http does
			}
			r.Pattern = within.Pattern // for handlers around the console, such as an access log
			if ended != nil {
				ended(answer.status, requestID(r))
			}
		}()
		next.ServeHTTP(answer, within)
		returned = true
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

// An answered notes the status of an answer.
type answered struct {
	http.ResponseWriter
	status int
}

// Unwrap is for [http.ResponseController].
func (w *answered) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// WriteHeader implements [http.ResponseWriter].
func (w *answered) WriteHeader(status int) {
	if w.status == 0 && status >= http.StatusOK { // others come before the answer
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write implements [http.ResponseWriter].
func (w *answered) Write(b []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	return w.ResponseWriter.Write(b)
}
