package management

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
	"github.com/flagstaff-go/flagstaff/management/internal/check"
	"github.com/flagstaff-go/flagstaff/management/internal/rawjson"
	"github.com/flagstaff-go/flagstaff/management/optional"
)

// A PersonSearch says whom [Service.SearchPersons] looks for. An empty field excludes
// nobody.
type PersonSearch struct {
	// Text is a UUID, or a part of a distinct ID or of a property that may name a
	// person, such as an address, whatever its case. Persons with a distinct ID that
	// begins with it come first.
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
	// at 20,000, also if it has found fewer than were asked for; the next page goes
	// on from there.
	Looked int `json:"looked"`
}

const (
	maxPersonsLooked = 20_000 // persons, by a page of a search
	personsLooked    = 1000   // persons that are read at once
)

// Stages of a search. All persons that one stage finds come before the persons that the
// next stage finds.
const (
	stageBegins   = "a" // a distinct ID begins with the text, which an index finds
	stageContains = "b"
)

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
	search := &searching{work: w, text: strings.ToLower(q.Text), begin: q.Text, limit: max(limit, 1), found: &FoundPersons{Items: []*PersonView{}}}
	if search.snapshot, err = w.propertyFilter(ctx, q.Properties); err != nil {
		return nil, err
	}
	stage, before := stageBegins, uuid.Max
	if q.After != "" {
		var id string
		stage, id, _ = strings.Cut(q.After, "-")
		if before, err = check.ParseID(id); err != nil || stage != stageBegins && stage != stageContains {
			return nil, invalid("after", "invalid_input", "%q is no place in a list.", check.Excerpt(q.After))
		}
	} else if err := search.exact(ctx); err != nil {
		return nil, err
	}
	if stage == stageBegins && q.Text != "" {
		if err := search.look(ctx, stageBegins, PersonFilter{Search: q.Text}, before); err != nil {
			return nil, err
		}
		before = uuid.Max
	}
	if !search.full {
		err = search.look(ctx, stageContains, PersonFilter{}, before)
	}
	return search.found, err
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
	return set.compile([]FeatureFlag{audienceFlag(-1, audienceKey, filters)})
}

// A searching is a search under way.
type searching struct {
	*work
	begin    string // as it was typed
	text     string // in lower case
	snapshot *flags.Snapshot
	limit    int
	in       flags.Input

	same  uuid.UUID // of the person whose UUID the text is
	found *FoundPersons
	last  string // where the last one of the page is
	full  bool   // the page ends here
}

// exact finds the person whose UUID the text is.
func (search *searching) exact(ctx context.Context) error {
	id, err := check.ParseID(search.begin)
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
		search.last = stageBegins + "-" + uuid.Max.String()
	}
	return err
}

// has reports whether a person has the properties.
func (search *searching) has(ctx context.Context, p *Person) (bool, error) {
	if search.snapshot == nil {
		return true, nil
	}
	results, err := search.evaluatePerson(ctx, &search.in, search.at.Project.ID, search.snapshot, []string{audienceKey}, p)
	return err == nil && flagValue(results, audienceKey) == true, err
}

// named reports whether a person has the text somewhere, but in no distinct ID at its
// beginning.
func (search *searching) named(p *Person) bool {
	if search.text == "" {
		return true
	}
	contains := func(s string) bool { return strings.Contains(strings.ToLower(s), search.text) }
	if slices.ContainsFunc(p.DistinctIDs, func(id string) bool { return strings.HasPrefix(id, search.begin) }) {
		return false
	}
	if slices.ContainsFunc(p.DistinctIDs, contains) {
		return true
	}
	// Most persons that a search looks at do not match: nothing else of them is decoded.
	for m := jsonscan.Value(p.Properties).Object(); m.Next(); {
		if slices.Contains(personNames, string(m.Name())) && contains(rawjson.Text(json.RawMessage(m.Value()))) {
			return true
		}
	}
	return false
}

// look adds the persons of a stage to the page, until it is full or enough were looked
// at.
func (search *searching) look(ctx context.Context, stage string, f PersonFilter, before uuid.UUID) error {
	every := search.snapshot == nil && (search.text == "" || stage == stageBegins) // is found
	for !search.full {
		part := personsLooked
		if every {
			part = search.limit + 1 - len(search.found.Items)
		}
		part = min(part, maxPersonsLooked-search.found.Looked)
		list, err := search.c.Data.PersonsBefore(ctx, search.at.Project.ID, f, before, part)
		if err != nil {
			return err
		}
		for i := range list {
			if err := search.visit(ctx, stage, &list[i]); err != nil || search.full {
				return err
			}
		}
		if len(list) < part {
			return nil
		}
		before = list[len(list)-1].ID
		if search.found.Looked >= maxPersonsLooked {
			search.found.Next, search.full = stage+"-"+before.String(), true
		}
	}
	return ctx.Err()
}

// visit adds a person to the page if the search is about that person.
func (search *searching) visit(ctx context.Context, stage string, p *Person) error {
	search.found.Looked++
	if p.ID == search.same || stage == stageContains && !search.named(p) {
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
	search.last = stage + "-" + p.ID.String()
	return nil
}
