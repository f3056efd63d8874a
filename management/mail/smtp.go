package mail

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	netmail "net/mail"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	gomail "github.com/wneessen/go-mail"
	"github.com/wneessen/go-mail/smtp"

	"github.com/flagstaff-go/flagstaff/management"
)

var _ management.Mailer = (*SMTP)(nil)

// SMTP hands messages to a mail server, each over a new connection. Its methods
// are safe for concurrent use.
type SMTP struct {
	host, port string
	implicit   bool // TLS from the start of the connection
	local      bool // the server is on this machine
	from       netmail.Address
	timeout    time.Duration
	tls        *tls.Config
	dial       func(ctx context.Context, network, address string) (net.Conn, error)

	// login returns the user name and the password. It is a function because
	// fmt does not print their result, as it would print fields. Nil means that
	// no login is needed.
	login func() (user, password string)
}

// errURL does not quote the URL, which may have a password. If the password is
// not encoded properly, any part of the URL may belong to it.
var errURL = errors.New("mail: the server's URL is not of the form smtp://user:password@host:port or smtps://…, with user and password percent-encoded or left out")

// NewSMTP returns a mailer for the server with a URL:
//
//	smtp://user:password@host:port
//
// User and password are percent-encoded, and may be left out together. The
// default port is 587, or 465 for smtps://. NewSMTP does not connect.
func NewSMTP(rawURL string, o Options) (*SMTP, error) {
	from, err := o.sender()
	if err != nil {
		return nil, err
	}
	if o.Timeout < 0 {
		return nil, fmt.Errorf("mail: Options.Timeout is %v, want more than 0", o.Timeout)
	}
	u, err := url.Parse(rawURL)
	if err != nil || u.Scheme != "smtp" && u.Scheme != "smtps" || u.Hostname() == "" ||
		strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" {
		return nil, errURL
	}
	s := &SMTP{
		host: u.Hostname(), port: cmp.Or(u.Port(), "587"), implicit: u.Scheme == "smtps",
		from: from, timeout: cmp.Or(o.Timeout, 10*time.Second), dial: new(net.Dialer).DialContext,
	}
	if s.implicit {
		s.port = cmp.Or(u.Port(), "465")
	}
	if n, err := strconv.ParseUint(s.port, 10, 16); err != nil || n == 0 {
		return nil, errURL
	}
	ip, err := netip.ParseAddr(s.host)
	s.local = err == nil && ip.IsLoopback() || strings.EqualFold(s.host, "localhost")
	if u.User != nil {
		user := u.User.Username()
		password, _ := u.User.Password()
		if user == "" || password == "" {
			return nil, errors.New("mail: the server's URL has a user without a password, or a password without a user")
		}
		s.login = func() (string, string) { return user, password }
	}
	if s.tls = o.TLS.Clone(); s.tls == nil {
		s.tls = &tls.Config{InsecureSkipVerify: s.local && !s.implicit}
	}
	s.tls.ServerName = cmp.Or(s.tls.ServerName, s.host)
	return s, nil
}

// String returns the URL of the server without user and password.
func (s *SMTP) String() string {
	scheme := "smtp://"
	if s.implicit {
		scheme = "smtps://"
	}
	return scheme + net.JoinHostPort(s.host, s.port)
}

// Send hands a message to the server and waits until the server has taken it.
// If ctx ends or the timeout passes first, it returns the error of the context.
func (s *SMTP) Send(ctx context.Context, m management.Message) error {
	msg, err := compose(m, s.from, gomail.EncodingQP)
	if err != nil {
		return fmt.Errorf("mail: send %s: %w", kind(m), err)
	}
	if err := s.within(ctx, func(client *smtp.Client) error { return s.deliver(client, msg, m.To) }); err != nil {
		return fmt.Errorf("mail: send %s through %s: %w", kind(m), s, err)
	}
	return nil
}

// Check looks whether the server takes mail: it connects, encrypts the connection and logs
// in as Send does, and sends nothing. If ctx ends or the timeout passes first, it returns
// the error of the context.
func (s *SMTP) Check(ctx context.Context) error {
	if err := s.within(ctx, func(*smtp.Client) error { return nil }); err != nil {
		return fmt.Errorf("mail: look at %s: %w", s, err)
	}
	return nil
}

// within connects and runs f with a client that has logged in, within the timeout. Its
// error has no secrets.
func (s *SMTP) within(ctx context.Context, f func(*smtp.Client) error) error {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	if err := s.connect(ctx, f); err != nil {
		if ended := ctx.Err(); ended != nil { // the connection was closed for this, so err alone says little
			err = fmt.Errorf("%w: %w", ended, err)
		}
		return s.redact(err)
	}
	return nil
}

