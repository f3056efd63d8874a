// Package serve is Flagstaff as a standalone program: the HTTP API, for all clients
// that are not Go programs. [Main] is the whole program apart from its process: the
// command `flagstaff serve` and examples/server put a process around it.
//
//	flagstaff serve -demo            a demo project, without any setup
//	flagstaff serve -flags FILE      your own definitions document
//
// Events, persons and usage are kept in the SQLite file flagstaff.db, or in the
// store that -store names: another file, or PostgreSQL, which several servers
// may share. The first start on an empty store creates an organization, a
// project and its owner, and prints their keys on standard output, or writes
// them to the file of -first-keys. With -demo and without -store everything is
// kept in memory. If you have lost the keys, -create-key prints a new one.
//
// With -stream, events go through NATS JetStream: a client is answered as soon
// as the stream has its events, and this server, or others on the same
// PostgreSQL store, take them from the stream. A $set then affects /flags a
// moment later instead of at once; /metrics tells how many events wait. Events
// that the store refuses become dead letters; -stream-replay puts them back.
//
// Secrets in the store are encrypted with the keys in the file
// flagstaff.db.key, which the first start creates. Back it up with the store:
// the server does not start if its keys cannot read the secrets.
//
// When its context ends, as on SIGTERM, /readyz answers 503 for the time of
// -drain, while requests are answered as before. Then the server finishes what is
// under way and ends.
//
// With -tls-cert and -tls-key it speaks TLS and HTTP/2 by itself, and -addr may name
// a Unix socket, or a socket that systemd passes. -debug-addr is for operators:
// metrics and profiles. -check looks at everything that a start looks at, leaves
// nothing behind, and says all that is wrong.
//
// The option -help lists all settings. Each one can also be set in the
// environment, by FLAGSTAFF_ and the name of the option in capitals, and by its
// name in the file of -config, in YAML: it is what operators write for other
// programs, it has comments, and its parser knows the lines of mistakes. The command
// line takes precedence over the environment, and that over the file.
package serve
