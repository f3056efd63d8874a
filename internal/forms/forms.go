package forms

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
)

// A Document is a definitions document that was made of a file.
type Document struct {
	Text []byte // for flags.Decode

	pieces []piece // by at
}

// A piece is a part of a file that is in the document as it is.
type piece struct {
	at     int // in the document
	inFile int
}

// errPage says that a list goes on elsewhere.
var errPage = errors.New(`the file has only a page of a list: save all pages one after the other in it, each with "next" as null, or let "flagstaff import -from" fetch them`)

// bom is the mark of some editors.
var bom = []byte("\ufeff")

// Read makes a definitions document of a file. A file that is one already, or whose JSON is
// not valid, is its own document. The error names the product that another file is of, or
// says that a list is not complete.
func Read(file []byte) (*Document, error) {
	text := bytes.TrimPrefix(file, bom)
	if err := Foreign(text); err != nil {
		return nil, err
	}
	own := &Document{Text: text, pieces: []piece{{0, len(file) - len(text)}}}
	values, ok := valuesOf(text)
	if !ok || len(values) == 1 && memberOf(values[0].Value, "flags").Kind() == jsonscan.Array {
		return own, nil
	}
	w := writer{shift: len(file) - len(text)}
	for _, v := range values {
		if err := w.value(v); err != nil {
			return nil, err
		}
	}
	if !w.found {
		return own, nil
	}
	return w.document(), nil
}

// Offset returns where a byte of the document stands in the file.
func (d *Document) Offset(at int) int {
	i, found := slices.BinarySearchFunc(d.pieces, at, func(p piece, at int) int { return p.at - at })
	if !found {
		i--
	}
	if i < 0 {
		return 0
	}
	return d.pieces[i].inFile + at - d.pieces[i].at
}

// A part is a value and where it begins in the file, behind a mark.
type part struct {
	jsonscan.Value
	at int
}

// valuesOf returns the JSON values of a text, one after the other. It is not ok if one is
// not valid.
func valuesOf(text []byte) (list []part, ok bool) {
	d := json.NewDecoder(bytes.NewReader(text))
	for {
		var raw json.RawMessage
		err := d.Decode(&raw)
		if errors.Is(err, io.EOF) {
			return list, len(list) > 0
		}
		if err != nil {
			return nil, false
		}
		list = append(list, part{jsonscan.Value(raw), int(d.InputOffset()) - len(raw)})
	}
}

func memberOf(v jsonscan.Value, name string) (found jsonscan.Value) {
	for o := v.Object(); o.Next(); {
		if string(o.Name()) == name {
			found = o.Value()
		}
	}
	return found
}

// A writer collects what the values of a file have.
type writer struct {
	shift          int // of the file
	flags, cohorts []part
	members        []member // of all documents
	found          bool     // a list
}

type member struct {
	name string
	part
}

// value takes one value: a list, a page of one, or a document.
func (w *writer) value(v part) error {
	if v.Kind() == jsonscan.Array {
		w.found = true
		w.list(v, false)
		return nil
	}
	for o := v.Object(); o.Next(); {
		name, m := string(o.Name()), part{o.Value(), v.at + o.Offset()}
		switch {
		case name == "results" && m.Kind() == jsonscan.Array:
			w.found = true
			if err := pageOf(v.Value); err != nil {
				return err
			}
			w.list(m, false)
		case name == "count", name == "next", name == "previous":
		case name == "flags", name == "cohorts":
			list, ok, err := elementsOf(m)
			if err != nil {
				return err
			}
			if !ok { // cohorts by ID, or something else
				w.members = append(w.members, member{name, m})
				continue
			}
			w.found = w.found || name == "flags"
			w.list(list, name == "cohorts")
		default:
			w.members = append(w.members, member{name, m})
		}
	}
	return nil
}

// elementsOf returns a list, or the list of a page.
func elementsOf(v part) (list part, ok bool, err error) {
	if v.Kind() == jsonscan.Array {
		return v, true, nil
	}
	for o := v.Object(); o.Next(); {
		if string(o.Name()) == "results" && o.Value().Kind() == jsonscan.Array {
			return part{o.Value(), v.at + o.Offset()}, true, pageOf(v.Value)
		}
	}
	return part{}, false, nil
}

func pageOf(v jsonscan.Value) error {
	if next := memberOf(v, "next"); next.Kind() == jsonscan.String && string(next) != `""` {
		return errPage
	}
	return nil
}

// list takes the elements of a list, which are flags unless they look like cohorts.
func (w *writer) list(v part, cohorts bool) {
	for a := v.Array(); a.Next(); {
		e := part{a.Value(), v.at + a.Offset()}
		tree := memberOf(memberOf(e.Value, "filters"), "properties")
		if cohorts || memberOf(e.Value, "key") == nil && (memberOf(e.Value, "is_static") != nil || tree != nil) {
			w.cohorts = append(w.cohorts, e)
		} else {
			w.flags = append(w.flags, e)
		}
	}
}

// document writes what was collected.
func (w *writer) document() *Document {
	d := new(Document)
	raw := func(p part) {
		d.pieces = append(d.pieces, piece{len(d.Text), w.shift + p.at})
		d.Text = append(d.Text, p.Value...)
	}
	list := func(name string, list []part) {
		d.Text = append(d.Text, `"`+name+`":[`...)
		for i, p := range list {
			if i > 0 {
				d.Text = append(d.Text, ',')
			}
			raw(p)
		}
		d.Text = append(d.Text, ']')
	}
	d.Text = append(d.Text, '{')
	for _, m := range w.members {
		name, _ := json.Marshal(m.name)
		d.Text = append(append(d.Text, name...), ':')
		raw(m.part)
		d.Text = append(d.Text, ',')
	}
	if len(w.cohorts) > 0 {
		list("cohorts", w.cohorts)
		d.Text = append(d.Text, ',')
	}
	list("flags", w.flags)
	d.Text = append(d.Text, '}')
	return d
}

// foreignError names the product that a file is of.
func foreignError(product, from string) error {
	if from == "" {
		return fmt.Errorf("this looks like a file of %s, of which there is no conversion; see docs/definitions.md for what is wanted", product)
	}
	return fmt.Errorf("this looks like a file of %s: flagstaff import -from %[2]s takes it, see docs/from-%[2]s.md", product, from)
}
