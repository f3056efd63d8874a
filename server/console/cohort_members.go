package console

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
	"github.com/flagstaff-go/flagstaff/server/internal/idlist"
)

var _ = register(screen{
	under: "Cohorts",
	scope: inProject, pages: map[string]page{
		"GET /projects/{project}/cohorts/{cohort}/members":  about(cohortMembers, (*request).cohort),
		"POST /projects/{project}/cohorts/{cohort}/members": about(addMembers, (*request).cohort),
	},
	done: map[string]string{
		"members-added": "The persons are in the cohort.",
		"list-added": "The persons of the list are in the cohort. Undo takes those out again who were not in it before. " +
			"Persons who were created for unknown distinct IDs stay.",
		"member-removed": "The person is not in the cohort any more.",
	},
	undo: map[string]undoer{"MemberRemoved": undoRemoval, "MemberAdded": undoAddition, "List": undoList},
})

var (
	errLargeUpload = failed(http.StatusRequestEntityTooLarge, "The file is too large",
		"A file may have 64 MiB. What came before the limit is stored; send the rest as another file.")
	errBrokenUpload = failed(http.StatusBadRequest, "The file did not arrive in full",
		"What has arrived is stored. Go back and send the file again: what is in already does no harm.")
)

// cohortMembersView is the list of all persons in a cohort.
type cohortMembersView struct {
	layout
	Name, List, Cohort string
	membersView
}

func cohortMembers(q *request, c *management.CohortView) error {
	members, err := q.membersOf(c, membersListed, pageNumber(q.Form))
	if err != nil {
		return err
	}
	q.layout.Title = "Persons in " + c.Name
	q.notice()
	return q.render(http.StatusOK, "cohort_members", &cohortMembersView{
		q.layout, c.Name, q.projectPath("/cohorts"), q.cohortPath(c.ID), *members,
	})
}

// membersOf returns a page of the persons in a cohort.
func (q *request) membersOf(c *management.CohortView, size, page int) (*membersView, error) {
	v := &membersView{Removable: c.IsStatic, Action: q.cohortPath(c.ID), Page: page, Full: size == membersListed}
	found, err := q.c.Service.ListCohortPersons(q.Context(), q.by, q.ref, strconv.FormatInt(c.ID, 10), size, (page-1)*size)
	if e, ok := errors.AsType[*management.Error](err); ok && !errors.Is(e, management.ErrNotFound) {
		v.Problem = e.Text()
		return v, nil
	}
	if err != nil {
		return nil, err
	}
	for _, p := range found.Items {
		v.Rows = append(v.Rows, q.memberRow(p))
	}
	v.Total, v.All = found.Total, number(found.Total)
	at := listing{path: v.Action + "/members"}
	v.pager = at.page(page, size, len(v.Rows), found.Total, "person", "persons")
	if size != membersListed && v.Older != "" {
		v.Older = at.at(1)
	}
	return v, nil
}

// memberRow returns how a person is listed.
func (q *request) memberRow(p *management.PersonView) memberRow {
	row := memberRow{ID: p.ID.String(), Name: p.Name, URL: q.personPath(p.ID.String()), Seen: q.c.moment(p.CreatedAt)}
	if len(p.DistinctIDs) > 0 {
		row.DistinctID, row.MoreIDs = p.DistinctIDs[0], len(p.DistinctIDs)-1
	}
	return row
}

// UploadWords says what became of a list of distinct IDs. The template asks for it.
func (v *cohortView) UploadWords(u *management.CohortUpload) string {
	switch {
	case u.Received == 0 && u.Complete:
		return "The newest list had no distinct IDs."
	case u.Received == 0:
		return "The newest list could not be read, so no person of it is in the cohort."
	}
	words := "The newest list had " + count(u.Received, "distinct ID", "distinct IDs") + ": "
	if !u.Complete {
		words = "The newest list broke off after " + count(u.Received, "distinct ID", "distinct IDs") +
			", which are stored. Send it again: what is in already does no harm. "
	}
	words += count(u.Added, "person was", "persons were") + " not in the cohort before."
	switch u.Unknown {
	case 0:
		return words
	case 1:
		words += " 1 of the distinct IDs was not found: it has not been seen yet. It"
	default:
		words += " " + number(u.Unknown) + " of the distinct IDs were not found: they have not been seen yet. Each of them"
	}
	return words + " has got a person without properties, at the top of the list of persons."
}

