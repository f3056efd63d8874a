package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/mail"
	"github.com/flagstaff-go/flagstaff/management/sqlstore"
	"github.com/flagstaff-go/flagstaff/management/sqlstore/sqlite"
	"github.com/flagstaff-go/flagstaff/management/survey"
)

// services are behind the management API.
type services struct {
	accounts *management.Service
	surveys  *survey.Service
}

// services returns the services behind the management API.
func (s *settings) services(store sqlstore.Storage, appURL string, changed func(context.Context, int64), log *slog.Logger) (*services, error) {
	keys, err := s.secretKeys()
	if err != nil {
		return nil, err
	}
	if len(keys) == 0 {
		log.Warn("two-factor authentication is not available: there is no -secret-key-file")
	}
	mailer, err := s.mailer(appURL)
	if err != nil {
		return nil, err
	}
	c := management.Config{
		Store: store, Data: store, Leader: store, Mailer: mailer, AppURL: appURL, SecretKeys: keys,
		DeleteEmptyOrganizations: s.deleteEmpty, HideForeignProjects: s.hideForeign, HideBackupCodes: s.hideBackupCodes,
		VerifyByCode: s.verifyByCode, RevokeKeysOnPasswordChange: s.revokeKeys, NativeTypes: s.nativeTypes,
		FlagUsers: survey.FlagUsers{}, OnChange: changed, Log: log,
	}
	switch s.mutations.value {
	case "stepup":
		c.Mutations = management.MutationsStepUp
	case "off":
		c.Mutations = management.MutationsOff
	}
	if s.deleteUsers.value == "strict" {
		c.Delete = management.DeleteStrict
	}
	accounts, err := management.New(c)
	if err != nil {
		return nil, err
	}
	surveys, err := survey.New(survey.Config{Management: accounts, Events: store, Leader: store, Log: log})
	if err != nil {
		return nil, err
	}
	return &services{accounts, surveys}, nil
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
	options := mail.Options{From: s.mailFrom, FromName: "Flagstaff"}
	if options.From == "" {
		u, err := url.Parse(appURL)
		if err != nil {
			return nil, fmt.Errorf("invalid value for flag -app-url: %w", err)
		}
		options.From = "flagstaff@" + u.Hostname()
		if _, err := netip.ParseAddr(u.Hostname()); err == nil {
			options.From = "flagstaff@localhost" // an e-mail address needs a host name
		}
	}
	if s.mailDir != "" {
		return mail.OpenDir(s.mailDir, options)
	}
	return mail.NewSMTP(s.smtp, options)
}

const secretKeySize = 32

// secretKeys reads the keys that encrypt secrets in the store. For an SQLite
// file, the first start creates the keys. Servers that share a PostgreSQL
// database need the same keys, so an administrator has to provide them.
func (s *settings) secretKeys() ([][]byte, error) {
	path := s.secretKeyFile
	switch {
	case path != "":
	case s.store == sqlite.Memory:
		return [][]byte{newSecretKey()}, nil
	case isPostgres(s.store):
		return nil, nil
	default:
		path = s.store + ".key"
		err := writeSecretKey(path)
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, fmt.Errorf("make a secret key: %w", err)
		}
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the secret keys of -secret-key-file: %w", err)
	}
	var keys [][]byte
	lines := bufio.NewScanner(bytes.NewReader(b))
	for n := 1; lines.Scan(); n++ {
		text := strings.TrimSpace(lines.Text())
		if text == "" || text[0] == '#' {
			continue
		}
		key, err := hex.DecodeString(text)
		if err != nil || len(key) != secretKeySize {
			return nil, fmt.Errorf("%s:%d is no secret key: want 64 hexadecimal digits, as `openssl rand -hex 32` prints", path, n)
		}
		if slices.ContainsFunc(keys, func(k []byte) bool { return bytes.Equal(k, key) }) {
			return nil, fmt.Errorf("%s:%d has a secret key for the second time: remove the line", path, n)
		}
		keys = append(keys, key)
	}
	if len(keys) == 0 {
		return nil, fmt.Errorf("%s has no secret key: want 64 hexadecimal digits, as `openssl rand -hex 32` prints", path)
	}
	return keys, nil
}

func newSecretKey() []byte {
	key := make([]byte, secretKeySize)
	rand.Read(key) // never fails
	return key
}

// writeSecretKey creates a file with a new key in one step, because two servers
// may start on one store at the same time.
func writeSecretKey(path string) error {
	if _, err := os.Stat(path); err == nil {
		return fs.ErrExist
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".flagstaff-key-*") // creates the file with mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = fmt.Fprintln(f, hex.EncodeToString(newSecretKey()))
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Link(f.Name(), path)
}

// createKey prints a new key for a user, so that no user is ever locked out.
func (m *Main) createKey(ctx context.Context, s *settings) (err error) {
	log := s.logger(m.Stderr)
	store, err := openStore(ctx, s, log)
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
