package server

import (
	"bytes"
	"net/http"
	"strconv"
	"strings"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/optional"
)

// flagRoutes are the routes of feature flags (management.md §13.1). definitions.go
// has the routes of definitions.
var flagRoutes = []route{
	projectRoute("/import", methods{post: importDefinitions, stream: true}),
	projectRoute("/apply", methods{post: applyDefinitions, stream: true}),
	projectRoute("/export", methods{get: exportDefinitions}),
	projectRoute("/feature_flags", methods{get: listFlags, post: createOf((*service).CreateFlag)}),
	projectRoute("/feature_flags/activity", methods{get: listActivity("FeatureFlag")}),
	projectRoute("/feature_flags/matching_ids", methods{get: matchingFlags}),
	projectRoute("/feature_flags/facets", methods{get: read("project", (*service).FlagFacets)}),
	projectRoute("/feature_flags/bulk_keys", methods{post: askIn((*service).FlagKeys)}),
	projectRoute("/feature_flags/bulk_delete", methods{post: askIn((*service).DeleteFlags)}),
	projectRoute("/feature_flags/preview", methods{post: askIn((*service).PreviewFlag)}),
	projectRoute("/feature_flags/user_blast_radius", methods{post: askIn((*service).BlastRadius)}),
	projectRoute("/feature_flags/evaluation_reasons", methods{get: evaluationReasons, post: explainFlags}),
	projectRoute("/feature_flags/my_flags", methods{get: myFlags}),
	projectRoute("/feature_flags/{id}", methods{get: readOf((*service).Flag), patch: updateFlag}),
	projectRoute("/feature_flags/{id}/activity", methods{get: listActivity("FeatureFlag")}),
	projectRoute("/feature_flags/{id}/status", methods{get: readOf((*service).FlagStatus)}),
	projectRoute("/feature_flags/{id}/usage", methods{get: flagUsage}),
	projectRoute("/feature_flags/{id}/explain", methods{post: explainFlag}),
	projectRoute("/feature_flags/{id}/versions", methods{get: listVersions}),
	projectRoute("/feature_flags/{id}/versions/{version}", methods{get: flagVersion}),
	projectRoute("/feature_flags/{id}/revert", methods{post: revertFlag}),
	projectRoute("/feature_flags/{id}/rollout", methods{post: rollOutFlag}),
	projectRoute("/feature_flags/{id}/enable", methods{post: setFlag(management.FlagPatch{Active: optional.Of(true)})}),
	projectRoute("/feature_flags/{id}/disable", methods{post: setFlag(management.FlagPatch{Active: optional.Of(false)})}),
	projectRoute("/feature_flags/{id}/archive", methods{post: setFlag(management.FlagPatch{Active: optional.Of(false), Archived: optional.Of(true)})}),
	projectRoute("/feature_flags/{id}/unarchive", methods{post: setFlag(management.FlagPatch{Archived: optional.Of(false)})}),
}

// flagQuery reads the parameters of management.md §13.2.
func (a *apiRequest) flagQuery() (q management.FlagQuery, err error) {
	q = management.FlagQuery{
		Active: a.param("active"), CreatedBy: a.param("created_by_id"), Search: a.param("search"),
		Key: a.param("key"), Type: a.param("type"), Runtime: a.param("evaluation_runtime"), Tags: a.param("tags"),
		ExcludedTags: a.param("excluded_tags"), ExcludedFields: a.param("excluded_properties"),
		Keys: a.param("keys"), Contexts: a.param("evaluation_contexts"),
		Order: a.param("order"),
	}
	if q.Archived, err = a.truth("archived"); err != nil {
		return q, err
	}
	q.HasContexts, err = a.truth("has_evaluation_contexts")
	return q, err
}

func listFlags(a *apiRequest) error {
	q, err := a.flagQuery()
	if err != nil {
		return err
	}
	limit, offset := a.window()
	page, err := a.service().ListFlags(a.context(), a.principal, a.segment("project"), q, limit, offset)
	return answerPage(a, page, err)
}

func matchingFlags(a *apiRequest) error {
	q, err := a.flagQuery()
	if err != nil {
		return err
	}
	ids, err := a.service().MatchingFlags(a.context(), a.principal, a.segment("project"), q)
	return a.answer(http.StatusOK, struct {
		IDs []int64 `json:"ids"`
	}{ids}, err)
}

// updateFlag changes a flag, if the flag has the version that If-Match names
// (management.md §13.6).
var updateFlag = changeWith(http.StatusOK, func(a *apiRequest, patch management.FlagPatch) (*management.FlagView, error) {
	patch.IfVersion = a.ifVersion()
	return a.service().UpdateFlag(a.context(), a.principal, a.segment("project"), a.segment("id"), patch)
})

// rollOutFlag changes the percentage of one condition set (management.md §13.15).
var rollOutFlag = changeWith(http.StatusOK, func(a *apiRequest, patch management.RolloutPatch) (*management.FlagView, error) {
	patch.IfVersion = a.ifVersion()
	return a.service().RollOutFlag(a.context(), a.principal, a.segment("project"), a.segment("id"), patch)
})

