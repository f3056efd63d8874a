package cohorts

import (
	"bufio"
	"cmp"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"mime/multipart"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/optional"
	"github.com/flagstaff-go/flagstaff/server/console/internal/people"
	"github.com/flagstaff-go/flagstaff/server/console/shell"
	"github.com/flagstaff-go/flagstaff/server/console/shell/forms"
	"github.com/flagstaff-go/flagstaff/server/internal/idlist"
)

var memberListScreen = shell.Screen{
	Under: "Cohorts",
	Scope: shell.InProject, Pages: map[string]shell.Page{
		"GET /projects/{project}/cohorts/{cohort}/members":  shell.About(cohortMembers, cohort),
		"POST /projects/{project}/cohorts/{cohort}/members": shell.About(addMembers, cohort),
	},
	Done: map[string]string{
		"members-added": "The persons are in the cohort.",
		"list-added": "The persons of the list are in the cohort. Undo takes those out again who were not in it before. " +
			"Persons who were created for unknown distinct IDs stay.",
		"member-removed": "The person is not in the cohort any more.",
	},
	Undo: map[string]shell.Undoer{"MemberRemoved": undoRemoval, "MemberAdded": undoAddition, "List": undoList},
}

var (
	errLargeUpload = shell.Failed(http.StatusRequestEntityTooLarge, "The file is too large",
		"A file may have 64 MiB. What came before the limit is stored; send the rest as another file.")
	errBrokenUpload = shell.Failed(http.StatusBadRequest, "The file did not arrive in full",
		"What has arrived is stored. Go back and send the file again: what is in already does no harm.")
)

// cohortMembersView is the list of all persons in a cohort.
type cohortMembersView struct {
	shell.Layout
	Name, List, Cohort string
	membersView
}

func cohortMembers(q *shell.Request, c *management.CohortView) error {
	members, err := membersOf(q, c, membersListed, shell.PageNumber(q.Form))
	if err != nil {
		return err
	}
	q.Layout.Title = "Persons in " + c.Name
	q.Notice()
	return q.Render(http.StatusOK, "cohort_members", &cohortMembersView{
		q.Layout, c.Name, q.ProjectPath("/cohorts"), cohortPath(q, c.ID), *members,
	})
}

// membersOf returns a page of the persons in a cohort.
func membersOf(q *shell.Request, c *management.CohortView, size, page int) (*membersView, error) {
	v := &membersView{Removable: c.IsStatic, Action: cohortPath(q, c.ID), Page: page, Full: size == membersListed}
	found, err := q.Service.ListCohortPersons(q.Context(), q.By, q.Ref, strconv.FormatInt(c.ID, 10), size, (page-1)*size)
	if e, ok := errors.AsType[*management.Error](err); ok && !errors.Is(e, management.ErrNotFound) {
		v.Problem = e.Text()
		return v, nil
	}
	if err != nil {
		return nil, err
	}
	for _, p := range found.Items {
		v.Rows = append(v.Rows, people.RowOf(q, p))
	}
	v.Total, v.All = found.Total, forms.Number(found.Total)
	at := shell.Listing{Path: v.Action + "/members"}
	v.Pager = at.Page(page, size, len(v.Rows), found.Total, "person", "persons")
	if size != membersListed && v.Older != "" {
		v.Older = at.At(1)
	}
	return v, nil
}

// UploadWords says what became of a list of distinct IDs. The template asks for it.
func (v *cohortView) UploadWords(u *management.CohortUpload) string {
	switch {
	case u.Received == 0 && u.Complete:
		return "The newest list had no distinct IDs."
	case u.Received == 0:
		return "The newest list could not be read, so no person of it is in the cohort."
	}
	words := "The newest list had " + forms.Count(u.Received, "distinct ID", "distinct IDs") + ": "
	if !u.Complete {
		words = "The newest list broke off after " + forms.Count(u.Received, "distinct ID", "distinct IDs") +
			", which are stored. Send it again: what is in already does no harm. "
	}
	words += forms.Count(u.Added, "person was", "persons were") + " not in the cohort before."
	switch u.Unknown {
	case 0:
		return words
	case 1:
		words += " 1 of the distinct IDs was not found: it has not been seen yet. It"
	default:
		words += " " + forms.Number(u.Unknown) + " of the distinct IDs were not found: they have not been seen yet. Each of them"
	}
	return words + " has got a person without properties, at the top of the list of persons."
}

