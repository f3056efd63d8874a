package foreign

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/convert"
	"github.com/flagstaff-go/flagstaff/internal/convert/products"
	"github.com/flagstaff-go/flagstaff/internal/served"
)

// Options say how a document of another product becomes definitions.
type Options struct {
	// From names the product: one of [Products].
	From string

	// Environment names an environment, or a namespace, of a document that has several.
	Environment string

	// Version says which version of the product served the users until now, where versions
	// draw in different ways: the error that asks for it says which there are.
	Version string

	// Archived takes archived flags, too.
	Archived bool

	// Map has, as ATTRIBUTE=PROPERTY, the names of properties here that are not those of
	// attributes there.
	Map []string

	// Inexact are keys of flags that are wanted although some users would get another value.
	Inexact []string
}

// Products returns the names of the products whose flags can be imported.
func Products() []string { return products.Names() }

// Title returns the name of a product as people know it, "" for one that is unknown.
func Title(product string) string {
	if p, ok := products.Named(product); ok {
		return p.Title
	}
	return ""
}

// A Converted is a document of another product as definitions.
type Converted struct {
	Document []byte // as the management API takes it
	Report
	Notes []string // what somebody has to know of the whole

	// Probe has the flags that are not exact, by the keys Probed: each is true for those whom
	// that may concern. Nil: there are none.
	Probe  *flags.Definitions
	Probed []string

	project    *convert.Project
	groupTypes []string
}

// Kept says what a flag does not keep, or what somebody has to know of it, in words.
type Kept struct {
	Flag    string   `json:"flag"`
	Reasons []string `json:"reasons"`

	// Persons are how many of the persons who were seen last it may concern. Nil: they were
	// not counted.
	Persons *int `json:"persons,omitempty"`
}

func listed(list []convert.Kept) []Kept {
	out := make([]Kept, len(list))
	for n, k := range list {
		out[n] = Kept{Flag: k.Flag, Reasons: k.Reasons}
	}
	return out
}

// A Report tells what an import could not keep.
type Report struct {
	From string `json:"from,omitempty"`

	// ImportID names the import, by which it can be taken back; "" for a dry run, and if
	// nothing was changed.
	ImportID string `json:"import_id,omitempty"`

	// LeftOut are flags that were left out, because some users would get another value, or
	// because the project cannot have them, and why. Inexact are those that were imported
	// all the same. FlagNotes are about exact ones. PersonsSeen is of how many persons those of a
	// flag are.
	LeftOut   []Kept `json:"left_out,omitempty"`
	Inexact   []Kept `json:"inexact,omitempty"`
	FlagNotes []Kept `json:"flag_notes,omitempty"`

	PersonsSeen int `json:"persons_seen,omitempty"`
}

// Concerns says how many persons what is not kept of a flag may concern, "" if they were not
// counted.
func (r *Report) Concerns(k *Kept) string {
	if k.Persons == nil {
		return ""
	}
	return fmt.Sprintf("It may concern %d of the %d persons seen last.", *k.Persons, r.PersonsSeen)
}

// An Error says what is wrong with an option, or with the document if Option is "".
type Error struct {
	Option string // "from", "to", "environment", "bucket_version", "map" or "inexact"
	Text   string // for people
}

func (e *Error) Error() string { return strings.TrimSpace(e.Option + " " + e.Text) }

func wrong(option, format string, args ...any) *Error {
	return &Error{option, fmt.Sprintf(format, args...)}
}

// Exports returns the names of the products to which flags can be exported.
func Exports() (names []string) {
	for _, p := range products.All {
		if p.Export != nil {
			names = append(names, p.Name)
		}
	}
	return names
}

// Export writes the flags of definitions as another product has them, so that each user keeps the
// value, and says why it refuses others. Of the options it takes the Environment, the Version and
// the Map. The error says what is wrong with the definitions or the options.
func Export(definitions []byte, to string, o Options) (document []byte, refused []Kept, err error) {
	product, ok := products.Named(to)
	if !ok || product.Export == nil {
		return nil, nil, wrong("to", "must be one of %s, not %q.", strings.Join(Exports(), ", "), to)
	}
	properties, err := o.properties()
	if err != nil {
		return nil, nil, err
	}
	p, err := convert.Read(definitions)
	if err != nil {
		return nil, nil, wrong("", "These are not definitions: %s.", err)
	}
	document, list, err := product.Export(p, &convert.Options{Environment: o.Environment, Version: o.Version, Properties: properties})
	return document, listed(list), err
}