// addMembers adds the distinct IDs of a text and of a file to a static cohort, while they
// arrive.
func addMembers(q *request, c *management.CohortView) error {
	if !c.IsStatic {
		return q.showCohortForm(http.StatusUnprocessableEntity, c, cohortFormOf(c),
			"The cohort is not a list: who is in it follows from their properties.")
	}
	in, err := q.openUpload()
	if err != nil {
		return err
	}
	uses, err := q.c.Service.CohortUses(q.Context(), q.by, q.ref)
	if err != nil {
		return err
	}
	ids := in.ids()
	if uses[c.ID] != nil && !in.reviewed {
		free, err := q.takeUpload() // the list is kept in memory
		if err != nil {
			return err
		}
		defer free()
		var kept keptIDs
		effect, err := q.c.Service.PreviewCohortIDs(q.Context(), q.by, q.ref, strconv.FormatInt(c.ID, 10), kept.of(ids))
		switch packed, told := kept.packed(); {
		case in.failed != nil:
			failed := *pageOf(in.failed)
			failed.text = "Nothing of it is stored. Go back and send it again, a large one in parts of at most 64 MiB."
			return &failed
		case err != nil:
			return q.refusedUpload(err, c, in, "No person of the list is in the cohort yet.")
		case len(effect.Flags) == 0 || kept.count == 0: // nobody changes
			ids = unpackIDs(strings.NewReader(packed))
		case told != nil:
			const parts = "Nothing of it is stored. Go back and send it in parts."
			return failed(http.StatusRequestEntityTooLarge, errLargeUpload.title, parts)
		default:
			return q.askUpload(c, effect, kept.count, packed)
		}
	}
	out, err := q.c.Service.AddCohortIDs(q.Context(), q.by, q.ref, strconv.FormatInt(c.ID, 10), ids)
	var u undo
	if out != nil && out.Added > 0 {
		u = undo{"List", strconv.FormatInt(c.ID, 10), out.ID.String()}
	}
	switch {
	case err == nil && out.Received == 0:
		return q.showMembersForm(http.StatusUnprocessableEntity, c, in, "Choose a file, or type distinct IDs.", "")
	case err == nil:
		return q.done(q.cohortPath(c.ID), "list-added", u)
	case u.What != "":
		q.layout.Done = "A part of the list is in the cohort."
		q.offerUndo(u, q.cohortPath(c.ID))
	}
	return q.refusedUpload(err, c, in, "Not all of the list is in the cohort.")
}

// askUpload shows who changes by a list, and asks for the rest.
func (q *request) askUpload(c *management.CohortView, p *management.CohortPreview, ids int, packed string) error {
	effect := q.cohortEffectOf(p, false)
	return q.confirm(http.StatusOK, "Review changes", &confirmView{
		Text: []string{
			"The list has " + count(ids, "distinct ID", "distinct IDs") + " for " + c.Name + ". Nothing is stored yet.",
			"Undo takes those out again who were not in it before. Persons who are created for unknown distinct IDs stay.",
		},
		Effect: effect, Action: q.URL.Path, Files: true, Button: "Add them", Cancel: q.cohortPath(c.ID),
		Hidden: []hidden{{keptList, packed}},
	})
}

// refusedUpload shows the form again with the reason why a list was not added.
func (q *request) refusedUpload(err error, c *management.CohortView, in *formUpload, notice string) error {
	switch e, refused := errors.AsType[*management.Error](err); {
	case refused && errors.Is(e, management.ErrInvalid):
		return q.showMembersForm(http.StatusUnprocessableEntity, c, in, e.Text(), notice)
	case in.failed == nil:
		if pageOf(err).status == http.StatusServiceUnavailable {
			q.logFailure("members of a cohort were not added", err)
			return q.showMembersForm(http.StatusServiceUnavailable, c, in,
				"The store does not answer. Send the list again in a while: what is in already does no harm.", notice)
		}
		return err
	default:
		return in.failed
	}
}

// showMembersForm shows the page of a cohort again, with the distinct IDs that were typed.
func (q *request) showMembersForm(status int, c *management.CohortView, in *formUpload, message, notice string) error {
	form := cohortFormOf(c)
	form.IDs = in.typed
	form.fail("ids", "%s", message)
	return q.showCohortForm(status, c, form, notice)
}

