package serve

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	netmail "net/mail"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/flagstaff-go/flagstaff/cmd/flagstaff/internal/database"
	"github.com/flagstaff-go/flagstaff/cmd/flagstaff/internal/keyfile"
	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/sqlstore"
	"github.com/flagstaff-go/flagstaff/management/sqlstore/postgres"
	"github.com/flagstaff-go/flagstaff/management/sqlstore/postgres/postgrestest"
	"github.com/flagstaff-go/flagstaff/management/sqlstore/sqlite"
	"github.com/flagstaff-go/flagstaff/management/sqlstore/sqlite/sqlitetest"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// emptyStore returns a deployment with an unused store.
func emptyStore(t *testing.T, store string) *deployment {
	t.Helper()
	d := &deployment{system: &system{args: []string{"-store", store}}, watch: new(watch)}
	t.Cleanup(func() { d.watch.check(t) })
	return d
}

// emptyStores are the kinds of stores that outlive a process.
var emptyStores = map[string]func(t *testing.T) string{
	"SQLite":     func(t *testing.T) string { return filepath.Join(t.TempDir(), "first.db") },
	"PostgreSQL": func(t *testing.T) string { return postgrestest.Open(t) },
}

// command runs the program as a command that ends by itself.
func command(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	out, log := newOutput(), newOutput()
	m := Main{Args: args, Stdout: out, Stderr: log}
	code = m.Run(t.Context())
	return code, out.String(), log.String()
}

// TestOwner: the first start prints the owner of the store, once.
func TestOwner(t *testing.T) {
	for name, open := range emptyStores {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := emptyStore(t, open(t))
			s := d.run(t, "-admin-email", "Ada@Example.com")
			printed := s.stdout.String()
			keys := regexp.MustCompile(`(?s)(phc_\w+).*(phs_\w+).*created owner ada@example\.com\n.*(phx_\w+)`).FindStringSubmatch(printed)
			if keys == nil || strings.Count(printed, "phx_") != 1 || strings.Count(printed, "phs_") != 1 {
				t.Fatalf("the first start printed %q, want the owner and each key once", printed)
			}
			owner := s.with(keys[3])
			user := owner.me(t)
			organization, team := user["organization"].(map[string]any), user["team"].(map[string]any)
			if user["email"] != "ada@example.com" || user["is_staff"] != true || user["has_password"] != false ||
				organization["membership_level"] != float64(storage.LevelOwner) || team["api_token"] != keys[1] {
				t.Errorf("owner %v", user)
			}
			askFlags(t, s, keys[1], http.StatusOK)
			created := owner.call(t, "POST /api/personal_api_keys/", `{"label":"second","scopes":["user:read"]}`).ok(t)["value"].(string)
			if code := s.stop(); code != 0 {
				t.Errorf("exit code %d", code)
			}

			s = d.run(t, "-admin-email", "eve@example.com") // which is of no use any more
			if s.stdout.String() != "" {
				t.Errorf("a later start printed %q", s.stdout)
			}
			for _, key := range []string{keys[3], created} {
				if again := s.with(key).me(t); again["email"] != user["email"] || again["uuid"] != user["uuid"] {
					t.Errorf("user %v after a restart", again)
				}
			}
			askFlags(t, s, keys[1], http.StatusOK)
		})
	}
}

