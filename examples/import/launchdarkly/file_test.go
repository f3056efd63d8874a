package launchdarkly

import (
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/flagstaff-go/flagstaff/examples/import/internal/oracle"
)

// TestFile evaluates the flags of a team.
func TestFile(t *testing.T) {
	document, err := os.ReadFile("../../../internal/convert/launchdarkly/testdata/flags.json")
	if err != nil {
		t.Fatal(err)
	}
	team := product
	team.GroupTypes = []string{"organization", "service"}
	team.RunDocument(t, document, customer,
		"reports-cache-ttl", "ops-queue-backend", "ops-read-only", "profile-avatars", "ops-maintenance-banner", "profile-delete-account", "editor-autosave", "search-typo-tolerance", "checkout-guest")
}

// customer is somebody whom the clauses of the file are about.
func customer(r *rand.Rand) oracle.Subject {
	s := oracle.Subject{ID: fmt.Sprintf("u-%d", 1000+r.IntN(3000)), Groups: make(map[string]string), OfGroups: make(map[string]map[string]any)}
	if r.IntN(8) == 0 {
		s.ID = pick(r, []string{"u-1002", "u-1003", "u-1017", "u-2044", "u-3001"})
	}
	s.Properties = oracle.Some(r, map[string][]any{
		"aiConsent": {true, false, "true"}, "anonymous": {true, false}, "betaOptIn": {true, false},
		"appVersion": {"2.9.9", "3.0.0", "3", "4.1.9", "4.2.0", "5.0.0", "5.1.0-beta.1", "5.1.0-beta.2", "5.1.0", "5.2.0", "5.2.1", "5.2", "v5.2.0"},
		"country":    {"DE", "AT", "CH", "CA", "ES", "FR", "IE", "IT", "US", "GB", "NL", "SE", "de"},
		"createdAt":  {"2024-12-31T23:59:59Z", "2025-01-01T00:00:00Z", "2025-01-01T00:00:00.001Z", 1735689600001.0, "yesterday"},
		"deviceId":   {fmt.Sprintf("d-%d", r.IntN(500)), "", 17.0},
		"email":      {"a@acme.com", "a.b+test@acme.com", "qa@example.com", "x@test.example", "ada@globex.com", "Ada@globex.com"},
		"groups":     {[]any{"design"}, []any{"sales", "docs"}, []any{}, "docs", "sales"},
		"lastLogin":  {1735689599999.0, 1735689600000.0, "2024-05-01T00:00:00Z"},
		"name":       {"QA robot", "Ada"}, "os": {"iOS", "Android", "Windows"}, "plan": {"free", "pro", "business", "enterprise", "Pro"},
		"timezone":  {"Europe/Berlin", "America/New_York"},
		"userAgent": {"Mozilla/5.0 (iPhone)", "Mozilla/5.0 (Linux; Android 15) Mobile", "curl/8.9"},
	}, 6)
	if r.IntN(2) == 0 {
		s.Groups["organization"] = pick(r, []string{"acme-gmbh", "globex", "initech", fmt.Sprintf("o-%d", r.IntN(500))})
		s.OfGroups["organization"] = oracle.Some(r, map[string][]any{
			"address": {map[string]any{"country": "US"}, map[string]any{"country": "DE"}, map[string]any{}, "US"},
			"region":  {"us-gov", "eu"}, "seats": {24.0, 24.5, 25.0, "25"}, "tier": {"team", "business", "enterprise", "free"},
		}, 5)
	}
	if r.IntN(2) == 0 {
		s.Groups["service"] = pick(r, []string{"api-canary", "api"})
		s.OfGroups["service"] = oracle.Some(r, map[string][]any{"region": {"eu-west-1", "us-east-2", "us-west-1"}}, 5)
	}
	return s
}
