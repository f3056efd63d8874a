package management_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/optional"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// A brokenData fails in the method that is named.
type brokenData struct {
	storage.Data
	fails string
}

func (d *brokenData) in(method string) error {
	if d.fails == method {
		return errBroken
	}
	return nil
}

func (d *brokenData) AppendPerson(ctx context.Context, dst []byte, project int64, distinctID string) ([]byte, error) {
	if err := d.in("AppendPerson"); err != nil {
		return dst, err
	}
	return d.Data.AppendPerson(ctx, dst, project, distinctID)
}

func (d *brokenData) PersonCreated(ctx context.Context, project int64, distinctID string) (time.Time, error) {
	if err := d.in("PersonCreated"); err != nil {
		return time.Time{}, err
	}
	return d.Data.PersonCreated(ctx, project, distinctID)
}

func (d *brokenData) AppendGroup(ctx context.Context, dst []byte, project int64, groupType, groupKey string) ([]byte, error) {
	if err := d.in("AppendGroup"); err != nil {
		return dst, err
	}
	return d.Data.AppendGroup(ctx, dst, project, groupType, groupKey)
}

func (d *brokenData) AppendCohorts(ctx context.Context, dst []int64, project int64, distinctID string) ([]int64, error) {
	if err := d.in("AppendCohorts"); err != nil {
		return dst, err
	}
	return d.Data.AppendCohorts(ctx, dst, project, distinctID)
}

func (d *brokenData) Overrides(ctx context.Context, project int64, distinctID, anonymousID string, flagKeys []string, found func(flagKey, hashKey string)) error {
	if err := d.in("Overrides"); err != nil {
		return err
	}
	return d.Data.Overrides(ctx, project, distinctID, anonymousID, flagKeys, found)
}

func (d *brokenData) AllPersons(ctx context.Context, project int64) iter.Seq2[storage.Person, error] {
	return func(yield func(storage.Person, error) bool) {
		for p, err := range d.Data.AllPersons(ctx, project) {
			if !yield(p, err) {
				return
			}
		}
		if err := d.in("AllPersons"); err != nil { // in the end
			yield(storage.Person{}, err)
		}
	}
}

func (d *brokenData) Persons(ctx context.Context, project int64, f storage.PersonFilter, limit, offset int) ([]storage.Person, int, error) {
	if err := d.in("Persons"); err != nil {
		return nil, 0, err
	}
	return d.Data.Persons(ctx, project, f, limit, offset)
}

func (d *brokenData) PersonsBefore(ctx context.Context, project int64, f storage.PersonFilter, before uuid.UUID, limit int) ([]storage.Person, error) {
	if err := d.in("PersonsBefore"); err != nil {
		return nil, err
	}
	return d.Data.PersonsBefore(ctx, project, f, before, limit)
}

func (d *brokenData) FindEvents(ctx context.Context, project int64, f storage.EventFilter, from storage.EventPlace, limit int) ([]capture.Event, storage.EventPlace, error) {
	if err := d.in("FindEvents"); err != nil {
		return nil, from, err
	}
	return d.Data.FindEvents(ctx, project, f, from, limit)
}

// A brokenTypes is the Store beside a brokenData.
type brokenTypes struct {
	storage.Store
	data *brokenData
}

func (s *brokenTypes) Atomic(ctx context.Context, f func(storage.Store) error) error {
	return s.Store.Atomic(ctx, func(store storage.Store) error { return f(&brokenTypes{store, s.data}) })
}

func (s *brokenTypes) GroupTypes(ctx context.Context, project int64) (map[int]string, error) {
	if err := s.data.in("GroupTypes"); err != nil {
		return nil, err
	}
	return s.Store.GroupTypes(ctx, project)
}

func (d *brokenData) Groups(ctx context.Context, project int64, typeIndex int, search string, limit, offset int) ([]storage.Group, int, error) {
	if err := d.in("Groups"); err != nil {
		return nil, 0, err
	}
	return d.Data.Groups(ctx, project, typeIndex, search, limit, offset)
}

