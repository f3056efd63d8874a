package console

import (
	"encoding/json"
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/flagstaff-go/flagstaff/internal/words"
)

// A screen is what the file of some pages registers: all that the console has to know of them
// besides their templates. Routes, navigation, notices, undos and the audit log read the
// registrations, and nothing else lists pages.
type screen struct {
	title string // of its pages, unless a handler says another one
	entry int    // the place of the title in the navigation, from 1; 0: it has none
	path  string // where the entry leads, in a project
	under string // the title of the entry that is current on its pages, besides those below path
	needs func(*console) bool

	scope scope
	pages map[string]page // by method and path, as http.ServeMux has them

	done  map[string]string // what a notice says after a change, by the word in the address
	undo  map[string]undoer // what takes changes back, by undo.What
	thing *thing            // what the audit log has entries about; nil: nothing
}

// A thing is a kind of things that the audit log has entries about.
type thing struct {
	scope     string                                               // of its entries
	one, many string                                               // its names
	path      func(q *request, id string) string                   // where one is shown, "" for nowhere
	place     func(field string) string                            // says a field in words; nil: by its name
	value     func(names *words.Names, field, value string) string // says a value; nil: as JSON is read
	whole     map[string]wholeField                                // fields that are said as a whole, and not member by member
	erased    bool                                                 // nothing is left of one that was deleted
	hides     bool                                                 // what the log does not have of a value is secret
}

// A wholeField says how a field has changed.
type wholeField func(names *words.Names, before, after json.RawMessage) changeLine

// A page answers one route.
type page func(*request) error

// about makes a page of the answer about a thing that the path names.
func about[T any](answer func(*request, T) error, find func(*request) (T, error)) page {
	return func(q *request) error {
		thing, err := find(q)
		if err != nil {
			return err
		}
		return answer(q, thing)
	}
}

// A scope decides who may see a page, and what it is about.
type scope func(page) page

var screens []*screen

// register adds the screen of a file. Words of notices, undos and things have names that no
// other screen uses.
func register(s screen) *screen {
	screens = append(screens, &s)
	return &s
}

// registered returns what some screen has by a name.
func registered[V any](of func(*screen) map[string]V, name string) (v V) {
	for _, s := range screens {
		if v, ok := of(s)[name]; ok {
			return v
		}
	}
	return v
}

// thingOf returns the kind of things with a scope, a plain one if no screen has it.
func thingOf(scope string) *thing {
	for _, s := range screens {
		if s.thing != nil && s.thing.scope == scope {
			return s.thing
		}
	}
	return &thing{scope: scope, one: scope, path: func(*request, string) string { return "" }}
}

// below returns the path of a thing whose ID ends its address.
func below(path string) func(*request, string) string {
	return func(q *request, id string) string { return q.projectPath(path + url.PathEscape(id)) }
}

// routes serves all screens.
func (c *console) routes() {
	for _, s := range screens {
		if s.needs != nil && !s.needs(c) {
			continue
		}
		for route, p := range s.pages {
			method, path, _ := strings.Cut(route, " ")
			c.mux.HandleFunc(method+" "+c.Prefix+path, c.serve(s, s.scope(p)))
		}
	}
	for name, a := range c.assets {
		c.mux.HandleFunc("GET "+a.path, c.serveAsset(name))
	}
	c.mux.HandleFunc(c.Prefix+"/", c.failing(errNoPage))
}

// serve answers with a page of a screen.
func (c *console) serve(s *screen, p page) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		q := &request{Request: r, w: w, c: c, screen: s}
		q.layout = layout{Prefix: c.Prefix, Title: s.title, Posted: r.Method == http.MethodPost, c: c}
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
	return c.serve(new(screen), func(*request) error { return err })
}

// navigation returns the entries for the project of a page.
func (q *request) navigation() (list []navItem) {
	entries := slices.DeleteFunc(slices.Clone(screens), func(s *screen) bool {
		return s.entry == 0 || s.needs != nil && !s.needs(q.c)
	})
	slices.SortFunc(entries, func(a, b *screen) int { return cmp.Compare(a.entry, b.entry) })
	for _, s := range entries {
		url := q.projectPath(s.path)
		list = append(list, navItem{s.title, url, q.screen.under == s.title || strings.HasPrefix(q.URL.Path, url)})
	}
	return list
}
