// Server is Flagstaff as a program: the HTTP API on its own, for every client
// that is not a Go program.
//
//	go run ./examples/server -demo            a demo project, nothing else needed
//	go run ./examples/server -flags FILE      a definitions document of your own
//
// Events, persons and usage are kept in the SQLite file flagstaff.db, or where
// -store says: another file, or PostgreSQL, which several servers may share. The
// first start on an empty store creates an organization, a project and its owner,
// and prints their keys on standard output. With -demo and without -store all is
// in memory. Who has lost the keys gets a new one with -create-key.
//
// With -stream events go through NATS JetStream: clients are answered as soon as
// the stream has their events, and the server, or others on the same PostgreSQL
// store, take them from there. A $set is then seen by /flags a moment later
// instead of at once; /metrics tells how many events wait. Events that the store
// refuses are set aside, and put back with -stream-replay.
//
// What must be secret in the store is encrypted with the keys in the file
// flagstaff.db.key, which the first start makes; back it up with the store.
//
// Run it with -help for all settings. Each may also come from the environment,
// as FLAGSTAFF_ and the flag's name in capitals; the command line wins.
//
// It exits with 0 after an orderly shutdown, with 1 if it cannot start or
// serve, and with 2 if its settings make no sense.
package main