func (d *brokenData) RecentDistinctIDs(ctx context.Context, project int64, limit int) ([]string, time.Time, error) {
	if err := d.in("RecentDistinctIDs"); err != nil {
		return nil, time.Time{}, err
	}
	return d.Data.RecentDistinctIDs(ctx, project, limit)
}

func (d *brokenData) CountCohort(ctx context.Context, project, cohort int64) (int, error) {
	if err := d.in("CountCohort"); err != nil {
		return 0, err
	}
	return d.Data.CountCohort(ctx, project, cohort)
}

func (d *brokenData) AddCohortMembers(ctx context.Context, project, cohort int64, upload uuid.UUID, distinctIDs []string) (int, int, error) {
	if err := d.in("AddCohortMembers"); err != nil {
		return 0, 0, err
	}
	return d.Data.AddCohortMembers(ctx, project, cohort, upload, distinctIDs)
}

func (d *brokenData) AddCohortPersons(ctx context.Context, project, cohort int64, persons []uuid.UUID) (int, error) {
	if err := d.in("AddCohortPersons"); err != nil {
		return 0, err
	}
	return d.Data.AddCohortPersons(ctx, project, cohort, persons)
}

func (d *brokenData) RemoveCohortUpload(ctx context.Context, project, cohort int64, upload uuid.UUID) (int, error) {
	if err := d.in("RemoveCohortUpload"); err != nil {
		return 0, err
	}
	return d.Data.RemoveCohortUpload(ctx, project, cohort, upload)
}

func (d *brokenData) PersonIDs(ctx context.Context, project int64, distinctIDs []string) (map[string]uuid.UUID, error) {
	if err := d.in("PersonIDs"); err != nil {
		return nil, err
	}
	return d.Data.PersonIDs(ctx, project, distinctIDs)
}

func (d *brokenData) RemoveCohortPersons(ctx context.Context, project, cohort int64, persons []uuid.UUID) (int, error) {
	if err := d.in("RemoveCohortPersons"); err != nil {
		return 0, err
	}
	return d.Data.RemoveCohortPersons(ctx, project, cohort, persons)
}

