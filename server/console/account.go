package console

import (
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"net/http"
	"slices"
	"strings"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/optional"
)

var _ = register(screen{
	title: "Your account",
	scope: ofAccount, pages: map[string]page{
		"GET /me":                         showAccount,
		"POST /me/name":                   saveName,
		"POST /me/address":                changeAddress,
		"POST /me/address/keep":           keepAddress,
		"POST /me/address/verify":         verifyAddress,
		"POST /me/password":               changePassword,
		"POST /me/two-factor/start":       setUpSecondFactor,
		"POST /me/two-factor/confirm":     confirmSecondFactor,
		"POST /me/two-factor/codes":       newBackupCodes,
		"GET /me/two-factor/off":          askSecondFactorOff,
		"POST /me/two-factor/off":         turnSecondFactorOff,
		"POST /me/sessions/{session}/end": endSession,
		"POST /me/sessions/end-others":    endOtherSessions,
	},
	done: map[string]string{
		"address":        "The address was changed.",
		"address-asked":  "A message is on its way. Open the link in it.",
		"address-kept":   "The address stays as it is.",
		"password":       "The password was changed. All other sessions have ended.",
		"two-factor-off": "Two-factor authentication is off. All other sessions have ended.",
		"session":        "The session has ended.",
		"sessions":       "All other sessions have ended.",
	},
	undo: map[string]undoer{"Name": undoName},
})

// An accountView is the account of the user who is signed in.
type accountView struct {
	layout
	Tabs   []navItem
	Action string
	checked

	FirstName, LastName string

	Me               *management.UserView
	Email            string // as typed
	Unverified, Mail bool

	Factor   *management.TwoFactorStatus
	Sessions []management.SessionView
}

func (q *request) accountPath() string { return q.c.Prefix + "/me" }

// accountTabs are the screens of an account.
func (q *request) accountTabs() []navItem {
	keys := strings.HasPrefix(q.URL.Path, q.keysPath())
	return []navItem{{"Account", q.accountPath(), !keys}, {"Personal keys", q.keysPath(), keys}}
}

func showAccount(q *request) error {
	q.notice()
	return q.account(http.StatusOK, nil)
}

// account shows the account, and what was typed into one of its forms if fill is not nil.
func (q *request) account(status int, fill func(*accountView)) error {
	me, err := q.c.Service.User(q.Context(), q.by, "@me")
	if err != nil {
		return err
	}
	factor, err := q.c.Service.TwoFactorStatus(q.Context(), q.by, "@me")
	if err != nil {
		return err
	}
	sessions, err := q.c.Service.Sessions(q.Context(), q.by, "@me")
	if err != nil {
		return err
	}
	v := &accountView{
		Tabs: q.accountTabs(), Action: q.accountPath(), FirstName: me.FirstName, LastName: me.LastName, Me: me, Factor: factor,
		Sessions: sessions, Mail: q.c.Service.MailAvailable(),
	}
	v.Unverified = v.Mail && me.PendingEmail == nil && (me.IsEmailVerified == nil || !*me.IsEmailVerified)
	if fill != nil {
		fill(v)
	}
	return q.render(status, "account", v)
}

// accountRefused shows the account with what the Service says against something.
func (q *request) accountRefused(err error) error {
	e, ok := errors.AsType[*management.Error](err)
	if !ok {
		return err
	}
	return q.account(pageOf(e).status, func(v *accountView) { v.place(e, nil) })
}

// changeAccount saves what one form of the account says. It shows the account with the
// message if a value is refused: refused fills in the fields.
func (q *request) changeAccount(patch management.UserPatch, refused func(v *accountView, e *management.Error)) (*management.UserView,
	error,
) {
	me, err := q.c.Service.UpdateUser(q.Context(), q.by, "@me", patch)
	if e, ok := errors.AsType[*management.Error](err); ok && !errors.Is(e, management.ErrNotFound) {
		q.sayWhen(e)
		return nil, q.account(pageOf(e).status, func(v *accountView) { refused(v, e) })
	}
	return me, err
}

func saveName(q *request) error {
	first, last := q.PostForm.Get("first_name"), q.PostForm.Get("last_name")
	me, err := q.changeAccount(management.UserPatch{FirstName: optional.Of(first), LastName: optional.Of(last)},
		func(v *accountView, e *management.Error) {
			v.FirstName, v.LastName = first, last
			v.place(e, map[string]string{"first_name": "first_name", "last_name": "last_name"})
		})
	if me == nil {
		return err
	}
	was := q.by.User
	return q.done(q.accountPath(), "saved", undo{
		"Name", "@me", string(must(json.Marshal([]string{was.FirstName, was.LastName, me.FirstName, me.LastName}))),
	})
}

