package server

import (
	"net/http"
	"slices"
)

// The values of CORS headers of the management API. Pages of other origins may use
// it only if the origin is listed (management.md §15.2).
var (
	apiCORSHeaders = []string{"Authorization, Content-Type, X-2FA-Token, X-Request-Id"}
	apiCORSExposed = []string{"RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, Retry-After, X-Request-Id"}
)

// setAPICORS sets the CORS headers of an answer.
func (s *Server) setAPICORS(h, request http.Header) {
	if len(s.config.Management.Origins) == 0 {
		return
	}
	h["Vary"] = varyOrigin
	origin := request["Origin"]
	if len(origin) != 1 || !slices.Contains(s.config.Management.Origins, origin[0]) {
		return
	}
	h["Access-Control-Allow-Origin"] = origin[:1:1]
	h["Access-Control-Expose-Headers"] = apiCORSExposed
	if m := &s.config.Management; m.AuthFunc != nil && !m.AuthSameOrigin { // the host may know its users by cookies
		h["Access-Control-Allow-Credentials"] = corsTrue
	}
}

// apiOptions answers OPTIONS, whether it is a preflight or not. It needs no
// authentication.
func (s *Server) apiOptions(x *exchange, allow string) error {
	h := x.w.Header()
	h["Allow"] = []string{allow}
	if h["Access-Control-Allow-Origin"] != nil {
		h["Access-Control-Allow-Methods"] = []string{allow}
		h["Access-Control-Allow-Headers"] = apiCORSHeaders
		h["Access-Control-Max-Age"] = corsMaxAge
	}
	return x.respond(http.StatusNoContent, nil, nil)
}
