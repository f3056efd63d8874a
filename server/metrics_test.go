package server_test

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/server"
)

func scrape(t *testing.T, h http.Handler) string {
	t.Helper()
	resp := call{method: "GET", target: "/metrics"}.do(h)
	if resp.StatusCode != 200 {
		t.Fatal(resp.Status)
	}
	return bodyText(t, resp)
}

func TestMetrics(t *testing.T) {
	checked := time.Now().Add(-time.Hour)
	s := newServer(t, func(c *server.Config) {
		r := registry(t)
		e := new(flags.Evaluator)
		e.Swap(compileText(t, `{"flags":[
			{"id":1,"key":"bad","active":true,"filters":{"groups":[{"properties":[{"key":"a","type":"person","operator":"nonsense","value":1}]}]}},
			{"id":2,"key":"off","active":false,"filters":{"groups":[]}},
			{"id":3,"key":"slow","active":true,"filters":{"groups":[{"properties":[{"key":"a","type":"person","operator":"regex","value":"^(?=(a|aa)+$)"}]}]}}]}`))
		e.Bool("slow", &flags.Request{PersonProperties: map[string]any{"a": strings.Repeat("a", 60) + "!"}}, false)
		p := &server.Project{ID: 8, Flags: e, Status: func() server.DefinitionsStatus {
			return server.DefinitionsStatus{Origin: "file", Checked: checked, Problems: e.Snapshot().Problems()}
		}}
		r.Set("a", p)
		r.Set("b", p)                      // a second key of the same
		r.Set("c", &server.Project{ID: 9}) // nothing loaded
		r.Set("d", &server.Project{ID: 7}) // an id that is taken must not spoil the rest
		c.Projects = r
		c.Store = fakeStore{fakeProperties: &fakeProperties{err: errors.New("down")}}
		c.Quota = &fakeQuota{left: map[string]int{"acme": 2}}
	})
	call{body: simple}.ok(t, s)
	n := len(call{target: "/flags/?v=2", body: simple}.ok(t, s).Flags)
	call{body: simple}.ok(t, s) // quota
	call{body: "{"}.do(s)
	call{target: "/decide", body: "{}"}.do(s)
	call{target: "/secret/path"}.do(s)
	call{method: "OPTIONS"}.do(s)
	call{method: "BREW"}.do(s)

	got := scrape(t, s)
	for _, want := range []string{
		`flagstaff_http_requests_total{route="/flags",status="200"} 3`,
		`flagstaff_http_requests_total{route="/flags",status="400"} 1`,
		`flagstaff_http_requests_total{route="/flags",status="204"} 1`,
		`flagstaff_http_requests_total{route="/flags",status="405"} 1`,
		`flagstaff_http_requests_total{route="/decide",status="401"} 1`,
		`flagstaff_http_requests_total{route="other",status="404"} 1`,
		`flagstaff_http_request_duration_seconds_count{route="/flags"} 6`,
		`flagstaff_http_requests_in_flight 1`,
		`flagstaff_flags_evaluated_total ` + strconv.Itoa(2*n),
		`flagstaff_quota_limited_total 1`,
		`flagstaff_store_failures_total{store="person"} 2`,
		`flagstaff_definitions_flags{project="8"} 3`,
		`flagstaff_definitions_problems{project="8",severity="error"} 1`,
		`flagstaff_definitions_problems{project="8",severity="warning"} 0`,
		`flagstaff_pattern_timeouts_total{project="8"} 1`,
		`flagstaff_definitions_loaded{project="8"} 1`,
		`flagstaff_definitions_loaded{project="9"} 0`,
		`flagstaff_definitions_age_seconds{project="8"} 36`, // and something
		`flagstaff_definitions_origin{origin="file",project="8"} 1`,
		`go_goroutines`,
		`flagstaff_flag_evaluations_total{flag="flag-bool",project="7",value="true"} 2`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s", want)
		}
	}
	for _, bad := range []string{"secret", "phc_demo", `route="/healthz"`, `route="/array/{key}/config"`, `age_seconds{project="9"}`, `definitions_flags{project="9"}`} {
		if strings.Contains(got, bad) {
			t.Errorf("%s in metrics", bad)
		}
	}
	if t.Failed() {
		t.Log(got)
	}
}

// TestMetricsOfOtherProjects: Projects that cannot list what they hold have no
// metrics of definitions.
func TestMetricsOfOtherProjects(t *testing.T) {
	s := newServer(t, func(c *server.Config) { c.Projects = brokenProjects{} })
	if got := scrape(t, s); strings.Contains(got, "flagstaff_definitions") {
		t.Error(got)
	}
}

// TestMoreMetrics: a program adds its own, under names that are free.
func TestMoreMetrics(t *testing.T) {
	gauge := func(name string) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: "A number."}, func() float64 { return 42 })
	}
	s := newServer(t, func(c *server.Config) { c.Metrics = []prometheus.Collector{gauge("more")} })
	if got := scrape(t, s); !strings.Contains(got, "\nmore 42\n") {
		t.Errorf("no metric more in\n%s", got)
	}
	c := server.Config{Projects: registry(t), Metrics: []prometheus.Collector{gauge("flagstaff_http_requests_in_flight")}}
	if _, err := server.New(c); err == nil || !strings.Contains(err.Error(), "Config.Metrics") {
		t.Errorf("New = %v with a name that is taken, want an error about Config.Metrics", err)
	}
}

func TestHealth(t *testing.T) {
	var err error
	s := newServer(t, func(c *server.Config) {
		c.Ready = func(ctx context.Context) error {
			if ctx == nil {
				t.Error("no context")
			}
			return err
		}
	})
	get := func(path string, status int, want string) {
		t.Helper()
		resp := call{method: "GET", target: path}.do(s)
		if body := bodyText(t, resp); resp.StatusCode != status || !strings.Contains(body, want) {
			t.Errorf("%s = %d %q, want %d %q", path, resp.StatusCode, body, status, want)
		}
	}
	get("/healthz", 200, "ok")
	get("/readyz", 200, "ready")
	err = errors.New("dial tcp: password hunter2 refused")
	get("/healthz/", 200, "ok")
	get("/readyz/", 503, "not ready")
	err = errors.Join(&server.NotReady{What: "events cannot be written", Err: err})
	get("/readyz", 503, "not ready: events cannot be written")
	err = &server.NotReady{What: "shutting down"}
	get("/readyz", 503, "not ready: shutting down")
	err = nil
	get("/readyz", 200, "ready")
}