// properties returns the names of properties by those of attributes.
func (o *Options) properties() (map[string]string, error) {
	properties := make(map[string]string)
	for _, pair := range o.Map {
		attribute, property, ok := strings.Cut(pair, "=")
		if !ok || attribute == "" || property == "" {
			return nil, wrong("map", "must be ATTRIBUTE=PROPERTY, not %s.", strconv.Quote(pair))
		}
		properties[attribute] = property
	}
	return properties, nil
}

// Decrypt returns a document of another product as [Convert] takes it, which that product has
// encrypted with a key. One that is not encrypted stays as it is. The error says what is wrong with
// the document or the key.
func Decrypt(document []byte, from, key string) ([]byte, error) {
	product, ok := products.Named(from)
	if !ok {
		return nil, wrong("from", "must be one of %s, not %q.", strings.Join(products.Names(), ", "), from)
	}
	decrypted, err := product.Decrypt(document, key)
	if err != nil {
		return nil, wrong("", "%s: %s.", product.Title, err)
	}
	return decrypted, nil
}

// Convert makes definitions of a document of another product (management.md §13.23). The
// document is JSON, YAML or TOML, as the product writes it. The error says what is wrong with the
// document or the options.
func Convert(document []byte, o Options) (*Converted, error) {
	product, ok := products.Named(o.From)
	if !ok {
		return nil, wrong("from", "must be one of %s, not %q.", strings.Join(products.Names(), ", "), o.From)
	}
	properties, err := o.properties()
	if err != nil {
		return nil, err
	}
	raw, err := asJSON(document)
	if err != nil {
		return nil, wrong("", "The file is neither JSON, nor YAML, nor TOML: %s.", err)
	}
	c := new(Converted)
	c.project, err = product.Convert(raw, &convert.Options{
		Environment: o.Environment, Version: o.Version, Archived: o.Archived, Properties: properties, Group: c.groupType,
	})
	if option, ok := errors.AsType[*convert.OptionError](err); ok {
		return nil, wrong(option.Option, "%s.", option.Text)
	}
	if err != nil {
		return nil, wrong("", "%s: %s.", product.Title, strings.TrimSuffix(err.Error(), "."))
	}
	if c.Probe, c.Probed, err = c.project.Probe(c.groupTypes); err != nil {
		return nil, err
	}
	chosen := c.project.Choose(o.Archived, o.Inexact)
	if len(chosen.Unknown) > 0 {
		return nil, wrong("inexact", "The file has no flag %s.", strings.Join(chosen.Unknown, ", "))
	}
	c.Report = Report{From: o.From, LeftOut: listed(chosen.LeftOut), Inexact: listed(chosen.Inexact), FlagNotes: listed(chosen.Notes)}
	c.Notes = c.project.Notes
	c.Document, err = c.project.Document(c.groupTypes)
	return c, err
}

// groupType returns the index of a group type in the document, which gets the next one if it is
// new and there is room.
func (c *Converted) groupType(name string) int {
	i := slices.Index(c.groupTypes, name)
	if i < 0 && len(c.groupTypes) <= served.MaxGroupTypeIndex {
		i = len(c.groupTypes)
		c.groupTypes = append(c.groupTypes, name)
	}
	return i
}

// Drop leaves out flags, each with its reason, and all that need them. They are named by their
// places in the Document, as JSON pointers. It is not ok if something else stands at one.
func (c *Converted) Drop(reasons map[string]string) (ok bool, err error) {
	why := make(map[string]string)
	for place, reason := range reasons {
		rest, isFlag := strings.CutPrefix(place, "/flags/")
		number, _, _ := strings.Cut(rest, "/")
		n, err := strconv.Atoi(number)
		if !isFlag || err != nil || n >= len(c.project.Flags) {
			return false, nil
		}
		key := c.project.Flags[n].Key
		why[key] = cmp.Or(why[key], reason)
	}
	for key, reason := range why {
		c.LeftOut = append(c.LeftOut, Kept{Flag: key, Reasons: []string{reason}})
		for _, gone := range c.project.Drop(key) {
			if why[gone] == "" {
				c.LeftOut = append(c.LeftOut, Kept{Flag: gone, Reasons: []string{"It needs the flag " + key + ", which is left out."}})
			}
		}
	}
	out := func(k Kept) bool {
		return slices.ContainsFunc(c.LeftOut, func(gone Kept) bool { return gone.Flag == k.Flag })
	}
	c.Inexact, c.FlagNotes = slices.DeleteFunc(c.Inexact, out), slices.DeleteFunc(c.FlagNotes, out)
	slices.SortFunc(c.LeftOut, func(a, b Kept) int { return cmp.Compare(a.Flag, b.Flag) })
	c.Document, err = c.project.Document(c.groupTypes)
	return true, err
}
