package wire

import (
	"strconv"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
	"github.com/flagstaff-go/flagstaff/internal/text"
)

// Error codes of OpenFeature's remote evaluation protocol, all that it has (wire.md §7.1).
const (
	CodeParseError          = "PARSE_ERROR"
	CodeTargetingKeyMissing = "TARGETING_KEY_MISSING"
	CodeInvalidContext      = "INVALID_CONTEXT"
	CodeFlagNotFound        = "FLAG_NOT_FOUND"
	CodeGeneral             = "GENERAL"
)

// AppendEvaluation appends the answer of OpenFeature's remote evaluation protocol
// for one flag, and the status that goes with it. The status is 200 if the flag has a
// value. Otherwise what it appends says why not: with CodeGeneral and 500 if the flag could
// not be computed, or 400 if the protocol has no type for its payload, and with
// CodeInvalidContext and 400 if a rule set needs a group. Of the Envelope,
// RequestID and Partial count.
func AppendEvaluation(dst []byte, r *flags.Result, e Envelope) (_ []byte, status int) {
	if status, code, details := noValue(r); status != 0 {
		return AppendFailure(dst, r.Key, code, details), status
	}
	dst = appendEvaluated(dst, r)
	dst = text.AppendQuoted(append(dst, `,"requestId":`...), e.RequestID)
	return append(e.appendPartial(dst), `}}`...), 200
}

// AppendEvaluations evaluates the flags that the request may see and appends the
// answer of OpenFeature's remote evaluation protocol for all of them. Among them
// are inactive flags and, as failures, flags without a value. List is
// the part of it that depends on nothing but the flags and their values: of the
// Envelope, RequestID, EvaluatedAt, Partial and EventStreams are behind it. n is how
// many flags there are.
func AppendEvaluations(dst []byte, in *flags.Input, e Envelope) (_, list []byte, n int) {
	dst = append(dst, `{"flags":`...)
	start := len(dst)
	dst, n = in.AppendRendered(dst, &evaluations)
	end := len(dst)
	dst = append(dst, `,"metadata":{"evaluatedAt":`...)
	dst = strconv.AppendInt(dst, e.EvaluatedAt.UnixMilli(), 10)
	dst = text.AppendQuoted(append(dst, `,"requestId":`...), e.RequestID)
	dst = append(e.appendPartial(dst), '}')
	if len(e.EventStreams) > 0 {
		dst = append(append(dst, `,"eventStreams":`...), e.EventStreams...)
	}
	dst = append(dst, '}')
	return dst, dst[start:end:end], n
}

// evaluations writes the elements of that list.
var evaluations = flags.Rendering{Append: func(dst []byte, r *flags.Result) []byte {
	if status, code, details := noValue(r); status != 0 {
		return AppendFailure(dst, r.Key, code, details)
	}
	return append(appendEvaluated(dst, r), `}}`...)
}}

// appendPartial appends the member of metadata that says that stored data could
// not be read.
func (e *Envelope) appendPartial(dst []byte) []byte {
	if !e.Partial {
		return dst
	}
	return append(dst, `,"errorsWhileComputingFlags":true`...)
}

// noValue returns the status for a flag that has no value in the protocol, and says
// why; 0 if it has one, or the client's default counts.
func noValue(r *flags.Result) (status int, code, details string) {
	switch {
	case r.Failed && r.JSON() != nil:
		return 500, CodeGeneral, r.Reason.Description
	case r.Reason.Code == flags.ReasonNoGroupKey:
		return 400, CodeInvalidContext, r.Reason.Description
	case r.Failed || r.Reason.Code == flags.ReasonMissingFlag:
		return 500, CodeGeneral, r.Reason.Code + ": " + r.Reason.Description
	case r.Enabled && isConfiguration(r):
		if v, err := jsonscan.Parse([]byte(r.Metadata.Payload), jsonscan.MaxDepth); err == nil && v.Kind() == jsonscan.Array {
			return 400, CodeGeneral, "The payload is a list, want a boolean, a string, a number or an object."
		}
	}
	return 0, "", ""
}

// isConfiguration reports whether the value of a flag is its payload. In a holdout
// it is the variant that names the holdout.
func isConfiguration(r *flags.Result) bool {
	return r.RemoteConfiguration() && r.Reason.Code != flags.ReasonHoldout && r.JSON() == nil
}

