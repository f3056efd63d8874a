package sqldb

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/capture/persons"
	"github.com/flagstaff-go/flagstaff/management/sqlstore"
)

// CacheReads implements [sqlstore.Storage].
func (db *DB) CacheReads() (hits, misses uint64) {
	return db.caches.hits.Load(), db.caches.misses.Load()
}

// AppendPerson appends the properties of the person with a distinct ID, as a
// JSON object. If there is no such person, it returns dst unchanged.
func (db *DB) AppendPerson(ctx context.Context, dst []byte, project int64, distinctID string) ([]byte, error) {
	_, properties, err := db.person(ctx, project, distinctID)
	return append(dst, properties...), err
}

// person returns the person with a distinct ID and its properties, or uuid.Nil.
func (db *DB) person(ctx context.Context, project int64, distinctID string) (uuid.UUID, []byte, error) {
	c := &db.caches
	key := persons.DistinctID{Project: project, ID: distinctID}
	if id, ok := c.ids.get(key); ok {
		if id == uuid.Nil {
			c.hits.Add(1)
			return id, nil, nil
		}
		if properties, ok := c.people.get(id); ok {
			c.hits.Add(1)
			return id, properties, nil
		}
	}
	c.misses.Add(1)
	key.ID = strings.Clone(key.ID) // the key stays in the cache
	r := c.ids.begin()
	var id uuid.UUID
	var properties []byte
	ctx, end := db.begin(ctx, sqlstore.ReadPerson)
	found, err := db.one(ctx, []any{&id, &properties}, `SELECT p.id, p.properties
		FROM person_distinct_id d JOIN person p ON p.id = d.person_id
		WHERE d.project_id = ? AND d.distinct_id = ?`, project, key.ID)
	end(err)
	if err != nil {
		return uuid.Nil, nil, fmt.Errorf("read a person: %w", err)
	}
	if found {
		c.people.put(id, properties, r)
	}
	c.ids.put(key, id, r)
	return id, properties, nil
}

// PersonCreated returns when the person with a distinct ID was created, or the
// zero Time if there is none. It is called rarely, and so it is not cached.
func (db *DB) PersonCreated(ctx context.Context, project int64, distinctID string) (time.Time, error) {
	var t time.Time
	_, err := db.one(ctx, []any{moment{&t}}, `SELECT p.created_at
		FROM person_distinct_id d JOIN person p ON p.id = d.person_id
		WHERE d.project_id = ? AND d.distinct_id = ?`, project, distinctID)
	return t, wrap("read a person", err)
}

// one scans the only row of a query. It reports false if there is none.
func (db *DB) one(ctx context.Context, dest []any, query string, args ...any) (found bool, err error) {
	err = db.each(ctx, query, args, func(r *sql.Rows) error {
		found = true
		return r.Scan(dest...)
	})
	return found, db.fail(err)
}

// AppendGroup appends the properties of a group, as AppendPerson does.
func (db *DB) AppendGroup(ctx context.Context, dst []byte, project int64, groupType, groupKey string) ([]byte, error) {
	c := db.caches.groups
	key := persons.Group{GroupType: persons.GroupType{Project: project, Name: groupType}, Key: groupKey}
	if properties, ok := c.get(key); ok {
		db.caches.hits.Add(1)
		return append(dst, properties...), nil
	}
	db.caches.misses.Add(1)
	key.Name, key.Key = strings.Clone(key.Name), strings.Clone(key.Key)
	r := c.begin()
	var properties []byte
	ctx, end := db.begin(ctx, sqlstore.ReadGroup)
	_, err := db.one(ctx, []any{&properties}, `SELECT e.properties
		FROM group_type t JOIN group_entry e ON e.project_id = t.project_id AND e.type_index = t.type_index
		WHERE t.project_id = ? AND t.name = ? AND e.group_key = ?`, project, key.Name, key.Key)
	end(err)
	if err != nil {
		return dst, fmt.Errorf("read a group: %w", err)
	}
	c.put(key, properties, r)
	return append(dst, properties...), nil
}

