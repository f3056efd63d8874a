package serve

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

// writeFile writes a file into a folder of its own, and returns its path.
func writeFile(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestConfigFile: the command line comes before the environment, and that before the file;
// what only looks like a default is one as long as nothing sets it.
func TestConfigFile(t *testing.T) {
	path := writeFile(t, "flagstaff.yaml", `# Settings.
addr: 127.0.0.1:1
store: "file.db"
drain: 7s
socket-mode: 0600
max-event: 5000
demo: true
log-level: debug
trusted-proxies: [10.0.0.0/8, 192.0.2.1]
products:
  - posthog
  - svc
`)
	m := Main{
		Args:    []string{"-config", path, "-addr", "127.0.0.1:3"},
		Environ: []string{"FLAGSTAFF_ADDR=127.0.0.1:2", "FLAGSTAFF_STORE=environment.db", "FLAGSTAFF_MAX_EVENT="},
	}
	s, err := m.settings()
	if err != nil {
		t.Fatal(err)
	}
	type values struct {
		Addr, Store, Drain, Mode, Level, Proxies, Products string
		MaxEvent                                           int
		Demo                                               bool
	}
	var proxies []string
	for _, p := range s.trustedProxies.list {
		proxies = append(proxies, p.String())
	}
	got := values{
		s.addr, s.store, s.drain.String(), s.socketMode.String(), s.logLevel.String(), strings.Join(proxies, ","), s.products.String(),
		int(s.maxEvent), s.demo,
	}
	want := values{"127.0.0.1:3", "environment.db", "7s", "0600", "debug", "10.0.0.0/8,192.0.2.1/32", "posthog,svc", 5000, true}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	m = Main{Environ: []string{"FLAGSTAFF_CONFIG=" + writeFile(t, "a.yaml", "drain: 9s\n")}}
	if s, err := m.settings(); err != nil || s.drain.String() != "9s" {
		t.Errorf("with FLAGSTAFF_CONFIG: %v, %v", s, err)
	}
}

// TestConfigFileFaults: all that is wrong has its line, and nothing is ignored.
func TestConfigFileFaults(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       []string // without the path before
	}{
		{"nothing", "", nil},
		{"comments", "# addr: x\n", nil},
		{"null", "---\n", nil},
		{"a list", "- addr\n", []string{"1: want options with their values, a line each, such as addr: 127.0.0.1:8000"}},
		{"a text", "addr = x\n", []string{"1: want options with their values, a line each, such as addr: 127.0.0.1:8000"}},
		{"no YAML", "addr: x\n  store: y\n", []string{"2: mapping values are not allowed in this context"}},
		{"two documents", "addr: 127.0.0.1:0\n---\naddr: 127.0.0.1:0\n", []string{"1: the file has several documents, and wants one"}},
		{"several", "adr: x\nlog_level: info\n\nport: 80\nxyzzy: 1\n" + "store: a.db\nstore: b.db\ncheck: true\nconfig: b.yaml\n", []string{
			`1: there is no option "adr"; did you mean addr?`,
			`2: there is no option "log_level"; did you mean log-level?`,
			`4: there is no option "port"; did you mean addr?`,
			`5: there is no option "xyzzy"`,
			`7: option "store" is also in line 6`,
			`8: option "check" is for the command line alone`,
			`9: option "config" is for the command line alone`,
		}},
		{"an alias of nothing", "addr: *x\n", []string{"1: unknown anchor 'x' referenced"}},
		{"forms of values", "addr:\nstore: [a, b]\nflags: {a: b}\nproducts: []\nmanagement-origins: [\"a,b\"]\n", []string{
			`1: option "addr": it has no value; leave the line out, or write "" for an empty text`,
			`2: option "store": want one value, not a list`,
			`3: option "flags": want a text, a number, or true or false`,
			`4: option "products": the list is empty; leave the option out`,
			`5: option "management-origins": want a list of texts without commas`,
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := writeFile(t, "flagstaff.yaml", tt.text)
			_, err := readConfig(Options(), path)
			var got []string
			if err != nil {
				got = strings.Split(strings.ReplaceAll(err.Error(), path+":", ""), "\n")
			}
			if diff := gocmp.Diff(tt.want, got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

// FuzzConfig: whatever the text is, there are settings or errors with lines, and no panic.
func FuzzConfig(f *testing.F) {
	for _, text := range []string{
		"addr: x\n", "- a", "a: &b c\nd: *b\n", "? [a]\n: b\n", "products: [a, ~, [b]]", "\xff", "a: 1\n---\n", "!!binary a: b",
	} {
		f.Add([]byte(text))
	}
	set := Options()
	f.Fuzz(func(t *testing.T, text []byte) {
		list, errs := parseConfig(set, text)
		for _, o := range list {
			if set.Lookup(o.name) == nil || slices.Contains(once, o.name) || o.line < 1 {
				t.Errorf("%+v is not a setting", o)
			}
		}
		for _, err := range errs {
			if n, _, ok := strings.Cut(err.Error(), ": "); !ok || strings.Trim(n, "0123456789") != "" {
				t.Errorf("%q does not begin with a line", err)
			}
		}
	})
}

// TestAllThatIsWrong: a start and -check name everything that is wrong with the settings, from
// wherever it comes, and -check looks at what the right ones name.
func TestAllThatIsWrong(t *testing.T) {
	folder := t.TempDir()
	path := writeFile(t, "flagstaff.yaml", "drain: soon\nadr: x\ndelete-users: never\nfirst-keys: "+folder+"\n")
	args := []string{
		"-config", path, "-prot", "80", "-log-level", "loud", "-demo=perhaps", "extra", "words",
		"-store", "mysql://u:s3cret@h/db", "-tls-cert", "a.pem", "-retain=90",
		"-geoip", filepath.Join(folder, "none.mmdb"),
	}
	want := []string{
		"there is no flag -prot; did you mean -first-keys FILE?",
		`invalid value "loud" for flag -log-level: want debug, info, warn or error`,
		`invalid boolean value "perhaps" for -demo: want true or false`,
		`unexpected argument "extra": all settings are flags, see -help`,
		`invalid value "90" for flag -retain: want days such as 90d, from 1d to 36500d, or 0 to keep events for ever`,
		`invalid value "big" for FLAGSTAFF_MAX_BODY: want a number of bytes from 1 to 1073741824`,
		path + `:2: there is no option "adr"; did you mean addr?`,
		`invalid value "soon" for drain in ` + path + `:1: want a time with its unit, such as 15s or 2m`,
		`invalid value "never" for delete-users in ` + path + `:3: want cascade or strict`,
		"flags -tls-cert and -tls-key need each other: a.pem is one file of the pair",
		`invalid value for flag -store: there are no stores of the kind "mysql"; ` +
			`want an SQLite file, ":memory:", or postgres://USER:PASSWORD@HOST/DATABASE`,
	}
	run := func(args ...string) (int, []string, string) {
		var stdout, stderr strings.Builder
		m := Main{Name: "ff", Args: args, Environ: []string{"FLAGSTAFF_MAX_BODY=big"}, Stdout: &stdout, Stderr: &stderr}
		code := m.Run(t.Context())
		return code, strings.Split(strings.TrimSuffix(stdout.String(), "\n"), "\n"), stderr.String()
	}
	code, _, stderr := run(args...)
	var got []string
	for line := range strings.Lines(stderr) {
		got = append(got, strings.TrimPrefix(strings.TrimSuffix(line, "\n"), "ff: "))
	}
	want[0] = got[0] // which names are near is tested elsewhere
	if diff := gocmp.Diff(want, got); diff != "" || code != 2 || !strings.HasPrefix(got[0], "there is no flag -prot") {
		t.Errorf("a start: exit code %d, -want +got\n%s", code, diff)
	}
	code, lines, stderr := run(append(args, "-check")...)
	var errs []string
	for _, line := range lines {
		if text, ok := strings.CutPrefix(line, "error    settings     "); ok {
			errs = append(errs, text)
		}
	}
	if diff := gocmp.Diff(want, errs); diff != "" || code != 2 || stderr != "ff: 12 errors\n" {
		t.Errorf("-check: exit code %d, %q, -want +got\n%s", code, stderr, diff)
	}
	if out := strings.Join(lines, "\n"); !strings.Contains(out, "\nerror    geoip        ") || strings.Contains(out, "s3cret") {
		t.Errorf("-check does not look at -geoip, or prints a secret:\n%s", out)
	}
}

// TestExposed: files with secrets that every user can read are mentioned, by a start and by
// -check, and those without secrets are not.
func TestExposed(t *testing.T) {
	folder := t.TempDir()
	config, plain := filepath.Join(folder, "secret.yaml"), filepath.Join(folder, "plain.yaml")
	for path, content := range map[string]string{
		config: "smtp: smtp://ada:s3cret@localhost:1\nstore: postgres://u:s3cret@127.0.0.1:1/x\n",
		plain:  "store: " + filepath.Join(folder, "a.db") + "\n",
	} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		path string
		mode os.FileMode
		want string
	}{
		{
			config, 0o644,
			"every user of this machine can read " + config + " (mode 0644), which has the password of smtp and store; chmod o= takes that away",
		},
		{config, 0o640, ""},
		{plain, 0o644, ""},
	} {
		if err := os.Chmod(tt.path, tt.mode); err != nil {
			t.Fatal(err)
		}
		m := Main{Args: []string{"-config", tt.path}}
		s, err := m.settings()
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(s.exposed(), "\n"); got != tt.want {
			t.Errorf("%s, mode %o: %q, want %q", tt.path, tt.mode, got, tt.want)
		}
	}
	store := filepath.Join(folder, "b.db")
	if err := os.WriteFile(store+".key", []byte(strings.Repeat("ab", 32)+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	want := "every user of this machine can read " + store + ".key (mode 0644), which has the keys of the store's secrets"
	_, stdout, _ := command(t, "-check", "-store", store, "-addr", "127.0.0.1:0")
	if !strings.Contains(stdout, "warning  secrets      "+want) {
		t.Errorf("-check: %q, want %q", stdout, want)
	}
	_, stderr, _ := start(t, nil, "-store", store, "-addr", "127.0.0.1:0")
	stderr.await(t, `level=WARN msg="`+regexp.QuoteMeta(want))
}

// TestHelpGroups: help has each option once, the ones that matter first at its beginning.
func TestHelpGroups(t *testing.T) {
	count := make(map[string]int)
	for _, g := range groups {
		for _, name := range g.options {
			count[name]++
		}
	}
	want := make(map[string]int)
	Options().VisitAll(func(f *flag.Flag) { want[f.Name] = 1 })
	if diff := gocmp.Diff(want, count); diff != "" {
		t.Errorf("options in groups: -want +got\n%s", diff)
	}
	if len(groups[0].options) != 5 {
		t.Errorf("%d options matter first, want 5", len(groups[0].options))
	}
}
