package flags

// Values of flags that a server was asked for. They reach evaluation with the
// request, so that this package does no I/O.

// RemoteResults are values that a server has given for the flags of one request; see
// [Request.RemoteResults]. They must not be changed while a request has them.
type RemoteResults struct {
	// Results are the values by flag key. A failed one is a failure here, too, unless
	// its code is [ErrorOverrides], with which a server says that it had no access to
	// what it stores: then there is no answer.
	Results map[string]Result

	// Err says why the server did not answer, if it did not.
	Err error
}

// answer returns what the server has answered for a flag that the request may see.
// The caller has checked that there are RemoteResults.
func (s *Snapshot) answer(i int32, r *Request) (Result, bool) {
	f := &s.flags[i]
	result, ok := r.RemoteResults.Results[f.key()]
	if !ok || result.Failed && result.Reason.Code == ErrorOverrides || f.state == dormant || s.whyHidden(i, r) != nil {
		return Result{}, false
	}
	result.Key, result.form, result.basis = f.key(), f.form, s.basisOfReason(f, result.Reason)
	result.hasVariant = result.hasVariant || result.Variant != ""
	result.Remote = true
	result.Metadata.MinimalEvents = s.minimal && !result.Metadata.HasExperiment
	return result, true
}

// remoteBool and remoteText are what Snapshot.Bool and Snapshot.Lookup return for an
// answer. They are not inlined, to keep the Result out of the frames of these methods.

//go:noinline
func (s *Snapshot) remoteBool(i int32, r *Request, fallback bool) (enabled, ok bool) {
	answer, ok := s.answer(i, r)
	if answer.Failed || answer.typed == "null" {
		return fallback, ok
	}
	return answer.Enabled, ok
}

//go:noinline
func (s *Snapshot) remoteText(i int32, r *Request) (value string, ok, answered bool) {
	answer, answered := s.answer(i, r)
	if answer.Failed {
		return "", false, answered
	}
	return answer.Text(), true, answered
}

// hasRemote reports whether a server was asked for the request.
func (r *Request) hasRemote() bool { return r != nil && r.RemoteResults != nil }

// basisOfReason is basis for a reason of another evaluator, whose definitions may be
// others.
func (s *Snapshot) basisOfReason(f *compiledFlag, r Reason) basis {
	switch r.Code {
	case ReasonSuperCondition:
		return basisTargeting
	case ReasonHoldout, ReasonOutOfRollout:
		return basisRollout
	case ReasonConditionMatch:
		if r.ConditionIndex < 0 || r.ConditionIndex >= len(f.conditions) {
			return basisTargeting
		}
		return s.basis(f, reasonAt(reasonMatch, int32(r.ConditionIndex)))
	}
	return basisNone
}

// addAnswers puts the answers of a server in place of what was evaluated, and marks
// what the server should have confirmed and did not.
func (r *Results) addAnswers(request *Request) {
	s := r.snap
	in := inputs.Get().(*Input)
	in.fromRequest(s, request)
	lacking := in.lackingFlags()
	releaseInput(in)
	r.answers, r.Partial = make(map[int32]Result), false
	for n, d := range r.decisions {
		i := int32(n)
		if d.value == valueOmitted {
			r.Partial = true
		}
		if d.value < 0 {
			continue
		}
		result, ok := s.answer(i, request)
		if !ok {
			s.setResult(&result, i, d)
			result.Unconfirmed = lacking.has(i)
		}
		r.Partial = r.Partial || result.Failed
		if ok || result.Unconfirmed {
			r.answers[i] = result
		}
	}
}

// lacksFor reports whether flag i may depend on what the request lacks.
func (s *Snapshot) lacksFor(i int32, r *Request) bool {
	if !s.flags[i].remote {
		return false
	}
	in := inputs.Get().(*Input)
	in.fromRequest(s, r)
	lacks := in.lackingFlags().has(i)
	releaseInput(in)
	return lacks
}
