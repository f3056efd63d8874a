package mail_test

import (
	"bufio"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net"
	netmail "net/mail"
	"net/textproto"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/mail"
)

// User and password contain characters that a URL must percent-encode.
const (
	user        = "us:er@example.com"
	password    = `p/s?#w%"\rd@ä`
	credentials = "us%3Aer%40example.com:p%2Fs%3F%23w%25%22%5Crd%40%C3%A4"
)

var options = mail.Options{From: "flagstaff@example.com", FromName: "Flagstaff Ünit"}

// verification is a message like the most common one.
var verification = management.Message{
	To:      "ada@example.org",
	Subject: "Verify your email address",
	Text: "Hello Ädä,\n\n.\n.hidden dots\nhttps://app.example.com/verify_email/0192f3c0-7a10-7000-8000-000000000007/" +
		strings.Repeat("aB3_", 11) + "?next=%2Fprojects%2F1&a=b\n\n-- \nFlagstaff\n",
	Kind: "email_verification",
}

func newSMTP(tb testing.TB, url string, o mail.Options) *mail.SMTP {
	tb.Helper()
	m, err := mail.NewSMTP(url, o)
	if err != nil {
		tb.Fatal(err)
	}
	return m
}

// connectTo makes a mailer connect to an address, whatever its URL says.
func connectTo(m *mail.SMTP, address string) *mail.SMTP {
	m.SetDial(func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, address)
	})
	return m
}

// A parsed message has the parts that a reader sees.
type parsed struct {
	From, To, Subject string
	Texts             map[string]string // the parts, by media type
}

func parse(t *testing.T, data string) parsed {
	t.Helper()
	m, err := netmail.ReadMessage(strings.NewReader(data))
	if err != nil {
		t.Fatalf("the message cannot be read: %v\n%s", err, data)
	}
	if _, err := m.Header.Date(); err != nil {
		t.Errorf("Date: %v", err)
	}
	if id := m.Header.Get("Message-Id"); !strings.HasSuffix(id, "@example.com>") {
		t.Errorf("Message-ID = %s, want one of the sender's domain", id)
	}
	if got := m.Header.Get("Auto-Submitted"); got != "auto-generated" {
		t.Errorf("Auto-Submitted = %q, want auto-generated", got)
	}
	header := func(name string) string {
		text, err := new(mime.WordDecoder).DecodeHeader(m.Header.Get(name))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		return text
	}
	p := parsed{From: header("From"), To: header("To"), Subject: header("Subject"), Texts: map[string]string{}}
	addPart(t, &p, textproto.MIMEHeader(m.Header), m.Body)
	return p
}

