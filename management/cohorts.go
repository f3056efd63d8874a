package management

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/judge"
	"github.com/flagstaff-go/flagstaff/internal/normal"
	"github.com/flagstaff-go/flagstaff/internal/rawjson"
	"github.com/flagstaff-go/flagstaff/internal/text"
	"github.com/flagstaff-go/flagstaff/management/check"
	"github.com/flagstaff-go/flagstaff/management/field"
	"github.com/flagstaff-go/flagstaff/management/optional"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// A CohortView is a cohort as the API shows it (management.md §13.10).
type CohortView struct {
	ID                int64           `json:"id"`
	Name              string          `json:"name"`
	Description       string          `json:"description"`
	Groups            []string        `json:"groups"` // older form, never used
	Deleted           bool            `json:"deleted"`
	Filters           json.RawMessage `json:"filters"`
	Query             json.RawMessage `json:"query"`
	IsCalculating     bool            `json:"is_calculating"`
	CreatedBy         *Author         `json:"created_by"`
	CreatedAt         time.Time       `json:"created_at"`
	LastCalculation   *time.Time      `json:"last_calculation"`
	ErrorsCalculating int             `json:"errors_calculating"` // 1 if it cannot be counted
	Count             *int            `json:"count"`
	IsStatic          bool            `json:"is_static"`
	CohortType        *string         `json:"cohort_type"`
	ExperimentSet     []int64         `json:"experiment_set"`
}

func (w *work) cohortViews(ctx context.Context, list []storage.Cohort) ([]*CohortView, error) {
	users, err := w.authors(ctx, each(list, func(c *storage.Cohort) *int64 { return c.CreatedBy })...)
	if err != nil {
		return nil, err
	}
	persons := w.by.Require("person:read") == nil
	return each(list, func(c *storage.Cohort) *CohortView {
		kind := "static"
		if !c.Static {
			kind = "person_property"
		}
		count := c.Count
		if !c.Static && !persons {
			count = nil // how many persons have certain properties
		}
		failures := 0
		if c.Calculated != nil && c.Count == nil {
			failures = 1
		}
		return &CohortView{
			ID: c.ID, Name: c.Name, Description: c.Description, Groups: []string{}, Deleted: c.Deleted, Filters: shownCriteria{c.Criteria}.JSON(),
			Query: rawjson.OrNull(nil), IsCalculating: c.Calculated == nil && !c.Deleted && w.c.Data != nil, CreatedBy: basicUser(users, c.CreatedBy), CreatedAt: c.Created,
			LastCalculation: c.Calculated, ErrorsCalculating: failures, Count: count, IsStatic: c.Static, CohortType: &kind, ExperimentSet: []int64{},
		}
	}), nil
}

func (w *work) showCohort(ctx context.Context, c *storage.Cohort) (*CohortView, error) {
	return single(w.cohortViews(ctx, []storage.Cohort{*c}))
}

// A CohortPatch makes or changes a cohort.
type CohortPatch struct {
	Name        optional.Value[string]          `json:"name"`
	Description optional.Value[string]          `json:"description"`
	Filters     optional.Value[json.RawMessage] `json:"filters"`
	Groups      optional.Value[json.RawMessage] `json:"groups"` // older form of filters
	Query       optional.Value[json.RawMessage] `json:"query"`
	Static      optional.Value[bool]            `json:"is_static"`
	Deleted     optional.Value[bool]            `json:"deleted"`

	// Original is the cohort as a client has seen it. A change of a field that somebody
	// else has changed since is ErrConflict then, and what the client leaves as it was
	// stays as it is now.
	Original optional.Value[json.RawMessage] `json:"original_cohort"`
}

// A shownCriteria is the filters of a cohort as the activity log sees them.
type shownCriteria struct{ tree *flags.CohortNode }

// Same implements field.Comparable, as shownFilters does.
func (s shownCriteria) Same(other any) bool {
	o := other.(shownCriteria)
	return normal.SameCriteria(s.tree, o.tree) && sameJSON(s.JSON(), o.JSON())
}

