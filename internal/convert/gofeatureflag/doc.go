// Package gofeatureflag converts flags of GO Feature Flag (rules.md §9). What each user gets is
// what modules/core v0.7.2 of github.com/thomaspoignant/go-feature-flag gives, and what its relay
// proxy gives.
package gofeatureflag
