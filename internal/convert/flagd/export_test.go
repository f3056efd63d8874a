package flagd_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/flagstaff-go/flagstaff/internal/convert"
	"github.com/flagstaff-go/flagstaff/internal/convert/flagd"
)

// TestExport has filters that were written by hand, and what they are to flagd.
func TestExport(t *testing.T) {
	const exact = `"case_sensitive":true,"strict_type":true`
	for _, test := range []struct{ filter, want string }{
		{`"key":"plan","operator":"exact","value":["pro",5],` + exact, `{"or":[{"===":[{"var":"plan"},"pro"]},{"===":[{"var":"plan"},5]}]}`},
		{`"key":"plan","operator":"is_not","value":"pro","must_be_set":true,` + exact, `{"and":[{"!=":[{"var":"plan"},null]},{"!==":[{"var":"plan"},"pro"]}]}`},
		{`"key":"plan","operator":"icontains","value":"p","path":"/name",` + exact, `{"and":[{"!!":[{"starts_with":[{"var":"plan.name"},""]}]},{"in":["p",{"var":"plan.name"}]}]}`},
		{`"key":"distinct_id","operator":"not_icontains","value":"p","case_sensitive":true`, `{"!":[{"and":[{"!!":[{"starts_with":[{"var":"targetingKey"},""]}]},{"in":["p",{"var":"targetingKey"}]}]}]}`},
		{`"key":"age","operator":"in","value":[1,"2"],"dialect":"jsonlogic","negation":true`, `{"!":[{"in":[{"var":"age"},[1,"2"]]}]}`},
		{`"key":"age","operator":"in","value":[1,true],"dialect":"jsonlogic"`, ""}, // 2 fails
		{`"key":"age","operator":"object","dialect":"jsonlogic"`, ""},
		{`"key":"a.b","operator":"exact","value":"pro",` + exact, ""},
		{`"key":"plan","operator":"exact","value":"pro","strict_type":true`, ""},
	} {
		for _, version := range []string{"new", "old"} {
			got := exported(t, version, `{"flags":[{"id":1,"key":"f","active":true,"filters":{"version":2,"return_type":"boolean","default_value":false,"rules":[
				{"id":"11111111-1111-4111-8111-111111111111","rule_type":"targeted_release","value":true,"targeting":{"properties":[{"type":"person",`+test.filter+`}]}}]}}]}`)
			want := ""
			if test.want != "" {
				want = `{"if":[` + test.want + `,"on"]}`
			}
			if got != want {
				t.Errorf("%s: %s becomes %s, want %s", version, test.filter, got, want)
			}
		}
	}
}

// exported returns the targeting of a flag that is exported, "" if it is refused.
func exported(t *testing.T, version, definitions string) string {
	t.Helper()
	p, err := convert.Read([]byte(definitions))
	if err != nil {
		t.Fatal(err)
	}
	document, _, err := flagd.Export(p, &convert.Options{Version: version})
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Flags map[string]struct{ Targeting any }
	}
	if err := json.Unmarshal(document, &file); err != nil {
		t.Fatal(err)
	}
	if _, ok := file.Flags["f"]; !ok {
		return ""
	}
	var b strings.Builder
	w := json.NewEncoder(&b)
	w.SetEscapeHTML(false)
	if err := w.Encode(file.Flags["f"].Targeting); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(b.String())
}

// TestExportEnds finds weights for the ends that weights come to.
func TestExportEnds(t *testing.T) {
	for _, weights := range [][]int{{50, 50}, {1, 2}, {33, 33, 34}, {7, 0, 13, 1}, {1, 1000000}, {3, 3, 3, 1}, {1, 2147483646}, {2147483, 999, 50, 1000000}, {10, -5}, {-5, 2147483, 33}, {1, 50, -5, 33}} {
		for _, version := range []string{"new", "old"} {
			var shares, variants []string
			for i, w := range weights {
				shares = append(shares, fmt.Sprintf(`["v%d", %d]`, i, w))
				variants = append(variants, fmt.Sprintf(`"v%d": "v%d"`, i, i))
			}
			flag := `{"f": {"variants": {` + strings.Join(variants, ",") + `}, "targeting": {"fractional": [` + strings.Join(shares, ",") + `]}}}`
			o := &convert.Options{Version: version}
			once := split(t, []byte(`{"flags": `+flag+`}`), o)
			imported, err := flagd.Convert([]byte(`{"flags": `+flag+`}`), o)
			if err != nil {
				t.Fatal(err)
			}
			definitions, err := imported.Document(nil)
			if err != nil {
				t.Fatal(err)
			}
			p, err := convert.Read(definitions)
			if err != nil {
				t.Fatal(err)
			}
			document, refused, err := flagd.Export(p, o)
			if err != nil || len(refused) > 0 {
				t.Fatalf("%s: %v: %v (%v)", version, weights, refused, err)
			}
			if again := split(t, document, o); again != once {
				t.Errorf("%s: %v draws %s, and comes back as %s", version, weights, once, again)
			}
		}
	}
}

func split(t *testing.T, file []byte, o *convert.Options) string {
	t.Helper()
	p, err := flagd.Convert(file, o)
	if err != nil {
		t.Fatal(err)
	}
	document, err := p.Flags[0].Filters()
	if err != nil {
		t.Fatal(err)
	}
	return string(document)
}
