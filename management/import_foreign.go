package management

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/flagstaff-go/flagstaff/internal/convert"
	"github.com/flagstaff-go/flagstaff/internal/convert/products"
	"github.com/flagstaff-go/flagstaff/internal/served"
	"github.com/flagstaff-go/flagstaff/management/check"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// ForeignOptions say how a document of another product becomes definitions.
type ForeignOptions struct {
	// From names the product: one of [Products].
	From string

	// Environment names an environment, or a namespace, of a document that has several.
	Environment string

	// Version says which way of drawing served the users until now, where the product has
	// changed it: "old" or "new".
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

// A ForeignReport tells what an import from another product has changed, and what it could not
// keep.
type ForeignReport struct {
	From string `json:"from"`

	// LeftOut are flags that were left out, because some users would get another value, or
	// because the project cannot have them, and why. Inexact are those that were imported
	// all the same. FlagNotes are about exact ones.
	LeftOut   []convert.Kept `json:"left_out"`
	Inexact   []convert.Kept `json:"inexact"`
	FlagNotes []convert.Kept `json:"flag_notes"`

	ApplyReport
}

// A Converted is a document of another product as definitions.
type Converted struct {
	Document []byte // as [Service.ApplyDefinitions] takes it
	LeftOut  []convert.Kept
	Inexact  []convert.Kept
	Flags    []convert.Kept // notes
	Notes    []string

	project    *convert.Project
	groupTypes []string
}

// Convert makes definitions of a document of another product (management.md §13.19). The
// document is JSON, YAML or TOML, as the product writes it. The error says what is wrong with the
// document or the options.
func Convert(document []byte, o ForeignOptions) (*Converted, error) {
	product, ok := products.Named(o.From)
	if !ok {
		return nil, invalid("from", "invalid_choice", "must be one of %s, not %q.", strings.Join(products.Names(), ", "), o.From)
	}
	properties := make(map[string]string)
	for _, pair := range o.Map {
		attribute, property, ok := strings.Cut(pair, "=")
		if !ok || attribute == "" || property == "" {
			return nil, invalid("map", "invalid_input", "must be ATTRIBUTE=PROPERTY, not %s.", check.Excerpt(pair))
		}
		properties[attribute] = property
	}
	raw, err := asJSON(document)
	if err != nil {
		return nil, invalid("", "invalid_input", "The file is neither JSON, nor YAML, nor TOML: %s.", err)
	}
	c := new(Converted)
	c.project, err = product.Convert(raw, &convert.Options{
		Environment: o.Environment, Version: o.Version, Archived: o.Archived, Properties: properties, Group: c.groupType,
	})
	if err != nil {
		return nil, invalid("", "invalid_input", "This is not a file of %s: %s.", product.Title, strings.TrimSuffix(err.Error(), "."))
	}
	chosen := c.project.Choose(o.Archived, o.Inexact)
	if len(chosen.Unknown) > 0 {
		return nil, invalid("inexact", "does_not_exist", "The file has no flag %s.", strings.Join(chosen.Unknown, ", "))
	}
	c.LeftOut, c.Inexact, c.Flags, c.Notes = chosen.LeftOut, chosen.Inexact, chosen.Notes, c.project.Notes
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

// drop takes out what a project refuses, with all that needs it.
func (c *Converted) drop(problems []DefinitionProblem) (err error) {
	why := make(map[string]string)
	for _, p := range problems {
		if rest, ok := strings.CutPrefix(p.Place, "/flags/"); ok {
			number, _, _ := strings.Cut(rest, "/")
			if n, err := strconv.Atoi(number); err == nil && n < len(c.project.Flags) {
				key := c.project.Flags[n].Key
				why[key] = cmp.Or(why[key], p.Reason)
				continue
			}
		}
		return errors.New(p.What + ": " + p.Reason)
	}
	for key, reason := range why {
		for _, gone := range c.project.Drop(key) {
			if gone != key {
				reason = "It needs the flag " + key + ", which is left out."
			}
			c.LeftOut = append(c.LeftOut, convert.Kept{Flag: gone, Reasons: []string{reason}})
		}
	}
	slices.SortFunc(c.LeftOut, func(a, b convert.Kept) int { return cmp.Compare(a.Flag, b.Flag) })
	c.Document, err = c.project.Document(c.groupTypes)
	return err
}

// ImportForeign makes flags and cohorts of the document of another product, or changes those that
// an earlier import has made, into the project that a path names (management.md §13.19). Each
// user's value is what it was there; a flag of which this cannot be said is left out, unless the
// options ask for it. Everything happens in one transaction. It needs scopes
// feature_flag:write and cohort:write.
func (s *Service) ImportForeign(ctx context.Context, p *Principal, ref string, document []byte, f ForeignOptions, o ImportOptions) (*ForeignReport, error) {
	if _, err := s.beginAt(ctx, p, ref, importScopes...); err != nil {
		return nil, err
	}
	return s.importForeign(ctx, p, document, f, o, func(w *work) error { return w.enter(ctx, ref, importScopes...) })
}

// ImportForeignInto is [Service.ImportForeign] for programs on the machine of the server.
func (s *Service) ImportForeignInto(ctx context.Context, project int64, document []byte, f ForeignOptions, o ImportOptions) (*ForeignReport, error) {
	return s.importForeign(ctx, nil, document, f, o, s.enterHere(ctx, project))
}

func (s *Service) importForeign(ctx context.Context, p *Principal, document []byte, f ForeignOptions, o ImportOptions, enter func(*work) error) (*ForeignReport, error) {
	c, err := Convert(document, f)
	if err != nil {
		return nil, err
	}
	for {
		i, err := s.importDocument(ctx, p, c.Document, o, &ApplyOptions{DryRun: o.DryRun, imported: true}, enter)
		if refused, ok := errors.AsType[*Error](err); ok && len(refused.Problems) > 0 {
			if c.drop(refused.Problems) != nil {
				return nil, err
			}
			continue
		}
		if err != nil {
			return nil, err
		}
		report := &ForeignReport{From: f.From, LeftOut: notNil(c.LeftOut), Inexact: notNil(c.Inexact), FlagNotes: notNil(c.Flags), ApplyReport: i.applied()}
		report.Notes = append(c.Notes, report.Notes...)
		return report, nil
	}
}

func notNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// enterHere gives the work of a transaction access to a project, without a user.
func (s *Service) enterHere(ctx context.Context, project int64) func(*work) error {
	return func(w *work) error {
		p, err := w.store.Projects().Get(ctx, storage.ProjectID.Is(project))
		if err != nil {
			return storeError(err)
		}
		w.at = &ProjectAccess{Project: p}
		return w.checkChangeable()
	}
}
