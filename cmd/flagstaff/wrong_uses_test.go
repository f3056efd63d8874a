package main

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff"
	"github.com/flagstaff-go/flagstaff/flags/source"
	"github.com/flagstaff-go/flagstaff/management/foreign"
)

// A use is a way to use the product.
type use interface {
	fmt.Stringer

	// sees does it, and returns the text that whoever does it sees. there is the URL of a
	// server with the demo.
	sees(t *testing.T, there string) string
}

// typed is a command line and its environment, which the program refuses.
type typed struct{ args, env []string }

func (u typed) String() string { return strings.Join(u.args, " ") }

func (u typed) sees(t *testing.T, _ string) string {
	t.Helper()
	got := call{args: u.args, env: u.env}.here(t)
	if got.Code != 2 || got.Stdout != "" {
		t.Errorf("exit code %d, output %q; want 2 and none", got.Code, got.Stdout)
	}
	return strings.TrimSuffix(got.Stderr, "\n")
}

// open is a program that follows flags.
type open struct{ config flagstaff.Config }

func (u open) String() string {
	return fmt.Sprintf("Open with URL %s, SecretKey %.4s, ProjectKey %.4s", u.config.URL, u.config.SecretKey, u.config.ProjectKey)
}

func (u open) sees(t *testing.T, _ string) string {
	t.Helper()
	u.config.Log = slog.New(slog.DiscardHandler)
	client, err := flagstaff.Open(t.Context(), u.config)
	if closed := client.Close(t.Context()); closed != nil {
		t.Error(closed)
	}
	return fmt.Sprint(err)
}

// load is a program that reads definitions.
type load struct{ from source.Remote }

func (u load) String() string {
	return fmt.Sprintf("Load with SecretKey %.4s, ProjectKey %.4s", u.from.SecretKey, u.from.ProjectKey)
}

func (u load) sees(t *testing.T, _ string) string {
	t.Helper()
	_, _, err := u.from.Load(t.Context(), "")
	return fmt.Sprint(err)
}

// checked is a document of definitions.
type checked string

func (u checked) String() string { return "check of " + string(u) }

// sees returns the lines about the document, without its path and the counts.
func (u checked) sees(t *testing.T, _ string) string {
	t.Helper()
	file := write(t, "flags.json", string(u))
	got := call{args: []string{"check", file}}.here(t)
	if got.Code != 1 || got.Stderr != "" {
		t.Errorf("exit code %d, %q; want 1, and nothing on standard error", got.Code, got.Stderr)
	}
	lines := strings.Split(strings.TrimSuffix(got.Stdout, "\n"), "\n")
	return strings.ReplaceAll(strings.Join(lines[:len(lines)-1], "\n"), file+":", "")
}

// sent is a request. key is a bearer token.
type sent struct{ method, path, key, body string }

func flagsWith(key string) sent {
	return sent{"POST", "/flags?v=2", "", fmt.Sprintf(`{"api_key":%q,"distinct_id":"u"}`, key)}
}

func eventWith(key string) sent {
	return sent{"POST", "/i/v0/e/", "", fmt.Sprintf(`{"api_key":%q,"distinct_id":"u","event":"seen"}`, key)}
}

func (u sent) String() string {
	return strings.TrimSpace(strings.Join([]string{u.method, u.path, u.key, u.body}, " "))
}

// sees returns the status and the detail.
func (u sent) sees(t *testing.T, there string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), u.method, there+u.path, strings.NewReader(u.body))
	if err != nil {
		t.Fatal(err)
	}
	if u.body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if u.key != "" {
		r.Header.Set("Authorization", "Bearer "+u.key)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	var answer struct{ Detail string }
	if err := json.Unmarshal(text, &answer); err != nil {
		t.Errorf("%v in %s", err, text)
	}
	return fmt.Sprintf("%d %s", resp.StatusCode, answer.Detail)
}

