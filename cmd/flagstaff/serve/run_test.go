package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/management/sqlstore/postgres/postgrestest"
)

// output collects what the program writes and lets tests wait for a line.
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

// take returns what was written since the last call.
func (o *output) take() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	defer o.text.Reset()
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

// environ returns variables as [Main] takes them.
func environ(env map[string]string) (list []string) {
	for name, value := range env {
		list = append(list, name+"="+value)
	}
	return list
}

// start runs the program until the test ends and returns its address.
func start(t *testing.T, env map[string]string, args ...string) (url string, stderr *output, stop func() int) {
	t.Helper()
	stderr = newOutput()
	ctx, cancel := context.WithCancel(t.Context())
	m := Main{Args: args, Environ: environ(env), Stdout: io.Discard, Stderr: stderr}
	code := make(chan int, 1)
	go func() { code <- m.Run(ctx) }()
	stop = sync.OnceValue(func() int {
		cancel()
		return <-code
	})
	t.Cleanup(func() { stop() })
	return stderr.await(t, `listening on (\S+)`)[1], stderr, stop
}

func post(t *testing.T, url, body string, header ...string) map[string]any {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Body.Close()
	var answer map[string]any
	if err := json.NewDecoder(w.Body).Decode(&answer); err != nil || w.StatusCode != http.StatusOK {
		t.Fatalf("POST %s: status %d, %v", url, w.StatusCode, err)
	}
	return answer
}

// values returns the value of each flag of an answer.
func values(answer map[string]any) map[string]any {
	m := make(map[string]any)
	for key, f := range answer["flags"].(map[string]any) {
		entry := f.(map[string]any)
		m[key] = entry["enabled"]
		if v, ok := entry["variant"]; ok {
			m[key] = v
		}
	}
	return m
}

// TestDemo checks that each flag of the demo shows what it is meant to show.
func TestDemo(t *testing.T) {
	url, _, stop := start(t, nil, "-demo", "-addr", "127.0.0.1:0")
	ask := func(body string, header ...string) map[string]any {
		t.Helper()
		return values(post(t, url+"/flags?v=2", `{"api_key":"phc_demo","distinct_id":"user-1",`+body+`}`, header...))
	}
	for _, tt := range []struct {
		name string
		got  map[string]any
		want map[string]any // nil value: absent
	}{
		{
			"a back end", ask(`"person_properties":{"plan":"pro","email":"a@example.com","logins":500,"$app_version":"2.11","joined":"2024-05-01"},"groups":{"company":"acme"},"group_properties":{"company":{"seats":60}}`, "User-Agent", "posthog-go/1.0"),
			map[string]any{
				"new-dashboard": true, "dashboard-tour": true, "checkout-button": "blue", "power-tools": true, "mobile-update": true,
				"company-billing": flags.Bucket("company-billing", "acme") <= 0.5, "bulk-export": true, "animations": nil, "docs-search": true, "assistant": false, "retired": nil,
			},
		},
		{"a browser", ask(`"person_properties":{"logins":500,"trial":true}`, "User-Agent", "Mozilla/5.0"), map[string]any{"bulk-export": nil, "animations": true, "power-tools": false}},
		{"early access", ask(`"person_properties":{"$feature_enrollment/assistant":true}`), map[string]any{"assistant": true}},
		{"a context", ask(`"evaluation_contexts":["app"]`), map[string]any{"docs-search": nil, "new-dashboard": flags.Bucket("new-dashboard", "user-1") <= 0.5}},
	} {
		for key, want := range tt.want {
			if got, ok := tt.got[key]; got != want || ok != (want != nil) {
				t.Errorf("%s: flag %q = %v, want %v", tt.name, key, got, want)
			}
		}
	}
	held := 0
	for i := range 300 {
		if values(post(t, url+"/flags/?v=2", fmt.Sprintf(`{"api_key":"phc_demo","distinct_id":"p%d"}`, i)))["pricing-page"] == "holdout-1" {
			held++
		}
	}
	if held < 10 || held > 60 {
		t.Errorf("%d of 300 persons are held out, want about 30", held)
	}
	if code := stop(); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
}

