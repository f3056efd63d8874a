package growthbook_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flagstaff-go/flagstaff/examples/import/internal/oracle"
	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/convert/growthbook"
)

// TestFeatures has a document of 50 features, as a team has them, for people as they come.
func TestFeatures(t *testing.T) {
	document, err := os.ReadFile("../../../internal/convert/growthbook/testdata/flags.json")
	if err != nil {
		t.Fatal(err)
	}
	p := oracle.Product{Convert: growthbook.Convert, Export: growthbook.Export, Open: open}
	p.RunDocument(t, document, visitor, "read-replicas", "maintenance-mode", "nav-language-switch")
	p.Generate = func(r *rand.Rand, n int) ([]byte, []oracle.Subject) {
		subjects := make([]oracle.Subject, n)
		for i := range subjects {
			subjects[i] = visitor(r)
		}
		return document, subjects
	}
	p.RunExport(t)
}

func visitor(r *rand.Rand) oracle.Subject {
	locale := pick(r, "de-DE", "fr-FR", "en-US", "en-CA", "en-GB", "ja-JP", "sv-SE")
	s := oracle.Subject{ID: fmt.Sprintf("u-%d", 1000+r.IntN(3000)), Properties: object{
		"country": pick(r, "US", "CA", "DE", "AT", "FR", "GB", "NL", "SE", "BR", "IN", "RU", "AU", "NO"), "locale": locale,
		"platform": pick(r, "web", "ios", "android"), "deviceType": pick(r, "mobile", "desktop", "tablet"), "anonymousId": fmt.Sprintf("a%x", r.IntN(1<<20)),
		"appVersion": pick(r, "3.9.1", "5.10.0-beta.1", "5.10.0", "6.2.0", "6.10.1+b7"), "browser": pick(r, "Chrome", "Safari", "Internet Explorer 11"),
		"browserVersion": pick(r, "108.0", "99", "121.0.1"), "cartItems": r.IntN(25), "orders": r.IntN(4), "riskScore": r.IntN(100), "queryLength": r.IntN(9),
		"loggedIn": r.IntN(2) == 0, "pushEnabled": r.IntN(2) == 0, "beta": r.IntN(10) == 0, "userAgent": pick(r, "Mozilla/5.0", "Googlebot/2.1", "curl"),
	}}
	if r.IntN(3) > 0 {
		s.Properties["email"] = pick(r, "ada@acme.com", "bob@example.org", "eve@GitHub.com", "kim@acme.com.example")
	}
	if r.IntN(3) > 0 {
		s.Properties["tags"] = pick(r, list{}, list{"fashion"}, list{"newsletter", "loyal"}, list{"employee"}, list{"designers", "beta"}, list{"power-user"})
		s.Properties["devices"] = pick(r, list{}, list{object{"os": "android", "osVersion": "8.1"}}, list{object{"os": "ios", "osVersion": "17"}, object{"os": "android"}}, list{1, 2, 3, 4})
	}
	if r.IntN(3) == 0 {
		s.Properties["companyId"] = fmt.Sprintf("c-%d", r.IntN(100))
		s.Properties["roles"] = pick(r, list{"admin"}, list{"owner", "buyer"}, list{"buyer"})
		s.Properties["company"] = object{
			"id": s.Properties["companyId"], "plan": pick(r, "trial", "business", "enterprise"), "seats": pick(r, 3, 5, 6, 50, 900), "country": pick(r, "US", "DE"),
			"features": pick(r, list{"sso", "audit"}, list{}), "trialEnds": pick(r, "2026-10-01", "2027-01-31"), "contract": object{"locked": r.IntN(2) == 0},
		}
	}
	return s
}

// TestOwnCases has the cases of GrowthBook's own tests: what its SDK makes of each is what
// Flagstaff makes of it, unless the flag says that it is not exact.
func TestOwnCases(t *testing.T) {
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/growthbook/growthbook-golang").Output()
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), "cases.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all struct{ EvalCondition, Feature [][]json.RawMessage }
	if err := json.Unmarshal(b, &all); err != nil {
		t.Fatal(err)
	}
	exact := 0
	for _, c := range all.EvalCondition { // name, condition, attributes, what it is, saved groups
		groups := json.RawMessage("{}")
		if len(c) > 4 {
			groups = c[4]
		}
		document := fmt.Sprintf(`{"features": {"f": {"defaultValue": false, "rules": [{"force": true, "condition": %s}]}}, "savedGroups": %s}`, c[1], groups)
		exact += ownCase(t, string(c[0]), []byte(document), "f", c[2])
	}
	for _, c := range all.Feature { // name, what a client has, feature, what it is
		var client struct{ Attributes, Features, SavedGroups json.RawMessage }
		var key string
		if json.Unmarshal(c[1], &client) != nil || json.Unmarshal(c[2], &key) != nil || client.Features == nil {
			continue
		}
		if client.SavedGroups == nil {
			client.SavedGroups = json.RawMessage("{}")
		}
		document := fmt.Sprintf(`{"features": %s, "savedGroups": %s}`, client.Features, client.SavedGroups)
		exact += ownCase(t, string(c[0]), []byte(document), key, client.Attributes)
	}
	if t.Logf("%d of %d cases are exact", exact, len(all.EvalCondition)+len(all.Feature)); exact < 600 {
		t.Error("want at least 600")
	}
}

// ownCase returns 1 for a case that is exact.
func ownCase(t *testing.T, name string, document []byte, flag string, attributes json.RawMessage) int {
	t.Helper()
	s := oracle.Subject{Properties: object{}}
	if attributes != nil && json.Unmarshal(attributes, &s.Properties) != nil {
		return 0
	}
	if id, given := s.Properties["id"]; given {
		text, ok := id.(string)
		if !ok {
			return 0 // distinct IDs are texts
		}
		s.ID = text
	}
	p, err := growthbook.Convert(document, nil)
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return 0
	}
	for i := range p.Flags {
		if p.Flags[i].Key == flag && len(p.Flags[i].Problems) > 0 {
			return 0
		}
	}
	d, err := p.Definitions(nil)
	if err != nil {
		t.Fatal(err)
	}
	snapshot, err := flags.Compile(d, flags.CompileOptions{})
	if err != nil {
		t.Fatal(err)
	}
	got := json.RawMessage("null")
	if r, err := snapshot.Flag(flag, &flags.Request{DistinctID: s.ID, PersonProperties: s.Properties}); err == nil && r.JSON() != nil {
		got = r.JSON()
	}
	want, err := open(t, document)(flag, &s)
	if err != nil {
		t.Fatal(err)
	}
	if !sameJSON(got, want) {
		t.Errorf("%s: %s, want %s\n%s\nfor %s", name, got, want, document, attributes)
	}
	return 1
}

func sameJSON(a, b json.RawMessage) bool {
	var x, y any
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return false
	}
	return fmt.Sprintf("%#v", x) == fmt.Sprintf("%#v", y)
}
