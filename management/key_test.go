package management_test

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/optional"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// newKey makes a key as the API does.
func (w *world) newKey(p *management.Principal, body string) (*management.KeyView, error) {
	w.t.Helper()
	return w.CreateKey(w.t.Context(), p, decode[management.KeyPatch](w.t, body))
}

// management.md §1.2 and §1.3: what a key looks like, and what is stored of it.
func TestCreateKey(t *testing.T) {
	w := newWorld(t)
	made, err := w.newKey(w.as(w.ada), fmt.Sprintf(
		`{"label":" ci ","scopes":["user:read","survey:write","user:read"],"scoped_teams":[2,1,2],"scoped_organizations":[%q,%[1]q],"value":"phx_mine"}`, w.acme.ID))
	if err != nil {
		t.Fatal(err)
	}
	value := *made.Value
	if !regexp.MustCompile(`^phx_[0-9A-Za-z]{35,43}$`).MatchString(value) || !regexp.MustCompile(`^[0-9A-Za-z]{35,43}$`).MatchString(made.ID) {
		t.Errorf("value %s, id %s", value, made.ID)
	}
	want := &management.KeyView{
		ID: made.ID, Label: "ci", Value: &value, Mask: "phx_..." + value[len(value)-4:], Created: begin, User: w.ada.ID,
		Scopes: []string{"user:read", "survey:write"}, Projects: []int64{2, 1}, Organizations: []uuid.UUID{w.acme.ID},
	}
	if diff := cmp.Diff(want, made); diff != "" {
		t.Errorf("CreateKey (-want +got)\n%s", diff)
	}
	stored := must(w.store.Keys().Get(t.Context(), storage.KeyID.Is(made.ID)))(t)
	wantStored := &storage.PersonalKey{
		ID: made.ID, User: w.ada.ID, Label: "ci", Mask: want.Mask, Hash: storage.HashKey(value),
		Scopes: want.Scopes, Projects: want.Projects, Organizations: want.Organizations, Created: begin,
	}
	if diff := cmp.Diff(wantStored, stored); diff != "" {
		t.Errorf("stored (-want +got)\n%s", diff)
	}
	w.checkMails("a key", "personal_api_key_created"+" to ada@example.com")

	// The value is shown once.
	want.Value = nil
	if got, err := w.Key(t.Context(), w.as(w.ada), made.ID); err != nil || !cmp.Equal(want, got) {
		t.Errorf("Key = %v (-want +got)\n%s", err, cmp.Diff(want, got))
	}
	const json = `{"id":"ID","label":"ci","value":null,"mask_value":"MASK","created_at":"2026-03-04T05:06:07Z","last_used_at":null,` +
		`"last_rolled_at":null,"user_id":1,"scopes":["user:read","survey:write"],"scoped_teams":[2,1],"scoped_organizations":["ACME"]}`
	names := strings.NewReplacer(made.ID, "ID", made.Mask, "MASK", w.acme.ID.String(), "ACME")
	if diff := cmp.Diff(json, names.Replace(encode(t, want))); diff != "" {
		t.Errorf("Key (-want +got)\n%s", diff)
	}
}

