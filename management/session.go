package management

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/management/check"
	"github.com/flagstaff-go/flagstaff/management/storage"
	"github.com/flagstaff-go/flagstaff/runtime/useragent"
)

// A Client is where a request of a browser comes from. All fields may be empty.
type Client struct {
	Address   netip.Addr
	UserAgent string
	Device    string // what the browser was given when it signed in, see [OpenedSession]
}

// address and browser return what a Session keeps of a Client.
func (c Client) address() string {
	if !c.Address.IsValid() {
		return ""
	}
	return c.Address.Unmap().WithZone("").String()
}

func (c Client) browser() string {
	a := useragent.Parse(c.UserAgent)
	switch {
	case a.Browser == "":
		return ""
	case a.OS == "":
		return a.Browser
	}
	return a.Browser + " on " + a.OS
}

// An OpenedSession is a session with its token, which is shown this once.
type OpenedSession struct {
	Token string

	// Device shows, at the next time, that the browser has signed the user in before, so
	// that the tries of others do not lock it out (management.md §5.9). It opens nothing,
	// and ends when the password changes. "": the user has no password, or has to present
	// the second factor first.
	Device string

	// Principal is the user in the session. Nil: the user has to present the second
	// factor to [Service.ConfirmSession] first.
	Principal *Principal
}

const (
	sessionIdle  = 14 * 24 * time.Hour // default of Config.SessionIdle
	sessionLife  = 90 * 24 * time.Hour // default of Config.SessionLife
	pendingLife  = 10 * time.Minute    // of a session that waits for the second factor
	sessionTouch = time.Minute         // how often it is written that a session was seen
	maxSessions  = 100                 // sessions of one user
)

var errSession = &Error{Kind: ErrUnauthenticated, Code: "authentication_failed", Detail: "The session has ended. Sign in again."}

// newToken returns a token of 256 random bits for a session or a link.
func newToken() (text string, hash []byte) {
	b := make([]byte, 32)
	rand.Read(b) // never fails
	text = base64.RawURLEncoding.EncodeToString(b)
	return text, tokenHash(text)
}

// OpenSession signs a user in with an address and a password, as [Service.SignIn] does,
// and opens a session. Attempts of a client are limited as well, for all accounts together. A user with two-factor authentication has to confirm it within ten
// minutes. A user has at most 100 sessions; the one that was not seen for longest makes
// room.
func (s *Service) OpenSession(ctx context.Context, email, password string, from Client) (*OpenedSession, error) {
	u, err := s.signIn(ctx, email, password, from)
	if err != nil {
		return nil, err
	}
	return answer(ctx, s, nil, func(w *work) (*OpenedSession, error) {
		now, err := w.store.Users().Get(ctx, storage.UserID.Is(u.ID))
		if errors.Is(err, ErrNotFound) || err == nil && (!now.Active || now.PasswordHash != u.PasswordHash) {
			return nil, errInvalidCredentials // it has changed since
		}
		if err != nil {
			return nil, err
		}
		return w.openSession(ctx, now, from)
	})
}

// openSession opens a session for a user who has proved to be that user.
func (w *work) openSession(ctx context.Context, u *storage.User, from Client) (*OpenedSession, error) {
	now := w.now()
	for _, old := range []storage.Where[storage.Session]{
		storage.SessionSeen.Before(now.Add(-w.c.SessionIdle)), storage.SessionCreated.Before(now.Add(-w.c.SessionLife)),
	} {
		if _, err := w.store.Sessions().DeleteAll(ctx, old); err != nil {
			return nil, err
		}
	}
	list, err := w.store.Sessions().List(ctx, storage.SessionUser.Is(u.ID))
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(list, func(a, b storage.Session) int { // those that wait for a code go first
		switch {
		case a.Pending == b.Pending:
			return b.Seen.Compare(a.Seen)
		case a.Pending:
			return 1
		}
		return -1
	})
	for i := maxSessions - 1; i < len(list); i++ {
		if err := w.store.Sessions().Delete(ctx, storage.SessionUser.Is(u.ID), storage.SessionID.Is(list[i].ID)); err != nil {
			return nil, err
		}
	}
	twoFactor, err := hasTwoFactor(ctx, w.store, u.ID)
	if err != nil {
		return nil, err
	}
	token, hash := newToken()
	v := &storage.Session{ID: storage.NewID(), User: u.ID, Hash: hash, Pending: twoFactor, Address: from.address(), Browser: from.browser(), Created: now, Seen: now}
	if err := w.store.Sessions().Create(ctx, v); err != nil {
		return nil, storeError(err)
	}
	if v.Pending {
		return &OpenedSession{Token: token}, nil
	}
	return w.enterSession(ctx, u, v, token)
}

