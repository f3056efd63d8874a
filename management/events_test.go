package management_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// storeEvent stores an event of Web some minutes after the begin.
func (w *world) storeEvent(minutes int, name, distinctID, properties string) {
	w.t.Helper()
	at := begin.Add(time.Duration(minutes) * time.Minute)
	w.ok(w.store.Write(w.t.Context(), []capture.Event{{
		Project: w.web.ID, UUID: uuid.MustParse("0190c8a0-0000-7000-8000-0000000000" + string("0123456789abcdef"[minutes/16]) + string("0123456789abcdef"[minutes%16])),
		Name: name, DistinctID: distinctID, Time: at, Received: at, Properties: json.RawMessage(properties),
	}}))
}

func TestListEvents(t *testing.T) {
	w := newWorld(t, withData)
	for i := range 5 {
		w.storeEvent(i, "page", "u", `{}`)
	}
	w.storeEvent(5, "click", "v", `{"a": 1}`)
	list := func(q management.EventQuery, cursor string, limit int) *management.EventPage {
		t.Helper()
		return must(w.ListEvents(t.Context(), w.as(w.ada), "1", q, cursor, limit))(t)
	}
	var got []string
	cursor := ""
	for {
		page := list(management.EventQuery{Event: "page", PersonID: "u", Before: "2026-03-04T05:10:08Z", After: "2026-03-04T05:06:08"}, cursor, 2)
		for _, e := range page.Items {
			got = append(got, e.UUID.String()[34:])
		}
		if cursor = page.Next; cursor == "" {
			break
		}
	}
	if diff := cmp.Diff([]string{"04", "03", "02", "01"}, got); diff != "" {
		t.Errorf("ListEvents (-want +got)\n%s", diff)
	}
	for _, q := range []management.EventQuery{{PersonID: "nobody"}, {PersonID: uuid.NewString()}, {Event: "Page"}, {DistinctID: "v", PersonID: "u"}} {
		if page := list(q, "", 10); len(page.Items) != 0 || page.Items == nil || page.Next != "" {
			t.Errorf("ListEvents(%+v) = %+v, want nothing", q, page)
		}
	}
	want := `{"id":"0190c8a0-0000-7000-8000-000000000005","uuid":"0190c8a0-0000-7000-8000-000000000005","event":"click","distinct_id":"v",` +
		`"timestamp":"2026-03-04T05:11:07Z","received_at":"2026-03-04T05:11:07Z","properties":{"a":1}}`
	if got := encode(t, must(w.GetEvent(t.Context(), w.as(w.ada), "1", "0190c8a0-0000-7000-8000-000000000005"))(t)); got != want {
		t.Errorf("GetEvent = %s, want %s", got, want)
	}
	for _, id := range []string{"5", "", strings.Repeat("0", 32)} {
		_, err := w.GetEvent(t.Context(), w.as(w.ada), "1", id)
		checkFault(t, "GetEvent "+id, err, "not found not_found")
	}
	for _, tt := range []struct {
		q           management.EventQuery
		cursor, err string
	}{
		{management.EventQuery{Before: "today"}, "", "invalid invalid_input before"},
		{management.EventQuery{After: "2026-13-01T00:00:00Z"}, "", "invalid invalid_input after"},
		{management.EventQuery{Event: strings.Repeat("é", 201)}, "", "invalid max_length event"},
		{management.EventQuery{DistinctID: strings.Repeat("x", 201)}, "", "invalid max_length distinct_id"},
		{management.EventQuery{PersonID: strings.Repeat("x", 201)}, "", "invalid max_length person_id"},
		{management.EventQuery{}, "1", "invalid invalid_input cursor"},
		{management.EventQuery{}, "-", "invalid invalid_input cursor"},
		{management.EventQuery{}, "1-0", "invalid invalid_input cursor"},
		{management.EventQuery{}, "1--1", "invalid invalid_input cursor"},
		{management.EventQuery{}, "01-1", "invalid invalid_input cursor"},
	} {
		_, err := w.ListEvents(t.Context(), w.as(w.ada), "1", tt.q, tt.cursor, 10)
		checkFault(t, "ListEvents", err, tt.err)
	}
	if page := list(management.EventQuery{}, "-1-1", 10); len(page.Items) != 0 {
		t.Errorf("%d events before 1970", len(page.Items))
	}
}

