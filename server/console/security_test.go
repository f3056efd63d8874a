package console_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/optional"
	"github.com/flagstaff-go/flagstaff/server/console"
)

// The vectors are texts that would do something if a page had them as they are.
var vectors = []string{
	`<script>alert(1)</script>`,
	`"><script>alert(1)</script>`,
	`'><script>alert(1)</script>`,
	`</textarea><script>alert(1)</script>`,
	`</title><script>alert(1)</script>`,
	`</script><script>alert(1)</script>`,
	`</option></select><script>alert(1)</script>`,
	`</svg><script>alert(1)</script>`,
	`<!--><script>alert(1)</script>-->`,
	`<![CDATA[<script>alert(1)</script>]]>`,
	`<img src=x onerror=alert(1)>`,
	`"><img src=x onerror=alert(1)>`,
	`<svg/onload=alert(1)>`,
	`<details open ontoggle=alert(1)>`,
	`<iframe srcdoc="<script>alert(1)</script>">`,
	`<a href="javascript:alert(1)">x</a>`,
	`<math><mi//xlink:href="data:x,<script>alert(1)</script>">`,
	`<base href="https://evil.example/">`,
	`<meta http-equiv="refresh" content="0;url=https://evil.example">`,
	`<form action="https://evil.example"><button>x</button>`,
	`<style>*{background:url(https://evil.example)}</style>`,
	`" onmouseover="alert(1)`,
	`' onfocus='alert(1)' autofocus='`,
	"` onclick=`alert(1)",
	`" style="background:url(https://evil.example)`,
	`javascript:alert(1)`,
	`JaVaScRiPt:alert(1)//https://`,
	"java\u200bscript:alert(1)",
	`data:text/html,<script>alert(1)</script>`,
	`//evil.example/x`,
	`https://evil.example/" onclick="alert(1)`,
	`{{.}}{{template "layout" .}}`,
	`&lt;script&gt;alert(1)&lt;/script&gt;`,
	`&#60;script&#62;alert(1)&#60;/script&#62;`,
	`%3Cscript%3Ealert(1)%3C/script%3E`,
	"\u2028<script>alert(1)</script>",
}

// Pages are written in a part of HTML so strict that nothing else hides in it: names in
// small letters, values in quotes.
var (
	tagPattern       = regexp.MustCompile(`<(/?)([a-z][a-z0-9]*)((?:\s+[a-zA-Z][-a-zA-Z0-9]*(?:="[^"<>]*"|='[^'<>]*')?)*)\s*/?>`)
	attributePattern = regexp.MustCompile(`\s([a-zA-Z][-a-zA-Z0-9]*)(?:="([^"]*)"|='([^']*)')?`)
	pageElements     = strings.Fields("a article aside body button circle code datalist dd del details dialog div dl dt fieldset " +
		"figcaption figure footer form g h1 h2 h3 h4 head header hr html img input ins kbd label legend li line link main meta nav ol " +
		"optgroup option output p path polyline pre progress rect script section select small span strong summary svg table tbody " +
		"td text textarea tfoot th thead time title tr ul caption em b i q br abbr mark meter")
)

// harmless returns what of a page is not as the console writes it, "" if nothing.
func harmless(page string) string {
	page = strings.TrimPrefix(page, "<!doctype html>")
	for _, m := range tagPattern.FindAllStringSubmatch(page, -1) {
		if !slices.Contains(pageElements, m[2]) {
			return "the element " + m[0]
		}
		for _, a := range attributePattern.FindAllStringSubmatch(m[3], -1) {
			name, value := strings.ToLower(a[1]), html.UnescapeString(a[2]+a[3])
			local := value == "" || strings.HasPrefix(value, "/console/") || strings.HasPrefix(value, "#") || strings.HasPrefix(value, "?")
			switch {
			case strings.HasPrefix(name, "on"), name == "style", name == "srcdoc", name == "formaction", name == "http-equiv":
				return "the attribute in " + m[0]
			case name == "href" && m[2] == "a" && (strings.HasPrefix(value, "https://") || strings.HasPrefix(value, "http://")) &&
				strings.Contains(m[3], "noopener"):
			case name == "href" && strings.HasPrefix(value, "data:text/plain;charset=utf-8,") &&
				strings.Contains(m[3], `download="backup-codes.txt"`):
			case name == "src" && m[2] == "img" && strings.HasPrefix(value, "data:image/png;base64,"):
			case (name == "href" || name == "src" || name == "action") && !local:
				return "the address in " + m[0]
			}
		}
		if m[2] == "script" && m[1] == "" && !strings.Contains(m[3], ` src="/console/static/`) {
			return "the script " + m[0]
		}
	}
	rest := tagPattern.ReplaceAllString(page, "")
	if at := strings.IndexByte(rest, '<'); at >= 0 {
		return "the text " + rest[max(0, at-40):min(len(rest), at+80)]
	}
	return ""
}

