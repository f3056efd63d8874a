package server_test

import (
	"bytes"
	"compress/zlib"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/andybalholm/brotli"
	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/server"
)

// newCapture returns a Server that takes events, and where they go.
func newCapture(t testing.TB, change func(*server.Config)) (*server.Server, *fakeCollector) {
	t.Helper()
	f := new(fakeCollector)
	s := newServer(t, func(c *server.Config) {
		c.Capture.Collector = f
		if change != nil {
			change(c)
		}
	})
	return s, f
}

// event is a request with one event. In base64 it has a plus sign, a slash and
// padding.
const event = `{"api_key":"phc_demo","event":"a + b","distinct_id":"user 1","properties":{"x":"~~?>>~ïÿ."}}`

// A seen is an Event in a form that is short to write down.
type seen struct{ Name, ID, Properties string }

func seenOf(events []capture.Event) []seen {
	var list []seen
	for _, e := range events {
		list = append(list, seen{e.Name, e.DistinctID, string(e.Properties)})
	}
	return list
}

// captured sends a call that must be answered as successful captures are, and
// returns the events.
func captured(t testing.TB, s http.Handler, f *fakeCollector, c call) []capture.Event {
	t.Helper()
	resp := c.do(s)
	if body := bodyText(t, resp); resp.StatusCode != 200 || body != `{"status":1}` || resp.Header.Get("Content-Type") != "application/json" {
		t.Errorf("%s: %d %q", c.target, resp.StatusCode, body)
	}
	return f.take()
}

// captureTargets are the routes of wire.md §2.1 for events, with what is special
// about each.
var captureTargets = []struct {
	path        string
	legacy, get bool
}{
	{"/i/v0/e", false, true},
	{"/batch", false, true},
	{"/i/v0/ai/batch", false, false},
	{"/e", true, true},
	{"/capture", true, true},
	{"/track", true, true},
	{"/engage", true, true},
}

func TestCaptureRoutes(t *testing.T) {
	s, f := newCapture(t, nil)
	without := newServer(t, nil)
	all := []string{"/s", "/i/v1/analytics/events", "/_readiness", "/_liveness"}
	for _, tt := range captureTargets {
		all = append(all, tt.path)
		for _, target := range []string{tt.path, tt.path + "/"} {
			got := captured(t, s, f, call{target: target + "?retry_count=2&foo=bar&ver=1&ip=0", body: event})
			if len(got) != 1 || got[0].Name != "a + b" || got[0].DistinctID != "user 1" || got[0].Project != 7 {
				t.Errorf("%s: %+v", target, got)
			}
			want := 405
			if tt.get {
				want = 200
			}
			resp := call{method: "GET", target: target + "?data=" + url.QueryEscape(event)}.do(s)
			if resp.StatusCode != want || len(f.take()) != want/200%2 {
				t.Errorf("GET %s: %d, want %d", target, resp.StatusCode, want)
			}
			resp = call{method: "PUT", target: target, body: event}.do(s)
			if body := refusal(t, resp); resp.StatusCode != 405 || body.Detail != "method not allowed" || resp.Header.Get("Allow") == "" {
				t.Errorf("PUT %s: %d %+v", target, resp.StatusCode, body)
			}
			if resp := (call{method: "OPTIONS", target: target}).do(s); resp.StatusCode != 204 {
				t.Errorf("OPTIONS %s: %d", target, resp.StatusCode)
			}
			if resp := (call{method: "HEAD", target: target}).do(s); resp.StatusCode != 200 || len(f.take()) > 0 {
				t.Errorf("HEAD %s: %d", target, resp.StatusCode)
			}
		}
	}
	for _, path := range all {
		for _, target := range []string{path, path + "/"} {
			for _, method := range []string{"GET", "POST"} {
				if resp := (call{method: method, target: target, body: event}).do(without); resp.StatusCode != 404 {
					t.Errorf("%s %s without Capture: %d", method, target, resp.StatusCode)
				}
			}
		}
	}
	for _, target := range []string{"/", "/_readiness", "/_readiness/", "/_liveness", "/_liveness/"} {
		if resp := (call{method: "GET", target: target}).do(s); resp.StatusCode != 200 {
			t.Errorf("GET %s: %d", target, resp.StatusCode)
		}
		if resp := (call{target: target, body: event}).do(s); resp.StatusCode != 405 {
			t.Errorf("POST %s: %d", target, resp.StatusCode)
		}
	}

	t.Run("recordings are discarded", func(t *testing.T) {
		for _, target := range []string{"/s", "/s/"} {
			body := `[{"token":"phc_demo","event":"$snapshot","distinct_id":"u"},{"token":"phc_demo","event":"x","distinct_id":"u"}]`
			if got := captured(t, s, f, call{target: target, body: body}); len(got) > 0 {
				t.Errorf("%s: %+v", target, got)
			}
		}
	})
	t.Run("beacon", func(t *testing.T) {
		resp := call{target: "/e/?beacon=1", body: event}.do(s)
		if body := bodyText(t, resp); resp.StatusCode != 204 || body != "" || len(f.take()) != 1 {
			t.Errorf("%d %q", resp.StatusCode, body)
		}
		if resp := (call{target: "/e/?beacon=1", body: "{"}).do(s); resp.StatusCode != 400 {
			t.Errorf("a failure: %d", resp.StatusCode)
		}
	})
	t.Run("engage", func(t *testing.T) {
		const body = `{"$token":"phc_demo","$distinct_id":"u","$set":{"a":1}}`
		want := []seen{{"$identify", "u", `{"$set":{"a":1},"$ip":"192.0.2.1"}`}}
		if diff := cmp.Diff(want, seenOf(captured(t, s, f, call{target: "/engage/", body: body}))); diff != "" {
			t.Error(diff)
		}
		if resp := (call{target: "/e/", body: body}).do(s); resp.StatusCode != 400 {
			t.Errorf("/e/: %d", resp.StatusCode)
		}
	})
}

func deflated(s string) string {
	var b bytes.Buffer
	w := zlib.NewWriter(&b)
	io.WriteString(w, s)
	w.Close()
	return b.String()
}

func brotliOf(s string) string {
	var b bytes.Buffer
	w := brotli.NewWriterOptions(&b, brotli.WriterOptions{Quality: 5, LGWin: 22})
	io.WriteString(w, s)
	w.Close()
	return b.String()
}

