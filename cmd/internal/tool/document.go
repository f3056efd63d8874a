package tool

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/forms"
	"github.com/flagstaff-go/flagstaff/internal/position"
)

// An Opener opens files by their names, of which "-" is standard input, once.
type Opener struct{ Stdin io.Reader }

func (o *Opener) Open(path string) (io.ReadCloser, error) {
	if path != "-" {
		return os.Open(path)
	}
	if o.Stdin == nil {
		return nil, errors.New("standard input can be read only once")
	}
	r := o.Stdin
	o.Stdin = nil
	return io.NopCloser(r), nil
}

// Read reads a file, but no more than so many bytes, and returns what it is called.
func (o *Opener) Read(path string, most int64) (text []byte, name string, err error) {
	file, err := o.Open(path)
	if err != nil {
		return nil, "", err
	}
	defer file.Close()
	if name = path; name == "-" {
		name = "standard input"
	}
	if text, err = io.ReadAll(io.LimitReader(file, most)); err != nil {
		return nil, "", fmt.Errorf("read %s: %w", name, err)
	}
	return text, name, nil
}

// A document is a definitions document in a file, or what was made of the flags in one (see
// package forms).
type document struct {
	path   string
	file   []byte
	text   []byte
	find   *position.Finder
	inFile func(int) int // where a byte of the text stands in the file
}

// A refusedFile is the error for a file that has no flags which could be read.
type refusedFile struct {
	path string
	why  error
}

func (e *refusedFile) Error() string { return e.path + ": " + e.why.Error() }

func (e *refusedFile) Unwrap() error { return e.why }

// document reads a file.
func (o *Opener) document(path string) (*document, error) {
	text, path, err := o.Read(path, flags.MaxDocument+1)
	if err != nil {
		return nil, err
	}
	made, err := forms.Read(text)
	if err != nil {
		return nil, &refusedFile{path, err}
	}
	return &document{path, text, made.Text, position.In(text, made.Text, made.Offset), made.Offset}, nil
}

// definitions decodes the document. The error names the place in the file.
func (d *document) definitions() (*flags.Definitions, error) {
	definitions, err := flags.Decode(bytes.NewReader(d.text))
	if err != nil {
		return nil, fmt.Errorf("%s:%v: %w", d.path, d.find.Error(err), err)
	}
	return definitions, nil
}

// snapshot decodes and compiles the document.
func (d *document) snapshot() (*flags.Definitions, *flags.Snapshot, error) {
	definitions, err := d.definitions()
	if err != nil {
		return nil, nil, err
	}
	snapshot, err := flags.Compile(definitions, flags.CompileOptions{})
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", d.path, err)
	}
	return definitions, snapshot, nil
}

// line returns a problem as a line that begins with its place.
func (d *document) line(p flags.Problem) string {
	return fmt.Sprintf("%s:%v: %v", d.path, d.find.Problem(p), p)
}

// warn prints the errors among the problems of a snapshot to standard error, for
// commands that go on with the flags that work.
func (p *Program) warn(d *document, s *flags.Snapshot) {
	for _, problem := range s.Problems() {
		if line := d.line(problem); problem.Severity == flags.SeverityError {
			fmt.Fprintln(p.Stderr, Printable(line))
		}
	}
}