func TestHarmless(t *testing.T) {
	for _, v := range vectors {
		for _, page := range []string{"<p>" + v + "</p>", `<a href="` + v + `">x</a>`, `<input value='` + v + `'>`} {
			if strings.Contains(v, "<") && harmless(page) == "" {
				t.Errorf("%s is not found", page)
			}
		}
		if fault := harmless("<p>" + html.EscapeString(v) + "</p>"); fault != "" {
			t.Errorf("%s: %s", v, fault)
		}
	}
	for _, page := range []string{
		`<a href="javascript:alert(1)">`, `<a href="//evil.example">`, `<p onclick="x">`, `<p style="x">`, `<script>`,
		`<form action="https://evil.example">`, `<a href="/evil">`,
	} {
		if harmless(page) == "" {
			t.Errorf("%s is not found", page)
		}
	}
}

// hostile writes each vector into each text field of each thing that a project has.
func (s *site) hostile() {
	t := s.t
	t.Helper()
	ctx := t.Context()
	events, err := capture.NewClient(capture.ClientConfig{Sink: s.store, Project: s.project, MaxRetries: -1})
	fatal(t, err)
	for i, v := range vectors {
		body := fmt.Appendf(nil, `{"key":"evil-%d","name":%[2]s,"tags":[%[2]s],"evaluation_contexts":[%[2]s],"active":true,
			"filters":{"groups":[
			{"properties":[{"key":%[2]s,"type":"person","operator":"exact","value":[%[2]s]},
				{"key":%[2]s,"type":"person","operator":"icontains","value":%[2]s}],"rollout_percentage":50,"description":%[2]s}],
			"multivariate":{"variants":[{"key":"a","name":%[2]s,"rollout_percentage":100}]},
				"payloads":{"a":{%[2]s:%[2]s}}}}`, i, quoted(t, v))
		var f management.FlagPatch
		fatal(t, json.Unmarshal(body, &f))
		made, err := s.service.CreateFlag(ctx, s.owner, "1", f)
		if err != nil {
			t.Fatalf("flag %s: %v", body, err)
		}
		s.update(made.Key, fmt.Sprintf(`{"name":%s,"tags":["x",%s]}`, quoted(t, "again "+v), quoted(t, v)))

		body = fmt.Appendf(nil, `{"name":%[1]s,"description":%[1]s,"filters":{"properties":{"type":"OR","values":[{"type":"AND",
			"values":[{"key":%[1]s,"type":"person","operator":"exact","value":[%[1]s]}]}]}}}`, quoted(t, v))
		var c management.CohortPatch
		fatal(t, json.Unmarshal(body, &c))
		_, err = s.service.CreateCohort(ctx, s.owner, "1", c)
		fatal(t, err)

		body = fmt.Appendf(nil, `{"name":%[1]s,"description":%[1]s,"stage":"beta"}`, quoted(t, v))
		var e management.EarlyAccessPatch
		fatal(t, json.Unmarshal(body, &e))
		_, err = s.service.CreateEarlyAccessFeature(ctx, s.owner, "1", e)
		if _, refused := errors.AsType[*management.Error](err); !refused {
			fatal(t, err)
		}

		asked := s.survey(fmt.Sprintf(`{"name":%[3]s,"description":%[1]s,"type":"popover","start_date":"2026-01-01T00:00:00Z","questions":[
			{"id":"words","type":"open","question":%[2]s,"description":%[1]s,"descriptionContentType":"html","buttonText":%[1]s},
			{"id":"choice","type":"single_choice","question":%[2]s,"choices":[%[2]s,"b"],"hasOpenChoice":true},
			{"id":"rate","type":"rating","question":%[2]s,"scale":5,"lowerBoundLabel":%[1]s,"upperBoundLabel":%[1]s}],
			"conditions":{"url":%[1]s,"selector":%[1]s,"events":{"values":[{"name":%[2]s}]}},"appearance":{"thankYouMessageHeader":%[1]s,
				"displayThankYouMessage":true,"placeholder":%[1]s,
				"unknown":%[1]s}}`, quoted(t, v), quoted(t, "evil "+v), quoted(t, fmt.Sprint(i, v))))
		s.answered(asked, "sent", time.Now(), v, map[string]any{"words": v, "choice": v, "rate": 5})

		fatal(t, events.Capture(capture.ClientEvent{
			Name: v, DistinctID: v, Time: time.Now(),
			Properties: map[string]any{"$set": map[string]any{v: v, "email": v, "name": v}, v: v},
		}))
		fatal(t, events.Capture(capture.ClientEvent{
			Name: "$groupidentify", DistinctID: v, Time: time.Now(),
			Properties: map[string]any{"$group_type": "company", "$group_key": v, "$group_set": map[string]any{v: v, "name": v}},
		}))
		if i < 9 { // a user has at most 10 keys
			_, err = s.service.CreateKey(ctx, s.owner, management.KeyPatch{
				Label: optional.Of(v[:min(len(v), 40)]), Scopes: optional.Of(json.RawMessage(`["user:read"]`)),
			})
			fatal(t, err)
			o, err := s.service.OpenSession(ctx, address, password, management.Client{UserAgent: "Mozilla/5.0 (" + v + ") Firefox/" + v})
			fatal(t, err)
			s.token = o.Token
		}
	}
	fatal(t, events.Close(ctx))
	document := fmt.Sprintf(`{"flags":[{"id":1,"key":%[1]s,"active":true,"filters":{"groups":[{}]}},
		{"id":2,"key":"brought","name":%[1]s,"active":true,"filters":{"groups":[{}]}}],"cohorts":[{"id":97,"name":%[1]s,
		"is_static":true}]}`, quoted(t, vectors[1]))
	s.sent(s.checked(vectors[11]+".json", document).want(200).form("import"), "import").want(303)
	const name = `" onmouseover="alert(1)' {{.}}` // < and > are refused
	_, err = s.service.UpdateProject(ctx, s.owner, "1", management.ProjectPatch{Name: optional.Of(name)})
	fatal(t, err)
	_, err = s.service.UpdateOrganization(ctx, s.owner, "@current", management.OrganizationPatch{Name: optional.Of(name)})
	fatal(t, err)
	_, err = s.service.UpdateUser(ctx, s.owner, "@me", management.UserPatch{FirstName: optional.Of(name), LastName: optional.Of(name)})
	fatal(t, err)
}

