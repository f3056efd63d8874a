package server_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/flagstaff-go/flagstaff/server"
)

func zip(s string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	io.WriteString(w, s)
	w.Close()
	return b.String()
}

func base64Of(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

// lz64Of returns a text of testdata/lz64.json compressed.
func lz64Of(t testing.TB, name string) string {
	t.Helper()
	b, err := os.ReadFile("testdata/lz64.json")
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]struct{ Text, Encoded string }
	if err := json.Unmarshal(b, &all); err != nil {
		t.Fatal(err)
	}
	v, ok := all[name]
	if !ok {
		t.Fatalf("no text %q", name)
	}
	return v.Encoded
}

const form = "application/x-www-form-urlencoded"

func TestEncodings(t *testing.T) {
	s := newServer(t, nil)
	// In base64 this has a plus sign, a slash and padding.
	const odd = `{"api_key":"phc_demo","distinct_id":"user-1","x":"~~?>>~ïÿ"}`
	if b := base64Of(odd); !strings.ContainsRune(b, '+') || !strings.ContainsRune(b, '/') || !strings.HasSuffix(b, "=") {
		t.Fatalf("%s proves little", b)
	}
	lz := lz64Of(t, "simple")
	for _, tt := range []struct{ name, query, contentType, encoding, body string }{
		{"JSON", "", "application/json", "", simple},
		{"JSON with charset", "", "Application/JSON; charset=utf-8", "", simple},
		{"JSON without type", "", "", "", simple},
		{"JSON as text", "", "text/plain;charset=UTF-8", "", simple},
		{"JSON after white space", "", "application/json", "", "\r\n " + simple},
		{"NaN", "", "application/json", "", `{"api_key":"phc_demo","distinct_id":"u","person_properties":{"a":NaN,"b":-Infinity}}`},
		{"invalid UTF-8", "", "application/json", "", "{\"api_key\":\"phc_demo\",\"distinct_id\":\"\xff\"}"},

		{"gzip by magic", "", "text/plain", "", zip(simple)},
		{"gzip by magic as JSON", "", "application/json", "", zip(simple)},
		{"gzip by query", "compression=gzip", "text/plain", "", zip(simple)},
		{"gzip-js by query", "compression=gzip-js", "text/plain", "", zip(simple)},
		{"gzip by header", "", "application/json", "gzip", zip(simple)},
		{"gzip by a longer header", "", "application/json", "gzip, identity", zip(simple)},
		{"gzip by all", "compression=gzip", "application/json", "gzip", zip(simple)},
		{"gzip that a proxy took away", "compression=gzip-js", "application/json", "gzip", simple},
		{"gzip of two members", "", "text/plain", "", zip(simple[:10]) + zip(simple[10:])},

		{"base64 by query", "compression=base64", "text/plain", "", base64Of(odd)},
		{"base64 by nothing", "", "text/plain", "", base64Of(odd)},
		{"base64 without padding", "", "text/plain", "", strings.TrimRight(base64Of(odd), "=")},
		{"base64 with too much padding", "", "text/plain", "", base64Of(odd) + "=="},
		{"base64 in lines", "compression=base64", "text/plain", "", base64Of(odd)[:20] + "\r\n " + base64Of(odd)[20:] + "\n"},
		{"base64 percent-encoded", "", "text/plain", "", strings.NewReplacer("+", "%2B", "/", "%2f", "=", "%3D").Replace(base64Of(odd))},
		{"JSON that claims to be base64", "compression=base64", "application/json", "", simple},

		{"form of base64", "", form, "", "data=" + base64Of(odd)},
		{"form percent-encoded", "compression=base64", form, "", "data=" + strings.NewReplacer("+", "%2B", "/", "%2F", "=", "%3D").Replace(base64Of(odd))},
		{"form with blanks for plus", "compression=base64", form + "; charset=UTF-8", "", "ip=1&data=" + strings.ReplaceAll(base64Of(odd), "+", " ") + "&x=y"},
		{"form with its own hint", "", form, "", "compression=base64&data=" + base64Of(odd)},
		{"form of JSON", "", form, "", "data=" + strings.NewReplacer("&", "%26", "+", "%2B", "%", "%25").Replace(simple)},
		{"JSON as a form, as curl says", "", form, "", simple},
		{"form as text", "", "text/plain", "", "data=" + base64Of(odd)},
		{"form of lz64", "compression=lz64", form, "", "data=" + lz},
		{"form of lz64 with its own hint", "", form, "", "data=" + lz + "&compression=lz64"},
		{"form of lz64 with blanks", "compression=lz64", form, "", "data=" + strings.ReplaceAll(lz, "+", " ")},

		{"lz64", "compression=lz64", "text/plain", "", lz},
		{"lz-string", "compression=lz-string", "text/plain", "", lz + "\n"},
		{"lz64 percent-encoded", "compression=lz64", "text/plain", "", strings.NewReplacer("+", "%2B", "/", "%2F", "=", "%3D").Replace(lz)},
		{"lz64 that is base64, too", "compression=lz64", "text/plain", "", lz64Of(t, "is base64")},
		{"lz64 in gzip", "compression=lz64", "text/plain", "gzip", zip(lz)},
		{"base64 in gzip", "compression=base64", "text/plain", "gzip", zip(base64Of(odd))},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := map[string]string{"Content-Type": tt.contentType, "Content-Encoding": tt.encoding}
			a := call{target: "/flags?v=2&" + tt.query, header: h, body: tt.body}.ok(t, s)
			if !a.enabled("flag-bool") {
				t.Errorf("%+v", a)
			}
		})
	}
}

