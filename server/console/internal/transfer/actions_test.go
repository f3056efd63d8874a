package transfer_test

import (
	"testing"

	"github.com/flagstaff-go/flagstaff/server/console/consoletest"
	"github.com/flagstaff-go/flagstaff/server/console/internal/transfer"
)

// An action is what a button does.
type action = consoletest.Action

// actions is the table of everything that people can do on the screens of the package. The tests
// of each screen add its rows.
var actions []action

// TestRuling99And100Actions: everything that people can do asks as the table says, and is taken
// back by the button of its notice, unless the table says why not.
func TestRuling99And100Actions(t *testing.T) {
	consoletest.TryActions(t, func(t testing.TB) *consoletest.Site { return consoletest.NewSite(t) }, actions)
}

// TestRuling100TableOfActionsIsWhole: the table has every route that changes something, and every
// button.
func TestRuling100TableOfActionsIsWhole(t *testing.T) {
	consoletest.CheckActions(t, transfer.Screens(), actions)
}
