// Package survey has the rules of what surveys contain and of their time, without
// storage and without clocks.
//
// Documents come from outside and are checked by the function that is named like
// the field:
//
//	questions, err := survey.Questions(raw)
//	if e, ok := errors.AsType[*judge.Error](err); ok {
//		// e.Attr is "questions", e.Detail begins with "Question 2: scale …"
//	}
//
// What they return is stored. Checked again, it is returned as it is. All other
// functions take what is stored, or nil, and read it tolerantly.
//
// # Documents
//
// Stored documents are compact JSON of at most 256 KiB, nested at most 64 levels
// deep. Members keep their order; of several with one name there is the last value
// at the place of the first. Numbers stay as they are written, members that are not
// known stay, and null, which editors write for what is not set, stays too. Nothing
// that is known may have another type.
//
// # Texts
//
// All texts that people are shown are cleaned: see [Clean]. It is the policy for
// user content of bluemonday, with a few elements more, width and height anywhere,
// links with target="_blank" and styles about the look of text. A text without markup
// does not change by a byte, so & and < may stand for themselves.
//
// # Ids
//
// Questions without an id get a UUIDv7. An id that is there stays whatever it is,
// for answers refer to it: UUIDs as well as names that came with an import, but
// not numbers, which are positions in the names of answers, and not blanks.
//
// # Time
//
// Days are days of UTC and have 24 hours. Iteration n goes on from its start up to
// and with the start of the next one; so the rule "the first with 0 ≤ now − start
// ≤ frequency" reads when it is applied to points in time.
//
// Sources: management.md §9.1 to §9.9, §12, §15.1 A17, A18 and A22, §15.2 items 11,
// 13 and 15. The functions are pure but for new ids, and safe for concurrent use.
package survey