// addMembers adds the distinct IDs of a text and of a file to a static cohort, while they
// arrive.
func addMembers(q *shell.Request, c *management.CohortView) error {
	if !c.IsStatic {
		return showCohortForm(q, http.StatusUnprocessableEntity, c, cohortFormOf(c),
			"The cohort is not a list: who is in it follows from their properties.")
	}
	in, err := openUpload(q)
	if err != nil {
		return err
	}
	uses, err := q.Service.CohortUses(q.Context(), q.By, q.Ref)
	if err != nil {
		return err
	}
	ids := in.ids()
	if uses[c.ID] != nil && !in.reviewed {
		free, err := q.TakeUpload() // the list is kept in memory
		if err != nil {
			return err
		}
		defer free()
		var kept keptIDs
		effect, err := q.Service.PreviewCohortIDs(q.Context(), q.By, q.Ref, strconv.FormatInt(c.ID, 10), kept.of(ids))
		switch packed, told := kept.packed(); {
		case in.failed != nil:
			failed := *shell.FailureOf(in.failed)
			failed.Text = "Nothing of it is stored. Go back and send it again, a large one in parts of at most 64 MiB."
			return &failed
		case err != nil:
			return refusedUpload(q, err, c, in, "No person of the list is in the cohort yet.")
		case len(effect.Flags) == 0 || kept.count == 0: // nobody changes
			ids = unpackIDs(strings.NewReader(packed))
		case told != nil:
			const parts = "Nothing of it is stored. Go back and send it in parts."
			return shell.Failed(http.StatusRequestEntityTooLarge, errLargeUpload.Title, parts)
		default:
			return askUpload(q, c, effect, kept.count, packed)
		}
	}
	out, err := q.Service.AddCohortIDs(q.Context(), q.By, q.Ref, strconv.FormatInt(c.ID, 10), ids)
	var u shell.Undo
	if out != nil && out.Added > 0 {
		u = shell.Undo{What: "List", Item: strconv.FormatInt(c.ID, 10), Mark: out.ID.String()}
	}
	switch {
	case err == nil && out.Received == 0:
		return showMembersForm(q, http.StatusUnprocessableEntity, c, in, "Choose a file, or type distinct IDs.", "")
	case err == nil:
		return q.Done(cohortPath(q, c.ID), "list-added", u)
	case u.What != "":
		q.Layout.Done = "A part of the list is in the cohort."
		q.OfferUndo(u, cohortPath(q, c.ID))
	}
	return refusedUpload(q, err, c, in, "Not all of the list is in the cohort.")
}

// askUpload shows who changes by a list, and asks for the rest.
func askUpload(q *shell.Request, c *management.CohortView, p *management.CohortPreview, ids int, packed string) error {
	effect := cohortEffectOf(q, p, false)
	return q.Confirm(http.StatusOK, "Review changes", &shell.ConfirmView{
		Text: []string{
			"The list has " + forms.Count(ids, "distinct ID", "distinct IDs") + " for " + c.Name + ". Nothing is stored yet.",
			"Undo takes those out again who were not in it before. Persons who are created for unknown distinct IDs stay.",
		},
		Effect: effect, Action: q.URL.Path, Files: true, Button: "Add them", Cancel: cohortPath(q, c.ID),
		Hidden: []forms.Hidden{{Name: keptList, Value: packed}},
	})
}

// refusedUpload shows the form again with the reason why a list was not added.
func refusedUpload(q *shell.Request, err error, c *management.CohortView, in *formUpload, notice string) error {
	switch e, refused := errors.AsType[*management.Error](err); {
	case refused && errors.Is(e, management.ErrInvalid):
		return showMembersForm(q, http.StatusUnprocessableEntity, c, in, e.Text(), notice)
	case in.failed == nil:
		if shell.FailureOf(err).Status == http.StatusServiceUnavailable {
			q.LogFailure("members of a cohort were not added", err)
			return showMembersForm(q, http.StatusServiceUnavailable, c, in,
				"The store does not answer. Send the list again in a while: what is in already does no harm.", notice)
		}
		return err
	default:
		return in.failed
	}
}

// showMembersForm shows the page of a cohort again, with the distinct IDs that were typed.
func showMembersForm(q *shell.Request, status int, c *management.CohortView, in *formUpload, message, notice string) error {
	form := cohortFormOf(c)
	form.IDs = in.typed
	form.Fail("ids", "%s", message)
	return showCohortForm(q, status, c, form, notice)
}

