package server_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"regexp"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/sqlstore"
	"github.com/flagstaff-go/flagstaff/management/storage"
	"github.com/flagstaff-go/flagstaff/server"
)

// TestAPIGolden keeps a request and response pair for each operation of the
// management API, and for each error.
func TestAPIGolden(t *testing.T) {
	const (
		me      = "/api/users/@me/"
		mail    = `{"uuid":"` + ada + `"}`
		keyBody = `{"label":"ci","scopes":["user:read","survey:write"]}`
	)
	origin := []string{"Origin", "https://app.example"}
	origins := apiSetup{server: func(c *server.Config) { c.Management.Origins = []string{"https://app.example"} }}
	inBody := apiSetup{server: func(c *server.Config) { c.Management.AllowKeyInBody = true }}
	small := apiSetup{server: func(c *server.Config) { c.Management.MaxBody = 2000 }}
	withFailure := func(err error) apiSetup {
		return apiSetup{management: func(c *management.Config) { c.Store = brokenStore{c.Store.(sqlstore.Storage), err} }}
	}
	defined := func(change func(*server.Config)) apiSetup {
		return apiSetup{server: func(c *server.Config) {
			r := new(server.Registry)
			r.Set("phc_acme", &server.Project{ID: 1, Organization: "acme", Published: definitionsOf(t, published)})
			c.Projects = r
			if change != nil {
				change(c)
			}
		}}
	}
	remote := func(a *apiServer) { a.remoteFlag("remote-cfg", `{"groups":[],"payloads":{"true":"{\"k\":\"v\"}"}}`) }
	twice := func(c call) func(*apiServer) { return func(a *apiServer) { c.do(a) } }

	for _, tt := range []struct {
		name   string
		setup  apiSetup
		before func(*apiServer)
		call   call
		make   func(*apiServer) call // in place of call
	}{
		{name: "users", call: api("GET", "/api/users/", "")},
		{name: "users-page", call: api("GET", "/api/users/?offset=1&limit=1&is_staff=false", "").with(stellaKey)},
		{name: "users-nobody", call: api("GET", "/api/users/?email=bob@acme.example", "")},
		{name: "user", call: api("GET", me, "")},
		{name: "user-staff", call: api("GET", "/api/users/"+ada, "").with(stellaKey)},
		{name: "user-patch", call: api("PATCH", me, `{"first_name":"Ada","email":"ada@new.example","theme_mode":"dark","notification_settings":{"plugin_disabled":false}}`)},
		{name: "user-delete", call: api("DELETE", me, "").with(bobKey)},
		{name: "user-delete-last-staff", call: api("DELETE", me, "").with(stellaKey)},
		{name: "hedgehog", call: api("GET", me+"hedgehog_config/", "")},
		{name: "hedgehog-patch", call: api("PATCH", me+"hedgehog_config/", `{"version":2,"actor_options":{"color":"<green>"}}`)},
		{name: "scene", call: api("POST", me+"scene_personalisation/", `{"scene":"Person","dashboard":42}`)},
		{name: "2fa-setup", call: api("GET", me+"two_factor_start_setup/", "")},
		{name: "2fa-setup-old", call: api("GET", me+"start_2fa_setup/", "")},
		{name: "2fa-validate", make: validate(me + "two_factor_validate/")},
		{name: "2fa-validate-old", make: validate(me + "validate_2fa/")},
		{name: "2fa-status", before: (*apiServer).twoFactor, call: api("GET", me+"two_factor_status/", "")},
		{name: "2fa-status-off", call: api("GET", me+"two_factor_status/", "")},
		{name: "2fa-backup-codes", before: (*apiServer).twoFactor, call: api("POST", me+"two_factor_backup_codes/", "")},
		{name: "2fa-disable", before: (*apiServer).twoFactor, call: api("POST", me+"two_factor_disable/", "")},
		{name: "email-cancel", before: twice(api("PATCH", me, `{"email":"ada@new.example"}`)), call: api("PATCH", "/api/users/cancel_email_change_request/", "")},
		{name: "email-request", call: api("POST", "/api/users/request_email_verification/", mail, "Authorization", "")},
		{name: "email-verify", make: verify},

		{name: "keys", call: api("GET", "/api/personal_api_keys/", "")},
		{name: "key", call: api("GET", "/api/personal_api_keys/id-of-"+readerKey+"/", "")},
		{name: "key-current", call: api("GET", "/api/personal_api_keys/@current/", "").with(readerKey)},
		{name: "key-create", call: api("POST", "/api/personal_api_keys/", keyBody)},
		{name: "key-patch", call: api("PATCH", "/api/personal_api_keys/id-of-"+readerKey+"/", `{"label":"ci","scoped_teams":[1]}`)},
		{name: "key-delete", call: api("DELETE", "/api/personal_api_keys/id-of-"+readerKey+"/", "")},
		{name: "key-roll", call: api("POST", "/api/personal_api_keys/@current/roll/", "")},

		{name: "organizations", call: api("GET", "/api/organizations/", "")},
		{name: "organization", call: api("GET", "/api/organizations/"+acme+"/", "")},
		{name: "organization-create", call: api("POST", "/api/organizations/", `{"name":"Second"}`)},
		{name: "organization-patch", call: api("PATCH", "/api/organizations/@current/", `{"name":"Acme & Co","enforce_2fa":true}`)},
		{name: "organization-delete", call: api("DELETE", "/api/organizations/@current/", "")},
		{name: "members", call: api("GET", "/api/organizations/@current/members/", "")},
		{name: "member-add", call: api("POST", "/api/organizations/@current/members/", `{"email":"stella@staff.example","level":8}`)},
		{
			name: "member-add-staff", before: func(a *apiServer) { a.join(stella, storage.LevelAdmin) },
			call: api("POST", "/api/organizations/"+acme+"/members/", `{"email":"fay@new.example","first_name":"Fay"}`).with(stellaKey),
		},
		{name: "member-patch", call: api("PATCH", "/api/organizations/@current/members/"+bob+"/", `{"level":8}`)},
		{name: "member-remove", call: api("DELETE", "/api/organizations/@current/members/"+bob+"/", "")},

		{name: "invites", before: func(a *apiServer) { a.invited("fay@new.example") }, call: api("GET", "/api/organizations/@current/invites/", "")},
		{name: "invite-create", call: api("POST", "/api/organizations/@current/invites/", `{"target_email":"Fay@New.example","first_name":"Fay","level":8}`)},
		{name: "invite-link", call: api("POST", "/api/organizations/@current/invites/", `{"target_email":"fay@new.example","show_link":true}`)},
		{name: "invite-delete", make: func(a *apiServer) call {
			a.invited("fay@new.example")
			return api("DELETE", a.one("/api/organizations/@current/invites/"), "")
		}},
		{name: "invite-error-throttled", before: func(a *apiServer) {
			for range 6 {
				a.invited("fay@new.example")
			}
		}, call: api("POST", "/api/organizations/@current/invites/", `{"target_email":"fay@new.example"}`)},
		{name: "signup", make: func(a *apiServer) call {
			return api("GET", "/api/signup/"+a.invited("fay@new.example")+"/", "", "Authorization", "")
		}},
		{name: "signup-accept", make: func(a *apiServer) call {
			return api("POST", "/api/signup/"+a.invited("fay@new.example")+"/", `{"password":"another-Horse-42-battery"}`, "Authorization", "")
		}},
		{name: "signup-accept-account", make: func(a *apiServer) call {
			return api("POST", "/api/signup/"+a.invited("stella@staff.example")+"/", "").with(stellaKey)
		}},
		{name: "signup-accept-link", make: func(a *apiServer) call {
			return api("POST", "/api/signup/"+a.shown("fay@new.example")+"/", `{"password":"another-Horse-42-battery"}`, "Authorization", "")
		}},
		{name: "signup-error-link-account", make: func(a *apiServer) call {
			return api("POST", "/api/signup/"+a.shown("stella@staff.example")+"/", "", "Authorization", "")
		}},
		{name: "signup-error", call: api("POST", "/api/signup/x/", `{"password":"another-Horse-42-battery"}`, "Authorization", "")},

		{name: "sessions", before: signedIn, call: api("GET", me+"sessions/", "")},
		{name: "session-end", make: func(a *apiServer) call {
			signedIn(a)
			return api("DELETE", me+"sessions/"+a.sessionID()+"/", "")
		}},
		{name: "session-end-error", call: api("DELETE", me+"sessions/x/", "")},
		{name: "sessions-end", before: signedIn, call: api("DELETE", me+"sessions/", "")},
		{name: "password-reset-request", call: api("POST", "/api/password_reset/", `{"email":"ada@acme.example"}`, "Authorization", "")},
		{name: "password-reset", make: func(a *apiServer) call {
			return api("GET", "/api/password_reset/"+a.resetToken()+"/", "", "Authorization", "")
		}},
		{name: "password-reset-password", make: func(a *apiServer) call {
			return api("POST", "/api/password_reset/"+a.resetToken()+"/", `{"password":"another-Horse-42-battery"}`, "Authorization", "")
		}},
		{name: "password-reset-error", call: api("POST", "/api/password_reset/x/", `{"password":"another-Horse-42-battery"}`, "Authorization", "")},

		{name: "projects", call: api("GET", "/api/projects/", "")},
		{name: "projects-of-organization", call: api("GET", "/api/organizations/"+acme+"/projects/", "")},
		{name: "project", call: api("GET", "/api/projects/1/", "")},
		{name: "project-current", call: api("GET", "/api/environments/@current/", "")},
		{name: "project-of-organization", call: api("GET", "/api/organizations/@current/projects/1/", "")},
		{name: "project-create", call: api("POST", "/api/projects/", `{"name":"Second"}`)},
		{name: "project-create-in-organization", call: api("POST", "/api/organizations/"+acme+"/projects/", `{"name":"Second","timezone":"Europe/Vienna"}`)},
		{name: "project-patch", call: api("PATCH", "/api/projects/1/", `{"anonymize_ips":true}`)},
		{name: "project-delete", call: api("DELETE", "/api/projects/1/", "")},
		{name: "project-reset-token", call: api("PATCH", "/api/projects/1/reset_token/", "")},
		{name: "project-rotate-secret", call: api("POST", "/api/environments/1/rotate_secret_token/", "")},
		{name: "project-delete-secret-backup", call: api("PATCH", "/api/projects/1/delete_secret_token_backup/", "")},

		{name: "definitions", setup: defined(nil), call: api("GET", "/flags/definitions?token=phc_acme&send_cohorts", "").with(acmeSecret)},
		{name: "definitions-unchanged", setup: defined(nil), make: func(a *apiServer) call {
			return api("GET", definitionsPath, "", "If-None-Match", api("GET", definitionsPath, "").do(a).Header.Get("Etag"))
		}},
		{name: "definitions-options", setup: defined(nil), call: api("OPTIONS", definitionsPath, "", "Authorization", "")},
		{name: "local-evaluation", setup: defined(nil), call: api("GET", "/api/feature_flag/local_evaluation/?token=phc_acme", "")},
		{name: "local-evaluation-cohorts", setup: defined(nil), call: api("GET", "/api/projects/1/feature_flags/local_evaluation/?send_cohorts", "")},
		{name: "remote-config", before: remote, call: api("GET", "/api/projects/@current/feature_flags/remote-cfg/remote_config?token=phc_acme", "")},
		{name: "definitions-error-not-authenticated", setup: defined(nil), call: api("GET", definitionsPath, "", "Authorization", "")},
		{name: "definitions-error-authentication-failed", setup: defined(nil), call: api("GET", definitionsPath, "").with("phc_acme")},
		{name: "definitions-error-authentication-failed-secret", setup: defined(nil), call: api("GET", definitionsPath, "").with("phs_wrong")},
		{name: "definitions-error-scope", setup: defined(nil), call: api("GET", definitionsPath, "").with(readerKey)},
		{name: "definitions-error-project", setup: defined(nil), call: api("GET", definitionsPath+"?token=phc_other", "")},
		{name: "definitions-error-project-secret", setup: defined(nil), call: api("GET", definitionsPath+"?token=phc_other", "").with(acmeSecret)},
		{name: "definitions-error-no-project", setup: defined(nil), call: api("GET", "/api/projects/99/feature_flags/local_evaluation", "")},
		{name: "definitions-error-method", setup: defined(nil), call: api("POST", definitionsPath, "{}")},
		{name: "definitions-error-quota", setup: defined(func(c *server.Config) { c.Quota = &fakeQuota{left: map[string]int{}} }), call: api("GET", definitionsPath, "")},
		{
			name: "definitions-error-throttled", setup: defined(func(c *server.Config) { c.Management.Limit.Definitions = 1 }),
			before: twice(api("GET", definitionsPath, "")), call: api("GET", definitionsPath, ""),
		},
		{
			name: "definitions-error-throttled-strangers", setup: defined(func(c *server.Config) { c.Management.Limit.Strangers = 1 }),
			before: twice(api("GET", definitionsPath, "").with("phs_wrong")), call: api("GET", definitionsPath, ""),
		},
		{name: "definitions-error-not-ready", call: api("GET", definitionsPath, "")},
		{name: "definitions-error-unavailable", setup: withFailure(errors.New("no such table: keys")), call: api("GET", definitionsPath, "")},
		{name: "definitions-error-panic", setup: apiSetup{server: func(c *server.Config) { c.Projects = panickingProjects{} }}, call: api("GET", definitionsPath, "")},
		{name: "remote-config-error-not-found", call: api("GET", "/api/projects/@current/feature_flags/nowhere/remote_config", "")},

		{name: "options", call: api("OPTIONS", me, "", "Authorization", "")},
		{name: "preflight", setup: origins, call: api("OPTIONS", me, "", "Authorization", "", "Origin", "https://app.example",
			"Access-Control-Request-Method", "PATCH", "Access-Control-Request-Headers", "authorization, content-type")},
		{name: "cors", setup: origins, call: api("GET", me+"hedgehog_config", "", origin...)},
		{name: "cors-foreign", setup: origins, call: api("GET", me+"hedgehog_config", "", "Origin", "https://evil.example")},

		{name: "error-not-authenticated", call: api("GET", me, "", "Authorization", "")},
		{name: "error-authentication-failed", call: api("GET", me, "").with("phx_wrong")},
		{name: "error-authentication-failed-body", setup: inBody, call: api("PATCH", me, `{"personal_api_key":"phx_wrong"}`, "Authorization", "")},
		{name: "error-authentication-failed-query", setup: inBody, call: api("GET", me+"?personal_api_key=phx_wrong", "", "Authorization", "")},
		{name: "error-scope", call: api("PATCH", me, `{}`).with(readerKey)},
		{name: "error-forbidden", call: api("GET", "/api/users/"+bob+"/", "")},
		{name: "error-not-found", call: api("GET", "/api/users/00000000-0000-7000-8000-000000000000/", "").with(stellaKey)},
		{name: "error-endpoint", call: api("GET", "/api/nowhere/", "", "Authorization", "")},
		{name: "error-method", call: api("POST", "/api/users/", `{}`)},
		{name: "error-malformed", call: api("PATCH", me, `{"password":"hunter2"`)},
		{name: "error-not-a-dictionary", call: api("PATCH", me, `["hunter2"]`)},
		{name: "error-field", call: api("PATCH", me, `{"theme_mode":"neon"}`)},
		{name: "error-whole", call: api("POST", me+"two_factor_backup_codes/", "")},
		{name: "error-conflict", call: api("DELETE", me, "")},
		{name: "error-throttled", setup: apiSetup{server: func(c *server.Config) { c.Management.Limit.PerMinute = 1 }}, before: twice(api("GET", me, "")), call: api("GET", me, "")},
		{name: "error-throttled-attempts", before: attempts, call: api("PATCH", me, `{"current_password":"wrong"}`)},
		{name: "error-throttled-strangers", setup: apiSetup{server: func(c *server.Config) { c.Management.Limit.Strangers = 1 }}, before: twice(api("GET", me, "").with("phx_wrong")), call: api("GET", me, "")},
		{name: "error-too-large", setup: small, call: api("PATCH", me, padded(2001))},
		{name: "error-content-type", call: api("PATCH", me, "first_name=Ada", "Content-Type", "application/x-www-form-urlencoded")},
		{name: "error-compression", call: api("PATCH", me, `{}`, "Content-Encoding", "gzip")},
		{name: "error-unavailable", setup: withFailure(fmt.Errorf("%w: connection refused", capture.ErrUnavailable)), call: api("GET", me, "")},
		{name: "error-failure", setup: withFailure(errors.New("no such table: keys")), call: api("GET", me, "")},
		{name: "error-panic", setup: apiSetup{server: func(c *server.Config) {
			c.Management.AuthFunc = func(*http.Request) (*management.Principal, error) { panic("with the secret hunter2") }
		}}, call: api("GET", me, "")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := newAPI(t, tt.setup)
			if tt.before != nil {
				tt.before(a)
			}
			c := tt.call
			if tt.make != nil {
				c = tt.make(a)
			}
			got := scrub(dump(t, c.request(), c.do(a)))
			if strings.Count(c.body, "x") > 1000 {
				got = strings.Replace(got, c.body, "(2001 bytes)", 1)
			}
			golden(t, "api-"+tt.name, got)
		})
	}
}

