package overview

import (
	"embed"
	"io/fs"

	"github.com/flagstaff-go/flagstaff/server/console/shell"
)

//go:embed templates
var templates embed.FS

// Screens returns the screens of the package.
func Screens() shell.Group {
	return shell.Group{Screens: []shell.Screen{overviewScreen, findScreen}, Templates: []fs.FS{templates}}
}
