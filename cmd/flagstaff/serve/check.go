package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/flagstaff-go/flagstaff/capture/jetstream"
	"github.com/flagstaff-go/flagstaff/cmd/flagstaff/internal/database"
	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/flags/source"
	"github.com/flagstaff-go/flagstaff/geoip"
	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/mail"
	"github.com/flagstaff-go/flagstaff/management/sqlstore"
	"github.com/flagstaff-go/flagstaff/management/sqlstore/sqlite"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// maxCheckTime is how long -check waits for the server of mail, the store and the stream in
// all.
const maxCheckTime = 30 * time.Second

// A checking writes what a look at the settings finds, a line for each thing.
type checking struct {
	out    io.Writer
	errors int
}

func (c *checking) line(mark, what, text string) {
	fmt.Fprintf(c.out, "%-8s %-12s %s\n", mark, what, strings.ReplaceAll(text, "\n", "; "))
}

func (c *checking) ok(what, format string, args ...any) {
	c.line("ok", what, fmt.Sprintf(format, args...))
}

func (c *checking) warn(what, format string, args ...any) {
	c.line("warning", what, fmt.Sprintf(format, args...))
}

func (c *checking) fail(what string, err error) {
	c.errors++
	c.line("error", what, err.Error())
}

// check looks at everything that a start looks at, and leaves nothing behind. invalid is
// what is wrong with the settings by themselves; what these settings name is not looked at.
func (m *Main) check(ctx context.Context, s *settings, invalid error) error {
	ctx, cancel := context.WithTimeout(ctx, maxCheckTime)
	defer cancel()
	c := &checking{out: m.Stdout}
	if invalid == nil {
		c.ok("settings", "are in order")
	} else {
		for line := range strings.SplitSeq(invalid.Error(), "\n") {
			c.fail("settings", errors.New(line))
		}
	}
	if s.configFile != "" {
		c.ok("config", "%s sets %d of them", s.configFile, len(s.inFile))
	}
	for _, sentence := range s.exposed() {
		c.warn("secrets", "%s", sentence)
	}
	m.checkAddresses(ctx, s, c)
	s.checkFiles(ctx, c)
	if words, err := s.summarizer(); s.isWrong("summary-url", "summary-key-file", "summary-model", "summary-timeout") {
		// there is an error
	} else if err != nil {
		c.fail("summaries", err)
	} else if words != nil {
		c.ok("summaries", "are written by %s for organizations that approve it; nothing was sent", words.Host())
	}
	s.checkOwner(ctx, c)
	if s.isWrong("store") {
		return c.result()
	}
	keys, err := s.secretKeys()
	if err != nil {
		c.fail("secret keys", err)
	} else if path, own := s.keyFile(); len(keys) == 0 && own {
		c.ok("secret keys", "%s does not exist; a start makes it unless the store has secrets", path)
	} else if path == "" && len(keys) == 0 {
		c.warn("secret keys", "there is no -secret-key-file, and so no two-factor authentication")
	} else {
		c.ok("secret keys", "%d", len(keys))
	}
	s.checkStore(ctx, c, keys, err == nil)
	s.checkBroker(ctx, c)
	return c.result()
}

// isWrong reports whether settings has said that one of some options is wrong.
func (s *settings) isWrong(names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return s.wrong[name] })
}

// result returns how many errors were found, nil for none.
func (c *checking) result() error {
	switch c.errors {
	case 0:
		return nil
	case 1:
		return errors.New("1 error")
	}
	return fmt.Errorf("%d errors", c.errors)
}