func TestEncodingErrors(t *testing.T) {
	s := newServer(t, nil)
	const (
		nothing    = "The request body is empty"
		notJSON    = "Failed to decode request: invalid JSON, offset "
		compressed = "Failed to decode request: the body is not what its compression says."
	)
	lz := lz64Of(t, "simple")
	for _, tt := range []struct{ name, query, contentType, body, want string }{
		{"empty", "", "application/json", "", nothing},
		{"empty form", "", form, "", nothing},
		{"form without data", "", form, "compression=base64&x=y", "Failed to decode request: the form has no field data."},
		{"form with empty data", "", form, "data=", nothing},
		{"not JSON", "", "application/json", "token=phc_demo", notJSON},
		{"array", "", "application/json", "[" + simple + "]", "the body must be an object, not an array"},
		{"field of the wrong type", "", "application/json", `{"api_key":"phc_demo","distinct_id":{}}`, "distinct_id must be a string or a number, not an object"},
		{"not base64", "compression=base64", "text/plain", "!!", compressed},
		{"base64 of no JSON", "", "text/plain", base64Of("hello"), notJSON},
		{"percent signs that encode nothing", "compression=base64", "text/plain", "%zz%4", compressed},
		{"cut off base64", "compression=base64", "text/plain", base64Of(simple)[:41], compressed},
		{"cut off gzip", "", "text/plain", zip(simple)[:30], compressed},
		{"damaged gzip", "", "text/plain", zip(simple)[:len(zip(simple))-4] + "abcd", compressed},
		{"rubbish behind gzip", "", "text/plain", zip(simple) + "abcd", compressed},
		{"gzip of no JSON", "", "text/plain", zip("hello"), notJSON},
		{"cut off lz64", "compression=lz64", "text/plain", lz[:30], compressed},
		{"empty lz64", "compression=lz64", "text/plain", "Q===", nothing},
		{"base64 that claims to be lz64", "compression=lz64", "text/plain", base64Of(simple), nothing},
		{"lz64 that does not say so", "", "text/plain", lz, notJSON},

		{"unknown compression", "compression=br", "text/plain", simple, "Failed to decode request: Unsupported compression type"},
		{"unknown compression in a form", "", form, "data=" + base64Of(simple) + "&compression=zstd", "Failed to decode request: Unsupported compression type"},
		{"case of compression", "compression=GZIP", "text/plain", zip(simple), "Failed to decode request: Unsupported compression type"},
		{"gzip in a form", "compression=gzip", form, "data=" + base64Of(zip(simple)), "Failed to decode request: Unsupported compression type"},
		{"gzip of a form", "", form, zip("data=" + base64Of(simple)), "Failed to decode request: Unsupported compression type"},
		{"unknown content type", "", "application/xml", simple, "Failed to decode request: Unsupported content type"},
		{"multipart", "", "multipart/form-data; boundary=x", simple, "Failed to decode request: Unsupported content type"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			resp := call{target: "/flags?v=2&" + tt.query, header: map[string]string{"Content-Type": tt.contentType}, body: tt.body}.do(s)
			if got := refusal(t, resp); resp.StatusCode != 400 || !strings.HasPrefix(got.Detail, tt.want) {
				t.Errorf("%d %+v, want 400 %q", resp.StatusCode, got, tt.want)
			}
		})
	}
}

// padded is a valid body of n bytes.
func padded(n int) string {
	const head, tail = `{"api_key":"phc_demo","distinct_id":"u","x":"`, `"}`
	return head + strings.Repeat("x", n-len(head)-len(tail)) + tail
}

