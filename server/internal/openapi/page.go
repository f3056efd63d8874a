package openapi

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"html/template"
	"regexp"
	"slices"
	"strings"
)

//go:embed page.css
var style string

//go:embed page.html
var pageText string

// Page returns a document, as JSON, as a page for people. It needs no other file, no script and
// no other host.
func Page(document string) ([]byte, error) {
	var a api
	if err := json.Unmarshal([]byte(document), &a); err != nil {
		return nil, fmt.Errorf("openapi: read the document: %w", err)
	}
	page, err := template.New("page").Funcs(template.FuncMap{
		"style": func() template.HTML { return template.HTML("<style>" + style + "</style>") },
		"upper": strings.ToUpper, "formatted": formatted, "last": last, "limits": limits, "indented": indented, "keys": a.keys,
		"parameter": func(p parameter) parameter {
			if p.Ref != "" {
				return a.Components.Parameters[last(p.Ref)]
			}
			return p
		},
		"body": func(b *body) ordered[content] {
			if b.Ref != "" {
				return a.Components.RequestBodies[last(b.Ref)].Content
			}
			return b.Content
		},
		"response": func(r response) response {
			if r.Ref != "" {
				return a.Components.Responses[last(r.Ref)]
			}
			return r
		},
	}).Parse(pageText)
	if err != nil {
		return nil, fmt.Errorf("openapi: %w", err)
	}
	var b bytes.Buffer
	err = page.Execute(&b, &a)
	return b.Bytes(), err
}

// Policy returns the value of the header Content-Security-Policy for the page: only the
// style of the page itself counts, which the policy knows by its hash.
func Policy() string {
	sum := sha256.Sum256([]byte(style))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
}

// formatted returns text of the document as HTML. Of CommonMark it knows paragraphs,
// lists, code and strong text, which is all that the document has.
func formatted(s string) template.HTML {
	if s == "" {
		return ""
	}
	var b strings.Builder
	for block := range strings.SplitSeq(strings.TrimSpace(s), "\n\n") {
		items, ok := strings.CutPrefix(block, "* ")
		if !ok {
			b.WriteString("<p>" + inline(block) + "</p>")
			continue
		}
		b.WriteString("<ul>")
		for item := range strings.SplitSeq(items, "\n* ") {
			b.WriteString("<li>" + inline(item) + "</li>")
		}
		b.WriteString("</ul>")
	}
	return template.HTML(b.String())
}

var (
	codeText   = regexp.MustCompile("`([^`]+)`")
	strongText = regexp.MustCompile(`\*\*([^*]+)\*\*`)
)

func inline(s string) string {
	s = strongText.ReplaceAllString(html.EscapeString(s), "<strong>$1</strong>")
	return codeText.ReplaceAllString(s, "<code>$1</code>")
}

// keys returns the keys that open an operation, in words.
func (a *api) keys(security []map[string][]string) (list []template.HTML) {
	for _, keys := range security {
		for name, scopes := range keys {
			text, _, _ := strings.Cut(a.Components.SecuritySchemes[name].Description, ". ")
			text = strings.TrimSuffix(text, ".")
			if len(scopes) > 0 {
				text += " with `" + strings.Join(scopes, "` and `") + "`"
			}
			list = append(list, template.HTML(inline(text+".")))
		}
	}
	return list
}

// indented shows JSON for people.
func indented(b json.RawMessage) (string, error) {
	var out bytes.Buffer
	err := json.Indent(&out, b, "", "  ")
	return out.String(), err
}

// limits says what a schema allows besides its type, "" if that is all.
func limits(s schema, example json.RawMessage) string {
	values := make([]string, len(s.Enum))
	for i, v := range s.Enum {
		values[i] = string(v)
	}
	var list []string
	for _, limit := range []struct{ format, value string }{
		{"one of %s", strings.Join(values, ", ")},
		{"always %s", string(s.Const)},
		{"at least %s", string(s.Minimum)},
		{"at most %s", string(s.Maximum)},
		{"at least %s characters", string(s.MinChars)},
		{"at most %s characters", string(s.MaxChars)},
		{"at least %s elements", string(s.MinItems)},
		{"at most %s elements", string(s.MaxItems)},
		{"matches %s", s.Pattern},
		{"%s unless it is given", string(s.Default)},
		{"such as %s", string(example)},
	} {
		if limit.value != "" {
			list = append(list, fmt.Sprintf(limit.format, limit.value))
		}
	}
	for i := range s.AnyOf {
		if inner := limits(s.AnyOf[i], nil); inner != "" && s.AnyOf[i].Ref == "" {
			list = append(list, inner)
		}
	}
	return strings.Join(list, "; ")
}

// A member is a property of an object.
type member struct {
	Name     string
	Required bool
	Schema   *schema
}

// Members returns the properties of an object. A property of an object within it has its
// path as the name.
func (s schema) Members() (list []member) {
	for i := range s.Properties {
		p := &s.Properties[i]
		list = append(list, member{p.Name, slices.Contains(s.Required, p.Name), &p.Value})
		for _, inner := range p.Value.Members() {
			inner.Name = p.Name + "." + inner.Name
			list = append(list, inner)
		}
	}
	return list
}
