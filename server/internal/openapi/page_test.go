package openapi

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"html/template"
	"regexp"
	"strings"
	"testing"
)

func readAPI(t *testing.T) *api {
	t.Helper()
	var a api
	if err := json.Unmarshal([]byte(JSON()), &a); err != nil {
		t.Fatal(err)
	}
	return &a
}

// TestPage: the page shows every operation and every schema once, its links lead
// somewhere, and it needs nothing from elsewhere.
func TestPage(t *testing.T) {
	text, err := Page(JSON())
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	ids := make(map[string]int)
	for _, m := range regexp.MustCompile(`\bid="([^"]+)"`).FindAllStringSubmatch(page, -1) {
		ids[m[1]]++
	}
	want := []string{"schemas"}
	a := readAPI(t)
	for _, path := range a.Paths {
		for _, o := range path.Value {
			want = append(want, o.Value.ID)
		}
	}
	for _, s := range a.Components.Schemas {
		want = append(want, "schema-"+s.Name)
	}
	for _, id := range want {
		if ids[id] != 1 {
			t.Errorf("%s is there %d times", id, ids[id])
		}
	}
	if len(ids) != len(want) {
		t.Errorf("the page has %d IDs, want %d", len(ids), len(want))
	}
	for _, m := range regexp.MustCompile(`\bhref="([^"]+)"`).FindAllStringSubmatch(page, -1) {
		if id, ok := strings.CutPrefix(m[1], "#"); ok && ids[id] == 0 || !ok && !strings.HasPrefix(m[1], "/api/schema/") {
			t.Errorf("the link %s leads nowhere", m[1])
		}
	}
	for _, foreign := range []string{"<script", " style=", " src=", "%!"} {
		if strings.Contains(page, foreign) {
			t.Errorf("the page has %q", foreign)
		}
	}
}

// TestPolicy: the policy has the hash of the style as it stands in the page.
func TestPolicy(t *testing.T) {
	text, err := Page(JSON())
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(text), "<style>")
	shown, _, ok := strings.Cut(after, "</style>")
	sum := sha256.Sum256([]byte(shown))
	if hash := base64.StdEncoding.EncodeToString(sum[:]); !ok || !strings.Contains(Policy(), "'sha256-"+hash+"'") {
		t.Errorf("the policy is %s, and the hash of the style %s", Policy(), hash)
	}
}

// TestYAML: the files of the document are one document, whose parts come in order.
func TestYAML(t *testing.T) {
	last := -1
	for _, part := range []string{"openapi: 3.1.0\n", "\npaths:\n", "\n  /flags:\n", "\ncomponents:\n", "\n  schemas:\n"} {
		at := strings.Index("\n"+YAML(), part)
		if at <= last || strings.Count(YAML(), part) > 1 {
			t.Errorf("%q is at %d, after %d", part, at, last)
		}
		last = at
	}
}

func TestFormatted(t *testing.T) {
	for text, want := range map[string]template.HTML{
		"":                          "",
		"One `a<b` and **two**.":    "<p>One <code>a&lt;b</code> and <strong>two</strong>.</p>",
		"Two.\n\n* a\n* `b`\n":      "<p>Two.</p><ul><li>a</li><li><code>b</code></li></ul>",
		"<script>alert(1)</script>": "<p>&lt;script&gt;alert(1)&lt;/script&gt;</p>",
	} {
		if got := formatted(text); got != want {
			t.Errorf("%q = %s, want %s", text, got, want)
		}
	}
}

// TestDescribed: each operation, parameter, member and answer is described, in sentences.
func TestDescribed(t *testing.T) {
	a := readAPI(t)
	sentence := func(where, text string) {
		if !strings.HasSuffix(text, ".") && !strings.HasSuffix(text, ":") {
			t.Errorf("%s: %q is not a sentence", where, text)
		}
	}
	tags := make(map[string]bool)
	for _, tag := range a.Tags {
		sentence("tag "+tag.Name, tag.Description)
		tags[tag.Name] = true
	}
	for _, path := range a.Paths {
		for _, method := range path.Value {
			o, where := method.Value, method.Name+" "+path.Name
			if o.Summary == "" || strings.HasSuffix(o.Summary, ".") || len(o.Tags) != 1 || !tags[o.Tags[0]] || len(o.Security) == 0 {
				t.Errorf("%s: summary %q, tags %q, security %v", where, o.Summary, o.Tags, o.Security)
			}
			for _, p := range o.Parameters {
				if p.Ref == "" {
					sentence(where+" "+p.Name, p.Description)
				}
			}
			for _, r := range o.Responses {
				if r.Value.Ref == "" {
					sentence(where+" "+r.Name, r.Value.Description)
				}
			}
		}
	}
	// Generators make a type of each component, whatever its kind.
	names := make(map[string]string)
	component := func(kind, name string) {
		if names[name] != "" {
			t.Errorf("%s %s is the name of one of the %s, too", kind, name, names[name])
		}
		names[name] = kind
	}
	for name, p := range a.Components.Parameters {
		component("parameters", name)
		sentence(name, p.Description)
	}
	for name := range a.Components.RequestBodies {
		component("request bodies", name)
	}
	for name, r := range a.Components.Responses {
		component("responses", name)
		sentence(name, r.Description)
	}
	for _, s := range a.Components.Schemas {
		component("schemas", s.Name)
		for _, m := range s.Value.Members() {
			if m.Schema.Ref == "" {
				sentence(s.Name+"."+m.Name, m.Schema.Description)
			}
		}
	}
}
