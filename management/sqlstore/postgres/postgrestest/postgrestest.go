package postgrestest

import (
	"bytes"
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"

	"github.com/flagstaff-go/flagstaff/management/sqlstore"
	"github.com/flagstaff-go/flagstaff/management/sqlstore/postgres"
)

// shared is what the tests of a package have in common.
var shared struct {
	mu       sync.Mutex
	main     bool    // Main runs the tests
	url      string  // of the server; "" until a test needs it
	server   *Server // nil if the environment names the server
	template string  // the database that Open copies; "" until a test needs it
}

// Main runs the tests of a package and returns the exit code for [os.Exit]. Then it
// removes what the tests have shared.
func Main(m *testing.M) int {
	shared.main = true
	code := m.Run()
	if err := unshare(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return max(code, 1)
	}
	return code
}

func unshare() error {
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.server != nil {
		return shared.server.remove()
	}
	if shared.template != "" {
		return administer(context.Background(), shared.url, "DROP DATABASE "+shared.template)
	}
	return nil
}

// Open returns the connection URL of an empty store, a database whose schema is up
// to date. It is dropped when the test ends. It is the copy of a template: to bring
// the schema of a new database up to date takes longer.
func Open(tb testing.TB) string {
	tb.Helper()
	server := serverURL(tb)
	name := "flagstaff_" + strings.ToLower(rand.Text())
	if err := administer(tb.Context(), server, "CREATE DATABASE "+name+" TEMPLATE "+template(tb, server)); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := administer(context.Background(), server, "DROP DATABASE "+name+" WITH (FORCE)"); err != nil {
			tb.Error(err)
		}
	})
	return database(tb, server, name)
}

// database returns the connection URL of a database on a server.
func database(tb testing.TB, server, name string) string {
	tb.Helper()
	u, err := url.Parse(server)
	if err != nil {
		tb.Fatal("FLAGSTAFF_TEST_POSTGRES must be a URL such as postgres://user@host/postgres")
	}
	u.Path = "/" + name
	return u.String()
}

func administer(ctx context.Context, server, statement string) error {
	db, err := sql.Open("pgx", server)
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, statement)
	if err = errors.Join(err, db.Close()); err != nil {
		return fmt.Errorf("%s: %w", statement, err)
	}
	return nil
}

// serverURL returns the URL of the server for all tests.
func serverURL(tb testing.TB) string {
	tb.Helper()
	shared.mu.Lock()
	defer shared.mu.Unlock()
	switch {
	case !shared.main:
		tb.Fatal("postgrestest: the package needs a TestMain that calls Main")
	case shared.url != "":
	case os.Getenv("FLAGSTAFF_TEST_POSTGRES") != "":
		shared.url = os.Getenv("FLAGSTAFF_TEST_POSTGRES")
	default:
		shared.server = newServer(tb)
		shared.url = shared.server.URL
	}
	return shared.url
}

// template returns the name of the database that Open copies.
func template(tb testing.TB, server string) string {
	tb.Helper()
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.template != "" {
		return shared.template
	}
	name := "flagstaff_template_" + strings.ToLower(rand.Text())
	if err := administer(tb.Context(), server, "CREATE DATABASE "+name); err != nil {
		tb.Fatal(err)
	}
	shared.template = name
	db, err := postgres.Open(tb.Context(), database(tb, server, name), sqlstore.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	if err := db.Close(); err != nil {
		tb.Fatal(err)
	}
	return name
}

// A Server is a private PostgreSQL server.
type Server struct {
	URL string // of the database postgres

	bin, dir   string
	attributes *syscall.SysProcAttr // of its processes
	log        bytes.Buffer
	cmd        *exec.Cmd
	exited     chan error
}

// Start starts a private server that lives until the test ends.
func Start(tb testing.TB) *Server {
	tb.Helper()
	s := newServer(tb)
	tb.Cleanup(func() {
		if err := s.remove(); err != nil {
			tb.Error(err)
		}
	})
	return s
}

// newServer starts a private server that lives until it is removed.
func newServer(tb testing.TB) *Server {
	tb.Helper()
	bin, err := installed()
	if err != nil {
		if os.Getenv("CI") != "" {
			tb.Fatal(err)
		}
		tb.Skip(err)
	}
	s := &Server{bin: bin}
	if s.dir, err = os.MkdirTemp("", "flagstaff-pg-"); err != nil {
		tb.Fatal(err)
	}
	started := false
	defer func() {
		if !started {
			_ = s.remove() // the test has failed already
		}
	}()
	if s.attributes, err = attributesFor(s.dir); err != nil {
		tb.Fatal(err)
	}
	initdb := s.command("initdb", "-D", filepath.Join(s.dir, "data"), "-U", "flagstaff", "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync")
	if out, err := initdb.CombinedOutput(); err != nil {
		tb.Fatalf("initdb: %v\n%s", err, out)
	}
	s.URL = "postgres://flagstaff@/postgres?host=" + url.QueryEscape(s.dir)
	s.Run(tb)
	started = true
	return s
}

// Standby starts a second server that has everything that this one has committed: from
// then on, a transaction ends when the standby has it, too. It lives until the test ends.
func (s *Server) Standby(tb testing.TB) *Server {
	tb.Helper()
	b := &Server{bin: s.bin}
	var err error
	if b.dir, err = os.MkdirTemp("", "flagstaff-pg-"); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := b.remove(); err != nil {
			tb.Error(err)
		}
	})
	if b.attributes, err = attributesFor(b.dir); err != nil {
		tb.Fatal(err)
	}
	copied := b.command("pg_basebackup", "-D", filepath.Join(b.dir, "data"), "-h", s.dir, "-U", "flagstaff", "-R", "-X", "stream", "-c", "fast", "--no-sync")
	if out, err := copied.CombinedOutput(); err != nil {
		tb.Fatalf("pg_basebackup: %v\n%s", err, out)
	}
	b.URL = "postgres://flagstaff@/postgres?host=" + url.QueryEscape(b.dir)
	b.Run(tb)
	for _, statement := range []string{"ALTER SYSTEM SET synchronous_standby_names = '*'", "SELECT pg_reload_conf()"} {
		if err := administer(tb.Context(), s.URL, statement); err != nil {
			tb.Fatal(err)
		}
	}
	return b
}