// AppendCohorts implements [storage.CohortMembers].
func (db *DB) AppendCohorts(ctx context.Context, dst []int64, project int64, distinctID string) ([]int64, error) {
	id, _, err := db.person(ctx, project, distinctID)
	if err != nil || id == uuid.Nil {
		return dst, err
	}
	c := db.caches.member
	if cohorts, ok := c.get(id); ok {
		db.caches.hits.Add(1)
		return append(dst, cohorts...), nil
	}
	db.caches.misses.Add(1)
	r := c.begin()
	ctx, end := db.begin(ctx, sqlstore.ReadCohorts)
	var cohorts []int64
	err = db.each(ctx, "SELECT cohort_id FROM cohort_member WHERE person_id = ? AND project_id = ? ORDER BY cohort_id", []any{id, project}, appendTo(&cohorts))
	end(err)
	if err != nil {
		return dst, fmt.Errorf("read cohort memberships: %w", db.fail(err))
	}
	c.put(id, cohorts, r)
	return append(dst, cohorts...), nil
}

// Overrides implements experience continuity (evaluation.md §12). It calls found
// for each hash key of the person with a distinct ID. If anonymousID is not empty,
// it is first stored as the hash key of the persons of both IDs, for the flags
// among flagKeys for which neither has one.
func (db *DB) Overrides(ctx context.Context, project int64, distinctID, anonymousID string, flagKeys []string, found func(flagKey, hashKey string)) error {
	person, _, err := db.person(ctx, project, distinctID)
	if err != nil {
		return err
	}
	before := uuid.Nil
	if anonymousID != "" && anonymousID != distinctID {
		if before, _, err = db.person(ctx, project, anonymousID); err != nil {
			return err
		}
	}
	if before == person {
		before = uuid.Nil
	}
	own, err := db.hashKeys(ctx, person)
	if err != nil {
		return err
	}
	earlier, err := db.hashKeys(ctx, before)
	if err != nil {
		return err
	}
	if anonymousID != "" {
		var missing []overrideRow
		for _, key := range flagKeys {
			if _, ok := own[key]; !ok && person != uuid.Nil {
				missing = append(missing, overrideRow{person, key})
			}
			if _, ok := earlier[key]; !ok && before != uuid.Nil {
				missing = append(missing, overrideRow{before, key})
			}
		}
		if len(missing) > 0 {
			if err := db.addOverrides(ctx, project, missing, anonymousID); err != nil {
				return err
			}
			if own, err = db.hashKeys(ctx, person); err != nil {
				return err
			}
			if earlier, err = db.hashKeys(ctx, before); err != nil {
				return err
			}
		}
	}
	for flag, key := range earlier {
		if _, ok := own[flag]; !ok {
			found(flag, key)
		}
	}
	for flag, key := range own {
		found(flag, key)
	}
	return nil
}

// hashKeys returns the hash keys of a person by flag key. The map must not be
// changed.
func (db *DB) hashKeys(ctx context.Context, person uuid.UUID) (map[string]string, error) {
	if person == uuid.Nil {
		return nil, nil
	}
	c := db.caches.rows
	if m, ok := c.get(person); ok {
		db.caches.hits.Add(1)
		return m, nil
	}
	db.caches.misses.Add(1)
	r := c.begin()
	ctx, end := db.begin(ctx, sqlstore.ReadHashKeys)
	m := make(map[string]string)
	err := db.each(ctx, "SELECT flag_key, hash_key FROM hash_key_override WHERE person_id = ?", []any{person}, pairsTo(m))
	end(err)
	if err != nil {
		return nil, fmt.Errorf("read hash keys: %w", db.fail(err))
	}
	c.put(person, m, r)
	return m, nil
}

// An overrideRow names a flag for which a person has no hash key.
type overrideRow struct {
	person uuid.UUID
	flag   string
}

// addOverrides stores hash keys where there are none. Persons that were merged
// or deleted since they were looked up get none, because it would outlive them.
func (db *DB) addOverrides(ctx context.Context, project int64, missing []overrideRow, hashKey string) error {
	hashKey = strings.Clone(hashKey)
	err := db.about(ctx, project, func(t *tx) error {
		there, err := t.existing(ctx, project, collect(missing, func(m *overrideRow) uuid.UUID { return m.person }))
		if err != nil {
			return err
		}
		rows := slices.DeleteFunc(slices.Clone(missing), func(m overrideRow) bool { return !slices.Contains(there, m.person) })
		_, err = t.insert(ctx, "hash_key_override", []column{
			columnOf("person_id", rows, func(m *overrideRow) uuid.UUID { return m.person }),
			columnOf("flag_key", rows, func(m *overrideRow) string { return m.flag }),
			columnOf("hash_key", rows, func(*overrideRow) string { return hashKey }),
		}, "ON CONFLICT DO NOTHING", nil)
		return err
	}, func() {
		for _, m := range missing {
			db.caches.rows.drop(m.person)
		}
	})
	return wrap("store hash keys", err)
}
