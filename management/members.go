package management

import (
	"github.com/flagstaff-go/flagstaff/internal/members"
	"github.com/flagstaff-go/flagstaff/management/internal/judge"
	"github.com/flagstaff-go/flagstaff/management/internal/rawjson"
)

// A body is what a patch was decoded from, as far as the patch has no fields for it.
type body struct {
	mode    judge.Mode
	unknown error // the first member that nothing knows
}

// set checks the members of an object.
func (b *body) set(s *members.Shape, raw []byte, lenient bool) {
	b.mode = judge.Mode(lenient)
	b.unknown = judgeError(b.mode.CheckBody(s, raw))
}

// SetBody tells a patch the JSON object that it was decoded from. The methods that
// take the patch then refuse members of the object that nothing knows, which could
// change a flag for everybody if they were passed over (management.md §13.5). With
// lenient they refuse only those that stand for another member, here and in the
// filters.
func (patch *FlagPatch) SetBody(raw []byte, lenient bool) { patch.setBody(members.Flag, raw, lenient) }

func (patch *FlagPatch) setBody(s *members.Shape, raw []byte, lenient bool) {
	patch.body.set(s, raw, lenient)
	if patch.body.unknown != nil {
		return
	}
	sent, _ := rawjson.Object(raw)
	if share := sent["rollout_percentage"]; share != nil && string(share) != "null" {
		patch.body.unknown = invalid("rollout_percentage", "unknown_member", "A percentage of the flag is not read; did you mean filters.groups[0].rollout_percentage?")
	}
}

// SetBody is [FlagPatch.SetBody] for a preview.
func (patch *PreviewPatch) SetBody(raw []byte, lenient bool) {
	patch.setBody(previewShape, raw, lenient)
}

// SetBody is [FlagPatch.SetBody] for a cohort.
func (patch *CohortPatch) SetBody(raw []byte, lenient bool) {
	patch.body.set(members.Cohort, raw, lenient)
}

// SetBody is [FlagPatch.SetBody] for a preview of a cohort.
func (patch *CohortPreviewPatch) SetBody(raw []byte, lenient bool) {
	patch.body.set(cohortPreviewShape, raw, lenient)
}

// SetBody is [FlagPatch.SetBody] for an early access feature.
func (patch *EarlyAccessPatch) SetBody(raw []byte, lenient bool) {
	patch.body.set(earlyAccessShape, raw, lenient)
}

// SetBody is [FlagPatch.SetBody] for a project: a setting that nothing keeps is refused.
func (patch *ProjectPatch) SetBody(raw []byte, lenient bool) {
	patch.body.set(projectShape, raw, lenient)
}

// SetBody is [FlagPatch.SetBody] for a condition set.
func (q *BlastRadiusQuery) SetBody(raw []byte, lenient bool) {
	q.body.set(blastRadiusShape, raw, lenient)
}

// SetBody is [FlagPatch.SetBody] for a rollout.
func (patch *RolloutPatch) SetBody(raw []byte, lenient bool) {
	patch.body.set(rolloutShape, raw, lenient)
}

// SetBody is [FlagPatch.SetBody] for a way back.
func (patch *RevertPatch) SetBody(raw []byte, lenient bool) {
	patch.body.set(revertShape, raw, lenient)
}

// SetBody is [FlagPatch.SetBody] for a list of flags.
func (q *FlagSelection) SetBody(raw []byte, lenient bool) {
	q.body.set(selectionShape, raw, lenient)
}

// SetBody is [FlagPatch.SetBody] for a flag of a manifest.
func (patch *ManifestPatch) SetBody(raw []byte, lenient bool) {
	patch.body.set(manifestShape, raw, lenient)
}

var (
	projectShape = members.New("a project",
		"name timezone anonymize_ips completed_snippet_onboarding surveys_opt_in heatmaps_opt_in session_recording_opt_in autocapture_exceptions_opt_in "+
			"autocapture_web_vitals_opt_in capture_performance_opt_in cookieless_server_hash_mode session_recording_network_payload_capture_config "+
			"app_urls recording_domains event_retention_days",
		"id uuid organization organization_id project_id api_token has_completed_onboarding_for ingested_event is_demo access_control "+
			"created_at updated_at secret_api_token has_secret_api_token has_secret_api_token_backup")
	previewShape       = members.Flag.With("limit").With("revert_to").With("feature_enrollment")
	cohortPreviewShape = members.Cohort.With("limit")
	earlyAccessShape   = members.New("an early access feature", "name description stage documentation_url payload feature_flag_id",
		"id feature_flag created_at _create_in_folder assignee original_feature")
	rolloutShape = members.New("a rollout", "rollout_percentage condition version", "",
		"rollout_percentage rollout percentage percent rolloutpercent", "condition group index conditionset")
	revertShape      = members.New("a revert", "version current_version", "", "version to target revertto", "current_version current expected expectedversion ifversion")
	selectionShape   = members.New("a list of flags", "ids", "", "ids id flags flagids keys")
	manifestShape    = members.New("a flag of a manifest", "key type name description defaultValue", "", "type flagtype kind", "defaultValue default value")
	blastRadiusShape = members.New("a question about a condition set", "condition group_type_index", "")
)
