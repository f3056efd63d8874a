package management

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/management/internal/password"
	"github.com/flagstaff-go/flagstaff/management/internal/seal"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// Mutations says how much a personal API key may do to an account: manage its
// keys, change the e-mail address, the password or two-factor authentication, or
// delete it (management.md §1.8).
type Mutations uint8

const (
	// MutationsKey lets keys with scope user:write do all of that.
	MutationsKey Mutations = iota

	// MutationsStepUp asks for a [Proof] besides.
	MutationsStepUp

	// MutationsOff lets keys do nothing of it.
	MutationsOff
)

// Config configures a [Service]. Only Store is required.
type Config struct {
	Store storage.Store

	// Mailer sends mail. Nil: there is no mail, and addresses change without
	// verification.
	Mailer Mailer

	// AppURL is the address of the application that links in mails lead to,
	// and AppName what it is called there and in authenticators. Default:
	// http://localhost:8000 and Flagstaff.
	AppURL  string
	AppName string

	// SecretKeys encrypt what is secret but must be read again: authenticators,
	// backup codes, and payloads of flags that want that. Each has 32 bytes. The
	// first encrypts, all decrypt. An old key can go when users have used their
	// authenticators since and have new backup codes, and a change of their
	// filters, be it {}, was made to flags with encrypted payloads.
	// None: two-factor authentication cannot be set up, nor payloads encrypted.
	SecretKeys [][]byte

	// SessionIdle is after what time without a request a session ends, and SessionLife
	// after what time in any case. Zero: 14 and 90 days.
	SessionIdle time.Duration
	SessionLife time.Duration

	// Mutations says what keys may do to accounts.
	Mutations Mutations

	// DeleteStrict refuses to delete a user who is a member of an organization. Otherwise
	// the user's memberships end, unless the user is the only owner of an organization
	// (management.md §4.7).
	DeleteStrict bool

	// DeleteEmptyOrganizations deletes an organization with its projects together with
	// its last member, unless DeleteStrict is set. Otherwise the last member, who owns it,
	// cannot be deleted.
	DeleteEmptyOrganizations bool

	// HideBackupCodes shows backup codes only when they are made, and stores
	// nothing from which they could be read.
	HideBackupCodes bool

	// VerifyByCode sends six digits to type, beside the link. It needs
	// SecretKeys.
	VerifyByCode bool

	// RevokeKeysOnPasswordChange deletes the other personal API keys of a user
	// whose password changes.
	RevokeKeysOnPasswordChange bool

	// NativeTypes makes User.organization.member_count an integer and metadata
	// an object, instead of the strings of the API.
	NativeTypes bool

	// DashboardExists tells whether a project has a dashboard. Nil: all IDs
	// from 1 to 2³¹−1 exist.
	DashboardExists func(ctx context.Context, project, dashboard int64) (bool, error)

	// NotificationKeys are settings of the host application, besides the settings
	// of management.md §4.6.
	NotificationKeys []NotificationKey

	// Data has what was captured. It is the Store, or shares its database. Nil:
	// nothing was captured, and persons, groups and members of cohorts are not
	// available.
	Data storage.Data

	// Retain is for how long events are kept, from the time when they happened, at least
	// a day. [Service.Run] deletes them when the day is over, by UTC. Zero: for ever.
	Retain time.Duration

	// Leader makes sure that only one of several processes at a time counts cohorts and
	// deletes old events. Nil: this is the only process.
	Leader storage.Leader

	// FlagUsers are things of another package that flags decide about. A program that has
	// surveys needs surveys.FlagUsers{}. Nil: flags are used by nothing but early access
	// features.
	FlagUsers FlagUsers

	// Catalog serves the flags of projects. Nil: nothing does.
	Catalog Catalog

	// Now is the clock. Nil: time.Now.
	Now func() time.Time

	// Log takes warnings. Nil: they are discarded.
	Log *slog.Logger
}

