package rules_test

import (
	"encoding/json"
	"testing"

	"github.com/flagstaff-go/flagstaff/surveys/internal/rules"
)

// TestPublic follows management.md §12.
func TestPublic(t *testing.T) {
	for _, tt := range []struct {
		name      string
		f         func(json.RawMessage) json.RawMessage
		raw, want string
	}{
		{
			"translations", rules.PublicTranslations,
			`{"de":{"thankYouMessageHeader":"Danke","x":1,"name":"N","questions":[{}],"introScreenHeader":"I"},"fr":{"thankYouMessageDescription":null,"thankYouMessageDescriptionContentType":"html","thankYouMessageCloseButtonText":"C"},"it":null,"en":{"x":1}}`,
			`{"de":{"thankYouMessageHeader":"Danke","name":"N"},"fr":{"thankYouMessageDescription":null,"thankYouMessageDescriptionContentType":"html","thankYouMessageCloseButtonText":"C"},"it":null,"en":{}}`,
		},
		{"no translations", rules.PublicTranslations, ``, ``},
		{"translations null", rules.PublicTranslations, `null`, `null`},
		{"translations empty", rules.PublicTranslations, `{}`, `{}`},
		{
			"actions", rules.PublicConditions,
			`{"url":"/","actions":{"values":[{"id":5,"created_by":{"email":"ada@example.com"},"name":"A","steps":[{"event":"x"}]},{"name":null}],"x":1},"events":{"values":[{"name":"a"}]}}`,
			`{"url":"/","actions":{"values":[{"id":5,"name":"A","steps":[{"event":"x"}]},{"name":null}],"x":1},"events":{"values":[{"name":"a"}]}}`,
		},
		{"conditions without actions", rules.PublicConditions, `{"url":"/","x":1}`, `{"url":"/","x":1}`},
		{"actions null", rules.PublicConditions, `{"actions":null}`, `{"actions":null}`},
		{"actions without values", rules.PublicConditions, `{"actions":{"x":1}}`, `{"actions":{"x":1}}`},
		{"no conditions", rules.PublicConditions, ``, ``},
		{"conditions null", rules.PublicConditions, `null`, `null`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := string(tt.f(json.RawMessage(tt.raw))); got != tt.want {
				t.Errorf("of %s clients get %s, want %s", tt.raw, got, tt.want)
			}
		})
	}
}