func quoted(t testing.TB, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	fatal(t, err)
	return string(b)
}

var (
	addressForm = regexp.MustCompile(` (?:href|action)="([^"]*)"`)
	postForm    = regexp.MustCompile(`(?s)<form( [^>]*method="post"[^>]*)>(.*?)</form>`)
	actionForm  = regexp.MustCompile(` action="([^"]*)"`)
	nameForm    = regexp.MustCompile(` name="([^"]*)"`)
	buttonForm  = regexp.MustCompile(`<button[^>]* name="([^"]*)"[^>]* value="([^"]*)"`)
)

// A crawler visits all pages that links lead to, and remembers what it finds there.
type crawler struct {
	*site
	routes *http.ServeMux
	seen   map[string]bool
	visits map[string]int      // by route
	forms  map[string]postedTo // one of each kind
	fields map[string]bool     // names of fields of forms
}

// postedTo is a form with where it is sent.
type postedTo struct {
	action string
	form   url.Values
	press  [][2]string // buttons
	parts  bool        // it is sent with files
}

// samePages is how many pages of one route are visited: one for each vector, and others.
const samePages = 40

func (c *crawler) route(path string) string {
	r := httptest.NewRequest("GET", "https://flags.example.com"+path, nil)
	_, route := c.routes.Handler(r)
	return route
}

// visit checks what a path answers, and returns the paths to which its page leads.
func (c *crawler) visit(path string) []string {
	c.t.Helper()
	if route := c.route(path); c.seen[path] || route == "" || c.visits[route] >= samePages {
		return nil
	} else {
		c.visits[route]++
	}
	c.seen[path] = true
	a := c.get(strings.TrimPrefix(path, "/console"))
	c.check("GET "+path, a)
	var next []string
	for _, m := range addressForm.FindAllStringSubmatch(a.body, -1) {
		next = append(next, c.local(path, html.UnescapeString(m[1])))
	}
	if to := a.header.Get("Location"); to != "" {
		next = append(next, c.local(path, to))
	}
	c.readForms(path, a)
	return next
}

