package surveys_test

import (
	"context"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/optional"
	"github.com/flagstaff-go/flagstaff/management/storage"
	"github.com/flagstaff-go/flagstaff/surveys"
)

// A method is a call of a method of the Service by Ada.
type method struct {
	name  string            // of the method, and what is special about the call
	scope management.Scope  // that a key needs; "" for a method without a caller
	also  management.Scope  // that it needs besides; "" for none
	log   []string          // the entries of the activity log, newest first
	first func(c *callable) // prepares the call
	call  func(c *callable) error
}

// A callable is what a method is called with.
type callable struct {
	*world
	ctx context.Context
	p   *management.Principal
	web string // its ID
	id  string // of the survey
}

func (m *method) callable(t *testing.T) *callable {
	t.Helper()
	w := newWorld(t)
	c := &callable{world: w, ctx: t.Context(), p: w.as(w.ada), web: refOf(w.web)}
	if m.first != nil {
		m.first(c)
	}
	return c
}

// ask makes a survey of Web by a JSON document.
func (c *callable) ask(body string) *surveys.View {
	c.t.Helper()
	patch := decode[surveys.Patch](c.t, body)
	patch.Type = optional.Of("popover")
	if !patch.Name.Set {
		patch.Name = optional.Of("Survey " + uuid.NewString())
	}
	return must(c.Create(c.t.Context(), c.as(c.ada), c.web, patch))(c.t)
}

// respond stores n responses to a survey.
func (c *callable) respond(id uuid.UUID, n int) {
	c.t.Helper()
	for range n {
		c.ok(c.store.Write(c.t.Context(), []capture.Event{captured(c.world.web, "survey sent", id, "d", c.clock.Now(), `{"$survey_response_q1":4}`)}))
	}
}

// Every method of the Service is among methods.
func TestMethodsAreListed(t *testing.T) {
	listed := map[string]bool{"Run": true, "Routes": true, "SummaryNotice": true}
	for _, m := range methods() {
		name, _, _ := strings.Cut(m.name, " ")
		listed[name] = true
	}
	for method := range reflect.TypeFor[*surveys.Service]().Methods() {
		if !listed[method.Name] {
			t.Errorf("%s is not in methods()", method.Name)
		}
	}
}

// management.md §1.3 to §1.5: what a key needs, and what restricted keys may not.
func TestScopesOfMethods(t *testing.T) {
	for _, m := range methods() {
		if m.scope == "" {
			continue
		}
		t.Run(m.name, func(t *testing.T) {
			c := m.callable(t)
			try := func(want string, change func(*storage.PersonalKey)) {
				t.Helper()
				c.p = c.world.key(c.ada, change)
				err := m.call(c)
				checkFault(t, m.name, err, want)
			}
			object, action, _ := strings.Cut(string(m.scope), ":")
			lacking := [][]string{{"webhook:write"}, {object + "x:" + action}, {"user:write", "organization:write", "project:read"}}
			if action == "write" {
				lacking = append(lacking, []string{object + ":read"})
			}
			if m.also != "" {
				lacking = append(lacking, []string{string(m.scope)})
			}
			const refused = "forbidden permission_denied"
			for _, have := range lacking {
				try(refused, scopes(have...))
			}
			try(refused, onlyProjects(c.app, c.shop))
			for _, have := range [][]string{{"*"}, {string(m.scope), string(m.also)}, nil} {
				c = m.callable(t)
				try("", scopes(have...))
			}
			c = m.callable(t)
			try("", onlyProjects(c.world.web))
			c.acme.MembersCanUseKeys = false
			c.ok(c.store.Organizations().Update(t.Context(), c.acme))
			c.p = c.world.key(c.cyd, scopes("*"))
			checkFault(t, m.name+" with a key that the organization forbids", m.call(c), refused)
		})
	}
}

