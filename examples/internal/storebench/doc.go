// Package storebench has the benchmarks of a server that captures events into a
// database and evaluates flags with the properties stored there. Neither
// package server nor the stores can measure this alone.
package storebench
