package management

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/rawjson"
	"github.com/flagstaff-go/flagstaff/management/check"
	"github.com/flagstaff-go/flagstaff/management/internal/names"
	"github.com/flagstaff-go/flagstaff/management/optional"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// A PersonSearch says whom [Service.SearchPersons] looks for. An empty field excludes
// nobody.
type PersonSearch struct {
	// Text is a UUID, or a part of a distinct ID, of an address or of a name, whatever
	// the case; of distinct IDs only that of English letters does not count. Persons
	// with a distinct ID that begins with it come first, and those with a name second.
	Text string

	// Properties is a JSON list of filters about persons (evaluation.md §1.5), all
	// of which have to match.
	Properties string

	// After is Next of the page before; "" for the first one.
	After string
}

// FoundPersons is a page of a search.
type FoundPersons struct {
	Items []*PersonView `json:"results"`

	// Next leads to the next page; "" if there is none.
	Next string `json:"next"`

	// Looked is the number of persons that were looked at one by one. A search stops
	// at 10,000, also if it has found fewer than were asked for; the next page goes
	// on from there.
	Looked int `json:"looked"`
}

const (
	maxPersonsLooked = 10_000 // persons, by a page of a search
	personsLooked    = 1000   // persons that are read at once
)

// A stage is a part of a search. All persons that one stage finds come before the persons
// that the next stage finds.
type stage struct {
	name   string // in FoundPersons.Next
	filter storage.PersonFilter
	has    func(*storage.Person) bool // whether a person is one of the stage
}

// stagesOf returns the stages of a search for a text. A database finds the persons of each
// by itself: those whose distinct ID begins with the text by a tree, the others by reading
// an index.
func stagesOf(text string) []stage {
	if text == "" {
		return []stage{{"a", storage.PersonFilter{}, nil}}
	}
	part := names.Part(text)
	return []stage{
		{"a", storage.PersonFilter{Search: text}, func(p *storage.Person) bool {
			return slices.ContainsFunc(p.DistinctIDs, func(id string) bool { return strings.HasPrefix(id, text) })
		}},
		{"b", storage.PersonFilter{Named: part}, func(p *storage.Person) bool { return strings.Contains(names.Index(p.Properties), part) }},
		{"c", storage.PersonFilter{Within: text}, nil},
	}
}

// SearchPersons looks for persons of a project and returns at most limit of them, those
// of each stage newest first. It needs scope person:read.
func (s *Service) SearchPersons(ctx context.Context, p *Principal, ref string, q PersonSearch, limit int) (*FoundPersons, error) {
	w, err := s.capturedAt(ctx, p, ref, "person:read")
	if err != nil {
		return nil, err
	}
	if err := judgeError(check.Search(q.Text)); err != nil {
		return nil, err
	}
	search := &searching{work: w, limit: max(limit, 1), stages: stagesOf(q.Text), found: &FoundPersons{Items: []*PersonView{}}}
	if search.snapshot, err = w.propertyFilter(ctx, q.Properties); err != nil {
		return nil, err
	}
	first, before := 0, uuid.Max
	if q.After != "" {
		name, id, _ := strings.Cut(q.After, "-")
		first = slices.IndexFunc(search.stages, func(s stage) bool { return s.name == name })
		if before, err = check.ParseID(id); err != nil || first < 0 {
			return nil, invalid("after", "invalid_input", "%q is not a place in a list.", check.Excerpt(q.After))
		}
	} else if err := search.exact(ctx, q.Text); err != nil {
		return nil, err
	}
	for i := first; i < len(search.stages) && !search.full; i++ {
		if err := search.look(ctx, i, before); err != nil {
			return nil, err
		}
		before = uuid.Max
	}
	return search.found, nil
}

// propertyFilter returns a Snapshot in which those have the flag audienceKey who have
// some properties, or nil for "".
func (w *work) propertyFilter(ctx context.Context, properties string) (*flags.Snapshot, error) {
	if properties == "" {
		return nil, nil
	}
	var list []json.RawMessage
	if json.Unmarshal([]byte(properties), &list) != nil {
		return nil, invalid("properties", "not_a_list", "A list of filters is required.")
	}
	set, err := w.definitionSet(ctx)
	if err != nil {
		return nil, err
	}
	q := BlastRadiusQuery{Condition: optional.Of(rawjson.Must(map[string]any{"properties": append([]json.RawMessage{}, list...)}))}
	filters, err := q.filters(set)
	if e, ok := errors.AsType[*Error](err); ok {
		e.Attr = "properties"
	}
	if err != nil {
		return nil, err
	}
	// Others could tell what a caller without more scopes may not know.
	for _, f := range filters.All() {
		if !slices.Contains([]string{"", "person", "person_metadata"}, f.Type) {
			return nil, invalid("properties", "invalid_choice", "Persons cannot be searched for by filters of type %q.", f.Type)
		}
	}
	return set.compile([]storage.Flag{audienceFlag(-1, audienceKey, filters)})
}

// A searching is a search under way.
type searching struct {
	*work
	stages   []stage
	snapshot *flags.Snapshot // nil: everybody has the properties
	limit    int
	in       flags.Input

	same  uuid.UUID // of the person whose UUID the text is
	found *FoundPersons
	last  string // where the last one of the page is
	full  bool   // the page ends here
}

