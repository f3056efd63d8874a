// Package targeting edits condition sets and filters on the pages of flags, cohorts and surveys.
package targeting
