package console

import (
	"cmp"
	"net/http"
	"strconv"

	"github.com/flagstaff-go/flagstaff/management"
)

var _ = register(screen{
	title: "Person", under: "Persons",
	scope: inProject, pages: map[string]page{
		"GET /projects/{project}/persons/{person}":  showPerson,
		"POST /projects/{project}/persons/{person}": postPerson,
	},
	done: map[string]string{
		"person-deleted":   "The person was deleted. The events stay.",
		"person-erased":    "The person was deleted. The events are being deleted now, which may take some minutes.",
		"property-set":     "The property is set.",
		"property-removed": "The property is gone.",
	},
	undo:  map[string]undoer{"Person": undoProperty},
	thing: &thing{scope: "Person", one: "person", many: "Persons", path: below("/persons/"), place: propertyPlace},
})

// personView is the page about one person.
type personView struct {
	layout
	List, Name           string
	Known                bool // false: the store does not answer, and only the form is shown
	UUID                 string
	Anonymous            bool
	Created, Seen        moment
	SeenWords            string // in place of Seen
	IDs                  []string
	MoreIDs              int
	Properties           []propertyRow
	Cut                  int // properties that are not listed
	Form                 *propertyForm
	Cohorts              []cohortLink
	On, Off              []valueRow
	MoreFlags            int
	Why                  string // all flags of the person, explained
	Events               []eventRow
	EventsHint, Activity string
	Delete               deleteForm
}

type cohortLink struct {
	Name, URL string
	Static    bool
}

// An eventRow is an event of a person.
type eventRow struct {
	Name       string
	At         moment
	ID         string // the distinct ID, if the person has several
	Properties string // as JSON
	Count      string
}

// A deleteForm asks for the name of what is to be deleted.
type deleteForm struct {
	Name         string // what is to be typed
	Typed, Error string
	Events       bool
}

const (
	idsShown    = 100 // distinct IDs of a person
	eventsShown = 25  // events of a person
)

func showPerson(q *request) error {
	p, err := q.c.Service.GetPerson(q.Context(), q.by, q.ref, q.PathValue("person"))
	if err != nil {
		return err
	}
	return q.showPerson(http.StatusOK, p, q.propertyForm(q.personPath(p.ID.String()), p.Properties), deleteForm{})
}

// showPerson shows a person with forms as they are. Without a person it shows only the
// form of the property.
func (q *request) showPerson(status int, p *management.PersonView, form *propertyForm, deletion deleteForm) error {
	form.options()
	if p == nil {
		q.layout.Title = "Person"
		return q.render(status, "person", &personView{List: q.projectPath("/persons"), Name: "Person", Form: form})
	}
	id := p.ID.String()
	q.layout.Title = cmp.Or(shorten(p.Name, 120), id)
	q.notice()
	v := &personView{
		List: q.projectPath("/persons"), Name: q.layout.Title, Known: true, UUID: id, Anonymous: anonymous(p),
		Created: q.c.moment(p.CreatedAt),
		Form:    form, Delete: deletion, Activity: q.entriesAbout("Person", id),
	}
	v.Delete.Name = v.Name
	v.IDs = p.DistinctIDs[:min(len(p.DistinctIDs), idsShown)]
	v.MoreIDs = len(p.DistinctIDs) - len(v.IDs)
	v.Properties, v.Cut = propertyRows(p.Properties, editLink(q.personPath(id)))
	for _, row := range v.Properties {
		form.Names = append(form.Names, row.Name)
	}
	if err := q.personCohorts(v, id); err != nil {
		return err
	}
	if len(p.DistinctIDs) > 0 {
		if err := q.personFlags(v, p.DistinctIDs[0]); err != nil {
			return err
		}
	}
	if err := q.personEvents(v, id, len(p.DistinctIDs) > 1); err != nil {
		return err
	}
	return q.render(status, "person", v)
}

func (q *request) personCohorts(v *personView, id string) error {
	cohorts, err := q.c.Service.PersonCohorts(q.Context(), q.by, q.ref, id)
	if isRefusal(err) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, c := range cohorts.Items {
		v.Cohorts = append(v.Cohorts, cohortLink{c.Name, q.projectPath("/cohorts/" + strconv.FormatInt(c.ID, 10)), c.Static})
	}
	return nil
}

// personFlags fills in the values of all flags.
func (q *request) personFlags(v *personView, distinctID string) error {
	reasons, err := q.c.Service.EvaluationReasons(q.Context(), q.by, q.ref, distinctID, "")
	if err != nil {
		return err
	}
	explained := &explainView{Action: q.projectPath("/explain"), Person: distinctID}
	v.Why = explained.link("")
	for _, row := range explained.rows(reasons) {
		switch {
		case row.On:
			v.On = append(v.On, row)
		case len(v.Off) < explainListed:
			v.Off = append(v.Off, row)
		default:
			v.MoreFlags++
		}
	}
	return nil
}

func (q *request) personEvents(v *personView, id string, several bool) error {
	events, err := q.c.Service.PersonEvents(q.Context(), q.by, q.ref, id, eventsShown)
	if err != nil {
		return err
	}
	for _, e := range events.Items {
		row := eventRow{
			Name: e.Event, At: q.c.moment(e.Timestamp), Properties: pretty(e.Properties),
			Count: count(len(readObject(string(e.Properties))), "property", "properties"),
		}
		if several {
			row.ID = e.DistinctID
		}
		v.Events = append(v.Events, row)
	}
	if len(v.Events) == 0 {
		v.SeenWords, v.EventsHint = "no events yet", "No events are stored."
		return nil
	}
	v.Seen, v.EventsHint = v.Events[0].At, "The newest ones."
	return nil
}

// postPerson changes a property of a person, or deletes the person.
func postPerson(q *request) error {
	ref := q.PathValue("person")
	if q.PostForm.Get("do") == "delete" {
		return q.deletePerson(ref)
	}
	page := q.personPath(ref)
	return q.changeProperty(q.readPropertyForm(page), page, q.personProperties(ref), func(status int, f *propertyForm) error {
		if status == http.StatusServiceUnavailable {
			return q.showPerson(status, nil, f, deleteForm{})
		}
		p, err := q.c.Service.GetPerson(q.Context(), q.by, q.ref, ref)
		if err != nil {
			return err
		}
		return q.showPerson(status, p, f, deleteForm{})
	})
}

// deletePerson deletes a person whose name was typed.
func (q *request) deletePerson(ref string) error {
	p, err := q.c.Service.GetPerson(q.Context(), q.by, q.ref, ref)
	if err != nil {
		return err
	}
	deletion := deleteForm{Typed: q.PostForm.Get("typed"), Events: q.PostForm.Get("events") == "yes"}
	if name := cmp.Or(shorten(p.Name, 120), p.ID.String()); deletion.Typed != name {
		deletion.Error = "Type " + name + " to delete the person."
		return q.showPerson(http.StatusUnprocessableEntity, p, q.propertyForm(q.personPath(p.ID.String()), p.Properties), deletion)
	}
	if err := q.c.Service.DeletePerson(q.Context(), q.by, q.ref, p.ID.String(), deletion.Events); err != nil {
		return err
	}
	done := "person-deleted"
	if deletion.Events {
		done = "person-erased"
	}
	return q.redirect(q.projectPath("/persons?done=" + done))
}
