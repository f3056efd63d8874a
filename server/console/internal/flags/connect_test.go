package flags_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/management/storage"
	"github.com/flagstaff-go/flagstaff/server/console/consoletest"
	"github.com/flagstaff-go/flagstaff/server/console/shell"
)

// TestConnect: the lines that connect a program have the project's key and the server's
// address, and the page says when a program has asked for flags and an event has come. A
// script looks again until both have. A project without flags shows the same.
func TestConnect(t *testing.T) {
	var status shell.Status
	s := consoletest.NewSite(t, func(c *shell.Config) {
		c.Status = func(context.Context, int64) shell.Status { return status }
	})
	p := storage.NewProject(s.Organization(), "Fresh")
	consoletest.Fatal(t, s.Store.Projects().Create(t.Context(), p))
	look := func(waits bool, texts ...string) {
		t.Helper()
		for _, page := range []string{"connect", "flags"} {
			a := s.Get(fmt.Sprintf("/projects/%d/%s", p.ID, page)).Want(200, append(texts, p.APIKey, "https://flags.example.com")...)
			a.CheckPage()
			if strings.Contains(a.Body, "data-poll") != waits {
				t.Errorf("%s is watched: %t, want %t", page, !waits, waits)
			}
		}
	}
	look(true, "not yet No program has asked", "not yet No event has come.")
	status.LastRequest = time.Now().Add(-time.Minute)
	look(true, "yes A program has asked for flags, 1 minute ago", "not yet No event has come.")
	events, err := capture.NewClient(capture.ClientConfig{Sink: s.Store, Project: p.ID, MaxRetries: -1})
	consoletest.Fatal(t, err)
	consoletest.Fatal(t, events.Capture(capture.ClientEvent{Name: "came by", DistinctID: "ada"}))
	consoletest.Fatal(t, events.Close(t.Context()))
	look(false, "yes A program has asked", "yes Events have come.")
	s.Get("/projects/1/flags").Want(200, "connect a program")
	s.Get("/projects/99/connect").Want(404)
}
