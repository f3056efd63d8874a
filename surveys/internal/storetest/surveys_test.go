package storetest_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/management/storage"
	"github.com/flagstaff-go/flagstaff/surveys"
)

func testSurveys(t *testing.T, s *suite) {
	ctx := t.Context()
	o := s.organization(t, "acme")
	p, q := s.project(t, o), s.project(t, o)
	ann := s.user(t, "ann")
	linked, targeting, internal, sampling := s.flag(t, p, "linked"), s.flag(t, p, "targeting"), s.flag(t, p, "internal"), s.flag(t, p, "sampling")
	strange := s.flag(t, q, "strange")
	at := func(n int) *time.Time { return new(s.now.Add(time.Duration(n) * time.Microsecond)) }
	full := surveys.Survey{
		ID: uuid.New(), Project: p.ID, Name: strings.Repeat("é", 400), Description: "it's \"quoted\" \\ ; --", Type: "popover", Schedule: new("always"),
		LinkedFlag: &linked.ID, TargetingFlag: &targeting.ID, InternalFlag: &internal.ID, SamplingFlag: &sampling.ID, LinkedInsight: new(int64(1<<53 + 1)),
		Questions: json.RawMessage(`[{"id":"a","question":"\u0000?","n":1.50}]`), Conditions: json.RawMessage(`{"url":"é"}`),
		Appearance: json.RawMessage(`{"zIndex":12345678901234567890}`), Translations: json.RawMessage(`{"de":{}}`), FormContent: json.RawMessage(`[null]`),
		BaseLanguage: "de-CH", Start: at(1), End: at(2), Archived: true, ResponsesLimit: new(1 << 40),
		IterationCount: new(500), IterationDays: new(365), IterationStarts: []time.Time{*at(3), *at(4)}, CurrentIteration: new(2), IterationStart: at(4),
		SamplingStart: at(5), SamplingType: new("week"), SamplingInterval: new(3), SamplingLimit: new(1 << 40), SamplingDaily: json.RawMessage(`[{"rollout_percentage":14.29}]`),
		PartialResponses: new(true), IframeEmbedding: new(true), Headline: "They like it 💥", HeadlineSample: 20, HeadlineResponses: 1 << 40,
		Summaries: json.RawMessage(`{"a":"x"}`), CreatedBy: &ann.ID, Created: *at(6), Updated: *at(7),
	}
	wantAllSet(t, full)
	bare := surveys.Survey{ID: uuid.New(), Project: p.ID, Name: "bare", Created: s.now, Updated: s.now}
	other := surveys.Survey{ID: uuid.New(), Project: q.ID, Name: "bare", Created: s.now, Updated: s.now} // a name is one of its project
	for _, v := range []*surveys.Survey{&full, &bare, &other} {
		given := *v
		must(t, s.CreateSurvey(ctx, &given))
		given.Name = "the caller's copy"
	}
	type list = []surveys.Survey
	check := func() {
		t.Helper()
		for _, store := range []*suite{s, s.another(t)} {
			for _, v := range []*surveys.Survey{&full, &bare, &other} {
				want(t, "Survey", v)(store.Survey(ctx, v.Project, v.ID))
			}
			want(t, "Surveys", list{bare, full})(store.Surveys(ctx, p.ID))
			want(t, "Surveys of another project", list{other})(store.Surveys(ctx, q.ID))
		}
	}
	check()
	got, err := s.Survey(ctx, p.ID, full.ID)
	must(t, err)
	got.Name = "the caller's copy"
	check()
	wantErr(t, "Survey of another project", storage.ErrNotFound)(s.Survey(ctx, q.ID, full.ID))
	wantErr(t, "Survey that is unknown", storage.ErrNotFound)(s.Survey(ctx, p.ID, uuid.New()))
	want(t, "Surveys of no project", list(nil))(s.Surveys(ctx, 99))

	unknown := new(int64(99))
	for _, tt := range []struct {
		name string
		set  func(*surveys.Survey)
		want error
	}{
		{"name", func(v *surveys.Survey) { v.Name = full.Name }, storage.ErrConflict},
		{"project", func(v *surveys.Survey) { v.Project = 99 }, storage.ErrNotFound},
		{"linked flag", func(v *surveys.Survey) { v.LinkedFlag = unknown }, storage.ErrNotFound},
		{"targeting flag", func(v *surveys.Survey) { v.TargetingFlag = unknown }, storage.ErrNotFound},
		{"internal flag", func(v *surveys.Survey) { v.InternalFlag = unknown }, storage.ErrNotFound},
		{"sampling flag", func(v *surveys.Survey) { v.SamplingFlag = unknown }, storage.ErrNotFound},
		{"flag, which is another project's", func(v *surveys.Survey) { v.LinkedFlag = &strange.ID }, storage.ErrNotFound},
		{"creator", func(v *surveys.Survey) { v.CreatedBy = unknown }, storage.ErrNotFound},
	} {
		fresh, changed := surveys.Survey{ID: uuid.New(), Project: p.ID, Name: "fresh", Created: s.now, Updated: s.now}, bare
		tt.set(&fresh)
		wantError(t, "CreateSurvey with a wrong "+tt.name, tt.want, s.CreateSurvey(ctx, &fresh))
		changed.Description = "never"
		tt.set(&changed)
		wantError(t, "UpdateSurvey with a wrong "+tt.name, tt.want, s.UpdateSurvey(ctx, &changed))
	}
	again, moved := full, other
	again.Name, moved.Name, moved.Project = "again", "moved", p.ID
	for call, tt := range map[string]struct{ err, want error }{
		"CreateSurvey with an ID that is taken": {s.CreateSurvey(ctx, &again), storage.ErrConflict},
		"UpdateSurvey of another project":       {s.UpdateSurvey(ctx, &moved), storage.ErrNotFound},
		"DeleteSurvey of another project":       {s.DeleteSurvey(ctx, q.ID, full.ID), storage.ErrNotFound},
		"DeleteSurvey that is unknown":          {s.DeleteSurvey(ctx, p.ID, uuid.New()), storage.ErrNotFound},
	} {
		wantError(t, call, tt.want, tt.err)
	}
	check()

	// Everything can be taken away, and be set later.
	before := full
	full = surveys.Survey{ID: full.ID, Project: p.ID, Name: "Bare", Created: full.Created, Updated: s.now} // names have their case
	must(t, s.UpdateSurvey(ctx, &full))
	before.ID, before.Created = bare.ID, bare.Created // and the name that is free now
	bare = before
	must(t, s.UpdateSurvey(ctx, &bare))
	check()
	for bit := range 4 {
		alternate(&full, bit)
		must(t, s.UpdateSurvey(ctx, &full))
		want(t, "Survey", &full)(s.Survey(ctx, p.ID, full.ID))
	}

	// Without their flags surveys go on.
	for _, f := range []struct {
		flag *storage.Flag
		at   **int64
	}{{linked, &bare.LinkedFlag}, {targeting, &bare.TargetingFlag}, {internal, &bare.InternalFlag}, {sampling, &bare.SamplingFlag}} {
		must(t, s.Flags().Delete(ctx, storage.FlagProject.Is(p.ID), storage.FlagID.Is(f.flag.ID)))
		*f.at = nil
		check()
	}
	must(t, s.DeleteSurvey(ctx, p.ID, full.ID))
	wantErr(t, "Survey that is deleted", storage.ErrNotFound)(s.Survey(ctx, p.ID, full.ID))
	want(t, "Surveys", list{bare})(s.Surveys(ctx, p.ID))
	wantError(t, "DeleteSurvey again", storage.ErrNotFound, s.DeleteSurvey(ctx, p.ID, full.ID))
	must(t, s.CreateSurvey(ctx, &full))
}

