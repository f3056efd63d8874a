package transfer

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/server/console/shell"
	"github.com/flagstaff-go/flagstaff/server/console/shell/forms"
)

func (h *handlers) importScreen() shell.Screen {
	return shell.Screen{
		Title: "Import and export", Under: "Flags",
		Scope: shell.InProject, Pages: map[string]shell.Page{
			"GET /projects/{project}/import":  h.importPage,
			"POST /projects/{project}/import": h.postImport,
		},
	}
}

// importView is the page for documents that are imported and exported.
type importView struct {
	shell.Layout
	forms.Checked
	Action, ExportAction string
	Products             []forms.Option
	Origin               origin
	Text                 string       // that was pasted
	Kept                 keptDocument // that was sent before
	Taken                []forms.Hidden
	Largest              string
	Runs                 []importRow
}

// A keptDocument travels from page to page in a hidden field, so that it is uploaded once
// and the server does not have to keep it.
type keptDocument struct {
	Name   string // of the file
	Size   string // in words
	Packed string // "": there is none
}

// An importRow is an import in the list of the latest.
type importRow struct {
	Name, URL, State, By string
	At                   shell.Moment
}

// importCheckView is what an import would do.
type importCheckView struct {
	shell.Layout
	Action, ImportURL string
	Notice            string // why an import that was wanted is checked again
	Kept              keptDocument
	Hidden            []forms.Hidden
	RunURL            string // the page that will say how far it is
	Label             string // of the button; "": nothing would be made
	importReport
}

// An importForm is what a browser sends.
type importForm struct {
	verb, run, name string
	text            string // that was pasted
	document        []byte
	kept            string // the document in the form of keptDocument
	origin          origin
	seen            preview
}

func (h *handlers) importPage(q *shell.Request) error {
	return h.showImport(q, http.StatusOK, &importForm{}, "", "")
}

// showImport shows the form with what was sent, and what is wrong with a field, or with the whole
// for "".
func (h *handlers) showImport(q *shell.Request, status int, form *importForm, field, refusal string) error {
	q.Notice()
	v := &importView{
		Action: q.ProjectPath("/import"), ExportAction: q.ProjectPath("/export"), Products: productOptions(form.origin.From),
		Origin: form.origin, Text: form.text, Largest: fmt.Sprintf("%d MiB", flags.MaxDocument>>20),
	}
	if refusal != "" {
		v.Fail(field, "%s", refusal)
	}
	if form.text == "" {
		v.Kept, v.Taken = form.keep(), form.origin.taken("take")
	}
	for _, run := range h.imports.of(q.At.Project.ID, q.Config.Now()) {
		row := importRow{Name: run.name, URL: importPath(q, run.id), By: run.by, At: q.Moment(run.started), State: "under way"}
		switch {
		case run.undone:
			row.State = "undone"
		case run.failure != "":
			row.State = "nothing was imported"
		case run.report != nil:
			row.State = run.report.Summary
		}
		v.Runs = append(v.Runs, row)
	}
	return q.Render(status, "import", v)
}

// postImport checks a document, or imports it.
func (h *handlers) postImport(q *shell.Request) error {
	deadlines := http.NewResponseController(q.W)
	until := time.Now().Add(maxImportTime)
	// A connection that has no deadlines needs none to be moved.
	_ = deadlines.SetReadDeadline(until)
	_ = deadlines.SetWriteDeadline(until)
	free, err := q.TakeUpload()
	if err != nil {
		return err
	}
	defer free()
	form, err := readImport(q)
	switch {
	case errors.Is(err, shell.ErrLargeForm):
		return h.showImport(q, http.StatusRequestEntityTooLarge, form, form.documentField(),
			fmt.Sprintf("The document is larger than %d MiB.", flags.MaxDocument>>20))
	case err != nil:
		return err
	case len(bytes.TrimSpace(form.document)) == 0:
		return h.showImport(q, http.StatusUnprocessableEntity, form, form.documentField(), "Choose a file, or paste a document.")
	}
	notice := ""
	if form.verb == "import" {
		if notice = form.unseen(); notice == "" {
			if err := h.runImport(q, form); !errors.Is(err, management.ErrPrecondition) {
				return err
			}
			notice = "Nothing was imported: flags or cohorts of the project have changed in the meantime. Look at what would change now."
		}
	}
	return h.checkImport(q, form, until, notice)
}

