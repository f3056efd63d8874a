package main

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/flagstaff-go/flagstaff/management/sqlstore/postgres/postgrestest"
)

// ask sends a request to the management API of a server, and decodes the answer.
func (r *running) ask(t *testing.T, method, path, body string, into any) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, r.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+r.key)
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode >= 300 {
		t.Fatalf("%s %s: status %d, %s, %v", method, path, response.StatusCode, answer, err)
	}
	if into != nil {
		if err := json.Unmarshal(answer, into); err != nil {
			t.Fatal(err)
		}
	}
}

// TestBackup copies the store of a server that runs, and is written to, and starts a
// server on the copy.
func TestBackup(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	server := serveProcess(t, "-store", path("a.db"), "-drain", "0s")
	// The secret of an authenticator is encrypted.
	server.ask(t, "GET", "/api/users/@me/two_factor_start_setup/", "", nil)
	server.ask(t, "POST", "/api/projects/@current/feature_flags/", `{"key":"beta","active":true,"filters":{"groups":[{"properties":[],"rollout_percentage":100}]}}`, nil)
	server.ask(t, "POST", "/api/projects/@current/feature_flags/", `{"key":"config","active":true,"is_remote_configuration":true,"has_encrypted_payloads":true,"filters":{"groups":[{"properties":[],"rollout_percentage":100}],"payloads":{"true":"\"s3cret\""}}}`, nil)

	run(t, "backup", "-store", path("a.db"), path("b.db")).want(t,
		outcome{0, "the store " + path("a.db") + " is copied to " + path("b.db") + ", and its keys to " + path("b.db.key") + "\n", ""})
	for _, name := range []string{"b.db", "b.db.key"} {
		if info, err := os.Stat(path(name)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v; want mode 0600", name, info.Mode(), err)
		}
	}
	run(t, "backup", "-store", path("a.db"), path("b.db")).want(t, outcome{1, "", "flagstaff backup: " + path("b.db.key") + " exists, and is not overwritten\n"})
	server.stop()

	// The variable names the store for both commands.
	env := []string{"FLAGSTAFF_STORE=" + path("c.db")}
	call{args: []string{"restore", path("b.db")}, env: env}.run(t).want(t,
		outcome{0, "the store " + path("c.db") + " is restored from " + path("b.db") + "; start the server on it\n", ""})
	left, err := filepath.Glob(path("c.db*"))
	if err != nil || strings.Join(left, " ") != path("c.db")+" "+path("c.db.key") {
		t.Errorf("restored files are %q, %v", left, err)
	}
	call{args: []string{"restore", path("b.db")}, env: env}.run(t).want(t,
		outcome{1, "", "flagstaff restore: " + path("c.db") + " exists, and is not overwritten: move it out of the way, or name another store with -store\n"})
	restored := serveProcess(t, "-store", path("c.db"), "-drain", "0s")
	restored.key = server.key
	var list struct {
		Results []struct{ Key string }
	}
	restored.ask(t, "GET", "/api/projects/@current/feature_flags/", "", &list)
	if len(list.Results) != 2 {
		t.Errorf("the restored store has the flags %+v, want beta and config", list.Results)
	}
	restored.stop()

	// Other keys open nothing.
	if err := os.WriteFile(path("other.key"), []byte(strings.Repeat("0f", 32)), 0o600); err != nil {
		t.Fatal(err)
	}
	got := run(t, "restore", "-store", path("d.db"), "-secret-key-file", path("other.key"), path("b.db"))
	if got.Code != 1 || !strings.HasPrefix(got.Stderr, "flagstaff restore: "+path("b.db")+" is not restored: ") ||
		!strings.HasSuffix(got.Stderr, " in it were encrypted with none of the keys: name the right file with -secret-key-file, or give them up with -without-keys\n") {
		t.Errorf("with other keys: %+v", got)
	}
	if left, _ := filepath.Glob(path("d.db*")); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
	run(t, "restore", "-store", path("d.db"), "-without-keys", path("b.db")).want(t,
		outcome{0, "the store " + path("d.db") + " is restored from " + path("b.db") + "; start the server on it\n", ""})
	if left, _ := filepath.Glob(path("d.db*")); strings.Join(left, " ") != path("d.db") {
		t.Errorf("restored files are %q, want no keys", left)
	}
}