func zstdOf(s string, options ...zstd.EOption) string {
	var b bytes.Buffer
	w, err := zstd.NewWriter(&b, options...)
	if err != nil {
		panic(err)
	}
	io.WriteString(w, s)
	w.Close()
	return b.String()
}

// lz64Literal encodes ASCII text as lz-string might: each character for itself.
func lz64Literal(s string) string {
	var w lz64Writer
	for _, c := range []byte(s) {
		w.literal(c)
	}
	return w.end()
}

// A lz64Writer writes lz64 code by code (wire.md §8).
type lz64Writer struct {
	bits        []byte // 0 and 1
	next        int    // the code of the next entry, 0 before the first text
	width, room int
}

func (w *lz64Writer) write(n, width int) {
	for range width {
		w.bits = append(w.bits, byte(n&1))
		n >>= 1
	}
}

func (w *lz64Writer) grow() {
	w.next++
	if w.room--; w.room == 0 {
		w.room = 1 << w.width
		w.width++
	}
}

func (w *lz64Writer) literal(c byte) {
	if w.next == 0 {
		w.write(0, 2)
		w.write(int(c), 8)
		w.next, w.width, w.room = 4, 3, 4
		return
	}
	w.write(0, w.width)
	w.write(int(c), 8)
	w.grow()
	w.grow()
}

// again repeats the text before with one unit more.
func (w *lz64Writer) again() {
	w.write(w.next, w.width)
	w.grow()
}

func (w *lz64Writer) end() string {
	w.write(2, w.width)
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	var b strings.Builder
	for len(w.bits)%6 > 0 {
		w.bits = append(w.bits, 0)
	}
	for i := 0; i < len(w.bits); i += 6 {
		n := 0
		for _, bit := range w.bits[i : i+6] {
			n = n<<1 | int(bit)
		}
		b.WriteByte(alphabet[n])
	}
	for b.Len()%4 > 0 {
		b.WriteByte('=')
	}
	return b.String()
}

// TestCaptureEncodings goes through wire.md §2.2: what a body is, and what is
// said about it.
func TestCaptureEncodings(t *testing.T) {
	s, f := newCapture(t, nil)
	plain := event
	ascii := strings.ReplaceAll(event, "ïÿ", "~")
	b64, lz := base64Of(plain), lz64Literal(ascii)
	if !strings.ContainsRune(b64, '+') || !strings.ContainsRune(b64, '/') || !strings.HasSuffix(b64, "=") {
		t.Fatalf("%s proves little", b64)
	}
	const (
		yes = iota
		no
		legacy // on the four routes that take off another layer
	)
	escape := url.QueryEscape
	blanks := strings.NewReplacer("+", " ")
	type row struct {
		name, body  string
		contentType string
		encoding    string // header
		query       string
		want        int
	}
	rows := []row{
		{"JSON after white space", "\r\n\t " + plain, "application/json", "", "", yes},
		{"not UTF-8", strings.Replace(plain, "ï", "\xff", 1), "application/json", "", "", no},
		{"BOM", "\ufeff" + plain, "application/json", "", "", no},
		{"no content type", plain, "", "", "", yes},
		{"any content type", plain, "multipart/form-data; boundary=x", "", "", yes},
		{"two members of gzip", zip(plain[:9]) + zip(plain[9:]), "text/plain", "", "", yes},
		{"rubbish behind gzip", zip(plain) + "abcd", "text/plain", "gzip", "", no},
		{"blanks behind gzip", zip(plain) + "  ", "text/plain", "gzip", "", no},
		{"cut off gzip", zip(plain)[:40], "text/plain", "gzip", "", no},
		{"cut off zlib", deflated(plain)[:40], "text/plain", "deflate", "", no},
		{"cut off brotli", brotliOf(plain)[:40], "text/plain", "br", "", no},
		{"cut off zstd", zstdOf(plain)[:40], "text/plain", "zstd", "", no},
		{"two frames of zstd", zstdOf(plain[:9]) + zstdOf(plain[9:]), "text/plain", "zstd", "", yes},
		{"gzip in base64", base64Of(zip(plain)), "text/plain", "", "", yes},
		{"gzip in base64 that says gzip", base64Of(zip(plain)), "text/plain", "", "gzip-js", yes},
		{"base64 twice", base64Of(b64), "text/plain", "", "", legacy},
		{"base64 twice that says base64", base64Of(b64), "text/plain", "", "base64", legacy},
		{"base64 three times", base64Of(base64Of(b64)), "text/plain", "", "", no},
		{"base64 in gzip", zip(b64), "text/plain", "gzip", "", legacy},
		{"base64 in gzip that says both", zip(b64), "text/plain", "gzip", "base64", legacy},
		{"base64 and a line end", b64 + "\n", "text/plain", "", "", legacy},
		{"base64 without padding", strings.TrimRight(b64, "="), "text/plain", "", "", no},
		{"padding only", "====", "text/plain", "", "", no},
		{"not what gzip is", "hello", "text/plain", "", "gzip", no},

		{"form of base64", "data=" + escape(b64), form, "", "", yes},
		{"form of base64 as it is", "ip=1&data=" + b64 + "&x=y", form + "; charset=UTF-8", "", "base64", yes},
		{"form of base64 with blanks", "data=" + blanks.Replace(b64), form, "", "", yes},
		{"form with its own hint", "compression=base64&data=" + b64, form, "", "", yes},
		{"form as text", "data=" + escape(b64), "text/plain", "", "", yes},
		{"form without a type", "data=" + escape(b64), "", "", "", yes},
		{"form of gzip in base64", "data=" + escape(base64Of(zip(plain))), form, "", "gzip", yes},
		{"form of base64 twice", "data=" + base64Of(b64), form, "", "", legacy},
		{"form of lz64", "data=" + escape(lz), form, "", "lz64", yes},
		{"form of lz64 with its own hint", "data=" + blanks.Replace(lz) + "&compression=lz64", form, "", "", yes},
		{"the query's hint before the form's", "data=" + lz + "&compression=base64", form, "", "lz64", yes},
		{"the form's hint after an unknown one", "data=" + lz + "&compression=lz64", form, "", "snappy", yes},
		{"form of JSON", "data=" + escape(plain), form, "", "", yes},
		{"form of JSON that says base64", "data=" + escape(plain), form, "", "base64", yes},
		{"form of JSON with %20", "data=" + strings.ReplaceAll(escape(plain), "+", "%20"), form, "", "", yes},
		{"JSON that says it is a form", plain, form, "", "", yes},
		{"a list that says it is a form", " \n[" + plain + "]", form, "", "", yes},
		{"form without data", "compression=base64&x=y", form, "", "", no},
		{"form with empty data", "data=", form, "", "", no},
		{"nothing", "", "application/json", "", "", no},
		{"white space", " \r\n", "application/json", "", "", no},

		{"unknown hint before a known header", brotliOf(plain), "text/plain", "br", "snappy", yes},
		{"contradiction: gzip and br", brotliOf(plain), "text/plain", "br", "gzip", no},
		{"header in capitals", zstdOf(plain), "text/plain", "ZSTD", "", yes},
	}
	// Each form of a body, and each hint about it: said truly, not said, or
	// wrongly.
	bodies := map[string]string{
		"none": plain, "gzip": zip(plain), "base64": b64, "lz64": lz,
		"deflate": deflated(plain), "br": brotliOf(plain), "zstd": zstdOf(plain),
	}
	for is, body := range bodies {
		for _, hint := range []string{"", "gzip", "gzip-js", "base64", "b64", "lz64", "lz-string", "deflate", "br", "zstd", "snappy"} {
			want := no
			switch lz := strings.HasPrefix(hint, "lz"); {
			case is == "none", is == "gzip", // to be seen
				is == "base64" && !lz, // comes before other hints
				is == "lz64" && lz, is == hint:
				want = yes
			}
			rows = append(rows,
				row{is + " with query " + hint, body, "text/plain", "", hint, want},
				row{is + " with header " + hint, body, "application/json", hint, "", want})
		}
	}

	for _, tt := range rows {
		t.Run(tt.name, func(t *testing.T) {
			for path, old := range map[string]bool{"/batch/": false, "/e/": true} {
				c := call{
					target: path + "?ver=1&compression=" + tt.query + "&_=1795220311000",
					header: map[string]string{"Content-Type": tt.contentType, "Content-Encoding": tt.encoding}, body: tt.body,
				}
				if tt.want == no || tt.want == legacy && !old {
					resp := c.do(s)
					if body := refusal(t, resp); resp.StatusCode != 400 || len(f.take()) > 0 {
						t.Errorf("%s: %d %+v, want 400", path, resp.StatusCode, body)
					}
					continue
				}
				got := captured(t, s, f, c)
				if len(got) != 1 || got[0].Name != "a + b" || got[0].DistinctID != "user 1" ||
					!strings.HasPrefix(string(got[0].Properties), `{"x":"~~?>>~`) {
					t.Errorf("%s: %+v", path, seenOf(got))
				}
			}
		})
	}
}

