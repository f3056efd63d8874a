// Package sqlitetest gives tests stores of their own, in memory.
//
// Each is a copy of a template: to bring the schema of a new store up to date
// takes five times as long.
package sqlitetest
