package server_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/sqlstore"
	"github.com/flagstaff-go/flagstaff/management/storage"
	"github.com/flagstaff-go/flagstaff/server"
)

// collect reads a list to its end.
func collect(ids iter.Seq2[string, error]) (list []string, err error) {
	for id, e := range ids {
		if e != nil {
			if err != nil {
				panic("an element after the error")
			}
			err = e
			continue
		}
		list = append(list, id)
	}
	return list, err
}

// An uploadCase is a body, the distinct IDs in it, and the error at its end.
type uploadCase struct {
	name, body string
	want       []string
	err        string
}

// inPieces reads each body as a whole, byte by byte, and in halves: borders must
// not matter.
func inPieces(t *testing.T, decode func(io.Reader) iter.Seq2[string, error], tt uploadCase) {
	t.Helper()
	for name, r := range map[string]io.Reader{
		"whole": strings.NewReader(tt.body), "bytes": iotest.OneByteReader(strings.NewReader(tt.body)),
		"halves": iotest.HalfReader(strings.NewReader(tt.body)), "data with the end": iotest.DataErrReader(strings.NewReader(tt.body)),
	} {
		if name == "bytes" && len(tt.body) > 1000 {
			continue // takes long
		}
		got, err := collect(decode(r))
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s (-want +got)\n%.2000s", name, cmp.Diff(tt.want, got))
		}
		if tt.err == "" {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		e, ok := errors.AsType[*management.Error](err)
		if !ok || !errors.Is(e, management.ErrInvalid) || e.Code != "invalid_input" || e.Detail != "The list cannot be read: "+tt.err+"." {
			t.Errorf("%s: error %v, want %s", name, err, tt.err)
		}
	}
}