// AppendFailure appends the answer of OpenFeature's remote evaluation protocol to a
// request that failed. An empty key or code is left out.
func AppendFailure(dst []byte, key, code, details string) []byte {
	dst = append(dst, '{')
	if key != "" {
		dst = append(text.AppendQuoted(append(dst, `"key":`...), key), ',')
	}
	if code != "" {
		dst = append(text.AppendQuoted(append(dst, `"errorCode":`...), code), ',')
	}
	return append(text.AppendQuoted(append(dst, `"errorDetails":`...), details), '}')
}

// appendEvaluated appends the evaluation of a flag up to the end of its metadata,
// which is left open.
func appendEvaluated(dst []byte, r *flags.Result) []byte {
	dst = text.AppendQuoted(append(dst, `{"key":`...), r.Key)
	start := len(dst)
	dst = appendOpenFeatureValue(dst, r)
	given := len(dst) > start
	if variant := variantOf(r); variant != "" && given {
		dst = text.AppendQuoted(append(dst, `,"variant":`...), variant)
	}
	dst = append(append(append(dst, `,"reason":"`...), openFeatureReason(r, given)...), `","metadata":{"flagId":`...)
	dst = strconv.AppendInt(dst, r.Metadata.ID, 10)
	dst = strconv.AppendInt(append(dst, `,"version":`...), int64(r.Metadata.Version), 10)
	dst = text.AppendQuoted(append(dst, `,"reason":`...), r.Reason.Code)
	if r.Reason.ConditionIndex >= 0 {
		dst = strconv.AppendInt(append(dst, `,"conditionIndex":`...), int64(r.Reason.ConditionIndex), 10)
	}
	if r.JSON() != nil {
		dst = appendRule(dst, r)
	} else if r.Metadata.Payload != "" {
		dst = text.AppendQuoted(append(dst, `,"payload":`...), r.Metadata.Payload)
	}
	return strconv.AppendBool(append(dst, `,"hasExperiment":`...), r.Metadata.HasExperiment)
}

// variantOf returns the key of the variant, "" if there is none. That of a rule set is not its
// value.
func variantOf(r *flags.Result) string {
	switch {
	case isConfiguration(r):
		return ""
	case r.JSON() == nil:
		return r.Variant
	case r.Rule != nil:
		return r.Rule.VariantKey
	}
	return ""
}

// appendRule appends the metadata of a rule set, by the names of rules.md §4.6.
func appendRule(dst []byte, r *flags.Result) []byte {
	dst = strconv.AppendInt(append(dst, `,"config_version":2,"id":`...), r.Metadata.ID, 10)
	dst = text.AppendQuoted(append(dst, `,"reason_code":`...), r.Reason.Code)
	if r.Reason.ConditionIndex >= 0 {
		dst = strconv.AppendInt(append(dst, `,"condition_index":`...), int64(r.Reason.ConditionIndex), 10)
	}
	return r.Rule.AppendMembers(dst)
}

// appendOpenFeatureValue appends the member value, or nothing where the client's
// default is to count (wire.md §7.2): for flags that are off and would otherwise
// have a value of another type.
func appendOpenFeatureValue(dst []byte, r *flags.Result) []byte {
	const name = `,"value":`
	if typed := r.JSON(); typed != nil {
		if string(typed) == "null" {
			return dst
		}
		return append(append(dst, name...), typed...)
	}
	switch {
	case !r.Enabled && (r.Multivariate() || r.RemoteConfiguration()):
		return dst
	case isConfiguration(r):
		payload := r.Metadata.Payload
		v, err := jsonscan.Parse([]byte(payload), jsonscan.MaxDepth)
		switch {
		case payload == "" || v.Kind() == jsonscan.Null:
			return dst
		case err != nil: // a text that was stored as itself
			return text.AppendQuoted(append(dst, name...), payload)
		}
		return append(append(dst, name...), v...)
	}
	if r.Variant != "" { // Value would allocate for it
		return text.AppendQuoted(append(dst, name...), r.Variant)
	}
	if _, ok := r.Value().(string); ok {
		return append(append(dst, name...), `""`...)
	}
	return strconv.AppendBool(append(dst, name...), r.Enabled)
}

// openFeatureReason returns the reason of wire.md §7.2.
func openFeatureReason(r *flags.Result, given bool) string {
	reason := r.OpenFeatureReason()
	if r.JSON() != nil {
		return reason
	}
	if reason == "DEFAULT" || !given && reason != "DISABLED" {
		return "UNKNOWN"
	}
	return reason
}
