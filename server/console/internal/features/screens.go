package features

import (
	"embed"
	"io/fs"

	"github.com/flagstaff-go/flagstaff/server/console/internal/people"
	"github.com/flagstaff-go/flagstaff/server/console/shell"
)

//go:embed templates
var templates embed.FS

// Screens returns the screens of the package.
func Screens() shell.Group {
	return shell.Group{
		Screens:   []shell.Screen{featuresScreen, featureScreen},
		Templates: []fs.FS{templates, people.Templates},
	}
}
