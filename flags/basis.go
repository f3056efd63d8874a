package flags

// A Basis is what decided a flag's value: how far it depends on whom the flag was
// evaluated for. Protocols that give reasons of their own, as OpenFeature's, are
// answered with it (wire.md §7.2).
type Basis uint8

const (
	// BasisNone: no condition set matched, or the flag is inactive or failed.
	BasisNone Basis = iota

	// BasisEveryone: a condition set without filters that admits everybody.
	BasisEveryone

	// BasisTargeting: filters, a condition set that pins its variant, or an
	// early access enrollment.
	BasisTargeting

	// BasisRollout: the subject's bucket alone, in a rollout or outside of it,
	// among the variants, or in a holdout.
	BasisRollout
)

// Basis returns what decided the value.
func (r *Result) Basis() Basis { return r.basis }

// Multivariate reports whether the flag has variants, so that its value is the
// key of one when it is enabled.
func (r *Result) Multivariate() bool { return r.form&formMultivariate != 0 }

// RemoteConfiguration reports whether the flag is one whose payload is what
// matters.
func (r *Result) RemoteConfiguration() bool { return r.form&formRemoteConfiguration != 0 }

// A form is what kind of values a definition asks for.
type form uint8

const (
	formMultivariate form = 1 << iota
	formRemoteConfiguration
)

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

// basis returns what a reason of a flag says about its value.
func (s *Snapshot) basis(f *compiledFlag, reason int32) Basis {
	switch {
	case reason == reasonSuper:
		return BasisTargeting
	case reason == reasonHeldOut:
		return BasisRollout
	case reason < reasonIndexed:
		return BasisNone
	}
	switch reasonKind((reason - reasonIndexed) % int32(reasonKinds)) {
	case reasonOut:
		return BasisRollout
	case reasonMatch:
	default:
		return BasisNone
	}
	switch c := &f.conditions[s.reasons[reason].ConditionIndex]; {
	case c.pinned >= 0:
		return BasisTargeting
	case len(f.variants) > 0:
		return BasisRollout
	case len(c.steps) > 0:
		return BasisTargeting
	case !c.everyone:
		return BasisRollout
	}
	return BasisEveryone
}
