package sqldb

import (
	"context"
	"time"

	"github.com/google/uuid"
)

// ArchiveResponse implements [survey.Store], as do the methods below.
func (a *accounts) ArchiveResponse(ctx context.Context, project int64, survey, response uuid.UUID, at time.Time) (bool, error) {
	n, err := a.exec(ctx, "INSERT INTO survey_response_archive (project_id, survey_id, response_uuid, archived_at) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
		project, survey, a.db.d.id(response), a.db.d.time(at))
	return n > 0, wrap("archive a response", err)
}

func (a *accounts) UnarchiveResponse(ctx context.Context, project int64, survey, response uuid.UUID) (bool, error) {
	n, err := a.exec(ctx, "DELETE FROM survey_response_archive WHERE project_id = ? AND survey_id = ? AND response_uuid = ?",
		project, survey, a.db.d.id(response))
	return n > 0, wrap("unarchive a response", err)
}

func (a *accounts) ArchivedResponses(ctx context.Context, project int64, survey uuid.UUID) ([]uuid.UUID, error) {
	var list []uuid.UUID
	err := a.read(ctx, "SELECT response_uuid FROM survey_response_archive WHERE project_id = ? AND survey_id = ? ORDER BY number",
		[]any{project, survey}, appendTo(&list))
	return list, wrap("read archived responses", err)
}

// forgetArchivedResponses must be called when a survey is deleted.
func (t *tx) forgetArchivedResponses(ctx context.Context, project int64, survey uuid.UUID) error {
	_, err := t.exec(ctx, "DELETE FROM survey_response_archive WHERE project_id = ? AND survey_id = ?", project, survey)
	return err
}
