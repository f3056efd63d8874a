// Package storetest tests how surveys are stored, on SQLite and on PostgreSQL. What is counted
// is compared with package reference, which counts as management.md §10.2 words it.
package storetest