// revertFlag makes an older version again (management.md §13.18).
var revertFlag = changeWith(http.StatusOK, func(a *apiRequest, patch management.RevertPatch) (*management.FlagView, error) {
	patch.IfVersion = a.ifVersion()
	return a.service().RevertFlag(a.context(), a.principal, a.segment("project"), a.segment("id"), patch)
})

func listVersions(a *apiRequest) error {
	limit, offset := a.window()
	page, err := a.service().FlagVersions(a.context(), a.principal, a.segment("project"), a.segment("id"), limit, offset)
	return answerPage(a, page, err)
}

func flagVersion(a *apiRequest) error {
	version, err := strconv.Atoi(a.segment("version"))
	if err != nil {
		version = -1 // no flag has it
	}
	v, err := a.service().FlagVersion(a.context(), a.principal, a.segment("project"), a.segment("id"), version)
	return a.answer(http.StatusOK, v, err)
}

// flagUsage answers with what clients have reported of a flag (management.md §13.22).
func flagUsage(a *apiRequest) error {
	v, err := a.service().FlagUsage(a.context(), a.principal, a.segment("project"), a.segment("id"), a.param("days"), a.param("sdk"))
	return a.answer(http.StatusOK, v, err)
}

// ifMatch returns what If-Match names, nil if that is anything.
func (a *apiRequest) ifMatch() *string {
	match := a.x.r.Header.Get("If-Match")
	if match == "" || match == "*" {
		return nil
	}
	return new(strings.Trim(strings.TrimPrefix(match, "W/"), `"`))
}

// ifVersion returns the version that If-Match names, nil if there is none.
func (a *apiRequest) ifVersion() *int {
	match := a.ifMatch()
	if match == nil {
		return nil
	}
	version, err := strconv.Atoi(*match)
	if err != nil {
		version = -1 // no flag has it
	}
	return &version
}

// setFlag changes a flag in the one way that the path says, whatever the body (management.md §13.6).
func setFlag(patch management.FlagPatch) operation {
	return func(a *apiRequest) error {
		patch := patch
		patch.IfVersion = a.ifVersion()
		v, err := a.service().UpdateFlag(a.context(), a.principal, a.segment("project"), a.segment("id"), patch)
		return a.answer(http.StatusOK, v, err)
	}
}

// explainFlag tells how a flag gets its value for a subject, as JSON or, if the client
// would rather have it, as text (management.md §13.16). The body is one of POST /flags.
func explainFlag(a *apiRequest) error {
	document := bytes.Clone(a.document) // the next request reuses its memory
	v, err := a.service().ExplainFlag(a.context(), a.principal, a.segment("project"), a.segment("id"), document)
	a.x.w.Header().Add("Vary", "Accept")
	if err == nil && prefers(a.x.r.Header["Accept"], explainText, explainJSON) {
		return a.x.respond(http.StatusOK, typeText, []byte(v.String()))
	}
	return a.answer(http.StatusOK, v, err)
}

func evaluationReasons(a *apiRequest) error {
	v, err := a.service().EvaluationReasons(a.context(), a.principal, a.segment("project"), a.param("distinct_id"), a.param("groups"))
	return a.answer(http.StatusOK, v, err)
}

func explainFlags(a *apiRequest) error {
	v, err := a.service().ExplainFlags(a.context(), a.principal, a.segment("project"), bytes.Clone(a.document))
	return a.answer(http.StatusOK, v, err)
}

func myFlags(a *apiRequest) error {
	v, err := a.service().MyFlags(a.context(), a.principal, a.segment("project"), a.param("groups"))
	return a.answer(http.StatusOK, v, err)
}

// importDefinitions makes the flags and cohorts of a document, which may be larger than
// other bodies (management.md §13.19).
func importDefinitions(a *apiRequest) error {
	dryRun, err := a.asked("dry_run")
	if err != nil {
		return err
	}
	document, err := a.uploaded()
	if err != nil {
		return err
	}
	report, err := a.service().ImportDefinitions(a.context(), a.principal, a.segment("project"), document, management.ImportOptions{DryRun: dryRun})
	return a.answer(http.StatusOK, report, err)
}

// applyDefinitions makes a project what a document says (management.md §13.23).
func applyDefinitions(a *apiRequest) error {
	o := management.ApplyOptions{IfMatch: a.ifMatch()}
	var err error
	if o.DryRun, err = a.asked("dry_run"); err != nil {
		return err
	}
	if o.Prune, err = a.asked("prune"); err != nil {
		return err
	}
	document, err := a.uploaded()
	if err != nil {
		return err
	}
	report, err := a.service().ApplyDefinitions(a.context(), a.principal, a.segment("project"), document, o)
	return a.answer(http.StatusOK, report, err)
}

// exportDefinitions answers with the flags and cohorts of a project as a document that can
// be imported (management.md §13.20).
func exportDefinitions(a *apiRequest) error {
	archived, err := a.asked("archived")
	if err != nil {
		return err
	}
	lists, err := a.asked("lists")
	if err != nil {
		return err
	}
	document, err := a.service().ExportDefinitions(a.context(), a.principal, a.segment("project"), management.ExportOptions{Archived: archived, AsLists: lists})
	if err != nil {
		return err
	}
	return a.x.respond(http.StatusOK, typeJSON, document)
}
