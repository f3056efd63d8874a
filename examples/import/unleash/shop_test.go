package unleash

import (
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/flagstaff-go/flagstaff/examples/import/internal/oracle"
)

// TestShop has the flags of a team, as the SDK reads them.
func TestShop(t *testing.T) {
	document, err := os.ReadFile("../../../internal/convert/unleash/testdata/flags.json")
	if err != nil {
		t.Fatal(err)
	}
	shop := product
	shop.Inexact = []string{"marketing-homepage-poll", "platform-canary-hosts"}
	shop.RunDocument(t, document, customer, "account-delete-grace", "checkout-legacy-tax", "checkout-split-payment", "platform-maintenance",
		"search-cache-ttl", "search-old-index", "search-suggestions")
}

func customer(r *rand.Rand) oracle.Subject {
	s := oracle.Subject{ID: fmt.Sprintf("u-%d", 1000+r.IntN(900))}
	s.Properties = oracle.Some(r, map[string][]any{
		"country":      {"NO", "SE", "FI", "DE", "RO", "US", "GB"},
		"orderTotal":   {99.0, 4999.5, 5000.0, 5001.0, "1200", "a lot"},
		"locale":       {"en-GB", "de-DE", "nb-NO"},
		"query":        {"red shoes", "Vapes", "tobacco pipe", "vapor"},
		"email":        {"a@fjordshop.example", "B@Fjordshop-Contractors.example", "c@mail.example", "d+Debug@mail.example"},
		"appVersion":   {"2.9.9", "3.0.0", "4.0.0-rc.1", "4.1.3", "4.2.0", "4.3.1", "4.3"},
		"platform":     {"ios", "android", "web"},
		"osVersion":    {11.0, 12.0, 13.5, "14"},
		"signedUpAt":   {"2025-12-31T23:59:59Z", "2026-03-01T08:00:00+01:00", "2026-05-05"},
		"connection":   {"4g", "3g", "2g"},
		"plan":         {"free", "plus", "business", "enterprise", "legacy"},
		"role":         {"owner", "admin", "member"},
		"sessionId":    {fmt.Sprintf("s-%d", r.IntN(500))},
		"requestId":    {fmt.Sprintf("r-%d", r.IntN(5000))},
		"trialEndsAt":  {"2026-10-01T00:00:00Z", "2026-12-01T00:00:00Z"},
		"visits":       {1.0, 2.0, 3.0, 19.0, 20.0},
		"userAgent":    {"Mozilla/5.0", "Googlebot/2.1"},
		"currentTime":  {"2026-04-30T12:00:00Z", "2026-12-24T12:00:00Z", "2025-11-15T00:00:00Z"},
		"unknownField": {"x"},
		"remoteAddress": {
			"10.20.3.4", "192.0.2.17", "192.0.2.18", "2001:db8:42::9", "198.51.100.77", "203.0.113.130", "203.0.113.1", "not an address", fmt.Sprintf("10.20.0.%d", r.IntN(256)),
		},
	}, 8)
	s.Properties["companyId"] = fmt.Sprintf("c-%d", r.IntN(60))
	s.Properties["environment"] = one(r, "production", "staging")
	s.Properties["appName"] = one(r, "web", "ios", "warehouse")
	return s
}
