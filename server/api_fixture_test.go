package server_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha1"
	"encoding/base32"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/sqlstore"
	"github.com/flagstaff-go/flagstaff/management/sqlstore/sqlite/sqlitetest"
	"github.com/flagstaff-go/flagstaff/management/storage"
	"github.com/flagstaff-go/flagstaff/server"
	"github.com/flagstaff-go/flagstaff/surveys"
)

// The accounts of an apiServer. Ada owns the organization, Bob is a member of it,
// Stella is staff and a member of nothing.
const (
	ada    = "00000000-0000-7000-8000-0000000000a1"
	bob    = "00000000-0000-7000-8000-0000000000b1"
	stella = "00000000-0000-7000-8000-0000000000c1"
	acme   = "00000000-0000-7000-8000-000000000001"
	other  = "00000000-0000-7000-8000-000000000002" // organization of nobody

	adaKey    = "phx_ada"      // everything
	readerKey = "phx_adareads" // user:read
	bobKey    = "phx_bob"
	stellaKey = "phx_stella"
)

// apiTime is when everything happens.
var apiTime = time.Date(2026, 2, 3, 9, 15, 42, 118_204_000, time.UTC)

// An apiServer is a Server with the management API on a store in memory.
type apiServer struct {
	*server.Server
	t       testing.TB
	store   sqlstore.Storage
	service *management.Service
	surveys *surveys.Service
	mail    *outbox
	keys    int // that were made
}

// An apiSetup changes how an apiServer is made.
type apiSetup struct {
	management func(*management.Config)
	surveys    func(*surveys.Config)
	server     func(*server.Config)
}

// surveyStores are empty stores that keep surveys.
var surveyStores = sqlitetest.NewTemplate(func(testing.TB, sqlstore.Storage) {}, surveys.Extension())

func newAPI(t testing.TB, setup apiSetup) *apiServer {
	t.Helper()
	a := &apiServer{t: t, store: surveyStores.Open(t), mail: new(outbox)}
	a.fill()
	mc := management.Config{
		Store: a.store, Mailer: a.mail, AppURL: "https://app.example", SecretKeys: [][]byte{make([]byte, 32)},
		FlagUsers: surveys.FlagUsers{}, Now: func() time.Time { return apiTime },
	}
	if setup.management != nil {
		setup.management(&mc)
	}
	var err error
	if a.service, err = management.New(mc); err != nil {
		t.Fatal(err)
	}
	var routes []server.ProjectRoute
	if _, err := mc.Store.Extension("surveys"); err == nil {
		sc := surveys.Config{Management: a.service, Now: mc.Now}
		if setup.surveys != nil {
			setup.surveys(&sc)
		}
		if a.surveys, err = surveys.New(sc); err != nil {
			t.Fatal(err)
		}
		routes = a.surveys.Routes()
	}
	a.Server = newServer(t, func(c *server.Config) {
		c.Management.Service, c.Management.Routes = a.service, routes
		if setup.server != nil {
			setup.server(c)
		}
	})
	return a
}

func (a *apiServer) fill() {
	a.t.Helper()
	must := func(err error) {
		a.t.Helper()
		if err != nil {
			a.t.Fatal(err)
		}
	}
	ctx := context.Background()
	joined := time.Date(2025, 11, 4, 8, 12, 55, 0, time.UTC)
	organization := func(id, name, slug string) *storage.Organization {
		o := storage.NewOrganization(name)
		o.ID, o.Slug, o.Created, o.Updated = uuid.MustParse(id), slug, joined, joined
		must(a.store.Organizations().Create(ctx, o))
		return o
	}
	project := func(o *storage.Organization, name, key string) int64 {
		p := storage.NewProject(o, name)
		p.UUID, p.APIKey, p.Created, p.Updated = uuid.NewSHA1(o.ID, []byte(name)), key, joined, joined
		p.SecretHash = storage.HashKey("phs_" + key)
		must(a.store.Projects().Create(ctx, p))
		return p.ID
	}
	own := organization(acme, "Acme", "acme")
	first := project(own, "Default project", "phc_acme")
	foreign := organization(other, "Other", "other")
	project(foreign, "Theirs", "phc_other")

	user := func(id, email, first string, staff bool) *storage.User {
		u := &storage.User{
			UUID: uuid.MustParse(id), DistinctID: first + "-distinct", Active: true, Staff: staff, Joined: joined, Email: email, FirstName: first,
			EmailVerified: new(true), ToolbarMode: new("toolbar"),
		}
		must(a.store.Users().Create(ctx, u))
		return u
	}
	member := func(u *storage.User, level int) {
		must(a.store.Memberships().Create(ctx, &storage.Membership{
			ID: uuid.NewSHA1(own.ID, u.UUID[:]), Organization: own.ID, User: u.ID, Level: level, Joined: joined, Updated: joined,
		}))
		u.CurrentOrganization, u.CurrentProject = &own.ID, &first
		must(a.store.Users().Update(ctx, u))
	}
	key := func(u *storage.User, value, label string, scopes ...string) {
		must(a.store.Keys().Create(ctx, &storage.PersonalKey{
			ID: "id-of-" + value, User: u.ID, Label: label, Mask: "phx_..." + value[len(value)-3:], Hash: storage.HashKey(value),
			Scopes: scopes, Created: joined, LastUsed: new(apiTime),
		}))
	}
	adaUser, bobUser := user(ada, "ada@acme.example", "Ada", false), user(bob, "bob@acme.example", "Bob", false)
	member(adaUser, storage.LevelOwner)
	member(bobUser, storage.LevelMember)
	key(adaUser, adaKey, "all", "*")
	key(adaUser, readerKey, "reads", "user:read")
	key(bobUser, bobKey, "bob", "*")
	key(user(stella, "stella@staff.example", "Stella", true), stellaKey, "staff", "*")
}

