package rules_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/surveys/internal/rules"
)

// question makes a question of a type, with further members.
func question(kind, members string) string {
	return `[` + oneQuestion("q", kind, members) + `]`
}

func oneQuestion(id, kind, members string) string {
	if members != "" {
		members = "," + members
	}
	return fmt.Sprintf(`{"id":%q,"type":%q,"question":"Why?"%s}`, id, kind, members)
}

// TestQuestions follows management.md §9.3.
func TestQuestions(t *testing.T) {
	choices := `"choices":["a","b","c"]`
	for _, tt := range []struct{ name, raw, want string }{
		{"none", `[]`, ""},
		{"open", question("open", `"description":"a < b","descriptionContentType":"html","optional":true,"buttonText":"Send & go"`), ""},
		{"with rules for answers", question("open", `"validation":[{"type":"min_length","value":5},{"type":"max_length","value":5,"errorMessage":"Too long"},{"type":"email"}]`), ""},
		{"link", question("link", `"link":"https://example.com/a?b=c#d"`), ""},
		{"link to an address", question("link", `"link":"mailto:ada@mail.example.com?subject=Hi"`), ""},
		{"link that is not known yet", question("link", `"link":""`), ""},
		{"rating", question("rating", `"display":"number","scale":10,"lowerBoundLabel":"Unlikely","upperBoundLabel":"Very likely","isNpsQuestion":false,"skipSubmitButton":true`), ""},
		{"rating with emoji", question("rating", `"display":"emoji","scale":3.0`), ""},
		{"thumbs", question("rating", `"scale":2`), ""},
		{"single choice", question("single_choice", choices+`,"hasOpenChoice":true,"shuffleOptions":true,"skipSubmitButton":false`), ""},
		{"multiple choice", question("multiple_choice", choices), ""},
		{"null is not set", question("open", `"description":null,"descriptionContentType":null,"optional":null,"buttonText":null,"branching":null,"validation":null,"translations":null,"link":null,"scale":null,"choices":null`), ""},
		{"members of other types", question("open", `"choices":["",""],"scale":99,"display":"emoji"`), ""},
		{"unknown members", question("open", `"x":{"<b":["<script>"]}`), ""},
		{"an id of another system", `[{"id":"q_1-ä","type":"open","question":"Why?"}]`, ""},
		{"members anywhere", `[{"question":"Why?","x":1,"type":"open","id":"q"}]`, ""},

		{"next question", question("open", `"branching":{"type":"next_question"}`), ""},
		{"end", question("open", `"branching":{"type":"end","x":1}`), ""},
		{"specific question", question("multiple_choice", choices+`,"branching":{"type":"specific_question","index":0}`), ""},
		{"by choice", question("single_choice", choices+`,"branching":{"type":"response_based","responseValues":{"0":"end","2":0}}`), ""},
		{"by rating", question("rating", `"scale":5,"branching":{"type":"response_based","responseValues":{"negative":0,"neutral":"end","positive":"end"}}`), ""},
		{"by thumbs", question("rating", `"scale":2,"branching":{"type":"response_based","responseValues":{"negative":0,"positive":"end"}}`), ""},
		{"by score", question("rating", `"scale":10,"branching":{"type":"response_based","responseValues":{"detractors":0,"passives":"end","promoters":"end"}}`), ""},
		{"by nothing yet", question("rating", `"scale":10,"branching":{"type":"response_based","responseValues":{}}`), ""},

		{
			"translations",
			question("single_choice", choices+`,"translations":{"de":{"question":"Warum?","choices":["x","y","z"],"link":"https://example.com/de","x":1},"pt-BR":null,"zh_Hant_TW":{"question":"","choices":null,"validation":[{"errorMessage":"x"}]}}`),
			question("single_choice", choices+`,"translations":{"de":{"question":"Warum?","choices":["x","y","z"],"link":"https://example.com/de","x":1},"pt-br":null,"zh-hant-tw":{"question":"","choices":null,"validation":[{"errorMessage":"x"}]}}`),
		},

		{"Ruling95: a rating of numbers without a scale", `[{"id":"q","type":"rating","question":"x","display":"number"}]`, `[{"scale":10,"id":"q","type":"rating","question":"x","display":"number"}]`},
		{"Ruling95: a rating of emoji without a scale", `[{"id":"q","type":"rating","question":"x","display":"emoji","scale":null}]`, `[{"id":"q","type":"rating","question":"x","display":"emoji","scale":5}]`},
		{"Ruling95: a rating without a display", `[{"id":"q","type":"rating","question":"x"}]`, `[{"scale":10,"id":"q","type":"rating","question":"x"}]`},
		{
			"texts are cleaned",
			`[{"id":"q","type":"single_choice","question":"<b onclick=x>Why</b>?","description":"<script>x</script>y & z","buttonText":"<i>a","lowerBoundLabel":"<p style='position:fixed'>l","upperBoundLabel":"<iframe>","choices":["<u x>a</u>","b"],` +
				`"validation":[{"type":"email","errorMessage":"<s y>e"}],"translations":{"de":{"question":"<b onclick=x>W</b>","choices":["<u x>a","b & c"],"validation":[{"errorMessage":"<s y>e"}]}}}]`,
			`[{"id":"q","type":"single_choice","question":"<b>Why</b>?","description":"y &amp; z","buttonText":"<i>a","lowerBoundLabel":"<p>l","upperBoundLabel":"","choices":["<u>a</u>","b"],` +
				`"validation":[{"type":"email","errorMessage":"<s>e"}],"translations":{"de":{"question":"<b>W</b>","choices":["<u>a","b & c"],"validation":[{"errorMessage":"<s>e"}]}}}]`,
		},
		{
			"of a name twice the last one is cleaned",
			`[{"id":"q","type":"open","question":"x","question":"<b onclick=x>y"}]`,
			`[{"id":"q","type":"open","question":"<b>y"}]`,
		},
		{
			"texts without markup are not touched",
			`[{"id":"q","type":"open","question":"Tom & Jerry <3, a < b, \"quotes\" 'and' &lt;these&gt;"}]`,
			"",
		},
	} {
		t.Run(tt.name, func(t *testing.T) { kept(t, questions, tt.raw, tt.want) })
	}
	kept(t, questions, threeQuestions, "")
}

