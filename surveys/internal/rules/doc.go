// Package rules has the rules for the content and the schedule of surveys,
// without storage and without clocks.
//
// A document comes from a client and is checked by the function with the name
// of its field:
//
//	questions, err := rules.Questions(raw, "en")
//	if e, ok := errors.AsType[*judge.Error](err); ok {
//		// e.Attr is "questions", e.Path such as ["1" "scale"]
//	}
//
// The function returns the form to store, which the same function returns
// unchanged. All other functions take a stored document, or nil, and read it
// tolerantly.
//
// # Documents
//
// A stored document is compact JSON of at most 256 KiB, nested at most 64
// levels deep. Members keep their order; if a name occurs several times, the
// last value stands in the place of the first. Numbers stay as they are
// written. Unknown members stay, and so does null, which editors write for
// values that are not set. A known member must have its type.
//
// # Texts
//
// All texts that are shown to people are cleaned: see [Clean]. The policy is
// bluemonday's policy for user content, extended by a few elements, by width
// and height on all elements, by links with target="_blank", and by styles that
// only change the look of text. A text without markup does not change by a
// byte, so & and < may stand for themselves.
//
// # Ids
//
// A question without an id gets a UUIDv7. An existing id stays, because answers
// refer to it. It may be a UUID or a name from an import, but not a number,
// which would be a position in the names of answers, and not blank.
//
// # Time
//
// Days are days in UTC and have 24 hours. Iteration n lasts until the start of
// the next one, inclusive, which is what the rule "the first with 0 ≤ now −
// start ≤ frequency" means for points in time.
//
// Sources: management.md §9.1 to §9.9, §12, §15.1 A17, A18 and A22, §15.2 items
// 11, 13 and 15. All functions are pure, except that they make new ids, and are
// safe for concurrent use.
package rules
