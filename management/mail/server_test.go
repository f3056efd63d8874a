package mail_test

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/textproto"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

// A server is a mail server that keeps the messages it receives. The zero value
// takes mail from everybody and offers no extensions.
type server struct {
	starttls bool
	implicit bool   // TLS from the start of the connection
	auth     string // mechanisms to offer, like "PLAIN LOGIN"
	utf8     bool   // SMTPUTF8 is offered

	// answers replaces the answers to some commands, like "RCPT": "550 no". The
	// answer to "." follows a message, and the answer to "GREETING" begins a
	// connection. If an answer is empty, the server sends none and waits until
	// the client goes away.
	answers map[string]string

	mu       sync.Mutex
	received []envelope
	commands []string // of all connections together
}

// An envelope is a message with the commands that announced it.
type envelope struct {
	from, to       string // with their parameters
	user, password string
	encrypted      bool
	data           string
}

// certified is the only name that certificate is valid for. It is self-signed.
const certified = "mail.example.com"

var certificate, certificates = func() (tls.Certificate, *x509.CertPool) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{certified},
		NotAfter: time.Now().AddDate(100, 0, 0), // the fake time of synctest begins in 2000
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		panic(err)
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		panic(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(parsed)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pool
}()

// trusting returns a configuration that trusts the certificate.
func trusting() *tls.Config { return &tls.Config{RootCAs: certificates} }

// listen starts a server on the loopback interface, until the test ends, and
// returns its address. The test fails if the client leaves a connection open.
func (s *server) listen(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var connections sync.WaitGroup
	connections.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			connections.Go(func() {
				conn.SetDeadline(time.Now().Add(10 * time.Second))
				if err := s.serve(conn); errors.Is(err, os.ErrDeadlineExceeded) {
					t.Errorf("the connection is left open: %v", err)
				}
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		connections.Wait()
	})
	return l.Addr().String()
}

// dialer connects to a server in memory, over an unbuffered pipe.
func (s *server) dialer() func(context.Context, string, string) (net.Conn, error) {
	return func(context.Context, string, string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		go s.serve(theirs)
		return ours, nil
	}
}

// envelopes returns the received messages.
func (s *server) envelopes() []envelope {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.received
}

// said returns the received commands.
func (s *server) said() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.commands
}

// serve answers one client until it goes away.
func (s *server) serve(conn net.Conn) error {
	defer conn.Close()
	var e envelope
	if s.implicit {
		conn = tls.Server(conn, &tls.Config{Certificates: []tls.Certificate{certificate}})
		e.encrypted = true
	}
	r := textproto.NewReader(bufio.NewReader(conn))
	var failed error
	// say answers a command with the usual answer or its replacement, and
	// reports whether it was the usual one.
	say := func(command, usual string) bool {
		answer, special := s.answers[command]
		if !special {
			answer = usual
		}
		if answer == "" {
			_, failed = io.Copy(io.Discard, conn)
			failed = cmpErr(failed, io.EOF)
			return false
		}
		_, failed = fmt.Fprintf(conn, "%s\r\n", answer)
		return !special
	}
	read := func() string {
		if failed != nil {
			return ""
		}
		var line string
		line, failed = r.ReadLine()
		return line
	}
	say("GREETING", "220 test ready")
	for failed == nil {
		line := read()
		if failed != nil {
			break
		}
		verb, rest, _ := strings.Cut(line, " ")
		verb = strings.ToUpper(verb)
		s.mu.Lock()
		s.commands = append(s.commands, verb)
		s.mu.Unlock()
		switch verb {
		case "EHLO":
			lines := []string{"test"}
			if s.starttls && !e.encrypted {
				lines = append(lines, "STARTTLS")
			}
			if s.auth != "" {
				lines = append(lines, "AUTH "+s.auth)
			}
			if s.utf8 {
				lines = append(lines, "SMTPUTF8")
			}
			lines = append(lines, "8BITMIME")
			for i := range lines {
				lines[i] = "250-" + lines[i]
			}
			lines[len(lines)-1] = strings.Replace(lines[len(lines)-1], "-", " ", 1)
			say(verb, strings.Join(lines, "\r\n"))
		case "STARTTLS":
			if say(verb, "220 go on") {
				conn = tls.Server(conn, &tls.Config{Certificates: []tls.Certificate{certificate}})
				r = textproto.NewReader(bufio.NewReader(conn))
				e.encrypted = true
			}
		case "AUTH":
			mechanism, initial, _ := strings.Cut(rest, " ")
			switch mechanism {
			case "PLAIN":
				fields := strings.Split(decode(initial), "\x00")
				if len(fields) == 3 {
					e.user, e.password = fields[1], fields[2]
				}
			case "LOGIN":
				say("USERNAME", "334 "+base64.StdEncoding.EncodeToString([]byte("Username:")))
				e.user = decode(read())
				say("PASSWORD", "334 "+base64.StdEncoding.EncodeToString([]byte("Password:")))
				e.password = decode(read())
			}
			say(verb, "235 welcome")
		case "MAIL":
			e.from = strings.TrimPrefix(rest, "FROM:")
			say(verb, "250 ok")
		case "RCPT":
			e.to += strings.TrimPrefix(rest, "TO:")
			say(verb, "250 ok")
		case "DATA":
			if say(verb, "354 go on") {
				var data []byte
				data, failed = r.ReadDotBytes() // ends lines with \n
				e.data = string(data)
				if failed == nil && say(".", "250 taken") {
					s.mu.Lock()
					s.received = append(s.received, e)
					s.mu.Unlock()
				}
			}
		case "QUIT":
			say(verb, "221 bye")
		default:
			say(verb, "502 what?")
		}
	}
	return failed
}

// cmpErr returns err, or other if err is nil.
func cmpErr(err, other error) error {
	if err != nil {
		return err
	}
	return other
}

func decode(s string) string {
	b, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		return "not base64: " + s
	}
	return string(b)
}