// TestBrotliThatLooksLikeJSON: the first byte of brotli text of 64 kB to 1 MB is
// a bracket.
func TestBrotliThatLooksLikeJSON(t *testing.T) {
	s, f := newCapture(t, nil)
	var body strings.Builder
	body.WriteString(`{"api_key":"phc_demo","batch":[`)
	for i := range 2000 {
		fmt.Fprintf(&body, `{"event":"e%d","distinct_id":"user-%d"},`, i, i*7919%10007)
	}
	encoded := brotliOf(body.String() + `{"event":"last","distinct_id":"u"}]}`)
	if encoded[0] != '[' {
		t.Fatalf("first byte %q", encoded[0])
	}
	c := call{target: "/batch/", header: map[string]string{"Content-Encoding": "br"}, body: encoded}
	if got := captured(t, s, f, c); len(got) != 2001 {
		t.Errorf("%d events", len(got))
	}
}

func TestCaptureGET(t *testing.T) {
	s, f := newCapture(t, nil)
	b64 := base64Of(event)
	for _, tt := range []struct{ name, query string }{
		{"base64", "data=" + url.QueryEscape(b64)},
		{"base64 with plus signs as they are", "data=" + b64},
		{"base64 with blanks", "compression=base64&data=" + strings.ReplaceAll(b64, "+", "%20")},
		{"gzip in base64", "data=" + url.QueryEscape(base64Of(zip(event))) + "&_=1"},
		{"lz64", "compression=lz64&data=" + lz64Literal(strings.ReplaceAll(event, "ïÿ", "~"))},
		{"JSON with blanks and plus signs", "data=" + url.QueryEscape(event)},
		{"JSON with %20", "data=" + strings.ReplaceAll(url.QueryEscape(event), "+", "%20")},
		{"the first counts", "data=" + url.QueryEscape(event) + "&data=x"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := captured(t, s, f, call{method: "GET", target: "/e/?" + tt.query})
			if len(got) != 1 || got[0].Name != "a + b" || got[0].DistinctID != "user 1" {
				t.Errorf("%+v", seenOf(got))
			}
		})
	}
	for _, query := range []string{"", "?data=", "?data=%zz", "?DATA=" + b64} {
		resp := call{method: "GET", target: "/e/" + query}.do(s)
		if body := refusal(t, resp); resp.StatusCode != 400 || body.Detail != "request missing data payload" {
			t.Errorf("GET /e/%s: %d %+v", query, resp.StatusCode, body)
		}
	}
}

// TestSentAt: the query's "_" corrects the client's clock.
func TestSentAt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, f := newCapture(t, nil)
		time.Sleep(time.Until(time.Date(2026, 11, 21, 12, 5, 10, 0, time.UTC))) // in the bubble
		body := `{"token":"phc_demo","event":"e","distinct_id":"u","timestamp":"2026-11-21T12:00:00Z"}`
		sent := time.Date(2026, 11, 21, 12, 0, 10, 0, time.UTC).UnixMilli()
		for query, want := range map[string]string{
			fmt.Sprint("_=", sent):      "12:05:00",
			"":                          "12:00:00",
			"_=abc":                     "12:00:00",
			"_=1":                       "12:00:00",
			"_=99999999999999999999":    "12:00:00",
			fmt.Sprint("_=", sent, "%"): "12:00:00",
		} {
			got := captured(t, s, f, call{target: "/e/?" + query, body: body})
			if len(got) != 1 || got[0].Time.Format(time.TimeOnly) != want || got[0].Received.Format(time.TimeOnly) != "12:05:10" {
				t.Errorf("%q: %+v, want %s", query, got, want)
			}
		}
	})
}

