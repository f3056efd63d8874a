package people

import (
	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/server/console/shell"
	"github.com/flagstaff-go/flagstaff/server/console/shell/forms"
)

// A namesake is a person who may be meant by what was typed.
type namesake struct {
	ID, Name   string
	DistinctID string // "" if it is the name
	URL        string // where the person is chosen, or
	Do         string // what the button says that does it
}

// A Choice says why it is not known whom somebody has named, and who may be meant.
type Choice struct {
	Words  string
	Others []namesake
}

// NamedPerson returns the person whom a text names, on every page where a person can be
// named: by a distinct ID, an address or a name (management.md §17.1). If nobody or several are
// named so, the person is nil and the choice is not.
func NamedPerson(q *shell.Request, text string) (*management.PersonView, *Choice, error) {
	found, err := q.Service.FindPerson(q.Context(), q.By, q.Ref, text)
	if err != nil {
		return nil, nil, err
	}
	if found.Person != nil {
		return found.Person, nil, nil
	}
	choice := &Choice{Words: "No person with the distinct ID, address or name " + forms.Shorten(text, 80) + " is known."}
	switch {
	case found.Namesakes:
		choice.Words = "Several persons are called " + forms.Shorten(text, 80) + "."
	case len(found.Others) > 0:
		choice.Words += " These are similar."
	}
	for _, p := range found.Others {
		row := RowOf(q, p)
		n := namesake{ID: row.ID, Name: forms.Shorten(row.Name, 120), DistinctID: forms.Shorten(row.DistinctID, 80)}
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

// A Field is the part of a form in which a person is named.
type Field struct {
	Person    string     // as typed
	Namesakes []namesake // who may be meant
}

// Find returns the ID of the person who is named: the target of a button, or the one whose name
// was typed. It is "" if the form says that nobody or several are named so; then each of those
// has a button with the verb.
func (f *Field) Find(q *shell.Request, form *forms.Checked, verb, target string) (id string, err error) {
	if target != "" {
		return target, nil
	}
	if f.Person == "" {
		form.Fail("person", "Name a person: by a distinct ID, an address or a name.")
		return "", nil
	}
	found, choice, err := NamedPerson(q, f.Person)
	if err != nil {
		return "", err
	}
	if choice != nil {
		form.Fail("person", "%s", choice.Words)
		f.Namesakes = choice.choose(verb)
		return "", nil
	}
	return found.ID.String(), nil
}

// choose gives the persons of a choice the buttons of a form, each of which does something
// with one of them.
func (c *Choice) choose(verb string) []namesake {
	for i := range c.Others {
		c.Others[i].Do = verb + " " + c.Others[i].ID
	}
	return c.Others
}
