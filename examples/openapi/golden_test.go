package openapi_test

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/pb33f/libopenapi"
	validator "github.com/pb33f/libopenapi-validator"
	"github.com/pb33f/libopenapi-validator/config"
	"github.com/pb33f/libopenapi-validator/errors"
)

// TestDocument: the document is one of OpenAPI 3.1.
func TestDocument(t *testing.T) {
	if ok, faults := newValidator(t, false).ValidateDocument(); !ok {
		report(t, faults)
	}
}

// TestGolden: recorded requests that a server has accepted are as the document says, and
// so is every recorded answer. A request that matches no operation must be one that the
// server refuses, or one with a method that all paths have.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("../../server/testdata/golden/*.txt")
	if err != nil || len(files) < 300 {
		t.Fatalf("%d recorded requests, %v", len(files), err)
	}
	requests := newValidator(t, false)
	answers := newValidator(t, true)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			r, body, resp := parse(t, string(text))
			sent := func() *http.Request { // a validator reads the body
				again := r.Clone(t.Context())
				again.Body = io.NopCloser(strings.NewReader(body))
				return again
			}
			switch {
			case r.Method == http.MethodOptions, r.Method == http.MethodHead:
				return // the document says it of all paths
			case resp.StatusCode == http.StatusNotFound && missing(requests, sent()):
				return
			case resp.StatusCode == http.StatusMethodNotAllowed:
				if !missing(requests, sent()) {
					t.Errorf("the server refuses %s, and the document has it", r.Method)
				}
				return
			}
			if resp.StatusCode < 400 {
				if ok, faults := requests.ValidateHttpRequestSync(sent()); !ok {
					report(t, faults)
				}
			}
			if ok, faults := answers.ValidateHttpResponse(sent(), resp); !ok {
				report(t, faults)
			}
		})
	}
}

// missing reports whether a request matches no operation.
func missing(v validator.Validator, r *http.Request) bool {
	_, faults := v.ValidateHttpRequestSync(r)
	for _, fault := range faults {
		if fault.IsPathMissingError() || fault.IsOperationMissingError() {
			return true
		}
	}
	return false
}

// newValidator returns a validator of the document. With complete, objects have no members
// but those that the document describes: clients must expect more, but a server's answers
// shall be described in full.
func newValidator(t *testing.T, complete bool) validator.Validator {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, "openapi.json"))
	if err != nil {
		t.Fatal(err)
	}
	if complete {
		var document any
		if err := json.Unmarshal(text, &document); err != nil {
			t.Fatal(err)
		}
		closeObjects(document)
		if text, err = json.Marshal(document); err != nil {
			t.Fatal(err)
		}
	}
	document, err := libopenapi.NewDocument(text)
	if err != nil {
		t.Fatal(err)
	}
	v, faults := validator.NewValidator(document, config.WithFormatAssertions())
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	return v
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

func report(t *testing.T, faults []*errors.ValidationError) {
	t.Helper()
	for _, fault := range faults {
		t.Error(fault.Message, fault.Reason)
		for _, inner := range fault.SchemaValidationErrors {
			t.Error("  ", inner.FieldPath, inner.Reason, inner.KeywordLocation)
		}
	}
}

var (
	// aliases are other addresses of what belongs to a project.
	aliases = regexp.MustCompile(`^/api/(environments|organizations/[^/]+/projects)/([^/?]+)`)

	// In recorded texts, what is random has a mark.
	random = strings.NewReplacer("(random)", "00000000-0000-7000-8000-00000000abcd")
)

// parse reads a recorded request and its answer. The address is the one in the document:
// without a slash at the end, and by the name of projects.
func parse(t *testing.T, text string) (r *http.Request, sent string, resp *http.Response) {
	t.Helper()
	request, answer, ok := strings.Cut(random.Replace(text), "\n---\n\n")
	if !ok {
		t.Fatal("there is no line ---")
	}
	request, sent, _ = strings.Cut(request, "\n\n")
	line, header, _ := strings.Cut(strings.TrimRight(request, "\n"), "\n")
	method, target, _ := strings.Cut(line, " ")
	target = aliases.ReplaceAllString(target, "/api/projects/$2")
	path, query, _ := strings.Cut(target, "?")
	if path != "/" {
		path = strings.TrimSuffix(path, "/")
	}
	r, err := http.NewRequest(method, "http://example.com"+path+"?"+query, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header = headers(t, header)

	answer, received, _ := strings.Cut(answer, "\n\n")
	line, header, _ = strings.Cut(strings.TrimRight(answer, "\n"), "\n")
	status, _, _ := strings.Cut(line, " ")
	code, err := strconv.Atoi(status)
	if err != nil {
		t.Fatal(err)
	}
	resp = &http.Response{StatusCode: code, Header: headers(t, header), Request: r, Body: io.NopCloser(strings.NewReader(received))}
	return r, strings.TrimRight(sent, "\n"), resp
}

func headers(t *testing.T, text string) http.Header {
	t.Helper()
	h := make(http.Header)
	lines := bufio.NewScanner(strings.NewReader(text))
	for lines.Scan() {
		name, value, ok := strings.Cut(lines.Text(), ": ")
		if !ok && lines.Text() != "" {
			name = strings.TrimSuffix(lines.Text(), ":")
		}
		h.Add(name, value)
	}
	return h
}
