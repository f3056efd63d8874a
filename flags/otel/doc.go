// Package otel reports evaluations of flags to OpenTelemetry, as events
// feature_flag.evaluation of its semantic conventions: log records, which belong to the
// trace in which a flag was asked for.
//
//	client, err := flagstaff.Open(ctx, flagstaff.Config{
//		…,
//		OnEvaluation: otel.OnEvaluation(otel.Options{SetID: "shop"}),
//	})
//
// The module requires OpenTelemetry's API alone. A program chooses the SDK, the exporter
// and what becomes of the events; without an SDK there are none. Programs that use the
// OpenFeature SDK take its own hook instead, which finds version, flagSetId and contextId
// in the metadata of package flags/openfeature.
//
// # What an event has
//
//   - feature_flag.key, feature_flag.provider.name, and feature_flag.set.id if the Options
//     name the set.
//   - feature_flag.result.variant for a value that is a variant, and otherwise
//     feature_flag.result.value, which is true or false. Payloads are left out.
//   - feature_flag.result.reason: static for a value that everyone gets, targeting_match,
//     split if a rollout or the choice of a variant decided, default for a flag that is
//     off, disabled for an inactive flag, and error.
//   - feature_flag.version, the version of the flag.
//   - error.type and feature_flag.error.message if there is no value: flag_not_found for a
//     flag that is unknown or hidden, provider_not_ready before there are definitions,
//     parse_error for a flag that cannot be understood, and general. These events have the
//     severity WARN, the others INFO.
//   - feature_flag.context.id, the distinct ID, only if the Options ask for it: it is
//     personal data.
//
// # When there is one
//
// A Person asks for each flag once, and remembers it: so there is one event for each flag
// and Person, which is usually an HTTP request. With [Options.NewOnly] there is one for
// each new exposure: for each person, flag and value.
package otel
