package natstest

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

const (
	startTime   = 30 * time.Second // in which a server starts
	clusterTime = time.Minute      // in which servers become a cluster
	requestTime = 5 * time.Second
)

// Program returns the path of the program, or an error that says what to do. The first
// call on a machine takes as long as it takes to compile nats-server, and others the time
// in which Go finds out that it has.
var Program = sync.OnceValues(find)

func find() (string, error) {
	if path := os.Getenv("FLAGSTAFF_TEST_NATS"); path != "" {
		return exec.LookPath(path)
	}
	folder, err := os.Getwd()
	for err == nil {
		tools := filepath.Join(folder, ".ci")
		if _, missing := os.Stat(filepath.Join(tools, "go.mod")); missing == nil {
			return build(tools)
		}
		if folder == filepath.Dir(folder) {
			err = errors.New("the tests are not in a checkout, whose .ci/go.mod has nats-server: set FLAGSTAFF_TEST_NATS to its path")
		}
		folder = filepath.Dir(folder)
	}
	return "", err
}

// build returns the path of nats-server at the version that the module of tools pins. Go
// keeps the program in its cache.
func build(tools string) (string, error) {
	cmd := exec.Command("go", "tool", "-n", "nats-server")
	cmd.Dir = tools
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOEXPERIMENT=", "PWD="+tools) // not the experiments of the tests
	var errs bytes.Buffer
	cmd.Stderr = &errs
	path, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("nats-server cannot be built: set FLAGSTAFF_TEST_NATS to its path, or mend: %w\n%s", err, errs.Bytes())
	}
	return strings.TrimSpace(string(path)), nil
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
	if _, err := Program(); err != nil {
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

// Cluster starts n servers that know each other, and live until the test ends. The ith one
// has the name n<i>.
func Cluster(tb testing.TB, n int) []*Server {
	tb.Helper()
	var listen, routes []string
	for range n {
		addr := FreeAddress(tb)
		listen, routes = append(listen, addr), append(routes, "nats://"+addr)
	}
	var all []*Server
	for i, addr := range listen {
		all = append(all, Start(tb, fmt.Sprintf("server_name: n%d", i), fmt.Sprintf("cluster { name: test, listen: %q, routes: [%s] }", addr, strings.Join(routes, ", "))))
	}
	deadline := time.Now().Add(clusterTime)
	// With as many replicas as there are servers, a stream needs all of them. A request without
	// an answer may have done its work.
	for _, r := range []struct{ subject, body, done string }{
		{"$JS.API.STREAM.CREATE.probe", fmt.Sprintf(`{"name":"probe","num_replicas":%d}`, n), `"config":`},
		{"$JS.API.STREAM.DELETE.probe", "", "stream not found"},
	} {
		for {
			answer, err := all[0].request(r.subject, r.body)
			if err == nil || strings.Contains(answer, r.done) {
				break
			}
			if time.Now().After(deadline) {
				tb.Fatalf("the servers of NATS are not a cluster after %v: %s, %v", clusterTime, answer, err)
			}
			time.Sleep(100 * time.Millisecond) // they connect in their own time
		}
	}
	return all
}

// request returns the answer to a request, which must have no error in it.
func (s *Server) request(subject, body string) (answer string, err error) {
	conn, err := net.Dial("tcp", s.Addr)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(requestTime)); err != nil {
		return "", err
	}
	fmt.Fprintf(conn, "CONNECT {\"verbose\":false}\r\nSUB answer 1\r\nPUB %s answer %d\r\n%s\r\n", subject, len(body), body)
	for lines := bufio.NewScanner(conn); lines.Scan(); {
		if !strings.HasPrefix(lines.Text(), "MSG answer ") || !lines.Scan() {
			continue
		}
		if answer = lines.Text(); strings.Contains(answer, `"error":`) {
			return answer, errors.New("the server refuses a request")
		}
		return answer, nil
	}
	return "", errors.New("the server does not answer a request")
}

// URLs is for clients of a cluster.
func URLs(servers []*Server) string {
	var all []string
	for _, s := range servers {
		all = append(all, s.URL())
	}
	return strings.Join(all, ",")
}

// FreeAddress returns an address on which nobody listens. Connections of others do not get
// its port while what listens there starts again: systems take higher ones.
func FreeAddress(tb testing.TB) string {
	tb.Helper()
	for {
		addr := fmt.Sprint("127.0.0.1:", 15_000+rand.IntN(15_000))
		if l, err := net.Listen("tcp", addr); err == nil {
			if err := l.Close(); err != nil {
				tb.Fatal(err)
			}
			return addr
		}
	}
}

// New starts a server that keeps everything in a folder and lives until Kill or Stop.
func New(folder string, settings ...string) (*Server, error) {
	path, err := Program()
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
