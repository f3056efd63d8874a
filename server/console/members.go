package console

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
)

var _ = register(screen{
	title: "Members", under: "Settings",
	scope: inProject, pages: map[string]page{
		"GET /projects/{project}/settings/members":                            showMembers,
		"POST /projects/{project}/settings/members":                           forAdministrators(inviteMember),
		"POST /projects/{project}/settings/members/{user}":                    forAdministrators(changeLevel),
		"GET /projects/{project}/settings/members/{user}/remove":              askRemoveMember,
		"POST /projects/{project}/settings/members/{user}/remove":             forAdministrators(removeMember),
		"POST /projects/{project}/settings/invitations/{invitation}/withdraw": forAdministrators(withdrawInvitation),
	},
	done: map[string]string{
		"level":     "The level was changed.",
		"removed":   "The member was removed.",
		"withdrawn": "The invitation was withdrawn. Its link is not valid any more.",
	},
	undo: map[string]undoer{"Member": undoMember},
})

type memberListView struct {
	layout
	Tabs                 []navItem
	May                  bool // the user is an administrator
	Organization, Action string
	Members              []*management.MemberView
	Invitations          []*management.InvitationView
	Cut                  int // invitations that are not listed
	pager
	Mail bool
	checked

	Email, FirstName string
	Levels           []option

	Self int64 // the ID of the user
	own  int   // the level of the user
}

const (
	membersOnPage     = 100 // on a page
	invitationsListed = 200
)

func (q *request) membersPath() string { return q.settingsPath() + "/members" }

func showMembers(q *request) error {
	q.notice()
	return q.members(http.StatusOK, new(memberListView))
}

// noticed returns a list of members with a notice.
func noticed(notice string) *memberListView {
	v := new(memberListView)
	v.fail("", "%s", notice)
	return v
}

// levelOptions are the levels that a user may give.
func levelOptions(own, chosen int) (list []option) {
	for _, level := range []int{storage.LevelMember, storage.LevelAdmin, storage.LevelOwner} {
		if level <= own {
			list = append(list, option{Value: strconv.Itoa(level), Label: levelWords[level], Selected: level == chosen})
		}
	}
	return list
}

// LevelsOf returns the levels that the user may give a member, none if that is not allowed. The
// template asks for it.
func (v *memberListView) LevelsOf(m *management.MemberView) []option {
	if !v.May || m.Level > v.own {
		return nil
	}
	return levelOptions(v.own, m.Level)
}

// LevelOf says which level somebody has. The template asks for it.
func (v *memberListView) LevelOf(level int) string { return levelWords[level] }

// members shows the members of the organization, and what v says of the form.
func (q *request) members(status int, v *memberListView) error {
	organization := q.at.Organization.ID.String()
	page := pageNumber(q.Form)
	found, err := q.c.Service.ListMembers(q.Context(), q.by, organization, membersOnPage, (page-1)*membersOnPage)
	if err != nil {
		return err
	}
	if page > 1 && len(found.Items) == 0 {
		return errNoPage
	}
	v.Tabs, v.May, v.Organization, v.Action, v.Mail = q.settingsTabs(), q.administers(), q.at.Organization.Name, q.membersPath(),
		q.c.Service.MailAvailable()
	if v.Levels == nil {
		v.Levels = levelOptions(q.at.Level, storage.LevelMember)
	}
	v.Members, v.Self, v.own = found.Items, q.by.User.ID, q.at.Level
	v.pager = listing{path: v.Action}.page(page, membersOnPage, len(v.Members), found.Total, "member", "members")
	if v.May {
		invitations, err := q.c.Service.ListInvitations(q.Context(), q.by, organization, invitationsListed, 0)
		if err != nil {
			return err
		}
		v.Invitations, v.Cut = invitations.Items, invitations.Total-len(invitations.Items)
	}
	return q.render(status, "members", v)
}

// atoi returns a whole number, or 0.
func atoi(text string) int {
	n, _ := strconv.Atoi(text) // 0 is as good as what is not a number
	return n
}

// inviteMember invites the reader of an address, and shows the link.
func inviteMember(q *request) error {
	level := atoi(q.PostForm.Get("level"))
	v := &memberListView{Email: q.PostForm.Get("email"), FirstName: q.PostForm.Get("first_name"), Levels: levelOptions(q.at.Level, level)}
	i, err := q.c.Service.Invite(q.Context(), q.by, q.at.Organization.ID.String(), management.InvitationPatch{
		Email: optional.Of(v.Email), FirstName: optional.Of(v.FirstName), Level: optional.Of(level), ShowLink: optional.Of(true),
	})
	if e, ok := errors.AsType[*management.Error](err); ok && !errors.Is(e, management.ErrForbidden) &&
		!errors.Is(e, management.ErrNotFound) {
		v.place(e, map[string]string{"target_email": "email", "first_name": "first_name", "level": "level"})
		return q.members(pageOf(e).status, v)
	}
	if err != nil {
		return err
	}
	text := "Hand this link to the reader of " + i.Email + ", in a way that no one else reads."
	if i.Mailed {
		text = "A message with a link is on its way to " + i.Email + ". You can also hand over this link yourself."
	}
	return q.showOnce("Invited", &shownView{
		Text:  text + " It is shown only now, works once, and is valid for three days.",
		Label: "Link for " + i.Email, Value: q.origin() + q.c.Prefix + "/join/" + path.Base(i.Link), Back: q.membersPath(),
		BackName: "To the members",
	})
}

