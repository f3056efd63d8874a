package management

import (
	"errors"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
	"github.com/flagstaff-go/flagstaff/internal/judge"
	"github.com/flagstaff-go/flagstaff/internal/members"
)

// CheckBody refuses members that nothing knows, which could change a flag for everybody if
// they were passed over, of the JSON object that a patch was decoded from, and of the
// filters in it (management.md §13.5). With lenient it refuses only those that stand for
// another member. patch is a pointer to a patch of this package; of anything else nothing
// is refused. Errors are of type *[Error].
func CheckBody(patch any, raw []byte, lenient bool) error {
	mode, body := judge.Mode(lenient), jsonscan.Value(raw)
	var shape *members.Shape
	var filters *flags.Filters
	switch p := patch.(type) {
	case *FlagPatch:
		shape, filters = flagShape, &p.Filters.Value
	case *PreviewPatch:
		shape, filters = previewShape, &p.Filters.Value
	case *CohortPatch:
		return checkCohortBody(p, members.Cohort, body, mode)
	case *CohortPreviewPatch:
		return checkCohortBody(&p.CohortPatch, cohortPreviewShape, body, mode)
	case *EarlyAccessPatch:
		shape = earlyAccessShape
	case *ProjectPatch:
		shape = projectShape
	case *BlastRadiusQuery:
		asked := p.asked()
		shape, filters = blastRadiusShape, &asked
	case *RolloutPatch:
		shape = rolloutShape
	case *RevertPatch:
		shape = revertShape
	case *FlagSelection:
		shape = selectionShape
	case *ManifestPatch:
		shape = manifestShape
	default:
		return nil
	}
	if err := judgeError(mode.CheckMembers(shape, body)); err != nil {
		return err
	}
	if filters == nil {
		return nil
	}
	if share := judge.Member(raw, "rollout_percentage"); share != nil && share.Kind() != jsonscan.Null {
		return invalid("rollout_percentage", "unknown_member", "A percentage of the flag is not read; did you mean filters.groups[0].rollout_percentage?")
	}
	err := judgeError(mode.CheckFilters(filters))
	if e, ok := errors.AsType[*Error](err); ok && shape == blastRadiusShape {
		return e.ofCondition()
	}
	return err
}

func checkCohortBody(p *CohortPatch, shape *members.Shape, body jsonscan.Value, mode judge.Mode) error {
	err := judgeError(mode.CheckMembers(shape, body))
	if err != nil || !p.Filters.Set || p.Filters.Null {
		return err
	}
	return judgeError(mode.CheckTree(p.Filters.Value))
}

var (
	projectShape = members.New("a project",
		"name timezone anonymize_ips completed_snippet_onboarding surveys_opt_in heatmaps_opt_in session_recording_opt_in autocapture_exceptions_opt_in "+
			"autocapture_web_vitals_opt_in capture_performance_opt_in cookieless_server_hash_mode session_recording_network_payload_capture_config "+
			"app_urls recording_domains event_retention_days posthog_rules_only",
		"id uuid organization organization_id project_id api_token has_completed_onboarding_for ingested_event is_demo access_control "+
			"created_at updated_at secret_api_token has_secret_api_token has_secret_api_token_backup")
	flagShape          = members.Flag.With("comment") // of the change, not of the flag
	previewShape       = flagShape.With("limit").With("revert_to").With("feature_enrollment")
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
