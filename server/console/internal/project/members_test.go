package project_test

import (
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/storage"
	"github.com/flagstaff-go/flagstaff/server/console/consoletest"
)

func init() {
	actions = append(actions,
		action{
			Route: "/projects/{project}/settings/members", Irreversible: "the invitation can be withdrawn on the page",
			Tested: "TestInvite",
		},
		action{Route: "/projects/{project}/settings/members/{user}", Run: func(s *consoletest.Site) (string, url.Values) {
			s.Member("bob@example.com", storage.LevelMember)
			return "/projects/1/settings/members/" + s.UserID("bob@example.com"), url.Values{"level": {"8"}, "was": {"1"}}
		}},
		action{
			Route: "/projects/{project}/settings/members/{user}/remove", Asks: consoletest.Confirm,
			Irreversible: "the person has to agree again, by another invitation", Tested: "TestMembers",
		},
		action{
			Route:        "/projects/{project}/settings/invitations/{invitation}/withdraw",
			Irreversible: "the link is not kept; another invitation makes another", Tested: "TestInvite",
		},
	)
}

const membersPath = "/projects/1/settings/members"

// user returns the UUID of a user.
func user(s *consoletest.Site, email string) string {
	s.T.Helper()
	u, err := s.Store.Users().Get(s.T.Context(), storage.UserEmail.Is(email))
	consoletest.Fatal(s.T, err)
	return u.UUID.String()
}

func level(s *consoletest.Site, email string) int {
	s.T.Helper()
	u, err := s.Store.Users().Get(s.T.Context(), storage.UserEmail.Is(email))
	consoletest.Fatal(s.T, err)
	in := storage.MembershipOrganization.Is(s.Organization().ID)
	m, err := s.Store.Memberships().Get(s.T.Context(), in, storage.MembershipUser.Is(u.ID))
	consoletest.Fatal(s.T, err)
	return m.Level
}

func TestMembers(t *testing.T) {
	s := consoletest.NewSite(t)
	s.Member("bob@example.com", storage.LevelMember)
	s.Get(membersPath).Want(200, "Members of Acme", consoletest.Address+" you", "bob@example.com", "2 members").CheckPage()
	bob := membersPath + "/" + user(s, "bob@example.com")
	s.Post(bob, url.Values{"level": {"8"}, "was": {"1"}}).Leads(membersPath + "?done=level")
	if got := level(s, "bob@example.com"); got != storage.LevelAdmin {
		t.Errorf("level %d", got)
	}
	s.Get(membersPath+"?done=level").Want(200, "The level was changed.").CheckPage()
	s.Post(bob, url.Values{"level": {"15"}, "was": {"1"}}).Want(409,
		"Somebody else has changed the level of bob@example.com meanwhile, to administrator.").CheckPage()
	s.Post(bob, url.Values{"level": {"3"}, "was": {"8"}}).Want(422, `"3" is not a valid choice.`).CheckPage()
	own := membersPath + "/" + user(s, consoletest.Address)
	s.Post(own, url.Values{"level": {"1"}, "was": {"15"}}).Want(422, "An organization needs an owner.").CheckPage()
	s.Get(own+"/remove").Want(200, "Leave Acme?").CheckPage()
	s.Post(own+"/remove", nil).Want(422, "Cannot leave the organization as its owner.").CheckPage()

	s.SignIn("bob@example.com") // an administrator
	page := s.Get(membersPath).Want(200, "Invite member")
	if strings.Contains(page.Body, `value="15"`) || strings.Contains(page.Body, user(s, consoletest.Address)+"/remove") {
		t.Error("an administrator is offered what owners may")
	}
	s.Post(own, url.Values{"level": {"1"}, "was": {"15"}}).Want(403,
		"You cannot change members of a higher level than your own.").CheckPage()
	s.Post(own+"/remove", nil).Want(403)

	s.SignIn(consoletest.Address)
	s.Get(bob+"/remove").Want(200, "Remove bob@example.com from Acme?").CheckPage()
	s.Post(bob+"/remove", nil).Leads(membersPath + "?done=removed")
	s.Post(bob+"/remove", nil).Want(404)
	s.Get(membersPath + "/x/remove").Want(404)

	s.Member("cyd@example.com", storage.LevelMember)
	s.SignIn("cyd@example.com")
	page = s.Get(membersPath).Want(200, "Administrators and owners may invite people", "Leave…")
	page.CheckPage()
	s.Post(membersPath, url.Values{"email": {"x@example.com"}, "level": {"1"}}).Want(403,
		"Administrators and owners of Acme may do it; you are a member.")
	s.Get(own+"/remove").Want(403, "Only administrators and owners of Acme may do this.").CheckPage()
	s.Post(own, url.Values{"level": {"1"}, "was": {"15"}}).Want(403)
	s.Post(own+"/remove", nil).Want(403)
	s.Post(membersPath+"/"+user(s, "cyd@example.com")+"/remove", nil).Leads("/projects")
}

