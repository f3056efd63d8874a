package console

import (
	"net/http"
	"slices"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/server/console/internal/account"
	"github.com/flagstaff-go/flagstaff/server/console/internal/cohorts"
	"github.com/flagstaff-go/flagstaff/server/console/internal/features"
	"github.com/flagstaff-go/flagstaff/server/console/internal/flags"
	"github.com/flagstaff-go/flagstaff/server/console/internal/overview"
	"github.com/flagstaff-go/flagstaff/server/console/internal/persons"
	"github.com/flagstaff-go/flagstaff/server/console/internal/project"
	"github.com/flagstaff-go/flagstaff/server/console/internal/transfer"
	"github.com/flagstaff-go/flagstaff/server/console/shell"
)

// Config configures a console.
type Config = shell.Config

// A Status is how the flags of a project are served.
type Status = shell.Status

// A Usage is how much an organization has used of something in the period that is running.
type Usage = shell.Usage

// New returns the console as a handler for all paths below Config.Prefix, or an error if
// the Config makes no sense. The handler is safe for concurrent use.
func New(config Config) (http.Handler, error) {
	config.Screens = slices.Concat(groups(), config.Screens)
	return shell.New(config)
}

// groups are the screens of this module.
func groups() []shell.Group {
	return []shell.Group{
		overview.Screens(), flags.Screens(), transfer.Screens(), cohorts.Screens(),
		features.Screens(), persons.Screens(), project.Screens(), account.Screens(),
	}
}

// AuthFunc returns a function that recognises users by their sessions of the console with
// the Config, for server.ManagementConfig.AuthFunc: the management API is then open to
// pages of the same origin. It returns nil for requests without a session, and for one that
// has ended. AuthSameOrigin of the ManagementConfig should be true. The function is safe for
// concurrent use.
func AuthFunc(config Config) (func(*http.Request) (*management.Principal, error), error) {
	return shell.AuthFunc(config)
}