const (
	chrome    = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36"
	googlebot = "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"
)

// v1Header is what a request to /i/v1/analytics/events must have.
func v1Header(more map[string]string) map[string]string {
	h := map[string]string{
		"Authorization": "Bearer phc_demo", "PostHog-Sdk-Info": "posthog-node/5.70.0", "PostHog-Attempt": "1",
		"PostHog-Request-Id": requestID, "PostHog-Request-Timestamp": "2026-11-21T00:12:13.523Z",
		"User-Agent": "posthog-node/5.70.0", "Content-Type": "application/json",
	}
	maps.Copy(h, more)
	return h
}

const (
	uuid1 = "01a1fb72-4826-7af7-a165-3e5ec48ee45e"
	uuid2 = "01a1fb72-4826-7af7-a165-3e5ec48ee45f"
)

func v1Body(ids ...string) string {
	var list []string
	for i, id := range ids {
		list = append(list, fmt.Sprintf(`{"event":"e%d","uuid":%q,"distinct_id":"u","timestamp":"2026-11-21T00:12:13.221Z"}`, i, id))
	}
	return `{"created_at":"2026-11-21T00:12:13.522Z","batch":[` + strings.Join(list, ",") + `]}`
}

func v1(body string, more map[string]string) call {
	return call{target: "/i/v1/analytics/events", header: v1Header(more), body: body}
}

func TestEnrichment(t *testing.T) {
	var asked []netip.Addr
	projects := registry(t)
	projects.Set("phc_anonymous", &server.Project{ID: 8, AnonymizeIPs: true})
	s, f := newCapture(t, func(c *server.Config) {
		c.Projects = projects
		c.Geo = fakeGeo{asked: &asked, properties: map[string]string{"$geoip_country_code": `A"T`}}
		c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
	})
	const (
		geo   = `"$geoip_country_code":"A\"T"`
		agent = `"$browser":"Chrome","$browser_version":"140","$os":"Linux","$device_type":"Desktop","$raw_user_agent":"` + chrome + `"`
	)
	forwarded := map[string]string{"X-Forwarded-For": "203.0.113.9, 10.0.0.1"}
	anonymous := map[string]string{"User-Agent": chrome}
	for _, tt := range []struct {
		name, key, properties string
		header                map[string]string
		remote                string
		want                  string
		asked                 string // of the Locator
	}{
		{"a server SDK", apiKey, `{"a":1}`, nil, "198.51.100.7:1", `{"a":1,"$ip":"198.51.100.7",` + geo + `}`, "198.51.100.7"},
		{"a browser", apiKey, `{}`, map[string]string{"User-Agent": chrome}, "", `{"$ip":"192.0.2.1",` + agent + `,` + geo + `}`, "192.0.2.1"},
		{"a bot", apiKey, `{}`, map[string]string{"User-Agent": googlebot}, "", `{"$ip":"192.0.2.1",` + geo + `}`, "192.0.2.1"},
		{"no agent", apiKey, `{}`, map[string]string{"User-Agent": ""}, "", `{"$ip":"192.0.2.1",` + geo + `}`, "192.0.2.1"},
		{"a long agent", apiKey, `{}`, map[string]string{"User-Agent": chrome + strings.Repeat("x", 512)}, "", `{"$ip":"192.0.2.1",` + geo + `}`, "192.0.2.1"},
		{"an agent that is not UTF-8", apiKey, `{}`, map[string]string{"User-Agent": chrome + "\xff"}, "", `{"$ip":"192.0.2.1",` + geo + `}`, "192.0.2.1"},
		{"a browser SDK tells itself", apiKey, `{"$os":"Plan 9"}`, map[string]string{"User-Agent": chrome}, "", `{"$os":"Plan 9","$ip":"192.0.2.1",` + geo + `}`, "192.0.2.1"},
		{"a trusted proxy", apiKey, `{}`, forwarded, "10.1.2.3:1", `{"$ip":"203.0.113.9",` + geo + `}`, "203.0.113.9"},
		{"a proxy of somebody", apiKey, `{}`, forwarded, "11.1.2.3:1", `{"$ip":"11.1.2.3",` + geo + `}`, "11.1.2.3"},
		{"IPv6", apiKey, `{}`, nil, "[2001:db8::1%eth0]:1", `{"$ip":"2001:db8::1",` + geo + `}`, "2001:db8::1"},
		{"no address", apiKey, `{}`, nil, "@", `{}`, ""},
		{"the event has an address", apiKey, `{"$ip":"9.9.9.9"}`, nil, "", `{"$ip":"9.9.9.9",` + geo + `}`, "192.0.2.1"},
		{"no geoip, please", apiKey, `{"$geoip_disable":true}`, nil, "", `{"$geoip_disable":true,"$ip":"192.0.2.1"}`, ""},
		{"the event has a place", apiKey, `{"$geoip_city_name":"Graz"}`, nil, "", `{"$geoip_city_name":"Graz","$ip":"192.0.2.1"}`, ""},
		{"a project without addresses", "phc_anonymous", `{}`, anonymous, "", `{` + agent + `,` + geo + `}`, "192.0.2.1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			check := func(list []capture.Event, want string) {
				t.Helper()
				if diff := cmp.Diff([]seen{{"e0", "u", want}}, seenOf(list)); diff != "" {
					t.Error(diff)
				}
				for _, addr := range asked {
					if addr.String() != tt.asked {
						t.Errorf("asked for %v, want %q", addr, tt.asked)
					}
				}
				if (len(asked) > 0) != (tt.asked != "") {
					t.Errorf("asked for %v, want %q", asked, tt.asked)
				}
				asked = nil
			}
			body := fmt.Sprintf(`{"token":%q,"event":"e0","distinct_id":"u","properties":%s}`, tt.key, tt.properties)
			check(captured(t, s, f, call{target: "/e/", header: tt.header, body: body, remote: tt.remote}), tt.want)

			c := v1(strings.Replace(v1Body(uuid1), `"uuid"`, `"properties":`+tt.properties+`,"uuid"`, 1), tt.header)
			c.header["Authorization"], c.remote = "bearer "+tt.key, tt.remote
			if c.header["User-Agent"] == "" {
				return // is required there
			}
			if resp := c.do(s); resp.StatusCode != 200 {
				t.Fatal(resp.StatusCode, bodyText(t, resp))
			}
			// The library comes before what is added for all.
			list := f.take()
			const library = `"$lib":"posthog-node","$lib_version":"5.70.0"`
			for i := range list {
				if !bytes.Contains(list[i].Properties, []byte(library)) {
					t.Errorf("%s lacks the library", list[i].Properties)
				}
				list[i].Properties = json.RawMessage(strings.NewReplacer(","+library, "", library+",", "", library, "").Replace(string(list[i].Properties)))
			}
			check(list, tt.want)
		})
	}
}