// TestBackupRefuses has what cannot be copied, with whole messages.
func TestBackupRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text := filepath.Join(dir, "text.db")
	if err := os.WriteFile(text, []byte(strings.Repeat("no database\n", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(text+".key", []byte(strings.Repeat("0f", 32)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "odd.key"), []byte("s3cret"), 0o600); err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(dir, "to.db")
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"backup", "-store", "DIR/none.db", to}, "flagstaff backup: there is no store in DIR/none.db: name another one with -store"},
		{[]string{"backup", "-store", text, to}, "flagstaff backup: sqlite: back up DIR/text.db: file is not a database (26)"},
		{[]string{"backup", "-store", text, "-secret-key-file", "DIR/none.key", to}, "flagstaff backup: read the keys of the store: open DIR/none.key: no such file or directory: name their file with -secret-key-file, or copy the store alone with -without-keys"},
		{[]string{"backup", "-store", text, "-secret-key-file", "DIR/odd.key", to}, "flagstaff backup: read the keys of the store: DIR/odd.key:1 is not a secret key: want 64 hexadecimal digits, as `openssl rand -hex 32` prints: name their file with -secret-key-file, or copy the store alone with -without-keys"},
		{[]string{"backup", "-store", text, "-without-keys", text}, "flagstaff backup: DIR/text.db is not overwritten: sqlite: back up: create DIR/text.db: file already exists"},
		{[]string{"backup", "-store", "postgres://u:s3cret@db.example/flags", to}, "flagstaff backup: the store is PostgreSQL at db.example/flags, which pg_dump and pg_restore copy"},
		{[]string{"backup", "-store", ":memory:", to}, "flagstaff backup: the store is in memory, of which there is no copy"},
		{[]string{"restore", "-store", to, text}, "flagstaff restore: sqlite: back up DIR/text.db: file is not a database (26)"},
		{[]string{"restore", "-store", to, "DIR/none.db"}, "flagstaff restore: read the keys of the copy: open DIR/none.db.key: no such file or directory: name their file with -secret-key-file"},
		{[]string{"restore", "-store", to, "-without-keys", "DIR/none.db"}, "flagstaff restore: sqlite: back up: stat DIR/none.db: no such file or directory"},
		{[]string{"restore", "-store", "postgres:///flags", text}, "flagstaff restore: the store is PostgreSQL at a local socket/flags, which pg_dump and pg_restore copy"},
	} {
		args := append([]string{}, tt.args...)
		for i := range args {
			args[i] = strings.ReplaceAll(args[i], "DIR", dir)
		}
		got := run(t, args...)
		got.Stderr = strings.ReplaceAll(got.Stderr, dir, "DIR")
		got.want(t, outcome{1, "", tt.want + "\n"})
		if strings.Contains(got.Stderr, "s3cret") {
			t.Errorf("a secret is in %q", got.Stderr)
		}
	}
	if left, err := filepath.Glob(to + "*"); err != nil || len(left) > 0 {
		t.Errorf("left behind: %q, %v", left, err)
	}
}

// stores are the kinds of stores, each with a new one.
var stores = map[string]func(t *testing.T) string{
	"SQLite":     func(t *testing.T) string { return filepath.Join(t.TempDir(), "a.db") },
	"PostgreSQL": func(t *testing.T) string { return postgrestest.Open(t) },
}

