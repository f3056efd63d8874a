package main

import (
	"bytes"
	"context"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/cmd/internal/tool"
	"github.com/flagstaff-go/flagstaff/management/sqlstore/postgres/postgrestest"
)

// TestMain lets the test binary be the program, so that tests run it as a process.
func TestMain(m *testing.M) {
	if os.Getenv("FLAGSTAFF_TEST_PROGRAM") != "" {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		context.AfterFunc(ctx, stop)
		p := newProgram(os.Args[1:], os.Environ())
		p.Stdin, p.Stdout, p.Stderr = os.Stdin, os.Stdout, os.Stderr
		os.Exit(p.Run(ctx))
	}
	os.Exit(postgrestest.Main(m))
}

// A call is one call of the program as a process.
type call struct {
	env   []string // NAME=VALUE
	args  []string
	stdin string
}

// An outcome is what a call comes to.
type outcome struct {
	Code           int
	Stdout, Stderr string
}

// process returns the process of a call, which has not begun. Of the environment it has
// only what a program needs to run.
func (c call) process(t *testing.T) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], c.args...)
	cmd.Env = append([]string{"FLAGSTAFF_TEST_PROGRAM=1", "HOME=" + os.Getenv("HOME"), "PATH=" + os.Getenv("PATH"), "TMPDIR=" + os.TempDir()}, c.env...)
	cmd.Stdin = strings.NewReader(c.stdin)
	return cmd
}