// JSON implements field.Model.
func (s shownCriteria) JSON() json.RawMessage { return normal.ShownCriteria(s.tree) }

// maxCohortName is how long the name of a cohort may be, in characters.
const maxCohortName = 400

// cohortFields is the table of a cohort. The patch is nil for a table that is only
// logged.
func cohortFields(c *storage.Cohort, patch *CohortPatch) field.Table {
	patch = cmp.Or(patch, new(CohortPatch))
	return field.Table{
		field.Plain("name", &patch.Name, &c.Name, check.UpTo(check.Title, maxCohortName)),
		field.Plain("description", &patch.Description, &c.Description, check.UpTo(check.String, check.MaxText)),
		field.Checked("filters", &patch.Filters, checkNothing).LoggedAs(shownCriteria{c.Criteria}),
		field.Checked("is_static", &patch.Static, check.Bool).LoggedAs(c.Static),
		field.Plain("deleted", &patch.Deleted, &c.Deleted, check.Bool),
		field.Checked("query", &patch.Query, checkNoQuery),
	}
}

// checkNothing is for filters, which are judged when they are applied.
func checkNothing(string, *optional.Value[json.RawMessage]) error { return nil }

func checkNoQuery(attr string, o *optional.Value[json.RawMessage]) error {
	if o.Set && !o.Null {
		return invalid(attr, "invalid_input", "Cohorts by query are not supported; use filters, or a static cohort.")
	}
	return nil
}

// validate checks the values that can be judged without other things of the project,
// in the order of the fields. A cohort without an ID is new.
func (patch *CohortPatch) validate(c *storage.Cohort) error {
	switch {
	case c.ID == 0 && !patch.Name.Set:
		return invalid("name", "required", "This field is required.")
	case c.ID == 0 && patch.Deleted.Value:
		return invalid("deleted", "invalid_input", "A new cohort cannot be deleted.")
	}
	return judgeError(cohortFields(c, patch).Check())
}

// apply changes a cohort, which the caller stores. Its ID is 0 if it is new. What
// it refers to can have gone while it was deleted.
func (patch *CohortPatch) apply(c *storage.Cohort, refs *judge.References) error {
	revived := c.Deleted && patch.Deleted.Set && !patch.Deleted.Value
	cohortFields(c, patch).Apply()
	if patch.Static.Set && patch.Static.Value != c.Static {
		if c.ID != 0 {
			return invalid("is_static", "invalid_input", "A cohort cannot become static or dynamic later; make another one.")
		}
		c.Static = patch.Static.Value
	}
	raw, tree := patch.Filters, c.Criteria
	var err error
	switch groups := patch.Groups.Set && !rawjson.Empty(patch.Groups.Value) && !raw.Set; {
	case c.Static && groups:
		return checkNoCriteria(patch.Groups.Value)
	case c.Static:
		return checkNoCriteria(raw.Value)
	case groups:
		if tree, err = judge.TreeOfGroups(patch.Groups.Value); err == nil && tree == nil {
			return errNoCriteria
		}
	case !raw.Set && revived:
	case !raw.Set && c.ID != 0:
		return nil
	case !raw.Set || raw.Null:
		return errNoCriteria
	default:
		tree, err = judge.ReadTree(raw.Value)
	}
	if err == nil {
		err = judge.JudgeCohort(tree, c.ID, refs)
	}
	if err != nil {
		return judgeError(err)
	}
	if !normal.SameCriteria(tree, c.Criteria) {
		c.Count, c.Calculated = nil, nil
	}
	c.Criteria = tree
	return nil
}

var errNoCriteria = invalid("filters", "required", "This field is required, unless the cohort is static.")

// checkNoCriteria returns an error if filters, which static cohorts do not have,
// say anything.
func checkNoCriteria(filters json.RawMessage) error {
	var tree struct {
		Properties struct {
			Values []json.RawMessage `json:"values"`
		} `json:"properties"`
	}
	if !rawjson.Empty(filters) && (json.Unmarshal(filters, &tree) != nil || len(tree.Properties.Values) > 0) {
		return invalid("filters", "invalid_input", "A static cohort is a list of persons and has no criteria.")
	}
	return nil
}