func TestTrustEverybody(t *testing.T) {
	s, f := newCapture(t, nil)
	got := captured(t, s, f, call{target: "/e", header: map[string]string{"X-Forwarded-For": "203.0.113.9"}, body: event})
	if len(got) != 1 || !strings.Contains(string(got[0].Properties), `"$ip":"203.0.113.9"`) {
		t.Errorf("%+v", seenOf(got))
	}
}

// TestAcceptErrors: answers when events are not stored, on the old routes and on
// the new one.
func TestAcceptErrors(t *testing.T) {
	const retry = `"result":"retry","details":"not_persisted"`
	const drop = `"result":"drop","details":"malformed_event_properties"`
	const ok = `"result":"ok"`
	bad := &capture.EventError{Index: 1, Err: errors.New("secret")}
	for _, tt := range []struct {
		name          string
		err           error
		status        int
		text          string
		first, second string // results of the newer route
		failed        int    // of two events, as metrics count
	}{
		{"full", capture.ErrFull, 503, "transient error, please retry", retry, retry, 2},
		{"closed", capture.ErrClosed, 503, "transient error, please retry", retry, retry, 2},
		{"a timeout", context.DeadlineExceeded, 503, "transient error, please retry", retry, retry, 2},
		{"somebody's cancellation", context.Canceled, 503, "transient error, please retry", retry, retry, 2},
		{"something else", errors.New("secret"), 503, "transient error, please retry", retry, retry, 2},
		{"one event", bad, 400, "an event cannot be stored; the others were", ok, drop, 1},
		{"both events", errors.Join(&capture.EventError{Index: 0, Err: io.EOF}, bad), 400, "an event cannot be stored; the others were", drop, drop, 2},
		{"an event and something else", errors.Join(bad, errors.New("secret")), 503, "transient error, please retry", retry, retry, 2},
		{"an event that is not there", &capture.EventError{Index: 2, Err: io.EOF}, 503, "transient error, please retry", retry, retry, 2},
		{"a wrapped event error", fmt.Errorf("secret: %w", bad), 503, "transient error, please retry", retry, retry, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var log bytes.Buffer
			s, f := newCapture(t, func(c *server.Config) { c.Log = slog.New(slog.NewTextHandler(&log, nil)) })
			f.accept = func(context.Context, []capture.Event) error { return tt.err }
			resp := call{target: "/e", body: `[{"token":"phc_demo","event":"a","distinct_id":"u"},{"token":"phc_demo","event":"b","distinct_id":"u"}]`}.do(s)
			if body := refusal(t, resp); resp.StatusCode != tt.status || body.Detail != tt.text {
				t.Errorf("%d %+v, want %d %q", resp.StatusCode, body, tt.status, tt.text)
			}
			if got := resp.Header.Get("Retry-After"); (got == "1") != (tt.status == 503) {
				t.Errorf("Retry-After %q", got)
			}
			if (tt.status == 503) != strings.Contains(log.String(), "request_id=") {
				t.Errorf("log %s", log.String())
			}

			resp = v1(v1Body(uuid1, uuid2), nil).do(s)
			want := fmt.Sprintf(`{"results":{%q:{%s},%q:{%s}}}`, uuid1, tt.first, uuid2, tt.second)
			if body := bodyText(t, resp); resp.StatusCode != 200 || body != want {
				t.Errorf("%d %s, want 200 %s", resp.StatusCode, body, want)
			}
			if got := resp.Header.Get("Retry-After"); (got == "1") != (tt.first == retry) {
				t.Errorf("Retry-After %q", got)
			}
			if got := resp.Header.Get("PostHog-Request-Id"); got != requestID {
				t.Errorf("PostHog-Request-Id %q", got)
			}
			metrics := scrape(t, s)
			if want := fmt.Sprintf("flagstaff_events_total{result=\"failed\"} %d\n", 2*tt.failed); !strings.Contains(metrics, want) {
				t.Errorf("no %q", want)
			}
			if want := fmt.Sprintf("flagstaff_events_total{result=\"stored\"} %d\n", 2*(2-tt.failed)); tt.failed < 2 && !strings.Contains(metrics, want) {
				t.Errorf("no %q", want)
			}
		})
	}
}

// TestCaptureTimeout: a store that does not answer costs clients the Timeout; a
// client that goes away waits no longer.
func TestCaptureTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, f := newCapture(t, func(c *server.Config) { c.Capture.Timeout = 3 * time.Second })
		f.accept = func(ctx context.Context, _ []capture.Event) error {
			<-ctx.Done()
			return ctx.Err()
		}
		start := time.Now()
		resp := call{target: "/e", body: event}.do(s)
		if resp.StatusCode != 503 || resp.Header.Get("Retry-After") != "1" || time.Since(start) != 3*time.Second {
			t.Errorf("%d after %v", resp.StatusCode, time.Since(start))
		}
		for _, c := range []call{{target: "/e", body: event}, v1(v1Body(uuid1), nil)} {
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(time.Second, cancel)
			w := newRecorder()
			s.ServeHTTP(w, c.request().WithContext(ctx))
			if w.status != 408 {
				t.Errorf("%s: %d for a client that is gone", c.target, w.status)
			}
		}
	})
}

// A recorder remembers the status of an answer.
type recorder struct {
	discard
	status int
}

