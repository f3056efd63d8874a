package gofeatureflag_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/convert"
	"github.com/flagstaff-go/flagstaff/internal/convert/converttest"
	"github.com/flagstaff-go/flagstaff/internal/convert/gofeatureflag"
)

// exported returns what a flag with some members becomes, and the flag's definitions.
func exported(t *testing.T, members string) (definitions []byte, document string, refused []convert.Kept) {
	t.Helper()
	definitions = []byte(`{"flags":[{"id":1,"key":"f","active":true,"filters":{"version":2,"return_type":"boolean",` + members + `}}],
		"cohorts":[{"id":4,"name":"Old","filters":{"properties":{"type":"OR","values":[{"type":"person","key":"age","operator":"gt","value":17,"strict_type":true}]}}}]}`)
	p, err := convert.Read(definitions)
	if err != nil {
		t.Fatal(err)
	}
	written, refused, err := gofeatureflag.Export(p, &convert.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return definitions, string(written), refused
}

func release(filters string) string {
	return `"default_value":false,"rules":[{"id":"11111111-1111-4111-8111-111111111111","rule_type":"targeted_release","value":true,"targeting":{"properties":[` + filters + `]}}]`
}

// TestQueriesOf has filters that were written by hand, and the queries that they become. Both
// hold for the same persons.
func TestQueriesOf(t *testing.T) {
	filter := func(key, op, value, more string) string {
		return fmt.Sprintf(`{"type":"person","key":%q,"operator":%q,"value":%s%s}`, key, op, value, more)
	}
	const (
		strict  = `,"case_sensitive":true,"strict_type":true`
		theirs  = `,"dialect":"go-feature-flag"`
		ofLogic = `,"dialect":"jsonlogic"`
	)
	for _, test := range []struct{ filter, query, refused string }{
		{filter("plan", "exact", `["pro","a"]`, strict), `plan in ["pro", "a"]`, ""},
		{filter("plan", "is_not", `"pro"`, strict), `not (plan in ["pro"])`, ""},
		{filter("plan", "exact", `"pro"`, strict+`,"negation":true,"must_be_set":true`), `plan pr and not (plan in ["pro"])`, ""},
		{filter("plan", "exact", `"pro"`, strict+`,"must_be_set":true`), `plan in ["pro"]`, ""},
		{filter("plan", "exact", `"say \"a\""`, strict), `{"===":[{"var":"plan"},"say \"a\""]}`, ""},
		{filter("plan", "exact", `["pro",18]`, strict), `{"or":[{"===":[{"var":"plan"},"pro"]},{"===":[{"var":"plan"},18]}]}`, ""},
		{filter("plan", "exact", `true`, strict), `plan eq true`, ""},
		{filter("plan", "exact", `18.0`, strict), `plan eq 18.0`, ""},
		{filter("plan", "exact", `[-1,1e3]`, strict), `plan in [-1.0, 1000.0]`, ""},
		{filter("plan", "gte", `18`, `,"strict_type":true`), `plan ge 18.0`, ""},
		{filter("distinct_id", "icontains", `"u"`, `,"case_sensitive":true`), `{"in":["u",{"var":"key"}]}`, ""},
		{filter("distinct_id", "not_icontains", `"u"`, `,"case_sensitive":true`), `{"!":[{"in":["u",{"var":"key"}]}]}`, ""},
		{filter("distinct_id", "is_not", `["u1","ada"]`, `,"case_sensitive":true`), `not (key in ["u1", "ada"])`, ""},
		{filter("plan", "eq", `"PRO"`, theirs), `plan eq "PRO"`, ""},
		{filter("plan", "pr", `null`, theirs), `plan pr`, ""},
		{filter("plan", "version_gt", `"1.2.3"`, theirs+`,"negation":true`), `not (plan gt 1.2.3)`, ""},
		{filter("plan", "in", `[1,18]`, theirs), `plan in [1, 18]`, ""},
		{filter("plan", "sw", `"p"`, theirs+`,"path":"/x"`), `plan.x sw "p"`, ""},
		{filter("age", "gt", `5`, theirs) + "," + filter("plan", "sw", `"p"`, theirs+`,"path":"/x"`), `plan.x sw "p" and age gt 5`, ""},
		{filter("plan", "==", `"18"`, ofLogic), `{"==":[{"var":"plan"},"18"]}`, ""},
		{filter("plan", "truthy", `null`, ofLogic) + "," + filter("plan", "not_in", `["a",[1,2]]`, ofLogic), `{"and":[{"!!":[{"var":"plan"}]},{"!":[{"in":[{"var":"plan"},["a",[1,2]]]}]}]}`, ""},
		{filter("plan", "eq", `"say \"a\""`, theirs), "", `the filter on "plan" (eq) compares in another way`},
		{`{"type":"any","negation":true,"filters":[` + filter("age", "lt", `18`, `,"strict_type":true`) + `,{"type":"all","filters":[` + filter("age", "pr", `null`, theirs) + "," + filter("plan", "sw", `"p"`, theirs) + `]}]}`, `not (age lt 18.0 or (age pr and plan sw "p"))`, ""},
		{`{"type":"cohort","key":"id","value":4,"operator":"not_in"}`, `not (age gt 17.0)`, ""},
		{filter("plan", "exact", `"pro"`, `,"strict_type":true`), "", `Rule 1: the filter on "plan" (exact) compares in another way`},
		{filter("plan", "exact", `"pro"`, strict+`,"any_element":true`), "", `the filter on "plan" (exact) compares in another way`},
		{filter("plan", "sw", `"p"`, theirs) + "," + filter("plan", "==", `1`, ofLogic), "", "both languages of queries at once"},
		{`{"type":"split","split":{"hash":"fnv1a_32","modulus":"100","prefix":"f","ends":["5"],"values":[true],"rest":"return_default","no_subject":"return_default"}}`, "", "draws within its filters"},
	} {
		definitions, document, refused := exported(t, release(test.filter))
		if test.query == "" {
			if len(refused) != 1 || !strings.Contains(refused[0].Reasons[0], test.refused) {
				t.Errorf("%s: refused %q, want %q", test.filter, refused, test.refused)
			}
			continue
		}
		var file map[string]struct{ Targeting []struct{ Query string } }
		if err := json.Unmarshal([]byte(document), &file); err != nil || len(file["f"].Targeting) != 1 || file["f"].Targeting[0].Query != test.query {
			t.Errorf("%s: refused %q, want %s in %s", test.filter, refused, test.query, document)
			continue
		}
		back, err := gofeatureflag.Convert([]byte(document), &convert.Options{})
		if err != nil || len(back.Flags[0].Problems) > 0 {
			t.Fatalf("%v: %q", err, back.Flags[0].Problems)
		}
		d, err := flags.Decode(bytes.NewReader(definitions))
		if err != nil {
			t.Fatal(err)
		}
		before, err := flags.Compile(d, flags.CompileOptions{})
		if err != nil {
			t.Fatal(err)
		}
		after := converttest.Compile(t, back)
		for _, id := range []string{"u1", "ada", "U"} {
			for _, plan := range []any{nil, "", "pro", "PRO", "p", "a", `say "a"`, "1.2.4", 0.0, 1.0, 18.0, 18.5, -1.0, 1000.0, true, false, []any{}, []any{"pro"}, map[string]any{"x": "P"}} {
				for _, age := range []any{nil, 17.5, 18.0, "18"} {
					r := &flags.Request{DistinctID: id, PersonProperties: map[string]any{"plan": plan, "age": age}}
					if age == nil {
						delete(r.PersonProperties, "age")
					}
					a, _ := before.Flag("f", r)
					if b, _ := after.Flag("f", r); !bytes.Equal(a.JSON(), b.JSON()) || b.JSON() == nil {
						t.Errorf("%s: %s comes back as %s for %v, %v and %v", test.filter, a.JSON(), b.JSON(), id, plan, age)
					}
				}
			}
		}
	}
}