// Whatever fails about persons: the failure is passed on as it is, and what is
// stored of flags and cohorts stays.
func TestDataFailures(t *testing.T) {
	data := new(brokenData)
	w := newWorld(t, withData, func(c *management.Config) {
		data.Data = c.Data
		c.Data, c.Store = data, &brokenTypes{c.Store, data}
	})
	ctx, p, web := t.Context(), w.as(w.ada), ref(w.web)
	w.capture(w.web, "x", "u1", `{"$set":{"plan":"pro"}}`)
	w.capture(w.web, "$groupidentify", "u1", `{"$group_type":"company","$group_key":"acme","$group_set":{"size":7}}`)
	list := w.cohort(w.web, `{"name":"List","is_static":true}`)
	upload := must(w.AddCohortIDs(ctx, p, web, list, listed("u1")))(t).ID
	dynamic := w.cohort(w.web, `{"name":"Pro","filters":`+pro+`}`)
	w.flag(w.web, `{"key":"person","filters":`+when("plan", "pro")+`}`)
	w.flag(w.web, `{"key":"member","filters":`+inCohort(list)+`}`)
	w.flag(w.web, `{"key":"group","filters":{"groups":[{"properties":[{"key":"size","type":"group","value":7}]}],"aggregation_group_type_index":0}}`)
	w.flag(w.web, `{"key":"created","filters":{"groups":[{"properties":[{"key":"created_at","type":"person_metadata","operator":"is_set"}]}]}}`)
	w.flag(w.web, `{"key":"continuous","ensure_experience_continuity":true,"filters":{"groups":[{"rollout_percentage":50}]}}`)
	feature := w.feature(w.web, `{"name":"New","stage":"beta"}`)
	w.capture(w.web, "x", "u1", `{"$set":{"$feature_enrollment/new":true}}`)
	explain := func(id, rest string) func() error {
		return func() error { return second(w.explain(id, `{"distinct_id":"u1"`+rest+`}`)) }
	}
	preview := func(body string) func() error {
		return func() error {
			return second(w.PreviewFlag(ctx, p, web, decode[management.PreviewPatch](t, body)))
		}
	}
	blast := func(body string) func() error {
		return func() error {
			return second(w.BlastRadius(ctx, p, web, decode[management.BlastRadiusQuery](t, body)))
		}
	}
	reasons := func() error {
		return second(w.EvaluationReasons(ctx, p, web, "u1", `{"company":"acme"}`))
	}
	persons := management.CohortPersons{IDs: anyJSON([]string{uuid.NewString()}), ID: optional.Of(uuid.NewString())}
	for _, tt := range []struct {
		name  string
		call  func() error
		fails string // the methods that it needs
	}{
		{"ExplainFlag about a person", explain("1", ""), "GroupTypes AppendPerson"},
		{"ExplainFlag about a member", explain("2", ""), "GroupTypes AppendCohorts"},
		{"ExplainFlag about a group", explain("3", `,"groups":{"company":"acme"}`), "GroupTypes AppendGroup"},
		{"ExplainFlag about an age", explain("4", ""), "GroupTypes PersonCreated"},
		{"ExplainFlag about continuity", explain("5", ""), "GroupTypes Overrides"},
		{"ExplainFlag about identification", explain("5", `,"$anon_distinct_id":"a"`), "GroupTypes Overrides PersonCreated"},
		{"EvaluationReasons", reasons, "GroupTypes AppendPerson AppendCohorts AppendGroup PersonCreated Overrides"},
		{"MyFlags", func() error { return second(w.MyFlags(ctx, p, web, "")) }, "GroupTypes AppendPerson AppendCohorts PersonCreated Overrides"},
		{"PreviewFlag", preview(`{"id":1,"filters":` + inCohort(list) + `}`), "GroupTypes RecentDistinctIDs AppendPerson AppendCohorts"},
		{"PreviewFlag of rollout alone", preview(`{"key":"rollout","filters":` + everybody + `}`), "GroupTypes RecentDistinctIDs"},
		{"PreviewCohort", func() error {
			return second(w.PreviewCohort(ctx, p, web, decode[management.CohortPreviewPatch](t, `{"id":`+dynamic+`,"filters":`+pro+`}`)))
		}, "GroupTypes RecentDistinctIDs AppendPerson"},
		{"ListEnrollments", func() error { return second(w.ListEnrollments(ctx, p, web, feature, false, 10, 0)) }, "AllPersons Persons"},
		{"BlastRadius", blast(`{"condition":{"properties":[{"key":"id","type":"cohort","value":` + list + `}]}}`), "GroupTypes AllPersons AppendCohorts"},
		{"BlastRadius of groups", blast(`{"condition":{},"group_type_index":0}`), "GroupTypes Groups"},
		{"ExplainFlags", func() error {
			return second(w.ExplainFlags(ctx, p, web, []byte(`{"distinct_id":"u1","groups":{"company":"acme"}}`)))
		}, "GroupTypes AppendPerson AppendCohorts AppendGroup PersonCreated Overrides"},
		{"SearchPersons", func() error {
			return second(w.SearchPersons(ctx, p, web, management.PersonSearch{Text: "u"}, 10))
		}, "PersonsBefore"},
		{"FindPerson", func() error { return second(w.FindPerson(ctx, p, web, "u")) }, "PersonsBefore"},
		{"SearchPersons by properties", func() error {
			return second(w.SearchPersons(ctx, p, web, management.PersonSearch{Properties: `[{"key":"plan","type":"person","value":"pro"}]`}, 10))
		}, "GroupTypes PersonsBefore"},
		{"PersonEvents", func() error { return second(w.PersonEvents(ctx, p, web, "u1", 10)) }, "FindEvents"},
		{"PersonCohorts", func() error { return second(w.PersonCohorts(ctx, p, web, "u1")) }, "GroupTypes AppendCohorts"},
		{"ListCohortPersons", func() error { return second(w.ListCohortPersons(ctx, p, web, list, 10, 0)) }, "Persons"},
		{"ListCohortPersons of a dynamic one", func() error { return second(w.ListCohortPersons(ctx, p, web, dynamic, 10, 0)) }, "GroupTypes AllPersons Persons"},
		{"AddCohortIDs", func() error { return second(w.AddCohortIDs(ctx, p, web, list, listed("u1"))) }, "AddCohortMembers CountCohort"},
		{"PreviewCohortIDs", func() error { return second(w.PreviewCohortIDs(ctx, p, web, list, listed("u1"))) }, "GroupTypes RecentDistinctIDs PersonIDs AppendCohorts"},
		{"RemoveCohortUpload", func() error { return second(w.RemoveCohortUpload(ctx, p, web, list, upload)) }, "RemoveCohortUpload CountCohort"},
		{"AddCohortPersons", func() error { return w.AddCohortPersons(ctx, p, web, list, persons) }, "AddCohortPersons CountCohort"},
		{"RemoveCohortPerson", func() error { return w.RemoveCohortPerson(ctx, p, web, list, persons) }, "RemoveCohortPersons CountCohort"},
		{"UpdateFlag", func() error { return second(w.changeFlag("1", `{"name":"N"}`)) }, "GroupTypes"},
		{"UpdateCohort", func() error { return second(w.changeCohort(dynamic, `{"name":"N"}`)) }, "GroupTypes"},
		{"CountCohorts", func() error {
			w.clock.advance(2 * time.Hour)
			return w.CountCohorts(ctx)
		}, "GroupTypes AllPersons CountCohort"},
	} {
		needed := strings.Fields(tt.fails)
		for _, method := range []string{
			"AppendPerson", "PersonCreated", "AppendGroup", "AppendCohorts", "Overrides", "AllPersons", "Persons", "GroupTypes", "Groups", "RecentDistinctIDs",
			"PersonsBefore", "FindEvents",
			"CountCohort", "AddCohortMembers", "AddCohortPersons", "RemoveCohortPersons", "RemoveCohortUpload", "PersonIDs",
		} {
			before := w.state()
			data.fails = method
			err := tt.call()
			data.fails = ""
			fails := false
			for _, name := range needed {
				fails = fails || name == method
			}
			if fails != errors.Is(err, errBroken) || !fails && err != nil {
				t.Errorf("%s when %s fails: %v", tt.name, method, err)
			}
			if fails {
				if tt.name == "AddCohortIDs" {
					before.Activities = w.state().Activities // which tell how far an upload came
				}
				w.checkUnchanged(tt.name+" when "+method+" fails", before)
			}
		}
	}
}