// TestUploadCSV: the column distinct_id, or else the first (management.md §13.10).
func TestUploadCSV(t *testing.T) {
	long := strings.Repeat("é", 250)
	tooMuch := fmt.Sprintf("the row after line %d has more than %d bytes", 1, server.MaxElement)
	for _, tt := range []uploadCase{
		{name: "empty"},
		{name: "newlines", body: "\n\r\n\n"},
		{name: "one", body: "a", want: []string{"a"}},
		{name: "lines", body: "a\nb\r\nc", want: []string{"a", "b", "c"}},
		{name: "blanks", body: " a \n \n\tb\t\n,\n", want: []string{"a", "b"}},
		{name: "duplicates stay", body: "a\na\n", want: []string{"a", "a"}},
		{name: "numbers", body: "17\n17.50\n1e3\n007\n", want: []string{"17", "17.50", "1e3", "007"}},

		{name: "head", body: "distinct_id\na\n", want: []string{"a"}},
		{name: "head alone", body: "distinct_id"},
		{name: "head twice", body: "distinct_id\ndistinct_id\n", want: []string{"distinct_id"}},
		{name: "head in another column", body: "email,distinct_id,plan\nx@example,a,pro\ny@example,b\n", want: []string{"a", "b"}},
		{name: "head in another form", body: " Distinct-ID ,x\na,1\n", want: []string{"a"}},
		{name: "plural", body: "x,\"Distinct IDs\"\n1,a\n", want: []string{"a"}},
		{name: "another head", body: "email,plan\na@example,pro\n", want: []string{"email", "a@example"}},
		{name: "first of two heads", body: "distinct_id,distinct_id\na,b\n", want: []string{"a"}},
		{name: "short rows", body: "x,y,distinct_id\n1\n1,2\n1,2,a\n1,2,\n1,2,b,c\n", want: []string{"a", "b"}},

		{name: "byte order mark", body: "\ufeffa\nb\n", want: []string{"a", "b"}},
		{name: "byte order mark and head", body: "\ufeffdistinct_id\na\n", want: []string{"a"}},
		{name: "byte order mark and quotes", body: "\ufeff\"distinct_id\",\"x\"\n\"a\",1\n", want: []string{"a"}},
		{name: "byte order mark alone", body: "\ufeff"},
		{name: "half a mark", body: "\xef\xbb", err: "line 1 is not UTF-8"},
		{name: "mark inside", body: "a\n\ufeffb\n", want: []string{"a", "\ufeffb"}},

		{name: "quotes", body: "\"a,b\"\n\"say \"\"hi\"\"\"\n  \"c\"\n", want: []string{"a,b", `say "hi"`, "c"}},
		{name: "line breaks in quotes", body: "\"a\nb\",1\nc,2\n", want: []string{"a\nb", "c"}},
		{name: "carriage returns alone", body: "a\rb\rc\r", err: "line 1 has a carriage return without a line feed"},
		{name: "carriage return in quotes", body: "a\n\"b\rc\"\n", want: []string{"a"}, err: "line 2 has a carriage return without a line feed"},
		{name: "both in quotes", body: "\"a\r\nb\"\r\n", want: []string{"a\nb"}},
		{name: "bare quote", body: "a\nb\"c\n", want: []string{"a"}, err: `line 2 is not a CSV: bare " in non-quoted-field`},
		{name: "open quote", body: "a\n\"b\nc\n", want: []string{"a"}, err: `line 3 is not a CSV: extraneous or missing " in quoted-field`},
		{name: "text behind quotes", body: "\"a\"b\n", err: `line 1 is not a CSV: extraneous or missing " in quoted-field`},

		{name: "long ID", body: long + "\n", want: []string{strings.Repeat("é", 200)}},
		{name: "NUL", body: "a\x00b\n", want: []string{"a\ufffdb"}},
		{name: "Latin-1", body: "a\nM\xfcller\nb\n", want: []string{"a"}, err: "line 2 is not UTF-8"},
		{name: "Latin-1 in another column", body: "a,M\xfcller\n", want: []string{"a"}},
		{name: "UTF-16", body: "\xff\xfea\x00\n\x00", err: "line 1 is not UTF-8"},

		{name: "largest row", body: "a\nb," + strings.Repeat("x", server.MaxElement-3) + "\nc\n", want: []string{"a", "b", "c"}},
		{name: "huge cell", body: "a\nb," + strings.Repeat("x", 2*server.MaxElement) + "\nc\n", want: []string{"a"}, err: tooMuch},
		{name: "huge quoted cell", body: "a\n\"" + strings.Repeat("x\n", server.MaxElement) + "\"\nc\n", want: []string{"a"}, err: tooMuch},
		{name: "many cells", body: "a\nb" + strings.Repeat(",", 2*server.MaxElement), want: []string{"a"}, err: tooMuch},
		{name: "many rows", body: strings.Repeat("a,b,c\n", server.MaxElement/2), want: slices.Repeat([]string{"a"}, server.MaxElement/2)},
	} {
		t.Run(tt.name, func(t *testing.T) { inPieces(t, server.IDsOfCSV, tt) })
	}
}