func changeAddress(q *request) error {
	email := q.PostForm.Get("email")
	patch := management.UserPatch{Email: optional.Of(email)}
	if q.PostForm.Has("current_password") {
		patch.CurrentPassword = optional.Of(q.PostForm.Get("current_password"))
	}
	me, err := q.changeAccount(patch, func(v *accountView, e *management.Error) {
		v.Email = email
		field := "email"
		if e.Attr == "current_password" {
			field = "address_password"
		}
		v.fail(field, "%s", e.Text())
	})
	if me == nil {
		return err
	}
	if me.PendingEmail != nil {
		return q.redirect(q.accountPath() + "?done=address-asked")
	}
	return q.redirect(q.accountPath() + "?done=address")
}

func keepAddress(q *request) error {
	// it is done already
	if _, err := q.c.Service.CancelEmailChange(q.Context(), q.by); err != nil && !errors.Is(err, management.ErrInvalid) {
		return err
	}
	return q.redirect(q.accountPath() + "?done=address-kept")
}

// verifyAddress sends the message that verifies the address once more.
func verifyAddress(q *request) error {
	err := q.c.Service.RequestEmailVerification(q.Context(), q.by, management.EmailRequest{UUID: optional.Of(q.by.User.UUID.String())})
	if err != nil {
		return q.accountRefused(err)
	}
	return q.redirect(q.accountPath() + "?done=address-asked")
}

// changePassword gives the user another password. All other sessions end, and this one gets
// another token.
func changePassword(q *request) error {
	patch := management.UserPatch{Password: optional.Of(q.PostForm.Get("password"))}
	if q.PostForm.Has("current_password") {
		patch.CurrentPassword = optional.Of(q.PostForm.Get("current_password"))
	}
	me, err := q.changeAccount(patch, func(v *accountView, e *management.Error) {
		v.place(e, map[string]string{"current_password": "current_password", "password": "password"})
	})
	if me == nil {
		return err
	}
	q.renewSession()
	return q.redirect(q.accountPath() + "?done=password")
}

// renewSession gives the session another token, after what its user may have changed. If
// that fails the session keeps its token: the change is made all the same.
func (q *request) renewSession() {
	token, err := q.c.Service.RenewSession(q.Context(), q.by)
	if err != nil {
		q.c.Log.WarnContext(q.Context(), "a session keeps its token after a change of the account", "error", err)
		return
	}
	q.c.setToken(q.w, q.Request, token)
}

func endSession(q *request) error {
	err := q.c.Service.EndSession(q.Context(), q.by, "@me", q.PathValue("session"))
	if err != nil {
		return err
	}
	return q.redirect(q.accountPath() + "?done=session")
}

func endOtherSessions(q *request) error {
	if err := q.c.Service.EndOtherSessions(q.Context(), q.by, "@me"); err != nil {
		return err
	}
	return q.redirect(q.accountPath() + "?done=sessions")
}

// A secondFactorView is the page that connects an authenticator.
type secondFactorView struct {
	layout
	Address                    string // that the authenticator scans
	Secret                     string // in groups of four
	Path                       string // the QR code as SVG
	Box, Action, Cancel, Error string
}

// setUpSecondFactor makes a secret, and shows it to be scanned. It is a POST, because a
// secret before is not valid any more.
func setUpSecondFactor(q *request) error {
	setup, err := q.c.Service.StartTwoFactor(q.Context(), q.by, "@me")
	if err != nil {
		return q.accountRefused(err)
	}
	return q.scan(http.StatusOK, setup, "")
}

// scan shows what an authenticator scans, and asks for its code.
func (q *request) scan(status int, setup *management.TwoFactorSetup, refusal string) error {
	picture, err := setup.QRCode()
	if err != nil {
		return err
	}
	q.layout.Title = "Connect an authenticator"
	v := &secondFactorView{
		Address: setup.OTPAuthURL, Action: q.accountPath() + "/two-factor/confirm", Cancel: q.accountPath(), Error: refusal,
	}
	v.Path, v.Box = drawQR(picture)
	for part := range slices.Chunk([]byte(setup.Secret), 4) {
		v.Secret += string(part) + " "
	}
	v.Secret = strings.TrimSpace(v.Secret)
	return q.render(status, "two_factor", v)
}

