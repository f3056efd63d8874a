// Package strictver reads versions as semver.org writes them, and no others. Package semver reads
// what PostHog takes for a version.
package strictver
