package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"

	"github.com/flagstaff-go/flagstaff/cmd/flagstaff/internal/database"
	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/sqlstore"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// openExisting opens the store of -store for a command that is of no use on an
// empty one.
func (s *settings) openExisting(ctx context.Context, log *slog.Logger) (sqlstore.Storage, error) {
	store, err := s.open(ctx, sqlstore.Options{Log: log, MustExist: true})
	if errors.Is(err, sqlstore.ErrNoStore) {
		return nil, fmt.Errorf("there is no store in %s yet: start the server on it first, or name another one with -store", s.storeName())
	}
	return store, err
}

// open opens the store of -store, and makes it if it does not exist.
func (s *settings) open(ctx context.Context, o sqlstore.Options) (sqlstore.Storage, error) {
	return database.Open(ctx, s.store, o)
}

// storeName returns the name of the store without secrets.
func (s *settings) storeName() string { return database.Name(s.store) }

// bootstrap prepares an empty store, and prints the keys, and the link by which the owner
// enters the console, or writes them to the file of -first-keys.
func (m *Main) bootstrap(ctx context.Context, s *settings, store sqlstore.Storage, accounts *management.Service, appURL string) (err error) {
	keys, err := s.createFirstKeys(ctx, store)
	if err != nil {
		return err
	}
	out := m.Stdout
	if keys != nil {
		out = keys
		defer func() { err = errors.Join(err, keys.finish(m.Stdout)) }()
	}
	first := management.First{APIKey: s.projectKey, Owner: s.adminEmail}
	if s.demo {
		first.Organization, first.Project, first.SecretKey, first.PersonalKey = "Demo", "Demo", demoSecret, demoPersonal
	}
	created, err := management.Bootstrap(ctx, store, first)
	if err != nil {
		return err
	}
	if created != nil && !s.demo { // the demo's keys are public
		if created.SecretKey != "" {
			fmt.Fprintf(out, `created organization %q with project %q in %s
  project API key     %s   for /flags and events; public
  project secret key  %s   for the definitions of flags; shown only now
`, created.Organization.Name, created.Project.Name, s.storeName(), created.Project.APIKey, created.SecretKey)
		}
		fmt.Fprintf(out, `created owner %s
  personal API key    %s   for the management API; shown only now
`, created.Owner.Email, created.PersonalKey)
		token, err := accounts.NewSignInLink(ctx, created.Owner.Email)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "  console             %s%s/join/%s   choose a password there; good once, for a day\n", appURL, consolePrefix, token)
	}
	if s.projectKey == "" || created != nil && created.SecretKey != "" {
		return nil
	}
	return checkProjectKey(ctx, s, store)
}

// A keysFile is the file of -first-keys.
type keysFile struct {
	*os.File
	written bool
	err     error // of Write
}

// createFirstKeys makes the file of -first-keys if the store is so empty that there
// will be keys. Otherwise it returns nil.
func (s *settings) createFirstKeys(ctx context.Context, store sqlstore.Storage) (*keysFile, error) {
	if s.firstKeys == "" || s.demo {
		return nil, nil
	}
	if _, users, err := store.Users().Page(ctx, 1, 0, storage.UserFilter{}.Where()...); err != nil || users > 0 {
		return nil, err
	}
	f, err := os.OpenFile(s.firstKeys, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, fmt.Errorf("make the file of -first-keys: %w", err)
	}
	return &keysFile{File: f}, nil
}

func (f *keysFile) Write(b []byte) (int, error) {
	f.written = true
	n, err := f.File.Write(b)
	f.err = cmp.Or(f.err, err)
	return n, err
}

// finish closes the file, and removes it if it has no keys because another server
// has made them.
func (f *keysFile) finish(stdout io.Writer) error {
	if !f.written {
		const lost = "another server has made the keys of the first start at the same moment: they are in its file of -first-keys, and not in %s\n"
		fmt.Fprintf(stdout, lost, f.Name())
		return errors.Join(f.Close(), os.Remove(f.Name()))
	}
	if err := errors.Join(f.err, f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("the keys of the first start are lost, and -create-key makes another one: %w", err)
	}
	fmt.Fprintf(stdout, "the keys of the first start are in %s\n", f.Name())
	return nil
}

// checkProjectKey makes sure that the store has the project of -project-key.
// The demo adds its project to any store.
func checkProjectKey(ctx context.Context, s *settings, store sqlstore.Storage) error {
	_, err := store.Projects().Get(ctx, storage.ProjectKey.Is(s.projectKey))
	if !errors.Is(err, management.ErrNotFound) {
		return err
	}
	if !s.demo {
		return s.noProject()
	}
	organizations, err := store.Organizations().List(ctx)
	if err != nil {
		return err
	}
	if len(organizations) == 0 {
		return fmt.Errorf("%s has users but no organization; make one before the demo uses it", s.storeName())
	}
	project := storage.NewProject(&organizations[0], "Demo")
	project.APIKey = s.projectKey
	return store.Projects().Create(ctx, project)
}

// noProject says that there is no project of -project-key.
func (s *settings) noProject() error {
	return fmt.Errorf("%s has no project with the key of -project-key; the flag is for the first start on an empty store", s.storeName())
}

// project returns the project of -project-key, or the first one.
func (s *settings) project(ctx context.Context, store storage.Store) (*storage.Project, error) {
	list, err := store.Projects().List(ctx)
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%s has no project yet; start the server on it first", s.storeName())
	}
	if s.projectKey == "" {
		return &list[0], nil
	}
	i := slices.IndexFunc(list, func(p storage.Project) bool { return p.APIKey == s.projectKey })
	if i < 0 {
		return nil, fmt.Errorf("%s has no project with the key of -project-key", s.storeName())
	}
	return &list[i], nil
}