// TestQuestionErrors follows management.md §9.3 and §15.1, A18.
func TestQuestionErrors(t *testing.T) {
	by := func(kind, members, values string) string {
		return question(kind, members+`"branching":{"type":"response_based","responseValues":`+values+`}`)
	}
	long := strings.Repeat("é", 10_001)
	for _, tt := range []struct{ name, raw, detail string }{
		{"a question is not an object", `["Why?"]`, "0: must be an object."},
		{"the second one is null", `[{"type":"open","question":"a"},null]`, "1: must be an object."},
		{"101 questions", "[" + strings.Repeat(`{"type":"open","question":"a"},`, 100) + `{"type":"open","question":"a"}]`, "at most 100 questions"},

		{"no text", `[{"type":"open"}]`, "0/question: must be a string that is not blank."},
		{"text null", `[{"type":"open","question":null}]`, "question: must be"},
		{"text blank", `[{"type":"open","question":" \n "}]`, "question: must be"},
		{"text a number", `[{"type":"open","question":1}]`, "question: must be a string."},
		{"nothing left of a text", `[{"type":"open","question":"<script>x</script>"}]`, "question: must be"},
		{"text too long", `[{"type":"open","question":"` + long + `"}]`, "question: must have no more than 10000 characters."},
		{"text too long when it is clean", `[{"type":"open","question":"<b>` + strings.Repeat("&", 9000) + `"}]`, "question: must have no more than 10000 characters, with"},

		{"id no string", `[{"id":1,"type":"open","question":"a"}]`, "id: must be a string"},
		{"id a number", `[{"id":"12","type":"open","question":"a"}]`, "not a number"},
		{"id with a blank", `[{"id":"a b","type":"open","question":"a"}]`, "without blanks"},
		{"id with a line", `[{"id":"a\nb","type":"open","question":"a"}]`, "without blanks"},
		{"id too long", `[{"id":"` + strings.Repeat("a", 201) + `","type":"open","question":"a"}]`, "at most 200"},
		{"id twice", `[{"id":"x","type":"open","question":"a"},{"id":"y","type":"open","question":"a"},{"id":"x","type":"open","question":"a"}]`, "2/id: must be unique, and 0/id is the same."},

		{"description", question("open", `"description":{}`), "description: must be a string."},
		{"content type", question("open", `"descriptionContentType":"markdown"`), "descriptionContentType: must be one of text, html."},
		{"optional", question("open", `"optional":"true"`), "optional: must be true or false."},
		{"button", question("open", `"buttonText":1`), "buttonText: must be a string."},
		{"labels", question("rating", `"scale":5,"lowerBoundLabel":1`), "lowerBoundLabel: must be a string."},
		{"labels", question("rating", `"scale":5,"upperBoundLabel":[]`), "upperBoundLabel: must be a string."},
		{"NPS", question("rating", `"scale":10,"isNpsQuestion":1`), "isNpsQuestion: must be"},
		{"open choice", question("open", `"hasOpenChoice":0`), "hasOpenChoice: must be"},
		{"shuffle", question("open", `"shuffleOptions":""`), "shuffleOptions: must be"},
		{"skip", question("open", `"skipSubmitButton":[]`), "skipSubmitButton: must be"},

		{"link http", question("link", `"link":"http://example.com"`), "link: must be https://"},
		{"link script", question("link", `"link":"javascript:alert(1)"`), "link: must be"},
		{"link without a host", question("link", `"link":"https:///x"`), "link: must be"},
		{"link without slashes", question("link", `"link":"https:example.com"`), "link: must be"},
		{"link with a blank", question("link", `"link":"https://example.com/a b"`), "link: must be"},
		{"link with a quote", question("link", `"link":"https://example.com/\""`), "link: must be"},
		{"link relative", question("link", `"link":"/x"`), "link: must be"},
		{"link to nobody", question("link", `"link":"mailto:"`), "link: must be"},
		{"link to a name", question("link", `"link":"mailto:Ada <ada@example.com>"`), "link: must be"},
		{"link to a host", question("link", `"link":"mailto:ada@localhost"`), "link: must be"},
		{"link to two", question("link", `"link":"mailto:a@example.com,b@example.com"`), "link: must be"},
		{"link no string", question("open", `"link":false`), "link: must be"},
		{"link too long", question("link", `"link":"https://example.com/`+strings.Repeat("a", 2048)+`"`), "link: must be"},

		{"display", question("rating", `"scale":5,"display":"stars"`), "display: must be one of number, emoji."},
		{"scale 4", question("rating", `"scale":4`), "scale: must be"},
		{"scale as text", question("rating", `"scale":"5"`), "scale: must be"},
		{"scale 5.5", question("rating", `"scale":5.5`), "scale: must be"},
		{"scale that wraps around", question("rating", `"scale":18446744073709551621`), "scale: must be"},

		{"no choices", question("single_choice", ``), "choices: must be a list of at least 2 strings."},
		{"one choice", question("multiple_choice", `"choices":["a"]`), "at least 2"},
		{"choices no list", question("single_choice", `"choices":{"a":"b"}`), "choices: must be a list"},
		{"choice null", question("single_choice", `"choices":["a",null]`), "choices/1: must be a string."},
		{"choice a number", question("open", `"choices":[1]`), "choices/0: must be a string."},
		{"choice blank", question("single_choice", `"choices":["a"," "]`), "choices/1: must not be blank."},
		{"nothing left of a choice", question("single_choice", `"choices":["<iframe>","b"]`), "choices/0: must not be blank."},
		{"101 choices", question("single_choice", `"choices":["a"`+strings.Repeat(`,"a"`, 100)+`]`), "at most 100"},

		{"rules no list", question("open", `"validation":{}`), "validation: must be a list"},
		{"rule no object", question("open", `"validation":[1]`), "validation/0: must be an object."},
		{"rule without type", question("open", `"validation":[{"value":1}]`), "validation/0/type: must be one of"},
		{"rule of another type", question("open", `"validation":[{"type":"regex","value":"a"}]`), "validation/0/type: must be one of min_length, max_length, email."},
		{"rule without value", question("open", `"validation":[{"type":"email"},{"type":"min_length"}]`), "validation/1/value: must be an integer from 1 on."},
		{"rule with 0", question("open", `"validation":[{"type":"max_length","value":0}]`), "value: must be"},
		{"rule with a fraction", question("open", `"validation":[{"type":"max_length","value":1.5}]`), "value: must be"},
		{"rule with a text", question("open", `"validation":[{"type":"max_length","value":"5"}]`), "value: must be"},
		{"rule twice", question("open", `"validation":[{"type":"max_length","value":5},{"type":"max_length","value":6}]`), "must not be max_length twice"},
		{"rules that nothing fulfils", question("open", `"validation":[{"type":"max_length","value":5},{"type":"min_length","value":6}]`), "min_length above max_length"},
		{"message of a rule", question("open", `"validation":[{"type":"email","errorMessage":1}]`), "validation/0/errorMessage: must be a string."},
		{"21 rules", question("open", `"validation":[`+strings.Repeat(`{"type":"email"},`, 20)+`{"type":"email"}]`), "at most 20"},

		{"branching no object", question("open", `"branching":"end"`), "branching: must be an object."},
		{"branching without type", question("open", `"branching":{}`), "branching/type: must be one of"},
		{"branching of another type", question("open", `"branching":{"type":"random"}`), "branching/type: must be one of"},
		{"branching to no question", question("open", `"branching":{"type":"specific_question"}`), "branching/index: must be an integer from 0 to 0."},
		{"branching beyond", question("open", `"branching":{"type":"specific_question","index":1}`), "branching/index: must be"},
		{"branching before", question("open", `"branching":{"type":"specific_question","index":-1}`), "branching/index: must be"},
		{"branching to a text", question("open", `"branching":{"type":"specific_question","index":"0"}`), "branching/index: must be"},
		{"by the response to open", by("open", "", `{}`), "only single_choice and rating"},
		{"by the response to a link", by("link", "", `{}`), "only single_choice and rating"},
		{"by many responses", by("multiple_choice", `"choices":["a","b"],`, `{"0":0}`), "only single_choice and rating"},
		{"responses missing", by("rating", `"scale":5,`, `null`), "responseValues: must be an object."},
		{"responses a list", by("rating", `"scale":5,`, `[]`), "responseValues: must be an object."},
		{"a choice beyond", by("single_choice", `"choices":["a","b"],`, `{"2":0}`), "no other members than 0, 1."},
		{"a choice by its text", by("single_choice", `"choices":["a","b"],`, `{"a":0}`), "no other members"},
		{"a score on scale 5", by("rating", `"scale":5,`, `{"promoters":0}`), "negative, neutral, positive"},
		{"a mood on scale 10", by("rating", `"scale":10,`, `{"positive":0}`), "detractors, passives, promoters"},
		{"neutral thumbs", by("rating", `"scale":2,`, `{"neutral":0}`), "negative, positive"},
		{"a response beyond", by("rating", `"scale":5,`, `{"positive":1}`), `branching/responseValues/positive: must be "end" or an integer from 0 to 0.`},
		{"a response to nowhere", by("rating", `"scale":5,`, `{"positive":null}`), "positive: must be"},
		{"a response to the next", by("rating", `"scale":5,`, `{"positive":"next"}`), "positive: must be"},

		{"translations a list", question("open", `"translations":[]`), "translations: must be an object"},
		{"of no language", question("open", `"translations":{"d":{}}`), `language tags of at most 20 characters as names, such as en or pt-br, not "d".`},
		{"of a long language", question("open", `"translations":{"de-abcdefgh-abcdefgh-abcdefgh":{}}`), "language tags"},
		{"translation a text", question("open", `"translations":{"de":"Warum?"}`), "translations/de: must be an object."},
		{"translated text", question("open", `"translations":{"de":{"question":1}}`), "translations/de/question: must be a string."},
		{"translated link", question("open", `"translations":{"de":{"link":"http://example.com"}}`), "translations/de/link: must be https://"},
		{"translated choices", question("single_choice", `"choices":["a","b"],"translations":{"de":{"choices":["a"]}}`), "translations/de/choices: must have as many elements as the question has choices, 2."},
		{"more translated choices", question("single_choice", `"choices":["a","b"],"translations":{"de":{"choices":["a","b","c"]}}`), "as many elements"},
		{"a translated choice", question("single_choice", `"choices":["a","b"],"translations":{"de":{"choices":["a",1]}}`), "choices/1: must be a string."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			refused(t, questions, tt.raw, "questions", "invalid_input", tt.detail)
		})
	}
}

