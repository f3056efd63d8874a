package tool

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
)

// An omission is what a rule set leaves out that follows from the flag's key and the places of
// its rules (rules.md §2.7).
type omission struct {
	flag  string
	rules [3][]string // the numbers of the rules whose ID, seed, seed of the holdout are left out
	adds  []addition
}

// An addition is text that belongs into the document.
type addition struct {
	at   int
	text string
}

// A part is a value of a document and where it begins.
type part struct {
	jsonscan.Value
	at int
}

// member returns a member of an object, of several with the name the last.
func (p part) member(name string) (m part) {
	for o := p.Object(); o.Next(); {
		if string(o.Name()) == name {
			m = part{o.Value(), p.at + o.Offset()}
		}
	}
	return m
}

func (p part) elements() (list []part) {
	for a := p.Array(); a.Next(); {
		list = append(list, part{a.Value(), p.at + a.Offset()})
	}
	return list
}

// omissions returns what the flags of a definitions document leave out. Flags with faults are
// passed over.
func omissions(text []byte) (list []omission) {
	trimmed := bytes.TrimLeft(text, " \t\r\n")
	for _, flag := range (part{trimmed, len(text) - len(trimmed)}).member("flags").elements() {
		key, _ := flag.member("key").AppendString(nil)
		filters := flag.member("filters")
		given, err := flags.DecodeRuleSet(filters.Value, true)
		if err != nil || len(key) == 0 {
			continue
		}
		full, _ := flags.DecodeRuleSet(filters.Value, true) // which is read twice, because Complete changes it
		full.Complete(string(key))
		o := omission{flag: string(key)}
		for i, rule := range filters.member("rules").elements() {
			was, is := &given.Rules[i], &full.Rules[i]
			if was.Holdout != nil {
				o.add(rule.member("holdout"), i, ofHoldout, was.Holdout.Seed, is.Holdout.Seed)
			}
			o.add(rule, i, ofID, was.ID, is.ID)
			o.add(rule, i, ofSeed, was.Seed, is.Seed)
		}
		if len(o.adds) > 0 {
			list = append(list, o)
		}
	}
	return list
}

// What a rule can leave out, in the order in which it is told and written.
const (
	ofID = iota
	ofSeed
	ofHoldout
)

// add adds an ID or a seed that was not given to the beginning of an object of rule i, written as
// its first member is.
func (o *omission) add(object part, i, what int, given, value string) {
	if given == value {
		return
	}
	o.rules[what] = append(o.rules[what], strconv.Itoa(i+1))
	inner := bytes.TrimLeft(object.Value[1:], " \t\r\n")
	at := len(object.Value) - len(inner)
	between, colon := string(object.Value[1:at]), ":"
	first := object.Object()
	if first.Next(); object.Value[first.Offset()-1] == ' ' {
		colon = ": "
	}
	if !strings.Contains(between, "\n") {
		between = colon[1:]
	}
	name := [...]string{"id", "seed", "seed"}[what]
	o.adds = append(o.adds, addition{object.at + at, strconv.Quote(name) + colon + strconv.Quote(value) + "," + between})
}

// String says what is left out.
func (o *omission) String() string {
	var parts []string
	for what, name := range [...]string{"the id of ", "the seed of ", "the seed of the holdout of "} {
		switch list := o.rules[what]; len(list) {
		case 0:
		case 1:
			parts = append(parts, name+"rule "+list[0])
		default:
			parts = append(parts, name+"rules "+strings.Join(list, ", "))
		}
	}
	return strings.Join(parts, "; ")
}

// fix writes into a file what its flags leave out, and returns the file as it is then. All
// else in it stays, byte for byte. It is replaced as a whole, with the permissions that it has.
func (d *document) fix(files *Opener, left []omission) (*document, error) {
	path, err := filepath.EvalSymlinks(d.path)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	var adds []addition
	for _, o := range left {
		for _, a := range o.adds {
			adds = append(adds, addition{d.inFile(a.at), a.text})
		}
	}
	slices.SortStableFunc(adds, func(a, b addition) int { return cmp.Compare(a.at, b.at) })
	var out []byte
	done := 0
	for _, a := range adds {
		out = append(append(out, d.file[done:a.at]...), a.text...)
		done = a.at
	}
	out = append(out, d.file[done:]...)
	if err := ReplaceFile(path, info.Mode().Perm(), func(w io.Writer) error {
		_, err := w.Write(out)
		return err
	}); err != nil {
		return nil, fmt.Errorf("write %s: %w", d.path, err)
	}
	return files.document(d.path)
}