// TestOwnerOfOldStore: a store that was made before there were users gets an
// owner, and keeps what it has.
func TestOwnerOfOldStore(t *testing.T) {
	for name, open := range emptyStores {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := open(t)
			db, err := sqlite.Open(t.Context(), path, uncached)
			if database.IsPostgres(path) {
				db, err = postgres.Open(t.Context(), path, uncached)
			}
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			organization := storage.NewOrganization("Old")
			project := storage.NewProject(organization, "Old")
			if err := db.Organizations().Create(t.Context(), organization); err != nil {
				t.Fatal(err)
			}
			if err := db.Projects().Create(t.Context(), project); err != nil {
				t.Fatal(err)
			}
			d := emptyStore(t, path)
			s := d.run(t)
			printed := s.stdout.String()
			m := regexp.MustCompile(`^created owner admin@localhost\n  personal API key +(phx_\w+) [^\n]*\n  console +http://\S+/console/join/\S+ [^\n]*\n$`).FindStringSubmatch(printed)
			if m == nil {
				t.Fatalf("the start printed %q, want the owner, the link and nothing else", printed)
			}
			user := s.with(m[1]).me(t)
			if user["organization"].(map[string]any)["id"] != organization.ID.String() || user["team"].(map[string]any)["api_token"] != project.APIKey {
				t.Errorf("owner %v", user)
			}
			askFlags(t, s, project.APIKey, http.StatusOK)
			s.stop()
			s = d.run(t)
			if s.stdout.String() != "" {
				t.Errorf("a later start printed %q", s.stdout)
			}
			s.with(m[1]).me(t)
			s.stop()

			// The store is never locked: if no user is active, the start makes
			// another owner, or reactivates the account with the owner's address.
			u, err := db.Users().Get(t.Context(), storage.UserEmail.Is("admin@localhost"))
			if err != nil {
				t.Fatal(err)
			}
			u.Active = false
			if err := db.Users().Update(t.Context(), u); err != nil {
				t.Fatal(err)
			}
			s = d.run(t)
			m = regexp.MustCompile(`phx_\w+`).FindStringSubmatch(s.stdout.String())
			if m == nil {
				t.Fatalf("the start printed %q", s.stdout)
			}
			if again := s.with(m[0]).me(t); again["uuid"] != user["uuid"] || again["is_staff"] != true {
				t.Errorf("owner %v", again)
			}
		})
	}
}

// TestCreateKey makes keys on the command line while a server runs on the store.
func TestCreateKey(t *testing.T) {
	for name, open := range emptyStores {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := open(t)
			d := emptyStore(t, store)
			s := d.run(t)
			key := func(args ...string) string {
				t.Helper()
				code, stdout, stderr := command(t, append([]string{"-store", store, "-log-level", "debug"}, args...)...)
				if code != 0 || !regexp.MustCompile(`^phx_\w{40,44}\n$`).MatchString(stdout) || strings.Contains(stderr, "phx_") {
					t.Fatalf("exit code %d, %q, %q; want a key and nothing else", code, stdout, stderr)
				}
				d.watch.keep(strings.TrimSpace(stdout), "a personal API key", "", 0)
				return strings.TrimSpace(stdout)
			}
			s.with(key("-create-key", "Admin@LOCALHOST")).call(t, "GET /api/personal_api_keys/", "").ok2xx(t)
			reader := s.with(key("-create-key", "admin@localhost", "-key-scopes", "user:read, project:read"))
			reader.me(t)
			reader.call(t, "GET /api/projects/", "").ok(t)
			reader.patch(t, `{}`).fails(t, 403, "permission_denied", "")
			for range 10 { // there may be more than ten
				key("-create-key", "admin@localhost", "-key-scopes", "user:read")
			}

			for _, tt := range []struct {
				args []string
				code int
				want string
			}{
				{[]string{"-create-key", "nobody@example.com"}, 1, `has no user with the e-mail address "nobody@example.com"`},
				{[]string{"-create-key", "admin@localhost", "-key-scopes", "user:delete"}, 2, `invalid value "user:delete" for flag -key-scopes`},
				{[]string{"-create-key", "admin@localhost", "-key-scopes", "user:read,nothing:write"}, 2, `invalid value "nothing:write" for flag -key-scopes`},
				{[]string{"-create-key", "admin@localhost", "-key-scopes", "user:read,,"}, 2, "-key-scopes"},
			} {
				code, stdout, stderr := command(t, append([]string{"-store", store}, tt.args...)...)
				if code != tt.code || stdout != "" || !strings.Contains(stderr, tt.want) || strings.Count(stderr, "\n") != 1 {
					t.Errorf("%v: exit code %d, %q, %q; want %d and %q", tt.args, code, stdout, stderr, tt.code, tt.want)
				}
			}
		})
	}
}

