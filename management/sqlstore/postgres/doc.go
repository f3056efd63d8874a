// Package postgres opens a store in a PostgreSQL database, which several
// processes may share.
package postgres
