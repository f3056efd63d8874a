package shell

import (
	"errors"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/server/console/shell/forms"
)

// Origin returns where programs reach the server.
func (q *Request) Origin() string {
	if q.c.URL != "" {
		return q.c.URL
	}
	if q.TLS != nil {
		return "https://" + q.Host
	}
	return "http://" + q.Host
}

// MaxOffered is how many cohorts and flags a field suggests.
const MaxOffered = 500

// GroupTypes returns the group types of the project, none if nothing is captured or the
// user may not see them.
func (q *Request) GroupTypes() ([]forms.Option, error) {
	types, err := Known(q.c.Service.GroupTypes(q.Context(), q.By, q.Ref))
	var out []forms.Option
	for _, t := range types {
		out = append(out, forms.Option{Value: strconv.Itoa(t.GroupTypeIndex), Label: t.GroupType})
	}
	return out, err
}

// A Tab selects things in a state, and says how many there are.
type Tab struct {
	Name, URL, Count string
	Current          bool
}

// OrganizationsListed is how many organizations a page lists.
const OrganizationsListed = 100

// MaxForm is how large the body of a posted form may be. Forms of flags carry definitions,
// which have at most 1 MiB, more than once.
const MaxForm = 4 << 20 // bytes

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

const (
	// MaxUpload is how large the body of a form with files may be: a document, and what is
	// around it.
	MaxUpload = flags.MaxDocument + 1<<20 // bytes

	// maxUploads is how many forms with documents are read, or at work, at once: they are in memory.
	maxUploads = 4
)
