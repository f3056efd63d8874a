package console

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

var _ = register(screen{
	scope: signedIn, pages: map[string]page{"GET /{$}": home},
})

var _ = register(screen{
	scope: inProject, pages: map[string]page{"GET /projects/{project}/{$}": projectHome},
})

//go:embed static
var staticFiles embed.FS

// maxForm is how large the body of a posted form may be. Forms of flags carry definitions,
// which have at most 1 MiB, more than once.
const maxForm = 4 << 20 // bytes

type console struct {
	Config
	pages  *pages
	assets map[string]asset // by name
	mux    *http.ServeMux

	imports *imports
	uploads slots
}

// An asset is a file for browsers, at a path that changes with its content.
type asset struct {
	path string
	body []byte
	typ  string
}

// New returns the console as a handler for all paths below Config.Prefix, or an error if
// the Config makes no sense. The handler is safe for concurrent use.
func New(config Config) (http.Handler, error) {
	config = config.withDefaults()
	if err := config.validate(); err != nil {
		return nil, err
	}
	c := &console{Config: config, imports: newImports(), uploads: make(slots, maxUploads)}
	var err error
	if c.assets, err = readAssets(config.Prefix); err != nil {
		return nil, err
	}
	if c.pages, err = parsePages(c.assets); err != nil {
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

// A request is a request to the console with what is known of it.
type request struct {
	*http.Request
	w http.ResponseWriter
	c *console

	screen *screen
	by     *management.Principal     // nil: nobody is signed in
	at     *management.ProjectAccess // nil: the page is about no project
	ref    string                    // the project as methods of the Service take it
	layout layout
}

// everybody is the scope of pages for everybody.
func everybody(p page) page { return p }

// encrypted is the scope of pages that sign people in, which plain HTTP does not get.
func encrypted(p page) page {
	return func(q *request) error {
		if !q.c.cookieAllowed(q.Request) {
			return errInsecure
		}
		return p(q)
	}
}

// signedIn serves a page for people who are signed in, and sends others to sign in.
func signedIn(p page) page {
	return func(q *request) error {
		principal, err := q.c.Service.AuthenticateSession(q.Context(), q.c.token(q.Request), q.c.client(q.Request))
		if errors.Is(err, management.ErrUnauthenticated) {
			if q.Method != http.MethodGet && q.Method != http.MethodHead {
				return q.keepPosted()
			}
			to := q.c.Prefix + "/signin"
			if next := q.c.within(q.URL.RequestURI()); next != "" && next != "/" {
				to += "?next=" + url.QueryEscape(next)
			}
			return q.redirect(to)
		}
		if err != nil {
			return err
		}
		q.by = principal
		q.layout.User = nameOf(principal.User)
		q.layout.Email = principal.User.Email
		return p(q)
	}
}

// inProject serves a page about a project that the user may see.
func inProject(p page) page {
	return signedIn(func(q *request) error {
		q.ref = q.PathValue("project")
		if _, err := strconv.ParseInt(q.ref, 10, 64); err != nil {
			return errNoPage
		}
		at, err := q.access(q.ref)
		if err != nil {
			return err
		}
		if at == nil {
			return errNoPage // whether there is such a project is nobody's business (management.md §17.4)
		}
		q.enterProject(at)
		return p(q)
	})
}

// access returns a project with what the user may do in it, nil if that is nothing.
func (q *request) access(ref string) (*management.ProjectAccess, error) {
	at, err := q.c.Service.Access(q.Context(), q.by, ref, "feature_flag:read")
	if errors.Is(err, management.ErrForbidden) || errors.Is(err, management.ErrNotFound) {
		return nil, nil
	}
	return at, err
}

// enterProject makes a page be about a project.
func (q *request) enterProject(at *management.ProjectAccess) {
	q.at = at
	q.layout.Project, q.layout.Organization = at.Project.Name, at.Organization.Name
	q.layout.ProjectURL, q.layout.Home = q.projectPath(""), q.projectPath("/flags")
	q.layout.Nav = q.navigation()
}

// ofAccount serves a page about the user's account, beside the screens of the project that
// the user has used last.
func ofAccount(p page) page {
	return signedIn(func(q *request) error {
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

func (q *request) projectPath(rest string) string {
	return q.c.Prefix + "/projects/" + strconv.FormatInt(q.at.Project.ID, 10) + rest
}

// parse reads the query and the body.
func (q *request) parse() error {
	if q.Body != nil {
		largest := int64(maxForm)
		if strings.HasPrefix(q.Header.Get("Content-Type"), "multipart/form-data") {
			largest = maxUpload // which handlers read part by part
		}
		q.Body = http.MaxBytesReader(q.w, q.Body, largest)
	}
	if err := q.ParseForm(); err != nil {
		if _, large := errors.AsType[*http.MaxBytesError](err); large {
			return errLargeForm
		}
		return errForm
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

// redirect answers with 303: the browser gets the other page.
func (q *request) redirect(to string) error {
	q.w.Header().Set("Location", to)
	q.w.WriteHeader(http.StatusSeeOther)
	return nil
}

// home sends a user to the project that the user has used last, or to another one.
func home(q *request) error {
	at, err := q.access("@current")
	if err != nil {
		return err
	}
	if at != nil {
		return q.redirect(q.c.Prefix + "/projects/" + strconv.FormatInt(at.Project.ID, 10) + "/flags")
	}
	me, err := q.c.Service.User(q.Context(), q.by, "@me")
	if err != nil {
		return err
	}
	if o := me.Organization; o != nil && len(o.Projects) > 0 {
		return q.redirect(q.c.Prefix + "/projects/" + strconv.FormatInt(o.Projects[0].ID, 10) + "/flags")
	}
	return errNoProject
}

func projectHome(q *request) error { return q.redirect(q.projectPath("/flags")) }

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
	zipped := compressed(a.body)
	return func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Type", a.typ)
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
		send(w, r, http.StatusOK, a.body, zipped)
	}
}
