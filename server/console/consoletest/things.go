package consoletest

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha1"
	"encoding/base32"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// Cohort makes a cohort and returns it.
func (s *Site) Cohort(body string) *management.CohortView {
	s.T.Helper()
	var p management.CohortPatch
	Fatal(s.T, json.Unmarshal([]byte(body), &p))
	c, err := s.Service.CreateCohort(s.T.Context(), s.Owner, "1", p)
	Fatal(s.T, err)
	return c
}

// Stored returns a cohort as it is now.
func (s *Site) Stored(id int64) *management.CohortView {
	s.T.Helper()
	c, err := s.Service.Cohort(s.T.Context(), s.Owner, "1", strconv.FormatInt(id, 10))
	Fatal(s.T, err)
	return c
}

func CohortPath(id int64) string { return fmt.Sprintf("/projects/1/cohorts/%d", id) }

// Pro is a cohort of those whose plan is pro.
const Pro = `{"name":"Pro","filters":{"properties":{"type":"AND","values":[{"key":"plan","type":"person","operator":"exact",
	"value":"pro"}]}}}`

// Upload posts a form with distinct IDs and a file.
func (s *Site) Upload(path, ids, file string) *Answer {
	s.T.Helper()
	var b bytes.Buffer
	m := multipart.NewWriter(&b)
	Fatal(s.T, m.WriteField("ids", ids))
	w, err := m.CreateFormFile("file", "ids.csv")
	Fatal(s.T, err)
	_, err = w.Write([]byte(file))
	Fatal(s.T, err)
	Fatal(s.T, m.Close())
	r := httptest.NewRequestWithContext(s.T.Context(), "POST", "https://flags.example.com/console"+path, &b)
	r.Header.Set("Content-Type", m.FormDataContentType())
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	return s.Do(r)
}

// fieldError finds the messages beside fields, with the IDs of the fields.
var fieldError = regexp.MustCompile(`id="([^"]*)-error">([^<]*)<`)

// Says checks that a page says something beside one field and no other, or for "" in its notice.
func (a *Answer) Says(what, field, text string) {
	a.T.Helper()
	found := fieldError.FindAllStringSubmatch(a.Body, -1)
	switch {
	case a.Status != 422:
		a.T.Errorf("%s: status %d, Location %q", what, a.Status, a.Header.Get("Location"))
	case field == "" && len(found) == 0 && strings.Contains(Words(a.Body), text):
	case field != "" && len(found) == 1 && found[0][1] == field && strings.Contains(Words(found[0][2]), text):
	default:
		a.T.Errorf("%s: the messages are %q; want one beside %q with %q", what, found, field, text)
	}
}

const NewFeature = "/projects/1/features/new"

// Feature makes an early access feature by the form, and returns its path and how it is
// stored.
func (s *Site) Feature(pairs ...string) (path string, stored func() *management.EarlyAccessView) {
	s.T.Helper()
	form := s.Get(NewFeature).Want(200).Form("form")
	path = s.Post(NewFeature, With(form, append(pairs, "do", "save")...)).Want(303).Thing()
	return path, func() *management.EarlyAccessView {
		s.T.Helper()
		f, err := s.Service.EarlyAccessFeature(s.T.Context(), s.Owner, "1", strings.TrimPrefix(path, "/projects/1/features/"))
		Fatal(s.T, err)
		return f
	}
}

// Same compares filters by what clients see of them.
var Same = cmp.Comparer(func(a, b flags.Filters) bool { return Shown(a) == Shown(b) })

// Ruled makes a flag with a rule set, which is on.
func (s *Site) Ruled(key string) {
	s.T.Helper()
	var p management.FlagPatch
	Fatal(s.T, json.Unmarshal([]byte(`{"key":"`+key+`","filters":{"version":2,"return_type":"string","default_value":"none","rules":[
		{"rule_type":"targeted_release","targeting":{"properties":[{"key":"plan","type":"person","value":"pro"}]},"value":"for pro"},
		{"rule_type":"experiment","experiment_id":null,"paused":false,"targeting":{"properties":[]},"rollout_percentage":60,
			"on_rollout_miss":"continue","assignment_algorithm":"sha1_60_v1","holdout":{"id":null,"exclusion_percentage":1},
			"variants":[{"key":"a","weight":50,"value":"one"},{"key":"b","weight":50,"value":"two"}]}]}}`), &p))
	_, err := s.Service.CreateFlag(s.T.Context(), s.Owner, "1", p)
	Fatal(s.T, err)
	s.Update(key, `{"active":true,"version":1}`)
}