// Promote makes a standby take writes, which its server has ended to take.
func (s *Server) Promote(tb testing.TB) {
	tb.Helper()
	if out, err := s.command("pg_ctl", "promote", "-w", "-D", filepath.Join(s.dir, "data")).CombinedOutput(); err != nil {
		tb.Fatalf("pg_ctl promote: %v\n%s", err, out)
	}
}

// Either returns a connection URL of whichever of two servers takes writes.
func (s *Server) Either(other *Server) string {
	return "postgres://flagstaff@/postgres?target_session_attrs=read-write&host=" + url.QueryEscape(s.dir+","+other.dir)
}

// remove ends the server and deletes its data.
func (s *Server) remove() error {
	return errors.Join(s.stop(), os.RemoveAll(s.dir))
}

// Run starts the server again after Stop, and returns when the server answers.
func (s *Server) Run(tb testing.TB) {
	tb.Helper()
	// The machine does not lose its power, so nothing has to reach the disk.
	s.cmd = s.command("postgres", "-D", filepath.Join(s.dir, "data"), "-k", s.dir, "-c", "listen_addresses=",
		"-c", "max_connections=300", "-c", "fsync=off", "-c", "full_page_writes=off")
	s.log.Reset()
	s.cmd.Stdout, s.cmd.Stderr = &s.log, &s.log
	if err := s.cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	exited := make(chan error, 1)
	cmd := s.cmd
	s.exited = exited
	go func() { exited <- cmd.Wait() }()
	db, err := sql.Open("pgx", s.URL)
	if err != nil {
		tb.Fatal(err)
	}
	defer db.Close()
	deadline := time.Now().Add(30 * time.Second)
	for {
		err := db.PingContext(tb.Context())
		if err == nil {
			return
		}
		select {
		case e := <-exited:
			exited <- e
			tb.Fatalf("PostgreSQL ended: %v\n%s", e, s.log.String())
		case <-time.After(20 * time.Millisecond): // the server cannot report that it is ready
		}
		if time.Now().After(deadline) {
			tb.Fatalf("PostgreSQL does not answer: %v", err)
		}
	}
}

// Stop cuts all connections and ends the server without waiting for clients, as
// a crash would.
func (s *Server) Stop(tb testing.TB) {
	tb.Helper()
	if err := s.stop(); err != nil {
		tb.Error(err)
	}
}

func (s *Server) stop() error {
	if s.cmd == nil {
		return nil
	}
	err := s.cmd.Process.Signal(os.Interrupt)
	if err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stop PostgreSQL: %w", err)
	}
	<-s.exited
	s.cmd = nil
	return nil
}

func (s *Server) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(s.bin, name), args...)
	cmd.Dir = s.dir
	cmd.SysProcAttr = s.attributes
	return cmd
}

// installed returns the folder of the programs of the newest PostgreSQL.
func installed() (string, error) {
	if path, err := exec.LookPath("postgres"); err == nil {
		if path, err = filepath.EvalSymlinks(path); err == nil { // the other programs lie beside it
			return filepath.Dir(path), nil
		}
	}
	list, err := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
	if err != nil || len(list) == 0 {
		return "", errors.New("PostgreSQL is not installed; install it, or set FLAGSTAFF_TEST_POSTGRES to the URL of a server")
	}
	slices.SortFunc(list, func(a, b string) int { return version(a) - version(b) })
	return filepath.Dir(list[len(list)-1]), nil
}

func version(path string) int {
	n, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(path)))) // 0 if it is not a number
	return n
}
