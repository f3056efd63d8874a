package transfer

import (
	"crypto/rand"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/server/console/shell"
	"github.com/flagstaff-go/flagstaff/server/console/shell/forms"
)

func importPath(q *shell.Request, run string) string { return q.ProjectPath("/import/" + run) }

func (h *handlers) runScreen() shell.Screen {
	return shell.Screen{
		Under: "Flags",
		Scope: shell.InProject, Pages: map[string]shell.Page{"GET /projects/{project}/import/{run}": h.importRunPage},
		Undo: map[string]shell.Undoer{"Import": h.undoImport, "Foreign import": h.undoForeign},
	}
}

const (
	maxImports    = 2         // documents that are checked or imported at once
	maxImportRuns = 50        // imports that are remembered
	importRunAge  = time.Hour // for which an import is remembered
)

// imports are the imports that are under way, and the latest that have ended. They are
// about what this process does: that an import has ended well stands in the audit log of
// the project as well, and to import a document again changes nothing.
type imports struct {
	documents shell.Slots // that are worked on

	mu   sync.Mutex
	runs []importRun // the oldest first
}

// An importRun is an import that was begun.
type importRun struct {
	id      string // unique in the project
	project int64
	name    string // of the document
	by      string // name of the user
	started time.Time
	ended   time.Time // zero: it is under way

	what        string // that is counted
	done, total int

	report  *importReport // nil: it is under way, or has failed
	failure string        // "": it has not failed
	undone  bool
}

func newImports() *imports {
	return &imports{documents: make(shell.Slots, maxImports)}
}

// start begins an import. If the project has an import with the same ID already, it
// reports false.
func (i *imports) start(run importRun) (id runID, fresh bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.forgetLocked(run.started)
	id = runID{run.project, run.id}
	if i.findLocked(id) != nil {
		return id, false
	}
	i.runs = append(i.runs, run)
	return id, true
}

// A runID names an import.
type runID struct {
	project int64
	id      string
}

// forgetLocked forgets the imports that ended long ago, and the oldest if there are many.
func (i *imports) forgetLocked(now time.Time) {
	i.runs = slices.DeleteFunc(i.runs, func(r importRun) bool { return !r.ended.IsZero() && now.Sub(r.ended) > importRunAge })
	for n := 0; n < len(i.runs) && len(i.runs) >= maxImportRuns; {
		if i.runs[n].ended.IsZero() {
			n++
		} else {
			i.runs = slices.Delete(i.runs, n, n+1)
		}
	}
}

func (i *imports) findLocked(id runID) *importRun {
	n := slices.IndexFunc(i.runs, func(r importRun) bool { return r.project == id.project && r.id == id.id })
	if n < 0 {
		return nil
	}
	return &i.runs[n]
}

// with does something with an import, and reports whether it is remembered.
func (i *imports) with(id runID, now time.Time, do func(*importRun)) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.forgetLocked(now)
	run := i.findLocked(id)
	if run != nil {
		do(run)
	}
	return run != nil
}

// find returns a copy of an import, or nil.
func (i *imports) find(project int64, id string, now time.Time) *importRun {
	found := new(importRun)
	if !i.with(runID{project, id}, now, func(run *importRun) { *found = *run }) {
		return nil
	}
	return found
}

// of returns the imports of a project, the newest first.
func (i *imports) of(project int64, now time.Time) (out []importRun) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.forgetLocked(now)
	for _, r := range slices.Backward(i.runs) {
		if r.project == project {
			out = append(out, r)
		}
	}
	return out
}

// newRunID returns the ID of an import that may follow.
func newRunID() string { return strings.ToLower(rand.Text()) }

// validRunID reports whether newRunID could have made an ID.
func validRunID(id string) bool {
	return len(id) == len(rand.Text()) && strings.Trim(id, "abcdefghijklmnopqrstuvwxyz234567") == ""
}

var errNoRun = shell.Failed(http.StatusNotFound, "This import is not known here",
	"It ended more than an hour ago, the server was started again since, or another machine does it. The audit log of the project "+
		"has what it created; to import the document again changes nothing.")

// importRunView is the page of one import.
type importRunView struct {
	shell.Layout
	ImportURL, Name, By string
	Started             shell.Moment
	Running             bool
	Steps               []importStep
	Failure             string
	Undone              bool
	importReport
}

// An importStep is a part of an import, for a bar.
type importStep struct {
	Name, Words string
	Done, Total int
	Waiting     bool // it has not begun
}

// importSteps are what an import counts, in order.
var importSteps = []struct{ what, name, unit string }{
	{"cohorts", "Make cohorts", ""},
	{"flags", "Make flags", ""},
	{"subjects", "Try the new flags", " random persons"},
}

// lastStep follows when all is counted: the transaction ends.
const lastStep = "Store them"

