// Package memstore is a store in memory, complete in everything but memory
// itself: for tests, demos and programs that want captured events to change
// flags and can afford to forget. It has no bounds and keeps every event of the
// projects that exist.
package memstore
