package openapitest

import (
	"bufio"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// TestGolden: recorded requests that a server has accepted are as the document says, and
// so is every recorded answer. A request that matches no operation must be one that the
// server refuses, or one with a method that all paths have.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("../../../server/testdata/golden/*.txt")
	if err != nil || len(files) < 300 {
		t.Fatalf("%d recorded requests, %v", len(files), err)
	}
	open, closed := readAPI(t, false), readAPI(t, true)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			request, answer := parse(t, string(text))
			if request.method == http.MethodOptions || request.method == http.MethodHead {
				return // the document says it of all paths
			}
			at, values, ok := open.operation(request)
			if refused := answer.status == http.StatusNotFound || answer.status == http.StatusMethodNotAllowed; !ok && refused {
				return
			}
			switch {
			case !ok:
				t.Fatalf("the document has no %s %s", request.method, request.path)
			case answer.status == http.StatusMethodNotAllowed:
				t.Fatalf("the server refuses %s, and the document has it", request.method)
			}
			if answer.status < 400 {
				for _, fault := range open.requestFaults(at, values, request) {
					t.Error("request:", fault)
				}
			}
			for _, fault := range closed.answerFaults(at, answer) {
				t.Error("answer:", fault)
			}
		})
	}
}

// TestFaults: what is wrong is found.
func TestFaults(t *testing.T) {
	a := readAPI(t, true)
	list := message{method: "GET", path: "/api/projects/1/feature_flags"}
	made := message{method: "POST", path: "/api/projects/1/feature_flags", body: `{"key":"a","filters":{}}`}
	change := func(m message, f func(*message)) message { f(&m); return m }
	for name, r := range map[string]message{
		"an unknown parameter":    change(list, func(m *message) { m.query = url.Values{"colour": {"red"}} }),
		"a parameter of no value": change(list, func(m *message) { m.query = url.Values{"limit": {"many"}} }),
		"a body of no use":        change(list, func(m *message) { m.body = "{}" }),
		"no body":                 change(made, func(m *message) { m.body = "" }),
		"an unknown member":       change(made, func(m *message) { m.body = `{"key":"a","filters":{},"colour":"red"}` }),
		"a wrong type":            change(made, func(m *message) { m.body = `{"key":1,"filters":{}}` }),
		"an unknown content type": change(made, func(m *message) { m.header = http.Header{"Content-Type": {"image/png"}} }),
	} {
		at, values, ok := a.operation(r)
		if !ok || len(a.requestFaults(at, values, r)) == 0 {
			t.Errorf("%s: nothing is found", name)
		}
	}
	at, values, _ := a.operation(made)
	if faults := a.requestFaults(at, values, made); len(faults) > 0 {
		t.Errorf("a good request: %v", faults)
	}
	const failure = `{"type":"validation_error","code":"required","detail":"This field is required.","attr":"key"`
	for name, r := range map[string]message{
		"an unknown status": {status: 299},
		"no body":           {status: 400},
		"a missing member":  {status: 400, body: `{"type":"validation_error"}`},
		"an unknown member": {status: 400, body: failure + `,"colour":"red"}`},
	} {
		if len(a.answerFaults(at, r)) == 0 {
			t.Errorf("an answer with %s: nothing is found", name)
		}
	}
	if faults := a.answerFaults(at, message{status: 400, body: failure + "}"}); len(faults) > 0 {
		t.Errorf("a good answer: %v", faults)
	}
	if _, _, ok := a.operation(message{method: "GET", path: "/api/nothing"}); ok {
		t.Error("an unknown path has an operation")
	}
}

// An api is the document with its schemas.
type api struct {
	document map[string]any
	compiler *jsonschema.Compiler
}

const documentURL = "file:///openapi.json"