// Update changes a flag as another user would.
func (s *Site) Update(key, body string) {
	s.T.Helper()
	var p management.FlagPatch
	Fatal(s.T, json.Unmarshal([]byte(body), &p))
	_, err := s.Service.UpdateFlag(s.T.Context(), s.Owner, "1", key, p)
	Fatal(s.T, err)
}

func Indent(t testing.TB, raw string) []string {
	t.Helper()
	var v any
	Fatal(t, json.Unmarshal([]byte(raw), &v))
	b, err := json.MarshalIndent(v, "", " ")
	Fatal(t, err)
	return strings.Split(string(b), "\n")
}

func (s *Site) Organization() *storage.Organization {
	s.T.Helper()
	list, err := s.Store.Organizations().List(s.T.Context())
	Fatal(s.T, err)
	return &list[0]
}

const ImportPath = "/projects/1/import"

// Multi returns a request with a form as browsers send it with files.
func (s *Site) Multi(path string, form url.Values, file string, content []byte) *http.Request {
	s.T.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for name, values := range form {
		for _, value := range values {
			if name != "file" {
				Fatal(s.T, w.WriteField(name, value))
			}
		}
	}
	part, err := w.CreateFormFile("file", file)
	Fatal(s.T, err)
	_, err = part.Write(content)
	Fatal(s.T, err)
	Fatal(s.T, w.Close())
	r := httptest.NewRequestWithContext(s.T.Context(), "POST", "https://flags.example.com/console"+path, &b)
	r.Header.Set("Content-Type", w.FormDataContentType())
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	return r
}

// Sent posts a form with a button.
func (s *Site) Sent(form url.Values, button string) *Answer {
	s.T.Helper()
	return s.Do(s.Multi(ImportPath, With(form, "do", button), "", nil))
}

// Checked uploads a document, and returns the page that says what an import would do.
func (s *Site) Checked(file, document string) *Answer {
	s.T.Helper()
	a := s.Do(s.Multi(ImportPath, url.Values{"do": {"check"}}, file, []byte(document)))
	a.CheckPage()
	return a
}

// Person returns a person, and the page about the person.
func (s *Site) Person(distinctID string) (p *management.PersonView, page string) {
	s.T.Helper()
	p, err := s.Service.GetPerson(s.T.Context(), s.Owner, "1", distinctID)
	Fatal(s.T, err)
	return p, "/projects/1/persons/" + p.ID.String()
}

// Link returns where the link with a text leads, below the prefix.
func (a *Answer) Link(text string) string {
	m := regexp.MustCompile(`<a [^>]*href="/console([^"]*)"[^>]*>` + text + `</a>`).FindStringSubmatch(a.Body)
	if m == nil {
		return ""
	}
	return strings.ReplaceAll(m[1], "&amp;", "&")
}

// GetForm reads the fields of the form that asks for a page whose path ends so.
func (a *Answer) GetForm(path string) url.Values {
	a.T.Helper()
	at := regexp.MustCompile(`<form [^>]*action="[^"]*` + path + `"`).FindStringIndex(a.Body)
	if at == nil {
		a.T.Fatalf("there is no form for %s", path)
	}
	copied := &Answer{T: a.T, Body: `<form method="post"` + a.Body[at[1]:]}
	copied.Body = copied.Body[:strings.Index(copied.Body, "</form>")+len("</form>")]
	return copied.Form("")
}

// Cookie returns what an answer sets as the token of the session.
func (a *Answer) Cookie() *http.Cookie {
	a.T.Helper()
	for _, c := range (&http.Response{Header: a.Header}).Cookies() {
		return c
	}
	a.T.Fatal("no cookie was set")
	return nil
}

// AuthenticatorCode returns what an authenticator shows now.
func AuthenticatorCode(t testing.TB, secret string) string {
	t.Helper()
	key, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(secret)
	Fatal(t, err)
	mac := hmac.New(sha1.New, key)
	Fatal(t, binary.Write(mac, binary.BigEndian, time.Now().Unix()/30))
	sum := mac.Sum(nil)
	n := binary.BigEndian.Uint32(sum[sum[len(sum)-1]&15:]) & (1<<31 - 1)
	return fmt.Sprintf("%06d", n%1_000_000)
}