// validate returns the call that confirms an authenticator.
func validate(target string) func(*apiServer) call {
	return func(a *apiServer) call {
		secret := a.ok(api("GET", "/api/users/@me/two_factor_start_setup/", ""))["secret"].(string)
		return api("POST", target, `{"token":"`+totp(a.t, secret, apiTime)+`"}`)
	}
}

var invitationLink = regexp.MustCompile(`/signup/(\S+)`)

// invited invites an address and returns the token of the message.
func (a *apiServer) invited(email string) string {
	a.t.Helper()
	a.ok(api("POST", "/api/organizations/"+acme+"/invites/", `{"target_email":"`+email+`"}`))
	token := invitationLink.FindStringSubmatch(a.letter().Text)
	if token == nil {
		a.t.Fatal("no link")
	}
	return token[1]
}

// shown invites an address and returns the token of the link in the answer.
func (a *apiServer) shown(email string) string {
	a.t.Helper()
	v := a.ok(api("POST", "/api/organizations/"+acme+"/invites/", `{"target_email":"`+email+`","show_link":true}`))
	token := invitationLink.FindStringSubmatch(fmt.Sprint(v["link"]))
	if token == nil {
		a.t.Fatalf("no link in %v", v)
	}
	return token[1]
}

var resetLink = regexp.MustCompile(`/reset_password/(\S+)`)

