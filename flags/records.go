package flags

import (
	"strconv"

	"github.com/flagstaff-go/flagstaff/internal/text"
)

// AppendRecords is AppendFlags in the form of POST /flags?v=3, which has the value of a flag
// with its type (rules.md §4.3).
func (in *Input) AppendRecords(dst []byte) ([]byte, Outcome) {
	n, partial := in.decideAll()
	dst = append(dst, '{')
	for _, i := range in.snap.order {
		if in.ran[i] != in.run || in.decisions[i].value < 0 {
			continue
		}
		var r Result
		in.snap.setResult(&r, i, in.decisions[i])
		if dst[len(dst)-1] != '{' {
			dst = append(dst, ',')
		}
		dst = append(text.AppendQuoted(dst, r.Key), ':')
		dst = r.AppendRecord(dst)
	}
	return append(dst, '}'), Outcome{n, partial}
}

// AppendRecord appends the result as an entry of POST /flags?v=3.
func (r *Result) AppendRecord(dst []byte) []byte {
	dst = text.AppendQuoted(append(dst, `{"key":`...), r.Key)
	dst = append(dst, `,"value":`...)
	switch {
	case r.Failed:
		dst = append(dst, `null,"failed":true`...)
	case r.typed != "":
		dst = append(dst, r.typed...)
	case r.hasVariant:
		dst = text.AppendQuoted(dst, r.Variant)
	default:
		dst = strconv.AppendBool(dst, r.Enabled)
	}
	code := r.Reason.Code
	if r.typed != "" && code == ErrorFlagData {
		code = codeError
	}
	dst = text.AppendQuoted(append(dst, `,"reason":{"code":`...), code)
	dst = append(dst, `,"condition_index":`...)
	if r.Reason.ConditionIndex < 0 {
		dst = append(dst, "null"...)
	} else {
		dst = strconv.AppendInt(dst, int64(r.Reason.ConditionIndex), 10)
	}
	dst = text.AppendQuoted(append(dst, `,"description":`...), r.Reason.Description)
	dst = strconv.AppendInt(append(dst, `},"metadata":{"id":`...), r.Metadata.ID, 10)
	dst = strconv.AppendInt(append(dst, `,"version":`...), max(int64(r.Metadata.Version), 0), 10)
	if r.typed != "" {
		return r.appendRule(append(dst, `,"config_version":2,"description":null,"payload":null`...))
	}
	dst = append(dst, `,"config_version":1,"description":null,"payload":`...)
	if len(r.payload) > 0 {
		dst = append(dst, r.payload...)
	} else {
		dst = append(dst, "null"...)
	}
	if r.hasVariant {
		dst = text.AppendQuoted(append(dst, `,"variant_key":`...), r.Variant)
	}
	return append(r.appendExperiment(dst), "}}"...)
}

func (r *Result) appendExperiment(dst []byte) []byte {
	return strconv.AppendBool(append(dst, `,"has_experiment":`...), r.Metadata.HasExperiment)
}

// appendRule appends which rule decided.
func (r *Result) appendRule(dst []byte) []byte {
	return append(r.Rule.AppendMembers(r.appendExperiment(dst)), "}}"...)
}

// AppendMembers appends which rule decided as members of an object, with a comma before each. A
// nil RuleResult has none.
func (r *RuleResult) AppendMembers(dst []byte) []byte {
	if r == nil {
		return dst
	}
	dst = text.AppendQuoted(append(dst, `,"rule_type":`...), r.Type)
	dst = text.AppendQuoted(append(dst, `,"rule_id":`...), r.ID)
	if r.ExperimentID != nil {
		dst = strconv.AppendInt(append(dst, `,"experiment_id":`...), *r.ExperimentID, 10)
	}
	if r.VariantKey != "" {
		dst = text.AppendQuoted(append(dst, `,"variant_key":`...), r.VariantKey)
	}
	if r.HoldoutID != nil {
		dst = strconv.AppendInt(append(dst, `,"holdout_id":`...), *r.HoldoutID, 10)
	}
	return dst
}