// An outbox is a Mailer that keeps what it is given.
type outbox struct{ messages chan management.Message }

func (o *outbox) Send(_ context.Context, m management.Message) error {
	if o.messages != nil {
		o.messages <- m
	}
	return nil
}

// api returns a call to the management API, with Ada's key unless another one, or
// "" for none, is among the headers.
func api(method, target, body string, header ...string) call {
	c := call{method: method, target: target, body: body, header: map[string]string{
		"Authorization": "Bearer " + adaKey, "X-Request-Id": requestID, "User-Agent": "",
	}}
	if body == "" {
		c.header["Content-Type"] = ""
	}
	for i := 0; i < len(header); i += 2 {
		c.header[header[i]] = header[i+1]
	}
	return c
}

// with returns a call with another key.
func (c call) with(key string) call {
	c.header = maps.Clone(c.header)
	c.header["Authorization"] = "Bearer " + key
	return c
}

// ok sends a call and decodes an answer without error.
func (a *apiServer) ok(c call) map[string]any {
	a.t.Helper()
	resp := c.do(a)
	body := bodyText(a.t, resp)
	if resp.StatusCode >= 300 {
		a.t.Fatalf("%s %s = %d %s", c.method, c.target, resp.StatusCode, body)
	}
	var v map[string]any
	if resp.StatusCode != http.StatusNoContent {
		if err := json.Unmarshal([]byte(body), &v); err != nil {
			a.t.Fatalf("%s %s: %v\n%s", c.method, c.target, err, body)
		}
	}
	return v
}

// An apiError is the envelope of errors.
type apiError struct {
	Type, Code, Detail string
	Attr               *string
}

// A manifestError is the envelope of errors about a manifest (wire.md §7.5).
type manifestError struct {
	Error struct {
		Message string
		Status  int
		Details []struct{ Field, Code, Message string }
	}
}

// fails sends a call and compares status and code of the answer.
func (a *apiServer) fails(c call, status int, code string) (apiError, http.Header) {
	a.t.Helper()
	resp := c.do(a)
	body := bodyText(a.t, resp)
	var e apiError
	if err := json.Unmarshal([]byte(body), &e); err != nil {
		a.t.Errorf("%s %s: %v\n%s", c.method, c.target, err, body)
	}
	if strings.HasPrefix(body, `{"error":{`) {
		var m manifestError
		if err := json.Unmarshal([]byte(body), &m); err != nil || m.Error.Status != resp.StatusCode || len(m.Error.Details) != 1 {
			a.t.Fatalf("%s %s: %v\n%s", c.method, c.target, err, body)
		}
		e.Code, e.Detail = m.Error.Details[0].Code, m.Error.Details[0].Message
	}
	if resp.StatusCode != status || e.Code != code {
		a.t.Errorf("%s %s = %d %s, want %d %s", c.method, c.target, resp.StatusCode, body, status, code)
	}
	return e, resp.Header
}

// totp returns the code that an authenticator with a secret shows at a time (RFC
// 6238).
func totp(t testing.TB, secret string, at time.Time) string {
	t.Helper()
	key, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(secret)
	if err != nil {
		t.Fatal(err)
	}
	h := hmac.New(sha1.New, key)
	binary.Write(h, binary.BigEndian, at.Unix()/30)
	sum := h.Sum(nil)
	code := binary.BigEndian.Uint32(sum[sum[19]&15:]) & 0x7FFFFFFF
	return fmt.Sprintf("%06d", code%1_000_000)
}

// twoFactor turns two-factor authentication on for Ada.
func (a *apiServer) twoFactor() {
	a.t.Helper()
	secret := a.ok(api("GET", "/api/users/@me/two_factor_start_setup/", ""))["secret"].(string)
	a.ok(api("POST", "/api/users/@me/two_factor_validate/", `{"token":"`+totp(a.t, secret, apiTime)+`"}`))
}