// checkImport shows what an import would do.
func (h *handlers) checkImport(q *shell.Request, form *importForm, until time.Time, notice string) error {
	if !h.imports.documents.Take() {
		return h.importBusy(q, form)
	}
	defer h.imports.documents.Free()
	ctx, cancel := context.WithDeadline(q.Context(), until)
	defer cancel()
	id := newRunID()
	v := &importCheckView{
		Action: q.ProjectPath("/import"), ImportURL: q.ProjectPath("/import"), Notice: notice, Kept: form.keep(), RunURL: importPath(q, id),
		Hidden: []forms.Hidden{{Name: "run", Value: id}},
	}
	made := ""
	if form.origin.From != "" {
		report, preview, err := q.Service.PreviewApply(ctx, q.By, q.Ref, form.document, form.origin.options())
		if err == nil {
			v.importReport, err = appliedReport(q, report, preview, &form.origin)
		}
		if err != nil {
			return h.importRefused(q, err, form)
		}
		v.Hidden = append(v.Hidden, form.origin.hidden(report)...)
		made = appliedWords(report, "created", "changed")
	} else {
		report, preview, err := q.Service.PreviewImport(ctx, q.By, q.Ref, form.document)
		if err != nil {
			return h.importRefused(q, err, form)
		}
		v.importReport, made = reportOf(q, report, preview), madeWords(report)
	}
	if made != "" {
		v.Label = "Import " + made
	}
	q.Layout.Title = "Import preview"
	return q.Render(http.StatusOK, "import_check", v)
}

// runImport imports a document. The import goes on if the browser leaves: the page of the
// run says how far it is, and what has become of it.
func (h *handlers) runImport(q *shell.Request, form *importForm) error {
	if !validRunID(form.run) {
		return shell.ErrForm
	}
	if h.imports.find(q.At.Project.ID, form.run, q.Config.Now()) != nil { // the form was sent twice
		return q.Redirect(importPath(q, form.run))
	}
	if !h.imports.documents.Take() {
		return h.importBusy(q, form)
	}
	defer h.imports.documents.Free()
	run, fresh := h.imports.start(importRun{
		id: form.run, project: q.At.Project.ID, name: form.name, by: shell.NameOf(q.By.User), started: q.Config.Now(),
	})
	if !fresh {
		return q.Redirect(importPath(q, form.run))
	}
	if err := h.importInto(q, run, form); errors.Is(err, management.ErrPrecondition) {
		return err
	} else if err != nil {
		return h.importRefused(q, err, form)
	}
	return q.Redirect(importPath(q, form.run))
}

// importInto imports a document, and notes how far that is and what becomes of it.
func (h *handlers) importInto(q *shell.Request, run runID, form *importForm) error {
	failure := "The program has failed."
	var done *importReport
	note := func(what func(*importRun)) { h.imports.with(run, q.Config.Now(), what) }
	defer note(func(run *importRun) { run.report, run.failure, run.ended = done, failure, q.Config.Now() }) // also after a panic
	ctx, cancel := context.WithTimeout(context.WithoutCancel(q.Context()), maxImportTime)
	defer cancel()
	progress := func(what string, done, total int) {
		note(func(run *importRun) { run.what, run.done, run.total = what, done, total })
	}
	var view importReport
	var err error
	if form.origin.From != "" {
		view, err = applyForeign(ctx, q, form, progress)
	} else {
		view, err = importDefinitions(ctx, q, form.document, progress)
	}
	if err != nil {
		failure = shell.FailureOf(err).Title + "."
		if e, ok := errors.AsType[*management.Error](err); ok {
			failure = e.Text()
		}
		return err
	}
	done, failure = &view, ""
	return nil
}

// importDefinitions imports a document of definitions.
func importDefinitions(ctx context.Context, q *shell.Request, document []byte, progress func(string, int, int)) (importReport, error) {
	report, err := q.Service.ImportDefinitions(ctx, q.By, q.Ref, document, management.ImportOptions{Progress: progress})
	if err != nil {
		return importReport{}, err
	}
	view := reportOf(q, report, nil)
	if len(report.FlagIDs)+len(report.CohortIDs) > 0 {
		view.Mark = idText(report.FlagIDs) + " " + idText(report.CohortIDs)
	}
	return view, nil
}