func addPart(t *testing.T, p *parsed, h textproto.MIMEHeader, body io.Reader) {
	t.Helper()
	kind, params, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err != nil {
		t.Fatalf("Content-Type %q: %v", h.Get("Content-Type"), err)
	}
	if kind == "multipart/alternative" {
		parts := multipart.NewReader(body, params["boundary"])
		for {
			part, err := parts.NextRawPart()
			if err == io.EOF {
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			addPart(t, p, part.Header, part)
		}
	}
	if got := params["charset"]; !strings.EqualFold(got, "utf-8") {
		t.Errorf("charset = %q, want UTF-8", got)
	}
	switch encoding := h.Get("Content-Transfer-Encoding"); encoding {
	case "quoted-printable":
		body = quotedprintable.NewReader(body)
	case "8bit":
	default:
		t.Errorf("Content-Transfer-Encoding = %q", encoding)
	}
	text, err := io.ReadAll(body)
	if err != nil {
		t.Fatal(err)
	}
	p.Texts[kind] = strings.ReplaceAll(string(text), "\r\n", "\n")
}

func TestSMTPDelivers(t *testing.T) {
	for _, tt := range []struct {
		name   string
		server *server
		url    string
		local  bool // the URL has the address of the test server itself
		want   envelope
	}{
		{"to a server that offers nothing", &server{}, "smtp://mail.example.com", false, envelope{}},
		{"encrypted if that is offered", &server{starttls: true}, "smtp://mail.example.com", false, envelope{encrypted: true}},
		{"encrypted from the start", &server{implicit: true}, "smtps://mail.example.com:466/", false, envelope{encrypted: true}},
		{
			"with a password, by PLAIN",
			&server{starttls: true, auth: "LOGIN PLAIN"},
			"smtp://" + credentials + "@mail.example.com",
			false,
			envelope{encrypted: true, user: user, password: password},
		},
		{
			"with a password, by LOGIN",
			&server{starttls: true, auth: "CRAM-MD5 login"},
			"smtp://" + credentials + "@mail.example.com",
			false,
			envelope{encrypted: true, user: user, password: password},
		},
		{
			"with a password, encrypted from the start",
			&server{implicit: true, auth: "PLAIN"},
			"smtps://" + credentials + "@mail.example.com",
			false,
			envelope{encrypted: true, user: user, password: password},
		},
		{"on this machine", &server{}, "smtp://%s", true, envelope{}},
		{"on this machine, encrypted with any certificate", &server{starttls: true}, "smtp://%s", true, envelope{encrypted: true}},
		{
			"on this machine, with a password, by PLAIN",
			&server{auth: "PLAIN"},
			"smtp://" + credentials + "@%s",
			true,
			envelope{user: user, password: password},
		},
		{
			"on this machine, with a password, by LOGIN",
			&server{auth: "LOGIN"},
			"smtp://" + credentials + "@%s",
			true,
			envelope{user: user, password: password},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			address := tt.server.listen(t)
			o := options
			if tt.local {
				tt.url = strings.Replace(tt.url, "%s", address, 1)
			} else {
				o.TLS = trusting()
			}
			m := newSMTP(t, tt.url, o)
			if !tt.local {
				connectTo(m, address)
			}
			if err := m.Send(t.Context(), verification); err != nil {
				t.Fatalf("Send = %v", err)
			}
			got := tt.server.envelopes()
			if len(got) != 1 {
				t.Fatalf("%d messages were received, want 1", len(got))
			}
			tt.want.from, tt.want.to, tt.want.data = "<flagstaff@example.com> BODY=8BITMIME", "<ada@example.org>", got[0].data
			if got[0] != tt.want {
				t.Errorf("received %+v, want %+v", got[0], tt.want)
			}
			want := parsed{
				From: "Flagstaff Ünit <flagstaff@example.com>", To: "<ada@example.org>", Subject: verification.Subject,
				Texts: map[string]string{"text/plain": verification.Text},
			}
			if diff := cmp.Diff(want, parse(t, got[0].data)); diff != "" {
				t.Errorf("message (-want +got):\n%s", diff)
			}
			if said := tt.server.said(); said[len(said)-1] != "QUIT" {
				t.Errorf("the client said %v, want QUIT at the end", said)
			}
		})
	}
}

func TestSMTPContent(t *testing.T) {
	for _, tt := range []struct {
		name string
		m    management.Message
	}{
		{"nothing but a recipient", management.Message{To: "ada@example.org"}},
		{"a subject that is not in ASCII", management.Message{To: "ada@example.org", Subject: "Подтвердите адрес 📬 = \"?=\""}},
		{"a long subject", management.Message{To: "ada@example.org", Subject: "Überlang " + strings.Repeat("Bestätigung 确认 ", 20) + "Ende"}},
		{"a long word in a subject", management.Message{To: "ada@example.org", Subject: strings.Repeat("x", 300)}},
		{"a text that is not in ASCII", management.Message{To: "ada@example.org", Text: "Привет, 世界 👋\n\ttab and space \n=3D = not an encoding\n"}},
		{"a long line", management.Message{To: "ada@example.org", Text: strings.Repeat("päckchen ", 500) + "\n"}},
		{"no line end", management.Message{To: "ada@example.org", Text: "end"}},
		{"dots", management.Message{To: "ada@example.org", Text: ".\n..\n.\n\n.QUIT\n"}},
		{"text and HTML", management.Message{To: "ada@example.org", Text: "täxt\n", HTML: "<p>häml\n<a href=\"https://x.example/?a=b&amp;c=d\">x</a></p>\n"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var s server
			m := connectTo(newSMTP(t, "smtp://mail.example.com", options), s.listen(t))
			if err := m.Send(t.Context(), tt.m); err != nil {
				t.Fatalf("Send = %v", err)
			}
			got := parse(t, s.envelopes()[0].data)
			want := parsed{From: got.From, To: "<ada@example.org>", Subject: tt.m.Subject, Texts: map[string]string{"text/plain": tt.m.Text}}
			if tt.m.HTML != "" {
				want.Texts["text/html"] = tt.m.HTML
			}
			// The test server reads lines, so it completes the last one.
			if text := got.Texts["text/plain"]; tt.m.HTML == "" && text != tt.m.Text {
				got.Texts["text/plain"] = strings.TrimSuffix(text, "\n")
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("message (-want +got):\n%s", diff)
			}
			for line := range strings.Lines(s.envelopes()[0].data) {
				if len(line) > 998 {
					t.Errorf("a line has %d bytes", len(line))
				}
			}
		})
	}
}

