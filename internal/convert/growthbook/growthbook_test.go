package growthbook_test

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/base64"
	"encoding/json"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/flagstaff-go/flagstaff/internal/convert"
	"github.com/flagstaff-go/flagstaff/internal/convert/converttest"
	"github.com/flagstaff-go/flagstaff/internal/convert/growthbook"
)

// ofRules converts a feature "f" with the default value 0 and some rules, beside others.
func ofRules(t *testing.T, rules, others, groups string) (*convert.Project, *convert.Flag) {
	t.Helper()
	p, err := growthbook.Convert([]byte(`{"features": {"f": {"defaultValue": 0, "rules": [`+rules+`]}`+others+`}, "savedGroups": {`+groups+`}}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(p.Flags, func(f convert.Flag) bool { return f.Key == "f" })
	return p, &p.Flags[i]
}

// TestConditions has what conditions become: operators of our own where these do the same.
func TestConditions(t *testing.T) {
	const (
		groups = `"legacy": ["US", null], "list": {"type": "list", "attributeKey": "country", "values": ["US"]},
			"meets": {"type": "condition", "condition": {"age": {"$gt": 1}, "beta": true}}, "loop": {"type": "condition", "condition": {"$not": {"$savedGroup": {"id": "loop"}}}}`
		strict = `"type":"person","case_sensitive":true,"strict_type":true`
		other  = `"type":"person","dialect":"growthbook"`
	)
	for _, test := range []struct{ condition, want string }{
		{`{}`, ``},
		{`{"country": "US"}`, `{"key":"country","value":"US","operator":"exact",` + strict + `}`},
		{`{"country": {}}`, ``},
		{`{"age": 1}`, `{"key":"age","value":1,"operator":"exact",` + strict + `}`},
		{`{"country": null}`, `{"key":"country","value":null,"operator":"$eq",` + other + `}`},
		{`{"tags": ["a"]}`, `{"key":"tags","value":["a"],"operator":"equals",` + other + `}`},
		{`{"tags": {"$ne": ["a"]}}`, ``},
		{`{"country": {"$ne": "US"}}`, `{"key":"country","value":"US","operator":"is_not",` + strict + `}`},
		{`{"country": {"$nin": ["US", {}]}}`, `{"key":"country","value":["US"],"operator":"is_not",` + strict + `,"any_element":true}`},
		{`{"country": {"$in": ["US", null]}}`, `{"key":"country","value":["US",null],"operator":"$in",` + other + `}`},
		{`{"country": {"$nin": []}}`, ``},
		{`{"country": {"$ini": ["us"]}}`, `{"key":"country","value":["us"],"operator":"$ini",` + other + `}`},
		{`{"age": {"$gte": 18, "$lt": 65}}`, `{"key":"age","value":18,"operator":"gte","type":"person","strict_type":true},{"key":"age","value":65,"operator":"lt","type":"person","strict_type":true}`},
		{`{"age": {"$gt": "18"}}`, `{"key":"age","value":"18","operator":"$gt",` + other + `}`},
		{`{"$not": {"age": {"$gt": 18}}}`, `{"key":"age","value":18,"operator":"gt","type":"person","negation":true,"strict_type":true}`},
		{`{"id": "u1"}`, `{"key":"distinct_id","value":"u1","operator":"exact",` + strict + `}`},
		{`{"email": {"$regex": "@acme\\.com$"}}`, `{"key":"email","value":"@acme.com","operator":"ends_with",` + strict + `}`},
		{`{"email": {"$regex": "^a.c"}}`, `{"key":"email","value":"^a.c","operator":"$regex",` + other + `}`},
		{`{"email": {"$not": {"$regex": "^ada"}}}`, `{"key":"email","value":"ada","operator":"not_starts_with",` + strict + `}`},
		{`{"company.a/b": "x"}`, `{"key":"company","value":"x","operator":"exact",` + strict + `,"path":"/a~1b"}`},
		{`{"tags.0": "x"}`, `{"key":"tags","value":{"0":"x"},"operator":"fields",` + other + `}`},
		{`{"tags": {"$elemMatch": {"$inGroup": "legacy"}}}`, `{"key":"tags","value":{"$inGroup":["US",null]},"operator":"$elemMatch",` + other + `}`},
		{`{"$or": [{"age": 1}, {"$and": [{"age": 2}, {"$nor": [{"beta": true}]}]}]}`, `{"type":"any","filters":[{"key":"age","value":1,"operator":"exact",` + strict +
			`},{"type":"all","filters":[{"key":"age","value":2,"operator":"exact",` + strict + `},{"key":"beta","value":true,"operator":"is_not",` + strict + `}]}]}`},
		{`{"country": {"$inGroup": "legacy"}}`, `{"key":"id","value":1,"operator":"in","type":"cohort"}`},
		{`{"country": {"$notInGroup": "list"}}`, `{"key":"id","value":1,"operator":"not_in","type":"cohort"}`},
		{`{"country": {"$notInGroup": "none"}}`, ``},
		{`{"$savedGroup": {"id": "list"}}`, `{"key":"id","value":1,"operator":"in","type":"cohort"}`},
		{`{"$not": {"$savedGroup": {"id": "meets"}}}`, `{"key":"id","value":1,"operator":"not_in","type":"cohort"}`},
		{`{"$savedGroup": {"id": "loop"}}`, ``},
	} {
		_, f := ofRules(t, `{"force": 1, "condition": `+test.condition+`}`, "", groups)
		if len(f.Problems) > 0 || len(f.Rules.Rules) != 1 {
			t.Errorf("%s: problems %q, %d rules", test.condition, f.Problems, len(f.Rules.Rules))
			continue
		}
		filters, err := f.Filters()
		if err != nil {
			t.Fatal(err)
		}
		_, got, _ := strings.Cut(string(filters), `"properties":[`)
		if got, _, _ = strings.Cut(got, `]},"value":1`); !sameFilters(t, got, test.want) {
			t.Errorf("%s\n got %s\nwant %s", test.condition, got, test.want)
		}
	}
}

func sameFilters(t *testing.T, a, b string) bool {
	t.Helper()
	var x, y any
	for text, to := range map[string]*any{a: &x, b: &y} {
		if err := json.Unmarshal([]byte("["+text+"]"), to); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	if a == b {
		return true
	}
	return reflect.DeepEqual(x, y)
}

// TestRules has what rules become.
func TestRules(t *testing.T) {
	for _, test := range []struct{ name, rules, others, want string }{
		{"no rule", ``, ``, `"default_value":0,"rules":[]`},
		{"what decides nothing", `{}, {"variations": [1]}, {"force": 1, "condition": {"a": {"$in": []}}}`, ``, `"default_value":0,"rules":[]`},
		{
			"force", `{"force": 1}`, ``,
			`"default_value":0,"rules":[{"rule_type":"targeted_release","targeting":{"properties":[]},"value":1}]`,
		},
		{
			"coverage", `{"force": 1, "coverage": 0.25, "hashAttribute": "company"}`, ``,
			`"default_value":0,"rules":[{"rule_type":"split","targeting":{"properties":[]},"split":{"hash":"fnv1a_32_utf16","modulus":"1000","suffix":"f","subject":"company","decimal":true,
			"ends":["250"],"values":[1],"rest":"continue","no_subject":"continue"}}]`,
		},
		{
			"coverage 0", `{"force": 1, "coverage": 0, "hashVersion": 2, "seed": "s"}`, ``,
			`"default_value":0,"rules":[{"rule_type":"split","targeting":{"properties":[]},"split":{"hash":"fnv1a_32_utf16_twice","modulus":"10000","prefix":"s",
			"ends":["0"],"values":[1],"rest":"continue","no_subject":"continue"}}]`,
		},
		{
			"a range in the middle", `{"force": 1, "range": [0.5, 0.75]}`, ``,
			`"default_value":0,"rules":[{"rule_type":"targeted_release","targeting":{"properties":[{"type":"split","split":{"hash":"fnv1a_32_utf16","modulus":"1000","suffix":"f",
			"ends":["500","750"],"values":[false,true],"rest":"continue","no_subject":"continue"}}]},"value":1}]`,
		},
		{
			"an experiment", `{"variations": [1, 2], "key": "e", "name": "E", "namespace": ["n", 0.5, 1]}`, ``,
			`"default_value":0,"rules":[{"rule_type":"split","targeting":{"properties":[{"type":"split","split":{"hash":"fnv1a_32_utf16","modulus":"1000","suffix":"__n",
			"ends":["500","1000"],"values":[false,true],"rest":"continue","no_subject":"continue"}}]},"description":"E","split":{"hash":"fnv1a_32_utf16","modulus":"1000","suffix":"e",
			"ends":["500","1000"],"values":[1,2],"rest":"continue","no_subject":"continue"}}]`,
		},
		{
			"an experiment with a gap", `{"variations": [1, 2], "key": "e", "coverage": 0.5}`, ``,
			`"default_value":0,"rules":[{"rule_type":"split","targeting":{"properties":[{"type":"split","split":{"hash":"fnv1a_32_utf16","modulus":"1000","suffix":"e",
			"ends":["250","500","750"],"values":[true,false,true],"rest":"continue","no_subject":"continue"}}]},"description":"e","split":{"hash":"fnv1a_32_utf16","modulus":"1000","suffix":"e",
			"ends":["250","750"],"values":[1,2],"rest":"continue","no_subject":"continue"}}]`,
		},
		{
			"a gate", `{"force": 1, "parentConditions": [{"id": "p", "gate": true, "condition": {"value": true}}]}`, `, "p": {"defaultValue": true, "rules": [{"force": false, "condition": {"a": 1}}]}`,
			`"default_value":null,"rules":[
			{"rule_type":"percentage_rollout","targeting":{"properties":[{"key":"p","value":true,"operator":"flag_evaluates_to","type":"flag","negation":true}]},"description":"Without the feature \"p\"",
			"value":0,"rollout_percentage":0,"on_rollout_miss":"return_default","assignment_algorithm":"sha1_60_v1","seed":"fallback"},
			{"rule_type":"targeted_release","targeting":{"properties":[]},"value":1},
			{"rule_type":"targeted_release","targeting":{"properties":[]},"description":"The default value","value":0}]`,
		},
		{
			"a prerequisite", `{"force": 1, "parentConditions": [{"id": "p", "condition": {"value": {"$gt": 1}}}]}`, `, "p": {"defaultValue": 1, "rules": [{"force": 2, "condition": {"a": 1}}, {"force": 0, "coverage": 0.1}]}`,
			`"default_value":0,"rules":[{"rule_type":"targeted_release","targeting":{"properties":[{"key":"p","value":2,"operator":"flag_evaluates_to","type":"flag","strict_type":true}]},"value":1}]`,
		},
	} {
		_, f := ofRules(t, test.rules, test.others, "")
		filters, err := f.Filters()
		if err != nil {
			t.Fatal(err)
		}
		if got, want := withoutIDs(t, filters), withoutIDs(t, []byte(`{"version":2,"return_type":"number",`+test.want+`}`)); got != want || len(f.Problems) > 0 {
			t.Errorf("%s\n got %s\nwant %s\nproblems %q", test.name, got, want, f.Problems)
		}
	}
}

// withoutIDs returns a rule set without the IDs of its rules.
func withoutIDs(t *testing.T, filters []byte) string {
	t.Helper()
	var set map[string]any
	if err := json.Unmarshal(filters, &set); err != nil {
		t.Fatalf("%s: %v", filters, err)
	}
	for _, r := range set["rules"].([]any) {
		delete(r.(map[string]any), "id")
	}
	out, err := json.Marshal(set)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// TestProblems has what cannot be kept.
func TestProblems(t *testing.T) {
	for _, test := range []struct{ rules, others, want string }{
		{`{"force": 1}, {"force": "a"}`, ``, "The value of Rule 2 is not a number as others are, or not one that a flag may have: in its place is what the caller falls back on."},
		{`{"force": []}`, ``, "The value of Rule 1 is a list"},
		{`{"variations": [1, ""]}`, ``, "Variation 2 of Rule 1 is an empty text"},
		{`{"force": 1e300}`, ``, "The value of Rule 1 is not a number as others are, or not one that a flag may have"},
		{`{"force": 1, "condition": {"a": {"$new": 1}}}`, ``, `Rule 1: the operator "$new" is not known: a condition with it does not hold for anybody.`},
		{`{"force": 1, "condition": {"a": {"$all": [{"$new": 1}]}}}`, ``, `Rule 1: the operator "$new" is not known`},
		{`{"force": 1, "condition": {"$not": null}}`, ``, "Rule 1: the condition has a part that is not what it has to be"},
		{`{"force": 1, "condition": {"id": 5}}`, ``, "Rule 1: a condition compares the id with a number"},
		{`{"force": 1, "condition": {"a": {"$inGroup": "new"}}}`, ``, `Rule 1: the saved group "new" is of a type that is not known`},
		{`{"force": 1, "other": 1}`, ``, `Rule 1: "other" is not known: it has no effect.`},
		{`{"force": 1, "coverage": "1"}`, ``, `Rule 1: "coverage" is not what it has to be: what it belongs to is left out.`},
		{`{"force": 1, "namespace": ["a", 1]}`, ``, ``},
		{`7`, ``, "Rule 1 is not an object: it is left out."},
		{`{"force": 1, "url": "/a"}`, ``, `Rule 1: "url" is not taken over`},
		{`{"contextualVariations": [1, 2], "contextualBanditRef": "b"}`, ``, "Rule 1 is one of a contextual bandit: it is left out."},
		{`{"variations": [1, 2], "fallbackAttribute": "deviceId"}`, ``, "Rule 1 has sticky buckets"},
		{`{"force": 1, "parentConditions": [{"id": "f"}]}`, ``, `Rule 1 needs the feature "f", which needs itself`},
		{`{"force": 1, "parentConditions": [{"id": "p"}]}`, `, "p": {"defaultValue": []}`, `Rule 1 needs the feature "p", which is not exact.`},
		{`{"force": 1, "condition": ` + strings.Repeat(`{"$or": [{"a": 1}, {"$and": [{"b": 1}, `, 8) + `{}` + strings.Repeat(`]}]}`, 8) + `}`, ``, "Rule 1: conditions lie more than 10 deep"},
		{strings.Repeat(`{"force": 1}, `, 100) + `{"force": 1}`, ``, "The feature has more than 100 rules"},
	} {
		p, f := ofRules(t, test.rules, test.others, `"new": {"type": "query"}`)
		if got := strings.Join(f.Problems, " "); !strings.Contains(got, test.want) || got == "" && test.want != "" {
			t.Errorf("%.80s: %q, want %q", test.rules, got, test.want)
		}
		if _, err := p.Definitions(nil); err != nil {
			t.Errorf("%.80s: %v", test.rules, err)
		}
	}
}

// TestNotGrowthBook has documents that are not read.
func TestNotGrowthBook(t *testing.T) {
	for document, want := range map[string]string{
		``: "want what GrowthBook serves at /api/features/KEY", `[]`: "want what GrowthBook serves", `{"flags": {}}`: "want what GrowthBook serves",
		`{"features": [{"id": "f"}]}`:                      "not an object of features by their keys",
		`{"features": {}, "savedGroups": 5}`:               "savedGroups is not an object",
		`{"features": {}, "encryptedFeatures": "aXY=.YQ"}`: "encryptedFeatures is encrypted: fetch it by an SDK connection without encryption, or give flagstaff import the decryption key",
	} {
		if _, err := growthbook.Convert([]byte(document), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", document, err, want)
		}
	}
}

func TestEncrypted(t *testing.T) {
	key := []byte("0123456789abcdef")
	encrypt := func(text string) string {
		padding := aes.BlockSize - len(text)%aes.BlockSize
		b := append([]byte(text), slices.Repeat([]byte{byte(padding)}, padding)...)
		block, err := aes.NewCipher(key)
		if err != nil {
			t.Fatal(err)
		}
		iv := []byte("fedcba9876543210")
		cipher.NewCBCEncrypter(block, iv).CryptBlocks(b, b)
		return base64.StdEncoding.EncodeToString(iv) + "." + base64.StdEncoding.EncodeToString(b)
	}
	document := []byte(`{"features": {}, "encryptedFeatures": "` + encrypt(`{"f": {"defaultValue": 1, "rules": [{"force": 2, "condition": {"a": {"$inGroup": "g"}}}]}}`) +
		`", "encryptedSavedGroups": "` + encrypt(`{"g": ["b"]}`) + `"}`)
	decrypted, err := growthbook.Decrypt(document, base64.StdEncoding.EncodeToString(key))
	if err != nil {
		t.Fatal(err)
	}
	p, err := growthbook.Convert(decrypted, nil)
	if err != nil || len(p.Flags) != 1 || len(p.Cohorts) != 1 || len(p.Flags[0].Problems) > 0 {
		t.Errorf("%+v, %v", p, err)
	}
	for _, key := range []string{"x", "", base64.StdEncoding.EncodeToString([]byte("0123456789abcdeg"))} {
		if _, err := growthbook.Decrypt(document, key); err == nil {
			t.Errorf("the key %q decrypts it", key)
		}
	}
	for _, same := range []string{`{"features":{},"encryptedFeatures":""}`, `[1]`, `no JSON`} {
		if got, err := growthbook.Decrypt([]byte(same), "x"); err != nil || string(got) != same && same[0] != '{' {
			t.Errorf("%s becomes %s: %v", same, got, err)
		}
	}
}

// TestFeatures has a document of 50 features, as a team has them.
func TestFeatures(t *testing.T) {
	document, err := os.ReadFile("testdata/flags.json")
	if err != nil {
		t.Fatal(err)
	}
	p, err := growthbook.Convert(document, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Flags) != 50 || len(p.Cohorts) != 4 {
		t.Errorf("%d flags and %d cohorts", len(p.Flags), len(p.Cohorts))
	}
	for i := range p.Flags {
		if f := &p.Flags[i]; len(f.Problems) > 0 || len(f.Tags) == 0 || !f.Active {
			t.Errorf("%s: problems %q, tags %q", f.Key, f.Problems, f.Tags)
		}
	}
	again, err := growthbook.Convert(document, nil)
	if err != nil || !reflect.DeepEqual(p, again) {
		t.Errorf("a second time it is another project: %v", err)
	}
	converttest.Compile(t, p)
}

// FuzzConvert has documents that are anything: what comes out can be compiled, and is the same
// each time.
func FuzzConvert(f *testing.F) {
	for _, feature := range []string{
		`{"defaultValue":"a","rules":[{"force":null,"coverage":0.5,"hashVersion":2},{"variations":["a","b",null],"ranges":[[0,0.1],[0.5,1]],"meta":[{"passthrough":true}]}]}`,
		`{"defaultValue":true,"rules":[{"force":1,"filters":[{"seed":"s","ranges":[[0,1]]}]},{"variations":[1,2],"weights":[0.5,0.5],"namespace":["n",0,0.5],"seed":"s"}]}`,
		`{"rules":[{"force":{},"condition":{"$or":[{"a.b":{"$elemMatch":{"$gt":1}}},{"$savedGroup":{"id":"g"}},{"id":{"$notInGroup":"l"}}],"c":{"$regex":"^a$","$veq":"1.0","$in":[null,1]}}}]}`,
		`{"defaultValue":1,"rules":[{"parentConditions":[{"id":"f","gate":true,"condition":{"value":1}},{"id":"g","condition":{"value":{"$gt":1}}}],"force":2}]}`,
		`{"defaultValue":1,"rules":[{"parentConditions":[{"id":"g","gate":true,"condition":{"value":false}}],"force":2}]},"g":{"defaultValue":null,"rules":[{"force":true,"coverage":0.1}]}`,
	} {
		f.Add([]byte(`{"features":{"f":` + feature + `},"savedGroups":{"g":{"type":"condition","condition":{"$not":{"$savedGroup":{"id":"g"}},"a":1}},"l":["a",1]}}`))
	}
	f.Fuzz(func(t *testing.T, document []byte) {
		p, err := growthbook.Convert(document, nil)
		if err != nil {
			return
		}
		converttest.Compile(t, p)
		if again, err := growthbook.Convert(document, nil); err != nil || !reflect.DeepEqual(p, again) {
			t.Errorf("a second time it is another project: %v", err)
		}
	})
}
