package management

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/flags/wire"
	"github.com/flagstaff-go/flagstaff/internal/judge"
	"github.com/flagstaff-go/flagstaff/internal/rawjson"
	"github.com/flagstaff-go/flagstaff/management/check"
	"github.com/flagstaff-go/flagstaff/management/optional"
	"github.com/flagstaff-go/flagstaff/management/storage"
	"github.com/flagstaff-go/flagstaff/runtime"
)

// A PreviewPatch is a change of a flag that is not made.
type PreviewPatch struct {
	FlagPatch

	// ID is the flag that would change. Without it, it would be made.
	ID optional.Value[int64] `json:"id"`

	// RevertTo is a version whose content the flag would have again, as RevertFlag gives
	// it. It excludes all other changes.
	RevertTo optional.Value[int] `json:"revert_to"`

	// Enrollment is whether persons could enrol in the flag, as its early access feature
	// says.
	Enrollment optional.Value[bool] `json:"feature_enrollment"`

	// Limit is for how many of the newest distinct IDs flags are evaluated,
	// 1 to 10,000. Not set: 1,000.
	Limit optional.Value[int] `json:"limit"`
}

const (
	defaultPreview = 1000   // distinct IDs
	maxPreview     = 10_000 // distinct IDs
	maxChanges     = 100    // distinct IDs that are listed one by one
)

// A FlagPreview is what a change of a flag would do. Values are false, true or a
// variant, or null where they cannot be computed; of a flag with a rule set they are of its
// type, or null where the caller's fallback counts, too. What a new rule draws is only an
// example: it gets its seed when it is stored.
type FlagPreview struct {
	Subjects int `json:"subjects"` // distinct IDs
	Changed  int `json:"changed"`  // of them: those for whom the flag would have another value

	// Since is when the subject that was seen least lately was seen; nil if there
	// are none.
	Since *time.Time `json:"since"`

	// Transitions are from which values to which, the one of the most distinct IDs
	// first. Changes are the first 100 distinct IDs, the newest first.
	Transitions []FlagTransition `json:"transitions"`
	Changes     []ValueChange    `json:"changes"`

	// Definition is what the change changes of the flag itself, at most maxFlagChanges
	// differences; MoreDefinition is how many are left out. They are empty for a new
	// flag. Of payloads that are secret they tell only that they have changed.
	Definition     []FlagChange `json:"definition"`
	MoreDefinition int          `json:"more_definition"`

	// OtherFlags are flags that depend on this one and that would have another
	// value for somebody.
	OtherFlags []ChangedFlag `json:"other_flags"`

	// Warnings are about a rule set that the change writes (rules.md §7.8).
	Warnings []check.Warning `json:"warnings,omitempty"`
}

// A FlagTransition is how many distinct IDs would get one value instead of
// another.
type FlagTransition struct {
	From  any `json:"from"`
	To    any `json:"to"`
	Count int `json:"count"`
}

// A ValueChange is the value of a flag for a distinct ID, now and then.
type ValueChange struct {
	DistinctID string `json:"distinct_id"`
	From       any    `json:"from"`
	To         any    `json:"to"`
}

// A ChangedFlag is a flag that would change for some distinct IDs.
type ChangedFlag struct {
	Key     string `json:"key"`
	Changed int    `json:"changed"`
}

// PreviewFlag tells what CreateFlag, UpdateFlag or RevertFlag would do with a patch, which
// it judges as they do, for the persons of the newest events: with what is stored about
// them, but without what only their requests carry. Which groups they are in is not
// known, so that condition sets about groups do not match. Nothing is changed or
// logged. It needs scopes feature_flag:read and person:read.
func (s *Service) PreviewFlag(ctx context.Context, p *Principal, ref string, patch PreviewPatch) (*FlagPreview, error) {
	w, set, limit, err := s.beginPreview(ctx, p, ref, "feature_flag:read", &patch.Limit)
	if err != nil {
		return nil, err
	}
	before, after, err := w.changedFlag(ctx, set, &patch)
	if err != nil {
		return nil, err
	}
	definition, more := []FlagChange{}, 0
	if before != nil && after != nil {
		definition, more = detailed(w.flagChanges(before, after, before.EncryptedPayloads || after.EncryptedPayloads))
	}
	c, err := newComparison(set, before, after)
	if err != nil {
		return nil, err
	}
	since, err := w.compareRecent(ctx, c, limit)
	if err != nil {
		return nil, err
	}
	v := c.preview()
	v.Definition, v.MoreDefinition, v.Since = definition, more, since
	if after != nil && patch.Filters.Set {
		v.Warnings = ruleWarnings(before, after.Filters.RuleSet)
	}
	return v, nil
}

