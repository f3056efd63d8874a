package flags

// A basis says how far a flag's value depends on the person, or the group, for whom it was
// evaluated.
type basis uint8

const (
	// basisNone means that no condition set matched, or that the flag is inactive or failed.
	basisNone basis = iota

	// basisEveryone means a condition set without filters that admits everybody.
	basisEveryone

	// basisTargeting means filters, a condition set that pins its variant, or an
	// early access enrollment.
	basisTargeting

	// basisRollout means the subject's bucket alone: in a rollout or outside of
	// it, among the variants, or in a holdout.
	basisRollout
)

// OpenFeatureReason returns what decided the value, as a reason of OpenFeature (wire.md
// §7.2): DISABLED for an inactive flag, STATIC for a condition set without filters that
// admits everybody, TARGETING_MATCH for filters, a condition set that pins its variant or
// an early access enrollment, SPLIT for the bucket alone, and DEFAULT if no condition set
// matched or the flag failed.
func (r *Result) OpenFeatureReason() string {
	switch r.Reason.Code {
	case ReasonFlagDisabled:
		return "DISABLED"
	case codeTargeting:
		return "TARGETING_MATCH"
	case codeSplit:
		return "SPLIT"
	}
	switch r.basis {
	case basisEveryone:
		return "STATIC"
	case basisTargeting:
		return "TARGETING_MATCH"
	case basisRollout:
		return "SPLIT"
	}
	return "DEFAULT"
}

// Multivariate reports whether the flag has variants. Its value is then the key of
// one, when it is enabled.
func (r *Result) Multivariate() bool { return r.form&formMultivariate != 0 }

// RemoteConfiguration reports whether the flag's definition says that its payload
// is what matters.
func (r *Result) RemoteConfiguration() bool { return r.form&formRemoteConfiguration != 0 }

func formOf(f *Flag) form {
	var out form
	if f.Filters.Multivariate != nil && len(f.Filters.Multivariate.Variants) > 0 {
		out |= formMultivariate
	}
	if f.IsRemoteConfiguration {
		out |= formRemoteConfiguration
	}
	return out
}

// drawsVariant reports whether the bucket decides which variant a subject gets: not
// if one variant has it all.
func (f *compiledFlag) drawsVariant() bool {
	for i := range f.variants {
		if below := f.variants[i].below; below > 0 {
			return below < 1
		}
	}
	return len(f.variants) > 0
}

// basisVaries stands for the basis of a flag whose condition sets differ in it.
const basisVaries basis = 1 << 7

// basisOfMatch returns the basis of a flag's values that a condition set gives.
func (f *compiledFlag) basisOfMatch() basis {
	var all basis
	for i := range f.conditions {
		if b := f.conditions[i].basis(f); i == 0 {
			all = b
		} else if b != all {
			return basisVaries
		}
	}
	return all
}

// basis returns the basis of a value that the condition set gives.
func (c *compiledCondition) basis(f *compiledFlag) basis {
	switch {
	case c.pinned >= 0:
		return basisTargeting
	case f.drawsVariant():
		return basisRollout
	case len(c.checks) > 0:
		return basisTargeting
	case !c.everyone:
		return basisRollout
	}
	return basisEveryone
}

// kindBases says of each reasonKind which basis it has, and whether it has the basis of the
// flag's matches.
var kindBases = [reasonKinds]struct{ own, match basis }{
	reasonMatch: {match: ^basisNone},
	reasonOut:   {own: basisRollout},
}

// basis returns the basis of a flag's value, by its reason. Whether a flag matched is
// hard for a processor to guess, so no jump depends on it.
func (s *Snapshot) basis(f *compiledFlag, reason int32) basis {
	if reason < reasonIndexed {
		switch reason {
		case reasonSuper:
			return basisTargeting
		case reasonHeldOut:
			return basisRollout
		}
		return basisNone
	}
	kind := &kindBases[uint32(reason-reasonIndexed)%uint32(reasonKinds)]
	b := f.matchBasis&kind.match | kind.own
	if b == basisVaries {
		return f.conditions[s.reasons[reason].ConditionIndex].basis(f)
	}
	return b
}
