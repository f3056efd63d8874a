package management

import (
	"errors"
	"strconv"
	"strings"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/judge"
	"github.com/flagstaff-go/flagstaff/management/check"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// Flags with rule sets are written as docs/spec/rules.md §7 says.

// ruled reports whether a flag has a rule set, or gets one.
func (patch *FlagPatch) ruled(f *storage.Flag) bool {
	return judge.IsRuleSet(&f.Filters) || judge.IsRuleSet(&patch.Filters.Value)
}

// checkRuled returns an error if a patch wants of a flag with a rule set what only flags with
// condition sets have.
func (patch *FlagPatch) checkRuled(f *storage.Flag) error {
	if !patch.ruled(f) {
		return nil
	}
	const no = "A flag with a rule set cannot have it: %s."
	switch {
	case patch.Filters.Null:
		return invalid("filters", "invalid", "Must be a whole rule set.")
	case f.ID == 0 && patch.Active.Value:
		return invalid("active", "invalid", "A flag with a rule set starts disabled: make it, and switch it on then.")
	case patch.Continuity.Value:
		return invalid("ensure_experience_continuity", "invalid", no, "rules draw with a seed and the distinct ID")
	case patch.Bucketing.Value == "device_id":
		return invalid("bucketing_identifier", "invalid", no, "rules draw with the distinct ID")
	case patch.BucketingHash.Value != "":
		return invalid("bucketing_hash", "invalid", no, "each rule says how it draws")
	case patch.RemoteConfig.Value:
		return invalid("is_remote_configuration", "invalid", no, "its rules have values of any type")
	case patch.EncryptedPayloads.Value:
		return invalid("has_encrypted_payloads", "invalid", no, "it has values and no payloads")
	}
	return nil
}

// checkRuledVersion returns an error if a patch changes a flag with a rule set and does not
// say, or not rightly, which version of it (rules.md §7.4).
func (patch *FlagPatch) checkRuledVersion(f *storage.Flag) error {
	if !judge.IsRuleSet(&f.Filters) || patch.AnyVersion || patch.IfVersion != nil {
		return nil
	}
	if !patch.Version.Set || patch.Version.Null {
		for _, row := range flagFields(f, f.Filters, patch) {
			if row.Sent != nil && row.Attr != "version" && row.Sent.IsSet() {
				return invalid("version", "required", "This field is required: the version of the flag that the change is for.")
			}
		}
	}
	return checkCurrent(f, &patch.Version)
}

// applyRules is applyFilters for a flag that has a rule set or gets one. The IDs and seeds of
// rules are the server's.
func (s *Service) applyRules(f, before *storage.Flag, patch *FlagPatch, refs *judge.References) error {
	if f.ID == 0 {
		f.Active, f.BucketingHash = false, ""
	}
	filters := before.Filters.Clone()
	if patch.Filters.Set {
		filters = patch.Filters.Value.Clone()
		err := judge.CheckLanguage(&filters)
		if err == nil && judge.IsRuleSet(&filters) {
			err = judge.CheckReadable(&filters)
		}
		if err == nil && before.ID != 0 {
			err = sameLanguage(&before.Filters, &filters)
		}
		if err == nil {
			err = judge.Claim(filters.RuleSet, before.Filters.RuleSet)
		}
		if err != nil {
			return ruleError(err)
		}
	}
	subject := judge.Subject{ID: f.ID, Key: f.Key, Stored: before.Filters.RuleSet, Sent: patch.Filters.Set}
	if err := judge.Judge(&filters, subject, refs); err != nil {
		return filtersError(&filters, err)
	}
	f.Filters = filters
	return nil
}

// sameLanguage returns an error if filters cannot follow other filters of the same flag: clients
// have read values of one type.
func sameLanguage(before, after *flags.Filters) error {
	had, has := judge.IsRuleSet(before), judge.IsRuleSet(after)
	switch {
	case had && !has:
		return at("invalid", "version", "The flag has a rule set, which must be sent as a whole: it cannot get condition sets. Make another flag for these.")
	case has && !had:
		return at("invalid", "version", "The flag has condition sets and cannot get a rule set: make another flag for it.")
	case before.RuleSet != nil && after.RuleSet != nil && before.RuleSet.ReturnType != after.RuleSet.ReturnType:
		return at("invalid", "return_type", "The type of a flag cannot change: make another flag.")
	}
	return nil
}

// at returns an Error about a member of filters.
func at(code, member, detail string) error {
	err := invalid("filters", code, "%s", detail)
	err.Path = []string{member}
	return err
}

// ruleError turns an error about a rule set that a client has sent into one whose attribute is
// the whole place.
func ruleError(err error) error {
	err = judgeError(err)
	e, ok := errors.AsType[*Error](err)
	if !ok || len(e.Path) == 0 {
		return err
	}
	own := *e
	own.Attr, own.Path = strings.Join(append([]string{e.Attr}, e.Path...), "__"), nil
	return &own
}

// filtersError turns an error about filters into a Service's.
func filtersError(f *flags.Filters, err error) error {
	if e, ok := errors.AsType[*judge.Error](err); ok && (judge.IsRuleSet(f) || e.Code == judge.UnknownLanguage) {
		return ruleError(err)
	}
	return judgeError(err)
}

// ruleWarnings returns the warnings about a rule set that a flag gets, which is nil before it is
// made.
func ruleWarnings(before *storage.Flag, after *flags.RuleSet) []check.Warning {
	if after == nil {
		return nil
	}
	var was *flags.RuleSet
	if before != nil {
		was = before.Filters.RuleSet
	}
	return each(judge.Warnings(was, after), func(w *judge.Warning) check.Warning { return check.Warning(*w) })
}

// warned adds the warnings about the rule set that a patch has written, if it has.
func (v *FlagView) warned(before *storage.Flag, patch *FlagPatch) *FlagView {
	if v != nil && patch.Filters.Set {
		v.Warnings = ruleWarnings(before, v.Filters.RuleSet)
	}
	return v
}

// noEnrollment is what to use in place of a flag with a rule set for early access.
const noEnrollment = "persons cannot enrol in it. Use another flag."

// refuseRuleSet returns an error if a flag has a rule set, for what only condition sets can do.
func refuseRuleSet(f *storage.Flag, attr, instead string) error {
	if !judge.IsRuleSet(&f.Filters) {
		return nil
	}
	return invalid(attr, "invalid", "The flag %s has a rule set: %s", f.Key, instead)
}

// hideSeeds returns the filters of two versions of a flag as people may see them in what has
// changed: without seeds, but for a mark where one has changed.
func hideSeeds(before, after flags.Filters) (was, is flags.Filters) {
	if before.RuleSet == nil && after.RuleSet == nil {
		return before, after
	}
	was, is = before.Clone(), after.Clone()
	type secret struct {
		at    *string
		value string
	}
	seeds := make(map[string]secret)
	eachSeed(was.RuleSet, func(place string, seed *string) { seeds[place], *seed = secret{seed, *seed}, "" })
	eachSeed(is.RuleSet, func(place string, seed *string) {
		before, known := seeds[place]
		changed := known && before.value != *seed
		if *seed = ""; changed {
			*before.at, *seed = "********", "******** (another)"
		}
	})
	return was, is
}

// withoutSeeds returns filters without the seeds of their rules.
func withoutSeeds(f flags.Filters) flags.Filters {
	f, _ = hideSeeds(f, flags.Filters{})
	return f
}

// eachSeed calls visit for the seeds of a rule set, which may be nil.
func eachSeed(set *flags.RuleSet, visit func(place string, seed *string)) {
	if set == nil {
		return
	}
	for i := range set.Rules {
		r := &set.Rules[i]
		id := strings.ToLower(r.ID)
		visit(id, &r.Seed)
		n := 0
		for split := range (&flags.RuleSet{Rules: set.Rules[i : i+1]}).Splits() {
			visit(id+" prefix "+strconv.Itoa(n), &split.Prefix)
			visit(id+" suffix "+strconv.Itoa(n), &split.Suffix)
			n++
		}
		if r.Holdout != nil {
			r.Holdout = new(*r.Holdout)
			visit(id+" holdout", &r.Holdout.Seed)
		}
	}
}
