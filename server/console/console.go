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
	c := &console{Config: config, imports: newImports()}
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
	origins.SetDenyHandler(c.open(func(*request) error { return errOrigin }))
	return c.trace(c.protect(origins.Handler(c.mux))), nil
}

// routes is the list of all paths.
func (c *console) routes() {
	get := func(path string, h http.HandlerFunc) { c.mux.HandleFunc("GET "+c.Prefix+path, h) }
	post := func(path string, h http.HandlerFunc) { c.mux.HandleFunc("POST "+c.Prefix+path, h) }

	get("/{$}", c.signedIn(home))
	get("/ready", c.open(ready))
	get("/back", c.signedIn(backPage))
	get("/signin", c.open(signInPage))
	post("/signin", c.open(signIn))
	get("/signin/code", c.open(codePage))
	post("/signin/code", c.open(confirmCode))
	post("/signout", c.open(signOut))
	get("/join/{token}", c.open(joinPage))
	post("/join/{token}", c.open(join))
	get("/forgot", c.open(forgotPage))
	post("/forgot", c.open(forgot))
	get("/reset/{token}", c.open(resetPage))
	post("/reset/{token}", c.open(resetPassword))

	get("/me", c.ofAccount(showAccount))
	post("/me/name", c.ofAccount(saveName))
	post("/me/address", c.ofAccount(changeAddress))
	post("/me/address/keep", c.ofAccount(keepAddress))
	post("/me/address/verify", c.ofAccount(verifyAddress))
	post("/me/password", c.ofAccount(changePassword))
	post("/me/two-factor/start", c.ofAccount(setUpSecondFactor))
	post("/me/two-factor/confirm", c.ofAccount(confirmSecondFactor))
	post("/me/two-factor/codes", c.ofAccount(newBackupCodes))
	get("/me/two-factor/off", c.ofAccount(askSecondFactorOff))
	post("/me/two-factor/off", c.ofAccount(turnSecondFactorOff))
	post("/me/sessions/{session}/end", c.ofAccount(endSession))
	post("/me/sessions/end-others", c.ofAccount(endOtherSessions))
	post("/me/undo", c.ofAccount(undoChange))
	get("/me/keys", c.ofAccount(showKeys))
	post("/me/keys", c.ofAccount(createKey))
	get("/me/keys/{key}/roll", c.ofAccount(askRollKey))
	post("/me/keys/{key}/roll", c.ofAccount(rollKey))
	get("/me/keys/{key}/delete", c.ofAccount(askDeleteKey))
	post("/me/keys/{key}/delete", c.ofAccount(deleteKey))

	get("/projects", c.signedIn(listProjects))
	get("/projects/{project}/{$}", c.inProject(projectHome))
	get("/projects/{project}/flags", c.inProject(listFlags))
	get("/projects/{project}/flags/new", c.inProject(newFlag))
	post("/projects/{project}/flags/new", c.inProject(postFlag))
	get("/projects/{project}/flags/{flag}", c.inProject(showFlag))
	post("/projects/{project}/flags/{flag}", c.inProject(postFlag))
	get("/projects/{project}/persons", c.inProject(listPersons))
	get("/projects/{project}/persons/{person}", c.inProject(showPerson))
	post("/projects/{project}/persons/{person}", c.inProject(postPerson))
	get("/projects/{project}/groups/{type}", c.inProject(listGroups))
	get("/projects/{project}/groups/{type}/group", c.inProject(showGroup))
	post("/projects/{project}/groups/{type}/group", c.inProject(postGroup))
	get("/projects/{project}/why", c.inProject(why))
	get("/projects/{project}/activity", c.inProject(activity))
	get("/projects/{project}/problems", c.inProject(listProblems))
	post("/projects/{project}/flags/{flag}/switch", c.inProject(switchFlag))
	get("/projects/{project}/surveys", c.inSurveys(listSurveys))
	get("/projects/{project}/surveys/new", c.inSurveys(newSurvey))
	post("/projects/{project}/surveys/new", c.inSurveys(postSurvey))
	get("/projects/{project}/surveys/preview.css", c.inSurveys(previewSheet))
	get("/projects/{project}/surveys/{survey}", c.inSurveys(showSurvey))
	post("/projects/{project}/surveys/{survey}", c.inSurveys(postSurvey))
	get("/projects/{project}/surveys/{survey}/results", c.inSurveys(surveyResults))
	get("/projects/{project}/surveys/{survey}/results.csv", c.inSurveys(resultsCSV))
	get("/projects/{project}/surveys/{survey}/chart.csv", c.inSurveys(chartCSV))
	get("/projects/{project}/surveys/{survey}/answers", c.inSurveys(surveyAnswers))
	post("/projects/{project}/surveys/{survey}/answers", c.inSurveys(postAnswer))
	get("/projects/{project}/flags/{flag}/history", c.inProject(flagHistory))
	post("/projects/{project}/flags/{flag}/history", c.inProject(revertFlag))

	post("/projects/{project}/undo", c.inProject(undoChange))
	get("/projects/{project}/connect", c.inProject(connect))
	get("/projects/{project}/import", c.inProject(importPage))
	post("/projects/{project}/import", c.inProject(postImport))
	get("/projects/{project}/import/{run}", c.inProject(importRunPage))
	get("/projects/{project}/export", c.inProject(exportDefinitions))

	get("/projects/{project}/cohorts", c.inProject(listCohorts))
	get("/projects/{project}/cohorts/new", c.inProject(newCohort))
	post("/projects/{project}/cohorts/new", c.inProject(postCohort))
	get("/projects/{project}/cohorts/{cohort}", c.inProject(showCohort))
	post("/projects/{project}/cohorts/{cohort}", c.inProject(postCohort))
	get("/projects/{project}/cohorts/{cohort}/members", c.inProject(cohortMembers))
	post("/projects/{project}/cohorts/{cohort}/members", c.inProject(addMembers))

	get("/projects/{project}/features", c.inProject(listFeatures))
	get("/projects/{project}/features/new", c.inProject(newFeature))
	post("/projects/{project}/features/new", c.inProject(postFeature))
	get("/projects/{project}/features/{feature}", c.inProject(showFeature))
	post("/projects/{project}/features/{feature}", c.inProject(postFeature))

	get("/projects/{project}/settings", c.inProject(showSettings))
	post("/projects/{project}/settings", c.inProject(forAdministrators(saveSettings)))
	get("/projects/{project}/settings/{action}", c.inProject(askProjectAction))
	post("/projects/{project}/settings/{action}", c.inProject(doProjectAction))
	get("/projects/{project}/settings/members", c.inProject(showMembers))
	post("/projects/{project}/settings/members", c.inProject(forAdministrators(inviteMember)))
	post("/projects/{project}/settings/members/{user}", c.inProject(forAdministrators(changeLevel)))
	get("/projects/{project}/settings/members/{user}/remove", c.inProject(askRemoveMember))
	post("/projects/{project}/settings/members/{user}/remove", c.inProject(forAdministrators(removeMember)))
	post("/projects/{project}/settings/invitations/{invitation}/withdraw", c.inProject(forAdministrators(withdrawInvitation)))

	for name, a := range c.assets {
		c.mux.HandleFunc("GET "+a.path, c.serveAsset(name))
	}
	c.mux.HandleFunc(c.Prefix+"/", c.open(func(*request) error { return errNoPage }))
}