func TestCreateKeyRefuses(t *testing.T) {
	w := newWorld(t)
	w.key(w.ada)
	for _, tt := range []struct{ name, body, want string }{
		{"nothing", `{}`, "invalid required label"},
		{"no scopes", `{"label":"x"}`, "invalid required scopes"},
		{"label null", `{"label":null,"scopes":["*"]}`, "invalid null label"},
		{"label empty", `{"label":"","scopes":["*"]}`, "invalid blank label"},
		{"label blank", `{"label":"  ","scopes":["*"]}`, "invalid blank label"},
		{"label too long", `{"label":"` + chars(41) + `","scopes":["*"]}`, "invalid max_length label"},
		{"label of another type", `{"label":["x"],"scopes":["*"]}`, "invalid invalid_input label"},
		{"scopes null", `{"label":"x","scopes":null}`, "invalid null scopes"},
		{"scopes empty", `{"label":"x","scopes":[]}`, "invalid invalid_input scopes"},
		{"scopes no list", `{"label":"x","scopes":"*"}`, "invalid not_a_list scopes"},
		{"scopes no strings", `{"label":"x","scopes":[1]}`, "invalid invalid_input scopes"},
		{"scope unknown", `{"label":"x","scopes":["user:read","server:read"]}`, "invalid invalid_input scopes"},
		{"scope of another action", `{"label":"x","scopes":["user:admin"]}`, "invalid invalid_input scopes"},
		{"scope without action", `{"label":"x","scopes":["user"]}`, "invalid invalid_input scopes"},
		{"scope for all of a kind", `{"label":"x","scopes":["*:read"]}`, "invalid invalid_input scopes"},
		{"teams no list", `{"label":"x","scopes":["*"],"scoped_teams":1}`, "invalid not_a_list scoped_teams"},
		{"teams no numbers", `{"label":"x","scopes":["*"],"scoped_teams":["1"]}`, "invalid invalid_input scoped_teams"},
		{"team of others", `{"label":"x","scopes":["*"],"scoped_teams":[1,3]}`, "invalid invalid_input scoped_teams"},
		{"team unknown", `{"label":"x","scopes":["*"],"scoped_teams":[99]}`, "invalid invalid_input scoped_teams"},
		{"too many teams", `{"label":"x","scopes":["*"],"scoped_teams":[1` + strings.Repeat(",1", 1000) + `]}`, "invalid invalid_input scoped_teams"},
		{"organizations no list", `{"label":"x","scopes":["*"],"scoped_organizations":{}}`, "invalid not_a_list scoped_organizations"},
		{"organizations no UUIDs", `{"label":"x","scopes":["*"],"scoped_organizations":["acme"]}`, "invalid invalid_input scoped_organizations"},
		{"organization of others", `{"label":"x","scopes":["*"],"scoped_organizations":["` + w.umbra.ID.String() + `"]}`, "invalid invalid_input scoped_organizations"},
		{"organization unknown", `{"label":"x","scopes":["*"],"scoped_organizations":["` + uuid.NewString() + `"]}`, "invalid invalid_input scoped_organizations"},
	} {
		before := w.state()
		_, err := w.newKey(w.as(w.ada), tt.body)
		checkFault(t, "CreateKey: "+tt.name, err, tt.want)
		if !strings.Contains(tt.want, "required") {
			_, err = w.UpdateKey(t.Context(), w.as(w.ada), before.Keys[0].ID, decode[management.KeyPatch](t, tt.body))
			checkFault(t, "UpdateKey: "+tt.name, err, tt.want)
		}
		w.checkUnchanged(tt.name, before)
	}
	w.checkMails("nothing")

	for _, body := range []string{
		`{"label":"` + chars(40) + `","scopes":["*"]}`,
		`{"label":"x","scopes":["*","user:read"],"scoped_teams":null,"scoped_organizations":null}`,
		`{"label":"x","scopes":["activity_log:read"],"scoped_teams":[],"scoped_organizations":[]}`,
	} {
		_, err := w.newKey(w.as(w.ada), body)
		checkFault(t, "CreateKey "+body, err, "")
	}
}

