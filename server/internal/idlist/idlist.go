package idlist

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
	"github.com/flagstaff-go/flagstaff/internal/numeral"
	"github.com/flagstaff-go/flagstaff/internal/text"
	"github.com/flagstaff-go/flagstaff/management"
)

// MaxElement is how many bytes an element of a list may have: a row of a table with
// all its cells, or a value. It bounds the memory that an upload takes.
const MaxElement = 256 << 10

// An upload reads a body element by element.
type upload struct {
	body io.Reader
	left int // bytes that may be read before the next element
}

var errElement = fmt.Errorf("idlist: more than %d bytes in one element", MaxElement)

// openUpload returns a reader of a body, behind the byte order mark that it may
// begin with.
func openUpload(body io.Reader) (*upload, *bufio.Reader) {
	u := &upload{body, MaxElement}
	r := bufio.NewReader(u)
	if mark, err := r.Peek(3); err == nil && string(mark) == "\ufeff" {
		r.Discard(len(mark))
	}
	return u, r
}

// next makes room for another element.
func (u *upload) next() { u.left = MaxElement }

// A readError is an error of the reader, as opposed to one of what was read.
type readError struct{ err error }

func (e *readError) Error() string { return e.err.Error() }

// Read implements [io.Reader].
func (u *upload) Read(b []byte) (int, error) {
	if u.left == 0 {
		return 0, errElement
	}
	n, err := u.body.Read(b[:min(len(b), u.left)])
	u.left -= n
	if err != nil && err != io.EOF {
		err = &readError{err}
	}
	return n, err
}

// CSV iterates over the column distinct_id, or over the first column if none
// has that name in the first row. Blank cells do not count. An error is the last thing that
// it yields: a [*management.Error] about the list, or the error of the reader.
func CSV(body io.Reader) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		u, in := openUpload(body)
		r := csv.NewReader(in)
		r.FieldsPerRecord, r.ReuseRecord, r.TrimLeadingSpace = -1, true, true
		column, line := 0, 0
		for first := true; ; first = false {
			u.next()
			row, err := r.Read()
			if err == io.EOF {
				return
			}
			if err != nil {
				yield("", csvError(err, line))
				return
			}
			line, _ = r.FieldPos(0)
			if first {
				if i := headColumn(row); i >= 0 {
					column = i
					continue
				}
			}
			if column >= len(row) {
				continue
			}
			id := strings.TrimSpace(row[column])
			switch {
			case !utf8.ValidString(id):
				yield("", uploadError("line %d is not UTF-8", line))
				return
			case strings.Contains(id, "\r"): // a whole file may be one such line
				yield("", uploadError("line %d has a carriage return without a line feed", line))
				return
			case id != "" && !yield(uploadedID(id), nil):
				return
			}
		}
	}
}

// headColumn returns which column of the first row is called distinct_id, -1 if
// none is.
func headColumn(row []string) int {
	return slices.IndexFunc(row, func(name string) bool {
		name = strings.NewReplacer("-", "_", " ", "_").Replace(strings.TrimSpace(name))
		return strings.EqualFold(name, "distinct_id") || strings.EqualFold(name, "distinct_ids")
	})
}

// csvError says why the row after a line cannot be read.
func csvError(err error, line int) error {
	if e, ok := errors.AsType[*readError](err); ok {
		return e.err
	}
	if e, ok := errors.AsType[*csv.ParseError](err); ok {
		return uploadError("line %d is not a CSV: %v", e.Line, e.Err)
	}
	return uploadError("the row after line %d has more than %d bytes", line, MaxElement)
}

