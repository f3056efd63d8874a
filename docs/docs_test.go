// The tests of this folder hold the documents to the repository: citations of the
// specification name sections that exist, and links and paths lead somewhere.
package docs_test

import (
	"errors"
	"fmt"
	"go/scanner"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
)

// root is the folder of the repository.
const root = ".."

// A document is one of the specification: its sections by their numbers, each with
// the IDs of the rows of its tables.
type document map[string]map[string]bool

var (
	heading = regexp.MustCompile(`^#+ (\d+(?:\.\d+)*)\.? `)
	item    = regexp.MustCompile(`^(\d+)\. `)
	rowIDs  = regexp.MustCompile(`^\| ([A-Z])(\d+)(?:–[A-Z](\d+))? \|`)
)

// parseDocument reads the headings of a document. The numbered items of a section
// without sections of its own count as sections: §0.4 is the fourth item of §0.
func parseDocument(text string) document {
	d := make(document)
	current := ""
	for line := range strings.Lines(text) {
		if m := heading.FindStringSubmatch(line); m != nil {
			current = m[1]
			d[current] = make(map[string]bool)
		} else if m := item.FindStringSubmatch(line); m != nil && current != "" && !strings.Contains(current, ".") {
			d[current+"."+m[1]] = make(map[string]bool)
		} else if m := rowIDs.FindStringSubmatch(line); m != nil && current != "" {
			first, _ := strconv.Atoi(m[2])
			last, _ := strconv.Atoi(m[3])
			for n := first; n <= max(first, last); n++ {
				d[current][m[1]+fmt.Sprintf("%0*d", len(m[2]), n)] = true
			}
		}
	}
	return d
}

// specification returns the documents by their names, without .md.
func specification(t *testing.T) map[string]document {
	t.Helper()
	documents := make(map[string]document)
	for _, name := range []string{"api", "evaluation", "management", "rules", "wire"} {
		documents[name] = parseDocument(read(t, filepath.Join("spec", name+".md")))
	}
	return documents
}