// A CohortQuery selects cohorts. Empty fields select nothing away.
type CohortQuery struct {
	Type      string // static or dynamic
	CreatedBy string // as in a FlagQuery
	Search    string // part of the name
}

// ListCohorts returns a page of the cohorts of a project that are not deleted,
// newest first. It needs scope cohort:read.
func (s *Service) ListCohorts(ctx context.Context, p *Principal, ref string, q CohortQuery, limit, offset int) (*Page[*CohortView], error) {
	w, err := s.beginAt(ctx, p, ref, "cohort:read")
	if err != nil {
		return nil, err
	}
	if err := judgeError(cmp.Or(check.Selected("type", q.Type, "static", "dynamic"), check.Search(q.Search))); err != nil {
		return nil, err
	}
	authors, err := idList("created_by_id", q.CreatedBy)
	if err != nil {
		return nil, err
	}
	all, err := w.store.Cohorts().List(ctx, storage.CohortProject.Is(w.at.Project.ID), storage.CohortDeleted.Is(false))
	if err != nil {
		return nil, err
	}
	search := strings.ToLower(q.Search)
	all = slices.DeleteFunc(all, func(c storage.Cohort) bool {
		return q.Type != "" && c.Static != (q.Type == "static") ||
			len(authors) > 0 && (c.CreatedBy == nil || !slices.Contains(authors, *c.CreatedBy)) ||
			!strings.Contains(strings.ToLower(c.Name), search)
	})
	slices.Reverse(all)
	views, err := w.cohortViews(ctx, pageOf(all, limit, offset))
	if err != nil {
		return nil, err
	}
	return &Page[*CohortView]{len(all), views}, nil
}

func (w *work) cohortByRef(ctx context.Context, ref string) (*storage.Cohort, error) {
	id, err := strconv.ParseInt(ref, 10, 64)
	if err != nil {
		return nil, plainNotFound
	}
	c, err := w.store.Cohorts().Get(ctx, storage.CohortProject.Is(w.at.Project.ID), storage.CohortID.Is(id))
	return c, storeError(err)
}

// cohortAt is beginAt with a cohort that a path names.
func (s *Service) cohortAt(ctx context.Context, p *Principal, ref, cohort string, scopes ...Scope) (*work, *storage.Cohort, error) {
	w, err := s.beginAt(ctx, p, ref, scopes...)
	if err != nil {
		return nil, nil, err
	}
	c, err := w.cohortByRef(ctx, cohort)
	return w, c, err
}

// Cohort returns a cohort, also if it is deleted. It needs scope cohort:read.
func (s *Service) Cohort(ctx context.Context, p *Principal, ref, cohort string) (*CohortView, error) {
	w, c, err := s.cohortAt(ctx, p, ref, cohort, "cohort:read")
	if err != nil {
		return nil, err
	}
	return w.showCohort(ctx, c)
}

// CreateCohort makes a cohort. It needs scope cohort:write, as all methods that
// change cohorts do.
func (s *Service) CreateCohort(ctx context.Context, p *Principal, ref string, patch CohortPatch) (*CohortView, error) {
	view, err := answerAt(ctx, s, p, ref, "cohort:write", func(w *work) (*CohortView, error) {
		if err := w.checkChangeable(); err != nil {
			return nil, err
		}
		c, patch := &storage.Cohort{Project: w.at.Project.ID, CreatedBy: &p.User.ID, Created: s.now()}, patch
		if err := patch.validate(c); err != nil {
			return nil, err
		}
		refs, err := w.references(ctx)
		if err != nil {
			return nil, err
		}
		if err := patch.apply(c, refs); err != nil {
			return nil, err
		}
		if c.Static {
			c.Count, c.Calculated = new(0), new(c.Created)
		}
		if err := w.store.Cohorts().Create(ctx, c); err != nil {
			return nil, storeError(err)
		}
		if err := w.logCohort(ctx, c, "created", nil, nil); err != nil {
			return nil, err
		}
		return w.showCohort(ctx, c)
	})
	if err != nil {
		return nil, err
	}
	s.countSoon(view)
	return view, nil
}

