package sqlstore

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/capture/persons"
	"github.com/flagstaff-go/flagstaff/management"
)

// CreateFirst implements [management.OrganizationStore].
func (db *DB) CreateFirst(ctx context.Context, o *management.Organization, p *management.Project) (created bool, err error) {
	err = db.atomic(ctx, func(t *tx) error {
		created = false
		if err := t.lock(ctx, 0); err != nil { // no project has this number
			return err
		}
		var n int
		_, err := t.run(ctx, "SELECT count(*) FROM organization", nil, func(r *sql.Rows) error { return r.Scan(&n) })
		if err != nil || n > 0 {
			return err
		}
		if err := t.createOrganization(ctx, o); err != nil {
			return err
		}
		created = true
		return t.createProject(ctx, p)
	})
	if err != nil {
		return false, fmt.Errorf("create the first organization: %w", db.fail(err))
	}
	return created, nil
}

// CreateOrganization implements [management.OrganizationStore].
func (db *DB) CreateOrganization(ctx context.Context, o *management.Organization) error {
	if err := db.atomic(ctx, func(t *tx) error { return t.createOrganization(ctx, o) }); err != nil {
		return fmt.Errorf("create organization %q: %w", o.Slug, db.fail(err))
	}
	return nil
}

// CreateProject implements [management.OrganizationStore].
func (db *DB) CreateProject(ctx context.Context, p *management.Project) error {
	if err := db.atomic(ctx, func(t *tx) error { return t.createProject(ctx, p) }); err != nil {
		return fmt.Errorf("create project %q: %w", p.Name, db.fail(err))
	}
	return nil
}

func (t *tx) createOrganization(ctx context.Context, o *management.Organization) error {
	d := &t.db.d
	_, err := t.exec(ctx, "INSERT INTO organization (id, name, slug, created_at, updated_at) VALUES (?, ?, ?, ?, ?)",
		o.ID.String(), o.Name, o.Slug, d.time(o.Created), d.time(o.Updated))
	return err
}

func (t *tx) createProject(ctx context.Context, p *management.Project) error {
	d := &t.db.d
	_, err := t.run(ctx, `INSERT INTO project (uuid, organization_id, name, api_token, secret_token_hash, timezone, anonymize_ips, created_at, updated_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id`, []any{
		p.UUID.String(), p.Organization.String(), p.Name, p.APIKey,
		sql.NullString{String: p.SecretHash, Valid: p.SecretHash != ""},
		p.Timezone, p.AnonymizeIPs, d.time(p.Created), d.time(p.Updated),
	}, func(r *sql.Rows) error { return r.Scan(&p.ID) })
	return err
}

// Organizations implements [management.OrganizationStore].
func (db *DB) Organizations(ctx context.Context) ([]management.Organization, error) {
	var list []management.Organization
	rows, err := db.query(ctx, "SELECT id, name, slug, created_at, updated_at FROM organization ORDER BY created_at, id")
	if err != nil {
		return nil, fmt.Errorf("list organizations: %w", db.fail(err))
	}
	defer rows.Close()
	for rows.Next() {
		var o management.Organization
		if err := rows.Scan(&o.ID, &o.Name, &o.Slug, moment{&o.Created}, moment{&o.Updated}); err != nil {
			return nil, fmt.Errorf("list organizations: %w", db.fail(err))
		}
		list = append(list, o)
	}
	return list, db.fail(rows.Err())
}

// Projects implements [management.OrganizationStore].
func (db *DB) Projects(ctx context.Context) ([]management.Project, error) {
	return db.projects(ctx, "ORDER BY id")
}

// Project implements [management.OrganizationStore].
func (db *DB) Project(ctx context.Context, apiKey string) (*management.Project, error) {
	list, err := db.projects(ctx, "WHERE api_token = ?", apiKey)
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%w: project", management.ErrNotFound)
	}
	return &list[0], nil
}

func (db *DB) projects(ctx context.Context, tail string, args ...any) ([]management.Project, error) {
	var list []management.Project
	rows, err := db.query(ctx, `SELECT id, uuid, organization_id, name, api_token, coalesce(secret_token_hash, ''), timezone, anonymize_ips,
		ingested_event, created_at, updated_at FROM project `+tail, args...)
	if err != nil {
		return nil, fmt.Errorf("list projects: %w", db.fail(err))
	}
	defer rows.Close()
	for rows.Next() {
		var p management.Project
		if err := rows.Scan(&p.ID, &p.UUID, &p.Organization, &p.Name, &p.APIKey, &p.SecretHash, &p.Timezone, &p.AnonymizeIPs,
			&p.IngestedEvent, moment{&p.Created}, moment{&p.Updated}); err != nil {
			return nil, fmt.Errorf("list projects: %w", db.fail(err))
		}
		list = append(list, p)
	}
	return list, db.fail(rows.Err())
}

// AddCohortMembers implements [management.CohortStore].
func (db *DB) AddCohortMembers(ctx context.Context, project, cohort int64, distinctIDs []string) (int, error) {
	const most = 10_000 // in one transaction, in which nobody else can write
	added := 0
	for len(distinctIDs) > 0 {
		part := distinctIDs[:min(len(distinctIDs), most)]
		distinctIDs = distinctIDs[len(part):]
		n, err := db.addCohortMembers(ctx, project, cohort, part)
		added += n
		if err != nil {
			return added, fmt.Errorf("add members of cohort %d: %w", cohort, db.fail(err))
		}
	}
	return added, nil
}

