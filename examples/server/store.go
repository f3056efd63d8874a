package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/memstore"
	"github.com/flagstaff-go/flagstaff/management/sqlstore"
	"github.com/flagstaff-go/flagstaff/management/sqlstore/postgres"
	"github.com/flagstaff-go/flagstaff/management/sqlstore/sqlite"
	"github.com/flagstaff-go/flagstaff/server"
)

// A dataStore is everything that the server keeps.
type dataStore interface {
	capture.Sink
	management.OrganizationStore
	management.UsageStore
	server.PropertyStore
	server.OverrideStore
	server.CohortStore

	Ready(ctx context.Context) error
	Close() error
}

var (
	_ dataStore = (*memstore.Store)(nil)
	_ dataStore = (*sqlstore.DB)(nil)
)

func openStore(ctx context.Context, s *settings, log *slog.Logger) (dataStore, error) {
	options := sqlstore.Options{Log: log}
	switch {
	case s.store == "":
		return new(memstore.Store), nil
	case isPostgres(s.store):
		return postgres.Open(ctx, s.store, options)
	default:
		return sqlite.Open(ctx, s.store, options)
	}
}

func isPostgres(store string) bool {
	return strings.HasPrefix(store, "postgres://") || strings.HasPrefix(store, "postgresql://")
}

// storeName is the store without what may be secret.
func (s *settings) storeName() string {
	switch {
	case s.store == "":
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

// bootstrap makes an empty store usable, tells the keys, and returns the
// projects.
func (m *Main) bootstrap(ctx context.Context, s *settings, store dataStore) ([]management.Project, error) {
	first := management.First{APIKey: s.projectKey}
	if s.demo {
		first.Organization, first.Project, first.SecretKey = "Demo", "Demo", demoSecret
	}
	created, err := management.Bootstrap(ctx, store, first)
	if err != nil {
		return nil, err
	}
	switch {
	case created != nil && s.demo: // its keys are no secrets
	case created != nil:
		fmt.Fprintf(m.Stdout, `created organization %q with project %q in %s
  project API key     %s   for /flags and events; public
  project secret key  %s   keep it: it is shown only now
`, created.Organization.Name, created.Project.Name, s.storeName(), created.Project.APIKey, created.SecretKey)
	case s.projectKey != "":
		if err := checkProjectKey(ctx, s, store); err != nil {
			return nil, err
		}
	}
	return store.Projects(ctx)
}

// checkProjectKey makes sure that the store has the project that was asked for.
// The demo adds its own to any store.
func checkProjectKey(ctx context.Context, s *settings, store dataStore) error {
	_, err := store.Project(ctx, s.projectKey)
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
	now := time.Now().UTC().Truncate(time.Microsecond)
	id, err := uuid.NewV7()
	if err != nil {
		return err
	}
	return store.CreateProject(ctx, &management.Project{
		UUID: id, Organization: organizations[0].ID, Name: "Demo", APIKey: s.projectKey, Timezone: "UTC", Created: now, Updated: now,
	})
}
