package consoletest

import (
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// A webForm is a form of a page that is posted.
type webForm struct {
	Id, action string
	files      bool
	Fields     url.Values
	Typed      []string // names of the fields in which people type
	secret     []string // those that no page shows again
	Button     []string // name and value of the button that sends it, nil for none
}

var (
	postedForm = regexp.MustCompile(`(?s)<form([^>]*) method="post"([^>]*)>(.*?)</form>`)
	typedField = regexp.MustCompile(`<(input|textarea)( [^>]*)>`)
	sendButton = regexp.MustCompile(`<button(?: class="([^"]*)")?(?: name="(\w+)" value="([^"]*)")?(?: tabindex[^>]*)?>`)
	someAttr   = regexp.MustCompile(` (id|action)="([^"]*)"`)
)

// forms returns the forms of a page that have fields in which people type.
func (a *Answer) forms(path string) (list []webForm) {
	a.T.Helper()
	for _, m := range postedForm.FindAllStringSubmatch(a.Body, -1) {
		f := webForm{action: path, files: strings.Contains(m[2], "multipart")}
		for _, attr := range someAttr.FindAllStringSubmatch(m[1]+m[2], -1) {
			if attr[1] == "id" {
				f.Id = attr[2]
			} else {
				f.action = strings.TrimPrefix(html.UnescapeString(attr[2]), "/console")
			}
		}
		f.Fields = (&Answer{T: a.T, Body: `<form id="x">` + m[3] + "</form>"}).Form("x")
		for _, field := range typedField.FindAllStringSubmatch(m[3], -1) {
			name, kind := attribute(field[2], "name"), attribute(field[2], "type")
			if name == "" || strings.Contains(field[2], " hidden") ||
				slices.Contains([]string{"hidden", "checkbox", "radio", "file", "range", "date"}, kind) {
				continue
			}
			f.Typed = append(f.Typed, name)
			if kind == "password" || name == "code" {
				f.secret = append(f.secret, name)
			}
		}
		for _, b := range sendButton.FindAllStringSubmatch(m[3], -1) {
			if b[1] == "unseen" && b[3] == "save" || slices.Contains(onlyForm, strings.Split(b[3], " ")[0]) {
				continue
			}
			if f.Button == nil || strings.Contains(b[1], "primary") {
				f.Button = []string{b[2], html.UnescapeString(b[3])}
			}
		}
		if len(f.Typed) > 0 {
			list = append(list, f)
		}
	}
	return list
}

// send posts a form with other texts.
func (s *Site) send(f *webForm, texts map[string]string) *Answer {
	form := With(f.Fields)
	for name, text := range texts {
		form.Set(name, text)
	}
	if len(f.Button) > 0 && f.Button[0] != "" {
		form.Set(f.Button[0], f.Button[1])
	}
	if f.files {
		return s.Do(s.Multi(f.action, form, "", nil))
	}
	return s.Post(f.action, form)
}

// Fault says what is wrong with the answer to a form that was sent with texts, "" for
// nothing: it is taken, or the error stands at one of the fields and all texts are there.
func (f *webForm) Fault(a *Answer, texts map[string]string) string {
	if a.Status == http.StatusSeeOther {
		return ""
	}
	if a.Status == http.StatusUnauthorized && f.action == "/signin" || a.Status == http.StatusTooManyRequests {
		return "" // which does not say what was wrong
	}
	if a.Status != http.StatusOK && a.Status != http.StatusUnprocessableEntity {
		return fmt.Sprintf("status %d: %s", a.Status, Words(a.Body))
	}
	if a.Status == http.StatusOK && strings.Contains(a.Body, "it is not shown again") {
		return "" // done
	}
	has := make(map[string][]string)
	for _, m := range postedForm.FindAllStringSubmatch(a.Body, -1) {
		for name, values := range (&Answer{T: a.T, Body: `<form id="x">` + m[3] + "</form>"}).Form("x") {
			has[name] = append(has[name], values...)
		}
	}
	for name, text := range texts {
		if !slices.Contains(f.secret, name) && !slices.Contains(has[name], text) {
			return fmt.Sprintf("the text of %s is lost: it is %.60q: %.300s", name, has[name], Words(a.Body))
		}
	}
	if a.Status == http.StatusOK {
		return "" // a question
	}
	for _, field := range regexp.MustCompile(`<(?:input|textarea|select)( [^>]*aria-invalid="true"[^>]*)>`).FindAllStringSubmatch(a.Body,
		-1) {
		by := regexp.MustCompile(` aria-describedby="([^"]*)"`).FindStringSubmatch(field[1])
		if by == nil || !strings.Contains(a.Body, `id="`+by[1]+`"`) {
			return "the field has no text about it: " + field[1]
		}
		if _, sent := texts[attribute(field[1], "name")]; sent || attribute(field[1], "type") == "file" {
			return ""
		}
	}
	return fmt.Sprintf("the error stands at no field: %s",
		regexp.MustCompile(`<p class="(?:wrong|note bad)[^>]*>[^<]*`).FindAllString(a.Body, -1))
}

// KeepAndTell sends each form of some pages empty, with a text that is too long in each of its
// fields, and with texts that are not values (management.md §5.11). It returns how many forms it
// has sent. Some pages need valid texts: of a page and the ID of a form.
func (s *Site) KeepAndTell(pages []string, valid map[string]map[string]string) (sent int) {
	t := s.T
	long := strings.Repeat("x", 10_000)
	const wrong = "\"<b>\u00e9 \u2028?"
	owner := s.Token
	for _, page := range pages {
		if s.Token = owner; page == "/signin" || page == "/forgot" {
			s.Token = ""
		}
		now := s.Get(page).Want(200)
		for n := range now.forms(page) {
			form := func() *webForm {
				f := &now.forms(page)[n]
				for name, text := range valid[page+" "+f.Id] {
					f.Fields.Set(name, strings.Replace(text, "fresh", fmt.Sprint("fresh-", sent), 1)) // names are taken once
				}
				return f
			}
			try := func(kind string, texts func(*webForm) map[string]string) {
				f := form()
				filled := texts(f)
				a := s.send(f, filled)
				sent++
				if a.Status == http.StatusSeeOther || strings.Contains(a.Body, "it is not shown again") { // it has changed
					now = s.Get(page).Want(200)
				}
				if fault := f.Fault(a, filled); fault != "" {
					t.Errorf("%s form %s (%s) %s: %s", page, f.Id, f.Button, kind, fault)
				}
			}
			all := func(text string) func(*webForm) map[string]string {
				return func(f *webForm) map[string]string {
					texts := make(map[string]string)
					for _, name := range f.Typed {
						texts[name] = text
					}
					return texts
				}
			}
			try("empty", all(""))
			try("wrong", all(wrong))
			for _, name := range form().Typed {
				try("long "+name, func(*webForm) map[string]string { return map[string]string{name: long} })
			}
		}
	}
	return sent
}
