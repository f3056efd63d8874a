package persons

import (
	"cmp"
	"net/http"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/server/console/internal/people"
	"github.com/flagstaff-go/flagstaff/server/console/shell"
	"github.com/flagstaff-go/flagstaff/server/console/shell/forms"
)

var personScreen = shell.Screen{
	Title: "Person", Under: "Persons",
	Scope: shell.InProject, Pages: map[string]shell.Page{
		"GET /projects/{project}/persons/{person}":  shell.About(showPerson, person),
		"POST /projects/{project}/persons/{person}": postPerson,
	},
	Done: map[string]string{
		"person-deleted":   "The person was deleted. The events stay.",
		"person-erased":    "The person was deleted. The events are being deleted now, which may take some minutes.",
		"property-set":     "The property is set.",
		"property-removed": "The property is gone.",
	},
	Undo: map[string]shell.Undoer{"Person": undoProperty},
	Thing: &shell.Thing{
		Scope: "Person", One: "person", Many: "Persons", Path: shell.Below("/persons/"), Place: propertyPlace,
		Erased: true,
	},
}

// personView is the page about one person.
type personView struct {
	shell.Layout
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
func person(q *shell.Request) (*management.PersonView, error) {
	return q.Service.GetPerson(q.Context(), q.By, q.Ref, q.PathValue("person"))
}

func showPerson(q *shell.Request, p *management.PersonView) error {
	return renderPerson(q, http.StatusOK, p, propertyFormOf(q, people.Path(q, p.ID.String()), p.Properties), deleteForm{})
}

// showPerson shows a person with forms as they are. Without a person it shows only the
// form of the property.
func renderPerson(q *shell.Request, status int, p *management.PersonView, form *propertyForm, deletion deleteForm) error {
	form.options()
	if p == nil {
		q.Layout.Title = "Person"
		return q.Render(status, "person", &personView{List: q.ProjectPath("/persons"), Name: "Person", Form: form})
	}
	id := p.ID.String()
	q.Layout.Title = cmp.Or(forms.Shorten(p.Name, 120), id)
	q.Notice()
	v := &personView{
		List: q.ProjectPath("/persons"), Name: q.Layout.Title, Person: p, Anonymous: anonymous(p), Form: form,
		Delete: deletion, Activity: q.EntriesAbout("Person", id),
	}
	v.Delete.Name = v.Name
	v.IDs = p.DistinctIDs[:min(len(p.DistinctIDs), idsShown)]
	v.MoreIDs = len(p.DistinctIDs) - len(v.IDs)
	v.Properties, v.Cut = propertyRows(p.Properties, editLink(people.Path(q, id)))
	for _, row := range v.Properties {
		form.Names = append(form.Names, row.Name)
	}
	cohorts, err := shell.Known(q.Service.PersonCohorts(q.Context(), q.By, q.Ref, id))
	if err != nil {
		return err
	}
	if cohorts != nil {
		v.Cohorts = cohorts.Items
	}
	if len(p.DistinctIDs) > 0 {
		if err := personFlags(q, v, p.DistinctIDs[0]); err != nil {
			return err
		}
	}
	events, err := q.Service.PersonEvents(q.Context(), q.By, q.Ref, id, eventsShown)
	if err != nil {
		return err
	}
	v.Events = events.Items
	return q.Render(status, "person", v)
}

// personFlags fills in the values of all flags.
func personFlags(q *shell.Request, v *personView, distinctID string) error {
	reasons, err := q.Service.EvaluationReasons(q.Context(), q.By, q.Ref, distinctID, "")
	if err != nil {
		return err
	}
	explained := &explainView{Action: q.ProjectPath("/explain"), Person: distinctID}
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
func postPerson(q *shell.Request) error {
	ref := q.PathValue("person")
	if q.PostForm.Get("do") == "delete" {
		return shell.About(deletePerson, person)(q)
	}
	page := people.Path(q, ref)
	return changeProperty(q, readPropertyForm(q, page), page, personProperties(q, ref), func(status int, f *propertyForm) error {
		if status == http.StatusServiceUnavailable {
			return renderPerson(q, status, nil, f, deleteForm{})
		}
		p, err := person(q)
		if err != nil {
			return err
		}
		return renderPerson(q, status, p, f, deleteForm{})
	})
}

// deletePerson deletes a person whose name was typed.
func deletePerson(q *shell.Request, p *management.PersonView) error {
	deletion := deleteForm{Typed: q.PostForm.Get("typed"), Events: q.PostForm.Get("events") == "yes"}
	if name := cmp.Or(forms.Shorten(p.Name, 120), p.ID.String()); deletion.Typed != name {
		deletion.Error = "Type " + name + " to delete the person."
		return renderPerson(q, http.StatusUnprocessableEntity, p, propertyFormOf(q, people.Path(q, p.ID.String()), p.Properties), deletion)
	}
	if err := q.Service.DeletePerson(q.Context(), q.By, q.Ref, p.ID.String(), deletion.Events); err != nil {
		return err
	}
	done := "person-deleted"
	if deletion.Events {
		done = "person-erased"
	}
	return q.Redirect(q.ProjectPath("/persons?done=" + done))
}
