package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

// candidates returns the words that the program offers after some others.
func candidates(t *testing.T, words ...string) (list []string) {
	t.Helper()
	got := run(t, append(words, "--generate-shell-completion")...)
	if got.Code != 0 || got.Stderr != "" {
		t.Errorf("%q: %+v", words, got)
	}
	for line := range strings.Lines(got.Stdout) {
		word, usage, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if !ok || strings.Contains(usage, "\t") {
			t.Errorf("%q: the line %q is not a word, a tab and a text", words, line)
		}
		list = append(list, word)
	}
	return list
}

func TestCandidates(t *testing.T) {
	t.Parallel()
	file := write(t, "flags.json", explained)
	for _, tt := range []struct {
		words, want []string
	}{
		{nil, []string{"serve", "backup", "restore", "users", "flag", "import", "apply", "export", "check", "explain", "diff", "compare", "gen", "vet", "prune", "version", "completion", "help"}},
		{[]string{"users"}, []string{"invite"}},
		{[]string{"export"}, []string{"events"}},
		{[]string{"check", "-"}, []string{"-fix", "-json", "-strict", "-help"}},
		{[]string{"check", "--js"}, []string{"-fix", "-json", "-strict", "-help"}},
		{[]string{"compare", "-"}, []string{"-from", "-at", "-environment", "-flags", "-map", "-persons", "-json", "-cacert", "-insecure", "-help"}},
		{[]string{"completion"}, []string{"bash", "zsh", "fish"}},
		{[]string{"help", "completion"}, []string{"bash", "zsh", "fish"}},
		{[]string{"explain", file}, []string{"new-checkout", "billing", "recent", "zip"}},
		{[]string{"explain", file, "zip"}, nil},
		{[]string{"prune", "-flags", file}, []string{"new-checkout", "billing", "recent", "zip"}},
		{[]string{"prune"}, nil},
		{[]string{"explain", file + "x"}, nil},
		{[]string{"explain"}, nil},
	} {
		if diff := gocmp.Diff(tt.want, candidates(t, tt.words...)); diff != "" {
			t.Errorf("%q (-want +got)\n%s", tt.words, diff)
		}
	}
	settings := candidates(t, "serve", "-")
	if len(settings) < 40 || !strings.Contains(strings.Join(settings, " "), " -store ") {
		t.Errorf("candidates of serve are %q", settings)
	}
}

// TestBashCompletion completes command lines with bash itself. Nothing that is on the
// command line is run.
func TestBashCompletion(t *testing.T) {
	t.Parallel()
	bash, err := exec.LookPath("bash")
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip("there is no bash")
	}
	dir := t.TempDir()
	program := filepath.Join(dir, "flagstaff")
	script := "#!" + bash + "\nexport FLAGSTAFF_TEST_PROGRAM=1\nexec " + os.Args[0] + " \"$@\"\n"
	if err := os.WriteFile(program, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	file := write(t, "flags.json", explained)
	for _, tt := range []struct {
		words []string // the last one is being typed
		want  string
	}{
		{[]string{"ch"}, "check"},
		{[]string{"check", "-s"}, "-strict"},
		{[]string{"explain", file, "new"}, "new-checkout"},
		{[]string{"explain", "$(touch " + filepath.Join(dir, "run") + ")", "x"}, ""},
		{[]string{"users", ""}, "invite"},
		{[]string{"serve", "-max-b"}, "-max-body -max-body-memory"},
	} {
		cmd := exec.CommandContext(t.Context(), bash, append([]string{
			"-euc",
			`source <("$0" completion bash); COMP_WORDS=("$0" "$@"); COMP_CWORD=$#; _flagstaff "$0" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}"; echo "${COMPREPLY[*]}"`, program,
		}, tt.words...)...)
		got, err := cmd.CombinedOutput()
		if err != nil || strings.TrimSpace(string(got)) != tt.want {
			t.Errorf("%q completes to %q, %v; want %q", tt.words, got, err, tt.want)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "run")); err == nil {
		t.Error("completion has run a command that stands on the command line")
	}
}

func TestCompletionScripts(t *testing.T) {
	t.Parallel()
	for _, shell := range []string{"bash", "zsh", "fish"} {
		got := run(t, "completion", shell)
		if got.Code != 0 || !strings.Contains(got.Stdout, "--generate-shell-completion") || !strings.Contains(got.Stdout, "flagstaff for "+shell) {
			t.Errorf("%s: %+v", shell, got)
		}
		path, err := exec.LookPath(shell)
		if err != nil {
			continue // the shell is not here, and nobody needs it for the tests
		}
		if out, err := exec.CommandContext(t.Context(), path, "-n", write(t, "script", got.Stdout)).CombinedOutput(); err != nil {
			t.Errorf("%s finds a mistake: %s", shell, out)
		}
	}
}
