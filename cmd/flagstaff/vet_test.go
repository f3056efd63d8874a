package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/vet"
)

// forVet has flags of the program in vet/testdata/internal/open, under other keys, and one
// that it does not read.
const forVet = `{"flags":[
	{"id":1,"key":"new-checkouts","active":true,"filters":{"groups":[{"rollout_percentage":50}]}},
	{"id":2,"key":"nobody-reads-it","active":true,"filters":{"groups":[{"rollout_percentage":50}]}}
]}`

// TestVet checks a program of another module of the checkout.
func TestVet(t *testing.T) {
	t.Parallel()
	const program = "../../vet/testdata/internal/open"
	folder, err := filepath.Abs(program)
	if err != nil {
		t.Fatal(err)
	}
	file := write(t, "flags.json", forVet)
	// The go command makes what is in its cache with these.
	environ := []string{"GOFLAGS=" + os.Getenv("GOFLAGS"), "FLAGSTAFF_KEY=phx_secret"}
	only := write(t, "vet.yaml", "rules: {unknown-key: warning}\nignore:\n- {key: button, reason: a test}\n- {key: limit, reason: a test}\n- {key: p*, reason: a test}\n")
	vetted := func(args ...string) outcome {
		got := call{args: append([]string{"vet", "-config", only}, args...), env: environ, stdin: forVet}.run(t)
		got.Stdout = strings.ReplaceAll(got.Stdout, folder+string(filepath.Separator), "")
		return got
	}
	const unknown = `open.go:13:22: there is no flag "new-checkout"; did you mean "new-checkouts"? [unknown-key]
open.go:14:34: there is no flag "new-chekout"; did you mean "new-checkouts"? [unknown-key]
open.go:19:21: there is no flag "new-checkout"; did you mean "new-checkouts"? [unknown-key]
open.go:23:20: there is no flag "new-checkout"; did you mean "new-checkouts"? [unknown-key]
open.go:25:21: there is no flag "new-checkout"; did you mean "new-checkouts"? [unknown-key]
`
	vetted("-flags", file, program).want(t, outcome{1, unknown + "0 errors, 5 warnings\n", ""})
	vetted("-flags", "-", "-lenient", program).want(t, outcome{0, unknown + "0 errors, 5 warnings\n", ""})
	got := vetted("-flags", file, "-unused", "-json", program)
	var findings []vet.Finding
	if err := json.Unmarshal([]byte(got.Stdout), &findings); err != nil || got.Code != 1 || len(findings) != 7 {
		t.Fatalf("%+v: %v", got, err)
	}
	want := vet.Finding{
		Rule: vet.UnusedFlag, Severity: flags.SeverityWarning, File: file, Line: 3, Column: 2, Flag: "nobody-reads-it", Message: `no code reads flag "nobody-reads-it"`,
	}
	if diff := gocmp.Diff(want, findings[1]); diff != "" {
		t.Errorf("flag that no code reads: -want +got\n%s", diff)
	}
	if got := vetted("-flags", file, "./no/such/package"); got.Code != 1 || !strings.HasPrefix(got.Stderr, "stat ") || !strings.HasSuffix(got.Stderr, "\nflagstaff vet: the packages do not compile\n") {
		t.Errorf("of a package that does not exist: %+v", got)
	}
	broken := write(t, "broken.json", `{"flags":[`)
	if got := vetted("-flags", broken, program); got.Code != 1 || !strings.HasPrefix(got.Stderr, "flagstaff vet: "+broken+":1:11: ") {
		t.Errorf("with a broken file: %+v", got)
	}
}

// TestVetServer takes the flags of a server, which a configuration names.
func TestVetServer(t *testing.T) {
	t.Parallel()
	server := serveProcess(t, "-store", ":memory:")
	s := server.session(t)
	s.do("flag", "create", "-rollout", "100", "pro")
	config := write(t, "vet.yaml", "url: "+server.url+"\nrules: {unknown-key: off}\n")
	got := call{
		args: []string{"vet", "-config", config, "-json", "../../vet/testdata/internal/open"},
		env:  []string{"GOFLAGS=" + os.Getenv("GOFLAGS"), "FLAGSTAFF_KEY=" + server.key},
	}.run(t)
	var findings []vet.Finding
	if err := json.Unmarshal([]byte(got.Stdout), &findings); err != nil || got.Code != 1 || len(findings) != 1 {
		t.Fatalf("%+v: %v", got, err)
	}
	const want = `flag "pro" is true for every request; condition set 1 is for everybody`
	if f := findings[0]; f.Rule != vet.Constant || f.Flag != "pro" || f.Message != want {
		t.Errorf("got %v, want %s", f, want)
	}
}
