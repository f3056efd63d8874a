// Package flags is the screens of flags: the list, the form with its review, the history, the
// switch, and how programs are connected.
package flags

import (
	"embed"
	"io/fs"

	"github.com/flagstaff-go/flagstaff/server/console/shell"
	"github.com/flagstaff-go/flagstaff/server/console/shell/targeting"
)

//go:embed templates
var templates embed.FS

// Screens returns the screens of the package.
func Screens() shell.Group {
	return shell.Group{
		Screens:   []shell.Screen{listScreen, flagScreen, historyScreen, switchScreen, connectScreen},
		Templates: []fs.FS{templates, targeting.Templates},
	}
}