// checkAddresses looks whether the addresses are free. One that is in use is not an error: before
// an upgrade the old server is there.
func (m *Main) checkAddresses(ctx context.Context, s *settings, c *checking) {
	if n, err := s.connections(); err != nil {
		c.fail("connections", err)
	} else {
		c.ok("connections", "%d at most", n)
	}
	free := func(what, addr string, err error) {
		switch {
		case errors.Is(err, syscall.EADDRINUSE):
			c.warn(what, "%v", err)
		case err != nil:
			c.fail(what, err)
		default:
			c.ok(what, "%s is free", addr)
		}
	}
	if s.isWrong("addr") {
		// there is an error
	} else if _, ok := systemdName(s.addr); ok {
		c.ok("address", "systemd passes the socket when it starts the program")
	} else if path, ok := strings.CutPrefix(s.addr, unixPrefix); ok {
		free("address", s.addr, checkSocket(ctx, path))
	} else {
		free("address", s.addr, tryTCP(s.addr))
	}
	if s.debugAddr != "" && !s.isWrong("debug-addr") {
		free("debug pages", s.debugAddr, tryTCP(s.debugAddr))
	}
}

// tryTCP listens on an address for a moment.
func tryTCP(addr string) error {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		if errors.Is(err, syscall.EADDRINUSE) {
			return fmt.Errorf("%w; a server that runs there must end before another one starts", err)
		}
		return err
	}
	return l.Close()
}

// checkFiles looks at the files of the settings.
func (s *settings) checkFiles(ctx context.Context, c *checking) {
	switch cert, err := s.certificate(nil); {
	case s.isWrong("tls-cert", "tls-key"):
	case err != nil:
		c.fail("certificate", err)
	case cert == nil:
	case cert.aging() != "":
		c.warn("certificate", "%s (%v)", cert.aging(), cert.expires())
	default:
		c.ok("certificate", "valid until %v", cert.expires())
	}
	if s.flagsFile != "" {
		if n, broken, err := lookAtFlags(ctx, s.flagsFile); err != nil {
			c.fail("flags", err)
		} else if broken > 0 {
			c.warn("flags", "%s has %d flags and %d errors in them; `flagstaff check %s` says which", s.flagsFile, n, broken, s.flagsFile)
		} else {
			c.ok("flags", "%s has %d", s.flagsFile, n)
		}
	}
	if s.geoip != "" {
		geo, err := geoip.Open(s.geoip, geoip.Options{})
		if err == nil {
			err = geo.Close()
		}
		if err != nil {
			c.fail("geoip", err)
		} else {
			c.ok("geoip", "%s", s.geoip)
		}
	}
	if s.isWrong("smtp", "mail-dir", "app-url") {
		return
	}
	switch text, err := s.lookAtMail(ctx); {
	case err != nil:
		c.fail("mail", err)
	case text != "":
		c.ok("mail", "%s; no mail was sent", text)
	}
}

// lookAtFlags returns how many flags a document has, and how many errors.
func lookAtFlags(ctx context.Context, file string) (n, broken int, err error) {
	document, _, err := (source.File{Path: file}).Load(ctx, "")
	if err != nil {
		return 0, 0, err
	}
	snapshot, err := flags.Compile(document, flags.CompileOptions{})
	if err != nil {
		return 0, 0, err
	}
	for _, p := range snapshot.Problems() {
		if p.Severity == flags.SeverityError {
			broken++
		}
	}
	return snapshot.Len(), broken, nil
}

// lookAtMail checks the settings of mail, and makes no folder. It asks a server whether it
// would take mail, and returns what is in order, "" if there is no mail.
func (s *settings) lookAtMail(ctx context.Context) (text string, err error) {
	if s.smtp == "" && s.mailDir == "" {
		return "", nil
	}
	options, err := s.mailOptions(cmp.Or(s.appURL, "http://localhost"))
	if err != nil {
		return "", err
	}
	if s.mailDir == "" {
		server, err := mail.NewSMTP(s.smtp, options)
		if err != nil {
			return "", err
		}
		return server.String() + " answers, with all that the settings want", server.Check(ctx)
	}
	if err := s.checkMailDir(); err != nil {
		return "", err
	}
	_, err = mail.NewSMTP("smtp://localhost", options) // never connected to; the sender is checked with it
	return "the folder and the sender are in order", err
}

// checkOwner looks whether a first start could make the owner, by making one in memory.
func (s *settings) checkOwner(ctx context.Context, c *checking) {
	store, err := database.Open(ctx, sqlite.Memory, sqlstore.Options{})
	if err == nil {
		_, err = management.Bootstrap(ctx, store, management.First{Owner: s.adminEmail})
		err = errors.Join(err, store.Close())
	}
	if err != nil {
		c.fail("first owner", fmt.Errorf("invalid value for flag -admin-email: %w", err))
	}
}

