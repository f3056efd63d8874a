// Package storebench has the benchmarks of a server that captures events into a
// database and evaluates flags on what is stored there: what neither package
// server nor the stores can measure alone.
package storebench