// TestSecretKeyFile: authenticators survive restarts and the change of the key
// that encrypts them.
func TestSecretKeyFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "secret.db")
	file := path + ".key"
	d := emptyStore(t, path)
	s := d.run(t, "-account-mutations", "stepup")
	owner := regexp.MustCompile(`phx_\w+`).FindString(s.stdout.String())
	info, err := os.Stat(file)
	if err != nil || info.Mode() != 0o600 {
		t.Fatalf("%s: %v, %v; want mode 0600", file, info, err)
	}
	first, err := os.ReadFile(file)
	if err != nil || !regexp.MustCompile(`^[0-9a-f]{64}\n$`).Match(first) {
		t.Fatalf("%s has %d bytes, %v", file, len(first), err)
	}
	if list, err := filepath.Glob(filepath.Join(filepath.Dir(path), ".flagstaff-key*")); err != nil || len(list) > 0 {
		t.Errorf("files %v are left, %v", list, err)
	}
	d.watch.keep(strings.TrimSpace(string(first)), "a key of the file", "", 0)
	device := s.with(owner).enroll(t)
	codes := s.with(owner).backupCodes(t, "X-2FA-Token", device.code(t))
	s.stop()

	check := func(s *site, code string) {
		t.Helper()
		me := s.with(owner)
		status := me.call(t, "GET /api/users/@me/two_factor_status/", "").ok(t)
		if status["is_enabled"] != true || len(status["backup_codes"].([]any)) == 0 {
			t.Errorf("status %v", status)
		}
		codes = me.backupCodes(t, "X-2FA-Token", code)
	}
	s = d.run(t, "-account-mutations", "stepup")
	if again, err := os.ReadFile(file); err != nil || string(again) != string(first) {
		t.Errorf("the key has changed, or %v", err)
	}
	check(s, device.code(t))
	s.stop()

	// Rotation: a new key encrypts, the old one still decrypts.
	second := hex.EncodeToString(keyfile.New())
	rotated := filepath.Join(t.TempDir(), "rotated")
	d.watch.keep(second, "a key of the file", "", 0)
	if err := os.WriteFile(rotated, []byte("# made by a test\n\n  "+strings.ToUpper(second)+"  \r\n"+string(first)), 0o600); err != nil {
		t.Fatal(err)
	}
	s = d.run(t, "-account-mutations", "stepup", "-secret-key-file", rotated)
	check(s, codes[0])
	check(s, device.code(t))
	device = s.with(owner).enroll(t, "X-2FA-Token", codes[0]) // under the new key
	s.stop()
	if err := os.WriteFile(rotated, []byte(second), 0o600); err != nil {
		t.Fatal(err)
	}
	s = d.run(t, "-account-mutations", "stepup", "-secret-key-file", rotated)
	check(s, device.code(t))
}

// TestLostKeyFile is the attack: the file with the keys is lost or another one. The
// server refuses to start, names store and file, and makes no other file; users keep
// their authenticators.
func TestLostKeyFile(t *testing.T) {
	t.Parallel()
	for name, open := range emptyStores {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store, file := open(t), filepath.Join(t.TempDir(), "keys")
			if err := os.WriteFile(file, []byte(hex.EncodeToString(keyfile.New())), 0o600); err != nil {
				t.Fatal(err)
			}
			own := store + ".key" // for SQLite
			key := []string{"-secret-key-file", file}
			if !database.IsPostgres(store) {
				key, file = nil, own
			}
			d := emptyStore(t, store)
			s := d.run(t, key...)
			owner := s.with(regexp.MustCompile(`phx_\w+`).FindString(s.stdout.String()))
			owner.enroll(t)
			owner.call(t, "POST /api/projects/@current/feature_flags/", `{"key":"sealed","is_remote_configuration":true,"has_encrypted_payloads":true,
				"filters":{"groups":[{"rollout_percentage":100}],"payloads":{"true":"\"hidden\""}}}`).ok2xx(t)
			s.stop()

			const secrets = " has 2 authenticators, backup codes and payloads that were encrypted "
			refused := func(want string, args ...string) {
				t.Helper()
				code, stdout, stderr := command(t, append([]string{"-store", store, "-addr", "127.0.0.1:0"}, args...)...)
				want = secrets + want + ": bring their keys back, or start with -without-secrets if these are lost for good\n"
				if code != 1 || stdout != "" || !strings.HasSuffix(stderr, want) {
					t.Errorf("exit code %d, %q, %q; want 1, nothing, and %q", code, stdout, stderr, want)
				}
				code, stdout, _ = command(t, append([]string{"-check", "-store", store, "-addr", "127.0.0.1:0"}, args...)...)
				if code != 1 || !strings.HasSuffix(stdout, want) {
					t.Errorf("-check: exit code %d, %q; want 1 and %q", code, stdout, want)
				}
			}
			lost := file + ".lost"
			if err := os.Rename(file, lost); err != nil {
				t.Fatal(err)
			}
			if database.IsPostgres(store) {
				refused("with keys, but there is no -secret-key-file")
			} else {
				refused("with the keys in " + file + ", which does not exist")
			}
			if _, err := os.Stat(own); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s: %v, want that it does not exist", own, err)
			}
			if err := os.WriteFile(file, []byte(hex.EncodeToString(keyfile.New())), 0o600); err != nil {
				t.Fatal(err)
			}
			refused("with none of the keys in "+file, key...)
			s = d.run(t, append(key, "-without-secrets")...)
			s.stderr.await(t, "has 2 authenticators, backup codes and payloads")
			askFlags(t, s, s.with(owner.key).me(t)["team"].(map[string]any)["api_token"].(string), http.StatusOK)
			s.stop()
			if err := os.Rename(lost, file); err != nil {
				t.Fatal(err)
			}
			s = d.run(t, key...)
			if status := s.with(owner.key).call(t, "GET /api/users/@me/two_factor_status/", "").ok(t); status["is_enabled"] != true {
				t.Errorf("status %v with the keys that were lost", status)
			}
		})
	}
}

