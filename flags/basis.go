package flags

// A Basis says how far a flag's value depends on the person, or the group, for
// whom it was evaluated. Protocols with reasons of their own, such as
// OpenFeature's, are answered with it (wire.md §7.2).
type Basis uint8

const (
	// BasisNone means that no condition set matched, or that the flag is inactive
	// or failed.
	BasisNone Basis = iota

	// BasisEveryone means a condition set without filters that admits everybody.
	BasisEveryone

	// BasisTargeting means filters, a condition set that pins its variant, or an
	// early access enrollment.
	BasisTargeting

	// BasisRollout means the subject's bucket alone: in a rollout or outside of
	// it, among the variants, or in a holdout.
	BasisRollout
)

// Basis returns what decided the value.
func (r *Result) Basis() Basis { return r.basis }

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

// basisVaries stands for the Basis of a flag whose condition sets differ in it.
const basisVaries Basis = 1 << 7

// basisOfMatch returns the Basis of a flag's values that a condition set gives.
func (f *compiledFlag) basisOfMatch() Basis {
	var all Basis
	for i := range f.conditions {
		if b := f.conditions[i].basis(f); i == 0 {
			all = b
		} else if b != all {
			return basisVaries
		}
	}
	return all
}

// basis returns the Basis of a value that the condition set gives.
func (c *compiledCondition) basis(f *compiledFlag) Basis {
	switch {
	case c.pinned >= 0:
		return BasisTargeting
	case f.drawsVariant():
		return BasisRollout
	case len(c.checks) > 0:
		return BasisTargeting
	case !c.everyone:
		return BasisRollout
	}
	return BasisEveryone
}

// kindBases says of each reasonKind which Basis it has, and whether it has the Basis of the
// flag's matches.
var kindBases = [reasonKinds]struct{ own, match Basis }{
	reasonMatch: {match: ^BasisNone},
	reasonOut:   {own: BasisRollout},
}

// basis returns the Basis of a flag's value, by its reason. Whether a flag matched is
// hard for a processor to guess, so no jump depends on it.
func (s *Snapshot) basis(f *compiledFlag, reason int32) Basis {
	if reason < reasonIndexed {
		switch reason {
		case reasonSuper:
			return BasisTargeting
		case reasonHeldOut:
			return BasisRollout
		}
		return BasisNone
	}
	kind := &kindBases[uint32(reason-reasonIndexed)%uint32(reasonKinds)]
	b := f.matchBasis&kind.match | kind.own
	if b == basisVaries {
		return f.conditions[s.reasons[reason].ConditionIndex].basis(f)
	}
	return b
}
