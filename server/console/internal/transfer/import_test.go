package transfer_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
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
	"github.com/flagstaff-go/flagstaff/server/console/consoletest"
	"github.com/flagstaff-go/flagstaff/server/console/internal/transfer"
	"github.com/flagstaff-go/flagstaff/server/console/shell"
)

func init() {
	actions = append(actions,
		action{Route: "/projects/{project}/import", Verb: "check", Tested: "TestImport"},
		action{Route: "/projects/{project}/import", Verb: "import", Asks: consoletest.Who, Tested: "TestRuling100UndoImport"},
	)
}

// brought is a document with a flag and a cohort that can be imported, a flag that cannot,
// and one that the project has otherwise.
const brought = `{"flags":[
	{"id":1,"key":"brought","active":true,"filters":{"groups":[{"properties":[{"key":"id","type":"cohort","value":97}],
		"rollout_percentage":50}]}},
	{"id":2,"key":"also-brought","active":false,"filters":{"groups":[{}]}},
	{"id":3,"key":"checkout-button","active":true,"filters":{"groups":[{}]}},
	{"id":4,"key":"needs","active":true,"filters":{"groups":[{"properties":[{"key":"id","type":"cohort","value":5}]}]}}],
	"cohorts":[{"id":97,"name":"Listed","is_static":true}]}`

func keys(s *consoletest.Site) (keys []string) {
	s.T.Helper()
	page, err := s.Service.ListFlags(s.T.Context(), s.Owner, "1", management.FlagQuery{}, 1000, 0)
	consoletest.Fatal(s.T, err)
	for _, f := range page.Items {
		keys = append(keys, f.Key)
	}
	slices.Sort(keys)
	return keys
}

func TestImport(t *testing.T) {
	s := consoletest.NewSite(t)
	before := keys(s)
	s.Get("/projects/1/flags").Want(200, "Import and export")
	page := s.Get(consoletest.ImportPath).Want(200, "Nothing is stored yet", "at most 64 MiB")
	page.CheckPage()

	check := s.Checked("shop.json", brought).Want(200,
		"shop.json, 482 bytes", "2 flags and 1 cohort would be imported, 2 left out.", "Each new flag was tried for 1,000 random persons",
		"Would be left out (2)", "flag checkout-button (id 3)", "the project has another flag with this key: they differ in",
		"flag needs (id 4)", "it needs the cohort with the id 5, which was not imported",
		"Would be on from the beginning (1)", "Flags to create (2)", "also-brought", "Static cohorts without members (1)",
		"Import 2 flags and 1 cohort")
	if diff := cmp.Diff(before, keys(s)); diff != "" {
		t.Fatalf("a check has stored something (-before +after)\n%s", diff)
	}
	form := check.Form("import")
	run := consoletest.ImportPath + "/" + form.Get("run")
	s.Get(run).Want(404, "This import is not known here")

	s.Sent(form, "import").Leads(run)
	done := s.Get(run).Want(200, "Import of shop.json", "2 flags and 1 cohort imported, 2 left out.",
		"Begun just now by "+consoletest.Address,
		"New flags (2)", "Left out (2)")
	done.CheckPage()
	if !strings.Contains(done.Body, `<a href="/console/projects/1/flags/brought">`) || strings.Contains(done.Body, "data-poll") {
		t.Errorf("the page of an import that has ended:\n%s", done.Body)
	}
	s.Get("/projects/1/flags/brought").Want(200)
	after := keys(s)
	want := append(before, "also-brought", "brought")
	slices.Sort(want)
	if diff := cmp.Diff(want, after); diff != "" {
		t.Errorf("flags (-want +got)\n%s", diff)
	}
	s.Get(consoletest.ImportPath).Want(200, "Imports of the last hour", "shop.json", "2 flags and 1 cohort imported")
	s.Sent(form, "import").Leads(run) // once more, as a browser that is asked to reload
	again := s.Checked("shop.json", brought).Want(200, "Nothing would be imported, 3 there already, 2 left out.", "Already there (3)",
		"Preview again")
	if strings.Contains(again.Body, `value="import"`) {
		t.Error("the page offers an import of nothing")
	}
	s.Sent(again.Form("import"), "check").Want(200, "shop.json", "Nothing would be imported")
}