func newRecorder() *recorder               { return &recorder{discard: discard{make(http.Header)}} }
func (r *recorder) WriteHeader(status int) { r.status = status }

// TestCapturePanic: a panic shows clients only the request's id.
func TestCapturePanic(t *testing.T) {
	var log bytes.Buffer
	s, f := newCapture(t, func(c *server.Config) { c.Log = slog.New(slog.NewTextHandler(&log, nil)) })
	f.accept = func(context.Context, []capture.Event) error { panic("hunter2") }
	for _, c := range []call{{target: "/batch", body: event}, v1(v1Body(uuid1), nil)} {
		if c.header == nil {
			c.header = make(map[string]string)
		}
		c.header["X-Request-Id"] = requestID
		resp := c.do(s)
		body := bodyText(t, resp)
		if resp.StatusCode != 500 || !strings.Contains(body, requestID) || strings.Contains(body, "hunter2") || strings.Contains(body, "panic") {
			t.Errorf("%s: %d %s", c.target, resp.StatusCode, body)
		}
	}
	if strings.Contains(log.String(), "hunter2") || !strings.Contains(log.String(), "value=string") {
		t.Errorf("log %s", log.String())
	}
	f.accept = nil
	if got := captured(t, s, f, call{target: "/batch", body: event}); len(got) == 0 {
		t.Error("nothing works any more")
	}
}

func TestEventQuota(t *testing.T) {
	s, f := newCapture(t, func(c *server.Config) { c.Capture.Quota = &fakeQuota{left: map[string]int{"acme": 2}} })
	if got := captured(t, s, f, call{target: "/e", body: "[" + event + "," + event + "]"}); len(got) != 2 {
		t.Errorf("%d events, want 2", len(got))
	}
	if got := captured(t, s, f, call{target: "/e", body: event}); len(got) != 0 {
		t.Errorf("%d events beyond the quota", len(got))
	}
	resp := v1(v1Body(uuid1), nil).do(s)
	if body := bodyText(t, resp); resp.StatusCode != 402 || !strings.Contains(body, "billing_limit_exceeded") || len(f.take()) > 0 {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
}

func TestCaptureMetrics(t *testing.T) {
	s, f := newCapture(t, func(c *server.Config) { c.Capture.Quota = &fakeQuota{left: map[string]int{"acme": 4}} })
	f.waiting = 17
	captured(t, s, f, call{target: "/e", body: "[" + event + "," + event + "]"})
	f.accept = func(context.Context, []capture.Event) error { return capture.ErrFull }
	call{target: "/e", body: event}.do(s)
	call{target: "/e", body: "{"}.do(s)
	f.accept = nil
	snapshot := strings.Replace(event, "a + b", "$snapshot", 1)
	captured(t, s, f, call{target: "/e", body: "[" + event + "," + snapshot + "]"})
	captured(t, s, f, call{target: "/s", body: "[" + event + "," + snapshot + "]"})
	captured(t, s, f, call{target: "/e", body: "[" + event + "," + event + "," + event + "]"})
	got := scrape(t, s)
	for _, want := range []string{
		`flagstaff_events_total{result="stored"} 3`,
		`flagstaff_events_total{result="failed"} 1`,
		`flagstaff_events_total{result="discarded"} 3`,
		`flagstaff_events_total{result="over_quota"} 3`,
		`flagstaff_events_waiting 17`,
		`flagstaff_http_requests_total{route="/e",status="200"} 3`,
		`flagstaff_http_requests_total{route="/e",status="503"} 1`,
	} {
		if !strings.Contains(got, want+"\n") {
			t.Errorf("no line %s", want)
		}
	}
}

func TestCaptureRateLimit(t *testing.T) {
	for name, limit := range map[string]server.RateLimit{
		"per address": {IP: server.Limit{PerSecond: 0.5, Burst: 2}},
		"per key":     {Project: server.Limit{PerSecond: 0.5, Burst: 2}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, f := newCapture(t, func(c *server.Config) { c.RateLimit = limit })
				captured(t, s, f, call{target: "/e", body: event})
				if resp := v1(v1Body(uuid1), nil).do(s); resp.StatusCode != 200 {
					t.Error(resp.Status)
				}
				f.take()
				resp := call{target: "/e", body: event}.do(s)
				if body := refusal(t, resp); resp.StatusCode != 429 || body.Detail != "rate limited" || resp.Header.Get("Retry-After") != "2" {
					t.Errorf("%d %+v %v", resp.StatusCode, body, resp.Header)
				}
				resp = v1(v1Body(uuid1), nil).do(s)
				if body := bodyText(t, resp); resp.StatusCode != 429 || !strings.Contains(body, `"rate_limited"`) || resp.Header.Get("Retry-After") != "2" {
					t.Errorf("%d %s %v", resp.StatusCode, body, resp.Header)
				}
				if n := len(f.take()); n > 0 {
					t.Errorf("%d events are stored all the same", n)
				}
				time.Sleep(2 * time.Second) // in the bubble
				captured(t, s, f, call{target: "/e", body: event})
			})
		})
	}
}

