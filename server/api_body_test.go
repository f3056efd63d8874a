package server_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAPIBodies(t *testing.T) {
	const me = "/api/users/@me"
	deep := func(n int) string {
		return `{"hedgehog_config":` + strings.Repeat(`{"a":`, n-1) + "1" + strings.Repeat("}", n-1) + "}"
	}
	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped)
	io.WriteString(w, "{}")
	w.Close()
	a := newAPI(t, apiSetup{})
	for _, tt := range []struct {
		name   string
		body   string
		header []string
		status int
		code   string
		detail string
	}{
		{name: "empty", body: "", status: 200},
		{name: "empty with another type", body: "", header: []string{"Content-Type", "text/html"}, status: 200},
		{name: "object", body: " {\r\n\t} \n", status: 200},
		{name: "unknown members", body: `{"id":99,"uuid":"x","unknown":[{}],"":1,"\u0000":2}`, status: 200},
		{name: "type with parameter", body: "{}", header: []string{"Content-Type", "Application/JSON; charset=utf-8"}, status: 200},
		{name: "no type", body: "{}", header: []string{"Content-Type", ""}, status: 200},
		{name: "identity", body: "{}", header: []string{"Content-Encoding", "Identity"}, status: 200},
		{name: "nested 64 deep", body: deep(64), status: 400, code: "invalid_input"}, // the Service allows less
		{name: "nested 65 deep", body: deep(65), status: 400, code: "parse_error"},
		{name: "hostile nesting", body: strings.Repeat("[", 1<<19), status: 400, code: "parse_error"},
		{name: "list", body: "[]", status: 400, code: "invalid_input", detail: "list"},
		{name: "string", body: `"hunter2"`, status: 400, code: "invalid_input", detail: "str"},
		{name: "integer", body: "-1", status: 400, code: "invalid_input", detail: "int"},
		{name: "float", body: "1e3", status: 400, code: "invalid_input", detail: "float"},
		{name: "boolean", body: "false", status: 400, code: "invalid_input", detail: "bool"},
		{name: "null", body: "null", status: 400, code: "invalid_input", detail: "NoneType"},
		{name: "blanks", body: " ", status: 400, code: "parse_error"},
		{name: "cut off", body: `{"first_name":"hunter2`, status: 400, code: "parse_error"},
		{name: "trailing data", body: `{}{}`, status: 400, code: "parse_error"},
		{name: "trailing comma", body: `{"first_name":"hunter2",}`, status: 400, code: "parse_error"},
		{name: "comment", body: `{}//hunter2`, status: 400, code: "parse_error"},
		{name: "NaN", body: `{"first_name":NaN}`, status: 400, code: "parse_error"},
		{name: "byte order mark", body: "\ufeff{}", status: 400, code: "parse_error"},
		{name: "not UTF-8", body: "{\"first_name\":\"\xff\"}", status: 400, code: "parse_error"},
		{name: "UTF-16", body: "{\x00}\x00", status: 400, code: "parse_error"},
		{name: "form", body: "first_name=hunter2", header: []string{"Content-Type", "application/x-www-form-urlencoded"}, status: 415, code: "unsupported_media_type"},
		{name: "text", body: "{}", header: []string{"Content-Type", "text/plain"}, status: 415, code: "unsupported_media_type"},
		{name: "broken type", body: "{}", header: []string{"Content-Type", "application/json;;"}, status: 415, code: "unsupported_media_type"},
		{name: "other JSON", body: "{}", header: []string{"Content-Type", "application/merge-patch+json"}, status: 415, code: "unsupported_media_type"},
		{name: "gzip", body: zipped.String(), header: []string{"Content-Encoding", "gzip"}, status: 415, code: "unsupported_media_type"},
		{name: "gzip that is not declared", body: zipped.String(), status: 400, code: "parse_error"},
		{name: "as large as allowed", body: "{}" + strings.Repeat(" ", 1<<20-2), status: 200},
		{name: "too large", body: "{}" + strings.Repeat(" ", 1<<20-1), status: 413, code: "request_too_large"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a.t = t
			c := api("PATCH", me, tt.body, tt.header...)
			if tt.status == 200 {
				a.ok(c)
				return
			}
			e, _ := a.fails(c, tt.status, tt.code)
			if strings.Contains(e.Detail, "hunter2") || tt.code == "parse_error" && !strings.HasPrefix(e.Detail, "JSON parse error - ") {
				t.Errorf("detail %q", e.Detail)
			}
			if want := "Invalid data. Expected a dictionary, but got " + tt.detail + "."; tt.detail != "" && e.Detail != want {
				t.Errorf("detail %q, want %q", e.Detail, want)
			}
		})
	}
	a.t = t

	// Every route with a body needs an object, but the one that takes any document.
	for _, tt := range apiEndpoints {
		for method := range strings.FieldsSeq(tt.methods) {
			if method == "GET" || strings.HasSuffix(tt.path, "hedgehog_config") {
				continue
			}
			if e, _ := a.fails(api(method, tt.path, "[]"), 400, "invalid_input"); e.Attr != nil {
				t.Errorf("%s %s: attr %q", method, tt.path, *e.Attr)
			}
		}
	}
	for body, status := range map[string]int{`{"a":1}`: 200, "null": 200, "": 400, "[]": 400, "1": 400} {
		if resp := api("PATCH", me+"/hedgehog_config", body).do(a); resp.StatusCode != status {
			t.Errorf("hedgehog_config %q = %d, want %d", body, resp.StatusCode, status)
		}
	}
	// GET has no body, whatever is sent.
	a.ok(api("GET", me, "{", "Content-Type", "text/plain"))
}

