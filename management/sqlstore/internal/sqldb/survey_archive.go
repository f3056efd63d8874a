package sqldb

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/google/uuid"
)

// ArchiveResponse implements [survey.Store], as do the methods below.
func (a *accounts) ArchiveResponse(ctx context.Context, project int64, survey, response uuid.UUID, at time.Time) (bool, error) {
	n, err := a.exec(ctx, "INSERT INTO survey_response_archive (project_id, survey_id, response_uuid, archived_at) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
		project, survey, a.db.d.id(response), a.db.d.time(at))
	if err != nil {
		return false, fmt.Errorf("archive a response: %w", err)
	}
	return n > 0, nil
}

func (a *accounts) UnarchiveResponse(ctx context.Context, project int64, survey, response uuid.UUID) (bool, error) {
	n, err := a.exec(ctx, "DELETE FROM survey_response_archive WHERE project_id = ? AND survey_id = ? AND response_uuid = ?",
		project, survey, a.db.d.id(response))
	if err != nil {
		return false, fmt.Errorf("unarchive a response: %w", err)
	}
	return n > 0, nil
}

func (a *accounts) ArchivedResponses(ctx context.Context, project int64, survey uuid.UUID) ([]uuid.UUID, error) {
	var list []uuid.UUID
	err := a.read(ctx, "SELECT response_uuid FROM survey_response_archive WHERE project_id = ? AND survey_id = ? ORDER BY number",
		[]any{project, survey}, func(r *sql.Rows) error {
			var id uuid.UUID
			err := r.Scan(&id)
			list = append(list, id)
			return err
		})
	if err != nil {
		return nil, fmt.Errorf("read archived responses: %w", err)
	}
	return list, nil
}

// forgetArchivedResponses must be called when a survey is deleted.
func (t *tx) forgetArchivedResponses(ctx context.Context, project int64, survey uuid.UUID) error {
	_, err := t.exec(ctx, "DELETE FROM survey_response_archive WHERE project_id = ? AND survey_id = ?", project, survey)
	return err
}