// resetToken asks for another password for Ada, and returns the token of the message.
func (a *apiServer) resetToken() string {
	a.t.Helper()
	a.ok(api("POST", "/api/password_reset/", `{"email":"ada@acme.example"}`, "Authorization", ""))
	token := resetLink.FindStringSubmatch(a.letter().Text)
	if token == nil {
		a.t.Fatal("no link")
	}
	return token[1]
}

// signIn opens a session of Ada and returns its token.
func (a *apiServer) signIn() string {
	a.t.Helper()
	link, err := a.service.NewSignInLink(a.t.Context(), "ada@acme.example")
	if err != nil {
		a.t.Fatal(err)
	}
	opened, err := a.service.UseSignInLink(a.t.Context(), link, nil, management.Client{
		Address: netip.MustParseAddr("192.0.2.7"), UserAgent: "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
	})
	if err != nil {
		a.t.Fatal(err)
	}
	return opened.Token
}

func signedIn(a *apiServer) { a.signIn() }

// sessionID returns the ID of Ada's session that was seen last.
func (a *apiServer) sessionID() string {
	a.t.Helper()
	u, err := a.store.Users().Get(a.t.Context(), storage.UserUUID.Is(uuid.MustParse(ada)))
	if err != nil {
		a.t.Fatal(err)
	}
	list, err := a.store.Sessions().List(a.t.Context(), storage.SessionUser.Is(u.ID))
	if err != nil || len(list) == 0 {
		a.t.Fatalf("%d sessions, %v", len(list), err)
	}
	return list[0].ID.String()
}