// A user has at most ten keys (management.md §1.2), also if several are made at
// once.
func TestMostKeys(t *testing.T) {
	w := newWorld(t)
	w.key(w.ben)
	p := w.as(w.ada)
	faults := make(chan string, 15)
	for range cap(faults) {
		go func() {
			_, err := w.CreateKey(context.Background(), p, management.KeyPatch{Label: optional.Of("x"), Scopes: anyJSON([]string{"*"})})
			faults <- fault(err)
		}()
	}
	count := make(map[string]int)
	for range cap(faults) {
		count[<-faults]++
	}
	if diff := cmp.Diff(map[string]int{"": 10, "invalid invalid_input": 5}, count); diff != "" {
		t.Errorf("answers (-want +got)\n%s", diff)
	}
	// Programs on the machine of the server have no limit.
	for range 3 {
		if _, err := w.IssueKey(t.Context(), w.ada.Email, "x"); err != nil {
			t.Errorf("IssueKey = %v", err)
		}
	}
	keys := must(w.Keys(t.Context(), p))(t)
	if len(keys) != 13 {
		t.Errorf("%d keys, want 13", len(keys))
	}
	for _, k := range keys[:3] {
		w.ok(w.DeleteKey(t.Context(), p, k.ID))
	}
	_, err := w.newKey(p, `{"label":"x","scopes":["*"]}`)
	checkFault(t, "CreateKey with ten keys", err, "invalid invalid_input")
	w.ok(w.DeleteKey(t.Context(), p, keys[5].ID))
	_, err = w.newKey(p, `{"label":"x","scopes":["*"]}`)
	checkFault(t, "CreateKey with nine keys", err, "")
}

// Keys come newest first, and nobody sees keys of others.
func TestListKeys(t *testing.T) {
	w := newWorld(t)
	w.key(w.ben)
	for i := range 3 {
		w.clock.advance(time.Minute)
		must(w.newKey(w.as(w.ada), fmt.Sprintf(`{"label":"%d","scopes":["*"]}`, i)))(t)
	}
	labels := func(p *management.Principal) string {
		var all []string
		for _, k := range must(w.Keys(t.Context(), p))(t) {
			if k.Value != nil {
				t.Errorf("Keys shows the value %s", *k.Value)
			}
			all = append(all, k.Label)
		}
		return strings.Join(all, " ")
	}
	if got := labels(w.as(w.ada)); got != "2 1 0" {
		t.Errorf("Keys = %s, want 2 1 0", got)
	}
	if list, err := w.Keys(t.Context(), w.as(w.eve)); err != nil || list == nil || len(list) != 0 {
		t.Errorf("Keys of who has none = %v, %v; want an empty list", list, err)
	}
	w.ada.Staff = true
	w.put(w.ada)
	if got := labels(w.as(w.ada)); got != "2 1 0" {
		t.Errorf("Keys for the staff = %s, want their own", got)
	}
}

// Nobody can do anything to keys of others, not even the staff.
func TestKeysOfOthers(t *testing.T) {
	w := newWorld(t)
	foreign := w.key(w.ada).Key.ID
	before := w.state()
	for _, p := range []*management.Principal{w.as(w.ben), w.as(w.sam)} {
		for _, id := range []string{foreign, "unknown", "", "@current"} {
			_, err := w.Key(t.Context(), p, id)
			checkFault(t, "Key "+id, err, "not found not_found")
			_, err = w.UpdateKey(t.Context(), p, id, management.KeyPatch{Label: optional.Of("mine")})
			checkFault(t, "UpdateKey "+id, err, "not found not_found")
			_, err = w.RollKey(t.Context(), p, id)
			checkFault(t, "RollKey "+id, err, "not found not_found")
			checkFault(t, "DeleteKey "+id, w.DeleteKey(t.Context(), p, id), "not found not_found")
		}
	}
	w.checkUnchanged("all of it", before)
}

// Keys that cannot do everything cannot make keys that can, but each can look at
// itself.
func TestKeysCannotEscalate(t *testing.T) {
	w := newWorld(t)
	victim := w.key(w.ada).Key.ID
	for name, limit := range map[string]func(*storage.PersonalKey){
		"without *":           scopes("user:write", "organization:write", "project:write"),
		"with one scope":      scopes("user:read"),
		"for a project":       onlyProjects(w.web),
		"for an organization": onlyOrganizations(w.acme),
	} {
		p := w.key(w.ada, limit)
		own := p.Key.ID
		before := w.state()
		const refused = "forbidden permission_denied"
		for _, id := range []string{own, "@current"} {
			k, err := w.Key(t.Context(), p, id)
			if err != nil || k.ID != own {
				t.Errorf("Key(%s) of a key %s = %v, %v; want itself", id, name, k, err)
			}
		}
		for _, id := range []string{own, "@current", victim, "unknown"} {
			_, err := w.UpdateKey(t.Context(), p, id, management.KeyPatch{Scopes: anyJSON([]string{"*"}), Projects: anyJSON([]int64{})})
			checkFault(t, "UpdateKey "+name, err, refused)
			_, err = w.RollKey(t.Context(), p, id)
			checkFault(t, "RollKey "+name, err, refused)
			checkFault(t, "DeleteKey "+name, w.DeleteKey(t.Context(), p, id), refused)
		}
		_, err := w.Key(t.Context(), p, victim)
		checkFault(t, "Key "+name, err, refused)
		_, err = w.Keys(t.Context(), p)
		checkFault(t, "Keys "+name, err, refused)
		_, err = w.newKey(p, `{"label":"x","scopes":["user:read"]}`)
		checkFault(t, "CreateKey "+name, err, refused)
		w.checkUnchanged("a key "+name, before)
	}
}

