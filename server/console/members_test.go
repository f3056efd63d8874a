package console_test

import (
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

func init() {
	actions = append(actions,
		action{
			route: "/projects/{project}/settings/members", irreversible: "the invitation can be withdrawn on the page",
			tested: "TestInvite",
		},
		action{route: "/projects/{project}/settings/members/{user}", run: func(s *site) (string, url.Values) {
			s.member("bob@example.com", storage.LevelMember)
			return "/projects/1/settings/members/" + s.userID("bob@example.com"), url.Values{"level": {"8"}, "was": {"1"}}
		}},
		action{
			route: "/projects/{project}/settings/members/{user}/remove", asks: confirm,
			irreversible: "the person has to agree again, by another invitation", tested: "TestMembers",
		},
		action{
			route:        "/projects/{project}/settings/invitations/{invitation}/withdraw",
			irreversible: "the link is not kept; another invitation makes another", tested: "TestInvite",
		},
	)
}

const membersPath = "/projects/1/settings/members"

// user returns the UUID of a user.
func (s *site) user(email string) string {
	s.t.Helper()
	u, err := s.store.UserByEmail(s.t.Context(), email)
	fatal(s.t, err)
	return u.UUID.String()
}

func (s *site) level(email string) int {
	s.t.Helper()
	u, err := s.store.UserByEmail(s.t.Context(), email)
	fatal(s.t, err)
	m, err := s.store.Membership(s.t.Context(), s.organization().ID, u.ID)
	fatal(s.t, err)
	return m.Level
}

func TestMembers(t *testing.T) {
	s := newSite(t)
	s.member("bob@example.com", storage.LevelMember)
	s.get(membersPath).want(200, "Members of Acme", address+" you", "bob@example.com", "2 members").checkPage()
	bob := membersPath + "/" + s.user("bob@example.com")
	s.post(bob, url.Values{"level": {"8"}, "was": {"1"}}).leads(membersPath + "?done=level")
	if got := s.level("bob@example.com"); got != storage.LevelAdmin {
		t.Errorf("level %d", got)
	}
	s.get(membersPath+"?done=level").want(200, "The level was changed.").checkPage()
	s.post(bob, url.Values{"level": {"15"}, "was": {"1"}}).want(409,
		"Somebody else has changed the level of bob@example.com meanwhile, to administrator.").checkPage()
	s.post(bob, url.Values{"level": {"3"}, "was": {"8"}}).want(422, `"3" is not a valid choice.`).checkPage()
	own := membersPath + "/" + s.user(address)
	s.post(own, url.Values{"level": {"1"}, "was": {"15"}}).want(422, "An organization needs an owner.").checkPage()
	s.get(own+"/remove").want(200, "Leave Acme?").checkPage()
	s.post(own+"/remove", nil).want(422, "Cannot leave the organization as its owner.").checkPage()

	s.signIn("bob@example.com") // an administrator
	page := s.get(membersPath).want(200, "Invite member")
	if strings.Contains(page.body, `value="15"`) || strings.Contains(page.body, s.user(address)+"/remove") {
		t.Error("an administrator is offered what owners may")
	}
	s.post(own, url.Values{"level": {"1"}, "was": {"15"}}).want(403,
		"You cannot change members of a higher level than your own.").checkPage()
	s.post(own+"/remove", nil).want(403)

	s.signIn(address)
	s.get(bob+"/remove").want(200, "Remove bob@example.com from Acme?").checkPage()
	s.post(bob+"/remove", nil).leads(membersPath + "?done=removed")
	s.post(bob+"/remove", nil).want(404)
	s.get(membersPath + "/x/remove").want(404)

	s.member("cyd@example.com", storage.LevelMember)
	s.signIn("cyd@example.com")
	page = s.get(membersPath).want(200, "Administrators and owners may invite people", "Leave…")
	page.checkPage()
	s.post(membersPath, url.Values{"email": {"x@example.com"}, "level": {"1"}}).want(403,
		"Administrators and owners of Acme may do it; you are a member.")
	s.get(own+"/remove").want(403, "Only administrators and owners of Acme may do this.").checkPage()
	s.post(own, url.Values{"level": {"1"}, "was": {"15"}}).want(403)
	s.post(own+"/remove", nil).want(403)
	s.post(membersPath+"/"+s.user("cyd@example.com")+"/remove", nil).leads("/projects")
}

// invite invites an address, and returns the path of the link.
func (s *site) invite(form url.Values) string {
	s.t.Helper()
	a := s.post(membersPath, form).want(200, "Invited", "shown only now")
	a.checkPage()
	link := regexp.MustCompile(`value="https://flags\.example\.com/console(/join/[^"]+)"`).FindStringSubmatch(a.body)
	if link == nil {
		s.t.Fatalf("no link: %s", words(a.body))
	}
	return link[1]
}

func TestInvite(t *testing.T) {
	s := newSite(t)
	owner := s.token
	form := s.get(membersPath).want(200, "This server sends no mail").form("invite")
	for _, tt := range []struct{ name, typed, says string }{
		{"email", "nobody", "Enter a valid email address."},
		{"first_name", "<b>", "not allowed"},
		{"level", "2", "is not a valid choice"},
	} {
		a := s.post(membersPath, with(form, "email", "eve@example.com", tt.name, tt.typed)).want(422, tt.says)
		a.checkPage()
		if !strings.Contains(a.body, `id="`+tt.name+`-error"`) {
			t.Errorf("%s: the message is not beside the field", tt.name)
		}
	}
	s.post(membersPath, with(form, "email", address)).want(409, "The user is a member already.").checkPage()

	link := s.invite(with(form, "email", "eve@example.com", "first_name", "Eve", "level", "8"))
	page := s.get(membersPath).want(200, "eve@example.com administrator")
	if strings.Contains(page.body, link) {
		t.Error("the link is shown again")
	}
	s.get(link).want(200, "You are signed in as "+address, "The invitation is for another account").checkPage()
	s.post(link, url.Values{"password": {password}}).want(422, "for another email address").checkPage()
	out := s.post("/signout", url.Values{"next": {link}})
	out.leads(link)

	s.token = ""
	page = s.get(link).want(200, "Join Acme", "You are invited as eve@example.com")
	page.checkPage()
	join := page.form("")
	if join.Get("first_name") != "Eve" {
		t.Errorf("form %v", join)
	}
	a := s.post(link, with(join, "password", "short", "last_name", "Adams")).want(422)
	a.checkPage()
	if !strings.Contains(a.body, `value="Adams"`) || strings.Contains(a.body, `"short"`) ||
		!strings.Contains(a.body, `id="password-error"`) {
		t.Errorf("the page after a refused password: %s", a.body)
	}
	s.post(link, with(join, "first_name", "<b>", "password", password)).want(422, "not allowed").checkPage()
	a = s.post(link, with(join, "password", password))
	a.leads("/")
	s.token = a.cookie().Value
	s.get("/projects/1/flags").want(200)
	if got := s.level("eve@example.com"); got != storage.LevelAdmin {
		t.Errorf("level %d", got)
	}
	u, err := s.store.UserByEmail(t.Context(), "eve@example.com")
	fatal(t, err)
	if u.FirstName != "Eve" || u.EmailVerified == nil || *u.EmailVerified {
		t.Errorf("a link that the inviter has seen proves the address: %+v", u)
	}
	s.token = ""
	s.get(link).want(410, "The link is not valid any more", "was used already").checkPage()
	s.post(link, with(join, "password", password)).want(410)

	// An account that exists joins when its user is signed in, and not before.
	_, err = s.service.CreateUser(t.Context(), management.NewUser{Email: "dan@example.com", Password: password})
	fatal(t, err)
	s.token = owner
	s.signIn(address)
	link = s.invite(with(form, "email", "dan@example.com"))
	s.token = ""
	page = s.get(link).want(200, "There is an account with this address. Sign in with it to join.")
	page.checkPage()
	if !strings.Contains(page.body, `/console/signin?next=`+url.QueryEscape(link)) {
		t.Error("the page does not lead to signing in and back")
	}
	s.post(link, nil).want(401)
	s.signIn("dan@example.com")
	s.get(link).want(200, "Join Acme").checkPage()
	s.post(link, nil).leads("/projects?done=joined")
	s.get("/projects?done=joined").want(200, "You are a member now.", "Shop")

	// Withdrawn, and expired.
	s.signIn(address)
	link = s.invite(with(form, "email", "fay@example.com"))
	page = s.get(membersPath)
	withdraw := regexp.MustCompile(`/console(/projects/1/settings/invitations/[^/]+/withdraw)`).FindStringSubmatch(page.body)[1]
	s.post(withdraw, nil).leads(membersPath + "?done=withdrawn")
	s.post(withdraw, nil).want(404)
	s.get(link).want(410)
	link = s.invite(with(form, "email", "gus@example.com"))
	s.ahead += 73 * time.Hour
	s.get(membersPath).want(200, "gus@example.com expired").checkPage()
	s.get(link).want(410, "It has expired").checkPage()
}
