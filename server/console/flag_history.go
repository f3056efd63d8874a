package console

import (
	"net/http"
	"strconv"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/optional"
)

var _ = register(screen{
	under: "Flags",
	scope: inProject, pages: map[string]page{
		"GET /projects/{project}/flags/{flag}/history":  flagHistory,
		"POST /projects/{project}/flags/{flag}/history": about(revertFlag, (*request).flag),
	},
	done: map[string]string{"reverted": "The earlier version is back."},
})

// historyView is the versions of a flag.
type historyView struct {
	layout
	Key, Flag, Action string
	Version           int // as it is now
	Versions          []versionView
	pager
	Error string
}

// A versionView is one version.
type versionView struct {
	*management.FlagVersion
	At      moment
	Changes []changeLine
	First   bool // nothing before it is known
}

// versionViews shows versions with what they have changed.
func (q *request) versionViews(list []*management.FlagVersion) ([]versionView, error) {
	var changes []management.FlagChange
	for _, v := range list {
		changes = append(changes, v.Changes...)
	}
	words, err := q.changeVocabulary(changes)
	if err != nil {
		return nil, err
	}
	views := make([]versionView, len(list))
	for i, v := range list {
		views[i] = versionView{v, q.c.moment(v.CreatedAt), changesIn(words, "FeatureFlag", v.Changes), v.Changes == nil}
	}
	return views, nil
}

func flagHistory(q *request) error { return q.showHistory(http.StatusOK, "") }

func (q *request) showHistory(status int, refusal string) error {
	f, err := q.flag()
	if err != nil {
		return err
	}
	page := pageNumber(q.Form)
	versions, err := q.c.Service.FlagVersions(q.Context(), q.by, q.ref, strconv.FormatInt(f.ID, 10), pageSize, (page-1)*pageSize)
	if err != nil {
		return err
	}
	q.layout.Title = "History of " + f.Key
	v := &historyView{Key: f.Key, Flag: q.flagPath(f.ID), Action: q.URL.Path, Version: f.Version, Error: refusal}
	if v.Versions, err = q.versionViews(versions.Items); err != nil {
		return err
	}
	v.pager = listing{path: v.Action}.page(page, pageSize, len(v.Versions), versions.Total, "version", "versions")
	return q.render(status, "flag_history", v)
}

// revertFlag gives a flag the content of an older version again.
func revertFlag(q *request, f *management.FlagView) error {
	to, err := strconv.Atoi(q.PostForm.Get("to"))
	current, err2 := strconv.Atoi(q.PostForm.Get("version"))
	if err != nil || err2 != nil {
		return errForm
	}
	a := &flagAction{
		title: "Go back to version " + strconv.Itoa(to) + " of " + f.Key + "?", button: "Go back", action: q.URL.Path, cancel: q.URL.Path,
		hidden: []hidden{{"to", strconv.Itoa(to)}},
		patch:  management.PreviewPatch{RevertTo: optional.Of(to)},
		do: func() (*management.FlagView, error) {
			patch := management.RevertPatch{Version: optional.Of(to), CurrentVersion: optional.Of(current)}
			return q.c.Service.RevertFlag(q.Context(), q.by, q.ref, strconv.FormatInt(f.ID, 10), patch)
		},
		refused: func(e *management.Error) error { return q.showHistory(http.StatusUnprocessableEntity, e.Text()) },
		done:    func(now *management.FlagView) error { return q.done(q.flagPath(f.ID), "reverted", flagUndo(f, now)) },
	}
	return q.change(f, a)
}
