package openapi

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"regexp"
	"slices"
	"strings"
)

//go:embed page.css
var style string

// Page returns the document as a page for people. It needs no other file, no script and
// no other host.
//
// Package html/template would need reflection, for which programs keep code that nothing
// calls; a server that is embedded into another program shall not cost that.
func Page() ([]byte, error) {
	var a api
	if err := json.Unmarshal([]byte(document), &a); err != nil {
		return nil, fmt.Errorf("openapi: read the document: %w", err)
	}
	w := &writer{api: &a}
	w.all()
	return w.out.Bytes(), nil
}

// Policy returns the value of the header Content-Security-Policy for the page: only the
// style of the page itself counts, which the policy knows by its hash.
func Policy() string {
	sum := sha256.Sum256([]byte(style))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
}

// A writer writes the page from its top to its end.
type writer struct {
	api *api
	out bytes.Buffer
}

// markup is HTML. All other text is escaped when it is written.
type markup string

// put writes HTML with values in it.
func (w *writer) put(format string, values ...any) {
	for i, v := range values {
		if text, ok := v.(string); ok {
			values[i] = html.EscapeString(text)
		}
	}
	fmt.Fprintf(&w.out, format+"\n", values...)
}

func (w *writer) all() {
	info := &w.api.Info
	w.put(`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>%s: API</title>
<style>%s</style>
<nav aria-label="Operations">`, info.Title, markup(style))
	for _, tag := range w.api.Tags {
		w.put(`<details><summary>%s</summary><ul>`, tag.Name)
		w.operations(tag.Name, func(_, _ string, o *operation) {
			w.put(`<li><a href="#%s">%s</a></li>`, o.ID, o.Summary)
		})
		w.put(`</ul></details>`)
	}
	w.put(`<p><a href="#schemas">Schemas</a></p>
</nav>
<main>
<h1>%s</h1>
<p>%s The document for programs: <a href="/api/schema/">YAML</a>, <a href="/api/schema/?format=json">JSON</a>.</p>
%s`, info.Title, info.Summary, formatted(info.Description))
	for _, tag := range w.api.Tags {
		w.put(`<section><h2>%s</h2>%s`, tag.Name, formatted(tag.Description))
		w.operations(tag.Name, w.operation)
		w.put(`</section>`)
	}
	w.put(`<section id="schemas"><h2>Schemas</h2>`)
	for _, s := range w.api.Components.Schemas {
		w.schema(s.Name, &s.Value)
	}
	w.put(`</section></main>`)
}

// operations calls f for each operation with a tag.
func (w *writer) operations(tag string, f func(path, method string, o *operation)) {
	for _, path := range w.api.Paths {
		for i := range path.Value {
			if o := &path.Value[i]; slices.Contains(o.Value.Tags, tag) {
				f(path.Name, strings.ToUpper(o.Name), &o.Value)
			}
		}
	}
}

func (w *writer) operation(path, method string, o *operation) {
	c := &w.api.Components
	w.put(`<details class="operation"><summary><span class="method">%s</span> <span class="path">%s</span><span class="what">%s</span></summary><div id="%s"></div>%s`,
		method, path, o.Summary, o.ID, formatted(o.Description))
	w.keys(o.Security)
	if len(o.Parameters) > 0 {
		w.put(`<h3>Parameters</h3><table><tr><th scope="col">Name</th><th scope="col">Type</th><th scope="col">Meaning</th></tr>`)
		for _, parameter := range o.Parameters {
			if parameter.Ref != "" {
				parameter = c.Parameters[last(parameter.Ref)]
			}
			place := "in the " + parameter.In
			if parameter.Required && parameter.In != "path" {
				place += ", required"
			}
			w.put(`<tr><td><code>%s</code> <span class="note">%s</span></td><td>%s</td><td>%s%s</td></tr>`,
				parameter.Name, place, typeOf(&parameter.Schema), formatted(parameter.Description), note(limits(&parameter.Schema, parameter.Example)))
		}
		w.put(`</table>`)
	}
	if o.RequestBody != nil {
		contents := o.RequestBody.Content
		if o.RequestBody.Ref != "" {
			contents = c.RequestBodies[last(o.RequestBody.Ref)].Content
		}
		w.put(`<h3>Body</h3>`)
		for _, one := range contents {
			w.put(`<p><code>%s</code>: %s</p>%s`, one.Name, typeOf(&one.Value.Schema), example(one.Value.Example))
		}
	}
	w.put(`<h3>Answers</h3><table><tr><th scope="col">Status</th><th scope="col">Type</th><th scope="col">Meaning</th></tr>`)
	var shown json.RawMessage
	for i, r := range o.Responses {
		if r.Value.Ref != "" {
			r.Value = c.Responses[last(r.Value.Ref)]
		}
		var types []string
		for _, one := range r.Value.Content {
			types = append(types, fmt.Sprintf(`%s <span class="note">%s</span>`, typeOf(&one.Value.Schema), html.EscapeString(one.Name)))
			if i == 0 && shown == nil {
				shown = one.Value.Example
			}
		}
		status := strings.Replace(r.Name, "default", "other", 1)
		w.put(`<tr><td>%s</td><td>%s</td><td>%s</td></tr>`, status, markup(strings.Join(types, "<br>")), formatted(r.Value.Description))
	}
	w.put(`</table>%s<p class="note">Operation <code>%s</code></p></details>`, example(shown), o.ID)
}

