package console_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/storage"
	"github.com/flagstaff-go/flagstaff/server/console"
)

func init() {
	actions = append(actions,
		action{route: "/projects/{project}/import", verb: "check", tested: "TestImport"},
		action{route: "/projects/{project}/import", verb: "import", asks: who, tested: "TestRuling100UndoImport"},
	)
}

const importPath = "/projects/1/import"

// brought is a document with a flag and a cohort that can be imported, a flag that cannot,
// and one that the project has otherwise.
const brought = `{"flags":[
	{"id":1,"key":"brought","active":true,"filters":{"groups":[{"properties":[{"key":"id","type":"cohort","value":97}],
		"rollout_percentage":50}]}},
	{"id":2,"key":"also-brought","active":false,"filters":{"groups":[{}]}},
	{"id":3,"key":"checkout-button","active":true,"filters":{"groups":[{}]}},
	{"id":4,"key":"needs","active":true,"filters":{"groups":[{"properties":[{"key":"id","type":"cohort","value":5}]}]}}],
	"cohorts":[{"id":97,"name":"Listed","is_static":true}]}`

// multi returns a request with a form as browsers send it with files.
func (s *site) multi(path string, form url.Values, file string, content []byte) *http.Request {
	s.t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for name, values := range form {
		for _, value := range values {
			if name != "file" {
				fatal(s.t, w.WriteField(name, value))
			}
		}
	}
	part, err := w.CreateFormFile("file", file)
	fatal(s.t, err)
	_, err = part.Write(content)
	fatal(s.t, err)
	fatal(s.t, w.Close())
	r := httptest.NewRequestWithContext(s.t.Context(), "POST", "https://flags.example.com/console"+path, &b)
	r.Header.Set("Content-Type", w.FormDataContentType())
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	return r
}

// sent posts a form with a button.
func (s *site) sent(form url.Values, button string) *answer {
	s.t.Helper()
	return s.do(s.multi(importPath, with(form, "do", button), "", nil))
}

// checked uploads a document, and returns the page that says what an import would do.
func (s *site) checked(file, document string) *answer {
	s.t.Helper()
	a := s.do(s.multi(importPath, url.Values{"do": {"check"}}, file, []byte(document)))
	a.checkPage()
	return a
}

func (s *site) keys() (keys []string) {
	s.t.Helper()
	page, err := s.service.ListFlags(s.t.Context(), s.owner, "1", management.FlagQuery{}, 1000, 0)
	fatal(s.t, err)
	for _, f := range page.Items {
		keys = append(keys, f.Key)
	}
	slices.Sort(keys)
	return keys
}

func TestImport(t *testing.T) {
	s := newSite(t)
	before := s.keys()
	s.get("/projects/1/flags").want(200, "Import and export")
	page := s.get(importPath).want(200, "Nothing is stored yet", "at most 64 MiB")
	page.checkPage()

	check := s.checked("shop.json", brought).want(200,
		"shop.json, 482 bytes", "2 flags and 1 cohort would be imported, 2 left out.", "Each new flag was tried for 1,000 random persons",
		"Would be left out (2)", "flag checkout-button (id 3)", "the project has another flag with this key: they differ in",
		"flag needs (id 4)", "it needs the cohort with the id 5, which was not imported",
		"Would be on from the beginning (1)", "Flags to create (2)", "also-brought", "Static cohorts without members (1)",
		"Import 2 flags and 1 cohort")
	if diff := cmp.Diff(before, s.keys()); diff != "" {
		t.Fatalf("a check has stored something (-before +after)\n%s", diff)
	}
	form := check.form("import")
	run := importPath + "/" + form.Get("run")
	s.get(run).want(404, "This import is not known here")

	s.sent(form, "import").leads(run)
	done := s.get(run).want(200, "Import of shop.json", "2 flags and 1 cohort imported, 2 left out.", "Begun just now by "+address,
		"New flags (2)", "Left out (2)")
	done.checkPage()
	if !strings.Contains(done.body, `<a href="/console/projects/1/flags/brought">`) || strings.Contains(done.body, "data-poll") {
		t.Errorf("the page of an import that has ended:\n%s", done.body)
	}
	s.get("/projects/1/flags/brought").want(200)
	after := s.keys()
	want := append(before, "also-brought", "brought")
	slices.Sort(want)
	if diff := cmp.Diff(want, after); diff != "" {
		t.Errorf("flags (-want +got)\n%s", diff)
	}
	s.get(importPath).want(200, "Imports of the last hour", "shop.json", "2 flags and 1 cohort imported")
	s.sent(form, "import").leads(run) // once more, as a browser that is asked to reload
	again := s.checked("shop.json", brought).want(200, "Nothing would be imported, 3 there already, 2 left out.", "Already there (3)",
		"Preview again")
	if strings.Contains(again.body, `value="import"`) {
		t.Error("the page offers an import of nothing")
	}
	s.sent(again.form("import"), "check").want(200, "shop.json", "Nothing would be imported")
}