func withdrawInvitation(q *request) error {
	err := q.c.Service.WithdrawInvitation(q.Context(), q.by, q.at.Organization.ID.String(), q.PathValue("invitation"))
	if err != nil {
		return err
	}
	return q.redirect(q.membersPath() + "?done=withdrawn")
}

// member returns the member that a path names.
func (q *request) member() (*management.MemberView, error) { return q.memberByID(q.PathValue("user")) }

func (q *request) memberByID(id string) (*management.MemberView, error) {
	for offset := 0; ; offset += membersOnPage {
		list, err := q.c.Service.ListMembers(q.Context(), q.by, q.at.Organization.ID.String(), membersOnPage, offset)
		if err != nil {
			return nil, err
		}
		for _, m := range list.Items {
			if m.User.UUID.String() == id {
				return m, nil
			}
		}
		if len(list.Items) == 0 {
			return nil, errNoPage
		}
	}
}

func memberName(m *management.MemberView) string {
	return fullName(m.User.FirstName, m.User.LastName, m.User.Email)
}

func changeLevel(q *request) error {
	m, err := q.member()
	if err != nil {
		return err
	}
	level, was := atoi(q.PostForm.Get("level")), atoi(q.PostForm.Get("was"))
	if m.Level != was && m.Level != level {
		return q.members(http.StatusConflict,
			noticed("Somebody else has changed the level of "+memberName(m)+" meanwhile, to "+levelWords[m.Level]+". Choose again if "+
				"you want another one."))
	}
	_, err = q.c.Service.UpdateMember(q.Context(), q.by, q.at.Organization.ID.String(), m.User.UUID.String(),
		management.MemberPatch{Level: optional.Of(level)})
	if e, ok := errors.AsType[*management.Error](err); ok && errors.Is(e, management.ErrInvalid) {
		return q.members(http.StatusUnprocessableEntity, noticed(memberName(m)+" stays "+levelWords[m.Level]+": "+e.Text()))
	}
	if err != nil {
		return err
	}
	return q.done(q.membersPath(), "level", undo{"Member", m.User.UUID.String(), strconv.Itoa(m.Level) + " " + strconv.Itoa(level)})
}

func askRemoveMember(q *request) error { return q.removal(http.StatusOK, "") }

// removal asks whether a member shall be removed.
func (q *request) removal(status int, refusal string) error {
	m, err := q.member()
	if err != nil {
		return err
	}
	v := &confirmView{
		Text:   []string{"The account stays, and so does what it has created. To come back it needs another invitation."},
		Button: "Remove " + memberName(m), Danger: true, Cancel: q.membersPath(), Refusal: refusal,
	}
	title := "Remove " + memberName(m) + " from " + q.at.Organization.Name + "?"
	if m.User.ID == q.by.User.ID {
		title, v.Button = "Leave "+q.at.Organization.Name+"?", "Leave"
		v.Text = []string{"You do not see its projects any more. To come back you need another invitation."}
	}
	if m.User.ID != q.by.User.ID && !q.administers() {
		v.Button, v.Refusal, status = "", "Only administrators and owners of "+q.at.Organization.Name+" may do this.", http.StatusForbidden
	}
	return q.confirm(status, title, v)
}

func removeMember(q *request) error {
	err := q.c.Service.RemoveMember(q.Context(), q.by, q.at.Organization.ID.String(), q.PathValue("user"))
	if e, ok := errors.AsType[*management.Error](err); ok && errors.Is(e, management.ErrInvalid) {
		return q.removal(http.StatusUnprocessableEntity, e.Text())
	}
	if err != nil {
		return err
	}
	if q.PathValue("user") == q.by.User.UUID.String() {
		return q.redirect(q.c.Prefix + "/projects")
	}
	return q.redirect(q.membersPath() + "?done=removed")
}

// undoMember gives a member the level before. The mark has both levels.
func undoMember(q *request, u undo) (string, undo, error) {
	was, now, _ := strings.Cut(u.Mark, " ")
	if _, err := uuid.Parse(u.Item); err != nil {
		return "", undo{}, errForm
	}
	m, err := q.memberByID(u.Item)
	if err != nil {
		return "", undo{}, err
	}
	if m.Level != atoi(now) {
		return "", undo{}, errUndo
	}
	patch := management.MemberPatch{Level: optional.Of(atoi(was))}
	_, err = q.c.Service.UpdateMember(q.Context(), q.by, q.at.Organization.ID.String(), u.Item, patch)
	return "", undo{u.What, u.Item, now + " " + was}, err
}
