package server

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"github.com/flagstaff-go/flagstaff/management"
)

// cohortRoutes are those of cohorts (management.md §13.10).
var cohortRoutes = []route{
	projectRoute("/cohorts", methods{get: listCohorts, post: createOf((*service).CreateCohort)}),
	projectRoute("/cohorts/{id}", methods{get: readOf((*service).Cohort), patch: changeOf((*service).UpdateCohort)}),
	projectRoute("/cohorts/{id}/members", methods{post: addMembers, stream: true}),
	projectRoute("/cohorts/{id}/add_persons_to_static_cohort", methods{patch: onCohort((*service).AddCohortPersons)}),
	projectRoute("/cohorts/{id}/remove_person_from_static_cohort", methods{patch: onCohort((*service).RemoveCohortPerson)}),
}

func listCohorts(a *apiRequest) error {
	q := management.CohortQuery{Type: a.param("type"), CreatedBy: a.param("created_by_id"), Search: a.param("search")}
	limit, offset := a.window()
	page, err := a.service().ListCohorts(a.context(), a.principal, a.segment("project"), q, limit, offset)
	return answerPage(a, page, err)
}

func onCohort(f func(*service, context.Context, *principal, string, string, management.CohortPersons) error) operation {
	return changeWith(http.StatusOK, func(a *apiRequest, q management.CohortPersons) (succeeded, error) {
		return succeeded{Success: true}, f(a.service(), a.context(), a.principal, a.segment("project"), a.segment("id"), q)
	})
}

// addMembers adds the distinct IDs of a body to a static cohort while it arrives.
// The body is CSV, or JSON: a list, or an object with the list distinct_ids.
func addMembers(a *apiRequest) error {
	mediaType, _, err := mime.ParseMediaType(a.x.r.Header.Get("Content-Type"))
	body := http.MaxBytesReader(a.x.w, a.x.r.Body, a.s.config.MaxUpload)
	var ids iter.Seq2[string, error]
	switch {
	case err == nil && mediaType == "text/csv":
		ids = idsOfCSV(body)
	case err == nil && mediaType == "application/json":
		ids = idsOfJSON(body)
	default:
		return &management.Error{Kind: errContentType, Code: "unsupported_media_type", Detail: "Unsupported media type, want text/csv or application/json."}
	}
	v, err := a.service().AddCohortIDs(a.context(), a.principal, a.segment("project"), a.segment("id"), ids)
	return a.answer(http.StatusOK, v, err)
}

// idsOfCSV iterates over the column distinct_id, or the first one if no column is
// called so in the first row.
func idsOfCSV(body io.Reader) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		r := csv.NewReader(body)
		r.FieldsPerRecord, r.ReuseRecord, r.TrimLeadingSpace = -1, true, true
		column := 0
		for n := 1; ; n++ {
			row, err := r.Read()
			if err == io.EOF {
				return
			}
			if err != nil {
				yield("", uploadError(err, "this is no CSV"))
				return
			}
			if n == 1 {
				row[0] = strings.TrimPrefix(row[0], "\ufeff")
				if i := headColumn(row); i >= 0 {
					column = i
					continue
				}
			}
			if column < len(row) && strings.TrimSpace(row[column]) != "" && !yield(strings.Clone(strings.TrimSpace(row[column])), nil) {
				return
			}
		}
	}
}

func headColumn(row []string) int {
	for i, name := range row {
		switch strings.ToLower(strings.NewReplacer("-", "_", " ", "_").Replace(strings.TrimSpace(name))) {
		case "distinct_id", "distinct_ids":
			return i
		}
	}
	return -1
}

// idsOfJSON iterates over a list of texts and numbers.
func idsOfJSON(body io.Reader) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		d := json.NewDecoder(body)
		d.UseNumber()
		if err := findList(d); err != nil {
			yield("", uploadError(err, "want a list of distinct IDs, or an object with the list distinct_ids"))
			return
		}
		for d.More() {
			var id any
			if err := d.Decode(&id); err != nil {
				yield("", uploadError(err, "this is no JSON"))
				return
			}
			switch id := id.(type) {
			case string:
				if strings.TrimSpace(id) != "" && !yield(id, nil) {
					return
				}
			case json.Number:
				if !yield(id.String(), nil) {
					return
				}
			default:
				yield("", uploadError(errNoID, "an element is neither a string nor a number"))
				return
			}
		}
		if _, err := d.Token(); err != nil {
			yield("", uploadError(err, "the list does not end"))
		}
	}
}

var errNoID = errors.New("server: no distinct ID")

// findList reads up to the beginning of the list.
func findList(d *json.Decoder) error {
	t, err := d.Token()
	if err != nil || t == json.Delim('[') {
		return err
	}
	if t != json.Delim('{') {
		return errNoID
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return err
		}
		if name == "distinct_ids" {
			if t, err := d.Token(); err != nil || t != json.Delim('[') {
				return errors.Join(err, errNoID)
			}
			return nil
		}
		var skipped json.RawMessage
		if err := d.Decode(&skipped); err != nil {
			return err
		}
	}
	return errNoID
}

// uploadError says what is wrong with a body, without a word of it.
func uploadError(err error, detail string) error {
	if e, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return &management.Error{Kind: errTooLarge, Code: "request_too_large", Detail: "The body has more than " + strconv.FormatInt(e.Limit, 10) + " bytes."}
	}
	switch e := err.(type) {
	case *csv.ParseError:
		detail += " in line " + strconv.Itoa(e.Line)
	case *json.SyntaxError:
		detail += " at byte " + strconv.FormatInt(e.Offset, 10)
	}
	return &management.Error{Kind: management.ErrInvalid, Code: "invalid_input", Detail: "The list cannot be read: " + detail + "."}
}
