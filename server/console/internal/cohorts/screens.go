package cohorts

import (
	"embed"
	"io/fs"

	"github.com/flagstaff-go/flagstaff/server/console/internal/people"
	"github.com/flagstaff-go/flagstaff/server/console/shell"
	"github.com/flagstaff-go/flagstaff/server/console/shell/targeting"
)

//go:embed templates
var templates embed.FS

// Screens returns the screens of the package.
func Screens() shell.Group {
	return shell.Group{
		Screens:   []shell.Screen{cohortsScreen, cohortScreen, memberListScreen},
		Templates: []fs.FS{templates, targeting.Templates, people.Templates},
	}
}
