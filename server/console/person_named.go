package console

import (
	"github.com/flagstaff-go/flagstaff/management"
)

// A namesake is a person who may be meant by what was typed.
type namesake struct {
	ID, Name   string
	DistinctID string // "" if it is the name
	URL        string // where the person is chosen, or
	Do         string // what the button says that does it
}

// A personChoice says why it is not known whom somebody has named, and who may be meant.
type personChoice struct {
	Words  string
	Others []namesake
}

// namedPerson returns the person whom a text names, on every page where a person can be
// named: by a distinct ID, an address or a name (management.md §17.1). If nobody or several are
// named so, the person is nil and the choice is not.
func (q *request) namedPerson(text string) (*management.PersonView, *personChoice, error) {
	found, err := q.c.Service.FindPerson(q.Context(), q.by, q.ref, text)
	if err != nil {
		return nil, nil, err
	}
	if found.Person != nil {
		return found.Person, nil, nil
	}
	choice := &personChoice{Words: "No person with the distinct ID, address or name " + shorten(text, 80) + " is known."}
	switch {
	case found.Namesakes:
		choice.Words = "Several persons are called " + shorten(text, 80) + "."
	case len(found.Others) > 0:
		choice.Words += " These are similar."
	}
	for _, p := range found.Others {
		row := q.memberRow(p)
		n := namesake{ID: row.ID, Name: shorten(row.Name, 120), DistinctID: shorten(row.DistinctID, 80)}
		if n.Name == n.DistinctID {
			n.DistinctID = ""
		}
		choice.Others = append(choice.Others, n)
	}
	if found.More {
		choice.Words += " There may be more: type more of the name."
	}
	return nil, choice, nil
}

// A personField is the part of a form in which a person is named.
type personField struct {
	Person    string     // as typed
	Namesakes []namesake // who may be meant
}

// find returns the ID of the person who is named: the target of a button, or the one whose name
// was typed. It is "" if the form says that nobody or several are named so; then each of those
// has a button with the verb.
func (f *personField) find(q *request, form *checked, verb, target string) (id string, err error) {
	if target != "" {
		return target, nil
	}
	if f.Person == "" {
		form.fail("person", "Name a person: by a distinct ID, an address or a name.")
		return "", nil
	}
	found, choice, err := q.namedPerson(f.Person)
	if err != nil {
		return "", err
	}
	if choice != nil {
		form.fail("person", "%s", choice.Words)
		f.Namesakes = choice.choose(verb)
		return "", nil
	}
	return found.ID.String(), nil
}

// choose gives the persons of a choice the buttons of a form, each of which does something
// with one of them.
func (c *personChoice) choose(verb string) []namesake {
	for i := range c.Others {
		c.Others[i].Do = verb + " " + c.Others[i].ID
	}
	return c.Others
}
