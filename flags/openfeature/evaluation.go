package openfeature

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"strings"

	of "github.com/open-feature/go-sdk/openfeature"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/flags"
)

// BooleanEvaluation reports whether a flag is on, with or without a variant. A
// flag that is off is false, whatever the default.
func (p *Provider) BooleanEvaluation(ctx context.Context, flag string, fallback bool, flat of.FlattenedContext) of.BoolResolutionDetail {
	return evaluate(ctx, p, flag, fallback, false, flat, boolOf)
}

// StringEvaluation returns the key of a flag's variant.
func (p *Provider) StringEvaluation(ctx context.Context, flag, fallback string, flat of.FlattenedContext) of.StringResolutionDetail {
	return evaluate(ctx, p, flag, fallback, fallback, flat, stringOf)
}

// FloatEvaluation returns the key of a flag's variant, read as a number.
func (p *Provider) FloatEvaluation(ctx context.Context, flag string, fallback float64, flat of.FlattenedContext) of.FloatResolutionDetail {
	return evaluate(ctx, p, flag, fallback, fallback, flat, floatOf)
}

// IntEvaluation returns the key of a flag's variant, read as an integer.
func (p *Provider) IntEvaluation(ctx context.Context, flag string, fallback int64, flat of.FlattenedContext) of.IntResolutionDetail {
	return evaluate(ctx, p, flag, fallback, fallback, flat, intOf)
}

// ObjectEvaluation returns the payload of a flag's value, which must be an
// object or a list.
func (p *Provider) ObjectEvaluation(ctx context.Context, flag string, fallback any, flat of.FlattenedContext) of.InterfaceResolutionDetail {
	return evaluate(ctx, p, flag, fallback, fallback, flat, objectOf)
}

// evaluate evaluates a flag. The function value converts the result of an
// enabled flag; a flag that is off has the value off.
func evaluate[T any](ctx context.Context, p *Provider, flag string, fallback, off T, flat of.FlattenedContext, value func(flags.Result) (T, string)) of.GenericResolutionDetail[T] {
	r, id, fault := p.result(ctx, flag, flat)
	if fault != nil {
		return failed(fallback, *fault, nil)
	}
	detail := of.GenericResolutionDetail[T]{Value: off, ProviderResolutionDetail: of.ProviderResolutionDetail{
		Reason: reasonOf(&r), Variant: variantOf(&r), FlagMetadata: p.metadataOf(&r, id),
	}}
	mismatch := func(wrong string) of.GenericResolutionDetail[T] {
		return failed(fallback, of.NewTypeMismatchResolutionError("flag "+strconv.Quote(flag)+" "+wrong), detail.FlagMetadata)
	}
	if raw := r.JSON(); raw != nil {
		if string(raw) == "null" { // the caller's default counts
			detail.Value = fallback
			return detail
		}
		v, ok := typed[T](raw)
		if !ok {
			return mismatch("has a value of another type")
		}
		detail.Value = v
		return detail
	}
	switch {
	case isConfiguration(&r):
		// The payload is the value. Without one there is none, whatever the type.
		if payload := strings.TrimSpace(r.Metadata.Payload); !r.Enabled || payload == "" || payload == "null" {
			detail.Value = fallback
			if r.Enabled {
				detail.Reason = of.DefaultReason
			}
			return detail
		}
	case !r.Enabled:
		return detail
	}
	v, wrong := value(r)
	if wrong != "" {
		return mismatch(wrong)
	}
	detail.Value = v
	return detail
}

// typed returns the value of a flag with a rule set, which is not converted: a flag whose value
// is an object has no other.
func typed[T any](raw []byte) (v T, ok bool) {
	var value any
	if json.Unmarshal(raw, &value) != nil {
		return v, false
	}
	switch to := any(&v).(type) {
	case *int64:
		n, isNumber := value.(float64)
		*to = int64(n)
		return v, isNumber && float64(*to) == n
	case *any:
		*to, ok = value.(map[string]any)
		return v, ok
	}
	v, ok = value.(T)
	return v, ok
}