// Documents that are refused say why beside the field, and stay.
func TestImportRefusals(t *testing.T) {
	s := newSite(t)
	before := s.keys()
	s.checked("", "").want(422, "Choose a file, or paste a document.")
	s.checked("a.json", " \n").want(422, "Choose a file, or paste a document.")

	typed := s.do(s.multi(importPath, url.Values{"do": {"check"}, "text": {`{"flags":[} <b>`}}, "", nil))
	typed.checkPage()
	typed.want(422, "The file is not a JSON object of definitions, and no list of flags")
	if got := typed.form("import").Get("text"); got != `{"flags":[} <b>` {
		t.Errorf("what was pasted comes back as %q", got)
	}
	if !strings.Contains(typed.body, `aria-invalid="true" aria-describedby="text-error"`) {
		t.Error("the field does not lead to the error")
	}

	uploaded := s.checked("odd.json", `{"flags":7}`).want(422, "The member flags: Want a list",
		"The document odd.json (11 bytes) is still here")
	s.do(s.multi(importPath, with(uploaded.form("import"), "do", "check"), "good.json", []byte(brought))).want(200, "good.json",
		"2 flags and 1 cohort would be imported")
	s.do(s.multi(importPath, with(uploaded.form("import"), "do", "check", "text", brought), "", nil)).want(200, "pasted document",
		"2 flags and 1 cohort would be imported")

	good := s.checked("good.json", brought).form("import")
	for name, form := range map[string]url.Values{
		"a damaged document": with(good, "kept", good.Get("kept")[10:]),
		"no base64":          with(good, "kept", "%%"),
		"an odd run":         with(good, "run", "../../x"),
	} {
		t.Run(name, func(t *testing.T) { s.sent(form, "import").want(400, "The form could not be read") })
	}
	s.post(importPath, url.Values{"do": {"check"}, "text": {brought}}).want(400, "The form could not be read")
	if diff := cmp.Diff(before, s.keys()); diff != "" {
		t.Errorf("something was stored (-before +after)\n%s", diff)
	}
}

// A document stays on the page if the store fails, when it is checked and when it is
// imported.
func TestImportStoreDown(t *testing.T) {
	s := newSite(t)
	form := s.checked("shop.json", brought).form("import")
	s.broken.importing = func() error { panic(http.ErrAbortHandler) }
	func() {
		defer func() { _ = recover() }()
		s.sent(with(form, "run", strings.Repeat("a", 26)), "import")
	}()
	s.get(importPath+"/"+strings.Repeat("a", 26)).want(200, "Nothing was imported: The program has failed.")

	s.broken.importing = func() error { return errBroken }
	down := s.sent(form, "import").want(503, "The store does not answer, so nothing was imported",
		"The document shop.json (482 bytes) is still here", "nothing was imported")
	down.checkPage()
	s.get(importPath+"/"+form.Get("run")).want(200, "Nothing was imported: The store does not answer").checkPage()
	s.broken.importing = nil
	again := s.sent(down.form("import"), "check").want(200, "shop.json", "2 flags and 1 cohort would be imported")
	second := again.form("import")
	s.sent(second, "import").leads(importPath + "/" + second.Get("run"))
}