// local returns the path of a link on a page of the console, "" for other links.
func (c *crawler) local(from, to string) string {
	base, err := url.Parse("https://flags.example.com" + from)
	fatal(c.t, err)
	u, err := base.Parse(to)
	if err != nil || u.Host != base.Host || !strings.HasPrefix(u.Path, "/console/") || strings.HasPrefix(u.Path, "/console/static/") {
		return ""
	}
	u.Fragment = ""
	return u.RequestURI()
}

func (c *crawler) readForms(path string, a *answer) {
	for _, m := range postForm.FindAllStringSubmatch(a.body, -1) {
		action := path
		if to := actionForm.FindStringSubmatch(m[1]); to != nil {
			action = c.local(path, html.UnescapeString(to[1]))
		}
		f := postedTo{
			action: action, parts: strings.Contains(m[1], "multipart/form-data"),
			form: (&answer{t: c.t, body: `<form id="x"` + m[2] + "</form>"}).form("x"),
		}
		for _, b := range buttonForm.FindAllStringSubmatch(m[2], -1) {
			f.press = append(f.press, [2]string{html.UnescapeString(b[1]), html.UnescapeString(b[2])})
		}
		kind := c.route(action) + fmt.Sprint(slices.Sorted(maps.Keys(f.form)))
		if _, known := c.forms[kind]; !known && !strings.HasSuffix(action, "/signout") {
			c.forms[kind] = f
		}
	}
	for _, m := range nameForm.FindAllStringSubmatch(a.body, -1) {
		if name := html.UnescapeString(m[1]); len(name) < 20 && !strings.Contains(name, ".") {
			c.fields[name] = true
		}
	}
}

// sheetForm is a style sheet that sets colours and nothing else.
var sheetForm = regexp.MustCompile(`^\.preview \{( --pv-[a-z]+: [#0-9a-zA-Z(),.%/ ]+;)+ \}\n$`)

// check checks any answer of the console.
func (c *crawler) check(what string, a *answer) {
	c.t.Helper()
	failed := c.t.Failed()
	h := a.header
	if h.Get("X-Frame-Options") != "DENY" || !strings.Contains(h.Get("Content-Security-Policy"), "frame-ancestors 'none'") ||
		!strings.Contains(h.Get("Content-Security-Policy"), "form-action 'self'") || h.Get("X-Content-Type-Options") != "nosniff" {
		c.t.Errorf("%s: headers %v", what, h)
	}
	if a.status >= 500 {
		c.t.Errorf("%s: status %d: %s", what, a.status, words(a.body))
	}
	if to := h.Get("Location"); to != "" && (!strings.HasPrefix(to, "/console/") || strings.HasPrefix(to, "/console//") ||
		strings.ContainsAny(to, "\\\r\n")) {
		c.t.Errorf("%s leads to %s", what, to)
	}
	switch kind := h.Get("Content-Type"); {
	case strings.HasPrefix(kind, "text/html"):
		if strings.Contains(a.body, "<html") {
			a.checkPage()
		} else if fault := harmless(a.body); fault != "" {
			c.t.Errorf("%s: status %d has %s", what, a.status, fault)
		}
		if !failed && c.t.Failed() {
			c.t.Logf("this is %s: status %d, %s", what, a.status, words(a.body))
		}
	case strings.HasPrefix(kind, "text/css"): // the colours of a preview
		if !sheetForm.MatchString(a.body) {
			c.t.Errorf("%s: the style sheet says more than colours: %s", what, a.body)
		}
	case a.body != "" && !strings.HasPrefix(kind, "text/plain"):
		if !strings.HasPrefix(h.Get("Content-Disposition"), "attachment") {
			c.t.Errorf("%s: %s that is not an attachment", what, kind)
		}
	}
}

