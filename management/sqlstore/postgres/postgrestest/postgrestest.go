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
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
)

// Open returns the connection URL of an empty database, which is dropped when
// the test ends.
func Open(tb testing.TB) string {
	tb.Helper()
	server := os.Getenv("FLAGSTAFF_TEST_POSTGRES")
	if server == "" {
		server = Start(tb).URL
	}
	u, err := url.Parse(server)
	if err != nil {
		tb.Fatal("FLAGSTAFF_TEST_POSTGRES must be a URL such as postgres://user@host/postgres")
	}
	db, err := sql.Open("pgx", server)
	if err != nil {
		tb.Fatal(err)
	}
	name := "flagstaff_" + strings.ToLower(rand.Text())
	exec := func(ctx context.Context, statement string) {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			tb.Errorf("%s: %v", statement, err)
		}
	}
	exec(tb.Context(), "CREATE DATABASE "+name)
	tb.Cleanup(func() {
		exec(context.Background(), "DROP DATABASE "+name+" WITH (FORCE)")
		if err := db.Close(); err != nil {
			tb.Error(err)
		}
	})
	u.Path = "/" + name
	return u.String()
}

// A Server is a private PostgreSQL server.
type Server struct {
	URL string // of the database postgres

	bin, dir   string
	credential *syscall.Credential
	log        bytes.Buffer
	cmd        *exec.Cmd
	exited     chan error
}

// Start starts a private server that lives until the test ends.
func Start(tb testing.TB) *Server {
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
	tb.Cleanup(func() {
		if err := os.RemoveAll(s.dir); err != nil {
			tb.Error(err)
		}
	})
	if os.Getuid() == 0 { // PostgreSQL refuses to run as root
		if s.credential, err = credential("postgres"); err != nil {
			tb.Fatal(err)
		}
		if err := os.Chown(s.dir, int(s.credential.Uid), int(s.credential.Gid)); err != nil {
			tb.Fatal(err)
		}
	}
	initdb := s.command("initdb", "-D", filepath.Join(s.dir, "data"), "-U", "flagstaff", "-A", "trust", "-E", "UTF8", "--no-locale")
	if out, err := initdb.CombinedOutput(); err != nil {
		tb.Fatalf("initdb: %v\n%s", err, out)
	}
	s.URL = "postgres://flagstaff@/postgres?host=" + url.QueryEscape(s.dir)
	s.Run(tb)
	tb.Cleanup(func() { s.Stop(tb) })
	return s
}

// Run starts the server again after Stop, and returns when the server answers.
func (s *Server) Run(tb testing.TB) {
	tb.Helper()
	s.cmd = s.command("postgres", "-D", filepath.Join(s.dir, "data"), "-k", s.dir, "-c", "listen_addresses=")
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
	if s.cmd == nil {
		return
	}
	if err := s.cmd.Process.Signal(os.Interrupt); err != nil && !errors.Is(err, os.ErrProcessDone) {
		tb.Errorf("stop PostgreSQL: %v", err)
	}
	<-s.exited
	s.cmd = nil
}

func (s *Server) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(s.bin, name), args...)
	cmd.Dir = s.dir
	// The server has its own process group, so that an interrupt of the tests
	// does not reach it before they have cleaned up.
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.credential, Setpgid: true}
	return cmd
}

// installed returns the folder of the programs of the newest PostgreSQL.
func installed() (string, error) {
	if path, err := exec.LookPath("postgres"); err == nil {
		return filepath.Dir(path), nil
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

func credential(name string) (*syscall.Credential, error) {
	u, err := user.Lookup(name)
	if err != nil {
		return nil, fmt.Errorf("PostgreSQL does not run as root: %w", err)
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		return nil, err
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
}