// run runs the program to its end.
func (c call) run(t *testing.T) outcome {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := c.process(t)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return outcome{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// here runs the program in the process of the test. That takes a millisecond where a
// process takes fifty, and is for what no process shows better: texts and exit codes.
func (c call) here(t *testing.T) outcome {
	t.Helper()
	var stdout, stderr strings.Builder
	p := newProgram(c.args, c.env)
	p.Stdin, p.Stdout, p.Stderr = strings.NewReader(c.stdin), &stdout, &stderr
	code := p.Run(t.Context())
	return outcome{code, stdout.String(), stderr.String()}
}

// run runs the program with arguments.
func run(t *testing.T, args ...string) outcome {
	t.Helper()
	return call{args: args}.run(t)
}

// want compares the outcome of a call with what is wanted.
func (o outcome) want(t *testing.T, want outcome) {
	t.Helper()
	if diff := gocmp.Diff(want, o); diff != "" {
		t.Errorf("outcome (-want +got)\n%s", diff)
	}
}

// write writes a file into a folder of its own, and returns its path.
func write(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// output collects what a process writes and lets tests wait for a line.
type output struct {
	mu      sync.Mutex
	text    bytes.Buffer
	changed chan struct{}
}

func newOutput() *output { return &output{changed: make(chan struct{}, 1)} }

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	select {
	case o.changed <- struct{}{}:
	default:
	}
	return o.text.Write(b)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// await returns the first match of a pattern in what is written.
func (o *output) await(t *testing.T, pattern string) []string {
	t.Helper()
	re := regexp.MustCompile(pattern)
	deadline := time.After(20 * time.Second)
	for {
		if m := re.FindStringSubmatch(o.String()); m != nil {
			return m
		}
		select {
		case <-o.changed:
		case <-deadline:
			t.Fatalf("no %q in the output:\n%s", pattern, o)
		}
	}
}

// A running is a server that runs as a process until the test ends.
type running struct {
	url  string
	key  string // of the owner of a store that was empty
	text *output
	stop func() (code int)
}

// serveProcess starts `flagstaff serve` on a free port.
func serveProcess(t *testing.T, args ...string) *running {
	t.Helper()
	r := &running{text: newOutput()}
	cmd := call{args: append([]string{"serve", "-addr", "127.0.0.1:0"}, args...)}.process(t)
	cmd.Stdout, cmd.Stderr = r.text, r.text // one pipe: keys come before the address
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	r.stop = sync.OnceValue(func() int {
		_ = cmd.Process.Signal(syscall.SIGTERM) // it may have ended
		_ = cmd.Wait()                          // the exit code says more
		return cmd.ProcessState.ExitCode()
	})
	t.Cleanup(func() { r.stop() })
	r.url = r.text.await(t, `listening on (http://\S+)`)[1]
	r.key = regexp.MustCompile(`phx_\w+`).FindString(r.text.String())
	return r
}

// TestServe: the server is a command of the program, and ends in order on a signal.
func TestServe(t *testing.T) {
	t.Parallel()
	server := serveProcess(t, "-store", filepath.Join(t.TempDir(), "a.db"), "-drain", "0s")
	if server.key == "" {
		t.Errorf("no personal API key in %q", server.text)
	}
	if code := server.stop(); code != 0 {
		t.Errorf("exit code %d after SIGTERM: %s", code, server.text)
	}
	run(t, "serve", "-adr", "x").want(t, outcome{2, "", "flagstaff serve: there is no flag -adr; did you mean -addr HOST:PORT, such as -addr 127.0.0.1:8000?\n"})
	if got := run(t, "serve", "-help"); got.Code != 0 || !strings.Contains(got.Stdout, "\n\tflagstaff serve -demo\n") {
		t.Errorf("help of serve: %+v", got)
	}
}

// TestHelp: each command has help with examples, by three ways, and an exit code of 0.
func TestHelp(t *testing.T) {
	t.Parallel()
	all := run(t, "help")
	for _, args := range [][]string{{"-help"}, {"--help"}, {"-h"}} {
		run(t, args...).want(t, all)
	}
	if all.Code != 0 || all.Stderr != "" {
		t.Errorf("help: %+v", all)
	}
	run(t).want(t, outcome{2, "", all.Stdout})
	p := newProgram(nil, nil)
	for _, cmd := range p.Commands() {
		line := regexp.MustCompile(`(?m)^  ` + cmd.Name + ` +` + regexp.QuoteMeta(cmd.Usage) + `$`)
		if !line.MatchString(all.Stdout) {
			t.Errorf("help has no line for %s", cmd.Name)
		}
		if cmd.Name == "serve" || cmd.Name == "help" {
			continue
		}
		long := run(t, cmd.Name, "-help")
		run(t, "help", cmd.Name).want(t, long)
		if long.Code != 0 || long.Stderr != "" || !strings.HasPrefix(long.Stdout, "flagstaff "+cmd.Name+": "+cmd.Usage+"\n") {
			t.Errorf("help of %s: %+v", cmd.Name, long)
		}
		if len(cmd.Commands) == 0 && cmd.Name != "version" && !strings.Contains(long.Stdout, "\nExample") {
			t.Errorf("help of %s has no examples", cmd.Name)
		}
	}
	run(t, "help", "users", "invite").want(t, run(t, "users", "invite", "-help"))
	run(t, "check", "flags.json", "-help").want(t, run(t, "check", "-help"))
	if got := run(t, "help", "serve"); got.Code != 0 || !strings.Contains(got.Stdout, "FLAGSTAFF_TRUSTED_PROXIES") {
		t.Errorf("help of serve: %+v", got)
	}
}

// TestWithServer: the program without the server names the commands that it lacks.
func TestWithServer(t *testing.T) {
	var names []string
	for _, cmd := range newProgram(nil, nil).more() {
		names = append(names, cmd.Name)
	}
	if diff := gocmp.Diff(tool.WithServer, names); diff != "" {
		t.Errorf("-tool.WithServer +commands of this program\n%s", diff)
	}
}

// Help is where people look for it: before the command, behind it, and in between.
func TestHelpEverywhere(t *testing.T) {
	t.Parallel()
	for want, all := range map[string][][]string{
		"flagstaff flag list: ": {{"help", "flag", "list"}, {"flag", "help", "list"}, {"flag", "list", "-h"}, {"flag", "list", "--help"}},
		"flagstaff flag: ":      {{"help", "flag"}, {"flag", "help"}, {"flag", "-h"}},
		"flagstaff export: ":    {{"help", "export"}, {"export", "help"}, {"export", "-help"}},
		"flagstaff: ":           {{"help"}, {"-h"}, {"--help"}},
	} {
		for _, args := range all {
			if got := run(t, args...); got.Code != 0 || !strings.HasPrefix(got.Stdout, want) || got.Stderr != "" {
				t.Errorf("%q: exit code %d, %.60q, %q; want help that begins with %q", args, got.Code, got.Stdout, got.Stderr, want)
			}
		}
	}
}

// A server with a certificate of its own is trusted by -cacert, and one below a path that
// is wrong is asked about.
func TestAddresses(t *testing.T) {
	t.Parallel()
	there := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, "/api/") {
			http.NotFound(w, r)
			return
		}
		fmt.Fprint(w, `{"count":0,"next":null,"results":[]}`)
	}))
	t.Cleanup(there.Close)
	there.Config.ErrorLog = log.New(io.Discard, "", 0)
	ca := write(t, "ca.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: there.Certificate().Raw})))
	env := []string{"FLAGSTAFF_KEY=phx_s3cret"}
	if got := (call{args: []string{"flag", "list", "-url", there.URL, "-cacert", ca}, env: env}).run(t); got.Code != 0 {
		t.Errorf("with -cacert: %+v", got)
	}
	if got := (call{args: []string{"flag", "list", "-url", there.URL}, env: env}).run(t); got.Code != 1 || !strings.Contains(got.Stderr, "certificate") {
		t.Errorf("without -cacert: %+v", got)
	}
	got := call{args: []string{"flag", "list", "-url", there.URL + "/flags", "-cacert", ca}, env: env}.run(t)
	if want := "; is the server really below /flags? Its URL is mostly the address alone"; got.Code != 1 || !strings.Contains(got.Stderr, want) {
		t.Errorf("below a path: %+v, want %q", got, want)
	}
}
