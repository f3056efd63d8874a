package shell

import (
	"errors"
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

// deviceSuffix ends the name of the cookie that shows that a browser has signed in before.
const deviceSuffix = "-device"

// cookieAge is how long a browser keeps the cookie, in seconds: as long as browsers keep
// any. The session ends by itself before.
const cookieAge = 400 * 24 * 60 * 60

// AuthFunc returns a function that recognises users by their sessions of the console with
// the Config, for server.ManagementConfig.AuthFunc: the management API is then open to
// pages of the same origin. It returns nil for requests without a session, and for one that
// has ended. AuthSameOrigin of the ManagementConfig should be true. The function is safe for
// concurrent use.
func AuthFunc(config Config) (func(*http.Request) (*management.Principal, error), error) {
	config = config.withDefaults()
	if err := config.validate(); err != nil {
		return nil, err
	}
	c := &console{Config: config}
	return c.reader, nil
}

// reader returns the user who is signed in, nil for nobody.
func (c *console) reader(r *http.Request) (*management.Principal, error) {
	p, err := c.Service.AuthenticateSession(r.Context(), c.token(r), c.client(r))
	if errors.Is(err, management.ErrUnauthenticated) {
		return nil, nil
	}
	return p, err
}

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
	return c.cookie(r, "")
}

// cookie returns the value of a cookie of ours, "" if there is none.
func (c *console) cookie(r *http.Request, suffix string) string {
	name := plainCookie
	if c.secure(r) {
		name = secureCookie
	}
	cookie, err := r.Cookie(name + suffix)
	if err != nil || !c.cookieAllowed(r) {
		return ""
	}
	return cookie.Value
}

// setToken sends the token of a session to the browser, or takes it away if it is "".
func (c *console) setToken(w http.ResponseWriter, r *http.Request, token string) {
	c.setCookie(w, r, "", token)
}

// RenewSession gives the session another token, after what its user may have changed. If
// that fails the session keeps its token: the change is made all the same.
func (q *Request) RenewSession() {
	token, err := q.Service.RenewSession(q.Context(), q.By)
	if err != nil {
		q.Config.Log.WarnContext(q.Context(), "a session keeps its token after a change of the account", "error", err)
		return
	}
	q.c.setToken(q.W, q.Request, token)
}

func (c *console) setCookie(w http.ResponseWriter, r *http.Request, suffix, value string) {
	cookie := &http.Cookie{
		Name: plainCookie + suffix, Value: value, Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode, MaxAge: cookieAge,
	}
	if c.secure(r) {
		cookie.Name, cookie.Secure = secureCookie+suffix, true
	}
	if value == "" {
		cookie.MaxAge = -1
	}
	http.SetCookie(w, cookie)
}

// client says where a request comes from.
func (c *console) client(r *http.Request) management.Client {
	return management.Client{Address: c.ClientIP(r), UserAgent: r.UserAgent(), Device: c.cookie(r, deviceSuffix)}
}
