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

// TestWrongUsage has ways to call the program wrongly, with the whole message of each.
func TestWrongUsage(t *testing.T) {
	t.Parallel()
	file := write(t, "flags.json", `{"flags":[]}`)
	here := []string{"FLAGSTAFF_URL=http://127.0.0.1:1", "FLAGSTAFF_KEY=phx_s3cret"}
	for _, tt := range []struct {
		args []string
		env  []string
		want string
	}{
		{[]string{"chekc", file}, nil, `flagstaff: there is no command "chekc"; did you mean flagstaff check?`},
		{[]string{"xyzzy"}, nil, `flagstaff: there is no command "xyzzy"; see flagstaff -help`},
		{[]string{"comp"}, nil, `flagstaff: there is no command "comp"; did you mean flagstaff completion?`},
		{[]string{"-demo"}, nil, `flagstaff: there is no flag -demo; did you mean flagstaff serve -demo?`},
		{[]string{"--version"}, nil, `flagstaff: there is no flag -version; did you mean flagstaff version?`},
		{[]string{"-xyzzy"}, nil, `flagstaff: there is no flag -xyzzy; see flagstaff -help`},
		{[]string{"help", "chekc"}, nil, `flagstaff help: there is no command "chekc"; did you mean flagstaff check?`},
		{[]string{"help", "users", "invit"}, nil, `flagstaff help: there is no command "invit"; did you mean flagstaff users invite?`},
		{[]string{"chekc", "-help"}, nil, `flagstaff: there is no command "chekc"; did you mean flagstaff check?`},
		{[]string{"users", "invit"}, nil, `flagstaff users: there is no command "invit"; did you mean flagstaff users invite?`},

		{[]string{"check"}, nil, `flagstaff check: want FILE…, not 0 arguments; see flagstaff check -help`},
		{[]string{"check", "-jsn", file}, nil, `flagstaff check: there is no flag -jsn; did you mean -json?`},
		{[]string{"check", "-json=maybe", file}, nil, `flagstaff check: invalid value "maybe" for flag -json: want true or false`},
		{[]string{"check", "-xyzzy", file}, nil, `flagstaff check: there is no flag -xyzzy; see flagstaff check -help`},

		{[]string{"explain", file, "beta"}, nil, `flagstaff explain: want FILE, KEY and PERSON, not 2 arguments; see flagstaff explain -help`},
		{[]string{"explain", file}, nil, `flagstaff explain: want FILE, KEY and PERSON, not 1 argument, "` + file + `"; see flagstaff explain -help`},
		{[]string{"explain", "-property", "plan", file, "a", "b"}, nil, `flagstaff explain: invalid value "plan" for flag -property: want NAME=VALUE, such as plan=pro`},
		{[]string{"explain", file, "a", "b", "-property"}, nil, `flagstaff explain: flag -property needs a value: -property NAME=VALUE`},
		{[]string{"explain", "-group", "company=", file, "a", "b"}, nil, `flagstaff explain: invalid value "company=" for flag -group: want TYPE=KEY, such as company=acme`},
		{[]string{"explain", "-group-property", "tier=free", file, "a", "b"}, nil, `flagstaff explain: invalid value "tier=free" for flag -group-property: want TYPE.NAME=VALUE, such as company.tier=free`},
		{[]string{"explain", "-group-property", "company.tier=free", file, "a", "b"}, nil, `flagstaff explain: flag -group-property company.tier=free needs the group: -group company=KEY`},
		{[]string{"explain", "-runtime", "edge", file, "a", "b"}, nil, `flagstaff explain: invalid value "edge" for flag -runtime: want client or server`},
		{[]string{"explain", "-now", "today", file, "a", "b"}, nil, `flagstaff explain: invalid value "today" for flag -now: want a time such as 2026-03-01T12:00:00Z`},
		{[]string{"explain", "-prop", "a=b", file, "a", "b"}, nil, `flagstaff explain: there is no flag -prop; did you mean -property?`},

		{[]string{"diff", file}, nil, `flagstaff diff: want OLD and NEW, not 1 argument, "` + file + `"; see flagstaff diff -help`},
		{[]string{"diff", file, file, file, file}, nil, `flagstaff diff: want OLD and NEW, not 4 arguments; see flagstaff diff -help`},
		{[]string{"diff", "-limit", "many", file, file}, nil, `flagstaff diff: invalid value "many" for flag -limit: want a percentage from 0% to 100%, such as 0.5%`},
		{[]string{"diff", "-limit", "101", file, file}, nil, `flagstaff diff: invalid value "101" for flag -limit: want a percentage from 0% to 100%, such as 0.5%`},
		{[]string{"diff", "-limit", "NaN", file, file}, nil, `flagstaff diff: invalid value "NaN" for flag -limit: want a percentage from 0% to 100%, such as 0.5%`},
		{[]string{"diff", "-persons", "0", file, file}, nil, `flagstaff diff: invalid value "0" for flag -persons: want a number from 1 to 10000000`},
		{[]string{"diff", "-persons", "x", file, file}, nil, `flagstaff diff: invalid value "x" for flag -persons: want a whole number`},
		{[]string{"diff", "-now", "yesterday", file, file}, nil, `flagstaff diff: invalid value "yesterday" for flag -now: want a time such as 2026-03-01T12:00:00Z`},

		{[]string{"gen"}, nil, `flagstaff gen: want a FILE, or a server by -url or FLAGSTAFF_URL; see flagstaff gen -help`},
		{[]string{"gen", file, file}, nil, `flagstaff gen: want FILE, not 2 arguments; see flagstaff gen -help`},
		{[]string{"gen", "-url", "http://h", file}, here, `flagstaff gen: want a FILE or -url, not both; see flagstaff gen -help`},
		{[]string{"gen", "-check", file}, nil, `flagstaff gen: flag -check needs the file: -check -o FILE.go`},
		{[]string{"gen", "-package", "a-b", file}, nil, `flagstaff gen: invalid value "a-b" for flag -package: want a name such as flags`},
		{[]string{"gen", "-type", "button", file}, nil, `flagstaff gen: invalid value "button" for flag -type: want KEY=TYPE, such as button=Button`},
		{[]string{"gen"}, []string{"FLAGSTAFF_URL=http://127.0.0.1:1"}, `flagstaff gen: there is no personal API key: put it into FLAGSTAFF_KEY, not into an argument, which others can see`},

		{[]string{"vet"}, nil, `flagstaff vet: want the definitions: a file by -flags, or a server by -url or FLAGSTAFF_URL`},
		{[]string{"vet", "-flags", file, "-url", "http://h"}, here, `flagstaff vet: flags -flags and -url exclude each other`},
		{[]string{"vet", "-unsued", "-flags", file}, nil, `flagstaff vet: there is no flag -unsued; did you mean -unused?`},

		{[]string{"prune", "-flags", file}, nil, `flagstaff prune: want at least one KEY, or -value KEY=VALUE; see flagstaff prune -help`},
		{[]string{"prune", "new-checkout"}, nil, `flagstaff prune: want the definitions: a file by -flags, or a server by -url or FLAGSTAFF_URL`},
		{[]string{"prune", "-flags", file, "-url", "http://h", "new-checkout"}, here, `flagstaff prune: flags -flags and -url exclude each other`},
		{[]string{"prune", "-value", "new-checkout", "--", "."}, nil, `flagstaff prune: invalid value "new-checkout" for flag -value: want KEY=VALUE, such as new-checkout=true`},
		{[]string{"prune", "-flags", file, "new-checkout", "./..."}, nil, `flagstaff prune: "./..." is no key of a flag: packages come after --, as in KEY -- ./...`},

		{[]string{"version", "now"}, nil, `flagstaff version: want no arguments, not 1 argument, "now"; see flagstaff version -help`},
		{[]string{"completion", "csh"}, nil, `flagstaff completion: there is no command "csh"; did you mean flagstaff completion zsh?`},
		{[]string{"completion", "powershell"}, nil, `flagstaff completion: there is no command "powershell"; see flagstaff completion -help`},
		{[]string{"completion", "bash", "x"}, nil, `flagstaff completion bash: want no arguments, not 1 argument, "x"; see flagstaff completion bash -help`},

		{[]string{"backup"}, nil, `flagstaff backup: want FILE, not 0 arguments; see flagstaff backup -help`},
		{[]string{"backup", "-store", "mysql://u:s3cret@h/db", "a.db"}, nil, `flagstaff backup: invalid value for flag -store: there are no stores of the kind "mysql"; want an SQLite file, ":memory:", or postgres://USER:PASSWORD@HOST/DATABASE`},
		{[]string{"restore", "a", "b"}, nil, `flagstaff restore: want FILE, not 2 arguments; see flagstaff restore -help`},
		{[]string{"restore", "-stor", "b", "a"}, nil, `flagstaff restore: there is no flag -stor; did you mean -store?`},

		{[]string{"flag", "lst"}, nil, `flagstaff flag: there is no command "lst"; did you mean flagstaff flag list?`},
		{[]string{"flag", "list", "beta"}, here, `flagstaff flag list: want no arguments, not 1 argument, "beta"; see flagstaff flag list -help`},
		{[]string{"flag", "list"}, nil, `flagstaff flag list: there is no server: give its address in FLAGSTAFF_URL or -url, such as https://flags.example.com`},
		{[]string{"flag", "list", "-url"}, nil, `flagstaff flag list: flag -url needs a value: -url URL`},

		{[]string{"users", "invite"}, nil, `flagstaff users invite: want ADDRESS, not 0 arguments; see flagstaff users invite -help`},
		{[]string{"users", "invite", "-level", "boss", "a@b.example"}, here, `flagstaff users invite: invalid value "boss" for flag -level: want member, admin or owner`},
		{[]string{"users", "invite", "-store", "a.db", "-url", "http://h", "a@b.example"}, nil, `flagstaff users invite: flags -store and -url exclude each other`},
		{[]string{"users", "invite", "-store", "a.db", "a@b.example"}, nil, `flagstaff users invite: flag -app-url is needed, and must be an http or https URL without query and fragment: the link begins with it`},
		{[]string{"users", "invite", "-app-url", "http://h", "a@b.example"}, here, `flagstaff users invite: flag -app-url is for -store: a server knows its address`},
		{[]string{"users", "invite", "a@b.example"}, nil, `flagstaff users invite: there is no server: give its address in FLAGSTAFF_URL or -url, such as https://flags.example.com`},
		{[]string{"users", "invite", "-url", "http://127.0.0.1:1", "a@b.example"}, nil, `flagstaff users invite: there is no personal API key: put it into FLAGSTAFF_KEY, not into an argument, which others can see`},
		{[]string{"users", "invite", "-url", "http://flags.example.com", "a@b.example"}, here, `flagstaff users invite: the key would go unencrypted to flags.example.com: use https, or -insecure in a network that you trust`},
		{[]string{"users", "invite", "-url", "flags.example.org:8000", "a@b.example"}, here, `flagstaff users invite: the URL of the server does not begin with https:// or http://: write it such as https://flags.example.org:8000`},
		{[]string{"users", "invite", "-url", "ada:s3cret@flags.example.org", "a@b.example"}, here, `flagstaff users invite: the URL of the server does not begin with https:// or http://: write it such as https://flags.example.com`},
		{[]string{"users", "invite", "-url", "ftp://flags.example.org", "a@b.example"}, here, `flagstaff users invite: the URL of the server must be such as https://flags.example.com, without query and fragment`},
		{[]string{"users", "invite", "-url", "https://flags.example.org?x=1", "a@b.example"}, here, `flagstaff users invite: the URL of the server must be such as https://flags.example.com, without query and fragment`},
		{[]string{"flag", "list", "-url", "https://flags.example.org/api/projects/1"}, here, `flagstaff flag list: the URL of the server must be its address alone, such as https://flags.example.org, without /api/projects/1`},
		{[]string{"flag", "list", "-url", "https://flags.example.org/proxy/api/"}, here, `flagstaff flag list: the URL of the server must be its address alone, such as https://flags.example.org, without /proxy/api/`},
		{[]string{"flag", "list"}, []string{here[0], "FLAGSTAFF_KEY=phc_s3cret"}, `flagstaff flag list: this is a project API key (phc_…); the management API wants a personal API key (phx_…)`},
		{[]string{"flag", "list"}, []string{here[0], "FLAGSTAFF_KEY=phs_s3cret"}, `flagstaff flag list: this is a project secret key (phs_…); the management API wants a personal API key (phx_…)`},
		{[]string{"gen"}, []string{here[0], "FLAGSTAFF_KEY=phc_s3cret"}, `flagstaff gen: this is a project API key (phc_…); the management API wants a personal API key (phx_…)`},
		{[]string{"vet"}, []string{here[0], "FLAGSTAFF_KEY=phs_s3cret"}, `flagstaff vet: this is a project secret key (phs_…); the management API wants a personal API key (phx_…)`},
		{[]string{"import", "-from", "https://flags.example.org"}, append([]string{"FLAGSTAFF_FROM_KEY=phc_s3cret"}, here...), `flagstaff import: flag -from: this is a project API key (phc_…); the management API wants a personal API key (phx_…)`},
		{[]string{"import", "-from", "flags.example.org"}, append([]string{"FLAGSTAFF_FROM_KEY=phx_s3cret"}, here...), `flagstaff import: flag -from: the URL of the server does not begin with https:// or http://: write it such as https://flags.example.org`},
		{[]string{"flag", "list", "-cacert", file}, here, `flagstaff flag list: flag -cacert: ` + file + ` has no certificate in PEM form, which begins with -----BEGIN CERTIFICATE-----`},
		{[]string{"flag", "list", "-cacert", "/none.pem"}, here, `flagstaff flag list: flag -cacert: open /none.pem: no such file or directory`},
		{[]string{"apply"}, here, `flagstaff apply: want FILE, not 0 arguments; see flagstaff apply -help`},
		{[]string{"apply", file}, nil, `flagstaff apply: there is no server: give its address in FLAGSTAFF_URL or -url, such as https://flags.example.com`},
		{[]string{"apply", "-dryrun", file}, here, `flagstaff apply: there is no flag -dryrun; did you mean -dry-run?`},
		{[]string{"aply", file}, here, `flagstaff: there is no command "aply"; did you mean flagstaff apply?`},
		{[]string{"flag", "help", "lst"}, nil, `flagstaff flag: there is no command "lst"; did you mean flagstaff flag list?`},
		{[]string{"export", "help", "event"}, nil, `flagstaff export: there is no command "event"; did you mean flagstaff export events?`},
		{[]string{"users", "invite", "-key", "phx_s3cret", "a@b.example"}, here, `flagstaff users invite: there is no flag -key; see flagstaff users invite -help`},

		{[]string{"flag", "lst"}, nil, `flagstaff flag: there is no command "lst"; did you mean flagstaff flag list?`},
		{[]string{"flag", "list", "x"}, here, `flagstaff flag list: want no arguments, not 1 argument, "x"; see flagstaff flag list -help`},
		{[]string{"flag", "list"}, nil, `flagstaff flag list: there is no server: give its address in FLAGSTAFF_URL or -url, such as https://flags.example.com`},
		{[]string{"flag", "list", "-state", "live"}, here, `flagstaff flag list: invalid value "live" for flag -state: want on, off, stale or archived`},
		{[]string{"flag", "list", "-stale", "-state", "on"}, here, `flagstaff flag list: -stale and -state on exclude each other`},
		{[]string{"flag", "list", "-kind", "text"}, here, `flagstaff flag list: invalid value "text" for flag -kind: want boolean, variants, experiment or config`},
		{[]string{"flag", "list", "-serach", "a"}, here, `flagstaff flag list: there is no flag -serach; did you mean -search?`},
		{[]string{"flag", "get"}, here, `flagstaff flag get: want KEY, not 0 arguments; see flagstaff flag get -help`},
		{[]string{"flag", "get", " "}, here, `flagstaff flag get: KEY must not be empty`},
		{[]string{"flag", "create"}, here, `flagstaff flag create: want KEY, not 0 arguments; see flagstaff flag create -help`},
		{[]string{"flag", "create", "-rollout", "half", "a"}, here, `flagstaff flag create: invalid value "half" for flag -rollout: want a percentage from 0% to 100%, such as 0.5%`},
		{[]string{"flag", "create", "-rollout", "101", "a"}, here, `flagstaff flag create: invalid value "101" for flag -rollout: want a percentage from 0% to 100%, such as 0.5%`},
		{[]string{"flag", "create", "-variant", "a", "a"}, here, `flagstaff flag create: invalid value "a" for flag -variant: want KEY=PERCENTAGE, such as test=50`},
		{[]string{"flag", "create", "-variant", "a=50", "-variant", "b=40", "a"}, here, `flagstaff flag create: the shares of flags -variant make 90%, and must make 100%`},
		{[]string{"flag", "create", "-variant", "a=50", "-variant", "a=50", "a"}, here, `flagstaff flag create: flag -variant names the variant "a" twice`},
		{[]string{"flag", "create", "-payload", "blue", "a"}, here, `flagstaff flag create: invalid value "blue" for flag -payload: want JSON, such as {"hex":"#00f"} or "a text in quotes"`},
		{[]string{"flag", "create", "-variant", "a=100", "-payload", "b=1", "a"}, here, `flagstaff flag create: invalid value "b=1" for flag -payload: want VARIANT=JSON with a variant that a flag -variant names`},
		{[]string{"flag", "create", "-payload", "1", "-payload", "2", "a"}, here, `flagstaff flag create: flag -payload is given twice, and the flag has one payload`},
		{[]string{"flag", "create", "-file", file, "-rollout", "5", "a"}, here, `flagstaff flag create: with -file the file says all: flags -name, -rollout, -variant, -payload, -tag and -off are for a flag without a file`},
		{[]string{"flag", "rollout", "a"}, here, `flagstaff flag rollout: want KEY and PERCENTAGE, not 1 argument, "a"; see flagstaff flag rollout -help`},
		{[]string{"flag", "rollout", "a", "all"}, here, `flagstaff flag rollout: PERCENTAGE is "all": want a percentage from 0% to 100%, such as 0.5%`},
		{[]string{"flag", "rollout", "-condition", "-1", "a", "5"}, here, `flagstaff flag rollout: invalid value "-1" for flag -condition: want a number from 0`},
		{[]string{"flag", "rollout", "-condition", "first", "a", "5"}, here, `flagstaff flag rollout: invalid value "first" for flag -condition: want a whole number`},
		{[]string{"flag", "on"}, here, `flagstaff flag on: want KEY, not 0 arguments; see flagstaff flag on -help`},
		{[]string{"flag", "explain", "a"}, here, `flagstaff flag explain: want KEY and PERSON, not 1 argument, "a"; see flagstaff flag explain -help`},
		{[]string{"flag", "explain", "-now", "2026-01-01T00:00:00Z", "a", "b"}, here, `flagstaff flag explain: there is no flag -now; see flagstaff flag explain -help`},
		{[]string{"flag", "explain", "-property", "=1", "a", "b"}, here, `flagstaff flag explain: invalid value "=1" for flag -property: want NAME=VALUE, such as plan=pro`},
		{[]string{"flag", "history", "-v", "0", "a"}, here, `flagstaff flag history: invalid value "0" for flag -v: want the number of a version, from 1`},
		{[]string{"flag", "history", "-limit", "-1", "a"}, here, `flagstaff flag history: invalid value "-1" for flag -limit: want a number of versions, or 0 for all`},
		{[]string{"flag", "revert", "a"}, here, `flagstaff flag revert: want KEY and VERSION, not 1 argument, "a"; see flagstaff flag revert -help`},
		{[]string{"flag", "revert", "a", "v3"}, here, `flagstaff flag revert: VERSION is "v3": want the number of a version, which flagstaff flag history a lists`},
		{[]string{"import"}, here, `flagstaff import: want FILE, not 0 arguments; see flagstaff import -help`},
		{[]string{"import", "-from", "https://h", file}, here, `flagstaff import: want a FILE or -from, not both; see flagstaff import -help`},
		{[]string{"import", "-from-project", "7", file}, here, `flagstaff import: flag -from-project is for -from`},
		{[]string{"import", "-store", "a.db", "-url", "http://h", file}, here, `flagstaff import: flags -store and -url exclude each other`},
		{[]string{"import", "-store", "pg:user:s3cret@h", file}, here, `flagstaff import: invalid value for flag -store: PostgreSQL is named by a URL: -store postgres://USER:PASSWORD@HOST/DATABASE`},
		{[]string{"import", "-from", "https://h"}, here, `flagstaff import: there is no personal API key for -from: put it into FLAGSTAFF_FROM_KEY, not into an argument, which others can see`},
		{[]string{"import", "-from", "h"}, append(here, "FLAGSTAFF_FROM_KEY=phx_s3cret"), `flagstaff import: flag -from: the URL of the server does not begin with https:// or http://: write it such as https://h`},
		{[]string{"import", "-from", "http://h.example"}, append(here, "FLAGSTAFF_FROM_KEY=phx_s3cret"), `flagstaff import: flag -from: the key would go unencrypted to h.example: use https, or -insecure in a network that you trust`},
		{[]string{"import", "-from", "https://h"}, append(here, "FLAGSTAFF_FROM_KEY=phc_s3cret"), `flagstaff import: flag -from: this is a project API key (phc_…); the management API wants a personal API key (phx_…)`},
		{[]string{"import", "-key", "phx_s3cret", file}, here, `flagstaff import: there is no flag -key; see flagstaff import -help`},
		{[]string{"export", "flags.json"}, here, `flagstaff export: want no arguments, not 1 argument, "flags.json"; see flagstaff export -help`},
		{[]string{"export", "events", "x"}, here, `flagstaff export events: want no arguments, not 1 argument, "x"; see flagstaff export events -help`},
		{[]string{"export", "events", "-format", "xml"}, here, `flagstaff export events: invalid value "xml" for flag -format: want ndjson or csv`},
		{[]string{"export", "events", "-from", "today"}, here, `flagstaff export events: invalid value "today" for flag -from: want a time such as 2026-11-01 or 2026-11-01T08:30:00Z`},
		{[]string{"export", "events", "-to", "2026-13-01"}, here, `flagstaff export events: invalid value "2026-13-01" for flag -to: want a time such as 2026-11-01 or 2026-11-01T08:30:00Z`},
		{[]string{"export", "-o"}, here, `flagstaff export: flag -o needs a value: -o FILE`},
	} {
		t.Run(strings.Join(tt.args, " "), func(t *testing.T) {
			t.Parallel()
			got := call{args: tt.args, env: tt.env}.here(t)
			got.want(t, outcome{2, "", tt.want + "\n"})
			if strings.Contains(got.Stderr, "s3cret") {
				t.Errorf("a secret is in %q", got.Stderr)
			}
		})
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