func TestWriteEvents(t *testing.T) {
	w := newWorld(t, withData)
	w.storeEvent(9, "page, or not", "=1+1", `{"a": "b\nc<"}`)
	w.storeEvent(8, "$feature_flag_called", "u", `{"$feature_flag":"beta","$feature_flag_response":"@test","$groups":{"company":"acme"}}`)
	w.storeEvent(7, "$feature_flag_called", "v", `{"$feature_flag":"beta","$feature_flag_response":true,"$process_person_profile":false}`)
	w.storeEvent(6, "$feature_flag_called", "w", `{"$groups":7,"$process_person_profile":false}`)
	u := must(w.store.PersonByDistinctID(t.Context(), w.web.ID, "u"))(t).ID.String()
	const id, at = "0190c8a0-0000-7000-8000-0000000000", "2026-03-04T05:"
	for _, tt := range []struct {
		q    management.EventExport
		want string
	}{
		{management.EventExport{EventQuery: management.EventQuery{Event: "page, or not"}}, `{"id":"` + id + `09","uuid":"` + id + `09","event":"page, or not","distinct_id":"=1+1","timestamp":"` + at + `15:07Z","received_at":"` + at + `15:07Z","properties":{"a":"b\nc<"}}` + "\n"},
		{
			management.EventExport{EventQuery: management.EventQuery{Event: "page, or not"}, Format: "csv"},
			"uuid,event,distinct_id,timestamp,received_at,properties\n" + id + `09,"page, or not",'=1+1,` + at + `15:07Z,` + at + `15:07Z,"{""a"": ""b\nc<""}"` + "\n",
		},
		{
			management.EventExport{Exposures: true, Format: "ndjson"},
			`{"uuid":"` + id + `08","timestamp":"` + at + `14:07Z","distinct_id":"u","person_id":"` + u + `","groups":{"company":"acme"},"flag":"beta","variant":"@test"}` + "\n" +
				`{"uuid":"` + id + `07","timestamp":"` + at + `13:07Z","distinct_id":"v","person_id":null,"groups":{},"flag":"beta","variant":true}` + "\n" +
				`{"uuid":"` + id + `06","timestamp":"` + at + `12:07Z","distinct_id":"w","person_id":null,"groups":{},"flag":"","variant":null}` + "\n",
		},
		{
			management.EventExport{Exposures: true, Format: "csv", EventQuery: management.EventQuery{Event: "$feature_flag_called", After: at + "12:30Z"}},
			"uuid,timestamp,distinct_id,person_id,groups,flag,variant\n" + id + `08,` + at + `14:07Z,u,` + u + `,"{""company"":""acme""}",beta,'@test` + "\n" +
				id + `07,` + at + `13:07Z,v,,{},beta,true` + "\n",
		},
		{management.EventExport{Exposures: true, Format: "csv", EventQuery: management.EventQuery{PersonID: "nobody"}}, "uuid,timestamp,distinct_id,person_id,groups,flag,variant\n"},
		{management.EventExport{EventQuery: management.EventQuery{PersonID: "nobody"}}, ""},
	} {
		var b strings.Builder
		n, err := w.WriteEvents(t.Context(), &b, w.as(w.ada), "1", tt.q)
		lines := strings.Count(tt.want, "\n")
		if tt.q.Format == "csv" {
			lines--
		}
		if diff := cmp.Diff(tt.want, b.String()); err != nil || diff != "" || n != lines {
			t.Errorf("WriteEvents(%+v) = %d, %v (-want +got)\n%s", tt.q, n, err, diff)
		}
	}
	for q, want := range map[management.EventExport]string{
		{Format: "xml"}: "invalid invalid_choice format",
		{Exposures: true, EventQuery: management.EventQuery{Event: "page"}}: "invalid invalid_choice event",
		{EventQuery: management.EventQuery{Before: "x"}}:                    "invalid invalid_input before",
	} {
		var b strings.Builder
		_, err := w.WriteEvents(t.Context(), &b, w.as(w.ada), "1", q)
		checkFault(t, "WriteEvents", err, want)
		if b.Len() > 0 {
			t.Errorf("WriteEvents(%+v) writes %q", q, b.String())
		}
	}
}

// brokenEvents fails after the first event.
type brokenEvents struct{ storage.Data }

func (d brokenEvents) AllEvents(ctx context.Context, project int64, f storage.EventFilter) iter.Seq2[capture.Event, error] {
	return func(yield func(capture.Event, error) bool) {
		for e := range d.Data.AllEvents(ctx, project, f) {
			yield(e, nil)
			yield(capture.Event{}, errBroken)
			return
		}
	}
}

// TestWriteEventsFails: an export that cannot go on says so.
func TestWriteEventsFails(t *testing.T) {
	w := newWorld(t, withData, func(c *management.Config) { c.Data = brokenEvents{c.Data} })
	w.storeEvent(1, "$feature_flag_called", "u", `{}`)
	for _, exposures := range []bool{false, true} {
		var b strings.Builder
		_, err := w.WriteEvents(t.Context(), &b, w.as(w.ada), "1", management.EventExport{Exposures: exposures})
		if !errors.Is(err, errBroken) {
			t.Errorf("WriteEvents = %v, want the error of the store", err)
		}
	}
}

// An expiringData tells when ExpireEvents has come to an end.
type expiringData struct {
	storage.Data
	ended chan struct{}
}