// drawQR returns the dark modules of a QR code as the path of an SVG picture, and what the
// picture shows: the code and the margin of four modules that cameras need.
func drawQR(picture image.Image) (path, box string) {
	const margin = 4 // modules
	var b strings.Builder
	r := picture.Bounds()
	dark := func(x, y int) bool {
		if x >= r.Max.X {
			return false
		}
		red, _, _, _ := picture.At(x, y).RGBA()
		return red < 0x8000
	}
	for y := r.Min.Y; y < r.Max.Y; y++ {
		for x := r.Min.X; x < r.Max.X; x++ {
			from := x
			for dark(x, y) {
				x++
			}
			if x > from {
				fmt.Fprintf(&b, "M%d %dh%dv1h-%dz", from, y, x-from, x-from)
			}
		}
	}
	return b.String(), fmt.Sprintf("%d %d %d %d", r.Min.X-margin, r.Min.Y-margin, r.Dx()+2*margin, r.Dy()+2*margin)
}

// otpScheme begins what an authenticator scans, which has at most maxSetup bytes.
const (
	otpScheme = "otpauth://totp/"
	maxSetup  = 2000
)

// confirmSecondFactor turns the second factor on with a code, and shows backup codes.
func confirmSecondFactor(q *request) error {
	code := must(json.Marshal(q.PostForm.Get("code")))
	err := q.c.Service.ConfirmTwoFactor(q.Context(), q.by, "@me", management.TwoFactorPatch{Token: optional.Of(code)})
	if e, ok := errors.AsType[*management.Error](err); ok {
		setup := &management.TwoFactorSetup{OTPAuthURL: q.PostForm.Get("setup")}
		if e.Code == "token_invalid" && len(setup.OTPAuthURL) <= maxSetup && strings.HasPrefix(setup.OTPAuthURL, otpScheme) {
			_, rest, _ := strings.Cut(setup.OTPAuthURL, "secret=")
			setup.Secret, _, _ = strings.Cut(rest, "&")
			return q.scan(http.StatusUnprocessableEntity, setup,
				"That is not the code that the authenticator shows now. Are its clock and the server's right?")
		}
	}
	if err != nil {
		return q.accountRefused(err)
	}
	q.renewSession()
	return q.newCodes("Two-factor authentication is on",
		"From now on you sign in with your password and a code. All other sessions have ended. ")
}

func newBackupCodes(q *request) error {
	return q.newCodes("New backup codes", "The codes before are not valid any more. ")
}

// newCodes makes backup codes and shows them.
func (q *request) newCodes(title, text string) error {
	codes, err := q.c.Service.NewBackupCodes(q.Context(), q.by, "@me")
	if err != nil {
		return q.accountRefused(err)
	}
	return q.showOnce(title, &shownView{
		Text: text + "Save these codes where you find them without your phone. Each signs you in once if you do not have the " +
			"authenticator.",
		Codes: codes, Back: q.accountPath(), BackName: "I have saved them",
	})
}

func askSecondFactorOff(q *request) error { return q.secondFactorOff(http.StatusOK, "") }

func (q *request) secondFactorOff(status int, refusal string) error {
	return q.confirm(status, "Turn two-factor authentication off?", &confirmView{
		Text:   []string{"Then your password alone signs you in. All other sessions end."},
		Button: "Turn it off", Danger: true, Cancel: q.accountPath(), Code: true, Refusal: refusal,
	})
}

// turnSecondFactorOff asks for a code, so that a browser that was left open is not enough.
func turnSecondFactorOff(q *request) error {
	second, err := q.c.Service.VerifySecondFactor(q.Context(), q.by.User.UUID, q.PostForm.Get("code"))
	if e, ok := errors.AsType[*management.Error](err); ok && errors.Is(e, management.ErrThrottled) {
		q.sayWhen(e)
		return q.secondFactorOff(http.StatusTooManyRequests, e.Text())
	}
	switch {
	case errors.Is(err, management.ErrNotFound): // it is off
		return q.redirect(q.accountPath() + "?done=two-factor-off")
	case err != nil:
		return err
	case !second.OK:
		return q.secondFactorOff(http.StatusUnprocessableEntity, "The code is not valid.")
	}
	if err := q.c.Service.DisableTwoFactor(q.Context(), q.by, "@me"); err != nil {
		return err
	}
	q.renewSession()
	return q.redirect(q.accountPath() + "?done=two-factor-off")
}

// undoName gives the user the name before. The mark has both parts of both names.
func undoName(q *request, u undo) (string, undo, error) {
	var m [4]string
	if json.Unmarshal([]byte(u.Mark), &m) != nil {
		return "", undo{}, errForm
	}
	if q.by.User.FirstName != m[2] || q.by.User.LastName != m[3] {
		return "", undo{}, errUndo
	}
	_, err := q.c.Service.UpdateUser(q.Context(), q.by, "@me", management.UserPatch{
		FirstName: optional.Of(m[0]), LastName: optional.Of(m[1]),
	})
	return "", undo{u.What, u.Item, string(must(json.Marshal([]string{m[2], m[3], m[0], m[1]})))}, err
}
