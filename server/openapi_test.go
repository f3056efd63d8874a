package server_test

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/flags"
	shape "github.com/flagstaff-go/flagstaff/internal/members"
	"github.com/flagstaff-go/flagstaff/management"
	products "github.com/flagstaff-go/flagstaff/management/foreign"
	"github.com/flagstaff-go/flagstaff/server"
	"github.com/flagstaff-go/flagstaff/server/internal/openapi"
	"github.com/flagstaff-go/flagstaff/surveys"
)

// A describedAPI is what the tests look at in the OpenAPI document.
type describedAPI struct {
	Paths      map[string]map[string]describedOperation // by path and method
	Components struct {
		Schemas map[string]describedSchema
	}
}

type describedOperation struct {
	ID       string `json:"operationId"`
	Security []map[string][]string
}

type describedSchema struct {
	Type       any
	Properties map[string]describedSchema
	Patterns   map[string]any `json:"patternProperties"`
	Additional any            `json:"additionalProperties"`
	Required   []string
	AnyOf      []describedSchema
	Enum       []any
}

func describedBy(t *testing.T) describedAPI {
	t.Helper()
	var d describedAPI
	if err := json.Unmarshal([]byte(openapi.JSON()), &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// undescribed are routes that the OpenAPI document does not have, with the reason.
var undescribed = map[string]string{
	"/verify_email/{user}/{token}": "a page for the reader of a message",
	"/reset_password/{token}":      "a page for the reader of a message",
	"/signup/{token}":              "a page for the reader of a message",
}

// TestOpenAPIRoutes: the document has an operation for each route and method, with the
// scopes that the server asks for, and no others.
func TestOpenAPIRoutes(t *testing.T) {
	d := describedBy(t)
	described := make(map[string]describedOperation) // by method and path
	ids := make(map[string]string)
	for path, methods := range d.Paths {
		for method, o := range methods {
			name := strings.ToUpper(method) + " " + path
			described[name] = o
			if other := ids[o.ID]; other != "" || o.ID == "" {
				t.Errorf("%s has the operation ID %q, and so has %q", name, o.ID, other)
			}
			ids[o.ID] = name
		}
	}
	unseen := maps.Clone(described)
	for _, r := range tableRows(t, newRouteServer(t).Server) {
		if undescribed[r.pattern] != "" {
			continue
		}
		name := r.method + " " + aliases.Replace(r.pattern)
		o, ok := described[name]
		if !ok {
			t.Errorf("%s: the document has no such operation", name)
			continue
		}
		delete(unseen, name)
		scopes, keyed, free := "", false, false
		for _, keys := range o.Security {
			free = free || len(keys) == 0
			if list, ok := keys["personalApiKey"]; ok {
				scopes, keyed = strings.Join(list, "+"), true
			}
		}
		switch {
		case r.keyed():
			if !keyed || free || scopes != r.who {
				t.Errorf("%s needs %s, and the document says %v", name, r.who, o.Security)
			}
		case strings.HasPrefix(r.pattern, "/ofrep/v1/evaluate/"), r.pattern == "/i/v1/analytics/events": // the key is in a header
			if free || len(o.Security) == 0 {
				t.Errorf("%s needs a key, and the document says %v", name, o.Security)
			}
		case !free || len(o.Security) != 1:
			t.Errorf("%s needs no key in a header, and the document says %v", name, o.Security)
		}
	}
	for name := range unseen {
		t.Errorf("%s: the document has it, and the server does not", name)
	}
}

// answerSchemas are the schemas of answers with the types that are encoded.
var answerSchemas = map[string]any{
	"User": management.UserView{}, "UserBasic": management.Author{}, "ScenePersonalisation": management.SceneView{}, "Session": management.SessionView{},
	"TwoFactorSetup": management.TwoFactorSetup{}, "TwoFactorStatus": management.TwoFactorStatus{}, "PasswordResetOffer": management.LinkOffer{},
	"PersonalAPIKey": management.KeyView{},
	"Organization":   management.OrganizationView{}, "OrganizationSummary": management.OrganizationSummary{}, "ProjectSummary": management.ProjectSummary{},
	"Member": management.MemberView{}, "MemberUser": management.MemberUser{}, "Invitation": management.InvitationView{}, "InvitationOffer": management.InvitationOffer{},
	"Team": management.TeamView{}, "Project": management.ProjectView{},
	"ImportReport": management.ImportReport{}, "NotImported": management.NotImported{}, "ImportedCohort": management.StaticCohort{},
	"ApplyReport": management.ApplyReport{}, "DefinitionChange": management.DefinitionChange{}, "DefinitionProblem": management.DefinitionProblem{},

	"Flag": management.FlagView{}, "MinimalFlag": management.MinimalFlag{}, "FlagUser": management.FlagUser{}, "FlagStatusReport": management.FlagStatus{},
	"FlagUsage": management.FlagUsage{}, "ValueUsage": management.ValueUsage{}, "SDKUsage": management.SDKUsage{}, "DayUsage": management.DayUsage{},
	"FlagFacets": management.FlagFacets{}, "FlagFacet": management.FlagFacet{}, "FlagOwner": management.FlagOwner{}, "FlagKeys": management.FlagKeys{},
	"Manifest": management.Manifest{}, "ManifestFlag": management.ManifestFlag{}, "ManifestChange": management.ManifestChange{}, "ManifestRemoval": management.ManifestRemoval{},
	"DeletedFlags": management.DeletedFlags{}, "DeletedFlag": management.FlagName{}, "UndeletedFlag": management.UndeletedFlag{},
	"FlagPreview": management.FlagPreview{}, "FlagTransition": management.FlagTransition{}, "ValueChange": management.ValueChange{},
	"ChangedFlag": management.ChangedFlag{}, "FlagChange": management.FlagChange{}, "FlagVersion": management.FlagVersion{}, "BlastRadius": management.BlastRadius{},
	"FlagEvaluation": management.FlagEvaluation{}, "EvaluationReason": management.FlagReason{}, "MyFlag": management.MyFlag{},
	"FlagExplanation": management.FlagExplanation{}, "ExplainedDependency": flags.DependencyTrace{}, "ExplainedCondition": flags.ConditionTrace{},
	"ExplainedFilter": flags.FilterTrace{}, "ExplainedDraw": flags.BucketTrace{}, "ExplainedVariant": flags.VariantTrace{},
	"ExplainedShare": flags.VariantShare{},

	"Cohort": management.CohortView{}, "CohortPreview": management.CohortPreview{}, "MemberChange": management.MemberChange{}, "CohortUses": management.CohortUses{},
	"CohortFlag": management.CohortFlag{}, "CohortName": management.CohortName{}, "CohortUpload": management.CohortUpload{},
	"EarlyAccessFeature": management.EarlyAccessView{}, "Enrollments": management.Enrollments{},
	"Person": management.PersonView{}, "FoundPersons": management.FoundPersons{}, "PersonEvents": management.Results[*management.EventView]{}, "StoredEvent": management.EventView{}, "EventList": server.EventList{},
	"PersonCohorts": management.Results[management.PersonCohort]{}, "PersonCohort": management.PersonCohort{}, "GroupType": management.GroupTypeView{}, "Group": management.GroupView{},
	"Activity": management.ActivityView{}, "ActivityUser": management.ActivityUser{}, "ActivityDetail": management.ActivityDetail{}, "ActivityChange": management.ActivityChange{},

	"Survey": surveys.View{}, "SurveyFlagKey": surveys.FlagKey{}, "SurveyCopies": surveys.Copies{}, "SurveyCopy": surveys.Copied{},
	"SurveyStats": surveys.Stats{}, "ProjectSurveyStats": surveys.ProjectStats{}, "SurveyStatsByKind": surveys.StatsByKind{}, "SurveyEventStats": surveys.EventStats{},
	"SurveyRates": surveys.Rates{}, "QuestionStats": surveys.QuestionStats{}, "DayStats": surveys.DayStats{}, "QuestionLabel": surveys.QuestionLabel{},
	"SurveyResponsePage": surveys.ResponsePage{}, "SurveyResponse": surveys.ResponseView{}, "SurveyAnswer": surveys.AnswerView{}, "SurveyResponseExtra": surveys.ResponseExtra{},
	"KeptFlag":      products.Kept{},
	"SurveySummary": surveys.Summary{}, "SurveyHeadline": surveys.Headline{},
}

// TestOpenAPIAnswers: the schemas of answers have the members that are encoded, and
// require those that are never left out.
func TestOpenAPIAnswers(t *testing.T) {
	schemas := describedBy(t).Components.Schemas
	for name, v := range answerSchemas {
		s := schemas[name]
		var all, always []string
		for _, f := range encoded(v) {
			all = append(all, f.name)
			if f.always {
				always = append(always, f.name)
			}
			if f.pointer && f.always && !s.Properties[f.name].nullable() {
				t.Errorf("%s.%s may be null, and the document says that it is not", name, f.name)
			}
		}
		sameNames(t, name, all, slices.Collect(maps.Keys(s.Properties)))
		sameNames(t, name+", required", always, s.Required)
	}
}

// bodySchemas are the schemas of bodies with the types that are decoded. Other members are
// ignored.
var bodySchemas = map[string]any{
	"UserPatch": management.UserPatch{}, "ScenePatch": management.ScenePatch{}, "EmailRequest": management.EmailRequest{}, "EmailProof": management.EmailProof{},
	"PasswordResetRequest": management.PasswordResetRequest{}, "ChosenPassword": management.ChosenPassword{},
	"TwoFactorPatch": management.TwoFactorPatch{}, "KeyCreate": management.KeyPatch{}, "KeyPatch": management.KeyPatch{},
	"OrganizationCreate": management.OrganizationPatch{}, "OrganizationPatch": management.OrganizationPatch{}, "MemberCreate": management.MemberPatch{},
	"InvitationCreate": management.InvitationPatch{}, "Acceptance": management.Acceptance{},
	"FlagSelection": management.FlagSelection{}, "BlastRadiusRequest": management.BlastRadiusQuery{}, "RolloutRequest": management.RolloutPatch{}, "RevertRequest": management.RevertPatch{},
	"ManifestFlagCreate": management.ManifestPatch{}, "ManifestFlagPatch": management.ManifestPatch{},
	"PropertyUpdate": management.PropertyPatch{}, "PropertyRemoval": management.PropertyRemoval{},
	"ProjectCreate": management.ProjectPatch{}, "ProjectPatch": management.ProjectPatch{},
	"SurveyCreate": surveys.Patch{}, "SurveyPatch": surveys.Patch{}, "SurveyCopyRequest": surveys.CopyRequest{}, "SummaryRequest": surveys.SummaryRefresh{},
}

// TestOpenAPIBodies: the schemas of bodies have the members that are decoded. Those of
// accounts may have the password as well, which all of them take (management.md §1.8).
func TestOpenAPIBodies(t *testing.T) {
	schemas := describedBy(t).Components.Schemas
	for name, v := range bodySchemas {
		var decoded []string
		for _, f := range encoded(v) {
			decoded = append(decoded, f.name)
		}
		described := slices.Collect(maps.Keys(schemas[name].Properties))
		if !slices.Contains(decoded, "current_password") {
			described = slices.DeleteFunc(described, func(s string) bool { return s == "current_password" })
		}
		sameNames(t, name, decoded, described)
	}
}

// TestOpenAPIClosed: bodies with members that nothing knows are refused
// (management.md §13.12), and the document knows the same members. Those that are
// accepted and ignored are patterns there.
func TestOpenAPIClosed(t *testing.T) {
	schemas := describedBy(t).Components.Schemas
	namesIn := func(s *shape.Shape) []string { return slices.Collect(s.Names()) }
	namesOf := func(values ...any) (names []string) {
		for _, v := range values {
			for _, f := range encoded(v) {
				names = append(names, f.name)
			}
		}
		return names
	}
	for name, known := range map[string][]string{
		"FlagCreate": namesIn(shape.Flag.With("comment")), "FlagPatch": namesIn(shape.Flag.With("comment")),
		"FlagPreviewRequest": namesIn(shape.Flag.With("comment").With("limit").With("revert_to").With("feature_enrollment")),
		"FlagFilters":        namesIn(shape.Filters), "ConditionSet": namesIn(shape.Condition), "PropertyFilter": namesIn(shape.Filter),
		"Multivariate": namesIn(shape.Multivariate), "Variant": namesIn(shape.Variant), "Holdout": namesIn(shape.Holdout),
		"CohortCreate": namesIn(shape.Cohort), "CohortPatch": namesIn(shape.Cohort), "CohortPreviewRequest": namesIn(shape.Cohort.With("limit")),
		"CohortFilters": namesIn(shape.Criteria), "CohortGroup": namesIn(shape.Node),
		"ProjectCreate": append(namesOf(management.ProjectView{}), "organization_id"), "ProjectPatch": append(namesOf(management.ProjectView{}), "organization_id"),
		"EarlyAccessFeatureCreate": append(namesOf(management.EarlyAccessPatch{}, management.EarlyAccessView{}), "_create_in_folder", "assignee"),
		"EarlyAccessFeaturePatch":  append(namesOf(management.EarlyAccessPatch{}, management.EarlyAccessView{}), "_create_in_folder", "assignee"),
		"SurveyCreate":             append(namesOf(surveys.Patch{}, surveys.View{}), "_create_in_folder"),
		"SurveyPatch":              append(namesOf(surveys.Patch{}, surveys.View{}), "_create_in_folder"),
		"ManifestFlagCreate":       namesOf(management.ManifestPatch{}), "ManifestFlagPatch": namesOf(management.ManifestPatch{}),
		"RolloutRequest": namesOf(management.RolloutPatch{}), "RevertRequest": namesOf(management.RevertPatch{}), "BlastRadiusRequest": namesOf(management.BlastRadiusQuery{}),
	} {
		s := schemas[name]
		if s.Additional != false {
			t.Errorf("%s is open, and the server refuses unknown members", name)
		}
		described := slices.Collect(maps.Keys(s.Properties))
		for pattern := range s.Patterns {
			list, ok := strings.CutPrefix(pattern, "^(")
			list, end := strings.CutSuffix(list, ")$")
			if !ok || !end {
				t.Errorf("%s: the pattern %s is not a list of names", name, pattern)
			}
			described = append(described, strings.Split(list, "|")...)
		}
		sameNames(t, name, known, described)
	}
}

// sameNames reports the names that only the code or only the document has.
func sameNames(t *testing.T, what string, code, document []string) {
	t.Helper()
	code = slices.Compact(slices.Sorted(slices.Values(code)))
	document = slices.Sorted(slices.Values(document))
	if diff := cmp.Diff(code, document); diff != "" {
		t.Errorf("%s (-code +document):\n%s", what, diff)
	}
}

// nullable reports whether a value may be null.
func (s describedSchema) nullable() bool {
	switch kind := s.Type.(type) {
	case nil:
		return len(s.AnyOf) == 0 || slices.ContainsFunc(s.AnyOf, func(one describedSchema) bool { return one.Type == "null" })
	case []any:
		return slices.Contains(kind, any("null"))
	default:
		return kind == "null"
	}
}

// An encodedField is a member of a struct as JSON.
type encodedField struct {
	name            string
	always, pointer bool
}

func encoded(v any) (list []encodedField) {
	for _, f := range reflect.VisibleFields(reflect.TypeOf(v)) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous || !f.IsExported() || name == "" || name == "-" {
			continue
		}
		list = append(list, encodedField{name, options == "", f.Type.Kind() == reflect.Pointer})
	}
	return list
}
