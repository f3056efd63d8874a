// Package postgres opens a store in a PostgreSQL database, which several
// processes may share.
//
// There may be a pooler between the processes and the database only if it gives
// each connection its own session, because locks and notifications belong to
// sessions.
package postgres