// TestDemoDefinitions keeps the demo exemplary.
func TestDemoDefinitions(t *testing.T) {
	d, err := flags.Decode(bytes.NewReader(demoFlags))
	if err != nil {
		t.Fatal(err)
	}
	s, err := flags.Compile(d, flags.CompileOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range s.Problems() {
		t.Error(p)
	}
}

func TestReload(t *testing.T) {
	path := filepath.Join(t.TempDir(), "flags.json")
	write := func(content string) {
		t.Helper()
		if err := os.WriteFile(path+".new", []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path+".new", path); err != nil {
			t.Fatal(err)
		}
	}
	write(`{"flags":[{"id":1,"key":"a","active":true,"filters":{"groups":[{}]}}]}`)
	url, stderr, _ := start(t, nil, "-flags", path, "-addr", "127.0.0.1:0", "-store", ":memory:", "-project-key", "phc_local")
	ask := func() map[string]any {
		t.Helper()
		return values(post(t, url+"/flags?v=2", `{"api_key":"phc_local","distinct_id":"u"}`))
	}
	if got := ask(); got["a"] != true {
		t.Errorf("flags = %v", got)
	}
	write(`{"flags":[{"id":1,"key":"b"`)
	stderr.await(t, `cannot be loaded; the last good ones stay`)
	if got := ask(); got["a"] != true {
		t.Errorf("after a bad file: flags = %v", got)
	}
	start := time.Now()
	write(`{"flags":[{"id":1,"key":"b","active":true,"filters":{"groups":[{"properties":[{"key":"x","type":"person","operator":"foo"}]}]}}]}`)
	stderr.await(t, `unknown operator`)
	var got map[string]any
	eventually(t, "the new flag", func() bool { // the log has it a moment earlier
		got = post(t, url+"/flags?v=2", `{"api_key":"phc_local","distinct_id":"u"}`)
		return values(got)["b"] != nil
	})
	if values(got)["b"] != false || got["errorsWhileComputingFlags"] != true {
		t.Errorf("after a file with a broken flag: %v", got)
	}
	t.Logf("live after %v", time.Since(start))
}

// TestFileOnTwoServers: two servers on one database that start at the same time, each with a
// copy of the file, serve it both, and so they do when the copies change one after the other.
func TestFileOnTwoServers(t *testing.T) {
	database := postgrestest.Open(t)
	var urls [2]string
	var paths [2]string
	write := func(n int, content string) {
		t.Helper()
		if err := errors.Join(os.WriteFile(paths[n]+".new", []byte(content), 0o600), os.Rename(paths[n]+".new", paths[n])); err != nil {
			t.Fatal(err)
		}
	}
	document := func(variant string) string {
		return `{"flags":[{"id":7,"key":"a","active":true,"filters":{"groups":[{}],"multivariate":{"variants":[{"key":"` + variant + `","rollout_percentage":100}]}}},
			{"id":9,"key":"b","active":true,"filters":{"groups":[{"properties":[{"key":"7","type":"flag","operator":"flag_evaluates_to","value":"` + variant + `"}]}]}}]}`
	}
	var wg sync.WaitGroup
	for n := range urls {
		paths[n] = filepath.Join(t.TempDir(), "flags.json")
		write(n, document("old"))
		wg.Go(func() {
			urls[n], _, _ = start(t, nil, "-flags", paths[n], "-addr", "127.0.0.1:0", "-store", database, "-project-key", "phc_local")
		})
	}
	wg.Wait()
	want := func(variant string) {
		t.Helper()
		for n, url := range urls {
			eventually(t, fmt.Sprint("server ", n, " with ", variant), func() bool {
				got := values(post(t, url+"/flags?v=2", `{"api_key":"phc_local","distinct_id":"u"}`))
				return got["a"] == variant && got["b"] == true
			})
		}
	}
	want("old")
	for n := range urls {
		write(n, document("new"))
		want("new")
	}
	write(1, document("newer"))
	want("newer")
}

func TestEnvironment(t *testing.T) {
	url, stderr, stop := start(t, map[string]string{
		"FLAGSTAFF_DEMO": "true", "FLAGSTAFF_ADDR": "127.0.0.1:0", "FLAGSTAFF_PROJECT_KEY": "phc_env",
		"FLAGSTAFF_LOG_FORMAT": "text", "FLAGSTAFF_LOG_LEVEL": "info", "FLAGSTAFF_TRUSTED_PROXIES": "none",
	}, "-log-format", "json")
	if got := values(post(t, url+"/flags?v=2", `{"api_key":"phc_env","distinct_id":"u"}`)); len(got) == 0 {
		t.Error("no flags for the project key of the environment")
	}
	if !strings.Contains(stderr.String(), `"msg":"serving"`) {
		t.Errorf("the flag does not win over the environment:\n%s", stderr)
	}
	stop()
	if !strings.Contains(stderr.String(), `"drain":"0s"`) {
		t.Errorf("the log has no duration with its unit:\n%s", stderr)
	}
}

func TestShutdownWaitsForRequests(t *testing.T) {
	url, _, stop := start(t, nil, "-demo", "-addr", "127.0.0.1:0")
	body, feed := io.Pipe()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/flags?v=2", body)
	if err != nil {
		t.Fatal(err)
	}
	// The body is sent when the server asks for it: the request is under way.
	r.Header.Set("Expect", "100-continue")
	answered := make(chan error, 1)
	go func() {
		w, err := http.DefaultClient.Do(r)
		if err == nil {
			w.Body.Close()
			if w.StatusCode != http.StatusOK {
				err = fmt.Errorf("status %d", w.StatusCode)
			}
		}
		answered <- err
	}()
	if _, err := io.WriteString(feed, `{"api_key":"phc_demo",`); err != nil {
		t.Fatal(err)
	}
	code := make(chan int, 1)
	go func() { code <- stop() }()
	if _, err := io.WriteString(feed, `"distinct_id":"u"}`); err != nil {
		t.Fatal(err)
	}
	feed.Close()
	if err := <-answered; err != nil {
		t.Errorf("the request under way: %v", err)
	}
	if got := <-code; got != 0 {
		t.Errorf("exit code %d, want 0", got)
	}
}

// TestWords: help and version are understood with and without a hyphen, and the
// program has the name by which it was called.
func TestWords(t *testing.T) {
	for _, tt := range []struct{ word, want string }{
		{"help", "\n\tff [-store STORE]"},
		{"-help", "FLAGSTAFF_TRUSTED_PROXIES"},
		{"--help", "\n\tff [-store STORE] -set-quota N"},
		{"version", "flagstaff "},
		{"-version", "flagstaff "},
	} {
		var out strings.Builder
		m := Main{Name: "ff", Args: []string{tt.word}, Stdout: &out, Stderr: &out}
		if code := m.Run(t.Context()); code != 0 || !strings.Contains(out.String(), tt.want) {
			t.Errorf("%s: exit code %d, output %q; want 0 and %q", tt.word, code, &out, tt.want)
		}
	}
}

// TestMisspeltVariables: settings in the environment that are none do not pass in
// silence.
func TestMisspeltVariables(t *testing.T) {
	out := newOutput()
	environ := []string{"FLAGSTAFF_ADRR=127.0.0.1:0", "FLAGSTAFF_PORT=80", "FLAGSTAFF_ADDR=127.0.0.1:0", "FLAGSTAFF_XYZZY=1", "FLAGSTAFF_TEST_FULL=1", "FLAGSTAFF_KEY=phx_1", "FLAGSTAFF_FROM_KEY=phx_2", "FLAGSTAFF_DECRYPTION_KEY=x", "HOME=/"}
	m := Main{Args: []string{"-create-key", "a@example.com", "-store", filepath.Join(t.TempDir(), "none.db")}, Environ: environ, Stdout: out, Stderr: out}
	if code := m.Run(t.Context()); code != 1 {
		t.Errorf("exit code %d, want 1", code)
	}
	var got []string
	for _, line := range regexp.MustCompile(`level=WARN msg="(.*)"`).FindAllStringSubmatch(out.String(), -1) {
		got = append(got, line[1])
	}
	want := []string{
		"the environment variable FLAGSTAFF_ADRR sets nothing; did you mean FLAGSTAFF_ADDR?",
		"the environment variable FLAGSTAFF_PORT sets nothing; did you mean FLAGSTAFF_ADDR?",
		"the environment variable FLAGSTAFF_XYZZY sets nothing",
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("warnings (-want +got)\n%s", diff)
	}
}

// TestBadStart: settings whose fault shows only at the start. Nothing is made and
// no key is printed before everything was looked at.
func TestBadStart(t *testing.T) {
	folder := t.TempDir()
	missing := filepath.Join(folder, "none.json")
	broken := filepath.Join(folder, "broken.json")
	if err := os.WriteFile(broken, []byte(`{"flags":[`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"-geoip", missing}, "none.json"},
		{[]string{"-flags", missing}, "no such file"},
		{[]string{"-flags", broken}, "broken.json"},
		{[]string{"-secret-key-file", missing}, "none.json"},
		{[]string{"-smtp", "http://user:s3cret@localhost"}, "smtp://user:password@host:port"},
		{[]string{"-mail-dir", broken}, "broken.json"},
		{[]string{"-tls-cert", missing, "-tls-key", missing}, "the file of -tls-cert: stat " + missing},
		{[]string{"-tls-cert", broken, "-tls-key", broken}, "the certificate in " + broken + " (-tls-cert) with the key in"},
		{[]string{"-addr", "unix:" + broken}, "there is a file that is not a socket"},
		{[]string{"-addr", "unix:" + filepath.Join(missing, "s")}, "listen on unix:" + filepath.Join(missing, "s") + ": the socket cannot be made: stat " + missing},
		{[]string{"-addr", "systemd"}, "systemd has passed no socket for -addr systemd: start the program by a unit"},
		{[]string{"-max-connections", "1000000"}, "open files, which is enough for"},
		{[]string{"-stream", "nats://user:s3cret@127.0.0.1:1"}, "connect to NATS at 127.0.0.1:1"},
		{[]string{"-addr", "192.0.2.1:0"}, "listen on 192.0.2.1:0"},
		{[]string{"-store", filepath.Join(missing, "x.db")}, "none.json"},
		{[]string{"-store", "postgres://user:s3cret@/?host=" + folder}, "postgres"},
		{[]string{"-create-key", "admin@localhost"}, "there is no store in "},
		{[]string{"-set-quota", "5"}, "there is no store in "},
	} {
		t.Run(strings.Join(tt.args, " "), func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "x.db")
			code, stdout, stderr := command(t, append([]string{"-addr", "127.0.0.1:0", "-store", path}, tt.args...)...)
			if code != 1 || !strings.Contains(stderr, tt.want) || strings.Contains(stderr, "s3cret") || stdout != "" {
				t.Errorf("exit code %d, %q, %q; want 1, nothing, and %q", code, stdout, stderr, tt.want)
			}
			if files, err := filepath.Glob(filepath.Join(filepath.Dir(path), "*")); err != nil || len(files) > 0 {
				t.Errorf("files %v, %v; want none", files, err)
			}
		})
	}
}

