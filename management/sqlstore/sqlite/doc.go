// Package sqlite opens a store in an SQLite file, or in memory. Nothing else has
// to run, and a program that is killed loses nothing that was acknowledged: the
// write-ahead log is synced at each commit.
package sqlite