// TestUploadJSON: a list, or an object with the list distinct_ids.
func TestUploadJSON(t *testing.T) {
	const want = "want a list of distinct IDs, or an object with the list distinct_ids"
	long := strings.Repeat("é", 250)
	deep := strings.Repeat("[", 20000)
	for _, tt := range []uploadCase{
		{name: "empty list", body: " [ ] "},
		{name: "list", body: `["a", "b"]`, want: []string{"a", "b"}},
		{name: "object", body: `{"distinct_ids":["a","b"]}`, want: []string{"a", "b"}},
		{name: "empty list in an object", body: `{"distinct_ids":[]}`},
		{name: "other members", body: `{"x":{"distinct_ids":["x"]},"y":[1],"distinct_ids":["a"],"z":"distinct_ids"}`, want: []string{"a"}},
		{name: "escaped name", body: `{"distinct\u005fids":["a"]}`, want: []string{"a"}},
		{name: "byte order mark", body: "\ufeff[\"a\"]", want: []string{"a"}},
		{name: "duplicates stay", body: `["a","a"]`, want: []string{"a", "a"}},
		{name: "numbers as capturing has them", body: `[17, -5, 17.5, 1e3, 1.0, 12345678901234567890]`, want: []string{"17", "-5", "17.5", "1000.0", "1.0", "12345678901234567890"}},
		{name: "blank IDs", body: `["", " \t\n", "a"]`, want: []string{"a"}},
		{name: "blanks at both ends stay", body: `[" a "]`, want: []string{" a "}},
		{name: "escapes", body: `["\u00e9\n\"\ud83d\ude00"]`, want: []string{"é\n\"😀"}},
		{name: "half a surrogate", body: `["\ud83d"]`, want: []string{"\ufffd"}},
		{name: "NUL", body: `["a\u0000b"]`, want: []string{"a\ufffdb"}},
		{name: "long ID", body: `["` + long + `"]`, want: []string{strings.Repeat("é", 200)}},

		{name: "nothing", body: "", err: "the JSON is broken or cut off at element 1"},
		{name: "blanks", body: " \n", err: "the JSON is broken or cut off at element 1"},
		{name: "string", body: `"a"`, err: want},
		{name: "number", body: "17", err: want},
		{name: "null", body: "null", err: want},
		{name: "object without the list", body: `{"ids":["a"]}`, err: want},
		{name: "no list", body: `{"distinct_ids":"a"}`, err: want},
		{name: "null list", body: `{"distinct_ids":null}`, err: want},
		{name: "object as list", body: `{"distinct_ids":{"a":1}}`, err: want},
		{name: "name in another case", body: `{"Distinct_IDs":["a"]}`, err: want},
		{name: "null element", body: `["a",null,"b"]`, want: []string{"a"}, err: "element 2 is neither a string nor a number"},
		{name: "boolean", body: `[true]`, err: "element 1 is neither a string nor a number"},
		{name: "object in the list", body: `[{"distinct_id":"a"}]`, err: "element 1 is neither a string nor a number"},
		{name: "list in the list", body: `["a",["b"]]`, want: []string{"a"}, err: "element 2 is neither a string nor a number"},
		{name: "nested", body: `["a",` + deep, want: []string{"a"}, err: "the JSON is broken or cut off at element 2"},
		{name: "not UTF-8", body: "[\"a\",\"\xff\"]", want: []string{"a"}, err: "element 2 is not UTF-8"},

		{name: "cut off", body: `["a","b`, want: []string{"a"}, err: "the JSON is broken or cut off at element 2"},
		{name: "cut off between elements", body: `["a",`, want: []string{"a"}, err: "the JSON is broken or cut off at element 2"},
		{name: "cut off behind an element", body: `["a"`, want: []string{"a"}, err: "the JSON is broken or cut off at element 2"},
		{name: "object is cut off", body: `{"distinct_ids":["a"]`, want: []string{"a"}, err: "the JSON is broken or cut off at element 2"},
		{name: "cut off before the list", body: `{"distinct_ids"`, err: "the JSON is broken or cut off at element 1"},
		{name: "no comma", body: `["a" "b"]`, want: []string{"a"}, err: "the JSON is broken or cut off at element 2"},
		{name: "comma at the end", body: `["a",]`, want: []string{"a"}, err: "the JSON is broken or cut off at element 2"},
		{name: "wrong bracket", body: `["a"}`, want: []string{"a"}, err: "the JSON is broken or cut off at element 2"},
		{name: "something behind", body: `["a"] ["b"]`, want: []string{"a"}, err: "there is something behind the list"},
		{name: "something else behind", body: `["a"]x`, want: []string{"a"}, err: "the JSON is broken or cut off at element 2"},
		{name: "two lists", body: `{"distinct_ids":["a"],"distinct_ids":["b"]}`, want: []string{"a"}, err: "distinct_ids is there twice"},
		{name: "lines of JSON", body: "\"a\"\n\"b\"", err: want},
		{name: "CSV", body: "distinct_id\na\n", err: "the JSON is broken or cut off at element 1"},

		{name: "huge element", body: `["a","` + strings.Repeat("x", 2*server.MaxElement) + `"]`, want: []string{"a"}, err: fmt.Sprintf("there are more than %d bytes at element 2", server.MaxElement)},
		{name: "huge number", body: `[` + strings.Repeat("1", 2*server.MaxElement) + `]`, err: fmt.Sprintf("there are more than %d bytes at element 1", server.MaxElement)},
		{name: "huge member", body: `{"x":"` + strings.Repeat("x", 2*server.MaxElement) + `"}`, err: fmt.Sprintf("there are more than %d bytes at element 1", server.MaxElement)},
		{name: "huge space", body: `["a",` + strings.Repeat(" ", 2*server.MaxElement) + `"b"]`, want: []string{"a"}, err: fmt.Sprintf("there are more than %d bytes at element 2", server.MaxElement)},
		{name: "huge space, but not all of it at once", body: `["a",` + strings.Repeat(" ", server.MaxElement*3/2) + `"b"]`, want: []string{"a"}, err: fmt.Sprintf("there are more than %d bytes at element 2", server.MaxElement)},
		{name: "the same between members", body: `{"distinct_ids":["a"],` + strings.Repeat(" ", server.MaxElement*3/2) + `"b":1}`, want: []string{"a"}, err: fmt.Sprintf("there are more than %d bytes at element 2", server.MaxElement)},
		{name: "largest element", body: `["a","` + strings.Repeat("x", server.MaxElement-3) + `","b"]`, want: []string{"a", strings.Repeat("x", 200), "b"}},
		{name: "largest spaces", body: `["a",` + strings.Repeat(" ", server.MaxElement-10) + `"b"` + strings.Repeat(" ", server.MaxElement-10) + `]` + strings.Repeat(" ", server.MaxElement-10), want: []string{"a", "b"}},
		{name: "many elements", body: `["a"` + strings.Repeat(`,"a"`, server.MaxElement/2) + `]`, want: slices.Repeat([]string{"a"}, server.MaxElement/2+1)},
	} {
		t.Run(tt.name, func(t *testing.T) { inPieces(t, server.IDsOfJSON, tt) })
	}
}