// Addresses beyond ASCII need a server that supports them. For other addresses,
// the client does not ask for SMTPUTF8.
func TestSMTPUTF8(t *testing.T) {
	m := verification
	m.To = "jörg@example.org"
	s := server{utf8: true}
	mailer := connectTo(newSMTP(t, "smtp://mail.example.com", options), s.listen(t))
	if err := mailer.Send(t.Context(), m); err != nil {
		t.Fatalf("Send = %v", err)
	}
	if err := mailer.Send(t.Context(), verification); err != nil {
		t.Fatalf("Send = %v", err)
	}
	got := s.envelopes()
	if e := got[0]; e.to != "<jörg@example.org>" || !strings.HasSuffix(e.from, " SMTPUTF8") {
		t.Errorf("from %s to %s, want SMTPUTF8", e.from, e.to)
	}
	if e := got[1]; strings.HasSuffix(e.from, " SMTPUTF8") {
		t.Errorf("from %s to %s, want no SMTPUTF8", e.from, e.to)
	}

	var old server
	err := connectTo(newSMTP(t, "smtp://mail.example.com", options), old.listen(t)).Send(t.Context(), m)
	if want := "mail: send email_verification through smtp://mail.example.com:587: the server takes no addresses beyond ASCII"; fmt.Sprint(err) != want {
		t.Errorf("Send = %v, want %s", err, want)
	}
}

// TestSMTPCheck: a look at a server logs in and sends nothing.
func TestSMTPCheck(t *testing.T) {
	const url = "smtp://" + credentials + "@mail.example.com"
	o := options
	o.TLS = trusting()
	s := &server{starttls: true, auth: "PLAIN"}
	if err := connectTo(newSMTP(t, url, o), s.listen(t)).Check(t.Context()); err != nil {
		t.Errorf("Check = %v", err)
	}
	if diff := cmp.Diff([]string{"EHLO", "STARTTLS", "EHLO", "AUTH", "QUIT"}, s.said()); diff != "" {
		t.Errorf("the client says (-want +got)\n%s", diff)
	}
	refusing := &server{starttls: true, auth: "PLAIN", answers: map[string]string{"AUTH": "535 no " + password}}
	err := connectTo(newSMTP(t, url, o), refusing.listen(t)).Check(t.Context())
	checkSecrets(t, err)
	if want := "mail: look at smtp://mail.example.com:587: log in: "; !strings.HasPrefix(fmt.Sprint(err), want) {
		t.Errorf("Check = %v, want %s…", err, want)
	}
	o.Timeout = time.Millisecond
	silent := &server{answers: map[string]string{"GREETING": ""}}
	if err := connectTo(newSMTP(t, url, o), silent.listen(t)).Check(t.Context()); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Check of a server that says nothing = %v, want %v", err, context.DeadlineExceeded)
	}
}

// checkSecrets reports errors that contain a secret.
func checkSecrets(t *testing.T, err error) {
	t.Helper()
	encode := base64.StdEncoding.EncodeToString
	for _, secret := range []string{
		credentials, user, password, strings.Trim(strconv.Quote(password), `"`), "us%3Aer%40example.com", "p%2Fs%3F%23w",
		encode([]byte(user)), encode([]byte(password)), encode([]byte("\x00" + user + "\x00" + password)),
	} {
		if strings.Contains(fmt.Sprint(err), secret) {
			t.Errorf("%q tells %q", err, secret)
		}
	}
}

