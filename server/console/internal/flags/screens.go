package flags

import (
	"embed"
	"io/fs"

	"github.com/flagstaff-go/flagstaff/server/console/internal/sides"
	"github.com/flagstaff-go/flagstaff/server/console/internal/tour"
	"github.com/flagstaff-go/flagstaff/server/console/shell"
	"github.com/flagstaff-go/flagstaff/server/console/shell/targeting"
)

//go:embed templates
var templates embed.FS

// Screens returns the screens of the package.
func Screens() shell.Group {
	return shell.Group{
		Screens: []shell.Screen{
			listScreen, bulkScreen, flagScreen, editScreen, compareScreen, historyScreen, switchScreen, connectScreen, tourScreen,
		},
		Templates: []fs.FS{templates, sides.Templates, targeting.Templates, tour.Templates},
	}
}