// questions checks the questions of a survey in English.
func questions(raw json.RawMessage) (json.RawMessage, error) { return rules.Questions(raw, "en") }

// An unknown type has an error code of its own (management.md §9.3, R).
func TestQuestionTypes(t *testing.T) {
	for _, kind := range []string{`"Open"`, `"matrix"`, `""`, `null`, `1`, `["open"]`} {
		refused(t, questions, `[{"question":"a","type":`+kind+`}]`, "questions", "invalid_choice",
			"0/type: must be one of open, link, rating, single_choice, multiple_choice.")
	}
	refused(t, questions, `[{"question":"a"}]`, "questions", "invalid_choice", "type: must be")
}

// A question without an id gets one, and existing ids stay (management.md
// §9.3).
func TestQuestionIDs(t *testing.T) {
	stored, err := questions(json.RawMessage(
		`[{"type":"open","question":"a"},{"type":"open","id":"","question":"b"},{"type":"open","question":"c","id":null},{"id":"mine","type":"open","question":"d"}]`))
	if err != nil {
		t.Fatal(err)
	}
	list := rules.Parse(stored)
	seen := make(map[string]bool)
	for i, q := range list[:3] {
		if id, err := uuid.Parse(q.ID); err != nil || id.Version() != 7 || seen[q.ID] {
			t.Errorf("question %d has id %q, want a UUIDv7 of its own", i+1, q.ID)
		}
		seen[q.ID] = true
	}
	want := fmt.Sprintf(`[{"id":%q,"type":"open","question":"a"},{"type":"open","id":%q,"question":"b"},{"type":"open","question":"c","id":%q},{"id":"mine","type":"open","question":"d"}]`,
		list[0].ID, list[1].ID, list[2].ID)
	kept(t, questions, want, "")
	if diff := cmp.Diff(want, string(stored)); diff != "" {
		t.Errorf("stored questions (-want +got)\n%s", diff)
	}
}

