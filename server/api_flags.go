package server

import (
	"bytes"
	"net/http"
	"strconv"
	"strings"

	"github.com/flagstaff-go/flagstaff/management"
	products "github.com/flagstaff-go/flagstaff/management/foreign"
	"github.com/flagstaff-go/flagstaff/management/optional"
)

// flagRoutes are the routes of feature flags (management.md §13.1). definitions.go
// has the routes of definitions.
var flagRoutes = []route{
	routeInProject("/import", methods{post: importDefinitions, stream: true}),
	routeInProject("/apply", methods{post: applyDefinitions, stream: true}),
	routeInProject("/apply/{import}/undo", methods{post: undoApply}),
	routeInProject("/export", methods{get: exportDefinitions}),
	routeInProject("/feature_flags", methods{get: listFlags, post: createOf((*service).CreateFlag)}),
	routeInProject("/feature_flags/activity", methods{get: ListActivity("FeatureFlag")}),
	routeInProject("/feature_flags/matching_ids", methods{get: matchingFlags}),
	routeInProject("/feature_flags/facets", methods{get: read("project", (*service).FlagFacets)}),
	routeInProject("/feature_flags/bulk_keys", methods{post: askIn((*service).FlagKeys)}),
	routeInProject("/feature_flags/bulk_delete", methods{post: askIn((*service).DeleteFlags)}),
	routeInProject("/feature_flags/preview", methods{post: askIn((*service).PreviewFlag)}),
	routeInProject("/feature_flags/user_blast_radius", methods{post: askIn((*service).BlastRadius)}),
	routeInProject("/feature_flags/evaluation_reasons", methods{get: evaluationReasons, post: explainFlags}),
	routeInProject("/feature_flags/my_flags", methods{get: myFlags}),
	routeInProject("/feature_flags/{id}", methods{get: readOf((*service).Flag), patch: updateFlag}),
	routeInProject("/feature_flags/{id}/activity", methods{get: ListActivity("FeatureFlag")}),
	routeInProject("/feature_flags/{id}/status", methods{get: readOf((*service).FlagStatus)}),
	routeInProject("/feature_flags/{id}/usage", methods{get: flagUsage}),
	routeInProject("/feature_flags/{id}/explain", methods{post: explainFlag}),
	routeInProject("/feature_flags/{id}/versions", methods{get: listVersions}),
	routeInProject("/feature_flags/{id}/versions/{version}", methods{get: flagVersion}),
	routeInProject("/feature_flags/{id}/revert", methods{post: revertFlag}),
	routeInProject("/feature_flags/{id}/rollout", methods{post: rollOutFlag}),
	routeInProject("/feature_flags/{id}/enable", methods{post: setFlag(management.FlagPatch{Active: optional.Of(true)})}),
	routeInProject("/feature_flags/{id}/disable", methods{post: setFlag(management.FlagPatch{Active: optional.Of(false)})}),
	routeInProject("/feature_flags/{id}/archive", methods{post: setFlag(management.FlagPatch{Active: optional.Of(false), Archived: optional.Of(true)})}),
	routeInProject("/feature_flags/{id}/unarchive", methods{post: setFlag(management.FlagPatch{Archived: optional.Of(false)})}),
}

// flagQuery reads the parameters of management.md §13.2.
func (a *Request) flagQuery() (q management.FlagQuery, err error) {
	q = management.FlagQuery{
		Active: a.Param("active"), CreatedBy: a.Param("created_by_id"), Search: a.Param("search"),
		Key: a.Param("key"), Type: a.Param("type"), Runtime: a.Param("evaluation_runtime"), Tags: a.Param("tags"),
		ExcludedTags: a.Param("excluded_tags"), ExcludedFields: a.Param("excluded_properties"),
		Keys: a.Param("keys"), Contexts: a.Param("evaluation_contexts"),
		Order: a.Param("order"),
	}
	if q.Archived, err = a.Truth("archived"); err != nil {
		return q, err
	}
	if q.HasContexts, err = a.Truth("has_evaluation_contexts"); err != nil {
		return q, err
	}
	q.Evaluated, err = a.Truth("evaluated")
	return q, err
}

func listFlags(a *Request) error {
	q, err := a.flagQuery()
	if err != nil {
		return err
	}
	limit, offset := a.Window()
	page, err := a.service().ListFlags(a.Context(), a.principal, a.Segment("project"), q, limit, offset)
	return AnswerPage(a, page, err)
}

func matchingFlags(a *Request) error {
	q, err := a.flagQuery()
	if err != nil {
		return err
	}
	ids, err := a.service().MatchingFlags(a.Context(), a.principal, a.Segment("project"), q)
	return a.Answer(http.StatusOK, struct {
		IDs []int64 `json:"ids"`
	}{ids}, err)
}

// updateFlag changes a flag, if the flag has the version that If-Match names
// (management.md §13.6).
var updateFlag = changeWith(http.StatusOK, func(a *Request, patch management.FlagPatch) (*management.FlagView, error) {
	patch.IfVersion = a.ifVersion()
	return a.service().UpdateFlag(a.Context(), a.principal, a.Segment("project"), a.Segment("id"), patch)
})

// rollOutFlag changes the percentage of one condition set (management.md §13.15).
var rollOutFlag = changeWith(http.StatusOK, func(a *Request, patch management.RolloutPatch) (*management.FlagView, error) {
	patch.IfVersion = a.ifVersion()
	return a.service().RollOutFlag(a.Context(), a.principal, a.Segment("project"), a.Segment("id"), patch)
})

// revertFlag makes an older version again (management.md §13.18).
var revertFlag = changeWith(http.StatusOK, func(a *Request, patch management.RevertPatch) (*management.FlagView, error) {
	patch.IfVersion = a.ifVersion()
	return a.service().RevertFlag(a.Context(), a.principal, a.Segment("project"), a.Segment("id"), patch)
})

