package management

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/judge"
	"github.com/flagstaff-go/flagstaff/internal/rawjson"
	"github.com/flagstaff-go/flagstaff/management/optional"
	"github.com/flagstaff-go/flagstaff/management/storage"
	"github.com/flagstaff-go/flagstaff/runtime"
)

// A BlastRadiusQuery is a condition set about which it is asked whom it would
// admit.
type BlastRadiusQuery struct {
	// Condition is a condition set of evaluation.md §1.4, of which only the
	// properties count.
	Condition optional.Value[json.RawMessage] `json:"condition"`

	// GroupTypeIndex is the type of the groups that it is about. Not set:
	// persons.
	GroupTypeIndex optional.Value[int] `json:"group_type_index"`
}

// A BlastRadius is how many persons or groups a condition set would admit.
type BlastRadius struct {
	Affected int `json:"users_affected"`
	Total    int `json:"total_users"`
}

// BlastRadius counts the known persons, or groups of a type, who have the properties
// that a condition set asks for, whatever its rollout. All of them are looked at, so
// that it takes seconds for a million. It needs scopes feature_flag:read and person:read.
func (s *Service) BlastRadius(ctx context.Context, p *Principal, ref string, q BlastRadiusQuery) (*BlastRadius, error) {
	w, err := s.beginAt(ctx, p, ref, "feature_flag:read", "person:read")
	if err != nil {
		return nil, err
	}
	if s.c.Data == nil {
		return nil, errNoData
	}
	set, err := w.definitionSet(ctx)
	if err != nil {
		return nil, err
	}
	filters, err := q.filters(set)
	if err != nil {
		return nil, err
	}
	list := []storage.Flag{audienceFlag(-1, audienceKey, filters)}
	for range filters.Targets() {
		list = append(list, set.flags...)
		break
	}
	snapshot, err := set.compile(list)
	if err != nil {
		return nil, err
	}
	out := new(BlastRadius)
	count := func(results *flags.Results) {
		out.Total++
		if flagValue(results, audienceKey) == true {
			out.Affected++
		}
	}
	if index := &q.GroupTypeIndex; index.Set && !index.Null {
		err = s.eachGroup(ctx, w.at.Project.ID, snapshot, index.Value, set.groupTypes[index.Value], count)
	} else {
		err = s.eachPerson(ctx, w.at.Project.ID, snapshot, []string{audienceKey}, func(_ *storage.Person, results *flags.Results) { count(results) })
	}
	if err != nil {
		return nil, err
	}
	return out, nil
}

// filters returns the filters of a flag for those whom the condition set admits.
func (q *BlastRadiusQuery) filters(set *definitionSet) (flags.Filters, error) {
	var filters flags.Filters
	if !q.Condition.Set || q.Condition.Null {
		return filters, invalid("condition", "required", "This field is required.")
	}
	if _, ok := rawjson.Object(q.Condition.Value); !ok {
		return filters, invalid("condition", "not_a_dict", "Expected a dictionary of items but got type %q.", rawjson.Kind(q.Condition.Value))
	}
	switch index := &q.GroupTypeIndex; {
	case index.Undecoded() != nil:
		return filters, invalid("group_type_index", "invalid_input", "A valid integer is required.")
	case index.Set && !index.Null:
		if set.groupTypes[index.Value] == "" {
			return filters, invalid("group_type_index", "does_not_exist", "There is no group type with the index %d.", index.Value)
		}
		filters.AggregationGroupTypeIndex = flags.ByGroup(index.Value)
	}
	asked := q.asked()
	err := judge.CheckReadable(&asked)
	if err == nil {
		filters.Groups = []flags.Condition{{Properties: asked.Groups[0].Properties}}
		err = judge.Judge(&filters, judge.Subject{Key: audienceKey}, set.references())
	}
	err = judgeError(err)
	if e, ok := errors.AsType[*Error](err); ok {
		return filters, e.ofCondition()
	}
	return filters, err
}

// asked returns the filters of a flag with the condition set, as it was sent.
func (q *BlastRadiusQuery) asked() (f flags.Filters) {
	groups := append(append([]byte(`{"groups":[`), rawjson.OrNull(q.Condition.Value)...), "]}"...)
	_ = f.UnmarshalJSON(groups) // what is wrong with it is an error of the filters
	return f
}

// ofCondition returns an error about the filters that asked returns as one about the
// condition set.
func (e *Error) ofCondition() *Error {
	e.Attr, e.Path = "condition", e.Path[min(len(e.Path), len([]string{"groups", "0"})):]
	return e
}

// audienceKey is a key that no stored flag can have.
const audienceKey = "the audience"

// audienceFlag returns a flag that exists only to evaluate filters.
func audienceFlag(id int64, key string, filters flags.Filters) storage.Flag {
	return storage.Flag{ID: id, Key: key, Active: true, Filters: filters}
}

// eachPerson evaluates flags for all persons of a project, each under one of its
// distinct IDs. If flags look at static cohorts, the store is asked about each
// person.
func (s *Service) eachPerson(ctx context.Context, project int64, snapshot *flags.Snapshot, keys []string, visit func(*storage.Person, *flags.Results)) error {
	in := new(flags.Input)
	for person, err := range s.c.Data.AllPersons(ctx, project) {
		if err != nil {
			return err
		}
		results, err := s.evaluatePerson(ctx, in, project, snapshot, keys, &person)
		if err != nil {
			return err
		}
		visit(&person, results)
	}
	return ctx.Err()
}

// evaluatePerson evaluates flags for a person under the first of its distinct IDs.
func (s *Service) evaluatePerson(ctx context.Context, in *flags.Input, project int64, snapshot *flags.Snapshot, keys []string, person *storage.Person) (*flags.Results, error) {
	distinctID := ""
	if len(person.DistinctIDs) > 0 {
		distinctID = person.DistinctIDs[0]
	}
	in.Reset(snapshot, distinctID, runtime.Filter{}, s.now())
	in.SetKeys(keys)
	if len(person.Properties) > 0 {
		if err := in.SetPerson(person.Properties); err != nil {
			return nil, fmt.Errorf("management: stored properties: %w", err)
		}
	}
	in.SetPersonCreated(person.Created)
	if in.Needs().Cohorts {
		cohorts, err := s.c.Data.AppendCohorts(ctx, nil, project, distinctID)
		if err != nil {
			return nil, err
		}
		for _, id := range cohorts {
			in.SetCohort(id)
		}
	}
	return in.Evaluate(), nil
}

// groupsPart is how many groups are read at once.
const groupsPart = 1000

// eachGroup evaluates the flag with audienceKey for all groups of a type.
func (s *Service) eachGroup(ctx context.Context, project int64, snapshot *flags.Snapshot, index int, name string, visit func(*flags.Results)) error {
	in, now := new(flags.Input), s.now()
	for offset := 0; ; offset += groupsPart {
		list, _, err := s.c.Data.Groups(ctx, project, index, "", groupsPart, offset)
		if err != nil {
			return err
		}
		for i := range list {
			in.Reset(snapshot, "", runtime.Filter{}, now)
			in.SetKeys([]string{audienceKey})
			if err := errors.Join(in.Group(name, rawjson.Must(list[i].Key)), in.SetGroup(name, list[i].Properties)); err != nil {
				return err
			}
			visit(in.Evaluate())
		}
		if len(list) < groupsPart {
			return ctx.Err()
		}
	}
}
