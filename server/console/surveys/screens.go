// Package surveys is the screens of surveys: the list, the form, the results and the answers.
package surveys

import (
	"embed"
	"io/fs"

	"github.com/flagstaff-go/flagstaff/management/survey"
	"github.com/flagstaff-go/flagstaff/server/console/shell"
	"github.com/flagstaff-go/flagstaff/server/console/shell/targeting"
)

//go:embed templates
var templates embed.FS

// Screens returns the screens of surveys, for the Config of a console on the same Service.
func Screens(surveys *survey.Service) shell.Group {
	h := &handlers{surveys}
	return shell.Group{
		Screens:   []shell.Screen{h.surveysScreen(), h.surveyScreen(), h.resultsScreen(), h.answersScreen(), sheetScreen},
		Templates: []fs.FS{templates, targeting.Templates},
	}
}
