package sqldb

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/flagstaff-go/flagstaff/capture"
)

// CanWrite implements [sqlstore.Storage]. The event is larger than a page, and
// belongs to no project.
func (db *DB) CanWrite(ctx context.Context) error {
	now := time.Now().UTC()
	events := []capture.Event{{
		UUID: capture.NewUUID(now), Name: "can write", Time: now, Received: now,
		Properties: json.RawMessage(`{"text":"` + strings.Repeat("x", 8<<10) + `"}`),
	}}
	return db.fail(db.atomic(ctx, func(t *tx) error {
		if _, err := t.insertEvents(ctx, events, []int64{0}, true); err != nil {
			return err
		}
		_, err := t.exec(ctx, "DELETE FROM event WHERE project_id = ?", 0)
		return err
	}))
}
