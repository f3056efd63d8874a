// Package sqlite opens a store in an SQLite file or in memory. It needs no
// other program. A program that is killed loses no acknowledged data, because
// the write-ahead log is synced at each commit.
package sqlite
