package reference

import (
	"bytes"
	"encoding/json"
	"strconv"
)

// An outcome is a possible answer for a flag: a value with its reason.
type outcome struct {
	enabled bool
	variant *string
	code    string
	index   int // -1 if there is none
}

// sameValue compares values: false, true or a variant key (§3.9).
func (o outcome) sameValue(p outcome) bool {
	if o.enabled != p.enabled || (o.variant == nil) != (p.variant == nil) {
		return false
	}
	return o.variant == nil || *o.variant == *p.variant
}

// rank orders the reasons of conditions that did not match (§3.7).
var rank = map[string]int{codeOutOfRollout: 3, codeNoMatch: 2, codeNoGroup: 1}

// evaluate implements §3.2 for a flag that is not left out.
func (e *evaluation) evaluate(f *flag) Result {
	if f.malformed {
		return f.failure(codeFlagData) // §1.7: this comes first; the flag has no dependencies
	}
	if e.document.hasMissingDependency(f) {
		return f.answer(outcome{code: codeMissingDependency, index: -1}, descriptions[codeMissingDependency], nil)
	}

	// §3.3: early access enrolment. Its payload is the one for "true", even
	// after an opt-out.
	if value, decided := e.person["$feature_enrollment/"+f.key]; f.enrollment && decided {
		enrolled := value == true || value == "true"
		return f.answer(outcome{enabled: enrolled, code: codeEnrolment}, descriptions[codeEnrolment], f.payload("true"))
	}

	// §3.4 and §13.2.
	if f.heldOut(e.holdoutSubject(f)) {
		name := "holdout-" + strconv.FormatInt(f.holdout.id, 10)
		o := outcome{enabled: true, variant: &name, code: codeHoldout, index: -1}
		return f.answer(o, descriptions[codeHoldout], f.payload(name))
	}
	return e.evaluateConditions(f)
}

// evaluateConditions implements §3.5–§3.7, and the rules of §3.9 for failed
// dependencies.
func (e *evaluation) evaluateConditions(f *flag) Result {
	ranked := outcome{code: codeNoGroup, index: -1} // §3.7: the initial reason
	contribute := func(code string, index int) {
		// The highest ranked reason counts; of equal ones, the last.
		if rank[code] >= rank[ranked.code] {
			ranked = outcome{code: code, index: index}
		}
	}
	var withoutGroup, behavioral bool // select the text of no_condition_match
	var provisional []outcome         // of conditions that depend on a failed flag
	var firstTaint string             // error code of the first failed dependency

	// settle ends the evaluation. If all possible outcomes have one value, the
	// flag has it in spite of failed dependencies.
	settle := func(terminal outcome) Result {
		answer := terminal
		for i, o := range provisional {
			if i == 0 {
				answer = o
			}
			if !o.sameValue(terminal) {
				return f.failure(firstTaint)
			}
		}
		return f.conclude(answer, withoutGroup, behavioral)
	}

	for i, c := range f.conditions {
		subject, skip := e.conditionSubject(f, c)
		if skip != "" {
			// §3.5 steps 2 and 3: neither triggers early_exit.
			contribute(skip, i)
			withoutGroup = withoutGroup || skip == codeNoGroup
			continue
		}

		verdict := e.checkFilters(f, c)
		if verdict.failure != "" {
			if len(provisional) > 0 {
				return f.failure(firstTaint)
			}
			return f.failure(verdict.failure)
		}
		if !verdict.passed {
			contribute(codeNoMatch, i)
			behavioral = behavioral || verdict.behavioral
			continue
		}

		var reached outcome
		switch {
		case f.inRollout(c, subject):
			reached = outcome{enabled: true, variant: f.chooseVariant(c, subject), code: codeMatch, index: i}
		case f.earlyExit:
			reached = outcome{code: codeOutOfRollout, index: i} // §3.6
		default:
			contribute(codeOutOfRollout, i)
			continue
		}
		if verdict.taint == "" {
			return settle(reached)
		}
		if len(provisional) == 0 {
			firstTaint = verdict.taint
		}
		provisional = append(provisional, reached)
	}
	return settle(ranked)
}

// conclude adds the payload (§3.8) and the description (§3.7) to the outcome of
// the conditions.
func (f *flag) conclude(o outcome, withoutGroup, behavioral bool) Result {
	description := descriptions[o.code]
	switch {
	case o.code == codeMatch:
		description = "Matched condition set " + strconv.Itoa(o.index+1)
	case o.code == codeNoMatch && behavioral:
		description = noMatchBehavioral
	case o.code == codeNoMatch && withoutGroup:
		description = noMatchWithoutGroup
	}
	var payload json.RawMessage
	switch {
	case !o.enabled:
	case o.variant != nil:
		payload = f.payload(*o.variant)
	default:
		payload = f.payload("true")
	}
	return f.answer(o, description, payload)
}

// payload returns a JSON string, or nil if the payload is absent or null. What is not
// stored as a string becomes the text of its JSON (§3.8).
func (f *flag) payload(key string) json.RawMessage {
	stored := f.payloads[key]
	if isNull(stored) {
		return nil
	}
	if _, isText := decodeValue(stored).(string); isText {
		return stored
	}
	var compact bytes.Buffer
	_ = json.Compact(&compact, stored) // it was decoded with the document
	return json.RawMessage(quote(validText(compact.String())))
}

func (f *flag) answer(o outcome, description string, payload json.RawMessage) Result {
	result := Result{
		Key:           f.key,
		Enabled:       o.enabled,
		Code:          o.code,
		Index:         o.index,
		Description:   description,
		ID:            f.id,
		Version:       f.version,
		Payload:       payload,
		HasExperiment: f.hasExperiment,
	}
	if o.variant != nil {
		result.Variant, result.HasVariant = *o.variant, true
	}
	return result
}

// failure returns the result of a flag that fails (§3.9).
func (f *flag) failure(code string) Result {
	result := f.answer(outcome{code: code, index: -1}, descriptions[code], nil)
	result.Failed = true
	return result
}