// readAPI reads the document. With complete, objects have no members but those that the
// document describes: clients must expect more, but a server's answers shall be described
// in full.
func readAPI(t *testing.T, complete bool) *api {
	t.Helper()
	f, err := os.Open(filepath.Join(folder, "openapi.json"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	v, err := jsonschema.UnmarshalJSON(f)
	if err != nil {
		t.Fatal(err)
	}
	if complete {
		closeObjects(v)
	}
	a := &api{v.(map[string]any), jsonschema.NewCompiler()}
	a.compiler.DefaultDraft(jsonschema.Draft2020)
	a.compiler.AssertFormat()
	if err := a.compiler.AddResource(documentURL, v); err != nil {
		t.Fatal(err)
	}
	return a
}

// closeObjects closes all schemas of objects that do not say that they are open.
func closeObjects(node any) {
	switch node := node.(type) {
	case map[string]any:
		_, described := node["properties"].(map[string]any)
		if _, said := node["additionalProperties"]; described && node["type"] == "object" && !said {
			node["additionalProperties"] = false
		}
		for _, inner := range node {
			closeObjects(inner)
		}
	case []any:
		for _, inner := range node {
			closeObjects(inner)
		}
	}
}

// A place is where something of the document is, by the names on the way to it.
type place []string

func (p place) in(names ...string) place { return append(slices.Clip(p), names...) }

func (p place) String() string {
	var b strings.Builder
	for _, name := range p {
		b.WriteString("/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name))
	}
	return b.String()
}

// get returns what is at a place, and where it really is: references are followed.
func (a *api) get(p place) (any, place) {
	var node any = a.document
	var at place
	for i := 0; ; i++ {
		if object, ok := node.(map[string]any); ok {
			if reference, ok := object["$ref"].(string); ok {
				rest := p[i:]
				p = append(place(strings.Split(strings.TrimPrefix(reference, "#/"), "/")), rest...)
				node, at, i = any(a.document), nil, -1
				continue
			}
		}
		if i == len(p) {
			return node, at
		}
		switch inner := node.(type) {
		case map[string]any:
			node = inner[p[i]]
		case []any:
			n, err := strconv.Atoi(p[i])
			if err != nil || n >= len(inner) {
				return nil, nil
			}
			node = inner[n]
		default:
			return nil, nil
		}
		at = at.in(p[i])
	}
}

// object is get for an object; nil if there is none.
func (a *api) object(p place) (map[string]any, place) {
	v, at := a.get(p)
	o, _ := v.(map[string]any)
	return o, at
}

// validate compares a value with the schema at a place.
func (a *api) validate(p place, v any) error {
	_, at := a.get(p)
	s, err := a.compiler.Compile(documentURL + "#" + (&url.URL{Path: at.String()}).EscapedPath())
	if err != nil {
		return err
	}
	return s.Validate(v)
}

// operation finds the operation of a request, with the values in its path. A path
// without parameters goes before one with some.
func (a *api) operation(r message) (at place, values map[string]string, ok bool) {
	paths, _ := a.object(place{"paths"})
	fewest := -1
	for path := range paths {
		found, matches := matchPath(path, r.path)
		if !matches || fewest >= 0 && len(found) >= fewest {
			continue
		}
		method := strings.ToLower(r.method)
		if o, _ := a.object(place{"paths", path, method}); o != nil {
			at, values, fewest = place{"paths", path, method}, found, len(found)
		}
	}
	return at, values, fewest >= 0
}

// matchPath compares a path with a template.
func matchPath(template, path string) (values map[string]string, ok bool) {
	names, parts := strings.Split(template, "/"), strings.Split(path, "/")
	if len(names) != len(parts) {
		return nil, false
	}
	values = make(map[string]string)
	for i, name := range names {
		if inner, ok := strings.CutPrefix(name, "{"); ok {
			value, err := url.PathUnescape(parts[i])
			if err != nil || value == "" {
				return nil, false
			}
			values[strings.TrimSuffix(inner, "}")] = value
		} else if name != parts[i] {
			return nil, false
		}
	}
	return values, true
}

// requestFaults compares a request with its operation.
func (a *api) requestFaults(at place, values map[string]string, r message) (faults []string) {
	known := make(map[string]bool) // parameters of the query
	list, _ := a.get(at.in("parameters"))
	parameters, _ := list.([]any)
	for i := range parameters {
		p, where := a.object(at.in("parameters", strconv.Itoa(i)))
		name, _ := p["name"].(string)
		var given []string
		switch p["in"] {
		case "path":
			given = []string{values[name]}
		case "query":
			known[name] = true
			given = r.query[name]
		case "header":
			given = r.header.Values(name)
		}
		if p["required"] == true && len(given) == 0 {
			faults = append(faults, fmt.Sprintf("there is no %s %s", p["in"], name))
		}
		if len(given) == 0 {
			continue
		}
		if err := a.validateText(where.in("schema"), given); err != nil {
			faults = append(faults, fmt.Sprintf("%s %s = %q: %v", p["in"], name, given, err))
		}
	}
	for name := range r.query {
		if !known[name] && !added[name] {
			faults = append(faults, fmt.Sprintf("the document does not know the parameter %s", name))
		}
	}
	body, where := a.object(at.in("requestBody"))
	switch {
	case body == nil && r.body == "":
	case body == nil:
		faults = append(faults, "the document does not know the body")
	case r.body == "":
		if body["required"] == true {
			faults = append(faults, "there is no body")
		}
	default:
		faults = append(faults, a.contentFaults(where.in("content"), r)...)
	}
	return faults
}

// answerFaults compares an answer with the answers of an operation.
func (a *api) answerFaults(at place, r message) []string {
	responses, _ := a.object(at.in("responses"))
	status := strconv.Itoa(r.status)
	if responses[status] == nil {
		status = "default"
		if r.status < 400 {
			return []string{fmt.Sprintf("the document does not know the status %d", r.status)}
		}
	}
	response, where := a.object(at.in("responses", status))
	content, _ := response["content"].(map[string]any)
	if content == nil || r.body == "" {
		if (content == nil) != (r.body == "") {
			return []string{fmt.Sprintf("status %d has a body: %v; by the document: %v", r.status, r.body != "", content != nil)}
		}
		return nil
	}
	return a.contentFaults(where.in("content"), r)
}

// contentFaults compares a body with the schema of its media type. The content of a body
// that is not JSON is a matter of the route.
func (a *api) contentFaults(at place, r message) []string {
	kind := r.header.Get("Content-Type")
	if kind == "" {
		kind = "application/json" // what servers assume
	}
	kind, _, err := mime.ParseMediaType(kind)
	if err != nil {
		return []string{err.Error()}
	}
	content, _ := a.object(at)
	if content[kind] == nil {
		return []string{fmt.Sprintf("the document does not know the content type %s", kind)}
	}
	if kind != "application/json" || r.header.Get("Content-Encoding") != "" {
		return nil
	}
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(r.body))
	if err != nil {
		return []string{err.Error()}
	}
	if err := a.validate(at.in(kind, "schema"), v); err != nil {
		return []string{err.Error()}
	}
	return nil
}

// validateText compares the texts of a parameter with its schema. A text that is JSON may
// stand for its value.
func (a *api) validateText(at place, given []string) error {
	forms := []any{given[len(given)-1]}
	list := make([]any, len(given))
	for i, text := range given {
		list[i] = text
	}
	forms = append(forms, list)
	if v, err := jsonschema.UnmarshalJSON(strings.NewReader(given[len(given)-1])); err == nil {
		forms = append(forms, v)
	}
	var first error
	for _, form := range forms {
		err := a.validate(at, form)
		if err == nil {
			return nil
		}
		if first == nil {
			first = err
		}
	}
	return first
}

// added are parameters that browsers add to every request, and servers ignore.
var added = map[string]bool{"_": true, "ip": true, "ver": true}

var (
	// aliases are other addresses of what belongs to a project.
	aliases = regexp.MustCompile(`^/api/(environments|organizations/[^/]+/projects)/([^/?]+)`)

	// In recorded texts, what is random has a mark.
	random = strings.NewReplacer("(random)", "00000000-0000-7000-8000-00000000abcd")
)

// A message is a recorded request or answer.
type message struct {
	method, path string
	query        url.Values
	status       int
	header       http.Header
	body         string
}

// parse reads a recorded request and its answer. The address is the one in the document:
// without a slash at the end, and by the name of projects.
func parse(t *testing.T, text string) (request, answer message) {
	t.Helper()
	sent, received, ok := strings.Cut(random.Replace(text), "\n---\n\n")
	if !ok {
		t.Fatal("there is no line ---")
	}
	head, body, _ := strings.Cut(sent, "\n\n")
	line, header, _ := strings.Cut(strings.TrimRight(head, "\n"), "\n")
	method, target, _ := strings.Cut(line, " ")
	path, query, _ := strings.Cut(aliases.ReplaceAllString(target, "/api/projects/$2"), "?")
	if path != "/" {
		path = strings.TrimSuffix(path, "/")
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		t.Fatal(err)
	}
	request = message{method: method, path: path, query: values, header: headers(header), body: strings.TrimSpace(body)}

	head, body, _ = strings.Cut(received, "\n\n")
	line, header, _ = strings.Cut(strings.TrimRight(head, "\n"), "\n")
	status, _, _ := strings.Cut(line, " ")
	code, err := strconv.Atoi(status)
	if err != nil {
		t.Fatal(err)
	}
	return request, message{status: code, header: headers(header), body: strings.TrimSpace(body)}
}

func headers(text string) http.Header {
	h := make(http.Header)
	lines := bufio.NewScanner(strings.NewReader(text))
	for lines.Scan() {
		name, value, ok := strings.Cut(lines.Text(), ": ")
		if !ok {
			name = strings.TrimSuffix(lines.Text(), ":")
		}
		h.Add(name, value)
	}
	return h
}
