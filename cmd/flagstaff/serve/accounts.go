package serve

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/netip"
	"net/url"
	"sync"
	"time"

	"github.com/flagstaff-go/flagstaff/cmd/flagstaff/internal/database"
	"github.com/flagstaff-go/flagstaff/cmd/flagstaff/internal/keyfile"
	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/mail"
	"github.com/flagstaff-go/flagstaff/management/sqlstore"
	"github.com/flagstaff-go/flagstaff/management/sqlstore/sqlite"
	"github.com/flagstaff-go/flagstaff/management/storage"
	"github.com/flagstaff-go/flagstaff/server/catalog"
	"github.com/flagstaff-go/flagstaff/surveys"
)

// services are behind the management API.
type services struct {
	accounts *management.Service
	surveys  *surveys.Service
}

// services returns the services behind the management API.
func (s *settings) services(store sqlstore.Storage, keys [][]byte, given *given, projects *catalog.Catalog, log *slog.Logger) (*services, error) {
	if len(keys) == 0 {
		log.Warn("two-factor authentication is not available: there is no -secret-key-file")
	}
	c := management.Config{
		Store: store, Data: store, Leader: store, Mailer: given.mailer, AppURL: given.appURL, SecretKeys: keys,
		Retain: s.retain.duration(), SessionIdle: time.Duration(s.sessionIdle), SessionLife: time.Duration(s.sessionLife),
		DeleteStrict: s.deleteUsers.value == "strict", DeleteEmptyOrganizations: s.deleteEmpty, HideBackupCodes: s.hideBackupCodes,
		VerifyByCode: s.verifyByCode, RevokeKeysOnPasswordChange: s.revokeKeys, NativeTypes: s.nativeTypes,
		FlagUsers: surveys.FlagUsers{}, Catalog: projects, Log: log,
	}
	switch s.mutations.value {
	case "stepup":
		c.Mutations = management.MutationsStepUp
	case "off":
		c.Mutations = management.MutationsOff
	}
	accounts, err := management.New(c)
	if err != nil {
		return nil, err
	}
	config := surveys.Config{Management: accounts, Leader: store, Log: log}
	if given.words != nil {
		config.Summarizer, config.SummaryNotice = given.words, given.words.Notice()
	}
	asked, err := surveys.New(config)
	if err != nil {
		return nil, err
	}
	return &services{accounts, asked}, nil
}

// run does what the services do besides requests, until ctx ends.
func (s *services) run(ctx context.Context, wg *sync.WaitGroup) {
	wg.Go(func() { _ = s.accounts.Run(ctx) }) // returns nil when stopped
	wg.Go(func() { _ = s.surveys.Run(ctx) })  // returns nil when stopped
}

// mailer returns the mailer that the settings name, or nil.
func (s *settings) mailer(appURL string) (management.Mailer, error) {
	if s.smtp == "" && s.mailDir == "" {
		return nil, nil
	}
	options, err := s.mailOptions(appURL)
	if err != nil {
		return nil, err
	}
	if s.mailDir != "" {
		return mail.OpenDir(s.mailDir, options)
	}
	return mail.NewSMTP(s.smtp, options)
}

// mailOptions returns from whom mail is.
func (s *settings) mailOptions(appURL string) (mail.Options, error) {
	options := mail.Options{From: s.mailFrom, FromName: "Flagstaff"}
	if options.From == "" {
		u, err := url.Parse(appURL)
		if err != nil {
			return options, fmt.Errorf("invalid value for flag -app-url: %w", err)
		}
		options.From = "flagstaff@" + u.Hostname()
		if _, err := netip.ParseAddr(u.Hostname()); err == nil {
			options.From = "flagstaff@localhost" // an e-mail address needs a host name
		}
	}
	return options, nil
}

// keyFile returns the file with the keys that encrypt secrets in the store, or "" if
// there is none, and whether the first start makes it. Servers that share a
// PostgreSQL database need the same keys, so an administrator has to provide them.
func (s *settings) keyFile() (path string, own bool) {
	switch {
	case s.secretKeyFile != "":
		return s.secretKeyFile, false
	case s.store == sqlite.Memory, database.IsPostgres(s.store):
		return "", false
	}
	return s.store + keyfile.Suffix, true
}

// secretKeys reads the keys of the file. It returns none if the file is one that the
// first start makes and does not exist.
func (s *settings) secretKeys() ([][]byte, error) {
	path, own := s.keyFile()
	if path == "" {
		if s.store == sqlite.Memory {
			return [][]byte{keyfile.New()}, nil
		}
		return nil, nil
	}
	keys, err := keyfile.Read(path)
	if own && errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if _, ok := errors.AsType[*fs.PathError](err); ok {
		return nil, fmt.Errorf("read the secret keys of -secret-key-file: %w", err)
	}
	return keys, err
}

// checkSecrets makes sure that the keys can read what is encrypted in the store. It
// returns the keys, of a new file if the store is to have one.
func (s *settings) checkSecrets(ctx context.Context, store storage.Sealed, keys [][]byte, log *slog.Logger) ([][]byte, error) {
	text, err := s.unreadable(ctx, store, keys)
	if err != nil {
		return nil, err
	}
	if text != "" {
		if !s.withoutSecrets {
			return nil, errors.New(text + ": " + bringBack)
		}
		log.WarnContext(ctx, text)
	}
	path, own := s.keyFile()
	if !own || len(keys) > 0 {
		return keys, nil
	}
	if err := keyfile.Create(path); err != nil && !errors.Is(err, fs.ErrExist) { // another server may have made it just now
		return nil, fmt.Errorf("make a secret key: %w", err)
	}
	return s.secretKeys()
}

// bringBack is what to do about unreadable secrets.
const bringBack = "bring their keys back, or start with -without-secrets if these are lost for good"

// unreadable says in words what in a store none of the keys can read, "" if there is nothing.
func (s *settings) unreadable(ctx context.Context, store storage.Sealed, keys [][]byte) (string, error) {
	lost, err := storage.UnreadableSecrets(ctx, store, keys)
	if err != nil || lost == 0 {
		return "", err
	}
	path, _ := s.keyFile()
	where := "with none of the keys in " + path
	switch {
	case path == "" && database.IsPostgres(s.store):
		where = "with keys, but there is no -secret-key-file"
	case len(keys) == 0:
		where = fmt.Sprintf("with the keys in %s, which does not exist", path)
	}
	return fmt.Sprintf("%s has %d authenticators, backup codes and payloads that were encrypted %s", s.storeName(), lost, where), nil
}

// createKey prints a new key for a user, so that no user is ever locked out.
func (m *Main) createKey(ctx context.Context, s *settings) (err error) {
	log := s.logger(m.Stderr)
	store, err := s.openExisting(ctx, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	service, err := management.New(management.Config{Store: store, Log: log})
	if err != nil {
		return err
	}
	var scopes []management.Scope
	for _, scope := range s.keyScopes {
		scopes = append(scopes, management.Scope(scope))
	}
	key, err := service.IssueKey(ctx, s.createKey, "command line", scopes...)
	switch {
	case errors.Is(err, management.ErrNotFound):
		return fmt.Errorf("%s has no user with the e-mail address %q", s.storeName(), s.createKey)
	case err != nil:
		return err
	}
	fmt.Fprintln(m.Stdout, *key.Value)
	return nil
}
