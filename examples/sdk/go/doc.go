// Package sdk has no code of its own. Its tests drive posthog-go, the official
// Go SDK, against the standalone server, and compare how the SDK and package
// flags evaluate the same definitions.
//
// FLAGSTAFF_URL, FLAGSTAFF_PROJECT_KEY, FLAGSTAFF_PERSONAL_KEY and
// FLAGSTAFF_SECRET_KEY name another server for the SDK.
package sdk
