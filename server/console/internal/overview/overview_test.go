package overview_test

import (
	"context"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/optional"
	"github.com/flagstaff-go/flagstaff/management/storage"
	"github.com/flagstaff-go/flagstaff/server/console/consoletest"
	"github.com/flagstaff-go/flagstaff/server/console/internal/overview"
	"github.com/flagstaff-go/flagstaff/server/console/shell"
)

// TestTableOfActionsIsWhole: no screen of the package changes anything.
func TestTableOfActionsIsWhole(t *testing.T) {
	consoletest.CheckActions(t, overview.Screens(), nil)
}

func TestOverview(t *testing.T) {
	status := shell.Status{Checked: time.Now()}
	s := consoletest.NewSite(t, func(c *shell.Config) {
		problems := c.Problems
		c.Problems = func(project int64) []flags.Problem {
			if project != 1 {
				return nil
			}
			return problems(project)
		}
		c.Status = func(context.Context, int64) shell.Status { return status }
	})
	page := s.Get("/projects/1/overview").Want(200, "Overview", "11 flags on", "1 off", "0 stale", "0 archived",
		"1 warning about the definitions", "11 flags that are on were never evaluated", "Today",
		"The system created the flag dashboard-tour",
		"and 2 more", "Audit log")
	page.CheckPage()
	for _, text := range []string{"flags are stale", "does not work", "not used"} {
		if strings.Contains(page.Body, text) {
			t.Errorf("the page says %q", text)
		}
	}
	s.Get("/projects/1/flags?state=never-evaluated").Want(200, "11 flags", "Never evaluated 11").CheckPage()

	_, err := s.Service.CreateCohort(t.Context(), s.Owner, "1", management.CohortPatch{
		Name: optional.Of("Nobody's"), Static: optional.Of(true),
	})
	consoletest.Fatal(t, err)
	status.Faults = "events cannot be written"
	s.Ahead = 40 * 24 * time.Hour // by then nothing was asked for
	s.SignIn(consoletest.Address)
	s.Get("/projects/1/overview").Want(200, "The server does not work as it should", "events cannot be written.",
		"1 cohort is not used", "3 flags are stale").CheckPage()

	consoletest.Fatal(t, s.Store.Projects().Create(t.Context(), storage.NewProject(s.Organization(), "Empty")))
	s.Get("/projects/2/overview").Want(200, "0 flags on", "The server does not work as it should", "Nothing was changed today.",
		"No program has reported an evaluation in 30 days.").CheckPage()
	status.Faults = ""
	s.Get("/projects/2/overview").Want(200, "Nothing: all flags can be evaluated, and none is stale.").CheckPage()
}

func TestFind(t *testing.T) {
	s := consoletest.NewSite(t)
	get := func(text string) *consoletest.Answer {
		return s.Get("/projects/1/find?q=" + url.QueryEscape(text))
	}
	get("").Want(200, "Find", "Screens", "Overview", "Audit log", "Flags", "Show all").CheckPage()
	get("CHECKOUT").Want(200, "Flags checkout-button").CheckPage()
	get("power").Want(200, "Flags power-tools", "Cohorts").CheckPage()
	get("user-00").Want(200, "Persons user-00", "Show all").CheckPage()
	get("early").Want(200, "Screens Early access").CheckPage()
	get("nothing is like this").Want(200, "Nothing is found", "“nothing is like this”").CheckPage()
	get(strings.Repeat("é", 200)).Want(200, "Nothing is found").CheckPage()
	get(strings.Repeat("é", 201)).Want(400).CheckPage()
}
