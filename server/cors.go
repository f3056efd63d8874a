package server

import "net/http"

// The values of CORS headers (wire.md §2.10), shared by all answers. An origin is
// mirrored rather than allowed by a wildcard, because with credentials browsers
// take the wildcard for a name. Nothing here depends on cookies, so every origin
// may ask.
var (
	corsAny     = []string{"*"}
	corsTrue    = []string{"true"}
	corsMethods = []string{"GET, POST, OPTIONS"}
	corsMaxAge  = []string{"86400"}
	corsExposed = []string{"Retry-After"} // browser SDKs wait as long as it says, if they may read it

	varyOrigin    = []string{"Origin"}
	varyPreflight = []string{"Origin, Access-Control-Request-Headers"}
)

// setCORS sets the CORS headers that every answer of a public route has.
func setCORS(h, request http.Header) {
	h["Vary"] = varyOrigin
	if origin := request["Origin"]; len(origin) > 0 {
		h["Access-Control-Allow-Origin"] = origin[:1:1]
		h["Access-Control-Allow-Credentials"] = corsTrue
		h["Access-Control-Expose-Headers"] = corsExposed
	} else {
		h["Access-Control-Allow-Origin"] = corsAny
	}
}

// preflight answers OPTIONS. It needs no authentication.
func (x *exchange) preflight(allow string) error {
	h := x.w.Header()
	h["Allow"] = []string{allow}
	h["Access-Control-Allow-Methods"] = corsMethods
	h["Access-Control-Max-Age"] = corsMaxAge
	h["Vary"] = varyPreflight
	if names := x.r.Header["Access-Control-Request-Headers"]; len(names) > 0 {
		h["Access-Control-Allow-Headers"] = names[:1:1]
	} else {
		h["Access-Control-Allow-Headers"] = corsAny
	}
	return x.respond(http.StatusNoContent, nil, nil)
}
