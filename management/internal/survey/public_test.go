package survey_test

import (
	"encoding/json"
	"testing"

	"github.com/flagstaff-go/flagstaff/management/internal/survey"
)

// TestPublic follows management.md §12.
func TestPublic(t *testing.T) {
	for _, tt := range []struct {
		name      string
		f         func(json.RawMessage) json.RawMessage
		raw, want string
	}{
		{
			"translations", survey.PublicTranslations,
			`{"de":{"thankYouMessageHeader":"Danke","x":1,"name":"N","questions":[{}],"introScreenHeader":"I"},"fr":{"thankYouMessageDescription":null,"thankYouMessageDescriptionContentType":"html","thankYouMessageCloseButtonText":"C"},"it":null,"en":{"x":1}}`,
			`{"de":{"thankYouMessageHeader":"Danke","name":"N"},"fr":{"thankYouMessageDescription":null,"thankYouMessageDescriptionContentType":"html","thankYouMessageCloseButtonText":"C"},"it":null,"en":{}}`,
		},
		{"no translations", survey.PublicTranslations, ``, ``},
		{"translations null", survey.PublicTranslations, `null`, `null`},
		{"translations empty", survey.PublicTranslations, `{}`, `{}`},
		{
			"actions", survey.PublicConditions,
			`{"url":"/","actions":{"values":[{"id":5,"created_by":{"email":"ada@example.com"},"name":"A","steps":[{"event":"x"}]},{"name":null}],"x":1},"events":{"values":[{"name":"a"}]}}`,
			`{"url":"/","actions":{"values":[{"id":5,"name":"A","steps":[{"event":"x"}]},{"name":null}],"x":1},"events":{"values":[{"name":"a"}]}}`,
		},
		{"conditions without actions", survey.PublicConditions, `{"url":"/","x":1}`, `{"url":"/","x":1}`},
		{"actions null", survey.PublicConditions, `{"actions":null}`, `{"actions":null}`},
		{"actions without values", survey.PublicConditions, `{"actions":{"x":1}}`, `{"actions":{"x":1}}`},
		{"no conditions", survey.PublicConditions, ``, ``},
		{"conditions null", survey.PublicConditions, `null`, `null`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := string(tt.f(json.RawMessage(tt.raw))); got != tt.want {
				t.Errorf("of %s clients get %s, want %s", tt.raw, got, tt.want)
			}
		})
	}
}
