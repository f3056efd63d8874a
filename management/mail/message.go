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
	// From is the sender's address, like flagstaff@example.com.
	From string

	// FromName is the sender's name. Empty means that only the address is
	// shown.
	FromName string

	// Timeout limits the time to send one message, besides the context. Zero
	// means 10 s. Only SMTP uses it.
	Timeout time.Duration

	// TLS configures the encryption; an empty ServerName is filled in. Nil
	// means the defaults of crypto/tls. Only SMTP uses it.
	TLS *tls.Config
}

// sender returns the address and the name of the sender.
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

// parseAddress reads an address that has no name, comment or anything else
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

// isASCII reports whether a server without SMTPUTF8 (RFC 6531) accepts an
// address.
func isASCII(address string) bool {
	return !strings.ContainsFunc(address, func(r rune) bool { return r > unicode.MaxASCII })
}

// compose turns a message into a mail. It refuses a message that could be taken
// for anything but one message to one address.
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
	// The library's own Message-ID has the name of this machine.
	msg.SetMessageIDWithValue(rand.Text() + from.Address[strings.LastIndexByte(from.Address, '@'):])
	// This keeps holiday notices from being sent in return (RFC 3834 §5).
	msg.SetGenHeader("Auto-Submitted", "auto-generated")
	msg.SetBodyString(gomail.TypeTextPlain, lines.Replace(m.Text))
	if m.HTML != "" {
		msg.AddAlternativeString(gomail.TypeTextHTML, lines.Replace(m.HTML))
	}
	return msg, nil
}

// lines ends each line with CRLF, as RFC 5322 requires.
var lines = strings.NewReplacer("\r\n", "\r\n", "\r", "\r\n", "\n", "\r\n")

// kind returns the name by which errors call a message.
func kind(m management.Message) string { return cmp.Or(m.Kind, "a message") }