// importRefused shows the form again with the reason why a document is not imported.
func (h *handlers) importRefused(q *shell.Request, err error, form *importForm) error {
	e, ok := errors.AsType[*management.Error](err)
	switch {
	case ok && (errors.Is(e, management.ErrInvalid) || errors.Is(e, management.ErrConflict)):
		field, reason := form.documentField(), e.Text()
		switch {
		case form.origin.From != "" && e.Attr == "inexact": // keys of another document
			form.origin.Taken = nil
			field = ""
		case form.origin.From != "" && slices.Contains(originFields, e.Attr):
			field, reason = e.Attr, strings.ToUpper(reason[:1])+reason[1:]
		case e.Attr != "":
			reason = "The member " + e.Attr + ": " + reason
		}
		return h.showImport(q, http.StatusUnprocessableEntity, form, field, reason)
	case shell.FailureOf(err).Status != http.StatusServiceUnavailable:
		return err
	}
	q.LogFailure("a document was not imported", err)
	return h.showImport(q, http.StatusServiceUnavailable, form, "",
		"The store does not answer, so nothing was imported. The document is still here: try again in a while.")
}

func (h *handlers) importBusy(q *shell.Request, form *importForm) error {
	q.W.Header().Set("Retry-After", "10")
	return h.showImport(q, http.StatusServiceUnavailable, form, "",
		"The server has enough to do with other documents. This one is still here: try again in a moment.")
}

// documentField names the field that the document comes from.
func (f *importForm) documentField() string {
	if f.text != "" {
		return "text"
	}
	return "file"
}

// readImport reads the form. It returns what it has read together with an error.
func readImport(q *shell.Request) (*importForm, error) {
	form := &importForm{}
	r, err := q.MultipartReader()
	if err != nil {
		return form, shell.ErrForm
	}
	for {
		part, err := r.NextPart()
		if err == io.EOF {
			break
		}
		if err == nil {
			err = form.read(part)
		}
		if _, large := errors.AsType[*http.MaxBytesError](err); large {
			return form, shell.ErrLargeForm
		}
		if err != nil {
			return form, shell.ErrForm
		}
	}
	switch { // the newest document counts
	case len(form.document) > 0:
		form.text, form.kept, form.origin.Taken = "", "", nil
	case strings.TrimSpace(form.text) != "":
		form.name, form.document, form.kept, form.origin.Taken = "pasted document", []byte(form.text), "", nil
	case form.kept != "":
		if form.document, err = unpack(form.kept); err != nil {
			return form, shell.ErrForm
		}
	}
	if len(form.document) > flags.MaxDocument {
		form.document = nil
		return form, shell.ErrLargeForm
	}
	return form, nil
}

// read reads one field.
func (f *importForm) read(part *multipart.Part) error {
	body, err := io.ReadAll(part)
	if err != nil {
		return err
	}
	switch part.FormName() {
	case "do":
		f.verb = string(body)
	case "run":
		f.run = string(body)
	case "text":
		f.text = string(body)
	case "kept":
		f.kept = string(body)
	case "name":
		if f.name == "" {
			f.name = fileName(string(body))
		}
	case "file":
		if len(body) > 0 {
			f.document, f.name = body, fileName(part.FileName())
		}
	default:
		f.readOrigin(part.FormName(), string(body))
	}
	return nil
}

// maxFileName is how much of the name of a file is shown.
const maxFileName = 100 // characters

func fileName(name string) string {
	name = strings.ToValidUTF8(strings.TrimSpace(name), "")
	if r := []rune(name); len(r) > maxFileName {
		name = string(r[:maxFileName]) + "…"
	}
	if name == "" {
		return "document"
	}
	return name
}

// keep returns the document for a hidden field.
func (f *importForm) keep() keptDocument {
	if len(f.document) == 0 {
		return keptDocument{}
	}
	if f.kept == "" {
		f.kept = base64.RawURLEncoding.EncodeToString(shell.Compressed(f.document))
	}
	return keptDocument{Name: f.name, Size: sizeWords(len(f.document)), Packed: f.kept}
}

// unpack reads what keep has made. It reads no more than a document may have.
func unpack(packed string) ([]byte, error) {
	z, err := gzip.NewReader(base64.NewDecoder(base64.RawURLEncoding, strings.NewReader(packed)))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(z, flags.MaxDocument+1))
}

// sizeWords writes a number of bytes.
func sizeWords(n int) string {
	switch {
	case n < 1000:
		return forms.Count(n, "byte", "bytes")
	case n < 1_000_000:
		return forms.Number((n+500)/1000) + " kB"
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1e6)
}
