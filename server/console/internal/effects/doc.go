// Package effects says in words whose value a change of a flag changes.
package effects
