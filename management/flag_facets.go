package management

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/flagstaff-go/flagstaff/management/storage"
)

// FlagFacets is by what the flags of a project can be selected, and how many flags a
// selection has. But for Archived, archived flags do not count.
type FlagFacets struct {
	On       int `json:"on"`
	Off      int `json:"off"`
	Stale    int `json:"stale"` // of those that are on
	Archived int `json:"archived"`

	NeverEvaluated int `json:"never_evaluated"` // of those that are on, as far as programs have reported

	// Tags and Contexts are in the order of their names, Owners in the order of their
	// addresses.
	Tags     []FlagFacet `json:"tags"`
	Contexts []FlagFacet `json:"evaluation_contexts"`
	Owners   []FlagOwner `json:"owners"`
}

// A FlagFacet is a name that flags have, and how many of them.
type FlagFacet struct {
	Name  string `json:"name"`
	Flags int    `json:"flags"`
}

// A FlagOwner is a user who has made flags, and how many.
type FlagOwner struct {
	User  *Author `json:"user"`
	Flags int     `json:"flags"`
}

// FlagFacets returns what the parameters of [Service.ListFlags] can be. It needs scope
// feature_flag:read.
func (s *Service) FlagFacets(ctx context.Context, p *Principal, ref string) (*FlagFacets, error) {
	w, err := s.beginAt(ctx, p, ref, "feature_flag:read")
	if err != nil {
		return nil, err
	}
	list, err := w.store.CalledFlags(ctx, w.at.Project.ID)
	if err != nil {
		return nil, err
	}
	out := &FlagFacets{Owners: []FlagOwner{}}
	tags, contexts, owners := make(map[string]int), make(map[string]int), make(map[int64]int)
	states, err := w.stateJudge(ctx, list)
	if err != nil {
		return nil, err
	}
	for i := range list {
		f := &list[i]
		if f.Kind != storage.FlagOrdinary {
			continue
		}
		if f.Archived {
			out.Archived++
			continue
		}
		out.count(f, states.state(f).status)
		for _, name := range f.Tags {
			tags[name]++
		}
		for _, name := range f.Contexts {
			contexts[name]++
		}
		if f.CreatedBy != nil {
			owners[*f.CreatedBy]++
		}
	}
	out.Tags, out.Contexts = countedNames(tags), countedNames(contexts)
	users, err := w.usersByID(ctx, slices.Collect(maps.Keys(owners)))
	if err != nil {
		return nil, err
	}
	for id, n := range owners {
		if u := basicUser(users, &id); u != nil {
			out.Owners = append(out.Owners, FlagOwner{u, n})
		}
	}
	slices.SortFunc(out.Owners, func(a, b FlagOwner) int { return cmp.Compare(a.User.Email, b.User.Email) })
	return out, nil
}

func (out *FlagFacets) count(f *storage.Flag, status string) {
	if !f.Active {
		out.Off++
		return
	}
	out.On++
	if f.LastCalled == nil {
		out.NeverEvaluated++
	}
	if status == flagStale {
		out.Stale++
	}
}

func countedNames(counts map[string]int) []FlagFacet {
	return each(slices.Sorted(maps.Keys(counts)), func(name *string) FlagFacet { return FlagFacet{*name, counts[*name]} })
}