// TestUploadStops: a caller that has enough of a list gets no more of it.
func TestUploadStops(t *testing.T) {
	for name, ids := range map[string]iter.Seq2[string, error]{
		"CSV": server.IDsOfCSV(strings.NewReader("a\nb\n\"")), "JSON": server.IDsOfJSON(strings.NewReader(`["a","b",`)),
	} {
		for id, err := range ids {
			if id != "a" || err != nil {
				t.Errorf("%s: %q, %v", name, id, err)
			}
			break
		}
	}
}

// TestUploadMemory: a list of any length takes as much memory as one element.
func TestUploadMemory(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	const rows = 500_000 // 9 MB
	for name, ids := range map[string]iter.Seq2[string, error]{
		"CSV":  server.IDsOfCSV(&repeater{"distinct_id\n", "0123456789,abcde\n", "", rows}),
		"JSON": server.IDsOfJSON(&repeater{"[0", `,"0123456789abcde"`, "]", rows}),
	} {
		runtime.GC()
		var before, now runtime.MemStats
		runtime.ReadMemStats(&before)
		n := 0
		for _, err := range ids {
			if err != nil {
				t.Fatal(err)
			}
			if n++; n%(rows/4) == 0 {
				runtime.GC()
				runtime.ReadMemStats(&now)
				if now.HeapAlloc > before.HeapAlloc+4<<20 {
					t.Errorf("%s: %d bytes more after %d rows", name, now.HeapAlloc-before.HeapAlloc, n)
				}
			}
		}
		if n < rows {
			t.Errorf("%s: %d elements, want %d", name, n, rows)
		}
	}
}

// A repeater is a text whose middle is there n times.
type repeater struct {
	text, middle, end string
	n                 int
}

func (r *repeater) Read(b []byte) (int, error) {
	for r.text == "" {
		switch {
		case r.n > 0:
			r.text = r.middle
			r.n--
		case r.end != "":
			r.text, r.end = r.end, ""
		default:
			return 0, io.EOF
		}
	}
	n := 0
	for n < len(b) && r.text != "" {
		k := copy(b[n:], r.text)
		n, r.text = n+k, r.text[k:]
		if r.text == "" && r.n > 0 {
			r.text = r.middle
			r.n--
		}
	}
	return n, nil
}

func checkIDs(t *testing.T, list []string, err error) {
	t.Helper()
	for _, id := range list {
		if strings.TrimSpace(id) == "" || !utf8.ValidString(id) || strings.Contains(id, "\x00") || utf8.RuneCountInString(id) > 200 {
			t.Errorf("ID %q", id)
		}
	}
	if err == nil {
		return
	}
	if e, ok := errors.AsType[*management.Error](err); !ok || e.Detail == "" {
		t.Errorf("error %v", err)
	}
}

