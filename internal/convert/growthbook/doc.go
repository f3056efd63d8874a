// Package growthbook converts what GrowthBook serves to its SDKs at /api/features/KEY. Values are
// those of version 0.7.0 of its SDK for Go.
package growthbook
