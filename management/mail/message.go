package mail

import (
	"cmp"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	netmail "net/mail"
	"strings"
	"time"
	"unicode"

	gomail "github.com/wneessen/go-mail"

	"github.com/flagstaff-go/flagstaff/management"
)

// Options configure a mailer. Only From is required.
type Options struct {
	// From is the address that messages come from, like flagstaff@example.com.
	From string

	// FromName is shown with it. Empty: only the address is.
	FromName string

	// Timeout limits how long sending one message may take, besides its
	// context. Zero: 10 s. Only for SMTP.
	Timeout time.Duration

	// TLS configures encryption; ServerName is set if it is empty. Nil: as the
	// system does it. Only for SMTP.
	TLS *tls.Config
}

// sender returns who messages come from.
func (o Options) sender() (netmail.Address, error) {
	from, err := parseAddress(o.From)
	if err != nil {
		return netmail.Address{}, fmt.Errorf("mail: Options.From: %w", err)
	}
	if strings.ContainsFunc(o.FromName, unicode.IsControl) {
		return netmail.Address{}, fmt.Errorf("mail: Options.FromName: %q has control characters", o.FromName)
	}
	from.Name = o.FromName
	return from, nil
}

// parseAddress reads one address without a name, a comment or anything else
// around it.
func parseAddress(s string) (netmail.Address, error) {
	if s == "" {
		return netmail.Address{}, errors.New("there is no address")
	}
	a, err := netmail.ParseAddress(s)
	if err != nil || a.Address != s || strings.ContainsFunc(s, unicode.IsControl) {
		return netmail.Address{}, fmt.Errorf("%q is not one address like name@example.com", s)
	}
	return *a, nil
}

// isASCII reports whether servers without SMTPUTF8 (RFC 6531) can be told an
// address.
func isASCII(address string) bool {
	return !strings.ContainsFunc(address, func(r rune) bool { return r > unicode.MaxASCII })
}

// compose makes what is sent from a message. It is refused if it could be taken
// for something else than one message to one address.
func compose(m management.Message, from netmail.Address, encoding gomail.Encoding) (*gomail.Msg, error) {
	to, err := parseAddress(m.To)
	if err != nil {
		return nil, fmt.Errorf("recipient: %w", err)
	}
	if strings.ContainsFunc(m.Subject, unicode.IsControl) {
		return nil, fmt.Errorf("subject: %q has control characters", m.Subject)
	}
	msg := gomail.NewMsg(gomail.WithEncoding(encoding), gomail.WithNoDefaultUserAgent())
	msg.FromMailAddress(&from)
	msg.ToMailAddress(&to)
	msg.Subject(m.Subject)
	msg.SetDate()
	// The library would tell everybody the name of this machine.
	msg.SetMessageIDWithValue(rand.Text() + from.Address[strings.LastIndexByte(from.Address, '@'):])
	// So that nobody's holiday is announced to us (RFC 3834 §5).
	msg.SetGenHeader("Auto-Submitted", "auto-generated")
	msg.SetBodyString(gomail.TypeTextPlain, lines.Replace(m.Text))
	if m.HTML != "" {
		msg.AddAlternativeString(gomail.TypeTextHTML, lines.Replace(m.HTML))
	}
	return msg, nil
}

// lines ends all lines as RFC 5322 wants it.
var lines = strings.NewReplacer("\r\n", "\r\n", "\r", "\r\n", "\n", "\r\n")

// kind names what a message is about in errors.
func kind(m management.Message) string { return cmp.Or(m.Kind, "a message") }
