package transfer

import (
	"embed"
	"io/fs"

	"github.com/flagstaff-go/flagstaff/server/console/shell"
)

//go:embed templates
var templates embed.FS

// Screens returns the screens of the package.
func Screens() shell.Group {
	h := &handlers{newImports()}
	return shell.Group{
		Screens:   []shell.Screen{exportScreen, h.importScreen(), h.runScreen()},
		Templates: []fs.FS{templates},
	}
}
