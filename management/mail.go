package management

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/textproto"
	"strings"
	"time"

	"github.com/flagstaff-go/flagstaff/management/storage"
)

// A Message is a mail.
type Message struct {
	To      string // one address
	Subject string
	Text    string
	HTML    string // optional
	Kind    string // what it is about, such as invitation, for logs (management.md §6.6)
}

// A Mailer sends mail; package mail has implementations. It must be safe for concurrent
// use.
type Mailer interface {
	Send(ctx context.Context, m Message) error
}

// The kinds of messages (management.md §6.6).
const (
	kindVerification    = "email_verification"
	kindEmailChangedOld = "email_changed_old"
	kindEmailChangedNew = "email_changed_new"
	kindPasswordChanged = "password_changed"
	kindTwoFactorOn     = "two_factor_on"
	kindTwoFactorOff    = "two_factor_off"
	kindBackupCodeUsed  = "backup_code_used"
	kindBackupCodes     = "backup_codes_replaced"
	kindKeyCreated      = "personal_api_key_created"
	kindKeyRolled       = "personal_api_key_rolled"
	kindKeyDeleted      = "personal_api_key_deleted"
	kindStaffChanged    = "staff_changed"
	kindMemberAdded     = "member_added"
	kindInvitation      = "invitation"
	kindPasswordReset   = "password_reset"
)

// A postbox holds messages until they are sent, so that no request waits for a mail
// server, and the time of an answer does not tell whether a mail goes out.
type postbox struct {
	mailer    Mailer // nil: messages are dropped
	log       *slog.Logger
	waiting   chan Message
	requested chan requestedMail
}

// A requestedMail is a message that somebody has asked for, of whom nobody is to learn whether
// there is such a user.
type requestedMail struct {
	kind string
	send func(context.Context) error // sends the message
}

const (
	maxMail   = 1000             // that may wait
	mailTries = 4                // with mailPause, twice as long each time, between them
	mailPause = 2 * time.Second  //
	mailTime  = 30 * time.Second // for a try
)

func newPostbox(m Mailer, log *slog.Logger) *postbox {
	return &postbox{mailer: m, log: log, waiting: make(chan Message, maxMail), requested: make(chan requestedMail, maxMail)}
}

// send sends messages later. If too many messages wait, it drops a message; the user can
// ask for another one.
func (b *postbox) send(list ...Message) {
	if b.mailer == nil {
		return
	}
	for _, m := range list {
		select {
		case b.waiting <- m:
		default:
			b.log.Error("mail is dropped: too many messages wait", "kind", m.Kind)
		}
	}
}

// request makes Run send a message that somebody has asked for.
func (b *postbox) request(v requestedMail) {
	select {
	case b.requested <- v:
	default:
		b.log.Error("mail is dropped: too many messages wait", "kind", v.kind)
	}
}

// deliver sends one message. If ctx ends before that, the message goes back to the
// queue, which the end of Run sends.
func (b *postbox) deliver(ctx context.Context, m Message) {
	pause := mailPause
	for try := 1; ctx.Err() == nil; try++ {
		err := b.try(ctx, m)
		if err == nil {
			return
		}
		if (try == mailTries || mailRefused(err)) && ctx.Err() == nil {
			b.log.Error("mail is not sent", "kind", m.Kind, "tries", try, "error", err)
			return
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
		pause *= 2
	}
	b.send(m)
}

// mailRefused reports whether a mail server has refused a message for good, so that
// another try makes no sense.
func mailRefused(err error) bool {
	e, ok := errors.AsType[*textproto.Error](err)
	return ok && e.Code >= 500
}

func (b *postbox) try(ctx context.Context, m Message) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("management: mailer panicked: %T", v)
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, mailTime)
	defer cancel()
	return b.mailer.Send(ctx, m)
}

// newLetter begins a message to a user.
func (s *Service) newLetter(u *storage.User, kind, subject string, lines ...string) Message {
	greeting := "Hello,"
	if u.FirstName != "" {
		greeting = "Hello " + mailName(u.FirstName) + ","
	}
	return Message{
		To: u.Email, Kind: kind, Subject: subject,
		Text: greeting + "\n\n" + strings.Join(lines, "\n") + "\n\n-- \n" + s.c.AppName + "\n" + s.c.AppURL + "\n",
	}
}

// accountMail returns the message that tells a user what has happened to the account.
func (s *Service) accountMail(u *storage.User, kind string, details ...string) Message {
	subject := map[string]string{
		kindPasswordChanged: "Your password was changed",
		kindTwoFactorOn:     "Two-factor authentication was turned on",
		kindTwoFactorOff:    "Two-factor authentication was turned off",
		kindBackupCodeUsed:  "A backup code was used",
		kindBackupCodes:     "Your backup codes were replaced",
		kindKeyCreated:      "A personal API key was created",
		kindKeyRolled:       "A personal API key was replaced",
		kindKeyDeleted:      "A personal API key was deleted",
		kindStaffChanged:    "Your staff access was changed",
	}[kind]
	lines := []string{subject + " at " + s.now().Format("15:04 UTC on 2 January 2006") + ", for the account " + u.Email + "."}
	lines = append(lines, details...)
	lines = append(lines, "", "If this was not you, change your password and your keys now, and tell whoever runs "+s.c.AppName+".")
	return s.newLetter(u, kind, subject, lines...)
}
