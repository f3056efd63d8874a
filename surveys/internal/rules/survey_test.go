package rules_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/internal/judge"
	"github.com/flagstaff-go/flagstaff/surveys/internal/rules"
)

// A checker is a function that checks a document.
type checker func(json.RawMessage) (json.RawMessage, error)

// checkers has the checker of each field.
var checkers = map[string]checker{
	"questions":    questions,
	"conditions":   rules.Conditions,
	"appearance":   rules.Appearance,
	"form_content": rules.FormContent,
	"translations": translations,
}

// threeQuestions are the questions of a stored survey.
const threeQuestions = `[{"id":"q1","type":"open","question":"Why?"},` +
	`{"id":"q2","type":"rating","question":"How much?","scale":10},` +
	`{"id":"q3","type":"single_choice","question":"Which?","choices":["a","b","c"],"hasOpenChoice":true}]`

// kept checks that a document is stored as want, or unchanged if want is "".
func kept(t *testing.T, judge checker, raw, want string) {
	t.Helper()
	if want == "" {
		want = raw
	}
	got, err := judge(json.RawMessage(raw))
	if err != nil {
		t.Errorf("%.200s: error %v", raw, err)
		return
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("%.200s is stored as something else (-want +got)\n%.2000s", raw, diff)
	}
	if again, err := judge(got); err != nil || string(again) != string(got) {
		t.Errorf("%.200s is stored as %.200s, and that as %.200s, %v", raw, got, again, err)
	}
}

// refused checks that a document is refused with this attr and code, and a
// detail that contains a text.
func refused(t *testing.T, judge checker, raw, attr, code, detail string) {
	t.Helper()
	got, err := judge(json.RawMessage(raw))
	if got != nil {
		t.Errorf("%.200s is stored as %.200s", raw, got)
	}
	checkFault(t, raw, err, attr, code, detail)
}

func checkFault(t *testing.T, call string, err error, attr, code, detail string) {
	t.Helper()
	e := checkAnyFault(t, call, err)
	if e != nil && (e.Attr != attr || e.Code != code || !strings.Contains(e.Error(), detail)) {
		t.Errorf("%.200s: error %s %q, want %s of %s with %q", call, e.Code, e, code, attr, detail)
	}
}

// checkAnyFault checks that an error is about the input, and short.
func checkAnyFault(t *testing.T, call string, err error) *judge.Error {
	t.Helper()
	e, ok := errors.AsType[*judge.Error](err)
	if !ok {
		t.Errorf("%.200s: error %v, want a *judge.Error", call, err)
		return nil
	}
	if e.Code == "" || e.Detail == "" || len(e.Detail) > 700 || !utf8.ValidString(e.Detail) {
		t.Errorf("%.200s: error %s %q", call, e.Code, e.Detail)
	}
	return e
}

// These rules hold for all documents (management.md §15.2 item 13, §15.1 A24).
func TestDocuments(t *testing.T) {
	for name, judge := range checkers {
		t.Run(name, func(t *testing.T) {
			attr := name
			list := name == "questions"
			wrap := func(members string) string {
				if list {
					return `[{"id":"a","type":"open","question":"b",` + members + `}]`
				}
				if name == "translations" {
					return `{"de":{` + members + `}}`
				}
				return `{` + members + `}`
			}
			kept(t, judge, wrap(`"b":1.50e3,"a":[{},null,-0],"":"x"`), "")
			kept(t, judge, " \n"+wrap(` "x" : [ 1 , { "y" : "\u00e9\/<&>" } ] `)+"\t", wrap(`"x":[1,{"y":"é/<&>"}]`))
			kept(t, judge, wrap(`"a":1,"b":2,"\u0061":3`), wrap(`"a":3,"b":2`))
			kept(t, judge, wrap(`"x":[{"a":1,"b":2,"a":{"c":1,"c":[]}}]`), wrap(`"x":[{"a":{"c":[]},"b":2}]`))
			kept(t, judge, wrap(`"x":"\ud800"`), wrap("\"x\":\"\ufffd\""))

			refused(t, judge, wrap(`"x":"a\u0000b"`), attr, "null_characters_not_allowed", "Null")
			refused(t, judge, wrap(`"a\u0000b":1`), attr, "null_characters_not_allowed", "Null")
			kept(t, judge, wrap(`"x":"a\\u0000b"`), "")

			for _, raw := range []string{"", "{", wrap("")[1:], wrap(`"a":1`) + "x", wrap("\"a\":\"\xff\""), wrap(`"a":NaN`), wrap(`"a":01`)} {
				refused(t, judge, raw, attr, "invalid_input", "valid JSON")
			}
			outer := strings.Count(wrap(""), "{") + strings.Count(wrap(""), "[")
			nested := func(n int) string { return wrap(`"x":` + strings.Repeat("[", n) + strings.Repeat("]", n)) }
			kept(t, judge, nested(64-outer), "")
			refused(t, judge, nested(64-outer+1), attr, "invalid_input", "64 levels")

			large := func(n int) string { return wrap(`"x":"` + strings.Repeat("a", n-len(wrap(`"x":""`))) + `"`) }
			kept(t, judge, large(256<<10), "")
			refused(t, judge, large(256<<10+1), attr, "invalid_input", "262144 bytes")

			if name == "form_content" {
				return
			}
			for _, raw := range []string{`"x"`, `1`, `true`, `null`} {
				refused(t, judge, raw, attr, "invalid_input", "must be")
			}
			if list {
				refused(t, judge, `{}`, attr, "invalid_input", "must be a list")
			} else {
				refused(t, judge, `[]`, attr, "invalid_input", "must be an object")
			}
		})
	}
}

// If a document has several faults, the error names one, and always the same.
func TestFirstFault(t *testing.T) {
	refused(t, checkers["questions"], `[{"type":"open","question":"a"},{"link":1,"optional":2,"type":3}]`, "questions", "invalid_input", "1/link: must be https")
	refused(t, checkers["appearance"], `{"whiteLabel":1,"position":2}`, "appearance", "invalid_input", "whiteLabel: must be true or false.")
}