// TestInvite invites users through a server, which mails, and by a store, which prints
// the link; both links are accepted.
func TestInvite(t *testing.T) {
	t.Parallel()
	for kind, open := range stores {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			store, mail := open(t), t.TempDir()
			server := serveProcess(t, "-store", store, "-drain", "0s", "-mail-dir", mail)
			env := []string{"FLAGSTAFF_URL=" + server.url, "FLAGSTAFF_KEY=" + server.key}
			call{args: []string{"users", "invite", "-level", "admin", "Ada@Example.com"}, env: env}.run(t).want(t,
				outcome{0, "invited ada@example.com as admin; the server mails the link\n", ""})
			call{args: []string{"users", "invite", "-json", "eve@example.com"}, env: env}.run(t).want(t,
				outcome{0, "{\n  \"email\": \"eve@example.com\",\n  \"level\": \"member\"\n}\n", ""})
			call{args: []string{"users", "invite", "nobody"}, env: env}.run(t).want(t,
				outcome{1, "", "flagstaff users invite: the server refuses POST /api/organizations/@current/invites/ with status 400: target_email: Enter a valid email address.\n"})
			call{args: []string{"users", "invite", "a@example.com"}, env: []string{env[0], "FLAGSTAFF_KEY=phx_wrong"}}.run(t).want(t,
				outcome{1, "", "flagstaff users invite: the server refuses POST /api/organizations/@current/invites/ with status 401: The personal API key in the Authorization header is not valid; flagstaff serve -create-key makes a key on the machine of the server\n"})

			got := run(t, "users", "invite", "-store", store, "-app-url", server.url+"/", "-name", "Bea", "-json", "bea@example.com")
			var answer invited
			if err := json.Unmarshal([]byte(got.Stdout), &answer); err != nil || got.Code != 0 || got.Stderr != "" {
				t.Fatalf("%+v: %v", got, err)
			}
			token, ok := strings.CutPrefix(answer.Link, server.url+"/signup/")
			if !ok || answer.Email != "bea@example.com" || answer.Level != "member" || answer.Organization == "" {
				t.Errorf("invited %+v", answer)
			}
			var invitation struct {
				TargetEmail string `json:"target_email"`
			}
			server.ask(t, "GET", "/api/signup/"+token+"/", "", &invitation)
			if !strings.Contains(invitation.TargetEmail, "@example.com") {
				t.Errorf("the link opens %+v", invitation)
			}
			text := run(t, "users", "invite", "-store", store, "-app-url", server.url, "bea@example.com")
			if text.Code != 0 || !strings.HasPrefix(text.Stdout, `invited bea@example.com to organization "`+answer.Organization+`" as member; the link that accepts is valid for three days:`+"\n"+server.url+"/signup/") {
				t.Errorf("%+v", text)
			}
			in := run(t, "users", "invite", "-store", store, "-app-url", server.url, "admin@localhost")
			if want := `admin@localhost is a member of organization "` + answer.Organization + `" already; the link that signs in is good once, for a day:` + "\n" + server.url + "/console/join/"; in.Code != 0 || !strings.HasPrefix(in.Stdout, want) {
				t.Errorf("%+v, want %s", in, want)
			}
			run(t, "users", "invite", "-store", store, "-app-url", server.url, "nobody").want(t, outcome{1, "", "flagstaff users invite: target_email: Enter a valid email address.\n"})
		})
	}
	none := filepath.Join(t.TempDir(), "none.db")
	run(t, "users", "invite", "-store", none, "-app-url", "http://h", "a@example.com").want(t,
		outcome{1, "", "flagstaff users invite: there is no store in " + none + ": name another one with -store\n"})
}

// TestConcurrentRestores: two restores of one store do not end up with a mixture.
func TestConcurrentRestores(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	serveProcess(t, "-store", path("a.db"), "-drain", "0s").stop()
	if got := run(t, "backup", "-store", path("a.db"), path("b.db")); got.Code != 0 {
		t.Fatalf("%+v", got)
	}
	codes := make([]int, 3)
	var wg sync.WaitGroup
	for i := range codes {
		wg.Go(func() { codes[i] = run(t, "restore", "-store", path("c.db"), path("b.db")).Code })
	}
	wg.Wait()
	sum := 0
	for _, code := range codes {
		sum += code
	}
	if sum != len(codes)-1 {
		t.Errorf("exit codes %v, want one 0", codes)
	}
	serveProcess(t, "-store", path("c.db"), "-drain", "0s")
}