// TestAnalyticsChecks: a request with several faults gets the first one in the
// order of wire.md §2.9.
func TestAnalyticsChecks(t *testing.T) {
	s, f := newCapture(t, nil)
	good := v1Body(uuid1)
	for _, tt := range []struct {
		name   string
		body   string
		header map[string]string
		status int
		tag    string
	}{
		{"no authorization", "", map[string]string{"Authorization": "", "User-Agent": ""}, 401, "missing_authorization"},
		{"basic authorization", good, map[string]string{"Authorization": "Basic phc_demo"}, 401, "missing_authorization"},
		{"empty authorization", good, map[string]string{"Authorization": "Bearer  "}, 401, "missing_authorization"},
		{"no SDK", "", map[string]string{"PostHog-Sdk-Info": "", "Content-Type": "text/plain"}, 400, "missing_required_headers"},
		{"no attempt", good, map[string]string{"PostHog-Attempt": ""}, 400, "missing_required_headers"},
		{"no id", good, map[string]string{"PostHog-Request-Id": ""}, 400, "missing_required_headers"},
		{"no time", good, map[string]string{"PostHog-Request-Timestamp": ""}, 400, "missing_required_headers"},
		{"no content type", good, map[string]string{"Content-Type": ""}, 400, "missing_required_headers"},
		{"no agent", good, map[string]string{"User-Agent": ""}, 400, "missing_required_headers"},
		{"content type", good, map[string]string{"Content-Type": "text/plain", "Content-Encoding": "snappy"}, 415, "unsupported_content_type"},
		{"encoding", good, map[string]string{"Content-Encoding": "snappy", "PostHog-Attempt": "0"}, 415, "unsupported_encoding"},
		{"id", good, map[string]string{"PostHog-Request-Id": "x", "Authorization": "Bearer x"}, 400, "invalid_header_value"},
		{"attempt", good, map[string]string{"PostHog-Attempt": "0"}, 400, "invalid_header_value"},
		{"time", good, map[string]string{"PostHog-Request-Timestamp": "yesterday"}, 400, "invalid_header_value"},
		{"a long SDK", good, map[string]string{"PostHog-Sdk-Info": strings.Repeat("x", 201)}, 400, "invalid_header_value"},
		{"token", "", map[string]string{"Authorization": "Bearer phc_other"}, 401, "invalid_api_token"},
		{"a long token", "", map[string]string{"Authorization": "Bearer " + strings.Repeat("x", 65)}, 401, "invalid_api_token"},
		{"empty body", "", nil, 400, "empty_body"},
		{"not gzip", good, map[string]string{"Content-Encoding": "gzip"}, 400, "request_decoding_error"},
		{"not br", good, map[string]string{"Content-Encoding": "br"}, 400, "request_decoding_error"},
		{"not zstd", good, map[string]string{"Content-Encoding": "zstd"}, 400, "request_decoding_error"},
		{"not zlib", good, map[string]string{"Content-Encoding": "deflate"}, 400, "request_decoding_error"},
		{"not JSON", "{", nil, 400, "request_parsing_error"},
		{"no batch", "{}", nil, 400, "request_parsing_error"},
		{"empty batch", v1Body(), nil, 400, "empty_batch"},
		{"no creation", `{"batch":[{"uuid":"x"}]}`, nil, 400, "invalid_batch"},
		{"event without UUID", v1Body(""), nil, 400, "missing_event_uuid"},
		{"no UUID", v1Body("x"), nil, 400, "invalid_event_uuid"},
		{"twice", v1Body(uuid1, uuid1), nil, 400, "duplicate_event_uuid"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			resp := v1(tt.body, tt.header).do(s)
			var got struct {
				Error       string `json:"error"`
				Description string `json:"error_description"`
				URI         string `json:"error_uri"`
			}
			body := bodyText(t, resp)
			if err := json.Unmarshal([]byte(body), &got); err != nil || resp.Header.Get("Content-Type") != "application/json" {
				t.Fatalf("%v: %s", err, body)
			}
			if resp.StatusCode != tt.status || got.Error != tt.tag || got.Description == "" || got.URI == "" {
				t.Errorf("%d %+v, want %d %s", resp.StatusCode, got, tt.status, tt.tag)
			}
			if n := len(f.take()); n > 0 {
				t.Errorf("%d events are stored all the same", n)
			}
		})
	}
	for encoding, body := range map[string]string{"": good, "identity": good, "gzip": zip(good), "GZIP": zip(good), "deflate": deflated(good), "br": brotliOf(good), "zstd": zstdOf(good)} {
		resp := v1(body, map[string]string{"Content-Encoding": encoding, "Content-Type": "application/json; charset=utf-8"}).do(s)
		if got := bodyText(t, resp); resp.StatusCode != 200 || got != `{"results":{"`+uuid1+`":{"result":"ok"}}}` || len(f.take()) != 1 {
			t.Errorf("%s: %d %s", encoding, resp.StatusCode, got)
		}
	}
}

// TestAnalyticsResults: events that cannot be stored do not hinder the others,
// and errors of the store reach the event that they are about.
func TestAnalyticsResults(t *testing.T) {
	s, f := newCapture(t, nil)
	f.accept = func(context.Context, []capture.Event) error {
		return &capture.EventError{Index: 1, Err: io.EOF} // the third of the request
	}
	body := `{"created_at":"2026-11-21T00:12:13Z","batch":[
		{"event":"a","uuid":"` + uuid1 + `","distinct_id":"u","timestamp":"2026-11-21T00:12:13Z"},
		{"event":"b","uuid":"11111111-4826-7af7-a165-3e5ec48ee45e","timestamp":"2026-11-21T00:12:13Z"},
		{"event":"c","uuid":"22222222-4826-7af7-A165-3e5ec48ee45e","distinct_id":"u","timestamp":"2026-11-21T00:12:13Z"},
		{"event":"d","uuid":"` + uuid2 + `","distinct_id":"undefined","timestamp":"2026-11-21T00:12:13Z"}]}`
	resp := v1(body, nil).do(s)
	want := `{"results":{"` + uuid1 + `":{"result":"ok"},` +
		`"11111111-4826-7af7-a165-3e5ec48ee45e":{"result":"drop","details":"missing_distinct_id"},` +
		`"22222222-4826-7af7-A165-3e5ec48ee45e":{"result":"drop","details":"malformed_event_properties"},` +
		`"` + uuid2 + `":{"result":"warning","details":"person_processing_disabled"}}}`
	if got := bodyText(t, resp); resp.StatusCode != 200 || got != want || resp.Header.Get("Retry-After") != "" {
		t.Errorf("%d %s, want %s", resp.StatusCode, got, want)
	}
	if got := f.take(); len(got) != 3 || got[0].Project != 7 || !got[2].NoPerson {
		t.Errorf("%+v", got)
	}
}

// TestCaptureProjects: projects are found by the key of the body, and a failure to
// find one is the server's.
func TestCaptureProjects(t *testing.T) {
	s, f := newCapture(t, func(c *server.Config) { c.Projects = brokenProjects{} })
	for key, want := range map[string]int{"slow": 503, "gone": 503, "down": 503, "panic": 500} {
		resp := call{target: "/e", body: strings.Replace(event, "phc_demo", key, 1)}.do(s)
		if body := bodyText(t, resp); resp.StatusCode != want || strings.Contains(body, "hunter2") || strings.Contains(body, "refused") {
			t.Errorf("%s: %d %s, want %d", key, resp.StatusCode, body, want)
		}
		resp = v1(v1Body(uuid1), map[string]string{"Authorization": "Bearer " + key}).do(s)
		if body := bodyText(t, resp); resp.StatusCode != want || strings.Contains(body, "hunter2") || strings.Contains(body, "refused") {
			t.Errorf("%s: %d %s, want %d", key, resp.StatusCode, body, want)
		}
	}
	if n := len(f.take()); n > 0 {
		t.Errorf("%d events", n)
	}
}

