package rules_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/flagstaff-go/flagstaff/surveys/internal/rules"
)

func translations(raw json.RawMessage) (json.RawMessage, error) {
	return rules.Translations(raw, json.RawMessage(threeQuestions), "en")
}

// TestTranslations follows management.md §9.1 and §9.3.
func TestTranslations(t *testing.T) {
	for _, tt := range []struct{ name, raw, want string }{
		{"none", `{}`, ""},
		{"Ruling96: languages", `{"de":{},"pt-BR":null,"zh-Hant-TW":{},"en_GB":{},"Ro_RO":{}}`, `{"de":{},"pt-br":null,"zh-hant-tw":{},"en-gb":{},"ro-ro":{}}`},
		{"texts", `{"de":{"name":"a & <b>","thankYouMessageHeader":"Danke <3","thankYouMessageDescriptionContentType":"html","introScreenHeader":null,"x":1}}`, ""},
		{"questions", `{"de":{"questions":[{"question":"Warum?"},null,{"choices":["x","y","z"],"x":1}]}}`, ""},
		{"Ruling96: a link that is not translated yet", `{"de":{"questions":[{"link":"","question":"Warum?"}]}}`, `{"de":{"questions":[{"question":"Warum?"}]}}`},
		{"some questions", `{"de":{"questions":[{}]},"fr":{"questions":[]},"it":{"questions":null}}`, ""},
		{
			"cleaned",
			`{"de":{"thankYouMessageHeader":"<b onclick=x>a</b>","thankYouMessageDescription":"<script>x</script>b","questions":[{"question":"<i x>c"},{"lowerBoundLabel":"<i x>d"},{"choices":["<i x>e","f","g"]}]}}`,
			`{"de":{"thankYouMessageHeader":"<b>a</b>","thankYouMessageDescription":"b","questions":[{"question":"<i>c"},{"lowerBoundLabel":"<i>d"},{"choices":["<i>e","f","g"]}]}}`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) { kept(t, translations, tt.raw, tt.want) })
	}
	for _, tt := range []struct{ name, raw, detail string }{
		{"no language", `{"":{}}`, "language tags"},
		{"Ruling96: default", `{"default":{}}`, `not "default".`},
		{"Ruling96: English as a word", `{"English":{}}`, `not "English".`},
		{"Ruling96: the base language", `{"de":{},"EN":{}}`, `must not have "EN", the language in which the survey is written (base_language).`},
		{"Ruling96: a language twice", `{"pt-BR":{},"pt_br":{}}`, `must have each language once: "pt-BR" and "pt_br" are the same.`},
		{"a number", `{"1":{}}`, "language tags"},
		{"a script", `{"<script>":{}}`, `not "<script>".`},
		{"a name of 21 characters", `{"de-abcdefgh-abcdefghi":{}}`, "language tags"},
		{"201 languages", `{` + manyLanguages(201) + `}`, "at most 200 languages"},
		{"texts no object", `{"de":"Hallo"}`, "de: must be an object."},
		{"name", `{"de":{"name":1}}`, "de/name: must be a string."},
		{"long name", `{"de":{"name":"` + strings.Repeat("a", 401) + `"}}`, "de/name: must have no more than 400 characters."},
		{"text", `{"pt-BR":{"thankYouMessageHeader":1}}`, "pt-BR/thankYouMessageHeader: must be a string."},
		{"content type", `{"de":{"thankYouMessageDescriptionContentType":"x"}}`, "must be one of text, html."},
		{"questions by id", `{"de":{"questions":{"q1":{}}}}`, "de/questions: must be a list with no more elements than the survey has questions, 3."},
		{"four questions", `{"de":{"questions":[{},{},{},{}]}}`, "no more elements than the survey has questions, 3."},
		{"a question as text", `{"de":{"questions":[null,"Warum?"]}}`, "de/questions/1: must be an object."},
		{"text of a question", `{"de":{"questions":[{"question":1}]}}`, "de/questions/0/question: must be a string."},
		{"two choices", `{"de":{"questions":[{},{},{"choices":["x","y"]}]}}`, "de/questions/2/choices: must have as many elements as the question has choices, 3."},
		{"choices no list", `{"de":{"questions":[{},{},{"choices":"x"}]}}`, "choices: must be a list"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			refused(t, translations, tt.raw, "translations", "invalid_input", tt.detail)
		})
	}
	none := func(raw json.RawMessage) (json.RawMessage, error) { return rules.Translations(raw, nil, "en") }
	kept(t, none, `{"de":{"questions":[]}}`, "")
	refused(t, none, `{"de":{"questions":[{}]}}`, "translations", "invalid_input", "questions, 0.")
}

func manyLanguages(n int) string {
	members := make([]string, n)
	for i := range members {
		members[i] = `"` + string(rune('a'+i/26)) + string(rune('a'+i%26)) + `":{}`
	}
	return strings.Join(members, ",")
}

// TestRuling96Languages follows management.md §9.1.
func TestRuling96Languages(t *testing.T) {
	for language, want := range map[string]string{
		"en": "en", "pt-BR": "pt-br", "zh-Hant-TW": "zh-hant-tw", "en_GB": "en-gb", "Ro_RO": "ro-ro", "es-419": "es-419", "yue": "yue",
	} {
		if got, err := rules.CheckLanguage(language); got != want || err != nil {
			t.Errorf("CheckLanguage(%q) = %q, %v, want %q", language, got, err, want)
		}
	}
	for _, language := range []string{
		"", "e", "english1", "default", "English", "de-", "-de", "de--AT", "de AT", "dé", "de\n", "de-abcdefgh-abcdefghi", strings.Repeat("a", 9),
	} {
		_, err := rules.CheckLanguage(language)
		checkFault(t, language, err, "base_language", "invalid_input", "language tag")
	}
}

func FuzzTranslations(f *testing.F) {
	f.Add(`{"de":{"name":"a","thankYouMessageHeader":"<b onclick=x>a"},"pt-BR":null}`)
	f.Add(`{"de":{"questions":[{"question":"<i x>"},null,{"choices":["x","y","<z"]}]}}`)
	f.Fuzz(func(t *testing.T, raw string) {
		stored := fuzzed(t, translations, raw)
		var languages map[string]json.RawMessage
		if stored != nil {
			if err := json.Unmarshal(rules.PublicTranslations(stored), &languages); err != nil {
				t.Fatalf("PublicTranslations(%s): %v", stored, err)
			}
		}
		for _, texts := range languages {
			checkClean(t, stringAt(texts, "thankYouMessageHeader"))
			checkClean(t, stringAt(texts, "thankYouMessageDescription"))
		}
	})
}

// stringAt returns the text of a member, or "" if it is missing.
func stringAt(raw json.RawMessage, name string) string {
	var o map[string]json.RawMessage
	_ = json.Unmarshal(raw, &o)
	var s string
	_ = json.Unmarshal(o[name], &s)
	return s
}
