package shell

import (
	"errors"
	"net/http"
	"net/url"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/optional"
	"github.com/flagstaff-go/flagstaff/server/console/shell/forms"
)

// An invitationView is the page of a link that makes its reader a member.
type invitationView struct {
	Layout
	Organization, Address string
	HasAccount            bool
	Joins                 bool   // the user who is signed in is invited
	Other                 string // the user who is signed in is another one
	SignIn                string
	Next                  string // this page, below the prefix
	forms.Checked

	FirstName, LastName string
}

// showInvitation shows what an invitation is for, and what was typed.
func (q *Request) showInvitation(status int, fill func(*invitationView)) error {
	offer, err := q.c.Service.OpenInvitation(q.Context(), q.PathValue("token"))
	if err != nil {
		return linkError(err)
	}
	by, err := q.c.reader(q.Request)
	if err != nil {
		return err
	}
	q.Layout.Title = "Join " + offer.Organization
	v := &invitationView{
		Organization: offer.Organization, Address: offer.Email, HasAccount: offer.HasAccount, FirstName: offer.FirstName,
		Next: "/join/" + q.PathValue("token"),
	}
	v.SignIn = q.c.Prefix + "/signin?next=" + url.QueryEscape(v.Next)
	switch {
	case by == nil:
	case by.User.Email == offer.Email:
		v.Joins = true
	default:
		v.Other = by.User.Email
	}
	if fill != nil {
		fill(v)
	}
	return q.Render(status, "invitation", v)
}

// acceptInvitation makes the user who is signed in a member, or a new account with the
// address of the invitation, which is signed in then.
func (q *Request) acceptInvitation() error {
	by, err := q.c.reader(q.Request)
	if err != nil {
		return err
	}
	first, last, password := q.PostForm.Get("first_name"), q.PostForm.Get("last_name"), q.PostForm.Get("password")
	var fields management.Acceptance
	if by == nil {
		offer, err := q.c.Service.OpenInvitation(q.Context(), q.PathValue("token"))
		if err != nil {
			return linkError(err)
		}
		if offer.HasAccount { // its user signs in first, whoever has the link
			return q.showInvitation(http.StatusUnauthorized, nil)
		}
		fields = management.Acceptance{FirstName: optional.Of(first), LastName: optional.Of(last), Password: optional.Of(password)}
	}
	member, err := q.c.Service.AcceptInvitation(q.Context(), by, q.PathValue("token"), fields)
	if e, ok := errors.AsType[*management.Error](err); ok && e.Attr != "token" {
		return q.showInvitation(FailureOf(e).Status, func(v *invitationView) {
			v.FirstName, v.LastName = first, last
			v.Place(e, map[string]string{"first_name": "first_name", "last_name": "last_name", "password": "password"})
		})
	}
	if err != nil {
		return linkError(err)
	}
	if by != nil {
		return q.Redirect(q.c.Prefix + "/projects?done=joined")
	}
	o, err := q.c.Service.OpenSession(q.Context(), member.User.Email, password, q.c.client(q.Request))
	if err != nil { // the account is there, and can sign in later
		return q.Redirect(q.c.Prefix + "/signin")
	}
	return q.enter(o)
}