func TestUpdateKey(t *testing.T) {
	w := newWorld(t)
	p := w.key(w.ada, onlyNothing)
	id := p.Key.ID
	update := func(body string) *management.KeyView {
		t.Helper()
		k, err := w.UpdateKey(t.Context(), w.as(w.ada), id, decode[management.KeyPatch](t, body))
		checkFault(t, "UpdateKey "+body, err, "")
		return k
	}
	if k := update(`{"label":"new"}`); k.Label != "new" || k.Value != nil || k.Mask != p.Key.Mask || len(k.Scopes) != 1 {
		t.Errorf("UpdateKey = %+v", k)
	}
	k := update(`{"scopes":["user:read"],"scoped_teams":[1]}`)
	if diff := cmp.Diff([]string{"user:read"}, k.Scopes); diff != "" || k.Label != "new" || k.Projects[0] != 1 {
		t.Errorf("UpdateKey = %+v", k)
	}
	if k = update(`{"scoped_teams":null}`); len(k.Projects) != 0 || k.Projects == nil || k.Organizations == nil {
		t.Errorf("UpdateKey = %+v, want empty lists", k)
	}
	if stored := must(w.store.Keys().Get(t.Context(), storage.KeyID.Is(id)))(t); stored.Hash != p.Key.Hash || stored.LastUsed == nil {
		t.Errorf("stored %+v", stored)
	}
	// What does not change is not logged, and nobody is told.
	before := w.state()
	update(`{}`)
	update(`{"label":"new"}`)
	w.checkUnchanged("UpdateKey", before)

	// A restriction that was allowed once stays when it is no longer.
	update(fmt.Sprintf(`{"scoped_organizations":[%q],"scoped_teams":[1]}`, w.acme.ID))
	w.level(w.ben, storage.LevelOwner)
	w.ok(w.store.Memberships().Delete(t.Context(), storage.MembershipOrganization.Is(w.acme.ID), storage.MembershipUser.Is(w.ada.ID)))
	if k = update(`{"label":"newer"}`); len(k.Organizations) != 1 || len(k.Projects) != 1 {
		t.Errorf("UpdateKey = %+v, want the restrictions to stay", k)
	}
}

func onlyNothing(*storage.PersonalKey) {}

func TestRollKey(t *testing.T) {
	w := newWorld(t)
	made := must(w.newKey(w.as(w.ada), `{"label":"ci","scopes":["*"]}`))(t)
	old := must(w.Authenticate(t.Context(), *made.Value, "the Authorization header"))(t)
	w.mails()
	w.clock.advance(time.Minute)
	rolled, err := w.RollKey(t.Context(), old, "@current")
	if err != nil {
		t.Fatal(err)
	}
	value := *rolled.Value
	want := *made
	want.Value, want.Mask, want.LastRolled, want.LastUsed = &value, "phx_..."+value[len(value)-4:], new(begin.Add(time.Minute)), new(begin)
	if diff := cmp.Diff(&want, rolled); diff != "" {
		t.Errorf("RollKey (-want +got)\n%s", diff)
	}
	w.checkMails("the key", "personal_api_key_rolled"+" to ada@example.com")
	_, err = w.Authenticate(t.Context(), *made.Value, "the Authorization header")
	checkFault(t, "Authenticate with the old value", err, "unauthenticated authentication_failed")
	if p, err := w.Authenticate(t.Context(), value, "the Authorization header"); err != nil || p.Key.ID != made.ID {
		t.Errorf("Authenticate with the new value = %v, %v", p, err)
	}
	// Another key can roll it too, and a caller that still has the old value
	// cannot.
	if _, err := w.RollKey(t.Context(), w.key(w.ada), made.ID); err != nil {
		t.Errorf("RollKey by another key = %v", err)
	}
	_, err = w.RollKey(t.Context(), old, "@current")
	checkFault(t, "RollKey with the old value", err, "unauthenticated authentication_failed")
}

