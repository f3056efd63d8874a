package people

import (
	"encoding/json"
	"net/url"
	"slices"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/server/console/shell"
	"github.com/flagstaff-go/flagstaff/server/console/shell/forms"
)

// A Row is a person in a list.
type Row struct {
	ID, Name, URL, DistinctID string
	MoreIDs                   int
	Seen                      shell.Moment
}

// MembersShown is how many persons are on the page of a cohort or of a feature.
const MembersShown = 20

// RowOf returns how a person is listed.
func RowOf(q *shell.Request, p *management.PersonView) Row {
	row := Row{ID: p.ID.String(), Name: p.Name, URL: Path(q, p.ID.String()), Seen: q.Moment(p.CreatedAt)}
	if len(p.DistinctIDs) > 0 {
		row.DistinctID, row.MoreIDs = p.DistinctIDs[0], len(p.DistinctIDs)-1
	}
	return row
}

// PersonsSuggested is how many persons a field suggests.
const PersonsSuggested = 50

// FlagKeys returns the keys of flags to choose from.
func FlagKeys(q *shell.Request) (keys []string, err error) {
	list, err := q.Service.FlagNames(q.Context(), q.By, q.Ref, shell.MaxOffered)
	for _, f := range list {
		keys = append(keys, f.Key)
	}
	slices.Sort(keys)
	return keys, err
}

// NamesOffered is how many properties a field suggests.
const NamesOffered = 200

// NewestPersons returns some persons to choose from, none if nothing is captured or the
// user may not see them. Nobody counts how many there are.
func NewestPersons(q *shell.Request, limit int) ([]*management.PersonView, error) {
	found, err := shell.Known(q.Service.SearchPersons(q.Context(), q.By, q.Ref, management.PersonSearch{}, limit))
	if err != nil || found == nil {
		return nil, err
	}
	return found.Items, nil
}

// NamesIn returns names of properties that persons have.
func NamesIn(persons []*management.PersonView) (list []string) {
	for _, p := range persons {
		for name := range forms.ReadObject(string(p.Properties)) {
			if len(list) < NamesOffered && !slices.Contains(list, name) {
				list = append(list, name)
			}
		}
	}
	slices.Sort(list)
	return list
}

// Path returns the page of a person.
func Path(q *shell.Request, id string) string {
	return q.ProjectPath("/persons/" + url.PathEscape(id))
}

// A PropertyMark is what a change of a property of a person or a group has done. The activity
// log does not have values of persons.
type PropertyMark struct {
	Name string          `json:"name"`
	Was  json.RawMessage `json:"was,omitempty"` // nothing: there was none
	Now  json.RawMessage `json:"now,omitempty"`
}

// PropertyUndo returns how a change of a property is taken back.
func PropertyUndo(what, item string, m PropertyMark) shell.Undo {
	return shell.Undo{What: what, Item: item, Mark: string(forms.Must(json.Marshal(m)))}
}
