package surveys_test

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/optional"
	"github.com/flagstaff-go/flagstaff/management/storage"
	"github.com/flagstaff-go/flagstaff/surveys"
)

// surveyFlags returns what is stored of the flags that were made for surveys of
// Web.
func (w *world) surveyFlags() []storage.Flag {
	w.t.Helper()
	var made []storage.Flag
	for _, f := range must(w.store.CalledFlags(w.t.Context(), w.web.ID))(w.t) {
		if f.Kind != storage.FlagOrdinary {
			made = append(made, f)
		}
	}
	return made
}

// management.md §9.6: which flags there are, and how they are called.
func TestFlagsOfSurvey(t *testing.T) {
	w := newWorld(t)
	v := w.storedSurvey(w.survey(`{"name":"NPS","targeting_flag_filters":` + byPlan + `,` + sampling + `}`).ID)
	for _, tt := range []struct {
		id           *int64
		kind         storage.FlagKind
		key, filters string
	}{
		{v.TargetingFlag, storage.FlagSurveyTargeting, `^survey-targeting-[0-9a-f]{10}$`, byPlan},
		{v.InternalFlag, storage.FlagSurveyInternal, `^survey-targeting-[0-9a-f]{10}-custom$`, internalFilters(v.ID.String())},
		{v.SamplingFlag, storage.FlagSurveySampling, `^survey-targeting-[0-9a-f]{10}-sampling$`, rollout(100)},
	} {
		f := w.storedFlag(tt.id)
		if f == nil || f.Kind != tt.kind || f.Active || f.Name != "Targeting flag for survey NPS" || !regexp.MustCompile(tt.key).MatchString(f.Key) {
			t.Errorf("flag of kind %d: %+v", tt.kind, f)
			continue
		}
		if diff := cmp.Diff(decode[any](t, tt.filters), decode[any](t, filtersText(t, f)), same); diff != "" {
			t.Errorf("filters of %s (-want +got)\n%s", f.Key, diff)
		}
		if *f.CreatedBy != w.ada.ID || f.Version != 1 || f.Runtime != "all" {
			t.Errorf("flag of kind %d: %+v", tt.kind, f)
		}
	}
	keys := make(map[string]bool)
	for range 3 {
		keys[w.survey(`{}`).InternalTargetingFlag.Key[:27]] = true
	}
	if len(keys) != 3 {
		t.Errorf("keys of three surveys: %v", keys)
	}
	w.change(v.ID, `{"name":"Renamed"}`)
	for _, id := range []*int64{v.TargetingFlag, v.InternalFlag, v.SamplingFlag} {
		if f := w.storedFlag(id); f.Name != "Targeting flag for survey Renamed" {
			t.Errorf("flag of a renamed survey: %s", f.Name)
		}
	}
}

// sampling is a plan of 10 responses in a week.
const sampling = `"response_sampling_start_date":"2026-03-04T00:00:00Z","response_sampling_interval":1,"response_sampling_limit":10`

func internalFilters(key string) string {
	return `{"groups":[{"variant":"","rollout_percentage":100,"properties":[` +
		`{"key":"$survey_dismissed/` + key + `","value":"is_not_set","operator":"is_not_set","type":"person"},` +
		`{"key":"$survey_responded/` + key + `","value":"is_not_set","operator":"is_not_set","type":"person"}]}]}`
}

func rollout(percentage float64) string {
	return fmt.Sprintf(`{"groups":[{"variant":"","rollout_percentage":%v,"properties":[]}]}`, percentage)
}

