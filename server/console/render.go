package console

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"embed"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/flagstaff-go/flagstaff/internal/words"
	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

//go:embed templates
var templateFiles embed.FS

// A layout is what surrounds all pages. The view of a page embeds it.
type layout struct {
	Prefix, Title               string
	User, Email                 string // "": nobody is signed in
	Project, Organization, Home string
	Nav                         []navItem
	Done                        string    // what was just done, in words
	Undo                        *undoView // takes it back; nil: nothing does
	Posted                      bool      // the page answers a form, which is not saved if it is still here
	ProjectURL                  string    // which the addresses in the project begin with

	c *console
}

// Moment returns a time as pages show it. Templates ask for it.
func (l *layout) Moment(t time.Time) moment { return l.c.moment(t) }

type navItem struct {
	Name, URL string
	Current   bool
}

// pages are the parsed templates, by the name of the page.
type pages map[string]*template.Template

// parsePages parses the templates. They have few functions: the path of a static file, a list
// of what is passed to a partial, what a field says that has an error, and things in words.
func parsePages(assets map[string]asset) (*pages, error) {
	base, err := template.New("").Funcs(template.FuncMap{
		"asset":  func(name string) string { return assets[name].path },
		"list":   func(values ...any) []any { return values },
		"author": authorName, "escape": url.PathEscape, "name": fullName, "place": words.Place, "pretty": pretty,
		"invalid": func(id, message string) template.HTMLAttr {
			if message == "" {
				return ""
			}
			return template.HTMLAttr(`aria-invalid="true" aria-describedby="` + template.HTMLEscapeString(id) + `-error"`)
		},
	}).ParseFS(templateFiles, "templates/partials/*.html")
	if err != nil {
		return nil, fmt.Errorf("console: %w", err)
	}
	files, err := fs.Glob(templateFiles, "templates/*.html")
	if err != nil {
		return nil, fmt.Errorf("console: %w", err)
	}
	out := make(pages)
	for _, file := range files {
		t, err := base.Clone()
		if err == nil {
			t, err = t.ParseFS(templateFiles, file)
		}
		if err != nil {
			return nil, fmt.Errorf("console: %w", err)
		}
		out[strings.TrimSuffix(path.Base(file), ".html")] = t.Option("missingkey=error")
	}
	return &out, nil
}

// within puts a view into its layout.
func (l *layout) within(around layout) { *l = around }

// render answers with a page. Nothing is sent of a page that fails.
func (q *request) render(status int, name string, view interface{ within(layout) }) error {
	view.within(q.layout)
	return q.renderPart(status, name, "layout", view)
}

// renderPart answers with one template of a page.
func (q *request) renderPart(status int, name, part string, view any) error {
	var b bytes.Buffer
	if err := (*q.c.pages)[name].ExecuteTemplate(&b, part, view); err != nil {
		q.c.Log.ErrorContext(q.Context(), "a template of the console failed", "page", name, "error", err)
		http.Error(q.w, "The page cannot be shown, because of an error of the program.", http.StatusInternalServerError)
		return nil
	}
	q.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	send(q.w, q.Request, status, b.Bytes(), compressed(b.Bytes()))
	return nil
}

// compressed returns what a body is in gzip.
func compressed(body []byte) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err := z.Write(body)
	if err := cmp.Or(err, z.Close()); err != nil { // a Buffer takes everything
		panic(err)
	}
	return b.Bytes()
}

// send answers with a body, or with the same in gzip if the browser reads that.
func send(w http.ResponseWriter, r *http.Request, status int, body, zipped []byte) {
	h := w.Header()
	h.Set("Vary", "Accept-Encoding")
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		h.Set("Content-Encoding", "gzip")
		body = zipped
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = writeSlowly(w, body) // the browser has gone
}

// maxStall is how long a browser may take for a piece of an answer. The deadline of the
// [http.Server] is for answers as a whole, and long ones may take longer.
const maxStall = 30 * time.Second

// writeSlowly writes a part of an answer to a browser of any speed.
func writeSlowly(w http.ResponseWriter, b []byte) (written int, err error) {
	const piece = 32 << 10 // bytes
	deadlines := http.NewResponseController(w)
	for len(b) > 0 {
		_ = deadlines.SetWriteDeadline(time.Now().Add(maxStall)) // a connection without deadlines needs none
		n, err := w.Write(b[:min(len(b), piece)])
		written += n
		if err != nil {
			return written, err
		}
		b = b[n:]
	}
	return written, nil
}

// A moment is a time as pages show it.
type moment struct {
	Words string // relative to now; "" if there is none
	Exact string // for people
	ISO   string // for programs
}

func (c *console) moment(t time.Time) moment {
	t = t.UTC()
	return moment{ago(c.Now().Sub(t)), t.Format("2 January 2006, 15:04:05 UTC"), t.Format(time.RFC3339)}
}

func (c *console) momentOf(t *time.Time) moment {
	if t == nil {
		return moment{}
	}
	return c.moment(*t)
}

// ago says how long something is past, or to come, as people say it.
func ago(d time.Duration) string {
	const now = 45 * time.Second
	switch {
	case d <= -now:
		return "in " + span(-d)
	case d < now:
		return "just now"
	}
	return span(d) + " ago"
}

func span(d time.Duration) string {
	n := func(n int, unit string) string { return count(n, unit, unit+"s") }
	const day = 24 * time.Hour
	switch {
	case d < time.Hour:
		return n(max(1, int(d/time.Minute)), "minute")
	case d < day:
		return n(int(d/time.Hour), "hour")
	case d < 60*day:
		return n(int(d/day), "day")
	case d < 730*day:
		return n(int(d/(30*day)), "month")
	}
	return n(int(d/(365*day)), "year")
}

// nameOf returns how a user is called.
func nameOf(u *storage.User) string { return fullName(u.FirstName, u.LastName, u.Email) }

func authorName(u *management.Author) string {
	if u == nil {
		return "the system"
	}
	return fullName(u.FirstName, u.LastName, u.Email)
}

func fullName(first, last, email string) string {
	if name := strings.TrimSpace(first + " " + last); name != "" {
		return name
	}
	return email
}

// count writes a number with a noun, and thousands apart.
func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return number(n) + " " + many
}

// number writes a number with thousands apart.
func number(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