// checkStore looks at the store, and whether the keys read its secrets.
func (s *settings) checkStore(ctx context.Context, c *checking, keys [][]byte, haveKeys bool) {
	if err := s.checkFirstKeys(ctx); err != nil {
		c.fail("first keys", err)
	}
	if s.store == sqlite.Memory {
		c.ok("store", "in memory")
		return
	}
	state, err := database.Inspect(ctx, s.store)
	switch {
	case errors.Is(err, sqlstore.ErrNoStore):
		s.checkNewStore(c)
		return
	case err != nil:
		c.fail("store", err)
		return
	case len(state.Pending) > 0:
		c.ok("store", "%s has a schema of version %d; a start migrates it: %s", s.storeName(), state.Version, strings.Join(state.Pending, ", "))
	default:
		c.ok("store", "%s has a schema of version %d, which is this program's", s.storeName(), state.Version)
	}
	if len(state.ProjectKeys) > 0 && s.projectKey != "" && !s.demo { // the demo adds its project to any store
		if slices.Contains(state.ProjectKeys, s.projectKey) {
			c.ok("project key", "the store has its project")
		} else {
			c.fail("project key", s.noProject())
		}
	}
	if !haveKeys {
		return // of which there is an error
	}
	if state.Secrets == nil {
		c.warn("secrets", "they can only be looked at after the migrations")
		return
	}
	switch text, err := s.unreadable(ctx, sealed(state.Secrets), keys); {
	case err != nil:
		c.fail("secrets", err)
	case text != "" && !s.withoutSecrets:
		c.fail("secrets", errors.New(text+": "+bringBack))
	case text != "":
		c.warn("secrets", "%s", text)
	default:
		c.ok("secrets", "the keys read all of them")
	}
}

// checkNewStore looks whether a first start can make the store.
func (s *settings) checkNewStore(c *checking) {
	if !database.IsPostgres(s.store) {
		if err := checkNewFile(s.store, filepath.Dir(s.store)); err != nil {
			c.fail("store", err)
			return
		}
	}
	c.warn("store", "there is none in %s yet; a start makes it", s.storeName())
}

// sealed are the secrets of a store that was looked at.
type sealed map[[3]byte]int

// Sealed implements [storage.Sealed].
func (s sealed) Sealed(context.Context) (map[[3]byte]int, error) { return s, nil }

var _ storage.Sealed = sealed(nil)

// checkBroker looks at the stream of -stream.
func (s *settings) checkBroker(ctx context.Context, c *checking) {
	if s.stream.url == "" || s.isWrong("stream", "stream-replicas", "stream-partitions", "store") {
		return
	}
	var text strings.Builder
	log := slog.New(slog.NewTextHandler(&text, &slog.HandlerOptions{ReplaceAttr: withoutTime}))
	conn, err := s.connectStream(slog.New(slog.DiscardHandler)) // its errors come back, too
	if err != nil {
		c.fail("stream", err)
		return
	}
	defer conn.Close()
	_, err = jetstream.Open(ctx, jetstream.Config{Conn: conn, Partitions: s.stream.partitions.n, Replicas: s.stream.replicas.n, MustExist: true, Log: log})
	for line := range strings.Lines(text.String()) { // settings that exist and differ
		c.warn("stream", "%s", strings.TrimSpace(line))
	}
	switch {
	case errors.Is(err, jetstream.ErrNoStream):
		c.warn("stream", "%s: %v; a start makes it", s.stream.name(), err)
	case err != nil:
		c.fail("stream", err)
	default:
		c.ok("stream", "%s", s.stream.name())
	}
}

// withoutTime leaves out what has no meaning in a line of -check.
func withoutTime(_ []string, a slog.Attr) slog.Attr {
	if a.Key == slog.TimeKey || a.Key == slog.LevelKey {
		return slog.Attr{}
	}
	return a
}
