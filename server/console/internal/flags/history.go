package flags

import (
	"net/http"
	"strconv"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/optional"
	"github.com/flagstaff-go/flagstaff/server/console/shell"
	"github.com/flagstaff-go/flagstaff/server/console/shell/forms"
)

var historyScreen = shell.Screen{
	Under: "Flags",
	Scope: shell.InProject, Pages: map[string]shell.Page{
		"GET /projects/{project}/flags/{flag}/history":  flagHistory,
		"POST /projects/{project}/flags/{flag}/history": shell.About(revertFlag, flag),
	},
	Done: map[string]string{"reverted": "The earlier version is back."},
}

// historyView is the versions of a flag.
type historyView struct {
	shell.Layout
	Key, Flag, Action string
	Version           int // as it is now
	Versions          []versionView
	shell.Pager
	Error string
}

// A versionView is one version.
type versionView struct {
	*management.FlagVersion
	At      shell.Moment
	Changes []shell.Change
	First   bool // nothing before it is known
}

// versionViews shows versions with what they have changed.
func versionViews(q *shell.Request, list []*management.FlagVersion) ([]versionView, error) {
	var changes []management.FlagChange
	for _, v := range list {
		changes = append(changes, v.Changes...)
	}
	words, err := q.ChangeVocabulary(changes)
	if err != nil {
		return nil, err
	}
	views := make([]versionView, len(list))
	for i, v := range list {
		views[i] = versionView{v, q.Moment(v.CreatedAt), q.ChangesIn(words, "FeatureFlag", v.Changes), v.Changes == nil}
	}
	return views, nil
}

func flagHistory(q *shell.Request) error { return showHistory(q, http.StatusOK, "") }

func showHistory(q *shell.Request, status int, refusal string) error {
	f, err := flag(q)
	if err != nil {
		return err
	}
	page := shell.PageNumber(q.Form)
	versions, err := q.Service.FlagVersions(q.Context(), q.By, q.Ref, strconv.FormatInt(f.ID, 10), shell.PageSize, (page-1)*shell.PageSize)
	if err != nil {
		return err
	}
	q.Layout.Title = "History of " + f.Key
	v := &historyView{Key: f.Key, Flag: flagPath(q, f.ID), Action: q.URL.Path, Version: f.Version, Error: refusal}
	if v.Versions, err = versionViews(q, versions.Items); err != nil {
		return err
	}
	v.Pager = shell.Listing{Path: v.Action}.Page(page, shell.PageSize, len(v.Versions), versions.Total, "version", "versions")
	return q.Render(status, "flag_history", v)
}

// revertFlag gives a flag the content of an older version again.
func revertFlag(q *shell.Request, f *management.FlagView) error {
	to, err := strconv.Atoi(q.PostForm.Get("to"))
	current, err2 := strconv.Atoi(q.PostForm.Get("version"))
	if err != nil || err2 != nil {
		return shell.ErrForm
	}
	a := &flagAction{
		title: "Go back to version " + strconv.Itoa(to) + " of " + f.Key + "?", button: "Go back", action: q.URL.Path, cancel: q.URL.Path,
		hidden: []forms.Hidden{{Name: "to", Value: strconv.Itoa(to)}},
		patch:  management.PreviewPatch{RevertTo: optional.Of(to)},
		do: func() (*management.FlagView, error) {
			patch := management.RevertPatch{Version: optional.Of(to), CurrentVersion: optional.Of(current)}
			return q.Service.RevertFlag(q.Context(), q.By, q.Ref, strconv.FormatInt(f.ID, 10), patch)
		},
		refused: func(e *management.Error) error { return showHistory(q, http.StatusUnprocessableEntity, e.Text()) },
		done:    func(now *management.FlagView) error { return q.Done(flagPath(q, f.ID), "reverted", flagUndo(f, now)) },
	}
	return change(q, f, a)
}
