// Package persons has the effects of captured events on persons and groups: how
// events set properties, which distinct IDs belong to one person, and which
// group types exist (wire.md §3).
//
// The package has the rules without a store. A store that writes events begins
// a transaction, finds out which of the events are new, and passes these
// through a [Unit]:
//
//	u := persons.NewUnit(events)
//	for id := range u.DistinctIDs() {
//		// u.SetPerson(id, …) if the store knows it
//	}
//	// likewise u.Projects with u.SetGroupType, u.Groups with u.SetGroup
//	for i := range events {
//		u.Apply(i)
//	}
//	write(u.Changes())
//
// So all stores agree, and a batch costs one read and one write, however many
// events it has. The data that the store has read must not change until it has
// written: the store takes a lock, or has a single writer.
//
// # Rules in short
//
// Every event creates the person of its distinct ID, unless it has
// $process_person_profile: false. $set_once fills gaps, $set overwrites, and
// $unset deletes, in this order. Some properties of events, such as $browser or
// utm_source, are set automatically. Their first value is also kept under a
// name that begins with $initial_.
//
// $identify, $create_alias and $merge_dangerously link two distinct IDs. If
// both have persons, the person of the other ID is merged into the person of
// the event, whose properties take precedence. An identified person is merged
// only by $merge_dangerously.
//
// $groupidentify sets properties of a group. A project has the first five group
// types that occur in its events; others are ignored.
package persons