// Of several who roll a key with its old value at once, one succeeds, and the
// value that it got is the one that is good.
func TestRollKeyRace(t *testing.T) {
	w := newWorld(t)
	made := must(w.newKey(w.as(w.ada), `{"label":"ci","scopes":["*"]}`))(t)
	const n = 8
	type result struct {
		value string
		fault string
	}
	results := make(chan result, n)
	var principals []*management.Principal // before the first of them wins
	for range n {
		principals = append(principals, must(w.Authenticate(t.Context(), *made.Value, "the Authorization header"))(t))
	}
	for _, p := range principals {
		go func() {
			k, err := w.RollKey(context.Background(), p, "@current")
			r := result{fault: fault(err)}
			if err == nil {
				r.value = *k.Value
			}
			results <- r
		}()
	}
	var winners []string
	for range n {
		switch r := <-results; r.fault {
		case "":
			winners = append(winners, r.value)
		case "unauthenticated authentication_failed":
		default:
			t.Errorf("RollKey: %s", r.fault)
		}
	}
	if len(winners) != 1 {
		t.Fatalf("%d of %d have rolled the key, want 1", len(winners), n)
	}
	if _, err := w.Authenticate(t.Context(), winners[0], "the Authorization header"); err != nil {
		t.Errorf("Authenticate = %v", err)
	}
}

func TestDeleteKey(t *testing.T) {
	w := newWorld(t)
	made := must(w.newKey(w.as(w.ada), `{"label":"ci","scopes":["*"]}`))(t)
	p := must(w.Authenticate(t.Context(), *made.Value, "the Authorization header"))(t)
	w.mails()
	w.ok(w.DeleteKey(t.Context(), p, "@current")) // itself
	w.checkMails("the key", "personal_api_key_deleted"+" to ada@example.com")
	_, err := w.Authenticate(t.Context(), *made.Value, "the Authorization header")
	checkFault(t, "Authenticate", err, "unauthenticated authentication_failed")
}

func TestIssueKey(t *testing.T) {
	w := newWorld(t)
	k, err := w.IssueKey(t.Context(), " ADA@example.com", "cli", "user:read", "survey:write")
	if err != nil || k.Label != "cli" || k.User != w.ada.ID || !cmp.Equal(k.Scopes, []string{"user:read", "survey:write"}) {
		t.Errorf("IssueKey = %+v, %v", k, err)
	}
	if p, err := w.Authenticate(t.Context(), *k.Value, "the Authorization header"); err != nil || p.User.ID != w.ada.ID {
		t.Errorf("Authenticate = %v, %v", p, err)
	}
	if k, err = w.IssueKey(t.Context(), w.ada.Email, "cli"); err != nil || !cmp.Equal(k.Scopes, []string{"*"}) {
		t.Errorf("IssueKey without scopes = %+v, %v; want all", k, err)
	}
	for _, tt := range []struct {
		email, label string
		scope        management.Scope
		want         string
	}{
		{"nobody@example.com", "x", "*", "not found not_found"},
		{"old@example.com", "x", "*", "not found not_found"},
		{"ada@example.com", "", "*", "invalid blank label"},
		{"ada@example.com", "x", "nonsense", "invalid invalid_input scopes"},
	} {
		_, err := w.IssueKey(t.Context(), tt.email, tt.label, tt.scope)
		checkFault(t, fmt.Sprintf("IssueKey(%s, %q, %s)", tt.email, tt.label, tt.scope), err, tt.want)
	}
}