// What a method changes it says in the activity log, and nothing is said of what does not
// change.
func TestActivityOfMethods(t *testing.T) {
	for _, m := range methods() {
		c := m.callable(t)
		before, entries := c.surveyState(), len(c.activities())
		checkFault(t, m.name, m.call(c), "")
		after := c.surveyState()
		var got []string
		for _, a := range c.activities()[:len(c.activities())-entries] {
			who := "the system"
			if a.User != nil && *a.User == c.ada.ID {
				who = "ada"
			}
			got = append(got, a.Scope+" "+a.Activity+" by "+who)
		}
		if diff := cmp.Diff(m.log, got); diff != "" {
			t.Errorf("%s: activities (-want +got)\n%s", m.name, diff)
		}
		silent := []string{"Summarize", "Headline"}
		if changed, want := !cmp.Equal(before, after, same), len(m.log) > 0 || slices.Contains(silent, m.name); changed != want {
			t.Errorf("%s has changed the store: %t, want %t", m.name, changed, want)
		}
	}
}

// methods are the methods of the Service of surveys.
func methods() []method {
	const (
		questions = `"questions":[{"id":"q1","type":"rating","question":"How?","scale":5}]`
		started   = `"start_date":"2026-03-04T05:06:07Z"`
		sampling  = `"response_sampling_start_date":"2026-03-04T00:00:00Z","response_sampling_interval":1,"response_sampling_limit":10`
	)
	make := func(body string) func(*callable) {
		return func(c *callable) { c.id = c.ask(body).ID.String() }
	}
	draft := make(`{"name":"NPS"}`)
	running := make(`{"name":"NPS",` + started + `}`)
	answered := func(c *callable) {
		id := c.ask(`{"name":"NPS",` + started + `,` + questions + `}`).ID
		c.id = id.String()
		c.respond(id, 2)
	}
	response := uuid.NewString()
	archived := func(c *callable) {
		answered(c)
		c.ok(c.Service.ArchiveResponse(c.t.Context(), c.as(c.ada), c.web, c.id, response))
	}
	patch := func(c *callable, body string) surveys.Patch {
		return decode[surveys.Patch](c.t, body)
	}
	return []method{
		{
			name: "List", scope: "survey:read", first: draft,
			call: func(c *callable) error {
				return second(c.Service.List(c.ctx, c.p, c.web, surveys.Filter{}, 10, 0))
			},
		},
		{
			name: "Survey", scope: "survey:read", first: draft,
			call: func(c *callable) error { return second(c.Service.Survey(c.ctx, c.p, c.web, c.id)) },
		},
		{
			name: "Create", scope: "survey:write", log: []string{"Survey created by ada"},
			call: func(c *callable) error {
				return second(c.Service.Create(c.ctx, c.p, c.web, patch(c, `{"name":"NPS","type":"popover",`+questions+`,`+sampling+`}`)))
			},
		},
		{
			name: "Update", scope: "survey:write", log: []string{"Survey updated by ada"}, first: draft,
			call: func(c *callable) error {
				return second(c.Service.Update(c.ctx, c.p, c.web, c.id, patch(c, `{"name":"NPS 2",`+started+`,"iteration_count":2,"iteration_frequency_days":7,`+sampling+`}`)))
			},
		},
		{
			name: "Replace", scope: "survey:write", log: []string{"Survey updated by ada"}, first: draft,
			call: func(c *callable) error {
				return second(c.Service.Replace(c.ctx, c.p, c.web, c.id, patch(c, `{"name":"NPS 2","type":"popover",`+started+`,"iteration_count":2,"iteration_frequency_days":7,`+sampling+`}`)))
			},
		},
		{
			name: "Update without targeting", scope: "survey:write", also: "feature_flag:write",
			log: []string{"Survey updated by ada"},
			first: func(c *callable) {
				c.id = c.ask(`{"name":"NPS","targeting_flag_id":` + fmt.Sprint(c.storeFlag(c.world.web, "ordinary", everyone).ID) + `}`).ID.String()
			},
			call: func(c *callable) error {
				return second(c.Service.Update(c.ctx, c.p, c.web, c.id, patch(c, `{"remove_targeting_flag":true}`)))
			},
		},
		{
			name: "Launch", scope: "survey:write", log: []string{"Survey launched by ada"}, first: draft,
			call: func(c *callable) error { return second(c.Service.Launch(c.ctx, c.p, c.web, c.id)) },
		},
		{
			name: "Stop", scope: "survey:write", log: []string{"Survey stopped by ada"}, first: running,
			call: func(c *callable) error { return second(c.Service.Stop(c.ctx, c.p, c.web, c.id)) },
		},
		{
			name: "Delete", scope: "survey:write", log: []string{"Survey deleted by ada"},
			first: make(`{"name":"NPS",` + sampling + `}`),
			call:  func(c *callable) error { return c.Service.Delete(c.ctx, c.p, c.web, c.id) },
		},
		{
			name: "Copy", scope: "survey:write", log: []string{"Survey created by ada"}, first: draft,
			call: func(c *callable) error {
				return second(c.Service.Copy(c.ctx, c.p, c.web, c.id, surveys.CopyRequest{Projects: anyJSON([]int64{c.world.web.ID})}))
			},
		},
		{
			name: "Stats", scope: "survey:read", first: answered,
			call: func(c *callable) error {
				return second(c.Service.Stats(c.ctx, c.p, c.web, c.id, surveys.StatsQuery{PerQuestion: true}))
			},
		},
		{
			name: "ProjectStats", scope: "survey:read", first: answered,
			call: func(c *callable) error {
				return second(c.Service.ProjectStats(c.ctx, c.p, c.web, surveys.StatsQuery{}))
			},
		},
		{
			name: "CountResponses", scope: "survey:read", first: answered,
			call: func(c *callable) error { return second(c.Service.CountResponses(c.ctx, c.p, c.web, nil, true)) },
		},
		{
			name: "Responses", scope: "survey:read", also: "query:read", first: answered,
			call: func(c *callable) error {
				return second(c.Service.Responses(c.ctx, c.p, c.web, c.id, surveys.ResponseQuery{}))
			},
		},
		{
			name: "WriteResponses", scope: "survey:read", also: "query:read", first: answered,
			call: func(c *callable) error {
				return c.Service.WriteResponses(c.ctx, io.Discard, c.p, c.web, c.id, surveys.ResponseQuery{})
			},
		},
		{
			name: "ArchiveResponse", scope: "survey:write", log: []string{"Survey response_archived by ada"}, first: answered,
			call: func(c *callable) error { return c.Service.ArchiveResponse(c.ctx, c.p, c.web, c.id, response) },
		},
		{
			name: "UnarchiveResponse", scope: "survey:write", log: []string{"Survey response_unarchived by ada"}, first: archived,
			call: func(c *callable) error { return c.Service.UnarchiveResponse(c.ctx, c.p, c.web, c.id, response) },
		},
		{
			name: "ArchivedResponses", scope: "survey:read", first: archived,
			call: func(c *callable) error { return second(c.Service.ArchivedResponses(c.ctx, c.p, c.web, c.id)) },
		},
		{
			name: "QuestionLabels", scope: "survey:read", first: answered,
			call: func(c *callable) error { return second(c.Service.QuestionLabels(c.ctx, c.p, c.web)) },
		},
		{
			name: "Summarize", scope: "survey:read", first: answered,
			call: func(c *callable) error {
				return second(c.Service.Summarize(c.ctx, c.p, c.web, c.id, surveys.SummaryQuery{QuestionID: "q1"}))
			},
		},
		{
			name: "Headline", scope: "survey:read", first: answered,
			call: func(c *callable) error {
				return second(c.Service.Headline(c.ctx, c.p, c.web, c.id, surveys.SummaryRefresh{}))
			},
		},
		{
			name: "Keep", log: []string{"Survey updated by the system"},
			first: func(c *callable) {
				id := c.ask(`{` + started + `,"iteration_count":2,"iteration_frequency_days":1,"responses_limit":5,` + sampling + `}`).ID
				c.respond(id, 1)
				c.clock.advance(30 * 24 * time.Hour)
			},
			call: func(c *callable) error { return c.Service.Keep(c.ctx) },
		},
		{
			name:  "Sink",
			first: func(c *callable) { c.respond(uuid.New(), 1) }, // of which the project learns that it has events
			call: func(c *callable) error {
				e := captured(c.world.web, "survey shown", uuid.New(), "d", c.clock.Now(), `{}`)
				return c.Service.Sink(c.store).Write(c.ctx, []capture.Event{e})
			},
		},
	}
}