// enterSession logs that a user is signed in.
func (w *work) enterSession(ctx context.Context, u *storage.User, v *storage.Session, token string) (*OpenedSession, error) {
	w.by = &Principal{User: u, Session: v}
	if err := w.logSecurity(ctx, u, "signed_in"); err != nil {
		return nil, err
	}
	return &OpenedSession{Token: token, Device: deviceToken(u), Principal: w.by}, nil
}

// sessionByToken returns the session with a token, which waits for the second factor, or
// does not.
func (w *work) sessionByToken(ctx context.Context, token string, pending bool) (*storage.Session, error) {
	if token == "" {
		return nil, errNotAuthenticated
	}
	if len(token) > maxToken {
		return nil, errSession
	}
	hash := tokenHash(token)
	v, err := w.store.Sessions().Get(ctx, storage.SessionHash.Is(hash))
	if err != nil {
		return nil, goneError(err, errSession)
	}
	if subtle.ConstantTimeCompare(v.Hash, hash) != 1 || v.Pending != pending || !w.alive(v) {
		return nil, errSession
	}
	return v, nil
}

// alive reports whether a session has not expired.
func (s *Service) alive(v *storage.Session) bool {
	now := s.now()
	if v.Pending {
		return now.Sub(v.Created) < pendingLife
	}
	return now.Sub(v.Seen) < s.c.SessionIdle && now.Sub(v.Created) < s.c.SessionLife
}

// ConfirmSession takes a code of the authenticator, or a backup code, for a session that
// waits for it. The session gets another token. The errors of
// [Service.VerifySecondFactor] are returned as they are; a wrong code is
// ErrUnauthenticated with code invalid_code.
func (s *Service) ConfirmSession(ctx context.Context, token, code string, from Client) (*OpenedSession, error) {
	v, err := s.begin(nil).sessionByToken(ctx, token, true)
	if err != nil {
		return nil, err
	}
	u, err := s.c.Store.Users().Get(ctx, storage.UserID.Is(v.User))
	if err != nil {
		return nil, goneError(err, errSession)
	}
	second, err := s.VerifySecondFactor(ctx, u.UUID, code)
	switch {
	case errors.Is(err, ErrNotFound): // it was turned off, or the user deactivated
		return nil, errSession
	case err != nil:
		return nil, err
	case !second.OK:
		return nil, &Error{Kind: ErrUnauthenticated, Code: "invalid_code", Attr: "code", Detail: "The code is not valid."}
	}
	return answer(ctx, s, nil, func(w *work) (*OpenedSession, error) {
		v, err := w.sessionByToken(ctx, token, true)
		if err != nil {
			return nil, err
		}
		u, err := w.store.Users().Get(ctx, storage.UserID.Is(v.User))
		if err != nil || !u.Active {
			return nil, goneError(cmp.Or(err, ErrNotFound), errSession)
		}
		var fresh string
		fresh, v.Hash = newToken()
		v.Pending, v.Created, v.Seen, v.Address, v.Browser = false, w.now(), w.now(), from.address(), from.browser()
		if err := w.store.Sessions().Update(ctx, v); err != nil {
			return nil, storeError(err)
		}
		return w.enterSession(ctx, u, v, fresh)
	})
}

// AuthenticateSession returns the Principal of a token. Every error that is not a failure
// of the storage is ErrUnauthenticated. That the session was seen, and where, is written
// at most once a minute.
func (s *Service) AuthenticateSession(ctx context.Context, token string, from Client) (*Principal, error) {
	v, err := s.begin(nil).sessionByToken(ctx, token, false)
	if err != nil {
		return nil, err
	}
	u, err := s.c.Store.Users().Get(ctx, storage.UserID.Is(v.User))
	if err != nil || !u.Active {
		return nil, goneError(cmp.Or(err, ErrNotFound), errSession)
	}
	if now := s.now(); now.Sub(v.Seen) >= sessionTouch {
		v.Seen, v.Address, v.Browser = now, from.address(), from.browser()
		if err := s.c.Store.Sessions().Touch(ctx, v); err != nil {
			s.c.Log.WarnContext(ctx, "the last use of a session is not written", "session", v.ID, "error", err)
		}
	}
	return &Principal{User: u, Session: v}, nil
}

// RenewSession gives the Principal's session another token, and makes the one before
// invalid. Programs call it after the user has changed the password or two-factor
// authentication.
func (s *Service) RenewSession(ctx context.Context, p *Principal) (token string, err error) {
	if p.Session == nil {
		return "", errSession
	}
	err = s.atomic(ctx, p, func(w *work) error {
		v, err := w.ownSession(ctx, p.User.ID, p.Session.ID)
		if err != nil {
			return goneError(err, errSession)
		}
		token, v.Hash = newToken()
		return storeError(w.store.Sessions().Update(ctx, v))
	})
	return token, err
}

