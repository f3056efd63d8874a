package sqldb

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/management/storage"
)

var projects = newTable(table[storage.Project]{
	name: "project", noun: "a project", key: 1, serial: true,
	keeps: "ingested_event", // set by Write, which does not wait for transactions that change projects
	fields: func(d *Dialect, p *storage.Project) []field {
		return []field{
			{"id", &p.ID},
			{"uuid", &p.UUID},
			{"organization_id", &p.Organization},
			{"name", &p.Name},
			{"api_token", &p.APIKey},
			{"secret_token_hash", maybeText{&p.SecretHash}},
			{"secret_token_prev_hash", maybeText{&p.SecretPrevHash}},
			{"completed_snippet_onboarding", &p.SnippetOnboarding},
			{"has_completed_onboarding_for", document{&p.Onboarding}},
			{"ingested_event", &p.IngestedEvent},
			{"is_demo", &p.Demo},
			{"timezone", &p.Timezone},
			{"access_control", &p.AccessControl},
			{"anonymize_ips", &p.AnonymizeIPs},
			{"survey_config", document{&p.SurveyConfig}},
			{"surveys_opt_in", &p.SurveysOptIn},
			{"heatmaps_opt_in", &p.HeatmapsOptIn},
			{"session_recording_opt_in", &p.SessionRecordingOptIn},
			{"autocapture_exceptions_opt_in", &p.AutocaptureExceptionsOptIn},
			{"autocapture_web_vitals_opt_in", &p.AutocaptureWebVitalsOptIn},
			{"capture_performance_opt_in", &p.CapturePerformanceOptIn},
			{"cookieless_server_hash_mode", &p.CookielessHashMode},
			{"session_recording_network_payload_capture_config", document{&p.NetworkCapture}},
			{"app_urls", jsonList[string]{&p.AppURLs}},
			{"recording_domains", jsonList[string]{&p.RecordingDomains}},
			{"bucketing_hash", &p.BucketingHash},
			{"event_retention_days", &p.EventRetentionDays},
			{"flags_file", jsonValue[storage.FlagsFile]{&p.FlagsFile}},
			{"created_at", stamp{d, &p.Created}},
			{"updated_at", stamp{d, &p.Updated}},
		}
	},
})

// Project implements [storage.Organizations], as do the methods below.
func (a *accounts) Project(ctx context.Context, id int64) (*storage.Project, error) {
	return projects.one(ctx, a, "WHERE id = ?", id)
}

func (a *accounts) ProjectByKey(ctx context.Context, apiKey string) (*storage.Project, error) {
	return projects.one(ctx, a, "WHERE api_token = ?", apiKey)
}

func (a *accounts) ProjectBySecret(ctx context.Context, hash string) (*storage.Project, error) {
	return projects.one(ctx, a, "WHERE secret_token_hash = ? OR secret_token_prev_hash = ?", hash, hash)
}

func (a *accounts) ProjectsOf(ctx context.Context, organizations []uuid.UUID) ([]storage.Project, error) {
	return projects.list(ctx, a, "WHERE organization_id IN (?) ORDER BY id", idsOf(organizations))
}

func (a *accounts) Projects(ctx context.Context) ([]storage.Project, error) {
	return projects.list(ctx, a, "ORDER BY id")
}

func (a *accounts) CreateProject(ctx context.Context, p *storage.Project) error {
	row := *p
	row.IngestedEvent = false
	err := a.alter(ctx, projectsThemselves, func(a *accounts) error { return projects.insert(ctx, a, &row) })
	if err == nil {
		p.ID = row.ID
	}
	return err
}

func (a *accounts) UpdateProject(ctx context.Context, p *storage.Project) error {
	return a.alter(ctx, projectsThemselves, func(a *accounts) error { return projects.update(ctx, a, p) })
}

func (a *accounts) DeleteProject(ctx context.Context, id int64) error {
	n, err := a.deleteProjects(ctx, "id = ?", id)
	if err == nil && n == 0 {
		err = fmt.Errorf("delete a project: %w", storage.ErrNotFound)
	}
	return err
}

// deleteProjects deletes projects, and records which data PurgeProjects must
// delete.
func (a *accounts) deleteProjects(ctx context.Context, where string, arg any) (n int64, err error) {
	err = a.change(ctx, func(t *tx) (err error) {
		if _, err := t.exec(ctx, "INSERT INTO deleted_project (project_id, deleted_at) SELECT id, ? FROM project WHERE "+where,
			a.db.d.time(time.Now()), arg); err != nil {
			return err
		}
		if n, err = t.exec(ctx, "DELETE FROM project WHERE "+where, arg); err != nil || n == 0 {
			return err
		}
		return t.bump(ctx, projectsThemselves)
	})
	return n, wrap("delete projects", err)
}
