package otel

import (
	"cmp"
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/log"
	"go.opentelemetry.io/otel/log/global"

	"github.com/flagstaff-go/flagstaff"
	"github.com/flagstaff-go/flagstaff/flags"
)

// scope is the name of the logger: the package that makes the events.
const scope = "github.com/flagstaff-go/flagstaff/flags/otel"

// Name is the name of the events.
const Name = "feature_flag.evaluation"

// Options configure the events. The zero value reports every evaluation, without the
// person.
type Options struct {
	// Loggers makes the logger that takes the events. Nil: the global provider.
	Loggers log.LoggerProvider

	// Provider is the name of the provider in the events. Empty: "flagstaff".
	Provider string

	// SetID is the set to which the flags belong, such as the name of the project. Empty:
	// the events do not say.
	SetID string

	// NewOnly reports new exposures alone, see [flagstaff.Evaluation]. So there are no
	// events of flags without a value.
	NewOnly bool

	// ContextID adds the distinct ID of the person.
	ContextID bool
}

// OnEvaluation returns a function for [flagstaff.Config] that reports evaluations. It is
// safe for concurrent use.
func OnEvaluation(o Options) func(context.Context, flagstaff.Evaluation) {
	o.Loggers = cmp.Or(o.Loggers, global.GetLoggerProvider())
	logger := o.Loggers.Logger(scope)
	o.Provider = cmp.Or(o.Provider, "flagstaff")
	return func(ctx context.Context, e flagstaff.Evaluation) {
		if o.NewOnly && !e.New {
			return
		}
		severity := log.SeverityInfo
		if e.Err != nil || e.Value.Failed() {
			severity = log.SeverityWarn
		}
		if !logger.Enabled(ctx, log.EnabledParameters{Severity: severity, EventName: Name}) {
			return
		}
		var r log.Record
		r.SetTimestamp(time.Now())
		r.SetEventName(Name)
		r.SetSeverity(severity)
		r.AddAttributes(attribute.String("feature_flag.key", e.Key), attribute.String("feature_flag.provider.name", o.Provider))
		if o.SetID != "" {
			r.AddAttributes(attribute.String("feature_flag.set.id", o.SetID))
		}
		if o.ContextID && e.DistinctID != "" {
			r.AddAttributes(attribute.String("feature_flag.context.id", e.DistinctID))
		}
		if e.Err != nil {
			addFailure(&r, errorType(e.Err), e.Err.Error())
		} else {
			addResult(&r, e.Value.Result())
		}
		logger.Emit(ctx, r)
	}
}

// addResult adds what a flag was found to be.
func addResult(r *log.Record, result flags.Result) {
	r.AddAttributes(attribute.String("feature_flag.version", strconv.Itoa(result.Metadata.Version)))
	if result.Failed {
		kind := "general"
		if code := result.Reason.Code; code == flags.ErrorFlagData || code == flags.ErrorCohortData {
			kind = "parse_error"
		}
		addFailure(r, kind, result.Reason.Code+": "+result.Reason.Description)
		return
	}
	r.AddAttributes(attribute.String("feature_flag.result.reason", reasonOf(&result)))
	if result.JSON() != nil {
		addTyped(r, &result)
		return
	}
	switch v := result.Value().(type) {
	case string:
		r.AddAttributes(attribute.String("feature_flag.result.variant", v))
	case bool:
		r.AddAttributes(attribute.Bool("feature_flag.result.value", v))
	}
}

// addTyped adds the value of a rule set; that of an object is its JSON.
func addTyped(r *log.Record, result *flags.Result) {
	if rule := result.Rule; rule != nil && rule.VariantKey != "" {
		r.AddAttributes(attribute.String("feature_flag.result.variant", rule.VariantKey))
	}
	const name = "feature_flag.result.value"
	switch v, _ := result.Typed(); v.Type {
	case "boolean":
		r.AddAttributes(attribute.Bool(name, v.JSON == "true"))
	case "string":
		r.AddAttributes(attribute.String(name, v.Text))
	case "number":
		r.AddAttributes(attribute.Float64(name, v.Number))
	case "object":
		r.AddAttributes(attribute.String(name, v.JSON))
	}
}

func addFailure(r *log.Record, kind, message string) {
	r.AddAttributes(attribute.String("feature_flag.result.reason", "error"),
		attribute.String("error.type", kind), attribute.String("feature_flag.error.message", message))
}

func errorType(err error) string {
	switch {
	case errors.Is(err, flags.ErrNotReady):
		return "provider_not_ready"
	case errors.Is(err, flags.ErrUnknownFlag), errors.Is(err, flags.ErrFiltered):
		return "flag_not_found"
	}
	return "general"
}

// reasonOf returns the reason of a value in the words of OpenFeature (wire.md §7.3).
func reasonOf(r *flags.Result) string {
	reason := strings.ToLower(r.OpenFeatureReason())
	switch {
	case r.JSON() != nil:
	case r.Enabled && reason == "default": // a remote result, which does not say
		return "targeting_match"
	case !r.Enabled && reason != "disabled":
		return "default"
	}
	return reason
}