func TestSMTPFails(t *testing.T) {
	const (
		plain  = "smtp://mail.example.com"
		secret = "smtp://" + credentials + "@mail.example.com"
	)
	encoded := base64.StdEncoding.EncodeToString([]byte("\x00" + user + "\x00" + password))
	for _, tt := range []struct {
		name   string
		server *server
		url    string
		want   string // the failed step, a part of the error
		code   int    // of the server's answer, 0 if the error has none
		says   string // text of the server's answer
	}{
		{"busy", &server{answers: map[string]string{"GREETING": "421 4.3.2 too busy"}}, plain, "wait for a greeting: ", 421, "4.3.2 too busy"},
		{"no mail server", &server{answers: map[string]string{"GREETING": "HTTP/1.1 400 Bad Request"}}, plain, "wait for a greeting: ", 0, ""},
		{"no greeting", &server{answers: map[string]string{"EHLO": "550 who?", "HELO": "550 who?"}}, plain, "greet: ", 550, "who?"},
		{"not encrypted though there is a password", &server{auth: "PLAIN"}, secret, "the server does not offer STARTTLS; without it, the password is not sent", 0, ""},
		{"does not encrypt", &server{starttls: true, answers: map[string]string{"STARTTLS": "454 4.7.0 not now"}}, secret, "encrypt: ", 454, "4.7.0 not now"},
		{"does not encrypt from the start", &server{}, "smtps://mail.example.com", "wait for a greeting: tls: ", 0, ""},
		{"a certificate for another host", &server{starttls: true}, "smtp://mail.example.org", "encrypt: tls: failed to verify certificate", 0, ""},
		{"a certificate for another host, at the start", &server{implicit: true}, "smtps://localhost", "wait for a greeting: tls: failed to verify certificate", 0, ""},
		{"takes no password", &server{starttls: true}, secret, `log in: the server offers "", want PLAIN or LOGIN`, 0, ""},
		{"takes no password in a way that is known", &server{starttls: true, auth: "GSSAPI"}, secret, `log in: the server offers "GSSAPI", want PLAIN or LOGIN`, 0, ""},
		{"wrong password", &server{starttls: true, auth: "PLAIN", answers: map[string]string{"AUTH": "535 5.7.8 go away"}}, secret, "log in: ", 535, "5.7.8 go away"},
		{
			"repeats the password",
			&server{starttls: true, auth: "PLAIN", answers: map[string]string{"AUTH": "535 bad: " + password + " of " + user + ", " + encoded}},
			secret, "log in: ", 535, "bad: [redacted] of [redacted], [redacted]",
		},
		{
			"asks for the password",
			&server{starttls: true, auth: "LOGIN", answers: map[string]string{"PASSWORD": "334 " + base64.StdEncoding.EncodeToString([]byte(password)), "AUTH": "535 " + base64.StdEncoding.EncodeToString([]byte(password))}},
			secret, "log in: ", 535, "[redacted]",
		},
		{"goes on asking", &server{starttls: true, auth: "PLAIN", answers: map[string]string{"AUTH": "334 " + encoded}}, secret, "log in: ", 0, ""},
		{"refuses the sender", &server{answers: map[string]string{"MAIL": "553 5.7.1 not you"}}, plain, "name the sender flagstaff@example.com: ", 553, "5.7.1 not you"},
		{"refuses the recipient", &server{answers: map[string]string{"RCPT": "550 5.1.1 no such user"}}, plain, "name the recipient ada@example.org: ", 550, "5.1.1 no such user"},
		{"refuses the recipient for now", &server{answers: map[string]string{"RCPT": "451-4.7.1 greylisted\r\n451 4.7.1 for you"}}, plain, "name the recipient ada@example.org: ", 451, "4.7.1 greylisted"},
		{"takes no messages", &server{answers: map[string]string{"DATA": "452 4.3.1 full"}}, plain, "begin the message: ", 452, "4.3.1 full"},
		{"refuses the message", &server{answers: map[string]string{".": "554 5.6.0 spam"}}, plain, "end the message: ", 554, "5.6.0 spam"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := options
			o.TLS = trusting()
			m := connectTo(newSMTP(t, tt.url, o), tt.server.listen(t))
			err := m.Send(t.Context(), verification)
			checkSecrets(t, err)
			if prefix := "mail: send email_verification through " + m.String() + ": "; !strings.HasPrefix(fmt.Sprint(err), prefix+tt.want) || !strings.Contains(fmt.Sprint(err), tt.says) {
				t.Errorf("Send = %v, want %s%s…%s", err, prefix, tt.want, tt.says)
			}
			code := 0
			if answer, ok := errors.AsType[*textproto.Error](err); ok {
				code = answer.Code
			}
			if code != tt.code {
				t.Errorf("Send = %v with code %d, want %d", err, code, tt.code)
			}
			if n := len(tt.server.envelopes()); n != 0 {
				t.Errorf("%d messages were received, want 0", n)
			}
		})
	}
}

