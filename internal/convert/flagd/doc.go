// Package flagd converts flags of flagd (rules.md §9). What each user gets is what
// github.com/open-feature/flagd/core v0.17.0 gives, or v0.14.3 for those who were served before
// flagd changed how it draws. From v0.15.0 to v0.15.4, of April 2026, it drew as now and compared
// as before.
package flagd
