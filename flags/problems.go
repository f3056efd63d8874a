package flags

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

var (
	// ErrUnknownFlag says that no flag of the snapshot has the key.
	ErrUnknownFlag = errors.New("flags: unknown flag")

	// ErrNotReady says that the Evaluator holds no snapshot yet.
	ErrNotReady = errors.New("flags: no definitions loaded")

	// ErrNoPayload says that the flag's value has no payload.
	ErrNoPayload = errors.New("flags: no payload")

	// ErrFiltered says that the request's Filter hides the flag, or that its
	// encrypted payload keeps it out of evaluation. The error's text says
	// which.
	ErrFiltered = errors.New("flags: flag is filtered out")

	// ErrTooLarge says that definitions exceed a limit of this package.
	ErrTooLarge = errors.New("flags: definitions too large")
)

// Severity grades a [Problem].
type Severity uint8

const (
	// Note reports something that was done for the author, such as the
	// conversion of a legacy field.
	Note Severity = iota
	// Warning reports a definition that works, but hardly as its author meant.
	Warning
	// Error reports a definition that cannot do what it says: the flag fails,
	// or one of its filters can never match.
	Error
)

// String returns "note", "warning" or "error".
func (s Severity) String() string {
	switch s {
	case Note:
		return "note"
	case Warning:
		return "warning"
	default:
		return "error"
	}
}

// MaxProblems is how many problems a Snapshot has at most. Further ones are left out,
// errors too.
const MaxProblems = 10_000

// A Problem is one finding about definitions. Problems never stop other flags
// from being evaluated.
type Problem struct {
	Severity Severity
	*DefinitionError
}

// Error returns the problem as one line for people.
func (p Problem) Error() string { return p.Severity.String() + ": " + p.DefinitionError.Error() }

// A DefinitionError locates one fault in definitions.
type DefinitionError struct {
	// Flag is the key of the flag; "" if the fault lies outside of flags or
	// the flag has no usable key.
	Flag string

	// Path is a JSON pointer: below the flag if Flag is set, such as
	// "/filters/groups/0", otherwise from the root of the document.
	Path string

	// Value is the offending JSON, shortened. It may be empty.
	Value string

	// Err says what is wrong.
	Err error

	// Hint says what to do about it.
	Hint string
}

func (e *DefinitionError) Error() string {
	var b strings.Builder
	if e.Flag != "" {
		fmt.Fprintf(&b, "flag %q", e.Flag)
	} else {
		b.WriteString("definitions")
	}
	if e.Path != "" {
		b.WriteString(" at " + e.Path)
	}
	b.WriteString(": " + e.Err.Error())
	if e.Value != "" {
		b.WriteString(": " + e.Value)
	}
	if e.Hint != "" {
		b.WriteString("; " + e.Hint)
	}
	return b.String()
}

func (e *DefinitionError) Unwrap() error { return e.Err }

// shorten returns JSON in a length fit for a message.
func shorten[T ~string | ~[]byte](v T) string {
	const maxShown = 80 // bytes
	s := strings.ToValidUTF8(string(v[:min(len(v), maxShown+utf8.UTFMax)]), "\uFFFD")
	if len(s) <= maxShown {
		return s
	}
	cut := maxShown
	for !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "…"
}
