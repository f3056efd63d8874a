package console

import (
	"cmp"
	"net/http"

	"github.com/flagstaff-go/flagstaff/management"
)

var _ = register(screen{
	title: "Person", under: "Persons",
	scope: inProject, pages: map[string]page{
		"GET /projects/{project}/persons/{person}":  about(showPerson, (*request).person),
		"POST /projects/{project}/persons/{person}": postPerson,
	},
	done: map[string]string{
		"person-deleted":   "The person was deleted. The events stay.",
		"person-erased":    "The person was deleted. The events are being deleted now, which may take some minutes.",
		"property-set":     "The property is set.",
		"property-removed": "The property is gone.",
	},
	undo:  map[string]undoer{"Person": undoProperty},
	thing: &thing{scope: "Person", one: "person", many: "Persons", path: below("/persons/"), place: propertyPlace, erased: true},
})

// personView is the page about one person.
type personView struct {
	layout
	List, Name string
	Person     *management.PersonView // nil: the store does not answer, and only the form is shown
	Anonymous  bool
	IDs        []string
	MoreIDs    int
	Properties []propertyRow
	Cut        int // properties that are not listed
	Form       *propertyForm
	Cohorts    []management.PersonCohort
	On, Off    []valueRow
	MoreFlags  int
	Why        string // all flags of the person, explained
	Events     []*management.EventView
	Activity   string
	Delete     deleteForm
	propertyWords
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

// person returns the person whom the path names.
func (q *request) person() (*management.PersonView, error) {
	return q.c.Service.GetPerson(q.Context(), q.by, q.ref, q.PathValue("person"))
}

func showPerson(q *request, p *management.PersonView) error {
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
		List: q.projectPath("/persons"), Name: q.layout.Title, Person: p, Anonymous: anonymous(p), Form: form,
		Delete: deletion, Activity: q.entriesAbout("Person", id),
	}
	v.Delete.Name = v.Name
	v.IDs = p.DistinctIDs[:min(len(p.DistinctIDs), idsShown)]
	v.MoreIDs = len(p.DistinctIDs) - len(v.IDs)
	v.Properties, v.Cut = propertyRows(p.Properties, editLink(q.personPath(id)))
	for _, row := range v.Properties {
		form.Names = append(form.Names, row.Name)
	}
	cohorts, err := known(q.c.Service.PersonCohorts(q.Context(), q.by, q.ref, id))
	if err != nil {
		return err
	}
	if cohorts != nil {
		v.Cohorts = cohorts.Items
	}
	if len(p.DistinctIDs) > 0 {
		if err := q.personFlags(v, p.DistinctIDs[0]); err != nil {
			return err
		}
	}
	events, err := q.c.Service.PersonEvents(q.Context(), q.by, q.ref, id, eventsShown)
	if err != nil {
		return err
	}
	v.Events = events.Items
	return q.render(status, "person", v)
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

// postPerson changes a property of a person, or deletes the person.
func postPerson(q *request) error {
	ref := q.PathValue("person")
	if q.PostForm.Get("do") == "delete" {
		return about(deletePerson, (*request).person)(q)
	}
	page := q.personPath(ref)
	return q.changeProperty(q.readPropertyForm(page), page, q.personProperties(ref), func(status int, f *propertyForm) error {
		if status == http.StatusServiceUnavailable {
			return q.showPerson(status, nil, f, deleteForm{})
		}
		p, err := q.person()
		if err != nil {
			return err
		}
		return q.showPerson(status, p, f, deleteForm{})
	})
}

// deletePerson deletes a person whose name was typed.
func deletePerson(q *request, p *management.PersonView) error {
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