// Documents that are refused say why beside the field, and stay.
func TestImportRefusals(t *testing.T) {
	s := consoletest.NewSite(t)
	before := keys(s)
	s.Checked("", "").Want(422, "Choose a file, or paste a document.")
	s.Checked("a.json", " \n").Want(422, "Choose a file, or paste a document.")

	typed := s.Do(s.Multi(consoletest.ImportPath, url.Values{"do": {"check"}, "text": {`{"flags":[} <b>`}}, "", nil))
	typed.CheckPage()
	typed.Want(422, "The file is not a JSON object of definitions, and no list of flags")
	if got := typed.Form("import").Get("text"); got != `{"flags":[} <b>` {
		t.Errorf("what was pasted comes back as %q", got)
	}
	if !strings.Contains(typed.Body, `aria-invalid="true" aria-describedby="text-error"`) {
		t.Error("the field does not lead to the error")
	}

	uploaded := s.Checked("odd.json", `{"flags":7}`).Want(422, "The member flags: Want a list",
		"The document odd.json (11 bytes) is still here")
	s.Do(s.Multi(consoletest.ImportPath, consoletest.With(uploaded.Form("import"), "do", "check"), "good.json",
		[]byte(brought))).Want(200, "good.json",
		"2 flags and 1 cohort would be imported")
	s.Do(s.Multi(consoletest.ImportPath, consoletest.With(uploaded.Form("import"), "do", "check", "text", brought), "", nil)).Want(200,
		"pasted document",
		"2 flags and 1 cohort would be imported")

	good := s.Checked("good.json", brought).Form("import")
	for name, form := range map[string]url.Values{
		"a damaged document": consoletest.With(good, "kept", good.Get("kept")[10:]),
		"no base64":          consoletest.With(good, "kept", "%%"),
		"an odd run":         consoletest.With(good, "run", "../../x"),
	} {
		t.Run(name, func(t *testing.T) { s.Sent(form, "import").Want(400, "The form could not be read") })
	}
	s.Post(consoletest.ImportPath, url.Values{"do": {"check"}, "text": {brought}}).Want(400, "The form could not be read")
	if diff := cmp.Diff(before, keys(s)); diff != "" {
		t.Errorf("something was stored (-before +after)\n%s", diff)
	}
}

// A document stays on the page if the store fails, when it is checked and when it is
// imported.
func TestImportStoreDown(t *testing.T) {
	s := consoletest.NewSite(t)
	form := s.Checked("shop.json", brought).Form("import")
	s.Broken.Importing = func() error { panic(http.ErrAbortHandler) }
	func() {
		defer func() { _ = recover() }()
		s.Sent(consoletest.With(form, "run", strings.Repeat("a", 26)), "import")
	}()
	s.Get(consoletest.ImportPath+"/"+strings.Repeat("a", 26)).Want(200, "Nothing was imported: The program has failed.")

	s.Broken.Importing = func() error { return consoletest.ErrBroken }
	down := s.Sent(form, "import").Want(503, "The store does not answer, so nothing was imported",
		"The document shop.json (482 bytes) is still here", "nothing was imported")
	down.CheckPage()
	s.Get(consoletest.ImportPath+"/"+form.Get("run")).Want(200, "Nothing was imported: The store does not answer").CheckPage()
	s.Broken.Importing = nil
	again := s.Sent(down.Form("import"), "check").Want(200, "shop.json", "2 flags and 1 cohort would be imported")
	second := again.Form("import")
	s.Sent(second, "import").Leads(consoletest.ImportPath + "/" + second.Get("run"))
}

// An import that is under way has a page that says so. It goes on when the browser leaves,
// and others wait.
func TestImportUnderWay(t *testing.T) {
	s := consoletest.NewSite(t)
	document := func(n int) string {
		return fmt.Sprintf(`{"flags":[{"key":"brought-%d","active":true,"filters":{"groups":[{}]}}]}`, n)
	}
	var forms []url.Values
	for n := range 3 {
		forms = append(forms, s.Checked(fmt.Sprintf("shop-%d.json", n), document(n)).Form("import"))
	}
	begun, goOn := make(chan bool), make(chan bool)
	s.Broken.Importing = func() error {
		begun <- true
		<-goOn
		return nil
	}
	ctx, leave := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for _, form := range forms[:2] {
		wg.Go(func() {
			s.Do(s.Multi(consoletest.ImportPath, consoletest.With(form, "do", "import"), "", nil).WithContext(ctx))
		})
		<-begun
	}
	run := consoletest.ImportPath + "/" + forms[0].Get("run")
	under := s.Get(run).Want(200, "Importing shop-0.json", "Make cohorts waits Make flags waits Try the new flags waits Store them waits",
		"the import goes on")
	under.CheckPage()
	if !strings.Contains(under.Body, `id="progress" data-poll`) {
		t.Error("the page does not look again")
	}
	s.Get(consoletest.ImportPath).Want(200, "shop-0.json", "under way")
	s.Sent(forms[0], "import").Leads(run)
	busy := s.Sent(forms[2], "import").Want(503, "The server has enough to do with other documents", "The document shop-2.json")
	s.Checked("shop-3.json", document(3)).Want(503, "The server has enough to do with other documents")
	leave()
	close(goOn)
	wg.Wait()
	for _, form := range forms[:2] {
		s.Get(consoletest.ImportPath+"/"+form.Get("run")).Want(200, "1 flag imported.")
	}
	s.Broken.Importing = nil
	s.Sent(busy.Form("import"), "check").Want(200, "shop-2.json", "1 flag would be imported")
}