// TestFirstKeys: the keys of a first start can be written to a file.
func TestFirstKeys(t *testing.T) {
	t.Parallel()
	for name, open := range emptyStores {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store, folder := open(t), t.TempDir()
			file := filepath.Join(folder, "keys")
			if err := os.WriteFile(file, []byte("precious"), 0o600); err != nil {
				t.Fatal(err)
			}
			code, stdout, stderr := command(t, "-store", store, "-addr", "127.0.0.1:0", "-first-keys", file)
			if code != 1 || stdout != "" || !strings.Contains(stderr, file+" exists, and a first start makes a new one") {
				t.Errorf("exit code %d, %q, %q; want that the file exists", code, stdout, stderr)
			}
			if err := os.Remove(file); err != nil {
				t.Fatal(err)
			}
			d := emptyStore(t, store)
			s := d.run(t, "-first-keys", file)
			if got, want := s.stdout.String(), "the keys of the first start are in "+file+"\n"; got != want {
				t.Errorf("printed %q, want %q", got, want)
			}
			info, err := os.Stat(file)
			if err != nil || info.Mode() != 0o600 {
				t.Fatalf("%v, %v; want mode 0600", info, err)
			}
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			keys := regexp.MustCompile(`(?s)(phc_\w+).*(phs_\w+).*(phx_\w+)`).FindStringSubmatch(string(text))
			if keys == nil {
				t.Fatalf("the file has %q, want three keys", text)
			}
			s.with(keys[3]).me(t)
			s.stop()
			s = d.run(t, "-first-keys", file) // of no use any more
			if again, err := os.ReadFile(file); err != nil || string(again) != string(text) || s.stdout.String() != "" {
				t.Errorf("the file has %q, %v, and %q was printed; want what it had, and nothing", again, err, s.stdout)
			}
			s.stop()
			other := filepath.Join(folder, "other")
			s = d.run(t, "-first-keys", other)
			s.stop()
			if list, err := filepath.Glob(filepath.Join(folder, "*")); err != nil || len(list) != 1 {
				t.Errorf("files %v, %v; want the keys alone", list, err)
			}
		})
	}
}

// A raced is a store in which another server makes the first keys as soon as this one has
// looked for users.
type raced struct {
	sqlstore.Storage
	once sync.Once
}

func (r *raced) Users() storage.Table[storage.User] { return racedUsers{r.Storage.Users(), r} }

type racedUsers struct {
	storage.Table[storage.User]
	raced *raced
}

func (u racedUsers) Page(ctx context.Context, limit, offset int, where ...storage.Where[storage.User]) (list []storage.User, n int, err error) {
	list, n, err = u.Table.Page(ctx, limit, offset, where...)
	u.raced.once.Do(func() {
		if _, made := management.Bootstrap(ctx, u.raced.Storage, management.First{Owner: "admin@localhost"}); err == nil {
			err = made
		}
	})
	return list, n, err
}