// beginPreview begins the preview of a change, which reads what a scope allows, and
// persons. It returns the definitions as they are, and how many distinct IDs to look at.
func (s *Service) beginPreview(ctx context.Context, p *Principal, ref string, scope Scope, limit *optional.Value[int]) (*work, *definitionSet, int, error) {
	w, err := s.beginAt(ctx, p, ref, scope, "person:read")
	if err != nil {
		return nil, nil, 0, err
	}
	if s.c.Data == nil {
		return nil, nil, 0, errNoData
	}
	n, err := previewLimit(limit)
	if err != nil {
		return nil, nil, 0, err
	}
	set, err := w.definitionSet(ctx)
	return w, set, n, err
}

// previewLimit returns for how many distinct IDs a preview is.
func previewLimit(o *optional.Value[int]) (int, error) {
	switch {
	case o.Undecoded() != nil:
		return 0, invalid("limit", "invalid_input", "A valid integer is required.")
	case !o.Set, o.Null:
		return defaultPreview, nil
	case o.Value < 1:
		return 0, invalid("limit", "min_value", "Ensure this value is greater than or equal to 1.")
	case o.Value > maxPreview:
		return 0, invalid("limit", "max_value", "Ensure this value is less than or equal to %d.", maxPreview)
	}
	return o.Value, nil
}

// changedFlag returns a flag before a change and after it. A new flag is nil
// before, and a deleted one after.
func (w *work) changedFlag(ctx context.Context, set *definitionSet, patch *PreviewPatch) (before, after *storage.Flag, err error) {
	f := w.newFlag()
	switch id := &patch.ID; {
	case id.Undecoded() != nil:
		return nil, nil, invalid("id", "invalid_input", "A valid integer is required.")
	case id.Set && !id.Null:
		f, err = w.store.Flags().Get(ctx, storage.FlagProject.Is(w.at.Project.ID), storage.FlagID.Is(id.Value))
		if err != nil {
			return nil, nil, goneError(err, invalid("id", "does_not_exist", "Invalid pk \"%d\" - object does not exist.", id.Value))
		}
		if f.Kind != storage.FlagOrdinary {
			return nil, nil, errSurveyFlag
		}
		if !f.Deleted {
			before = new(*f)
		}
	}
	switch {
	case patch.RevertTo.Set:
		if f.ID == 0 {
			return nil, nil, invalid("id", "required", "This field is required.")
		}
		if patch.RevertTo.Null {
			return nil, nil, invalid("revert_to", "null", "This field may not be null.")
		}
		if err := judgeError(check.Integer("revert_to", &patch.RevertTo)); err != nil {
			return nil, nil, err
		}
		if err := w.takeBack(ctx, set, f, "revert_to", patch.RevertTo.Value); err != nil || f.Deleted {
			return before, nil, err
		}
		return before, f, nil
	case patch.Enrollment.Undecoded() != nil, patch.Enrollment.Null:
		return nil, nil, invalid("feature_enrollment", "invalid_input", "Must be a valid boolean.")
	}
	made := f.ID == 0 && patch.ruled(f) // it starts disabled: what it would do is what it does once it is on
	on := made && patch.Active.Value
	if made {
		patch.Active.Value = false
	}
	if err := patch.validate(f); err != nil {
		return nil, nil, err
	}
	if f.ID != 0 {
		if err := w.settleConflict(f, &patch.FlagPatch); err != nil {
			return nil, nil, err
		}
	}
	if err := w.applyFlag(ctx, set, f, &patch.FlagPatch); err != nil || f.Deleted {
		return before, nil, err
	}
	f.Active = f.Active || on
	if patch.Enrollment.Set {
		if err := refuseRuleSet(f, "feature_enrollment", noEnrollment); err != nil {
			return nil, nil, err
		}
		f.Filters = withEnrollment(f.Filters, patch.Enrollment.Value)
	}
	switch other, err := w.store.Flags().Get(ctx, storage.FlagProject.Is(w.at.Project.ID), storage.FlagKey.Is(f.Key), storage.FlagDeleted.Is(false)); {
	case err == nil && other.ID != f.ID:
		return nil, nil, flagStoreError(ErrConflict)
	case err != nil && !errors.Is(err, ErrNotFound):
		return nil, nil, err
	}
	return before, f, nil
}

// A comparison evaluates flags before and after a change.
type comparison struct {
	before, after       *flags.Snapshot
	keyBefore, keyAfter string   // "" if there is no such flag
	others              []string // keys of the flags that depend on it

	subjects    int
	on          int // distinct IDs for whom the value is true after the change
	changed     int
	concerned   int // distinct IDs for whom one of the others changes
	transitions map[[2]any]int
	changes     []ValueChange
	changedKeys map[string]int

	// joining are distinct IDs that would become members of a static cohort.
	joining map[string]bool
	cohort  int64

	inBefore, inAfter flags.Input
}

