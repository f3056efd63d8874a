package shell

import (
	"encoding/json"
	"html/template"
	"io/fs"
	"net/http"
	"net/url"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/server/console/shell/forms"
)

// A Change is one difference of a definition.
type Change struct{ Place, Before, After string }

// A Layout is what surrounds all pages. The view of a page embeds it.
type Layout struct {
	Prefix, Title               string
	User, Email                 string // "": nobody is signed in
	Project, Organization, Home string
	Nav                         []NavItem
	Done                        string    // what was just done, in words
	Undo                        *UndoView // takes it back; nil: nothing does
	Posted                      bool      // the page answers a form, which is not saved if it is still here
	ProjectURL                  string    // which the addresses in the project begin with

	c *console
}

// A NavItem is an entry of the navigation, or a tab.
type NavItem struct {
	Name, URL string
	Current   bool
	Icon, Go  string // as of a Screen
}

// pages are the parsed templates, by the name of the page.
type pages map[string]*template.Template

// A Screen is all that the console has to know of some pages besides their templates: routes,
// navigation, notices, undos and the audit log follow from it.
type Screen struct {
	Title string // of its pages, unless a handler says another one
	Entry int    // the place of the title in the navigation, from 1; 0: it has none
	Icon  string // of the entry: the path of an SVG of 16 by 16, as it is drawn
	Go    string // the key that leads there after g, which no other entry has; "" for none
	Path  string // where the entry leads, in a project
	Under string // the title of the entry that is current on its pages, besides those below path

	Scope Scope           // who may see its pages
	Pages map[string]Page // by method and path, as http.ServeMux has them

	Done  map[string]string // what a notice says after a change, by the word in the address
	Undo  map[string]Undoer // what takes changes back, by undo.What
	Thing *Thing            // what the audit log has entries about; nil: nothing
}

// A Thing is a kind of things that the audit log has entries about.
type Thing struct {
	Scope     string                                        // of its entries
	One, Many string                                        // its names
	Path      func(q *Request, id string) string            // where one is shown, "" for nowhere
	Place     func(field string) string                     // says a field in words; nil: by its name
	Value     func(names Names, field, value string) string // says a value; nil: as JSON is read
	Whole     map[string]WholeField                         // fields that are said as a whole, and not member by member
	Erased    bool                                          // nothing is left of one that was deleted
	Hides     bool                                          // what the log does not have of a value is secret
}

// Names say values of fields, criteria of cohorts and filters in words, with the names of what
// those refer to by numbers.
type Names interface {
	Value(field, value string) string
	Cohort(criteria json.RawMessage) string
	Audience(f *flags.Filters) string
	Condition(c *flags.Condition, ofFlag flags.Aggregation) string
	Rule(r *flags.Rule, set *flags.RuleSet) string
}

// A WholeField says how a field has changed.
type WholeField func(names Names, before, after json.RawMessage) Change

// A Page answers one route.
type Page func(*Request) error

// About makes a page of the answer about a thing that the path names.
func About[T any](answer func(*Request, T) error, find func(*Request) (T, error)) Page {
	return func(q *Request) error {
		thing, err := find(q)
		if err != nil {
			return err
		}
		return answer(q, thing)
	}
}

// A Scope decides who may see a page, and what it is about.
type Scope func(Page) Page

// A Group is the screens of a package.
type Group struct {
	Screens   []Screen
	Templates []fs.FS // their pages, and what several of them have in partials
}

// Thing returns the kind of things with a scope, a plain one if no screen has it.
func (q *Request) Thing(scope string) *Thing {
	for _, s := range q.c.screens {
		if s.Thing != nil && s.Thing.Scope == scope {
			return s.Thing
		}
	}
	return &Thing{Scope: scope, One: scope, Path: func(*Request, string) string { return "" }}
}

// Things returns all kinds of things.
func (q *Request) Things() (list []*Thing) {
	for _, s := range q.c.screens {
		if s.Thing != nil {
			list = append(list, s.Thing)
		}
	}
	return list
}

// Below returns the path of a thing whose ID ends its address.
func Below(path string) func(*Request, string) string {
	return func(q *Request, id string) string { return q.ProjectPath(path + url.PathEscape(id)) }
}

type console struct {
	Config
	pages   pages
	screens []*Screen
	assets  map[string]asset // by name
	mux     *http.ServeMux

	uploads Slots
}

// An asset is a file for browsers, at a path that changes with its content.
type asset struct {
	path string
	body []byte
	typ  string
}

// A Request is a request to the console with what is known of it.
type Request struct {
	*http.Request
	W http.ResponseWriter
	c *console

	screen  *Screen
	Config  *Config
	Service *management.Service       // of the Config
	By      *management.Principal     // nil: nobody is signed in
	At      *management.ProjectAccess // nil: the page is about no project
	Ref     string                    // the project as methods of the Service take it
	Layout  Layout
}

// An Undo says how a change is taken back (management.md §5.11). The notice after the change
// has it in its address, so that it works after a restart and on every server. It names what
// was changed, and what shows that nobody has changed it since: it takes back nothing else.
type Undo struct {
	What string // whose undoer a screen has registered; "": the change cannot be taken back
	Item string // the ID of the thing
	Mark string // the version, the entry of the audit log, or the values
}

func (u Undo) String() string {
	return url.Values{"what": {u.What}, "item": {u.Item}, "mark": {u.Mark}}.Encode()
}

// An UndoView is the button of a notice.
type UndoView struct {
	Action string
	Hidden []forms.Hidden
}

// An Undoer takes a change back. It returns where to go if the page of the thing is gone, and
// how what it has done is taken back itself.
type Undoer func(*Request, Undo) (to string, again Undo, err error)