func listVersions(a *Request) error {
	limit, offset := a.Window()
	page, err := a.service().FlagVersions(a.Context(), a.principal, a.Segment("project"), a.Segment("id"), limit, offset)
	return AnswerPage(a, page, err)
}

func flagVersion(a *Request) error {
	version, err := strconv.Atoi(a.Segment("version"))
	if err != nil {
		version = -1 // no flag has it
	}
	v, err := a.service().FlagVersion(a.Context(), a.principal, a.Segment("project"), a.Segment("id"), version)
	return a.Answer(http.StatusOK, v, err)
}

// flagUsage answers with what clients have reported of a flag (management.md §13.22).
func flagUsage(a *Request) error {
	v, err := a.service().FlagUsage(a.Context(), a.principal, a.Segment("project"), a.Segment("id"), a.Param("days"), a.Param("sdk"))
	return a.Answer(http.StatusOK, v, err)
}

// ifMatch returns what If-Match names, nil if that is anything.
func (a *Request) ifMatch() *string {
	match := a.x.r.Header.Get("If-Match")
	if match == "" || match == "*" {
		return nil
	}
	return new(strings.Trim(strings.TrimPrefix(match, "W/"), `"`))
}

// ifVersion returns the version that If-Match names, nil if there is none.
func (a *Request) ifVersion() *int {
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
func setFlag(patch management.FlagPatch) Operation {
	return func(a *Request) error {
		patch := patch
		patch.IfVersion, patch.AnyVersion = a.ifVersion(), true
		v, err := a.service().UpdateFlag(a.Context(), a.principal, a.Segment("project"), a.Segment("id"), patch)
		return a.Answer(http.StatusOK, v, err)
	}
}

// explainFlag tells how a flag gets its value for a subject, as JSON or, if the client
// would rather have it, as text (management.md §13.16). The body is one of POST /flags.
func explainFlag(a *Request) error {
	document := bytes.Clone(a.document) // the next request reuses its memory
	v, err := a.service().ExplainFlag(a.Context(), a.principal, a.Segment("project"), a.Segment("id"), document)
	a.x.w.Header().Add("Vary", "Accept")
	if err == nil && prefers(a.x.r.Header["Accept"], explainText, explainJSON) {
		return a.x.respond(http.StatusOK, typeText, []byte(v.String()))
	}
	return a.Answer(http.StatusOK, v, err)
}

func evaluationReasons(a *Request) error {
	v, err := a.service().EvaluationReasons(a.Context(), a.principal, a.Segment("project"), a.Param("distinct_id"), a.Param("groups"))
	return a.Answer(http.StatusOK, v, err)
}

func explainFlags(a *Request) error {
	v, err := a.service().ExplainFlags(a.Context(), a.principal, a.Segment("project"), bytes.Clone(a.document))
	return a.Answer(http.StatusOK, v, err)
}

func myFlags(a *Request) error {
	v, err := a.service().MyFlags(a.Context(), a.principal, a.Segment("project"), a.Param("groups"))
	return a.Answer(http.StatusOK, v, err)
}

// importDefinitions makes the flags and cohorts of a document, which may be larger than
// other bodies (management.md §13.19).
func importDefinitions(a *Request) error {
	dryRun, err := a.Asked("dry_run")
	if err != nil {
		return err
	}
	document, err := a.uploaded()
	if err != nil {
		return err
	}
	report, err := a.service().ImportDefinitions(a.Context(), a.principal, a.Segment("project"), document, management.ImportOptions{DryRun: dryRun})
	return a.Answer(http.StatusOK, report, err)
}

// applyDefinitions makes a project what a document says (management.md §13.23).
func applyDefinitions(a *Request) error {
	o := management.ApplyOptions{IfMatch: a.ifMatch()}
	var err error
	if o.DryRun, err = a.Asked("dry_run"); err != nil {
		return err
	}
	if o.Prune, err = a.Asked("prune"); err != nil {
		return err
	}
	if o.From, err = a.foreignOptions(); err != nil {
		return err
	}
	document, err := a.uploaded()
	if err != nil {
		return err
	}
	report, err := a.service().ApplyDefinitions(a.Context(), a.principal, a.Segment("project"), document, o)
	return a.Answer(http.StatusOK, report, err)
}

// undoApply takes back an import from another product (management.md §13.23).
func undoApply(a *Request) error {
	err := a.service().UndoApply(a.Context(), a.principal, a.Segment("project"), a.Segment("import"))
	return a.Answer(http.StatusOK, struct{}{}, err)
}

// foreignOptions reads how a document of another product becomes definitions, nil if it is none.
func (a *Request) foreignOptions() (*products.Options, error) {
	o := &products.Options{
		From: a.Param("from"), Environment: a.Param("environment"), Version: a.Param("bucket_version"),
		Map: a.ParamList("map"), Inexact: a.ParamList("inexact"),
	}
	var err error
	if o.Archived, err = a.Asked("archived"); err != nil || o.From == "" {
		return nil, err
	}
	return o, nil
}

// exportDefinitions answers with the flags and cohorts of a project as a document that can
// be imported (management.md §13.20).
func exportDefinitions(a *Request) error {
	archived, err := a.Asked("archived")
	if err != nil {
		return err
	}
	lists, err := a.Asked("lists")
	if err != nil {
		return err
	}
	document, err := a.service().ExportDefinitions(a.Context(), a.principal, a.Segment("project"), management.ExportOptions{Archived: archived, AsLists: lists})
	if err != nil {
		return err
	}
	return a.x.respond(http.StatusOK, typeJSON, document)
}