// TestWrongUses has what people do wrong with the program, the library and a server, with the
// exact text that they see. None has a secret.
func TestWrongUses(t *testing.T) {
	t.Parallel()
	const (
		fromServe = "flagstaff serve: "
		wantStore = `; want an SQLite file, ":memory:", or postgres://USER:PASSWORD@HOST/DATABASE`
		addr      = "; did you mean -addr HOST:PORT, such as -addr 127.0.0.1:8000?"
		flagsPath = "/api/projects/@current/feature_flags/"
		notStore  = "invalid value for flag -store: "
	)
	file := write(t, "flags.json", `{"flags":[]}`)
	here := []string{"FLAGSTAFF_URL=http://127.0.0.1:1", "FLAGSTAFF_KEY=phx_s3cret"}
	there := serveProcess(t, "-demo", "-drain", "0s").url
	for _, tt := range []struct {
		use
		want string
	}{
		{typed{[]string{"chekc", file}, nil}, `flagstaff: there is no command "chekc"; did you mean flagstaff check?`},
		{typed{[]string{"xyzzy"}, nil}, `flagstaff: there is no command "xyzzy"; see flagstaff -help`},
		{typed{[]string{"comp"}, nil}, `flagstaff: there is no command "comp"; did you mean flagstaff compare, or flagstaff completion?`},
		{typed{[]string{"-demo"}, nil}, `flagstaff: there is no flag -demo; did you mean flagstaff serve -demo?`},
		{typed{[]string{"--version"}, nil}, `flagstaff: there is no flag -version; did you mean flagstaff version?`},
		{typed{[]string{"-xyzzy"}, nil}, `flagstaff: there is no flag -xyzzy; see flagstaff -help`},
		{typed{[]string{"help", "chekc"}, nil}, `flagstaff help: there is no command "chekc"; did you mean flagstaff check?`},
		{typed{[]string{"help", "users", "invit"}, nil}, `flagstaff help: there is no command "invit"; did you mean flagstaff users invite?`},
		{typed{[]string{"chekc", "-help"}, nil}, `flagstaff: there is no command "chekc"; did you mean flagstaff check?`},
		{typed{[]string{"users", "invit"}, nil}, `flagstaff users: there is no command "invit"; did you mean flagstaff users invite?`},

		{typed{[]string{"check"}, nil}, `flagstaff check: want FILE…, not 0 arguments; see flagstaff check -help`},
		{typed{[]string{"check", "-jsn", file}, nil}, `flagstaff check: there is no flag -jsn; did you mean -json?`},
		{typed{[]string{"check", "-json=maybe", file}, nil}, `flagstaff check: invalid value "maybe" for flag -json: want true or false`},
		{typed{[]string{"check", "-fix", "-"}, nil}, `flagstaff check: invalid value "true" for flag -fix: want files, not standard input`},
		{typed{[]string{"check", "-xyzzy", file}, nil}, `flagstaff check: there is no flag -xyzzy; see flagstaff check -help`},

		{typed{[]string{"explain", file, "beta"}, nil}, `flagstaff explain: want FILE, KEY and PERSON, not 2 arguments; see flagstaff explain -help`},
		{typed{[]string{"explain", file}, nil}, `flagstaff explain: want FILE, KEY and PERSON, not 1 argument, "` + file + `"; see flagstaff explain -help`},
		{typed{[]string{"explain", "-property", "plan", file, "a", "b"}, nil}, `flagstaff explain: invalid value "plan" for flag -property: want NAME=VALUE, such as plan=pro`},
		{typed{[]string{"explain", file, "a", "b", "-property"}, nil}, `flagstaff explain: flag -property needs a value: -property NAME=VALUE`},
		{typed{[]string{"explain", "-group", "company=", file, "a", "b"}, nil}, `flagstaff explain: invalid value "company=" for flag -group: want TYPE=KEY, such as company=acme`},
		{typed{[]string{"explain", "-group-property", "tier=free", file, "a", "b"}, nil}, `flagstaff explain: invalid value "tier=free" for flag -group-property: want TYPE.NAME=VALUE, such as company.tier=free`},
		{typed{[]string{"explain", "-group-property", "company.tier=free", file, "a", "b"}, nil}, `flagstaff explain: flag -group-property company.tier=free needs the group: -group company=KEY`},
		{typed{[]string{"explain", "-runtime", "edge", file, "a", "b"}, nil}, `flagstaff explain: invalid value "edge" for flag -runtime: want client or server`},
		{typed{[]string{"explain", "-now", "today", file, "a", "b"}, nil}, `flagstaff explain: invalid value "today" for flag -now: want a time such as 2026-03-01T12:00:00Z`},
		{typed{[]string{"explain", "-prop", "a=b", file, "a", "b"}, nil}, `flagstaff explain: there is no flag -prop; did you mean -property?`},

		{typed{[]string{"diff", file}, nil}, `flagstaff diff: want OLD and NEW, not 1 argument, "` + file + `"; see flagstaff diff -help`},
		{typed{[]string{"diff", file, file, file, file}, nil}, `flagstaff diff: want OLD and NEW, not 4 arguments; see flagstaff diff -help`},
		{typed{[]string{"diff", "-limit", "many", file, file}, nil}, `flagstaff diff: invalid value "many" for flag -limit: want a percentage from 0% to 100%, such as 0.5%`},
		{typed{[]string{"diff", "-limit", "101", file, file}, nil}, `flagstaff diff: invalid value "101" for flag -limit: want a percentage from 0% to 100%, such as 0.5%`},
		{typed{[]string{"diff", "-limit", "NaN", file, file}, nil}, `flagstaff diff: invalid value "NaN" for flag -limit: want a percentage from 0% to 100%, such as 0.5%`},
		{typed{[]string{"diff", "-persons", "0", file, file}, nil}, `flagstaff diff: invalid value "0" for flag -persons: want a number from 1 to 10000000`},
		{typed{[]string{"diff", "-persons", "x", file, file}, nil}, `flagstaff diff: invalid value "x" for flag -persons: want a whole number`},
		{typed{[]string{"diff", "-now", "yesterday", file, file}, nil}, `flagstaff diff: invalid value "yesterday" for flag -now: want a time such as 2026-03-01T12:00:00Z`},

		{typed{[]string{"compare"}, nil}, `flagstaff compare: want FILE, not 0 arguments; see flagstaff compare -help`},
		{typed{[]string{"compare", file, file, file}, nil}, `flagstaff compare: want FILE, not 3 arguments; see flagstaff compare -help`},
		{typed{[]string{"compare", "-at", "https://h", file}, nil}, `flagstaff compare: flag -from is needed: one of launchdarkly, unleash, go-feature-flag, flipt, flagd, growthbook, configcat`},
		{typed{[]string{"compare", "-from", "split", "-at", "https://h", file}, nil}, `flagstaff compare: invalid value "split" for flag -from: want one of launchdarkly, unleash, go-feature-flag, flipt, flagd, growthbook, configcat`},
		{typed{[]string{"compare", "-from", "flagd", file}, nil}, `flagstaff compare: flag -at is needed: the URL of flagd`},
		{typed{[]string{"compare", "-from", "flagd", "-at", "h:8016", file}, nil}, `flagstaff compare: the address must be such as https://flags.example.com, without user, query and fragment`},
		{typed{[]string{"compare", "-from", "flagd", "-at", "https://h", "-environment", "dev", file}, nil}, `flagstaff compare: flagd is not asked for an environment`},
		{typed{[]string{"compare", "-from", "launchdarkly", "-at", "https://h", file}, nil}, `flagstaff compare: launchdarkly needs the client-side ID of the environment, in FLAGSTAFF_FROM_KEY or by -environment`},
		{typed{[]string{"compare", "-from", "unleash", "-at", "https://h", file}, nil}, `flagstaff compare: unleash needs a frontend token in FLAGSTAFF_FROM_KEY`},
		{typed{[]string{"compare", "-from", "unleash", "-at", "http://h.example", file}, []string{"FLAGSTAFF_FROM_KEY=s3cret"}}, `flagstaff compare: the key in FLAGSTAFF_FROM_KEY would be sent without encryption: use https, or -insecure`},
		{typed{[]string{"compare", "-from", "unleash", "-at", "https://h", file}, []string{"FLAGSTAFF_FROM_KEY=s3cret\n"}}, `flagstaff compare: the key has characters that no key has, such as blanks`},
		{typed{[]string{"compare", "-from", "flagd", "-at", "https://h", "-map", "mail", file}, nil}, `flagstaff compare: invalid value "mail" for flag -map: want ATTRIBUTE=PROPERTY, such as mail=email`},
		{typed{[]string{"compare", "-from", "flagd", "-at", "https://h", "-persons", "0", file}, nil}, `flagstaff compare: invalid value "0" for flag -persons: want a number from 1 to 10000000`},
		{typed{[]string{"compare", "-from", "flagd", "-at", "https://h", "-cacert", file, file}, nil}, `flagstaff compare: flag -cacert: ` + file + ` has no certificate in PEM form, which begins with -----BEGIN CERTIFICATE-----`},
		{typed{[]string{"compare", "-from", "flagd", "-url", "https://h", file}, nil}, `flagstaff compare: there is no flag -url; see flagstaff compare -help`},

		{typed{[]string{"gen"}, nil}, `flagstaff gen: want a FILE, or a server by -url or FLAGSTAFF_URL; see flagstaff gen -help`},
		{typed{[]string{"gen", file, file}, nil}, `flagstaff gen: want FILE, not 2 arguments; see flagstaff gen -help`},
		{typed{[]string{"gen", "-url", "http://h", file}, here}, `flagstaff gen: want a FILE or -url, not both; see flagstaff gen -help`},
		{typed{[]string{"gen", "-check", file}, nil}, `flagstaff gen: flag -check needs the file: -check -o FILE.go`},
		{typed{[]string{"gen", "-package", "a-b", file}, nil}, `flagstaff gen: invalid value "a-b" for flag -package: want a name such as flags`},
		{typed{[]string{"gen", "-type", "button", file}, nil}, `flagstaff gen: invalid value "button" for flag -type: want KEY=TYPE, such as button=Button`},
		{typed{[]string{"gen"}, []string{"FLAGSTAFF_URL=http://127.0.0.1:1"}}, `flagstaff gen: there is no personal API key: put it into FLAGSTAFF_KEY, not into an argument, which others can see`},

		{typed{[]string{"vet"}, nil}, `flagstaff vet: want the definitions: a file by -flags, or a server by -url or FLAGSTAFF_URL`},
		{typed{[]string{"vet", "-flags", file, "-url", "http://h"}, here}, `flagstaff vet: flags -flags and -url exclude each other`},
		{typed{[]string{"vet", "-unsued", "-flags", file}, nil}, `flagstaff vet: there is no flag -unsued; did you mean -unused?`},

		{typed{[]string{"prune", "-flags", file}, nil}, `flagstaff prune: want at least one KEY, or -value KEY=VALUE; see flagstaff prune -help`},
		{typed{[]string{"prune", "new-checkout"}, nil}, `flagstaff prune: want the definitions: a file by -flags, or a server by -url or FLAGSTAFF_URL`},
		{typed{[]string{"prune", "-flags", file, "-url", "http://h", "new-checkout"}, here}, `flagstaff prune: flags -flags and -url exclude each other`},
		{typed{[]string{"prune", "-value", "new-checkout", "--", "."}, nil}, `flagstaff prune: invalid value "new-checkout" for flag -value: want KEY=VALUE, such as new-checkout=true`},
		{typed{[]string{"prune", "-flags", file, "new-checkout", "./..."}, nil}, `flagstaff prune: "./..." is not a key of a flag: packages come after --, as in KEY -- ./...`},

		{typed{[]string{"version", "now"}, nil}, `flagstaff version: want no arguments, not 1 argument, "now"; see flagstaff version -help`},
		{typed{[]string{"completion", "csh"}, nil}, `flagstaff completion: there is no command "csh"; did you mean flagstaff completion zsh?`},
		{typed{[]string{"completion", "powershell"}, nil}, `flagstaff completion: there is no command "powershell"; see flagstaff completion -help`},
		{typed{[]string{"completion", "bash", "x"}, nil}, `flagstaff completion bash: want no arguments, not 1 argument, "x"; see flagstaff completion bash -help`},

		{typed{[]string{"backup"}, nil}, `flagstaff backup: want FILE, not 0 arguments; see flagstaff backup -help`},
		{typed{[]string{"backup", "-store", "mysql://u:s3cret@h/db", "a.db"}, nil}, `flagstaff backup: invalid value for flag -store: there are no stores of the kind "mysql"; want an SQLite file, ":memory:", or postgres://USER:PASSWORD@HOST/DATABASE`},
		{typed{[]string{"restore", "a", "b"}, nil}, `flagstaff restore: want FILE, not 2 arguments; see flagstaff restore -help`},
		{typed{[]string{"restore", "-stor", "b", "a"}, nil}, `flagstaff restore: there is no flag -stor; did you mean -store?`},

		{typed{[]string{"flag", "lst"}, nil}, `flagstaff flag: there is no command "lst"; did you mean flagstaff flag list?`},
		{typed{[]string{"flag", "list", "beta"}, here}, `flagstaff flag list: want no arguments, not 1 argument, "beta"; see flagstaff flag list -help`},
		{typed{[]string{"flag", "list"}, nil}, `flagstaff flag list: there is no server: give its address in FLAGSTAFF_URL or -url, such as https://flags.example.com`},
		{typed{[]string{"flag", "list", "-url"}, nil}, `flagstaff flag list: flag -url needs a value: -url URL`},

		{typed{[]string{"users", "invite"}, nil}, `flagstaff users invite: want ADDRESS, not 0 arguments; see flagstaff users invite -help`},
		{typed{[]string{"users", "invite", "-level", "boss", "a@b.example"}, here}, `flagstaff users invite: invalid value "boss" for flag -level: want member, admin or owner`},
		{typed{[]string{"users", "invite", "-store", "a.db", "-url", "http://h", "a@b.example"}, nil}, `flagstaff users invite: flags -store and -url exclude each other`},
		{typed{[]string{"users", "invite", "-store", "a.db", "a@b.example"}, nil}, `flagstaff users invite: flag -app-url is needed, and must be an http or https URL without query and fragment: the link begins with it`},
		{typed{[]string{"users", "invite", "-app-url", "http://h", "a@b.example"}, here}, `flagstaff users invite: flag -app-url is for -store: a server knows its address`},
		{typed{[]string{"users", "invite", "a@b.example"}, nil}, `flagstaff users invite: there is no server: give its address in FLAGSTAFF_URL or -url, such as https://flags.example.com`},
		{typed{[]string{"users", "invite", "-url", "http://127.0.0.1:1", "a@b.example"}, nil}, `flagstaff users invite: there is no personal API key: put it into FLAGSTAFF_KEY, not into an argument, which others can see`},
		{typed{[]string{"users", "invite", "-url", "http://flags.example.com", "a@b.example"}, here}, `flagstaff users invite: the key would go unencrypted to flags.example.com: use https, or -insecure in a network that you trust`},
		{typed{[]string{"users", "invite", "-url", "flags.example.org:8000", "a@b.example"}, here}, `flagstaff users invite: the URL of the server does not begin with https:// or http://: write it such as https://flags.example.org:8000`},
		{typed{[]string{"users", "invite", "-url", "ada:s3cret@flags.example.org", "a@b.example"}, here}, `flagstaff users invite: the URL of the server does not begin with https:// or http://: write it such as https://flags.example.com`},
		{typed{[]string{"users", "invite", "-url", "ftp://flags.example.org", "a@b.example"}, here}, `flagstaff users invite: the URL of the server must be such as https://flags.example.com, without query and fragment`},
		{typed{[]string{"users", "invite", "-url", "https://flags.example.org?x=1", "a@b.example"}, here}, `flagstaff users invite: the URL of the server must be such as https://flags.example.com, without query and fragment`},
		{typed{[]string{"flag", "list", "-url", "https://flags.example.org/api/projects/1"}, here}, `flagstaff flag list: the URL of the server must be its address alone, such as https://flags.example.org, without /api/projects/1`},
		{typed{[]string{"flag", "list", "-url", "https://flags.example.org/proxy/api/"}, here}, `flagstaff flag list: the URL of the server must be its address alone, such as https://flags.example.org, without /proxy/api/`},
		{typed{[]string{"flag", "list"}, []string{here[0], "FLAGSTAFF_KEY=phc_s3cret"}}, `flagstaff flag list: this is a project API key (phc_…); the management API wants a personal API key (phx_…)`},
		{typed{[]string{"flag", "list"}, []string{here[0], "FLAGSTAFF_KEY=phs_s3cret"}}, `flagstaff flag list: this is a project secret key (phs_…); the management API wants a personal API key (phx_…)`},
		{typed{[]string{"gen"}, []string{here[0], "FLAGSTAFF_KEY=phc_s3cret"}}, `flagstaff gen: this is a project API key (phc_…); the management API wants a personal API key (phx_…)`},
		{typed{[]string{"vet"}, []string{here[0], "FLAGSTAFF_KEY=phs_s3cret"}}, `flagstaff vet: this is a project secret key (phs_…); the management API wants a personal API key (phx_…)`},
		{typed{[]string{"import", "-from", "https://flags.example.org"}, append([]string{"FLAGSTAFF_FROM_KEY=phc_s3cret"}, here...)}, `flagstaff import: flag -from: this is a project API key (phc_…); the management API wants a personal API key (phx_…)`},
		{typed{[]string{"import", "-from", "flags.example.org"}, append([]string{"FLAGSTAFF_FROM_KEY=phx_s3cret"}, here...)}, "flagstaff import: flag -from: want the URL of a server, which begins with https:// or http://, or one of " + strings.Join(foreign.Products(), ", ")},
		{typed{[]string{"flag", "list", "-cacert", file}, here}, `flagstaff flag list: flag -cacert: ` + file + ` has no certificate in PEM form, which begins with -----BEGIN CERTIFICATE-----`},
		{typed{[]string{"flag", "list", "-cacert", "/none.pem"}, here}, `flagstaff flag list: flag -cacert: open /none.pem: no such file or directory`},
		{typed{[]string{"apply"}, here}, `flagstaff apply: want FILE, not 0 arguments; see flagstaff apply -help`},
		{typed{[]string{"apply", file}, nil}, `flagstaff apply: there is no server: give its address in FLAGSTAFF_URL or -url, such as https://flags.example.com`},
		{typed{[]string{"apply", "-dryrun", file}, here}, `flagstaff apply: there is no flag -dryrun; did you mean -dry-run?`},
		{typed{[]string{"aply", file}, here}, `flagstaff: there is no command "aply"; did you mean flagstaff apply?`},
		{typed{[]string{"flag", "help", "lst"}, nil}, `flagstaff flag: there is no command "lst"; did you mean flagstaff flag list?`},
		{typed{[]string{"export", "help", "event"}, nil}, `flagstaff export: there is no command "event"; did you mean flagstaff export events?`},
		{typed{[]string{"users", "invite", "-key", "phx_s3cret", "a@b.example"}, here}, `flagstaff users invite: there is no flag -key; see flagstaff users invite -help`},

		{typed{[]string{"flag", "list", "x"}, here}, `flagstaff flag list: want no arguments, not 1 argument, "x"; see flagstaff flag list -help`},
		{typed{[]string{"flag", "list", "-state", "live"}, here}, `flagstaff flag list: invalid value "live" for flag -state: want on, off, stale or archived`},
		{typed{[]string{"flag", "list", "-stale", "-state", "on"}, here}, `flagstaff flag list: -stale and -state on exclude each other`},
		{typed{[]string{"flag", "list", "-kind", "text"}, here}, `flagstaff flag list: invalid value "text" for flag -kind: want boolean, variants, experiment or config`},
		{typed{[]string{"flag", "list", "-serach", "a"}, here}, `flagstaff flag list: there is no flag -serach; did you mean -search?`},
		{typed{[]string{"flag", "get"}, here}, `flagstaff flag get: want KEY, not 0 arguments; see flagstaff flag get -help`},
		{typed{[]string{"flag", "get", " "}, here}, `flagstaff flag get: KEY must not be empty`},
		{typed{[]string{"flag", "create"}, here}, `flagstaff flag create: want KEY, not 0 arguments; see flagstaff flag create -help`},
		{typed{[]string{"flag", "create", "-rollout", "half", "a"}, here}, `flagstaff flag create: invalid value "half" for flag -rollout: want a percentage from 0% to 100%, such as 0.5%`},
		{typed{[]string{"flag", "create", "-rollout", "101", "a"}, here}, `flagstaff flag create: invalid value "101" for flag -rollout: want a percentage from 0% to 100%, such as 0.5%`},
		{typed{[]string{"flag", "create", "-variant", "a", "a"}, here}, `flagstaff flag create: invalid value "a" for flag -variant: want KEY=PERCENTAGE, such as test=50`},
		{typed{[]string{"flag", "create", "-variant", "a=50", "-variant", "b=40", "a"}, here}, `flagstaff flag create: the percentages of flags -variant make 90%, and must make 100%`},
		{typed{[]string{"flag", "create", "-variant", "a=50", "-variant", "a=50", "a"}, here}, `flagstaff flag create: flag -variant names the variant "a" twice`},
		{typed{[]string{"flag", "create", "-payload", "blue", "a"}, here}, `flagstaff flag create: invalid value "blue" for flag -payload: want JSON, such as {"hex":"#00f"} or "a text in quotes"`},
		{typed{[]string{"flag", "create", "-variant", "a=100", "-payload", "b=1", "a"}, here}, `flagstaff flag create: invalid value "b=1" for flag -payload: want VARIANT=JSON with a variant that a flag -variant names`},
		{typed{[]string{"flag", "create", "-payload", "1", "-payload", "2", "a"}, here}, `flagstaff flag create: flag -payload is given twice, and the flag has one payload`},
		{typed{[]string{"flag", "create", "-file", file, "-rollout", "5", "a"}, here}, `flagstaff flag create: with -file the file says all: flags -name, -rollout, -variant, -payload, -tag and -off are for a flag without a file`},
		{typed{[]string{"flag", "rollout", "a"}, here}, `flagstaff flag rollout: want KEY and PERCENTAGE, not 1 argument, "a"; see flagstaff flag rollout -help`},
		{typed{[]string{"flag", "rollout", "a", "all"}, here}, `flagstaff flag rollout: PERCENTAGE is "all": want a percentage from 0% to 100%, such as 0.5%`},
		{typed{[]string{"flag", "rollout", "-condition", "-1", "a", "5"}, here}, `flagstaff flag rollout: invalid value "-1" for flag -condition: want a number from 1`},
		{typed{[]string{"flag", "rollout", "-condition", "first", "a", "5"}, here}, `flagstaff flag rollout: invalid value "first" for flag -condition: want a whole number`},
		{typed{[]string{"flag", "on"}, here}, `flagstaff flag on: want KEY, not 0 arguments; see flagstaff flag on -help`},
		{typed{[]string{"flag", "explain", "a"}, here}, `flagstaff flag explain: want KEY and PERSON, not 1 argument, "a"; see flagstaff flag explain -help`},
		{typed{[]string{"flag", "explain", "-now", "2026-01-01T00:00:00Z", "a", "b"}, here}, `flagstaff flag explain: there is no flag -now; see flagstaff flag explain -help`},
		{typed{[]string{"flag", "explain", "-property", "=1", "a", "b"}, here}, `flagstaff flag explain: invalid value "=1" for flag -property: want NAME=VALUE, such as plan=pro`},
		{typed{[]string{"flag", "history", "-v", "0", "a"}, here}, `flagstaff flag history: invalid value "0" for flag -v: want the number of a version, from 1`},
		{typed{[]string{"flag", "history", "-limit", "-1", "a"}, here}, `flagstaff flag history: invalid value "-1" for flag -limit: want a number of versions, or 0 for all`},
		{typed{[]string{"flag", "revert", "a"}, here}, `flagstaff flag revert: want KEY and VERSION, not 1 argument, "a"; see flagstaff flag revert -help`},
		{typed{[]string{"flag", "revert", "a", "v3"}, here}, `flagstaff flag revert: VERSION is "v3": want the number of a version, which flagstaff flag history a lists`},
		{typed{[]string{"import"}, here}, `flagstaff import: want FILE, not 0 arguments; see flagstaff import -help`},
		{typed{[]string{"import", "-from", "https://h", file}, here}, `flagstaff import: want a FILE or -from, not both; see flagstaff import -help`},
		{typed{[]string{"import", "-from-project", "7", file}, here}, `flagstaff import: flag -from-project is for -from URL`},
		{typed{[]string{"import", "-store", "a.db", "-url", "http://h", file}, here}, `flagstaff import: flags -store and -url exclude each other`},
		{typed{[]string{"import", "-store", "pg:user:s3cret@h", file}, here}, `flagstaff import: invalid value for flag -store: PostgreSQL is named by a URL: -store postgres://USER:PASSWORD@HOST/DATABASE`},
		{typed{[]string{"import", "-from", "launchdarkly", "-o", "x.json", "-json", file}, here}, `flagstaff import: flag -o writes a file, without a dry run, a store or JSON`},
		{typed{[]string{"import", "-inexact", "a", file}, here}, `flagstaff import: flag -inexact is for -from PRODUCT`},
		{typed{[]string{"import", "-undo", "x", file}, here}, `flagstaff import: flag -undo stands alone; see flagstaff import -help`},
		{typed{[]string{"import", "-from", "launchdarkly", "http://h.example"}, append(here, "FLAGSTAFF_FROM_KEY=s3cret")}, `flagstaff import: the key in FLAGSTAFF_FROM_KEY would be sent without encryption: use https, or -insecure`},
		{typed{[]string{"import", "-from", "https://h"}, here}, `flagstaff import: there is no personal API key for -from: put it into FLAGSTAFF_FROM_KEY, not into an argument, which others can see`},
		{typed{[]string{"import", "-from", "h"}, append(here, "FLAGSTAFF_FROM_KEY=phx_s3cret")}, "flagstaff import: flag -from: want the URL of a server, which begins with https:// or http://, or one of " + strings.Join(foreign.Products(), ", ")},
		{typed{[]string{"import", "-from", "http://h.example"}, append(here, "FLAGSTAFF_FROM_KEY=phx_s3cret")}, `flagstaff import: flag -from: the key would go unencrypted to h.example: use https, or -insecure in a network that you trust`},
		{typed{[]string{"import", "-from", "https://h"}, append(here, "FLAGSTAFF_FROM_KEY=phc_s3cret")}, `flagstaff import: flag -from: this is a project API key (phc_…); the management API wants a personal API key (phx_…)`},
		{typed{[]string{"import", "-from", "flipt", "-o", "out.json", "http://h.example"}, []string{"FLAGSTAFF_FROM_KEY=s3cret"}}, `flagstaff import: the key in FLAGSTAFF_FROM_KEY would be sent without encryption: use https, or -insecure`},
		{typed{[]string{"import", "-key", "phx_s3cret", file}, here}, `flagstaff import: there is no flag -key; see flagstaff import -help`},
		{typed{[]string{"export", "flags.json"}, here}, `flagstaff export: want no arguments, not 1 argument, "flags.json"; see flagstaff export -help`},
		{typed{[]string{"export", "events", "x"}, here}, `flagstaff export events: want no arguments, not 1 argument, "x"; see flagstaff export events -help`},
		{typed{[]string{"export", "events", "-format", "xml"}, here}, `flagstaff export events: invalid value "xml" for flag -format: want ndjson or csv`},
		{typed{[]string{"export", "events", "-from", "today"}, here}, `flagstaff export events: invalid value "today" for flag -from: want a time such as 2026-11-01 or 2026-11-01T08:30:00Z`},
		{typed{[]string{"export", "events", "-to", "2026-13-01"}, here}, `flagstaff export events: invalid value "2026-13-01" for flag -to: want a time such as 2026-11-01 or 2026-11-01T08:30:00Z`},
		{typed{[]string{"export", "-o"}, here}, `flagstaff export: flag -o needs a value: -o FILE`},

		// The server.
		{typed{[]string{"serve", "--port", "8000"}, nil}, fromServe + "there is no flag -port" + addr},
		{typed{[]string{"serve", "-p", "8000"}, nil}, fromServe + "there is no flag -p" + addr},
		{typed{[]string{"serve", "-adr", ":8000"}, nil}, fromServe + "there is no flag -adr" + addr},
		{typed{[]string{"serve", "---addr", ":8000"}, nil}, fromServe + "---addr is not a flag" + addr},
		{typed{[]string{"serve", "-addr"}, nil}, fromServe + "flag -addr needs a value: -addr HOST:PORT"},
		{typed{[]string{"serve", "-sotre", "x.db"}, nil}, fromServe + "there is no flag -sotre; did you mean -store STORE?"},
		{typed{[]string{"serve", "-database-url", "x.db"}, nil}, fromServe + "there is no flag -database-url; did you mean -store STORE?"},
		{typed{[]string{"serve", "-verbose"}, nil}, fromServe + "there is no flag -verbose; did you mean -log-level LEVEL, such as -log-level debug?"},
		{typed{[]string{"serve", "-rate", "5"}, nil}, fromServe + "there is no flag -rate; did you mean -rate-limit RATE[:BURST], or -rate-limit-ip RATE[:BURST]?"},
		{typed{[]string{"serve", "-timeout", "5s"}, nil}, fromServe + "there is no flag -timeout; did you mean -shutdown-timeout TIME, or -store-timeout TIME, or -summary-timeout TIME?"},
		{typed{[]string{"serve", "-trusted_proxies", "none"}, nil}, fromServe + "there is no flag -trusted_proxies; did you mean -trusted-proxies PREFIXES?"},
		{typed{[]string{"serve", "-nonsense"}, nil}, fromServe + "there is no flag -nonsense; see -help"},

		{typed{[]string{"serve", "demo"}, nil}, fromServe + `unexpected argument "demo"; did you mean -demo?`},
		{typed{[]string{"serve", "serve"}, nil}, fromServe + `unexpected argument "serve": leave it out, and the program serves`},
		{typed{[]string{"serve", "nonsense"}, nil}, fromServe + `unexpected argument "nonsense": all settings are flags, see -help`},
		{typed{[]string{"serve", "-demo", "false"}, nil}, fromServe + `unexpected argument "false": write -demo=false`},
		{typed{[]string{"serve", "-demo=maybe"}, nil}, fromServe + `invalid boolean value "maybe" for -demo: want true or false`},

		{typed{[]string{"serve", "-addr", "8000"}, nil}, fromServe + `invalid value "8000" for flag -addr: want HOST:PORT, such as 127.0.0.1:8000`},
		{typed{[]string{"serve", "-addr", "localhost"}, nil}, fromServe + `invalid value "localhost" for flag -addr: want HOST:PORT, such as localhost:8000`},
		{typed{[]string{"serve", "-addr", "http://10.0.0.1"}, nil}, fromServe + `invalid value "http://10.0.0.1" for flag -addr: want HOST:PORT, such as 10.0.0.1:8000`},
		{typed{[]string{"serve", "-addr", ""}, nil}, fromServe + `invalid value "" for flag -addr: want HOST:PORT, such as 127.0.0.1:8000`},
		{typed{[]string{"serve", "-addr", "localhost:99999"}, nil}, fromServe + `invalid value "localhost:99999" for flag -addr: the port is "99999", want a number from 0 to 65535`},
		{typed{[]string{"serve", "-addr", "localhost:http"}, nil}, fromServe + `invalid value "localhost:http" for flag -addr: the port is "http", want a number from 0 to 65535`},
		{typed{[]string{"serve", "-addr", "unix:"}, nil}, fromServe + `invalid value "unix:" for flag -addr: want unix: and the path of a socket, at most 90 bytes long, such as unix:/run/flagstaff/flagstaff.sock`},
		{typed{[]string{"serve", "-addr", "systemd:"}, nil}, fromServe + `invalid value "systemd:" for flag -addr: want systemd, or systemd: and the name of a socket (FileDescriptorName)`},
		{typed{[]string{"serve", "-socket-mode", "999"}, nil}, fromServe + `invalid value "999" for flag -socket-mode: want an octal number up to 0777 with which the owner may write, such as 0660`},
		{typed{[]string{"serve", "-tls-cert", "a.pem"}, nil}, fromServe + "flags -tls-cert and -tls-key need each other: a.pem is one file of the pair"},
		{typed{[]string{"serve", "-debug-addr", ":6060"}, nil}, fromServe + `invalid value ":6060" for flag -debug-addr: want HOST:PORT, such as 127.0.0.1:6060`},
		{typed{[]string{"serve", "-access-log", "1.5"}, nil}, fromServe + `invalid value "1.5" for flag -access-log: want all, or a share of the requests above 0 and up to 1, such as 0.01`},
		{typed{[]string{"serve", "-max-connections", "-1"}, nil}, fromServe + `invalid value "-1" for flag -max-connections: want 0 to 1000000`},
		{typed{[]string{"serve", "-demo", "-addr", "0.0.0.0:8000"}, nil}, fromServe + `invalid value "0.0.0.0:8000" for flag -addr: -demo has well-known keys and serves loopback addresses only, such as 127.0.0.1:8000`},

		{typed{[]string{"serve", "-store", "mysql://u:s3cret@h/db"}, nil}, fromServe + notStore + `there are no stores of the kind "mysql"` + wantStore},
		{typed{[]string{"serve", "-store", "u:s3cret@tcp(h:3306)/db"}, nil}, fromServe + notStore + "there are no stores in MySQL" + wantStore},
		{typed{[]string{"serve", "-store", "sqlite://x.db"}, nil}, fromServe + notStore + "an SQLite file is named by its path alone: -store x.db"},
		{typed{[]string{"serve", "-store", "sqlite:///var/x.db"}, nil}, fromServe + notStore + "an SQLite file is named by its path alone: -store /var/x.db"},
		{typed{[]string{"serve", "-store", "sqlite:x.db?mode=rwc"}, nil}, fromServe + notStore + "an SQLite file is named by its path alone: -store x.db"},
		{typed{[]string{"serve", "-store", "sqlite://u:s3cret@h/x.db"}, nil}, fromServe + notStore + "an SQLite file is named by its path alone, such as -store flagstaff.db"},
		{typed{[]string{"serve", "-store", "POSTGRES://u:s3cret@h/db"}, nil}, fromServe + notStore + "PostgreSQL is named by a URL: -store postgres://USER:PASSWORD@HOST/DATABASE"},
		{typed{[]string{"serve", "-store", "host=h password=s3cret dbname=d"}, nil}, fromServe + notStore + "PostgreSQL is named by a URL, not by words with =: -store postgres://USER:PASSWORD@HOST/DATABASE"},
		{typed{[]string{"serve", "-store", ":memory:", "-set-quota", "5"}, nil}, fromServe + "flag -set-quota needs a -store that lasts: what is in memory is gone when it exits"},
		{typed{[]string{"serve", "-demo", "-create-key", "a@example.com"}, nil}, fromServe + "flag -create-key needs a -store that lasts: what is in memory is gone when it exits"},
		{typed{[]string{"serve", "-set-quota", "-5"}, nil}, fromServe + `invalid value "-5" for flag -set-quota: want a whole number from 0 on, or none`},

		{typed{[]string{"serve", "-log-level", "verbose"}, nil}, fromServe + `invalid value "verbose" for flag -log-level: want debug, info, warn or error`},
		{typed{[]string{"serve", "-log-format", "xml"}, nil}, fromServe + `invalid value "xml" for flag -log-format: want text or json`},
		{typed{[]string{"serve", "-retain", "90"}, nil}, fromServe + `invalid value "90" for flag -retain: want days such as 90d, from 1d to 36500d, or 0 to keep events for ever`},
		{typed{[]string{"serve", "-retain", "-1d"}, nil}, fromServe + `invalid value "-1d" for flag -retain: want days such as 90d, from 1d to 36500d, or 0 to keep events for ever`},
		{typed{[]string{"serve", "-retain", "1.5d"}, nil}, fromServe + `invalid value "1.5d" for flag -retain: want days such as 90d, from 1d to 36500d, or 0 to keep events for ever`},
		{typed{[]string{"serve", "-retain", "36501d"}, nil}, fromServe + `invalid value "36501d" for flag -retain: want days such as 90d, from 1d to 36500d, or 0 to keep events for ever`},
		{typed{[]string{"serve", "-retain", "12h"}, nil}, fromServe + `invalid value "12h" for flag -retain: want days such as 90d, from 1d to 36500d, or 0 to keep events for ever`},
		{typed{[]string{"serve", "-retain", "d"}, nil}, fromServe + `invalid value "d" for flag -retain: want days such as 90d, from 1d to 36500d, or 0 to keep events for ever`},
		{typed{[]string{"serve", "-shutdown-timeout", "15"}, nil}, fromServe + `invalid value "15" for flag -shutdown-timeout: want a time with its unit, such as 15s or 15m`},
		{typed{[]string{"serve", "-shutdown-timeout", "soon"}, nil}, fromServe + `invalid value "soon" for flag -shutdown-timeout: want a time with its unit, such as 15s or 2m`},
		{typed{[]string{"serve", "-drain", "-1s"}, nil}, fromServe + `invalid value "-1s" for flag -drain: must not be negative`},
		{typed{[]string{"serve", "-rate-limit", "x"}, nil}, fromServe + `invalid value "x" for flag -rate-limit: want RATE[:BURST], the rate a number above 0`},
		{typed{[]string{"serve", "-rate-limit-ip", "5:0"}, nil}, fromServe + `invalid value "5:0" for flag -rate-limit-ip: want RATE:BURST, the burst a whole number above 0`},
		{typed{[]string{"serve", "-trusted-proxies", "10.0.0.0/8,x"}, nil}, fromServe + `invalid value "10.0.0.0/8,x" for flag -trusted-proxies: "x" is not an address or prefix; want such as 10.0.0.0/8,192.0.2.1, or none`},
		{typed{[]string{"serve", "-max-body", "10MB"}, nil}, fromServe + `invalid value "10MB" for flag -max-body: want a number of bytes from 1 to 1073741824`},
		{typed{[]string{"serve", "-products", "a,,b"}, nil}, fromServe + `invalid value "a,,b" for flag -products: want names, comma-separated`},
		{typed{[]string{"serve", "-quota", "0"}, nil}, fromServe + `invalid value "0" for flag -quota: want N, N/month or N/day, with N a whole number above 0`},
		{typed{[]string{"serve", "-event-quota", "5/week"}, nil}, fromServe + `invalid value "5/week" for flag -event-quota: want N, N/month or N/day`},
		{typed{[]string{"serve", "-project-key", "phx_1"}, nil}, fromServe + "invalid value for flag -project-key: want at most 64 ASCII characters without blanks that do not begin with phx_ or phs_"},

		// The environment.
		{typed{[]string{"serve"}, []string{"FLAGSTAFF_MAX_BODY=big"}}, fromServe + `invalid value "big" for FLAGSTAFF_MAX_BODY: want a number of bytes from 1 to 1073741824`},
		{typed{[]string{"serve"}, []string{"FLAGSTAFF_DEMO=maybe"}}, fromServe + `invalid value "maybe" for FLAGSTAFF_DEMO: want true or false`},
		{typed{[]string{"serve"}, []string{"FLAGSTAFF_ADDR=8000"}}, fromServe + `invalid value "8000" for FLAGSTAFF_ADDR: want HOST:PORT, such as 127.0.0.1:8000`},
		{typed{[]string{"serve"}, []string{"FLAGSTAFF_STORE=mysql://u:s3cret@h/db"}}, fromServe + `invalid value for FLAGSTAFF_STORE: there are no stores of the kind "mysql"` + wantStore},

		// Keys and addresses.
		{typed{[]string{"flag", "list"}, []string{here[0], "FLAGSTAFF_KEY=phf_s3cret"}}, `flagstaff flag list: this is a feature flag key (phf_…); the management API wants a personal API key (phx_…)`},
		{typed{[]string{"flag", "list"}, []string{here[0], "FLAGSTAFF_KEY=phx_s3cret\n"}}, `flagstaff flag list: the personal API key has characters that no key has, such as blanks`},
		{typed{[]string{"flag", "list", "-url", "https://ada:s3cret@flags.example.org"}, here}, `flagstaff flag list: the URL of the server must not have a user or a password: the key is all that the server wants`},

		{open{flagstaff.Config{URL: "flags.example.com", SecretKey: "phs_s3cret"}}, `flagstaff: Config.URL does not begin with https:// or http://: write it such as https://flags.example.com`},
		{open{flagstaff.Config{URL: "ada:s3cret@flags.example.com", SecretKey: "phs_s3cret"}}, `flagstaff: Config.URL does not begin with https:// or http://: write it such as https://flags.example.com`},
		{open{flagstaff.Config{URL: "https://flags.example.com", ProjectKey: "phc_s3cret"}}, `flagstaff: Config.SecretKey is missing: the server gives definitions to none without it`},
		{open{flagstaff.Config{URL: "https://flags.example.com", SecretKey: "phc_s3cret"}}, `flagstaff: this is a project API key (phc_…); Config.SecretKey wants a project secret key (phs_…) or a personal API key (phx_…)`},
		{open{flagstaff.Config{URL: "https://flags.example.com", SecretKey: "phf_s3cret"}}, `flagstaff: this is a feature flag key (phf_…); Config.SecretKey wants a project secret key (phs_…) or a personal API key (phx_…)`},
		{open{flagstaff.Config{URL: "https://flags.example.com", SecretKey: "phs_s3cret", ProjectKey: "phs_s3cret"}}, `flagstaff: this is a project secret key (phs_…); Config.ProjectKey wants a project API key (phc_…)`},
		{open{flagstaff.Config{URL: "https://flags.example.com", SecretKey: "phs_s3cret", ProjectKey: "phx_s3cret"}}, `flagstaff: this is a personal API key (phx_…); Config.ProjectKey wants a project API key (phc_…)`},
		{open{flagstaff.Config{File: "flags.json", SecretKey: "phs_s3cret"}}, `flagstaff: Config.ProjectKey and Config.SecretKey are for Config.URL`},
		{open{flagstaff.Config{URL: "https://flags.example.com", File: "flags.json"}}, `flagstaff: Config needs exactly one of URL, File and Source`},

		{load{source.Remote{URL: "https://flags.example.com", SecretKey: "phc_s3cret"}}, `source: this is a project API key (phc_…); Remote.SecretKey wants a project secret key (phs_…) or a personal API key (phx_…)`},
		{load{source.Remote{URL: "https://flags.example.com", SecretKey: "phf_s3cret"}}, `source: this is a feature flag key (phf_…); Remote.SecretKey wants a project secret key (phs_…) or a personal API key (phx_…)`},
		{load{source.Remote{URL: "https://flags.example.com", SecretKey: "phs_s3cret", ProjectKey: "phs_s3cret"}}, `source: this is a project secret key (phs_…); Remote.ProjectKey wants a project API key (phc_…)`},
		{load{source.Remote{URL: "https://flags.example.com", SecretKey: "phs_s3cret", ProjectKey: "phx_s3cret"}}, `source: this is a personal API key (phx_…); Remote.ProjectKey wants a project API key (phc_…)`},
		{load{source.Remote{URL: "https://flags.example.com", SecretKey: "phs_s3cret", ProjectKey: "phf_s3cret"}}, `source: this is a feature flag key (phf_…); Remote.ProjectKey wants a project API key (phc_…)`},

		// Requests with a key of another kind, of another project, and cut off.
		{flagsWith("phs_s3cret"), `401 The provided API key is invalid: this is a project secret key (phs_…); this route wants a project API key (phc_…).`},
		{flagsWith("phx_s3cret"), `401 The provided API key is invalid: this is a personal API key (phx_…); this route wants a project API key (phc_…).`},
		{flagsWith("phf_s3cret"), `401 The provided API key is invalid: this is a feature flag key (phf_…); this route wants a project API key (phc_…).`},
		{flagsWith("phc_s3cret"), `401 The provided API key is invalid: this project API key (phc_…) has 10 characters, and one that a server made has at least 44; a part may be missing.`},
		{flagsWith("phc_" + strings.Repeat("s3cret", 7)), `401 The provided API key is invalid. Please check your API key and try again.`},
		{flagsWith("s3cret"), `401 The provided API key is invalid. Please check your API key and try again.`},
		{flagsWith(""), `401 No API token provided. Please include a valid API token in your request.`},
		{eventWith("phs_s3cret"), `401 API key does not belong to any project: this is a project secret key (phs_…); this route wants a project API key (phc_…)`},
		{eventWith("phx_s3cret"), `401 API key is not valid: personal_api_key: this is a personal API key (phx_…); this route wants a project API key (phc_…)`},
		{eventWith("phf_s3cret"), `401 API key does not belong to any project: this is a feature flag key (phf_…); this route wants a project API key (phc_…)`},
		{eventWith("phc_s3cret"), `401 API key does not belong to any project: this project API key (phc_…) has 10 characters, and one that a server made has at least 44; a part may be missing`},
		{eventWith("phc_" + strings.Repeat("s3cret", 7)), `401 API key does not belong to any project`},
		{eventWith(""), `401 event submitted without an api_key`},
		{
			sent{"POST", "/i/v0/e/", "", `[{"api_key":"phc_demo","event":"a","distinct_id":"u"},{"api_key":"phc_s3cret","event":"a","distinct_id":"u"}]`},
			`401 batch submitted with inconsistent api_key values`,
		},
		{sent{"GET", "/flags/definitions?token=phc_demo", "phc_demo", ""}, `401 Personal API key is invalid: this is a project API key (phc_…); this route wants a project secret key (phs_…) or a personal API key (phx_…).`},
		{sent{"GET", "/flags/definitions?token=phc_s3cret", "phs_demo", ""}, `403 The secret API token is that of another project.`},
		{sent{"GET", "/api/users/@me/", "phc_s3cret", ""}, `401 The personal API key in the Authorization header is not valid: this is a project API key (phc_…); the API wants a personal API key (phx_…).`},
		{sent{"GET", "/api/users/@me/", "phs_s3cret", ""}, `401 The personal API key in the Authorization header is not valid: this is a project secret key (phs_…); the API wants a personal API key (phx_…).`},
		{sent{"GET", "/api/users/@me/", "phf_s3cret", ""}, `401 The personal API key in the Authorization header is not valid: this is a feature flag key (phf_…); the API wants a personal API key (phx_…).`},

		// Definitions.
		{checked(`{"flags":[{"id":1,"key":"a","active":"yes","filters":{"groups":[{}]}}]}`), `1:38: error: flag "a" at /active: must be true or false, not a string: "yes"; the flag fails with flag_data_parsing_error until this is corrected`},
		{checked(`{"flags":[{"id":1,"key":"a","active":true,"filters":{"groups":[{"properties":[{"key":"plan","type":"person","operator":"equals","value":"pro"}]}]}}]}`), `1:120: error: flag "a" at /filters/groups/0/properties/0/operator: unknown operator: "equals"; did you mean exact? use one of exact, is_not, is_set, is_not_set, icontains, not_icontains, icontains_multi, not_icontains_multi, starts_with, not_starts_with, ends_with, not_ends_with, regex, not_regex, gt, gte, lt, lte, between, not_between, is_date_exact, is_date_before, is_date_after, semver_eq, semver_neq, semver_gt, semver_gte, semver_lt, semver_lte, semver_tilde, semver_caret, semver_wildcard`},
		{checked(`{"flags":[{"id":1,"key":"a","active":true,"filters":{"groups":[{"share":50}]}}]}`), `1:73: error: flag "a" at /filters/groups/0/share: unknown member, write rollout_percentage: 50; the flag fails with flag_data_parsing_error until this is corrected`},
		{checked(`{"flags":[{"id":1,"key":"a","active":true,"active":false,"filters":{"groups":[{}]}}]}`), `1:52: error: flag "a" at /active: the member is there more than once: false; the last one counts; remove the others`},
		{checked(`{"flags":[{"id":1,"key":"a","filters":{"groups":[{}]}},{"id":2,"key":"a","filters":{"groups":[{}]}}]}`), `1:56: error: flag "a": another flag has the same key; only the first one counts; rename or delete the others`},
		{checked(`{"flags":[`), `1:11: error: definitions are not valid JSON: offset 10: unexpected end of input where a value should begin`},
		{checked(`{"flags":{"a":{"state":"ENABLED","variants":{"on":true},"defaultVariant":"on"}}}`), `1:1: error: this looks like a file of flagd: flagstaff import -from flagd takes it, see docs/from-flagd.md`},
		{sent{"POST", flagsPath, "phx_demo", `{"key":"new-dashboard"}`}, `400 There is already a feature flag with this key.`},
		{sent{"POST", flagsPath, "phx_demo", `{"filters":{"groups":[{}]}}`}, `400 This field is required.`},
		{sent{"POST", flagsPath, "phx_demo", `{"key":"a b"}`}, `400 Only letters, numbers, hyphens (-) and underscores (_) are allowed, not "a b".`},
		{sent{"POST", flagsPath, "phx_demo", `{"key":"new","filters":{"groups":[{"share":50}]}}`}, `400 groups/0/share: is not a member of a condition set; did you mean rollout_percentage?`},
		{sent{"POST", flagsPath, "phx_demo", `{"key":"new","filters":{"groups":[{"rollout_percentage":120}]}}`}, `400 groups/0/rollout_percentage: must be a number from 0 to 100, not 120`},
		{sent{"GET", flagsPath + "?active=perhaps", "phx_demo", ""}, `400 active must be one of true, false, STALE, not "perhaps".`},
	} {
		got := tt.sees(t, there)
		if diff := gocmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", tt, diff)
		}
		if strings.Contains(got, "s3cret") {
			t.Errorf("%s: a secret is in %q", tt, got)
		}
	}
}