func TestLimits(t *testing.T) {
	const maxBody, maxDecoded = 10_000, 20_000
	s := newServer(t, func(c *server.Config) { c.MaxBody, c.MaxDecoded = maxBody, maxDecoded })
	chunked := func(body string) *http.Request {
		r := call{body: "x"}.request()
		r.Body, r.ContentLength = io.NopCloser(iotest.HalfReader(strings.NewReader(body))), -1
		return r
	}
	for _, tt := range []struct {
		name   string
		r      *http.Request
		status int
	}{
		{"largest body", call{body: padded(maxBody)}.request(), 200},
		{"one byte more", call{body: padded(maxBody + 1)}.request(), 413},
		{"largest body without length", chunked(padded(maxBody)), 200},
		{"one byte more without length", chunked(padded(maxBody + 1)), 413},
		{"largest body after gzip", call{body: zip(padded(maxDecoded))}.request(), 200},
		{"one byte more after gzip", call{body: zip(padded(maxDecoded + 1))}.request(), 413},
		{"gzip bomb", call{body: zip(strings.Repeat("x", 4_000_000))}.request(), 413},
		{"largest body after lz64", call{target: "/flags?compression=lz64", body: lz64Of(t, "20,000 bytes")}.request(), 200},
		{"one byte more after lz64", call{target: "/flags?compression=lz64", body: lz64Of(t, "20,001 bytes")}.request(), 413},
		{"lz64 bomb", call{target: "/flags?compression=lz64", body: lz64Of(t, "bomb")}.request(), 413},
		{"lz64 bomb in a form", call{target: "/flags?compression=lz64", header: map[string]string{"Content-Type": form}, body: "data=" + lz64Of(t, "bomb")}.request(), 413},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := httptest.NewRecorder()
			s.ServeHTTP(w, tt.r)
			if w.Code != tt.status {
				t.Errorf("status %d %.200q, want %d", w.Code, w.Body, tt.status)
			}
		})
	}
	// A limit of a handler around the server is one, too.
	w := httptest.NewRecorder()
	http.MaxBytesHandler(s, 100).ServeHTTP(w, chunked(padded(maxBody)))
	if w.Code != 413 {
		t.Errorf("behind http.MaxBytesHandler: status %d", w.Code)
	}
}

// TestDefaultLimits sends a bomb to a server with default limits: memory for
// bodies must stay near them.
func TestDefaultLimits(t *testing.T) {
	s := newServer(t, nil)
	if resp := (call{body: zip(strings.Repeat(" ", 21<<20))}).do(s); resp.StatusCode != 413 {
		t.Errorf("21 MiB in gzip: status %d", resp.StatusCode)
	}
	r := call{body: simple}.request()
	r.ContentLength = 10<<20 + 1
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	if w.Code != 413 {
		t.Errorf("more than 10 MiB announced: status %d", w.Code)
	}
}

// TestInterrupted: a client that stops in the middle of its body gets 408, if it
// still listens.
func TestInterrupted(t *testing.T) {
	srv := httptest.NewServer(newServer(t, nil))
	defer srv.Close()
	conn, err := net.Dial("tcp", srv.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "POST /flags HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n%s", simple)
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	if body := bodyText(t, resp); resp.StatusCode != http.StatusRequestTimeout || !resp.Close || strings.Contains(body, "phc_demo") {
		t.Errorf("%d %q, close %v", resp.StatusCode, body, resp.Close)
	}
}

// FuzzBody sends bodies in all encodings. Whatever they are, the answer is one of
// a few.
func FuzzBody(f *testing.F) {
	s := newServer(f, func(c *server.Config) { c.MaxBody, c.MaxDecoded = 1<<16, 1<<17 })
	for _, b := range []string{simple, zip(simple), base64Of(simple), "data=" + base64Of(simple), lz64Of(f, "simple"), "data=%7B%7d&compression=lz64"} {
		for i := range 6 {
			f.Add([]byte(b), uint8(i), uint8(i%4))
		}
	}
	f.Fuzz(func(t *testing.T, body []byte, compression, contentType uint8) {
		c := call{
			target: "/flags?v=2&compression=" + []string{"", "gzip", "base64", "lz64", "gzip-js", "x"}[compression%6],
			header: map[string]string{"Content-Type": []string{"application/json", "text/plain", form, ""}[contentType%4]},
			body:   string(body),
		}
		resp := c.do(s)
		got := bodyText(t, resp)
		switch resp.StatusCode {
		case 200:
			if !json.Valid([]byte(got)) {
				t.Fatalf("%+v: %s", c, got)
			}
		case 400, 401, 413:
		default:
			t.Fatalf("%+v: status %d", c, resp.StatusCode)
		}
	})
}