// JSON iterates over a list of strings and numbers, or over the list distinct_ids of an
// object. Blank strings do not count. It returns the errors that [CSV] returns.
func JSON(body io.Reader) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		u, in := openUpload(body)
		l := &jsonList{u: u, d: json.NewDecoder(in)}
		if err := l.open(); err != nil {
			yield("", l.error(err))
			return
		}
		var v json.RawMessage
		var id []byte
		for l.more() {
			if err := l.d.Decode(&v); err != nil {
				yield("", l.error(err))
				return
			}
			l.read++
			if !utf8.Valid(v) {
				yield("", uploadError("element %d is not UTF-8", l.read))
				return
			}
			ok := false
			if id, ok = appendID(id[:0], v); !ok {
				yield("", uploadError("element %d is neither a string nor a number", l.read))
				return
			}
			if len(bytes.TrimSpace(id)) > 0 && !yield(uploadedID(string(id)), nil) {
				return
			}
		}
		if err := l.close(); err != nil {
			yield("", l.error(err))
		}
	}
}

// appendID appends a JSON value as the distinct ID that capturing makes of it.
func appendID(dst []byte, v json.RawMessage) (_ []byte, ok bool) {
	switch value := jsonscan.Value(v); value.Kind() {
	case jsonscan.String:
		return value.AppendString(dst)
	case jsonscan.Number:
		return numeral.Append(dst, value), true
	}
	return dst, false
}

// A jsonList is a list in an upload, with the object around it if there is one.
type jsonList struct {
	u      *upload
	d      *json.Decoder
	object bool
	read   int // number of elements
}

var (
	errNoList   = errors.New("want a list of distinct IDs, or an object with the list distinct_ids")
	errTwoLists = errors.New("distinct_ids is there twice")
	errTrailing = errors.New("there is something behind the list")
)

// open reads up to the first element.
func (l *jsonList) open() error {
	t, err := l.d.Token()
	if err == nil && t == json.Delim('{') {
		l.object = true
		found := false
		if found, err = l.skipTo("distinct_ids"); found {
			t, err = l.d.Token()
		}
	}
	if err == nil && t != json.Delim('[') {
		return errNoList
	}
	return err
}

// more reports whether another element or member follows, and makes room for it.
func (l *jsonList) more() bool {
	l.u.next()
	return l.d.More()
}

// end reads the bracket at the end of a list or an object.
func (l *jsonList) end(bracket json.Delim) error {
	t, err := l.d.Token()
	if err == nil && t != bracket {
		return errElement // it ended the input for More
	}
	return err
}

// close reads what is after the last element.
func (l *jsonList) close() error {
	if err := l.end(']'); err != nil {
		return err
	}
	if l.object {
		again, err := l.skipTo("distinct_ids")
		switch {
		case err != nil:
			return err
		case again:
			return errTwoLists
		}
	}
	l.u.next()
	switch _, err := l.d.Token(); err {
	case io.EOF:
		return nil
	case nil:
		return errTrailing
	default:
		return err
	}
}

// skipTo reads an object up to the value with a name, or to its end.
func (l *jsonList) skipTo(name string) (found bool, err error) {
	var skipped json.RawMessage
	for l.more() {
		t, err := l.d.Token()
		if err != nil || t == name {
			return err == nil, err
		}
		if err := l.d.Decode(&skipped); err != nil {
			return false, err
		}
	}
	return false, l.end('}')
}

// error says why a list cannot be read.
func (l *jsonList) error(err error) error {
	if e, ok := errors.AsType[*readError](err); ok {
		return e.err
	}
	switch {
	case err == errNoList, err == errTwoLists, err == errTrailing:
		return uploadError("%v", err)
	case errors.Is(err, errElement):
		return uploadError("there are more than %d bytes at element %d", MaxElement, l.read+1)
	}
	return uploadError("the JSON is broken or cut off at element %d", l.read+1)
}

// uploadedID returns a copy of a distinct ID as capturing stores it.
func uploadedID(id string) string { return strings.Clone(text.Identifier(id, capture.MaxID)) }

// uploadError says what is wrong with a list. It quotes nothing of it.
func uploadError(format string, args ...any) error {
	return &management.Error{
		Kind: management.ErrInvalid, Code: "invalid_input", Detail: "The list cannot be read: " + fmt.Sprintf(format, args...) + ".",
	}
}