// TestEvilTexts: what people and programs write is text on every page, of whatever thing it
// is, and nothing leads away from the console.
func TestEvilTexts(t *testing.T) {
	s := newSite(t)
	s.hostile()
	c := &crawler{
		site: s, routes: http.NewServeMux(), seen: make(map[string]bool), visits: make(map[string]int), forms: make(map[string]postedTo),
		fields: make(map[string]bool),
	}
	var routes []string
	for _, path := range console.Routes("GET") {
		routes = append(routes, "GET /console"+path)
		c.routes.HandleFunc("GET /console"+path, http.NotFound)
	}

	queue := []string{
		"/console/", "/console/projects", "/console/projects/1/", "/console/signin", "/console/signin/code", "/console/forgot",
		"/console/me/two-factor/off", "/console/ready",
	}
	for _, v := range vectors {
		queue = append(queue, "/console/projects/1/explain?person="+url.QueryEscape(v), "/console/join/"+url.PathEscape(v),
			"/console/reset/"+url.PathEscape(v))
	}
	for len(queue) > 0 {
		path := queue[0]
		queue = append(queue[1:], c.visit(path)...)
	}
	for _, route := range routes {
		if c.visits[route] == 0 {
			t.Errorf("no page of %s was visited", route)
		}
	}
	list := s.get("/projects/1/flags?q=evil-&sort=key").want(200)
	for _, v := range vectors {
		if text := strings.TrimSpace(blankForm.ReplaceAllString(v, " ")); strings.Count(html.UnescapeString(list.body), text) == 0 &&
			!strings.Contains(v, "\u2028") {
			t.Errorf("the list does not show %s", v)
		}
	}

	// In the query of each page.
	for n, route := range routes {
		var path string
		for p := range c.seen {
			if c.route(p) == route && (path == "" || p < path) {
				path = p
			}
		}
		path, _, _ = strings.Cut(path, "?")
		for i, v := range vectors {
			if (i+n)%3 != 0 {
				continue // each vector meets each kind of page
			}
			query := url.Values{"done": {v}, "next": {v}, "back": {v}, "from": {v}, "to": {v}}
			for name := range c.fields {
				query.Set(name, v)
			}
			if i%2 == 1 { // pages that mind what they do not know have to be shown, too
				query = url.Values{"q": {v}, "done": {v}, "back": {v}, "next": {v}, "person": {v}, "flag": {v}}
			}
			c.check("GET "+path+" with queries "+v, s.get(strings.TrimPrefix(path, "/console")+"?"+query.Encode()))
		}
	}

	// In each form, with each button.
	if len(c.forms) < 5 {
		t.Errorf("%d forms were found", len(c.forms))
	}
	n := 0
	for _, kind := range slices.Sorted(maps.Keys(c.forms)) {
		f := c.forms[kind]
		for _, press := range append(f.press, [2]string{"", ""}) {
			v := vectors[n%len(vectors)]
			n++
			form := make(url.Values)
			for name, values := range f.form {
				form[name] = slices.Clone(values)
				if name != "version" && name != "base" && !strings.HasSuffix(name, ".raw") && !strings.HasSuffix(name, ".kind") {
					form.Set(name, v)
				}
			}
			if press[0] != "" {
				form.Set(press[0], press[1])
			}
			path, what := strings.TrimPrefix(f.action, "/console"), "POST "+f.action+" "+press[1]+" with "+v
			if f.parts {
				c.check(what, s.do(s.multi(path, form, v, []byte(v))))
			} else {
				c.check(what, s.post(path, form))
			}
		}
	}
	t.Logf("%d pages, %d forms, %d posts", len(c.seen), len(c.forms), n)
}

// TestFraming: no answer may be shown within another site, also if it is not a page.
func TestFraming(t *testing.T) {
	s := newSite(t)
	for _, r := range []*http.Request{
		httptest.NewRequest("GET", "https://flags.example.com/console/projects/1/flags", nil),
		httptest.NewRequest("GET", "https://flags.example.com/console/nothing", nil),
		httptest.NewRequest("DELETE", "https://flags.example.com/console/projects/1/flags", nil),
		httptest.NewRequest("POST", "https://flags.example.com/console/projects/1/explain", nil),
		httptest.NewRequest("OPTIONS", "https://flags.example.com/console/signin", nil),
		httptest.NewRequest("HEAD", "https://flags.example.com/console/signin", nil),
	} {
		a := s.do(r.WithContext(t.Context()))
		if a.header.Get("X-Frame-Options") != "DENY" || !strings.Contains(a.header.Get("Content-Security-Policy"),
			"frame-ancestors 'none'") || a.header.Get("Cross-Origin-Opener-Policy") != "same-origin" {
			t.Errorf("%s %s: %d %v", r.Method, r.URL, a.status, a.header)
		}
		if h := a.header; h.Get("Access-Control-Allow-Origin") != "" || h.Get("Access-Control-Allow-Credentials") != "" {
			t.Errorf("%s %s may be read by other sites: %v", r.Method, r.URL, h)
		}
	}
}
