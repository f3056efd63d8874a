package source

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/flagstaff-go/flagstaff/flags"
)

// Status describes the definitions of a Loader and its last attempt. It marshals to
// JSON, with the texts of errors, and has a text for people; neither has a secret.
type Status struct {
	// Version is the version of the served definitions, "" if there are none.
	Version string

	// Origin is the origin of the definitions: "remote", "file", "static", or
	// "cache" for definitions that a Cached has kept, until its source answers.
	// For other sources it is what an [Originator] says, or "".
	Origin string

	// Fetched is when the definitions left their origin: when this process, or
	// the one that kept them in a cache, downloaded or read them. The age of
	// definitions is the time since then.
	Fetched time.Time

	// Loaded is when the definitions were swapped in; zero if there are none.
	// Checked is when their origin last answered, with new definitions or with
	// "not modified"; for definitions from a cache it is Fetched. So a change may
	// have gone unseen for the time since Checked.
	Loaded  time.Time
	Checked time.Time

	// Err is the error of the last attempt, nil if it succeeded, and Failures
	// is the number of attempts since the last success. An attempt that got
	// definitions only from a cache has failed.
	Err      error
	Failures int

	// Following says that an event stream of the server is open, by which changes are
	// seen at once, see [Remote].
	Following bool

	// CacheErr says why a Cached could not use or replace the definitions on disk.
	// It is nil once they were replaced, and for other sources.
	CacheErr error

	// Problems are the problems of the served definitions. If they come from a
	// server that is not asked, see [Remote], there is a note for each flag that
	// looks at what only the server knows. They must not be changed.
	Problems []flags.Problem

	// Kept is what stays in force of older definitions because the newer ones break it, as
	// those of a [File] and of a [Remote] with KeepLast do. It must not be changed.
	Kept []KeptPart

	// EvaluateRequests counts what [Loader.RemoteResults] did.
	EvaluateRequests EvaluateRequests

	// Unknown counts the evaluations of flags that do not exist.
	Unknown flags.UnknownKeys

	// PatternTimeouts counts the matches of patterns that were given up.
	PatternTimeouts uint64
}

// MarshalJSON writes the status as an object. Members that say nothing are left out,
// but for "version", "failures" and "problems".
func (s Status) MarshalJSON() ([]byte, error) {
	type evaluateRequests struct {
		EvaluateRequests
		Error string `json:"error,omitempty"`
	}
	type unknown struct {
		Keys  map[string]uint64 `json:"keys"`
		Other uint64            `json:"other,omitempty"`
	}
	type kept struct {
		Since   time.Time     `json:"since"`
		Problem flags.Problem `json:"problem"`
		Line    int           `json:"line,omitempty"`
		Column  int           `json:"column,omitempty"`
	}
	out := struct {
		Version    string            `json:"version"`
		Origin     string            `json:"origin,omitempty"`
		Fetched    time.Time         `json:"fetched,omitzero"`
		Loaded     time.Time         `json:"loaded,omitzero"`
		Checked    time.Time         `json:"checked,omitzero"`
		Error      string            `json:"error,omitempty"`
		Failures   int               `json:"failures"`
		Following  bool              `json:"following,omitempty"`
		CacheError string            `json:"cache_error,omitempty"`
		Problems   []flags.Problem   `json:"problems"`
		Kept       []kept            `json:"kept,omitempty"`
		Unknown    *unknown          `json:"unknown_keys,omitempty"`
		Timeouts   uint64            `json:"pattern_timeouts,omitempty"`
		Requests   *evaluateRequests `json:"evaluate_requests,omitempty"`
	}{
		s.Version, s.Origin, s.Fetched, s.Loaded, s.Checked, textOf(s.Err), s.Failures, s.Following, textOf(s.CacheErr), s.Problems, nil, nil, s.PatternTimeouts, nil,
	}
	if len(s.Unknown.Keys) > 0 || s.Unknown.Other > 0 {
		out.Unknown = (*unknown)(&s.Unknown)
	}
	for _, k := range s.Kept {
		out.Kept = append(out.Kept, kept(k))
	}
	if out.Problems == nil {
		out.Problems = []flags.Problem{}
	}
	if s.EvaluateRequests != (EvaluateRequests{}) {
		out.Requests = &evaluateRequests{s.EvaluateRequests, textOf(s.EvaluateRequests.Err)}
	}
	return json.Marshal(out)
}

func textOf(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// String returns the status as lines for people, without a line end behind the last
// one: where the definitions come from, then a line for each thing that is wrong.
func (s Status) String() string {
	var b strings.Builder
	if s.Loaded.IsZero() {
		b.WriteString("no definitions yet")
	} else {
		fmt.Fprintf(&b, "definitions %s", s.Version)
		if s.Origin != "" {
			fmt.Fprintf(&b, " from %s", s.Origin)
		}
		fmt.Fprintf(&b, ", fetched %s, checked %s", s.Fetched.UTC().Format(time.RFC3339), s.Checked.UTC().Format(time.RFC3339))
	}
	if s.Err != nil {
		fmt.Fprintf(&b, "\nerror, %d in a row: %v", s.Failures, s.Err)
	}
	if s.CacheErr != nil {
		fmt.Fprintf(&b, "\nerror of the cache: %v", s.CacheErr)
	}
	if a := s.EvaluateRequests; a != (EvaluateRequests{}) {
		fmt.Fprintf(&b, "\nevaluate requests: %d sent, %d cached, %d shared, %d failed", a.Sent, a.Cached, a.Shared, a.Failed)
		if a.Err != nil {
			fmt.Fprintf(&b, ": %v", a.Err)
		}
	}
	if s.PatternTimeouts > 0 {
		fmt.Fprintf(&b, "\n%d matches of patterns took too long", s.PatternTimeouts)
	}
	for _, key := range slices.Sorted(maps.Keys(s.Unknown.Keys)) {
		fmt.Fprintf(&b, "\nno flag %q, asked for %d times", key, s.Unknown.Keys[key])
	}
	if s.Unknown.Other > 0 {
		fmt.Fprintf(&b, "\nno flags of more keys, asked for %d times", s.Unknown.Other)
	}
	for i := range s.Kept {
		fmt.Fprintf(&b, "\nkept since %s: %s", s.Kept[i].Since.UTC().Format(time.RFC3339), s.Kept[i].part())
	}
	for _, p := range s.Problems {
		if p.Severity != flags.SeverityNote {
			b.WriteString("\n" + p.Error())
		}
	}
	return b.String()
}