func TestAuthenticate(t *testing.T) {
	w := newWorld(t)
	value := *must(w.IssueKey(t.Context(), w.ada.Email, "x"))(t).Value
	inactive := *must(w.IssueKey(t.Context(), w.ben.Email, "x"))(t).Value
	w.ben.Active = false
	w.put(w.ben)
	for _, tt := range []struct{ name, key, want string }{
		{"right", value, ""},
		{"none", "", "unauthenticated not_authenticated"},
		{"unknown", storage.NewPersonalKey(), "unauthenticated authentication_failed"},
		{"of who is not active", inactive, "unauthenticated authentication_failed"},
		{"of a project", w.web.APIKey, "unauthenticated authentication_failed"},
		{"without prefix", value[4:], "unauthenticated authentication_failed"},
		{"prefix in capitals", "PHX_" + value[4:], "unauthenticated authentication_failed"},
		{"with a blank", value + " ", "unauthenticated authentication_failed"},
		{"cut", value[:len(value)-1], "unauthenticated authentication_failed"},
		{"its hash", storage.HashKey(value), "unauthenticated authentication_failed"},
		{"its mask", value[:4] + "..." + value[len(value)-4:], "unauthenticated authentication_failed"},
		{"very long", "phx_" + strings.Repeat("x", 1<<20), "unauthenticated authentication_failed"},
		{"prefix only", "phx_", "unauthenticated authentication_failed"},
	} {
		p, err := w.Authenticate(t.Context(), tt.key, "the Authorization header")
		checkFault(t, "Authenticate: "+tt.name, err, tt.want)
		if (p != nil) != (tt.want == "") {
			t.Errorf("Authenticate: %s = %+v", tt.name, p)
		}
	}
	// The texts of management.md §1.9.
	for from, want := range map[string]string{
		"the Authorization header": "The personal API key in the Authorization header is not valid.",
		"the request body":         "The personal API key in the request body is not valid.",
		"the query string":         "The personal API key in the query string is not valid.",
	} {
		if _, err := w.Authenticate(t.Context(), "x", from); err.(*management.Error).Detail != want {
			t.Errorf("Authenticate from %s = %v, want %s", from, err, want)
		}
	}
}

// last_used_at is written at most once an hour, and nobody is kept out if it
// cannot be.
func TestLastUsed(t *testing.T) {
	touched, fails := 0, false
	w := newWorld(t, alter(&altered{touchKey: func(s storage.Store, ctx context.Context, k *storage.PersonalKey) error {
		touched++
		if fails {
			return errBroken
		}
		return s.Keys().Touch(ctx, k)
	}}))
	made := must(w.newKey(w.as(w.ada), `{"label":"ci","scopes":["*"]}`))(t)
	use := func(wantTouched int, wantUsed time.Time) {
		t.Helper()
		if _, err := w.Authenticate(t.Context(), *made.Value, "the Authorization header"); err != nil {
			t.Fatal(err)
		}
		if used := must(w.store.Keys().Get(t.Context(), storage.KeyID.Is(made.ID)))(t).LastUsed; touched != wantTouched || !used.Equal(wantUsed) {
			t.Errorf("touched %d times, last used %v; want %d, %v", touched, used, wantTouched, wantUsed)
		}
	}
	use(1, begin)
	use(1, begin)
	w.clock.advance(time.Hour - time.Microsecond)
	use(1, begin)
	w.clock.advance(time.Microsecond)
	use(2, begin.Add(time.Hour))
	w.clock.advance(time.Hour)
	fails = true
	use(3, begin.Add(time.Hour))
	if log := w.log.String(); !strings.Contains(log, "last use of a personal API key is not written") || strings.Contains(log, *made.Value) || !strings.Contains(log, made.Mask) {
		t.Errorf("log %s", log)
	}
}
