package console_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/management/storage"
	"github.com/flagstaff-go/flagstaff/server/console"
)

// TestConnect: the lines that connect a program have the project's key and the server's
// address, and the page says when a program has asked for flags and an event has come. A
// script looks again until both have. A project without flags shows the same.
func TestConnect(t *testing.T) {
	var status console.Status
	s := newSite(t, func(c *console.Config) {
		c.Status = func(context.Context, int64) console.Status { return status }
	})
	p := storage.NewProject(s.organization(), "Fresh")
	fatal(t, s.store.CreateProject(t.Context(), p))
	look := func(waits bool, texts ...string) {
		t.Helper()
		for _, page := range []string{"connect", "flags"} {
			a := s.get(fmt.Sprintf("/projects/%d/%s", p.ID, page)).want(200, append(texts, p.APIKey, "https://flags.example.com")...)
			a.checkPage()
			if strings.Contains(a.body, "data-poll") != waits {
				t.Errorf("%s is watched: %t, want %t", page, !waits, waits)
			}
		}
	}
	look(true, "not yet No program has asked", "not yet No event has come.")
	status.Asked = time.Now().Add(-time.Minute)
	look(true, "yes A program has asked for flags, 1 minute ago", "not yet No event has come.")
	events, err := capture.NewClient(capture.ClientConfig{Sink: s.store, Project: p.ID, MaxRetries: -1})
	fatal(t, err)
	fatal(t, events.Capture(capture.ClientEvent{Name: "came by", DistinctID: "ada"}))
	fatal(t, events.Close(t.Context()))
	look(false, "yes A program has asked", "yes Events have come.")
	s.get("/projects/1/flags").want(200, "connect a program")
	s.get("/projects/99/connect").want(404)
}
