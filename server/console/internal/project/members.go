package project

import (
	"errors"
	"net/http"
	"path"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/optional"
	"github.com/flagstaff-go/flagstaff/management/storage"
	"github.com/flagstaff-go/flagstaff/server/console/shell"
	"github.com/flagstaff-go/flagstaff/server/console/shell/forms"
)

var membersScreen = shell.Screen{
	Title: "Members", Under: "Settings",
	Scope: shell.InProject, Pages: map[string]shell.Page{
		"GET /projects/{project}/settings/members":                            showMembers,
		"POST /projects/{project}/settings/members":                           forAdministrators(inviteMember),
		"POST /projects/{project}/settings/members/{user}":                    forAdministrators(changeLevel),
		"GET /projects/{project}/settings/members/{user}/remove":              askRemoveMember,
		"POST /projects/{project}/settings/members/{user}/remove":             forAdministrators(removeMember),
		"POST /projects/{project}/settings/invitations/{invitation}/withdraw": forAdministrators(withdrawInvitation),
	},
	Done: map[string]string{
		"level":     "The level was changed.",
		"removed":   "The member was removed.",
		"withdrawn": "The invitation was withdrawn. Its link is not valid any more.",
	},
	Undo: map[string]shell.Undoer{"Member": undoMember},
}

type memberListView struct {
	shell.Layout
	Tabs                 []shell.NavItem
	May                  bool // the user is an administrator
	Organization, Action string
	Members              []*management.MemberView
	Invitations          []*management.InvitationView
	Cut                  int // invitations that are not listed
	shell.Pager
	Mail bool
	forms.Checked

	Email, FirstName string
	Levels           []forms.Option

	Self int64 // the ID of the user
	own  int   // the level of the user
}

const (
	membersOnPage     = 100 // on a page
	invitationsListed = 200
)

func membersPath(q *shell.Request) string { return settingsPath(q) + "/members" }

func showMembers(q *shell.Request) error {
	q.Notice()
	return members(q, http.StatusOK, new(memberListView))
}

// noticed returns a list of members with a notice.
func noticed(notice string) *memberListView {
	v := new(memberListView)
	v.Fail("", "%s", notice)
	return v
}

// levelOptions are the levels that a user may give.
func levelOptions(own, chosen int) (list []forms.Option) {
	for _, level := range []int{storage.LevelMember, storage.LevelAdmin, storage.LevelOwner} {
		if level <= own {
			list = append(list, forms.Option{Value: strconv.Itoa(level), Label: levelWords[level], Selected: level == chosen})
		}
	}
	return list
}

// LevelsOf returns the levels that the user may give a member, none if that is not allowed. The
// template asks for it.
func (v *memberListView) LevelsOf(m *management.MemberView) []forms.Option {
	if !v.May || m.Level > v.own {
		return nil
	}
	return levelOptions(v.own, m.Level)
}

// LevelOf says which level somebody has. The template asks for it.
func (v *memberListView) LevelOf(level int) string { return levelWords[level] }

// members shows the members of the organization, and what v says of the form.
func members(q *shell.Request, status int, v *memberListView) error {
	organization := q.At.Organization.ID.String()
	page := shell.PageNumber(q.Form)
	found, err := q.Service.ListMembers(q.Context(), q.By, organization, membersOnPage, (page-1)*membersOnPage)
	if err != nil {
		return err
	}
	if page > 1 && len(found.Items) == 0 {
		return shell.ErrNoPage
	}
	v.Tabs, v.May, v.Organization, v.Action, v.Mail = settingsTabs(q), administers(q), q.At.Organization.Name, membersPath(q),
		q.Service.MailAvailable()
	if v.Levels == nil {
		v.Levels = levelOptions(q.At.Level, storage.LevelMember)
	}
	v.Members, v.Self, v.own = found.Items, q.By.User.ID, q.At.Level
	v.Pager = shell.Listing{Path: v.Action}.Page(page, membersOnPage, len(v.Members), found.Total, "member", "members")
	if v.May {
		invitations, err := q.Service.ListInvitations(q.Context(), q.By, organization, invitationsListed, 0)
		if err != nil {
			return err
		}
		v.Invitations, v.Cut = invitations.Items, invitations.Total-len(invitations.Items)
	}
	return q.Render(status, "members", v)
}

// inviteMember invites the reader of an address, and shows the link.
func inviteMember(q *shell.Request) error {
	level := forms.Atoi(q.PostForm.Get("level"))
	v := &memberListView{Email: q.PostForm.Get("email"), FirstName: q.PostForm.Get("first_name"), Levels: levelOptions(q.At.Level, level)}
	i, err := q.Service.Invite(q.Context(), q.By, q.At.Organization.ID.String(), management.InvitationPatch{
		Email: optional.Of(v.Email), FirstName: optional.Of(v.FirstName), Level: optional.Of(level), ShowLink: optional.Of(true),
	})
	if e, ok := errors.AsType[*management.Error](err); ok && !errors.Is(e, management.ErrForbidden) &&
		!errors.Is(e, management.ErrNotFound) {
		v.Place(e, map[string]string{"target_email": "email", "first_name": "first_name", "level": "level"})
		return members(q, shell.FailureOf(e).Status, v)
	}
	if err != nil {
		return err
	}
	text := "Hand this link to the reader of " + i.Email + ", in a way that no one else reads."
	if i.Mailed {
		text = "A message with a link is on its way to " + i.Email + ". You can also hand over this link yourself."
	}
	return q.ShowOnce("Invited", &shell.ShownView{
		Text:  text + " It is shown only now, works once, and is valid for three days.",
		Label: "Link for " + i.Email, Value: q.Origin() + q.Config.Prefix + "/join/" + path.Base(i.Link), Back: membersPath(q),
		BackName: "To the members",
	})
}