func read(t *testing.T, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// A citation is one section that a text refers to.
type citation struct {
	Document string // "" if the text does not name one
	Section  string
	Rows     []string // such as A17, if it names rows of a table
}

func (c citation) String() string {
	return strings.TrimSpace(c.Document + " §" + c.Section + " " + strings.Join(c.Rows, ", "))
}

var (
	// mark finds the parts of citations: sections of standards, which are not
	// ours, names of documents, and sections.
	mark = regexp.MustCompile(`(?:RFC [0-9]+|NIST SP [0-9A-Z-]+|WHATWG [A-Z]+) §[0-9.]+` +
		`|(?i:\b(api|evaluation|management|rules|wire)\.md\b)` +
		`|§([0-9]+(?:\.[0-9]+)*)((?:,? (?:and |to )?[A-Z][0-9]{1,2}\b)*)`)
	rowID = regexp.MustCompile(`[A-Z][0-9]{1,2}`)

	// listed is what stands between the sections of one citation.
	listed = regexp.MustCompile("^[`, ]*(?:and|or|to)?[` ]*$")
)

// citationsIn returns the citations in a text. A section belongs to the document
// that was named last before it. In the text of the document own, if that is not
// empty, it belongs to own unless it stands in a list behind another's name.
func citationsIn(text, own string) []citation {
	var list []citation
	named, end := own, 0
	for _, m := range mark.FindAllStringSubmatchIndex(text, -1) {
		group := func(n int) string {
			if m[2*n] < 0 {
				return ""
			}
			return text[m[2*n]:m[2*n+1]]
		}
		switch {
		case group(1) != "":
			named = strings.ToLower(group(1))
		case group(2) != "":
			if own != "" && !listed.MatchString(text[end:m[0]]) {
				named = own
			}
			list = append(list, citation{named, group(2), rowID.FindAllString(group(3), -1)})
		}
		end = m[1]
	}
	return list
}

func TestCitationsIn(t *testing.T) {
	for _, tt := range []struct {
		name, text, own string
		want            []citation
	}{
		{name: "none", text: "Package flags reads evaluation.md as a whole."},
		{name: "one", text: "(evaluation.md §4.9)", want: []citation{{"evaluation", "4.9", nil}}},
		{name: "a whole section", text: "as wire.md §9.", want: []citation{{"wire", "9", nil}}},
		{name: "the name begins a sentence", text: "Management.md §11.5, item 3.", want: []citation{{"management", "11.5", nil}}},
		{name: "the name is quoted", text: "`api.md` §4.1", want: []citation{{"api", "4.1", nil}}},
		{name: "a list and a range", text: "evaluation.md §8 to §11 and §14", want: []citation{
			{"evaluation", "8", nil}, {"evaluation", "11", nil}, {"evaluation", "14", nil},
		}},
		{name: "several documents", text: "evaluation.md §4.1, §4.3, wire.md §2.4", want: []citation{
			{"evaluation", "4.1", nil}, {"evaluation", "4.3", nil}, {"wire", "2.4", nil},
		}},
		{name: "named earlier", text: "as wire.md §3 has it; the table of §3.3 has more", want: []citation{{"wire", "3", nil}, {"wire", "3.3", nil}}},
		{name: "not named", text: "§4.8 1", want: []citation{{"", "4.8", nil}}},
		{name: "rows", text: "(wire.md §9 T12, T13 and V01, management.md §15.1 A24)", want: []citation{
			{"wire", "9", []string{"T12", "T13", "V01"}}, {"management", "15.1", []string{"A24"}},
		}},
		{name: "standards", text: "(RFC 8878 §3.1.1.1.2, NIST SP 800-38D §8.3, WHATWG HTML §13.2.5.6) as wire.md §2.2", want: []citation{{"wire", "2.2", nil}}},
		{name: "other files", text: "lamanagement.md §1 and homepage.md §2", want: []citation{{"", "1", nil}, {"", "2", nil}}},
		{name: "its own section", text: "see §5.2", own: "wire", want: []citation{{"wire", "5.2", nil}}},
		{name: "its own and another's", text: "as `evaluation.md` §1.3 and §1.4; §5.2 has more", own: "wire", want: []citation{
			{"evaluation", "1.3", nil}, {"evaluation", "1.4", nil}, {"wire", "5.2", nil},
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, citationsIn(tt.text, tt.own)); diff != "" {
				t.Errorf("citationsIn(%q, %q): -want +got\n%s", tt.text, tt.own, diff)
			}
		})
	}
}

// problem says what is wrong with a citation, "" if nothing is. One that names no
// document must be in one that candidates name, or in any if there are none.
func (c citation) problem(documents map[string]document, candidates []string) string {
	if c.Document != "" {
		candidates = []string{c.Document}
	}
	if len(candidates) == 0 {
		candidates = slices.Sorted(maps.Keys(documents))
	}
	reason := "no such section in " + strings.Join(candidates, ", ")
	for _, name := range candidates {
		rows, ok := documents[name][c.Section]
		if !ok {
			continue
		}
		missing := slices.DeleteFunc(slices.Clone(c.Rows), func(row string) bool { return rows[row] })
		if len(missing) == 0 {
			return ""
		}
		reason = "no such rows: " + strings.Join(missing, ", ")
	}
	return reason
}

