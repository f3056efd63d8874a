package shell

import (
	"net/http"
	"slices"
	"strings"

	"github.com/flagstaff-go/flagstaff/server/console/shell/forms"
)

// Different returns the lines that are differences.
func Different(lines ...Change) []Change {
	return slices.DeleteFunc(lines, func(c Change) bool { return c.Before == c.After })
}

// PlainPlace says where something is by the names of the members on the way to it.
func PlainPlace(field string) string { return strings.NewReplacer("/", ", ", "_", " ").Replace(field) }

// A ClashView is the page for somebody who has edited an older form of a thing that has no
// versions.
type ClashView struct {
	Layout
	Kind                 string // cohort, for example
	Name, List, ListName string
	Keep                 string // the thing as it is now
	Action               string
	Hidden               []forms.Hidden
	Original             string // as it is now
	Theirs, Mine         []Change
}

// Clash answers with a clashView.
func (q *Request) Clash(v *ClashView, now string) error {
	q.Layout.Title = "Somebody else changed " + v.Name
	v.Action, v.Original = q.URL.Path, now
	if v.Hidden == nil {
		v.Hidden = forms.HiddenFields(q.PostForm, "original")
	}
	return q.Render(http.StatusConflict, "clash", v)
}