// invite invites an address, and returns the path of the link.
func invite(s *consoletest.Site, form url.Values) string {
	s.T.Helper()
	a := s.Post(membersPath, form).Want(200, "Invited", "shown only now")
	a.CheckPage()
	link := regexp.MustCompile(`value="https://flags\.example\.com/console(/join/[^"]+)"`).FindStringSubmatch(a.Body)
	if link == nil {
		s.T.Fatalf("no link: %s", consoletest.Words(a.Body))
	}
	return link[1]
}

func TestInvite(t *testing.T) {
	s := consoletest.NewSite(t)
	owner := s.Token
	form := s.Get(membersPath).Want(200, "This server sends no mail").Form("invite")
	for _, tt := range []struct{ name, typed, says string }{
		{"email", "nobody", "Enter a valid email address."},
		{"first_name", "<b>", "not allowed"},
		{"level", "2", "is not a valid choice"},
	} {
		a := s.Post(membersPath, consoletest.With(form, "email", "eve@example.com", tt.name, tt.typed)).Want(422, tt.says)
		a.CheckPage()
		if !strings.Contains(a.Body, `id="`+tt.name+`-error"`) {
			t.Errorf("%s: the message is not beside the field", tt.name)
		}
	}
	s.Post(membersPath, consoletest.With(form, "email", consoletest.Address)).Want(409, "The user is a member already.").CheckPage()

	link := invite(s, consoletest.With(form, "email", "eve@example.com", "first_name", "Eve", "level", "8"))
	page := s.Get(membersPath).Want(200, "eve@example.com administrator")
	if strings.Contains(page.Body, link) {
		t.Error("the link is shown again")
	}
	s.Get(link).Want(200, "You are signed in as "+consoletest.Address, "The invitation is for another account").CheckPage()
	s.Post(link, url.Values{"password": {consoletest.Password}}).Want(422, "for another email address").CheckPage()
	out := s.Post("/signout", url.Values{"next": {link}})
	out.Leads(link)

	s.Token = ""
	page = s.Get(link).Want(200, "Join Acme", "You are invited as eve@example.com")
	page.CheckPage()
	join := page.Form("")
	if join.Get("first_name") != "Eve" {
		t.Errorf("form %v", join)
	}
	a := s.Post(link, consoletest.With(join, "password", "short", "last_name", "Adams")).Want(422)
	a.CheckPage()
	if !strings.Contains(a.Body, `value="Adams"`) || strings.Contains(a.Body, `"short"`) ||
		!strings.Contains(a.Body, `id="password-error"`) {
		t.Errorf("the page after a refused password: %s", a.Body)
	}
	s.Post(link, consoletest.With(join, "first_name", "<b>", "password", consoletest.Password)).Want(422, "not allowed").CheckPage()
	a = s.Post(link, consoletest.With(join, "password", consoletest.Password))
	a.Leads("/")
	s.Token = a.Cookie().Value
	s.Get("/projects/1/flags").Want(200)
	if got := level(s, "eve@example.com"); got != storage.LevelAdmin {
		t.Errorf("level %d", got)
	}
	u, err := s.Store.Users().Get(t.Context(), storage.UserEmail.Is("eve@example.com"))
	consoletest.Fatal(t, err)
	if u.FirstName != "Eve" || u.EmailVerified == nil || *u.EmailVerified {
		t.Errorf("a link that the inviter has seen proves the address: %+v", u)
	}
	s.Token = ""
	s.Get(link).Want(410, "The link is not valid any more", "was used already").CheckPage()
	s.Post(link, consoletest.With(join, "password", consoletest.Password)).Want(410)

	// An account that exists joins when its user is signed in, and not before.
	_, err = s.Service.CreateUser(t.Context(), management.NewUser{Email: "dan@example.com", Password: consoletest.Password})
	consoletest.Fatal(t, err)
	s.Token = owner
	s.SignIn(consoletest.Address)
	link = invite(s, consoletest.With(form, "email", "dan@example.com"))
	s.Token = ""
	page = s.Get(link).Want(200, "There is an account with this address. Sign in with it to join.")
	page.CheckPage()
	if !strings.Contains(page.Body, `/console/signin?next=`+url.QueryEscape(link)) {
		t.Error("the page does not lead to signing in and back")
	}
	s.Post(link, nil).Want(401)
	s.SignIn("dan@example.com")
	s.Get(link).Want(200, "Join Acme").CheckPage()
	s.Post(link, nil).Leads("/projects?done=joined")
	s.Get("/projects?done=joined").Want(200, "You are a member now.", "Shop")

	// Withdrawn, and expired.
	s.SignIn(consoletest.Address)
	link = invite(s, consoletest.With(form, "email", "fay@example.com"))
	page = s.Get(membersPath)
	withdraw := regexp.MustCompile(`/console(/projects/1/settings/invitations/[^/]+/withdraw)`).FindStringSubmatch(page.Body)[1]
	s.Post(withdraw, nil).Leads(membersPath + "?done=withdrawn")
	s.Post(withdraw, nil).Want(404)
	s.Get(link).Want(410)
	link = invite(s, consoletest.With(form, "email", "gus@example.com"))
	s.Ahead += 73 * time.Hour
	s.Get(membersPath).Want(200, "gus@example.com expired").CheckPage()
	s.Get(link).Want(410, "It has expired").CheckPage()
}