// newComparison compiles both. Only the flag itself and the flags that depend on it can
// have other values. They are compiled with the flags that they need, and no others.
func newComparison(set *definitionSet, before, after *storage.Flag) (*comparison, error) {
	c := &comparison{transitions: make(map[[2]any]int), changes: []ValueChange{}, changedKeys: make(map[string]int)}
	refs := set.references()
	var concerned []*flags.Flag
	if before != nil {
		c.keyBefore = before.Key
		concerned = dependentFlags(refs, before)
		c.others = each(concerned, func(f **flags.Flag) string { return (*f).Key })
		concerned = append(concerned, judge.Dependencies(refs, &before.Filters)...)
	}
	if after != nil {
		c.keyAfter = after.Key
		if after.ID == 0 {
			after.ID = -1 // which no stored flag has
		}
		concerned = append(concerned, judge.Dependencies(refs, &after.Filters)...)
	}
	now := set.neededBy(refs, concerned)
	if before != nil {
		now = slices.DeleteFunc(now, func(f storage.Flag) bool { return f.ID == before.ID })
	}
	then := slices.Clone(now)
	if before != nil {
		now = append(now, *before)
	}
	if after != nil {
		then = append(then, *after)
	}
	var err error
	if c.before, err = set.recompile(now, nil); err != nil {
		return nil, err
	}
	c.after, err = set.recompile(then, c.before)
	return c, err
}

// dependentFlags returns the active flags that depend on a flag, directly or through
// others.
func dependentFlags(refs *judge.References, f *storage.Flag) []*flags.Flag {
	var list []*flags.Flag
	seen := map[int64]bool{f.ID: true}
	for queue := []*flags.Flag{{ID: f.ID, Key: f.Key}}; len(queue) > 0; queue = queue[1:] {
		for _, user := range judge.Dependents(refs, queue[0].ID, queue[0].Key) {
			if !seen[user.ID] {
				seen[user.ID] = true
				list = append(list, user)
				queue = append(queue, user)
			}
		}
	}
	return list
}

// compareRecent evaluates flags for the distinct IDs of the newest events, and returns the time
// of the oldest of these, nil if there are none.
func (w *work) compareRecent(ctx context.Context, c *comparison, limit int) (*time.Time, error) {
	ids, since, err := w.c.Data.RecentDistinctIDs(ctx, w.at.Project.ID, limit)
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	for _, id := range ids {
		if err := w.comparePerson(ctx, w.at.Project.ID, c, id); err != nil {
			return nil, err
		}
	}
	return &since, nil
}

// comparePerson evaluates flags for a distinct ID.
func (s *Service) comparePerson(ctx context.Context, project int64, c *comparison, distinctID string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	r := &wire.Request{DistinctID: distinctID, HasDistinctID: true, HasKeys: true}
	r.Keys = append([]string{c.keyBefore, c.keyAfter}, c.others...)
	now := s.now()
	if err := errors.Join(r.Fill(&c.inBefore, c.before, runtime.All, now), r.Fill(&c.inAfter, c.after, runtime.All, now)); err != nil {
		return err
	}
	if err := s.addStored(ctx, project, r, &c.inBefore, &c.inAfter); err != nil {
		return err
	}
	if c.joining[distinctID] {
		c.inAfter.SetCohort(c.cohort)
	}
	c.note(distinctID, c.inBefore.Evaluate(), c.inAfter.Evaluate())
	return nil
}

// note counts what differs for a distinct ID.
func (c *comparison) note(distinctID string, before, after *flags.Results) {
	c.subjects++
	from, to := flagValue(before, c.keyBefore), flagValue(after, c.keyAfter)
	if to == true {
		c.on++
	}
	if from != to {
		c.changed++
		c.transitions[[2]any{from, to}]++
		if len(c.changes) < maxChanges {
			c.changes = append(c.changes, ValueChange{distinctID, from, to})
		}
	}
	concerned := false
	for _, key := range c.others {
		if flagValue(before, key) != flagValue(after, key) {
			c.changedKeys[key]++
			concerned = true
		}
	}
	if concerned {
		c.concerned++
	}
}

func (c *comparison) preview() *FlagPreview {
	v := &FlagPreview{Subjects: c.subjects, Changed: c.changed, Transitions: []FlagTransition{}, Changes: c.changes, OtherFlags: []ChangedFlag{}}
	for values, n := range c.transitions {
		v.Transitions = append(v.Transitions, FlagTransition{values[0], values[1], n})
	}
	slices.SortFunc(v.Transitions, func(a, b FlagTransition) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(valueText(a.From), valueText(b.From)), cmp.Compare(valueText(a.To), valueText(b.To)))
	})
	for key, n := range c.changedKeys {
		v.OtherFlags = append(v.OtherFlags, ChangedFlag{key, n})
	}
	slices.SortFunc(v.OtherFlags, func(a, b ChangedFlag) int {
		return cmp.Or(cmp.Compare(b.Changed, a.Changed), cmp.Compare(a.Key, b.Key))
	})
	return v
}

// valueText tells values apart, whatever their type.
func valueText(v any) string { return string(rawjson.Must(v)) }
