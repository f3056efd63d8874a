package flags

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/flagstaff-go/flagstaff/internal/text"
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
	SeverityNote Severity = iota
	// Warning reports a definition that works, but hardly as its author meant.
	SeverityWarning
	// Error reports a definition that cannot do what it says: the flag fails,
	// or one of its filters can never match.
	SeverityError
)

// String returns "note", "warning" or "error".
func (s Severity) String() string {
	switch s {
	case SeverityNote:
		return "note"
	case SeverityWarning:
		return "warning"
	default:
		return "error"
	}
}

// MarshalText writes what String returns.
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads what MarshalText writes.
func (s *Severity) UnmarshalText(b []byte) error {
	for _, known := range []Severity{SeverityNote, SeverityWarning, SeverityError} {
		if string(b) == known.String() {
			*s = known
			return nil
		}
	}
	return fmt.Errorf("flags: severity: %s, want note, warning or error", shorten(quote(string(b))))
}

// A Problem is one finding about definitions. Problems never stop other flags
// from being evaluated.
//
// In JSON it is an object with the members "severity" ("note", "warning" or
// "error"), "flag", "path", "value", "message" and "hint", all of them strings. Empty
// ones are left out, but for the severity and the message.
type Problem struct {
	Severity Severity
	*DefinitionError
}

// Error returns the problem as one line for people.
func (p Problem) Error() string { return p.Severity.String() + ": " + p.DefinitionError.Error() }

// problemJSON is the form of a Problem in JSON.
type problemJSON struct {
	Severity Severity `json:"severity"`
	Flag     string   `json:"flag,omitempty"`
	Path     string   `json:"path,omitempty"`
	Value    string   `json:"value,omitempty"`
	Message  string   `json:"message"`
	Hint     string   `json:"hint,omitempty"`
}

// MarshalJSON writes the problem as an object, see [Problem].
func (p Problem) MarshalJSON() ([]byte, error) {
	out := problemJSON{Severity: p.Severity}
	if e := p.DefinitionError; e != nil {
		out.Flag, out.Path, out.Value, out.Message, out.Hint = e.Flag, e.Path, e.Value, e.message(), e.Hint
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads what MarshalJSON writes. Err is an error with the message.
func (p *Problem) UnmarshalJSON(b []byte) error {
	var in problemJSON
	if err := json.Unmarshal(b, &in); err != nil {
		return fmt.Errorf("flags: problem: %w", err)
	}
	*p = Problem{in.Severity, &DefinitionError{Flag: in.Flag, Path: in.Path, Value: in.Value, Err: errors.New(in.Message), Hint: in.Hint}}
	return nil
}

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

// message returns what is wrong, which a DefinitionError that a program has made need
// not say.
func (e *DefinitionError) message() string {
	if e.Err == nil {
		return "wrong definition"
	}
	return e.Err.Error()
}

// Error returns the fault as one line for people.
func (e *DefinitionError) Error() string {
	if e == nil {
		e = new(DefinitionError)
	}
	var b strings.Builder
	if e.Flag != "" {
		fmt.Fprintf(&b, "flag %q", e.Flag)
	} else {
		b.WriteString("definitions")
	}
	if e.Path != "" {
		b.WriteString(" at " + e.Path)
	}
	b.WriteString(": " + e.message())
	if e.Value != "" {
		b.WriteString(": " + e.Value)
	}
	if e.Hint != "" {
		b.WriteString("; " + e.Hint)
	}
	return b.String()
}

// Unwrap returns Err.
func (e *DefinitionError) Unwrap() error {
	if e == nil {
		return nil
	}
	return e.Err
}

// shorten returns JSON in a length fit for a message.
func shorten[T ~string | ~[]byte](v T) string { return text.Shorten(v, 80) }
