package console

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/management"
)

// A browser is where a request comes from.
type browser struct {
	address   netip.Addr
	userAgent string
}

// An opened session has a token for the cookie. It has no principal while the second
// factor is awaited.
type opened struct {
	token     string
	principal *management.Principal
}

// sessions keeps who is signed in. Errors that are no failures of the store are
// [management.Error], and ErrUnauthenticated for a token of no session.
type sessions interface {
	open(ctx context.Context, email, password string, from browser) (opened, error)
	confirm(ctx context.Context, token, code string, from browser) (opened, error)
	authenticate(ctx context.Context, token string, from browser) (*management.Principal, error)
	end(ctx context.Context, token string) error
}

// Limits of sessions that are kept in memory.
const (
	sessionIdle = 14 * 24 * time.Hour
	sessionLife = 90 * 24 * time.Hour
	pendingLife = 10 * time.Minute
	maxSessions = 10_000 // of all users together
)

// memorySessions keeps sessions as long as the process.
type memorySessions struct {
	service *management.Service
	now     func() time.Time

	mu     sync.Mutex
	byHash map[[sha256.Size]byte]*memorySession // guarded by mu
}

type memorySession struct {
	user          uuid.UUID
	pending       bool
	created, seen time.Time
}

func newMemorySessions(service *management.Service, now func() time.Time) *memorySessions {
	return &memorySessions{service: service, now: now, byHash: make(map[[sha256.Size]byte]*memorySession)}
}

var (
	errSession = &management.Error{Kind: management.ErrUnauthenticated, Code: "authentication_failed", Detail: "The session has ended. Sign in again."}
	errCode    = &management.Error{Kind: management.ErrUnauthenticated, Code: "invalid_code", Attr: "code", Detail: "The code is not valid."}
)

func (m *memorySessions) open(ctx context.Context, email, password string, _ browser) (opened, error) {
	u, err := m.service.SignIn(ctx, email, password)
	if err != nil {
		return opened{}, err
	}
	second, err := m.service.NeedsSecondFactor(ctx, u.UUID)
	if err != nil {
		return opened{}, err
	}
	token := m.add(u.UUID, second)
	if second {
		return opened{token: token}, nil
	}
	p, err := m.service.PrincipalOf(ctx, u.UUID)
	return opened{token, p}, err
}

func (m *memorySessions) confirm(ctx context.Context, token, code string, _ browser) (opened, error) {
	user, ok := m.find(token, true)
	if !ok {
		return opened{}, errSession
	}
	second, err := m.service.VerifySecondFactor(ctx, user, code)
	switch {
	case errors.Is(err, management.ErrNotFound):
		return opened{}, errSession
	case err != nil:
		return opened{}, err
	case !second.OK:
		return opened{}, errCode
	}
	p, err := m.service.PrincipalOf(ctx, user)
	if err != nil {
		return opened{}, err
	}
	m.remove(token)
	return opened{m.add(user, false), p}, nil
}

func (m *memorySessions) authenticate(ctx context.Context, token string, _ browser) (*management.Principal, error) {
	user, ok := m.find(token, false)
	if !ok {
		return nil, errSession
	}
	return m.service.PrincipalOf(ctx, user)
}

func (m *memorySessions) end(_ context.Context, token string) error {
	m.remove(token)
	return nil
}

func (m *memorySessions) add(user uuid.UUID, pending bool) (token string) {
	token = rand.Text() + rand.Text()
	now := m.now()
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.byHash) >= maxSessions {
		var oldest *[sha256.Size]byte
		for hash, s := range m.byHash {
			if oldest == nil || s.seen.Before(m.byHash[*oldest].seen) {
				oldest = &hash
			}
		}
		delete(m.byHash, *oldest)
	}
	m.byHash[sha256.Sum256([]byte(token))] = &memorySession{user, pending, now, now}
	return token
}

func (m *memorySessions) find(token string, pending bool) (uuid.UUID, bool) {
	hash, now := sha256.Sum256([]byte(token)), m.now()
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.byHash[hash]
	if s == nil {
		return uuid.Nil, false
	}
	life := sessionLife
	if s.pending {
		life = pendingLife
	}
	if now.Sub(s.created) >= life || now.Sub(s.seen) >= sessionIdle {
		delete(m.byHash, hash)
		return uuid.Nil, false
	}
	if s.pending != pending {
		return uuid.Nil, false
	}
	s.seen = now
	return s.user, true
}

func (m *memorySessions) remove(token string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.byHash, sha256.Sum256([]byte(token)))
}

// The names of the cookie with the token of a session. Browsers take the first one only
// over HTTPS, for one host and all its paths.
const (
	secureCookie = "__Host-flagstaff"
	plainCookie  = "flagstaff"
)

const maxToken = 200 // bytes of a token that is looked at

// secure reports whether the browser has sent the request over HTTPS.
func (c *console) secure(r *http.Request) bool {
	return r.TLS != nil || strings.HasPrefix(c.URL, "https://")
}

// cookieAllowed reports whether a token may be sent over the connection: nobody can listen
// to it.
func (c *console) cookieAllowed(r *http.Request) bool {
	return c.secure(r) || connectionIP(r).Unmap().IsLoopback()
}

// token returns the token of the session of a request, "" if there is none.
func (c *console) token(r *http.Request) string {
	name := plainCookie
	if c.secure(r) {
		name = secureCookie
	}
	cookie, err := r.Cookie(name)
	if err != nil || len(cookie.Value) > maxToken || !c.cookieAllowed(r) {
		return ""
	}
	return cookie.Value
}

// setToken sends the token of a session to the browser, or takes it away if it is "".
func (c *console) setToken(w http.ResponseWriter, r *http.Request, token string) {
	cookie := &http.Cookie{Name: plainCookie, Value: token, Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode, MaxAge: int(sessionLife / time.Second)}
	if c.secure(r) {
		cookie.Name, cookie.Secure = secureCookie, true
	}
	if token == "" {
		cookie.MaxAge = -1
	}
	http.SetCookie(w, cookie)
}

func (c *console) browserOf(r *http.Request) browser { return browser{c.ClientIP(r), r.UserAgent()} }