// FuzzUploadCSV: any body gives IDs that can be stored, and an error that can be
// told; borders do not matter; and what encoding/csv writes is read.
func FuzzUploadCSV(f *testing.F) {
	for _, seed := range []string{"a\nb\n", "x,distinct_id\n1,a\n", "\ufeff\"a\"\"\",b\n", "a\"b", "\"", "\xff", " \n,\n", "a\x00\r\nb\r"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) {
		whole, err := collect(server.IDsOfCSV(strings.NewReader(body)))
		checkIDs(t, whole, err)
		pieces, errPieces := collect(server.IDsOfCSV(iotest.OneByteReader(strings.NewReader(body))))
		if !slices.Equal(whole, pieces) || fmt.Sprint(err) != fmt.Sprint(errPieces) {
			t.Errorf("%q, %v byte by byte, %q, %v as a whole", pieces, errPieces, whole, err)
		}
		if err != nil || slices.ContainsFunc(whole, func(id string) bool { return utf8.RuneCountInString(id) == 200 }) {
			return // what was cut off may end in a blank
		}
		var b bytes.Buffer
		w := csv.NewWriter(&b)
		w.Write([]string{"distinct_id"})
		for _, id := range whole {
			w.Write([]string{id})
		}
		w.Flush()
		again, err := collect(server.IDsOfCSV(&b))
		if err != nil || !slices.Equal(again, whole) {
			t.Errorf("%q, %v, want %q", again, err, whole)
		}
	})
}

