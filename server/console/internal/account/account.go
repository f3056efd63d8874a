package account

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
	"github.com/flagstaff-go/flagstaff/server/console/shell"
	"github.com/flagstaff-go/flagstaff/server/console/shell/forms"
)

var accountScreen = shell.Screen{
	Title: "Your account",
	Scope: shell.OfAccount, Pages: map[string]shell.Page{
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
	Done: map[string]string{
		"address":        "The address was changed.",
		"address-asked":  "A message is on its way. Open the link in it.",
		"address-kept":   "The address stays as it is.",
		"password":       "The password was changed. All other sessions have ended.",
		"two-factor-off": "Two-factor authentication is off. All other sessions have ended.",
		"session":        "The session has ended.",
		"sessions":       "All other sessions have ended.",
	},
	Undo: map[string]shell.Undoer{"Name": undoName},
}

// An accountView is the account of the user who is signed in.
type accountView struct {
	shell.Layout
	Tabs   []shell.NavItem
	Action string
	forms.Checked

	FirstName, LastName string

	Me               *management.UserView
	Email            string // as typed
	Unverified, Mail bool

	Factor   *management.TwoFactorStatus
	Sessions []management.SessionView
}

func accountPath(q *shell.Request) string { return q.Config.Prefix + "/me" }

// accountTabs are the screens of an account.
func accountTabs(q *shell.Request) []shell.NavItem {
	keys := strings.HasPrefix(q.URL.Path, keysPath(q))
	return []shell.NavItem{{Name: "Account", URL: accountPath(q), Current: !keys}, {Name: "Personal keys", URL: keysPath(q), Current: keys}}
}

func showAccount(q *shell.Request) error {
	q.Notice()
	return account(q, http.StatusOK, nil)
}

// account shows the account, and what was typed into one of its forms if fill is not nil.
func account(q *shell.Request, status int, fill func(*accountView)) error {
	me, err := q.Service.User(q.Context(), q.By, "@me")
	if err != nil {
		return err
	}
	factor, err := q.Service.TwoFactorStatus(q.Context(), q.By, "@me")
	if err != nil {
		return err
	}
	sessions, err := q.Service.Sessions(q.Context(), q.By, "@me")
	if err != nil {
		return err
	}
	v := &accountView{
		Tabs: accountTabs(q), Action: accountPath(q), FirstName: me.FirstName, LastName: me.LastName, Me: me, Factor: factor,
		Sessions: sessions, Mail: q.Service.MailAvailable(),
	}
	v.Unverified = v.Mail && me.PendingEmail == nil && (me.IsEmailVerified == nil || !*me.IsEmailVerified)
	if fill != nil {
		fill(v)
	}
	return q.Render(status, "account", v)
}

// accountRefused shows the account with what the Service says against something.
func accountRefused(q *shell.Request, err error) error {
	e, ok := errors.AsType[*management.Error](err)
	if !ok {
		return err
	}
	return account(q, shell.FailureOf(e).Status, func(v *accountView) { v.Place(e, nil) })
}

// changeAccount saves what one form of the account says. It shows the account with the
// message if a value is refused: refused fills in the fields.
func changeAccount(q *shell.Request, patch management.UserPatch, refused func(v *accountView, e *management.Error)) (*management.UserView,
	error,
) {
	me, err := q.Service.UpdateUser(q.Context(), q.By, "@me", patch)
	if e, ok := errors.AsType[*management.Error](err); ok && !errors.Is(e, management.ErrNotFound) {
		q.SayWhen(e)
		return nil, account(q, shell.FailureOf(e).Status, func(v *accountView) { refused(v, e) })
	}
	return me, err
}

func saveName(q *shell.Request) error {
	first, last := q.PostForm.Get("first_name"), q.PostForm.Get("last_name")
	me, err := changeAccount(q, management.UserPatch{FirstName: optional.Of(first), LastName: optional.Of(last)},
		func(v *accountView, e *management.Error) {
			v.FirstName, v.LastName = first, last
			v.Place(e, map[string]string{"first_name": "first_name", "last_name": "last_name"})
		})
	if me == nil {
		return err
	}
	was := q.By.User
	return q.Done(accountPath(q), "saved", shell.Undo{
		What: "Name", Item: "@me", Mark: string(forms.Must(json.Marshal([]string{was.FirstName, was.LastName, me.FirstName, me.LastName}))),
	})
}

func changeAddress(q *shell.Request) error {
	email := q.PostForm.Get("email")
	patch := management.UserPatch{Email: optional.Of(email)}
	if q.PostForm.Has("current_password") {
		patch.CurrentPassword = optional.Of(q.PostForm.Get("current_password"))
	}
	me, err := changeAccount(q, patch, func(v *accountView, e *management.Error) {
		v.Email = email
		field := "email"
		if e.Attr == "current_password" {
			field = "address_password"
		}
		v.Fail(field, "%s", e.Text())
	})
	if me == nil {
		return err
	}
	if me.PendingEmail != nil {
		return q.Redirect(accountPath(q) + "?done=address-asked")
	}
	return q.Redirect(accountPath(q) + "?done=address")
}

func keepAddress(q *shell.Request) error {
	// it is done already
	if _, err := q.Service.CancelEmailChange(q.Context(), q.By); err != nil && !errors.Is(err, management.ErrInvalid) {
		return err
	}
	return q.Redirect(accountPath(q) + "?done=address-kept")
}

// verifyAddress sends the message that verifies the address once more.
func verifyAddress(q *shell.Request) error {
	err := q.Service.RequestEmailVerification(q.Context(), q.By, management.EmailRequest{UUID: optional.Of(q.By.User.UUID.String())})
	if err != nil {
		return accountRefused(q, err)
	}
	return q.Redirect(accountPath(q) + "?done=address-asked")
}

// changePassword gives the user another password. All other sessions end, and this one gets
// another token.
func changePassword(q *shell.Request) error {
	patch := management.UserPatch{Password: optional.Of(q.PostForm.Get("password"))}
	if q.PostForm.Has("current_password") {
		patch.CurrentPassword = optional.Of(q.PostForm.Get("current_password"))
	}
	me, err := changeAccount(q, patch, func(v *accountView, e *management.Error) {
		v.Place(e, map[string]string{"current_password": "current_password", "password": "password"})
	})
	if me == nil {
		return err
	}
	q.RenewSession()
	return q.Redirect(accountPath(q) + "?done=password")
}

func endSession(q *shell.Request) error {
	err := q.Service.EndSession(q.Context(), q.By, "@me", q.PathValue("session"))
	if err != nil {
		return err
	}
	return q.Redirect(accountPath(q) + "?done=session")
}

func endOtherSessions(q *shell.Request) error {
	if err := q.Service.EndOtherSessions(q.Context(), q.By, "@me"); err != nil {
		return err
	}
	return q.Redirect(accountPath(q) + "?done=sessions")
}

// A secondFactorView is the page that connects an authenticator.
type secondFactorView struct {
	shell.Layout
	Address                    string // that the authenticator scans
	Secret                     string // in groups of four
	Path                       string // the QR code as SVG
	Box, Action, Cancel, Error string
}

// setUpSecondFactor makes a secret, and shows it to be scanned. It is a POST, because a
// secret before is not valid any more.
func setUpSecondFactor(q *shell.Request) error {
	setup, err := q.Service.StartTwoFactor(q.Context(), q.By, "@me")
	if err != nil {
		return accountRefused(q, err)
	}
	return scan(q, http.StatusOK, setup, "")
}

// scan shows what an authenticator scans, and asks for its code.
func scan(q *shell.Request, status int, setup *management.TwoFactorSetup, refusal string) error {
	picture, err := setup.QRCode()
	if err != nil {
		return err
	}
	q.Layout.Title = "Connect an authenticator"
	v := &secondFactorView{
		Address: setup.OTPAuthURL, Action: accountPath(q) + "/two-factor/confirm", Cancel: accountPath(q), Error: refusal,
	}
	v.Path, v.Box = drawQR(picture)
	for part := range slices.Chunk([]byte(setup.Secret), 4) {
		v.Secret += string(part) + " "
	}
	v.Secret = strings.TrimSpace(v.Secret)
	return q.Render(status, "two_factor", v)
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
func confirmSecondFactor(q *shell.Request) error {
	code := forms.Must(json.Marshal(q.PostForm.Get("code")))
	err := q.Service.ConfirmTwoFactor(q.Context(), q.By, "@me", management.TwoFactorPatch{Token: optional.Of(code)})
	if e, ok := errors.AsType[*management.Error](err); ok {
		setup := &management.TwoFactorSetup{OTPAuthURL: q.PostForm.Get("setup")}
		if e.Code == "token_invalid" && len(setup.OTPAuthURL) <= maxSetup && strings.HasPrefix(setup.OTPAuthURL, otpScheme) {
			_, rest, _ := strings.Cut(setup.OTPAuthURL, "secret=")
			setup.Secret, _, _ = strings.Cut(rest, "&")
			return scan(q, http.StatusUnprocessableEntity, setup,
				"That is not the code that the authenticator shows now. Are its clock and the server's right?")
		}
	}
	if err != nil {
		return accountRefused(q, err)
	}
	q.RenewSession()
	return newCodes(q, "Two-factor authentication is on",
		"From now on you sign in with your password and a code. All other sessions have ended. ")
}

func newBackupCodes(q *shell.Request) error {
	return newCodes(q, "New backup codes", "The codes before are not valid any more. ")
}

// newCodes makes backup codes and shows them.
func newCodes(q *shell.Request, title, text string) error {
	codes, err := q.Service.NewBackupCodes(q.Context(), q.By, "@me")
	if err != nil {
		return accountRefused(q, err)
	}
	return q.ShowOnce(title, &shell.ShownView{
		Text: text + "Save these codes where you find them without your phone. Each signs you in once if you do not have the " +
			"authenticator.",
		Codes: codes, Back: accountPath(q), BackName: "I have saved them",
	})
}

func askSecondFactorOff(q *shell.Request) error { return secondFactorOff(q, http.StatusOK, "") }

func secondFactorOff(q *shell.Request, status int, refusal string) error {
	return q.Confirm(status, "Turn two-factor authentication off?", &shell.ConfirmView{
		Text:   []string{"Then your password alone signs you in. All other sessions end."},
		Button: "Turn it off", Danger: true, Cancel: accountPath(q), Code: true, Refusal: refusal,
	})
}

// turnSecondFactorOff asks for a code, so that a browser that was left open is not enough.
func turnSecondFactorOff(q *shell.Request) error {
	second, err := q.Service.VerifySecondFactor(q.Context(), q.By.User.UUID, q.PostForm.Get("code"))
	if e, ok := errors.AsType[*management.Error](err); ok && errors.Is(e, management.ErrThrottled) {
		q.SayWhen(e)
		return secondFactorOff(q, http.StatusTooManyRequests, e.Text())
	}
	switch {
	case errors.Is(err, management.ErrNotFound): // it is off
		return q.Redirect(accountPath(q) + "?done=two-factor-off")
	case err != nil:
		return err
	case !second.OK:
		return secondFactorOff(q, http.StatusUnprocessableEntity, "The code is not valid.")
	}
	if err := q.Service.DisableTwoFactor(q.Context(), q.By, "@me"); err != nil {
		return err
	}
	q.RenewSession()
	return q.Redirect(accountPath(q) + "?done=two-factor-off")
}

// undoName gives the user the name before. The mark has both parts of both names.
func undoName(q *shell.Request, u shell.Undo) (string, shell.Undo, error) {
	var m [4]string
	if json.Unmarshal([]byte(u.Mark), &m) != nil {
		return "", shell.Undo{}, shell.ErrForm
	}
	if q.By.User.FirstName != m[2] || q.By.User.LastName != m[3] {
		return "", shell.Undo{}, shell.ErrUndo
	}
	_, err := q.Service.UpdateUser(q.Context(), q.By, "@me", management.UserPatch{
		FirstName: optional.Of(m[0]), LastName: optional.Of(m[1]),
	})
	return "", shell.Undo{What: u.What, Item: u.Item, Mark: string(forms.Must(json.Marshal([]string{m[2], m[3], m[0], m[1]})))}, err
}

func keysPath(q *shell.Request) string { return accountPath(q) + "/keys" }
