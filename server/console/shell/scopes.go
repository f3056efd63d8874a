package shell

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/flagstaff-go/flagstaff/management"
)

// navigation returns the entries for the project of a page.
func (q *Request) navigation() (list []NavItem) {
	entries := slices.DeleteFunc(slices.Clone(q.c.screens), func(s *Screen) bool { return s.Entry == 0 })
	slices.SortFunc(entries, func(a, b *Screen) int { return cmp.Compare(a.Entry, b.Entry) })
	for _, s := range entries {
		url := q.ProjectPath(s.Path)
		current := q.screen.Under == s.Title || q.URL.Path == url || strings.HasPrefix(q.URL.Path, url+"/")
		list = append(list, NavItem{s.Title, url, current, s.Icon, s.Go})
	}
	return list
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