// addMember adds a person to a static cohort: the one whose name was typed, or the target of
// a button.
func addMember(q *shell.Request, c *management.CohortView, target string) error {
	form := cohortFormOf(c)
	form.Person = strings.TrimSpace(q.PostForm.Get("person"))
	target, err := form.Find(q, &form.Checked, "add-member", target)
	switch {
	case err != nil:
		return refusedCohort(q, err, c, form)
	case target == "":
		return showCohortForm(q, http.StatusUnprocessableEntity, c, form, "")
	}
	id := strconv.FormatInt(c.ID, 10)
	u := shell.Undo{What: "MemberAdded", Item: id, Mark: target}
	in, err := inCohort(q, target, id)
	if in {
		u = shell.Undo{} // nothing changes
	}
	if err == nil {
		persons := management.CohortPersons{IDs: optional.Of(json.RawMessage(forms.Must(json.Marshal([]string{target}))))}
		err = q.Service.AddCohortPersons(q.Context(), q.By, q.Ref, id, persons)
	}
	if err != nil {
		return refusedCohort(q, err, c, form)
	}
	return q.Done(cohortPath(q, c.ID), "members-added", u)
}

// removeMember takes a person out of a static cohort.
func removeMember(q *shell.Request, c *management.CohortView, person string) error {
	err := q.Service.RemoveCohortPerson(q.Context(), q.By, q.Ref, strconv.FormatInt(c.ID, 10),
		management.CohortPersons{ID: optional.Of(person)})
	if err != nil {
		return refusedCohort(q, err, c, cohortFormOf(c))
	}
	to := cohortPath(q, c.ID)
	if q.PostForm.Get("from") == "members" {
		to = shell.Listing{Path: to + "/members"}.At(shell.PageNumber(q.PostForm))
	}
	return q.Done(to, "member-removed", shell.Undo{What: "MemberRemoved", Item: strconv.FormatInt(c.ID, 10), Mark: person})
}

// A formUpload is a posted form with a text and a file, which are read as they arrive.
type formUpload struct {
	parts    *multipart.Reader
	first    *multipart.Part // that was read already
	reviewed bool            // it is a list of keptIDs, for which who changes was shown
	typed    string          // the text
	failed   error           // why the form could not be read
}

// openUpload begins to read a form with a file.
func openUpload(q *shell.Request) (*formUpload, error) {
	parts, err := q.MultipartReader()
	if err != nil {
		return nil, shell.ErrForm
	}
	u := &formUpload{parts: parts}
	switch u.first, err = parts.NextPart(); {
	case err == nil:
		u.reviewed = u.first.FormName() == keptList
	case err != io.EOF:
		return nil, uploadFailure(err)
	}
	return u, nil
}

// next returns the next part.
func (u *formUpload) next() (*multipart.Part, error) {
	if first := u.first; first != nil {
		u.first = nil
		return first, nil
	}
	return u.parts.NextPart()
}

// ids iterates over the distinct IDs of all parts. An error is the last thing that it
// yields.
func (u *formUpload) ids() iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for {
			part, err := u.next()
			if err == io.EOF {
				return
			}
			if err != nil {
				yield("", u.fail(err))
				return
			}
			var body io.Reader = part
			switch part.FormName() {
			case keptList:
				for id, err := range unpackIDs(part) {
					if err != nil {
						err = u.fail(err)
					}
					if !yield(id, err) || err != nil {
						return
					}
				}
				continue
			case "file":
			case "ids":
				text, err := io.ReadAll(io.LimitReader(part, shell.MaxForm+1))
				if err == nil && len(text) > shell.MaxForm {
					err = shell.ErrLargeForm
				}
				if err != nil {
					yield("", u.fail(err))
					return
				}
				u.typed = forms.Lines(string(text))
				body = strings.NewReader(u.typed)
			default:
				continue
			}
			in := bufio.NewReader(body)
			decode := idlist.CSV
			if looksLikeJSON(in) {
				decode = idlist.JSON
			}
			for id, err := range decode(in) {
				if _, told := errors.AsType[*management.Error](err); err != nil && !told {
					err = u.fail(err)
				}
				if !yield(id, err) || err != nil {
					return
				}
			}
		}
	}
}

// fail notes why a form could not be read.
func (u *formUpload) fail(err error) error {
	u.failed = uploadFailure(err)
	return u.failed
}

// uploadFailure returns what to say if a form breaks off.
func uploadFailure(err error) error {
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return errLargeUpload
	}
	if err == shell.ErrLargeForm {
		return err
	}
	return errBrokenUpload
}

