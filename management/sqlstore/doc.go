// Package sqlstore keeps what is captured and managed in a SQL database: SQLite
// in a file beside the program, or PostgreSQL for several machines.
//
// Packages sqlite and postgres open one:
//
//	db, err := sqlite.Open(ctx, "flagstaff.db", sqlstore.Options{})
//
// so that a program carries only the driver that it uses. The schema is created
// and brought up to date on opening; a store that an earlier release wrote
// always opens.
//
// # Writing
//
// [DB.Write] stores a batch of events in one transaction together with what they
// do to persons and groups (package capture/persons), and returns when that is
// durable: SQLite syncs its log at each commit, PostgreSQL as it is configured.
// Events that were stored before have no effect.
//
// SQLite has one writer at a time. On PostgreSQL the processes that write events
// of one project take turns, by an advisory lock that the transaction holds; so
// there are no deadlocks between them, and no lost updates.
//
// # Accounts and transactions
//
// A [DB] is also a [management.Store]: users with what is theirs, organizations,
// projects with their flags, cohorts, early access features and surveys, and the
// activity log. All changes of these take turns, those that [DB.Atomic] makes
// together and single ones; on PostgreSQL by an advisory lock, which is not that
// of events. So nothing that a transaction has read changes before it ends. A
// call that fails within a transaction changes nothing, and the transaction can
// go on. Accounts are not cached.
//
// On PostgreSQL events are stored while accounts change; only the first event of
// a project, and of a group type, waits for a transaction that changes that
// project. SQLite has one writer for everything, so transactions should be short.
//
// [DB.Throttle] commits by itself. To be told to wait costs only a read, so that
// who tries passwords all day holds nobody up.
//
// Deleting a project leaves its events and persons, which may be many.
// [DB.PurgeProjects] deletes them in small transactions.
//
// How many users, members of an organization and flags there are is kept up to
// date by who changes them, so that a page of a long list costs no more than its
// rows.
//
// # Changes, and who leads
//
// Every transaction that changes what a project has makes its version grow, and
// [DB.Watch] tells of it. On PostgreSQL the transaction sends a notification on
// the channel flagstaff_change, which a connection listens to that Watch opens.
// SQLite is asked four times a second whether another process has written
// anything, and its own changes are told at once.
//
// [DB.Lead] is for work that one of several processes should do. On PostgreSQL
// it is an advisory lock of another connection. If the server ends that, the
// context of the work ends at once; if the server falls silent, within ten
// seconds. With SQLite it is a lock on an empty file beside the database,
// flagstaff.db-lead-NAME, which the system releases when the process ends, however
// it does. Nobody may delete the file meanwhile. A database in memory has one
// process anyway.
//
// # Surveys
//
// What events say about surveys is kept once more, in the transaction that stores
// them, so that it can be counted: a row of table survey_event for each, and an
// entry in survey_chunk for each that counts. Entries are of persons as they are
// now. To count a million takes about as long as SELECT count(*) of as many rows,
// and less for a part of the time, as long as events arrive roughly in order.
// Persons are told apart by 61 bits of a hash.
//
// A store of a release that did not do so is read for such events once, when it is
// opened. A million other events take about a second.
//
// # Persons
//
// [DB.Persons] counts what it selects in an index: about a tenth of a microsecond
// for each person of a project or member of a cohort, so that 100,000 take some ten
// milliseconds, and twenty times as much for each distinct ID that a search matches.
// The properties of a page alone are read.
//
// [DB.DeletePerson] deletes everything at once but events. Events have no index by
// distinct ID, which would slow every write down; so [DB.PurgeEvents] looks through
// all of them, for all persons together who were deleted before it began, in
// parts of ten thousand. How far it has come is stored, and what it deletes are the
// events that were there when the person was deleted: who comes back with the same
// distinct ID keeps what follows.
//
// # Reading, and how fresh it is
//
// What /flags asks for, persons, groups, cohort memberships and continuity rows,
// goes through a cache of bounded size. An entry is used for at most one second
// ([Options.MaxStale]) from the moment before it was read. A write of this
// process removes what it touches from the cache after the commit and before it
// is acknowledged, and a read that was under way at that moment does not put its
// result there. Who writes about the same project waits for that. So answers are
// right after every write of the same process, and at most a second behind those of
// others.
package sqlstore
