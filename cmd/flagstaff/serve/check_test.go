package serve

import (
	"bufio"
	"database/sql"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

// filesIn returns the files of a folder with their contents.
func filesIn(t *testing.T, folder string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	files := make(map[string]string)
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(folder, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		files[e.Name()] = string(b)
	}
	return files
}

// TestCheck: -check tells what a start would do, and changes no file.
func TestCheck(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "flagstaff.db")
	look := func(what string, wantCode int, want ...string) {
		t.Helper()
		before := filesIn(t, folder)
		code, stdout, stderr := command(t, "-check", "-store", path, "-addr", "127.0.0.1:0", "-mail-dir", filepath.Join(folder, "mail"))
		if code != wantCode {
			t.Errorf("%s: exit code %d, %q; want %d", what, code, stderr, wantCode)
		}
		for _, line := range want {
			if !regexp.MustCompile(`(?m)^` + line + `$`).MatchString(stdout) {
				t.Errorf("%s: want a line %q in\n%s", what, line, stdout)
			}
		}
		if diff := gocmp.Diff(before, filesIn(t, folder)); diff != "" {
			t.Errorf("%s: files have changed", what)
		}
	}
	look("no store", 0, `ok +settings .*`, `ok +address .*is free`, `ok +mail .*`, `ok +secret keys .* a start makes it .*`, `warning +store +there is none in .* yet; a start makes it`)
	url, _, stop := start(t, nil, "-store", path, "-addr", "127.0.0.1:0")
	look("a server runs", 0, `ok +store .* has a schema of version \d+, which is this program's`, `ok +secrets +the keys read all of them`)
	code, stdout, _ := command(t, "-check", "-store", path, "-addr", strings.TrimPrefix(url, "http://"))
	if want := "a server that runs there must end before another one starts"; code != 0 || !strings.Contains(stdout, want) {
		t.Errorf("on the address of a server: exit code %d, %q; want 0 and %q", code, stdout, want)
	}
	if code := stop(); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
	look("no server runs", 0, `ok +store .* has a schema of version \d+, which is this program's`, `ok +secrets +the keys read all of them`)

	for key, want := range map[string]string{
		storedKey(t, path): `ok +project key +the store has its project`,
		"phc_nobody":       `error +project key +.* has no project with the key of -project-key; the flag is for the first start on an empty store`,
	} {
		code, stdout, _ := command(t, "-check", "-store", path, "-addr", "127.0.0.1:0", "-project-key", key)
		if wrong := strings.HasPrefix(want, "error"); !regexp.MustCompile(`(?m)^`+want+`$`).MatchString(stdout) || wrong != (code == 1) {
			t.Errorf("-project-key %s: exit code %d, want a line %q in\n%s", key, code, want, stdout)
		}
	}

	change := func(statement string) {
		t.Helper()
		db, err := sql.Open("sqlite", path)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	change("DELETE FROM goose_db_version WHERE version_id = (SELECT max(version_id) FROM goose_db_version)")
	look("an older store", 0, `ok +store .*; a start migrates it: \d{4}_\w+`)
	change("INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, 1)")
	look("a newer store", 1, `error +store .*the schema is newer than this program.*`)
}

// storedKey returns the API key of the project of a store.
func storedKey(t *testing.T, path string) (key string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.QueryRowContext(t.Context(), "SELECT api_token FROM project").Scan(&key); err != nil {
		t.Fatal(err)
	}
	return key
}

// TestCheckMail: -check asks the server of mail, and tells no password.
func TestCheckMail(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	said := make(chan string, 10)
	go func() {
		defer close(said)
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		fmt.Fprint(conn, "220 ready\r\n")
		for lines := bufio.NewScanner(conn); lines.Scan(); {
			verb, _, _ := strings.Cut(lines.Text(), " ")
			said <- verb
			fmt.Fprint(conn, map[string]string{"EHLO": "250-test\r\n250 AUTH PLAIN\r\n", "AUTH": "235 welcome\r\n", "QUIT": "221 bye\r\n"}[verb])
		}
	}()
	check := func(wantCode int, want string) {
		t.Helper()
		code, stdout, stderr := command(t, "-check", "-store", ":memory:", "-addr", "127.0.0.1:0", "-smtp", "smtp://ada:s3cret@"+l.Addr().String())
		if code != wantCode || !regexp.MustCompile(`(?m)^`+want+`$`).MatchString(stdout) || strings.Contains(stdout+stderr, "s3cret") {
			t.Errorf("exit code %d, want %d and a line %q in\n%s", code, wantCode, want, stdout)
		}
	}
	server := "smtp://" + regexp.QuoteMeta(l.Addr().String())
	check(0, "ok +mail +"+server+" answers, with all that the settings want; no mail was sent")
	var got []string
	for verb := range said {
		got = append(got, verb)
	}
	if diff := gocmp.Diff([]string{"EHLO", "AUTH", "QUIT"}, got); diff != "" {
		t.Errorf("the server was told (-want +got)\n%s", diff)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	check(1, "error +mail +mail: look at "+server+": connect: .*")
}

// TestCheckTellsAll: -check says all that is wrong, and no password.
func TestCheckTellsAll(t *testing.T) {
	folder := t.TempDir()
	missing := filepath.Join(folder, "none")
	file := filepath.Join(folder, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr := command(t, "-check", "-addr", "192.0.2.1:0", "-store", "postgres://flagstaff:s3cret@/x?host="+missing, "-flags", missing, "-geoip", missing,
		"-tls-cert", missing, "-tls-key", missing, "-secret-key-file", missing, "-mail-dir", file, "-stream", "nats://flagstaff:s3cret@127.0.0.1:1", "-max-connections", "1000000", "-admin-email", "nobody",
		"-summary-url", "https://x/v1", "-summary-model", "m", "-summary-key-file", missing)
	if code != 1 || !strings.HasSuffix(stderr, ": 11 errors\n") {
		t.Errorf("exit code %d, %q", code, stderr)
	}
	var got []string
	for _, m := range regexp.MustCompile(`(?m)^error +(\S+(?: \S+)?) `).FindAllStringSubmatch(stdout, -1) {
		got = append(got, m[1])
	}
	if diff := gocmp.Diff([]string{"connections", "address", "certificate", "flags", "geoip", "mail", "summaries", "first owner", "secret keys", "store", "stream"}, got); diff != "" {
		t.Errorf("errors (-want +got)\n%s\n%s", diff, stdout)
	}
	if strings.Contains(stdout+stderr, "s3cret") {
		t.Errorf("a password is told:\n%s", stdout)
	}
	code, stdout, stderr = command(t, "-check", "-addr", "x", "-mail-dir", file, "-smtp", "smtp://h", "-session-idle", "1s", "-store", "postgres://h/x", "-verify-by-code")
	if want := 4; code != 2 || strings.Count(stdout, "error    settings ") != want {
		t.Errorf("wrong settings: exit code %d, %q; want 2 and %d lines in\n%s", code, stderr, want, stdout)
	}
}