// An import that is under way has a page that says so. It goes on when the browser leaves,
// and others wait.
func TestImportUnderWay(t *testing.T) {
	s := newSite(t)
	document := func(n int) string {
		return fmt.Sprintf(`{"flags":[{"key":"brought-%d","active":true,"filters":{"groups":[{}]}}]}`, n)
	}
	var forms []url.Values
	for n := range 3 {
		forms = append(forms, s.checked(fmt.Sprintf("shop-%d.json", n), document(n)).form("import"))
	}
	begun, goOn := make(chan bool), make(chan bool)
	s.broken.importing = func() error {
		begun <- true
		<-goOn
		return nil
	}
	ctx, leave := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for _, form := range forms[:2] {
		wg.Go(func() { s.do(s.multi(importPath, with(form, "do", "import"), "", nil).WithContext(ctx)) })
		<-begun
	}
	run := importPath + "/" + forms[0].Get("run")
	under := s.get(run).want(200, "Importing shop-0.json", "Make cohorts waits Make flags waits Try the new flags waits Store them waits",
		"the import goes on")
	under.checkPage()
	if !strings.Contains(under.body, `id="progress" data-poll`) {
		t.Error("the page does not look again")
	}
	s.get(importPath).want(200, "shop-0.json", "under way")
	s.sent(forms[0], "import").leads(run)
	busy := s.sent(forms[2], "import").want(503, "The server has enough to do with other documents", "The document shop-2.json")
	s.checked("shop-3.json", document(3)).want(503, "The server has enough to do with other documents")
	leave()
	close(goOn)
	wg.Wait()
	for _, form := range forms[:2] {
		s.get(importPath+"/"+form.Get("run")).want(200, "1 flag imported.")
	}
	s.broken.importing = nil
	s.sent(busy.form("import"), "check").want(200, "shop-2.json", "1 flag would be imported")
}

// Imports are forgotten after an hour, and belong to their project.
func TestImportForgotten(t *testing.T) {
	now := time.Now()
	s := newSite(t, func(c *console.Config) { c.Now = func() time.Time { return now } })
	form := s.checked("shop.json", brought).form("import")
	run := "/import/" + form.Get("run")
	s.sent(form, "import").leads("/projects/1" + run)
	s.get("/projects/1" + run).want(200)
	s.get("/projects/2" + run).want(404)
	s.get("/projects/2/export").want(404)
	now = now.Add(time.Hour + time.Minute)
	s.get("/projects/1"+run).want(404, "This import is not known here", "audit log of the project")
	if strings.Contains(s.get(importPath).body, "shop.json") {
		t.Error("the list has an import that is forgotten")
	}
}

func TestImportSteps(t *testing.T) {
	for _, tt := range []struct {
		what        string
		done, total int
		want        []string
	}{
		{"", 0, 0, []string{"Make cohorts: waits", "Make flags: waits", "Try the new flags: waits", "Store them: waits"}},
		{"cohorts", 1, 2, []string{"Make cohorts: 1 of 2", "Make flags: waits", "Try the new flags: waits", "Store them: waits"}},
		{
			"flags", 4000, 10_000,
			[]string{"Make cohorts: done", "Make flags: 4,000 of 10,000", "Try the new flags: waits", "Store them: waits"},
		},
		{
			"subjects", 50, 1000,
			[]string{"Make cohorts: done", "Make flags: done", "Try the new flags: 50 of 1,000 random persons", "Store them: waits"},
		},
		{"subjects", 1000, 1000, []string{"Make cohorts: done", "Make flags: done", "Try the new flags: done", "Store them: under way"}},
	} {
		if diff := cmp.Diff(tt.want, console.ImportSteps(tt.what, tt.done, tt.total)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", tt.what, diff)
		}
	}
}

// A document that is larger than allowed is not read to its end.
func TestImportTooLarge(t *testing.T) {
	s := newSite(t)
	const head = "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"large.json\"\r\n\r\n"
	r := httptest.NewRequestWithContext(t.Context(), "POST", "https://flags.example.com/console"+importPath,
		io.MultiReader(strings.NewReader(head), io.LimitReader(blanks{}, flags.MaxDocument*2)))
	r.Header.Set("Content-Type", "multipart/form-data; boundary=b")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	s.do(r).want(413, "The document is larger than 64 MiB.").checkPage()
}