// letter returns the only message that waits.
func (a *apiServer) letter() management.Message {
	a.t.Helper()
	list := a.letters()
	if len(list) != 1 {
		a.t.Fatalf("%d messages, want 1", len(list))
	}
	return list[0]
}

// letters returns the messages that wait.
func (a *apiServer) letters() []management.Message {
	a.t.Helper()
	a.mail.messages = make(chan management.Message, 100)
	ctx, cancel := context.WithCancel(a.t.Context())
	cancel() // Run sends what waits and ends
	if err := a.service.Run(ctx); err != nil {
		a.t.Fatal(err)
	}
	close(a.mail.messages)
	var list []management.Message
	for m := range a.mail.messages {
		list = append(list, m)
	}
	return list
}

// join makes a user a member of Acme.
func (a *apiServer) join(user string, level int) {
	a.t.Helper()
	u, err := a.store.Users().Get(a.t.Context(), storage.UserUUID.Is(uuid.MustParse(user)))
	if err != nil {
		a.t.Fatal(err)
	}
	err = a.store.Memberships().Create(a.t.Context(), &storage.Membership{
		ID: uuid.New(), Organization: uuid.MustParse(acme), User: u.ID, Level: level, Joined: apiTime, Updated: apiTime,
	})
	if err != nil {
		a.t.Fatal(err)
	}
}

