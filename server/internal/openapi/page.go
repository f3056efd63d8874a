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

// Page returns the document as a page for people. It needs no other file, no script and
// no other host.
func Page() ([]byte, error) {
	var a api
	if err := json.Unmarshal([]byte(document), &a); err != nil {
		return nil, fmt.Errorf("openapi: read the document: %w", err)
	}
	var b bytes.Buffer
	if err := pageTemplate.Execute(&b, newPage(&a)); err != nil {
		return nil, fmt.Errorf("openapi: render the page: %w", err)
	}
	return b.Bytes(), nil
}

// Policy returns the value of the header Content-Security-Policy for the page: only the
// style of the page itself counts, which the policy knows by its hash.
func Policy() string {
	sum := sha256.Sum256([]byte(style))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
}

//go:embed page.css
var style string

//go:embed page.html
var pageText string

var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{
	"text":   markup,
	"type":   typeOf,
	"limits": limits,
	"pretty": pretty,
}).Parse(pageText))

// A page is what the template shows.
type page struct {
	API    *api
	Style  template.CSS
	Groups []group
}

// A group has the operations with one tag.
type group struct {
	Name, Description string
	Operations        []shownOperation
}

// A shownOperation is an operation with what its references name.
type shownOperation struct {
	operation
	Method, Path string
	Keys         []string
	Body         ordered[content]
	Answers      []entry[response]
}

func newPage(a *api) *page {
	p := &page{API: a, Style: template.CSS(style)}
	for _, tag := range a.Tags {
		g := group{Name: tag.Name, Description: tag.Description}
		for _, path := range a.Paths {
			for _, method := range path.Value {
				if slices.Contains(method.Value.Tags, tag.Name) {
					g.Operations = append(g.Operations, a.shown(method.Value, method.Name, path.Name))
				}
			}
		}
		p.Groups = append(p.Groups, g)
	}
	return p
}

func (a *api) shown(o operation, method, path string) shownOperation {
	s := shownOperation{operation: o, Method: strings.ToUpper(method), Path: path}
	for i, p := range s.Parameters {
		if p.Ref != "" {
			s.Parameters[i] = a.Components.Parameters[last(p.Ref)]
		}
	}
	for _, keys := range o.Security {
		for name, scopes := range keys {
			text := strings.TrimSuffix(firstSentence(a.Components.SecuritySchemes[name].Description), ".")
			if len(scopes) > 0 {
				text += " with `" + strings.Join(scopes, "` and `") + "`"
			}
			s.Keys = append(s.Keys, text+".")
		}
	}
	if o.RequestBody != nil {
		s.Body = o.RequestBody.Content
		if o.RequestBody.Ref != "" {
			s.Body = a.Components.RequestBodies[last(o.RequestBody.Ref)].Content
		}
	}
	for _, r := range o.Responses {
		if r.Value.Ref != "" {
			r.Value = a.Components.Responses[last(r.Value.Ref)]
		}
		s.Answers = append(s.Answers, r)
	}
	return s
}

func firstSentence(s string) string {
	first, _, _ := strings.Cut(s, ". ")
	return first
}

// markup returns text of the document as HTML. Of CommonMark it knows paragraphs, lists,
// code and strong text, which is all that the document has.
func markup(s string) template.HTML {
	var b strings.Builder
	for block := range strings.SplitSeq(strings.TrimSpace(s), "\n\n") {
		if items, ok := strings.CutPrefix(block, "* "); ok {
			b.WriteString("<ul>")
			for item := range strings.SplitSeq(items, "\n* ") {
				b.WriteString("<li>" + inline(item) + "</li>")
			}
			b.WriteString("</ul>")
			continue
		}
		b.WriteString("<p>" + inline(block) + "</p>")
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

// typeOf says in words what a schema allows, with links to named schemas.
func typeOf(s schema) template.HTML {
	switch {
	case s.Ref != "":
		name := html.EscapeString(last(s.Ref))
		return template.HTML(`<a href="#schema-` + name + `">` + name + `</a>`)
	case len(s.AnyOf) > 0:
		list := make([]string, len(s.AnyOf))
		for i, one := range s.AnyOf {
			list[i] = string(typeOf(one))
		}
		return template.HTML(strings.Join(list, " or "))
	case len(s.Type) == 0:
		return "any JSON"
	}
	list := make([]string, len(s.Type))
	for i, name := range s.Type {
		switch {
		case name == "array" && s.Items != nil:
			list[i] = "list of " + string(typeOf(*s.Items))
		case name == "object" && s.Additional.schema != nil:
			list[i] = "map to " + string(typeOf(*s.Additional.schema))
		case name == "string" && s.Format != "" || name == "integer" && s.Format != "":
			list[i] = name + " (" + html.EscapeString(s.Format) + ")"
		default:
			list[i] = html.EscapeString(name)
		}
	}
	return template.HTML(strings.Join(list, " or "))
}

// limits says what a schema allows besides its type, "" if that is all.
func limits(s schema) string {
	var list []string
	add := func(format string, v any) {
		if text := fmt.Sprint(v); text != "" {
			list = append(list, fmt.Sprintf(format, text))
		}
	}
	values := make([]string, len(s.Enum))
	for i, v := range s.Enum {
		values[i] = string(v)
	}
	add("one of %s", strings.Join(values, ", "))
	add("always %s", string(s.Const))
	add("at least %s", s.Minimum)
	add("at most %s", s.Maximum)
	add("at least %s characters", s.MinChars)
	add("at most %s characters", s.MaxChars)
	add("at least %s elements", s.MinItems)
	add("at most %s elements", s.MaxItems)
	add("matches %s", s.Pattern)
	add("default %s", string(s.Default))
	return strings.Join(list, "; ")
}

// pretty indents JSON for people.
func pretty(b json.RawMessage) string {
	var out bytes.Buffer
	if err := json.Indent(&out, b, "", "  "); err != nil {
		return string(b)
	}
	return out.String()
}

// A member is a property of an object in the table of a schema.
type member struct {
	Name     string
	Required bool
	Schema   schema
}

// Members returns the properties of an object, those of objects within it with their
// path as the name.
func (s schema) Members() []member {
	var list []member
	for _, p := range s.Properties {
		list = append(list, member{p.Name, slices.Contains(s.Required, p.Name), p.Value})
		for _, inner := range p.Value.Members() {
			inner.Name = p.Name + "." + inner.Name
			list = append(list, inner)
		}
	}
	return list
}