func failed[T any](fallback T, err of.ResolutionError, metadata of.FlagMetadata) of.GenericResolutionDetail[T] {
	return of.GenericResolutionDetail[T]{Value: fallback, ProviderResolutionDetail: of.ProviderResolutionDetail{
		ResolutionError: err, Reason: of.ErrorReason, FlagMetadata: metadata,
	}}
}

// result evaluates a flag, and reports an exposure if the Options ask for it. id is the
// person for whom it does.
func (p *Provider) result(ctx context.Context, flag string, flat of.FlattenedContext) (_ flags.Result, id string, _ *of.ResolutionError) {
	s := p.evaluator.Snapshot()
	if s == nil {
		return flags.Result{}, "", new(of.NewProviderNotReadyResolutionError("there are no flag definitions yet"))
	}
	var request flags.Request
	if err := p.fill(&request, flat, s); err != nil {
		return flags.Result{}, "", new(of.NewInvalidContextResolutionError(err.Error()))
	}
	if request.DistinctID == "" {
		return flags.Result{}, "", new(of.NewTargetingKeyMissingResolutionError("the context has no targeting key"))
	}
	if p.options.RemoteResults != nil {
		request.RemoteResults = p.remoteResults(ctx, s, flag, request)
	}
	r, err := s.Flag(flag, &request)
	if errors.Is(err, flags.ErrUnknownFlag) {
		p.evaluator.NoteUnknown(flag)
	}
	switch {
	case err != nil: // the flag is unknown, or hidden by the filter
		return flags.Result{}, "", new(of.NewFlagNotFoundResolutionError(err.Error()))
	case r.Reason.Code == flags.ReasonNoGroupKey:
		return flags.Result{}, "", new(of.NewInvalidContextResolutionError("flag " + strconv.Quote(flag) + ": " + r.Reason.Description))
	case r.Failed && r.Reason.Code == flags.ErrorFlagData && !r.Remote:
		return flags.Result{}, "", new(of.NewParseErrorResolutionError("flag " + strconv.Quote(flag) + ": " + r.Reason.Description))
	case r.Failed && r.JSON() != nil:
		return flags.Result{}, "", new(of.NewGeneralResolutionError(r.Reason.Description))
	case r.Failed || r.Reason.Code == flags.ReasonMissingFlag:
		return flags.Result{}, "", new(of.NewGeneralResolutionError("flag " + strconv.Quote(flag) + ": " + r.Reason.Code + ": " + r.Reason.Description))
	}
	if p.options.Exposures && p.options.Reporter != nil {
		p.options.Reporter.Exposed(capture.ExposureOf(&r, &request))
	}
	return r, request.DistinctID, nil
}

// remoteResults lets the server evaluate the flag if it needs that, and the other flags of
// the person, too, so that the next evaluation finds their results.
func (p *Provider) remoteResults(ctx context.Context, s *flags.Snapshot, flag string, r flags.Request) *flags.RemoteResults {
	r.Keys = []string{flag}
	if len(s.MissingContext(&r)) == 0 {
		return nil
	}
	r.Keys = nil
	return p.options.RemoteResults(ctx, &r)
}

// reasonOf returns the reason of a result (wire.md §7.3; for flags that are on,
// §7.2).
func reasonOf(r *flags.Result) of.Reason {
	reason := of.Reason(r.OpenFeatureReason())
	switch {
	case r.JSON() != nil:
	case r.Enabled && reason == of.DefaultReason: // a remote result, which does not say
		return of.TargetingMatchReason
	case !r.Enabled && reason != of.DisabledReason:
		return of.DefaultReason
	}
	return reason
}

// variantOf returns the key of the variant. The value of a rule set is none.
func variantOf(r *flags.Result) string {
	if r.JSON() == nil {
		return r.Variant
	}
	if r.Rule != nil {
		return r.Rule.VariantKey
	}
	return ""
}

