package flags

import (
	"net/url"

	"github.com/flagstaff-go/flagstaff/server/console/internal/tour"
	"github.com/flagstaff-go/flagstaff/server/console/shell"
)

var tourScreen = shell.Screen{
	Under: "Flags",
	Scope: shell.InProject, Pages: map[string]shell.Page{"POST /projects/{project}/tour": pressTour},
	Done: map[string]string{"tour-left": "You have left the tour."},
}

// pressTour does what a button of the tour says, and goes back to the page of a flag, or to the list.
func pressTour(q *shell.Request) error {
	to := q.ProjectPath("/flags")
	if f := q.PostForm.Get("flag"); f != "" {
		to += "/" + url.PathEscape(f)
	}
	switch q.PostForm.Get("do") {
	case "leave":
		if err := tour.Leave(q); err != nil {
			return err
		}
		return q.Done(to, "tour-left", shell.Undo{})
	case "asked":
		if err := tour.Asked(q); err != nil {
			return err
		}
		return q.Redirect(to)
	}
	return shell.ErrForm
}