// A random order and branching exclude each other (management.md §9.3).
func TestCheckShuffle(t *testing.T) {
	branching := `[{"type":"open"},{"branching":{"type":"next_question"}}]`
	for _, tt := range []struct {
		questions, appearance string
		refused               bool
	}{
		{branching, `{"shuffleQuestions":true}`, true},
		{branching, `{"shuffleQuestions":false}`, false},
		{branching, `{"shuffleQuestions":null}`, false},
		{branching, `{}`, false},
		{branching, ``, false},
		{branching, `null`, false},
		{`[{"branching":null},{}]`, `{"shuffleQuestions":true}`, false},
		{`null`, `{"shuffleQuestions":true}`, false},
		{``, `{"shuffleQuestions":true}`, false},
	} {
		err := rules.CheckShuffle(json.RawMessage(tt.questions), json.RawMessage(tt.appearance))
		if !tt.refused {
			if err != nil {
				t.Errorf("CheckShuffle(%s, %s) = %v, want nil", tt.questions, tt.appearance, err)
			}
			continue
		}
		checkFault(t, "CheckShuffle", err, "", "invalid_input", "while question 2 has branching")
	}
}

func TestParse(t *testing.T) {
	for _, tt := range []struct {
		raw  string
		want []rules.Question
	}{
		{threeQuestions, []rules.Question{
			{Index: 0, ID: "q1", Type: rules.Open, Text: "Why?"},
			{Index: 1, ID: "q2", Type: rules.Rating, Text: "How much?", Scale: 10, NPS: true},
			{Index: 2, ID: "q3", Type: rules.SingleChoice, Text: "Which?", Choices: []string{"a", "b", "c"}, OpenChoice: true},
		}},
		{`[{"type":"rating","scale":10,"isNpsQuestion":false},{"type":"rating","scale":10.0,"isNpsQuestion":true},{"type":"rating","scale":5,"isNpsQuestion":true}]`, []rules.Question{
			{Index: 0, Type: rules.Rating, Scale: 10},
			{Index: 1, Type: rules.Rating, Scale: 10, NPS: true},
			{Index: 2, Type: rules.Rating, Scale: 5},
		}},
		{`[null,1,{"id":1,"type":[],"question":{}},{"type":"multiple_choice","choices":["\u00e9",1]},{"type":"open","scale":10,"choices":["a"],"hasOpenChoice":true}]`, []rules.Question{
			{Index: 0},
			{Index: 1},
			{Index: 2},
			{Index: 3, Type: rules.MultipleChoice, Choices: []string{"é", ""}},
			{Index: 4, Type: rules.Open},
		}},
		{`null`, []rules.Question{}},
		{``, []rules.Question{}},
		{`{}`, []rules.Question{}},
	} {
		if diff := cmp.Diff(tt.want, rules.Parse(json.RawMessage(tt.raw))); diff != "" {
			t.Errorf("Parse(%s) (-want +got)\n%s", tt.raw, diff)
		}
	}
}