func TestAddressInUse(t *testing.T) {
	url, _, _ := start(t, nil, "-demo", "-addr", "127.0.0.1:0")
	out := newOutput()
	m := Main{Args: []string{"-demo", "-addr", strings.TrimPrefix(url, "http://")}, Stdout: out, Stderr: out}
	if code := m.Run(t.Context()); code != 1 || !strings.Contains(out.String(), "is another server running there?") {
		t.Errorf("exit code %d, output %q", code, out)
	}
}

// TestSetQuota raises a quota while the server runs (api.md §4.7).
func TestSetQuota(t *testing.T) {
	path := filepath.Join(t.TempDir(), "quota.db")
	url, _, _ := start(t, nil, "-store", path, "-project-key", "phc_quota", "-quota", "2", "-addr", "127.0.0.1:0")
	limited := func() bool {
		t.Helper()
		_, limited := post(t, url+"/flags?v=2", `{"api_key":"phc_quota","distinct_id":"u"}`)["quotaLimited"]
		return limited
	}
	for i := range 3 {
		if got, want := limited(), i == 2; got != want {
			t.Errorf("request %d: limited = %v, want %v", i, got, want)
		}
	}
	set := func(n, want string) {
		t.Helper()
		out := newOutput()
		m := Main{Args: []string{"-store", path, "-set-quota", n}, Stdout: out, Stderr: io.Discard}
		if code := m.Run(t.Context()); code != 0 || !strings.Contains(out.String(), want) {
			t.Fatalf("exit code %d, output %q; want 0 and %q", code, out, want)
		}
	}
	await := func(want bool) {
		t.Helper()
		deadline := time.Now().Add(20 * time.Second)
		for limited() != want {
			if time.Now().After(deadline) {
				t.Fatalf("limited is not %v after a change of the quota", want)
			}
			time.Sleep(10 * time.Millisecond) // of a poll; nothing depends on its length
		}
	}
	set("1000000", `organization "Default organization" has a quota of 1000000`)
	await(false)
	set("0", "has a quota of 0")
	await(true)
	set("none", "no quota of its own")
	if !limited() {
		t.Error("not limited by the common quota")
	}
}
