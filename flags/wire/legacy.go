package wire

import (
	"iter"
	"strconv"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/text"
)

// A Form is the form that a response has (evaluation.md §11.2).
type Form uint8

const (
	// V2 is the form of api.md §4.6: an object per flag.
	V2 Form = iota

	// Values is the form of /flags?v=1 and /decide?v=3: the value of each flag,
	// and payloads beside them.
	Values

	// EnabledValues is the form of /decide?v=2: the values of the flags that
	// are enabled.
	EnabledValues

	// EnabledKeys is the form of /decide?v=1: a list of the flags that are
	// enabled.
	EnabledKeys

	// V3 is the form of /flags?v=3: a record per flag, whose value has a type
	// (rules.md §4.3).
	V3
)

// FlagsForm returns the form in which /flags answers a version of [Query]. No
// version is version 2 (evaluation.md §8.2); versions above 3 are version 3.
func FlagsForm(version int) Form {
	switch {
	case version == 1:
		return Values
	case version >= 3:
		return V3
	}
	return V2
}

// DecideForm returns the form in which /decide answers a version of [Query].
func DecideForm(version int) Form {
	switch version {
	case 0, 1:
		return EnabledKeys
	case 2:
		return EnabledValues
	case 3:
		return Values
	default:
		return V2
	}
}

// AppendLegacy is AppendResponse for the other forms, and for V2. It is made for
// compatibility, not for speed. A flag's value is its variant, or whether it is
// enabled; the value of a failed flag is false.
func AppendLegacy(dst []byte, form Form, s *flags.Snapshot, in *flags.Input, e Envelope) ([]byte, flags.Outcome) {
	switch form {
	case V2:
		return AppendResponse(dst, s, in, e)
	case V3:
		return appendRecords(dst, s, in, e)
	}
	out, results := flags.Outcome{Partial: true}, noResults
	if s != nil {
		found := in.Evaluate()
		out, results = flags.Outcome{Flags: found.Len(), Partial: found.Partial}, found.All()
	}
	out.Partial = out.Partial || e.Partial
	return e.append(appendValues(dst, form, results), out.Partial, nil), out
}

// noResults are the results if nothing was evaluated.
var noResults iter.Seq2[string, flags.Result] = func(func(string, flags.Result) bool) {}

// AppendEmpty appends a response without flags that is not a failure: the request
// does not want them, or a quota is used up.
func AppendEmpty(dst []byte, form Form, e Envelope) []byte {
	if form == V2 || form == V3 {
		dst = append(dst, `{"flags":{}`...)
	} else {
		dst = appendValues(dst, form, noResults)
	}
	return e.append(dst, e.Partial, nil)
}

// appendValues appends the start of a legacy response.
func appendValues(dst []byte, form Form, results iter.Seq2[string, flags.Result]) []byte {
	opening, closing := byte('{'), byte('}')
	if form == EnabledKeys {
		opening, closing = '[', ']'
	}
	dst = append(append(dst, `{"featureFlags":`...), opening)
	first := len(dst)
	for key, r := range results {
		value := r.Value()
		if form != Values && value == false {
			continue
		}
		if len(dst) > first {
			dst = append(dst, ',')
		}
		dst = text.AppendQuoted(dst, key)
		if form == EnabledKeys {
			continue
		}
		dst = append(dst, ':')
		if variant, ok := value.(string); ok {
			dst = text.AppendQuoted(dst, variant)
		} else {
			dst = strconv.AppendBool(dst, r.Enabled)
		}
	}
	dst = append(dst, closing)
	if form != Values {
		return dst
	}
	dst = append(dst, `,"featureFlagPayloads":{`...)
	first = len(dst)
	for key, r := range results {
		payload := r.PayloadJSON()
		if payload == nil {
			continue
		}
		if len(dst) > first {
			dst = append(dst, ',')
		}
		dst = append(text.AppendQuoted(dst, key), ':')
		dst = append(dst, payload...)
	}
	return append(dst, '}')
}

// AppendDetailed is AppendLegacy in the forms V2 and V3, with the outcome of each condition set:
//
//	"conditions":[{"condition_index":0,"matched":false,"code":"no_condition_match"}]
//
// The code is a reason code, "provisional" for a condition that passed only
// because the flag it depends on failed, "error" if it failed the flag, or
// "not_reached". A rule set has no condition sets. It explains every flag by itself and is slow.
func AppendDetailed(dst []byte, form Form, s *flags.Snapshot, in *flags.Input, e Envelope) ([]byte, flags.Outcome) {
	if s == nil {
		return AppendLegacy(dst, form, s, in, e)
	}
	results := in.Evaluate()
	out := flags.Outcome{Flags: results.Len(), Partial: results.Partial || e.Partial}
	dst = append(dst, `{"flags":{`...)
	first := len(dst)
	for key, r := range results.All() {
		if len(dst) > first {
			dst = append(dst, ',')
		}
		dst = append(text.AppendQuoted(dst, key), ':')
		if form == V3 {
			dst = r.AppendRecord(dst)
		} else {
			dst = r.AppendJSON(dst)
		}
		dst = append(dst[:len(dst)-1], `,"conditions":[`...)
		if t, err := in.Explain(key); err == nil && r.JSON() == nil {
			for i, c := range t.Conditions {
				if i > 0 {
					dst = append(dst, ',')
				}
				dst = strconv.AppendInt(append(dst, `{"condition_index":`...), int64(c.Index), 10)
				dst = strconv.AppendBool(append(dst, `,"matched":`...), c.Matched)
				dst = text.AppendQuoted(append(dst, `,"code":`...), c.Outcome)
				dst = append(dst, '}')
			}
		}
		dst = append(dst, `]}`...)
	}
	dst = append(dst, '}')
	return e.append(dst, out.Partial, s), out
}