// ownSession returns a session of a user that can be used.
func (w *work) ownSession(ctx context.Context, user int64, id uuid.UUID) (*storage.Session, error) {
	list, err := w.store.Sessions().List(ctx, storage.SessionUser.Is(user))
	if err != nil {
		return nil, err
	}
	for i := range list {
		if list[i].ID == id && !list[i].Pending && w.alive(&list[i]) {
			return &list[i], nil
		}
	}
	return nil, plainNotFound
}

// CloseSession signs the user of a token out. A token of no session closes nothing.
func (s *Service) CloseSession(ctx context.Context, token string) error {
	if token == "" || len(token) > maxToken {
		return nil
	}
	return s.atomic(ctx, nil, func(w *work) error {
		v, err := w.store.Sessions().Get(ctx, storage.SessionHash.Is(tokenHash(token)))
		if errors.Is(err, ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := w.store.Sessions().Delete(ctx, storage.SessionUser.Is(v.User), storage.SessionID.Is(v.ID)); err != nil {
			return storeError(err)
		}
		if v.Pending || !w.alive(v) {
			return nil
		}
		u, err := w.store.Users().Get(ctx, storage.UserID.Is(v.User))
		if err != nil {
			return storeError(err)
		}
		w.by = &Principal{User: u, Session: v}
		return w.logSecurity(ctx, u, "signed_out")
	})
}

// A SessionView is a session as its user sees it.
type SessionView struct {
	ID        uuid.UUID `json:"id"`
	CreatedAt time.Time `json:"created_at"`
	SeenAt    time.Time `json:"last_seen_at"` // give or take a minute
	Address   string    `json:"address"`
	Browser   string    `json:"browser"`
	Current   bool      `json:"current"` // it is the Principal's own
}

// Sessions returns the sessions of a user, the one that was seen last first. Users see
// only their own. It needs scope user:read.
func (s *Service) Sessions(ctx context.Context, p *Principal, ref string) ([]SessionView, error) {
	if err := p.Require("user:read"); err != nil {
		return nil, err
	}
	u, err := s.begin(p).ownUser(ctx, ref)
	if err != nil {
		return nil, err
	}
	list, err := s.c.Store.Sessions().List(ctx, storage.SessionUser.Is(u.ID))
	if err != nil {
		return nil, err
	}
	views := []SessionView{}
	for i := range list {
		if v := &list[i]; !v.Pending && s.alive(v) {
			views = append(views, SessionView{v.ID, v.Created, v.Seen, v.Address, v.Browser, p.Session != nil && p.Session.ID == v.ID})
		}
	}
	return views, nil
}

// EndSession ends a session of the Principal's user. It needs scope user:write.
func (s *Service) EndSession(ctx context.Context, p *Principal, ref, session string) error {
	if err := p.changesUsers(); err != nil {
		return err
	}
	return s.atomic(ctx, p, func(w *work) error {
		u, err := w.ownUser(ctx, ref)
		if err != nil {
			return err
		}
		id, err := check.ParseID(session)
		if err != nil {
			return plainNotFound
		}
		v, err := w.ownSession(ctx, u.ID, id)
		if err != nil {
			return err
		}
		if err := w.store.Sessions().Delete(ctx, storage.SessionUser.Is(u.ID), storage.SessionID.Is(v.ID)); err != nil {
			return storeError(err)
		}
		return w.logSecurity(ctx, u, "session_ended")
	})
}

// EndOtherSessions ends all sessions of the Principal's user but the Principal's own. It
// needs scope user:write.
func (s *Service) EndOtherSessions(ctx context.Context, p *Principal, ref string) error {
	if err := p.changesUsers(); err != nil {
		return err
	}
	return s.atomic(ctx, p, func(w *work) error {
		u, err := w.ownUser(ctx, ref)
		if err != nil {
			return err
		}
		n, err := w.endSessions(ctx, u)
		if err != nil || n == 0 {
			return err
		}
		return w.logSecurity(ctx, u, "other_sessions_ended")
	})
}

// endSessions ends the sessions of a user but for the one in which the user asks for it,
// and returns how many there were.
func (w *work) endSessions(ctx context.Context, u *storage.User) (int, error) {
	var own uuid.UUID
	if w.by != nil && w.by.Session != nil && w.by.User.ID == u.ID {
		own = w.by.Session.ID
	}
	return w.store.Sessions().DeleteAll(ctx, storage.SessionUser.Is(u.ID), storage.SessionID.IsNot(own))
}

// checkSessions returns an error if limits of sessions make no sense.
func (c *Config) checkSessions() error {
	for name, d := range map[string]time.Duration{"SessionIdle": c.SessionIdle, "SessionLife": c.SessionLife} {
		if d < time.Minute {
			return fmt.Errorf("management: Config.%s is %v, want at least a minute", name, d)
		}
	}
	return nil
}
