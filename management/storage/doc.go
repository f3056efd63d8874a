// Package storage has what the stores of package management keep, and what they must do:
// the rows of the data model (management.md §14), and the ports by which a
// [management.Service] reads and changes them.
//
// A [Store] has users, organizations, projects and definitions, each kind as a [Table], and
// changes them in transactions. A [Data] has what events have made: persons, groups and the
// events. What only a server needs of a store is a port of its own: [Changes], [Leader],
// [Usage] and [Sealed]. Package sqlstore implements all of them on SQLite and on PostgreSQL,
// and a program that wants something between a service and its store embeds one:
//
//	type audited struct{ storage.Store }
//
//	func (a audited) Users() storage.Table[storage.User] { … }
//
// Nothing here asks who may do what, or checks a value: that is the service's part. What
// callers of a service see of a row, and send to change it, are the types of package
// management whose names end in View and Patch.
//
// The functions are those that service, stores and their tests share: rows with their
// defaults, keys and their hashes, what an event says about a flag, and
// [FlagDefinitions], which turns rows into what evaluation needs.
package storage
