// Package launchdarkly converts flags of LaunchDarkly: the payload that its SDKs get, which is
// also the format of file data sources and of the environments in an archive of the Relay Proxy.
//
// Formulas and operators are those of its Go SDK. The context of kind user is the person; other
// kinds are groups of a type with the name of the kind.
package launchdarkly
