package natstest

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// startTime is how long a server may take to start.
const startTime = 30 * time.Second

// Installed returns the path of the program, or an error that says what to do.
func Installed() (string, error) {
	path, err := exec.LookPath(cmp.Or(os.Getenv("FLAGSTAFF_TEST_NATS"), "nats-server"))
	if err != nil {
		return "", fmt.Errorf("there is no nats-server: install it, or set FLAGSTAFF_TEST_NATS to its path: %w", err)
	}
	return path, nil
}

// A Server is a NATS server with JetStream on a folder and a port of its own. Its
// methods are for one goroutine at a time.
type Server struct {
	Addr     string   // host and port, which stay
	Folder   string   // of the streams
	Settings []string // lines of the configuration, from the next start on

	path, config string
	log          bytes.Buffer // until the process has ended, it belongs to what reads it
	cmd          *exec.Cmd
	ended        chan struct{}
}

// Start starts a server that lives until the test ends. Settings are lines of its
// configuration.
func Start(tb testing.TB, settings ...string) *Server {
	tb.Helper()
	if _, err := Installed(); err != nil {
		if os.Getenv("CI") != "" {
			tb.Fatal(err)
		}
		tb.Skip(err)
	}
	s, err := New(tb.TempDir(), settings...)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		s.Kill()
		if tb.Failed() {
			tb.Logf("nats-server has logged\n%s", s.log.String())
		}
	})
	return s
}

// New starts a server that keeps everything in a folder and lives until Kill or Stop.
func New(folder string, settings ...string) (*Server, error) {
	path, err := Installed()
	if err != nil {
		return nil, err
	}
	s := &Server{
		Addr: "127.0.0.1:-1", Folder: filepath.Join(folder, "streams"), Settings: settings, // the server chooses the port
		path: path, config: filepath.Join(folder, "nats.conf"),
	}
	return s, s.start()
}

// URL is for clients.
func (s *Server) URL() string { return "nats://" + s.Addr }

// Run starts the server again after Kill or Stop, and returns when it takes
// connections.
func (s *Server) Run(tb testing.TB) {
	tb.Helper()
	if err := s.start(); err != nil {
		tb.Fatal(err)
	}
}

func (s *Server) start() error {
	lines := append([]string{fmt.Sprintf("jetstream { store_dir: %q }", s.Folder), "logtime: false"}, s.Settings...)
	if err := os.WriteFile(s.config, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		return err
	}
	host, port, _ := strings.Cut(s.Addr, ":")
	s.cmd = exec.Command(s.path, "-c", s.config, "-a", host, "-p", port)
	output, err := s.cmd.StderrPipe()
	if err != nil {
		return err
	}
	if err := s.cmd.Start(); err != nil {
		return err
	}
	listening := make(chan string, 1)
	s.ended = make(chan struct{})
	go func() {
		defer close(s.ended)
		for lines := bufio.NewReader(output); ; {
			line, err := lines.ReadString('\n')
			s.log.WriteString(line)
			if _, addr, ok := strings.Cut(line, "Listening for client connections on "); ok {
				listening <- strings.TrimSpace(addr)
			}
			if err != nil {
				break
			}
		}
		_ = s.cmd.Wait() // its result says no more than the log
	}()
	deadline := time.NewTimer(startTime)
	defer deadline.Stop()
	select {
	case s.Addr = <-listening:
		return nil
	case <-s.ended:
		return fmt.Errorf("nats-server ends at its start, and has logged\n%s", s.log.String())
	case <-deadline.C:
		s.Kill()
		return fmt.Errorf("nats-server does not start in %v, and has logged\n%s", startTime, s.log.String())
	}
}

// Kill ends the server at once, as SIGKILL does.
func (s *Server) Kill() {
	_ = s.cmd.Process.Kill() // it may have ended
	<-s.ended
}

// Stop ends the server in an orderly way.
func (s *Server) Stop() {
	_ = s.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
	<-s.ended
}