// Flags that something else has stored, and that cannot be computed, have no value.
func TestFailedFlags(t *testing.T) {
	w := newWorld(t, withData)
	ctx, p, web := t.Context(), w.as(w.ada), ref(w.web)
	w.capture(w.web, "x", "u1", `{}`)
	w.flag(w.web, `{"key":"k","filters":`+everybody+`}`)
	f := must(w.store.Flags().Get(ctx, storage.FlagProject.Is(w.web.ID), storage.FlagID.Is(1)))(t)
	f.Filters = filtersOf(inCohort("99"))
	w.ok(w.store.Flags().Update(ctx, f))
	v := must(w.explain("1", `{"distinct_id":"u1"}`))(t)
	if v.Value != nil || !v.Result.Failed || v.Result.Reason.Code != "dependency_not_found_cohort" {
		t.Errorf("ExplainFlag = %v, %+v", v.Value, v.Result)
	}
	if got := encode(t, must(w.PreviewFlag(ctx, p, web, decode[management.PreviewPatch](t, `{"id":1,"filters":`+everybody+`}`)))(t).Transitions); got != `[{"from":null,"to":true,"count":1}]` {
		t.Errorf("PreviewFlag has transitions %s", got)
	}
	if mine := must(w.MyFlags(ctx, p, web, ""))(t); mine[0].Value != false {
		t.Errorf("MyFlags = %v", mine[0].Value)
	}
	if r := must(w.EvaluationReasons(ctx, p, web, "u1", ""))(t)["k"]; r.Value != false || r.Evaluation.Reason != "dependency_not_found_cohort" {
		t.Errorf("EvaluationReasons = %+v", r)
	}

	// A circle, and a payload that nobody can have encrypted.
	f.Filters = filtersOf(dependsOn("1"))
	w.ok(w.store.Flags().Update(ctx, f))
	if r := must(w.EvaluationReasons(ctx, p, web, "u1", ""))(t)["k"]; r.Value != false || r.Evaluation.Reason != "not_evaluated" {
		t.Errorf("EvaluationReasons of a circle = %+v", r)
	}
	f.Filters, f.RemoteConfig, f.EncryptedPayloads = filtersOf(`{"groups":[{}],"payloads":{"true":"sealed:!"}}`), true, true
	w.ok(w.store.Flags().Update(ctx, f))
	if got := payload(t, must(w.Flag(ctx, w.key(w.ada), web, "1"))(t)); got != masked {
		t.Errorf("the payload is %q", got)
	}
	f.Filters, f.RemoteConfig, f.EncryptedPayloads = filtersOf(`{`), false, false
	w.ok(w.store.Flags().Update(ctx, f))
	v = must(w.explain("1", `{"distinct_id":"u1"}`))(t)
	if v.Value != nil || !v.Result.Failed || v.Result.Reason.Code != "flag_data_parsing_error" {
		t.Errorf("ExplainFlag of what is not JSON = %v, %+v", v.Value, v.Result)
	}
	if r := must(w.EvaluationReasons(ctx, p, web, "u1", ""))(t)["k"]; r.Value != false || r.Evaluation.Reason != "flag_data_parsing_error" {
		t.Errorf("EvaluationReasons of what is not JSON = %+v", r)
	}
	// Others are not hurt, and it stays as it is until condition sets are sent.
	must(w.PreviewFlag(ctx, p, web, decode[management.PreviewPatch](t, `{"key":"new","filters":`+everybody+`}`)))(t)
	if v := must(w.changeFlag("1", `{"name":"N"}`))(t); shown(v.Filters) != "{}" || filtersText(t, must(w.store.Flags().Get(ctx, storage.FlagProject.Is(w.web.ID), storage.FlagID.Is(1)))(t)) != "{" {
		t.Errorf("what is not JSON is shown as %s, and stored as %s", shown(v.Filters), filtersText(t, must(w.store.Flags().Get(ctx, storage.FlagProject.Is(w.web.ID), storage.FlagID.Is(1)))(t)))
	}
	_, err := w.changeFlag("1", `{"key":"other"}`)
	checkFault(t, "a change of what is not JSON", err, "invalid invalid_input filters")
	if v := must(w.changeFlag("1", `{"filters":`+everybody+`}`))(t); filtersText(t, must(w.store.Flags().Get(ctx, storage.FlagProject.Is(w.web.ID), storage.FlagID.Is(1)))(t)) != shown(v.Filters) {
		t.Errorf("stored are %s, shown %s", filtersText(t, must(w.store.Flags().Get(ctx, storage.FlagProject.Is(w.web.ID), storage.FlagID.Is(1)))(t)), shown(v.Filters))
	}
}

// Errors name the first few flags that depend on one.
func TestManyDependents(t *testing.T) {
	w := newWorld(t)
	base := w.flag(w.web, `{"key":"base","filters":`+everybody+`}`)
	for i := range 7 {
		w.flag(w.web, fmt.Sprintf(`{"key":"user%d","filters":%s}`, i, dependsOn(base)))
	}
	_, err := w.changeFlag(base, `{"active":false}`)
	if err == nil || !strings.HasSuffix(err.Error(), "depend on it: user0, user1, user2, user3, user4, and 2 more.") {
		t.Errorf("%v", err)
	}
}
