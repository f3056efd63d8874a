package main

import (
	"bufio"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

// TestDiffOfOneProject: a file, what a server that has imported it serves, and what it
// exports are the same flags.
func TestDiffOfOneProject(t *testing.T) {
	t.Parallel()
	out, in := io.Pipe()
	cmd := call{args: []string{"serve", "-demo", "-addr", "127.0.0.1:0", "-drain", "0s"}}.process(t)
	cmd.Stdout, cmd.Stderr = in, in
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		ended <- cmd.Wait()
		in.Close()
	}()
	t.Cleanup(func() {
		cmd.Process.Signal(os.Interrupt)
		<-ended
	})
	lines := bufio.NewScanner(out)
	address := ""
	for address == "" && lines.Scan() {
		address, _ = strings.CutPrefix(lines.Text(), "listening on ")
		if !strings.HasPrefix(address, "http://") {
			address = ""
		}
	}
	go io.Copy(io.Discard, out)
	if address == "" {
		t.Fatal("the server does not say its address")
	}
	dir := t.TempDir()
	ask := func(method, path, body string) []byte {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, address+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer phx_demo")
		req.Header.Set("Content-Type", "application/json")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		answer, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("%s %s = %d %s, %v", method, path, resp.StatusCode, answer, err)
		}
		return answer
	}
	fetch := func(name, path string) string {
		t.Helper()
		body := ask(http.MethodGet, path, "")
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, body, 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	// The flag with a rule set is in another document, and not in the definitions for SDKs.
	ask(http.MethodPatch, "/api/projects/1/feature_flags/welcome-headline/", `{"deleted":true,"version":1}`)
	documents := []string{
		"serve/demo.json", fetch("served.json", "/flags/definitions?token=phc_demo"), fetch("exported.json", "/api/projects/1/export/"),
		fetch("listed.json", "/api/projects/1/feature_flags/local_evaluation/?send_cohorts"),
	}
	for i, old := range documents {
		for _, changed := range slices.Concat(documents[:i], documents[i+1:]) {
			got := run(t, "diff", "-limit", "0%", old, changed)
			want := outcome{Stdout: "0 of 1000 subjects (0%) get another value; 0 of 12 flags differ\n"}
			if diff := gocmp.Diff(want, got); diff != "" {
				t.Errorf("diff %s %s (-want +got)\n%s", filepath.Base(old), filepath.Base(changed), diff)
			}
		}
	}
}

// What means the same is not a difference, whatever a document writes of it.
func TestDiffOfDefaults(t *testing.T) {
	t.Parallel()
	plain := write(t, "plain.json", `{"flags":[{"id":1,"key":"base","active":true,"filters":{"groups":[{}]}},{"id":2,"key":"f","active":true,"filters":{"groups":[
		{"properties":[{"key":"plan","type":"person","value":"pro"},{"key":"1","type":"flag","operator":"flag_evaluates_to","value":true},{"key":"id","type":"cohort","value":3}]}],
		"multivariate":{"variants":[{"key":"a","rollout_percentage":100}]},"payloads":{"a":{"x":1}}}}],
		"cohorts":{"3":{"type":"OR","values":[{"key":"id","type":"cohort","value":4}]},"4":{"type":"AND","values":[{"key":"a","type":"person","value":1}]}}}`)
	full := write(t, "full.json", `{"bucketing_hash":"sha1","flags":[{"id":7,"key":"base","active":true,"filters":{"groups":[{"rollout_percentage":100}]}},{"id":9,"key":"f","active":true,
		"evaluation_runtime":"all","bucketing_identifier":"distinct_id","evaluation_contexts":[],"evaluation_contexts_match_mode":"any","ensure_experience_continuity":false,
		"filters":{"aggregation_group_type_index":null,"early_exit":false,"feature_enrollment":false,"groups":[{"variant":null,"rollout_percentage":100,"aggregation_group_type_index":null,"properties":[
		{"key":"plan","type":"person","operator":"exact","value":"pro","negation":false},{"key":"base","type":"flag","operator":"flag_evaluates_to","value":true,"dependency_chain":["base"]},
		{"key":"id","type":"cohort","operator":"in","value":4,"cohort_name":"C"}]}],
		"multivariate":{"variants":[{"key":"a","name":"","rollout_percentage":100}]},"payloads":{"a":"{\"x\":1}"}}}],
		"cohorts":{"4":{"type":"OR","values":[{"key":"id","type":"cohort","operator":"in","value":3}]},"3":{"type":"AND","values":[{"key":"a","type":"person","operator":"exact","value":1}]}}}`)
	for _, args := range [][]string{{plain, full}, {full, plain}} {
		run(t, append([]string{"diff"}, args...)...).want(t, outcome{Stdout: "0 of 1000 subjects (0%) get another value; 0 of 2 flags differ\n"})
	}
	other := write(t, "other.json", `{"flags":[{"id":1,"key":"base","active":true,"filters":{"groups":[{"rollout_percentage":0}]}}]}`)
	base := write(t, "base.json", `{"flags":[{"id":1,"key":"base","active":true,"filters":{"groups":[{}]}}]}`)
	if got := run(t, "diff", base, other); !strings.HasPrefix(got.Stdout, "base changed\n    condition set 1, rollout percentage: 100% → 0%\n") {
		t.Errorf("diff of a rollout: %s", got.Stdout)
	}
}
