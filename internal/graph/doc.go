// Package graph puts things that need each other in order, and walks over what
// they reach. Flags depend on flags, and cohorts refer to cohorts; whatever
// compiles, sends, judges or imports them finds its order here.
//
// All functions are pure and take time linear in the number of nodes and edges.
package graph
