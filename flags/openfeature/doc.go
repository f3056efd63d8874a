// Package openfeature is a provider for the OpenFeature Go SDK that evaluates
// flags within the process, without HTTP.
//
//	provider := openfeature.NewProvider(nil, openfeature.Options{Source: source.File{Path: "flags.json"}})
//	if err := sdk.SetProviderAndWait(provider); err != nil {
//		log.Fatal(err)
//	}
//	defer sdk.Shutdown()
//	client := sdk.NewClient("app")
//	on := client.Boolean(ctx, "new-checkout", false, sdk.NewEvaluationContext("user-1", map[string]any{"plan": "pro"}))
//
// # Context
//
// The targeting key is the distinct ID. The attribute groups maps group types
// to group keys, and groupProperties maps them to properties. $device_id and
// evaluation_contexts have the same meaning as in POST /flags. All other
// attributes are person properties, with the Go types that [flags.Request]
// accepts.
//
// # Values
//
// A boolean value says whether the flag is on, with or without a variant. A
// string is the key of the variant, and a number is that key read as a number.
// An object is the payload, which must be an object or a list. A flag that is off
// has the boolean false, and the default for other types.
//
// A flag for remote configuration has its payload as its value: a boolean, a string
// or text that is not JSON, a number, an object or a list. It has the default while
// it is off or has no payload. A value of another type gives TYPE_MISMATCH, and a
// flag that cannot be evaluated GENERAL.
//
// A flag that depends on what only the server knows has the server's value if the
// Source is a source.Remote with Evaluate, or if [Options.RemoteResults] is set. If the server does
// not answer, the flag is evaluated, and its metadata has unconfirmed: true.
//
// Reasons are TARGETING_MATCH, SPLIT if a rollout or the choice of a variant
// decided, STATIC for a value that everyone gets, DEFAULT for flags that are
// off, and DISABLED for inactive flags. Metadata has flagId, version (a text),
// reason (as in POST /flags), conditionIndex, payload and hasExperiment, and for
// telemetry hooks contextId, which is the distinct ID, and the flagSetId of the
// [Options].
//
// # Events
//
// When definitions change, the SDK receives PROVIDER_CONFIGURATION_CHANGED with
// the keys of the flags that may have other values. While definitions cannot be
// loaded, the last ones are served and the provider is stale; when they can be
// loaded again, it is ready.
//
// With [Options.Source], the provider follows definitions by itself, in one
// goroutine between Init and Shutdown. A program that already keeps an
// Evaluator current passes the Evaluator instead, and passes the provider's
// methods OnSwap and OnLoad to its Loader:
//
//	provider := openfeature.NewProvider(&evaluator, openfeature.Options{})
//	loader := source.NewLoader(&evaluator, file, source.LoaderConfig{OnSwap: provider.OnSwap, OnLoad: provider.OnLoad})
//
// The rules are in wire.md §7.2 and §7.3.
package openfeature