// keys writes the keys that open an operation.
func (w *writer) keys(security []map[string][]string) {
	var list []string
	for _, keys := range security {
		for name, scopes := range keys {
			text, _, _ := strings.Cut(w.api.Components.SecuritySchemes[name].Description, ". ")
			text = strings.TrimSuffix(text, ".")
			if len(scopes) > 0 {
				text += " with `" + strings.Join(scopes, "` and `") + "`"
			}
			list = append(list, inline(text+"."))
		}
	}
	if len(list) > 0 {
		w.put(`<h3>Key</h3><ul><li>%s</li></ul>`, markup(strings.Join(list, "</li><li>")))
	}
}

func (w *writer) schema(name string, s *schema) {
	w.put(`<details class="schema"><summary><strong>%s</strong></summary><div id="schema-%s"></div>%s`, name, name, formatted(s.Description))
	members := s.members()
	if len(members) == 0 {
		w.put(`<p>%s</p>%s</details>`, typeOf(s), note(limits(s, nil)))
		return
	}
	w.put(`<table><tr><th scope="col">Member</th><th scope="col">Type</th><th scope="col">Meaning</th></tr>`)
	for _, m := range members {
		required := markup("")
		if m.required {
			required = ` <span class="note">required</span>`
		}
		w.put(`<tr><td><code>%s</code>%s</td><td>%s</td><td>%s%s</td></tr>`, m.name, required, typeOf(m.schema), formatted(m.schema.Description), note(limits(m.schema, nil)))
	}
	w.put(`</table>`)
	if s.closed() {
		w.put(`<p class="note">Other members are refused.</p>`)
	}
	w.put(`</details>`)
}

// formatted returns text of the document as HTML. Of CommonMark it knows paragraphs,
// lists, code and strong text, which is all that the document has.
func formatted(s string) markup {
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
	return markup(b.String())
}

var (
	codeText   = regexp.MustCompile("`([^`]+)`")
	strongText = regexp.MustCompile(`\*\*([^*]+)\*\*`)
)

func inline(s string) string {
	s = strongText.ReplaceAllString(html.EscapeString(s), "<strong>$1</strong>")
	return codeText.ReplaceAllString(s, "<code>$1</code>")
}

func note(s string) markup {
	if s == "" {
		return ""
	}
	return markup(`<span class="note">` + html.EscapeString(s) + `</span>`)
}

// example shows JSON for people.
func example(b json.RawMessage) markup {
	if len(b) == 0 {
		return ""
	}
	var out bytes.Buffer
	if err := json.Indent(&out, b, "", "  "); err != nil { // cannot be: it is a part of the document
		return ""
	}
	return markup("<pre>" + html.EscapeString(out.String()) + "</pre>")
}

// typeOf says in words what a schema allows, with links to named schemas.
func typeOf(s *schema) markup {
	var list []string
	switch {
	case s.Ref != "":
		name := html.EscapeString(last(s.Ref))
		return markup(`<a href="#schema-` + name + `">` + name + `</a>`)
	case len(s.AnyOf) > 0:
		for i := range s.AnyOf {
			list = append(list, string(typeOf(&s.AnyOf[i])))
		}
	case len(s.Type) == 0:
		return "any JSON"
	}
	for _, name := range s.Type {
		text := html.EscapeString(name)
		switch {
		case name == "array" && s.Items != nil:
			text = "list of " + string(typeOf(s.Items))
		case name == "object" && s.Additional.schema != nil:
			text = "map to " + string(typeOf(s.Additional.schema))
		case name != "null" && s.Format != "":
			text += " (" + html.EscapeString(s.Format) + ")"
		}
		list = append(list, text)
	}
	return markup(strings.Join(list, " or "))
}

// limits says what a schema allows besides its type, "" if that is all.
func limits(s *schema, example json.RawMessage) string {
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
		if inner := limits(&s.AnyOf[i], nil); inner != "" && s.AnyOf[i].Ref == "" {
			list = append(list, inner)
		}
	}
	return strings.Join(list, "; ")
}

// A member is a property of an object.
type member struct {
	name     string
	required bool
	schema   *schema
}

// members returns the properties of an object. A property of an object within it has its
// path as the name.
func (s *schema) members() (list []member) {
	for i := range s.Properties {
		p := &s.Properties[i]
		list = append(list, member{p.Name, slices.Contains(s.Required, p.Name), &p.Value})
		for _, inner := range p.Value.members() {
			inner.name = p.Name + "." + inner.name
			list = append(list, inner)
		}
	}
	return list
}
