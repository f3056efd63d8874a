package console

import (
	"net/http"
	"strings"

	"github.com/flagstaff-go/flagstaff/management"
)

// The names of the cookie with the token of a session. Browsers take the first one only
// over HTTPS, for one host and all its paths.
const (
	secureCookie = "__Host-flagstaff"
	plainCookie  = "flagstaff"
)

// cookieAge is how long a browser keeps the cookie, in seconds. The session ends by
// itself, before or after.
const cookieAge = 90 * 24 * 60 * 60

// secure reports whether the browser has sent the request over HTTPS.
func (c *console) secure(r *http.Request) bool {
	return r.TLS != nil || strings.HasPrefix(c.URL, "https://")
}

// cookieAllowed reports whether a token may be sent over the connection: nobody can listen
// to it, since it is HTTPS or both ends are on this machine. A proxy on this machine is not
// the other end.
func (c *console) cookieAllowed(r *http.Request) bool {
	return c.secure(r) || connectionIP(r).Unmap().IsLoopback() && c.ClientIP(r).Unmap().IsLoopback()
}

// token returns the token of the session of a request, "" if there is none.
func (c *console) token(r *http.Request) string {
	name := plainCookie
	if c.secure(r) {
		name = secureCookie
	}
	cookie, err := r.Cookie(name)
	if err != nil || !c.cookieAllowed(r) {
		return ""
	}
	return cookie.Value
}

// setToken sends the token of a session to the browser, or takes it away if it is "".
func (c *console) setToken(w http.ResponseWriter, r *http.Request, token string) {
	cookie := &http.Cookie{Name: plainCookie, Value: token, Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode, MaxAge: cookieAge}
	if c.secure(r) {
		cookie.Name, cookie.Secure = secureCookie, true
	}
	if token == "" {
		cookie.MaxAge = -1
	}
	http.SetCookie(w, cookie)
}

// client says where a request comes from.
func (c *console) client(r *http.Request) management.Client {
	return management.Client{Address: c.ClientIP(r), UserAgent: r.UserAgent()}
}
