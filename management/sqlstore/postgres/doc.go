// Package postgres opens a store in a PostgreSQL database, which several
// processes may share.
//
// Between them and the database may be a pooler only if it gives each connection
// a session of its own: locks and notifications belong to sessions.
package postgres
