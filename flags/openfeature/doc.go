// Package openfeature is a provider for the OpenFeature Go SDK that evaluates flags
// within the process, without HTTP.
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
// The targeting key is the distinct id. groups maps group types to group keys,
// groupProperties to their properties; $device_id and evaluation_contexts are what
// they are in POST /flags. All other attributes are person properties, Go values as
// [flags.Request] has them.
//
// # Values
//
// A boolean is whether the flag is on, with a variant or without. A string is the
// key of the variant, and a number is what that reads as. An object is the payload,
// an object or a list. The value of remote configuration is its payload for all
// types. A flag that is off is false, or the default for the other types; a value of
// another type is TYPE_MISMATCH, and a flag that cannot be computed GENERAL.
//
// Reasons are TARGETING_MATCH, SPLIT where a rollout or a draw among variants
// decided, STATIC for what everybody gets, DEFAULT for flags that are off, and
// DISABLED for those that are inactive. Metadata has flagId, version, reason (as in
// POST /flags), conditionIndex, payload and hasExperiment.
//
// # Events
//
// When definitions change the SDK hears PROVIDER_CONFIGURATION_CHANGED with the keys
// of the flags that may have other values. While they cannot be loaded the last ones
// are served, and the provider is stale; when they can be again, it is ready.
//
// With [Options.Source] the provider follows definitions by itself, in one goroutine
// between Init and Shutdown. A program that keeps an Evaluator current anyway passes
// that instead, and the provider's methods OnSwap and OnLoad to the loader:
//
//	provider := openfeature.NewProvider(&evaluator, openfeature.Options{})
//	loader := source.NewLoader(&evaluator, file, source.LoaderConfig{OnSwap: provider.OnSwap, OnLoad: provider.OnLoad})
//
// The rules are those of wire.md §7.2 and §7.3.
package openfeature
