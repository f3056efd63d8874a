package main

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff"
	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/cmd/flagstaff/serve"
	"github.com/flagstaff-go/flagstaff/flags/flagstest"
	"github.com/flagstaff-go/flagstaff/geoip"
	"github.com/flagstaff-go/flagstaff/runtime"
)

// TestHome tests the handler with flags of its own: it needs no client and no server.
func TestHome(t *testing.T) {
	for _, test := range []struct {
		flags []*flagstest.Builder
		want  string
	}{
		{nil, `"button":{"Text":"Buy","Color":"blue"},"free shipping":false,"new checkout":false,"search":"classic"`},
		{[]*flagstest.Builder{flagstest.Flag("search").On().Variant("fuzzy", 100)}, `"search":"fuzzy"`},
		{[]*flagstest.Builder{flagstest.Flag("button").On().Payload("true", `{"color":"red"}`)}, `"Color":"red"`},
		{[]*flagstest.Builder{flagstest.Flag("maintenance").On()}, "back soon"},
	} {
		w := httptest.NewRecorder()
		home(w, httptest.NewRequestWithContext(flagstest.With(t, t.Context(), test.flags...), "GET", "/", nil))
		if !strings.Contains(w.Body.String(), test.want) {
			t.Errorf("%s, want %s", w.Body, test.want)
		}
	}
}

// TestSize: a service with six flags is no more than this.
func TestSize(t *testing.T) {
	text, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(text), "\n"); n > 80 {
		t.Errorf("main.go has %d lines, want at most 80: see what the library lacks", n)
	}
}

// lines passes lines on to a channel, as far as it has room.
type lines chan string

func (l lines) Write(b []byte) (int, error) {
	select {
	case l <- string(b):
	default:
	}
	return len(b), nil
}

// startServer starts the server with the flags of the service.
func startServer(t *testing.T) (url string, stop func()) {
	t.Helper()
	log := make(lines, 100)
	ctx, cancel := context.WithCancel(t.Context())
	program := serve.Main{
		Args:   []string{"-demo", "-flags", "flags.json", "-addr", "127.0.0.1:0"},
		Stdout: io.Discard, Stderr: log,
	}
	code := make(chan int, 1)
	go func() { code <- program.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		<-code
	})
	t.Cleanup(stop)
	for {
		select {
		case line := <-log:
			if m := regexp.MustCompile(`listening on (http://\S+)`).FindStringSubmatch(line); m != nil {
				return m[1], stop
			}
		case n := <-code:
			t.Fatalf("the server has ended with exit code %d", n)
		}
	}
}

// startService starts the service, and returns a function that ends it.
func startService(t *testing.T, config flagstaff.Config) (url string, stop func()) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- run(ctx, listener, config) }()
	return "http://" + listener.Addr().String(), func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("the service has ended: %v", err)
		}
	}
}

// get returns the answer of an address.
func get(t *testing.T, url string, header ...string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Body.Close()
	body, err := io.ReadAll(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// TestService runs the service against a real server: values by plan, country, company
// and share; the exposures, which the server stores; and another start without the
// server.
func TestService(t *testing.T) {
	server, stopServer := startServer(t)
	places, err := geoip.Open("../../testdata/geoip/test.mmdb", geoip.Options{})
	if err != nil {
		t.Fatal(err)
	}
	config := flagstaff.Config{
		URL: server, ProjectKey: "phc_demo", SecretKey: "phs_demo", Cache: filepath.Join(t.TempDir(), "flags.cache"),
		Filter: runtime.Filter{Kind: runtime.Server, Tags: []string{"shop"}},
		Web: flagstaff.Web{Locator: places, Address: func(r *http.Request) netip.Addr { // as behind a proxy
			a, _ := netip.ParseAddr(r.Header.Get("X-Forwarded-For"))
			return a
		}},
	}
	ask := func(url string, header ...string) (values map[string]any) {
		t.Helper()
		if text := get(t, url, header...); json.Unmarshal([]byte(text), &values) != nil {
			t.Fatalf("answer %q", text)
		}
		return values
	}
	anybody := map[string]any{
		"new checkout": false, "free shipping": false, "team orders": false, "search": "fuzzy", "button": map[string]any{"Text": "Buy", "Color": "blue"},
	}
	member := map[string]any{
		"new checkout": true, "free shipping": true, "team orders": true, "search": "classic", "button": map[string]any{"Text": "Buy now", "Color": "green"},
	}
	check := func(url string) {
		t.Helper()
		if diff := cmp.Diff(anybody, ask(url, "X-User", "user-1")); diff != "" {
			t.Errorf("anybody (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(member, ask(url, "X-User", "user-5", "X-Plan", "pro", "X-Company", "acme", "X-Forwarded-For", "192.0.2.1")); diff != "" {
			t.Errorf("a member (-want +got):\n%s", diff)
		}
	}

	url, stop := startService(t, config)
	check(url)
	check(url) // exposures are reported once
	stop()     // sends the last ones
	if metrics := get(t, server+"/metrics"); !strings.Contains(metrics, `flagstaff_events_total{result="stored"} 12`) {
		t.Errorf("the server has not stored 6 exposures of each person:\n%s", strings.Join(regexp.MustCompile(`(?m)^\S*events_total.*$`).FindAllString(metrics, -1), "\n"))
	}

	stopServer()
	if config.Events, err = capture.NewClient(capture.ClientConfig{Sink: nowhere{}}); err != nil {
		t.Fatal(err)
	}
	url, stop = startService(t, config)
	check(url)
	stop()
	if err := config.Events.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// nowhere is a Sink, for exposures while there is no server.
type nowhere struct{}

func (nowhere) Write(context.Context, []capture.Event) error { return nil }