// blanks is a reader of blanks.
type blanks struct{}

func (blanks) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = ' '
	}
	return len(b), nil
}

// Names of files and texts of documents come out as text.
func TestImportScripts(t *testing.T) {
	s := newSite(t)
	const script = `<script>alert(1)</script>`
	document := strings.ReplaceAll(`{"flags":[{"key":"SCRIPT","active":true,"filters":{"groups":[{}]}}],"cohorts":[{"id":1,
		"name":"SCRIPT","is_static":true}],"group_type_mapping":{"0":"SCRIPT"}}`, "SCRIPT", script)
	check := s.checked(`x"`+script+`.json`, document).want(200, "1 cohort would be imported, 1 left out.")
	form := check.form("import")
	s.sent(form, "import").leads(importPath + "/" + form.Get("run"))
	for _, a := range []*answer{check, s.get(importPath + "/" + form.Get("run")).want(200), s.get(importPath).want(200)} {
		a.checkPage()
		if strings.Contains(a.body, script) {
			t.Errorf("a page has a script of a document:\n%s", a.body)
		}
	}
}

// A member may import and export.
func TestImportMember(t *testing.T) {
	s := newSite(t)
	s.member("member@example.com", storage.LevelMember)
	s.signIn("member@example.com")
	form := s.checked("shop.json", brought).want(200).form("import")
	s.sent(form, "import").leads(importPath + "/" + form.Get("run"))
	s.get("/projects/1/export").want(200)
}

func TestExport(t *testing.T) {
	s := newSite(t)
	_, err := s.service.ImportDefinitions(t.Context(), s.owner, "1",
		[]byte(`[{"key":"old","active":false,"archived":true,"filters":{"groups":[{}]}}]`), management.ImportOptions{})
	fatal(t, err)
	for _, tt := range []struct{ query, file string }{
		{"", "shop.json"},
		{"?as=definitions&archived=true", "shop.json"},
		{"?as=lists&archived=true", "shop-lists.json"},
	} {
		t.Run(tt.query, func(t *testing.T) {
			a := s.get("/projects/1/export" + tt.query).want(200)
			if a.header.Get("Content-Type") != "application/json" ||
				a.header.Get("Content-Disposition") != `attachment; filename="`+tt.file+`"` ||
				a.header.Get("Cache-Control") != "no-store" {
				t.Errorf("headers: %v", a.header)
			}
			var document struct {
				Flags []struct{ Key string }
			}
			fatal(t, json.Unmarshal([]byte(a.body), &document))
			archived := slices.ContainsFunc(document.Flags, func(f struct{ Key string }) bool { return f.Key == "old" })
			if want := strings.Contains(tt.query, "archived"); archived != want {
				t.Errorf("the archived flag is there: %v, want %v", archived, want)
			}
			s.checked("shop.json", a.body).want(200, "Nothing would be imported", "there already.")
		})
	}
}

// TestUploadsAreBounded: only so many documents are in memory at once.
func TestUploadsAreBounded(t *testing.T) {
	s := newSite(t)
	form := func() *http.Request {
		return s.multi(importPath, url.Values{"do": {"check"}}, "shop.json", []byte(brought))
	}
	ended := make(chan int, 4)
	var senders []*io.PipeWriter
	for range cap(ended) {
		r, w := io.Pipe()
		begun := form()
		begun.Body, begun.ContentLength = r, -1
		go func() { ended <- s.do(begun).status }()
		_, err := w.Write([]byte("--")) // it is being read
		fatal(t, err)
		senders = append(senders, w)
	}
	s.do(form()).want(503, "The server has enough to do with other documents").checkPage()
	for _, w := range senders {
		fatal(t, w.CloseWithError(io.ErrUnexpectedEOF))
		if status := <-ended; status != 400 {
			t.Errorf("half a form: status %d", status)
		}
	}
	s.do(form()).want(200, "Import preview")
}
