package serve

import (
	"encoding/json"
	"flag"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const maxAtRest = 40_000 // bytes

// TestDeploy holds the alert rules and the dashboard in deploy to the metrics that the
// program has: every metric in their expressions exists, with the labels that they ask
// for.
func TestDeploy(t *testing.T) {
	b := startBroker(t)
	url, _, stop := start(t, nil, "-demo", "-stream", b.url(), "-addr", "127.0.0.1:0")
	eventually(t, "that it is ready", func() bool {
		status, _ := get(t, url+"/readyz")
		return status == 200
	})
	// Prometheus keeps all of it, for each node, for weeks.
	if _, rest := get(t, url+"/metrics"); len(rest) > maxAtRest {
		t.Errorf("a server at rest has %d bytes of metrics, want at most %d", len(rest), maxAtRest)
	}
	post(t, url+"/flags?v=2", `{"api_key":"phc_demo","distinct_id":"u"}`)
	post(t, url+"/flags?v=2", `{"api_key":"phc_demo","distinct_id":"u","flag_keys":["none"]}`)
	post(t, url+"/batch", `{"api_key":"phc_demo","batch":[{"event":"seen","distinct_id":"u"}]}`)
	_, text := get(t, url+"/metrics")
	if code := stop(); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
	known := labelsByMetric(text)
	known["flagstaff_tls_certificate_expiry_timestamp_seconds"] = make(map[string]bool) // with TLS, see TestTLS
	everywhere := map[string]bool{"job": true, "instance": true}                        // Prometheus adds them
	all := maps.Clone(everywhere)
	for _, labels := range known {
		maps.Copy(all, labels)
	}

	expressions := append(alertExpressions(t, "../../../deploy/alerts.yml"), dashboardExpressions(t, "../../../deploy/dashboard.json")...)
	for _, e := range expressions {
		for _, m := range metricPattern.FindAllStringSubmatch(e, -1) {
			labels, ok := known[m[1]]
			if !ok {
				t.Errorf("there is no metric %s, in the expression %s", m[1], e)
				continue
			}
			for _, l := range matcherPattern.FindAllStringSubmatch(m[2], -1) {
				if !labels[l[1]] && !everywhere[l[1]] {
					t.Errorf("%s has no label %s, in the expression %s", m[1], l[1], e)
				}
			}
		}
		for _, m := range byPattern.FindAllStringSubmatch(e, -1) {
			for label := range strings.SplitSeq(m[1], ",") {
				if label = strings.TrimSpace(label); !all[label] {
					t.Errorf("no metric has a label %s, in the expression %s", label, e)
				}
			}
		}
	}
}

var (
	metricPattern  = regexp.MustCompile(`\b((?:flagstaff|go|process)_\w+)(?:\{([^}]*)\})?`)
	matcherPattern = regexp.MustCompile(`(\w+)\s*(?:=~|!~|!=|=)`)
	byPattern      = regexp.MustCompile(`\bby \(([^)]*)\)`)

	samplePattern = regexp.MustCompile(`(?m)^(\w+)(?:\{(.*)\})? \S+$`)
	labelPattern  = regexp.MustCompile(`(\w+)="`)
	alertPattern  = regexp.MustCompile(`(?m)^ *expr: (.*)$`)
)

// labelsByMetric returns the labels of the metrics in a text of /metrics.
func labelsByMetric(text string) map[string]map[string]bool {
	known := make(map[string]map[string]bool)
	for _, m := range samplePattern.FindAllStringSubmatch(text, -1) {
		if known[m[1]] == nil {
			known[m[1]] = make(map[string]bool)
		}
		for _, l := range labelPattern.FindAllStringSubmatch(m[2], -1) {
			known[m[1]][l[1]] = true
		}
	}
	return known
}

// alertExpressions returns the expressions of the alert rules in a file.
func alertExpressions(t *testing.T, file string) (list []string) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range alertPattern.FindAllStringSubmatch(string(b), -1) {
		list = append(list, m[1])
	}
	if n := strings.Count(string(b), "- alert: "); n == 0 || n != len(list) {
		t.Fatalf("%s has %d alerts and %d expressions", file, n, len(list))
	}
	return list
}

// dashboardExpressions returns the expressions of the panels of a dashboard.
func dashboardExpressions(t *testing.T, file string) (list []string) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var d struct {
		Panels []struct {
			ID      int
			Type    string
			Title   string
			Targets []struct{ Expr string }
		}
		Templating struct {
			List []struct{ Definition string }
		}
	}
	if err := json.Unmarshal(b, &d); err != nil {
		t.Fatal(err)
	}
	var ids []int
	for _, p := range d.Panels {
		if slices.Contains(ids, p.ID) {
			t.Errorf("two panels have the id %d", p.ID)
		}
		ids = append(ids, p.ID)
		if p.Type != "row" && len(p.Targets) == 0 {
			t.Errorf("the panel %s shows nothing", p.Title)
		}
		for _, target := range p.Targets {
			list = append(list, target.Expr)
		}
	}
	for _, v := range d.Templating.List {
		list = append(list, v.Definition)
	}
	return list
}

// TestDeployedOptions: the environment variables in the files with which the server is run
// are those of options.
func TestDeployedOptions(t *testing.T) {
	set := Options()
	known := make(map[string]bool)
	set.VisitAll(func(f *flag.Flag) { known[envName(f.Name)] = true })
	for _, file := range []string{"deploy/kubernetes.yaml", "deploy/flagstaff.service", "compose.yaml", "Dockerfile"} {
		b, err := os.ReadFile("../../../" + file)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range regexp.MustCompile(`(?m)^[^#\n]*?\b(FLAGSTAFF_[A-Z_]+)\b`).FindAllStringSubmatch(string(b), -1) {
			if !known[name[1]] && name[1] != "FLAGSTAFF_PORT" { // which is Compose's own
				t.Errorf("%s: there is no option for %s", file, name[1])
			}
		}
	}
}
