package shell

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"runtime/debug"
	"strconv"
	"strings"

	internal "github.com/flagstaff-go/flagstaff/internal/text"
)

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
			take("key", s.Go)
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

var homeScreen = Screen{
	Scope: SignedIn, Pages: map[string]Page{"GET /{$}": home},
}

var projectHomeScreen = Screen{
	Scope: InProject, Pages: map[string]Page{"GET /projects/{project}/{$}": projectHome},
}

//go:embed static
var staticFiles embed.FS

// New returns a console with the screens of the Config, and those that sign people in.
func New(config Config) (http.Handler, error) {
	config = config.withDefaults()
	if err := config.validate(); err != nil {
		return nil, err
	}
	groups := append([]Group{Screens()}, config.Screens...)
	if config.Parts {
		groups = append(groups, Group{Screens: []Screen{partsScreen}})
	}
	c := &console{Config: config, uploads: make(Slots, maxUploads)}
	taken := make(map[string]bool)
	for word := range commonDone {
		taken["notice"+word] = true
	}
	for _, g := range groups {
		if err := c.add(g, taken); err != nil {
			return nil, err
		}
	}
	for _, s := range c.screens {
		if s.Under != "" && !taken["entry of "+s.Under] {
			return nil, fmt.Errorf("console: the screen %q is under %q, which is not an entry of the navigation", s.Title, s.Under)
		}
	}
	var err error
	if c.assets, err = readAssets(config.Prefix); err != nil {
		return nil, err
	}
	if c.pages, err = parsePages(c.assets, groups); err != nil {
		return nil, err
	}
	c.mux = http.NewServeMux()
	c.routes()
	origins := http.NewCrossOriginProtection()
	if config.URL != "" {
		if err := origins.AddTrustedOrigin(config.URL); err != nil {
			return nil, fmt.Errorf("console: Config.URL: %w", err)
		}
	}
	origins.SetDenyHandler(c.failing(errOrigin))
	return c.trace(c.protect(origins.Handler(c.mux))), nil
}

// Screens returns the screens of the shell itself, which New adds: those that sign people in, and
// that take changes back.
func Screens() Group {
	return Group{
		Screens: []Screen{
			homeScreen, projectHomeScreen, signInScreen, signOutScreen, readyScreen, backScreen, undoOwnScreen, undoScreen,
		},
		Templates: []fs.FS{templateFiles},
	}
}

// protect sets the headers that all answers have, and answers panics.
func (c *console) protect(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy",
			"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; "+
				"frame-ancestors 'none'; base-uri 'none'")
		h.Set("Referrer-Policy", "same-origin")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		if c.secure(r) {
			h.Set("Strict-Transport-Security", "max-age=31536000")
		}
		defer func() {
			switch v := recover(); v {
			case nil:
			case http.ErrAbortHandler:
				panic(v)
			default:
				c.Log.ErrorContext(r.Context(), "panic in the console", "request_id", requestID(r), "page", r.Pattern, "panic",
					internal.OfPanic(v), "stack", string(debug.Stack()))
				http.Error(w, "The page cannot be shown, because of an error of the program.", http.StatusInternalServerError)
			}
		}()
		next.ServeHTTP(w, r)
	})
}

// home sends a user to the project that the user has used last, or to another one.
func home(q *Request) error {
	at, err := q.access("@current")
	if err != nil {
		return err
	}
	if at != nil {
		return q.Redirect(q.c.Prefix + "/projects/" + strconv.FormatInt(at.Project.ID, 10) + "/flags")
	}
	me, err := q.c.Service.User(q.Context(), q.By, "@me")
	if err != nil {
		return err
	}
	if o := me.Organization; o != nil && len(o.Projects) > 0 {
		return q.Redirect(q.c.Prefix + "/projects/" + strconv.FormatInt(o.Projects[0].ID, 10) + "/flags")
	}
	return errNoProject
}

func projectHome(q *Request) error { return q.Redirect(q.ProjectPath("/flags")) }

// readAssets returns the static files, each at a path with the hash of its content.
func readAssets(prefix string) (map[string]asset, error) {
	types := map[string]string{".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}
	out := make(map[string]asset)
	err := fs.WalkDir(staticFiles, "static", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		body, err := staticFiles.ReadFile(name)
		if err != nil {
			return err
		}
		hash := sha256.Sum256(body)
		base := path.Base(name)
		out[base] = asset{prefix + "/static/" + hex.EncodeToString(hash[:6]) + "/" + base, body, types[path.Ext(base)]}
		return nil
	})
	return out, err
}

func (c *console) serveAsset(name string) http.HandlerFunc {
	a := c.assets[name]
	zipped := Compressed(a.body)
	return func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Type", a.typ)
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
		send(w, r, http.StatusOK, a.body, zipped)
	}
}