func TestSMTPNobodyListens(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	err = newSMTP(t, "smtp://"+credentials+"@"+address, options).Send(t.Context(), verification)
	checkSecrets(t, err)
	if _, ok := errors.AsType[*net.OpError](err); !ok || !strings.Contains(err.Error(), "connect: dial tcp "+address) {
		t.Errorf("Send = %v, want an error that tells the address and wraps that of the network", err)
	}
}

// A message that the server has taken counts as sent, whatever follows.
func TestSMTPDeliveredIsDelivered(t *testing.T) {
	for name, answer := range map[string]string{"an error": "500 never heard of it", "nonsense": "x", "nothing": ""} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := server{answers: map[string]string{"QUIT": answer}}
				m := newSMTP(t, "smtp://mail.example.com", options)
				m.SetDial(s.dialer())
				begin := time.Now()
				if err := m.Send(t.Context(), verification); err != nil || len(s.envelopes()) != 1 {
					t.Errorf("Send = %v with %d messages received, want nil and 1", err, len(s.envelopes()))
				}
				if took := time.Since(begin); took > time.Second {
					t.Errorf("Send takes %v, want 1s at most", took)
				}
			})
		})
	}
}

// steps are the commands after which a server can fall silent.
var steps = []string{"GREETING", "EHLO", "STARTTLS", "AUTH", "USERNAME", "PASSWORD", "MAIL", "RCPT", "DATA", "."}

// A silent server delays its client no longer than the timeout, and its
// connection is closed. All runs in a bubble of synctest, which fails if a
// goroutine does not end.
func TestSMTPTimeout(t *testing.T) {
	for _, step := range steps {
		for _, implicit := range []bool{false, true} {
			if implicit && step == "STARTTLS" {
				continue
			}
			t.Run(fmt.Sprint(step, ", implicit ", implicit), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					m := silentAt(t, step, implicit)
					begin := time.Now()
					err := m.Send(t.Context(), verification)
					if took := time.Since(begin); !errors.Is(err, context.DeadlineExceeded) || took != 10*time.Second {
						t.Errorf("Send = %v after %v, want context.DeadlineExceeded after 10s", err, took)
					}
					checkSecrets(t, err)
				})
			})
		}
	}
}

// Both sides wait if they disagree: a server that encrypts from the start waits
// for the client to begin, and the client waits for a greeting.
func TestSMTPEncryptedUnasked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := server{implicit: true}
		o := options
		o.Timeout = time.Minute
		m := newSMTP(t, "smtp://mail.example.com", o)
		m.SetDial(s.dialer())
		begin := time.Now()
		err := m.Send(t.Context(), verification)
		if took := time.Since(begin); !errors.Is(err, context.DeadlineExceeded) || took != time.Minute {
			t.Errorf("Send = %v after %v, want context.DeadlineExceeded after 1m", err, took)
		}
	})
}

func TestSMTPContextEnds(t *testing.T) {
	for _, step := range steps {
		t.Run(step, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := silentAt(t, step, false)
				ctx, cancel := context.WithCancel(t.Context())
				done := make(chan error)
				go func() { done <- m.Send(ctx, verification) }()
				synctest.Wait()
				cancel()
				if err := <-done; !errors.Is(err, context.Canceled) {
					t.Errorf("Send = %v, want context.Canceled", err)
				}
			})
		})
	}
}

// silentAt returns a mailer for a server that falls silent at a step.
func silentAt(t *testing.T, step string, implicit bool) *mail.SMTP {
	t.Helper()
	s := server{starttls: !implicit, implicit: implicit, auth: "PLAIN", answers: map[string]string{step: ""}}
	if step == "USERNAME" || step == "PASSWORD" {
		s.auth = "LOGIN"
	}
	scheme := "smtp://"
	if implicit {
		scheme = "smtps://"
	}
	o := options
	o.TLS = trusting()
	m := newSMTP(t, scheme+credentials+"@mail.example.com", o)
	m.SetDial(s.dialer())
	return m
}

func TestSMTPConnectionIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newSMTP(t, "smtp://mail.example.com", options)
		m.SetDial(func(context.Context, string, string) (net.Conn, error) {
			ours, theirs := net.Pipe()
			go func() {
				fmt.Fprint(theirs, "220 test\r\n")
				bufio.NewReader(theirs).ReadString('\n')
				theirs.Close()
			}()
			return ours, nil
		})
		if err := m.Send(t.Context(), verification); !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("Send = %v, want io.EOF", err)
		}
	})
}

func TestSMTPConcurrentUse(t *testing.T) {
	s := server{starttls: true, auth: "PLAIN"}
	o := options
	o.TLS = trusting()
	m := connectTo(newSMTP(t, "smtp://"+credentials+"@mail.example.com", o), s.listen(t))
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if err := m.Send(t.Context(), verification); err != nil {
				t.Errorf("Send = %v", err)
			}
		})
	}
	wg.Wait()
	ids := make(map[string]bool)
	for _, e := range s.envelopes() {
		m, err := netmail.ReadMessage(strings.NewReader(e.data))
		if err != nil {
			t.Fatal(err)
		}
		ids[m.Header.Get("Message-Id")] = true
	}
	if len(ids) != 8 {
		t.Errorf("%d different messages were received, want 8", len(ids))
	}
}

// hostile are messages that try to smuggle in recipients, headers or commands.
var hostile = []struct {
	name string
	m    management.Message
	want string
}{
	{"no recipient", management.Message{}, "recipient: there is no address"},
	{"two recipients", management.Message{To: "ada@example.org, eve@example.org"}, `recipient: "ada@example.org, eve@example.org" is not one address`},
	{"a recipient with a name", management.Message{To: "Ada <ada@example.org>"}, "is not one address"},
	{"a group", management.Message{To: "all: ada@example.org, eve@example.org;"}, "is not one address"},
	{"a comment", management.Message{To: "ada@example.org (Ada)"}, "is not one address"},
	{"no domain", management.Message{To: "ada"}, "is not one address"},
	{"spaces around", management.Message{To: " ada@example.org"}, "is not one address"},
	{"a header behind a recipient", management.Message{To: "ada@example.org\r\nBcc: eve@example.org"}, "is not one address"},
	{"a recipient in two lines", management.Message{To: "ada\n@example.org"}, "is not one address"},
	{"a command behind a recipient", management.Message{To: "ada@example.org>\r\nRCPT TO:<eve@example.org"}, "is not one address"},
	{"parameters behind a recipient", management.Message{To: "ada@example.org> NOTIFY=SUCCESS"}, "is not one address"},
	{"a quoted line break", management.Message{To: "\"a\r\n b\"@example.org"}, "is not one address"},
	{"a header behind a subject", management.Message{To: "ada@example.org", Subject: "Hi\r\nBcc: eve@example.org"}, `subject: "Hi\r\nBcc: eve@example.org" has control characters`},
	{"a line feed in a subject", management.Message{To: "ada@example.org", Subject: "Hi\nBcc: eve@example.org"}, "has control characters"},
	{"a carriage return in a subject", management.Message{To: "ada@example.org", Subject: "Hi\rBcc: eve@example.org"}, "has control characters"},
	{"a zero in a subject", management.Message{To: "ada@example.org", Subject: "Hi\x00"}, "has control characters"},
	{"a line end of Unicode in a subject", management.Message{To: "ada@example.org", Subject: "Hi\u0085Bcc: eve@example.org"}, "has control characters"},
}

func TestSMTPRefusesInjection(t *testing.T) {
	var s server
	m := connectTo(newSMTP(t, "smtp://mail.example.com", options), s.listen(t))
	for _, tt := range hostile {
		t.Run(tt.name, func(t *testing.T) {
			err := m.Send(t.Context(), tt.m)
			if !strings.HasPrefix(fmt.Sprint(err), "mail: send a message: ") || !strings.Contains(err.Error(), tt.want) || strings.ContainsAny(err.Error(), "\r\n") {
				t.Errorf("Send = %v, want …%s", err, tt.want)
			}
		})
	}
	if said := s.said(); len(said) != 0 {
		t.Errorf("the server was told %v", said)
	}
}