// Imports are forgotten after an hour, and belong to their project.
func TestImportForgotten(t *testing.T) {
	now := time.Now()
	s := consoletest.NewSite(t, func(c *shell.Config) { c.Now = func() time.Time { return now } })
	form := s.Checked("shop.json", brought).Form("import")
	run := "/import/" + form.Get("run")
	s.Sent(form, "import").Leads("/projects/1" + run)
	s.Get("/projects/1" + run).Want(200)
	s.Get("/projects/2" + run).Want(404)
	s.Get("/projects/2/export").Want(404)
	now = now.Add(time.Hour + time.Minute)
	s.Get("/projects/1"+run).Want(404, "This import is not known here", "audit log of the project")
	if strings.Contains(s.Get(consoletest.ImportPath).Body, "shop.json") {
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
		if diff := cmp.Diff(tt.want, transfer.ImportSteps(tt.what, tt.done, tt.total)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", tt.what, diff)
		}
	}
}

// A document that is larger than allowed is not read to its end.
func TestImportTooLarge(t *testing.T) {
	s := consoletest.NewSite(t)
	const head = "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"large.json\"\r\n\r\n"
	r := httptest.NewRequestWithContext(t.Context(), "POST", "https://flags.example.com/console"+consoletest.ImportPath,
		io.MultiReader(strings.NewReader(head), io.LimitReader(blanks{}, flags.MaxDocument*2)))
	r.Header.Set("Content-Type", "multipart/form-data; boundary=b")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	s.Do(r).Want(413, "The document is larger than 64 MiB.").CheckPage()
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
	s := consoletest.NewSite(t)
	const script = `<script>alert(1)</script>`
	document := strings.ReplaceAll(`{"flags":[{"key":"SCRIPT","active":true,"filters":{"groups":[{}]}}],"cohorts":[{"id":1,
		"name":"SCRIPT","is_static":true}],"group_type_mapping":{"0":"SCRIPT"}}`, "SCRIPT", script)
	check := s.Checked(`x"`+script+`.json`, document).Want(200, "1 cohort would be imported, 1 left out.")
	form := check.Form("import")
	s.Sent(form, "import").Leads(consoletest.ImportPath + "/" + form.Get("run"))
	for _, a := range []*consoletest.Answer{
		check, s.Get(consoletest.ImportPath + "/" + form.Get("run")).Want(200),
		s.Get(consoletest.ImportPath).Want(200),
	} {
		a.CheckPage()
		if strings.Contains(a.Body, script) {
			t.Errorf("a page has a script of a document:\n%s", a.Body)
		}
	}
}

// A member may import and export.
func TestImportMember(t *testing.T) {
	s := consoletest.NewSite(t)
	s.Member("member@example.com", storage.LevelMember)
	s.SignIn("member@example.com")
	form := s.Checked("shop.json", brought).Want(200).Form("import")
	s.Sent(form, "import").Leads(consoletest.ImportPath + "/" + form.Get("run"))
	s.Get("/projects/1/export").Want(200)
}

func TestExport(t *testing.T) {
	s := consoletest.NewSite(t)
	_, err := s.Service.ImportDefinitions(t.Context(), s.Owner, "1",
		[]byte(`[{"key":"old","active":false,"archived":true,"filters":{"groups":[{}]}}]`), management.ImportOptions{})
	consoletest.Fatal(t, err)
	for _, tt := range []struct{ query, file string }{
		{"", "shop.json"},
		{"?as=definitions&archived=true", "shop.json"},
		{"?as=lists&archived=true", "shop-lists.json"},
	} {
		t.Run(tt.query, func(t *testing.T) {
			a := s.Get("/projects/1/export" + tt.query).Want(200)
			if a.Header.Get("Content-Type") != "application/json" ||
				a.Header.Get("Content-Disposition") != `attachment; filename="`+tt.file+`"` ||
				a.Header.Get("Cache-Control") != "no-store" {
				t.Errorf("headers: %v", a.Header)
			}
			var document struct {
				Flags []struct{ Key string }
			}
			consoletest.Fatal(t, json.Unmarshal([]byte(a.Body), &document))
			archived := slices.ContainsFunc(document.Flags, func(f struct{ Key string }) bool { return f.Key == "old" })
			if want := strings.Contains(tt.query, "archived"); archived != want {
				t.Errorf("the archived flag is there: %v, want %v", archived, want)
			}
			s.Checked("shop.json", a.Body).Want(200, "Nothing would be imported", "there already.")
		})
	}
}

// TestUploadsAreBounded: only so many documents are in memory at once.
func TestUploadsAreBounded(t *testing.T) {
	s := consoletest.NewSite(t)
	form := func() *http.Request {
		return s.Multi(consoletest.ImportPath, url.Values{"do": {"check"}}, "shop.json", []byte(brought))
	}
	ended := make(chan int, 4)
	var senders []*io.PipeWriter
	for range cap(ended) {
		r, w := io.Pipe()
		begun := form()
		begun.Body, begun.ContentLength = r, -1
		go func() { ended <- s.Do(begun).Status }()
		_, err := w.Write([]byte("--")) // it is being read
		consoletest.Fatal(t, err)
		senders = append(senders, w)
	}
	s.Do(form()).Want(503, "The server has enough to do with other documents").CheckPage()
	for _, w := range senders {
		consoletest.Fatal(t, w.CloseWithError(io.ErrUnexpectedEOF))
		if status := <-ended; status != 400 {
			t.Errorf("half a form: status %d", status)
		}
	}
	s.Do(form()).Want(200, "Import preview")
}
