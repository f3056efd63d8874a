// Package summary puts the answers to a survey into words (management.md §11.5 and
// §11.6): a [Summarizer] writes a page about one question, and a headline about a
// whole survey. [Extractive] is the built-in one; package chat asks a service.
package summary