// TestRuling46JSONAsForm: JSON that curl -d calls a form is read as JSON on all routes
// for events (wire.md §2.2).
// JSON that is of the alphabet of base64, too, is JSON (wire.md §2.2).
func TestCaptureOfOtherJSON(t *testing.T) {
	s, f := newCapture(t, nil)
	const want = "failed to parse request: the body must be an object or an array, not "
	for _, text := range []string{"null", "true", "12345678", "-1.5"} {
		for _, route := range captureTargets {
			resp := call{target: route.path, body: text}.do(s)
			if body := bodyText(t, resp); resp.StatusCode != 400 || !strings.Contains(body, want+text) {
				t.Errorf("%s of %s = %d %s, want 400 and %q", route.path, text, resp.StatusCode, body, want+text)
			}
		}
	}
	if list := f.take(); len(list) != 0 {
		t.Errorf("%d events are stored", len(list))
	}
}

func TestRuling46JSONAsForm(t *testing.T) {
	s, f := newCapture(t, nil)
	list := []string{event, " \n" + event, "[" + event + "]", `{"api_key":"phc_demo","batch":[` + event + `]}`}
	for _, route := range captureTargets {
		for _, body := range list {
			got := captured(t, s, f, call{target: route.path, header: map[string]string{"Content-Type": form + "; charset=UTF-8"}, body: body})
			if len(got) != 1 || got[0].Name != "a + b" || !strings.HasPrefix(string(got[0].Properties), `{"x":"~~?>>~`) {
				t.Errorf("%s with %s: %+v", route.path, body, seenOf(got))
			}
		}
	}
}

// TestRuling47DistinctID: a distinct ID is a string or a number, and anything else is
// refused like a missing one (wire.md §2.3, §2.4).
func TestRuling47DistinctID(t *testing.T) {
	s, f := newCapture(t, nil)
	for value, want := range map[string]string{`"u"`: "u", "17": "17", "17.50": "17.5", "-0": "-0.0", "1e3": "1000.0"} {
		got := captured(t, s, f, call{target: "/i/v0/e", body: `{"api_key":"phc_demo","event":"e","distinct_id":` + value + `}`})
		if len(got) != 1 || got[0].DistinctID != want {
			t.Errorf("%s: %+v, want %s", value, seenOf(got), want)
		}
	}
	for value, is := range map[string]string{"{}": "an object", `{"a":1}`: "an object", "[]": "an array", `["u"]`: "an array", "true": "true", "false": "false"} {
		for _, e := range []string{
			`{"api_key":"phc_demo","event":"e","distinct_id":` + value + `}`,
			`{"api_key":"phc_demo","event":"e","distinct_id":` + value + `,"properties":{"distinct_id":"u"}}`,
			`{"api_key":"phc_demo","event":"e","properties":{"distinct_id":` + value + `}}`,
			`[{"api_key":"phc_demo","event":"e","distinct_id":"u"},{"api_key":"phc_demo","event":"e","$distinct_id":` + value + `}]`,
		} {
			resp := call{target: "/i/v0/e", body: e}.do(s)
			want := `failed to parse request: field "distinct_id" must be a string or a number, not ` + is
			if got := refusal(t, resp); resp.StatusCode != 400 || got.Detail != want || *got.Attr != "distinct_id" {
				t.Errorf("%s: %d %+v, want %s", e, resp.StatusCode, got, want)
			}
		}
		resp := v1(strings.Replace(v1Body(uuid1), `"distinct_id":"u"`, `"distinct_id":`+value, 1), nil).do(s)
		if body := bodyText(t, resp); !strings.Contains(body, `"details":"missing_distinct_id"`) {
			t.Errorf("newer route with %s: %s", value, body)
		}
	}
	if list := f.take(); len(list) > 0 {
		t.Errorf("stored %+v", seenOf(list))
	}
}

// TestRuling74EventLimit: an event has at most 1 MiB, with whatever sink
// (wire.md §2.2).
func TestRuling74EventLimit(t *testing.T) {
	for _, limit := range []int{0, 100_000} {
		s, f := newCapture(t, func(c *server.Config) { c.Capture.MaxEvent = limit })
		most := 1 << 20
		if limit > 0 {
			most = limit
		}
		// Without $ip, an event has name, distinct ID, properties, and 4 KiB.
		sized := func(n int) string {
			properties := `{"$ip":"","x":""}`
			return `{"api_key":"phc_demo","event":"e","distinct_id":"u","properties":{"$ip":"","x":"` + strings.Repeat("x", n-4<<10-2-len(properties)) + `"}}`
		}
		if got := captured(t, s, f, call{target: "/batch", body: "[" + sized(most) + "," + event + "]"}); len(got) != 2 || got[0].Size() != most {
			t.Errorf("%d events at the limit of %d", len(got), most)
		}
		resp := call{target: "/batch", body: "[" + event + "," + sized(most+1) + "]"}.do(s)
		want := problem{"invalid_request", "request_too_large", fmt.Sprintf("maximum event size exceeded: an event has %d bytes, want at most %d", most+1, most), new("properties")}
		if diff := cmp.Diff(want, refusal(t, resp)); diff != "" || resp.StatusCode != 413 || len(f.take()) > 0 {
			t.Errorf("%d\n%s", resp.StatusCode, diff)
		}
		resp = v1(strings.Replace(v1Body(uuid1, uuid2), `"distinct_id":"u"`, `"distinct_id":"u","properties":{"x":"`+strings.Repeat("x", most)+`"}`, 1), nil).do(s)
		if body := bodyText(t, resp); !strings.Contains(body, `"result":"drop","details":"event_too_large"`) || len(f.take()) != 1 {
			t.Errorf("newer route: %s", body)
		}
	}
}