// management.md §9.2, §9.6: the flags are on while a survey runs, has no end, and is
// not archived, whatever way that comes about.
func TestSurveyFlagsActive(t *testing.T) {
	w := newWorld(t)
	ordinary := w.storeFlag(w.web, "ordinary", byPlan)
	other := w.survey(fmt.Sprintf(`{"targeting_flag_id":%d}`, ordinary.ID))
	id := w.survey(`{"targeting_flag_filters":` + byPlan + `,` + sampling + `}`).ID
	for _, step := range []struct {
		body string // "launch" and "stop" are methods
		on   bool
	}{
		{`{"start_date":"2027-01-01T00:00:00Z"}`, true}, // clients look at the date (§9.2)
		{`{"start_date":null}`, false},
		{"launch", true},
		{`{"description":"x"}`, true},
		{`{"archived":true}`, false},
		{`{"archived":false}`, true},
		{`{"end_date":"2027-01-01T00:00:00Z"}`, false},
		{`{"end_date":null}`, true},
		{"stop", false},
		{`{"archived":true}`, false},
		{`{"end_date":null}`, false},
		{`{"archived":false}`, true},
		{`{"remove_targeting_flag":true}`, true},
		{`{"targeting_flag_filters":` + byCountry + `}`, true},
	} {
		for _, survey := range []uuid.UUID{id, other.ID} {
			switch {
			case step.body == "launch":
				must(w.Launch(t.Context(), w.as(w.ada), refOf(w.web), survey.String()))(t)
			case step.body == "stop":
				must(w.Stop(t.Context(), w.as(w.ada), refOf(w.web), survey.String()))(t)
			case survey == id || !strings.Contains(step.body, "targeting"):
				w.change(survey, step.body)
			}
		}
		v := w.storedSurvey(id)
		for _, f := range []*int64{v.TargetingFlag, v.InternalFlag, v.SamplingFlag} {
			if f == nil {
				continue
			}
			if got := w.storedFlag(f); got.Active != step.on {
				t.Errorf("after %s the flag %s is on: %t, want %t", step.body, got.Key, got.Active, step.on)
			}
		}
		if diff := cmp.Diff(ordinary, w.storedFlag(&ordinary.ID), same); diff != "" {
			t.Fatalf("after %s: an ordinary flag (-before +after)\n%s", step.body, diff)
		}
	}
}

