package shell

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"path"
	"runtime/debug"
	"strconv"
	"strings"

	internal "github.com/flagstaff-go/flagstaff/internal/text"
	"github.com/flagstaff-go/flagstaff/management"
)

var homeScreen = Screen{
	Scope: SignedIn, Pages: map[string]Page{"GET /{$}": home},
}

var projectHomeScreen = Screen{
	Scope: InProject, Pages: map[string]Page{"GET /projects/{project}/{$}": projectHome},
}

//go:embed static
var staticFiles embed.FS

// MaxForm is how large the body of a posted form may be. Forms of flags carry definitions,
// which have at most 1 MiB, more than once.
const MaxForm = 4 << 20 // bytes

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

// New returns a console with the screens of the Config, and those that sign people in.
func New(config Config) (http.Handler, error) {
	config = config.withDefaults()
	if err := config.validate(); err != nil {
		return nil, err
	}
	groups := append([]Group{Screens()}, config.Screens...)
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

// everybody is the scope of pages for everybody.
func everybody(p Page) Page { return p }

// encrypted is the scope of pages that sign people in, which plain HTTP does not get.
func encrypted(p Page) Page {
	return func(q *Request) error {
		if !q.c.cookieAllowed(q.Request) {
			return errInsecure
		}
		return p(q)
	}
}

// SignedIn serves a page for people who are signed in, and sends others to sign in.
func SignedIn(p Page) Page {
	return func(q *Request) error {
		principal, err := q.c.Service.AuthenticateSession(q.Context(), q.c.token(q.Request), q.c.client(q.Request))
		if errors.Is(err, management.ErrUnauthenticated) {
			if q.Method != http.MethodGet && q.Method != http.MethodHead {
				return q.keepPosted()
			}
			to := q.c.Prefix + "/signin"
			if next := q.c.within(q.URL.RequestURI()); next != "" && next != "/" {
				to += "?next=" + url.QueryEscape(next)
			}
			return q.Redirect(to)
		}
		if err != nil {
			return err
		}
		q.By = principal
		q.Layout.User = NameOf(principal.User)
		q.Layout.Email = principal.User.Email
		return p(q)
	}
}

// InProject serves a page about a project that the user may see.
func InProject(p Page) Page {
	return SignedIn(func(q *Request) error {
		q.Ref = q.PathValue("project")
		if _, err := strconv.ParseInt(q.Ref, 10, 64); err != nil {
			return ErrNoPage
		}
		at, err := q.access(q.Ref)
		if err != nil {
			return err
		}
		if at == nil {
			return ErrNoPage // whether there is such a project is nobody's business (management.md §17.4)
		}
		q.enterProject(at)
		return p(q)
	})
}

// access returns a project with what the user may do in it, nil if that is nothing.
func (q *Request) access(ref string) (*management.ProjectAccess, error) {
	at, err := q.c.Service.Access(q.Context(), q.By, ref, "feature_flag:read")
	if errors.Is(err, management.ErrForbidden) || errors.Is(err, management.ErrNotFound) {
		return nil, nil
	}
	return at, err
}

// enterProject makes a page be about a project.
func (q *Request) enterProject(at *management.ProjectAccess) {
	q.At = at
	q.Layout.Project, q.Layout.Organization = at.Project.Name, at.Organization.Name
	q.Layout.ProjectURL, q.Layout.Home = q.ProjectPath(""), q.ProjectPath("/flags")
	q.Layout.Nav = q.navigation()
}

// OfAccount serves a page about the user's account, beside the screens of the project that
// the user has used last.
func OfAccount(p Page) Page {
	return SignedIn(func(q *Request) error {
		at, err := q.access("@current")
		if err != nil {
			return err
		}
		if at != nil {
			q.enterProject(at)
		}
		return p(q)
	})
}

// ProjectPath returns the path of a page in the project.
func (q *Request) ProjectPath(rest string) string {
	return q.c.Prefix + "/projects/" + strconv.FormatInt(q.At.Project.ID, 10) + rest
}

// parse reads the query and the body.
func (q *Request) parse() error {
	if q.Body != nil {
		largest := int64(MaxForm)
		if strings.HasPrefix(q.Header.Get("Content-Type"), "multipart/form-data") {
			largest = MaxUpload // which handlers read part by part
		}
		q.Body = http.MaxBytesReader(q.W, q.Body, largest)
	}
	if err := q.ParseForm(); err != nil {
		if _, large := errors.AsType[*http.MaxBytesError](err); large {
			return ErrLargeForm
		}
		return ErrForm
	}
	return nil
}

// within returns the part below the prefix of a path with query, if that is a page of the
// console, and "" otherwise. Nothing else is ever redirected to.
func (c *console) within(uri string) string {
	rest, ok := strings.CutPrefix(uri, c.Prefix+"/")
	if !ok || strings.ContainsAny(rest, "\\\r\n\t") || strings.HasPrefix(rest, "/") {
		return ""
	}
	u, err := url.Parse("/" + rest)
	if err != nil || u.Host != "" || u.Scheme != "" || path.Clean(u.Path) != strings.TrimSuffix(u.Path, "/") && u.Path != "/" {
		return ""
	}
	return "/" + rest
}

// Redirect answers with 303: the browser gets the other page.
func (q *Request) Redirect(to string) error {
	q.W.Header().Set("Location", to)
	q.W.WriteHeader(http.StatusSeeOther)
	return nil
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
