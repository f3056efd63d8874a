package management

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"math/big"
	"net/netip"
	"regexp"
	"time"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/management/check"
	"github.com/flagstaff-go/flagstaff/management/optional"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

const (
	linkLife = 24 * time.Hour
	codeLife = 10 * time.Minute
	maxGuess = 5 // of a code
)

// sendEmailToken sends the token that proves the pending address of a user, or else the
// current one. An earlier token becomes invalid.
func (w *work) sendEmailToken(ctx context.Context, u *storage.User) error {
	text, hash := newToken()
	now := w.now()
	t := &storage.EmailToken{User: u.ID, Hash: hash, Target: addressOf(u), Created: now, Expires: now.Add(linkLife)}
	link := w.c.AppURL + "/verify_email/" + u.UUID.String() + "/" + text
	lines := []string{
		"Please confirm that " + t.Target + " is your address for " + w.c.AppName + ":", "", link, "",
		"The link is valid for 24 hours, until " + t.Expires.Format("2 January 2006 at 15:04 UTC") + ".",
	}
	if w.c.VerifyByCode {
		n, err := rand.Int(rand.Reader, big.NewInt(1_000_000))
		if err != nil {
			return err
		}
		code := fmt.Sprintf("%06d", n)
		t.CodeHash = w.box.MAC([]byte(code), codeContext(t))
		lines = append(lines, "", "Or type this code within ten minutes: "+code)
	}
	lines = append(lines, "", "If you did not ask for this, do nothing: the address stays unconfirmed.")
	m := w.newLetter(u, kindVerification, "Verify your email address", lines...)
	m.To = t.Target
	w.send(m)
	return w.store.EmailTokens().Set(ctx, t)
}

// addressOf returns the address that a token of the user proves.
func addressOf(u *storage.User) string {
	if u.PendingEmail != "" {
		return u.PendingEmail
	}
	return u.Email
}

func tokenHash(text string) []byte {
	sum := sha256.Sum256([]byte(text))
	return sum[:]
}

// codeContext ties a code to its token.
func codeContext(t *storage.EmailToken) string { return "email-code:" + hex.EncodeToString(t.Hash) }

// An EmailRequest asks for the message that verifies an address (management.md
// §6.2).
type EmailRequest struct {
	UUID optional.Value[string] `json:"uuid"`
}

// RequestEmailVerification sends a message to verify the address of a user, if there is
// an address to verify. The message goes out later, and the answer is the same for a user
// that does not exist. The Principal is nil if the caller is not known.
func (s *Service) RequestEmailVerification(ctx context.Context, p *Principal, r EmailRequest) error {
	if !s.MailAvailable() {
		return invalid("", "email_not_available", "Email is not available: no mail server is configured.")
	}
	if err := judgeError(check.Required("uuid", &r.UUID)); err != nil {
		return err
	}
	id, err := check.ParseID(r.UUID.Value)
	if err != nil {
		return nil // no user has it, and that is not a secret
	}
	target := "uuid:" + id.String()
	if p != nil {
		target = userBucket(p.User)
	}
	if err := s.throttle(ctx, "verification-mail:"+target, verificationMails); err != nil {
		return err
	}
	s.mail.request(requestedMail{kindVerification, func(ctx context.Context) error { return s.sendVerification(ctx, id) }})
	return nil
}

// sendVerification sends the message of RequestEmailVerification.
func (s *Service) sendVerification(ctx context.Context, id uuid.UUID) error {
	find := func(store storage.Store) (*storage.User, error) {
		return store.Users().Get(ctx, storage.UserUUID.Is(id))
	}
	verifiable := func(u *storage.User) bool {
		return u.Active && (u.PendingEmail != "" || u.EmailVerified == nil || !*u.EmailVerified)
	}
	return s.sendToUser(ctx, find, verifiable, addressOf, func(w *work, u *storage.User) error { return w.sendEmailToken(ctx, u) })
}

// sendToUser lets write send a message to a user, unless too many go to the address. Nobody is told
// of a user who does not exist or shall not get it.
func (s *Service) sendToUser(
	ctx context.Context, find func(storage.Store) (*storage.User, error), may func(*storage.User) bool, address func(*storage.User) string, write func(*work, *storage.User) error,
) error {
	u, err := find(s.c.Store)
	if errors.Is(err, ErrNotFound) || err == nil && !may(u) {
		return nil
	}
	if err != nil {
		return err
	}
	target := address(u)
	switch err := s.throttle(ctx, mailTo(target), addressMails); {
	case isRefusal(err): // the caller is not told, as for a user that does not exist
		return nil
	case err != nil:
		return err
	}
	err = s.atomic(ctx, nil, func(w *work) error {
		u, err := find(w.store)
		if err != nil || !may(u) || address(u) != target {
			return err
		}
		return write(w, u)
	})
	return goneError(err, nil)
}

// An EmailProof is what a user has read in a message that verifies an address: the token
// of the link, or the code (management.md §6.4).
type EmailProof struct {
	UUID  optional.Value[string] `json:"uuid"`
	Token optional.Value[string] `json:"token"`
	Code  optional.Value[string] `json:"code"`
}

var (
	errEmailToken = invalid("token", "invalid_token", "This verification token is invalid or has expired.")
	errEmailCode  = invalid("code", "invalid_code", "This verification code is invalid or has expired.")

	sixDigits = regexp.MustCompile(`^[0-9]{6}$`)
)