// metadataOf returns the metadata of a result for the person with an ID. The names and
// types of version, flagSetId and contextId are what telemetry hooks of OpenFeature
// look for.
func (p *Provider) metadataOf(r *flags.Result, id string) of.FlagMetadata {
	m := of.FlagMetadata{
		"version": strconv.Itoa(r.Metadata.Version), "contextId": id,
		"flagId": r.Metadata.ID, "reason": r.Reason.Code, "hasExperiment": r.Metadata.HasExperiment,
	}
	if p.options.FlagSetID != "" {
		m["flagSetId"] = p.options.FlagSetID
	}
	if r.Reason.ConditionIndex >= 0 {
		m["conditionIndex"] = r.Reason.ConditionIndex
	}
	if r.JSON() != nil {
		setRule(m, r)
	} else if r.Metadata.Payload != "" {
		m["payload"] = r.Metadata.Payload
	}
	if r.Unconfirmed {
		m["unconfirmed"] = true
	}
	return m
}

// setRule adds the metadata of a rule set, by the names of rules.md §4.6.
func setRule(m of.FlagMetadata, r *flags.Result) {
	m["config_version"], m["id"], m["reason_code"] = int64(2), r.Metadata.ID, r.Reason.Code
	if r.Reason.ConditionIndex >= 0 {
		m["condition_index"] = int64(r.Reason.ConditionIndex)
	}
	rule := r.Rule
	if rule == nil {
		return
	}
	m["rule_type"], m["rule_id"] = rule.Type, rule.ID
	if rule.ExperimentID != nil {
		m["experiment_id"] = *rule.ExperimentID
	}
	if rule.VariantKey != "" {
		m["variant_key"] = rule.VariantKey
	}
	if rule.HoldoutID != nil {
		m["holdout_id"] = *rule.HoldoutID
	}
}

// isConfiguration reports whether the value of a flag is its payload. In a holdout
// it is the variant that names the holdout.
func isConfiguration(r *flags.Result) bool {
	return r.RemoteConfiguration() && r.Reason.Code != flags.ReasonHoldout && r.JSON() == nil
}

// These functions return the value of an enabled flag, or a text that says why it
// has none of the type. Remote configuration has a payload when they are called.

func boolOf(r flags.Result) (bool, string) {
	if !isConfiguration(&r) {
		return true, ""
	}
	switch strings.TrimSpace(r.Metadata.Payload) {
	case "true":
		return true, ""
	case "false":
		return false, ""
	}
	return false, "has a payload that is not a boolean"
}

func stringOf(r flags.Result) (string, string) {
	if isConfiguration(&r) {
		return configText(r)
	}
	if variant, ok := r.Value().(string); ok {
		return variant, ""
	}
	return "", "has no variant"
}

func floatOf(r flags.Result) (float64, string) {
	s, wrong := numeral(r)
	if wrong != "" {
		return 0, wrong
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
		return 0, "has a value that is not a number"
	}
	return f, ""
}

func intOf(r flags.Result) (int64, string) {
	s, wrong := numeral(r)
	if wrong != "" {
		return 0, wrong
	}
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return n, ""
	}
	const maxInteger = 1 << 53 // above it, float64 has gaps
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) > maxInteger {
		return 0, "has a value that is not an integer"
	}
	return int64(f), ""
}

// numeral returns the text that may be a number: the key of a variant, or a payload
// that is a number in JSON.
func numeral(r flags.Result) (string, string) {
	if !isConfiguration(&r) {
		s, wrong := stringOf(r)
		return strings.TrimSpace(s), wrong
	}
	s := strings.TrimSpace(r.Metadata.Payload)
	if !json.Valid([]byte(s)) || strings.IndexByte("-0123456789", s[0]) < 0 {
		return "", "has a payload that is not a number"
	}
	return s, ""
}

// configText returns the payload of remote configuration if it is a text: a
// JSON string, or a text that is not JSON.
func configText(r flags.Result) (string, string) {
	var v any
	if err := json.Unmarshal([]byte(r.Metadata.Payload), &v); err != nil {
		return r.Metadata.Payload, ""
	}
	if s, ok := v.(string); ok {
		return s, ""
	}
	return "", "has a payload that is not a string"
}

func objectOf(r flags.Result) (any, string) {
	var v any
	if r.Metadata.Payload == "" || json.Unmarshal([]byte(r.Metadata.Payload), &v) != nil {
		return nil, "has no payload that is JSON"
	}
	switch v.(type) {
	case map[string]any, []any:
		return v, ""
	}
	return nil, "has a payload that is neither an object nor a list"
}
