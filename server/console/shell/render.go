package shell

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
	"github.com/flagstaff-go/flagstaff/server/console/shell/forms"
)

//go:embed templates
var templateFiles embed.FS

// Moment returns a time as pages show it. Templates ask for it.
func (l *Layout) Moment(t time.Time) Moment { return l.c.moment(t) }

// parsePages parses the templates of all groups. They have few functions: the path of a static
// file, a list of what is passed to a partial, what a field says that has an error, and things in
// words.
func parsePages(assets map[string]asset, groups []Group) (pages, error) {
	base, err := template.New("").Funcs(template.FuncMap{
		"asset":  func(name string) string { return assets[name].path },
		"list":   func(values ...any) []any { return values },
		"author": AuthorName, "initials": forms.Initials,
		"escape": url.PathEscape, "name": forms.FullName, "place": words.Place, "pretty": forms.Pretty,
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
	out := make(pages)
	for _, g := range groups {
		if err := out.parse(base, g.Templates); err != nil {
			return nil, fmt.Errorf("console: %w", err)
		}
	}
	return out, nil
}

// parse adds the templates of a group, which has the partials of all, and its own.
func (p pages) parse(base *template.Template, templates []fs.FS) error {
	base, err := base.Clone()
	if err != nil {
		return err
	}
	for _, pattern := range []string{"templates/partials/*.html", "templates/*.html"} {
		for _, from := range templates {
			files, err := fs.Glob(from, pattern)
			if err != nil {
				return err
			}
			for _, file := range files {
				t, name := base, strings.TrimSuffix(path.Base(file), ".html")
				if path.Dir(file) == "templates" {
					if t, err = base.Clone(); err != nil {
						return err
					}
					if p[name] != nil {
						return fmt.Errorf("two templates are called %s", name)
					}
					p[name] = t.Option("missingkey=error")
				}
				if _, err := t.ParseFS(from, file); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// within puts a view into its layout.
func (l *Layout) within(around Layout) { *l = around }

// Render answers with a page. Nothing is sent of a page that fails.
func (q *Request) Render(status int, name string, view interface{ within(Layout) }) error {
	view.within(q.Layout)
	return q.RenderPart(status, name, "layout", view)
}

// RenderPart answers with one template of a page.
func (q *Request) RenderPart(status int, name, part string, view any) error {
	var b bytes.Buffer
	if err := q.c.pages[name].ExecuteTemplate(&b, part, view); err != nil {
		q.c.Log.ErrorContext(q.Context(), "a template of the console failed", "page", name, "error", err)
		http.Error(q.W, "The page cannot be shown, because of an error of the program.", http.StatusInternalServerError)
		return nil
	}
	q.W.Header().Set("Content-Type", "text/html; charset=utf-8")
	send(q.W, q.Request, status, b.Bytes(), Compressed(b.Bytes()))
	return nil
}

// Compressed returns what a body is in gzip.
func Compressed(body []byte) []byte {
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
	_, _ = WriteSlowly(w, body) // the browser has gone
}

// Send answers with a body whose type is set.
func (q *Request) Send(body []byte) error {
	send(q.W, q.Request, http.StatusOK, body, Compressed(body))
	return nil
}

// maxStall is how long a browser may take for a piece of an answer. The deadline of the
// [http.Server] is for answers as a whole, and long ones may take longer.
const maxStall = 30 * time.Second

// WriteSlowly writes a part of an answer to a browser of any speed.
func WriteSlowly(w http.ResponseWriter, b []byte) (written int, err error) {
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

// A Moment is a time as pages show it.
type Moment struct {
	Words string // relative to now; "" if there is none
	Exact string // for people
	ISO   string // for programs
}

func (c *console) moment(t time.Time) Moment {
	t = t.UTC()
	return Moment{ago(c.Now().Sub(t)), t.Format("2 January 2006, 15:04:05 UTC"), t.Format(time.RFC3339)}
}

// Moment returns a time as pages show it.
func (q *Request) Moment(t time.Time) Moment { return q.c.moment(t) }

// MomentOf returns a time as pages show it, or an empty one for nil.
func (q *Request) MomentOf(t *time.Time) Moment {
	if t == nil {
		return Moment{}
	}
	return q.Moment(*t)
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
	n := func(n int, unit string) string { return forms.Count(n, unit, unit+"s") }
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

// NameOf returns how a user is called.
func NameOf(u *storage.User) string { return forms.FullName(u.FirstName, u.LastName, u.Email) }

// AuthorName returns how the author of something is called.
func AuthorName(u *management.Author) string {
	if u == nil {
		return "the system"
	}
	return forms.FullName(u.FirstName, u.LastName, u.Email)
}
