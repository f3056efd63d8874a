package flipt_test

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/flagstaff-go/flagstaff/examples/import/internal/oracle"
)

// TestRealistic compares a file as a team has it.
func TestRealistic(t *testing.T) {
	raw, err := os.ReadFile("../../../internal/convert/flipt/testdata/features.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var features any
	if err := yaml.Unmarshal(raw, &features); err != nil {
		t.Fatal(err)
	}
	document, err := json.Marshal(features)
	if err != nil {
		t.Fatal(err)
	}
	product(since29).RunDocument(t, document, customer,
		"eu-data", "wish-list-sharing", "review-order", "dark-mode", "chat-bot", "gift-cards", "3ds-fallback", "read-only", "packaging", "maintenance-banner", "recent-searches", "save-cards")
}

// customer returns one that the segments of the file ask for.
func customer(r *rand.Rand) oracle.Subject {
	values := map[string][]string{
		"email": {"a@shop.example", "b@example.org"}, "beta": {"true", "false", "1", "no"}, "groups": {"testers", "a,testers", "none"},
		"country": {"DE", "AT", "FR", "de"}, "spent": {"999.99", "1000", "1e3", "5000"}, "returns": {"0", "10", "9.5", "x"}, "orders": {"11", "12", "100"},
		"last-order": {"2025-12-31", "2026-01-01", "2026-05-01T12:00:00Z", "yesterday"}, "app": {"3.9", "4.0.1", "4.2", " 4.1"}, "platform": {"ios", "android", "web"},
		"born": {"2008-06-01", "2008-06-01T00:00:01Z", "1990-01-01"}, "categories": {"clothes", "clothes,uniforms", "books"}, "messages": {"true", "false"},
		"company": {"Kranich GmbH"}, "partner-level": {"1", "2.0", "4"},
	}
	ids := []string{"anna", "ben", "customer-4711", "support-1", "nobody"}
	s := oracle.Subject{ID: "customer-" + strconv.Itoa(r.IntN(1e6))}
	if r.IntN(8) == 0 {
		s.ID = ids[r.IntN(len(ids))]
	}
	s.Properties = oracle.Some(r, values, 3)
	return s
}