func (c Config) withDefaults() Config {
	c.AppURL = strings.TrimRight(cmp.Or(c.AppURL, "http://localhost:8000"), "/")
	c.AppName = cmp.Or(c.AppName, "Flagstaff")
	c.SessionIdle, c.SessionLife = cmp.Or(c.SessionIdle, sessionIdle), cmp.Or(c.SessionLife, sessionLife)
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	if c.Now == nil {
		c.Now = time.Now
	}
	c.FlagUsers = cmp.Or[FlagUsers](c.FlagUsers, noFlagUsers{})
	c.Catalog = cmp.Or[Catalog](c.Catalog, noCatalog{})
	if c.DashboardExists == nil {
		c.DashboardExists = func(_ context.Context, _, dashboard int64) (bool, error) {
			return dashboard > 0 && dashboard <= 1<<31-1, nil
		}
	}
	return c
}

// A Catalog serves what a Service manages, as package server/catalog does.
type Catalog interface {
	// Snapshot returns the compiled flags that are served for a project, nil if there
	// are none. Explanations and previews compile only what differs from them. It must
	// not wait for the Store.
	Snapshot(project int64) *flags.Snapshot

	// Changed is called after something has changed that clients see of a project, before
	// who changed it is answered; project is 0 if projects themselves have changed, come or
	// gone.
	Changed(ctx context.Context, project int64)
}

type noCatalog struct{}

func (noCatalog) Snapshot(int64) *flags.Snapshot { return nil }
func (noCatalog) Changed(context.Context, int64) {}

// A Service does what the management API offers, and checks permissions. Its
// methods are safe for concurrent use. They return an [*Error] for what is not
// possible, and any other error if storage fails.
//
// Mail is sent by Run, so that nobody waits for it.
type Service struct {
	c             Config
	passwords     *password.Hasher
	box           *seal.Box // nil: there are no secret keys
	notifications map[string]NotificationKey
	mail          *postbox

	uncounted chan struct{} // a cohort is to be counted
}

// New returns a Service, or an error if the Config makes no sense.
func New(c Config) (*Service, error) {
	c = c.withDefaults()
	if c.Store == nil {
		return nil, errors.New("management: Config.Store is missing")
	}
	if u, err := url.Parse(c.AppURL); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("management: Config.AppURL is %q, want an http or https URL", c.AppURL)
	}
	if c.Mutations > MutationsOff {
		return nil, fmt.Errorf("management: Config.Mutations is %d, want MutationsKey, MutationsStepUp or MutationsOff", c.Mutations)
	}
	if c.Retain != 0 && c.Retain < minRetain {
		return nil, fmt.Errorf("management: Config.Retain is %v, want at least %v, or 0 to keep events for ever", c.Retain, minRetain)
	}
	if err := c.checkSessions(); err != nil {
		return nil, err
	}
	if c.VerifyByCode && len(c.SecretKeys) == 0 {
		return nil, errors.New("management: Config.VerifyByCode needs Config.SecretKeys")
	}
	notifications, err := notificationKeys(c.NotificationKeys)
	if err != nil {
		return nil, err
	}
	s := &Service{
		c: c, passwords: password.New(), notifications: notifications, mail: newPostbox(c.Mailer, c.Log),
		uncounted: make(chan struct{}, 1),
	}
	if len(c.SecretKeys) > 0 {
		if s.box, err = seal.New(c.SecretKeys...); err != nil {
			return nil, fmt.Errorf("management: Config.SecretKeys: %w", err)
		}
	}
	return s, nil
}

// MailAvailable reports whether mail can be sent.
func (s *Service) MailAvailable() bool { return s.c.Mailer != nil }

// now returns the time as stores keep it.
func (s *Service) now() time.Time { return s.c.Now().UTC().Truncate(time.Microsecond) }

// storedMACs returns the keyed hashes by which something may have been stored.
func (s *Service) storedMACs(data []byte, context string) [][]byte {
	if s.box == nil {
		return nil
	}
	return s.box.MACs(data, context)
}