// FuzzUploadJSON: as FuzzUploadCSV; and where encoding/json reads a list of
// strings, these are the IDs.
func FuzzUploadJSON(f *testing.F) {
	for _, seed := range []string{`["a","b"]`, `{"distinct_ids":["a",1]}`, `{"x":[{}],"distinct_ids":[]}`, `[`, `["a"]]`, `[1e400]`, `["\ud800"]`, "\ufeff[]", `{"distinct_ids":[],"distinct_ids":[]}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) {
		whole, err := collect(server.IDsOfJSON(strings.NewReader(body)))
		checkIDs(t, whole, err)
		pieces, errPieces := collect(server.IDsOfJSON(iotest.OneByteReader(strings.NewReader(body))))
		if !slices.Equal(whole, pieces) || (err == nil) != (errPieces == nil) {
			t.Errorf("%q, %v byte by byte, %q, %v as a whole", pieces, errPieces, whole, err)
		}
		text := strings.TrimPrefix(body, "\ufeff")
		if err == nil && !json.Valid([]byte(text)) {
			t.Errorf("%q is not JSON, and gives %q", body, whole)
		}
		var list []string
		if utf8.ValidString(body) && json.Unmarshal([]byte(text), &list) == nil && list != nil && !strings.Contains(text, "null") {
			want := []string{}
			for _, id := range list {
				if strings.TrimSpace(id) != "" {
					want = append(want, strings.ReplaceAll(id, "\x00", "\ufffd"))
				}
			}
			long := func(id string) bool { return utf8.RuneCountInString(id) > 200 }
			if err != nil || !slices.Equal(whole, want) && !slices.ContainsFunc(want, long) {
				t.Errorf("%q gives %q, %v, want %q", body, whole, err, want)
			}
		}
	})
}

// members is a storage.Data that writes down who is added.
type members struct {
	sqlstore.Storage
	mu    sync.Mutex
	added []string
	err   error
}

func (m *members) AddCohortMembers(ctx context.Context, project, cohort int64, upload uuid.UUID, distinctIDs []string) (int, int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.added = append(m.added, distinctIDs...)
	if m.err != nil {
		return 0, 0, m.err
	}
	return m.Storage.AddCohortMembers(ctx, project, cohort, upload, distinctIDs)
}

func (m *members) take() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	list := m.added
	m.added = nil
	return list
}

// newUploads returns an apiServer with a static cohort, number 1, and one that is
// not static.
func newUploads(t *testing.T, change func(*server.Config)) (*apiServer, *members) {
	t.Helper()
	data := new(members)
	a := newAPI(t, apiSetup{
		management: func(c *management.Config) {
			data.Storage = c.Store.(sqlstore.Storage)
			c.Data = data
		},
		server: change,
	})
	for _, c := range []*storage.Cohort{{Project: 1, Name: "static", Static: true}, {Project: 1, Name: "dynamic"}, {Project: 2, Name: "foreign", Static: true}} {
		if err := a.store.Cohorts().Create(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	return a, data
}

const uploadPath = "/api/projects/1/cohorts/1/members/"

// upload returns a call with a list.
func upload(contentType, body string, header ...string) call {
	return api("POST", uploadPath, body, append([]string{"Content-Type", contentType}, header...)...)
}

// TestUpload: answers to lists of members.
func TestUpload(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*server.Config)
		call   call
		status int
		code   string
		detail string
		added  []string
	}{
		{name: "CSV", call: upload("text/csv", "a\nb\na\n"), status: 200, added: []string{"a", "b", "a"}},
		{name: "CSV with parameters", call: upload("text/CSV; charset=utf-8; header=present", "distinct_id\na\n"), status: 200, added: []string{"a"}},
		{name: "JSON", call: upload("application/json", `["a"]`), status: 200, added: []string{"a"}},
		{name: "JSON with charset", call: upload("application/json; charset=utf-8", `{"distinct_ids":["a",2]}`), status: 200, added: []string{"a", "2"}},
		{name: "identity", call: upload("text/csv", "a", "Content-Encoding", "Identity"), status: 200, added: []string{"a"}},
		{name: "nothing", call: upload("text/csv", ""), status: 200},

		{name: "no type", call: upload("", "a"), status: 415, code: "unsupported_media_type", detail: "want text/csv or application/json"},
		{name: "another type", call: upload("text/plain", "a"), status: 415, code: "unsupported_media_type"},
		{name: "form", call: upload("multipart/form-data; boundary=x", "--x\r\n\r\na\r\n--x--"), status: 415, code: "unsupported_media_type"},
		{name: "broken type", call: upload("text/csv;;", "a"), status: 415, code: "unsupported_media_type"},
		{name: "gzip", call: upload("text/csv", zip("a\n"), "Content-Encoding", "gzip"), status: 415, code: "unsupported_media_type", detail: "Compressed bodies"},
		{name: "gzip without saying so", call: upload("text/csv", zip("a\n")), status: 400, code: "invalid_input"},

		{name: "not CSV", call: upload("text/csv", "a\nhunter\"2\n"), status: 400, code: "invalid_input", detail: "line 2 is not a CSV", added: []string{"a"}},
		{name: "not JSON", call: upload("application/json", `["a",hunter2]`), status: 400, code: "invalid_input", detail: "Before that 1 were stored.", added: []string{"a"}},
		{name: "object", call: upload("application/json", `{"hunter2":1}`), status: 400, code: "invalid_input", detail: "want a list"},

		{name: "largest", change: func(c *server.Config) { c.Management.MaxUpload = 4 }, call: upload("text/csv", "a\nb\n"), status: 200, added: []string{"a", "b"}},
		{
			name: "too large", change: func(c *server.Config) { c.Management.MaxUpload = 4 }, call: upload("text/csv", "a\nb\nc\n"), status: 413,
			code: "request_too_large", detail: "The body has more than 4 bytes.",
		},
		{name: "MaxManagementBody is for others", change: func(c *server.Config) { c.Management.MaxBody = 1 }, call: upload("text/csv", "a\nb\n"), status: 200, added: []string{"a", "b"}},

		{name: "stranger", call: upload("text/csv", "a", "Authorization", ""), status: 401, code: "not_authenticated"},
		{name: "wrong key", call: upload("text/csv", "a").with("phx_wrong"), status: 401, code: "authentication_failed"},
		{name: "scope", call: upload("text/csv", "a").with(readerKey), status: 403, code: "permission_denied"},
		{name: "not static", call: api("POST", "/api/projects/1/cohorts/2/members", "a", "Content-Type", "text/csv"), status: 400, code: "invalid_input"},
		{name: "foreign cohort", call: api("POST", "/api/projects/1/cohorts/3/members", "a", "Content-Type", "text/csv"), status: 404, code: "not_found"},
		{name: "foreign project", call: api("POST", "/api/projects/2/cohorts/3/members", "a", "Content-Type", "text/csv"), status: 404, code: "not_found"},
		{name: "unknown cohort", call: api("POST", "/api/projects/1/cohorts/x/members", "a", "Content-Type", "text/csv"), status: 404, code: "not_found"},

		{name: "key in the query", call: api("POST", uploadPath+"?personal_api_key="+adaKey, "a", "Content-Type", "text/csv", "Authorization", ""), status: 401, code: "not_authenticated"},
		{
			name: "key in the query, allowed", change: func(c *server.Config) { c.Management.AllowKeyInBody = true },
			call: api("POST", uploadPath+"?personal_api_key="+adaKey, "a", "Content-Type", "text/csv", "Authorization", ""), status: 200, added: []string{"a"},
		},
		{
			name: "key in the body", change: func(c *server.Config) { c.Management.AllowKeyInBody = true },
			call:   api("POST", uploadPath, `{"personal_api_key":"`+adaKey+`","distinct_ids":["a"]}`, "Authorization", ""),
			status: 401, code: "not_authenticated",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a, data := newUploads(t, tt.change)
			if tt.code == "" {
				a.ok(tt.call)
			} else if e, _ := a.fails(tt.call, tt.status, tt.code); !strings.Contains(e.Detail, tt.detail) || strings.Contains(e.Detail, "hunter") {
				t.Errorf("detail %q, want %q", e.Detail, tt.detail)
			}
			if got := data.take(); !slices.Equal(got, tt.added) {
				t.Errorf("added %q, want %q", got, tt.added)
			}
		})
	}
}

// TestUploadWithoutLength: a body that does not say how long it is is refused when
// it has become too long.
func TestUploadWithoutLength(t *testing.T) {
	a, data := newUploads(t, func(c *server.Config) { c.Management.MaxUpload = 8 })
	for body, want := range map[string]int{"abc\ndef\n": 200, "abc\ndef\nghi\n": 413} {
		r := upload("text/csv", body).request()
		r.ContentLength = -1
		w := httptest.NewRecorder()
		a.ServeHTTP(w, r)
		if w.Code != want || want == 413 && (!strings.Contains(w.Body.String(), "request_too_large") || w.Header().Get("Connection") != "close") {
			t.Errorf("%q = %d %s %v, want %d", body, w.Code, w.Body, w.Header(), want)
		}
		if got := data.take(); !slices.Equal(got, []string{"abc", "def"}) {
			t.Errorf("%q: added %q", body, got)
		}
	}
}

// TestUploadBackend: failures of the store are not reported as faults of the list.
func TestUploadBackend(t *testing.T) {
	a, data := newUploads(t, nil)
	data.err = errors.New("no such table: hunter2")
	e, _ := a.fails(upload("text/csv", "a\n"), 500, "error")
	if strings.Contains(e.Detail, "hunter2") {
		t.Error(e.Detail)
	}
	data.err = context.Canceled
	a.fails(upload("text/csv", "a\n"), 408, "request_timeout")
}

// TestUploadInterrupted: a list that does not arrive in full is not blamed for a
// fault.
func TestUploadInterrupted(t *testing.T) {
	a, _ := newUploads(t, nil)
	for contentType, body := range map[string]string{"text/csv": "a\nb\n", "application/json": `["a","b"`} {
		r := upload(contentType, body).request()
		r.Body = io.NopCloser(io.MultiReader(strings.NewReader(body), iotest.ErrReader(io.ErrUnexpectedEOF)))
		w := httptest.NewRecorder()
		a.ServeHTTP(w, r)
		if w.Code != 408 || !strings.Contains(w.Body.String(), "request_timeout") || w.Header().Get("Connection") != "close" {
			t.Errorf("%s: %d %s %v", contentType, w.Code, w.Body, w.Header())
		}
	}

	// A client that goes away.
	srv := httptest.NewServer(a)
	defer srv.Close()
	conn, err := net.Dial("tcp", srv.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Type: text/csv\r\nContent-Length: 1000\r\n\r\na\nb", uploadPath, adaKey)
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(conn)
	conn.Close()
	if err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 408 ") || !strings.Contains(string(answer), "Before that 1 were stored.") {
		t.Errorf("%v: %s", err, answer)
	}
	if v := a.ok(api("GET", uploadPath, "")); v["complete"] != false || v["received"] != 1.0 {
		t.Errorf("the list that broke off: %v", v)
	}
	a.ok(upload("text/csv", "a\nb\n"))
	if got := scrape(t, a); !strings.Contains(got, `{route="/api/projects/{project}/cohorts/{id}/members",status="408"} 3`) {
		t.Error("not counted")
	}
}

// TestUploadOverHTTP: a list of many parts, with and without a length.
func TestUploadOverHTTP(t *testing.T) {
	a, data := newUploads(t, nil)
	srv := httptest.NewServer(a)
	defer srv.Close()
	const rows = 12_345
	for _, length := range []int64{-1, 0} {
		var body io.Reader = &repeater{"", "someone@example.com,x\n", "", rows}
		if length == 0 {
			body = strings.NewReader(strings.Repeat("someone@example.com,x\n", rows))
		}
		r, err := http.NewRequestWithContext(t.Context(), "POST", srv.URL+uploadPath, body)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+adaKey)
		r.Header.Set("Content-Type", "text/csv")
		resp, err := srv.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		got := bodyText(t, resp)
		resp.Body.Close()
		if n := len(data.take()); resp.StatusCode != 200 || n != rows {
			t.Errorf("%d %s, %d added, want %d", resp.StatusCode, got, n, rows)
		}
	}
}

// TestImportBody: bodies of documents are larger than others, and JSON. The rest is the
// subject of package management.
func TestImportBody(t *testing.T) { testDocumentBody(t, "import") }

func TestApplyBody(t *testing.T) { testDocumentBody(t, "apply") }

func testDocumentBody(t *testing.T, route string) {
	document := `{"flags":[{"key":"a","filters":{"groups":[{}]}}]` + strings.Repeat(" ", 100) + `}`
	path := "/api/projects/1/" + route
	limited := func(n int64) func(*server.Config) {
		return func(c *server.Config) { c.Management.MaxBody, c.Management.MaxUpload = 50, n }
	}
	for _, tt := range []struct {
		name   string
		change func(*server.Config)
		call   call
		status int // 0: 200
		code   string
		detail string
	}{
		{name: "the largest", change: limited(int64(len(document))), call: api("POST", path, document)},
		{name: "too large", change: limited(int64(len(document)) - 1), call: api("POST", path, document), status: 413, code: "request_too_large", detail: "The body has more than 148 bytes."},
		{name: "dry run", call: api("POST", path+"?dry_run=1", document)},
		{name: "an odd dry run", call: api("POST", path+"?dry_run=maybe", document), status: 400, code: "invalid_input"},
		{name: "any state", call: api("POST", path, document, "If-Match", "*")},
		{name: "no body", call: api("POST", path, ""), status: 400, code: "invalid_input", detail: "The file has no list of flags"},
		{name: "no JSON", call: api("POST", path, `{"flags":[hunter2]}`), status: 400, code: "invalid_input", detail: "The file is not a JSON object of definitions"},
		{name: "no flags", call: api("POST", path, `{}`), status: 400, code: "invalid_input", detail: "want the member flags"},
		{name: "form", call: api("POST", path, document, "Content-Type", "text/plain"), status: 415, code: "unsupported_media_type"},
		{name: "gzip", call: api("POST", path, zip(document), "Content-Encoding", "gzip"), status: 415, code: "unsupported_media_type"},
		{name: "GET", call: api("GET", path, ""), status: 405, code: "method_not_allowed"},
		{name: "stranger", call: api("POST", path, document, "Authorization", ""), status: 401, code: "not_authenticated"},
		{name: "scope", call: api("POST", path, document).with(readerKey), status: 403, code: "permission_denied"},
		{name: "foreign project", call: api("POST", "/api/projects/2/"+route, document), status: 404, code: "not_found"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a, _ := newUploads(t, tt.change)
			if tt.status == 0 {
				a.ok(tt.call)
				return
			}
			if e, _ := a.fails(tt.call, tt.status, tt.code); !strings.Contains(e.Detail, tt.detail) {
				t.Errorf("detail %q, want %q", e.Detail, tt.detail)
			}
		})
	}
}