var verificationLink = regexp.MustCompile(`/verify_email/` + ada + `/(\S+)`)

// verify returns the call that a message to a new address leads to.
func verify(a *apiServer) call {
	a.ok(api("PATCH", "/api/users/@me/", `{"email":"ada@new.example"}`))
	m := a.letter()
	token := verificationLink.FindStringSubmatch(m.Text)
	if token == nil {
		a.t.Fatalf("no link in %q", m.Text)
	}
	return api("POST", "/api/users/verify_email/", `{"uuid":"`+ada+`","token":"`+token[1]+`"}`, "Authorization", "")
}

// attempts uses up the attempts to give a password.
func attempts(a *apiServer) {
	for range 5 {
		a.ok(api("PATCH", "/api/users/@me/", `{"current_password":"wrong"}`))
	}
}

// A brokenStore cannot look up keys.
type brokenStore struct {
	sqlstore.Storage
	err error
}

func (s brokenStore) Keys() storage.Table[storage.PersonalKey] {
	return brokenKeys{s.Storage.Keys(), s.err}
}

type brokenKeys struct {
	storage.Table[storage.PersonalKey]
	err error
}

func (k brokenKeys) Get(context.Context, ...storage.Where[storage.PersonalKey]) (*storage.PersonalKey, error) {
	return nil, k.err
}