// TestAPIMembers: names of members differ by case, and the last of several members
// with one name counts.
func TestAPIMembers(t *testing.T) {
	a := newAPI(t, apiSetup{})
	for _, tt := range []struct{ body, want string }{
		{`{"first_name":"A"}`, "A"},
		{`{"first\u005fname":"B"}`, "B"},
		{`{"First_Name":"C"}`, "B"},
		{`{"first_name":"D","FIRST_NAME":"E"}`, "D"},
		{`{"FIRST_NAME":"F","first_name":"G","Last_name":"x"}`, "G"},
		{`{"first_name":"H","first_name":"I"}`, "I"},
		{"{\"fir\u017ft_name\":\"J\"}", "I"}, // encoding/json takes ſ for s
		{`{"IS_STAFF":true,"first_name":"K"}`, "K"},
	} {
		if got := a.ok(api("PATCH", "/api/users/@me", tt.body))["first_name"]; got != tt.want {
			t.Errorf("after %s: %s, want %s", tt.body, got, tt.want)
		}
	}
}

// FuzzManagementBody: no body makes the API fail or take much memory, whatever the
// route.
func FuzzManagementBody(f *testing.F) {
	for i := range apiEndpoints {
		f.Add(uint8(i), uint8(0), []byte(`{}`))
	}
	for _, body := range []string{
		`{"first_name":"A","last_name":"B","email":"x@y.example","is_staff":false,"theme_mode":null,"role_at_organization":"data"}`,
		`{"password":"x","current_password":"y","notification_settings":{"plugin_disabled":1,"project_weekly_digest_disabled":{"1":true}}}`,
		`{"set_current_organization":"` + acme + `","set_current_team":1,"hedgehog_config":{"a":[1,2.5e300,"\u0000\ud800"]}}`,
		`{"scene":"Person","dashboard":"42"}`, `{"token":123456}`, `{"uuid":"` + ada + `","code":"123456"}`,
		`{"label":"x","scopes":["*","user:read"],"scoped_teams":[1],"scoped_organizations":["` + acme + `"]}`,
		`{"name":"x","timezone":"Europe/Vienna","anonymize_ips":"yes","level":8}`, `null`, `[[[`, `{"a":`, "\x00",
	} {
		for _, method := range []uint8{0, 1, 2, 3} {
			f.Add(uint8(4), method, []byte(body))
			f.Add(uint8(25), method, []byte(body))
		}
	}
	methods := []string{"POST", "PATCH", "DELETE", "GET"}
	f.Fuzz(func(t *testing.T, route, method uint8, body []byte) {
		a := newAPI(t, apiSetup{})
		c := api(methods[int(method)%len(methods)], apiEndpoints[int(route)%len(apiEndpoints)].path, string(body))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		resp := c.do(a)
		runtime.ReadMemStats(&after)
		if resp.StatusCode >= 500 {
			t.Errorf("%s %s = %d %s", c.method, c.target, resp.StatusCode, bodyText(t, resp))
		}
		// Hashing a password takes 19 MiB.
		if got, most := after.TotalAlloc-before.TotalAlloc, uint64(32<<20+64*len(body)); got > most {
			t.Errorf("%s %s takes %d bytes for %d, want at most %d", c.method, c.target, got, len(body), most)
		}
	})
}

// TestAPIBodyIsNotKept: the next request reuses the memory of a body.
func TestAPIBodyIsNotKept(t *testing.T) {
	a := newAPI(t, apiSetup{})
	want := `{"a":"` + strings.Repeat("1", 100) + `"}`
	a.ok(api("PATCH", "/api/users/@me/hedgehog_config", want))
	for range 10 {
		a.ok(api("PATCH", "/api/users/@me/", `{"x":"`+strings.Repeat("2", 100)+`"}`))
	}
	if diff := cmp.Diff(want, bodyText(t, api("GET", "/api/users/@me/hedgehog_config", "").do(a))); diff != "" {
		t.Error(diff)
	}
}
