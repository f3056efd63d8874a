// Package sqlstore stores captured and managed data in an SQL database: in an
// SQLite file beside the program, or in PostgreSQL for several machines.
//
// Packages sqlite and postgres open a database, so that a program contains only the
// driver that it uses:
//
//	store, err := sqlite.Open(ctx, "flagstaff.db", sqlstore.Options{})
//
// Both return a [Storage]. The methods that this page names are the
// Storage's. The schema is created and migrated when the database is opened. A
// release can always open the stores of earlier releases.
//
// # Writing
//
// Write stores a batch of events, together with their effects on persons
// and groups (package capture/persons), in one transaction. It returns when the
// transaction is durable: SQLite syncs its log at each commit, PostgreSQL acts
// as it is configured. Events that were stored before have no effect.
//
// SQLite has one writer at a time. On PostgreSQL, the processes that write
// events of one project take turns, by an advisory lock that the transaction
// holds. So there are neither deadlocks between them nor lost updates.
//
// # Accounts and transactions
//
// The store has users with their keys and settings, organizations, projects with
// their flags, cohorts and early access features, and the activity log.
// All changes of these take turns, both single changes and the transactions of
// Atomic; on PostgreSQL by another advisory lock than events. So no data that a transaction has read
// changes before the transaction ends. A call that fails within a transaction
// changes nothing, and the transaction can go on. Accounts are not cached.
//
// On PostgreSQL, events are stored while accounts change; only the first event
// of a project, or of a group type, waits for a transaction that changes this
// project. SQLite has a single writer for everything, so transactions should be
// short.
//
// Throttle commits by itself. An attempt that must wait costs only a read,
// so that an attacker who tries passwords all day does not delay other writers.
//
// Deleting a project leaves its events and persons, which may be many.
// PurgeProjects deletes them in small transactions.
//
// A page of a list comes with the number of all its entries, which are counted in an
// index: 100,000 users take about 10 ms, on SQLite and on PostgreSQL, and 100,000 members
// of an organization, of whom only the active users count, from 50 to 100 ms.
//
// # Changes and leaders
//
// Every transaction that changes the data of a project increments the project's
// version, and Watch reports it. On PostgreSQL, the transaction sends a
// notification on the channel flagstaff_change, to which Watch listens on a
// connection of its own. On SQLite, Watch asks the database four times a second
// whether another process has written anything; changes by the own process are
// reported at once.
//
// Lead is for work that only one of several processes should do. On
// PostgreSQL, the leader holds an advisory lock on a separate connection. If
// the server ends the connection, the context of the work ends at once; if the
// server falls silent, the context ends within ten seconds. With SQLite, the
// leader holds a lock on an empty file beside the database,
// flagstaff.db-lead-NAME. The system releases the lock when the process ends,
// in whatever way. The file must not be deleted meanwhile. A database in memory
// has only one process.
//
// # Extensions
//
// Another package can keep tables of its own in a store, such as package surveys: an
// [Extension] has their migrations, with a version of their own, and takes part in the
// transactions that store events and delete them.
//
// # Events
//
// FindEvents and AllEvents find events by blocks of 512, of which Index keeps
// the times and a Bloom filter of names and distinct IDs (management.md §16.4). These
// take some 2 bytes of an event. What is not in a block yet is read one by one.
//
// # Persons
//
// Persons counts the selected persons in an index. This takes about a
// tenth of a microsecond for each person of a project or member of a cohort, so
// that 100,000 take some ten milliseconds, and twenty times as much for each
// distinct ID that a search matches. Only the properties of a page are read.
//
// PersonsBefore finds persons by a part of a name in an index that has nothing but
// the persons with names, and those by a part of a distinct ID in the index of
// distinct IDs. Each takes about half a microsecond for each entry, so that 100,000
// persons take some fifty milliseconds. A tree of all parts would take none, and
// several times as much room and writing for each person.
//
// DeletePerson deletes everything at once except events. Events have no
// exact index by distinct ID, which would slow down every write. So PurgeEvents
// looks through all events, for all persons together that were deleted before
// it began, in parts of ten thousand. Its progress is stored. It deletes the
// events that existed when the person was deleted: if the same distinct ID
// comes back, its later events stay.
//
// # Reading, and how fresh it is
//
// The data that /flags reads, which is persons, groups, cohort memberships and
// continuity rows, goes through a cache of bounded size ([Storage.CacheReads]). An entry is used for
// at most one second ([Options.MaxStale]) from the moment before it was read. A
// write of this process drops the entries that it changes, after the commit and
// before the write is acknowledged. A read that is running at that moment does
// not store its result in the cache. Other writes of the same project wait
// until this is done. So answers are right after every write of the same
// process, and at most a second behind the writes of other processes.
package sqlstore