// scrubbed are what is different each time.
var scrubbed = []struct {
	pattern *regexp.Regexp
	by      string
}{
	{regexp.MustCompile(`ph([xcs])_[0-9A-Za-z]{30,}`), "ph${1}_(random)"},
	{regexp.MustCompile(`(?m)("mask_value": "phx_\.\.\.)[0-9A-Za-z]{4}"`), `${1}(random)"`},
	{regexp.MustCompile(`(: ?)"[0-9A-Za-z_-]{38,44}"`), `${1}"(random)"`}, // ids of keys, distinct ids, tokens
	{regexp.MustCompile(`/(signup|password_reset)/[0-9A-Za-z_-]{43}\b`), "/$1/(random)"},
	{regexp.MustCompile(`\b[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}\b`), "(random)"},
	{regexp.MustCompile(`("id": ?)"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f-]{21}"`), `${1}"(random)"`}, // of rules
	{regexp.MustCompile(`("seed": ?)"x?[A-Z2-7]{26}"`), `${1}"(random)"`},
	{regexp.MustCompile(`("trace_id": ")[0-9a-f-]{36}"`), `${1}(random)"`},
	{regexp.MustCompile(`\bsurvey-targeting-[0-9a-f]{10}\b`), "survey-targeting-(random)"},
	{regexp.MustCompile(`\b[A-Z2-7]{32}\b`), "(random)"},                    // secrets of authenticators
	{regexp.MustCompile(`("token": ?)"[0-9]{6}"`), `${1}"(code)"`},          // and their codes
	{regexp.MustCompile(`(?m)^( +)"[a-z2-7]{8}"(,?)$`), `${1}"(random)"$2`}, // backup codes
}

func scrub(s string) string {
	const fixed = "00000000-0000-7000-" // of the accounts
	for _, x := range scrubbed {
		s = x.pattern.ReplaceAllStringFunc(s, func(match string) string {
			if strings.HasPrefix(match, fixed) {
				return match
			}
			return x.pattern.ReplaceAllString(match, x.by)
		})
	}
	return s
}
