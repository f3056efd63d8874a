package subject

import (
	"cmp"
	"context"
	"net/netip"
	"slices"
	"time"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/capture/persons"
	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/flags/wire"
	"github.com/flagstaff-go/flagstaff/internal/text"
)

// A Request is a request for flags with what its body does not say.
type Request struct {
	// Request is the body. If it is nil, methods of it and [Filler.Fill] panic.
	*wire.Request

	Project int64

	// Addr is the client's address, whose place is looked up. The zero Addr has
	// no place.
	Addr netip.Addr

	// RequestPersonOnly says that only the person properties of the request
	// itself count.
	RequestPersonOnly bool

	// ContinuityFlags are the keys of the flags for which [Store.Overrides] keeps
	// the hash key of a person that is anonymous no more.
	ContinuityFlags []string
}

// A Failure is stored data that could not be read.
type Failure struct {
	What string // "person", "group", "cohorts" or "overrides"
	Err  error
}

// A Filler adds what is known about subjects to Inputs. It reuses its memory, to
// which the Inputs refer until its next Fill, so it must not be used concurrently.
type Filler struct {
	// Store has the stored data. Nil: nothing is stored.
	Store Store

	// Timeout is how long a Fill waits for the Store in all. What is not read by then
	// is among the failures. Zero: as long as the context lasts.
	Timeout time.Duration

	// Locator has the places of addresses. Nil: there are none.
	Locator Locator

	// ReadOnly says that requests must not store hash keys of experience
	// continuity. A person that would get one from a request is evaluated as
	// if it were stored.
	ReadOnly bool

	inputs      []*flags.Input
	setOverride func(flagKey, hashKey string) // for inputs
	stored      []byte
	groups      []string
	cohorts     []int64
	failures    []Failure
}

// Fill adds to Inputs what is known about the subject of a request and can change
// an answer. The Inputs have been filled with the request before. Something that
// cannot be read is left out, and is among the failures, which are valid until the
// next Fill.
func (f *Filler) Fill(ctx context.Context, r Request, inputs ...*flags.Input) []Failure {
	if f.Store == nil && f.Locator == nil {
		return nil
	}
	f.inputs = append(f.inputs[:0], inputs...)
	f.stored, f.cohorts, f.failures = f.stored[:0], f.cohorts[:0], f.failures[:0]
	needs := f.needs()
	if f.Store != nil && (needs.Person || needs.PersonCreated || needs.Cohorts || needs.Overrides || len(f.groups) > 0) {
		if f.Timeout > 0 {
			limited, cancel := context.WithTimeout(ctx, f.Timeout)
			defer cancel()
			ctx = limited
		}
		id := text.Identifier(r.DistinctID, capture.MaxID)
		if id != "" && !r.RequestPersonOnly {
			f.addPerson(ctx, r.Project, id, needs)
		}
		for _, name := range f.groups {
			f.addGroup(ctx, &r, name)
		}
		if id != "" && needs.Cohorts {
			f.addCohorts(ctx, r.Project, id)
		}
		if id != "" && needs.Overrides {
			f.addOverrides(ctx, &r, id)
		}
	}
	if f.Locator != nil && needs.Geo && !r.GeoIPDisable && r.Addr.IsValid() {
		for name, value := range f.Locator.Properties(r.Addr) {
			for _, in := range f.inputs {
				in.SetGeo(name, value)
			}
		}
	}
	return f.failures
}

// Memory returns how many bytes the Filler keeps for its next Fill.
func (f *Filler) Memory() int { return cap(f.stored) }

// needs returns what the Inputs need together. The groups are in f.groups: an Input
// reuses the memory of its Needs when something is added.
func (f *Filler) needs() (all flags.Needs) {
	f.groups = f.groups[:0]
	for _, in := range f.inputs {
		n := in.Needs()
		all.Person = all.Person || n.Person
		all.PersonCreated = all.PersonCreated || n.PersonCreated
		all.Geo = all.Geo || n.Geo
		all.Cohorts = all.Cohorts || n.Cohorts
		all.Overrides = all.Overrides || n.Overrides
		for _, name := range n.Groups {
			if !slices.Contains(f.groups, name) {
				f.groups = append(f.groups, name)
			}
		}
	}
	return all
}

func (f *Filler) addPerson(ctx context.Context, project int64, id string, needs flags.Needs) {
	if needs.Person {
		stored, err := f.Store.AppendPerson(ctx, f.stored, project, id)
		properties := f.keep(stored, err)
		for _, in := range f.inputs {
			if err == nil && len(properties) > 0 {
				err = in.SetPerson(properties)
			}
		}
		f.note("person", err)
	}
	if needs.PersonCreated {
		created, err := f.Store.PersonCreated(ctx, project, id)
		for _, in := range f.inputs {
			if err == nil && !created.IsZero() {
				in.SetPersonCreated(created)
			}
		}
		f.note("person", err)
	}
}

func (f *Filler) addGroup(ctx context.Context, r *Request, name string) {
	key := text.Identifier(r.GroupKey(name), persons.MaxGroupKey)
	if key == "" {
		return
	}
	stored, err := f.Store.AppendGroup(ctx, f.stored, r.Project, name, key)
	properties := f.keep(stored, err)
	for _, in := range f.inputs {
		if err == nil && len(properties) > 0 {
			err = in.SetGroup(name, properties)
		}
	}
	f.note("group", err)
}

func (f *Filler) addCohorts(ctx context.Context, project int64, id string) {
	list, err := f.Store.AppendCohorts(ctx, f.cohorts, project, id)
	if err == nil {
		f.cohorts = list
	}
	for _, cohort := range f.cohorts {
		for _, in := range f.inputs {
			in.SetCohort(cohort)
		}
	}
	f.note("cohorts", err)
}

// addOverrides adds the hash keys that the request finds. If it must not store any,
// and its person exists, the hash keys that the person lacks would become the
// anonymous ID, which flags use anyway; otherwise the hash keys of the anonymous
// person count (evaluation.md §12).
func (f *Filler) addOverrides(ctx context.Context, r *Request, id string) {
	anonymous := text.Identifier(cmp.Or(r.AnonymousID, r.PersonText("$anon_distinct_id")), capture.MaxID)
	if f.setOverride == nil {
		f.setOverride = func(flagKey, hashKey string) {
			for _, in := range f.inputs {
				in.SetOverride(flagKey, hashKey)
			}
		}
	}
	var err error
	if f.ReadOnly && anonymous != "" {
		var created time.Time
		if created, err = f.Store.PersonCreated(ctx, r.Project, id); created.IsZero() {
			id = anonymous
		}
		anonymous = ""
	}
	if err == nil {
		err = f.Store.Overrides(ctx, r.Project, id, anonymous, r.ContinuityFlags, f.setOverride)
	}
	for _, in := range f.inputs {
		if err != nil {
			in.FailOverrides()
		}
	}
	f.note("overrides", err)
}

// keep takes over memory to which a store has appended, and returns what it has
// appended.
func (f *Filler) keep(stored []byte, err error) []byte {
	if err != nil {
		return nil
	}
	start := len(f.stored)
	f.stored = stored
	return slices.Clip(stored[start:])
}

// note adds a failure, if there is one.
func (f *Filler) note(what string, err error) {
	if err != nil {
		f.failures = append(f.failures, Failure{what, err})
	}
}