// TestFirstKeysLost: of two servers that begin on one store at the same moment, the one that
// is late says where the keys are, and leaves no file.
func TestFirstKeysLost(t *testing.T) {
	file := filepath.Join(t.TempDir(), "keys")
	var stdout strings.Builder
	m := Main{Stdout: &stdout, Stderr: io.Discard}
	s := &settings{firstKeys: file, adminEmail: "admin@localhost"}
	if err := m.bootstrap(t.Context(), s, &raced{Storage: sqlitetest.Open(t)}, nil, ""); err != nil {
		t.Fatal(err)
	}
	want := "another server has made the keys of the first start at the same moment: they are in its file of -first-keys, and not in " + file + "\n"
	if got := stdout.String(); got != want {
		t.Errorf("printed %q, want %q", got, want)
	}
	if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file is there: %v", err)
	}
}

// TestNewerStore: a store of a newer release is refused, with both versions.
func TestNewerStore(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "newer.db")
	d := emptyStore(t, path)
	d.run(t).stop()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), "INSERT INTO goose_db_version (version_id, is_applied) VALUES (99, 1)"); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{nil, {"-create-key", "admin@localhost"}, {"-set-quota", "5"}} {
		code, stdout, stderr := command(t, append([]string{"-store", path, "-addr", "127.0.0.1:0"}, args...)...)
		if code != 1 || stdout != "" || !regexp.MustCompile(`newer\.db: .* has version 99, and this program knows versions up to \d+`).MatchString(stderr) {
			t.Errorf("%v: exit code %d, %q, %q; want 1 and both versions", args, code, stdout, stderr)
		}
	}
}

// TestNoSecretKey: servers that share a database need a key that the operator
// brings there (management.md §14).
func TestNoSecretKey(t *testing.T) {
	t.Parallel()
	d := emptyStore(t, postgrestest.Open(t))
	s := d.run(t)
	me := s.with(regexp.MustCompile(`phx_\w+`).FindString(s.stdout.String()))
	s.stderr.await(t, "two-factor authentication is not available")
	me.call(t, setupPath, "").fails(t, 400, "2fa_not_available", "")
	me.call(t, "POST /api/users/@me/validate_2fa/", `{"token":"123456"}`).fails(t, 400, "setup_expired", "")
	me.call(t, "POST /api/users/@me/two_factor_backup_codes/", "").fails(t, 400, "2fa_not_enabled", "")
	me.call(t, "POST /api/users/@me/two_factor_disable/", "").ok(t)
	if status := me.call(t, "GET /api/users/@me/two_factor_status/", "").ok(t); status["is_enabled"] != false {
		t.Errorf("status %v", status)
	}
	me.me(t)
}