// protect sets the headers that all answers have, and answers panics.
func (c *console) protect(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'")
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
				c.Log.ErrorContext(r.Context(), "panic in the console", "request_id", requestID(r), "page", r.Pattern, "panic", internal.OfPanic(v), "stack", string(debug.Stack()))
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

	by     *management.Principal     // nil: nobody is signed in
	at     *management.ProjectAccess // nil: the page is about no project
	ref    string                    // the project as methods of the Service take it
	layout layout
}

type page func(*request) error

// open serves a page for everybody.
func (c *console) open(p page) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		q := &request{Request: r, w: w, c: c, layout: layout{Prefix: c.Prefix, Posted: r.Method == http.MethodPost}}
		if err := q.parse(); err != nil {
			q.fail(err)
			return
		}
		if err := p(q); err != nil {
			q.fail(err)
		}
	}
}

// signedIn serves a page for people who are signed in, and sends others to sign in.
func (c *console) signedIn(p page) http.HandlerFunc {
	return c.open(func(q *request) error {
		principal, err := c.Service.AuthenticateSession(q.Context(), c.token(q.Request), c.client(q.Request))
		if errors.Is(err, management.ErrUnauthenticated) {
			if q.Method != http.MethodGet && q.Method != http.MethodHead {
				return q.keepPosted()
			}
			to := c.Prefix + "/signin"
			if next := c.within(q.URL.RequestURI()); next != "" && next != "/" {
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
	})
}

// inProject serves a page about a project that the user may see.
func (c *console) inProject(p page) http.HandlerFunc {
	return c.signedIn(func(q *request) error {
		q.ref = q.PathValue("project")
		if _, err := strconv.ParseInt(q.ref, 10, 64); err != nil {
			return errNoPage
		}
		at, err := c.Service.Access(q.Context(), q.by, q.ref, "feature_flag:read")
		if errors.Is(err, management.ErrForbidden) || errors.Is(err, management.ErrNotFound) {
			return errNoPage // whether there is such a project is nobody's business (management.md §17.4)
		}
		if err != nil {
			return err
		}
		q.enterProject(at)
		return p(q)
	})
}

// enterProject makes a page be about a project.
func (q *request) enterProject(at *management.ProjectAccess) {
	q.at = at
	q.layout.Project, q.layout.Organization = at.Project.Name, at.Organization.Name
	base := q.projectPath("")
	q.layout.Home = base + "/flags"
	for _, screen := range []navItem{{Name: "Flags", URL: base + "/flags"}, {Name: "Cohorts", URL: base + "/cohorts"}, {Name: "Surveys", URL: base + "/surveys"}, {Name: "Persons", URL: base + "/persons", Also: base + "/groups"}, {Name: "Early access", URL: base + "/features"}, {Name: "Why", URL: base + "/why"}, {Name: "Activity", URL: base + "/activity"}, {Name: "Problems", URL: base + "/problems"}, {Name: "Settings", URL: base + "/settings"}} {
		if screen.Name == "Surveys" && q.c.Surveys == nil {
			continue
		}
		screen.Current = strings.HasPrefix(q.URL.Path, screen.URL) || screen.Also != "" && strings.HasPrefix(q.URL.Path, screen.Also)
		q.layout.Nav = append(q.layout.Nav, screen)
	}
}

// ofAccount serves a page about the user's account, beside the screens of the project that
// the user has used last.
func (c *console) ofAccount(p page) http.HandlerFunc {
	return c.signedIn(func(q *request) error {
		switch at, err := c.Service.Access(q.Context(), q.by, "@current", "feature_flag:read"); {
		case err == nil:
			q.enterProject(at)
		case !errors.Is(err, management.ErrNotFound) && !errors.Is(err, management.ErrForbidden):
			return err
		}
		return p(q)
	})
}

// forAdministrators serves a page that does what only administrators may. The Service
// refuses others, and the answer says so in words.
func forAdministrators(p page) page {
	return func(q *request) error {
		err := p(q)
		if errors.Is(err, management.ErrForbidden) && !q.administers() {
			return &pageError{http.StatusForbidden, "You may not do that", "Nothing was changed. Administrators and owners of " + q.at.Organization.Name + " may do it; you are a " + levelWords[q.at.Level] + ".", false}
		}
		return err
	}
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
	at, err := q.c.Service.Access(q.Context(), q.by, "@current", "feature_flag:read")
	if err == nil {
		return q.redirect(q.c.Prefix + "/projects/" + strconv.FormatInt(at.Project.ID, 10) + "/flags")
	}
	if !errors.Is(err, management.ErrNotFound) && !errors.Is(err, management.ErrForbidden) {
		return err
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