func (s *SMTP) connect(ctx context.Context, f func(*smtp.Client) error) error {
	conn, err := s.dial(ctx, "tcp", net.JoinHostPort(s.host, s.port))
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer conn.Close()
	// The library takes no context, but it fails when the connection is closed.
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	client, err := s.begin(conn)
	if err != nil {
		return err
	}
	if err := f(client); err != nil {
		return err
	}
	// What there was to do is done. A failure from here on must not make the caller send a
	// message again.
	if err := conn.SetDeadline(time.Now().Add(time.Second)); err == nil {
		client.Quit()
	}
	return nil
}

// deliver hands a message over.
func (s *SMTP) deliver(client *smtp.Client, msg *gomail.Msg, to string) error {
	plain := isASCII(to) && isASCII(s.from.Address)
	if ok, _ := client.Extension("SMTPUTF8"); !ok && !plain {
		return errors.New("the server takes no addresses beyond ASCII")
	}
	client.SkipSMTPUTF8(plain) // with SMTPUTF8, servers behind this one could refuse the message for no reason
	if err := client.Mail((&netmail.Address{Address: s.from.Address}).String()); err != nil {
		return fmt.Errorf("name the sender %s: %w", s.from.Address, err)
	}
	if err := client.Rcpt((&netmail.Address{Address: to}).String()); err != nil {
		return fmt.Errorf("name the recipient %s: %w", to, err)
	}
	w, err := client.Data()
	if err != nil {
		return fmt.Errorf("begin the message: %w", err)
	}
	if _, err := msg.WriteTo(w); err != nil {
		return fmt.Errorf("write the message: %w", err)
	}
	if err := w.Close(); err != nil {
		return fmt.Errorf("end the message: %w", err)
	}
	return nil
}

// begin waits for the server's greeting, greets it, encrypts the connection and
// logs in, as far as the URL demands it and the server offers it.
func (s *SMTP) begin(conn net.Conn) (*smtp.Client, error) {
	if s.implicit {
		conn = tls.Client(conn, s.tls) // the handshake happens at the first read
	}
	client, err := smtp.NewClient(conn, s.host)
	if err != nil {
		return nil, fmt.Errorf("wait for a greeting: %w", err)
	}
	name, err := os.Hostname()
	if err != nil {
		name = "localhost"
	}
	if err := client.Hello(name); err != nil {
		return nil, fmt.Errorf("greet: %w", err)
	}
	if !s.implicit {
		if offered, _ := client.Extension("STARTTLS"); offered {
			if err := client.StartTLS(s.tls); err != nil {
				return nil, fmt.Errorf("encrypt: %w", err)
			}
		} else if s.login != nil && !s.local {
			return nil, errors.New("the server does not offer STARTTLS; without it, the password is not sent")
		}
	}
	if s.login != nil {
		if err := s.authenticate(client); err != nil {
			return nil, fmt.Errorf("log in: %w", err)
		}
	}
	return client, nil
}

// authenticate logs in by PLAIN or LOGIN. Both show the password to the server,
// so they need a connection that is encrypted or does not leave this machine.
func (s *SMTP) authenticate(client *smtp.Client) error {
	_, offered := client.Extension("AUTH")
	mechanisms := strings.Fields(strings.ToUpper(offered))
	user, password := s.login()
	switch {
	case slices.Contains(mechanisms, "PLAIN"):
		return client.Auth(smtp.PlainAuth("", user, password, s.host, s.local))
	case slices.Contains(mechanisms, "LOGIN"):
		return client.Auth(smtp.LoginAuth(user, password, s.host, s.local))
	}
	return fmt.Errorf("the server offers %q, want PLAIN or LOGIN", offered)
}

// A redacted error wraps an error whose text may contain a secret.
type redacted struct {
	text string
	err  error
}

func (e *redacted) Error() string { return e.text }
func (e *redacted) Unwrap() error { return e.err }

// redact returns an error whose text has neither user name nor password. Errors
// quote the server, and servers repeat what they were sent, decoded or not.
func (s *SMTP) redact(err error) error {
	if s.login == nil {
		return err
	}
	user, password := s.login()
	encode := base64.StdEncoding.EncodeToString
	quote := func(s string) string {
		quoted := strconv.Quote(s)
		return quoted[1 : len(quoted)-1]
	}
	var pairs []string
	for _, secret := range []string{
		encode([]byte("\x00" + user + "\x00" + password)), // PLAIN
		encode([]byte(password)), encode([]byte(user)),    // LOGIN
		password, quote(password), user, quote(user),
	} {
		pairs = append(pairs, secret, "[redacted]")
	}
	return &redacted{text: strings.NewReplacer(pairs...).Replace(err.Error()), err: err}
}