func (h *handlers) importRunPage(q *shell.Request) error {
	run := h.imports.find(q.At.Project.ID, q.PathValue("run"), q.Config.Now())
	if run == nil {
		return errNoRun
	}
	q.Layout.Title = "Import of " + run.name
	q.Notice()
	if run.report != nil && run.report.Mark != "" && !run.undone && q.Layout.Done == "" {
		q.Layout.Done = "The document was imported. Undo deletes what it has created, all of it, unless somebody has changed it since or " +
			"something else uses it. Names of group types stay."
		undo := shell.Undo{What: "Import", Item: run.id, Mark: run.report.Mark}
		if run.report.Foreign {
			q.Layout.Done = "The flags were imported. Undo deletes what is new and changes back what has changed, all of it, unless " +
				"somebody has changed it since or something else uses it. Names of group types stay."
			undo.What = "Foreign import"
		}
		q.OfferUndo(undo, q.URL.Path)
	}
	v := &importRunView{
		ImportURL: q.ProjectPath("/import"), Name: run.name, By: run.by, Started: q.Moment(run.started), Failure: run.failure,
		Running: run.ended.IsZero(), Undone: run.undone,
	}
	if run.report != nil {
		v.importReport = *run.report
	}
	if v.Running {
		v.Steps = stepsOf(run)
	}
	return q.Render(http.StatusOK, "import_run", v)
}

// stepsOf says how far the parts of an import are.
func stepsOf(run *importRun) (steps []importStep) {
	at := slices.IndexFunc(importSteps, func(s struct{ what, name, unit string }) bool { return s.what == run.what })
	for n, s := range importSteps {
		step := importStep{Name: s.name, Total: 1}
		switch {
		case n < at:
			step.Done, step.Words = 1, "done"
		case n == at && run.done == run.total:
			step.Done, step.Words = 1, "done"
		case n == at:
			step.Done, step.Total = run.done, max(run.total, 1)
			step.Words = forms.Number(run.done) + " of " + forms.Number(run.total) + s.unit
		default:
			step.Waiting, step.Words = true, "waits"
		}
		steps = append(steps, step)
	}
	last := importStep{Name: lastStep, Total: 1, Waiting: true, Words: "waits"}
	if at == len(importSteps)-1 && run.done == run.total {
		last.Waiting, last.Words = false, "under way"
	}
	return append(steps, last)
}

// undoImport deletes what an import has made, all of it or nothing.
func (h *handlers) undoImport(q *shell.Request, u shell.Undo) (string, shell.Undo, error) {
	list, cohorts, _ := strings.Cut(u.Mark, " ")
	flagIDs, err := readIDs(list)
	cohortIDs, err2 := readIDs(cohorts)
	if err != nil || err2 != nil || len(flagIDs)+len(cohortIDs) == 0 {
		return "", shell.Undo{}, shell.ErrForm
	}
	return h.undone(q, u, q.Service.UndoImport(q.Context(), q.By, q.Ref, flagIDs, cohortIDs))
}

// undoForeign takes back what an import from another product has done, all of it or nothing.
func (h *handlers) undoForeign(q *shell.Request, u shell.Undo) (string, shell.Undo, error) {
	return h.undone(q, u, q.Service.UndoApply(q.Context(), q.By, q.Ref, u.Mark))
}

// undone notes that an import was taken back, unless there is an error, and returns the page that
// says so.
func (h *handlers) undone(q *shell.Request, u shell.Undo, err error) (string, shell.Undo, error) {
	if e, ok := errors.AsType[*management.Error](err); ok && errors.Is(e, management.ErrConflict) {
		return "", shell.Undo{}, shell.Failed(http.StatusConflict, shell.ErrUndo.Title, "Nothing was changed. "+e.Text())
	}
	to := q.ProjectPath("/import")
	if err == nil && h.imports.with(runID{q.At.Project.ID, u.Item}, q.Config.Now(), func(run *importRun) { run.undone = true }) {
		to = importPath(q, u.Item)
	}
	return to, shell.Undo{}, err
}

// idText writes IDs, of which those that follow each other are one range: 3-7,12.
func idText(ids []int64) string {
	ids = slices.Sorted(slices.Values(ids))
	var parts []string
	for len(ids) > 0 {
		n := 1
		for n < len(ids) && ids[n] == ids[0]+int64(n) {
			n++
		}
		part := strconv.FormatInt(ids[0], 10)
		if n > 1 {
			part += "-" + strconv.FormatInt(ids[n-1], 10)
		}
		parts, ids = append(parts, part), ids[n:]
	}
	return strings.Join(parts, ",")
}

// readIDs reads what idText has written.
func readIDs(s string) (ids []int64, err error) {
	const most = 1_000_000 // IDs, more than a document has
	if s == "" {
		return nil, nil
	}
	for part := range strings.SplitSeq(s, ",") {
		from, to, isRange := strings.Cut(part, "-")
		if !isRange {
			to = from
		}
		first, err := strconv.ParseInt(from, 10, 64)
		last, err2 := strconv.ParseInt(to, 10, 64)
		if err != nil || err2 != nil || first < 1 || last < first || last-first >= int64(most-len(ids)) {
			return nil, shell.ErrForm
		}
		for id := first; id <= last; id++ {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// handlers answer for the imports of a console.
type handlers struct{ imports *imports }
