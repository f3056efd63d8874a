package main

import (
	"cmp"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/flagstaff-go/flagstaff/internal/faulttest"
)

// TestFaults: what is wrong with a field of a flag is said with its path by each command that
// takes flags.
func TestFaults(t *testing.T) {
	t.Parallel()
	server := serveProcess(t, "-store", filepath.Join(t.TempDir(), "a.db"), "-drain", "0s")
	env := server.session(t).env
	refused := func(fault *faulttest.Fault, stdin string, args ...string) string {
		t.Helper()
		got := call{args: args, env: env, stdin: stdin}.here(t)
		if got.Code != 1 {
			t.Errorf("%s: %s: exit code %d: %s%s", fault.Path, strings.Join(args, " "), got.Code, got.Stdout, got.Stderr)
		}
		return got.Stdout + got.Stderr
	}
	for _, fault := range faulttest.Flags {
		// A document that is read has one name for evaluation contexts.
		place := strings.Replace(fault.Place(), "evaluation_tags", "evaluation_contexts", 1)
		flag := fault.In(faulttest.Flag)
		document := `{"flags":[` + flag + `]}`
		if !slices.Contains(computed, fault.Path) {
			want := strings.ReplaceAll(fault.Attr()+": "+fault.Inner()+": "+fault.Text, ": : ", ": ")
			if got := refused(&fault, flag, "flag", "create", "-file", "-"); !strings.Contains(got, want) {
				t.Errorf("%s: flag create prints %q, want %q", fault.Path, got, want)
			}
		}
		if !slices.Contains(onlyAPI, fault.Path) {
			var applied struct{ Problems []placedProblem }
			got := refused(&fault, document, "apply", "-json", "-")
			if err := json.Unmarshal([]byte(got), &applied); err != nil || len(applied.Problems) != 1 || applied.Problems[0].Place != "/flags/0/"+place || applied.Problems[0].Line == 0 {
				t.Errorf("%s: apply prints %s, %v", fault.Path, got, err)
			}
			if got := refused(&fault, document, "import", "-"); !strings.Contains(got, " "+place+": ") && !strings.Contains(got, " /"+place+": ") {
				t.Errorf("%s: import prints %q, want the path", fault.Path, got)
			}
		}
		if fault.Check == "none" {
			continue
		}
		var found []struct{ Severity, Path string }
		got := call{args: []string{"check", "-json", "-"}, stdin: document}.here(t)
		if err := json.Unmarshal([]byte(got.Stdout), &found); err != nil {
			t.Fatalf("%s: %+v", fault.Path, got)
		}
		if !slices.ContainsFunc(found, func(f struct{ Severity, Path string }) bool {
			// It can see the fault in the whole, such as in a holdout, or in one of the parts.
			return f.Severity == cmp.Or(fault.Check, "error") && (strings.HasPrefix("/"+place+"/", f.Path+"/") || strings.HasPrefix(f.Path, "/"+place+"/"))
		}) {
			t.Errorf("%s: check prints %+v", fault.Path, found)
		}
	}
}

// onlyAPI are members that no document has, or that a document may have.
var onlyAPI = []string{"comment", "creation_context", "filters/version"}
