package position

import (
	"bytes"
	"cmp"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
)

// A Position is a place in a text. Lines count from 1, and so do columns, in bytes.
type Position struct{ Line, Column int }

// String returns the position as compilers write it, such as "12:5".
func (p Position) String() string { return strconv.Itoa(p.Line) + ":" + strconv.Itoa(p.Column) }

// Compare orders positions from the beginning of the text to its end.
func (p Position) Compare(q Position) int {
	return cmp.Or(cmp.Compare(p.Line, q.Line), cmp.Compare(p.Column, q.Column))
}

// A Finder finds places in one document. It is not safe for concurrent use.
type Finder struct {
	lines    []int // offsets at which lines begin
	text     []byte
	flags    map[string][]node // by key, in document order; of duplicate keys all
	children map[string]map[string]node
	nameless map[string]int // how many problems of a whole flag were asked for, by key
	inFile   func(int) int  // where a byte of the document stands in the file; nil: there
	size     int            // of the file
}

// A node is a value and where it begins.
type node struct {
	value   jsonscan.Value
	offset  int
	pointer string
}

// New returns a Finder for a document, which must not change any more. The document may
// be anything, also no JSON.
func New(document []byte) *Finder { return In(document, document, nil) }

// In returns a Finder for a document that was made of a file, with a function that returns
// where a byte of the document stands in it.
func In(file, document []byte, inFile func(int) int) *Finder {
	f := &Finder{
		lines: []int{0}, text: document, children: make(map[string]map[string]node), nameless: make(map[string]int), inFile: inFile, size: len(file),
	}
	for i, c := range file {
		if c == '\n' {
			f.lines = append(f.lines, i+1)
		}
	}
	return f
}

// Offset returns the position of a byte of the document, and of the end if there is no such
// byte.
func (f *Finder) Offset(offset int) Position {
	if f.inFile != nil {
		offset = f.inFile(offset)
	}
	offset = max(0, min(offset, f.size))
	line, found := slices.BinarySearch(f.lines, offset)
	if !found {
		line--
	}
	return Position{line + 1, offset - f.lines[line] + 1}
}

// Error returns the position of what [flags.Decode] refuses: of the syntax error if
// there is one, else of the beginning of the document.
func (f *Finder) Error(err error) Position {
	if syntax, ok := errors.AsType[*jsonscan.SyntaxError](err); ok {
		return f.Offset(syntax.Offset)
	}
	return f.Offset(f.root().offset)
}

// Problem returns the position of the value that a problem is about. If the document
// does not have the value, such as a member that is missing, it is the position of the
// value where it should be. The problems of a document must be asked for in the order
// in which [flags.Snapshot.Problems] has them: of several flags with one key, the first
// counts, and each of the others has a problem.
func (f *Finder) Problem(p flags.Problem) Position {
	if p.DefinitionError == nil {
		return f.Error(nil)
	}
	at := f.root()
	if p.Flag != "" {
		if all := f.flagsOf(p.Flag); len(all) > 0 {
			n := 0
			if p.Path == "" {
				f.nameless[p.Flag]++
				n = min(f.nameless[p.Flag], len(all)-1)
			}
			at = all[n]
		}
	}
	for name := range strings.SplitSeq(strings.TrimPrefix(p.Path, "/"), "/") {
		child, ok := f.childrenOf(at)[unescape.Replace(name)]
		if !ok {
			break
		}
		at = child
	}
	return f.Offset(at.offset)
}

// unescape decodes a name of a JSON pointer.
var unescape = strings.NewReplacer("~1", "/", "~0", "~")

// root returns the document without the white space around it.
func (f *Finder) root() node {
	trimmed := bytes.TrimLeft(f.text, " \t\r\n")
	return node{value: trimmed, offset: len(f.text) - len(trimmed)}
}

// flagsOf returns the flags with a key.
func (f *Finder) flagsOf(key string) []node {
	if f.flags == nil {
		f.flags = make(map[string][]node)
		list := f.childrenOf(f.root())["flags"]
		for i := range len(f.childrenOf(list)) {
			flag := f.childrenOf(list)[strconv.Itoa(i)]
			if name, ok := f.childrenOf(flag)["key"].value.AppendString(nil); ok {
				f.flags[string(name)] = append(f.flags[string(name)], flag)
			}
		}
	}
	return f.flags[key]
}

// childrenOf returns the members or elements of a value, by their names in a JSON
// pointer, nil for other values. Of duplicate members the last one counts.
func (f *Finder) childrenOf(parent node) map[string]node {
	known, ok := f.children[parent.pointer]
	if ok {
		return known
	}
	var children map[string]node
	add := func(name string, value jsonscan.Value, offset int) {
		if children == nil {
			children = make(map[string]node)
		}
		// A name with "/" must not look like the pointer of another value.
		children[name] = node{value, parent.offset + offset, parent.pointer + "/" + escape.Replace(name)}
	}
	switch parent.value.Kind() {
	case jsonscan.Object:
		for o := parent.value.Object(); o.Next(); {
			add(string(o.Name()), o.Value(), o.Offset())
		}
	case jsonscan.Array:
		n := 0
		for a := parent.value.Array(); a.Next(); n++ {
			add(strconv.Itoa(n), a.Value(), a.Offset())
		}
	}
	f.children[parent.pointer] = children
	return children
}

var escape = strings.NewReplacer("~", "~0", "/", "~1")