// management.md §9.6, §11.7: how a survey gets, changes and loses its targeting, and
// what is logged of that.
func TestSurveyTargeting(t *testing.T) {
	type change struct{ field, action, before, after string }
	const own, ordinary, foreign = "own", "ordinary", "foreign" // what the survey is targeted by
	none := ""
	for _, tt := range []struct {
		name, before, body string
		want               string // targeting afterwards, or what is wrong
		filters            string
		log                []change
	}{
		{"filters", none, `{"targeting_flag_filters":` + byPlan + `}`, own, byPlan, []change{{"targeting_flag_filters", "created", "null", byPlan}}},
		{"other filters", own, `{"targeting_flag_filters":` + byCountry + `}`, own, byCountry, []change{{"targeting_flag_filters", "changed", byPlan, byCountry}}},
		{"the same filters", own, `{"targeting_flag_filters":` + byPlan + `}`, own, byPlan, nil},
		{"filters null", own, `{"targeting_flag_filters":null}`, own, byPlan, nil},
		{"nothing", own, `{}`, own, byPlan, nil},
		{"remove", own, `{"remove_targeting_flag":true}`, none, "", []change{{"targeting_flag", "deleted", byPlan, "null"}}},
		{"remove, whatever the filters are", own, `{"remove_targeting_flag":true,"targeting_flag_filters":` + byCountry + `}`, none, "", []change{{"targeting_flag", "deleted", byPlan, "null"}}},
		{"remove nothing", none, `{"remove_targeting_flag":true}`, none, "", nil},
		{"do not remove", own, `{"remove_targeting_flag":false}`, own, byPlan, nil},
		{"no ID", own, `{"targeting_flag_id":null}`, none, "", []change{{"targeting_flag", "deleted", byPlan, "null"}}},
		{"its own ID", own, `{"targeting_flag_id":OWN}`, own, byPlan, nil},
		{"its own ID and other filters", own, `{"targeting_flag_id":OWN,"targeting_flag_filters":` + byCountry + `}`, own, byCountry, []change{{"targeting_flag_filters", "changed", byPlan, byCountry}}},

		{"an ordinary flag", none, `{"targeting_flag_id":ORDINARY}`, ordinary, byPlan, []change{{"targeting_flag_id", "created", "null", "ORDINARY"}}},
		{"an ordinary flag again", ordinary, `{"targeting_flag_id":ORDINARY}`, ordinary, byPlan, nil},
		{"another ordinary flag", ordinary, `{"targeting_flag_id":SECOND}`, "second", byPlan, []change{{"targeting_flag_id", "changed", "ORDINARY", "SECOND"}}},
		{"an ordinary flag for its own", own, `{"targeting_flag_id":ORDINARY}`, ordinary, byPlan, []change{
			{"targeting_flag_id", "created", "null", "ORDINARY"}, {"targeting_flag", "deleted", byPlan, "null"},
		}},
		{"filters for an ordinary flag", ordinary, `{"targeting_flag_filters":` + byCountry + `}`, own, byCountry, []change{
			{"targeting_flag_id", "deleted", "ORDINARY", "null"}, {"targeting_flag_filters", "created", "null", byCountry},
		}},
		{"remove an ordinary flag", ordinary, `{"remove_targeting_flag":true}`, none, "", []change{{"targeting_flag_id", "deleted", "ORDINARY", "null"}}},
		{"no ordinary flag", ordinary, `{"targeting_flag_id":null}`, none, "", []change{{"targeting_flag_id", "deleted", "ORDINARY", "null"}}},

		{"an ordinary flag with filters", none, `{"targeting_flag_id":ORDINARY,"targeting_flag_filters":` + byPlan + `}`, "invalid invalid_input", "", nil},
		{"a flag of another project", none, `{"targeting_flag_id":FOREIGN}`, "invalid invalid_input", "", nil},
		{"a flag of another survey", none, `{"targeting_flag_id":OTHERS}`, "invalid invalid_input", "", nil},
		{"an internal flag", none, `{"targeting_flag_id":INTERNAL}`, "invalid invalid_input", "", nil},
		{"a flag that is deleted", none, `{"targeting_flag_id":GONE}`, "invalid invalid_input", "", nil},
		{"a flag that does not exist", none, `{"targeting_flag_id":12345}`, "invalid invalid_input", "", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			gone := w.storeFlag(w.web, "gone", byPlan)
			gone.Deleted = true
			w.ok(w.store.Flags().Update(t.Context(), gone))
			others := w.survey(`{"targeting_flag_filters":` + byPlan + `}`)
			first, second := w.storeFlag(w.web, "ordinary", byPlan), w.storeFlag(w.web, "second", byPlan)
			ids := map[string]int64{
				"ORDINARY": first.ID, "SECOND": second.ID, "FOREIGN": w.storeFlag(w.app, foreign, byPlan).ID, "GONE": gone.ID,
				"OTHERS": others.TargetingFlag.ID, "INTERNAL": others.InternalTargetingFlag.ID,
			}
			fill := func(s string) string {
				for name, id := range ids {
					s = strings.ReplaceAll(s, name, fmt.Sprint(id))
				}
				return s
			}
			view := w.survey(fill(map[string]string{
				none: `{}`, own: `{"targeting_flag_filters":` + byPlan + `}`, ordinary: `{"targeting_flag_id":ORDINARY}`,
			}[tt.before]))
			if tt.before == own {
				ids["OWN"] = view.TargetingFlag.ID
			}
			before, entries := w.surveyState(), len(w.activities())
			ordinaries := []*storage.Flag{first, second}
			after, err := w.tryChange(view.ID, fill(tt.body))
			if strings.HasPrefix(tt.want, "invalid") {
				checkFault(t, tt.body, err, tt.want)
				if diff := cmp.Diff(before, w.surveyState(), same); diff != "" {
					t.Errorf("what was refused has changed something (-before +after)\n%s", diff)
				}
				return
			}
			if err != nil {
				t.Fatalf("%s: %v", tt.body, err)
			}
			got := none
			switch f := w.storedFlag(w.storedSurvey(view.ID).TargetingFlag); {
			case f == nil:
			case f.Kind == storage.FlagOrdinary:
				got = f.Key
			default:
				got = own
				if tt.before == own && f.ID != ids["OWN"] {
					t.Errorf("the flag is another one, %d", f.ID)
				}
			}
			if got != tt.want || (after.TargetingFlag == nil) != (tt.want == none) {
				t.Errorf("targeted by %q, shown as %+v, want %q", got, after.TargetingFlag, tt.want)
			}
			if after.TargetingFlag != nil {
				if diff := cmp.Diff(decode[any](t, tt.filters), decode[any](t, shown(after.TargetingFlag.Filters)), same); diff != "" {
					t.Errorf("filters (-want +got)\n%s", diff)
				}
			}
			for _, f := range ordinaries {
				if diff := cmp.Diff(f, w.storedFlag(&f.ID), same); diff != "" {
					t.Errorf("flag %s (-before +after)\n%s", f.Key, diff)
				}
			}
			// Nothing is left behind: three flags of the other survey and this one,
			// and its own.
			want := 3
			if tt.want == own {
				want++
			}
			if made := w.surveyFlags(); len(made) != want {
				t.Errorf("%d flags of surveys, want %d: %+v", len(made), want, made)
			}
			plain := func(s string) string { return encode(t, decode[any](t, fill(s))) } // whatever the order of members
			var wanted, log []change
			for _, c := range tt.log {
				wanted = append(wanted, change{c.field, c.action, plain(c.before), plain(c.after)})
			}
			for _, a := range w.activities()[:len(w.activities())-entries] {
				for _, c := range decode[management.ActivityDetail](t, string(a.Detail)).Changes {
					log = append(log, change{c.Field, c.Action, plain(string(c.Before)), plain(string(c.After))})
				}
			}
			if diff := cmp.Diff(wanted, log, cmp.AllowUnexported(change{})); diff != "" {
				t.Errorf("logged (-want +got)\n%s", diff)
			}
		})
	}
}

