package gofeatureflag

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/thomaspoignant/go-feature-flag/modules/core/dto"
	"go.yaml.in/yaml/v3"

	"github.com/flagstaff-go/flagstaff/examples/import/internal/generate"
	"github.com/flagstaff-go/flagstaff/examples/import/internal/oracle"
)

// TestFile evaluates the flags of a team.
func TestFile(t *testing.T) {
	file, err := os.ReadFile("../../../internal/convert/gofeatureflag/testdata/flags.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var theirs map[string]dto.DTO
	if err := yaml.Unmarshal(file, &theirs); err != nil {
		t.Fatal(err)
	}
	for key, d := range theirs {
		if f := d.Convert(); f.IsValid() != nil {
			t.Errorf("%s: %v", key, f.IsValid())
		}
	}
	var ours any
	if err := yaml.Unmarshal(file, &ours); err != nil {
		t.Fatal(err)
	}
	document, err := json.Marshal(ours)
	if err != nil {
		t.Fatal(err)
	}
	product().RunDocument(t, document, customer, "gradual-image-cdn", "review-photos", "dark-mode", "legacy-invoices", "pricing-experiment")
	of(document, customer).RunExport(t)
}

// TestQueries evaluates flags with all kinds of rules, and what they are exported as.
func TestQueries(t *testing.T) {
	document, err := os.ReadFile("../../../internal/convert/gofeatureflag/testdata/queries.json")
	if err != nil {
		t.Fatal(err)
	}
	subject := func(r *rand.Rand) oracle.Subject { return generate.Generator{Rand: r}.Subject(r.IntN(1000)) }
	product().RunDocument(t, document, subject, "off")
	of(document, subject).RunExport(t)
}

// of returns the product with one document, and subjects that somebody draws.
func of(document []byte, subject func(*rand.Rand) oracle.Subject) *oracle.Product {
	p := product()
	p.Generate = func(r *rand.Rand, n int) ([]byte, []oracle.Subject) {
		subjects := make([]oracle.Subject, n)
		for i := range subjects {
			subjects[i] = subject(r)
		}
		return document, subjects
	}
	return p
}

// customer is somebody whom the filters of the file are about.
func customer(g *rand.Rand) oracle.Subject {
	s := oracle.Subject{ID: fmt.Sprintf("u-%d", g.IntN(1000))}
	values := map[string][]any{
		"email":      {"ada@shop.example", "Bob@SHOP.EXAMPLE", "carl+test@mail.example", "dora@uni.edu", "eve@ox.ac.uk", "frank@mail.com", ""},
		"beta":       {true, false, "true"},
		"country":    {"DE", "AT", "FR", "IT", "US", "de", "GB", "BE", nil, ""},
		"cart":       {map[string]any{"total": 49.99, "items": 3.0}, map[string]any{"total": 50.0, "items": 11.0}, map[string]any{}, "none", nil},
		"appVersion": {"4.11.9", "4.12.0", "4.12.0-beta", "5.0.0-rc.1", "5.0.0-rc.0", "5.2.1", "5.3.0", "5.2", 5.0},
		"plan":       {"free", "trial", "plus", "business", "enterprise", "Enterprise-2", nil},
		"orders":     {0.0, 2.0, 3.0, 10.0, 10.5, 11.0, "11"},
		"roles":      {[]any{"subscriber"}, []any{"editor", "subscriber"}, []any{}, "subscriber", []any{[]any{1.0}}},
		"platform":   {"ios", "android", "web", "iOS"},
		"team":       {map[string]any{"id": fmt.Sprint("t-", g.IntN(50)), "plan": "free"}, map[string]any{"id": fmt.Sprint("t-", g.IntN(50)), "plan": "pro"}, map[string]any{"id": 5.0}, "t-1"},
		"companyId":  {fmt.Sprint("c-", g.IntN(50)), "", 7.0},
		"contract":   {map[string]any{"tier": "gold"}, map[string]any{"tier": "silver"}, nil},
		"age":        {17.0, 17.9, 18.0, 18.5, 70.0, "18"},
		"anonymous":  {true, false, "yes"},
		"account":    {map[string]any{"type": "partner", "spend": 5000.0}, map[string]any{"type": "partner", "spend": 5001.0}, map[string]any{"type": "partner", "spend": "6000"}},
		"apiVersion": {3.0, "3", 2.0}, "userAgent": {"client/v3", "client/v2", 3.0},
		"role": {"admin", "Admin", "user"}, "permissions": {map[string]any{"billing": true}, map[string]any{"billing": "true"}, []any{}},
		"device": {map[string]any{"trusted": true}, map[string]any{}}, "riskScore": {0.75, 0.76, "0.9"}, "chargebacks": {1.0, 1.9, 2.0},
		"consent": {map[string]any{"personalised": false}, map[string]any{"personalised": true}}, "locale": {"de-DE", "fr", "it-IT", "en-US", "DE"},
		"hour": {20.0, 21.0, 22.0, "23"}, "vip": {1.0, "1", true, 0.0}, "pushToken": {"abc", "", nil}, "optOut": {true, false},
		"weight": {30.5, 30.6, 31.0, 30.0}, "zip": {27498.0, 27498.5, "27498", 1.0}, "address": {map[string]any{"city": "münchen"}, map[string]any{"city": "Berlin"}, map[string]any{"city": nil}},
		"region": {"eu-west", "EU-west", "us"}, "userInfo": {map[string]any{"createdYear": 2024.0}, map[string]any{"createdYear": 2023.9, "tester": true}, map[string]any{}},
		"browser": {"Firefox", "Chrome", nil, 1.0}, "verifiedStudent": {true, false},
	}
	s.Properties = oracle.Some(g, values, 5)
	return s
}
