// Package jsonscan validates and walks JSON where it stands.
//
// A [Value] is the bytes of one JSON value. [Parse] checks a whole text and
// returns its value; the methods of Value decode a scalar or step through an
// object or array. Nothing is decoded before it is asked for, and nothing is
// allocated except in the destination that the caller passes, for member names with
// escapes, and for errors:
//
//	o := jsonscan.Value(body).Object()
//	for o.Next() {
//		switch string(o.Name()) {
//		case "distinct_id":
//			id, ok = o.Value().AppendString(id[:0])
//		case "person_properties":
//			person = o.Value()
//		}
//	}
//	if err := o.Err(); err != nil { … }
//
// # What is accepted
//
// The grammar is RFC 8259, strictly: no leading zeros, no raw control
// characters in strings, no comments, no trailing commas. Text inside strings
// is as free as encoding/json has it: invalid UTF-8 and lone surrogate escapes
// are accepted and decode to U+FFFD. So [Parse] accepts what json.Valid
// accepts, except where the nesting is deeper than the caller allows.
// Duplicate member names are all delivered, in order; that the last one counts
// is up to the caller.
//
// # Walking
//
// [Members] and [Elements] validate every byte that they pass over, members that
// the caller ignores included. A walk that ended without an error has therefore
// validated the whole text, and [Parse] before it is not needed. A value may be
// walked whether or not it was parsed before: on arbitrary bytes the walkers
// and decoders end, report the fault, and never panic or read outside the
// value. Nesting deeper than [MaxDepth] is a fault.
//
// What is nested is read once per level that is walked. A [Map] reads all of a value once;
// its walkers then step from one part to the next.
//
// # Memory and concurrency
//
// Values, plain names and plain texts share the memory of the input; they are valid
// as long as the input is unchanged. A Value may be read concurrently. A walker,
// Members or Elements, belongs to one goroutine.
//
// Errors name an offset and at most one character of the input, which may hold
// secrets.
package jsonscan
