package sqldb

import (
	"context"
	"time"

	"github.com/flagstaff-go/flagstaff/management/storage"
)

var projects = newTable(table[storage.Project]{
	name: "project", noun: "a project", key: 1, serial: true,
	order:    "id",
	project:  func(*storage.Project) int64 { return projectsThemselves },
	deleting: projectGoes,
	keeps:    "ingested_event", // set by Write, which does not wait for transactions that change projects
	fields: func(p *storage.Project) []field {
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
			{"app_urls", asJSON[[]string]{&p.AppURLs}},
			{"recording_domains", asJSON[[]string]{&p.RecordingDomains}},
			{"bucketing_hash", &p.BucketingHash},
			{"event_retention_days", &p.EventRetentionDays},
			{"posthog_rules_only", &p.PostHogRulesOnly},
			{"flags_file", asJSON[*storage.FlagsFile]{&p.FlagsFile}},
			{"created_at", moment{&p.Created}},
			{"updated_at", moment{&p.Updated}},
		}
	},
})

// Projects implements [storage.Store].
func (a *accounts) Projects() storage.Table[storage.Project] {
	return projectPort{projects.of(a)}
}

type projectPort struct{ port[storage.Project] }

func (p projectPort) Create(ctx context.Context, list ...*storage.Project) error {
	return p.each(ctx, list, func(a *accounts, v *storage.Project) error {
		row := *v
		row.IngestedEvent = false
		err := p.insert(ctx, a, &row)
		v.ID = row.ID
		return err
	})
}

// projectGoes records which data PurgeProjects must delete.
func projectGoes(ctx context.Context, a *accounts, p *storage.Project) error {
	_, err := a.exec(ctx, "INSERT INTO deleted_project (project_id, deleted_at) VALUES (?, ?)", p.ID, time.Now())
	return wrap("delete a project", err)
}
