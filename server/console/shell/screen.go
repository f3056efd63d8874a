package shell

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/flagstaff-go/flagstaff/internal/words"
)

// A Screen is all that the console has to know of some pages besides their templates: routes,
// navigation, notices, undos and the audit log follow from it.
type Screen struct {
	Title string // of its pages, unless a handler says another one
	Entry int    // the place of the title in the navigation, from 1; 0: it has none
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
	Scope     string                                               // of its entries
	One, Many string                                               // its names
	Path      func(q *Request, id string) string                   // where one is shown, "" for nowhere
	Place     func(field string) string                            // says a field in words; nil: by its name
	Value     func(names *words.Names, field, value string) string // says a value; nil: as JSON is read
	Whole     map[string]WholeField                                // fields that are said as a whole, and not member by member
	Erased    bool                                                 // nothing is left of one that was deleted
	Hides     bool                                                 // what the log does not have of a value is secret
}

// A WholeField says how a field has changed.
type WholeField func(names *words.Names, before, after json.RawMessage) Change

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

// add adds the screens of a group, or says what other screens have already.
func (c *console) add(g Group, taken map[string]bool) (err error) {
	take := func(what, name string) {
		if name != "" && taken[what+name] {
			err = fmt.Errorf("console: two screens have the %s %s", what, name)
		}
		taken[what+name] = true
	}
	for i := range g.Screens {
		s := &g.Screens[i]
		if s.Scope == nil {
			return fmt.Errorf("console: the screen %q has no Scope", s.Title)
		}
		for route := range s.Pages {
			take("route", route)
		}
		for word := range s.Done {
			take("notice", word)
		}
		for what := range s.Undo {
			take("undo", what)
		}
		if s.Thing != nil {
			take("thing", s.Thing.Scope)
		}
		if s.Entry != 0 {
			take("entry", strconv.Itoa(s.Entry))
			taken["entry of "+s.Title] = true
		}
		c.screens = append(c.screens, s)
	}
	return err
}

// registered returns what some screen has by a name.
func registered[V any](c *console, of func(*Screen) map[string]V, name string) (v V) {
	for _, s := range c.screens {
		if v, ok := of(s)[name]; ok {
			return v
		}
	}
	return v
}

// thingOf returns the kind of things with a scope, a plain one if no screen has it.
func (c *console) thingOf(scope string) *Thing {
	for _, s := range c.screens {
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

// routes serves all screens.
func (c *console) routes() {
	for _, s := range c.screens {
		for route, p := range s.Pages {
			method, path, _ := strings.Cut(route, " ")
			c.mux.HandleFunc(method+" "+c.Prefix+path, c.serve(s, s.Scope(p)))
		}
	}
	for name, a := range c.assets {
		c.mux.HandleFunc("GET "+a.path, c.serveAsset(name))
	}
	c.mux.HandleFunc(c.Prefix+"/", c.failing(ErrNoPage))
}

// serve answers with a page of a screen.
func (c *console) serve(s *Screen, p Page) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		q := &Request{Request: r, Config: &c.Config, Service: c.Service, W: w, c: c, screen: s}
		q.Layout = Layout{Prefix: c.Prefix, Title: s.Title, Posted: r.Method == http.MethodPost, c: c}
		err := q.parse()
		if err == nil {
			err = p(q)
		}
		if err != nil {
			q.fail(err)
		}
	}
}

// failing answers with a page for an error.
func (c *console) failing(err error) http.HandlerFunc {
	return c.serve(new(Screen), func(*Request) error { return err })
}

// navigation returns the entries for the project of a page.
func (q *Request) navigation() (list []NavItem) {
	entries := slices.DeleteFunc(slices.Clone(q.c.screens), func(s *Screen) bool { return s.Entry == 0 })
	slices.SortFunc(entries, func(a, b *Screen) int { return cmp.Compare(a.Entry, b.Entry) })
	for _, s := range entries {
		url := q.ProjectPath(s.Path)
		list = append(list, NavItem{s.Title, url, q.screen.Under == s.Title || strings.HasPrefix(q.URL.Path, url)})
	}
	return list
}
