// Package sdk has no code of its own. Its tests drive posthog-go, the official Go
// SDK, against the standalone server, and compare what the SDK makes of
// definitions with what package flags does.
//
// FLAGSTAFF_URL, FLAGSTAFF_PROJECT_KEY, FLAGSTAFF_PERSONAL_KEY and
// FLAGSTAFF_SECRET_KEY name another server to drive it against.
package sdk