func TestProblem(t *testing.T) {
	documents := map[string]document{
		"wire": parseDocument("# Wire\n\n## 0. Rules\n\n1. One.\n2. Two.\n\n## 2. Capture\n\n### 2.4 Validation\n\n1. First.\n\n" +
			"| Id | Row |\n|---|---|\n| C01–C03 | a |\n| C10 | b |\n"),
		"api": parseDocument("# API\n\n## 3. Routes\n"),
	}
	for _, tt := range []struct {
		citation   citation
		candidates []string
		want       string
	}{
		{citation: citation{Document: "wire", Section: "2.4"}},
		{citation: citation{Document: "wire", Section: "0.2"}},
		{citation: citation{Document: "wire", Section: "2.4", Rows: []string{"C02", "C10"}}},
		{citation: citation{Section: "3"}},
		{citation: citation{Section: "2"}, candidates: []string{"wire"}},

		{citation: citation{Document: "wire", Section: "3"}, want: "no such section in wire"},
		{citation: citation{Document: "wire", Section: "0.3"}, want: "no such section in wire"},
		{citation: citation{Document: "wire", Section: "2.4.1"}, want: "no such section in wire"},
		{citation: citation{Document: "wire", Section: "2.4", Rows: []string{"C01", "C04", "A01"}}, want: "no such rows: C04, A01"},
		{citation: citation{Section: "3"}, candidates: []string{"wire"}, want: "no such section in wire"},
		{citation: citation{Section: "4"}, want: "no such section in api, wire"},
	} {
		if got := tt.citation.problem(documents, tt.candidates); got != tt.want {
			t.Errorf("problem of %v among %v = %q, want %q", tt.citation, tt.candidates, got, tt.want)
		}
	}
}

// A passage is a text that is read by itself: a comment, a string, a paragraph.
type passage struct {
	line int
	text string
}

// marker is what lines of comments begin with, in all languages here.
var marker = regexp.MustCompile(`^\s*(?://|--|#|\*)\s?`)

// passages splits a file. Lines of a passage are joined by blanks.
func passages(file, text string) []passage {
	switch {
	case path.Ext(file) == ".go":
		return goPassages(text)
	case path.Ext(file) == ".md":
		return joined(text, func(line string) bool { return strings.TrimSpace(line) != "" }, regexp.MustCompile(`^\s*`))
	}
	return joined(text, marker.MatchString, marker)
}

// joined makes a passage of the lines between two that do not belong together with
// others, and of each such line.
func joined(text string, together func(string) bool, cut *regexp.Regexp) []passage {
	var list []passage
	open := false
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimRight(line, "\r\n")
		part := cut.ReplaceAllString(line, "")
		if together(line) && open {
			list[len(list)-1].text += " " + part
		} else {
			list = append(list, passage{n, part})
		}
		open = together(line)
	}
	return list
}

// goPassages returns the comments and strings of a Go file.
func goPassages(text string) []passage {
	var list []passage
	var s scanner.Scanner
	fset := token.NewFileSet()
	file := fset.AddFile("", -1, len(text))
	s.Init(file, []byte(text), nil, scanner.ScanComments)
	for last := 0; ; { // the line on which a comment ended just now
		pos, tok, lit := s.Scan()
		line := file.Line(pos)
		switch {
		case tok == token.EOF:
			return list
		case tok == token.COMMENT:
			part := strings.TrimSpace(strings.TrimPrefix(lit, "//"))
			if last != 0 && line == last+1 {
				list[len(list)-1].text += " " + part
			} else {
				list = append(list, passage{line, part})
			}
			last = line + strings.Count(lit, "\n")
		case tok == token.SEMICOLON && lit == "\n": // not in the text
		default:
			last = 0
			if tok == token.STRING {
				s, _ := strconv.Unquote(lit)
				list = append(list, passage{line, s})
			}
		}
	}
}

func TestPassages(t *testing.T) {
	for _, tt := range []struct {
		file, text string
		want       []passage
	}{
		{"a.go", "package a\n\n// One (wire.md\n// §2.4).\nvar a = 1 // two\n\n// three\nvar b = \"§1 \\\" four\"\n", []passage{
			{3, "One (wire.md §2.4)."}, {5, "two"}, {7, "three"}, {8, `§1 " four`},
		}},
		{"a.sql", "-- One\n-- two.\nCREATE TABLE a; -- three\n-- four\n", []passage{{1, "One two."}, {3, "CREATE TABLE a; -- three"}, {4, "four"}}},
		{"a.md", "# One\n\nTwo\nthree.\n\nFour.\n", []passage{{1, "# One"}, {2, ""}, {3, "Two three."}, {5, ""}, {6, "Four."}}},
	} {
		if diff := cmp.Diff(tt.want, passages(tt.file, tt.text), cmp.AllowUnexported(passage{})); diff != "" {
			t.Errorf("passages of %s: -want +got\n%s", tt.file, diff)
		}
	}
}