func (db *DB) addCohortMembers(ctx context.Context, project, cohort int64, distinctIDs []string) (int, error) {
	sightings := management.Sightings(project, distinctIDs)
	if len(sightings) == 0 {
		return 0, nil
	}
	var changes persons.Changes
	var members []uuid.UUID
	var added int64
	err := db.atomic(ctx, func(t *tx) error {
		if err := t.lock(ctx, project); err != nil {
			return err
		}
		u := persons.NewUnit(sightings)
		if err := t.load(ctx, u); err != nil {
			return err
		}
		for i := range sightings {
			u.Apply(i)
		}
		changes = u.Changes()
		if err := t.apply(ctx, &changes, sightings[0].Received); err != nil {
			return err
		}
		var err error
		if members, err = t.personsOf(ctx, project, distinctIDs); err != nil {
			return err
		}
		type member = uuid.UUID
		added, err = t.insert(ctx, "cohort_member", []column{
			integers("project_id", members, func(*member) int64 { return project }),
			integers("cohort_id", members, func(*member) int64 { return cohort }),
			uuids(&db.d, "person_id", members, func(m *member) uuid.UUID { return *m }),
		}, "ON CONFLICT DO NOTHING", nil)
		return err
	})
	db.caches.changed(&changes) // also after an error, whose outcome may be unknown
	for _, m := range members {
		db.caches.member.drop(m)
	}
	if err != nil {
		return 0, err
	}
	return int(added), nil
}

// personsOf returns the persons of distinct IDs, each once.
func (t *tx) personsOf(ctx context.Context, project int64, distinctIDs []string) ([]uuid.UUID, error) {
	seen := make(map[uuid.UUID]bool)
	var list []uuid.UUID
	err := t.in(ctx, "SELECT person_id FROM person_distinct_id WHERE project_id = ? AND distinct_id IN (?)", []any{project}, slice[string](distinctIDs), func(r *sql.Rows) error {
		var id uuid.UUID
		err := r.Scan(&id)
		if !seen[id] {
			seen[id] = true
			list = append(list, id)
		}
		return err
	})
	return list, err
}

// RemoveCohortMembers implements [management.CohortStore].
func (db *DB) RemoveCohortMembers(ctx context.Context, project, cohort int64, distinctIDs []string) (int, error) {
	var members []uuid.UUID
	var removed int64
	err := db.atomic(ctx, func(t *tx) error {
		removed = 0
		var err error
		if members, err = t.personsOf(ctx, project, distinctIDs); err != nil {
			return err
		}
		for _, m := range members {
			n, err := t.exec(ctx, "DELETE FROM cohort_member WHERE project_id = ? AND cohort_id = ? AND person_id = ?", project, cohort, db.d.id(m))
			if err != nil {
				return err
			}
			removed += n
		}
		return nil
	})
	for _, m := range members {
		db.caches.member.drop(m)
	}
	if err != nil {
		return 0, fmt.Errorf("remove members of cohort %d: %w", cohort, db.fail(err))
	}
	return int(removed), nil
}

// AddUsage implements [management.UsageStore].
func (db *DB) AddUsage(ctx context.Context, organization, resource, period string, n int64) (used, limit int64, err error) {
	if n == 0 { // a question, which needs no transaction
		_, err := db.one(ctx, []any{&used, &limit}, `SELECT
			coalesce((SELECT used FROM usage_counter WHERE organization_id = ? AND resource = ? AND period = ?), 0),
			coalesce((SELECT most FROM usage_limit WHERE organization_id = ? AND resource = ?), -1)`,
			organization, resource, period, organization, resource)
		if err != nil {
			return 0, 0, fmt.Errorf("read usage: %w", err)
		}
		return used, limit, nil
	}
	err = db.atomic(ctx, func(t *tx) error {
		_, err := t.run(ctx, `INSERT INTO usage_counter (organization_id, resource, period, used) VALUES (?, ?, ?, ?)
			ON CONFLICT (organization_id, resource, period) DO UPDATE SET used = usage_counter.used + excluded.used RETURNING used`,
			[]any{organization, resource, period, n}, func(r *sql.Rows) error { return r.Scan(&used) })
		if err != nil {
			return err
		}
		limit = -1
		_, err = t.run(ctx, "SELECT most FROM usage_limit WHERE organization_id = ? AND resource = ?", []any{organization, resource},
			func(r *sql.Rows) error { return r.Scan(&limit) })
		return err
	})
	if err != nil {
		return 0, 0, fmt.Errorf("count usage: %w", db.fail(err))
	}
	return used, limit, nil
}

// SetQuota implements [management.UsageStore].
func (db *DB) SetQuota(ctx context.Context, organization, resource string, limit int64) error {
	err := db.atomic(ctx, func(t *tx) error {
		if limit < 0 {
			_, err := t.exec(ctx, "DELETE FROM usage_limit WHERE organization_id = ? AND resource = ?", organization, resource)
			return err
		}
		_, err := t.exec(ctx, `INSERT INTO usage_limit (organization_id, resource, most) VALUES (?, ?, ?)
			ON CONFLICT (organization_id, resource) DO UPDATE SET most = excluded.most`, organization, resource, limit)
		return err
	})
	if err != nil {
		return fmt.Errorf("set a quota: %w", db.fail(err))
	}
	return nil
}
