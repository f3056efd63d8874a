package sqldb

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/flagstaff-go/flagstaff/management/storage"
)

// maxFlagCalls is how many flags flagCalls remembers. Clients can name flags
// that do not exist.
const maxFlagCalls = 1 << 14

// flagCalls has the last call of each flag that this process has stored, so that almost no
// event about a flag costs a statement.
type flagCalls = lru.Cache[flagName, time.Time]

type flagName struct {
	project int64
	key     string
}

// A lastCall is when a flag was called last.
type lastCall struct {
	flagName
	at time.Time
}

// newCalls returns the latest call of each flag, if it may have to be stored.
func (db *DB) newCalls(calls []storage.FlagCall) (list []lastCall) {
	latest := make(map[flagName]time.Time)
	for i := range calls {
		name := flagName{calls[i].Project, calls[i].Key}
		if known, ok := latest[name]; !ok || calls[i].At.After(known) {
			latest[name] = calls[i].At
		}
	}
	for name, at := range latest {
		known, ok := db.flagCalls.Get(name)
		if !ok || at.Sub(known) > storage.LastCalledStep {
			list = append(list, lastCall{name, at})
		}
	}
	slices.SortFunc(list, func(a, b lastCall) int {
		return cmp.Or(cmp.Compare(a.project, b.project), strings.Compare(a.key, b.key))
	})
	return list
}

// noteCalls stores when flags were called. It does not wait for a transaction
// that changes the flag: there will be another call.
func (t *tx) noteCalls(ctx context.Context, calls []lastCall) error {
	const stale = "project_id = ? AND key = ? AND deleted = false AND (last_called_at IS NULL OR last_called_at < ?)"
	query := "UPDATE feature_flag SET last_called_at = ? WHERE " + stale
	if t.pg != nil {
		query = "UPDATE feature_flag SET last_called_at = ? WHERE id = ANY (ARRAY(SELECT id FROM feature_flag WHERE " + stale + " FOR NO KEY UPDATE SKIP LOCKED))"
	}
	for _, call := range calls {
		if _, err := t.exec(ctx, query, call.at, call.project, call.key, call.at.Add(-storage.LastCalledStep)); err != nil {
			return err
		}
	}
	return nil
}