// decision finds citations of the record of decisions, which is not in the
// repository: what was decided is in the rules. Names of tests and of their rows may have
// the number of a ruling, such as Ruling 44, which leads to its section (docs/spec).
var decision = regexp.MustCompile(`(?i:\bdecisions\.md\b|\bdecisions? [0-9]+\b)|\brulings? [0-9]+\b`)

// files returns the files of the repository that people write, in their order,
// with slashes and below root.
func files(t *testing.T) []string {
	t.Helper()
	var list []string
	err := filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if name := entry.Name(); name == ".git" || name == "node_modules" {
				return filepath.SkipDir
			}
			return nil
		}
		switch filepath.Ext(file) {
		case ".go", ".sql", ".md", ".sh", ".js", ".yaml":
			name, err := filepath.Rel(root, file)
			list = append(list, filepath.ToSlash(name))
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// TestCitations holds every citation of the specification to a section that exists.
// A section without a document is in the one that the same comment names before it,
// else in one that the package's doc.go names, else in any.
func TestCitations(t *testing.T) {
	documents := specification(t)
	checked := 0
	for _, file := range files(t) {
		own := ""
		if name, ok := strings.CutPrefix(file, "docs/spec/"); ok && documents[strings.TrimSuffix(name, ".md")] != nil {
			own = strings.TrimSuffix(name, ".md")
		}
		text := read(t, filepath.Join(root, file))
		if file == "docs/docs_test.go" || !strings.Contains(text, "§") && !decision.MatchString(text) {
			continue // this file has wrong ones on purpose
		}
		candidates := documentsOf(t, path.Dir(file))
		for _, p := range passages(file, text) {
			for _, c := range citationsIn(p.text, own) {
				checked++
				if problem := c.problem(documents, candidates); problem != "" {
					t.Errorf("%s:%d: %v: %s", file, p.line, c, problem)
				}
			}
			if found := decision.FindString(p.text); found != "" {
				t.Errorf("%s:%d: %q cites what is not in the repository", file, p.line, found)
			}
		}
	}
	if checked < 500 {
		t.Errorf("%d citations were checked, want all of the repository", checked)
	}
}

// documentsOf returns the documents that the doc.go of a folder names.
func documentsOf(t *testing.T, folder string) []string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(root, folder, "doc.go"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, m := range mark.FindAllStringSubmatch(string(b), -1) {
		if name := strings.ToLower(m[1]); name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

var (
	link   = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	quoted = regexp.MustCompile("`([^`\\s]+)`")

	// pathForm is what paths look like; names of Go files and of documents need no
	// folder before them.
	pathForm = regexp.MustCompile(`^[A-Za-z0-9_.-]+(?:/[A-Za-z0-9_.-]+)+/?$|^[a-z0-9_]+\.(?:go|md)$`)
)

// missingPath says which file a document names that does not exist, "" if there is
// none. A link is relative to the document. What is quoted counts as a path if it
// begins with a folder of the repository, or is the name of a Go file or of a
// document, which may be in any folder. A path may end with a name that its package
// declares.
func missingPath(folder, text string, exists func(string) bool, named map[string]bool) string {
	for _, m := range link.FindAllStringSubmatch(text, -1) {
		target, _, _ := strings.Cut(m[1], "#")
		if target == "" || strings.Contains(target, ":") {
			continue
		}
		if !exists(path.Join(folder, target)) {
			return m[1]
		}
	}
	for _, m := range quoted.FindAllStringSubmatch(text, -1) {
		name := strings.TrimPrefix(m[1], "./")
		first, _, deep := strings.Cut(name, "/")
		switch {
		case !pathForm.MatchString(name):
		case deep && exists(first) && !exists(name) && !exists(strings.TrimSuffix(name, path.Ext(name))), !deep && !named[name]:
			return m[1]
		}
	}
	return ""
}

func TestMissingPath(t *testing.T) {
	known := map[string]bool{"flags": true, "flags/run.go": true, "docs": true, "docs/spec": true, "docs/spec/wire.md": true}
	exists := func(name string) bool { return known[name] }
	named := map[string]bool{"run.go": true, "wire.md": true}
	for _, tt := range []struct{ text, want string }{
		{"[rules](spec/wire.md#section) and `flags/run.go`, `run.go`, `wire.md`, `./flags/run.go`, `docs/spec`", ""},
		{"[a page](https://example.com/x) and [a place](#x)", ""},
		{"`/flags/other`, `other/run.go`, `flags/{key}`, `go test ./flags/x`, `flags.json`, `POST /flags`", ""},
		{"[rules](wire.md)", "wire.md"},
		{"`docs/spec.maxPages`", ""},
		{"`docs/rules.maxPages`", "docs/rules.maxPages"},
		{"`flags/walk.go`", "flags/walk.go"},
		{"`walk.go`", "walk.go"},
		{"`docs/spec/decide.md`", "docs/spec/decide.md"},
	} {
		if got := missingPath("docs", tt.text, exists, named); got != tt.want {
			t.Errorf("missingPath in %q = %q, want %q", tt.text, got, tt.want)
		}
	}
}

// TestPaths holds the links and paths of the documents to files that exist.
func TestPaths(t *testing.T) {
	exists := func(name string) bool {
		_, err := os.Stat(filepath.Join(root, name))
		return err == nil
	}
	all := files(t)
	named := make(map[string]bool)
	for _, file := range all {
		named[path.Base(file)] = true
	}
	for _, file := range all {
		switch {
		case path.Ext(file) != ".md":
			continue
		case file == "README.md", file == "CONTRIBUTING.md", file == "OPERATIONS.md", file == "SECURITY.md", strings.HasPrefix(file, "docs/"):
		default:
			continue
		}
		for _, p := range passages(file, read(t, filepath.Join(root, file))) {
			if name := missingPath(path.Dir(file), p.text, exists, named); name != "" {
				t.Errorf("%s:%d: %s does not exist", file, p.line, name)
			}
		}
	}
}

var (
	title  = regexp.MustCompile(`(?m)^#+ (.*)$`)
	markup = regexp.MustCompile("[`*]|\\[([^]]*)\\]\\([^)]*\\)")
	anchor = regexp.MustCompile(`\]\(([^)\s#:]*)#([^)\s]+)\)`)
)

// anchorsOf returns the names by which links find the headings of a document.
func anchorsOf(text string) map[string]bool {
	anchors := make(map[string]bool)
	for _, m := range title.FindAllStringSubmatch(text, -1) {
		name := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-', r == '_', unicode.IsLetter(r), unicode.IsDigit(r):
				return unicode.ToLower(r)
			}
			return -1
		}, markup.ReplaceAllString(m[1], "$1"))
		anchors[name] = true
	}
	return anchors
}

func TestAnchorsOf(t *testing.T) {
	text := "# Operations\n\n## What is kept, and when\n\n### 1. A `POST /flags` of [us](a.md)\n\nno # heading\n"
	want := map[string]bool{"operations": true, "what-is-kept-and-when": true, "1-a-post-flags-of-us": true}
	if diff := cmp.Diff(want, anchorsOf(text)); diff != "" {
		t.Errorf("anchors (-want +got):\n%s", diff)
	}
}

// TestAnchors holds links to places within documents to headings that exist.
func TestAnchors(t *testing.T) {
	checked := 0
	for _, file := range files(t) {
		if path.Ext(file) != ".md" {
			continue
		}
		for _, m := range anchor.FindAllStringSubmatch(read(t, filepath.Join(root, file)), -1) {
			checked++
			target := file
			if m[1] != "" {
				target = path.Join(path.Dir(file), m[1])
			}
			if !anchorsOf(read(t, filepath.Join(root, target)))[m[2]] {
				t.Errorf("%s: %s has no heading for #%s", file, target, m[2])
			}
		}
	}
	if checked < 20 {
		t.Errorf("%d links were checked, want all of the documents", checked)
	}
}