// VerifyEmail confirms the address that a message went to, and returns the token of that
// message. Client is the network address of the request.
func (s *Service) VerifyEmail(ctx context.Context, client netip.Addr, proof EmailProof) (string, error) {
	byCode := !proof.Token.Set && proof.Code.Set
	wrong := errEmailToken
	if byCode {
		wrong = errEmailCode
	}
	err := judgeError(cmp.Or(check.Text("uuid", &proof.UUID), check.Text("token", &proof.Token), check.Text("code", &proof.Code)))
	if err != nil {
		return "", err
	}
	switch {
	case !proof.Token.Set && !proof.Code.Set:
		return "", invalid("token", "required", "This field is required.")
	case !proof.UUID.Set:
		return "", invalid("uuid", "required", "This field is required.")
	case byCode && !sixDigits.MatchString(proof.Code.Value):
		return "", invalid("code", "invalid_input", "The code must have six digits.")
	}
	if client.IsValid() {
		if err := s.throttle(ctx, "verify-email:ip:"+client.String(), emailProofs); err != nil {
			return "", err
		}
	}
	id, err := check.ParseID(proof.UUID.Value)
	if err != nil {
		return "", wrong
	}
	if err := s.throttle(ctx, "verify-email:uuid:"+id.String(), emailProofs); err != nil {
		return "", err
	}

	var refused error // kept apart: the transaction still stores the count of guesses
	err = s.atomic(ctx, nil, func(w *work) error {
		refused = nil
		u, err := w.store.Users().Get(ctx, storage.UserUUID.Is(id))
		if err != nil || !u.Active {
			return cmp.Or(err, ErrNotFound)
		}
		t, err := w.store.EmailTokens().Get(ctx, storage.EmailTokenUser.Is(u.ID))
		if err != nil {
			return err
		}
		if byCode {
			if refused, err = w.checkEmailCode(ctx, t, proof.Code.Value); err != nil || refused != nil {
				return err
			}
		} else if !s.now().Before(t.Expires) || subtle.ConstantTimeCompare(t.Hash, tokenHash(proof.Token.Value)) != 1 {
			return ErrNotFound
		}
		if t.Target != addressOf(u) {
			return ErrNotFound
		}
		return w.confirmEmail(ctx, u)
	})
	if err = cmp.Or(goneError(err, wrong), refused); err != nil {
		return "", err
	}
	return proof.Token.Value, nil
}

// checkEmailCode judges a guess. It counts the guess before it looks at it.
func (w *work) checkEmailCode(ctx context.Context, t *storage.EmailToken, code string) (refused, err error) {
	if t.CodeHash == nil || !w.now().Before(t.Created.Add(codeLife)) {
		return errEmailCode, nil
	}
	if t.Attempts >= maxGuess {
		return invalid("code", "too_many_attempts", "There were too many attempts. Ask for another message."), nil
	}
	t.Attempts++
	if err := w.store.EmailTokens().Set(ctx, t); err != nil {
		return nil, err
	}
	for _, mac := range w.storedMACs([]byte(code), codeContext(t)) {
		if subtle.ConstantTimeCompare(t.CodeHash, mac) == 1 {
			return nil, nil
		}
	}
	return errEmailCode, nil
}

// confirmEmail ends a verification: the pending address becomes the address of the
// account.
func (w *work) confirmEmail(ctx context.Context, u *storage.User) error {
	before := *u
	if u.PendingEmail != "" {
		u.Email, u.PendingEmail = u.PendingEmail, ""
		w.send(w.changedMails(&before, u)...)
	}
	u.EmailVerified = new(true)
	if _, err := w.store.EmailTokens().DeleteAll(ctx, storage.EmailTokenUser.Is(u.ID)); err != nil {
		return err
	}
	if err := w.store.Users().Update(ctx, u); err != nil {
		if errors.Is(err, ErrConflict) {
			return invalid("email", "email_taken", "Another account has this email address by now.")
		}
		return err
	}
	w.by = &Principal{User: u}
	return w.logUser(ctx, &before, u)
}

// changedMails returns messages that tell both addresses about a change.
func (s *Service) changedMails(before, after *storage.User) []Message {
	what := "The email address of your account was changed from " + before.Email + " to " + after.Email + "."
	return []Message{
		s.newLetter(before, kindEmailChangedOld, "Your account no longer uses this address",
			what, "", "If this was not you, tell whoever runs "+s.c.AppName+" now: somebody else has access to your account."),
		s.newLetter(after, kindEmailChangedNew, "This is now the address of your account", what),
	}
}

// CancelEmailChange ends a change of address that is under way (management.md §6.5). It
// needs scope user:write.
func (s *Service) CancelEmailChange(ctx context.Context, p *Principal) (*UserView, error) {
	if err := p.changesUsers(); err != nil {
		return nil, err
	}
	if err := s.stepUp(ctx, p); err != nil {
		return nil, err
	}
	return answer(ctx, s, p, func(w *work) (*UserView, error) {
		u, err := w.activeUser(ctx)
		if err != nil {
			return nil, err
		}
		if u.PendingEmail == "" {
			return nil, invalid("", "email_change_request_not_found", "There is no change of the email address to cancel.")
		}
		before := *u
		u.PendingEmail = ""
		if _, err := w.store.EmailTokens().DeleteAll(ctx, storage.EmailTokenUser.Is(u.ID)); err != nil {
			return nil, err
		}
		if err := w.store.Users().Update(ctx, u); err != nil {
			return nil, storeError(err)
		}
		if err := w.logUser(ctx, &before, u); err != nil {
			return nil, err
		}
		return w.showUser(ctx, u)
	})
}