// UpdateCohort changes a cohort; Deleted deletes and restores it. A cohort that an
// active flag uses cannot be deleted.
func (s *Service) UpdateCohort(ctx context.Context, p *Principal, ref, cohort string, patch CohortPatch) (*CohortView, error) {
	view, err := answerAt(ctx, s, p, ref, "cohort:write", func(w *work) (*CohortView, error) {
		if err := w.checkChangeable(); err != nil {
			return nil, err
		}
		c, err := w.cohortByRef(ctx, cohort)
		if err != nil {
			return nil, err
		}
		patch := patch
		if err := patch.validate(c); err != nil {
			return nil, err
		}
		if err := settleOriginal("cohort", &patch.Original, cohortFields(c, &patch)); err != nil {
			return nil, err
		}
		set, err := w.definitionSet(ctx)
		if err != nil {
			return nil, err
		}
		before, refs := *c, set.references()
		if err := patch.apply(c, refs); err != nil {
			return nil, err
		}
		if err := checkCohortUnused(&before, c, set, refs); err != nil {
			return nil, err
		}
		if err := w.saveCohort(ctx, &before, c); err != nil {
			return nil, err
		}
		return w.showCohort(ctx, c)
	})
	if err != nil {
		return nil, err
	}
	s.countSoon(view)
	return view, nil
}

// saveCohort stores and logs a cohort that has changed.
func (w *work) saveCohort(ctx context.Context, before, c *storage.Cohort) error {
	return w.saveCohortBy(ctx, before, c, nil)
}

// saveCohortBy is saveCohort for an import.
func (w *work) saveCohortBy(ctx context.Context, before, c *storage.Cohort, by *field.Import) error {
	changes := field.Differences("Cohort", cohortFields(before, nil), cohortFields(c, nil))
	if len(changes) > 0 || !bytes.Equal(shownCriteria{before.Criteria}.JSON(), shownCriteria{c.Criteria}.JSON()) {
		if err := w.store.Cohorts().Update(ctx, c); err != nil {
			return storeError(err)
		}
	}
	if len(changes) == 0 {
		return nil
	}
	activity := "updated"
	if c.Deleted && !before.Deleted {
		activity = "deleted"
	}
	return w.logCohort(ctx, c, activity, changes, by)
}

// checkCohortUnused returns an error if a cohort that is to be deleted is used.
func checkCohortUnused(before, c *storage.Cohort, set *definitionSet, refs *judge.References) error {
	if !c.Deleted || before.Deleted {
		return nil
	}
	users, cohorts := judge.CohortUsers(refs, c.ID)
	switch {
	case len(users) > 0:
		return invalid("", "invalid_input", "The cohort cannot be deleted: active flags use it: %s.", keysOf(users))
	case len(cohorts) > 0:
		n := slices.IndexFunc(set.cohorts, func(user storage.Cohort) bool { return user.ID == cohorts[0] })
		return invalid("", "invalid_input", "The cohort cannot be deleted: the cohort %q refers to it.", set.cohorts[n].Name)
	}
	return nil
}

func (w *work) logCohort(ctx context.Context, c *storage.Cohort, activity string, changes []field.Change, by *field.Import) error {
	d := field.Detail{Name: c.Name, Changes: append([]field.Change{}, changes...), Import: by}
	return w.addProjectActivity(ctx, c.Project, activity, "Cohort", strconv.FormatInt(c.ID, 10), d)
}

// staticCohort returns the static cohort that a path names.
func (s *Service) staticCohort(ctx context.Context, p *Principal, ref, cohort string, scope Scope) (*storage.Cohort, error) {
	_, c, err := s.cohortAt(ctx, p, ref, cohort, scope)
	if err != nil {
		return nil, err
	}
	switch {
	case c.Deleted:
		return nil, plainNotFound
	case !c.Static:
		return nil, invalid("", "invalid_input", "The cohort is not static: its members follow from its filters.")
	case s.c.Data == nil:
		return nil, errNoData
	}
	return c, nil
}