func TestBadAccountSettings(t *testing.T) {
	dir := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	const secret = "5ec2e7" // in all that must not be quoted
	good := strings.Repeat(secret+"00", 8)
	short, odd, empty := file("short", good+"\n"+good[:62]+"\n"), file("odd", "# keys\n\n"+good[:63]+"x\n"), file("empty", "# none\n\n")
	twice := file("twice", good+"\n"+strings.ToUpper(good)+"\n")
	plain, missing := file("plain", ""), filepath.Join(dir, "missing", "file")
	for _, tt := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"-smtp", "smtp://localhost", "-mail-dir", dir}, 2, "-smtp and -mail-dir exclude each other"},
		{[]string{"-smtp", "http://user:" + secret + "@localhost"}, 1, "smtp://user:password@host:port"},
		{[]string{"-smtp", "smtp://user:" + secret + "@"}, 1, "smtp://user:password@host:port"},
		{[]string{"-smtp", "smtp://user:" + secret + "@host:port"}, 1, "smtp://user:password@host:port"},
		{[]string{"-smtp", "smtp://localhost", "-mail-from", "nobody"}, 1, `"nobody" is not one address`},
		{[]string{"-mail-dir", plain}, 1, plain},
		{[]string{"-summary-model", "m"}, 2, "flag -summary-model needs -summary-url"},
		{[]string{"-summary-key-file", plain}, 2, "flag -summary-key-file needs -summary-url"},
		{[]string{"-summary-timeout", "5s"}, 2, "flag -summary-timeout needs -summary-url"},
		{[]string{"-summary-url", "https://x/v1"}, 2, "flag -summary-url needs -summary-model"},
		{[]string{"-summary-url", "https://u:" + secret + "@x/v1", "-summary-model", "m"}, 2, "invalid value for flag -summary-url: want an http or https URL without user"},
		{[]string{"-summary-url", "https://x/v1", "-summary-model", "m", "-summary-timeout", "26s"}, 2, `invalid value "26s" for flag -summary-timeout: want 1s to 25s`},
		{[]string{"-summary-url", "https://x/v1", "-summary-model", "m", "-summary-timeout", "5"}, 2, "want a time with its unit"},
		{[]string{"-summary-url", "https://x/v1", "-summary-model", "m", "-summary-key-file", missing}, 1, "read the key of -summary-key-file: open " + missing},
		{[]string{"-summary-url", "https://x/v1", "-summary-model", "m", "-summary-key-file", plain}, 1, plain + " of -summary-key-file has no key"},
		{[]string{"-summary-url", "https://x/v1", "-summary-model", "m", "-summary-key-file", twice}, 1, "Key has characters other than visible ASCII"},
		{[]string{"-summary-url", "http://x/v1", "-summary-model", "m", "-summary-key-file", file("service", secret)}, 1, "x would get the key without TLS"},
		{[]string{"-app-url", "ftp://example.com"}, 2, `invalid value "ftp://example.com" for flag -app-url: want an http or https URL`},
		{[]string{"-app-url", "flags.example.com"}, 2, "flag -app-url"},
		{[]string{"-app-url", "https://flags.example.com/?x"}, 2, "without query and fragment"},
		{[]string{"-account-mutations", "sometimes"}, 2, "want key or stepup or off"},
		{[]string{"-delete-users", "gently"}, 2, "want cascade or strict"},
		{[]string{"-management-origins", "https://app.example.com,app.example.com"}, 2, `invalid value "app.example.com" for flag -management-origins`},
		{[]string{"-management-origins", "https://app.example.com,"}, 2, "-management-origins"},
		{[]string{"-admin-email", "nobody"}, 1, `"nobody"`},
		{[]string{"-key-scopes", ""}, 2, "-key-scopes"},
		{[]string{"-create-key", "admin@localhost"}, 2, "-create-key needs a -store that lasts"},
		{[]string{"-demo", "-create-key", "admin@localhost", "-store", ""}, 2, "-create-key needs a -store that lasts"},
		{[]string{"-secret-key-file", missing}, 1, missing},
		{[]string{"-secret-key-file", dir}, 1, dir},
		{[]string{"-secret-key-file", short}, 1, short + ":2"},
		{[]string{"-secret-key-file", odd}, 1, odd + ":3"},
		{[]string{"-secret-key-file", empty}, 1, empty + " has no secret key"},
		{[]string{"-secret-key-file", twice}, 1, twice + ":2"},
	} {
		t.Run(strings.Join(tt.args, " "), func(t *testing.T) {
			code, stdout, stderr := command(t, append([]string{"-store", ":memory:", "-addr", "127.0.0.1:0"}, tt.args...)...)
			if code != tt.code || !strings.Contains(stderr, tt.want) {
				t.Errorf("exit code %d, %q; want %d and %q", code, stderr, tt.code, tt.want)
			}
			if strings.Contains(stdout+stderr, secret) {
				t.Errorf("the output has a secret: %q", stdout+stderr)
			}
			if stdout != "" {
				t.Errorf("the first start printed %q although nothing serves", stdout)
			}
		})
	}
}

// A mailServer never answers its first client, as a server that is too busy. It takes
// the mail of all others.
type mailServer struct {
	url  string
	busy chan struct{} // closed when the first client is there

	mu       sync.Mutex
	received []string // messages
	senders  []string // the user names of AUTH PLAIN
}

