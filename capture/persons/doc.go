// Package persons says what captured events do to persons and groups: how
// properties are set, which distinct IDs become one person, and which group
// types there are (wire.md §3).
//
// It is the rules without a store. A store that takes events opens a
// transaction, finds out which of the events it has not seen before, and passes
// them through a [Unit]:
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
// so that all stores agree, and a batch costs one read and one write however
// many events it has. What is read must not change until it is written: a store
// locks, or has one writer.
//
// # Rules in short
//
// Every event creates the person of its distinct ID, unless it says
// $process_person_profile: false. $set overwrites, $set_once fills gaps, $unset
// deletes, in this order of increasing strength. Some properties of events, such
// as $browser or utm_source, are set without being asked for, and once more
// under a name that begins with $initial_.
//
// $identify, $create_alias and $merge_dangerously link two distinct IDs. If both
// have persons, the other ID's person is merged into that of the event, whose
// properties win; an identified person is only merged by $merge_dangerously.
//
// $groupidentify sets properties of a group. The first five group types that a
// project sees exist; others are ignored.
package persons
