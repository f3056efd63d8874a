package console_test

import (
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/flagstaff-go/flagstaff/management/storage"
)

// A webForm is a form of a page that is posted.
type webForm struct {
	id, action string
	files      bool
	fields     url.Values
	typed      []string // names of the fields in which people type
	secret     []string // those that no page shows again
	button     []string // name and value of the button that sends it, nil for none
}

var (
	postedForm = regexp.MustCompile(`(?s)<form([^>]*) method="post"([^>]*)>(.*?)</form>`)
	typedField = regexp.MustCompile(`<(input|textarea)( [^>]*)>`)
	sendButton = regexp.MustCompile(`<button(?: class="([^"]*)")?(?: name="(\w+)" value="([^"]*)")?(?: tabindex[^>]*)?>`)
	someAttr   = regexp.MustCompile(` (id|action)="([^"]*)"`)
)

// forms returns the forms of a page that have fields in which people type.
func (a *answer) forms(path string) (list []webForm) {
	a.t.Helper()
	for _, m := range postedForm.FindAllStringSubmatch(a.body, -1) {
		f := webForm{action: path, files: strings.Contains(m[2], "multipart")}
		for _, attr := range someAttr.FindAllStringSubmatch(m[1]+m[2], -1) {
			if attr[1] == "id" {
				f.id = attr[2]
			} else {
				f.action = strings.TrimPrefix(html.UnescapeString(attr[2]), "/console")
			}
		}
		f.fields = (&answer{t: a.t, body: `<form id="x">` + m[3] + "</form>"}).form("x")
		for _, field := range typedField.FindAllStringSubmatch(m[3], -1) {
			name, kind := attribute(field[2], "name"), attribute(field[2], "type")
			if name == "" || strings.Contains(field[2], " hidden") ||
				slices.Contains([]string{"hidden", "checkbox", "radio", "file", "range", "date"}, kind) {
				continue
			}
			f.typed = append(f.typed, name)
			if kind == "password" || name == "code" {
				f.secret = append(f.secret, name)
			}
		}
		for _, b := range sendButton.FindAllStringSubmatch(m[3], -1) {
			if b[1] == "unseen" && b[3] == "save" || slices.Contains(onlyForm, strings.Split(b[3], " ")[0]) {
				continue
			}
			if f.button == nil || strings.Contains(b[1], "primary") {
				f.button = []string{b[2], html.UnescapeString(b[3])}
			}
		}
		if len(f.typed) > 0 {
			list = append(list, f)
		}
	}
	return list
}

// send posts a form with other texts.
func (s *site) send(f *webForm, texts map[string]string) *answer {
	form := with(f.fields)
	for name, text := range texts {
		form.Set(name, text)
	}
	if len(f.button) > 0 && f.button[0] != "" {
		form.Set(f.button[0], f.button[1])
	}
	if f.files {
		return s.do(s.multi(f.action, form, "", nil))
	}
	return s.post(f.action, form)
}

// fault says what is wrong with the answer to a form that was sent with texts, "" for
// nothing: it is taken, or the error stands at one of the fields and all texts are there.
func (f *webForm) fault(a *answer, texts map[string]string) string {
	if a.status == http.StatusSeeOther {
		return ""
	}
	if a.status == http.StatusUnauthorized && f.action == "/signin" || a.status == http.StatusTooManyRequests {
		return "" // which does not say what was wrong
	}
	if a.status != http.StatusOK && a.status != http.StatusUnprocessableEntity {
		return fmt.Sprintf("status %d: %s", a.status, words(a.body))
	}
	if a.status == http.StatusOK && strings.Contains(a.body, "it is not shown again") {
		return "" // done
	}
	has := make(map[string][]string)
	for _, m := range postedForm.FindAllStringSubmatch(a.body, -1) {
		for name, values := range (&answer{t: a.t, body: `<form id="x">` + m[3] + "</form>"}).form("x") {
			has[name] = append(has[name], values...)
		}
	}
	for name, text := range texts {
		if !slices.Contains(f.secret, name) && !slices.Contains(has[name], text) {
			return fmt.Sprintf("the text of %s is lost: it is %.60q: %.300s", name, has[name], words(a.body))
		}
	}
	if a.status == http.StatusOK {
		return "" // a question
	}
	for _, field := range regexp.MustCompile(`<(?:input|textarea|select)( [^>]*aria-invalid="true"[^>]*)>`).FindAllStringSubmatch(a.body,
		-1) {
		by := regexp.MustCompile(` aria-describedby="([^"]*)"`).FindStringSubmatch(field[1])
		if by == nil || !strings.Contains(a.body, `id="`+by[1]+`"`) {
			return "the field has no text about it: " + field[1]
		}
		if _, sent := texts[attribute(field[1], "name")]; sent || attribute(field[1], "type") == "file" {
			return ""
		}
	}
	return fmt.Sprintf("the error stands at no field: %s",
		regexp.MustCompile(`<p class="(?:wrong|note bad)[^>]*>[^<]*`).FindAllString(a.body, -1))
}