func startMailServer(t *testing.T) *mailServer {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &mailServer{url: l.Addr().String(), busy: make(chan struct{})}
	var wg sync.WaitGroup
	wg.Go(func() {
		for first := true; ; first = false {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			if first {
				close(s.busy)
				wg.Go(func() { defer conn.Close(); io.Copy(io.Discard, conn) })
			} else {
				wg.Go(func() { s.serve(conn) })
			}
		}
	})
	t.Cleanup(func() {
		l.Close()
		wg.Wait()
	})
	return s
}

// serve speaks with one client until it goes away.
func (s *mailServer) serve(conn net.Conn) {
	defer conn.Close()
	r := bufio.NewReader(conn)
	say := func(line string) { fmt.Fprintf(conn, "%s\r\n", line) }
	say("220 mail.example.com")
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return
		}
		verb, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch strings.ToUpper(verb) {
		case "EHLO":
			say("250-mail.example.com")
			say("250 AUTH PLAIN")
		case "AUTH":
			s.mu.Lock()
			s.senders = append(s.senders, rest)
			s.mu.Unlock()
			say("235 welcome")
		case "DATA":
			say("354 go on")
			var message strings.Builder
			for {
				line, err := r.ReadString('\n')
				if err != nil {
					return
				}
				if line == ".\r\n" {
					break
				}
				message.WriteString(line)
			}
			s.mu.Lock()
			s.received = append(s.received, message.String())
			s.mu.Unlock()
			say("250 taken")
		case "QUIT":
			say("221 goodbye")
			return
		default:
			say("250 fine")
		}
	}
}

// TestSMTP: mail goes out through a server, also mail that waits when the program
// is told to end.
func TestSMTP(t *testing.T) {
	t.Parallel()
	server := startMailServer(t)
	const password = "the-password-of-the-mail-server"
	d := emptyStore(t, filepath.Join(t.TempDir(), "smtp.db"))
	d.watch.keep(password, "the password of the mail server", "", 0)
	s := d.run(t, "-smtp", "smtp://flagstaff:"+password+"@"+server.url, "-mail-from", "flags@example.com", "-app-url", "https://flags.example.com/")
	me := s.with(regexp.MustCompile(`phx_\w+`).FindString(s.stdout.String()))
	user := me.patch(t, members("email", "ada@example.com")).ok(t)
	if user["pending_email"] != "ada@example.com" {
		t.Errorf("user %v", user)
	}
	// The end of the program gives up on the busy server, and tries once more.
	select {
	case <-server.busy:
	case <-time.After(10 * time.Second):
		t.Fatal("nobody connects to the mail server")
	}
	if code := s.stop(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	server.mu.Lock()
	defer server.mu.Unlock()
	if len(server.received) != 1 || len(server.senders) != 1 {
		t.Fatalf("%d messages, %d of who logged in; want one each\n%s", len(server.received), len(server.senders), s.stderr)
	}
	message, err := netmail.ReadMessage(strings.NewReader(server.received[0]))
	if err != nil {
		t.Fatal(err)
	}
	if message.Header.Get("To") != "<ada@example.com>" || !strings.Contains(message.Header.Get("From"), "<flags@example.com>") {
		t.Errorf("header %v", message.Header)
	}
	text, err := io.ReadAll(message.Body)
	if err != nil || !strings.Contains(strings.ReplaceAll(string(text), "=\r\n", ""), "https://flags.example.com/verify_email/"+user["uuid"].(string)+"/") {
		t.Errorf("body %q, %v", text, err)
	}
}

// TestSMTPFails: mail that cannot be sent is logged, without secrets.
func TestSMTPFails(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close() // no server listens there
	const password = "the-password-of-the-mail-server"
	d := emptyStore(t, filepath.Join(t.TempDir(), "smtp.db"))
	d.watch.keep(password, "the password of the mail server", "", 0)
	s := d.run(t, "-smtp", "smtp://flagstaff:"+password+"@"+l.Addr().String())
	me := s.with(regexp.MustCompile(`phx_\w+`).FindString(s.stdout.String()))
	me.patch(t, members("email", "ada@example.com")).ok(t)
	if code := s.stop(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	log := s.stderr.await(t, `level=ERROR[^\n]*mail is not sent[^\n]*`)[0]
	if !strings.Contains(log, "email_verification") || strings.Contains(log, "verify_email") {
		t.Errorf("log %s", log)
	}
}