// The flags decide as they should when they are evaluated: in /flags (management.md
// §9.6).
func TestSurveyFlagsEvaluate(t *testing.T) {
	w := newWorld(t)
	view := w.survey(`{"conditions":{"seenSurveyWaitPeriodInDays":14},"iteration_count":2,"iteration_frequency_days":7}`)
	must(w.Launch(t.Context(), w.as(w.ada), refOf(w.web), view.ID.String()))(t)
	key := view.InternalTargetingFlag.Key
	asked := func(properties map[string]any) bool {
		t.Helper()
		list := must(w.store.CalledFlags(t.Context(), w.web.ID))(t)
		snapshot := must(flags.Compile(storage.FlagDefinitions(list, nil, nil), flags.CompileOptions{}))(t)
		r := must(snapshot.Flag(key, &flags.Request{DistinctID: "d", PersonProperties: properties, Now: w.clock.Now()}))(t)
		return r.Enabled
	}
	id := view.ID.String()
	for _, tt := range []struct {
		name       string
		properties map[string]any
		want       bool
	}{
		{"who knows nothing of it", nil, true},
		{"who has answered", map[string]any{"$survey_responded/" + id + "/1": true}, false},
		{"who has dismissed", map[string]any{"$survey_dismissed/" + id + "/1": true}, false},
		{"who has answered without iterations", map[string]any{"$survey_responded/" + id: true}, true},
		{"who has answered another survey", map[string]any{"$survey_responded/" + uuid.NewString() + "/1": true}, true},
		{"who has seen one yesterday", map[string]any{"$last_seen_survey_date": "2026-03-03T00:00:00Z"}, false},
		{"who has seen one long ago", map[string]any{"$last_seen_survey_date": "2026-02-01T00:00:00Z"}, true},
		{"who has seen one long ago and answered this one", map[string]any{"$last_seen_survey_date": "2026-02-01T00:00:00Z", "$survey_responded/" + id + "/1": true}, false},
	} {
		if got := asked(tt.properties); got != tt.want {
			t.Errorf("%s is asked: %t, want %t", tt.name, got, tt.want)
		}
	}
	w.clock.advance(8 * aDay)
	w.ok(w.Keep(t.Context()))
	if !asked(map[string]any{"$survey_responded/" + id + "/1": true}) || asked(map[string]any{"$survey_responded/" + id + "/2": true}) {
		t.Error("in the second iteration it is not the answer to the second one that counts")
	}
}

// A change that cannot be stored in the end has made and deleted no flags either.
func TestSurveyFlagsStayWithoutSurvey(t *testing.T) {
	broken := false
	w := newWorld(t, alter(&altered{addActivity: func(s storage.Store, ctx context.Context, entries ...*storage.Activity) error {
		if broken {
			return errBroken
		}
		return s.AddActivity(ctx, entries...)
	}}))
	id := w.survey(`{"targeting_flag_filters":` + byPlan + `,` + sampling + `}`).ID
	before := w.surveyState()
	broken = true
	for name, call := range map[string]func() error{
		"create": func() error { return second(w.trySurvey(`{"targeting_flag_filters":` + byPlan + `}`)) },
		"remove": func() error { return second(w.tryChange(id, `{"remove_targeting_flag":true}`)) },
		"target": func() error { return second(w.tryChange(id, `{"targeting_flag_filters":`+byCountry+`}`)) },
		"sample": func() error { return second(w.tryChange(id, `{"response_sampling_limit":null}`)) },
		"launch": func() error { return second(w.Launch(t.Context(), w.as(w.ada), refOf(w.web), id.String())) },
		"delete": func() error { return w.Delete(t.Context(), w.as(w.ada), refOf(w.web), id.String()) },
		"copy": func() error {
			return second(w.Copy(t.Context(), w.as(w.ada), refOf(w.web), id.String(), copyTo(w.web, w.app)))
		},
	} {
		if err := call(); fault(err) != "failure: broken" {
			t.Errorf("%s: %v, want %v", name, err, errBroken)
		}
		if diff := cmp.Diff(before, w.surveyState(), same); diff != "" {
			t.Errorf("%s has changed something (-before +after)\n%s", name, diff)
		}
	}
}