// exact finds the person whose UUID the text is.
func (search *searching) exact(ctx context.Context, text string) error {
	id, err := check.ParseID(text)
	if err != nil {
		return nil
	}
	p, err := search.c.Data.Person(ctx, search.at.Project.ID, id)
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	ok, err := search.has(ctx, p)
	if ok {
		search.same = p.ID
		search.found.Items = append(search.found.Items, showPerson(p))
		search.last = search.stages[0].name + "-" + uuid.Max.String()
	}
	return err
}

// has reports whether a person has the properties.
func (search *searching) has(ctx context.Context, p *storage.Person) (bool, error) {
	if search.snapshot == nil {
		return true, nil
	}
	results, err := search.evaluatePerson(ctx, &search.in, search.at.Project.ID, search.snapshot, []string{audienceKey}, p)
	return err == nil && flagValue(results, audienceKey) == true, err
}

// look adds the persons of a stage to the page, until it is full or enough were looked
// at.
func (search *searching) look(ctx context.Context, number int, before uuid.UUID) error {
	s := &search.stages[number]
	every := search.snapshot == nil && number == 0 // is found
	for !search.full {
		part := personsLooked
		if every {
			part = search.limit + 1 - len(search.found.Items)
		}
		part = min(part, maxPersonsLooked-search.found.Looked)
		list, err := search.c.Data.PersonsBefore(ctx, search.at.Project.ID, s.filter, before, part)
		if err != nil {
			return err
		}
		for i := range list {
			if err := search.visit(ctx, number, &list[i]); err != nil || search.full {
				return err
			}
		}
		if len(list) < part {
			return nil
		}
		before = list[len(list)-1].ID
		if search.found.Looked >= maxPersonsLooked {
			search.found.Next, search.full = s.name+"-"+before.String(), true
		}
	}
	return ctx.Err()
}

// visit adds a person to the page unless an earlier stage has found that person, or the
// person lacks the properties.
func (search *searching) visit(ctx context.Context, number int, p *storage.Person) error {
	search.found.Looked++
	if p.ID == search.same || slices.ContainsFunc(search.stages[:number], func(s stage) bool { return s.has(p) }) {
		return nil
	}
	ok, err := search.has(ctx, p)
	switch {
	case err != nil, !ok:
		return err
	case len(search.found.Items) >= search.limit:
		search.found.Next, search.full = search.last, true
		return nil
	}
	search.found.Items = append(search.found.Items, showPerson(p))
	search.last = search.stages[number].name + "-" + p.ID.String()
	return nil
}

// A NamedPerson is whom somebody means who names a person.
type NamedPerson struct {
	Person *PersonView // nil: nobody has the distinct ID or the name, or several have the name

	// Others may be meant if Person is nil, at most 20; More says that there may be more
	// of them. If Namesakes is true, each of them has the name; else a distinct ID that
	// begins with it, or a name of which it is a part.
	Others    []*PersonView
	More      bool
	Namesakes bool
}

// maxNamesakes is how many persons [Service.FindPerson] offers at most.
const maxNamesakes = 20

// FindPerson returns the person whom a text means: the one with that UUID or distinct ID
// or, if there is none, the only one with that address or name, whatever the case. It needs
// scope person:read.
func (s *Service) FindPerson(ctx context.Context, p *Principal, ref, text string) (*NamedPerson, error) {
	w, err := s.capturedAt(ctx, p, ref, "person:read")
	if err != nil {
		return nil, err
	}
	if text == "" {
		return nil, invalid("person", "required", "This field is required.")
	}
	found, err := w.findPerson(ctx, text)
	if err == nil {
		return &NamedPerson{Person: showPerson(found)}, nil
	}
	if !errors.Is(err, ErrNotFound) {
		return nil, err
	}
	if check.Search(text) != nil {
		return new(NamedPerson), nil // it is longer than a name
	}
	look := func(f storage.PersonFilter) ([]storage.Person, error) {
		return s.c.Data.PersonsBefore(ctx, w.at.Project.ID, f, uuid.Max, maxNamesakes)
	}
	similar, err := look(storage.PersonFilter{Named: names.Part(text)})
	if err != nil {
		return nil, err
	}
	var same []storage.Person
	if len(similar) < maxNamesakes {
		for _, p := range similar {
			if strings.Contains(names.Index(p.Properties), names.Whole(text)) {
				same = append(same, p)
			}
		}
	} else if same, err = look(storage.PersonFilter{Named: names.Whole(text)}); err != nil {
		return nil, err
	}
	switch {
	case len(same) == 1:
		return &NamedPerson{Person: showPerson(&same[0])}, nil
	case len(same) > 1:
		return &NamedPerson{Others: each(same, showPerson), More: len(same) == maxNamesakes, Namesakes: true}, nil
	}
	begins, err := look(storage.PersonFilter{Search: text})
	if err != nil {
		return nil, err
	}
	for _, p := range similar {
		if !slices.ContainsFunc(begins, func(other storage.Person) bool { return other.ID == p.ID }) {
			begins = append(begins, p)
		}
	}
	begins = begins[:min(len(begins), maxNamesakes)]
	return &NamedPerson{Others: each(begins, showPerson), More: len(begins) == maxNamesakes}, nil
}