func FuzzQuestions(f *testing.F) {
	f.Add(threeQuestions)
	f.Add(question("single_choice", `"choices":["a","b"],"branching":{"type":"response_based","responseValues":{"0":"end"}},"translations":{"de":{"choices":["<i>","y"]}}`))
	f.Add(question("open", `"validation":[{"type":"min_length","value":5,"errorMessage":"<b onclick=x>"}],"description":"a<b"`))
	f.Add(question("link", `"link":"https://example.com","link":"mailto:a@b.c"`))
	f.Add(`[{"type":"rating","scale":10,"branching":{"type":"specific_question","index":0},"question":"\ud800"}]`)
	f.Fuzz(func(t *testing.T, raw string) {
		stored := fuzzed(t, questions, raw)
		for i, q := range rules.Parse(stored) {
			if q.ID == "" || q.Type == "" || strings.TrimSpace(q.Text) == "" || q.Index != i {
				t.Errorf("question %d of %s: %+v", i, stored, q)
			}
			checkClean(t, q.Text)
			for _, c := range q.Choices {
				checkClean(t, c)
			}
		}
	})
}

// fuzzed checks the properties of any result, and returns the stored form.
func fuzzed(t *testing.T, judge checker, raw string) json.RawMessage {
	t.Helper()
	stored, err := judge(json.RawMessage(raw))
	if err != nil {
		checkAnyFault(t, raw, err)
		return nil
	}
	if !json.Valid(stored) {
		t.Errorf("%s is stored as %s", raw, stored)
	}
	if again, err := judge(stored); err != nil || string(again) != string(stored) {
		t.Errorf("%s is stored as %s, and that as %s, %v", raw, stored, again, err)
	}
	return stored
}
