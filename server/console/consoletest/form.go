package consoletest

import (
	"html"
	"net/url"
	"regexp"
	"strings"
)

// Form reads the fields of the form with an id, or of the first form that is posted, as a
// browser would send it.
func (a *Answer) Form(id string) url.Values {
	a.T.Helper()
	at := strings.Index(a.Body, `<form id="`+id+`"`)
	if id == "" {
		at = strings.LastIndex(a.Body, `<form method="post"`)
	}
	if at < 0 {
		a.T.Fatalf("there is no form %q:\n%s", id, Words(a.Body))
	}
	text := a.Body[at:]
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
			if (kind == "checkbox" || kind == "radio") && !strings.Contains(attributes, " checked") {
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

// CheckPage checks what holds for every page.
func (a *Answer) CheckPage() {
	a.T.Helper()
	if n := strings.Count(a.Body, "<h1"); n != 1 {
		a.T.Errorf("the page has %d h1, want one", n)
	}
	labels := make(map[string]bool)
	for _, m := range labelled.FindAllStringSubmatch(a.Body, -1) {
		labels[html.UnescapeString(m[1])] = true
	}
	ids := make(map[string]bool)
	for _, m := range regexp.MustCompile(` id="([^"]+)"`).FindAllStringSubmatch(a.Body, -1) {
		if ids[m[1]] {
			a.T.Errorf("the id %s is there twice", m[1])
		}
		ids[m[1]] = true
	}
	for _, m := range regexp.MustCompile(`<(?:input|select|textarea)( [^>]*)>`).FindAllStringSubmatch(a.Body, -1) {
		id := regexp.MustCompile(` id="([^"]*)"`).FindStringSubmatch(m[1])
		hidden := strings.Contains(m[1], `type="hidden"`) || strings.Contains(m[1], " hidden")
		if !hidden && !strings.Contains(m[1], "aria-label=") && (id == nil || !labels[html.UnescapeString(id[1])]) {
			a.T.Errorf("a field has no label: %s", m[1])
		}
	}
	if fault := harmless(a.Body); fault != "" {
		a.T.Errorf("the page has %s", fault)
	}
	if strings.Contains(a.Body, "ZgotmplZ") {
		a.T.Error("the page has a value that a template has refused")
	}
	if csp := a.Header.Get("Content-Security-Policy"); !strings.HasPrefix(csp, "default-src 'none'; script-src 'self'; style-src 'self';") {
		a.T.Errorf("Content-Security-Policy: %s", csp)
	}
	if a.Header.Get("Cache-Control") != "no-store" || a.Header.Get("X-Content-Type-Options") != "nosniff" ||
		a.Header.Get("Referrer-Policy") != "same-origin" {
		a.T.Errorf("headers: %v", a.Header)
	}
}
