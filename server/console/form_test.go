package console_test

import (
	"html"
	"net/url"
	"regexp"
	"strings"
	"testing"
)

// formOf reads the fields of the form with an id, or of the first form that is posted, as a
// browser would send it.
func (a *answer) form(id string) url.Values {
	a.t.Helper()
	at := strings.Index(a.body, `<form id="`+id+`"`)
	if id == "" {
		at = strings.LastIndex(a.body, `<form method="post"`)
	}
	if at < 0 {
		a.t.Fatalf("there is no form %q:\n%s", id, words(a.body))
	}
	text := a.body[at:]
	text = text[:strings.Index(text, "</form>")]
	out := make(url.Values)
	for _, m := range fieldForm.FindAllStringSubmatch(text, -1) {
		attributes, rest := m[2], m[3]
		name := attribute(attributes, "name")
		if name == "" {
			continue
		}
		switch m[1] {
		case "input":
			kind := attribute(attributes, "type")
			if kind == "checkbox" && !strings.Contains(attributes, " checked") {
				continue
			}
			out.Add(name, attribute(attributes, "value"))
		case "textarea":
			value, _, _ := strings.Cut(rest, "</textarea>")
			out.Add(name, html.UnescapeString(strings.TrimPrefix(value, "\n")))
		case "select":
			options, _, _ := strings.Cut(rest, "</select>")
			value := ""
			for i, o := range optionForm.FindAllStringSubmatch(options, -1) {
				if i == 0 || strings.Contains(o[1], " selected") {
					value = attribute(o[1], "value")
				}
			}
			out.Add(name, value)
		}
	}
	return out
}

var (
	fieldForm = regexp.MustCompile(`(?s)<(input|textarea|select)( [^>]*)>(` +
		`(?:[^<]|<option[^>]*>|</option>|<optgroup[^>]*>|</optgroup>|</textarea>|</select>)*)`)
	optionForm = regexp.MustCompile(`<option( [^>]*)>`)
	valueForm  = regexp.MustCompile(` (name|value|type)="([^"]*)"`)
)

func attribute(attributes, name string) string {
	for _, m := range valueForm.FindAllStringSubmatch(attributes, -1) {
		if m[1] == name {
			return html.UnescapeString(m[2])
		}
	}
	return ""
}

var labelled = regexp.MustCompile(`<label[^>]* for="([^"]+)"`)

// checkPage checks what holds for every page.
func (a *answer) checkPage() {
	a.t.Helper()
	if n := strings.Count(a.body, "<h1"); n != 1 {
		a.t.Errorf("the page has %d h1, want one", n)
	}
	labels := make(map[string]bool)
	for _, m := range labelled.FindAllStringSubmatch(a.body, -1) {
		labels[html.UnescapeString(m[1])] = true
	}
	ids := make(map[string]bool)
	for _, m := range regexp.MustCompile(` id="([^"]+)"`).FindAllStringSubmatch(a.body, -1) {
		if ids[m[1]] {
			a.t.Errorf("the id %s is there twice", m[1])
		}
		ids[m[1]] = true
	}
	for _, m := range regexp.MustCompile(`<(?:input|select|textarea)( [^>]*)>`).FindAllStringSubmatch(a.body, -1) {
		id := regexp.MustCompile(` id="([^"]*)"`).FindStringSubmatch(m[1])
		hidden := strings.Contains(m[1], `type="hidden"`) || strings.Contains(m[1], " hidden")
		if !hidden && !strings.Contains(m[1], "aria-label=") && (id == nil || !labels[html.UnescapeString(id[1])]) {
			a.t.Errorf("a field has no label: %s", m[1])
		}
	}
	if fault := harmless(a.body); fault != "" {
		a.t.Errorf("the page has %s", fault)
	}
	if strings.Contains(a.body, "ZgotmplZ") {
		a.t.Error("the page has a value that a template has refused")
	}
	if csp := a.header.Get("Content-Security-Policy"); !strings.HasPrefix(csp, "default-src 'none'; script-src 'self'; style-src 'self';") {
		a.t.Errorf("Content-Security-Policy: %s", csp)
	}
	if a.header.Get("Cache-Control") != "no-store" || a.header.Get("X-Content-Type-Options") != "nosniff" ||
		a.header.Get("Referrer-Policy") != "same-origin" {
		a.t.Errorf("headers: %v", a.header)
	}
}

func TestFormReader(t *testing.T) {
	a := &answer{t: t, body: `<form id="f"><input name="a" value="1&amp;2"><input type="checkbox" name="b" value="y">` +
		`<select name="c"><option value="x">X</option><option value="y" selected>Y</option></select><textarea name="d">
t</textarea></form>`}
	if got := a.form("f").Encode(); got != "a=1%262&c=y&d=t" {
		t.Errorf("form: %s", got)
	}
}