func withdrawInvitation(q *shell.Request) error {
	err := q.Service.WithdrawInvitation(q.Context(), q.By, q.At.Organization.ID.String(), q.PathValue("invitation"))
	if err != nil {
		return err
	}
	return q.Redirect(membersPath(q) + "?done=withdrawn")
}

// member returns the member that a path names.
func member(q *shell.Request) (*management.MemberView, error) {
	return memberByID(q, q.PathValue("user"))
}

func memberByID(q *shell.Request, id string) (*management.MemberView, error) {
	for offset := 0; ; offset += membersOnPage {
		list, err := q.Service.ListMembers(q.Context(), q.By, q.At.Organization.ID.String(), membersOnPage, offset)
		if err != nil {
			return nil, err
		}
		for _, m := range list.Items {
			if m.User.UUID.String() == id {
				return m, nil
			}
		}
		if len(list.Items) == 0 {
			return nil, shell.ErrNoPage
		}
	}
}

func memberName(m *management.MemberView) string {
	return forms.FullName(m.User.FirstName, m.User.LastName, m.User.Email)
}

func changeLevel(q *shell.Request) error {
	m, err := member(q)
	if err != nil {
		return err
	}
	level, was := forms.Atoi(q.PostForm.Get("level")), forms.Atoi(q.PostForm.Get("was"))
	if m.Level != was && m.Level != level {
		return members(q, http.StatusConflict,
			noticed("Somebody else has changed the level of "+memberName(m)+" meanwhile, to "+levelWords[m.Level]+". Choose again if "+
				"you want another one."))
	}
	_, err = q.Service.UpdateMember(q.Context(), q.By, q.At.Organization.ID.String(), m.User.UUID.String(),
		management.MemberPatch{Level: optional.Of(level)})
	if e, ok := errors.AsType[*management.Error](err); ok && errors.Is(e, management.ErrInvalid) {
		return members(q, http.StatusUnprocessableEntity, noticed(memberName(m)+" stays "+levelWords[m.Level]+": "+e.Text()))
	}
	if err != nil {
		return err
	}
	return q.Done(membersPath(q), "level", shell.Undo{
		What: "Member", Item: m.User.UUID.String(),
		Mark: strconv.Itoa(m.Level) + " " + strconv.Itoa(level),
	})
}

func askRemoveMember(q *shell.Request) error { return removal(q, http.StatusOK, "") }

// removal asks whether a member shall be removed.
func removal(q *shell.Request, status int, refusal string) error {
	m, err := member(q)
	if err != nil {
		return err
	}
	v := &shell.ConfirmView{
		Text:   []string{"The account stays, and so does what it has created. To come back it needs another invitation."},
		Button: "Remove " + memberName(m), Danger: true, Cancel: membersPath(q), Refusal: refusal,
	}
	title := "Remove " + memberName(m) + " from " + q.At.Organization.Name + "?"
	if m.User.ID == q.By.User.ID {
		title, v.Button = "Leave "+q.At.Organization.Name+"?", "Leave"
		v.Text = []string{"You do not see its projects any more. To come back you need another invitation."}
	}
	if m.User.ID != q.By.User.ID && !administers(q) {
		v.Button, v.Refusal, status = "", "Only administrators and owners of "+q.At.Organization.Name+" may do this.", http.StatusForbidden
	}
	return q.Confirm(status, title, v)
}

func removeMember(q *shell.Request) error {
	err := q.Service.RemoveMember(q.Context(), q.By, q.At.Organization.ID.String(), q.PathValue("user"))
	if e, ok := errors.AsType[*management.Error](err); ok && errors.Is(e, management.ErrInvalid) {
		return removal(q, http.StatusUnprocessableEntity, e.Text())
	}
	if err != nil {
		return err
	}
	if q.PathValue("user") == q.By.User.UUID.String() {
		return q.Redirect(q.Config.Prefix + "/projects")
	}
	return q.Redirect(membersPath(q) + "?done=removed")
}

// undoMember gives a member the level before. The mark has both levels.
func undoMember(q *shell.Request, u shell.Undo) (string, shell.Undo, error) {
	was, now, _ := strings.Cut(u.Mark, " ")
	if _, err := uuid.Parse(u.Item); err != nil {
		return "", shell.Undo{}, shell.ErrForm
	}
	m, err := memberByID(q, u.Item)
	if err != nil {
		return "", shell.Undo{}, err
	}
	if m.Level != forms.Atoi(now) {
		return "", shell.Undo{}, shell.ErrUndo
	}
	patch := management.MemberPatch{Level: optional.Of(forms.Atoi(was))}
	_, err = q.Service.UpdateMember(q.Context(), q.By, q.At.Organization.ID.String(), u.Item, patch)
	return "", shell.Undo{What: u.What, Item: u.Item, Mark: now + " " + was}, err
}
