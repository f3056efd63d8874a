package consoletest

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
)

// The Vectors are texts that would do something if a page had them as they are.
var Vectors = []string{
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

// Hostile writes each vector into each text field of each thing that a project has.
func (s *Site) Hostile() {
	t := s.T
	t.Helper()
	ctx := t.Context()
	events, err := capture.NewClient(capture.ClientConfig{Sink: s.Store, Project: s.Project, MaxRetries: -1})
	Fatal(t, err)
	for i, v := range Vectors {
		body := fmt.Appendf(nil, `{"key":"evil-%d","name":%[2]s,"tags":[%[2]s],"evaluation_contexts":[%[2]s],"active":true,
			"filters":{"groups":[
			{"properties":[{"key":%[2]s,"type":"person","operator":"exact","value":[%[2]s]},
				{"key":%[2]s,"type":"person","operator":"icontains","value":%[2]s}],"rollout_percentage":50,"description":%[2]s}],
			"multivariate":{"variants":[{"key":"a","name":%[2]s,"rollout_percentage":100}]},
				"payloads":{"a":{%[2]s:%[2]s}}}}`, i, Quoted(t, v))
		var f management.FlagPatch
		Fatal(t, json.Unmarshal(body, &f))
		made, err := s.Service.CreateFlag(ctx, s.Owner, "1", f)
		if err != nil {
			t.Fatalf("flag %s: %v", body, err)
		}
		s.Update(made.Key, fmt.Sprintf(`{"name":%s,"tags":["x",%s]}`, Quoted(t, "again "+v), Quoted(t, v)))

		body = fmt.Appendf(nil, `{"key":"evil-rules-%d","filters":{"version":2,"return_type":"string","default_value":%[2]s,"rules":[
			{"rule_type":"experiment","targeting":{"properties":[{"key":%[2]s,"type":"person","value":[%[2]s],"negation":true}]},
				"description":%[2]s,"metadata":{%[2]s:%[2]s},"rollout_percentage":50,"on_rollout_miss":"continue",
				"assignment_algorithm":"sha1_60_v1","experiment_id":null,"paused":false,
				"variants":[{"key":"a","weight":100,"value":%[2]s},{"key":"b","weight":0,"value":"x"}]}]}}`, i, Quoted(t, v))
		f = management.FlagPatch{}
		Fatal(t, json.Unmarshal(body, &f))
		if made, err = s.Service.CreateFlag(ctx, s.Owner, "1", f); err != nil {
			t.Fatalf("flag %s: %v", body, err)
		}
		f.Filters.Value.RuleSet.Rules[0].Value, f.Filters.Value.RuleSet.Rules[0].Type = json.RawMessage(Quoted(t, v)), "percentage_rollout"
		f = management.FlagPatch{Version: optional.Of(made.Version), Filters: f.Filters, Active: optional.Of(true)}
		_, err = s.Service.UpdateFlag(ctx, s.Owner, "1", made.Key, f)
		Fatal(t, err)

		body = fmt.Appendf(nil, `{"name":%[1]s,"description":%[1]s,"filters":{"properties":{"type":"OR","values":[{"type":"AND",
			"values":[{"key":%[1]s,"type":"person","operator":"exact","value":[%[1]s]}]}]}}}`, Quoted(t, v))
		var c management.CohortPatch
		Fatal(t, json.Unmarshal(body, &c))
		_, err = s.Service.CreateCohort(ctx, s.Owner, "1", c)
		Fatal(t, err)

		body = fmt.Appendf(nil, `{"name":%[1]s,"description":%[1]s,"stage":"beta"}`, Quoted(t, v))
		var e management.EarlyAccessPatch
		Fatal(t, json.Unmarshal(body, &e))
		_, err = s.Service.CreateEarlyAccessFeature(ctx, s.Owner, "1", e)
		if _, refused := errors.AsType[*management.Error](err); !refused {
			Fatal(t, err)
		}

		Fatal(t, events.Capture(capture.ClientEvent{
			Name: v, DistinctID: v, Time: time.Now(),
			Properties: map[string]any{"$set": map[string]any{v: v, "email": v, "name": v}, v: v},
		}))
		Fatal(t, events.Capture(capture.ClientEvent{
			Name: "$groupidentify", DistinctID: v, Time: time.Now(),
			Properties: map[string]any{"$group_type": "company", "$group_key": v, "$group_set": map[string]any{v: v, "name": v}},
		}))
		if i < 9 { // a user has at most 10 keys
			_, err = s.Service.CreateKey(ctx, s.Owner, management.KeyPatch{
				Label: optional.Of(v[:min(len(v), 40)]), Scopes: optional.Of(json.RawMessage(`["user:read"]`)),
			})
			Fatal(t, err)
			o, err := s.Service.OpenSession(ctx, Address, Password, management.Client{UserAgent: "Mozilla/5.0 (" + v + ") Firefox/" + v})
			Fatal(t, err)
			s.Token = o.Token
		}
	}
	Fatal(t, events.Close(ctx))
	document := fmt.Sprintf(`{"flags":[{"id":1,"key":%[1]s,"active":true,"filters":{"groups":[{}]}},
		{"id":2,"key":"brought","name":%[1]s,"active":true,"filters":{"groups":[{}]}}],"cohorts":[{"id":97,"name":%[1]s,
		"is_static":true}]}`, Quoted(t, Vectors[1]))
	s.Sent(s.Checked(Vectors[11]+".json", document).Want(200).Form("import"), "import").Want(303)
	const name = `" onmouseover="alert(1)' {{.}}` // < and > are refused
	_, err = s.Service.UpdateProject(ctx, s.Owner, "1", management.ProjectPatch{Name: optional.Of(name)})
	Fatal(t, err)
	_, err = s.Service.UpdateOrganization(ctx, s.Owner, "@current", management.OrganizationPatch{Name: optional.Of(name)})
	Fatal(t, err)
	_, err = s.Service.UpdateUser(ctx, s.Owner, "@me", management.UserPatch{FirstName: optional.Of(name), LastName: optional.Of(name)})
	Fatal(t, err)
}

func Quoted(t testing.TB, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	Fatal(t, err)
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
	*Site
	Routes *http.ServeMux
	Seen   map[string]bool
	Visits map[string]int      // by route
	Forms  map[string]postedTo // one of each kind
	Fields map[string]bool     // names of fields of forms
}

// postedTo is a form with where it is sent.
type postedTo struct {
	Action string
	Form   url.Values
	Press  [][2]string // buttons
	Parts  bool        // it is sent with files
}

// samePages is how many pages of one route are visited: one for each vector, and others.
const samePages = 40

func (c *crawler) Route(path string) string {
	r := httptest.NewRequest("GET", "https://flags.example.com"+path, nil)
	_, route := c.Routes.Handler(r)
	return route
}

// Visit checks what a path answers, and returns the paths to which its page leads.
func (c *crawler) Visit(path string) []string {
	c.T.Helper()
	if route := c.Route(path); c.Seen[path] || route == "" || c.Visits[route] >= samePages {
		return nil
	} else {
		c.Visits[route]++
	}
	c.Seen[path] = true
	a := c.Get(strings.TrimPrefix(path, "/console"))
	c.Check("GET "+path, a)
	var next []string
	for _, m := range addressForm.FindAllStringSubmatch(a.Body, -1) {
		next = append(next, c.local(path, html.UnescapeString(m[1])))
	}
	if to := a.Header.Get("Location"); to != "" {
		next = append(next, c.local(path, to))
	}
	c.readForms(path, a)
	return next
}

// local returns the path of a link on a page of the console, "" for other links.
func (c *crawler) local(from, to string) string {
	base, err := url.Parse("https://flags.example.com" + from)
	Fatal(c.T, err)
	u, err := base.Parse(to)
	if err != nil || u.Host != base.Host || !strings.HasPrefix(u.Path, "/console/") || strings.HasPrefix(u.Path, "/console/static/") {
		return ""
	}
	u.Fragment = ""
	return u.RequestURI()
}

func (c *crawler) readForms(path string, a *Answer) {
	for _, m := range postForm.FindAllStringSubmatch(a.Body, -1) {
		action := path
		if to := actionForm.FindStringSubmatch(m[1]); to != nil {
			action = c.local(path, html.UnescapeString(to[1]))
		}
		f := postedTo{
			Action: action, Parts: strings.Contains(m[1], "multipart/form-data"),
			Form: (&Answer{T: c.T, Body: `<form id="x"` + m[2] + "</form>"}).Form("x"),
		}
		for _, b := range buttonForm.FindAllStringSubmatch(m[2], -1) {
			f.Press = append(f.Press, [2]string{html.UnescapeString(b[1]), html.UnescapeString(b[2])})
		}
		kind := c.Route(action) + fmt.Sprint(slices.Sorted(maps.Keys(f.Form)))
		if _, known := c.Forms[kind]; !known && !strings.HasSuffix(action, "/signout") {
			c.Forms[kind] = f
		}
	}
	for _, m := range nameForm.FindAllStringSubmatch(a.Body, -1) {
		if name := html.UnescapeString(m[1]); len(name) < 20 && !strings.Contains(name, ".") {
			c.Fields[name] = true
		}
	}
}

// sheetForm is a style sheet that sets colours and nothing else.
var sheetForm = regexp.MustCompile(`^\.preview \{( --pv-[a-z]+: [#0-9a-zA-Z(),.%/ ]+;)+ \}\n$`)

// Check checks any answer of the console.
func (c *crawler) Check(what string, a *Answer) {
	c.T.Helper()
	failed := c.T.Failed()
	h := a.Header
	if h.Get("X-Frame-Options") != "DENY" || !strings.Contains(h.Get("Content-Security-Policy"), "frame-ancestors 'none'") ||
		!strings.Contains(h.Get("Content-Security-Policy"), "form-action 'self'") || h.Get("X-Content-Type-Options") != "nosniff" {
		c.T.Errorf("%s: headers %v", what, h)
	}
	if a.Status >= 500 {
		c.T.Errorf("%s: status %d: %s", what, a.Status, Words(a.Body))
	}
	if to := h.Get("Location"); to != "" && (!strings.HasPrefix(to, "/console/") || strings.HasPrefix(to, "/console//") ||
		strings.ContainsAny(to, "\\\r\n")) {
		c.T.Errorf("%s leads to %s", what, to)
	}
	switch kind := h.Get("Content-Type"); {
	case strings.HasPrefix(kind, "text/html"):
		if strings.Contains(a.Body, "<html") {
			a.CheckPage()
		} else if fault := harmless(a.Body); fault != "" {
			c.T.Errorf("%s: status %d has %s", what, a.Status, fault)
		}
		if !failed && c.T.Failed() {
			c.T.Logf("this is %s: status %d, %s", what, a.Status, Words(a.Body))
		}
	case strings.HasPrefix(kind, "text/css"): // the colours of a preview
		if !sheetForm.MatchString(a.Body) {
			c.T.Errorf("%s: the style sheet says more than colours: %s", what, a.Body)
		}
	case a.Body != "" && !strings.HasPrefix(kind, "text/plain"):
		if !strings.HasPrefix(h.Get("Content-Disposition"), "attachment") {
			c.T.Errorf("%s: %s that is not an attachment", what, kind)
		}
	}
}

// Crawl checks that what people and programs write is text on every page of some routes, of
// whatever thing it is, and that nothing leads away from the console. It begins at some pages,
// and has to find a number of forms.
func (s *Site) Crawl(paths, queue []string, leastForms int) {
	t := s.T
	c := &crawler{
		Site: s, Routes: http.NewServeMux(), Seen: make(map[string]bool), Visits: make(map[string]int), Forms: make(map[string]postedTo),
		Fields: make(map[string]bool),
	}
	var routes []string
	for _, path := range paths {
		routes = append(routes, "GET /console"+path)
		c.Routes.HandleFunc("GET /console"+path, http.NotFound)
	}
	for len(queue) > 0 {
		path := queue[0]
		queue = append(queue[1:], c.Visit(path)...)
	}
	for _, route := range routes {
		if c.Visits[route] == 0 {
			t.Errorf("no page of %s was visited", route)
		}
	}
	// In the query of each page.
	for n, route := range routes {
		var path string
		for p := range c.Seen {
			if c.Route(p) == route && (path == "" || p < path) {
				path = p
			}
		}
		path, _, _ = strings.Cut(path, "?")
		for i, v := range Vectors {
			if (i+n)%3 != 0 {
				continue // each vector meets each kind of page
			}
			query := url.Values{"done": {v}, "next": {v}, "back": {v}, "from": {v}, "to": {v}}
			for name := range c.Fields {
				query.Set(name, v)
			}
			if i%2 == 1 { // pages that mind what they do not know have to be shown, too
				query = url.Values{"q": {v}, "done": {v}, "back": {v}, "next": {v}, "person": {v}, "flag": {v}}
			}
			c.Check("GET "+path+" with queries "+v, s.Get(strings.TrimPrefix(path, "/console")+"?"+query.Encode()))
		}
	}

	// In each form, with each button.
	if len(c.Forms) < leastForms {
		t.Errorf("%d forms were found", len(c.Forms))
	}
	n := 0
	for _, kind := range slices.Sorted(maps.Keys(c.Forms)) {
		f := c.Forms[kind]
		for _, press := range append(f.Press, [2]string{"", ""}) {
			v := Vectors[n%len(Vectors)]
			n++
			form := make(url.Values)
			for name, values := range f.Form {
				form[name] = slices.Clone(values)
				if name != "version" && name != "base" && !strings.HasSuffix(name, ".raw") && !strings.HasSuffix(name, ".kind") {
					form.Set(name, v)
				}
			}
			if press[0] != "" {
				form.Set(press[0], press[1])
			}
			path, what := strings.TrimPrefix(f.Action, "/console"), "POST "+f.Action+" "+press[1]+" with "+v
			if f.Parts {
				c.Check(what, s.Do(s.Multi(path, form, v, []byte(v))))
			} else {
				c.Check(what, s.Post(path, form))
			}
		}
	}
	t.Logf("%d pages, %d forms, %d posts", len(c.Seen), len(c.Forms), n)
}