// addMember adds a person to a static cohort: the one whose name was typed, or the target of
// a button.
func (q *request) addMember(c *management.CohortView, target string) error {
	form := cohortFormOf(c)
	form.Person = strings.TrimSpace(q.PostForm.Get("person"))
	target, err := form.find(q, &form.checked, "add-member", target)
	switch {
	case err != nil:
		return q.refusedCohort(err, c, form)
	case target == "":
		return q.showCohortForm(http.StatusUnprocessableEntity, c, form, "")
	}
	id := strconv.FormatInt(c.ID, 10)
	u := undo{"MemberAdded", id, target}
	in, err := q.inCohort(target, id)
	if in {
		u = undo{} // nothing changes
	}
	if err == nil {
		persons := management.CohortPersons{IDs: optional.Of(json.RawMessage(must(json.Marshal([]string{target}))))}
		err = q.c.Service.AddCohortPersons(q.Context(), q.by, q.ref, id, persons)
	}
	if err != nil {
		return q.refusedCohort(err, c, form)
	}
	return q.done(q.cohortPath(c.ID), "members-added", u)
}

// removeMember takes a person out of a static cohort.
func (q *request) removeMember(c *management.CohortView, person string) error {
	err := q.c.Service.RemoveCohortPerson(q.Context(), q.by, q.ref, strconv.FormatInt(c.ID, 10),
		management.CohortPersons{ID: optional.Of(person)})
	if err != nil {
		return q.refusedCohort(err, c, cohortFormOf(c))
	}
	to := q.cohortPath(c.ID)
	if q.PostForm.Get("from") == "members" {
		to = listing{path: to + "/members"}.at(pageNumber(q.PostForm))
	}
	return q.done(to, "member-removed", undo{"MemberRemoved", strconv.FormatInt(c.ID, 10), person})
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
func (q *request) openUpload() (*formUpload, error) {
	parts, err := q.MultipartReader()
	if err != nil {
		return nil, errForm
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
				text, err := io.ReadAll(io.LimitReader(part, maxForm+1))
				if err == nil && len(text) > maxForm {
					err = errLargeForm
				}
				if err != nil {
					yield("", u.fail(err))
					return
				}
				u.typed = lines(string(text))
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
	if err == errLargeForm {
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
				_, _ = k.z.Write(append([]byte(separator), must(json.Marshal(id))...)) // into memory
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
	if err := errors.Join(k.z.Close(), k.out.Close()); err != nil || k.text.Len() > maxUpload-1<<20 {
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
		for id, err := range idlist.JSON(io.LimitReader(z, 6*maxUpload)) { // JSON can have six bytes for one
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
func (q *request) inCohort(person, cohort string) (bool, error) {
	now, err := q.c.Service.PersonCohorts(q.Context(), q.by, q.ref, person)
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(now.Items, func(c management.PersonCohort) bool { return strconv.FormatInt(c.ID, 10) == cohort }), nil
}

// undoRemoval brings a person back into a list.
func undoRemoval(q *request, u undo) (string, undo, error) {
	if in, err := q.inCohort(u.Mark, u.Item); err != nil || in {
		return "", undo{}, cmp.Or[error](err, errUndo)
	}
	persons := management.CohortPersons{IDs: optional.Of(json.RawMessage(must(json.Marshal([]string{u.Mark}))))}
	return "", undo{"MemberAdded", u.Item, u.Mark}, q.c.Service.AddCohortPersons(q.Context(), q.by, q.ref, u.Item, persons)
}

// undoAddition takes a person out of a list again.
func undoAddition(q *request, u undo) (string, undo, error) {
	if in, err := q.inCohort(u.Mark, u.Item); err != nil || !in {
		return "", undo{}, cmp.Or[error](err, errUndo)
	}
	person := management.CohortPersons{ID: optional.Of(u.Mark)}
	return "", undo{"MemberRemoved", u.Item, u.Mark}, q.c.Service.RemoveCohortPerson(q.Context(), q.by, q.ref, u.Item, person)
}

// undoList takes the persons out of a static cohort again whom a list has brought in.
func undoList(q *request, u undo) (string, undo, error) {
	upload, err := uuid.Parse(u.Mark)
	if err != nil {
		return "", undo{}, errForm
	}
	n, err := q.c.Service.RemoveCohortUpload(q.Context(), q.by, q.ref, u.Item, upload)
	if err == nil && n == 0 {
		err = errUndo
	}
	return "", undo{}, err // whoever wants the list again sends it again
}
