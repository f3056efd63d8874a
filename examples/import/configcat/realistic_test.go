package configcat_test

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"github.com/flagstaff-go/flagstaff/examples/import/internal/oracle"
)

// TestRealistic compares a config as a team has it.
func TestRealistic(t *testing.T) {
	document, err := os.ReadFile("../../../internal/convert/configcat/testdata/flags.json")
	if err != nil {
		t.Fatal(err)
	}
	product.RunDocument(t, document, customer,
		"euData", "giftCards", "readOnly", "saveCards", "strongCustomerFallback", "darkMode", "maintenanceBanner", "packaging", "recentSearches")
}

// customer returns one that the conditions of the config ask for.
func customer(r *rand.Rand) oracle.Subject {
	values := map[string][]any{
		"Email": {"a@shop.example", "b@shop-partner.example", "c@example.org", "service-1@example.org", ""}, "Country": {"Germany", "Austria", "France", "germany"},
		"groups": {[]any{"testers"}, []any{"a", "early"}, `["testers","partners"]`, []any{}, "testers"}, "spent": {999.99, 1000.0, "1000", "1.500,5", "1500,5"},
		"returns": {0.0, 10.0, "9", "x"}, "app": {"3.9.0", "4.0.0", "4.0.1", "4.2.0-beta.1", "4.2", " 4.1.0"}, "lastOrder": {1767225599.0, 1767225600.0, "1767225601.5"},
		"age": {15.0, 16.0, "12"}, "categories": {"clothes", "clothes,uniforms", "books"}, "messages": {"yes", "no"}, "device": {"d-1", "d-2", 17.0, ""},
		"orders": {11.0, 12.0, "12"}, "company": {"Kranich GmbH", "Nordwind", "Südwind", "Testfirma"}, "household": {"h-1", "h-2", "h-3"},
		"version": {"2.0.0", "2.1.0-rc.1", "2.1.0"}, "region": {"eu-west", "eu-east"}, "rating": {4.5, 4.6, "4,5"}, "joined": {1735689600.0, 1735689601.0}, "network": {"wifi", "lte"},
	}
	ids := []string{"customer-4711", "customer-0815", "customer-1", ""}
	s := oracle.Subject{ID: "customer-" + strconv.Itoa(r.IntN(1e6))}
	if r.IntN(8) == 0 {
		s.ID = ids[r.IntN(len(ids))]
	}
	s.Properties = oracle.Some(r, values, 3)
	return s
}