// A CohortUpload tells what became of a list of members.
type CohortUpload struct {
	Received int `json:"received"` // distinct IDs
	Added    int `json:"added"`    // persons who were not members before
	Unknown  int `json:"unknown"`  // distinct IDs that nobody had, and that got a person
	Count    int `json:"count"`    // members now

	// Complete says that the list came to its end. Otherwise the first Received of
	// its distinct IDs are members.
	Complete bool `json:"complete"`

	// ID is what RemoveCohortUpload takes. CohortUpload does not return it.
	ID uuid.UUID `json:"-"`
}

// uploadPart is how many distinct IDs are stored at once.
const uploadPart = 5000

// AddCohortIDs makes the persons with distinct IDs members of a static cohort.
// Distinct IDs that nobody has get a person. The list is stored in parts while it
// is read: after an error, which may be one of the list's, those before are
// members, and it can be sent again. Then the result is not nil either, and
// CohortUpload returns the same later. It is also right if ctx ends.
func (s *Service) AddCohortIDs(ctx context.Context, p *Principal, ref, cohort string, distinctIDs iter.Seq2[string, error]) (*CohortUpload, error) {
	c, err := s.staticCohort(ctx, p, ref, cohort, "cohort:write")
	if err != nil {
		return nil, err
	}
	out := &CohortUpload{ID: uuid.Must(uuid.NewV7())}
	part := make([]string, 0, uploadPart)
	flush := func() error {
		added, unknown, err := s.c.Data.AddCohortMembers(ctx, c.Project, c.ID, out.ID, part)
		out.Received, out.Added, out.Unknown, part = out.Received+len(part), out.Added+added, out.Unknown+unknown, part[:0]
		return err
	}
	var failure error
	for id, err := range distinctIDs {
		if err != nil {
			failure = err
			break
		}
		if part = append(part, text.Identifier(id, capture.MaxID)); len(part) == uploadPart {
			if failure = flush(); failure != nil {
				break
			}
		}
	}
	// What was received is stored and counted, although the client may have gone.
	const rest = 30 * time.Second
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rest)
	defer cancel()
	if len(part) > 0 || failure == nil {
		failure = cmp.Or(flush(), failure)
	}
	out.Complete = failure == nil
	note := field.Change{Type: "Cohort", Field: uploadField, After: *out, Action: "changed"}
	out.Count, err = s.cohortChanged(ctx, p, c, out.Added, note)
	if e, ok := errors.AsType[*Error](failure); ok && out.Received > 0 {
		told := *e
		told.Detail = e.Detail + " Before that " + strconv.Itoa(out.Received) + " were stored."
		failure = &told
	}
	return out, cmp.Or(failure, err)
}

// RemoveCohortUpload takes the persons out of a static cohort again who became members by a
// list and are members since, and returns how many these were. Persons who were made for
// distinct IDs that nobody had stay.
func (s *Service) RemoveCohortUpload(ctx context.Context, p *Principal, ref, cohort string, upload uuid.UUID) (int, error) {
	c, err := s.staticCohort(ctx, p, ref, cohort, "cohort:write")
	if err != nil {
		return 0, err
	}
	n, err := s.c.Data.RemoveCohortUpload(ctx, c.Project, c.ID, upload)
	if err != nil && n == 0 {
		return 0, err
	}
	_, changed := s.cohortChanged(context.WithoutCancel(ctx), p, c, -n) // also if others could not be removed
	return n, cmp.Or(err, changed)
}

// uploadField is the field of entries of the activity log that tell of an upload.
const uploadField = "members"

