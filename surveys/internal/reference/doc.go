// Package reference is a slow and obvious model of what captured events say
// about surveys: how often they were shown, dismissed and answered, by how many
// persons, and what the answers are.
//
// It is the oracle of differential tests: write one history of events to
// [Surveys] and to the store under test, and compare their answers. It keeps the
// events as they came, and counts all of them anew for each question, as the
// specification words it (management.md §10.2). Only tests may import it.
//
// Which distinct IDs are one person it leaves to package capture/persons, which
// has an oracle of its own.
package reference