func TestNewSMTPRefusesURLs(t *testing.T) {
	for _, url := range []string{
		"", "mail.example.com", "mail.example.com:587", "//mail.example.com", "http://mail.example.com", "smtp:mail.example.com",
		"smtp://", "smtp://:25", "smtp:///path", "smtp://mail.example.com/path", "smtp://mail.example.com?from=a", "smtp://mail.example.com#a",
		"smtp://mail.example.com:0", "smtp://mail.example.com:65536", "smtp://mail.example.com:smtp", "smtp://mail example.com",
		"smtp://us:er@example.com@mail.example.com:x", "smtp://user:p/sw@mail.example.com", "smtp://user:12/3@mail.example.com",
		"smtp://user:12?3@mail.example.com", "smtp://user:12#3@mail.example.com", "smtp://user:p%zz@mail.example.com",
		"user:" + password + "@mail.example.com", "smtp://" + user + ":" + password + "@mail.example.com",
	} {
		m, err := mail.NewSMTP(url, options)
		const want = "mail: the server's URL is not of the form smtp://user:password@host:port or smtps://…, with user and password percent-encoded or left out"
		if m != nil || fmt.Sprint(err) != want {
			t.Errorf("NewSMTP(%q) = %v, %v; want %s", url, m, err, want)
		}
	}
	for _, url := range []string{"smtp://user@mail.example.com", "smtp://user:@mail.example.com", "smtp://:password@mail.example.com", "smtp://@mail.example.com"} {
		m, err := mail.NewSMTP(url, options)
		const want = "mail: the server's URL has a user without a password, or a password without a user"
		if m != nil || fmt.Sprint(err) != want {
			t.Errorf("NewSMTP(%q) = %v, %v; want %s", url, m, err, want)
		}
	}
}

func TestNewRefusesOptions(t *testing.T) {
	for _, tt := range []struct {
		name string
		o    mail.Options
		want string
	}{
		{"no sender", mail.Options{}, "mail: Options.From: there is no address"},
		{"a sender with a name", mail.Options{From: "F <f@example.com>"}, `mail: Options.From: "F <f@example.com>" is not one address like name@example.com`},
		{"a sender that is a header", mail.Options{From: "f@example.com\r\nBcc: eve@example.org"}, `mail: Options.From: "f@example.com\r\nBcc: eve@example.org" is not one address like name@example.com`},
		{"a name that is a header", mail.Options{From: "f@example.com", FromName: "F\nBcc: eve@example.org"}, `mail: Options.FromName: "F\nBcc: eve@example.org" has control characters`},
		{"no time", mail.Options{From: "f@example.com", Timeout: -1}, "mail: Options.Timeout is -1ns, want more than 0"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if m, err := mail.NewSMTP("smtp://mail.example.com", tt.o); m != nil || fmt.Sprint(err) != tt.want {
				t.Errorf("NewSMTP = %v, %v; want %s", m, err, tt.want)
			}
			if tt.o.Timeout < 0 {
				return
			}
			if d, err := mail.OpenDir(t.TempDir(), tt.o); d != nil || fmt.Sprint(err) != tt.want {
				t.Errorf("OpenDir = %v, %v; want %s", d, err, tt.want)
			}
		})
	}
}

func TestSMTPString(t *testing.T) {
	for url, want := range map[string]string{
		"smtp://mail.example.com":                          "smtp://mail.example.com:587",
		"smtps://mail.example.com/":                        "smtps://mail.example.com:465",
		"SMTP://" + credentials + "@mail.example.com:2525": "smtp://mail.example.com:2525",
		"smtps://" + credentials + "@[2001:db8::1]":        "smtps://[2001:db8::1]:465",
		"smtps://" + credentials + "@[2001:db8::1]:0466":   "smtps://[2001:db8::1]:0466",
	} {
		m := newSMTP(t, url, options)
		if got := m.String(); got != want {
			t.Errorf("String of %s = %s, want %s", url, got, want)
		}
		for _, format := range []string{"%v", "%+v", "%#v", "%s"} {
			checkSecrets(t, fmt.Errorf(format, m))
			checkSecrets(t, fmt.Errorf(format, *m))
		}
	}
}