// CohortUpload tells what became of the newest list of members of a static cohort. It
// needs scope cohort:read.
func (s *Service) CohortUpload(ctx context.Context, p *Principal, ref, cohort string) (*CohortUpload, error) {
	c, err := s.staticCohort(ctx, p, ref, cohort, "cohort:read")
	if err != nil {
		return nil, err
	}
	filter := storage.ActivityFilter{Project: &c.Project, Scope: "Cohort", ItemID: strconv.FormatInt(c.ID, 10)}
	for offset := 0; ; offset += MaxActivities {
		list, total, err := s.c.Store.Activities(ctx, filter, MaxActivities, offset)
		if err != nil {
			return nil, err
		}
		for i := range list {
			var detail ActivityDetail
			if err := json.Unmarshal(list[i].Detail, &detail); err != nil {
				return nil, err
			}
			for _, change := range detail.Changes {
				if change.Field != uploadField {
					continue
				}
				out := new(CohortUpload)
				if err := json.Unmarshal(change.After, out); err != nil {
					return nil, err
				}
				out.Count, err = s.c.Data.CountCohort(ctx, c.Project, c.ID)
				return out, err
			}
		}
		if offset+len(list) >= total || len(list) == 0 {
			return nil, notFound("No list of members was uploaded.")
		}
	}
}

// A CohortPersons names persons by their UUIDs.
type CohortPersons struct {
	IDs optional.Value[json.RawMessage] `json:"person_ids"`
	ID  optional.Value[string]          `json:"person_id"`
}

func (q *CohortPersons) ids(one bool) ([]uuid.UUID, error) {
	texts, attr := []string{q.ID.Value}, "person_id"
	given := q.ID.Set
	if !one {
		attr, given = "person_ids", q.IDs.Set
	}
	if !given {
		return nil, invalid(attr, "required", "This field is required.")
	}
	if !one {
		var err error
		if texts, err = check.DecodeList[string](attr, &q.IDs); err != nil {
			return nil, judgeError(err)
		}
	}
	return parseIDs(attr, texts)
}

// AddCohortPersons makes persons members of a static cohort.
func (s *Service) AddCohortPersons(ctx context.Context, p *Principal, ref, cohort string, q CohortPersons) error {
	return s.changeCohortPersons(ctx, p, ref, cohort, q, false)
}

// RemoveCohortPerson takes a person out of a static cohort.
func (s *Service) RemoveCohortPerson(ctx context.Context, p *Principal, ref, cohort string, q CohortPersons) error {
	return s.changeCohortPersons(ctx, p, ref, cohort, q, true)
}

func (s *Service) changeCohortPersons(ctx context.Context, p *Principal, ref, cohort string, q CohortPersons, remove bool) error {
	c, err := s.staticCohort(ctx, p, ref, cohort, "cohort:write")
	if err != nil {
		return err
	}
	ids, err := q.ids(remove)
	if err != nil {
		return err
	}
	n := 0
	if remove {
		n, err = s.c.Data.RemoveCohortPersons(ctx, c.Project, c.ID, ids)
		n = -n
	} else {
		n, err = s.c.Data.AddCohortPersons(ctx, c.Project, c.ID, ids)
	}
	if err != nil {
		return err
	}
	_, err = s.cohortChanged(ctx, p, c, n)
	return err
}

// cohortChanged keeps the count of a static cohort whose members have changed by
// n, logs that and what else has changed, and returns the count.
func (s *Service) cohortChanged(ctx context.Context, p *Principal, c *storage.Cohort, n int, more ...field.Change) (int, error) {
	count, err := s.c.Data.CountCohort(ctx, c.Project, c.ID)
	if err != nil || n == 0 && more == nil {
		return count, err
	}
	return count, s.atomic(ctx, p, func(w *work) error {
		current, err := w.store.Cohorts().Get(ctx, storage.CohortProject.Is(c.Project), storage.CohortID.Is(c.ID))
		if err != nil {
			return storeError(err)
		}
		if err := w.store.Cohorts().Touch(ctx, &storage.Cohort{Project: c.Project, ID: c.ID, Count: &count, Calculated: new(s.now())}); err != nil {
			return storeError(err)
		}
		changes := more
		if n != 0 {
			changes = append(changes, field.Change{Type: "Cohort", Field: "count", Before: current.Count, After: count, Action: "changed"})
		}
		return w.logCohort(ctx, current, "updated", changes, nil)
	})
}
