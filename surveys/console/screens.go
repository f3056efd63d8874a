package console

import (
	"embed"
	"io/fs"

	"github.com/flagstaff-go/flagstaff/server/console/shell"
	"github.com/flagstaff-go/flagstaff/server/console/shell/targeting"
	"github.com/flagstaff-go/flagstaff/surveys"
)

//go:embed templates
var templates embed.FS

// Screens returns the screens of surveys, for the Config of a console on the same Service.
func Screens(surveys *surveys.Service) shell.Group {
	h := &handlers{surveys}
	return shell.Group{
		Screens:   []shell.Screen{h.surveysScreen(), h.surveyScreen(), h.resultsScreen(), h.answersScreen(), sheetScreen},
		Templates: []fs.FS{templates, targeting.Templates},
	}
}