func testSurveyLists(t *testing.T, s *suite) {
	ctx := t.Context()
	o := s.organization(t, "acme")
	p, q := s.project(t, o), s.project(t, o)
	named := make(map[rune]surveys.Survey)
	add := func(name rune, at int, set func(*surveys.Survey)) {
		t.Helper()
		created := s.now.Add(time.Duration(at) * time.Microsecond)
		v := surveys.Survey{ID: uuid.New(), Project: p.ID, Name: "Survey " + string(name), Type: "popover", Created: created, Updated: s.now}
		set(&v)
		must(t, s.CreateSurvey(ctx, &v))
		named[name] = v
	}
	add('b', 3, func(v *surveys.Survey) { v.Description = "about Zürich" })
	add('d', 1, func(v *surveys.Survey) { v.Type = "api" })
	add('a', 4, func(v *surveys.Survey) { v.Name = "100 % ZÜRI_CH" })
	add('c', 2, func(v *surveys.Survey) { v.Archived, v.Name = true, "ZÜRICH" })
	add('z', 5, func(v *surveys.Survey) { v.Project = q.ID })
	ids := func(names string) []uuid.UUID {
		list := []uuid.UUID{}
		for _, name := range names {
			list = append(list, named[name].ID)
		}
		return list
	}
	type filter = surveys.Filter
	for _, tt := range []struct {
		name          string
		filter        filter
		limit, offset int
		want          string
		total         int
	}{
		{"all", filter{}, 100, 0, "abcd", 4},
		{"the first page", filter{}, 3, 0, "abc", 4},
		{"the last page", filter{}, 3, 3, "d", 4},
		{"just behind the end", filter{}, 3, 4, "", 4},
		{"far behind the end", filter{}, 3, 1000, "", 4},
		{"archived ones", filter{Archived: new(true)}, 10, 0, "c", 1},
		{"a page of the others", filter{Archived: new(false)}, 1, 1, "b", 3},
		{"a type", filter{Type: "api"}, 10, 0, "d", 1},
		{"part of a type", filter{Type: "ap"}, 10, 0, "", 0},
		{"IDs", filter{IDs: ids("dazd")}, 10, 0, "ad", 2},
		{"a page of IDs", filter{IDs: ids("dab")}, 1, 1, "b", 3},
		{"no IDs", filter{IDs: ids("")}, 10, 0, "", 0},
		{"a text in name or description", filter{Search: "zÜrich"}, 10, 0, "bc", 2},
		{"a page of these", filter{Search: "ZüricH"}, 1, 1, "c", 2},
		{"a text that looks like a pattern", filter{Search: "% z"}, 10, 0, "a", 1},
		{"another", filter{Search: "I_c"}, 10, 0, "a", 1},
		{"a text that nobody has", filter{Search: `\`}, 10, 0, "", 0},
		{"all filters", filter{Archived: new(false), Type: "popover", IDs: ids("abcd"), Search: "zürich"}, 10, 0, "b", 1},
	} {
		var list []surveys.Survey
		for _, name := range tt.want {
			list = append(list, named[name])
		}
		for _, store := range []*suite{s, s.another(t)} {
			wantPage(t, "FindSurveys: "+tt.name, list, tt.total)(store.FindSurveys(ctx, p.ID, tt.filter, tt.limit, tt.offset))
		}
	}
	wantPage(t, "FindSurveys of no project", []surveys.Survey(nil), 0)(s.FindSurveys(ctx, 99, filter{}, 10, 0))
}

func testScheduledSurveys(t *testing.T, s *suite) {
	ctx := t.Context()
	o := s.organization(t, "acme")
	p, q := s.project(t, o), s.project(t, o)
	var scheduled []string
	add := func(name string, due bool, set func(*surveys.Survey)) {
		t.Helper()
		v := surveys.Survey{ID: uuid.New(), Project: p.ID, Name: name, Start: &s.now, Created: s.now, Updated: s.now}
		set(&v)
		must(t, s.CreateSurvey(ctx, &v))
		if due {
			scheduled = append(scheduled, name)
		}
	}
	add("a limit", true, func(v *surveys.Survey) { v.ResponsesLimit = new(5) })
	add("iterations", true, func(v *surveys.Survey) { v.IterationCount = new(5) })
	add("limits by day", true, func(v *surveys.Survey) { v.SamplingDaily = json.RawMessage("[]") })
	add("another project", true, func(v *surveys.Survey) { v.Project, v.ResponsesLimit = q.ID, new(0) })
	add("nothing of all that", false, func(*surveys.Survey) {})
	add("not started", false, func(v *surveys.Survey) { v.Start, v.ResponsesLimit = nil, new(5) })
	add("ended", false, func(v *surveys.Survey) { v.End, v.ResponsesLimit = &s.now, new(5) })
	add("archived", false, func(v *surveys.Survey) { v.Archived, v.ResponsesLimit = true, new(5) })
	for _, store := range []*suite{s, s.another(t)} {
		list, err := store.ScheduledSurveys(ctx)
		var names []string
		for _, v := range list {
			names = append(names, v.Name)
		}
		slices.Sort(names)
		slices.Sort(scheduled)
		want(t, "ScheduledSurveys", scheduled)(names, err)
	}
}