func copyTo(projects ...*storage.Project) surveys.CopyRequest {
	var ids []int64
	for _, p := range projects {
		ids = append(ids, p.ID)
	}
	return surveys.CopyRequest{Projects: optional.Of(json.RawMessage(strings.ReplaceAll(fmt.Sprint(ids), " ", ",")))}
}

// management.md §13.3: deletion takes a flag from the surveys that are linked to it, and is
// refused while it targets one.
func TestDeletedFlag(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	flag := w.storeFlag(w.web, "k", everyone).ID
	remove := func() error {
		return second(w.management.UpdateFlag(ctx, w.as(w.ada), refOf(w.web), fmt.Sprint(flag), management.FlagPatch{Deleted: optional.Of(true)}))
	}
	asked := func(name string, change func(*surveys.Survey)) *surveys.Survey {
		v := &surveys.Survey{ID: uuid.Must(uuid.NewV7()), Project: w.web.ID, Name: name, Type: "api", Created: begin, Updated: begin}
		change(v)
		w.ok(w.store.CreateSurvey(ctx, v))
		return v
	}
	linked := asked("Linked", func(v *surveys.Survey) { v.LinkedFlag = &flag })
	asked("Other", func(*surveys.Survey) {})
	targeted := asked("Targeted", func(v *surveys.Survey) { v.TargetingFlag = &flag })
	asked("Over", func(v *surveys.Survey) { v.TargetingFlag, v.End = &flag, new(begin) })
	asked("Archived", func(v *surveys.Survey) { v.TargetingFlag, v.Archived = &flag, true })
	shown := must(w.management.Flag(ctx, w.as(w.ada), refOf(w.web), fmt.Sprint(flag)))(t)
	if diff := cmp.Diff([]management.FlagUser{{ID: linked.ID, Name: "Linked"}}, shown.Surveys); diff != "" {
		t.Errorf("surveys of the flag (-want +got)\n%s", diff)
	}
	err := remove()
	if checkFault(t, "delete", err, "invalid invalid_input"); err != nil && !strings.Contains(err.Error(), "Targeted") {
		t.Errorf("delete: %v, want it to name the survey", err)
	}
	targeted.TargetingFlag = nil
	w.ok(w.store.UpdateSurvey(ctx, targeted))

	before := len(w.activities())
	w.ok(remove())
	if v := w.storedSurvey(linked.ID); v.LinkedFlag != nil {
		t.Errorf("the survey is still linked to flag %d", *v.LinkedFlag)
	}
	list := w.activities()
	list = list[:len(list)-before]
	if len(list) != 2 || list[1].Scope != "Survey" || list[1].ItemID != linked.ID.String() ||
		string(list[1].Detail) != `{"name":"Linked","changes":[{"type":"Survey","field":"linked_flag_id","before":1,"after":null,"action":"deleted"}]}` {
		t.Errorf("activities %+v", list)
	}
}

// A change of the targeting is a version of its flag, to which only the survey can go back
// (management.md §13.18).
func TestVersionsOfTargeting(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	const free = `{"groups":[{"properties":[{"key":"plan","type":"person","operator":"exact","value":"free"}]}]}`
	v := w.survey(`{"targeting_flag_filters":` + free + `}`)
	w.change(v.ID, `{"targeting_flag_filters":`+strings.Replace(free, "free", "pro", 1)+`}`)
	id := fmt.Sprint(v.TargetingFlag.ID)
	list := must(w.management.FlagVersions(ctx, w.as(w.ada), refOf(w.web), id, 10, 0))(t).Items
	if len(list) != 2 || !strings.Contains(list[0].Summary, "condition set 1, filter 1, value: free → pro") {
		t.Errorf("versions: %+v", list)
	}
	_, err := w.management.RevertFlag(ctx, w.as(w.ada), refOf(w.web), id, management.RevertPatch{Version: optional.Of(1)})
	checkFault(t, "RevertFlag of a survey's flag", err, "invalid invalid_input")
	for _, filters := range []string{`{}`, `{"groups":[]}`} { // which decide about nobody
		_, err := w.trySurvey(`{"targeting_flag_filters":` + filters + `}`)
		checkFault(t, "a survey with "+filters, err, "invalid invalid_input targeting_flag_filters")
	}
}