// TestFormsKeepAndTell sends each form of the console empty, with a text that is too long in each of
// its fields, and with texts that are not values (management.md §5.11).
func TestFormsKeepAndTell(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	list, _ := s.list("user-001")
	feature := s.enrolled()
	person := s.personPage("user-001")
	s.member("bob@example.com", storage.LevelMember)
	pages := []string{
		"/me", "/me/keys", "/projects/1/settings", "/projects/1/settings/members", "/projects/1/settings/delete", "/projects/1/import",
		"/projects/1/flags/new", s.flagPath("checkout-button"), s.flagPath("new-dashboard"), "/projects/1/cohorts/new",
		cohortPath(s.cohort(pro).ID), list,
		"/projects/1/features/new", feature, "/projects/1/surveys/new", s.draft(), person, person + "?edit=plan",
		"/projects/1/groups/0/group?key=acme",
	}
	valid := map[string]map[string]string{ // where fields must be filled in
		"/me address":                                  {"email": "other@example.com", "current_password": password},
		"/me/keys form":                                {"label": "A key", "reach": "all"},
		"/projects/1/settings/members invite":          {"email": "eve@example.com"},
		"/projects/1/flags/new form":                   {"key": "fresh"},
		"/projects/1/cohorts/new form":                 {"name": "A fresh one", "n0.0.key": "plan", "n0.0.value": "pro"},
		"/projects/1/features/new form":                {"name": "A fresh one"},
		"/projects/1/surveys/new form":                 {"name": "A fresh one", "q1.question": "Why?"},
		person + " property":                           {"name": "fresh", "value": "pro"},
		"/projects/1/groups/0/group?key=acme property": {"name": "plan", "value": "pro"},
	}
	long := strings.Repeat("x", 10_000)
	const wrong = "\"<b>\u00e9 \u2028?"
	sent, owner := 0, s.token
	for _, page := range append(pages, "/signin", "/forgot") {
		if s.token = owner; page == "/signin" || page == "/forgot" {
			s.token = ""
		}
		now := s.get(page).want(200)
		for n := range now.forms(page) {
			form := func() *webForm {
				f := &now.forms(page)[n]
				for name, text := range valid[page+" "+f.id] {
					f.fields.Set(name, strings.Replace(text, "fresh", fmt.Sprint("fresh-", sent), 1)) // names are taken once
				}
				return f
			}
			try := func(kind string, texts func(*webForm) map[string]string) {
				f := form()
				filled := texts(f)
				a := s.send(f, filled)
				sent++
				if a.status == http.StatusSeeOther || strings.Contains(a.body, "it is not shown again") { // it has changed
					now = s.get(page).want(200)
				}
				if fault := f.fault(a, filled); fault != "" {
					t.Errorf("%s form %s (%s) %s: %s", page, f.id, f.button, kind, fault)
				}
			}
			all := func(text string) func(*webForm) map[string]string {
				return func(f *webForm) map[string]string {
					texts := make(map[string]string)
					for _, name := range f.typed {
						texts[name] = text
					}
					return texts
				}
			}
			try("empty", all(""))
			try("wrong", all(wrong))
			for _, name := range form().typed {
				try("long "+name, func(*webForm) map[string]string { return map[string]string{name: long} })
			}
		}
	}
	if sent < 150 {
		t.Errorf("%d forms were sent", sent)
	}
}
