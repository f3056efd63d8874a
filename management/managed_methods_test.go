package management_test

import (
	"encoding/json"
	"slices"
	"strconv"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/foreign"
	"github.com/flagstaff-go/flagstaff/management/optional"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// everybody are filters that let everybody have a flag.
const everybody = `{"groups":[{"properties":[]}]}`

// managedMethods are the methods of flags, cohorts and early access features.
func managedMethods() []method {
	flag := func(c *callable) { c.id = c.flag(c.world.web, `{"key":"beta","filters":`+everybody+`}`) }
	config := func(c *callable) {
		c.id = c.flag(c.world.web, `{"key":"beta","is_remote_configuration":true,"filters":{"payloads":{"true":"1"}}}`)
	}
	dynamic := func(c *callable) { c.id = c.cohort(c.world.web, `{"name":"Pro","filters":`+pro+`}`) }
	static := func(c *callable) {
		c.capture(c.world.web, "x", "u1", `{"$set":{"plan":"pro"}}`)
		c.id = c.cohort(c.world.web, `{"name":"List","is_static":true}`)
	}
	feature := func(c *callable) { c.id = c.feature(c.world.web, `{"name":"New","stage":"beta"}`) }
	member := func(c *callable) management.CohortPersons {
		var id string
		for p := range c.store.AllPersons(c.t.Context(), c.world.web.ID) {
			id = p.ID.String()
		}
		return management.CohortPersons{IDs: anyJSON([]string{id}), ID: optional.Of(id)}
	}
	return []method{
		{
			name: "ListFlags", scope: "feature_flag:read", kind: ofProject, first: flag,
			call: func(c *callable) error {
				return second(c.ListFlags(c.ctx, c.p, c.web, management.FlagQuery{}, 10, 0))
			},
		},
		{
			name: "ListFlags that are stale", scope: "feature_flag:read", kind: ofProject, first: flag,
			call: func(c *callable) error {
				return second(c.ListFlags(c.ctx, c.p, c.web, management.FlagQuery{Active: "STALE"}, 10, 0))
			},
		},
		{
			name: "FlagFacets", scope: "feature_flag:read", kind: ofProject, first: flag,
			call: func(c *callable) error { return second(c.FlagFacets(c.ctx, c.p, c.web)) },
		},
		{
			name: "MatchingFlags", scope: "feature_flag:read", kind: ofProject, first: flag,
			call: func(c *callable) error { return second(c.MatchingFlags(c.ctx, c.p, c.web, management.FlagQuery{})) },
		},
		{
			name: "FlagNames", scope: "feature_flag:read", kind: ofProject, first: flag,
			call: func(c *callable) error { return second(c.FlagNames(c.ctx, c.p, c.web, 10)) },
		},
		{
			name: "FlagKeys", scope: "feature_flag:read", kind: ofProject, first: flag,
			call: func(c *callable) error { return second(c.FlagKeys(c.ctx, c.p, c.web, selection(c.id))) },
		},
		{
			name: "Flag", scope: "feature_flag:read", kind: ofProject, first: flag,
			call: func(c *callable) error { return second(c.Flag(c.ctx, c.p, c.web, c.id)) },
		},
		{
			name: "FlagStatus", scope: "feature_flag:read", kind: ofProject, first: flag,
			call: func(c *callable) error { return second(c.FlagStatus(c.ctx, c.p, c.web, c.id)) },
		},
		{
			name: "FlagUsage", scope: "feature_flag:read", kind: ofProject, first: flag,
			call: func(c *callable) error {
				return second(c.FlagUsage(c.ctx, c.p, c.web, c.id, "", ""))
			},
		},
		{
			name: "UsageOfFlags", scope: "feature_flag:read", kind: ofProject,
			call: func(c *callable) error {
				return second(c.UsageOfFlags(c.ctx, c.p, c.web, []string{"a"}, 30))
			},
		},
		{
			name: "CreateFlag", scope: "feature_flag:write", kind: ofProject, once: "invalid unique key",
			log: []string{"FeatureFlag created by ada in nothing"},
			call: func(c *callable) error {
				return second(c.CreateFlag(c.ctx, c.p, c.web, decode[management.FlagPatch](c.t, `{"key":"beta","filters":`+everybody+`}`)))
			},
		},
		{
			name: "UpdateFlag", scope: "feature_flag:write", kind: ofProject, first: flag, log: []string{"FeatureFlag updated by ada in nothing"},
			call: func(c *callable) error {
				return second(c.UpdateFlag(c.ctx, c.p, c.web, c.id, decode[management.FlagPatch](c.t,
					`{"name":"Beta","tags":["a"],"filters":{"groups":[{"properties":[{"key":"plan","type":"person","value":"pro"}],"rollout_percentage":50}]}}`)))
			},
		},
		{
			name: "UpdateFlag to delete it", scope: "feature_flag:write", kind: ofProject, first: flag, log: []string{"FeatureFlag deleted by ada in nothing"},
			call: func(c *callable) error {
				return second(c.UpdateFlag(c.ctx, c.p, c.web, c.id, management.FlagPatch{Deleted: optional.Of(true)}))
			},
		},
		{
			name: "UpdateFlag to archive it", scope: "feature_flag:write", kind: ofProject, first: flag, log: []string{"FeatureFlag updated by ada in nothing"},
			call: func(c *callable) error {
				return second(c.UpdateFlag(c.ctx, c.p, c.web, c.id, management.FlagPatch{Active: optional.Of(false), Archived: optional.Of(true)}))
			},
		},
		{
			name: "FlagVersions", scope: "feature_flag:read", kind: ofProject, first: flag,
			call: func(c *callable) error { return second(c.FlagVersions(c.ctx, c.p, c.web, "beta", 10, 0)) },
		},
		{
			name: "FlagVersion", scope: "feature_flag:read", kind: ofProject, first: flag,
			call: func(c *callable) error { return second(c.FlagVersion(c.ctx, c.p, c.web, "beta", 1)) },
		},
		{
			name: "FlagDependents", scope: "feature_flag:read", kind: ofProject, first: flag,
			call: func(c *callable) error { return second(c.FlagDependents(c.ctx, c.p, c.web, "beta")) },
		},
		{
			name: "RevertFlag", scope: "feature_flag:write", kind: ofProject, log: []string{"FeatureFlag reverted by ada in nothing"},
			first: func(c *callable) {
				flag(c)
				must(c.UpdateFlag(c.t.Context(), c.as(c.ada), c.web, "beta", management.FlagPatch{Name: optional.Of("Beta")}))(c.t)
			},
			call: func(c *callable) error {
				return second(c.RevertFlag(c.ctx, c.p, c.web, "beta", management.RevertPatch{Version: optional.Of(1)}))
			},
		},
		{
			name: "RollOutFlag", scope: "feature_flag:write", kind: ofProject, first: flag, log: []string{"FeatureFlag updated by ada in nothing"},
			call: func(c *callable) error {
				return second(c.RollOutFlag(c.ctx, c.p, c.web, "beta", decode[management.RolloutPatch](c.t, `{"rollout_percentage":50}`)))
			},
		},
		{
			name: "UpdateFlags", scope: "feature_flag:write", kind: ofProject, first: flag, log: []string{"FeatureFlag updated by ada in nothing"},
			call: func(c *callable) error {
				f, err := c.Flag(c.ctx, c.as(c.ada), c.web, "beta")
				if err != nil {
					return err
				}
				return second(c.UpdateFlags(c.ctx, c.p, c.web, map[int64]management.FlagPatch{f.ID: {Name: optional.Of("Beta")}}))
			},
		},
		{
			name: "RevertFlags", scope: "feature_flag:write", kind: ofProject, log: []string{"FeatureFlag reverted by ada in nothing"},
			first: func(c *callable) {
				flag(c)
				must(c.UpdateFlag(c.t.Context(), c.as(c.ada), c.web, "beta", management.FlagPatch{Name: optional.Of("Beta")}))(c.t)
			},
			call: func(c *callable) error {
				f, err := c.Flag(c.ctx, c.as(c.ada), c.web, "beta")
				if err != nil {
					return err
				}
				return second(c.RevertFlags(c.ctx, c.p, c.web, map[int64]management.RevertPatch{f.ID: {Version: optional.Of(1)}}))
			},
		},
		{
			name: "ImportDefinitions", scope: "feature_flag:write", also: "cohort:write", kind: ofProject,
			log: []string{"FeatureFlag created by ada in nothing", "Cohort created by ada in nothing"},
			call: func(c *callable) error {
				return second(c.ImportDefinitions(c.ctx, c.p, c.web, []byte(`{"flags":[{"key":"brought","filters":{"groups":[{}]}}],"cohorts":[{"id":1,"name":"Listed","is_static":true}]}`), management.ImportOptions{}))
			},
		},
		{
			name: "PreviewImport", scope: "feature_flag:write", also: "person:read", kind: ofProject,
			call: func(c *callable) error {
				_, _, err := c.PreviewImport(c.ctx, c.p, c.web, []byte(`{"flags":[{"key":"brought","active":true,"filters":{"groups":[{}]}}]}`))
				return err
			},
		},
		{
			name: "PreviewApply", scope: "feature_flag:write", also: "person:read", kind: ofProject,
			call: func(c *callable) error {
				_, _, err := c.PreviewApply(c.ctx, c.p, c.web, []byte(`{"flags":[{"key":"brought","active":true,"filters":{"groups":[{}]}}]}`), management.ApplyOptions{})
				return err
			},
		},
		{
			name: "UndoImport", scope: "feature_flag:write", also: "cohort:write", kind: ofProject,
			log: []string{"Cohort deleted by ada in nothing", "FeatureFlag deleted by ada in nothing"}, once: "conflict conflict",
			first: func(c *callable) {
				document := []byte(`{"flags":[{"key":"brought","filters":{"groups":[{}]}}],"cohorts":[{"id":1,"name":"Listed","is_static":true}]}`)
				made := must(c.ImportDefinitions(c.t.Context(), c.as(c.ada), c.web, document, management.ImportOptions{}))(c.t)
				c.value = encode(c.t, [][]int64{made.FlagIDs, made.CohortIDs})
			},
			call: func(c *callable) error {
				made := decode[[][]int64](c.t, c.value)
				return c.UndoImport(c.ctx, c.p, c.web, made[0], made[1])
			},
		},
		{
			name: "UndoApply", scope: "feature_flag:write", also: "cohort:write", kind: ofProject, log: []string{"FeatureFlag deleted by ada in nothing"},
			once: "conflict conflict",
			first: func(c *callable) {
				o := management.ApplyOptions{From: &foreign.Options{From: "launchdarkly"}}
				made := must(c.ApplyDefinitions(c.t.Context(), c.as(c.ada), c.web, []byte(`{"flagValues":{"brought":true}}`), o))(c.t)
				c.value = encode(c.t, made.ImportID)
			},
			call: func(c *callable) error { return c.UndoApply(c.ctx, c.p, c.web, decode[string](c.t, c.value)) },
		},
		{
			name: "ApplyDefinitions", scope: "feature_flag:write", also: "cohort:write", kind: ofProject, first: flag,
			log: []string{"FeatureFlag updated by ada in nothing", "FeatureFlag created by ada in nothing", "Cohort created by ada in nothing"},
			call: func(c *callable) error {
				return second(c.ApplyDefinitions(c.ctx, c.p, c.web, []byte(`{"flags":[{"key":"brought","filters":{"groups":[{"properties":[{"key":"id","type":"cohort","value":1}]}]}}],
					"cohorts":[{"id":1,"name":"Listed","is_static":true}],"group_type_mapping":{"0":"company"}}`), management.ApplyOptions{Prune: true}))
			},
		},
		{
			name: "ExportDefinitions", scope: "feature_flag:read", also: "cohort:read", kind: ofProject, first: flag,
			call: func(c *callable) error {
				return second(c.ExportDefinitions(c.ctx, c.p, c.web, management.ExportOptions{}))
			},
		},
		{
			name: "CreateManifestFlag", scope: "feature_flag:write", kind: ofProject, once: "conflict conflict key",
			log: []string{"FeatureFlag created by ada in nothing"},
			call: func(c *callable) error {
				return second(c.CreateManifestFlag(c.ctx, c.p, c.web, decode[management.ManifestPatch](c.t, `{"key":"beta","type":"boolean","defaultValue":false}`)))
			},
		},
		{
			name: "UpdateManifestFlag", scope: "feature_flag:write", kind: ofProject, first: flag, log: []string{"FeatureFlag updated by ada in nothing"},
			call: func(c *callable) error {
				return second(c.UpdateManifestFlag(c.ctx, c.p, c.web, "beta", decode[management.ManifestPatch](c.t, `{"key":"beta","type":"boolean","description":"Beta"}`)))
			},
		},
		{
			name: "DeleteManifestFlag", scope: "feature_flag:write", kind: ofProject, first: flag, once: "not found not_found",
			log:  []string{"FeatureFlag deleted by ada in nothing"},
			call: func(c *callable) error { return second(c.DeleteManifestFlag(c.ctx, c.p, c.web, "beta")) },
		},
		{
			name: "DeleteFlags", scope: "feature_flag:write", kind: ofProject, first: flag, log: []string{"FeatureFlag deleted by ada in nothing"},
			call: func(c *callable) error { return second(c.DeleteFlags(c.ctx, c.p, c.web, selection(c.id))) },
		},
		{
			name: "ExplainFlags", scope: "feature_flag:read", also: "person:read", kind: ofProject, first: flag,
			call: func(c *callable) error {
				return second(c.ExplainFlags(c.ctx, c.p, c.web, []byte(`{"distinct_id":"u1","person_properties":{"plan":"pro"}}`)))
			},
		},
		{
			name: "ExplainFlag", scope: "feature_flag:read", also: "person:read", kind: ofProject, first: flag,
			call: func(c *callable) error {
				return second(c.ExplainFlag(c.ctx, c.p, c.web, c.id, []byte(`{"distinct_id":"u1"}`)))
			},
		},
		{
			name: "PreviewFlag", scope: "feature_flag:read", also: "person:read", kind: ofProject,
			first: func(c *callable) {
				flag(c)
				c.capture(c.world.web, "x", "u1", `{"$set":{"plan":"pro"}}`)
			},
			call: func(c *callable) error {
				return second(c.PreviewFlag(c.ctx, c.p, c.web, decode[management.PreviewPatch](c.t, `{"id":`+c.id+`,"active":false}`)))
			},
		},
		{
			name: "EvaluationReasons", scope: "feature_flag:read", kind: ofProject, first: flag,
			call: func(c *callable) error { return second(c.EvaluationReasons(c.ctx, c.p, c.web, "u1", "")) },
		},
		{
			name: "MyFlags", scope: "feature_flag:read", kind: ofProject, first: flag,
			call: func(c *callable) error { return second(c.MyFlags(c.ctx, c.p, c.web, "")) },
		},
		{
			name: "BlastRadius", scope: "feature_flag:read", also: "person:read", kind: ofProject, first: static,
			call: func(c *callable) error {
				return second(c.BlastRadius(c.ctx, c.p, c.web, management.BlastRadiusQuery{Condition: anyJSON(map[string]any{})}))
			},
		},

		{
			name: "ListCohorts", scope: "cohort:read", kind: ofProject, first: dynamic,
			call: func(c *callable) error {
				return second(c.ListCohorts(c.ctx, c.p, c.web, management.CohortQuery{}, 10, 0))
			},
		},
		{
			name: "Cohort", scope: "cohort:read", kind: ofProject, first: dynamic,
			call: func(c *callable) error { return second(c.Cohort(c.ctx, c.p, c.web, c.id)) },
		},
		{
			name: "CohortUses", scope: "cohort:read", also: "feature_flag:read", kind: ofProject, first: dynamic,
			call: func(c *callable) error { return second(c.CohortUses(c.ctx, c.p, c.web)) },
		},
		{
			name: "PreviewCohort", scope: "cohort:read", also: "person:read", kind: ofProject, first: dynamic,
			call: func(c *callable) error {
				return second(c.PreviewCohort(c.ctx, c.p, c.web, decode[management.CohortPreviewPatch](c.t, `{"id":`+c.id+`,"filters":`+pro+`}`)))
			},
		},
		{
			name: "ListEnrollments", scope: "early_access_feature:read", also: "person:read", kind: ofProject, first: feature,
			call: func(c *callable) error { return second(c.ListEnrollments(c.ctx, c.p, c.web, c.id, false, 10, 0)) },
		},
		{
			name: "ListCohortPersons", scope: "cohort:read", also: "person:read", kind: ofProject, first: static,
			call: func(c *callable) error { return second(c.ListCohortPersons(c.ctx, c.p, c.web, c.id, 10, 0)) },
		},
		{
			name: "ListCohortPersons of a dynamic one", scope: "cohort:read", also: "person:read", kind: ofProject, first: dynamic,
			call: func(c *callable) error { return second(c.ListCohortPersons(c.ctx, c.p, c.web, c.id, 10, 0)) },
		},
		{
			name: "CreateCohort", scope: "cohort:write", kind: ofProject, log: []string{"Cohort created by ada in nothing"},
			call: func(c *callable) error {
				return second(c.CreateCohort(c.ctx, c.p, c.web, decode[management.CohortPatch](c.t, `{"name":"Pro","filters":`+pro+`}`)))
			},
		},
		{
			name: "UpdateCohort", scope: "cohort:write", kind: ofProject, first: dynamic, log: []string{"Cohort updated by ada in nothing"},
			call: func(c *callable) error {
				return second(c.UpdateCohort(c.ctx, c.p, c.web, c.id, management.CohortPatch{Name: optional.Of("Paying")}))
			},
		},
		{
			name: "UpdateCohort to delete it", scope: "cohort:write", kind: ofProject, first: dynamic, log: []string{"Cohort deleted by ada in nothing"},
			call: func(c *callable) error {
				return second(c.UpdateCohort(c.ctx, c.p, c.web, c.id, management.CohortPatch{Deleted: optional.Of(true)}))
			},
		},
		{
			name: "CohortUpload", scope: "cohort:read", kind: ofProject, sees: true, first: func(c *callable) {
				static(c)
				must(c.AddCohortIDs(c.t.Context(), c.as(c.ada), c.web, c.id, listed("u1")))(c.t)
			},
			call: func(c *callable) error { return second(c.CohortUpload(c.ctx, c.p, c.web, c.id)) },
		},
		{
			name: "AddCohortIDs", scope: "cohort:write", kind: ofProject, sees: true, first: static, log: []string{"Cohort updated by ada in nothing"},
			call: func(c *callable) error { return second(c.AddCohortIDs(c.ctx, c.p, c.web, c.id, listed("u1", "u2"))) },
		},
		{
			name: "PreviewCohortIDs", scope: "cohort:read", also: "person:read", kind: ofProject, first: static,
			call: func(c *callable) error { return second(c.PreviewCohortIDs(c.ctx, c.p, c.web, c.id, listed("u1"))) },
		},
		{
			name: "RemoveCohortUpload", scope: "cohort:write", kind: ofProject, log: []string{"Cohort updated by ada in nothing"},
			first: func(c *callable) {
				static(c)
				c.value = must(c.AddCohortIDs(c.t.Context(), c.as(c.ada), c.web, c.id, listed("u1")))(c.t).ID.String()
			},
			call: func(c *callable) error {
				return second(c.RemoveCohortUpload(c.ctx, c.p, c.web, c.id, uuid.MustParse(c.value)))
			},
		},
		{
			name: "AddCohortPersons", scope: "cohort:write", kind: ofProject, first: static, log: []string{"Cohort updated by ada in nothing"},
			call: func(c *callable) error { return c.AddCohortPersons(c.ctx, c.p, c.web, c.id, member(c)) },
		},
		{
			name: "RemoveCohortPerson", scope: "cohort:write", kind: ofProject, log: []string{"Cohort updated by ada in nothing"},
			first: func(c *callable) {
				static(c)
				must(c.AddCohortIDs(c.t.Context(), c.as(c.ada), c.web, c.id, listed("u1")))(c.t)
			},
			call: func(c *callable) error { return c.RemoveCohortPerson(c.ctx, c.p, c.web, c.id, member(c)) },
		},

		{
			name: "ListEarlyAccessFeatures", scope: "early_access_feature:read", kind: ofProject, first: feature,
			call: func(c *callable) error { return second(c.ListEarlyAccessFeatures(c.ctx, c.p, c.web, 10, 0)) },
		},
		{
			name: "EarlyAccessFeature", scope: "early_access_feature:read", kind: ofProject, first: feature,
			call: func(c *callable) error { return second(c.EarlyAccessFeature(c.ctx, c.p, c.web, c.id)) },
		},
		{
			name: "CreateEarlyAccessFeature", scope: "early_access_feature:write", kind: ofProject, once: "invalid unique name",
			log: []string{"EarlyAccessFeature created by ada in nothing", "FeatureFlag created by ada in nothing"},
			call: func(c *callable) error {
				return second(c.CreateEarlyAccessFeature(c.ctx, c.p, c.web, decode[management.EarlyAccessPatch](c.t, `{"name":"New","stage":"beta"}`)))
			},
		},
		{
			name: "UpdateEarlyAccessFeature", scope: "early_access_feature:write", kind: ofProject, first: feature,
			log: []string{"EarlyAccessFeature updated by ada in nothing", "FeatureFlag updated by ada in nothing"},
			call: func(c *callable) error {
				return second(c.UpdateEarlyAccessFeature(c.ctx, c.p, c.web, c.id, management.EarlyAccessPatch{Stage: optional.Of("draft")}))
			},
		},
		{
			name: "DeleteEarlyAccessFeature", scope: "early_access_feature:write", kind: ofProject, first: feature, once: "not found not_found",
			log:  []string{"EarlyAccessFeature deleted by ada in nothing", "FeatureFlag updated by ada in nothing"},
			call: func(c *callable) error { return c.DeleteEarlyAccessFeature(c.ctx, c.p, c.web, c.id) },
		},

		{
			name: "ListActivity", scope: "activity_log:read", kind: ofProject, first: flag,
			call: func(c *callable) error {
				return second(c.ListActivity(c.ctx, c.p, c.web, management.ActivityQuery{Page: 1, Limit: 10}))
			},
		},

		// What has no Principal.
		{
			name: "DefinitionsAccess",
			call: func(c *callable) error { return second(c.DefinitionsAccess(c.ctx, c.value, c.web, "")) },
		},
		{
			name: "ProjectRef",
			call: func(c *callable) error {
				return second(c.ProjectRef(c.ctx, c.world.as(c.world.ada), "", c.world.web.APIKey))
			},
		},
		{
			name: "Manifest", first: flag,
			call: func(c *callable) error {
				return second(c.Manifest(c.ctx, &management.DefinitionsAccess{Project: c.world.web}))
			},
		},
		{
			name: "RemoteConfig", first: config,
			call: func(c *callable) error {
				return second(c.RemoteConfig(c.ctx, &management.DefinitionsAccess{Project: c.world.web}, "beta"))
			},
		},
		{
			name: "CountCohorts", first: dynamic,
			call: func(c *callable) error { return c.CountCohorts(c.ctx) },
		},
	}
}

// selection selects a flag by its ID.
func selection(ids ...string) management.FlagSelection {
	list := []json.RawMessage{}
	for _, id := range ids {
		list = append(list, json.RawMessage(id))
	}
	return management.FlagSelection{IDs: anyJSON(list)}
}

// listed iterates over distinct IDs.
func listed(ids ...string) func(func(string, error) bool) {
	return func(yield func(string, error) bool) {
		for id := range slices.Values(ids) {
			if !yield(id, nil) {
				return
			}
		}
	}
}

func ref(p *storage.Project) string { return strconv.FormatInt(p.ID, 10) }
