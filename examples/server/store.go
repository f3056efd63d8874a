package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/sqlstore"
	"github.com/flagstaff-go/flagstaff/management/sqlstore/postgres"
	"github.com/flagstaff-go/flagstaff/management/sqlstore/sqlite"
)

func openStore(ctx context.Context, s *settings, log *slog.Logger) (sqlstore.Storage, error) {
	options := sqlstore.Options{Log: log}
	if isPostgres(s.store) {
		return postgres.Open(ctx, s.store, options)
	}
	return sqlite.Open(ctx, s.store, options)
}

func isPostgres(store string) bool {
	return strings.HasPrefix(store, "postgres://") || strings.HasPrefix(store, "postgresql://")
}

// storeName returns the name of the store without secrets.
func (s *settings) storeName() string {
	switch {
	case s.store == sqlite.Memory:
		return "memory"
	case !isPostgres(s.store):
		return s.store
	}
	u, err := url.Parse(s.store)
	if err != nil {
		return "PostgreSQL"
	}
	return "PostgreSQL at " + cmp.Or(u.Host, "a local socket") + u.Path
}

// bootstrap prepares an empty store and prints the keys.
func (m *Main) bootstrap(ctx context.Context, s *settings, store sqlstore.Storage) error {
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
			fmt.Fprintf(m.Stdout, `created organization %q with project %q in %s
  project API key     %s   for /flags and events; public
  project secret key  %s   for the definitions of flags; shown only now
`, created.Organization.Name, created.Project.Name, s.storeName(), created.Project.APIKey, created.SecretKey)
		}
		fmt.Fprintf(m.Stdout, `created owner %s
  personal API key    %s   for the management API; shown only now
`, created.Owner.Email, created.PersonalKey)
	}
	if s.projectKey == "" || created != nil && created.SecretKey != "" {
		return nil
	}
	return checkProjectKey(ctx, s, store)
}

// checkProjectKey makes sure that the store has the project of -project-key.
// The demo adds its project to any store.
func checkProjectKey(ctx context.Context, s *settings, store sqlstore.Storage) error {
	_, err := store.ProjectByKey(ctx, s.projectKey)
	if !errors.Is(err, management.ErrNotFound) {
		return err
	}
	if !s.demo {
		return fmt.Errorf("%s has no project with the key of -project-key; the flag is for the first start on an empty store", s.storeName())
	}
	organizations, err := store.Organizations(ctx)
	if err != nil {
		return err
	}
	if len(organizations) == 0 {
		return fmt.Errorf("%s has users but no organization; make one before the demo uses it", s.storeName())
	}
	project := management.NewProject(&organizations[0], "Demo")
	project.APIKey = s.projectKey
	return store.CreateProject(ctx, project)
}
