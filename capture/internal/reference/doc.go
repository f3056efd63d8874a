// Package reference is a slow and obvious model of what captured events do to
// the persons, distinct ids, group types and groups of one project.
//
// It is the oracle of differential tests: apply one history, made by
// [Generate], to a [World] and to the code under test, and compare what
// [World.Persons], [World.Groups] and [World.GroupTypes] tell. It shares no
// code with what it judges, decodes each event into maps, and keeps everything
// in memory. Nothing but tests may import it.
//
// The rules come from the wire document, sections 2.8 and 3.1 to 3.6; the files
// follow its parts:
//
//   - world.go: the order of things inside one event, and the results
//   - links.go: which ids become one person (3.3, 3.4)
//   - updates.go: $set, $set_once, $unset and automatic properties (3.2)
//   - groups.go: group types and groups (3.5)
//   - members.go: reading JSON in the order in which it is written
//   - generate.go: random histories
//
// Where that document is silent, the model decides:
//
//   - An event of which no link comes (ids of the same text, an illegal id, no
//     id) is a plain event. It creates the person of its distinct id, and
//     identifies nobody.
//   - A refused link leaves both persons as they are, is_identified included;
//     the updates of the event go to the person of its distinct id.
//   - $exception and $$heatmap create a person and name groups like any event.
//   - A text is changed (NUL to U+FFFD, then cut) before it is compared,
//     measured or checked for being illegal.
//   - A member that is written again later in the same JSON object is not
//     there at all, so it gives no group type its index either.
//
// A World is not safe for concurrent use. The zero World is an empty project.
package reference