// keptList is the field in which a list travels through the page that says who changes.
const keptList = "kept_list"

// keptIDs are distinct IDs that are packed while they are read: as a JSON list, compressed.
type keptIDs struct {
	count int
	text  strings.Builder
	z     *gzip.Writer
	out   io.WriteCloser
}

// of yields what a list yields, and keeps it.
func (k *keptIDs) of(ids iter.Seq2[string, error]) iter.Seq2[string, error] {
	k.out = base64.NewEncoder(base64.RawURLEncoding, &k.text)
	k.z = gzip.NewWriter(k.out)
	separator := "["
	return func(yield func(string, error) bool) {
		for id, err := range ids {
			if err == nil {
				k.count++
				_, _ = k.z.Write(append([]byte(separator), forms.Must(json.Marshal(id))...)) // into memory
				separator = ","
			}
			if !yield(id, err) {
				return
			}
		}
	}
}

// packed ends the list and returns what unpackIDs reads. The error says that no form can
// have it.
func (k *keptIDs) packed() (string, error) {
	if k.count == 0 {
		_, _ = k.z.Write([]byte("["))
	}
	_, _ = k.z.Write([]byte("]"))
	if err := errors.Join(k.z.Close(), k.out.Close()); err != nil || k.text.Len() > shell.MaxUpload-1<<20 {
		return "", errLargeUpload
	}
	return k.text.String(), nil
}

// unpackIDs iterates over a list that keptIDs has packed.
func unpackIDs(packed io.Reader) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		z, err := gzip.NewReader(base64.NewDecoder(base64.RawURLEncoding, packed))
		if err != nil {
			yield("", err)
			return
		}
		for id, err := range idlist.JSON(io.LimitReader(z, 6*shell.MaxUpload)) { // JSON can have six bytes for one
			if !yield(id, err) {
				return
			}
		}
	}
}

// looksLikeJSON reports whether a list begins as JSON does.
func looksLikeJSON(in *bufio.Reader) bool {
	for n := 1; ; n++ {
		b, err := in.Peek(n)
		if err != nil {
			return false
		}
		switch b[n-1] {
		case ' ', '\t', '\r', '\n', 0xef, 0xbb, 0xbf: // blanks, and the byte order mark
		case '[', '{':
			return true
		default:
			return false
		}
	}
}

// inCohort reports whether a person is in a cohort.
func inCohort(q *shell.Request, person, cohort string) (bool, error) {
	now, err := q.Service.PersonCohorts(q.Context(), q.By, q.Ref, person)
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(now.Items, func(c management.PersonCohort) bool { return strconv.FormatInt(c.ID, 10) == cohort }), nil
}

// undoRemoval brings a person back into a list.
func undoRemoval(q *shell.Request, u shell.Undo) (string, shell.Undo, error) {
	if in, err := inCohort(q, u.Mark, u.Item); err != nil || in {
		return "", shell.Undo{}, cmp.Or[error](err, shell.ErrUndo)
	}
	persons := management.CohortPersons{IDs: optional.Of(json.RawMessage(forms.Must(json.Marshal([]string{u.Mark}))))}
	return "", shell.Undo{What: "MemberAdded", Item: u.Item, Mark: u.Mark}, q.Service.AddCohortPersons(q.Context(), q.By, q.Ref, u.Item,
		persons)
}

// undoAddition takes a person out of a list again.
func undoAddition(q *shell.Request, u shell.Undo) (string, shell.Undo, error) {
	if in, err := inCohort(q, u.Mark, u.Item); err != nil || !in {
		return "", shell.Undo{}, cmp.Or[error](err, shell.ErrUndo)
	}
	person := management.CohortPersons{ID: optional.Of(u.Mark)}
	return "", shell.Undo{What: "MemberRemoved", Item: u.Item, Mark: u.Mark}, q.Service.RemoveCohortPerson(q.Context(), q.By, q.Ref,
		u.Item, person)
}

// undoList takes the persons out of a static cohort again whom a list has brought in.
func undoList(q *shell.Request, u shell.Undo) (string, shell.Undo, error) {
	upload, err := uuid.Parse(u.Mark)
	if err != nil {
		return "", shell.Undo{}, shell.ErrForm
	}
	n, err := q.Service.RemoveCohortUpload(q.Context(), q.By, q.Ref, u.Item, upload)
	if err == nil && n == 0 {
		err = shell.ErrUndo
	}
	return "", shell.Undo{}, err // whoever wants the list again sends it again
}