func (d expiringData) ExpireEvents(ctx context.Context, rule storage.EventExpiry) (int, bool, error) {
	n, more, err := d.Data.ExpireEvents(ctx, rule)
	if !more {
		close(d.ended)
	}
	return n, more, err
}

// TestRunExpiresEvents: Run deletes events that are older than Config.Retain.
func TestRunExpiresEvents(t *testing.T) {
	ended := make(chan struct{})
	w := newWorld(t, withData, func(c *management.Config) {
		c.Data, c.Leader, c.Retain = expiringData{c.Data, ended}, c.Store.(storage.Leader), 30*24*time.Hour
	})
	w.storeEvent(1, "old", "u", `{}`)
	w.storeEvent(2, "old", "u", `{}`)
	w.clock.advance(31 * 24 * time.Hour)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	select {
	case <-ended:
	case <-time.After(30 * time.Second):
		t.Error("old events are not deleted")
	}
	cancel()
	w.ok(<-done)
	if page := must(w.ListEvents(t.Context(), w.as(w.ada), "1", management.EventQuery{}, "", 10))(t); len(page.Items) > 0 {
		t.Errorf("%d old events are left", len(page.Items))
	}
}

// TestKeepEvents: what was deleted when events were kept for less time comes again when
// they are kept for ever.
func TestKeepEvents(t *testing.T) {
	w := newWorld(t, withData)
	w.storeEvent(1, "old", "u", `{}`)
	if _, _, err := w.store.ExpireEvents(t.Context(), storage.EventExpiry{Before: begin.Add(48 * time.Hour)}); err != nil {
		t.Fatal(err)
	}
	w.storeEvent(1, "old", "u", `{}`)
	w.ok(w.Service.ExpireEvents(t.Context()))
	w.storeEvent(1, "old", "u", `{}`)
	if page := must(w.ListEvents(t.Context(), w.as(w.ada), "1", management.EventQuery{}, "", 10))(t); len(page.Items) != 1 {
		t.Errorf("%d events, want the one that has come again", len(page.Items))
	}
	w = newWorld(t, func(c *management.Config) { c.Data = nil })
	w.ok(w.Service.ExpireEvents(t.Context()))
}

// A ruleData keeps the rule with which events were deleted last.
type ruleData struct {
	storage.Data
	rule *storage.EventExpiry
}

func (d ruleData) ExpireEvents(_ context.Context, rule storage.EventExpiry) (int, bool, error) {
	*d.rule = rule
	return 0, false, nil
}

// TestEventRetention: of the operator's limit and what a project says, the shorter one
// counts (management.md §16.5).
func TestEventRetention(t *testing.T) {
	for _, tt := range []struct {
		retain int // days
		set    string
		want   int
	}{
		{0, "null", 0}, {0, "1", 1}, {0, "36500", 36_500}, {30, "null", 30}, {30, "7", 7}, {30, "30", 30}, {30, "90", 30},
	} {
		var rule storage.EventExpiry
		w := newWorld(t, withData, func(c *management.Config) {
			c.Data, c.Retain = ruleData{c.Data, &rule}, time.Duration(tt.retain)*24*time.Hour
		})
		set := func(body string) {
			v := must(w.UpdateProject(t.Context(), w.as(w.ada), "1", decode[management.ProjectPatch](t, `{"event_retention_days":`+body+`}`)))(t)
			if got := encode(t, v.EventRetentionDays); got != body {
				t.Errorf("event_retention_days is %s, want %s", got, body)
			}
		}
		set("3")
		set(tt.set)
		w.ok(w.Service.ExpireEvents(t.Context()))
		days := func(t time.Time) int {
			if t.IsZero() {
				return 0
			}
			return int(begin.Sub(t) / (24 * time.Hour))
		}
		if got, others := days(rule.Of(1)), days(rule.Of(2)); got != tt.want || others != tt.retain {
			t.Errorf("-retain %dd, and %s: events are kept for %d days, and of another project for %d; want %d, %d", tt.retain, tt.set, got, others, tt.want, tt.retain)
		}
	}
	w := newWorld(t)
	for body, want := range map[string]string{"0": "min_value", "-1": "min_value", "36501": "max_value", "1.5": "invalid_input", `"90d"`: "invalid_input", "true": "invalid_input"} {
		_, err := w.UpdateProject(t.Context(), w.as(w.ada), "1", decode[management.ProjectPatch](t, `{"event_retention_days":`+body+`}`))
		checkFault(t, "UpdateProject with "+body, err, "invalid "+want+" event_retention_days")
	}
}

func TestRetain(t *testing.T) {
	store := newWorld(t).store
	for _, d := range []time.Duration{-time.Hour, time.Hour, 24*time.Hour - 1} {
		if _, err := management.New(management.Config{Store: store, Retain: d}); err == nil || !strings.Contains(err.Error(), "Config.Retain is "+d.String()+", want at least 24h0m0s") {
			t.Errorf("New with Retain %v: %v", d, err)
		}
	}
}
