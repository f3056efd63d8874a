// Package database opens the store that a setting or a flag names: an SQLite file, or
// PostgreSQL.
package database
