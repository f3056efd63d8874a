// Package deploy has tests of the files with which the program is built, run and watched,
// as far as they need more than the modules of the repository may require.
package deploy

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql/parser"
	"go.yaml.in/yaml/v3"
)

const folder = "../../../deploy"

func read(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(folder, name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestAlerts: Prometheus takes the rules. That their metrics exist is tested where the
// metrics are, in cmd/flagstaff/serve.
func TestAlerts(t *testing.T) {
	var rules struct {
		Groups []struct {
			Name  string
			Rules []struct {
				Alert, Expr, For    string
				Labels, Annotations map[string]string
			}
		}
	}
	d := yaml.NewDecoder(bytes.NewReader(read(t, "alerts.yml")))
	d.KnownFields(true)
	if err := d.Decode(&rules); err != nil {
		t.Fatal(err)
	}
	seen := make(map[string]bool)
	for _, g := range rules.Groups {
		for _, r := range g.Rules {
			if seen[r.Alert] {
				t.Errorf("two alerts are called %s", r.Alert)
			}
			seen[r.Alert] = true
			if _, err := parser.NewParser(parser.Options{}).ParseExpr(r.Expr); err != nil {
				t.Errorf("%s: %v", r.Alert, err)
			}
			if _, err := time.ParseDuration(r.For); r.For != "" && err != nil {
				t.Errorf("%s: for: %v", r.Alert, err)
			}
			if s := r.Labels["severity"]; s != "page" && s != "ticket" {
				t.Errorf("%s: severity is %q, want page or ticket", r.Alert, s)
			}
			if r.Annotations["summary"] == "" || r.Annotations["description"] == "" {
				t.Errorf("%s: summary or description is missing", r.Alert)
			}
		}
	}
	if len(seen) < 10 {
		t.Errorf("%d alerts were found, want all", len(seen))
	}
}

// TestDashboard: Prometheus takes the expressions of the panels.
func TestDashboard(t *testing.T) {
	var d struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(read(t, "dashboard.json"), &d); err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, p := range d.Panels {
		for _, target := range p.Targets {
			n++
			// Grafana puts the interval in.
			expr := strings.ReplaceAll(target.Expr, "$__rate_interval", "5m")
			if _, err := parser.NewParser(parser.Options{}).ParseExpr(expr); err != nil {
				t.Errorf("%s: %v", p.Title, err)
			}
		}
	}
	if n < 20 {
		t.Errorf("%d expressions were found, want all", n)
	}
}

// maxExposure is the exposure that systemd-analyze may find, in tenths: 0 is nothing,
// 100 is everything.
const maxExposure = 20

// TestService: systemd takes the units, and the service is well shielded.
func TestService(t *testing.T) {
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Skip("there is no systemd-analyze")
	}
	unit := filepath.Join(t.TempDir(), "flagstaff.service")
	// The program need not be installed here.
	text := strings.Replace(string(read(t, "flagstaff.service")), "/usr/local/bin/flagstaff serve", "/bin/true", 1)
	if err := os.WriteFile(unit, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(filepath.Dir(unit), "flagstaff.socket")
	if err := os.WriteFile(socket, read(t, "flagstaff.socket"), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "systemd-analyze", "verify", unit, socket).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("systemd-analyze verify: %v\n%s", err, out)
	}
	out, err := exec.CommandContext(t.Context(), "systemd-analyze", "security", "--offline=yes", "--threshold="+strconv.Itoa(maxExposure), unit).CombinedOutput()
	if err != nil {
		t.Errorf("systemd-analyze security: %v\n%s", err, out)
	}
}
